defmodule Mote.Test.Proof do
  # Every order of turns: the search, and the runs that look at what it finds.
  #
  # 1. The search runs in a machine of its own, which stays paused: it takes the machine as `graph` has left it, and changes
  #    nothing.
  # 2. What it finds is an order. A machine that goes by that order shows what is wrong, to the property or in a trace: so what
  #    is reported is what a machine has done.
  # 3. A machine that does not end where the search has ended has begun with something else: `graph` is not the same each time.
  # 4. A search begins when all that was collected before is let go of: who holds what at its beginning makes a difference to what it counts, to
  #    how far it comes, and so to what it finds.
  @moduledoc false

  alias Mote.{Address, Machine, Native}
  alias Mote.Machine.Question
  alias Mote.Test.{Failure, Run}

  # Milliseconds that the search goes on at a time; the machine takes in what else is asked of it in between.
  @slice 50
  # An answer comes after a slice.
  @patience 60_000
  # An order may lead to what is wrong in the end with others before it that do not matter. Situations that the search for a
  # shorter one tells apart.
  @shorter 100_000

  # Ends that are looked at for the nearest order that does not fail.
  @nearer 300

  # Turns of a failing order that are shown at most.
  @shown 1_000

  @why [
    always: "what is to be true after each turn is not",
    eventually: "what is to come has not come, and nothing leads there any more",
    aborted: "a turn is aborted",
    ignored: "a message is not heard: it matches no clause",
    dropped: "a message is lost: what it is sent to is no address",
    answered_again: "a customer is answered more often than it is asked for",
    unanswered: "a customer is not answered, and nothing waits any more",
    stashed: "an actor keeps messages for later, and nothing waits any more"
  ]

  @flaws Keyword.keys(@why) -- [:always, :eventually]

  # Options that name actors, in the order in which the search takes them.
  @actors [:always, :eventually, :loses, :doubles, :aborts]

  @doc "The names of what is wrong without a property."
  @spec flaws() :: [Mote.Test.flaw()]
  def flaws, do: @flaws

  @doc "See `Mote.Test.prove/3`; the options are right."
  @spec run(Run.graph(), Run.property(), keyword, keyword) :: Mote.Test.proof()
  def run(graph, property, mine, opts) do
    deadline = System.monotonic_time(:millisecond) + mine[:timeout]

    proof = %{
      graph: graph,
      property: property,
      always: mine[:always],
      eventually: mine[:eventually],
      actors: Keyword.take(mine, @actors),
      allow: mine[:allow],
      opts: opts,
      timeout: mine[:timeout],
      deadline: deadline
    }

    # What a situation may still lead to is not the same in fewer orders.
    case search(proof, mine, mine[:eventually] == nil, &failure(proof, &1)) do
      {:failed, failure, order} ->
        {:failed, proof |> shorter(mine, failure, order) |> nearest(proof, mine) |> with_fates(proof)}

      other ->
        other
    end
  end

  # -- the search ----------------------------------------------------------------------------------------------

  # `before`: the turns that come first.
  defp search(proof, mine, reduces, look, before \\ []) do
    limits =
      {mine[:states], mine[:depth], mine[:bytes], mine[:order] == :pairs, mine[:threads], reduces,
       mine[:allow]}

    with_order(proof, before, fn machine, context ->
      _ = walk(machine, before, proof)

      # What nobody refers to any more, nobody outside tells from others. The machine's process has created some of it.
      Run.collect([self(), machine])
      {:ok, native} = Machine.fetch(machine)
      keys = for name <- @actors, do: for(%Address{key: key} <- actors(proof, name, context), do: key)
      result = go_on({machine, native, limits, List.to_tuple(keys)}, {nil, []}, proof, look)
      # Up to here, somebody refers to what `graph` has returned.
      _ = :erlang.phash2(context, 1)
      result
    end)
  end

  # `goals`: of what it was asked last, what is a goal.
  defp go_on({machine, native, limits, keys} = of, {search, goals}, proof, look) do
    asked = &Native.machine_prove(native, search, {limits, keys}, goals, @slice, &1)

    case Question.put(native, @patience, [machine: machine], asked) do
      {:ok, {search, over, counts, found, left_out}} ->
        found = for {what, order} <- found, do: {what, Machine.Options.order(order)}
        {maybe, found} = Enum.split_with(found, &match?({:goal, _order}, &1))

        case Enum.find_value(found, look) do
          nil when over ->
            told(counts, left_out(left_out, proof, counts))

          nil ->
            if late?(proof.deadline),
              do: told(counts, left_out ++ [:timeout]),
              else: go_on(of, {search, for({:goal, order} <- maybe, do: goal?(proof, order))}, proof, look)

          failed ->
            failed
        end

      {:ok, :too_large} ->
        raise ArgumentError, "the actors and messages of the graph are more than a proof can hold"

      {:ok, :unknown} ->
        raise ArgumentError,
              "expected #{named(proof)} to name actors of the machine that the graph was given"

      {:error, error} ->
        raise error
    end
  end

  defp named(proof), do: for({name, actors} <- proof.actors, actors, do: inspect(name)) |> Enum.join(" and ")

  defp late?(deadline), do: System.monotonic_time(:millisecond) >= deadline

  # A property that was asked nowhere says nothing.
  defp left_out([], %{always: nil, eventually: nil}, {_states, _turns, 0, _orders, _bytes}), do: [:ends]
  defp left_out(left_out, _proof, _counts), do: left_out

  defp told({states, turns, ends, orders, bytes}, left_out) do
    counts = %{states: states, turns: turns, ends: ends, bytes: bytes}

    case left_out do
      [] -> {:proved, Map.put(counts, :orders, orders(orders))}
      _ -> {:bounded, left_out, counts}
    end
  end

  defp orders(nil), do: :infinite
  defp orders(text), do: String.to_integer(text)

  # -- what it finds -------------------------------------------------------------------------------------------

  defp failure(proof, {:rest, order}) do
    go = if Enum.any?(order, &match?({:fires, _place}, &1)), do: &walk/3, else: &rest/3

    case ended(proof, order, go) do
      {:ok, _turns} ->
        nil

      {wrong, _turns} ->
        # The same again, to be looked at. What a property says may depend on more than the order.
        {again, turns} = ended(proof, order, &walk/3)
        wrong = if again == :ok, do: wrong, else: again
        {:failed, failed(:property, Run.why(wrong), order, turns), order}
    end
  end

  defp failure(%{always: {_actors, property}} = proof, {:always, order}) do
    {turns, states} =
      with_order(proof, order, fn machine, context ->
        {walk(machine, order, proof), states(proof, :always, context)}
      end)

    case Run.check(property, states) do
      :ok -> nil
      wrong -> {:failed, failed(:always, @why[:always] <> ": " <> Run.why(wrong), order, turns), order}
    end
  end

  defp failure(proof, {flaw, order}) do
    turns = with_order(proof, order, fn machine, _context -> walk(machine, order, proof) end)
    {:failed, failed(flaw, @why[flaw] <> whose(flaw, List.last(turns)), order, turns), order}
  end

  # Who that was, where it is wrong in the last turn, which may be one that is not shown.
  defp whose(flaw, turn) when flaw in [:aborted, :ignored, :dropped, :answered_again] and turn != nil,
    do: ", in turn #{turn.number}: " <> (turn |> Mote.Trace.format() |> String.split("\n", parts: 2) |> hd())

  defp whose(_flaw, _turn), do: ""

  defp failed(kind, why, order, turns) do
    {shown, more} = Enum.split(turns, @shown)
    %Failure{kind: kind, why: why, schedule: {:order, order}, turns: shown, more: length(more)}
  end

  # Whether that is what is to come.
  defp goal?(%{eventually: {_actors, property}} = proof, order) do
    states =
      with_order(proof, order, fn machine, context ->
        _ = walk(machine, order, proof)
        states(proof, :eventually, context)
      end)

    case Run.check(property, states) do
      :ok -> true
      :untrue -> false
      {kind, reason, stack} -> :erlang.raise(kind, reason, stack)
    end
  end

  defp states(proof, name, context), do: for(actor <- actors(proof, name, context), do: peek!(actor))

  # The actors that an option names.
  defp actors(proof, name, context) do
    case proof.actors[name] do
      nil -> []
      {actors, _property} -> actors!(actors.(context), name)
      actors -> actors!(actors.(context), name)
    end
  end

  defp actors!(actors, name) do
    unless is_list(actors) and Enum.all?(actors, &is_struct(&1, Address)) do
      raise ArgumentError,
            "expected the function of #{inspect(name)} that names actors to return a list of addresses, " <>
              "got: #{inspect(actors)}"
    end

    actors
  end

  defp peek!(actor) do
    case Mote.peek(actor) do
      {:ok, state} -> state
      {:error, error} -> raise error
    end
  end

  # What the property says where an order ends.
  defp ended(proof, order, go) do
    with_order(proof, order, fn machine, context ->
      turns = go.(machine, order, proof)
      :ok = Mote.resume(machine)
      {with(:ok <- Mote.drain(machine, proof.timeout), do: Run.check(proof.property, context)), turns}
    end)
  end

  defp with_order(proof, order, act),
    do: Run.paused(proof.graph, [schedule: {:order, order}] ++ proof.opts, act)

  # To the end of an order in one go.
  defp rest(machine, order, proof) do
    :ok = Mote.resume(machine)
    _ = Mote.drain(machine, proof.timeout)

    unless Mote.info(machine).counters.turns == turns(order), do: other!(order)
    []
  end

  # Turn by turn.
  defp walk(machine, order, _proof) do
    for number <- 1..turns(order)//1 do
      case Mote.step(machine) do
        {:ok, turn} -> %{turn | number: number}
        _ -> other!(order)
      end
    end
  end

  # What is lost has none, and no timer.
  defp turns(order), do: Enum.count(order, &turn?/1)

  defp turn?({fate, _place}) when fate in [:lost, :fires], do: false
  defp turn?(_step), do: true

  @spec other!([Mote.Test.step()]) :: no_return
  defp other!(order) do
    raise ArgumentError,
          "expected the graph to begin with the same actors and messages each time it is called, but a machine that " <>
            "follows the order #{inspect(order)} does not end where the search has ended"
  end

  # -- what has become of messages ------------------------------------------------------------------------------

  # A message that is lost has no turn. So it is shown by the turn that it would have had: the first so many.
  @lost 20

  defp with_fates(%Failure{schedule: {:order, order}, turns: turns} = failure, proof) do
    {fates, _number} =
      order
      |> Enum.with_index()
      |> Enum.flat_map_reduce(1, fn
        {{fate, _place} = step, at}, number ->
          {[{number, fate, at}], number + if(turn?(step), do: 1, else: 0)}

        {_place, _at}, number ->
          {[], number + 1}
      end)

    {lost, others} = Enum.split_with(fates, &match?({_, :lost, _}, &1))

    lost =
      for {number, :lost, at} <- Enum.take(lost, @lost) do
        {before, [{:lost, place} | _]} = Enum.split(order, at)
        order = before ++ [place]
        had = with_order(proof, order, fn machine, _context -> walk(machine, order, proof) end)
        {number, :lost, had |> List.last() |> renamed(had |> Enum.drop(-1) |> names(turns))}
      end

    others = for {number, fate, _at} <- others, do: {number, fate, nil}
    %{failure | fates: Enum.sort_by(lost ++ others, &elem(&1, 0))}
  end

  # -- a shorter one -------------------------------------------------------------------------------------------

  # What is wrong at the end is found by the fewest turns. What is wrong in a turn may come after turns that do not matter.
  defp shorter(_proof, _mine, %Failure{kind: kind} = failure, _order)
       when kind in [:property, :unanswered, :stashed, :eventually],
       do: failure

  # There is none.
  defp shorter(_proof, _mine, failure, []), do: failure

  defp shorter(proof, mine, failure, order) do
    bounds = [depth: length(order) - 1, states: min(mine[:states], @shorter)]
    look = fn {what, _order} = found -> if what == failure.kind, do: failure(proof, found) end

    case search(proof, Keyword.merge(mine, bounds), false, look) do
      {:failed, shorter, _order} -> shorter
      _ -> failure
    end
  end

  # -- the nearest that does not fail --------------------------------------------------------------------------

  # The last place in the order from which a search still comes to an end without a failure, and the turn that comes there then.
  # Failures of which a machine shows at its end that there is none.
  defp nearest(%Failure{kind: kind, schedule: {:order, order}} = failure, proof, mine)
       when kind in [:property, :aborted, :dropped] do
    proof = %{proof | always: nil, eventually: nil, actors: []}
    ends = :counters.new(1, [])
    mine = Keyword.merge(mine, allow: @flaws, states: min(mine[:states], @shorter))

    Enum.find_value((turns(order) - 1)..0//-1, failure, fn count ->
      with [_ | _] = turns <- instead(proof, mine, prefix(order, count), ends),
           do: %{failure | instead: turns |> Enum.at(count) |> renamed(names(turns, failure.turns))}
    end)
  end

  defp nearest(failure, _proof, _mine), do: failure

  # The first so many turns, and what is lost and fires before them.
  defp prefix(order, turns) do
    {steps, _} =
      Enum.flat_map_reduce(order, 0, fn
        _step, ^turns -> {:halt, turns}
        step, count -> {[step], if(turn?(step), do: count + 1, else: count)}
      end)

    steps
  end

  defp instead(proof, mine, before, ends) do
    look = fn
      {:rest, order} ->
        :counters.add(ends, 1, 1)
        if :counters.get(ends, 1) > @nearer, do: :enough, else: good(proof, before ++ order)

      _flaw ->
        nil
    end

    case search(proof, mine, true, look, before) do
      turns when is_list(turns) -> turns
      _ -> nil
    end
  end

  # The turns of that order, if it ends well.
  defp good(proof, order) do
    with_order(proof, order, fn machine, context ->
      turns = walk(machine, order, proof)
      :ok = Mote.resume(machine)

      with :ok <- Mote.drain(machine, proof.timeout),
           false <- flawed?(Mote.info(machine).counters, proof.allow),
           :ok <- Run.check(proof.property, context) do
        turns
      else
        _ -> nil
      end
    end)
  end

  # Two machines give the same actors different addresses: those of the first run by those of the second one, as far as they go together.
  defp names(turns, others),
    do:
      turns
      |> Enum.zip(others)
      |> Enum.flat_map(fn {turn, other} -> pairs(turn, other) end)
      |> Enum.reverse()
      |> Map.new()

  defp pairs(%kind{} = one, %kind{} = other) when kind in [Address, Mote.Outbox, Mote.Timer],
    do: [{one, other}]

  defp pairs(one, other) when is_map(one) and is_map(other),
    do:
      for(
        {key, value} <- Map.to_list(one),
        {:ok, to} <- [Map.fetch(other, key)],
        pair <- pairs(value, to),
        do: pair
      )

  defp pairs([one | rest], [other | others]), do: pairs(one, other) ++ pairs(rest, others)

  defp pairs(one, other) when is_tuple(one) and is_tuple(other),
    do: pairs(Tuple.to_list(one), Tuple.to_list(other))

  defp pairs(_one, _other), do: []

  defp renamed(term, names) when is_map_key(names, term), do: names[term]
  defp renamed(%Address{} = address, _names), do: address

  defp renamed(%{} = map, names),
    do: Map.new(Map.to_list(map), fn {key, value} -> {key, renamed(value, names)} end)

  defp renamed([one | rest], names), do: [renamed(one, names) | renamed(rest, names)]

  defp renamed(tuple, names) when is_tuple(tuple),
    do: tuple |> Tuple.to_list() |> renamed(names) |> List.to_tuple()

  defp renamed(term, _names), do: term

  defp flawed?(counters, allowed) do
    Enum.any?(counters, fn {name, n} ->
      flaw = if name == :dropped, do: :dropped, else: "#{name}" =~ ~r/^aborts_/ and :aborted
      n > 0 and flaw not in [false | allowed]
    end)
  end
end
