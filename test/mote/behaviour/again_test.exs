defmodule Mote.Behaviour.AgainTest.Actors do
  use Mote.Behaviour

  @doc "Takes its first message as the one that it becomes because of it."
  defactor closed(log) do
    {:hello, who} ->
      send log, {:met, who}
      become open(log, who)
      again()

    :twice ->
      become closed(log)
      become open(log, :nobody)
      again()

    {:fail, _} ->
      become open(log, :nobody)
      again()
      send log, hd([])

    {:late, n} when n > 0 ->
      if n > 1 do
        become open(log, n)
        again()
      else
        become open(log, :one)
      end

    _ ->
      stash()
  end

  defactor open(log, who) do
    :shut ->
      become closed(log)
      again()

    message ->
      send log, {who, message}
  end

  @doc "Counts down, one turn for each step, of one message."
  defactor steps(log, n) do
    :go when n > 0 ->
      become n: n - 1
      again()

    message ->
      send log, {n, message}
  end

  @doc "Stashes, and goes through several states of its own."
  defactor states(log, n) do
    {:step, 0} ->
      become n: n + 1

    {:step, k} when n < 10 ->
      become n: n + k
      again()
      send log, {:step, n}

    {:step, _} ->
      send log, :enough

    :open ->
      become open(log, n)
      again()

    _ ->
      stash()
  end

  @doc "Two that give each other what comes, for ever; what is stashed is stashed by both, or comes as often."
  defactor ping(n) do
    {customer, :n} ->
      send customer, n

    :pass ->
      become pong(n + 1)
      again()

    _ ->
      stash()
  end

  defactor pong(n) do
    :pass ->
      become ping(n + 1)
      again()

    {customer, :n} ->
      send customer, n

    :other ->
      become ping(n)
      again()

    _ ->
      stash()
  end

  defactor elsewhere(log), beam: true do
    message ->
      become here(log, message)
      again()
  end

  defactor here(log, first), beam: true do
    message -> send log, {first, message}
  end
end

defmodule Mote.Behaviour.AgainTest do
  # `again()`: what an actor becomes takes the message of the turn again.
  use ExUnit.Case, async: true

  import Mote.Compile, only: [error: 1]
  import Mote.World, only: [told: 2]

  alias Mote.Behaviour
  alias Mote.Behaviour.AgainTest.Actors

  @moduletag capture_log: true

  test "the message is taken again before all others that wait" do
    assert told(&Actors.closed/1, [{:hello, :ann}, 1, 2]) ==
             [{:met, :ann}, {:ann, {:hello, :ann}}, {:ann, 1}, {:ann, 2}]
  end

  test "what was stashed comes before it, in its order" do
    assert told(&Actors.closed/1, [1, 2, {:hello, :ann}, 3]) ==
             [{:met, :ann}, {:ann, 1}, {:ann, 2}, {:ann, {:hello, :ann}}, {:ann, 3}]

    assert told(&Actors.states(&1, 0), [1, :open, 2]) == [{0, 1}, {0, :open}, {0, 2}]
  end

  test "what goes on as the same behaviour keeps what it has stashed" do
    assert told(&Actors.steps(&1, 3), [:go, :then]) == [{0, :go}, {0, :then}]
    told = told(&Actors.states(&1, 0), [1, {:step, 5}, 2, :open])
    assert told == [{:step, 0}, {:step, 5}, :enough, {10, 1}, {10, 2}, {10, :open}]
  end

  test "only the last become of a path counts, and an aborted turn gives nothing back" do
    assert told(&Actors.closed/1, [:twice, 1]) == [{:nobody, :twice}, {:nobody, 1}]
    assert told(&Actors.closed/1, [{:fail, 1}, {:hello, :ann}]) == [{:met, :ann}, {:ann, {:hello, :ann}}]
    assert told(&Actors.closed/1, [{:late, 2}, 3]) == [{2, {:late, 2}}, {2, 3}]
    assert told(&Actors.closed/1, [{:late, 1}, 3]) == [{:one, 3}]
  end

  test "a turn says what it takes up again" do
    turn = Behaviour.turn(Actors.closed(:log), {:hello, :ann})
    assert {turn.outcome, turn.become, turn.unstashed} == {:commit, Actors.open(:log, :ann), [{:hello, :ann}]}
  end

  describe "all runs of one message" do
    for tier <- [:native, :interp], threads <- [1, 2] do
      @tag tier: tier, threads: threads
      test "share the fuel of one turn: #{tier}, #{threads}", %{tier: tier, threads: threads} do
        machine = start_supervised!({Mote, tier: tier, fuel: 100_000, sponsors: [main: [threads: threads]]})
        others = for n <- 1..40, do: Mote.create(machine, Actors.ping(n))
        endless = Mote.create(machine, Actors.ping(0))
        stashing = Mote.create(machine, Actors.ping(0))
        for message <- [:kept, :other, :kept, :pass], do: Mote.send(stashing, message)
        Mote.send(endless, :pass)
        # They come to an end, so that others are answered.
        assert for(other <- others, do: Mote.ask!(other, :n)) == Enum.to_list(1..40)
        Mote.drain(machine)
        assert %{aborts_fuel: 2} = Mote.info(machine).counters
        # So much was done, and no more: at least one unit for each turn.
        for actor <- [endless, stashing], do: assert(Mote.ask!(actor, :n) in 1_000..100_000)
      end
    end

    test "and no others: as many messages as there are may each have as many" do
      machine = start_supervised!({Mote, fuel: 20_000})
      actor = Mote.create(machine, Actors.steps(self(), 1_000))
      Mote.send(actor, :go)
      assert_receive {0, :go}, 30_000
      passing = for n <- 1..50, do: Mote.create(machine, Actors.steps(self(), n * 20))
      for actor <- passing, do: Mote.send(actor, :go)
      for _ <- passing, do: assert_receive({0, :go}, 30_000)
      # Stashed ones as well, which are taken up in one go.
      many = Mote.create(machine, Actors.ping(0))
      for n <- 1..5_000, do: Mote.send(many, {:kept, n})
      Mote.drain(machine)
      assert Mote.info(machine).counters.aborts_fuel == 0
    end
  end

  test "beam turns as well" do
    {:ok, machine} = start_supervised({Mote, sponsors: [main: [], io: [beam: true]]})
    actor = Mote.create(machine, Actors.elsewhere(self()), sponsor: :io)
    for n <- 1..3, do: Mote.send(actor, n)
    for n <- 1..3, do: assert_receive({1, ^n}, 30_000)
  end

  test "says where it may stand" do
    assert error("defactor a(n), do: (_ -> again())") =~ "it stands directly behind a become"

    assert error("defactor a(n), do: (_ -> become n: 1; send(n, 2); again())") =~
             "it stands directly behind a become"

    assert error("defactor a(n), do: (_ -> become n: 1; again(); become n: 2)") =~
             "write again() behind the last become"

    assert error("defactor a(n), do: (_ -> become n: 1; again(); stash())") =~
             "write again() behind the last become"

    assert error("defeffect e(), do: (become b(); again())\ndefactor b(), do: (_ -> e())") =~
             "a defeffect has none"

    effect = "defeffect e(n), do: (become b(n))\ndefactor b(n), do: (_ -> :ok)"

    assert error("#{effect}\ndefactor a(n), do: (_ -> become n: 1; again(); e(n))") =~
             "this call of a defeffect, which may become,"

    assert error("defactor again(), do: (_ -> :ok)") =~ "again is a word of the language"
    assert error("defactor a(again), do: (_ -> again())") =~ "it stands directly behind a become"
  end
end
