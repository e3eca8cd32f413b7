defmodule Mote.Bench.Program do
  # What a bench program is: the same work for actors and for BEAM processes, what is counted, and the result by
  # which a run is known to be right. It says nothing about how often and where it is run.
  #
  #     defmodule Mote.Bench.Programs.Ring do
  #       use Mote.Bench.Program,
  #         title: "one token, 503 actors in a ring",
  #         param: :n,
  #         defaults: [5_000_000],
  #         small: 1_000,
  #         metric: :ns_per_message,
  #         expected: &(rem(&1, 503) + 1),
  #         processes: 503
  #       …
  #
  # Options:
  #
  #   * `:title`: one line;
  #   * `:param`: `:depth` or `:n`, the option that sets the size; `:defaults`: the sizes without it; `:small`: a
  #     size that is done within milliseconds, to load the code before anything is measured;
  #   * `:metric`: the figure that ratios are made of; its first word is its unit, such as `ns` or `us`;
  #   * `:count`, `:expected`, `:processes`, `:files`, `:measures`: the callbacks of these names, if they are that short, as a function or a
  #     value;
  #   * `:fresh` (false): measure every run in a node of its own, instead of only the first one;
  #   * `:settle` (0): milliseconds to wait after each stage before the memory is read;
  #   * `:machines`: the sponsors of each machine that it is run on, `[name: [sponsor: options]]`, if it is about
  #     sponsors; without it, `--sponsor` says which (see `Mote.Bench.Variant`);
  #   * `:options`: what else these machines are started with, `[name: options]`;
  #   * `:anew` ([]): those of these machines that are started anew for each run, because a run uses them up;
  #   * `:aborts` (false): whether turns may be aborted, if the program is about that;
  #   * `:data` (false): whether it reads the directory that `--data` names;
  #   * `:ratio`: the two of its variants to compare, `{metric, variant, than}`, or a list of such;
  #   * `:runs` (5): how many are timed if nothing else is said;
  #   * `:elsewhere` (false): whether its work is done by other OS processes, each load for as many seconds as `--seconds` says;
  #     then no small run goes ahead;
  #   * `:rust`: what it is always compared with, `[variant: program of native/mote_baseline]`;
  #   * `:plot` ([]): how `mix mote.report` measures and draws it, such as `[sizes: 5..16, full: 5..24, over: :count, x:
  #     :log2]`: see `Mote.Bench.Plot`.
  #
  # A program without `beam/1` and `processes/1` is for Mote only.
  @moduledoc false

  alias Mote.Bench.{Plot, Sample, Variant}

  @typedoc "A size: the depth of a tree, or a number of actors or messages."
  @type param :: pos_integer

  @typedoc """
  Timed one after the other; each gets what the one before returned, the first one `nil`. One that measures by itself
  returns `{:figures, [name: number], result}`: the figures go into the sample. A figure that cannot be had here is
  `{:unavailable, reason}`.
  """
  @type stages :: [{atom, (term -> term)}]

  @type about :: %{
          name: String.t(),
          title: String.t(),
          param: :depth | :n,
          defaults: [param],
          small: param,
          metric: atom,
          fresh: boolean,
          settle: non_neg_integer,
          machines: [{Variant.t(), keyword}] | nil,
          options: [{Variant.t(), keyword}],
          anew: [Variant.t()],
          aborts: boolean,
          data: boolean,
          runs: pos_integer,
          elsewhere: boolean,
          rust: [{Variant.t(), String.t()}],
          ratio: Variant.ratio() | [Variant.ratio()] | nil,
          plot: Plot.t()
        }

  @callback about() :: about

  @doc "How many actors or messages the time (or the memory) is divided by. The default: the size."
  @callback count(param) :: pos_integer

  @doc "What the last stage returns in a run that is right."
  @callback expected(param) :: term

  @doc """
  Prepares a run, outside of the timing: creates its actors, which loads their code. The machine may have had runs before.
  """
  @callback mote(machine :: term, param) :: stages

  @doc "Prepares a run on BEAM processes, outside of the timing."
  @callback beam(param) :: stages

  @doc "How many BEAM processes are alive at once, at most."
  @callback processes(param) :: non_neg_integer

  @doc "How many files it, or an OS process that it starts, has open at once, at most. The default: 0, as few as ever."
  @callback files(param) :: non_neg_integer

  @doc "The figures of a run in a node that had others before. The default: the time of all stages."
  @callback measures(Sample.t()) :: [{atom, number | nil}]

  @doc "The figures of a run in a new node. The default: the memory."
  @callback measures_fresh(Sample.t()) :: [{atom, number | nil}]

  @doc "What the last stage of a run on Mote would have returned, for the result of a run in Rust."
  @callback rust(result :: float, param) :: term

  @optional_callbacks beam: 1, processes: 1, rust: 2

  # How much faster the machine with one thread for each core is than the one with a single thread.
  @ratio {:ratio_mt_vs_st, :mote_mt, :mote_st}

  @short [:count, :expected, :processes, :files, :measures]

  defmacro __using__(opts) do
    {short, opts} = Keyword.split(opts, @short)

    quote do
      @behaviour Mote.Bench.Program
      import Mote.Bench.Program, only: [answer: 1, asking: 2, asking: 3, repeat: 2]
      @about Mote.Bench.Program.about(__MODULE__, unquote(opts))

      @impl true
      def about, do: @about

      @impl true
      def count(size), do: size

      @impl true
      def files(_size), do: 0

      @impl true
      def measures(sample), do: Mote.Bench.Program.time(sample, count(sample.param))

      @impl true
      def measures_fresh(sample), do: Mote.Bench.Program.memory(sample, count(sample.param))

      defoverridable count: 1, files: 1, measures: 1, measures_fresh: 1
      unquote_splicing(Enum.map(short, &callback/1))
    end
  end

  defp callback({name, {form, _, _} = fun}) when form in [:&, :fn] do
    quote do
      @impl true
      def unquote(name)(given), do: unquote(fun).(given)
    end
  end

  defp callback({name, value}) do
    quote do
      @impl true
      def unquote(name)(_given), do: unquote(value)
    end
  end

  @doc "Calls `start` and waits for the answer: the only message that a run gets."
  @spec answer((... -> term)) :: term
  def answer(start) do
    start.()

    receive do
      answer -> answer
    end
  end

  @doc "Calls the function so many times."
  @spec repeat(non_neg_integer, (... -> term)) :: :ok
  def repeat(0, _fun), do: :ok

  def repeat(times, fun) do
    fun.()
    repeat(times - 1, fun)
  end

  @doc "A stage that sends a message to an actor, or to a process, and returns what `fun` makes of the answer."
  @spec asking(Mote.Address.t() | pid, term, (term -> term)) :: (term -> term)
  def asking(target, message, fun \\ & &1)

  def asking(%Mote.Address{} = actor, message, fun),
    do: fn _ -> fun.(answer(fn -> Mote.send(actor, message) end)) end

  def asking(process, message, fun), do: fn _ -> fun.(answer(fn -> send(process, message) end)) end

  @doc "Says in this node how long each load of a program lasts that is `elsewhere`."
  @spec use_seconds(pos_integer) :: :ok
  def use_seconds(seconds), do: Application.put_env(:mote, :bench_seconds, seconds)

  @doc "How long that is; a second where nothing was said."
  @spec seconds() :: pos_integer
  def seconds, do: Application.get_env(:mote, :bench_seconds, 1)

  @doc "Checks the options of `use` and completes them."
  @spec about(module, keyword) :: about
  def about(module, opts) do
    name = module |> Module.split() |> List.last() |> Macro.underscore()

    optional = [
      fresh: false,
      settle: 0,
      machines: nil,
      options: [],
      anew: [],
      aborts: false,
      data: false,
      runs: 5,
      elsewhere: false,
      ratio: nil,
      rust: [],
      plot: []
    ]

    about = opts |> Keyword.validate!([:title, :param, :defaults, :small, :metric] ++ optional) |> Map.new()
    ratio = if about.machines, do: about.ratio, else: @ratio
    Map.merge(about, %{name: name, ratio: ratio, plot: Plot.new(about.plot, about)})
  end

  @doc "The figures of a run, as its program has them."
  @spec figures(Sample.t()) :: [{atom, number | nil}]
  def figures(%Sample{fresh: true} = sample), do: sample.program.measures_fresh(sample)
  def figures(%Sample{} = sample), do: sample.program.measures(sample)

  @doc "The time of a run of one kind of thing, actors or messages, of which there are `count`."
  @spec time(Sample.t(), pos_integer) :: [{atom, number | nil}]
  def time(%Sample{} = sample, count) do
    metric = sample.program.about().metric
    [{metric, Sample.ns(sample) / count / nanoseconds(Atom.to_string(metric))}]
  end

  @doc "The memory of the same."
  @spec memory(Sample.t(), pos_integer) :: [{atom, number | nil}]
  def memory(%Sample{} = sample, count) do
    peak = [peak_rss_bytes: sample.peak]

    case sample.program.about().metric do
      :ns_per_actor -> peak ++ [bytes_per_actor: Sample.per(sample.peak, sample.before, count)]
      _ -> peak
    end
  end

  defp nanoseconds("ns_" <> _), do: 1
  defp nanoseconds("us_" <> _), do: 1_000
end
