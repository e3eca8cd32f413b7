defmodule Mote.WaitingTest do
  # Who keeps callers waiting: the actors that have customers of questions.
  use ExUnit.Case, async: true

  import Mote.Eventually

  defmodule Actors do
    use Mote.Behaviour

    defactor keeper(kept) do
      {_customer, _request} = question -> become keeper([question | kept])
    end

    # The customer is in what two actors have in common.
    defactor both(first, second) do
      {customer, request} ->
        shared = [{customer, request}, :more]
        send first, {:have, shared}
        send second, {:have, shared}
    end

    defactor has(_what) do
      {:have, what} -> become has({:it, what})
    end

    defactor later() do
      {customer, :later} -> send_after 60_000, self(), {:answer, customer}
      {:answer, customer} -> send customer, :late
    end

    defactor closed() do
      :open -> become later()
      {_, _} -> stash()
    end

    defactor service(test), beam: true do
      {customer, :block} ->
        Kernel.send(test, {:blocks, Kernel.self()})

        receive do
          :go -> send customer, :done
        end
    end
  end

  defp machine(opts \\ []) do
    {:ok, machine} = Mote.start_link(opts)
    machine
  end

  defp found(what), do: for(w <- Mote.waiting(what), do: {w.address, w.behaviour, w.held, w.asker})

  test "names the actors that keep the customer of a question that timed out, and of no other" do
    machine = machine()
    keeper = Mote.create(machine, Actors.keeper([]))
    other = Mote.async(keeper, :other)

    assert {:error, %Mote.Error{reason: :timeout} = error} = Mote.ask(keeper, :mine, timeout: 20)
    assert error.message =~ "Mote.waiting(error)"
    here = {keeper, {Actors, :keeper, 1}, :state, self()}
    assert found(error) == [here]
    # What is given up does not count as waiting.
    assert found(machine) == [here]
    assert found(other) == [here]
    Mote.ignore(other)
    assert found(machine) == []
  end

  test "takes the errors of ask_all, and what await exits with" do
    machine = machine()
    keepers = for _ <- 1..3, do: Mote.create(machine, Actors.keeper([]))

    for {{:error, error}, keeper} <- Enum.zip(Mote.ask_all(keepers, :x, timeout: 20), keepers) do
      assert [{^keeper, _, :state, _}] = found(error)
    end

    ask = Mote.async(hd(keepers), :x)
    assert {:timeout, {Mote, :await, [^ask, 20]}} = catch_exit(Mote.await(ask, 20))
    assert [{_, _, :state, _}] = found(ask)
  end

  test "finds each actor that shares what leads to the customer, and the same one once" do
    machine = machine()
    [first, second] = for _ <- 1..2, do: Mote.create(machine, Actors.has(nil))
    ask = Mote.async(Mote.create(machine, Actors.both(first, second)), :x)
    :ok = Mote.drain(machine)
    assert Enum.sort(for {address, _, :state, _} <- found(ask), do: address) == Enum.sort([first, second])
  end

  test "the oldest first, with its age, and no more than wanted" do
    machine = machine()
    keeper = Mote.create(machine, Actors.keeper([]))
    asks = for n <- 1..5, do: Mote.async(keeper, n)
    ages = for w <- Mote.waiting(machine), do: w.age
    assert length(ages) == 5 and ages == Enum.sort(ages, :desc)
    eventually(fn -> hd(Mote.waiting(machine)).age > hd(ages) end)
    assert length(Mote.waiting(machine, n: 2)) == 2
    Enum.each(asks, &Mote.ignore/1)
  end

  test "in messages that wait, in timers, in what is stashed, and in turns of beam sponsors" do
    machine = machine(sponsors: [main: [], io: [beam: true]])
    later = Mote.create(machine, Actors.later())
    closed = Mote.create(machine, Actors.closed())
    service = Mote.create(machine, Actors.service(self()), sponsor: :io)

    timer = Mote.async(later, :later)
    stashed = Mote.async(closed, :x)
    blocked = Mote.async(service, :block)
    assert_receive {:blocks, worker}
    waits = Mote.async(service, :block)
    eventually(fn -> found(waits) == [{service, {Actors, :service, 1}, :message, self()}] end)

    assert [{^later, _, :timer, _}] = found(timer)
    assert [{^closed, _, :state, _}] = found(stashed)
    assert [{^service, _, :running, _}] = found(blocked)

    # A message that no turn has seen yet, of a machine that stands still.
    :ok = Mote.pause(machine)
    queued = Mote.async(later, :later)
    assert [{^later, _, :message, _}] = found(queued)
    :ok = Mote.resume(machine)

    Kernel.send(worker, :go)
    assert Mote.await(blocked) == :done
    assert found(blocked) == []
  end

  test "says what it takes" do
    machine = machine()

    assert_raise ArgumentError, ~r/expected a machine, a question/, fn ->
      Mote.waiting(%Mote.Error{reason: :start})
    end

    assert_raise ArgumentError, ~r/:n of waiting\/2/, fn -> Mote.waiting(machine, n: -1) end
    Mote.stop(machine)
    assert_raise Mote.Error, fn -> Mote.waiting(machine) end
  end
end
