defmodule Mote.AsyncTest do
  # Questions that are asked without waiting: `Mote.async/3` and its relatives.
  use ExUnit.Case, async: true
  import Mote.{Eventually, Mailbox}

  alias Mote.{Actors, Ask, Customer, Error, Holders, Native}

  @moduletag capture_log: true

  setup do
    machine = start_supervised!({Mote, sponsors: [main: [threads: 2], other: []]})
    %{machine: machine, echo: Mote.create(machine, Actors.echo()), late: Mote.create(machine, Actors.late())}
  end

  describe "await" do
    test "gives the answer", %{echo: echo} do
      ask = Mote.async(echo, :hi)
      assert %Ask{address: ^echo, owner: owner} = ask
      assert owner == self()
      assert Mote.await(ask) == :hi
      nothing_left()
    end

    test "in any order, and falsy answers too", %{echo: echo} do
      asks = for answer <- [nil, false, :ok, {:error, 1}], do: {Mote.async(echo, answer), answer}
      for {ask, answer} <- Enum.reverse(asks), do: assert(Mote.await(ask) === answer)
      nothing_left()
    end

    test "can go to a sponsor", %{machine: machine, echo: echo} do
      assert Mote.await(Mote.async(echo, 1, sponsor: :other)) == 1
      assert Mote.await(Mote.async(Mote.on(:other, echo), 1)) == 1
      eventually(fn -> hd(Mote.info(machine).sponsors.other.threads).turns == 2 end)
    end

    test "exits as Task.await does when the time is up, and the question is cancelled", %{machine: machine} do
      ask = Mote.async(Mote.create(machine, Actors.forward(self())), :what)
      assert_receive {%Customer{} = customer, :what}
      assert catch_exit(Mote.await(ask, 1)) == {:timeout, {Mote, :await, [ask, 1]}}
      Mote.send(customer, :late)
      nothing_left(30)
      assert Exception.format_exit({:timeout, {Mote, :await, [ask, 1]}}) =~ "Mote.await(#Mote.Ask<#Reference"
    end

    test "exits when nobody can answer any more", %{machine: machine} do
      aborted = {:aborted, {Actors, :failing}, {:abort, {1}}}

      for {actor, reason} <- [{Actors.failing(1), aborted}, {Holders.silent([]), :broken_promise}] do
        ask = Mote.async(Mote.create(machine, actor), :what)
        assert {why, {Mote, :await, [^ask, 5_000]}} = catch_exit(Mote.await(ask))
        assert why == reason
      end

      nothing_left()
    end

    test "exits when the machine ends", %{machine: machine} do
      ask = Mote.async(Mote.create(machine, Holders.silent([])), :keep)
      waiting = Task.async(fn -> Process.sleep(20) && Mote.stop(machine) end)
      assert {:machine_down, _} = catch_exit(Mote.await(ask, :infinity))
      Task.await(waiting, 60_000)
      nothing_left(30)
    end

    test "a second time is a mistake, whatever the first time gave", %{echo: echo, late: late} do
      answered = Mote.async(echo, 1)
      1 = Mote.await(answered)
      expired = Mote.async(late, 60_000)
      catch_exit(Mote.await(expired, 0))
      ignored = Mote.async(late, 60_000)
      nil = Mote.ignore(ignored)

      for ask <- [answered, expired, ignored],
          wait <- [&Mote.await(&1, :infinity), &Mote.yield(&1, :infinity)] do
        assert_raise ArgumentError, ~r/was answered or given up before/, fn -> wait.(ask) end
      end

      assert Mote.ignore(answered) == nil
    end

    test "or by a receive: then there is nothing to wait for, and the machine is not to blame", %{echo: echo} do
      # At the same time: each of them looks for seconds.
      waits =
        for wait <- [&Mote.await(&1, 0), &Mote.await_many([&1], 0), &Mote.ignore/1] do
          Task.async(fn ->
            %Ask{ref: ref} = ask = Mote.async(echo, 1)
            receive do: ({^ref, 1} -> :ok)
            assert_raise ArgumentError, ~r/was taken by a receive of this process/, fn -> wait.(ask) end
            nothing_left()
          end)
        end

      Task.await_many(waits, :infinity)
    end

    test "only where it was asked", %{echo: echo} do
      ask = Mote.async(echo, 1)

      for wait <- [
            &Mote.await/1,
            &Mote.yield/1,
            &Mote.ignore/1,
            &Mote.await_many([&1]),
            &Mote.yield_many([&1])
          ] do
        error = Task.async(fn -> assert_raise ArgumentError, fn -> wait.(ask) end end) |> Task.await(60_000)

        assert Exception.message(error) =~ "belongs to #{inspect(self())}, the process that asked"
      end

      assert Mote.await(ask) == 1
    end
  end

  describe "a question that is answered late" do
    # The machine that is watched is another one than that of the question: so nobody but its process tells of its end.
    test "is given up when the machine's process ends, and not before", %{machine: machine} do
      other = start_supervised!({Mote, []}, id: :other)
      {:ok, watched} = Mote.Machine.fetch(other)
      %{machine: native, key: key} = Mote.create(machine, Holders.silent([]))
      me = self()

      waits =
        Task.async(fn ->
          result =
            Mote.Machine.Question.put(watched, :infinity, [], &Native.ask_async(native, key, nil, :keep, &1))

          send(me, {:left, Process.info(self(), [:messages, :monitors])})
          result
        end)

      refute Task.yield(waits, 60)
      :ok = Mote.stop(other)
      assert {:error, %Error{reason: :machine_down}} = Task.await(waits, 60_000)
      assert_received {:left, [messages: [], monitors: []]}
    end

    test "is waited for as long as was said, and leaves nothing", %{machine: machine} do
      silent = Mote.create(machine, Holders.silent([]))

      for timeout <- [0, 1, 40] do
        {us, result} = :timer.tc(fn -> Mote.ask(silent, :keep, timeout) end)
        assert {:error, %Error{reason: :timeout, context: %{timeout: ^timeout}}} = result
        assert us >= timeout * 1_000
      end

      nothing_left()
    end

    test "has its answer when it comes", %{late: late} do
      assert {:ok, :late} = Mote.ask(late, 50)
      nothing_left()
    end
  end

  describe "async" do
    test "raises when the question cannot be put", %{machine: machine, echo: echo} do
      assert_raise Error, ~r/no sponsor :none/, fn -> Mote.async(echo, 1, sponsor: :none) end
      :ok = Mote.stop(machine)
      assert %Error{reason: :machine_down} = catch_error(Mote.async(echo, 1))
      nothing_left()
    end

    test "refuses what is no address and no option", %{echo: echo} do
      assert_raise ArgumentError, ~r/expected the address of an actor to ask, got: :echo/, fn ->
        Mote.async(:echo, 1)
      end

      assert_raise ArgumentError, ~r/options of async\/3/, fn -> Mote.async(echo, 1, timeout: 1) end
      assert_raise ArgumentError, ~r/expected a timeout/, fn -> Mote.await(Mote.async(echo, 1), -1) end

      assert_raise ArgumentError, ~r/expected a proper list of questions as Mote.async\/3 returns them/, fn ->
        Mote.await_many(Mote.async(echo, 1))
      end

      for wait <- [
            &Mote.await/1,
            &Mote.yield/1,
            &Mote.ignore/1,
            &Mote.await_many([&1]),
            &Mote.yield_many([&1])
          ] do
        assert_raise ArgumentError, ~r/expected what Mote.async\/3 returns, got: :ask/, fn -> wait.(:ask) end
      end

      ask = Mote.async(echo, 1)

      for list <- [:asks, ask, [ask | ask], [ask | :asks]],
          wait <- [&Mote.await_many/1, &Mote.yield_many/1] do
        assert_raise ArgumentError,
                     ~r/expected a proper list of questions as Mote.async\/3 returns them, got: /,
                     fn -> wait.(list) end
      end

      for list <- [:echo, echo, [echo | echo]] do
        assert_raise ArgumentError, ~r/expected a proper list of addresses, got: /, fn ->
          Mote.ask_all(list, 1)
        end
      end

      assert Mote.await(ask) == 1

      for opts <- [[wait: 1], [:sponsor], [timeout: 1, wait: 1]] do
        assert_raise ArgumentError,
                     ~r/options of ask\/3, :timeout, :sponsor, :on_down, got: #{Regex.escape(inspect(opts))}/,
                     fn ->
                       Mote.ask(echo, 1, opts)
                     end
      end
    end

    test "answers are messages for who does not wait", %{echo: echo, machine: machine} do
      %Ask{ref: ref} = answered = Mote.async(echo, :hi)
      assert_receive {^ref, :hi}
      %Ask{ref: ref} = aborted = Mote.async(Mote.create(machine, Actors.failing(1)), :hi)
      assert_receive {^ref, :mote_failed, {:aborted, Actors, :failing, {:abort, {1}}}}
      %Ask{ref: ref} = broken = Mote.async(Mote.create(machine, Holders.silent([])), :who_knows)
      assert_receive {^ref, :mote_failed, {:broken_promise, Holders, :silent}}
      %Ask{ref: ref} = kept = Mote.async(Mote.create(machine, Holders.silent([])), :keep)
      :ok = Mote.stop(machine)
      assert_receive {^ref, :mote_failed, :machine_down}
      # Each is held until then: to drop it would cancel it.
      assert [answered, aborted, broken, kept] |> Enum.uniq() |> length() == 4
    end

    test "dropping it cancels it", %{machine: machine} do
      forward = Mote.create(machine, Actors.forward(self()))
      ask_and_forget(forward)
      assert_receive {%Customer{} = customer, :what}
      :erlang.garbage_collect()
      eventually(fn -> Mote.info(machine).questions.open == 0 end)
      Mote.send(customer, :too_late)
      refute_receive {_, :too_late}, 20
    end

    defp ask_and_forget(address) do
      Mote.async(address, :what)
      :ok
    end
  end

  describe "yield_many" do
    test "polls: who has answered is not waited for again", %{machine: machine, echo: echo, late: late} do
      [one, two, three] = asks = [Mote.async(echo, 1), Mote.async(late, 60_000), Mote.async(late, 60_000)]
      :ok = Mote.drain(machine)
      assert Mote.yield_many(asks, 50) == [{one, {:ok, 1}}, {two, nil}, {three, nil}]
      nil = Mote.ignore(three)
      assert Mote.yield_many(asks, 0) == [{one, nil}, {two, nil}, {three, nil}]
      nil = Mote.ignore(two)
      # Nothing is open: nothing is waited for.
      assert Mote.yield_many(asks, :infinity) == [{one, nil}, {two, nil}, {three, nil}]
      assert Mote.yield_many([], :infinity) == []
      nothing_left()
    end

    test "as the documentation has it", %{echo: echo, late: late} do
      asks = [Mote.async(late, 60), Mote.async(echo, 1), Mote.async(late, 20)]
      # In which round each comes is a matter of time.
      assert asks |> poll([]) |> Enum.sort() == [1, :late, :late]
      nothing_left()
    end

    defp poll([], answers), do: Enum.reverse(answers)

    defp poll(asks, answers) do
      results = Mote.yield_many(asks, 10)
      answers = for({_, {:ok, answer}} <- results, do: answer) ++ answers
      poll(for({ask, nil} <- results, do: ask), answers)
    end
  end

  describe "await_many" do
    test "gives the answers in order", %{echo: echo, late: late} do
      assert Mote.await_many(for n <- 1..100, do: Mote.async(echo, n)) == Enum.to_list(1..100)
      assert Mote.await_many([Mote.async(late, 20), Mote.async(echo, 1)]) == [:late, 1]
      assert Mote.await_many([]) == []
      nothing_left()
    end

    test "has one deadline for all, and cancels all", %{machine: machine, late: late} do
      asks = for ms <- [1, 60_000, 60_000], do: Mote.async(late, ms)
      assert {:timeout, {Mote, :await_many, [^asks, 200]}} = catch_exit(Mote.await_many(asks, 200))
      assert Mote.info(machine).questions.open == 0
      nothing_left()
    end

    test "fails with the first that fails", %{machine: machine, echo: echo, late: late} do
      asks = [
        Mote.async(echo, 1),
        Mote.async(Mote.create(machine, Actors.failing(1)), 1),
        Mote.async(late, 50)
      ]

      assert {{:aborted, _, _}, {Mote, :await_many, _}} = catch_exit(Mote.await_many(asks))
      nothing_left(80)
    end

    test "fails as soon as any fails, and cancels all", %{machine: machine, echo: echo, late: late} do
      failing = Mote.create(machine, Actors.failing(1))
      # Later than any test lasts.
      never = 10_000_000
      asks = [Mote.async(late, never), Mote.async(echo, 1), Mote.async(failing, 1), Mote.async(late, never)]

      assert {{:aborted, _, _}, {Mote, :await_many, [^asks, :infinity]}} =
               catch_exit(Mote.await_many(asks, :infinity))

      assert Mote.info(machine).questions.open == 0
      nothing_left()
    end

    test "finds the answers in whatever order they come, among other messages", %{machine: machine} do
      silent = Mote.create(machine, Actors.forward(self()))

      for wait <- [
            &Mote.await_many/1,
            &(&1 |> Mote.yield_many() |> Enum.map(fn {_, {:ok, answer}} -> answer end))
          ] do
        asks = for _ <- 1..50, do: Mote.async(silent, :what)
        customers = for _ <- asks, do: assert_receive({%Customer{}, :what}) |> elem(0)
        strays = [{make_ref(), :stray}, {:DOWN, make_ref(), :process, self(), :stray}]
        for stray <- strays, do: send(self(), stray)
        for {customer, n} <- customers |> Enum.with_index() |> Enum.reverse(), do: Mote.send(customer, n)
        assert wait.(asks) == Enum.to_list(0..49)
        for stray <- strays, do: assert_received(^stray)
        nothing_left()
      end
    end

    test "takes an answer that comes after its machine has gone", %{machine: machine} do
      silent = Mote.create(machine, Actors.forward(self()))
      asks = for _ <- 1..2, do: Mote.async(silent, :what)
      customers = for _ <- asks, do: assert_receive({%Customer{}, :what}) |> elem(0)
      # As when the machine ends at that moment.
      for ask <- asks, do: send(self(), {:DOWN, ask.ref, :process, machine, :killed})
      for {customer, n} <- Enum.with_index(customers), do: Mote.send(customer, n)
      assert Mote.await_many(asks) == [0, 1]
      nothing_left()
    end

    test "returns the answer to a question once", %{echo: echo, late: late} do
      ask = Mote.async(echo, 1)
      assert Mote.yield_many([ask, ask]) == [{ask, {:ok, 1}}, {ask, nil}]
      {silent, again} = {Mote.async(late, 10_000_000), Mote.async(echo, 1)}
      # Behind it: so its answer is there.
      assert Mote.ask!(echo, 2) == 2
      # At the deadline as well, where the first one has not come.
      assert Mote.yield_many([silent, again, again], 100) == [{silent, nil}, {again, {:ok, 1}}, {again, nil}]
      # One that was answered before is told of at once, whatever the others do.
      assert_raise ArgumentError, fn -> Mote.await_many([silent, again], :infinity) end
      assert Mote.ignore(silent) == nil
      twice = Mote.async(echo, 2)
      assert_raise ArgumentError, fn -> Mote.await_many([twice, twice]) end
      nothing_left()
    end
  end

  describe "yield" do
    test "gives what has come, and can be called again", %{machine: machine} do
      ask = Mote.async(Mote.create(machine, Actors.forward(self())), :what)
      assert_receive {%Customer{} = customer, :what}
      assert Mote.yield(ask, 0) == nil
      assert Mote.yield(ask, 1) == nil
      Mote.send(customer, :late)
      assert Mote.yield(ask) == {:ok, :late}
      nothing_left()
    end

    test "gives errors", %{machine: machine} do
      for {actor, reason} <- [{Actors.failing(1), :aborted}, {Holders.silent([]), :broken_promise}] do
        ask = Mote.async(Mote.create(machine, actor), 1)
        assert {:error, %Error{reason: ^reason}} = Mote.yield(ask)
      end

      ask = Mote.async(Mote.create(machine, Holders.silent([])), :keep)
      :ok = Mote.stop(machine)
      assert {:error, %Error{reason: :machine_down}} = Mote.yield(ask)
      nothing_left()
    end

    test "of many gives each with what came of it", %{machine: machine, echo: echo, late: late} do
      [one, two] = asks = [Mote.async(echo, 1), Mote.async(late, 60_000)]
      :ok = Mote.drain(machine)
      assert Mote.yield_many(asks, 50) == [{one, {:ok, 1}}, {two, nil}]
      assert Mote.ignore(two) == nil
      nothing_left()
    end
  end

  describe "ignore" do
    test "cancels", %{machine: machine} do
      ask = Mote.async(Mote.create(machine, Actors.forward(self())), :what)
      assert_receive {%Customer{} = customer, :what}
      assert Mote.ignore(ask) == nil
      assert Mote.info(machine).questions.open == 0
      Mote.send(customer, :late)
      nothing_left(30)
    end

    test "gives what has come already", %{echo: echo, machine: machine} do
      ask = Mote.async(echo, 1)
      :ok = Mote.drain(machine)
      assert Mote.ignore(ask) == {:ok, 1}
      nothing_left()
    end
  end
end
