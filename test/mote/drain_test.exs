defmodule Mote.DrainTest do
  use ExUnit.Case, async: true
  import Mote.Eventually

  alias Mote.{Actors, Error, Travellers}

  defp start(sponsors),
    do: start_supervised!({Mote, sponsors: sponsors, id: make_ref(), shutdown: [drain: 0]})

  defp in_mailbox(message, n \\ 0) do
    receive do
      ^message -> in_mailbox(message, n + 1)
    after
      0 -> n
    end
  end

  test "of a machine that does nothing is done at once" do
    machine = start(main: [threads: 4], other: [])
    assert Mote.drain(machine) == :ok
    # A thread that has only just started looks around once.
    eventually(fn -> Mote.info(machine).counters.parks >= 5 end)
    assert Mote.drain(machine) == :ok
    for timeout <- [0, 1, :infinity], do: assert(Mote.drain(machine, timeout) == :ok)
  end

  for sponsors <- [[main: [threads: 1]], [main: [threads: 4]], [main: [], second: [threads: 2], third: []]] do
    test "is never early: #{inspect(sponsors)}" do
      machine = start(unquote(sponsors))

      for _ <- 1..200 do
        depth = Enum.random(0..9)
        sponsor = machine |> Mote.sponsors() |> Enum.random()
        Mote.send(Mote.create(machine, Travellers.tree(self())), depth, sponsor: sponsor)
        assert Mote.drain(machine, 30_000) == :ok
        assert in_mailbox(:leaf) == 2 ** depth
      end
    end
  end

  test "is never early while others send, through many sponsors" do
    machine = start(one: [threads: 2], two: [threads: 2])
    runner = Mote.create(machine, Travellers.runner())
    travellers = for {home, away} <- [one: :two, two: :one], do: {home, away}

    senders =
      for n <- 1..6 do
        Task.async(fn ->
          {home, away} = Enum.at(travellers, rem(n, 2))
          traveller = Mote.create(machine, Travellers.traveller(home, away, 0))

          for round <- 1..50, reduce: 0 do
            sent ->
              now = Enum.random(1..20)
              for _ <- 1..now, do: Mote.send(traveller, {:go, runner, rem(round, 7)}, sponsor: home)
              Mote.send(Mote.create(machine, Travellers.tree(self())), 4, sponsor: away)
              assert Mote.drain(machine, 60_000) == :ok
              # Looked at without asking the machine to do anything.
              assert in_mailbox(:leaf) == 16
              assert %{behaviour: %{captures: {_, _, arrived}}} = Mote.info(traveller)
              assert arrived == sent + now
              sent + now
          end
        end)
      end

    Task.await_many(senders, 120_000)
    assert Mote.drain(machine) == :ok
    assert %{inbox: 0} = Mote.info(machine)
  end

  test "does not wait for timers that are not due" do
    machine = start(main: [])
    Mote.send(Mote.create(machine, Travellers.twice(60_000)), {self(), 1})
    assert Mote.drain(machine) == :ok
    assert_received {:now, 1}
    assert Mote.info(machine).counters.timers == 1
  end

  test "of a machine that never rests ends in time, and nothing comes late" do
    machine = start(main: [threads: 2])
    busy = Mote.create(machine, Actors.busy(0))
    Mote.send(busy, :go)
    assert {:error, %Error{reason: :timeout} = error} = Mote.drain(machine, 20)
    assert Exception.message(error) == "the machine was not quiet within 20 ms"
    assert error.context.machine == machine

    for timeout <- [0, 1, 2, 3, 5],
        do: assert({:error, %Error{reason: :timeout}} = Mote.drain(machine, timeout))

    :ok = stop_supervised(elem(hd(children(machine)), 0))
    refute_receive _, 50
  end

  test "that races with its timeout leaves nothing behind" do
    machine = start(main: [threads: 2])

    results =
      for n <- 1..300 do
        Mote.send(Mote.create(machine, Travellers.tree(nil)), 11)

        case Mote.drain(machine, rem(n, 3)) do
          :ok -> :ok
          {:error, %Error{reason: :timeout}} -> :timeout
        end
      end

    assert :timeout in results
    assert Mote.drain(machine, 30_000) == :ok
    refute_receive _, 50
  end

  test "of a machine that ends is an error at once" do
    for how <- [:stop, :kill] do
      {:ok, machine} = Mote.start_link(sponsors: [main: [threads: 2]])
      Process.unlink(machine)
      Mote.send(Mote.create(machine, Actors.busy(0)), :go)
      drains = for _ <- 1..5, do: Task.async(fn -> {Mote.drain(machine, 60_000), in_mailbox(:anything)} end)
      Process.sleep(20)
      if how == :stop, do: Mote.stop(machine), else: Process.exit(machine, :kill)

      for {answer, _} <- Task.await_many(drains, 30_000) do
        assert {:error, %Error{reason: :machine_down}} = answer
      end

      assert {:error, %Error{reason: :machine_down}} = Mote.drain(machine)
    end

    refute_receive _, 50
  end

  test "of a machine that has lost what it could be quiet for" do
    machine = start(main: [])
    :ok = Mote.add_sponsor(machine, :second, threads: 2)
    Mote.send(Mote.create(machine, Travellers.tree(self())), 12, sponsor: :second)
    :ok = Mote.remove_sponsor(machine, :second)
    assert Mote.drain(machine, 30_000) == :ok
    assert in_mailbox(:leaf) == 4_096
  end

  # The child of the test's supervisor that the machine is.
  defp children(machine) do
    {:ok, supervisor} = ExUnit.fetch_test_supervisor()
    for {id, ^machine, _, _} <- Supervisor.which_children(supervisor), do: {id, machine}
  end
end
