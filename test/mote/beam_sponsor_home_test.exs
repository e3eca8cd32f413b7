defmodule Mote.BeamSponsorHomeTest do
  # Where what a beam turn causes runs: never in the beam sponsor because of that alone.
  use ExUnit.Case, async: true

  defmodule Actors do
    use Mote.Behaviour

    # Beam turns that send to others, each in its way.
    defactor service(), beam: true do
      {:tell, target, message} ->
        send target, message

      {:tell_by, sponsor, target, message} ->
        sendx sponsor, target, message

      {:later, milliseconds, target, message} ->
        send_after milliseconds, target, message

      {:block, test} ->
        Kernel.send(test, {:blocks, Kernel.self()})

        receive do
          :go -> :ok
        end

      {:make, message} ->
        send create(Mote.BeamSponsorHomeTest.Actors.seen(message)), :go
    end

    defactor seen(_last) do
      message -> become seen(message)
    end

    # In a beam sponsor this one's turns are beam turns as well.
    defactor passing(target) do
      message -> send target, message
    end

    defactor closed(target) do
      :open -> become passing(target)
      _ -> stash()
    end
  end

  @sponsors [main: [threads: 2], other: [], io: [beam: true, max_concurrency: 4]]

  defp machine(sponsors \\ @sponsors, opts \\ []) do
    {:ok, machine} = Mote.start_link([sponsors: sponsors] ++ opts)
    machine
  end

  # The sponsors of the turns of `seen` that `cause` brings about, in their order.
  defp ran(machine, cause) do
    trace = Mote.trace(machine, [behaviour: {Actors, :seen}], to: self())
    cause.()
    :ok = Mote.drain(machine, 20_000)
    Mote.Trace.stop(trace)
    turns([])
  end

  defp turns(turns) do
    receive do
      {:mote_trace, _, %Mote.Trace.Turn{} = turn} -> turns([turn.sponsor | turns])
    after
      0 -> Enum.reverse(turns)
    end
  end

  defp service(machine), do: Mote.create(machine, Actors.service(), sponsor: :io)

  test "an actor that has not run yet runs in the first sponsor, and one that has where it ran last" do
    machine = machine()
    service = service(machine)
    [fresh, main, other] = for _ <- 1..3, do: Mote.create(machine, Actors.seen(0))
    Mote.send(main, :go)
    Mote.send(other, :go, sponsor: :other)
    :ok = Mote.drain(machine)

    for {actor, sponsor} <- [{fresh, :main}, {main, :main}, {other, :other}], _ <- 1..3 do
      assert ran(machine, fn -> Mote.send(service, {:tell, actor, :go}) end) == [sponsor]
    end
  end

  test "so does one that was brought into the beam sponsor by name, and only that message's turn is there" do
    machine = machine()
    service = service(machine)
    actor = Mote.create(machine, Actors.seen(0))
    Mote.send(actor, :go, sponsor: :other)
    :ok = Mote.drain(machine)

    by_name = [
      fn -> Mote.send(actor, :go, sponsor: :io) end,
      fn -> Mote.send(service, {:tell_by, :io, actor, :go}) end,
      fn -> Mote.send(service, {:tell, Mote.on(:io, actor), :go}) end
    ]

    for cause <- by_name do
      assert ran(machine, cause) == [:io]
      assert ran(machine, fn -> Mote.send(service, {:tell, actor, :go}) end) == [:other]
    end

    # Twice in it, and the home is the same.
    for _ <- 1..2, do: assert(ran(machine, fn -> Mote.send(actor, :go, sponsor: :io) end) == [:io])
    assert ran(machine, fn -> Mote.send(service, {:tell, actor, :go}) end) == [:other]
  end

  test "pins come first, in both directions" do
    machine = machine()
    service = service(machine)

    for sponsor <- [:main, :other, :io] do
      actor = Mote.create(machine, Actors.seen(0), sponsor: sponsor)
      assert ran(machine, fn -> Mote.send(service, {:tell, actor, :go}) end) == [sponsor]
    end
  end

  test "what a beam turn creates without a pin, and timers that it arms, too" do
    machine = machine(@sponsors, clock: :manual)
    service = service(machine)
    assert ran(machine, fn -> Mote.send(service, {:make, :new}) end) == [:main]

    actor = Mote.create(machine, Actors.seen(0))
    Mote.send(actor, :go, sponsor: :other)
    Mote.send(service, {:later, 10, actor, :late})
    :ok = Mote.drain(machine)
    assert ran(machine, fn -> Mote.advance(machine, 10) end) == [:other]

    # A timer from outside names the sponsor itself.
    Mote.send_after(actor, :late, 10, sponsor: :io)
    assert ran(machine, fn -> Mote.advance(machine, 10) end) == [:io]
  end

  test "behaviours of the language that run in a beam sponsor send home as well, with what they had kept" do
    machine = machine()
    seen = Mote.create(machine, Actors.seen(0))
    passing = Mote.create(machine, Actors.closed(seen), sponsor: :io)
    for n <- 1..5, do: Mote.send(passing, n)
    assert ran(machine, fn -> Mote.send(passing, :open) end) == List.duplicate(:main, 5)
  end

  test "a beam sponsor that is the first one draws nothing in, and without a native one all stays" do
    machine = machine(io: [beam: true], main: [])
    assert ran(machine, fn -> Mote.send(service(machine), {:make, :new}) end) == [:main]

    machine = machine(io: [beam: true], other: [beam: true])
    assert ran(machine, fn -> Mote.send(service(machine), {:make, :new}) end) == [:io]
  end

  test "an actor whose home was removed runs in the first native sponsor" do
    machine = machine()
    service = service(machine)
    actor = Mote.create(machine, Actors.seen(0))
    Mote.send(actor, :go, sponsor: :other)
    Mote.send(actor, :go, sponsor: :io)
    :ok = Mote.drain(machine)
    :ok = Mote.remove_sponsor(machine, :other)
    assert ran(machine, fn -> Mote.send(service, {:tell, actor, :go}) end) == [:main]

    # Its thread's number goes to a sponsor of the other kind, and back.
    for opts <- [[beam: true], []] do
      :ok = Mote.add_sponsor(machine, :new, opts)
      assert ran(machine, fn -> Mote.send(actor, :go, sponsor: :new) end) == [:new]
      :ok = Mote.remove_sponsor(machine, :new)
    end

    assert ran(machine, fn -> Mote.send(service, {:tell, actor, :go}) end) == [:main]
  end

  test "what a beam turn sends never waits for a place in the beam sponsor" do
    machine = machine(main: [], io: [beam: true, max_concurrency: 1])

    [unpinned, pinned] =
      for opts <- [[], [sponsor: :main]], do: Mote.create(machine, Actors.passing(self()), opts)

    # The one place is taken again as soon as the first turn has ended, until this says so.
    Mote.pause(machine)

    for relay <- [unpinned, pinned] do
      Mote.send(service(machine), {:tell, relay, relay})
    end

    Mote.send(service(machine), {:block, self()})
    Mote.resume(machine)
    assert_receive {:blocks, worker}
    assert_receive ^unpinned
    assert_receive ^pinned
    send(worker, :go)
  end
end
