defmodule Mote.EveryOrder do
  # Every order of turns by brute force: the plain Elixir form of behaviours, one situation after the other, nothing left out
  # and nothing taken for the same unless it is the same term. `Mote.Test.prove/3` is held to it.
  #
  # Messages of one actor to another keep their order, unless one of the two is among `safe`, the names of behaviours that never
  # become.
  alias Mote.{Behaviour, Turn}
  alias Mote.Reference.Address

  # Timers are in the order in which they were armed. `armed`: of each its number, its reference, and what it sends to whom. What is known of
  # when they are due is all that has been, `history`, oldest last: `{:arm, timer, delay, instant}`, `{:fire, timer, instant, others}`. Whether an order is
  # allowed is asked of all of it each time, by shortest ways between instants (Bellman and Ford), so with nothing kept in between.
  #
  # `faults`: the actors whose messages may get lost (`:loses`), or come twice (`:doubles`), and whose turns may be aborted (`:aborts`).
  defstruct actors: %{},
            next: 1,
            waiting: [],
            back: %{},
            outside: [],
            faults: %{},
            armed: [],
            history: [],
            instant: 0,
            timer: 1,
            monitors: [],
            ended: []

  @type t :: %__MODULE__{}

  def create(state, behaviour),
    do:
      {%Address{id: state.next},
       %{state | actors: Map.put(state.actors, state.next, behaviour), next: state.next + 1}}

  def send(state, %Address{id: id}, message, from \\ :outside),
    do: %{state | waiting: state.waiting ++ [{from, id, message}]}

  @doc "The situations at rest, each once, and how many turns were run; `nil` if there are more than that."
  def ends(state, safe, most), do: ends([state], MapSet.new([state]), [], 0, safe, most)

  defp ends([], _seen, ends, turns, _safe, _most), do: {Enum.uniq(ends), turns}
  defp ends(_left, _seen, _ends, turns, _safe, most) when turns > most, do: nil

  defp ends([state | left], seen, ends, turns, safe, most) do
    case {next(state, safe), process_ends(state)} do
      {[], []} ->
        ends(left, seen, [state | ends], turns, safe, most)

      {others, process_ends} ->
        # Processes may live for ever.
        ends = if others == [], do: [state | ends], else: ends
        states = others ++ process_ends
        new = states |> Enum.uniq() |> Enum.reject(&(&1 in seen))
        seen = Enum.into(new, seen)
        ends(new ++ left, seen, ends, turns + length(states), safe, most)
    end
  end

  # One situation for each event that may be next.
  defp next(state, safe) do
    given_back =
      for {id, [message | rest]} <- state.back do
        back = if rest == [], do: Map.delete(state.back, id), else: Map.put(state.back, id, rest)
        state = %{state | back: back}
        [turn(state, id, message, safe) | for(true <- [fault?(state, :aborts, id)], do: state)]
      end

    waiting =
      for {{from, id, message} = event, at} <- Enum.with_index(state.waiting),
          not is_map_key(state.back, id),
          from in [:any, :again] or safe?(state, id, safe) or
            Enum.all?(Enum.take(state.waiting, at), fn {f, i, _} -> {f, i} != {from, id} end) do
        ^event = Enum.at(state.waiting, at)
        after_it = %{state | waiting: List.delete_at(state.waiting, at)}
        again = %{state | waiting: List.replace_at(state.waiting, at, {:again, id, message})}
        lost = for true <- [fault?(state, :loses, id) or fault?(state, :aborts, id)], do: after_it

        twice =
          for true <- [fault?(state, :doubles, id) and from != :again], do: turn(again, id, message, safe)

        [turn(after_it, id, message, safe) | lost ++ twice]
      end

    fired = for timer <- state.armed, fires?(state, timer), do: fire(state, timer)
    Enum.concat(given_back ++ waiting ++ [fired])
  end

  # -- timers --------------------------------------------------------------------------------------------------

  # Who is monitored may end, which all hear of that have asked for it.
  defp process_ends(state) do
    for pid <- state.monitors |> Enum.map(&elem(&1, 1)) |> Enum.uniq() do
      {told, others} = Enum.split_with(state.monitors, &(elem(&1, 1) == pid))
      told = for {_ref, _pid, id, message} <- told, do: {:clock, id, message}
      %{state | monitors: others, ended: [pid | state.ended], waiting: state.waiting ++ told}
    end
  end

  @doc "Arms a timer from outside, before anything runs."
  def send_after(state, delay, target, message),
    do: effect({:send_after, nil, delay, target, message}, state, :outside)

  # The order of instants is known: a turn comes after those before it. So a timer may fire if others can be due later.
  defp fires?(state, {timer, _, _, _}) do
    Enum.all?(state.armed, fn
      {^timer, _, _, _} -> true
      {other, _, _, _} when other < timer -> latest(state, {:due, other}, {:due, timer}) > 0
      {other, _, _, _} -> latest(state, {:due, other}, {:due, timer}) >= 0
    end)
  end

  defp fire(state, {timer, _ref, id, message} = armed) do
    left = List.delete(state.armed, armed)
    others = for {other, _, _, _} <- left, do: other
    history = [{:fire, timer, state.instant, others} | state.history]
    %{state | armed: left, history: history, waiting: state.waiting ++ [{:clock, id, message}]}
  end

  # The largest difference between two instants that all bounds allow; `:infinity` if there is none.
  defp latest(state, a, b) do
    edges = edges(state)
    nodes = [b | Enum.flat_map(edges, fn {x, y, _} -> [x, y] end)] |> Enum.uniq()

    Enum.reduce(nodes, %{b => 0}, fn _, at ->
      Enum.reduce(edges, at, fn {x, y, bound}, at ->
        case at do
          %{^y => d} -> Map.update(at, x, d + bound, &min(&1, d + bound))
          _ -> at
        end
      end)
    end)
    |> Map.get(a, :infinity)
  end

  # `{x, y, n}`: x - y is n at most.
  defp edges(state) do
    turns = for n <- 1..state.instant//1, do: {{:turn, n - 1}, {:turn, n}, 0}

    turns ++
      Enum.flat_map(state.history, fn
        {:arm, timer, delay, n} ->
          [{{:due, timer}, {:turn, n}, delay}, {{:turn, n}, {:due, timer}, -delay}]

        # Before the next turn, and before the others are due.
        {:fire, timer, n, others} ->
          [{{:due, timer}, {:turn, n + 1}, 0} | for(other <- others, do: {{:due, timer}, {:due, other}, 0})]
      end)
  end

  defp fault?(state, fault, id), do: id in Map.get(state.faults, fault, [])

  defp safe?(state, id, safe), do: state.actors[id] == :sink or state.actors[id].name in safe

  defp turn(state, id, message, safe) do
    case state.actors[id] do
      :sink ->
        state

      behaviour ->
        apply_turn(
          state,
          id,
          Behaviour.turn(behaviour, message, self: %Address{id: id}, first: state.next),
          safe
        )
    end
  end

  defp apply_turn(state, id, %Turn{outcome: :commit} = turn, safe) do
    from = if safe?(state, id, safe), do: :any, else: id
    sets? = Enum.any?(turn.effects, &(elem(&1, 0) == :send_after))
    state = if sets?, do: %{state | instant: state.instant + 1}, else: state
    state = Enum.reduce(turn.effects, state, &effect(&1, &2, from))
    state = if turn.become, do: put_in(state.actors[id], turn.become), else: state

    case turn.unstashed do
      [] -> state
      messages -> %{state | back: Map.update(state.back, id, messages, &(messages ++ &1))}
    end
  end

  defp apply_turn(state, _id, _turn, _safe), do: state

  defp effect({:create, %Address{id: id}, behaviour, _}, state, _from),
    do: %{state | actors: Map.put(state.actors, id, behaviour), next: max(state.next, id + 1)}

  defp effect({:send_after, ref, delay, %Address{id: id}, message}, state, _from) do
    armed = state.armed ++ [{state.timer, ref, id, message}]
    history = [{:arm, state.timer, delay, state.instant} | state.history]
    %{state | armed: armed, history: history, timer: state.timer + 1}
  end

  defp effect({:monitor, ref, pid, %Address{id: id}, message}, state, _from) do
    if pid in state.ended,
      do: %{state | waiting: state.waiting ++ [{:clock, id, message}]},
      else: %{state | monitors: state.monitors ++ [{ref, pid, id, message}]}
  end

  defp effect({:cancel_timer, ref}, state, _from) do
    armed = Enum.reject(state.armed, &match?({_, ^ref, _, _}, &1))
    %{state | armed: armed, monitors: Enum.reject(state.monitors, &match?({^ref, _, _, _}, &1))}
  end

  defp effect({:send, pid, message}, state, _from) when is_pid(pid),
    do: if(pid in state.ended, do: state, else: %{state | outside: state.outside ++ [{pid, message}]})

  defp effect({:send, %Address{id: id} = target, message}, state, from) when is_integer(id),
    do: __MODULE__.send(state, target, message, from)

  defp effect({:send, target, message}, state, _from),
    do: %{state | outside: state.outside ++ [{target, message}]}
end
