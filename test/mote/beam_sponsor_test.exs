defmodule Mote.BeamSponsorTest do
  # Sponsors whose turns run in processes of the BEAM: one turn at a time for each actor, all of it or nothing.
  use ExUnit.Case, async: true

  import ExUnit.CaptureLog
  import Mote.Eventually

  defmodule Plain do
    use Mote.Behaviour

    defactor counter(count) do
      {customer, :read} -> send customer, count
      {:add, n} -> become counter(count + n)
      {:divide, n} -> become counter(div(count, n))
    end

    # An actor that has a child, which knows an elder one; and a timer that both know.
    defactor parent(customer) do
      :go ->
        first = create relay(customer)
        second = create relay(first), sponsor: :main
        timer = send_after 60_000, first, :late
        send second, {:hello, first, timer}
        send first, {:timer, timer}
        become family([first, second])
    end

    defactor family(members) do
      {customer, :members} -> send customer, members
    end

    defactor relay(to) do
      message -> send to, message
    end

    # Passes questions on, and forgets them with what it becomes.
    defactor front(to, _last) do
      {customer, request} ->
        send to, {customer, request}
        become front(to, request)
    end

    defactor closed(to) do
      :open -> become relay(to)
      {:fail, n} -> become failing(to, div(1, n))
      _ -> stash()
    end

    defactor failing(to, _quotient) do
      message -> send to, message
    end

    defactor spin(n) do
      {customer, :spin} -> send customer, loop(n)
    end

    defpure loop(0), do: :done
    defpure loop(n), do: loop(n - 1)
  end

  defmodule Free do
    use Mote.Behaviour

    @greeting "hello"

    @doc "Does what it is told, in Elixir."
    defactor free(state), beam: true do
      {customer, {:run, fun}} ->
        send customer, fun.()

      {customer, :state} ->
        send customer, state

      {:put, new} ->
        become free(new)

      {:change, new} ->
        become state: new

      {customer, :greet} when is_list(state) ->
        send customer, Enum.join([@greeting | state], " ")

      {:half, customer, fun} ->
        child = create relay(customer)
        send child, :half
        become free(:half)
        fun.()

      {customer, :child} ->
        send customer, create(free(state))

      {customer, :me} ->
        send customer, self()

      {_customer, {:forget, test}} ->
        Kernel.send(test, {:turn, Kernel.self()})
        receive(do: (:forget -> :ok))

      {:abort, reason} ->
        abort(reason)
    end

    defactor relay(to) do
      message -> send to, message
    end

    defactor maker(sponsor) do
      {customer, :make} -> send customer, create(free(:made), sponsor: sponsor)
    end
  end

  defmodule Words do
    use Mote.Behaviour

    # What the language calls by these words, any Elixir may call as well.
    defactor words(log), beam: true do
      {customer, {:receipt, sum}} ->
        receipt(customer, twice(sum), log)

      {customer, {:sum, numbers}} ->
        sum = create gather(customer, length(numbers), 0, fn n, sum -> sum + Enum.at([0 | numbers], n) end)
        for n <- 1..length(numbers)//1, do: send(sum, n)

      {customer, :first} ->
        become gather(customer, 2, [], &[&1 | &2])
    end

    defeffect receipt(customer, sum, log) do
      send log, {:sold, sum}
      send customer, {:thanks, more(sum)}
    end

    defpure twice(n), do: 2 * n
    defpurep more(n), do: n + 1
    defpurep unused(n), do: n
    defactor other(n), do: (:x -> become other(unused(n)))
  end

  defp machine(opts \\ []) do
    {io, opts} = Keyword.pop(opts, :io, [])
    {:ok, machine} = Mote.start_link([sponsors: [main: [], io: [beam: true] ++ io]] ++ opts)
    machine
  end

  defp ask!(actor, request), do: Mote.ask!(actor, request, 20_000)

  test "a turn that traps exits is killed as well when nobody wants it any more" do
    for ends <- [&Mote.stop/1, &Mote.remove_sponsor(&1, :io)] do
      machine = machine(io: [timeout: :infinity])
      actor = Mote.create(machine, Free.free(0), sponsor: :io)
      test = self()

      fun = fn ->
        Process.flag(:trap_exit, true)
        Kernel.send(test, {:turn, Kernel.self()})
        Process.sleep(:infinity)
      end

      Mote.async(actor, {:run, fun})
      assert_receive {:turn, pid}, 20_000
      monitor = Process.monitor(pid)
      capture_log(fn -> ends.(machine) end)
      assert_receive {:DOWN, ^monitor, _, _, :killed}
    end
  end

  test "a question that a turn has dropped is found to be broken, not after its timeout" do
    machine = machine()
    relay = Mote.create(machine, Plain.relay(Mote.create(machine, Plain.counter(0))), sponsor: :io)

    for actor <- [Mote.create(machine, Free.free(0), sponsor: :io), relay] do
      # Less than a worker waits before it ends.
      assert {:error, %Mote.Error{reason: :broken_promise}} = Mote.ask(actor, :unknown, 9_000)
    end
  end

  test "a question of another machine that a turn has dropped is found to be broken when both machines have looked" do
    [here, there] = [machine(), machine()]
    test = self()
    actor = Mote.create(there, Free.free(0), sponsor: :io)
    # It keeps the customer in its heap until that machine collects: what becomes is not rewound.
    front = Mote.create(here, Plain.front(actor, nil))
    asked = Task.async(fn -> Mote.ask(front, {:forget, test}, 60_000) end)
    assert_receive {:turn, pid}, 20_000
    # Long enough for its machine to have looked while the turn ran.
    Process.sleep(30)
    Kernel.send(pid, :forget)
    assert :ok = Mote.drain(there, 20_000)
    eventually(fn -> Mote.gc(there) && Mote.info(here).questions == %{open: 0, broken: 1} end)
    assert {:error, %Mote.Error{reason: :broken_promise}} = Task.await(asked, 60_000)
  end

  test "an exit that only looks like a crash is told as the exit that it is" do
    for stack <- [[{1, 2, 3, 4}], [{__MODULE__, :x, 1, []} | :y]] do
      reason = {%RuntimeError{}, stack}
      assert {:crashed, :exit, ^reason, []} = Mote.Machine.Worker.exited(reason)
    end
  end

  test "what an actor has kept it takes up again before what waits" do
    {:ok, machine} = Mote.start_link(sponsors: [main: [], io: [beam: true, max_concurrency: 4]])
    doors = for n <- 1..20, do: {n, Mote.create(machine, Plain.closed(self()), sponsor: :io)}

    for {n, door} <- doors do
      for m <- 1..30, do: Mote.send(door, {n, m})
      # Aborted: what is kept stays kept.
      Mote.send(door, {:fail, 0})
      Mote.send(door, :open)
      for m <- 31..60, do: Mote.send(door, {n, m})
    end

    received = for _ <- 1..(20 * 60), do: assert_receive({_, _}, 20_000)
    by_door = Enum.group_by(received, &elem(&1, 0), &elem(&1, 1))
    assert by_door == Map.new(1..20, &{&1, Enum.to_list(1..60)})
  end

  describe "behaviours of the language" do
    test "run as anywhere" do
      counter = Mote.create(machine(), Plain.counter(0), sponsor: :io)
      for n <- 1..200, do: Mote.send(counter, {:add, n})
      assert ask!(counter, :read) == 20_100
    end

    test "what a turn makes is real when it has ended, and everything knows it" do
      machine = machine()
      parent = Mote.create(machine, Plain.parent(self()), sponsor: :io)
      Mote.send(parent, :go)
      assert_receive {:timer, %Mote.Timer{} = timer}, 20_000
      assert_receive {:hello, %Mote.Address{} = first, ^timer}, 20_000
      assert [^first, %Mote.Address{}] = ask!(parent, :members)
      Mote.send(first, :again)
      assert_receive :again, 20_000
    end

    test "an abort leaves nothing, and the actor goes on" do
      counter = Mote.create(machine(), Plain.counter(7), sponsor: :io)

      log =
        capture_log(fn ->
          Mote.send(counter, {:divide, 0})
          assert ask!(counter, :read) == 7
          # It has been told by then, and is logged when the process is back.
          :sys.get_state(Mote.Native.machine_owner(counter.machine))
        end)

      assert log =~ "ArithmeticError"
    end

    test "actors of other sponsors come when they are sent to by it, and go again" do
      machine = machine()
      counter = Mote.create(machine, Plain.counter(0))
      for n <- 1..100, do: Mote.send(counter, {:add, 1}, sponsor: if(rem(n, 2) == 0, do: :io, else: :main))
      assert :ok = Mote.drain(machine, 20_000)
      assert ask!(counter, :read) == 100
    end
  end

  describe "behaviours that call any Elixir" do
    test "read, become, create and know themselves" do
      actor = Mote.create(machine(), Free.free(["world"]), sponsor: :io)
      assert ask!(actor, :greet) == "hello world"
      assert ask!(actor, {:run, fn -> File.exists?(__ENV__.file) end})
      Mote.send(actor, {:put, 1})
      assert ask!(actor, :state) == 1
      Mote.send(actor, {:change, 2})
      assert ask!(actor, :state) == 2
      assert ask!(actor, :me) == actor
      assert actor |> ask!(:child) |> ask!(:state) == 2
    end

    test "have defeffect, defpure and gather" do
      actor = Mote.create(machine(), Words.words(self()), sponsor: :io)
      assert ask!(actor, {:receipt, 21}) == {:thanks, 43}
      assert_receive {:sold, 42}, 20_000
      assert ask!(actor, {:sum, Enum.to_list(1..100)}) == 5_050
      assert ask!(actor, {:sum, []}) == 0
      first = Mote.async(actor, :first)
      for word <- [:one, :two], do: Mote.send(actor, word)
      assert Mote.await(first, 20_000) == [:two, :one]
    end

    test "are created in beam sponsors only" do
      machine = machine()
      assert %Mote.Error{reason: :beam_only} = catch_error(Mote.create(machine, Free.free(1)))
      assert %Mote.Error{reason: :beam_only} = catch_error(Mote.create(machine, Free.free(1), sponsor: :main))

      capture_log(fn ->
        maker = Mote.create(machine, Free.maker(:main))

        assert {:error, %Mote.Error{reason: :aborted, context: %{reason: {:beam_only, {Free, :free}}}}} =
                 Mote.ask(maker, :make, 20_000)
      end)

      maker = Mote.create(machine, Free.maker(:io))
      assert maker |> ask!(:make) |> ask!(:state) == :made
    end

    test "whatever ends a turn aborts all of it" do
      for end_it <- [
            fn -> raise "oops" end,
            fn -> throw(:ball) end,
            fn -> exit(:normal) end,
            fn -> exit(:bad) end,
            fn -> Process.exit(self(), :kill) end,
            fn -> Process.exit(self(), :shutdown) end,
            fn -> Mote.Behaviour.Beam.send_after(-1, self(), :never) end,
            fn -> Mote.Behaviour.Beam.send_after(2 ** 62, self(), :never) end
          ] do
        capture_log(fn ->
          actor = Mote.create(machine(), Free.free(:whole), sponsor: :io)
          Mote.send(actor, {:half, self(), end_it})
          assert ask!(actor, :state) == :whole
          refute_received :half
        end)
      end
    end

    test "what takes too long is ended" do
      capture_log(fn ->
        actor = Mote.create(machine(io: [timeout: 50]), Free.free(:whole), sponsor: :io)
        Mote.send(actor, {:half, self(), fn -> Process.sleep(:infinity) end})
        # On a busy computer even this turn may take too long.
        eventually(fn -> Mote.ask(actor, :state, 20_000) == {:ok, :whole} end)
        refute_received :half

        assert {:error, %Mote.Error{context: %{reason: :timeout}, message: message}} =
                 Mote.ask(actor, {:run, fn -> Process.sleep(:infinity) end}, 20_000)

        assert message =~
                 ":timeout (it took longer than :timeout in the options of its beam sponsor allows a turn)"
      end)
    end

    test "ask others, but not themselves" do
      machine = machine()
      counter = Mote.create(machine, Plain.counter(5))
      actor = Mote.create(machine, Free.free(0), sponsor: :io)
      assert ask!(actor, {:run, fn -> Mote.ask!(counter, :read) end}) == 5

      directory = Mote.Directory.start(machine)
      :ok = Mote.Directory.put(directory, :counter, counter)
      :ok = Mote.Directory.put(directory, :own, actor)
      assert ask!(actor, {:run, fn -> Mote.Directory.ask!(directory, :counter, :read) end}) == 5

      capture_log(fn ->
        for ask <- [
              fn -> Mote.ask!(actor, :state) end,
              fn -> Mote.Directory.ask!(directory, :own, :state) end
            ] do
          assert {:error,
                  %Mote.Error{context: %{reason: {:crashed, :error, %Mote.Error{reason: :own_turn}, _}}}} =
                   Mote.ask(actor, {:run, ask}, 20_000)
        end
      end)
    end

    test "that call what is nowhere defined name it" do
      capture_log(fn ->
        actor = Mote.create(machine(), Free.free(0), sponsor: :io)
        nowhere = fn -> apply(Mote.Nowhere, :nothing, [1]) end
        assert {:error, error} = Mote.ask(actor, {:run, nowhere}, 20_000)
        assert {:crashed, :error, %UndefinedFunctionError{}, stack} = error.context.reason
        assert Exception.message(error) =~ "function Mote.Nowhere.nothing/1 is undefined"
        assert Enum.any?(stack, &(&1 =~ ~s["turn of free"]))
      end)

      turn = Mote.Behaviour.turn(Free.free(0), {:me, {:run, fn -> apply(Mote.Nowhere, :nothing, []) end}})
      assert {:abort, {:crashed, :error, %UndefinedFunctionError{}, _}} = turn.outcome
    end

    test "find a clean process and leave nothing" do
      actor = Mote.create(machine(io: [max_concurrency: 1]), Free.free(0), sponsor: :io)
      test = self()

      look = fn ->
        {:message_queue_len, n} = Process.info(self(), :message_queue_len)
        {:links, links} = Process.info(self(), :links)
        send(test, {:worker, self()})
        {n, length(links), Process.get(:dirt)}
      end

      dirt = fn ->
        Process.put(:dirt, true)
        Process.send_after(self(), :later, 1)
        send(self(), :now)
        send(test, {:linked, spawn_link(fn -> Process.sleep(:infinity) end)})
        :ok
      end

      clean = ask!(actor, {:run, look})
      assert {0, _, nil} = clean
      assert ask!(actor, {:run, dirt}) == :ok
      assert_receive {:linked, linked}, 20_000
      ref = Process.monitor(linked)
      assert_receive {:DOWN, ^ref, _, _, _}, 20_000
      assert ask!(actor, {:run, look}) == clean
    end

    test "only the actor whose turn blocks waits" do
      machine = machine()
      [slow, quick] = for _ <- 1..2, do: Mote.create(machine, Free.free(0), sponsor: :io)
      test = self()

      wait = fn ->
        send(test, {:in, self()})
        receive do: (:go_on -> :done)
      end

      task = Task.async(fn -> ask!(slow, {:run, wait}) end)
      assert_receive {:in, turn}, 20_000
      for n <- 1..10, do: Mote.send(slow, {:put, n})
      later = Mote.async(slow, :state)
      assert ask!(quick, :state) == 0
      assert Mote.yield(later, 0) == nil
      send(turn, :go_on)
      assert Task.await(task, 20_000) == :done
      assert Mote.await(later, 20_000) == 10
    end
  end

  describe "sponsors come and go" do
    test "added later, removed, stopped in the middle of a turn" do
      machine = machine()
      assert :ok = Mote.add_sponsor(machine, :more, beam: true, max_concurrency: 2)
      actor = Mote.create(machine, Plain.counter(1), sponsor: :more)
      assert ask!(actor, :read) == 1
      assert :ok = Mote.remove_sponsor(machine, :more)
      assert ask!(actor, :read) == 1

      blocked = Mote.create(machine, Free.free(1), sponsor: :io)
      test = self()
      Mote.send(blocked, {:half, self(), fn -> send(test, {:in, self()}) && Process.sleep(:infinity) end})
      assert_receive {:in, turn}, 20_000
      ref = Process.monitor(turn)
      assert :ok = Mote.stop(machine)
      assert_receive {:DOWN, ^ref, _, _, _}, 20_000
      refute_received :half
    end
  end

  test "seeded machines run their turns too" do
    machine = machine(schedule: {:seeded, 7})
    counter = Mote.create(machine, Plain.counter(5))
    actor = Mote.create(machine, Free.free(0), sponsor: :io)
    assert ask!(actor, {:run, fn -> Mote.ask!(counter, :read) end}) == 5
    for n <- 1..20, do: Mote.send(actor, {:put, n})
    assert ask!(actor, :state) == 20
  end

  test "options are checked" do
    for opts <- [
          [beam: :yes],
          [beam: true, threads: 2],
          [max_concurrency: 3],
          [beam: true, max_concurrency: 0],
          [beam: true, timeout: 0]
        ] do
      assert_raise ArgumentError, fn -> Mote.start_link(sponsors: [io: opts]) end
    end
  end

  test "the compiler sees where a behaviour could not run" do
    for {code, text} <- [{"create b()", "lives in a beam sponsor"}, {"become b()", "can become it"}] do
      module = """
      defmodule Mote.BeamSponsorTest.Wrong#{:erlang.unique_integer([:positive])} do
        use Mote.Behaviour
        defactor a(), do: (:x -> #{code})
        defactor b(), beam: true do
          :x -> File.cwd!()
        end
      end
      """

      assert_raise Mote.CompileError, ~r/#{text}/, fn -> Code.eval_string(module) end
    end
  end
end
