defmodule Mote.AbortTest.Scene do
  use Mote.Behaviour, errors: :undefined

  defactor worker(n) do
    {customer, :get} -> send customer, n
    {_customer, :fail} -> abort(:tired)
  end

  # An error of every day: a new actor is in the value that matches nothing.
  defactor careless(known) do
    {customer, :case} ->
      new = create worker(1)

      case {new, known} do
        {_, :never} -> send customer, new
      end

    {_customer, :deep} ->
      one = create worker(1)
      two = create worker(2), sponsor: :other
      timer = send_after(60_000, one, :late)
      abort([one, two, {%{one => known, two => [timer]}, on(:main, one)}, create(sink())])

    {_customer, :fuel} ->
      abort(endless([]))

    {customer, {:pass, workers}} ->
      for worker <- workers, do: send(worker, {customer, :fail})

    {customer, {:pass, workers, other}} ->
      for worker <- workers, do: send(worker, {customer, :fail})
      send_after(20, other, {customer, :get})

    {customer, {:pass_on, worker}} ->
      send worker, {customer, :nobody}

    {customer, {:pass_on, worker, other}} ->
      send worker, {customer, :nobody}
      send_after(20, other, {customer, :get})
  end

  defactor gone(_known) do
    _ -> become sink()
  end

  defpure endless(list), do: endless([list])
end

