defmodule Mote.FaultsTest do
  # A broken invariant, met on purpose by a thread that commits a turn, in an operating system process of its own.
  use ExUnit.Case, async: true

  alias Mote.OtherBEAM

  @helpers """
  defmodule Help do
    alias Mote.{Actors, Native}

    # As much work as there can be: every thread has actors that never rest, and some memory.
    def load(machine, actors \\\\ 8) do
      for n <- 1..actors, sponsor <- Mote.sponsors(machine) do
        Mote.send(Mote.create(machine, Actors.busy(0)), :go, sponsor: sponsor)
        Mote.create(machine, Actors.keeper(Enum.to_list(1..50_000)))
        Mote.send(Mote.create(machine, Actors.forward(%Mote.Address{} = Mote.create(machine, Actors.busy(n)))), :go)
      end

      :ok
    end

    def trap(machine, sponsor \\\\ nil) do
      %{machine: native, key: key} = echo = Mote.create(machine, Actors.echo(), sponsor: sponsor)
      :ok = Native.send_trap(native, key, sponsor)
      echo
    end
  end

  Logger.configure(level: :none)
  Process.flag(:trap_exit, true)
  """

  defp run(code) do
    {output, status} = OtherBEAM.run(@helpers <> code)
    assert {status, output =~ "all well"} == {0, true}, output
    refute output =~ ~r/segmentation|core dumped/i
    output
  end

  test "say where they were" do
    output =
      run("""
      {:ok, machine} = Mote.start_link(name: M, sponsors: [one: [], many: [threads: 4]])
      Help.trap(machine, :many)
      receive do {:EXIT, ^machine, reason} -> IO.inspect(reason) end
      IO.puts("all well")
      """)

    assert output =~ "{:fault,"
    assert output =~ "behaviour: {Mote.Actors, :echo}"
    assert output =~ "message_kind: \"tuple of 2\""
    assert output =~ "sponsor: :many"
    assert output =~ "text: \"a fault that a test asked for\""
  end

  test "end the machine while all of its threads are busy, and free what it held" do
    run("""
    cycle = fn ->
      {:ok, machine} = Mote.start_link(sponsors: [main: [threads: 4], other: [threads: 2]])
      Help.load(machine)
      Mote.Eventually.eventually(fn -> length(Mote.OtherBEAM.threads()) == 6 end)
      asks = for sponsor <- [:main, :other] do
        late = Mote.create(machine, Mote.Actors.late())
        Task.async(fn -> Mote.ask(late, 60_000, sponsor: sponsor, timeout: :infinity) end)
      end
      drain = Task.async(fn -> Mote.drain(machine, :infinity) end)
      echo = Help.trap(machine)
      receive do {:EXIT, ^machine, {:fault, %{sponsor: :main}}} -> :ok end
      [] = Mote.OtherBEAM.threads()
      for answer <- Task.await_many([drain | asks], 60_000), do: {:error, %Mote.Error{reason: :machine_down}} = answer
      {:error, %Mote.Error{reason: :machine_down}} = Mote.ask(echo, 1)
      :error = Mote.Machine.Table.fetch(machine)
      :erlang.garbage_collect()
    end

    for _ <- 1..3, do: cycle.()
    before = Mote.Resident.megabytes()
    for _ <- 1..10, do: cycle.()
    after_all = Mote.Resident.megabytes()
    # Every machine holds more than 12 MB.
    if after_all - before > 40, do: raise("it grew from \#{before} MB to \#{after_all} MB")
    receive do message when elem(message, 0) != :EXIT -> raise(inspect(message)) after 0 -> :ok end
    IO.puts("all well")
    """)
  end

  test "are followed by a fresh machine, and others do not notice" do
    run("""
    children = [{Mote, name: Faulty, sponsors: [main: [threads: 4]]}, {Mote, name: Other, sponsors: [main: [threads: 2]]}]
    {:ok, _} = Supervisor.start_link(children, strategy: :one_for_one, max_restarts: 100)
    counter = Mote.create(Other, Mote.Actors.counter(0))

    for _ <- 1..5 do
      pid = Process.whereis(Faulty)
      Help.load(Faulty, 2)
      old = Help.trap(Faulty)
      Mote.Eventually.eventually(fn -> Process.whereis(Faulty) not in [nil, pid] end)
      1 = Mote.ask!(Mote.create(Faulty, Mote.Actors.echo()), 1)
      {:error, %Mote.Error{reason: :machine_down}} = Mote.ask(old, 1)
      Mote.send(counter, {:add, 1})
    end

    5 = Mote.ask!(counter, :read)
    Mote.Eventually.eventually(fn -> length(Mote.OtherBEAM.threads()) == 6 end)
    IO.puts("all well")
    """)
  end

  test "on several threads at once are one" do
    run("""
    for _ <- 1..20 do
      {:ok, machine} = Mote.start_link(sponsors: [main: [threads: 4], other: [threads: 2]])
      Help.load(machine, 1)
      for sponsor <- [:main, :other], _ <- 1..4 do
        try do
          Help.trap(machine, sponsor)
        rescue
          # Before the actor is there, or behind that.
          _ in [Mote.Error, MatchError] -> :down_already
        end
      end
      receive do {:EXIT, ^machine, {:fault, %{text: "a fault" <> _}}} -> :ok end
      receive do {:EXIT, ^machine, _} -> raise "twice" after 1 -> :ok end
    end

    [] = Mote.OtherBEAM.threads()
    IO.puts("all well")
    """)
  end
end
