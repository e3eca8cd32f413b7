defmodule Mote.Bench.Programs.Cps do
  # What the actors themselves cost: the tree of the fork bomb against the same tree as calls in Rust, once with
  # continuations (a closure in a box for each node, an object that is told for each inner one), once as functions
  # that return.
  @moduledoc false

  alias Mote.Bench.Programs.Floor

  use Mote.Bench.Program,
    title: "the fork bomb against its tree as calls in Rust: with boxed continuations, and as recursion",
    param: :depth,
    defaults: [20],
    small: 6,
    metric: :ns_per_actor,
    count: &Floor.count/1,
    expected: &Floor.expected/1,
    processes: &Floor.processes/1,
    rust: [continuations: "continuations", recursion: "recursion"],
    plot: [sizes: [6, 9, 12, 15], full: 5..24, over: :count, x: :log2]

  @impl true
  defdelegate mote(machine, depth), to: Floor

  @impl true
  defdelegate beam(depth), to: Floor

  @impl true
  defdelegate rust(actors, depth), to: Floor
end
