defmodule Mote.Bench.Demo do
  # The show: the fork bomb of growing depth beside BEAM processes, then millions of actors alive at once. All
  # figures come from the bench programs; only how they are laid out is its own.
  @moduledoc false

  alias Mote.Bench.{Measure, Report, Runner}
  alias Mote.Bench.Programs.{ForkBomb, Idle}

  @depths 5..24
  @alive 33_554_431

  # BEAM processes are shown at least up to this depth, where memory allows it, and further while one run takes
  # no longer than that.
  @beam_depth 17
  @beam_patience_ns 5.0e9
  # A tree of processes that is twice as big takes a bit more than twice the time.
  @growth 2.3

  # The memory that a small tree takes is lost in that of the node.
  @least_for_bytes 4_095

  @widths [5, 10, 8, 9, 8, 10, 9, 10, 6]

  @type options :: [
          depths: Range.t(),
          beam_depth: pos_integer | nil,
          alive: pos_integer,
          where: :node | :here
        ]

  @doc """
  Runs it and prints to the standard output, line by line as the figures come.

  Options: `depths` (5..24); `beam_depth`: the depth at which BEAM processes end, instead of finding out; `alive`
  (33,554,431): the actors of the last act; `where`: see `Mote.Bench.Worker`.
  """
  @spec run(options) :: :ok
  def run(opts \\ []) do
    opts = Keyword.validate!(opts, depths: @depths, beam_depth: nil, alive: @alive, where: :node)
    intro()
    Enum.reduce(opts[:depths], {:going, 0.0}, &depth(&1, &2, opts))
    alive(opts)
  end

  defp intro do
    IO.puts("""

    Mote on #{System.schedulers_online()} cores, OTP #{System.otp_release()}, Elixir #{System.version()}; \
    actors run on one native thread, processes on all cores.

    The fork bomb: every inner node creates two children, sends to both, waits for both, reports up.
    ns is wall time from the first send to the last answer, for each actor (median of several runs);
    peak is the most memory that the whole node had at once (a fresh node for every size).
    """)

    header = [
      ["", "", "Mote", "", "bytes/", "BEAM", "", "bytes/", "times"],
      ["depth", "actors", "ns/actor", "peak", "actor", "ns/process", "peak", "process", "faster"]
    ]

    Enum.each(header, &IO.puts(Report.line(&1, @widths)))
    IO.puts("  " <> Enum.map_join(@widths, "  ", &String.duplicate("-", &1)))
  end

  # The accumulator: whether BEAM processes still take part, and how long they took for the depth before.
  defp depth(depth, {beam, last_ns}, opts) do
    beam = if beam == :going, do: beam_status(depth, last_ns, opts), else: beam
    measures = measure(ForkBomb, depth, runs(depth), beam == :going, opts)
    IO.puts(Report.line(row(depth, measures), @widths))

    if is_binary(beam), do: IO.puts(String.duplicate(" ", 52) <> "^ " <> beam)

    next = if beam == :going, do: :going, else: :over
    {next, (value(measures, :beam, :ns_per_actor) || 0.0) * ForkBomb.count(depth)}
  end

  # `:going`, or why they stop here.
  defp beam_status(depth, last_ns, opts) do
    most = opts[:beam_depth]

    cond do
      most && depth > most -> "BEAM processes up to depth #{most}, as asked"
      reason = Runner.beyond_beam(ForkBomb, depth) -> reason
      most || depth <= @beam_depth || last_ns * @growth <= @beam_patience_ns -> :going
      true -> "BEAM processes would take about #{seconds(last_ns * @growth)} for this one"
    end
  end

  defp runs(depth) when depth <= 12, do: 15
  defp runs(depth) when depth <= 17, do: 5
  defp runs(_depth), do: 3

  defp row(depth, measures) do
    count = ForkBomb.count(depth)

    [Integer.to_string(depth), Report.number(count)] ++
      figures(measures, :mote, count) ++
      figures(measures, :beam, count) ++
      [show(value(measures, :mote, :ratio_vs_beam), &Report.number/1)]
  end

  defp figures(measures, variant, count) do
    bytes = if count >= @least_for_bytes, do: value(measures, variant, :bytes_per_actor)

    [
      show(value(measures, variant, :ns_per_actor), &Report.number/1),
      show(value(measures, variant, :peak_rss_bytes), &Report.memory/1),
      show(bytes, &Report.number/1)
    ]
  end

  defp alive(opts) do
    n = opts[:alive]

    IO.puts("\n#{Report.number(n)} actors alive at once in one node, each holding the address of the next:\n")

    measures = measure(Idle, n, 1, false, opts)
    build = value(measures, :mote, :ns_per_actor)
    travel = value(measures, :mote, :ns_per_message)

    [
      ["created in", seconds(build * n), "#{Report.number(build)} ns per actor"],
      [
        "memory in use",
        show(value(measures, :mote, :bytes_per_actor), &Report.memory(&1 * n)),
        "#{show(value(measures, :mote, :bytes_per_actor), &Report.number/1)} bytes per actor"
      ],
      [
        "peak memory",
        show(value(measures, :mote, :peak_rss_bytes), &Report.memory/1),
        "of the whole node, its queues included"
      ],
      ["a message through all", seconds(travel * n), "#{Report.number(travel)} ns from one to the next"]
    ]
    |> Report.align([0, 2])
    |> IO.puts()

    IO.puts("")
  end

  defp measure(program, param, runs, compare, opts) do
    Runner.measure(program, param, runs: runs, compare: compare, where: opts[:where])
  end

  defp value(measures, variant, metric) do
    case Enum.find(measures, &(&1.variant == variant and &1.metric == metric)) do
      nil -> nil
      measure -> Measure.median(measure) * 1.0
    end
  end

  defp show(nil, _), do: "-"
  defp show(value, fun), do: fun.(value)

  defp seconds(ns), do: "#{Report.number(ns / 1.0e9)} s"
end
