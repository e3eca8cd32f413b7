defmodule Mote.Bench.Suite do
  # All programs one after the other, each at the sizes that its plot names, within a time: what the report is made of.
  # How one program is measured is in `runner.ex`, how it looks in `page.ex`.
  #
  # A program that fails has an error for its figures, and the next one goes on. When the time does not allow for a
  # further size, the program ends with those that it has; its first size is measured as long as there is any time.
  @moduledoc false

  alias Mote.Bench.{Measure, Run, Runner}

  @enforce_keys [:program]
  defstruct [:program, measures: [], sizes: [], left_out: [], error: nil]

  @typedoc "One program: its figures, the sizes that were measured and those that were not, and why if it failed."
  @type t :: %__MODULE__{
          program: module,
          measures: [Measure.t()],
          sizes: [pos_integer],
          left_out: [pos_integer],
          error: String.t() | nil
        }

  @type options :: [
          full: boolean,
          runs: pos_integer,
          seconds: pos_integer | :infinity,
          where: :node | :here,
          progress: (String.t() -> term),
          each: ([t] -> term)
        ]

  # How often what is drawn as a histogram is run at least.
  @histogram 25

  # The next size is bigger: it will take some times as long as the last one.
  @growth 2

  @doc """
  Measures the programs, beside BEAM processes and Rust where there are such.

  Options: `full` (false): the sizes of `full:` in their plots; `runs` (3); `seconds` (`:infinity`) for all of them;
  `where`: see `Mote.Bench.Worker`; `progress`: is called with lines of text; `each`: with all that there is, whenever
  a program is done.
  """
  @spec run([module], options) :: [t]
  def run(programs, opts \\ []) do
    nothing = fn _ -> :ok end
    defaults = [full: false, runs: 3, seconds: :infinity, where: :node, progress: nothing, each: nothing]
    opts = Keyword.validate!(opts, defaults)
    ends = if opts[:seconds] != :infinity, do: now() + opts[:seconds] * 1_000

    {done, 0} =
      Enum.reduce(programs, {[], length(programs)}, fn program, {done, left} ->
        entry = program(program, share(ends, left), opts)
        opts[:each].(Enum.reverse([entry | done]))
        {[entry | done], left - 1}
      end)

    Enum.reverse(done)
  end

  # When the share of this one of the time that is left ends.
  defp share(nil, _left), do: :infinity
  defp share(ends, left), do: now() + max(div(ends - now(), left), 0)

  defp program(program, ends, opts) do
    plot = program.about().plot
    sizes = if opts[:full], do: plot.full, else: plot.sizes
    sizes(sizes, ends, 0, %__MODULE__{program: program}, opts)
  end

  defp sizes([], _ends, _last, entry, _opts), do: entry

  defp sizes([size | more] = left, ends, last, entry, opts) do
    start = now()

    if ends != :infinity and start + @growth * last >= ends do
      opts[:progress].("#{entry.program.about().name}: no time for #{Enum.join(left, ", ")}")
      %{entry | left_out: left}
    else
      case measure(entry.program, size, opts) do
        {:ok, measures} ->
          entry = %{entry | measures: entry.measures ++ measures, sizes: entry.sizes ++ [size]}
          sizes(more, ends, now() - start, entry, opts)

        {:error, message} ->
          opts[:progress].("#{entry.program.about().name}: #{message}")
          %{entry | error: message, left_out: left}
      end
    end
  end

  defp measure(program, size, opts) do
    runs = if program.about().plot.kind == :histogram, do: max(opts[:runs], @histogram), else: opts[:runs]
    given = [runs: runs] ++ Keyword.take(opts, [:where, :progress])
    {:ok, Runner.measure(program, size, [sponsor: :both, compare: true] ++ given)}
  rescue
    error in Run.Error -> {:error, error.message}
    error -> {:error, Exception.format(:error, error, __STACKTRACE__)}
  catch
    kind, reason -> {:error, Exception.format(kind, reason, __STACKTRACE__)}
  end

  defp now, do: System.monotonic_time(:millisecond)
end
