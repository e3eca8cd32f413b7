defmodule Mix.Tasks.Mote.Bench do
  @shortdoc "Measures Mote, beside BEAM processes if asked"

  @moduledoc """
  Measures what actors and messages cost on this computer.

      mix mote.bench                                     # lists the programs
      mix mote.bench fork_bomb --depth 10,20 --compare beam
      mix mote.bench ping_pong ring --runs 9 --format tsv

  Each variant is run in a node started for it, first once to warm up, then `--runs` times; the runs of the
  variants alternate. Every run has a fresh machine, and the time is taken from the first send to the last message
  that reaches the BEAM process. Every result is checked.

  ## Options

    * `--depth`, `--n`: the size, whichever the program has: numbers and ranges, separated by commas;
    * `--runs`: how many timed runs (5);
    * `--compare beam`: the same program on BEAM processes as well, and the ratio of the two;
    * `--format`: `table` or `tsv`, with the columns `bench variant param metric median min max unit`.

  ## Metrics

    * `ns_per_actor`, `ns_per_message`: time;
    * `peak_rss_bytes`: the most memory that the whole OS process had at once, of the first run in its node;
    * `bytes_per_actor`: what that was more than before the run, for each actor. For `idle` it is what was in use
      when all actors were there and nothing happened;
    * `ratio_vs_beam`: the main metric on BEAM processes divided by that on Mote.

  Memory is read from `/proc`, and left out where there is none.
  """

  use Mix.Task

  alias Mote.Bench
  alias Mote.Bench.{Options, Report, Run, Runner}

  @requirements ["app.config"]

  @impl true
  def run(argv) do
    case Options.parse(argv) do
      {:ok, %Options{programs: []}} -> list()
      {:ok, options} -> measure(options)
      {:error, message} -> Mix.raise(message <> " (see mix help mote.bench)")
    end
  end

  defp list do
    rows =
      for program <- Bench.programs(), about = program.about(), do: [about.name, size(about), about.title]

    Mix.shell().info(Report.align([["program", "size", "what it does"] | rows], [0, 1, 2]))
  end

  # As it would be typed: --n 1_000_000,10_000_000
  defp size(about) do
    sizes = Enum.map_join(about.defaults, ",", &String.replace(Report.number(&1), ",", "_"))
    "--#{about.param} #{sizes}"
  end

  defp measure(%Options{format: :tsv} = options) do
    IO.puts(Report.tsv_header())

    for program <- options.programs, param <- Options.params(options, program) do
      program |> figures(param, options) |> Report.tsv() |> Enum.each(&IO.puts/1)
    end
  end

  defp measure(options) do
    for program <- options.programs do
      measures = Enum.flat_map(Options.params(options, program), &figures(program, &1, options))
      IO.puts("\n" <> Report.table(program, measures))
    end
  end

  defp figures(program, param, options) do
    progress = fn line -> IO.puts(:stderr, "  " <> line) end
    Runner.measure(program, param, runs: options.runs, compare: options.compare, progress: progress)
  rescue
    error in Run.Error -> Mix.raise(Exception.message(error))
  end
end
