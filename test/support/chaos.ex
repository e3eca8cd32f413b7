defmodule Mote.Chaos do
  @moduledoc """
  Whole machines under everything at once, each run in an operating system process of its own: `bin/prove chaos`.

  A seed decides what a run does (`Mote.Chaos.Scenario`); `Mote.Chaos.Checks` says what must be true. What is found is made
  smaller (`Mote.Chaos.Shrink`) and written to a file, from which it can be had again. See `test/support/chaos/README.md`.
  """

  alias Mote.Chaos.{Kinds, Nodes, Run, Scenario, Shrink}

  @directory "_build/chaos"
  # The short run: seeds that have among them every kind, and one of today's.
  @seeds [1, 2, 3, 4, 5, 6, 7, 8]
  @shrink_minutes 4
  # Milliseconds that this process was late: what passed a deadline meanwhile may have been late for the same reason.
  @late_host 1_000
  @late_scheduler 150
  @options [seed: :integer, for: :float, only: :string, replay: :string, nodes: :boolean]

  @doc "What `bin/prove chaos` runs; ends the process, with status 1 if anything was found."
  def main(arguments) do
    case OptionParser.parse(arguments, strict: @options) do
      {options, [], []} ->
        options |> Map.new() |> campaign() |> finish()

      _ ->
        stop(
          "usage: bin/prove chaos [--seed N] [--for MINUTES] [--only kind,kind] [--replay FILE] [--nodes]; kinds: #{kinds()}"
        )
    end
  end

  defp kinds, do: Enum.map_join(Kinds.all(), ", ", &to_string/1)

  defp only(nil), do: []

  defp only(text) do
    for name <- String.split(text, ",") do
      Enum.find(Kinds.all(), &(to_string(&1) == name)) || stop("unknown kind #{name}; kinds: #{kinds()}")
    end
  end

  @spec stop(String.t()) :: no_return
  defp stop(text) do
    IO.puts(:stderr, text)
    System.halt(2)
  end

  # -- campaigns -----------------------------------------------------------------------------------------------

  defp campaign(%{nodes: true} = options), do: Nodes.campaign(options)

  defp campaign(options) do
    only = only(options[:only])
    today = Date.to_gregorian_days(Date.utc_today())

    cond do
      file = options[:replay] ->
        again(Scenario.read!(file), 10)

      minutes = options[:for] ->
        long(options[:seed] || :os.system_time(:second), only, now() + round(minutes * 60_000), %{})

      seed = options[:seed] ->
        again(Scenario.of(seed, only), 5)

      true ->
        Enum.reduce(@seeds ++ [today], %{}, &try_seed(&1, only, &2, now() + @shrink_minutes * 60_000))
    end
  end

  # One scenario, several times: what it finds may need luck.
  defp again(scenario, times) do
    Enum.reduce_while(1..times, %{}, fn _, found ->
      found = try_scenario(scenario, found, now() + @shrink_minutes * 60_000)
      if found == %{}, do: {:cont, found}, else: {:halt, found}
    end)
  end

  defp long(seed, only, until, found) do
    if now() < until,
      do: long(seed + 1, only, until, try_seed(seed, only, found, until)),
      else: found
  end

  defp try_seed(seed, only, found, until), do: try_scenario(Scenario.of(seed, only), found, until)

  # -- one run -------------------------------------------------------------------------------------------------

  defp try_scenario(scenario, found, until) do
    run = sure(scenario, 3)
    say(scenario, run)

    cond do
      run.outcome == :held -> found
      late_host?(run) -> found
      true -> found(scenario, run, found, until)
    end
  end

  # What was found before is only counted.
  defp found(scenario, run, found, until) do
    unless Map.has_key?(found, run.outcome), do: report(scenario, run, until)
    add(found, run.outcome, scenario.seed)
  end

  defp add(found, outcome, seed), do: Map.update(found, outcome, [seed], &[seed | &1])

  # A deadline that passed while this process was late itself says nothing: once more.
  defp sure(scenario, times) do
    run = Run.once(scenario, directory("run"))
    if late_host?(run) and times > 1, do: sure(scenario, times - 1), else: run
  end

  defp late_host?(%{outcome: :held_scheduler, delay: delay}), do: delay > @late_scheduler

  defp late_host?(%{outcome: outcome, delay: delay}),
    do: delay > @late_host and (outcome == :hung or String.starts_with?(to_string(outcome), "late_"))

  defp say(scenario, run) do
    what = "seed #{scenario.seed}: #{Enum.join(scenario.kinds, " ")}, #{Scenario.size(scenario)} operations"
    IO.puts("#{what}: #{run.outcome} (#{Float.round(run.seconds, 1)} s)#{late(run)}")
  end

  defp late(run),
    do: if(late_host?(run), do: ", while this host was #{run.delay} ms late: no finding", else: "")

  defp report(scenario, run, until) do
    name = "#{scenario.seed}-#{run.outcome}"
    kept = directory(name)
    File.rm_rf!(kept)
    File.cp_r!(run.dir, kept)
    IO.puts("\n== #{run.outcome}, seed #{scenario.seed}\n#{run.detail}\n#{Run.last_operations(run)}")

    again = &Run.once(&1, directory("shrink"))
    {smallest, last} = Shrink.smallest(scenario, run, again, min(until, now() + @shrink_minutes * 60_000))

    file = Path.join(kept, "smallest.exs")
    smallest = Shrink.tidy(smallest)
    Scenario.write!(smallest, file)

    IO.puts(
      "\nthe smallest scenario that finds it (#{Scenario.size(smallest)} of #{Scenario.size(scenario)} operations):"
    )

    IO.puts(String.slice(File.read!(file), 0, 6_000))
    IO.puts("and what it found: #{last.outcome}: #{last.detail}\n")
    IO.puts("all of it:     #{kept} (scenario, output, journals)")
    IO.puts("again:         bin/prove chaos --replay #{file}")
    IO.puts("all of it:     bin/prove chaos --replay #{Path.join(kept, "scenario.exs")}\n")
    true
  end

  defp directory(name), do: Path.expand(Path.join(@directory, name))

  defp finish(found) when found == %{}, do: IO.puts("chaos: all held")

  defp finish(found) do
    for {outcome, seeds} <- found,
        do: IO.puts("chaos: #{outcome} with seeds #{Enum.join(Enum.reverse(seeds), ", ")}")

    System.halt(1)
  end

  defp now, do: System.monotonic_time(:millisecond)
end
