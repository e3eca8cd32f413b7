defmodule Mote.DurableDownTest do
  # Callers of a durable machine that is killed and started again by its supervisor.
  use ExUnit.Case, async: true

  import Mote.OwnFolder, only: [own_folder: 1]

  alias Mote.{Directory, Durable, Error, Ledger, Native, Telling}

  setup :own_folder

  # The machine of the folder below a supervisor, with names that are in its image from the beginning.
  defp supervised(dir, opts \\ []) do
    {:ok, supervisor} = Supervisor.start_link([child(dir, opts)], strategy: :one_for_one, max_restarts: 1_000)
    on_exit(fn -> stop(supervisor) end)
    {supervisor, machine(supervisor)}
  end

  defp child(dir, opts),
    do: Mote.child_spec(durable: [dir: dir] ++ opts, shutdown: :brutal_kill, id: :machine)

  defp machine(supervisor) do
    [{:machine, machine, _, _}] = Supervisor.which_children(supervisor)
    machine
  end

  defp stop(supervisor) do
    Supervisor.stop(supervisor)
  catch
    :exit, _ -> :ok
  end

  defp kill(machine) do
    monitor = Process.monitor(machine)
    Process.exit(machine, :kill)
    assert_receive {:DOWN, ^monitor, _, _, :killed}
  end

  # The folder of a ledger that has something to run again.
  defp ledger(dir) do
    {:ok, machine, ledger} = Ledger.start(dir)
    Mote.stop(machine)
    ledger
  end

  test "callers that wait meet nothing of a crash but what had been accepted, and nothing comes twice", %{
    dir: dir
  } do
    ledger = ledger(dir)
    {supervisor, _machine} = supervised(dir)
    me = self()

    clients =
      for client <- [:a, :b, :c, :d] do
        Task.async(fn -> count(ledger, client, 1, me) end)
      end

    for _ <- 1..5 do
      for _ <- 1..40, do: assert_receive({:counted, _}, 60_000)
      kill(machine(supervisor))
    end

    for task <- clients, do: send(task.pid, :enough)
    counted = for {client, last} <- Task.await_many(clients, 60_000), into: %{}, do: {client, last}
    {:ok, {seen, _, _, _}} = Mote.ask(ledger, :all, on_down: :wait, timeout: 60_000)
    assert seen == counted
  end

  # Asks and sends by turns. Of a message that was accepted and not acknowledged, the ledger is asked whether it has it.
  defp count(ledger, client, n, told) do
    message = {:add, client, n}
    opts = [on_down: :wait, timeout: 60_000]

    result = if rem(n, 2) == 0, do: Mote.ask(ledger, message, opts), else: Mote.send(ledger, message, opts)

    n =
      case result do
        :ok ->
          n + 1

        {:ok, {^n, _, _, _}} ->
          n + 1

        {:error, %Error{reason: :machine_down, context: %{accepted: 1}}} ->
          {:ok, {seen, _, _, _}} = Mote.ask(ledger, :all, opts)
          assert seen[client] in [nil, n - 1, n]
          (seen[client] || 0) + 1
      end

    send(told, {:counted, client})

    receive do
      :enough -> {client, n - 1}
    after
      0 -> count(ledger, client, n, told)
    end
  end

  test "nothing enters a machine that starts, and it does the same as before whoever tries", %{dir: dir} do
    Process.flag(:trap_exit, true)
    {:ok, machine, ledger} = Ledger.start(dir)
    growing = Mote.create(machine, Telling.growing([]))
    me = self()
    # Each tries at every moment, also while journals are run again, and while the next one has not begun.
    clients = for client <- 1..3, do: Task.async(fn -> insist(ledger, client, 1, me) end)

    machine =
      for _ <- 1..3, reduce: machine do
        machine ->
          # What takes its time again.
          for _ <- 1..50, do: {:ok, :ok} = Mote.ask(growing, {:grow, 5_000})
          for _ <- 1..30, do: assert_receive({:counted, _}, 60_000)
          kill(machine)
          {:ok, machine} = Mote.start_link(durable: [dir: dir])
          machine
      end

    for task <- clients, do: send(task.pid, :enough)
    acknowledged = Task.await_many(clients, 60_000)
    {seen, _, _, _} = Mote.ask!(ledger, :all)
    assert Enum.sort(seen) == acknowledged
    Mote.stop(machine)
  end

  defp insist(ledger, client, n, told) do
    case sent(ledger, {:add, client, n}) do
      :ok ->
        send(told, {:counted, client})

        receive do
          :enough -> {client, n}
        after
          0 -> insist(ledger, client, n + 1, told)
        end

      # Not accepted.
      :down ->
        insist(ledger, client, n, told)

      :unsure ->
        insist(ledger, client, seen(ledger, client) + 1, told)
    end
  end

  defp seen(ledger, client) do
    case Mote.ask(ledger, :all) do
      {:ok, {seen, _, _, _}} -> Map.get(seen, client, 0)
      {:error, %Error{reason: :machine_down}} -> seen(ledger, client)
    end
  end

  defp sent(ledger, message) do
    with {:error, %Error{reason: :machine_down, context: %{accepted: 1}}} <- Mote.send(ledger, message),
         do: :unsure
  rescue
    error in Error ->
      assert error.reason == :machine_down
      :down
  end

  test "a question that was accepted ends with its machine, is said to be accepted, and is asked once", %{
    dir: dir
  } do
    {:ok, machine} = Mote.start_link(durable: [dir: dir])
    Process.unlink(machine)
    line = Mote.create(machine, Telling.line([]))
    asked = Task.async(fn -> Mote.ask(line, :wait, on_down: :wait, timeout: :infinity) end)
    waiting(machine, 1)
    kill(machine)
    assert {:error, %Error{reason: :machine_down, context: %{accepted: 1}}} = Task.await(asked)

    {:ok, machine} = Mote.start_link(durable: [dir: dir])
    assert Mote.ask!(line, :count) == 1
    Mote.stop(machine)
  end

  defp waiting(machine, turns) do
    if Mote.info(machine).counters.turns < turns, do: waiting(machine, turns)
  end

  test "who waits in vain is told so in time, and nothing comes later", %{dir: dir} do
    ledger = ledger(dir)
    assert_raise Error, fn -> Mote.send(ledger, {:add, :x, 1}) end
    opts = [on_down: :wait, timeout: 20]

    for result <- [Mote.send(ledger, {:add, :x, 1}, opts), Mote.ask(ledger, {:add, :x, 1}, opts)] do
      assert {:error, %Error{reason: :machine_down, context: %{accepted: 0, timeout: 20}} = error} = result
      assert Exception.message(error) =~ "none that goes on with its actors has come within 20 ms"
    end

    {:ok, machine, _ledger} = Ledger.start(dir)
    assert {:ok, {1, _, _, _}} = Mote.ask(ledger, {:add, :x, 1}, on_down: :wait)
    refute_received _
    Mote.stop(machine)
  end

  test "an address that was only written down leads to the machine when that comes", %{dir: dir} do
    row = Task.await(Task.async(fn -> :erlang.term_to_binary(ledger(dir)) end))
    me = self()

    asked =
      Task.async(fn ->
        ledger = :erlang.binary_to_term(row)
        send(me, {:before, catch_error(Mote.send(ledger, :early)).reason})
        Mote.ask(ledger, {:add, :x, 1}, on_down: :wait, timeout: :infinity)
      end)

    # The machine is gone with all that had its address, or is one that has ended.
    assert_receive {:before, reason} when reason in [:unknown_address, :machine_down]
    {supervisor, _machine} = supervised(dir)
    assert {:ok, {1, _, _, _}} = Task.await(asked)
    stop(supervisor)
  end

  test "so do keys of a directory", %{dir: dir} do
    {supervisor, machine} = supervised(dir)
    tallies = Directory.start(machine, Telling.tallies(), shards: 4)
    {:ok, _} = Durable.checkpoint(machine, %{tallies: tallies})
    assert Directory.ask(tallies, :anna, :add) == {:ok, 1}
    kill(machine)
    assert Directory.ask(tallies, :anna, :add, on_down: :wait, timeout: :infinity) == {:ok, 2}
    kill(machine(supervisor))
    assert Directory.send(tallies, :anna, :add, on_down: :wait, timeout: :infinity) == :ok
    assert Directory.ask(tallies, :anna, :add) == {:ok, 4}
  end

  test "the disk of one life says nothing of what another one has taken", %{dir: dir} do
    ledger = ledger(dir)
    {supervisor, machine} = supervised(dir)
    taken_by = Native.send(ledger.machine, ledger.key, nil, {:add, :x, 1})
    kill(machine)
    assert {:ok, _} = Mote.ask(ledger, :all, on_down: :wait, timeout: :infinity)
    assert {:error, %Error{reason: :machine_down}} = Durable.synced(taken_by, address: ledger)
    stop(supervisor)
  end

  test "on_down is :error or :wait, and of one message" do
    {:ok, machine} = Mote.start_link()
    actor = Mote.create(machine, Telling.line([]))

    for act <- [&Mote.send/3, &Mote.ask/3],
        do:
          assert_raise(ArgumentError, ~r/:on_down of .* to be :error or :wait, got: :ever/, fn ->
            act.(actor, 1, on_down: :ever)
          end)

    assert_raise ArgumentError, ~r/options of send_many\/3/, fn ->
      Mote.send_many(actor, [1], on_down: :wait)
    end

    assert_raise ArgumentError, ~r/options of ask_all\/3/, fn -> Mote.ask_all([actor], 1, on_down: :wait) end
    Mote.stop(machine)
  end
end
