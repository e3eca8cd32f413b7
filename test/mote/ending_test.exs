defmodule Mote.EndingTest do
  # What a machine that is stopped in good order still does, what it refuses, and what it says that it has not done.
  use ExUnit.Case, async: true

  import ExUnit.CaptureLog
  import Mote.Eventually

  alias Mote.{Error, FarRig, Outbox, TwoNodes}

  @moduletag capture_log: true

  defmodule Behaviours do
    use Mote.Behaviour

    defactor passing(to) do
      n -> send to, {:passed, n}
    end

    # So many turns, one after the other.
    defactor steps(to) do
      0 -> send to, :last
      n -> send self(), n - 1
    end

    defactor endless() do
      n -> send self(), n
    end

    defactor echo() do
      {customer, request} -> send customer, request
    end

    # Each turn waits until the test lets it go on.
    defactor service(test), beam: true do
      {:wait, n} ->
        Mote.EndingTest.wait(test, n)
        send test, {:done, n}

      {:try, n, fun} ->
        Mote.EndingTest.wait(test, n)
        send test, {:tried, fun.()}
    end
  end

  @doc false
  def wait(test, n) do
    Kernel.send(test, {:began, n, self()})
    receive do: (:go -> :ok)
  end

  defp start(opts) do
    {:ok, supervisor} = Supervisor.start_link([{Mote, opts}], strategy: :one_for_one)
    [{_, machine, _, _}] = Supervisor.which_children(supervisor)
    {supervisor, machine}
  end

  # What stops without anybody waiting for it.
  defp stop_soon(supervisor), do: Task.async(fn -> Supervisor.stop(supervisor) end)

  # Every way in is closed from one moment on.
  defp until_closing(machine) do
    eventually(fn ->
      try do
        Mote.create(machine, Behaviours.echo()) && false
      rescue
        error in Error -> error.reason == :machine_down
      end
    end)
  end

  # The events of a machine's end.
  defp listen(machine) do
    test = self()
    id = make_ref()

    handler = fn _, figures, %{machine: from, reason: reason}, _ ->
      from == machine && send(test, {:left, figures, reason})
    end

    :ok = :telemetry.attach(id, [:mote, :machine, :unfinished], handler, nil)
    on_exit(fn -> :telemetry.detach(id) end)
  end

  @beam [main: [], io: [beam: true, max_concurrency: 2, timeout: :infinity]]

  describe "the specification of a child" do
    test "leaves the machine time for what it has" do
      for {opts, shutdown, drain} <- [
            {[], 10_000, 5_000},
            {[shutdown: [drain: 700]], 5_700, 700},
            {[shutdown: 30_000], 30_000, 25_000},
            {[shutdown: 8_000], 8_000, 4_000},
            {[shutdown: :infinity], :infinity, 5_000},
            {[shutdown: :brutal_kill], :brutal_kill, 0}
          ] do
        assert %{shutdown: ^shutdown, start: {Mote, :start_link, [[shutdown: [drain: ^drain]]]}} =
                 Mote.child_spec(opts)
      end
    end

    test "and start_link/1 take nothing else" do
      for bad <- [[drain: -1], [drain: :infinity], [drian: 1], :soon, 1.0, [{:drain, 1}, {:drain, 2}]] do
        assert_raise ArgumentError, ~r/:shutdown of a machine to be \[drain: milliseconds\]/, fn ->
          Mote.child_spec(shutdown: bad)
        end

        assert_raise ArgumentError, ~r/:shutdown of a machine/, fn -> Mote.start_link(shutdown: bad) end
      end

      assert_raise ArgumentError, ~r/got: 5000/, fn -> Mote.start_link(shutdown: 5_000) end
    end
  end

  describe "a machine under a supervisor that stops" do
    test "finishes the turns of beam sponsors, those that wait for a worker included" do
      {supervisor, machine} = start(sponsors: @beam, shutdown: [drain: 60_000])
      listen(machine)
      services = for _ <- 1..5, do: Mote.create(machine, Behaviours.service(self()), sponsor: :io)
      for {service, n} <- Enum.with_index(services), do: :ok = Mote.send(service, {:wait, n})
      task = stop_soon(supervisor)
      until_closing(machine)

      for _ <- 1..5 do
        assert_receive {:began, _, worker}, 30_000
        send(worker, :go)
      end

      Task.await(task, 60_000)
      for n <- 0..4, do: assert_received({:done, ^n})
      refute_received {:left, _, _}
    end

    test "finishes what follows from what it has" do
      {supervisor, machine} = start(shutdown: [drain: 60_000])
      listen(machine)
      :ok = Mote.send(Mote.create(machine, Behaviours.steps(self())), 50_000)
      Supervisor.stop(supervisor)
      assert_received :last
      refute_received {:left, _, _}
    end

    test "waits until its outboxes are read" do
      {supervisor, machine} = start(shutdown: [drain: 60_000])
      listen(machine)
      outbox = Outbox.open(machine)
      passing = Mote.create(machine, Behaviours.passing(outbox))
      :ok = Mote.send_many(passing, Enum.to_list(1..5_000))
      task = stop_soon(supervisor)
      until_closing(machine)
      assert_receive {:mote_outbox, ^outbox}
      eventually(fn -> Outbox.info(outbox).waiting == 5_000 end)
      assert Process.alive?(machine)
      assert Outbox.take(outbox, 5_000) == for(n <- 1..5_000, do: {:passed, n})
      Task.await(task, 60_000)
      refute_received {:left, _, _}
    end

    test "waits for no reader that has ended, and for nothing while it is paused" do
      {supervisor, machine} = start(shutdown: [drain: 600_000])
      listen(machine)

      {reader, ref} =
        spawn_monitor(fn ->
          Outbox.open(machine) |> then(&Mote.send(Mote.create(machine, Behaviours.passing(&1)), 1))
        end)

      assert_receive {:DOWN, ^ref, :process, ^reader, :normal}
      :ok = Mote.drain(machine, 60_000)
      steps = Mote.create(machine, Behaviours.steps(self()))
      Mote.pause(machine)
      Mote.send(steps, 1)
      Supervisor.stop(supervisor)
      assert_received {:left, %{events: 1, letters: 0}, :shutdown}
    end

    test "says what it could not finish, by kind" do
      {supervisor, machine} = start(sponsors: @beam, shutdown: [drain: 100])
      listen(machine)
      services = for _ <- 1..5, do: Mote.create(machine, Behaviours.service(self()), sponsor: :io)
      for {service, n} <- Enum.with_index(services), do: :ok = Mote.send(service, {:wait, n})
      for _ <- 1..2, do: assert_receive({:began, _, _}, 30_000)
      Mote.send_after(hd(services), :later, 1_000_000)
      outbox = Outbox.open(machine)
      :ok = Mote.send_many(Mote.create(machine, Behaviours.passing(outbox)), [1, 2, 3])
      log = capture_log(fn -> Supervisor.stop(supervisor) end)
      assert_received {:left, figures, :shutdown}
      assert figures == %{events: 3, turns: 2, letters: 3, timers: 1, questions: 0, far_bytes: 0}

      assert log =~
               "without finishing: messages to actors (3), turns of beam sponsors (2), messages in outboxes (3)"

      assert length(Outbox.take(outbox)) == 3
    end

    test "does not wait for ever for what never ends" do
      {supervisor, machine} = start(shutdown: [drain: 50])
      listen(machine)
      for _ <- 1..3, do: Mote.send(Mote.create(machine, Behaviours.endless()), 1)
      Supervisor.stop(supervisor)
      assert_received {:left, %{events: 3}, :shutdown}
    end
  end

  describe "while it finishes" do
    setup do
      {supervisor, machine} = start(sponsors: @beam, shutdown: [drain: 60_000])
      echo = Mote.create(machine, Behaviours.echo())
      service = Mote.create(machine, Behaviours.service(self()), sponsor: :io)
      %{supervisor: supervisor, machine: machine, echo: echo, service: service}
    end

    test "everything that is new is refused, and says why", context do
      %{supervisor: supervisor, machine: machine, echo: echo, service: service} = context
      Mote.send(service, {:wait, 1})
      assert_receive {:began, 1, worker}, 30_000
      task = stop_soon(supervisor)
      until_closing(machine)

      for new <- [
            fn -> Mote.send(echo, 1) end,
            fn -> Mote.send_many(echo, [1, 2]) end,
            fn -> Mote.send_many([{echo, 1}, {service, 2}]) end,
            fn -> Mote.ask!(echo, 1) end,
            fn -> Mote.async(echo, 1) end,
            fn -> Mote.send_after(echo, 1, 1) end,
            fn -> Mote.create(machine, Behaviours.echo()) end,
            fn -> Mote.create_many(machine, Behaviours.echo(), 3) end,
            fn -> Mote.create_many(machine, [Behaviours.echo()]) end,
            fn -> Outbox.open(machine) end,
            fn -> Mote.Future.future(Behaviours.echo(), 1, machine: machine) end,
            fn -> with {:error, error} <- Mote.add_sponsor(machine, :late, beam: true), do: raise(error) end
          ] do
        error = assert_raise Error, new
        assert {error.reason, error.message =~ "the machine is stopping"} == {:machine_down, true}
      end

      assert Mote.info(machine).sponsors.io.running == 1
      send(worker, :go)
      Task.await(task, 60_000)
    end

    test "callers that wait for room are told", %{supervisor: supervisor, machine: machine, service: service} do
      Mote.send(service, {:wait, 1})
      assert_receive {:began, 1, worker}, 30_000
      Mote.add_sponsor(machine, :full, beam: true, inbox: 1, max_concurrency: 1, timeout: :infinity)
      full = Mote.create(machine, Behaviours.service(self()), sponsor: :full)
      Mote.send(full, {:wait, 2})
      assert_receive {:began, 2, other}, 30_000
      # The place of one that has begun is free a moment later.
      :ok = Mote.send(full, {:wait, 3}, on_full: :wait)

      waiting =
        for _ <- 1..3,
            do:
              Task.async(fn ->
                catch_error(Mote.send(full, {:wait, 4}, on_full: :wait, timeout: :infinity))
              end)

      eventually(fn -> Mote.info(machine).sponsors.full.overloaded >= 3 end)
      task = stop_soon(supervisor)

      for one <- waiting,
          do:
            assert(
              %Error{reason: :machine_down, message: "the machine is stopping" <> _} = Task.await(one, 30_000)
            )

      for worker <- [worker, other], do: send(worker, :go)
      assert_receive {:began, 3, worker}, 30_000
      send(worker, :go)
      Task.await(task, 60_000)
    end

    test "turns of its beam sponsors go on as they do", context do
      %{supervisor: supervisor, machine: machine, echo: echo, service: service} = context

      fun = fn ->
        new = Mote.create(machine, Behaviours.echo())
        {Mote.ask(echo, 1), Mote.ask(new, 2), Mote.send(new, 3), Mote.send_many(new, [4, 5])}
      end

      Mote.send(service, {:try, 1, fun})
      assert_receive {:began, 1, worker}, 30_000
      task = stop_soon(supervisor)
      until_closing(machine)
      send(worker, :go)
      assert_receive {:tried, {{:ok, 1}, {:ok, 2}, :ok, :ok}}, 30_000
      Task.await(task, 60_000)
    end
  end

  describe "by whom it is stopped" do
    # One that could only finish if it had time.
    defp busy_machine(opts) do
      {:ok, machine} = Mote.start_link([sponsors: @beam] ++ opts)
      listen(machine)
      service = Mote.create(machine, Behaviours.service(self()), sponsor: :io)
      Mote.send(service, {:wait, 1})
      assert_receive {:began, 1, worker}, 30_000
      {machine, worker, service}
    end

    test "Mote.stop/1 finishes as well" do
      {machine, worker, _service} = busy_machine(shutdown: [drain: 60_000])
      task = Task.async(fn -> Mote.stop(machine) end)
      until_closing(machine)
      send(worker, :go)
      assert Task.await(task, 60_000) == :ok
      assert_received {:done, 1}
    end

    test "without time it does not, and says so" do
      {machine, _worker, _service} = busy_machine([])
      assert Mote.stop(machine) == :ok
      assert_received {:left, %{turns: 1}, :normal}
    end

    test "nor for a reason that is an error" do
      Process.flag(:trap_exit, true)
      {machine, _worker, _service} = busy_machine(shutdown: [drain: 600_000])
      assert Mote.stop(machine, :broken) == :ok
      assert_received {:left, %{turns: 1}, :broken}
    end

    test "nor when it is killed" do
      Process.flag(:trap_exit, true)
      {machine, _worker, _service} = busy_machine(shutdown: [drain: 600_000])
      Process.exit(machine, :kill)
      assert_receive {:left, %{turns: 1}, :killed}, 30_000
    end

    test "an owner that ends in good order leaves it its time" do
      test = self()

      owner =
        spawn(fn ->
          {:ok, machine} = Mote.start_link(sponsors: @beam, shutdown: [drain: 60_000])
          send(test, {:machine, machine})
          receive do: (:end -> :ok)
        end)

      assert_receive {:machine, machine}
      ref = Process.monitor(machine)
      service = Mote.create(machine, Behaviours.service(self()), sponsor: :io)
      Mote.send(service, {:wait, 1})
      assert_receive {:began, 1, worker}, 30_000
      send(owner, :end)
      until_closing(machine)
      send(worker, :go)
      assert_receive {:DOWN, ^ref, :process, ^machine, :normal}, 30_000
      assert_received {:done, 1}
    end
  end

  # Invariant 3 of lib/mote/machine/ending.ex.
  test "what was accepted is done, or counted, whenever the machine is stopped" do
    for round <- 1..12, drain <- [0, 60_000] do
      {:ok, machine} =
        Mote.start_link(sponsors: [main: [threads: rem(round, 3) + 1]], shutdown: [drain: drain])

      listen(machine)
      passing = for _ <- 1..4, do: Mote.create(machine, Behaviours.passing(self()))

      senders =
        for {one, n} <- Enum.with_index(passing) do
          Task.async(fn ->
            Enum.sum(Stream.repeatedly(fn -> accepted(one, n) end) |> Enum.take_while(&(&1 != :stopped)))
          end)
        end

      for _ <- 1..(round * 10), do: assert_receive({:passed, _}, 30_000)
      Mote.stop(machine)
      accepted = senders |> Task.await_many(60_000) |> Enum.sum()
      left = receive do: ({:left, figures, :normal} -> figures.events), after: (0 -> 0)
      assert {drain, accepted} == {drain, round * 10 + heard(0) + left}
    end
  end

  defp accepted(actor, 0) do
    :ok = Mote.send_many(actor, [1, 2, 3])
    3
  rescue
    error in Error -> with 0 <- error.context.accepted, do: :stopped
  end

  defp accepted(actor, _n) do
    :ok = Mote.send(actor, 1)
    1
  rescue
    Error -> :stopped
  end

  defp heard(count) do
    receive do
      {:passed, _} -> heard(count + 1)
    after
      0 -> count
    end
  end

  describe "what its actors have sent to other nodes" do
    @describetag skip: TwoNodes.missing()

    test "is on its way when it has ended" do
      nodes = FarRig.machines()
      {by_actor, address} = FarRig.at(nodes.away, :listening, [Away])
      {by_relay, _} = FarRig.at(nodes.away, :listening, [Away])
      assert FarRig.at(nodes.home, :send_and_stop, [[address, by_relay], 5_000]) == 0

      for listener <- [by_actor, by_relay],
          do: assert(FarRig.heard(nodes.away, listener, 5_000) == Enum.to_list(1..5_000))

      for peer <- [nodes.home, nodes.away], do: :peer.stop(peer)
    end
  end
end
