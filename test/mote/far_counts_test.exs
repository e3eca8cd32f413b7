defmodule Mote.FarCountsTest do
  # The conservation of messages between nodes: each arrives once, in order, or is in exactly one counter (`Mote.Far.Table`, invariants 3
  # and 4; `Mote.Far.Berth`).
  use ExUnit.Case, async: true
  use ExUnitProperties

  import Mote.Eventually
  import Mote.FarCounts, only: [at: 3]

  alias Mote.{FarCounts, FarRig, TwoNodes}
  alias Mote.FarCounts.Behaviours

  @moduletag skip: TwoNodes.missing()
  @moduletag timeout: 300_000

  setup_all do
    # So small that porters wait for room.
    FarRig.machines([[sponsors: [main: [inbox: 10]]]])
  end

  defp checking(context), do: FarRig.at(context.away, :create, [Away, Behaviours.checking(0, 0, 0)])

  # Of messages from home to away: what home and away have counted, and what the actor has.
  defp counted(context, address) do
    home = at(context.home, :settled, [context.node])
    # What was taken in is done.
    :ok = FarRig.at(context.away, :drain, [Away])
    {arrived, back} = at(context.away, :looked, [address])
    away = at(context.away, :counts, [:"home@127.0.0.1"])
    %{sent: home.sent, lost: home.lost, undelivered: away.undelivered, arrived: arrived, back: back}
  end

  defp check(context, address, before, accepted) do
    now = counted(context, address)
    since = fn key -> now[key] - before[key] end
    assert now.back == 0
    assert since.(:sent) + since.(:lost) == accepted
    assert since.(:arrived) + since.(:undelivered) == since.(:sent)
    now
  end

  property "what processes and actors send while connections end arrives in order, or is counted once",
           context do
    check all(
            count <- integer(1..3_000),
            cuts <- list_of(integer(1..3_000), max_length: 6),
            how <- member_of([:process, :actor, :both]),
            max_runs: 12
          ) do
      address = checking(context)
      true = TwoNodes.connect(context)
      before = counted(context, address)
      hundreds = div(count, 100)

      by_actor = fn address ->
        at(context.home, :pump_by_actor, [Home, address, hundreds, Enum.map(cuts, &div(&1, 100))])
      end

      case how do
        :process ->
          check(context, address, before, at(context.home, :pump, [address, 1..count, cuts]))

        :actor ->
          check(context, address, before, by_actor.(address))

        :both ->
          # Each in its own order, so to an actor each.
          other = checking(context)
          task = Task.async(fn -> by_actor.(other) end)
          sent = at(context.home, :pump, [address, 1..count, cuts])
          sent_by_actor = Task.await(task, 120_000)
          now = counted(context, address)
          {arrived, back} = at(context.away, :looked, [other])
          since = fn key -> now[key] - before[key] end
          assert {now.back, back} == {0, 0}
          assert since.(:sent) + since.(:lost) == sent + sent_by_actor
          assert since.(:arrived) + arrived + since.(:undelivered) == since.(:sent)
      end
    end
  end

  test "a porter that waits for a full sponsor is not overtaken by the next one, and takes in all that has come",
       context do
    address = checking(context)
    before = counted(context, address)
    :ok = :peer.call(context.away, Mote, :pause, [Away])
    40 = at(context.home, :pump, [address, 1..40, []])
    :ok = at(context.away, :stuck, [1])

    # However often the connection ends, one porter has something to take in, and one waits for it.
    for round <- 9..13 do
      true = :peer.call(context.home, :erlang, :disconnect_node, [context.node])
      assert eventually(fn -> TwoNodes.connect(context) end)
      5 = at(context.home, :pump, [address, (5 * round - 4)..(5 * round), []])
      :ok = at(context.away, :stuck, [2])
    end

    :ok = :peer.call(context.away, Mote, :resume, [Away])
    now = check(context, address, before, 65)
    # At least what had come before the first end, and what was sent after the last one.
    assert now.arrived >= 5
    assert eventually(fn -> match?([_], :peer.call(context.away, FarCounts, :porters, [])) end)
  end

  test "messages for a courier that has just ended are lost, and counted", context do
    address = checking(context)
    before = counted(context, address)
    # Whoever has looked in the table has its pid for as long as it likes.
    100 = at(context.home, :send_to_ended, [address, 100])
    now = counted(context, address)
    assert now.lost - before.lost == 100
    assert now.sent == before.sent
  end

  test "a message that finds no actor, and one that finds no machine, are counted over there", context do
    gone = FarRig.at(context.away, :create, [Away, Behaviours.checking(0, 0, 0)])
    :ok = FarRig.at(context.away, :machine, [Gone])
    there = FarRig.at(context.away, :create, [Gone, Behaviours.checking(0, 0, 0)])
    before = counted(context, gone)
    :ok = :peer.call(context.away, Mote, :stop, [Gone])
    7 = at(context.home, :pump, [there, 1..7, []])
    now = counted(context, gone)
    assert now.sent - before.sent == 7
    assert now.undelivered - before.undelivered == 7
  end
end
