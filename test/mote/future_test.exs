defmodule Mote.FutureTest do
  use ExUnit.Case, async: true
  use ExUnitProperties
  import Mote.{Eventually, Mailbox}

  alias Mote.{Actors, Customer, Error, Future, Sums}

  doctest Mote.Future

  @moduletag capture_log: true

  setup do
    %{machine: start_supervised!({Mote, fuel: 1_000_000_000, sponsors: [main: [threads: 1], other: []]})}
  end

  # Keeps the first sponsor's only thread busy until `:go`-ing is over; gives a future of it.
  defp block(machine, steps \\ 10_000_000), do: Future.future(&Sums.spin/1, [steps], machine: machine)

  # A future that is finished when this process sends something to the customer.
  defp held(machine) do
    future = Future.future(Sums.handing(self()), 1, machine: machine)
    assert_receive {%Customer{} = customer, 1}
    {future, customer}
  end

  # Steps that take half a minute.
  @long 900_000_000

  # A machine of one thread that has run `Sums.spin/1` on that tier.
  defp machine_of(tier) do
    opts = [tier: tier, fuel: 2_000_000_000, sponsors: [main: [threads: 1]]]
    machine = start_supervised!({Mote, opts}, id: make_ref())
    assert Future.touch(Future.future(&Sums.spin/1, [10], machine: machine)) == 10
    eventually(fn -> Mote.info(machine).native.pending == 0 end)
    machine
  end

  # A future that has begun to run.
  defp running(machine, what, argument) do
    future = Future.future(what, argument, machine: machine)
    eventually(fn -> match?(%{sponsors: %{main: %{inbox: 0}}}, Mote.info(machine)) end)
    Process.sleep(20)
    refute Future.finished?(future)
    future
  end

  describe "touch" do
    test "gives the value of a call, again and again, in any process", %{machine: machine} do
      future = Future.future(&Sums.fib/1, [15], machine: machine)
      assert Future.touch(future) == 610
      assert Future.touch(future) == 610
      assert Task.await(Task.async(fn -> Future.touch(future) end), 60_000) == 610
      nothing_left()
    end

    test "with any number of arguments, and any terms", %{machine: machine} do
      assert Future.touch(Future.future(&Sums.answer/0, [], machine: machine)) == 42
      assert Future.touch(Future.future(&Sums.sum/3, [1, 2.5, 3], machine: machine)) == 6.5

      for term <- [nil, false, {:error, 1}, [], "binary", %{a: make_ref()}, self(), 1.5, 2 ** 80, fn -> 1 end] do
        assert Future.touch(Future.future(&Sums.same/1, [term], machine: machine)) === term
      end
    end

    test "with large arguments and large values", %{machine: machine} do
      large = Enum.to_list(1..200_000)
      future = Future.future(&Sums.same/1, [large], machine: machine)
      assert Future.touch(future) == large
      assert Future.touch(Future.future(&Sums.list/1, [200_000], machine: machine)) == large
      assert {:ok, ^large} = Future.poll(future)
    end

    test "gives the first answer of a behaviour", %{machine: machine} do
      assert Future.touch(Future.future(Sums.tree(3), 10, machine: machine)) == 3 * 1024
      assert Future.touch(Future.future(Sums.twice(), 1, machine: machine, sponsor: :other)) == {:first, 1}
      # The other one and the tree's machinery are nobody's.
      assert Mote.info(machine).references == 0
    end

    test "of what a process answers", %{machine: machine} do
      future = Future.future(Sums.handing(self()), :what, machine: machine)
      assert_receive {%Customer{} = customer, :what}
      assert Future.poll(future) == nil
      Mote.send(customer, {:from, self()})
      Mote.send(customer, :again)
      assert Future.touch(future) == {:from, self()}
      nothing_left()
    end

    test "runs on the sponsor that is named", %{machine: machine} do
      assert Future.touch(Future.future(&Sums.answer/0, [], machine: machine, sponsor: :other)) == 42
      :ok = Mote.drain(machine, 60_000)

      assert %{main: %{threads: [%{turns: 0}]}, other: %{threads: [%{turns: 1}]}} =
               Mote.info(machine).sponsors
    end

    test "says why there is no value", %{machine: machine} do
      for {function, argument, reason} <- [
            {&Sums.failing/1, :no, {:abort, :no}},
            {&Sums.failing/1, {1, [2]}, {:abort, {1, [2]}}},
            {&Sums.fib/1, :a, :function_clause}
          ] do
        future = Future.future(function, [argument], machine: machine)
        error = assert_raise Error, fn -> Future.touch(future) end
        assert error.reason == :aborted
        {:name, name} = Function.info(function, :name)
        context = %{future: future, behaviour: {Sums, name}, reason: reason}
        assert error.context == context or function == (&Sums.fib/1)
        assert Future.poll(future) == {:error, error}
      end
    end

    test "says when nobody can answer any more", %{machine: machine} do
      future = Future.future(Sums.silent(), 1, machine: machine)
      assert %Error{reason: :broken_promise} = catch_error(Future.touch(future))
      assert {:error, %Error{reason: :broken_promise}} = Future.poll(future)
      nothing_left()
    end

    test "gives up after the timeout, and can be called again", %{machine: machine} do
      :ok = Mote.pause(machine)
      future = block(machine)
      error = assert_raise Error, ~r/was not finished within 1 ms/, fn -> Future.touch(future, 1) end
      assert error.reason == :timeout
      assert inspect(future) == "#Mote.Future<Mote.Sums.spin/1, open>"
      :ok = Mote.resume(machine)
      assert Future.touch(future) == 10_000_000
      assert inspect(future) == "#Mote.Future<Mote.Sums.spin/1, finished>"
      nothing_left()
    end

    test "ends with the machine, and values stay", %{machine: machine} do
      done = Future.future(&Sums.answer/0, [], machine: machine)
      42 = Future.touch(done)
      open = Future.future(Sums.handing(self()), 1, machine: machine)
      waiting = for _ <- 1..3, do: Task.async(fn -> catch_error(Future.touch(open)).reason end)
      assert_receive {%Customer{} = customer, 1}
      :ok = Mote.stop(machine)
      assert is_struct(customer)
      assert Task.await_many(waiting, 60_000) == [:machine_down, :machine_down, :machine_down]
      assert catch_error(Future.touch(open)).reason == :machine_down
      assert Future.wait_for(open) == :ok
      assert Future.touch(done) == 42
      assert inspect(done) =~ "finished"
      assert catch_error(Future.future(&Sums.answer/0, [], machine: machine)).reason == :machine_down
      nothing_left()
    end

    # The later a question is answered, the less often a collection looks whether it was forgotten.
    @tag :not_under_stress
    test "waiting again and again is no new question", %{machine: machine} do
      future = Future.future(Sums.handing(self()), 1, machine: machine)
      assert_receive {%Customer{} = customer, 1}
      for _ <- 1..150, do: assert({:error, %Error{reason: :timeout}} = Future.wait_for(future, 5))
      # After 10, 20, 40 milliseconds and so on; not every ten.
      assert Mote.info(machine).gc.collections in 2..20
      Mote.send(customer, :done)
      assert Future.touch(future) == :done
    end

    test "waiters that are killed leave nothing behind", %{machine: machine} do
      future = Future.future(Sums.handing(self()), 1, machine: machine)
      assert_receive {%Customer{} = customer, 1}
      waiters = for _ <- 1..100, do: spawn(fn -> Future.touch(future) end)
      eventually(fn -> Mote.info(machine).questions.open == 101 end)
      for waiter <- waiters, do: Process.exit(waiter, :kill)
      eventually(fn -> Mote.info(machine).questions.open == 1 end)
      Mote.send(customer, :done)
      assert Future.touch(future) == :done
      assert Mote.info(machine).questions.open == 0
    end
  end

  describe "waiting" do
    test "for one", %{machine: machine} do
      {future, customer} = held(machine)
      assert {:error, %Error{reason: :timeout, context: %{future: ^future}}} = Future.wait_for(future, 1)
      refute Future.finished?(future)
      Mote.send(customer, :done)
      assert Future.wait_for(future) == :ok
      assert Future.finished?(future)
      failed = Future.future(&Sums.failing/1, [1], machine: machine)
      assert Future.wait_for(failed) == :ok
      nothing_left()
    end

    test "for all", %{machine: machine} do
      futures = for n <- 1..20, do: Future.future(&Sums.fib/1, [n], machine: machine)
      assert Future.wait_for_all(futures) == :ok
      assert Enum.all?(futures, &Future.finished?/1)
      assert Future.wait_for_all([]) == :ok
      {late, customer} = held(machine)
      assert {:error, %Error{reason: :timeout} = error} = Future.wait_for_all([hd(futures), late], 1)
      assert error.context == %{timeout: 1, future: late}
      Future.kill(late)
      # Held until here: a question that nobody can answer any more ends by itself.
      Mote.send(customer, :late)
      nothing_left()
    end

    test "for any", %{machine: machine} do
      [{slow, last}, {behind, first}] = for _ <- 1..2, do: held(machine)
      beside = Future.future(&Sums.fib/1, [5], machine: machine, sponsor: :other)
      assert Future.wait_for_any([slow, behind, beside]) == {:ok, beside}
      assert {:error, %Error{reason: :timeout}} = Future.wait_for_any([slow, behind], 1)
      Mote.send(first, :done)
      assert Future.wait_for_any([slow, behind]) == {:ok, behind}
      Mote.send(last, :done)
      :ok = Future.wait_for_all([slow, behind])
      assert Future.wait_for_any([slow, behind]) == {:ok, slow}
      assert_raise ArgumentError, fn -> Future.wait_for_any([]) end
      nothing_left()
    end

    test "for any, while the machine ends", %{machine: machine} do
      futures = for _ <- 1..3, do: Future.future(Sums.handing(self()), 1, machine: machine)
      # As long as they are held, there may be an answer.
      customers = for _ <- futures, do: elem(assert_receive({%Customer{}, 1}), 0)
      waiting = Task.async(fn -> Future.wait_for_any(futures) end)
      eventually(fn -> Mote.info(machine).questions.open == 6 end)
      :ok = Mote.stop(machine)
      assert {:ok, %Future{}} = Task.await(waiting, 60_000)
      assert {:ok, %Future{}} = Future.wait_for_any(futures)
      assert length(customers) == 3
      nothing_left()
    end

    test "what is no timeout", %{machine: machine} do
      future = Future.future(&Sums.answer/0, [], machine: machine)
      assert_raise ArgumentError, ~r/expected a timeout/, fn -> Future.wait_for(future, -1) end
      assert_raise ArgumentError, ~r/expected a timeout/, fn -> Future.wait_for_any([future], 1.5) end
      assert_raise ArgumentError, ~r/expected a timeout/, fn -> Future.wait_for_all([future], :never) end

      assert_raise ArgumentError, "expected a proper list of futures, got: :x", fn ->
        Future.wait_for_all(:x)
      end

      assert_raise ArgumentError, "expected a proper list of futures, got: :x", fn -> Future.kill_all(:x) end
    end
  end

  describe "kill" do
    test "what has not begun never runs", %{machine: machine} do
      :ok = Mote.pause(machine)
      slow = block(machine)
      futures = for _ <- 1..10, do: Future.future(&Sums.answer/0, [], machine: machine)
      waiting = Task.async(fn -> catch_error(Future.touch(hd(futures))).reason end)
      eventually(fn -> Mote.info(machine).questions.open == 12 end)
      assert Future.kill_all(futures) == 10
      assert Task.await(waiting, 60_000) == :killed
      assert catch_error(Future.touch(List.last(futures))).reason == :killed
      refute Future.kill(hd(futures))
      :ok = Mote.resume(machine)
      assert Future.touch(slow) == 10_000_000
      :ok = Mote.drain(machine, 60_000)
      assert %{turns: 11, ignored: 10, sends: 1} = Mote.info(machine).counters
    end

    test "a value that comes later is thrown away", %{machine: machine} do
      future = Future.future(Sums.handing(self()), 1, machine: machine)
      assert_receive {%Customer{} = customer, 1}
      assert Future.kill(future)
      Mote.send(customer, :late)
      assert {:error, %Error{reason: :killed}} = Future.poll(future)
    end

    test "a behaviour of many turns sees it", %{machine: machine} do
      future = Future.future(Sums.patient(0, self()), :go, machine: machine)
      eventually(fn -> Mote.info(machine).counters.turns > 10 end)
      assert Future.kill(future)
      assert_receive {:nobody_wants_it, count}
      assert count > 5
    end

    for tier <- [:native, :interp] do
      test "ends a call that runs, on the tier #{tier}" do
        machine = machine_of(unquote(tier))
        before = Mote.info(machine).counters
        future = running(machine, &Sums.spin/1, [@long])
        waiting = Task.async(fn -> catch_error(Future.touch(future)).reason end)
        eventually(fn -> Mote.info(machine).questions.open == 2 end)
        assert Future.kill(future)
        assert Task.await(waiting, 60_000) == :killed
        refute Future.kill(future)
        assert :ok = Mote.drain(machine, 5_000)
        counters = Mote.info(machine).counters
        assert %{aborts_killed: 1, unreported: 0} = counters
        assert counters.turns == before.turns + 1
        assert counters.sends == before.sends
        if unquote(tier) == :native, do: assert(counters.interpreted == before.interpreted)
        assert {:error, %Error{reason: :killed}} = Future.poll(future)
        # The thread goes on.
        assert Future.touch(Future.future(&Sums.spin/1, [10], machine: machine)) == 10
      end

      test "ends the turn of a behaviour and leaves nothing of it, on the tier #{tier}" do
        machine = machine_of(unquote(tier))
        future = running(machine, Sums.busy(self()), @long)
        assert Future.kill(future)
        assert :ok = Mote.drain(machine, 5_000)
        assert %{aborts_killed: 1, sends: 1, becomes: 0} = Mote.info(machine).counters
        refute_received :has_run
      end

      test "ends a call that nobody refers to any more, on the tier #{tier}" do
        machine = machine_of(unquote(tier))
        {pid, ref} = spawn_monitor(fn -> running(machine, &Sums.spin/1, [@long]) end)
        assert_receive {:DOWN, ^ref, :process, ^pid, :normal}
        assert :ok = Mote.drain(machine, 5_000)
        assert Mote.info(machine).counters.aborts_killed == 1
      end
    end

    test "the end of an environment does not wait for what runs", %{machine: machine} do
      leave = fn ->
        Future.with_environment(machine, [max_threads: 1], fn -> Future.future(&Sums.spin/1, [@long]) end)
      end

      future = Task.await(Task.async(leave), 60_000)
      assert catch_error(Future.touch(future)).reason == :killed
    end

    test "a turn that has answered before it was killed goes on", %{machine: machine} do
      future = Future.future(Sums.answers_and_works(self()), 1_000_000, machine: machine)
      assert Future.touch(future) == :first
      refute Future.kill(future)
      assert_receive {:worked, 1_000_000}
    end

    test "dropping it is killing it", %{machine: machine} do
      test = self()

      spawn(fn ->
        Future.future(Sums.patient(0, test), :go, machine: machine)
        send(test, :started)
      end)

      assert_receive :started
      assert_receive {:nobody_wants_it, _}
    end
  end

  describe "what cannot be computed" do
    test "is refused", %{machine: machine} do
      for bad <- [
            :fib,
            &String.length/1,
            fn n -> n end,
            Function.capture(Sums, :unknown, 1),
            Function.capture(NoModule, :fib, 1),
            {Sums, :fib, [1]}
          ] do
        assert_raise ArgumentError, ~r/expected a defpure function/, fn ->
          Future.future(bad, [1], machine: machine)
        end
      end

      assert_raise ArgumentError, ~r/takes 1 arguments, got 2/, fn ->
        Future.future(&Sums.fib/1, [1, 2], machine: machine)
      end

      assert_raise ArgumentError, ~r/expected the list of the arguments/, fn ->
        Future.future(&Sums.fib/1, 1, machine: machine)
      end

      assert_raise ArgumentError,
                   ~r/expected the list of the arguments of &Mote.Sums.fib\/1, got: \[3 \| 4\]/,
                   fn ->
                     Future.future(&Sums.fib/1, [3 | 4], machine: machine)
                   end

      for opts <- [[sponsor: :main], [machine: machine, timeout: 1], :machine] do
        assert_raise ArgumentError, ~r/expected the options of future\/3/, fn ->
          Future.future(&Sums.fib/1, [1], opts)
        end
      end

      assert_raise ArgumentError, ~r/there is no environment/, fn -> Future.future(&Sums.fib/1, [1]) end
      assert_raise ArgumentError, ~r/there is no environment/, fn -> Future.kill_all() end

      assert catch_error(Future.future(&Sums.fib/1, [1], machine: machine, sponsor: :none)).reason ==
               :unknown_sponsor

      assert Mote.info(machine).questions.open == 0
    end

    test "a behaviour of another version", %{machine: machine} do
      stale = %{Sums.twice() | version: 1}
      assert catch_error(Future.future(stale, 1, machine: machine)).reason == :stale_behaviour
      unknown = %{Sums.twice() | name: :unknown}
      assert catch_error(Future.future(unknown, 1, machine: machine)).reason == :undefined_behaviour
    end

    test "a machine without memory" do
      machine = start_supervised!({Mote, memory: 16 * 1024 * 1024}, id: :small)
      big = Future.future(&Sums.list/1, [10_000_000], machine: machine)
      error = catch_error(Future.touch(big))
      assert error.reason == :aborted
      assert Exception.message(error) =~ ~r/was aborted: :no_memory \(it needs more than :memory/
      assert Future.touch(Future.future(&Sums.answer/0, [], machine: machine)) == 42
    end
  end

  # The law of futures: a value is that of the function, whatever is waited for in whatever order.
  property "touch gives what the function gives", %{machine: machine} do
    check all(
            terms <- StreamData.list_of(StreamData.term(), min_length: 1, max_length: 10),
            order <- StreamData.list_of(StreamData.integer(), length: length(terms)),
            max_runs: 30
          ) do
      futures = for term <- terms, do: {Future.future(&Sums.same/1, [term], machine: machine), term}
      {:ok, first} = Future.wait_for_any(Enum.map(futures, &elem(&1, 0)))
      assert Future.finished?(first)

      for {_, {future, term}} <- Enum.sort_by(Enum.zip(order, futures), &elem(&1, 0)) do
        assert Future.touch(future) === Sums.same(term)
      end

      nothing_left()
    end
  end

  test "a future of another node is named", %{machine: machine} do
    finished = Future.future(&Sums.answer/0, [], machine: machine)
    :ok = Future.wait_for(finished)

    for future <- [
          %Future{ref: make_ref(), machine: nil, about: {Actors, :echo, 0}},
          %{finished | ref: make_ref()}
        ] do
      assert inspect(future) =~ ~r/^#Mote.Future<Mote..*, unknown>$/

      calls = [
        &Future.touch/1,
        &Future.poll/1,
        &Future.finished?/1,
        &Future.kill/1,
        &Future.wait_for/1,
        &Future.wait_for_all([finished, &1]),
        &Future.wait_for_any([&1, finished]),
        &Future.kill_all([finished, &1])
      ]

      for call <- calls do
        error = assert_raise ArgumentError, fn -> call.(future) end
        assert error.message =~ "#{inspect(future)} is not a future of this node"
      end
    end
  end

  test "what is no future, no timeout or no block is named", %{machine: machine} do
    finished = Future.future(&Sums.spin/1, [1], machine: machine)
    assert :ok = Future.wait_for(finished)

    calls = [&Future.touch/1, &Future.poll/1, &Future.finished?/1, &Future.wait_for/1, &Future.kill/1]
    lists = [&Future.wait_for_all/1, &Future.kill_all/1]

    for call <- calls ++ Enum.map(lists, fn call -> &call.([finished, &1]) end) do
      assert_raise ArgumentError, ~r/expected a future as .*, got: 3/, fn -> call.(3) end
    end

    assert Future.wait_for_any([finished, 3]) == {:ok, finished}
    open = block(machine)
    assert_raise ArgumentError, ~r/expected a future as .*, got: 3/, fn -> Future.wait_for_any([open, 3]) end

    for call <- lists ++ [&Future.wait_for_any/1], list <- [[finished | finished], [finished | :x]] do
      assert_raise ArgumentError, ~r/expected a proper list of futures, got: \[/, fn -> call.(list) end
    end

    for call <- [&Future.touch/2, &Future.wait_for/2] do
      assert_raise ArgumentError, ~r/:foo/, fn -> call.(finished, :foo) end
    end

    assert_raise ArgumentError, ~r/block of an environment/, fn -> Future.with_environment(machine, &{&1}) end
  end
end
