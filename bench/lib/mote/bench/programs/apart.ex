defmodule Mote.Bench.Programs.Apart do
  # How much faster two fork bombs are that share nothing: what a single one with two threads is to be read by.
  @moduledoc false

  alias Mote.Bench.Programs.ForkBomb

  use Mote.Bench.Apart,
    title: "two fork bombs, both on one thread and each on a thread of its own",
    param: :depth,
    defaults: [19],
    small: 6,
    metric: :ns_per_actor,
    count: &(2 * ForkBomb.count(&1))

  alias Mote.Bench.Apart

  @impl true
  def mote(machine, depth), do: Apart.stages(machine, &ForkBomb.Actors.node/1, depth, & &1)
end
