defmodule Mote.Bench.Parallel do
  # What programs have in common that do the same work twice, in a stage `sequential` by one actor and in a stage `parallel`
  # by many: their machines, and their figures. The work is theirs.
  #
  #     use Mote.Bench.Parallel, title: "…", param: :n, defaults: [5_000], small: 20, metric: :us_per_point
  #
  # The machines have one thread and two, and each of them is there once more without collection, so that it shows what of
  # the time that is. Only those two stages are counted: what else a run does, such as to look at the results, only one
  # process does.
  @moduledoc false

  alias Mote.Bench.Sample

  # More than any machine has: never due.
  @never [gc: [min: 1_000_000_000_000_000]]

  @options [
    machines: [
      one_uncollected: [main: [threads: 1]],
      two_uncollected: [main: [threads: 2]],
      one: [main: [threads: 1]],
      two: [main: [threads: 2]]
    ],
    options: [one_uncollected: @never, two_uncollected: @never],
    # Their memory would grow with each run.
    anew: [:one_uncollected, :two_uncollected],
    ratio: [
      {:ratio_two_vs_one, :two, :one},
      {:ratio_uncollected_vs_collected, :one_uncollected, :one},
      {:ratio_uncollected_vs_collected, :two_uncollected, :two}
    ]
  ]

  @doc false
  defmacro __using__(opts) do
    quote do
      use Mote.Bench.Program, unquote(Macro.escape(@options) ++ opts)

      @impl true
      defdelegate measures(sample), to: Mote.Bench.Parallel
    end
  end

  @doc "The figures of a run: the main metric is that of the many, in microseconds for each that is counted."
  @spec measures(Sample.t()) :: [{atom, number | nil}]
  def measures(%Sample{program: program, param: param} = sample) do
    [parallel, sequential] = for stage <- [:parallel, :sequential], do: Sample.stage(sample, stage).ns
    us = fn ns -> ns / program.count(param) / 1_000 end
    metric = program.about().metric

    [
      {metric, us.(parallel)},
      {:"#{metric}_sequential", us.(sequential)},
      {:ratio_parallel_vs_sequential, sequential / parallel}
    ]
  end
end