defmodule Mote.AbortTest do
  use ExUnit.Case, async: true

  import ExUnit.CaptureLog

  alias Mote.{Error, Future, Uncommitted}
  alias Mote.AbortTest.Scene

  doctest Mote.Uncommitted

  @moduletag :capture_log

  setup do
    machine = start_supervised!({Mote, fuel: 10_000, sponsors: [main: [threads: 1], other: [threads: 1]]})
    known = Mote.create(machine, Scene.worker(0))
    %{machine: machine, known: known, careless: Mote.create(machine, Scene.careless(known))}
  end

  defp new(n), do: %Uncommitted{behaviour: {Scene, :worker}, number: n}

  # Nothing is there that a collection or a message could fall over.
  defp sound(machine, known) do
    for _ <- 1..3 do
      :ok = Mote.gc(machine)
      assert Mote.ask!(known, :get) == 0
    end
  end

  describe "the reason of an abort" do
    test "has no address of an actor that the turn had created", %{machine: machine} = context do
      %{careless: careless, known: known} = context
      assert {:error, %Error{context: %{reason: reason}}} = Mote.ask(careless, :case)
      assert reason == {:case_clause, {new(1), known}}
      sound(machine, known)

      assert_raise ArgumentError, ~r/got: #Mote.Uncommitted<.*Scene.worker, 1>$/, fn ->
        Mote.ask(new(1), :get)
      end

      assert_raise ArgumentError, fn -> Mote.send(new(1), :get) end
    end

    test "tells those apart, however deep they are", %{machine: machine, careless: careless, known: known} do
      assert {:error, %Error{context: %{reason: {:abort, reason}}}} = Mote.ask(careless, :deep)

      assert [one, two, {map, also_one}, sink] = reason
      assert %{behaviour: nil} = timer = map |> Map.get(two) |> hd()
      assert map == %{one => known, two => [timer]} and also_one == one

      assert [%{behaviour: {Scene, :worker}}, %{behaviour: {Scene, :worker}}, %{behaviour: {Scene, :sink}}] =
               [one, two, sink]

      assert Enum.sort(for new <- [one, two, timer, sink], do: new.number) == [1, 2, 3, 4]
      assert inspect(timer) == "#Mote.Uncommitted<timer, #{timer.number}>"
      sound(machine, known)
    end

    test "is logged, and told to handlers, without addresses", %{
      machine: machine,
      careless: careless,
      known: known
    } do
      id = make_ref()
      me = self()

      :telemetry.attach(
        id,
        [:mote, :turn, :abort],
        fn _, _, %{machine: pid} = told, _ -> if pid == machine, do: send(me, told) end,
        nil
      )

      log =
        capture_log(fn ->
          Mote.send(careless, {nil, :case})
          assert_receive %{behaviour: :careless, reason: {:case_clause, {new, ^known}}}
          assert new == new(1)
        end)

      :telemetry.detach(id)
      assert log =~ "{:case_clause, {#Mote.Uncommitted<Mote.AbortTest.Scene.worker, 1>, #Mote.Address<"
      sound(machine, known)
    end
  end

  describe "a trace" do
    test "shows an aborted turn with the actors that there would have been", %{machine: machine} = context do
      %{careless: careless, known: known} = context
      trace = Mote.trace(machine, actor: careless)
      Mote.send(careless, {nil, :case})
      ref = trace.ref
      assert_receive {:mote_trace, ^ref, turn}
      assert turn.outcome == {:abort, {:case_clause, {new(1), known}}}
      assert turn.creates == [{new(1), Scene.worker(1)}]
      assert %{sends: [], become: nil, timers: [], omitted: 0} = turn
      assert Mote.Trace.format(turn) =~ "create Mote.AbortTest.Scene.worker(1)"
      sound(machine, known)
    end

    test "shows the same in a step", %{machine: machine, careless: careless, known: known} do
      :ok = Mote.pause(machine)
      Mote.send(careless, {nil, :deep})
      assert {:ok, %{outcome: {:abort, {:abort, [one, two | _]}}, creates: creates}} = Mote.step(machine)
      created = for create <- creates, do: {elem(create, 0), elem(create, 1)}
      assert {one, Scene.worker(1)} in created and {two, Scene.worker(2)} in created
      :ok = Mote.resume(machine)
      sound(machine, known)
    end
  end

  describe "who has asked" do
    test "hears at once that the turn was aborted, of whom and why", %{careless: careless, known: known} do
      assert {:error, %Error{reason: :aborted} = error} = Mote.ask(known, :fail, :infinity)

      assert error.message ==
               "Mote.AbortTest.Scene.worker aborted the turn that was given the question: {:abort, :tired}"

      assert %{address: ^known, behaviour: {Scene, :worker}, reason: {:abort, :tired}} = error.context
      assert_raise Error, error.message, fn -> Mote.ask!(known, :fail) end
      assert {:error, %Error{reason: :aborted, message: message}} = Mote.ask(careless, :fuel, :infinity)

      assert message =~
               ~r/careless aborted .*: :fuel \(it needs more than the 10,000 steps that :fuel .* by send self\(\), rest\)$/
    end

    test "finds the limit in the log, too", %{machine: machine, careless: careless} do
      log =
        capture_log(fn ->
          Mote.send(careless, {nil, :fuel})
          assert Mote.Eventually.eventually(fn -> Mote.info(machine).counters.aborts_fuel == 1 end)
          :sys.get_state(machine)
        end)

      assert log =~
               ~r/careless aborted a turn .*: :fuel \(it needs more than the 10,000 steps .*\), message: {nil, :fuel}/
    end

    test "hears of it however it was asked", %{machine: machine, known: known} do
      assert [{:ok, 0}, {:error, %Error{reason: :aborted}}] =
               [Mote.ask_all([known], :get), Mote.ask_all([known], :fail, :infinity)] |> Enum.concat()

      failed = {:aborted, {Scene, :worker}, {:abort, :tired}}
      assert {^failed, {Mote, :await, _}} = catch_exit(Mote.await(Mote.async(known, :fail)))
      assert {^failed, {Mote, :await_many, _}} = catch_exit(Mote.await_many([Mote.async(known, :fail)]))
      assert {:error, %Error{reason: :aborted}} = Mote.yield(Mote.async(Mote.on(:other, known), :fail))
      future = Future.future(Scene.worker(1), :fail, machine: machine)
      assert %Error{reason: :aborted} = error = catch_error(Future.touch(future))
      assert error.context == %{future: future, behaviour: {Scene, :worker}, reason: {:abort, :tired}}
      assert error.message =~ "Mote.AbortTest.Scene.worker/1"
      assert Mote.info(machine).questions == %{open: 0, broken: 0}
    end

    test "hears of a broken promise when somebody later in the chain was aborted",
         %{machine: machine} = context do
      %{careless: careless, known: known} = context
      last = %{behaviour: {Scene, :worker}, reason: {:abort, :tired}}

      assert {:error, %Error{reason: :broken_promise} = error} =
               Mote.ask(careless, {:pass, [known]}, :infinity)

      assert error.context == Map.merge(last, %{address: careless, sponsor: nil, request: {:pass, [known]}})
      assert error.message =~ "one of Mote.AbortTest.Scene.worker: {:abort, :tired}"
      future = Future.future(Scene.careless(known), {:pass, [known]}, machine: machine)
      assert %Error{reason: :broken_promise} = error = catch_error(Future.touch(future))
      assert error.context == Map.put(last, :future, future)
      %{ref: ref} = ask = Mote.async(careless, {:pass, [known]})
      assert_receive {^ref, :mote_failed, {:broken_promise, Scene, :worker, {:abort, :tired}}}, 20_000
      # Held until here: to drop it would cancel it.
      assert ask.ref == ref
      assert {:broken_promise, _} = catch_exit(Mote.await(Mote.async(careless, {:pass, [known]}), :infinity))
      # Nobody was aborted: there is nothing to say.
      assert {:error, %Error{context: context}} = Mote.ask(careless, {:pass, []}, :infinity)
      assert context == %{address: careless, sponsor: nil, request: {:pass, []}}
    end

    test "or of the last behaviour that had no clause for it", %{
      machine: machine,
      known: known,
      careless: careless
    } do
      gone = Mote.create(machine, Scene.gone(known))
      assert Mote.ask(gone, :sink, 0) |> elem(0) == :error

      for {asked, request, behaviour, who} <- [
            {known, :nobody, {Scene, :worker},
             "to :nobody: .* no clause matches was given to Mote.AbortTest.Scene.worker"},
            {careless, {:pass_on, known}, {Scene, :worker},
             "to {:pass_on, .* no clause matches was given to Mote.AbortTest.Scene.worker"},
            {gone, 1, {nil, :sink}, "to 1: .* was given to an actor that has ended: it has become sink"}
          ] do
        assert {:error, %Error{reason: :broken_promise} = error} = Mote.ask(asked, request, :infinity)
        assert error.context == %{address: asked, sponsor: nil, request: request, behaviour: behaviour}
        assert error.message =~ ~r/#{who}/
      end

      future = Future.future(Scene.worker(1), :nobody, machine: machine)
      assert %Error{context: %{behaviour: {Scene, :worker}}} = catch_error(Future.touch(future))
      %{ref: ref} = ask = Mote.async(known, :nobody)
      assert_receive {^ref, :mote_failed, {:broken_promise, Scene, :worker}}, 20_000
      assert ask.ref == ref
      # Whoever else has it may still answer.
      assert Mote.ask(careless, {:pass_on, known, known}, :infinity) == {:ok, 0}
      assert [{:error, %Error{context: %{request: :nobody}}}] = Mote.ask_all([known], :nobody, :infinity)
    end

    test "with its request in as few words as somebody reads", %{known: known} do
      for request <- [2 ** 2_000_000, List.duplicate("text", 1_000)] do
        assert {:error, %Error{reason: :broken_promise} = error} = Mote.ask(known, request, :infinity)
        assert {error.context.request, byte_size(error.message) < 500} == {request, true}
      end
    end

    test "is answered by another one who has the customer", %{
      machine: machine,
      known: known,
      careless: careless
    } do
      assert Mote.ask(careless, {:pass, [known, known], known}) == {:ok, 0}
      future = Future.future(Scene.careless(known), {:pass, [known], known}, machine: machine)
      assert Future.touch(future) == 0
    end
  end
end
