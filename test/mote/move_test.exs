defmodule Mote.MoveTest do
  # Actors that move from machine to machine of one node. Between nodes: far_move_test.exs.
  use ExUnit.Case, async: true

  import Mote.Eventually
  import Mote.Processes

  alias Mote.{Actors, Error, Library, Native}
  alias Mote.Machine.Question
  alias Mote.Move.Ways

  defmodule Behaviours do
    @moduledoc false
    use Mote.Behaviour

    # Counts the messages that come, and passes each on with its number.
    defactor numbering(to, n) do
      {customer, :count} ->
        send customer, n

      message ->
        send to, {n, message}
        become n: n + 1
    end

    # Tells so much in a turn that it is left to the postman.
    defactor telling(to, n) do
      :tell ->
        for k <- 1..20, do: send(to, {:told, n, k})
        become n: n + 1
    end

    # Keeps what comes until it is opened.
    defactor closed(to) do
      :open -> become numbering(to, 0)
      _ -> stash()
    end

    defactor slow(to, n) do
      {:spin, times} ->
        send to, Enum.sum(for(i <- 1..times, do: rem(i, 7)))
        become n: n + 1
    end

    defactor captures(a, b, c, d) do
      {customer, :all} -> send customer, {a, b, c, d}
      {:set, x} -> become a: x
    end

    defactor nothing() do
      {customer, :ping} -> send customer, :pong
      :end -> become sink()
    end

    defactor blocking(n), beam: true do
      {customer, {:block, pid}} ->
        Kernel.send(pid, {:blocks, self()})

        receive do
          :go_on -> :ok
        end

        send customer, n
        become n: n + 1

      {customer, :read} ->
        send customer, n
    end
  end

  setup do
    threads = [sponsors: [main: [threads: 2], blocking: [beam: true]]]
    {:ok, one} = Mote.start_link()
    {:ok, two} = Mote.start_link(threads)
    {:ok, three} = Mote.start_link(threads)
    %{one: one, two: two, three: three}
  end

  test "behaviour and captures go along, of any number and kind", %{one: one, two: two} do
    here = Mote.create(one, Actors.echo())
    big = Enum.to_list(1..20_000)

    for captures <- [
          {1, :two, "three", 4.5},
          {big, %{self() => [big], a: here}, String.duplicate("long", 10_000), {}},
          {nil, [], make_ref(), fn -> 1 end}
        ] do
      {a, b, c, d} = captures
      actor = Mote.create(one, Behaviours.captures(a, b, c, d))
      assert {:ok, moved} = Mote.move(actor, two)
      assert Mote.ask!(moved, :all) == captures
      assert Mote.ask!(actor, :all) == captures
      Mote.send(actor, {:set, :new})
      assert elem(Mote.ask!(actor, :all), 0) == :new
      assert Mote.info(moved).machine == two
    end

    nothing = Mote.create(one, Behaviours.nothing())
    assert {:ok, moved} = Mote.move(nothing, two)
    assert {Mote.ask!(moved, :ping), Mote.ask!(nothing, :ping)} == {:pong, :pong}
  end

  test "an actor that moves again leaves a chain; a move of its old address moves it", context do
    counter = Mote.create(context.one, Library.counter(0))
    {:ok, second} = Mote.move(counter, context.two)
    {:ok, third} = Mote.move(second, context.three)

    for {address, n} <- [{counter, 1}, {second, 2}, {third, 3}],
        do: assert(Mote.ask!(address, {:add, 1}) == n)

    assert {:ok, fourth} = Mote.move(counter, context.one)
    assert Mote.info(fourth).machine == context.one
    assert Mote.ask!(third, {:add, 1}) == 4
    assert Mote.ask!(fourth, :read) == 4
    # And to the machine where it is.
    assert {:ok, fifth} = Mote.move(fourth, context.one)
    assert Mote.ask!(fifth, :read) == 4
  end

  test "an address by which an actor moves again and again sends straight to where it is", context do
    actor = Mote.create(context.one, Behaviours.numbering(self(), 0))
    {:ok, _} = Mote.move(actor, context.two)
    sender = Task.async(fn -> for n <- 1..20_000, do: Mote.send(actor, n) end)

    for _ <- 1..10, machine <- [context.three, context.two, context.one] do
      assert {:ok, new} = Mote.move(actor, machine, timeout: 60_000)
      assert %{behaviour: %{module: Ways, name: :onward, captures: {^new}}} = Mote.info(actor)
    end

    Task.await(sender, 60_000)
    for n <- 1..20_000, do: assert_receive({index, ^n} when index == n - 1, 60_000)
    # Those between go, one after the other.
    assert eventually(fn ->
             :erlang.garbage_collect()
             for machine <- [context.one, context.two, context.three], do: Mote.gc(machine)
             Mote.info(context.two).gc.live_actors + Mote.info(context.three).gc.live_actors == 0
           end)
  end

  test "an address whose next place has moved on meanwhile keeps the long way", context do
    %{one: one, two: two, three: three} = context
    {:ok, four} = Mote.start_link()
    actor = Mote.create(one, Behaviours.numbering(self(), 0))
    {:ok, between} = Mote.move(actor, two)
    Mote.pause(two)
    moves = [Task.async(fn -> Mote.move(actor, three, timeout: 60_000) end)]
    # Then the first move waits for the place between, and so does the second one.
    assert eventually(fn -> match?(%{behaviour: %{name: :onward}}, Mote.info(between)) end)
    %{behaviour: %{captures: {last}}} = Mote.info(between)
    moves = [Task.async(fn -> Mote.move(between, four, timeout: 60_000) end) | moves]

    # It holds the place between twice: to see where that leads, and, once the last place has moved, to lead it there.
    assert eventually(fn -> match?(%{behaviour: %{name: :onward}}, Mote.info(last)) end)
    assert eventually(fn -> match?(%{behaviour: %{name: :held}}, Mote.info(between)) end)
    Mote.resume(two)
    assert [{:ok, newest}, {:ok, ^last}] = Task.await_many(moves, 60_000)
    assert %{behaviour: %{name: :onward, captures: {^newest}}} = Mote.info(between)
    assert %{behaviour: %{name: :onward, captures: {^between}}} = Mote.info(actor)
    Mote.stop(four)
  end

  test "what waits follows in order; nothing is lost or doubled, whoever sends meanwhile", context do
    for from <- [context.one, context.two], to <- [context.three, context.one] do
      actor = Mote.create(from, Behaviours.numbering(self(), 0))
      parent = self()

      senders =
        for s <- 1..3 do
          spawn_link(fn ->
            for n <- 1..2_000, do: Mote.send(actor, {s, n})
            send(parent, {:sent, s})
          end)
        end

      for n <- 1..2_000, do: Mote.send(actor, {:own, n})
      assert {:ok, moved} = Mote.move(actor, to, timeout: 60_000)
      for n <- 2_001..2_100, do: Mote.send(moved, {:own, n})
      for s <- 1..3, do: assert_receive({:sent, ^s}, 60_000)
      assert length(senders) == 3
      assert eventually(fn -> Mote.ask!(actor, :count) == 8_100 end)
      got = for _ <- 1..8_100, do: assert_receive({n, {_, _}} when is_integer(n), 60_000)
      assert Enum.map(got, &elem(&1, 0)) == Enum.to_list(0..8_099)

      for {who, count} <- [{1, 2_000}, {2, 2_000}, {3, 2_000}, {:own, 2_100}] do
        assert for({_, {^who, n}} <- got, do: n) == Enum.to_list(1..count)
      end
    end
  end

  test "what it has sent to a process before comes before what it sends from there", %{one: one, two: two} do
    actor = Mote.create(one, Behaviours.telling(self(), 0))
    postman = postman(one)
    :ok = :sys.suspend(postman)
    for _ <- 1..10, do: Mote.send(actor, :tell)
    # An actor is held before what is queued for it.
    assert eventually(fn -> Native.machine_info(actor.machine).mail > 0 end)
    move = Task.async(fn -> Mote.move(actor, two, timeout: 60_000) end)
    for _ <- 1..10, do: Mote.send(actor, :tell)
    assert Task.yield(move, 100) == nil
    :ok = :sys.resume(postman)
    assert {:ok, _moved} = Task.await(move, 60_000)
    got = for _ <- 1..400, do: assert_receive({:told, _, _}, 60_000)
    assert got == for(n <- 0..19, k <- 1..20, do: {:told, n, k})
  end

  test "what it has stashed goes along", %{one: one, two: two} do
    actor = Mote.create(one, Behaviours.closed(self()))
    for n <- 1..3, do: Mote.send(actor, n)
    assert {:ok, moved} = Mote.move(actor, two)
    Mote.send(moved, 4)
    Mote.send(moved, :open)
    for n <- 1..4, do: assert_receive({index, ^n} when index == n - 1, 60_000)
  end

  test "an actor that does not move is what it was, and what came meanwhile is done", context do
    actor = Mote.create(context.one, Behaviours.numbering(self(), 0))
    Mote.send(actor, :first)
    {:ok, down} = Mote.start_link()
    Mote.stop(down)

    for nowhere <- [down, NoSuchMachine, {NoSuchMachine, node()}] do
      assert {:error, %Error{reason: :machine_down}} = Mote.move(actor, nowhere)
    end

    assert {:error, %Error{reason: :unknown_sponsor}} = Mote.move(actor, context.two, sponsor: :none)
    assert_raise ArgumentError, fn -> Mote.move(actor, "no machine") end
    Mote.send(actor, :second)
    assert_receive {0, :first}
    assert_receive {1, :second}
    assert %{behaviour: %{module: Behaviours, name: :numbering}} = Mote.info(actor)
  end

  test "memory that the other machine does not have leaves it where it is", %{one: one} do
    {:ok, small} = Mote.start_link(memory: 16 * 1024 * 1024)
    large = Enum.to_list(1..3_000_000)
    actor = Mote.create(one, Behaviours.captures(large, 2, 3, 4))
    assert {:error, %Error{reason: :no_memory}} = Mote.move(actor, small, timeout: 60_000)
    assert elem(Mote.ask!(actor, :all), 1) == 2
  end

  test "why an actor cannot move is said", context do
    assert {:error, %Error{reason: :not_movable, context: %{why: :safe}}} =
             Mote.move(Mote.create(context.one, Actors.echo()), context.two)

    ended = Mote.create(context.one, Behaviours.nothing())
    Mote.send(ended, :end)
    Mote.drain(context.one, 60_000)
    assert {:error, %Error{reason: :not_movable, context: %{why: :sink}}} = Mote.move(ended, context.two)

    blocking = Mote.create(context.two, Behaviours.blocking(7), sponsor: :blocking)
    ask = Mote.async(blocking, {:block, self()})
    assert_receive {:blocks, _worker}, 60_000

    assert {:error, %Error{reason: :not_movable, context: %{why: :busy}} = error} =
             Mote.move(blocking, context.three, sponsor: :blocking)

    assert error.message =~ "in the middle"
    Mote.ignore(ask)
  end

  test "an actor of a beam sponsor moves between its turns, to a sponsor of that kind", context do
    blocking = Mote.create(context.two, Behaviours.blocking(7), sponsor: :blocking)
    assert {:error, %Error{reason: :beam_only}} = Mote.move(blocking, context.three)
    assert Mote.ask!(blocking, :read) == 7
    assert {:ok, moved} = Mote.move(blocking, context.three, sponsor: :blocking)
    assert {Mote.ask!(blocking, :read), Mote.ask!(moved, :read)} == {7, 7}
  end

  test "a turn that takes long is waited for, so long; then nothing has happened", %{one: one, two: two} do
    actor = Mote.create(one, Behaviours.slow(self(), 0))
    Mote.send(actor, {:spin, 2_000_000})
    assert {:error, %Error{reason: :timeout}} = Mote.move(actor, two, timeout: 0)
    assert_receive sum when is_integer(sum), 60_000
    assert %{behaviour: %{name: :slow, captures: {_, 1}}} = Mote.info(actor)
    assert {:ok, _} = Mote.move(actor, two)
  end

  test "a move that has given up waiting leaves the actor answering, and able to move", %{one: one, two: two} do
    actor = give_up(Mote.create(one, Behaviours.slow(self(), 0)), [two, one])
    assert {:ok, moved} = move_again(actor, two)
    Mote.send(actor, {:spin, 1})
    Mote.send(moved, {:spin, 2})
    for sum <- [1, 3], do: assert_receive(^sum, 60_000)
  end

  # A move that goes on without its caller may still hold it.
  defp move_again(actor, to) do
    eventually(fn ->
      with {:error, %Error{context: %{why: :held}}} <- Mote.move(actor, to, timeout: 60_000), do: nil
    end)
  end

  # A turn that runs may end before anybody gives up waiting for it: then the actor has moved, and the next turn is tried.
  defp give_up(actor, [to, other]) do
    Mote.send(actor, {:spin, 2_000_000})

    case Mote.move(actor, to, timeout: 0) do
      {:error, %Error{reason: :timeout}} -> actor
      {:ok, moved} -> give_up(moved, [other, to])
    end
  end

  test "an actor that is held goes on for the move that holds it only", %{one: one} do
    actor = Mote.create(one, Library.counter(1))
    held = {Ways, :held, Ways.__mote__(:hash)}
    :ok = Mote.Machine.Loader.load(actor.machine, Ways)
    put = &Question.put(actor.machine, 60_000, [address: actor], &1)
    hold = fn holder -> put.(&Native.actor_hold(actor.machine, actor.key, {held, holder}, &1)) end

    back = fn holder ->
      put.(&Native.actors_go_on(actor.machine, [{actor.key, {}}], {held, holder}, nil, &1))
    end

    assert {:ok, %Mote.Behaviour{captures: {1}}} = hold.(5)
    assert hold.(6) == {:ok, :held}
    assert {:error, %Error{reason: :not_movable, context: %{why: :held}}} = Mote.move(actor, one)
    assert back.(6) == {:ok, [:not_held]}
    asked = Mote.async(actor, :read)
    assert back.(5) == {:ok, [:ok]}
    assert back.(5) == {:ok, [:not_held]}
    assert Mote.await(asked, 60_000) == 1
  end

  test "what has come of several actors that are to go on is said of each, in their order", %{one: one} do
    [held, free] = actors = Mote.create_many(one, for(n <- 1..2, do: Library.counter(n)))
    :ok = Mote.Machine.Loader.load(held.machine, Ways)
    hold = Mote.Move.new_hold()
    assert {:ok, %Mote.Behaviour{}} = Mote.Move.hold(held, hold, 60_000)
    given = [{free.key, {}}, {held.key, {}}, {"no key", {}}]
    put = &Native.actors_go_on(held.machine, given, hold, nil, &1)
    assert Question.put(held.machine, 60_000, [address: held], put) == {:ok, [:not_held, :ok, :unknown]}
    assert for(actor <- actors, do: Mote.ask!(actor, :read)) == [1, 2]
    assert Mote.Move.go_back([], hold) == []
    Mote.stop(one)
    assert [{:error, %Error{reason: :machine_down}}, _] = Mote.Move.go_back(actors, hold)
  end

  test "an actor moves while both machines collect", %{one: one, two: two} do
    actor = Mote.create(one, Behaviours.captures(0, [self()], %{}, {}))
    machines = Stream.cycle([two, one])

    collecting = spawn_link(fn -> Enum.each(Stream.cycle([one, two]), fn machine -> Mote.gc(machine) end) end)

    last =
      Enum.reduce(Enum.take(machines, 30), actor, fn machine, address ->
        Mote.send(address, {:set, for(n <- 1..1_000, do: {n, "#{n}"})})
        assert {:ok, moved} = Mote.move(address, machine, timeout: 60_000)
        moved
      end)

    assert length(elem(Mote.ask!(last, :all), 0)) == 1_000
    assert elem(Mote.ask!(actor, :all), 1) == [self()]
    Process.unlink(collecting)
    Process.exit(collecting, :kill)
  end

  test "nothing is lost or doubled in any order of turns, however often it moves", %{three: three} do
    for seed <- 1..40 do
      {:ok, seeded} = Mote.start_link(schedule: {:seeded, seed}, sponsors: [main: [threads: 2], other: []])
      actor = Mote.create(seeded, Behaviours.numbering(self(), 0))
      for n <- 1..30, do: Mote.send(actor, n, sponsor: Enum.at([:main, :other], rem(div(n, seed), 2)))
      to = if rem(seed, 2) == 0, do: three, else: seeded
      {:ok, second} = Mote.move(actor, to)
      for n <- 31..40, do: Mote.send(second, n)
      {:ok, third} = Mote.move(second, seeded, sponsor: :other)
      for n <- 41..50, do: Mote.send(third, n)
      assert eventually(fn -> Mote.ask!(actor, :count) == 50 end)
      got = for index <- 0..49, do: assert_receive({^index, _}, 60_000)
      assert Enum.sort(for {_, n} <- got, do: n) == Enum.to_list(1..50)
      assert got |> Enum.drop(30) |> Enum.map(&elem(&1, 1)) == Enum.to_list(31..50)
      Mote.stop(seeded)
    end
  end

  test "what is sent to the new address comes after what had waited, however full the old sponsor is", %{
    two: two
  } do
    {:ok, full} = Mote.start_link(sponsors: [main: [inbox: 5]])
    slow = Mote.create(full, Behaviours.slow(listener(), 0))
    patiently = [on_full: :wait, timeout: :infinity]
    # From now on it is full whenever nobody else has just taken the room.
    senders = for _ <- 1..4, do: spawn_link(fn -> press(slow, {:spin, 500}, patiently) end)
    eventually(fn -> Mote.info(full).sponsors.main.overloaded > 0 end)

    for round <- 1..20 do
      actor = Mote.create(full, Behaviours.numbering(self(), 0))
      for n <- 1..10, do: :ok = Mote.send(actor, {round, n}, patiently)
      assert {:ok, moved} = Mote.move(actor, two, timeout: 60_000)
      for n <- 11..20, do: :ok = Mote.send(moved, {round, n})
      for n <- 1..20, do: assert_receive({index, {^round, ^n}} when index == n - 1, 60_000)
    end

    for sender <- senders do
      Process.unlink(sender)
      Process.exit(sender, :kill)
    end
  end

  # Takes what comes, and does nothing.
  defp listener, do: spawn_link(fn -> listen() end)
  defp listen, do: receive(do: (_ -> listen()))

  defp press(slow, message, opts) do
    :ok = Mote.send(slow, message, opts)
    press(slow, message, opts)
  end

  test "an actor of a paused machine moves; what waits comes when it goes on", %{one: one, two: two} do
    actor = Mote.create(one, Behaviours.numbering(self(), 0))
    :ok = Mote.pause(one)
    Mote.send(actor, :waits)
    move = Task.async(fn -> Mote.move(actor, two, timeout: 60_000) end)
    refute Task.yield(move, 50)
    :ok = Mote.resume(one)
    assert {:ok, moved} = Task.await(move, 60_000)
    Mote.send(moved, :later)
    assert_receive {0, :waits}, 60_000
    assert_receive {1, :later}, 60_000
  end

  test "a caller waits no longer than it may; a move that holds the actor goes on, one that does not leaves it",
       context do
    %{one: one, two: two} = context
    actor = Mote.create(one, Behaviours.numbering(self(), 0))
    :ok = Mote.pause(one)
    Mote.send(actor, 1)
    assert {:error, %Error{reason: :timeout}} = Mote.move(actor, two, timeout: 50)
    :ok = Mote.resume(one)
    assert_receive {0, 1}, 60_000

    # What is sent on waits there, and so does the move. If it does not hold the actor in time, the next one may.
    :ok = Mote.pause(two)

    assert eventually(fn ->
             late? = match?({:error, %Error{reason: :timeout}}, Mote.move(actor, two, timeout: 50))
             late? and match?(%{behaviour: %{name: :onward}}, Mote.info(actor))
           end)

    for n <- 2..100, do: Mote.send(actor, n)
    :ok = Mote.resume(two)
    assert {:ok, moved} = move_again(actor, two)
    Mote.send(moved, 101)
    for n <- 2..101, do: assert_receive({index, ^n} when index == n - 1, 60_000)
    assert Mote.ask!(actor, :count) == 101
    # Nobody's late answer.
    assert Process.info(self(), :messages) == {:messages, []}
  end

  test "anything but an address and options is a mistake of the caller", %{one: one} do
    assert_raise ArgumentError, ~r/address of an actor to move/, fn -> Mote.move(self(), one) end
    actor = Mote.create(one, Behaviours.nothing())
    assert_raise ArgumentError, fn -> Mote.move(actor, one, timeout: -1) end
    assert_raise ArgumentError, fn -> Mote.move(actor, one, no: 1) end
    assert_raise ArgumentError, ~r/expected a machine/, fn -> Mote.move(actor, {Nobody, nil}) end
  end

  test "a machine that ends when the actor is there, and before all that waited is, is no new place of it",
       context do
    %{one: one, two: two, three: three} = context
    actor = Mote.create(one, Behaviours.numbering(self(), 0))
    # What is sent on waits there.
    :ok = Mote.pause(two)
    move = Task.async(fn -> Mote.move(actor, two, timeout: 60_000) end)
    assert eventually(fn -> match?(%{behaviour: %{module: Ways, name: :onward}}, Mote.info(actor)) end)
    Mote.stop(two)

    assert {:error, %Error{reason: :unknown_address, context: %{address: ^actor, moved: moved}}} =
             Task.await(move, 60_000)

    assert moved != actor
    # And so it is said whenever it is to move.
    assert {:error, %Error{reason: :unknown_address, context: %{moved: ^moved}}} = Mote.move(actor, three)
    assert {:error, %Error{reason: :broken_promise}} = Mote.ask(actor, :count)
  end

  test "where the old machine ends at that moment, the actor has moved", %{one: one, two: two} do
    actor = Mote.create(one, Behaviours.numbering(self(), 0))
    :ok = Mote.pause(two)
    move = Task.async(fn -> Mote.move(actor, two, timeout: 60_000) end)
    assert eventually(fn -> match?(%{behaviour: %{module: Ways, name: :onward}}, Mote.info(actor)) end)
    Mote.stop(one)
    assert {:ok, moved} = Task.await(move, 60_000)
    :ok = Mote.resume(two)
    assert Mote.ask(moved, :count) == {:ok, 0}
  end

  test "of a machine that has ended, the error names the actor", %{one: one, two: two} do
    actor = Mote.create(one, Behaviours.nothing())
    Mote.stop(one)
    assert {:error, %Error{reason: :machine_down, context: %{address: ^actor}}} = Mote.move(actor, two)
  end
end
