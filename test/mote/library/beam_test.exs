defmodule Mote.Library.BeamTest do
  # A function of Elixir as a service: an answer for every customer, whatever becomes of the function.
  use ExUnit.Case, async: true
  use ExUnitProperties
  import ExUnit.CaptureLog
  import Mote.Eventually

  alias Mote.Library
  alias Mote.Library.Beam

  doctest Mote.Library.Beam

  @moduletag capture_log: true

  defp machine(opts \\ []), do: start_supervised!({Mote, [id: make_ref()] ++ opts})

  defp service(machine, run, opts \\ []) do
    server =
      start_supervised!(Supervisor.child_spec({Beam, [machine: machine, run: run] ++ opts}, id: make_ref()))

    {server, Beam.address(server)}
  end

  defp act({:give, value}), do: value
  defp act({:raise, text}), do: raise(text)
  defp act({:throw, value}), do: throw(value)
  defp act({:exit, value}), do: exit(value)
  defp act(:kill), do: Process.exit(self(), :kill)
  defp act(:divide), do: 1 / Process.get(:zero, 0)
  defp act({:sleep, ms}), do: Process.sleep(ms)

  property "every customer gets one answer, and the right one" do
    action =
      one_of([
        {:give, integer()},
        {:raise, constant("no")},
        {:throw, integer()},
        {:exit, constant(:bye)},
        constant(:kill),
        constant(:divide),
        constant({:sleep, 10_000})
      ])

    machine = machine()
    {_, patient} = service(machine, &act/1, timeout: 60_000, max_concurrency: 3)
    {_, hasty} = service(machine, &act/1, timeout: 20, max_concurrency: 3)

    check all actions <- list_of(action, max_length: 6), max_runs: 15 do
      asks =
        for action <- actions,
            do: {action, Mote.async(if(match?({:sleep, _}, action), do: hasty, else: patient), action)}

      for {action, ask} <- asks do
        answer = Mote.await(ask)

        case action do
          {:give, value} -> assert answer == value
          {:raise, text} -> assert answer == {:error, {:crashed, %RuntimeError{message: text}}}
          {:throw, value} -> assert {:error, {:crashed, %ErlangError{original: {:nocatch, ^value}}}} = answer
          {:exit, reason} -> assert answer == {:error, {:crashed, reason}}
          :kill -> assert answer == {:error, {:crashed, :killed}}
          :divide -> assert answer == {:error, {:crashed, %ArithmeticError{}}}
          {:sleep, _} -> assert answer == {:error, :timeout}
        end
      end
    end

    assert Process.info(self(), :messages) == {:messages, []}
  end

  test "no more run at once than may, and those that wait begin in their order" do
    test = self()

    run = fn n ->
      send(test, {:began, n, self()})
      receive do: (:go -> n)
    end

    {_, service} = service(machine(), run, max_concurrency: 2)
    asks = for n <- 1..4, do: Mote.async(service, n)
    assert_receive {:began, 1, one}
    assert_receive {:began, 2, two}
    refute_receive {:began, _, _}, 20
    send(two, :go)
    assert_receive {:began, 3, three}
    send(one, :go)
    assert_receive {:began, 4, four}
    for pid <- [three, four], do: send(pid, :go)
    assert Mote.await_many(asks) == [1, 2, 3, 4]
  end

  test "one that took too long is killed, and its place is free" do
    test = self()

    run = fn n ->
      send(test, {:began, n, self()})
      Process.sleep(:infinity)
    end

    {_, service} = service(machine(), run, max_concurrency: 1, timeout: 20)

    # On a busy host its time may be over before it has begun.
    eventually(fn ->
      asks = for n <- 1..2, do: Mote.async(service, n)
      assert Mote.await_many(asks, 60_000) == [error: :timeout, error: :timeout]
      [began(1), began(2)] |> Enum.all?(&(&1 && not Process.alive?(&1)))
    end)
  end

  defp began(n) do
    receive do
      {:began, ^n, pid} -> pid
    after
      0 -> nil
    end
  end

  test "one that does not want to end holds up nobody" do
    test = self()

    run = fn
      :hang ->
        Process.flag(:trap_exit, true)
        send(test, {:began, :hang, self()})
        Process.sleep(:infinity)

      n ->
        n
    end

    {_, service} = service(machine(), run, max_concurrency: 1, timeout: 20)

    # As above, and so may be that of the next one.
    eventually(fn ->
      hung = Mote.async(service, :hang)
      # Less than the five seconds that a supervisor would give it.
      assert {:ok, answer} = Mote.ask(service, 1, 4_000)
      assert Mote.await(hung) == {:error, :timeout}
      assert answer in [1, {:error, :timeout}]
      pid = began(:hang)
      answer == 1 && pid && not Process.alive?(pid)
    end)
  end

  test "what it is sent by mistake does no harm, and is logged" do
    {server, service} = service(machine(), & &1)
    ref = make_ref()

    log =
      capture_log(fn ->
        for message <- [:stray, {ref, 1}, {:timeout, ref}, {:DOWN, ref, :process, self(), :noproc}],
            do: send(server, message)

        assert Mote.ask!(service, 4) == 4
        assert Beam.address(server) == service
      end)

    assert log =~ "#{inspect(server)} got an unexpected message: :stray"
  end

  test "several under one supervisor are told apart by their names" do
    machine = machine()
    [one, two] = names = for name <- ~w(one two)a, do: :"#{name}#{System.unique_integer([:positive])}"
    children = for name <- names, do: {Beam, name: name, machine: machine, run: &{name, &1}}

    start_supervised!(%{
      id: :services,
      start: {Supervisor, :start_link, [children, [strategy: :one_for_one]]}
    })

    assert for(name <- names, do: Mote.ask!(Beam.address(name), 1)) == [{one, 1}, {two, 1}]

    assert Beam.child_spec(machine: machine, run: & &1).id == Beam

    assert %{id: :a, restart: :transient, shutdown: 7, start: {Beam, :start_link, [[name: :b]]}} =
             Beam.child_spec(id: :a, restart: :transient, shutdown: 7, name: :b)
  end

  test "actors ask it as any other service" do
    machine = machine()
    {_, service} = service(machine, &(&1 * 2))
    pipe = Mote.create(machine, Library.pipe([service, Mote.create(machine, Library.serializer(service))]))
    assert Mote.ask!(pipe, 10) == 40
    assert Mote.ask!(Mote.create(machine, Library.par_map(service)), [1, 2, 3]) == [2, 4, 6]
  end

  test "what is no request does not reach it, and a customer that is none does no harm" do
    machine = machine()
    {server, service} = service(machine, & &1)
    for message <- [1, {1, 2, 3}, {nil, 1}, {:nobody, 2}, {make_ref(), 3}], do: Mote.send(service, message)
    assert Mote.ask!(service, 4) == 4
    assert Mote.info(machine).counters.ignored == 2
    assert Beam.address(server) == service
  end

  test "when it is stopped everybody who waits is told" do
    {:ok, server} =
      Beam.start_link(machine: machine(), run: fn _ -> Process.sleep(:infinity) end, max_concurrency: 1)

    service = Beam.address(server)
    asks = for n <- 1..3, do: Mote.async(service, n)
    _ = :sys.get_state(server)
    assert Mote.drain(Mote.info(service).machine) == :ok
    _ = :sys.get_state(server)
    GenServer.stop(server)
    assert Mote.await_many(asks) == List.duplicate({:error, :stopped}, 3)
    # Nobody is there any more.
    assert {:error, %Mote.Error{reason: :broken_promise}} = Mote.ask(service, 1)
  end

  test "when it is killed nobody waits for ever" do
    Process.flag(:trap_exit, true)
    {:ok, server} = Beam.start_link(machine: machine(), run: fn _ -> Process.sleep(:infinity) end)
    ask = Mote.async(Beam.address(server), 1)
    Process.sleep(20)
    Process.exit(server, :kill)
    assert catch_exit(Mote.await(ask)) |> elem(0) == :broken_promise
  end

  test "it ends with its machine" do
    Process.flag(:trap_exit, true)
    {:ok, machine} = Mote.start_link()
    {:ok, server} = Beam.start_link(machine: machine, run: & &1)
    Mote.stop(machine)
    assert_receive {:EXIT, ^server, {:shutdown, :machine_down}}
  end

  test "options are checked" do
    for {opts, text} <- [
          {[run: & &1], "expected :machine to be a machine, got: nil"},
          {[machine: self()], "expected :run to be a function of one argument, got: nil"},
          {[machine: self(), run: fn -> 1 end], "expected :run"},
          {[machine: self(), run: & &1, max_concurrency: 0],
           "expected :max_concurrency to be a positive integer, got: 0"},
          {[machine: self(), run: & &1, timeout: -1], "expected :timeout to be milliseconds or :infinity"},
          {[machine: self(), run: & &1, name: :undefined],
           "expected :name to be a name, as in GenServer, got: :undefined"},
          {[machine: self(), run: & &1, other: 1],
           "unknown key :other in the options of a service; there are :machine, :run, :name, :max_concurrency, :timeout"},
          {:x, "expected the options of a service to be a keyword list, got: :x"}
        ] do
      assert_raise ArgumentError, ~r/#{Regex.escape(text)}/, fn -> Beam.start_link(opts) end
    end

    for opts <- [:x, [1], [{:run, 1} | 2]] do
      assert_raise ArgumentError, ~r"expected the options of a service to be a keyword list, got: ", fn ->
        Beam.child_spec(opts)
      end
    end

    assert_raise ArgumentError, ~r/unknown key :runs in the options of a service/, fn ->
      Beam.child_spec(runs: 1)
    end
  end
end
