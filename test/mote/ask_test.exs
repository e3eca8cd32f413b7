defmodule Mote.AskTest do
  use ExUnit.Case, async: true
  use ExUnitProperties
  import Mote.{Eventually, Mailbox}

  alias Mote.{Actors, Customer, Error, Native, Tally}
  alias Mote.Machine.Questions

  doctest Mote.Ask

  @moduletag capture_log: true

  setup do
    machine = start_supervised!({Mote, sponsors: [main: [threads: 2], other: []]})
    %{machine: machine, echo: Mote.create(machine, Actors.echo()), late: Mote.create(machine, Actors.late())}
  end

  describe "ask, while the machine sleeps" do
    setup do
      machine = start_supervised!({Mote, sponsors: [main: []]}, id: :sleeper)
      %{machine: machine}
    end

    defp counted(machine), do: Mote.info(machine).counters

    # What `asks` returns, of a time in which just this was counted: its questions come while the thread sleeps, which
    # something else, memory that is given back or code that is there, may wake in between.
    defp stood_in(machine, expected, asks) do
      eventually(fn ->
        asleep(machine)
        before = counted(machine)
        answered = asks.()
        now = counted(machine)
        if Map.new(expected, fn {name, _} -> {name, now[name] - before[name]} end) == expected, do: answered
      end)
    end

    @tag not_under_stress: "a thread that collects all the time does not sleep"
    test "runs the turns in the process that asks", %{machine: machine} do
      tally = Mote.create(machine, Tally.tally(0))

      answers =
        stood_in(machine, %{stand_ins: 100, turns: 100, parks: 0}, fn ->
          for _ <- 1..100, do: Mote.ask!(tally, 1)
        end)

      assert answers == Enum.to_list(hd(answers)..(hd(answers) + 99))
      nothing_left()
    end

    test "comes after what was sent before", %{machine: machine} do
      tally = Mote.create(machine, Tally.tally(0))

      for n <- 1..200 do
        if rem(n, 20) == 0, do: asleep(machine)
        :ok = Mote.send(tally, 10)
        assert Mote.ask(tally, 1) == {:ok, 11 * n}
      end
    end

    @tag not_under_stress: "a thread that collects all the time does not sleep"
    test "runs turns of some thousand steps there", %{machine: machine} do
      slow = Mote.create(machine, Tally.slow())

      stood_in(machine, %{turns: 1, stand_ins: 1, parks: 0}, fn ->
        assert Mote.ask(slow, 2_000) == {:ok, 0}
      end)
    end

    @tag not_under_stress: "a thread that collects all the time does not sleep"
    test "leaves long turns to the thread, as one turn each", %{machine: machine} do
      slow = Mote.create(machine, Tally.slow())

      stood_in(machine, %{turns: 1, aborts_fuel: 0, stand_ins: 1}, fn ->
        parks = counted(machine).parks
        assert Mote.ask(slow, 50_000) == {:ok, 0}
        eventually(fn -> counted(machine).parks > parks end)
      end)
    end

    test "gives a turn no more fuel than the machine does" do
      machine = start_supervised!({Mote, fuel: 20}, id: :frugal)
      slow = Mote.create(machine, Tally.slow())
      asleep(machine)
      assert Mote.ask(slow, 10) == {:ok, 0}
      asleep(machine)
      assert {:error, %Error{reason: :aborted, context: %{reason: :fuel}}} = Mote.ask(slow, 40)
      assert %{turns: 2, aborts_fuel: 1} = counted(machine)
    end

    @tag not_under_stress: "a thread that collects all the time does not sleep"
    test "reports aborts and broken promises", %{machine: machine} do
      faithless = Mote.create(machine, Tally.faithless())

      for {request, reason, aborts} <- [{:forget, :broken_promise, 0}, {:fail, :aborted, 1}] do
        stood_in(machine, %{turns: 1, aborts_explicit: aborts, stand_ins: 1}, fn ->
          assert {:error, %Error{reason: ^reason}} = Mote.ask(faithless, request)
        end)
      end

      nothing_left(30)
    end

    test "waits for answers that come later, and for no longer than was said", %{machine: machine} do
      late = Mote.create(machine, Actors.late())
      asleep(machine)
      assert Mote.ask(late, 20) == {:ok, :late}
      asleep(machine)
      assert {:error, %Error{reason: :timeout}} = Mote.ask(late, 10_000, 10)
      nothing_left(30)
    end

    test "many at once are answered once each", %{machine: machine} do
      tally = Mote.create(machine, Tally.tally(0))
      many = fn -> for _ <- 1..500, do: Mote.ask!(tally, 1) end
      answers = 1..8 |> Enum.map(fn _ -> Task.async(many) end) |> Task.await_many(60_000)
      assert answers |> Enum.concat() |> Enum.sort() == Enum.to_list(1..4_000)
      assert counted(machine).turns == 4_000
    end
  end

  describe "ask_all" do
    test "gives an answer for each, in order", %{machine: machine} do
      keepers = for n <- 1..50, do: Mote.create(machine, Actors.keeper(n))
      assert Mote.ask_all(keepers, :get) == for(n <- 1..50, do: {:ok, n})
      assert Mote.ask_all([], :get) == []
      nothing_left()
    end

    test "has one deadline for all, and an error for each", %{machine: machine, echo: echo, late: late} do
      {:ok, other} = Mote.start_link()
      gone = Mote.create(other, Actors.echo())
      :ok = Mote.stop(other)
      failing = Mote.create(machine, Actors.failing(1))
      results = Mote.ask_all([late, echo, gone, late], 60_000, 500)
      reason = fn {:error, %Error{reason: reason}} -> reason end
      assert [first, {:ok, 60_000}, third, fourth] = results
      assert Enum.map([first, third, fourth], reason) == [:timeout, :machine_down, :timeout]
      assert [{:ok, 1}, {:error, %Error{reason: :aborted}}] = Mote.ask_all([echo, failing], 1)
      nothing_left()
    end

    test "does not begin to wait anew for each", %{machine: machine, late: late} do
      silent = Mote.create(machine, Actors.forward(self()))

      # The second answer comes just before another deadline would end.
      assert [{:error, first}, {:error, second}] = Mote.ask_all([silent, late], 1_900, 1_000)
      assert {first.reason, second.reason} == {:timeout, :timeout}
      assert_received {%Customer{}, 1_900}
      nothing_left(1_100)
    end

    test "finds the answers in whatever order they come", %{machine: machine} do
      silent = Mote.create(machine, Actors.forward(self()))
      asker = Task.async(fn -> Mote.ask_all(List.duplicate(silent, 100), :what) end)
      customers = for _ <- 1..100, do: assert_receive({%Customer{}, :what}) |> elem(0)
      for {customer, n} <- customers |> Enum.with_index() |> Enum.reverse(), do: Mote.send(customer, n)
      assert Task.await(asker, 60_000) == for(n <- 0..99, do: {:ok, n})
    end

    test "knows who has failed before its turn", %{machine: machine, echo: echo, late: late} do
      failing = Mote.create(machine, Actors.failing(1))

      assert [{:ok, :late}, {:error, %Error{reason: :aborted, context: %{address: ^failing}}}, {:ok, 100}] =
               Mote.ask_all([late, failing, echo], 100)

      nothing_left()
    end

    test "a machine that is killed answers nothing, and the others do", %{echo: echo, late: late} do
      {:ok, doomed} = Mote.start_link()
      Process.unlink(doomed)
      lost = Mote.create(doomed, Actors.late())

      killer =
        spawn_link(fn ->
          receive do
            {%Customer{}, 200} = kept ->
              Process.exit(doomed, :kill)
              # While the machine still runs, its question must not be one that nobody can answer.
              Process.sleep(:infinity)
              send(self(), kept)
          end
        end)

      last = Mote.create(doomed, Actors.forward(killer))
      asked = [late, echo] ++ List.duplicate(lost, 1_000) ++ [last, late, echo]
      assert [{:ok, :late}, {:ok, 200} | rest] = Mote.ask_all(asked, 200)
      {failed, answered} = Enum.split(rest, 1_001)
      for failed <- failed, do: assert({:error, %Error{reason: :machine_down}} = failed)
      assert answered == [{:ok, :late}, {:ok, 200}]
      nothing_left()
    end

    test "notices a machine that ends and does not say so" do
      {:ok, doomed} = Mote.start_link()
      Process.unlink(doomed)
      lost = Mote.create(doomed, Actors.late())
      test = self()

      # What the machine says has a tag that nobody waits for.
      ask = fn %{machine: machine, key: key}, _tag ->
        asker = Native.ask_async(machine, key, nil, 60_000, make_ref())
        send(test, :asked)
        asker
      end

      task = Task.async(fn -> Questions.put_all([lost], :infinity, &[address: &1], ask) end)
      assert_receive :asked
      Process.exit(doomed, :kill)
      assert [error: %Error{reason: :machine_down}] = Task.await(task, 60_000)
    end

    test "takes an answer that was on its way at the deadline", %{echo: echo} do
      ask = fn %{machine: machine, key: key}, tag ->
        other = make_ref()
        asker = Native.ask_async(machine, key, nil, :hi, other)
        # Now it is answered, and the message comes later.
        assert_receive {^other, :hi}
        Process.send_after(self(), {tag, :hi}, 50)
        asker
      end

      assert Questions.put_all([echo], 0, &[address: &1], ask) == [ok: :hi]
    end

    test "sends nothing if one of them is no address", %{machine: machine, echo: echo} do
      assert_raise ArgumentError, ~r/got: :nobody/, fn -> Mote.ask_all([echo, :nobody], 1) end

      assert_raise ArgumentError, ~r/expected a proper list of addresses, got: #Mote/, fn ->
        Mote.ask_all(echo, 1)
      end

      assert_raise ArgumentError, ~r/options of ask_all\/3/, fn -> Mote.ask_all([echo], 1, wait: 1) end
      :ok = Mote.drain(machine)
      assert Mote.info(machine).counters.turns == 0
    end
  end

  describe "askers that are killed" do
    test "leave no open question, and the machine throws their answers away", %{machine: machine, late: late} do
      test = self()

      askers =
        for n <- 1..20 do
          spawn(fn ->
            asks = for _ <- 1..10, do: Mote.async(late, rem(n, 3) * 10)
            send(test, :asked)
            Mote.await_many(asks, :infinity)
            Process.sleep(:infinity)
          end)
        end

      for _ <- askers, do: assert_receive(:asked)
      for asker <- askers, do: Process.exit(asker, :kill)
      eventually(fn -> Mote.info(machine).questions.open == 0 end)
      # First every timer is armed, then every one has fired.
      :ok = Mote.drain(machine)
      eventually(fn -> Mote.info(machine).counters.timers == 0 end)
      :ok = Mote.drain(machine)
      %{undelivered: undelivered, foreign_out: delivered} = Mote.info(machine).counters
      assert undelivered + delivered == 200
      nothing_left(30)
    end
  end

  # Whatever happens to a question, it has one outcome, and nothing is left of it.
  property "a question ends once", %{machine: machine, echo: echo, late: late} do
    failing = Mote.create(machine, Actors.failing(:never))

    kinds =
      StreamData.frequency([
        {4, StreamData.constant({echo, 0})},
        {4, StreamData.map(StreamData.integer(0..3), &{late, &1})},
        {1, StreamData.constant({failing, 0})}
      ])

    ends =
      StreamData.member_of([
        &Mote.ignore/1,
        &Mote.yield(&1, 1),
        fn ask -> Mote.yield(ask, 0) || Mote.ignore(ask) end,
        fn ask ->
          try do
            {:ok, Mote.await(ask, 2)}
          catch
            :exit, {reason, {Mote, :await, _}} -> {:exit, reason}
          end
        end
      ])

    check all(questions <- StreamData.list_of({kinds, ends}, max_length: 20), max_runs: 50) do
      asks = for {{actor, request}, wait} <- questions, do: {Mote.async(actor, request), wait}
      outcomes = for {ask, wait} <- asks, do: {ask, wait.(ask)}

      for {ask, outcome} <- outcomes do
        case outcome do
          # It may have come since.
          nil -> Mote.ignore(ask)
          {:exit, reason} -> assert reason in [:timeout, {:aborted, {Actors, :failing}, {:abort, {:never}}}]
          {:ok, answer} -> assert answer in [0, :late]
          {:error, error} -> assert error.reason == :aborted
        end
      end

      nothing_left(5)
    end
  end
end
