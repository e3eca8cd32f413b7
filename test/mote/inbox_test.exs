defmodule Mote.InboxTest do
  use ExUnit.Case, async: true
  import Mote.{Eventually, Mailbox, OwnFolder}

  alias Mote.Error

  defmodule Actors do
    use Mote.Behaviour, errors: :undefined

    @doc "Holds its thread for as many steps."
    defactor holder() do
      steps -> spin(steps)
    end

    @doc "Tells its customer every message."
    defactor teller(customer) do
      message -> send customer, message
    end

    @doc "Sends as many messages to another, by a sponsor."
    defactor fan(target, sponsor) do
      n ->
        for i <- 1..n do
          sendx(sponsor, target, i)
        end
    end

    defpure spin(n) do
      if n == 0, do: :ok, else: spin(n - 1)
    end
  end

  # No turn of these tests ends for want of fuel, and a long one is long: native code would be done before it is seen.
  defp start(sponsors) do
    options = [sponsors: sponsors, fuel: 1_000_000_000_000, tier: :interp, id: make_ref()]
    # Nothing waits for endless turns when it ends.
    start_supervised!({Mote, options ++ [shutdown: [drain: 0]]})
  end

  # Some tenths of a second, or until the machine is stopped.
  @long 30_000_000
  @endless 1_000_000_000_000

  # Returns when the turn runs: its event counts as waiting until the end of the batch.
  defp hold(machine, steps) do
    holder = Mote.create(machine, Actors.holder())
    :ok = Mote.send(holder, steps)
    eventually(fn -> main(machine).inbox == 0 and main(machine).waiting == 1 end)
  end

  defp main(machine), do: Mote.info(machine).sponsors.main

  defp fill(target, n, opts \\ []), do: for(i <- 1..n, do: Mote.send(target, i, opts))

  # A machine with a journal lets everything in until that has begun.
  describe "a full sponsor of a machine with a journal" do
    setup :own_folder

    for option <- [:durable, :record] do
      test "refuses what comes from outside, or lets it wait: #{option}", %{dir: dir} do
        options = [{unquote(option), if(unquote(option) == :durable, do: [dir: dir], else: dir)}]
        machine = start_supervised!({Mote, options ++ [sponsors: [main: [inbox: 100]]]})
        teller = Mote.create(machine, Actors.teller(self()))
        Mote.pause(machine)
        assert fill(teller, 99) == List.duplicate(:ok, 99)

        assert {:error, %Error{reason: :overloaded, context: %{accepted: 1}}} =
                 Mote.send_many(teller, [100, :refused])

        assert {:error, %Error{reason: :overloaded}} = Mote.send(teller, :refused)
        waits = Task.async(fn -> Mote.send(teller, 101, on_full: :wait) end)
        refute Task.yield(waits, 20)
        Mote.resume(machine)
        assert Task.await(waits) == :ok
        for n <- 1..101, do: assert_receive(^n, 10_000)
        assert messages() == []
      end
    end
  end

  describe "a full sponsor" do
    test "refuses what comes from outside, and nothing of it arrives" do
      machine = start(main: [inbox: 100])
      teller = Mote.create(machine, Actors.teller(self()))
      Mote.pause(machine)
      assert fill(teller, 100) == List.duplicate(:ok, 100)
      assert {:error, %Error{reason: :overloaded} = error} = Mote.send(teller, :refused)
      assert %{address: ^teller, sponsor: nil} = error.context
      assert Exception.message(error) =~ "its :inbox allows"
      assert {:error, %Error{reason: :overloaded}} = Mote.ask(teller, :refused)
      assert {:error, %Error{reason: :overloaded}} = Mote.send(teller, List.duplicate(:big, 10_000))
      assert %{waiting: 100, high_water: 100, overloaded: 3} = main(machine)
      Mote.resume(machine)
      :ok = Mote.drain(machine, 60_000)
      assert messages() == Enum.to_list(1..100)
      assert %{waiting: 0, high_water: 100} = main(machine)
      assert fill(teller, 50) == List.duplicate(:ok, 50)
    end

    test "is full for itself only" do
      machine = start(main: [inbox: 2], other: [])
      teller = Mote.create(machine, Actors.teller(self()))
      pinned = Mote.create(machine, Actors.teller(self()), sponsor: :main)
      hold(machine, @endless)
      assert :ok = Mote.send(teller, 1)
      assert {:error, _} = Mote.send(teller, 2)
      assert {:error, _} = Mote.send(pinned, 3, sponsor: :other)
      assert Enum.all?(fill(teller, 1_000, sponsor: :other), &(&1 == :ok))
      :ok = Mote.stop(machine)
    end

    test "refuses nothing that comes from inside" do
      machine = start(main: [inbox: 5], other: [threads: 2, inbox: 5])
      teller = Mote.create(machine, Actors.teller(self()))
      for sponsor <- [:main, :other], do: Mote.send(Mote.create(machine, Actors.fan(teller, sponsor)), 10_000)
      :ok = Mote.drain(machine, 60_000)
      assert Enum.sort(messages()) == Enum.sort(Enum.concat(1..10_000, 1..10_000))
      assert %{main: %{high_water: high, overloaded: 0}} = Mote.info(machine).sponsors
      assert high >= 10_000
    end
  end

  describe "on_full: :wait" do
    test "waits for room; everything arrives, in order" do
      machine = start(main: [inbox: 10])
      test = self()
      hold(machine, @long)

      senders =
        for n <- 1..20 do
          Task.async(fn ->
            teller = Mote.create(machine, Actors.teller(test))
            for i <- 1..50, do: Mote.send(teller, {n, i}, on_full: :wait, timeout: :infinity)
          end)
        end

      results = Task.await_many(senders, 60_000)
      assert Enum.all?(List.flatten(results), &(&1 == :ok))
      :ok = Mote.drain(machine, 60_000)
      messages = messages()
      assert length(messages) == 1_000
      for n <- 1..20, do: assert(for({^n, i} <- messages, do: i) == Enum.to_list(1..50))
      assert %{high_water: high} = main(machine)
      assert high <= 10
    end

    test "gives up in time, and nothing of it comes later" do
      machine = start(main: [inbox: 2])
      teller = Mote.create(machine, Actors.teller(self()))
      Mote.pause(machine)
      fill(teller, 2)

      assert {:error, %Error{reason: :overloaded} = error} =
               Mote.send(teller, :late, on_full: :wait, timeout: 20)

      assert Exception.message(error) =~ "no room within 20 ms"
      Mote.resume(machine)
      :ok = Mote.drain(machine, 60_000)
      assert messages() == [1, 2]
    end

    test "is what a sponsor can ask for" do
      machine = start(main: [inbox: 2, on_full: :wait])
      teller = Mote.create(machine, Actors.teller(self()))
      Mote.pause(machine)
      assert {:error, %Error{reason: :overloaded}} = List.last(fill(teller, 3, on_full: :error))
      assert {:error, %Error{reason: :overloaded}} = Mote.send(teller, 4, timeout: 10)
      waits = Task.async(fn -> Mote.send(teller, 5, timeout: 60_000) end)
      eventually(fn -> Process.info(waits.pid, :status) == {:status, :waiting} end)
      Mote.resume(machine)
      assert Task.await(waits, 60_000) == :ok
      :ok = Mote.drain(machine, 60_000)
      assert messages() == [1, 2, 5]
    end

    test "forgets who dies, and blocks no scheduler" do
      machine = start(main: [inbox: 2])
      test = self()
      teller = Mote.create(machine, Actors.teller(self()))
      # Nothing runs until all of them wait.
      Mote.pause(machine)
      for n <- [:first, :second], do: :ok = Mote.send(teller, n)

      waiters =
        for n <- 1..100 do
          spawn(fn -> send(test, {n, Mote.send(teller, n, on_full: :wait, timeout: :infinity)}) end)
        end

      eventually(fn -> Enum.all?(waiters, &(Process.info(&1, :status) == {:status, :waiting})) end)
      {dead, alive} = Enum.split(waiters, 90)
      for pid <- dead, do: Process.exit(pid, :kill)
      eventually(fn -> not Enum.any?(dead, &Process.alive?/1) end)
      # While they wait, and with far more of them than schedulers, others run.
      assert Task.await(Task.async(fn -> :done end), 60_000) == :done
      Mote.resume(machine)
      eventually(fn -> not Enum.any?(alive, &Process.alive?/1) end)
      :ok = Mote.drain(machine, 60_000)
      messages = messages()
      assert Enum.sort(for n when is_integer(n) <- messages, do: n) == Enum.to_list(91..100)
      assert Enum.sort(for {n, :ok} <- messages, do: n) == Enum.to_list(91..100)
      assert main(machine).waiting == 0
    end

    test "ends with the machine or the sponsor" do
      machine = start(main: [], small: [inbox: 1, on_full: :wait])
      hold = fn -> :ok = Mote.send(Mote.create(machine, Actors.holder()), @endless, sponsor: :small) end
      hold.()

      wait = fn ->
        Task.async(fn ->
          teller = Mote.create(machine, Actors.teller(self()))
          catch_error(Mote.send(teller, :never, sponsor: :small, timeout: :infinity))
        end)
      end

      removed = wait.()
      eventually(fn -> Process.info(removed.pid, :status) == {:status, :waiting} end)
      :ok = Mote.remove_sponsor(machine, :small)
      assert %Error{reason: :unknown_sponsor} = Task.await(removed, 60_000)

      :ok = Mote.add_sponsor(machine, :small, inbox: 1, on_full: :wait)
      hold.()
      eventually(fn -> Mote.info(machine).sponsors.small.inbox == 0 end)
      stopped = wait.()
      eventually(fn -> Process.info(stopped.pid, :status) == {:status, :waiting} end)
      :ok = Mote.stop(machine)
      assert %Error{reason: :machine_down} = Task.await(stopped, 60_000)
    end
  end

  test "options are checked" do
    teller = Mote.create(start(main: []), Actors.teller(self()))

    for {opts, text} <- [
          {[on_full: :drop], "expected :on_full of send/3 to be :error or :wait, got: :drop"},
          {[timeout: -1], "expected a timeout"},
          {[patience: 1], "expected the options of send/3 to be :sponsor, :on_full, :timeout, :on_down, got"},
          {:main, "got: :main"}
        ] do
      error = assert_raise ArgumentError, fn -> Mote.send(teller, 1, opts) end
      assert Exception.message(error) =~ text
    end

    for {opts, text} <- [
          {[inbox: 0],
           "expected :inbox of sponsor :main to be a positive number of events or :infinity, got: 0"},
          {[inbox: "many"], "got: \"many\""},
          {[on_full: :drop], "expected :on_full of sponsor :main to be :error or :wait, got: :drop"},
          {[outbox: 1], "there are :threads, :partition, :pin, :inbox, :on_full and :io"}
        ] do
      error = assert_raise ArgumentError, fn -> Mote.start_link(sponsors: [main: opts]) end
      assert Exception.message(error) =~ text
    end
  end
end
