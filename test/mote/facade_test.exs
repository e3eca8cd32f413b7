defmodule Mote.FacadeTest do
  use ExUnit.Case, async: true
  import Mote.Eventually

  alias Mote.{Actors, Address, Customer, Error, Holders, Native}

  doctest Mote

  setup do
    %{machine: start_supervised!(Mote)}
  end

  describe "create and send" do
    test "an actor does what its behaviour says", %{machine: machine} do
      counter = Mote.create(machine, Actors.counter(40))
      assert %Address{} = counter
      assert Mote.send(counter, {:add, 1}) == :ok
      assert Mote.send(counter, {:add, 1}) == :ok
      assert Mote.ask(counter, :read) == {:ok, 42}
    end

    test "messages of one process arrive in order", %{machine: machine} do
      forward = Mote.create(machine, Actors.forward(self()))
      for n <- 1..1_000, do: Mote.send(forward, n)
      for n <- 1..1_000, do: assert_receive(^n)
    end

    test "a pid is an address", %{machine: machine} do
      assert Mote.send(self(), :plain) == :ok
      assert_receive :plain
      Mote.send(Mote.create(machine, Actors.forward(self())), {:from, machine})
      assert_receive {:from, ^machine}
    end

    test "a message to a process that is gone is counted and otherwise nothing", %{machine: machine} do
      {pid, monitor} = spawn_monitor(fn -> :ok end)
      assert_receive {:DOWN, ^monitor, _, _, _}
      Mote.send(Mote.create(machine, Actors.forward(pid)), :hello)
      eventually(fn -> Mote.info(machine).counters.undelivered == 1 end)
    end

    test "the sponsor of the machine can be named", %{machine: machine} do
      echo = Mote.create(machine, Actors.echo(), sponsor: :main)
      assert Mote.send(echo, {self(), :hi}, sponsor: :main) == :ok
      assert_receive :hi
    end

    test "an actor can create others and hand out their addresses", %{machine: machine} do
      maker = Mote.create(machine, Actors.maker())
      echo = Mote.ask!(maker, :make)
      assert Mote.ask!(echo, 1) == 1
      assert Mote.info(echo).behaviour == Actors.echo()
    end

    test "code of other modules is loaded with the code that refers to it", %{machine: machine} do
      [{first, _}, {second, _}, {third, _}] =
        Code.compile_string("""
        defmodule Mote.FacadeTest.Third do
          use Mote.Behaviour, errors: :undefined
          defpure twice(n) do 2 * n end
        end
        defmodule Mote.FacadeTest.Second do
          use Mote.Behaviour, errors: :undefined
          defactor answer(customer, n) do
            :go -> send customer, Mote.FacadeTest.Third.twice(n)
          end
        end
        defmodule Mote.FacadeTest.First do
          use Mote.Behaviour, errors: :undefined
          defactor start() do
            {customer, n} ->
              next = create Mote.FacadeTest.Second.answer(customer, n)
              send next, :go
          end
        end
        """)
        |> Enum.sort()

      assert {first, third} == {Mote.FacadeTest.First, Mote.FacadeTest.Third}
      start = Mote.create(machine, first.start())
      assert Mote.ask!(start, 21) == 42
      assert Mote.load(machine, second) == :ok
    end

    test "code that refers to a module that was never there is not loaded", %{machine: machine} do
      ExUnit.CaptureIO.capture_io(:stderr, fn ->
        Code.compile_string("""
        defmodule Mote.FacadeTest.Lost do
          use Mote.Behaviour, errors: :undefined
          defactor lost() do
            _ -> create Mote.FacadeTest.Never.actor()
          end
        end
        """)
      end)

      assert {:error, %Mote.Error{reason: :undefined_behaviour} = error} =
               Mote.load(machine, Mote.FacadeTest.Lost)

      assert Exception.message(error) ==
               "Mote.FacadeTest.Never, which Mote.FacadeTest.Lost refers to, is not loaded or does not say use Mote.Behaviour"
    end

    test "a module compiled again: new actors have the new code, and old ones have it from their next turn on",
         context do
      compile = fn factor ->
        Code.compile_string("""
        defmodule Mote.FacadeTest.Versions do
          use Mote.Behaviour, errors: :undefined
          defactor v(n) do
            {customer, :read} -> send customer, {n, #{factor}}
            :step -> become v(n + 1)
          end
        end
        """)
      end

      [{module, _}] = compile.(1)
      stale = module.v(0)
      old = Mote.create(context.machine, stale)
      assert Mote.ask!(old, :read) == {0, 1}

      Code.put_compiler_option(:ignore_module_conflict, true)
      compile.(2)
      new = Mote.create(context.machine, module.v(0))

      assert_raise Error, ~r"another version of Mote.FacadeTest.Versions", fn ->
        Mote.create(context.machine, stale)
      end

      assert {Mote.ask!(old, :read), Mote.ask!(new, :read)} == {{0, 2}, {0, 2}}
      Mote.send(old, :step)
      assert Mote.ask!(old, :read) == {1, 2}
    after
      Code.put_compiler_option(:ignore_module_conflict, false)
    end
  end

  describe "ask" do
    test "from many processes at once", %{machine: machine} do
      echo = Mote.create(machine, Actors.echo())

      1..50
      |> Task.async_stream(fn n -> for m <- 1..100, do: {:ok, {^n, ^m}} = Mote.ask(echo, {n, m}) end)
      |> Enum.each(&assert {:ok, _} = &1)
    end

    test "ask! gives the answer or raises", %{machine: machine} do
      assert Mote.ask!(Mote.create(machine, Actors.echo()), :hi) == :hi
      late = Mote.create(machine, Actors.late())
      error = assert_raise Error, fn -> Mote.ask!(late, 60_000, 10) end
      assert %Error{reason: :timeout, context: %{timeout: 10, address: ^late}} = error
      assert Exception.message(error) =~ "no answer within 10 ms"
    end

    test "a process can be the one who answers, once", %{machine: machine} do
      service =
        spawn_link(fn ->
          receive do
            {%Customer{} = customer, request} ->
              Mote.send(customer, {:did, request})
              Mote.send(customer, :again)
          end
        end)

      front = Mote.create(machine, Actors.forward(service))
      assert Mote.ask(front, :this) == {:ok, {:did, :this}}
      refute_receive _, 20
    end

    test "a customer comes out of the machine as it went in", %{machine: machine} do
      me = self()
      front = Mote.create(machine, Actors.forward(me))
      keeper = Mote.create(machine, Actors.keeper(nil))
      asked = Task.async(fn -> Mote.ask(front, :what) end)
      assert_receive {%Customer{} = customer, :what}
      nil = Mote.ask!(keeper, {:swap, customer})
      assert Mote.ask!(keeper, :get) === customer
      echo = Mote.create(machine, Actors.echo())
      Mote.send(echo, {customer, :this})
      assert Task.await(asked, 60_000) == {:ok, :this}
      assert inspect(customer) =~ ~r"^#Mote.Customer<\w+>$"
    end

    test "an answer that comes too late never reaches the mailbox" do
      machine = start_supervised!({Mote, clock: :manual}, id: :manual)
      late = Mote.create(machine, Actors.late())
      assert {:error, %Error{reason: :timeout}} = Mote.ask(late, 500, 1)
      # Its turn may still have to come.
      :ok = Mote.drain(machine, 60_000)
      assert Mote.info(machine).counters.timers == 1
      :ok = Mote.advance(machine, 500)
      assert Mote.info(machine).counters.timers == 0
      refute_received _
    end

    test "answers that race with the timeout: either way there is nothing left over", %{machine: machine} do
      late = Mote.create(machine, Actors.late())
      echo = Mote.create(machine, Actors.echo())

      results =
        for n <- 1..1_000 do
          case if(rem(n, 2) == 0, do: Mote.ask(late, 1, 1), else: Mote.ask(echo, :late, 0)) do
            {:ok, :late} -> :ok
            {:error, %Error{reason: :timeout}} -> :timeout
          end
        end

      assert :timeout in results
      refute_receive _, 50
      assert Process.info(self(), :monitors) == {:monitors, []}
    end

    @tag not_under_stress: "its limit is one of time"
    test "with a long mailbox", %{machine: machine} do
      echo = Mote.create(machine, Actors.echo())
      for n <- 1..100_000, do: send(self(), n)
      asks = fn -> for n <- 1..1_000, do: {:ok, ^n} = Mote.ask(echo, n) end
      # Searching the mailbox every time would take some seconds. So may a busy host, but not each time.
      eventually(fn -> elem(:timer.tc(asks), 0) < 1_000_000 end)
    end

    test "ends at once when the machine does", %{machine: machine} do
      silent = Mote.create(machine, Holders.silent([]))
      asked = for _ <- 1..10, do: Task.async(fn -> Mote.ask(silent, :keep, :infinity) end)
      eventually(fn -> Mote.info(machine).counters.turns == 10 end)
      :ok = stop_supervised(Mote)
      for task <- asked, do: assert({:error, %Error{reason: :machine_down}} = Task.await(task, 60_000))
    end

    test "whoever drops the last reference to a customer tells the asker", %{machine: machine} do
      silent = Mote.create(machine, Holders.silent([]))
      # Or it is collected, with the customers that it keeps, if the machine rests for long enough.
      Process.put(:silent, silent)
      forward = Mote.create(machine, Actors.forward(self()))
      ask = fn actor, tag -> Native.ask_async(actor.machine, actor.key, nil, :keep, tag) end
      [tag, kept, nobody] = for _ <- 1..3, do: make_ref()
      # The machine's own reference goes with the machine, which is freed on a dirty scheduler.
      Process.put(:asker, ask.(silent, tag))
      # This one outlives it here, and goes when this process is collected.
      Process.put(:other, ask.(forward, kept))
      assert_receive {customer, :keep}
      Process.put(:customer, customer)
      # Nobody waits for this one any more.
      ask.(silent, nobody)
      Mote.drain(machine)
      :erlang.garbage_collect()

      :ok = stop_supervised(Mote)
      assert_receive {^tag, :mote_failed, :machine_down}
      refute_received _
      drop_customer()
      assert_receive {^kept, :mote_failed, :machine_down}
      refute_receive _, 10
    end

    defp drop_customer do
      Process.delete(:customer)
      :erlang.garbage_collect()
      :ok
    end
  end

  describe "info" do
    test "of a machine", %{machine: machine} do
      counter = Mote.create(machine, Actors.counter(0))
      Mote.send(counter, {:add, 1})
      Mote.send(counter, :nonsense)
      eventually(fn -> Mote.info(machine).counters.turns == 2 end)
      info = Mote.info(machine)
      assert %{becomes: 1, ignored: 1, foreign_in: 2} = info.counters

      assert %{sponsors: %{main: _}, references: 1, inbox: 0, name: nil, uptime: uptime, memory: memory} =
               info

      assert uptime in 0..60_000
      assert %{heap: heap, mapped: mapped, queues: _, spare: _} = memory
      assert 0 < heap and heap <= mapped
      assert memory.live + memory.new + memory.holes == heap
      assert Mote.ask!(counter, :read) == 1
    end

    test "of an actor", %{machine: machine} do
      counter = Mote.create(machine, Actors.counter(0))
      Mote.send(counter, {:add, 5})
      5 = Mote.ask!(counter, :read)
      info = Map.take(Mote.info(counter), [:behaviour, :address, :machine])
      assert info == %{behaviour: Actors.counter(5), address: counter, machine: machine}
      assert Mote.info(Mote.create(machine, Actors.pair(1, 2))).behaviour == Actors.pair(1, 2)
    end

    test "references are given back", %{machine: machine} do
      {pid, monitor} =
        spawn_monitor(fn ->
          actors = for n <- 1..1_000, do: Mote.create(machine, Actors.counter(n))
          1_000 = Mote.info(machine).references
          Mote.send(hd(actors), {:add, 1})
        end)

      assert_receive {:DOWN, ^monitor, _, ^pid, :normal}
      eventually(fn -> Mote.info(machine).references == 0 end)
    end
  end

  test "addresses look like this", %{machine: machine} do
    echo = Mote.create(machine, Actors.echo())
    assert inspect(echo) =~ ~r"^#Mote.Address<\w+>$"
    assert inspect(%{echo | sponsor: :multi}) =~ ~r"^#Mote.Address<\w+ on :multi>$"
    assert inspect(%Address{machine: nil, key: 1}) =~ ~r"^#Mote.Address<\w+>$"
  end
end
