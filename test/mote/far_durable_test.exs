defmodule Mote.FarDurableTest do
  # What comes from another node enters a durable machine once.
  use ExUnit.Case, async: true

  import Mote.FarRig, only: [at: 3, machines: 1]

  alias Mote.TwoNodes
  alias Mote.FarRig.Behaviours

  @moduletag skip: TwoNodes.missing()

  setup_all do
    dir =
      Path.join(System.tmp_dir!(), "mote_far_durable_#{System.unique_integer([:positive])}_#{System.pid()}")

    on_exit(fn -> File.rm_rf!(dir) end)
    machines([[durable: [dir: dir]]])
  end

  test "what a process of another node sends enters once", context do
    adding = at(context.away, :create, [Away, Behaviours.adding(0)])
    :ok = at(context.home, :numbers, [adding, 300])
    assert :peer.call(context.home, Mote, :ask!, [adding, :sum]) == Enum.sum(1..300)
  end
end
