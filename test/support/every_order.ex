defmodule Mote.EveryOrder do
  # Every order of turns by brute force: the plain Elixir form of behaviours, one situation after the other, nothing left out
  # and nothing taken for the same unless it is the same term. `Mote.Test.prove/3` is held to it.
  #
  # Messages of one actor to another keep their order, unless one of the two is among `safe`, the names of behaviours that never
  # become.
  alias Mote.{Behaviour, Turn}
  alias Mote.Reference.Address

  # `faults`: the actors whose messages may get lost (`:loses`), or come twice (`:doubles`), and whose turns may be aborted (`:aborts`).
  defstruct actors: %{}, next: 1, waiting: [], back: %{}, outside: [], faults: %{}

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
    case next(state, safe) do
      [] ->
        ends(left, seen, [state | ends], turns, safe, most)

      states ->
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

    Enum.concat(given_back ++ waiting)
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

  defp effect({:send, %Address{id: id} = target, message}, state, from) when is_integer(id),
    do: __MODULE__.send(state, target, message, from)

  defp effect({:send, target, message}, state, _from),
    do: %{state | outside: state.outside ++ [{target, message}]}
end
