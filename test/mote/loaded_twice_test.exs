defmodule Mote.LoadedTwiceTest do
  # A process that waits in a function of a module is killed when that module is loaded twice, as by a release handler. None of Mote's
  # does: those that wait for long are `GenServer`s, or hibernate.
  use ExUnit.Case, async: true

  alias Mote.{LoadedTwice, TwoNodes}

  @moduletag skip: TwoNodes.missing()

  setup do
    {:ok, nodes} = TwoNodes.start()
    {:ok, _} = :peer.call(nodes.away, Application, :ensure_all_started, [:mote], 60_000)
    nodes
  end

  test "no process of Mote ends when all of its modules are loaded twice", context do
    {processes, ended} = :peer.call(context.home, LoadedTwice, :run, [context.node], 120_000)
    assert ended == []

    # Those of the application, of a machine with a beam sponsor, of shards, and for the other node.
    for module <- [
          Mote.Far.Courier,
          Mote.Far.Gate,
          Mote.Far.Lease,
          Mote.Far.Porter,
          Mote.Machine,
          Mote.Machine.Janitor,
          Mote.Machine.Postman,
          Mote.Machine.Relay,
          Mote.Machine.Watcher,
          Mote.Machine.Workers,
          Mote.Shards.Member
        ],
        do: assert(module in processes, inspect(module))
  end
end
