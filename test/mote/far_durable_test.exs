defmodule Mote.FarDurableTest do
  # What comes from another node enters a durable machine once.
  use ExUnit.Case, async: true

  import Mote.FarRig, only: [at: 3, machines: 1]
  import Mote.OwnFolder, only: [own_folder: 1]

  alias Mote.TwoNodes
  alias Mote.FarRig.Behaviours

  @moduletag skip: TwoNodes.missing()

  setup_all :own_folder

  setup_all %{dir: dir}, do: machines([[durable: [dir: dir]]])

  test "what a process of another node sends enters once", context do
    adding = at(context.away, :create, [Away, Behaviours.adding(0)])
    :ok = at(context.home, :numbers, [adding, 300])
    assert :peer.call(context.home, Mote, :ask!, [adding, :sum]) == Enum.sum(1..300)
  end
end
