defmodule Mote.Bench.Programs.ApartErfc do
  # The same as `apart` with something to do: two erfc bombs.
  @moduledoc false

  alias Mote.Bench.Programs.ErfcBomb

  use Mote.Bench.Apart,
    title: "two erfc bombs, both on one thread and each on a thread of its own",
    param: :depth,
    defaults: [7],
    small: 2,
    metric: :us_per_leaf,
    count: &(2 * ErfcBomb.count(&1))

  alias Mote.Bench.Apart

  @impl true
  def mote(machine, depth) do
    judge = fn sum -> if ErfcBomb.judge(sum, depth) == :plausible, do: :done, else: {:sum, sum} end
    Apart.stages(machine, &ErfcBomb.Actors.node/1, depth, judge)
  end
end
