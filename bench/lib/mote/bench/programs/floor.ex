defmodule Mote.Bench.Programs.Floor do
  # The fork bomb against the least that it can cost: the same records and the same queue of events, written by hand
  # in Rust, with nothing that makes a machine of them.
  @moduledoc false

  alias Mote.Bench.Programs.ForkBomb

  use Mote.Bench.Program,
    title: "the fork bomb against a loop over the same records and events, written by hand in Rust",
    param: :depth,
    defaults: [20],
    small: 6,
    metric: :ns_per_actor,
    count: &ForkBomb.count/1,
    expected: &ForkBomb.expected/1,
    processes: &ForkBomb.processes/1,
    rust: [floor: "floor"],
    # The memory of the loop has never been touched either.
    anew: [:mote, :mote_st, :mote_mt],
    plot: [sizes: [8, 12, 16], full: 6..22//2, over: :count, x: :log2]

  @impl true
  defdelegate mote(machine, depth), to: ForkBomb

  @impl true
  defdelegate beam(depth), to: ForkBomb

  @impl true
  def rust(actors, depth), do: if(actors == count(depth), do: :done, else: {:actors, actors})
end
