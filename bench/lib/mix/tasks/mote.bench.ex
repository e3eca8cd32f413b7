defmodule Mix.Tasks.Mote.Bench do
  @shortdoc "Measures Mote, beside BEAM processes if asked"

  @moduledoc """
  Measures what actors and messages cost on this computer.

      mix mote.bench                                     # lists the programs
      mix mote.bench fork_bomb --depth 10,20 --compare beam
      mix mote.bench ping_pong ring --runs 9 --format tsv
      mix mote.bench fork_bomb --depth 5..24 --sponsor both --runs 21
      mix mote.bench savina --runs 3                     # the Savina suite, all of it, in one table

  Each variant is run in a node started for it, first once to warm up, then `--runs` times; the runs of the
  variants alternate. The machine lives on in between, as the node does; actors and processes are new in each run. The
  time is taken from the first send to the last message that reaches the BEAM process. A run of less than 5 ms is
  repeated until 20 ms are timed, and the median of all but the first counts as one run. Every result is checked.

  `savina` stands for all programs of the Savina suite, each with one size: a row of the table has the lines of code as actors
  and as processes; the main metric on machines with one thread (`mote_st`) and with one for each core (`mote_mt`), on BEAM
  processes in a node with one scheduler (`beam_st`) and with all (`beam`); the ratio of one to one, of all to all, and of
  threads. It takes `--runs`, `--tier`, `--cores` and `--format`.

  ## Options

    * `--depth`, `--n`: the size, whichever the program has: numbers and ranges, separated by commas;
    * `--runs`: how many timed runs (5; 3 of `sockets`, 2 of `broker`);
    * `--seconds`: how long each load of `sockets` and `broker` lasts (1);
    * `--sponsor`: `st` (a machine with one sponsor of one thread, the default), `mt` (one sponsor with a thread for
      each core) or `both`, alternating. Programs that are about sponsors have machines of their own;
    * `--tier`: `native`, `interp` (the interpreter) or `both`, alternating; without it, what the machine does by
      itself;
    * `--compare beam`: the same program on BEAM processes as well, and the ratio of the two;
    * `--cores even`: rounds count only if the computer's cores are equally fast before and after them, and as fast
      together as alone; they are made again for half a minute at most (see `percent_uneven`). Those of a virtual computer
      may be one real core for a while, or shared with strangers. Needs cargo;
    * `--data`: a directory with `customers`, `orders`, `order_details` and `products`, each a `.nldjson` file (one JSON
      object a line), for the programs named `northwind`; without it, data are made up;
    * `--format`: `table` or `tsv`, with the columns `bench variant param metric median min max unit`.

  ## Metrics

    * `ns_per_actor`, `ns_per_message`, `us_per_leaf` and the like: time;
    * `peak_rss_bytes`: the most memory that the whole OS process had at once, of the first run in its node;
    * `bytes_per_actor`: what that was more than before the run, for each actor. For `idle` it is what was in use
      when all actors were there and nothing happened; `bytes_per_timer` is the same for timers that are armed;
    * `ratio_vs_beam`: the main metric on BEAM processes divided by that on Mote;
    * `ratio_vs_floor`, `ratio_vs_rust` and the like: the same for what some programs are compared with, always: the
      same work as plain Rust (`native/mote_baseline`), which is built first and needs cargo. Below 1, Rust is faster;
    * `ratio_mt_vs_st`: how many times faster the sponsor with many threads is: its main metric by that of the
      single-threaded one, round by round;
    * `percent_mean_above_median`: of short runs, which are repeated, the median counts; by how much their mean is above it
      says how many of them were held up for long;
    * `ratio_native_vs_interp`: how many times faster native code is than the interpreter, round by round;
    * `ratio_beside_vs_alone`: the speed of a sponsor beside an idle one by its speed alone;
    * `ratio_apart_vs_together`: how many times faster two trees are on two threads that share nothing than on one: what
      the computer gives at that moment, to read `ratio_mt_vs_st` by;
    * `percent_uneven`: how many of the rounds were not on even cores although `--cores even` was asked for;
    * `percent_rss_growth`: the most memory of the OS process after the first twentieth of the run, beyond what it had
      then; `rss_bytes` is that most; `ratio_off_vs_mote`: how many times faster a run is without collection;
    * `us_pause_tree_longest`, `us_pause_chain_p99` and the like: for how long threads stood still for a collection;
      `percent_paused_tree`: the part of the time that these pauses took;
    * `us_ping_longest`, `us_ping_p99`: how long a BEAM process waited for another one's answer; `percent_aborted`: turns
      that were; `percent_rss_of_quota`: memory of the OS process at its peak, beyond what it had before the machine was
      started, by the quota;
    * `ratio_parallel_vs_sequential`: how many times faster many actors are than one, on the same machine;
      `ratio_two_vs_one`: how many times faster many are with two threads than with one; `ratio_uncollected_vs_collected`:
      how many times faster a machine is that never collects;
    * `ns_per_message_p99`, `us_p99`: the 99th of a hundred; `ns_per_message_mad`: the median distance from the median;
    * `ns_per_straight_read`: a read in a loop, without a message; `misses_per_read`: cache misses of the whole OS process,
      where `perf` can count them;
    * `us_cpu_per_echo`, `us_cpu_per_message_fan`: CPU time of a server, the system's included; `cpu_by_tokio`, `cpu_by_gen_tcp`,
      `p99_by_tokio`, `cpu_by_mosquitto`, `bytes_by_mosquitto`: Mote's figure by that of the other (`bench/README.md` says how);
      `bytes_per_idle_connection`: resident memory of the server for each;
    * `percent_of_core`: CPU time that the machine's threads take, in percent of one core.

  Memory is read from `/proc`, and left out where there is none.
  """

  use Mix.Task

  alias Mote.Bench
  alias Mote.Bench.{Options, Report, Run, Runner, Savina}

  @requirements ["app.config"]

  @impl true
  def run(argv) do
    case Options.parse(argv) do
      {:ok, %Options{programs: []}} -> list()
      {:ok, options} -> measure(options)
      {:error, message} -> Mix.raise(message <> " (see mix help mote.bench in bench/)")
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

  defp measure(%Options{suite: true} = options) do
    rows =
      for program <- options.programs, [param | _] = Options.params(options, program) do
        {program, Savina.lines(program), figures(program, param, options)}
      end

    IO.puts("\n" <> Savina.table(rows))
  end

  defp measure(options) do
    for program <- options.programs do
      measures = Enum.flat_map(Options.params(options, program), &figures(program, &1, options))
      IO.puts("\n" <> Report.table(program, measures))
    end
  end

  defp figures(program, param, options) do
    progress = fn line -> IO.puts(:stderr, "  " <> line) end

    given = [
      runs: options.runs || program.about().runs,
      seconds: options.seconds || 1,
      sponsor: Options.sponsor(options),
      tier: options.tier,
      compare: options.compare,
      data: options.data,
      cores: options.cores
    ]

    Runner.measure(program, param, [progress: progress] ++ given)
  rescue
    error in Run.Error -> Mix.raise(Exception.message(error))
  end
end
