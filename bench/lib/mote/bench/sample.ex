defmodule Mote.Bench.Sample do
  # What was seen in one run of one program, or in several short ones on the same machine. Times in nanoseconds,
  # memory in bytes of the whole OS process, `nil` where the system does not tell.
  @moduledoc false

  @enforce_keys [:program, :variant, :param]
  defstruct [
    :program,
    :variant,
    :param,
    # Is this the first run in a node of its own? Only then memory means something.
    fresh: false,
    # How many runs in a row; the times are their medians.
    repeats: 1,
    # Of several runs the mean time, of all stages together.
    mean: nil,
    # CPU time of the machines' threads, for each run; what goes ahead of repeated runs is in it.
    cpu: nil,
    # [%{name: atom, ns: nanoseconds, rss: bytes}], in order.
    stages: [],
    # What the stages measured by themselves.
    figures: [],
    before: nil,
    peak: nil,
    # Were the cores even before and after? Only where that was looked at.
    even: nil,
    # What `Mote.info/1` said of the machine at the end.
    info: nil
  ]

  @type stage :: %{name: atom, ns: number, rss: non_neg_integer | nil}

  @type t :: %__MODULE__{
          program: module,
          variant: atom,
          param: pos_integer,
          fresh: boolean,
          repeats: pos_integer,
          mean: number | nil,
          cpu: number | nil,
          stages: [stage],
          figures: [{atom, number | nil}],
          before: non_neg_integer | nil,
          peak: non_neg_integer | nil,
          even: boolean | nil,
          info: map | nil
        }

  @doc "The time of all stages together."
  @spec ns(t | [stage]) :: number
  def ns(%__MODULE__{stages: stages}), do: ns(stages)
  def ns(stages), do: stages |> Enum.map(& &1.ns) |> Enum.sum()

  @doc "By how many percent the mean of several runs is above their median: what the latter hides."
  @spec percent_mean_above_median(t) :: number | nil
  def percent_mean_above_median(%__MODULE__{mean: nil}), do: nil
  def percent_mean_above_median(%__MODULE__{mean: mean} = sample), do: (mean / max(ns(sample), 1) - 1) * 100

  @doc "One stage."
  @spec stage(t, atom) :: stage
  def stage(%__MODULE__{stages: stages}, name), do: Enum.find(stages, &(&1.name == name))

  @doc "The growth of memory for each of `count`; `nil` where it is not known."
  @spec per(integer | nil, integer | nil, pos_integer) :: float | nil
  def per(nil, _, _), do: nil
  def per(_, nil, _), do: nil
  def per(later, before, count), do: max(later - before, 0) / count
end
