defmodule Mote.Bench.Programs.Beside do
  # What a single-threaded sponsor pays for the existence of others: the fork bomb in a machine with nothing else,
  # and in one where a multi-threaded sponsor has nothing to do.
  @moduledoc false

  alias Mote.Bench.Programs.ForkBomb

  use Mote.Bench.Program,
    title: "the fork bomb on one thread, alone and beside an idle sponsor with many threads",
    param: :depth,
    defaults: [20],
    small: 6,
    metric: :ns_per_actor,
    count: &ForkBomb.count/1,
    expected: :done,
    machines: [
      alone: [single: [threads: 1]],
      beside: [single: [threads: 1], multi: [threads: :cores]]
    ],
    ratio: {:ratio_beside_vs_alone, :beside, :alone}

  @impl true
  def mote(machine, depth) do
    root = Mote.create(machine, ForkBomb.Actors.node(self()))
    [run: fn _ -> answer(fn -> Mote.send(root, depth, sponsor: :single) end) end]
  end
end
