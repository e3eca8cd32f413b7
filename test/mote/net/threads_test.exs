defmodule Mote.Net.ThreadsTest do
  # How work is spread over the threads of an I/O sponsor, which do not share it.
  use ExUnit.Case, async: true

  import Mote.Eventually

  alias Mote.NetRig

  defmodule Actors do
    use Mote.Behaviour

    defactor counter(n) do
      :count -> become n: n + 1
    end
  end

  # The turns of each thread while that is done.
  defp turns(machine, act) do
    count = fn -> for thread <- Mote.info(machine).sponsors.net.threads, do: thread.turns end
    before = count.()
    act.()
    :ok = Mote.drain(machine)
    count.() |> Enum.zip(before) |> Enum.map(fn {later, before} -> later - before end)
  end

  test "a connection goes to the thread that has the fewest, whatever became of others" do
    machine = NetRig.machine(2)
    {_, port} = NetRig.listen(machine, NetRig.echo())

    clients =
      for n <- 1..8 do
        client = NetRig.client(port)
        short = NetRig.client(port)
        eventually(fn -> Mote.info(machine).sponsors.net.net.accepted == 2 * n end)
        :ok = :gen_tcp.close(short)
        eventually(fn -> Mote.info(machine).sponsors.net.net.closed == n end)
        client
      end

    echo = fn ->
      for _ <- 1..10, client <- clients do
        :ok = :gen_tcp.send(client, "x")
        assert :gen_tcp.recv(client, 1, 30_000) == {:ok, "x"}
      end
    end

    # A session's turn, and two requests.
    assert turns(machine, echo) == [4 * 10 * 3, 4 * 10 * 3]
  end

  test "actors that a process creates begin on all of them" do
    machine = NetRig.machine(2)

    for make <- [
          fn -> for _ <- 1..4, do: Mote.create(machine, Actors.counter(0), sponsor: :net) end,
          fn -> Mote.create_many(machine, List.duplicate(Actors.counter(0), 4), sponsor: :net) end
        ] do
      actors = make.()
      count = fn -> for _ <- 1..10, actor <- actors, do: Mote.send(actor, :count) end
      assert turns(machine, count) == [20, 20]
      for actor <- actors, do: assert(Mote.peek(actor) == {:ok, {:counter, 10}})
    end

    directory = Mote.Directory.start(machine, Mote.Directory.Entries.entries(), shards: 4, sponsor: :net)
    actor = Mote.create(machine, Actors.counter(0))
    put = fn -> for n <- 1..100, do: Mote.Directory.put(directory, n, actor) end
    assert [one, other] = turns(machine, put)
    assert one > 0 and other > 0
  end

  test "so they do where the first sponsor has sockets" do
    machine = start_supervised!({Mote, sponsors: [net: [threads: 2, io: true]]})
    actors = for _ <- 1..4, do: Mote.create(machine, Actors.counter(0))
    count = fn -> for _ <- 1..10, actor <- actors, do: Mote.send(actor, :count) end
    assert turns(machine, count) == [20, 20]
  end
end
