defmodule Mote.Bench.Variant do
  # What a program can be run on: machines that differ in their sponsors, BEAM processes, or a program in Rust that does
  # the same without either. And which two of these a report compares.
  @moduledoc false

  @single [threads: 1]
  @multi [threads: :cores]

  # `mote` is what is measured when nothing is said about sponsors.
  @machines [
    mote: [main: @single],
    mote_st: [main: @single],
    mote_mt: [main: @multi]
  ]

  @choices [st: [:mote], mt: [:mote_mt], both: [:mote_st, :mote_mt]]

  @typedoc "The name of a variant: `:beam`, or that of a machine or of a program in Rust."
  @type t :: atom

  @typedoc "The sponsors to measure: with one thread, with one for each core, or both."
  @type choice :: :st | :mt | :both

  @typedoc "How much faster a variant is than another one, by the main metric."
  @type ratio :: {metric :: atom, variant :: t, than :: t}

  @doc "What can be chosen."
  @spec choices() :: [choice]
  def choices, do: Keyword.keys(@choices)

  @doc "The machines that a program is run on. Programs about sponsors have their own, whatever was chosen."
  @spec machines(module, choice) :: [t, ...]
  def machines(program, choice) do
    case program.about().machines do
      nil -> Keyword.fetch!(@choices, choice)
      own -> Keyword.keys(own)
    end
  end

  @doc "The options of the machine of a variant."
  @spec options(module, t) :: keyword
  def options(program, variant) do
    about = program.about()

    [sponsors: Keyword.fetch!(about.machines || @machines, variant)] ++
      Keyword.get(about.options, variant, [])
  end

  @doc "Whether the program exists for BEAM processes too."
  @spec beam?(module) :: boolean
  def beam?(program), do: Code.ensure_loaded?(program) and function_exported?(program, :beam, 1)

  @doc "The programs in Rust that it is compared with."
  @spec rust(module) :: [t]
  def rust(program), do: Keyword.keys(program.about().rust)

  @doc "The ratios that can be had from these variants."
  @spec ratios(module, [t]) :: [ratio]
  def ratios(program, variants) do
    others = [:beam | rust(program)]
    own = List.wrap(program.about().ratio)

    ratios = for than <- others, variant <- variants, variant not in others, do: {ratio(than), variant, than}

    Enum.filter(ratios ++ own, fn {_, variant, than} -> variant in variants and than in variants end)
  end

  defp ratio(than), do: String.to_atom("ratio_vs_#{than}")
end
