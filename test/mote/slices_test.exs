defmodule Mote.SlicesTest do
  # What takes long holds up no scheduler: it counts as work of the process that does it, or is done elsewhere.
  use ExUnit.Case, async: true

  import Mote.Eventually

  alias Mote.{Customer, Future, Outbox}

  defmodule Actors do
    use Mote.Behaviour, errors: :undefined

    defactor idle(), do: (_ -> [])

    # Hands on who asks.
    defactor handing(to), do: ({customer, _} -> send(to, {:customer, customer}))

    # So many letters, that many of which are plain.
    defactor fill(to) do
      {0, n, other} ->
        for _ <- 1..n//1, do: send(to, other)

      {plain, n, other} ->
        for i <- 1..plain, do: send(to, {:plain, i})
        for _ <- 1..n//1, do: send(to, other)
        for i <- 1..plain, do: send(to, {:plain, i})
    end

    defpure pairs(n), do: for(i <- 1..n, do: {i, i})
  end

  setup do
    %{machine: start_supervised!({Mote, fuel: 10_000_000_000})}
  end

  # The reductions that it takes.
  defp reductions(fun) do
    {:reductions, before} = Process.info(self(), :reductions)
    fun.()
    {:reductions, now} = Process.info(self(), :reductions)
    now - before
  end

  # A time slice is 4,000.
  test "sending much counts as work of who sends", %{machine: machine} do
    idle = Mote.create(machine, Actors.idle())
    messages = Enum.to_list(1..100_000)
    pairs = for n <- messages, do: {idle, n}
    assert reductions(fn -> Mote.send_many(idle, messages) end) > 20_000
    assert reductions(fn -> Mote.send_many(pairs) end) > 20_000
    # As many as are written on a normal scheduler: larger ones go elsewhere and count for less.
    large = Enum.to_list(1..1_900)
    assert reductions(fn -> for _ <- 1..100, do: Mote.send(idle, large) end) > 40_000
    assert reductions(fn -> for _ <- 1..100, do: Mote.async(idle, large) end) > 40_000
    assert reductions(fn -> for _ <- 1..100, do: Mote.send_after(idle, large, 100_000) end) > 40_000
    assert reductions(fn -> for _ <- 1..100, do: Mote.create(machine, Actors.handing(large)) end) > 40_000
  end

  test "taking much counts as work of who takes", %{machine: machine} do
    outbox = Outbox.open(machine, capacity: 100_000)
    Mote.send(Mote.create(machine, Actors.fill(outbox)), {50_000, 0, 0})
    assert :ok = Mote.drain(machine, 60_000)
    assert reductions(fn -> assert length(Outbox.take(outbox, 100_000)) == 100_000 end) > 20_000
  end

  test "large letters are taken, in their order", %{machine: machine} do
    outbox = Outbox.open(machine)
    large = Enum.map(1..10_000, &{&1, :pair})
    Mote.send(Mote.create(machine, Actors.fill(outbox)), {2, 3, large})
    assert :ok = Mote.drain(machine, 60_000)
    plain = [plain: 1, plain: 2]
    assert Outbox.take(outbox, 4) == plain ++ [large, large]
    assert Outbox.take(outbox, 100) == [large] ++ plain
    assert Outbox.take(outbox, 100) == []
  end

  test "looking at a future does not wait for who copies its value", %{machine: machine} do
    future = Future.future(&Actors.pairs/1, [1_000_000], machine: machine)
    :ok = Future.wait_for(future)

    {copying, _} = :timer.tc(Future, :touch, [future])

    # The longest of all looks while another one copies: had it to wait, it would take as long as that. A look may be
    # interrupted by chance: then once more.
    eventually(fn ->
      toucher = spawn_link(fn -> Future.touch(future) end)
      longest_look(future, toucher, 0) < copying / 4
    end)
  end

  defp longest_look(future, toucher, longest) do
    {time, true} = :timer.tc(Future, :finished?, [future])
    longest = max(longest, time)
    if Process.alive?(toucher), do: longest_look(future, toucher, longest), else: longest
  end

  @threads "/proc/self/task"
  if File.dir?(@threads) do
    defp aside? do
      @threads |> File.ls!() |> Enum.any?(&(File.read("#{@threads}/#{&1}/comm") == {:ok, "mote-aside\n"}))
    end

    test "an outbox with many letters goes elsewhere", %{machine: machine} do
      test = self()

      owner =
        spawn_link(fn ->
          outbox = Outbox.open(machine, capacity: 100_000)
          Mote.send(Mote.create(machine, Actors.fill(outbox)), {0, 20_000, %{a: self()}})
          :ok = Mote.drain(machine, 60_000)
          send(test, :filled)
          receive(do: (:end -> :ok))
        end)

      assert_receive :filled, 60_000
      before = Mote.info(machine)
      send(owner, :end)
      eventually(&aside?/0)
      eventually(fn -> Mote.info(machine).memory.charged < before.memory.charged end)
      assert Mote.info(machine).counters.undelivered == 20_000
    end
  end

  test "what a process answers a future is kept, whatever its size", %{machine: machine} do
    for answer <- [:small, Enum.to_list(1..100_000)] do
      future = Future.future(Actors.handing(self()), :request, machine: machine)
      assert_receive {:customer, %Customer{} = customer}
      assert Mote.send(customer, answer) == :ok
      assert Mote.send(customer, :late) == :ok
      assert Future.touch(future) == answer
    end
  end

  test "thousands who wait for one future are told", %{machine: machine} do
    future = Future.future(Actors.handing(self()), :request, machine: machine)
    assert_receive {:customer, customer}
    waiting = for _ <- 1..3_000, do: Task.async(Future, :wait_for, [future])
    eventually(fn -> Enum.all?(waiting, &(Process.info(&1.pid, :status) == {:status, :waiting})) end)
    assert Future.kill(future)
    assert waiting |> Task.await_many(30_000) |> Enum.uniq() == [:ok]
    # Until here it could still have been answered.
    assert Mote.send(customer, :late) == :ok
  end
end
