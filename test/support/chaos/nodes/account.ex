defmodule Mote.Chaos.Nodes.Account do
  @moduledoc """
  What must be true of every message, after a phase of chaos between nodes.

    1. **Once, in order.** A tally or a listener has never seen a number of a sender twice, or after a greater one.
    2. **Arrived or told.** What was accepted on a node for another one, and did not arrive, is in the counters of these two nodes
       (`Mote.nodes/0`), if both lived and no process of Mote's was killed there. Without such faults nothing is missing. Messages to
       processes are the BEAM's own: nobody knows which of them a connection took along when it ended.
    3. **Keys keep their state.** Without cuts and kills each key has counted exactly what was accepted for it; with them, never
       more. Each of them answers.
  """

  alias Mote.Chaos.Nodes.Site

  # Milliseconds in which a key answers again where connections have ended, whatever became of its actor.
  @searched 60_000

  @doc "Waits until a list of what is wrong is empty; what is left in it after so long is found."
  def within(ms, check, wrong), do: wait(wrong, check, System.monotonic_time(:millisecond) + ms)

  defp wait(wrong, check, deadline) do
    left = wrong.()

    cond do
      left == [] ->
        :ok

      System.monotonic_time(:millisecond) > deadline ->
        throw({:found, check, left})

      true ->
        Process.sleep(20)
        wait(wrong, check, deadline)
    end
  end

  @doc "Checks a phase: `told` is what nodes had told to be lost before it, `kinds` are those of its faults."
  def check(world, told, kinds) do
    arrives? = not Enum.any?(kinds, &(&1 in [:cut, :kill, :process]))
    accepted = Map.new(world.accepted, fn {sender, target, n} -> {{sender, target}, n} end)

    {keyed, direct} =
      Enum.split_with(accepted, fn
        {{_, {kind, _}}, _} -> kind == :key
        {{_, {_, _, _}}, _} -> false
      end)

    if arrives?, do: within(60_000, :missing, fn -> missing(world, direct) end)
    # What a process that was killed had taken nobody knows.
    unless arrives? or :process in kinds,
      do: within(60_000, :lost_untold, fn -> untold(world, told, direct) end)

    once_in_order(seen(world))
    check_keys(world, keyed, arrives?)
  end

  defp seen(world), do: Map.new(for {_, site} <- world.sites, row <- Site.at(site, :seen), do: row)

  defp missing(world, direct) do
    seen = seen(world)
    for {{sender, target}, n} <- direct, (m = count(seen, target, sender)) != n, do: {sender, target, n, m}
  end

  defp count(seen, target, sender), do: seen |> Map.get(target, %{}) |> Map.get(sender, {0, 0, 0}) |> elem(0)

  defp once_in_order(seen) do
    for {target, senders} <- seen, {sender, {_, _, back}} <- senders, back > 0 do
      throw({:found, :out_of_order, %{target: target, sender: sender, times: back}})
    end
  end

  # What is missing between two nodes that lived, and not in their counters. It may still wait where it is to arrive.
  defp untold(world, before, direct) do
    seen = seen(world)
    now = Map.new(world.sites, fn {_, site} -> {site.node, {site.life, Site.at(site, :told_lost)}} end)

    missing =
      for {{{from, _, _, _} = sender, {:tally, to, _} = target}, n} <- direct,
          lived?(from, before, now),
          lived?(to, before, now),
          reduce: %{} do
        sum ->
          Map.update(
            sum,
            {from, to},
            n - count(seen, target, sender),
            &(&1 + n - count(seen, target, sender))
          )
      end

    for {{from, to}, n} <- missing, told = told(from, to, now) - told(from, to, before), n > told do
      %{from: from, to: to, missing: n, told: told}
    end
  end

  defp lived?(node, before, now) do
    {life, _} = before[node]
    match?({^life, _}, now[node])
  end

  defp told(from, to, all) do
    {_, there} = all[from]
    {_, here} = all[to]
    Map.get(there, to, 0) + Map.get(here, from, 0)
  end

  defp check_keys(world, keyed, arrives?) do
    case Enum.find(Map.values(world.sites), &Site.at(&1, :member?)) do
      nil ->
        :ok

      site ->
        searched = if arrives?, do: 0, else: @searched
        seen = fn -> seen_by_key(site, world.keys, System.monotonic_time(:millisecond) + searched) end

        wrong = fn seen ->
          for {{sender, key}, n} <- keyed, m = count(seen, key, sender), m != n, do: {key, sender, n, m}
        end

        if arrives?, do: within(60_000, :keys_lost_state, fn -> wrong.(seen.()) end)
        more = for {_, _, n, m} = row <- wrong.(seen.()), m > n, do: row
        if more != [], do: throw({:found, :key_counted_twice, more})
    end
  end

  # A key whose actor was held by a connection that has ended is looked for, and its next message starts it anew.
  defp seen_by_key(site, keys, deadline) do
    Map.new(Site.at(site, :seen_by_key, [keys]))
  rescue
    error in Mote.Error ->
      if error.reason != :broken_promise or System.monotonic_time(:millisecond) > deadline,
        do: throw({:found, :key_without_answer, error})

      Process.sleep(100)
      seen_by_key(site, keys, deadline)
  end
end
