defmodule Mote.AdvanceBeamTest do
  # Time that passes although turns of beam sponsors block.
  use ExUnit.Case, async: true

  alias Mote.Error

  defmodule Actors do
    use Mote.Behaviour

    defactor service(test), beam: true do
      request ->
        Kernel.send(test, {:blocks, Kernel.self(), request})

        receive do
          :go_on -> send test, {:done, request}
        end
    end

    # Each tick, and what follows from it in another sponsor, belongs to its moment.
    defactor ticker(out, other, left) do
      :tick when left > 0 ->
        send other, {self(), System.monotonic_time(:millisecond)}
        send_after 10, self(), :tick
        become left: left - 1

      {:back, moment} ->
        send out, {moment, System.monotonic_time(:millisecond)}
    end

    defactor echo() do
      {customer, what} -> send customer, {:back, what}
    end
  end

  for schedule <- [:threads, {:seeded, 3}] do
    opts = if schedule == :threads, do: [], else: [schedule: schedule]

    test "is told with beam: :ignore, moment by moment (#{inspect(schedule)})" do
      sponsors = [main: [threads: 2], other: [], io: [beam: true, max_concurrency: 1, timeout: :infinity]]
      {:ok, machine} = Mote.start_link([clock: :manual, sponsors: sponsors] ++ unquote(Macro.escape(opts)))
      service = Mote.create(machine, Actors.service(self()), sponsor: :io)
      Mote.send(service, 1)
      assert_receive {:blocks, worker, 1}, 5_000
      # One that waits for its actor, and one that waits for the place.
      Mote.send(service, 2)
      Mote.send(Mote.create(machine, Actors.service(self()), sponsor: :io), 3)

      echo = Mote.create(machine, Actors.echo(), sponsor: :other)
      Mote.send(Mote.create(machine, Actors.ticker(self(), echo, 5)), :tick)
      assert {:error, %Error{reason: :timeout}} = Mote.advance(machine, 100, 20)
      assert {:error, %Error{reason: :timeout}} = Mote.advance(machine, 100, timeout: 20)
      assert Mote.now(machine) == 0

      assert :ok = Mote.advance(machine, 0, beam: :ignore)
      assert_received {0, 0}
      assert :ok = Mote.advance(machine, 25, timeout: 20_000, beam: :ignore)
      assert_received {10, 10}
      assert_received {20, 20}
      refute_received {30, _}
      assert Mote.now(machine) == 25
      assert {:error, %Error{reason: :timeout}} = Mote.drain(machine, 20)

      send(worker, :go_on)

      for n <- [2, 3] do
        assert_receive {:blocks, worker, ^n}, 5_000
        send(worker, :go_on)
      end

      assert :ok = Mote.advance(machine, 100, timeout: 20_000)
      for moment <- [30, 40], do: assert_received({^moment, ^moment})
      for n <- 1..3, do: assert_received({:done, ^n})
    end
  end

  test "says what it takes" do
    {:ok, machine} = Mote.start_link(clock: :manual)
    assert_raise ArgumentError, ~r/:timeout and :beam/, fn -> Mote.advance(machine, 1, wait: 1) end
    assert_raise ArgumentError, ~r/:beam of advance/, fn -> Mote.advance(machine, 1, beam: true) end
    assert_raise ArgumentError, ~r/timeout/, fn -> Mote.advance(machine, 1, timeout: -1) end
    assert :ok = Mote.advance(machine, 1, beam: :ignore)
  end
end
