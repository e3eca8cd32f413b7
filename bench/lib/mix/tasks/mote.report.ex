defmodule Mix.Tasks.Mote.Report do
  @shortdoc "Measures all bench programs and writes a page with plots"

  @moduledoc """
  Measures what actors and messages cost on this computer, and writes it down as a page.

      mix mote.report                  # all programs, at sizes that fit ten minutes
      mix mote.report --full           # at all sizes: an hour or more
      mix mote.report fork_bomb chain  # only these

  It draws plots, so Mote has to be built with them: see `Mote.Measure.plot/3`.

  `bench/report/index.html` has a plot and a table for each program, beside BEAM processes and plain Rust where there are
  such, and a description of the computer. It needs no other file and no network. `bench/report/runs.csv` has every run.
  Both are written anew after each program, so that a report which was interrupted has what was measured.

  A program that fails is in the report with its error. What there was no time for is named. How programs are measured
  is described in `mix help mote.bench`.

  ## Options

    * `--full`: all sizes of all programs, for as long as it takes;
    * `--runs`: how many timed runs of each (3, or 5 with `--full`);
    * `--to`: the directory (`bench/report`).
  """

  use Mix.Task

  alias Mote.Bench
  alias Mote.Bench.{Computer, Page, Suite}
  alias Mote.Measure.{Plot, Table}

  @requirements ["app.config"]

  @switches [full: :boolean, runs: :integer, to: :string]

  # What is left of ten minutes when the last program takes a bit longer than its share.
  @seconds 540

  @impl true
  def run(argv) do
    {opts, programs} = options!(argv)
    # Without plots it ends here, and not when the first program was measured.
    Plot.draw(Table.new([:param, :value], [[1, 1]]), :svg, [])
    full = Keyword.get(opts, :full, false)
    directory = Keyword.get(opts, :to, "bench/report")
    computer = Computer.describe()

    heading =
      "#{Calendar.strftime(DateTime.utc_now(), "%Y-%m-%d %H:%M")} UTC, #{if full, do: "all", else: "some"} sizes"

    page!(directory, [], computer, heading)

    entries =
      Suite.run(programs,
        full: full,
        runs: Keyword.get(opts, :runs, if(full, do: 5, else: 3)),
        seconds: if(full, do: :infinity, else: @seconds),
        progress: &IO.puts(:stderr, "  " <> &1),
        each: &page!(directory, &1, computer, heading)
      )

    failed = for entry <- entries, entry.error != nil, do: entry.program.about().name
    if failed != [], do: Mix.shell().error("failed: #{Enum.join(failed, ", ")}")
    Mix.shell().info("wrote #{Path.join(directory, "index.html")}")
  end

  defp options!(argv) do
    {opts, names, invalid} = OptionParser.parse(argv, strict: @switches)

    if invalid != [],
      do:
        Mix.raise(
          "there is no option #{elem(hd(invalid), 0)}, or it needs a value (see mix help mote.report in bench/)"
        )

    if Keyword.get(opts, :runs, 1) < 1, do: Mix.raise("--runs must be at least 1, got: #{opts[:runs]}")
    {opts, if(names == [], do: Bench.programs(), else: Enum.map(names, &program!/1))}
  end

  defp program!(name) do
    case Bench.fetch(name) do
      {:ok, program} -> program
      :error -> Mix.raise("there is no bench program #{inspect(name)}: mix mote.bench lists them")
    end
  end

  defp page!(directory, entries, computer, heading) do
    File.mkdir_p!(directory)
    File.write!(Path.join(directory, "index.html"), Page.html(entries, computer, heading))
    File.write!(Path.join(directory, "runs.csv"), Table.to_csv(Page.runs(entries)))
  rescue
    error in File.Error -> Mix.raise("cannot write the report: #{Exception.message(error)}")
  end
end
