defmodule Mote.Bench.Variant do
  # What a program can be run on: machines that differ in their sponsors and in how they run code, BEAM processes, or a
  # program in Rust that does the same without either. And which two of these a report compares.
  @moduledoc false

  @single [threads: 1]
  @multi [threads: :cores]

  # `mote` is what is measured when nothing is said about sponsors.
  @machines [
    mote: [main: @single],
    mote_st: [main: @single],
    mote_mt: [main: @multi]
  ]

  # Processes in a node with one scheduler, and in one with a scheduler for each core.
  @beams [:beam_st, :beam]

  @sponsors [st: [:mote], mt: [:mote_mt], both: [:mote_st, :mote_mt]]

  # A machine's own choice, nil, adds nothing to its name.
  @tiers [default: [nil], native: [:native], interp: [:interp], both: [:native, :interp]]

  @typedoc "The name of a variant: that of BEAM processes, of a machine or of a program in Rust."
  @type t :: atom

  @typedoc "The sponsors to measure: with one thread, with one for each core, or both."
  @type sponsors :: :st | :mt | :both

  @typedoc "How the machine runs code: as it does by itself, native code, the interpreter, or both."
  @type tiers :: :default | :native | :interp | :both

  @typedoc "How much faster a variant is than another one, by the main metric."
  @type ratio :: {metric :: atom, variant :: t, than :: t}

  @doc "What can be chosen."
  @spec sponsors() :: [sponsors]
  def sponsors, do: Keyword.keys(@sponsors)

  @doc "What else can be chosen."
  @spec tiers() :: [tiers]
  def tiers, do: Keyword.keys(@tiers)

  @doc "The machines that a program is run on. Programs about sponsors have their own, whatever was chosen."
  @spec machines(module, sponsors, tiers) :: [t, ...]
  def machines(program, sponsors, tiers \\ :default) do
    machines =
      if own = program.about().machines, do: Keyword.keys(own), else: Keyword.fetch!(@sponsors, sponsors)

    for machine <- machines, tier <- Keyword.fetch!(@tiers, tiers), do: name(machine, tier)
  end

  @doc "The options of the machine of a variant."
  @spec options(module, t) :: keyword
  def options(program, variant) do
    {machine, sponsors, tier} = machine(program, variant)
    own = Keyword.get(program.about().options, machine, [])
    [sponsors: sponsors] ++ own ++ if tier, do: [tier: tier], else: []
  end

  @doc "Whether each run is to have a machine of its own, because it uses that up."
  @spec anew?(module, t) :: boolean
  def anew?(program, variant) do
    {machine, _, _} = machine(program, variant)
    machine in program.about().anew
  end

  defp machine(program, variant) do
    [found] =
      for {machine, sponsors} <- program.about().machines || @machines,
          tier <- [nil, :native, :interp],
          name(machine, tier) == variant,
          do: {machine, sponsors, tier}

    found
  end

  defp name(machine, nil), do: machine
  defp name(machine, tier), do: :"#{machine}_#{tier}"

  @doc "The variants on BEAM processes, of all that are compared: none, the one with all schedulers, or both."
  @spec beams(boolean | :schedulers) :: [t]
  def beams(false), do: []
  def beams(true), do: [:beam]
  def beams(:schedulers), do: @beams

  @doc "Whether the variant is one on BEAM processes."
  @spec processes?(t) :: boolean
  def processes?(variant), do: variant in @beams

  @doc "How many schedulers its node is started with, or `nil` for the BEAM's own choice."
  @spec schedulers(t) :: pos_integer | nil
  def schedulers(:beam_st), do: 1
  def schedulers(_variant), do: nil

  @doc "Whether the program exists for BEAM processes too."
  @spec beam?(module) :: boolean
  def beam?(program), do: Code.ensure_loaded?(program) and function_exported?(program, :beam, 1)

  @doc "Whether it is a machine: Mote is started where it is run."
  @spec machine?(module, t) :: boolean
  def machine?(program, variant), do: variant not in (@beams ++ rust(program))

  @doc "The programs in Rust that it is compared with."
  @spec rust(module) :: [t]
  def rust(program), do: Keyword.keys(program.about().rust)

  @doc "The ratios that can be had from these variants."
  @spec ratios(module, [t]) :: [ratio]
  def ratios(program, variants) do
    others = @beams ++ rust(program)
    machines = variants -- others
    elsewhere = for than <- others, machine <- machines, do: {ratio(than), machine, than}

    # Whatever else two machines differ in, the tier is the same; and the other way round.
    own =
      for {metric, one, than} <- List.wrap(program.about().ratio), tier <- [nil, :native, :interp] do
        {metric, name(one, tier), name(than, tier)}
      end

    tiers =
      for {machine, _} <- program.about().machines || @machines do
        {:ratio_native_vs_interp, name(machine, :native), name(machine, :interp)}
      end

    Enum.filter(elsewhere ++ own ++ tiers, fn {_, one, than} -> one in variants and than in variants end)
  end

  defp ratio(than), do: String.to_atom("ratio_vs_#{than}")
end
