defmodule Mote.Chaos.Shrink do
  @moduledoc """
  Makes a scenario smaller that has found something, as long as it still finds that.

  A finding may need luck: so how often the whole scenario finds it decides how often a smaller one is tried before it is
  given up.
  """

  alias Mote.Chaos.{Run, Scenario}

  # How often the whole is run to see how much luck it needs, and the most that a candidate is tried.
  @probes 3
  @most_tries 5
  @rounds 30

  @doc """
  The smallest scenario found until the deadline (milliseconds of the system's monotonic time), with its last finding. `run` runs a
  scenario and returns what it has found.
  """
  @spec smallest(Scenario.t(), Run.t(), (Scenario.t() -> Run.t()), integer) :: {Scenario.t(), Run.t()}
  def smallest(scenario, found, run, deadline) do
    how = %{outcome: found.outcome, run: run, deadline: deadline, tries: 1}
    probe = fn scenario -> Enum.count(1..@probes, fn _ -> finds(scenario, how) != nil end) end

    if probe.(scenario) == @probes do
      reduce(scenario, found, how)
    else
      # Many rounds need less luck.
      scenario = %{scenario | rounds: @rounds}
      tries = min(@most_tries, ceil(2 * @probes / max(probe.(scenario), 1)))
      reduce(scenario, found, %{how | tries: tries})
    end
  end

  defp reduce(scenario, found, how) do
    {scenario, found} = drop(scenario, found, div(length(addresses(scenario)) + 1, 2), how)
    changes = simpler() ++ Enum.flat_map(addresses(scenario), &simpler_at/1)
    # All at once, for the most part; else one by one.
    all = fn scenario -> Enum.reduce(simpler(), scenario, fn change, scenario -> change.(scenario) end) end
    Enum.reduce([all | changes], {scenario, found}, fn change, best -> try_change(change, best, how) end)
  end

  # Operations in chunks, the half of them first, then smaller ones.
  defp drop(scenario, found, 0, _how), do: {scenario, found}

  defp drop(scenario, found, size, how) do
    {smaller, found} =
      scenario
      |> addresses()
      |> Enum.chunk_every(size)
      |> Enum.reduce({scenario, found}, fn chunk, best -> try_change(&without(&1, chunk), best, how) end)

    drop(smaller, found, div(size, 2), how)
  end

  defp try_change(change, {scenario, found}, how) do
    candidate = change.(scenario)

    with true <- candidate != scenario,
         run when run != nil <- finds(candidate, how) do
      IO.puts(
        "  smaller: #{Scenario.size(candidate)} operations still find #{how.outcome} (#{Float.round(run.seconds, 1)} s)"
      )

      {candidate, run}
    else
      _ -> {scenario, found}
    end
  end

  defp finds(scenario, %{outcome: outcome, tries: tries} = how) do
    if tries > 0 and System.monotonic_time(:millisecond) < how.deadline do
      case how.run.(scenario) do
        %{outcome: ^outcome} = run -> run
        _ -> finds(scenario, %{how | tries: tries - 1})
      end
    end
  end

  # Where operations are. Each keeps its address while others are left out, so a place may become empty.
  defp addresses(%{phases: phases}) do
    for {lanes, p} <- Enum.with_index(phases),
        {ops, l} <- Enum.with_index(lanes),
        {op, i} <- Enum.with_index(ops),
        op != nil do
      {p, l, i}
    end
  end

  defp without(%{phases: phases} = scenario, chunk) do
    gone = MapSet.new(chunk)

    phases =
      for {lanes, p} <- Enum.with_index(phases) do
        for {ops, l} <- Enum.with_index(lanes) do
          for {op, i} <- Enum.with_index(ops), do: if({p, l, i} in gone, do: nil, else: op)
        end
      end

    %{scenario | phases: phases}
  end

  @doc "A scenario without the places that have become empty."
  @spec tidy(Scenario.t()) :: Scenario.t()
  def tidy(%{phases: [setting | phases]} = scenario) do
    lanes = fn lanes ->
      lanes |> Enum.map(&Enum.reject(&1, fn op -> op == nil end)) |> Enum.reject(&(&1 == []))
    end

    %{
      scenario
      | phases: [
          Enum.map(setting, &Enum.reject(&1, fn op -> op == nil end))
          | phases |> Enum.map(lanes) |> Enum.reject(&(&1 == []))
        ]
    }
  end

  # What is repeated: less often, and fewer of it.
  defp simpler_at({p, l, i}) do
    at = [Access.key!(:phases), Access.at(p), Access.at(l), Access.at(i)]
    repeated = fn fun -> &update_in(&1, at, fn op -> with {:repeat, n, ops} <- op, do: fun.(n, ops) end) end

    [
      repeated.(fn n, ops -> {:repeat, div(n + 9, 10), ops} end),
      repeated.(fn n, ops -> {:repeat, n, Enum.drop(ops, 1)} end),
      repeated.(fn n, ops -> {:repeat, n, Enum.take(ops, max(length(ops) - 1, 1))} end)
    ]
  end

  # Then everything else that may not matter.
  defp simpler do
    machine = fn key, value ->
      fn s -> %{s | machines: Enum.map(s.machines, &Keyword.put(&1, key, value))} end
    end

    [
      &%{&1 | rounds: 1},
      &%{&1 | stress: nil},
      &%{&1 | modules: []},
      &%{&1 | plain: []},
      &%{&1 | machines: Enum.take(&1.machines, 1)},
      machine.(:telemetry, []),
      machine.(:gc, []),
      machine.(:schedule, :threads),
      machine.(:clock, :system),
      machine.(:tier, :native),
      machine.(:fuel, 1_000_000),
      machine.(:memory, :infinity),
      machine.(:sponsors, main: [threads: 1], side: [threads: 1])
    ]
  end
end
