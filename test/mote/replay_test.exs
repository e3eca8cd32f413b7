defmodule Mote.ReplayTest do
  use ExUnit.Case, async: true

  # Turns abort.
  @moduletag :capture_log

  alias Mote.{Error, OtherBEAM, Replay, Replayed}
  import Bitwise
  import Mote.Eventually
  import Mote.OwnFolder, only: [own_folder: 1, hear_exits: 1]

  setup [:own_folder, :hear_exits]

  # The place of a recorded machine, and what lives in it there.
  defp snapshot(machine) do
    eventually(fn ->
      place = Replay.recorded(machine)
      {:ok, fingerprint} = Replay.fingerprint(machine)
      if Replay.recorded(machine) == place, do: {place, fingerprint}
    end)
  end

  defp told(messages \\ []) do
    receive do
      {n, _, _} = message when is_integer(n) -> told([message | messages])
      {:given, _} = message -> told([message | messages])
    after
      0 -> Enum.reverse(messages)
    end
  end

  # What a replay would tell this process on its way.
  defp would_tell(replay) do
    trace = Mote.trace(Replay.machine(replay), [], limit: 1_000_000)
    {:ok, _} = Replay.forward(replay, :end)
    %{dropped: 0} = Mote.Trace.stop(trace)
    would_tell(trace.ref, self(), [])
  end

  defp would_tell(ref, me, messages) do
    receive do
      {:mote_trace, ^ref, %Mote.Trace.Turn{sends: sends}} ->
        would_tell(ref, me, Enum.reverse(for({^me, message} <- sends, do: message)) ++ messages)
    after
      0 -> Enum.reverse(messages)
    end
  end

  # A turn is shown before what it tells has its key.
  defp without_machines(messages) do
    for message <- messages do
      case message do
        {:given, %Mote.Address{}} -> :given
        other -> other
      end
    end
  end

  # A ring of two that has run so many turns.
  defp ring(dir, turns) do
    {:ok, machine} = Mote.start_link(record: dir)
    a = Mote.create(machine, Replayed.runner(nil, 0))
    b = Mote.create(machine, Replayed.runner(a, 0))
    Mote.send(a, {:next, b})
    Mote.send(a, {:run, turns - 2})
    Mote.drain(machine)
    Mote.stop(machine)
    {a, b}
  end

  test "what nothing is sent to is recorded as well, soon and at the end", %{dir: dir} do
    {:ok, machine} = Mote.start_link(record: dir)
    first = Mote.create(machine, Replayed.keeping([1]))
    # Behind the code of the module.
    Mote.send(first, 2)
    Mote.drain(machine)
    {1, entered} = Replay.recorded(machine)
    records = fn events -> eventually(fn -> Replay.recorded(machine) == {1, entered + events} end) end
    [second, _] = Mote.create_many(machine, Replayed.keeping([2]), 2)
    records.(1)
    :ok = Mote.release(second)
    records.(2)
    # The thread may end without having taken some of these.
    last = for n <- 1..100, do: Mote.create(machine, Replayed.keeping([n]))
    Mote.stop(machine)

    {:ok, replay} = Replay.open(dir)
    {:ok, %{turn: 1}} = Replay.forward(replay, :end)
    assert {:ok, {:keeping, [2, 1]}} = Mote.peek(Replay.address(replay, first))
    assert {:error, _} = Mote.peek(Replay.address(replay, second))

    for {actor, n} <- Enum.with_index(last, 1),
        do: assert({:ok, {:keeping, [^n]}} = Mote.peek(Replay.address(replay, actor)))
  end

  test "random programs do the same again, forward and back", %{dir: dir} do
    for seed <- 1..6, do: again(Path.join(dir, "#{seed}"), 100 * seed)
  end

  defp again(dir, seed) do
    {:ok, machine} = Mote.start_link(record: dir)

    snapshots =
      for part <- 1..4 do
        Replayed.act(machine, seed + part, 40)
        Mote.drain(machine)
        # Timers go on: so the machine stands still while it is looked at.
        Mote.pause(machine)
        snapshot = snapshot(machine)
        Mote.resume(machine)
        snapshot
      end

    Mote.drain(machine)
    Mote.stop(machine)
    told = told()

    {:ok, replay} = Replay.open(dir, checkpoint_every: 50)
    for snapshot <- snapshots, do: assert_at(replay, seed, snapshot)

    # Back to a place, by images on the way, and forward again.
    {:ok, %{turn: last}} = Replay.forward(replay, :end)
    {:ok, at_end} = Replay.fingerprint(replay)

    for {{turn, _event}, _} = snapshot <- Enum.reverse(snapshots), turn < last do
      {:ok, _} = Replay.back(replay, Replay.at(replay).turn - turn + 1)
      assert_at(replay, seed, snapshot)
    end

    {:ok, %{turn: ^last}} = Replay.forward(replay, :end)
    assert Replay.fingerprint(replay) == {:ok, at_end}
    Replay.close(replay)

    {:ok, replay} = Replay.open(dir, tier: :interp)
    assert replay |> would_tell() |> without_machines() == without_machines(told)
    assert told != []
    Replay.close(replay)
  end

  defp assert_at(replay, seed, {place, fingerprint}) do
    assert {:ok, _} = Replay.forward(replay, place)
    assert {seed, place, Replay.fingerprint(replay)} == {seed, place, {:ok, fingerprint}}
  end

  # Callers run turns in place of the thread while others send, and while the thread wakes.
  test "what many ask at once is recorded in the order in which it ran", %{dir: dir} do
    {:ok, machine} = Mote.start_link(record: dir)
    booked = Mote.create(machine, Replayed.booked([]))

    asks = fn part ->
      for n <- 1..300 do
        if rem(n, 10) == part do
          # Noted at the door, where nothing wakes the thread for it, and asked at once.
          fresh = Mote.create(machine, Replayed.booked([]))
          0 = Mote.ask!(fresh, {part, n})
          Mote.release(fresh)
        end

        Mote.ask!(booked, {part, n})
      end

      Replayed.act(machine, part, 60)
      for n <- 301..400, do: Mote.ask!(booked, {part, n})
    end

    1..6 |> Enum.map(&Task.async(fn -> asks.(&1) end)) |> Task.await_many(60_000)
    Mote.drain(machine)
    # One that does so certainly is among them.
    stand_ins = fn -> Mote.info(machine).counters.stand_ins end
    before = stand_ins.()
    eventually(fn -> asleep(machine) && Mote.ask!(booked, :last) && stand_ins.() > before end)
    {:ok, live} = Mote.peek(booked)
    Mote.pause(machine)
    {place, fingerprint} = snapshot(machine)
    Mote.stop(machine)

    {:ok, replay} = Replay.open(dir)
    assert {:ok, _} = Replay.forward(replay, place)
    assert Replay.fingerprint(replay) == {:ok, fingerprint}
    assert Mote.peek(Replay.address(replay, booked)) == {:ok, live}
    {:ok, %{turn: turn}} = Replay.forward(replay, :end)
    {:ok, _} = Replay.back(replay, turn)
    assert Replay.first_difference(replay, Replayed) == :none
    Replay.close(replay)
  end

  test "what callers have run themselves is in the file soon, and when the machine ends", %{dir: dir} do
    {:ok, machine} = Mote.start_link(record: dir)
    booked = Mote.create(machine, Replayed.booked([]))

    turns = fn ->
      {:ok, replay} = Replay.open(dir)
      {:ok, %{turn: turn}} = Replay.forward(replay, :end)
      Replay.close(replay)
      turn
    end

    for n <- 0..99, do: ^n = Mote.ask!(booked, n)
    eventually(fn -> turns.() == 100 end)
    for n <- 100..199, do: ^n = Mote.ask!(booked, n)
    Mote.stop(machine)
    assert turns.() == 200
  end

  test "goes to turns and events, and says where it is", %{dir: dir} do
    {a, b} = ring(dir, 1_000)
    {:ok, replay} = Replay.open(dir, checkpoint_every: 100)
    assert %{turn: 0, event: 0, cut: nil, events: events} = Replay.at(replay)
    # All events enter before the ring runs.
    assert {:ok, %{turn: turn, event: ^events}} = Replay.forward(replay, {:event, events})
    assert turn in 0..1
    assert {:ok, %{turn: 500}} = Replay.forward(replay, 500)
    a = Replay.address(replay, a)
    {:ok, {:runner, _, 250}} = Mote.peek(a)
    assert {:ok, %{turn: 499}} = Replay.back(replay, 1)
    # The turn before was of the other one; the address is of the machine that was there before.
    {:ok, {:runner, _, 249}} = Mote.peek(Replay.address(replay, b))
    {:ok, {:runner, _, n}} = Mote.peek(a)
    assert n in 249..250
    assert {:ok, %{turn: 10}} = Replay.back(replay, 489)
    # However many machines there were in between.
    assert {:ok, {:runner, _, 5}} = Mote.peek(a)
    assert {:ok, %{turn: 1_000}} = Replay.forward(replay, :end)
    assert {:ok, %{turn: 1_000}} = Replay.forward(replay, 5_000)
    assert {:ok, %{turn: 0, event: 0}} = Replay.back(replay, 5_000)

    assert_raise ArgumentError, ~r"lies behind", fn ->
      {:ok, _} = Replay.forward(replay, 5)
      Replay.forward(replay, 4)
    end

    assert_raise ArgumentError, ~r"expected a place", fn -> Replay.forward(replay, -1) end
    Replay.close(replay)
    assert_raise ArgumentError, ~r"was closed", fn -> Replay.at(replay) end
  end

  test "messages of any kind are there again", %{dir: dir} do
    deep = Enum.reduce(1..40, :bottom, fn n, inner -> {n, [inner]} end)

    messages =
      [0, -1, 255, 256, -2_147_483_649, 4_611_686_018_427_387_904, -(1 <<< 63), 1 <<< 64, 0.5, -0.0] ++
        [:a, nil, :"an atom: ä", String.to_atom(String.duplicate("x", 255)), "", "text", <<1::3>>] ++
        [String.duplicate("long", 100), [], [1 | 2], ~c"abc", [1, [2, []]], {}, {1, {}}] ++
        [
          List.to_tuple(Enum.to_list(1..300)),
          %{{2} => [%{}], a: 1},
          1..3,
          deep,
          self(),
          make_ref(),
          &is_atom/1
        ]

    {:ok, machine} = Mote.start_link(record: dir)
    one = Mote.create(machine, Replayed.keeping([]))
    many = Mote.create(machine, Replayed.keeping([]))
    for message <- messages, do: Mote.send(one, message)
    :ok = Mote.send_many(many, messages)
    :ok = Mote.send_many(for message <- messages, do: {one, message})
    Mote.drain(machine)
    Mote.stop(machine)
    {:ok, replay} = Replay.open(dir)
    {:ok, _} = Replay.forward(replay, :end)
    {:ok, {:keeping, kept}} = Mote.peek(Replay.address(replay, many))
    assert kept === Enum.reverse(messages)
    {:ok, {:keeping, kept}} = Mote.peek(Replay.address(replay, one))
    assert kept === Enum.reverse(messages ++ messages)
    Replay.close(replay)
  end

  # Messages in a row for one actor have one record, which may be cut: a full machine takes the first ones of a call.
  test "of a call that was taken in part the first messages are there again, and no other", %{dir: dir} do
    {:ok, machine} = Mote.start_link(record: dir, sponsors: [main: [inbox: 100]])
    actors = for _ <- 1..2, do: Mote.create(machine, Replayed.keeping([]))

    taken =
      for step <- [1, 2, 3, 7, 50, 90, 200], reduce: [] do
        taken ->
          pairs = for n <- 0..299, do: {Enum.at(actors, rem(div(n, step), 2)), {step, n}}
          Mote.pause(machine)
          {:error, %Error{reason: :overloaded, context: %{accepted: accepted}}} = Mote.send_many(pairs)
          assert accepted in 1..299
          {:error, %Error{reason: :overloaded}} = Mote.send_many(hd(actors), [:too, :many])
          Mote.resume(machine)
          Mote.drain(machine)
          taken ++ Enum.take(pairs, accepted)
      end

    Mote.stop(machine)
    {:ok, replay} = Replay.open(dir)
    {:ok, _} = Replay.forward(replay, :end)

    for actor <- actors do
      {:ok, {:keeping, kept}} = Mote.peek(Replay.address(replay, actor))
      assert Enum.reverse(kept) == for({^actor, message} <- taken, do: message)
    end

    Replay.close(replay)
  end

  test "looks are answered, and nothing enters", %{dir: dir} do
    {a, _b} = ring(dir, 100)
    {:ok, replay} = Replay.open(dir)
    {:ok, _} = Replay.forward(replay, 40)
    machine = Replay.machine(replay)
    a = Replay.address(replay, a)
    assert %{paused: true} = Mote.info(machine)
    assert %{behaviour: _} = Mote.info(a)
    assert Enum.any?(Mote.behaviours(machine), &match?(%{behaviour: {Replayed, :runner, 2}}, &1))
    assert length(Mote.graph(a).nodes) == 2

    for act <- [
          fn -> Mote.send(a, {:run, 5}) end,
          fn -> Mote.send_many(a, [{:run, 5}]) end,
          fn -> Mote.ask!(a, :x) end,
          fn -> Mote.send_after(a, {:run, 5}, 1) end,
          fn -> Mote.resume(machine) end,
          fn -> with({:error, error} <- Mote.step(machine), do: raise(error)) end
        ] do
      assert %Error{reason: :not_durable} = catch_error(act.())
    end

    assert %Error{} = catch_error(Mote.create(machine, Replayed.runner(nil, 0)))
    trace = Mote.trace(machine, [], limit: 1_000)
    {:ok, _} = Replay.forward(replay, 50)
    for _ <- 1..10, do: assert_receive({:mote_trace, _, %Mote.Trace.Turn{}})
    assert %{turns: 10} = Mote.Trace.stop(trace)
    {:ok, %{turn: 100}} = Replay.forward(replay, :end)
    Replay.close(replay)
  end

  test "who has sent a message, and when an actor became what it is", %{dir: dir} do
    {a, b} = ring(dir, 1_000)
    {:ok, replay} = Replay.open(dir, checkpoint_every: 100)
    {:ok, _} = Replay.forward(replay, 900)
    place = Replay.at(replay)
    # The turn with the message {:run, 998} is the second one.
    assert {:ok, %{turn: turn, seen: seen}} = Replay.who_sent(replay, {:run, 500})
    assert %{message: {:run, 501}, sends: [{_, {:run, 500}}]} = seen
    assert turn == 1_000 - 501
    assert Replay.who_sent(replay, {:run, 998}) == :none
    assert Replay.who_sent(replay, {:run, 1}) == :none
    assert {:ok, %{turn: last}} = Replay.when_became(replay, a)
    assert {:ok, %{turn: other}} = Replay.when_became(replay, b)
    assert Enum.sort([last, other]) == [899, 900]
    assert Replay.at(replay) == place
    # An address that a turn of the past has shown leads to the present.
    assert {:ok, {:runner, _, n}} = Mote.peek(seen.actor)
    assert n in 449..450
    assert_raise ArgumentError, ~r"to be a pattern", fn -> Replay.who_sent(replay, %{}) end
    Replay.close(replay)
  end

  test "the first turn in which changed code does something else", %{dir: dir} do
    till = Mote.ReplayTest.Till

    code = fn limit ->
      :code.delete(till)
      :code.purge(till)

      Code.compile_string("""
      defmodule Mote.ReplayTest.Till do
        use Mote.Behaviour

        defactor till(sum, log) do
          {:pay, n} ->
            if sum + n > #{limit}, do: send(log, {:high, sum + n}), else: send(log, {:paid, n})
            become till(sum + n, log)
        end

        defactor log(lines) do
          line -> become log([line | Enum.take(lines, 3)])
        end
      end
      """)
    end

    code.(1_000)
    {:ok, machine} = Mote.start_link(record: dir)
    log = Mote.create(machine, till.log([]))
    a = Mote.create(machine, till.till(0, log))
    for n <- 1..3_000, do: Mote.send(a, {:pay, rem(n, 2)})
    Mote.drain(machine)
    Mote.stop(machine)
    {:ok, replay} = Replay.open(dir)
    {:ok, _} = Replay.forward(replay, 100)
    place = Replay.at(replay)
    assert Replay.first_difference(replay, till) == :none
    code.(1_100)

    assert {:ok, %{turn: turn, recorded: recorded, changed: changed}} =
             Replay.first_difference(replay, [till])

    assert %{message: {:pay, 1}, sends: [{_, {:high, 1_001}}]} = recorded
    assert %{message: {:pay, 1}, sends: [{_, {:paid, 1}}]} = changed
    assert Replay.first_difference(replay, till, turn - 1) == :none
    code.(1_000)
    assert Replay.first_difference(replay, till) == :none
    assert Replay.at(replay) == place
    assert_raise ArgumentError, ~r"modules with behaviours", fn -> Replay.first_difference(replay, String) end
    Replay.close(replay)
  end

  test "a step shows the turn", %{dir: dir} do
    ring(dir, 10)
    {:ok, replay} = Replay.open(dir)
    assert {:ok, %{message: {:next, _}}} = Replay.step(replay)
    for n <- 8..0//-1, do: assert({:ok, %{message: {:run, ^n}}} = Replay.step(replay))
    assert Replay.step(replay) == :end
    Replay.close(replay)
  end

  test "each start is a recording of its own, and goes on from an image", %{dir: dir} do
    {:ok, machine} = Mote.start_link(record: dir)
    a = Mote.create(machine, Replayed.runner(nil, 3))
    Mote.send(a, {:run, 0})
    Mote.drain(machine)
    path = dir <> ".image"
    on_exit(fn -> File.rm(path) end)
    {:ok, _} = Mote.save(machine, path, names: %{a: a})
    Mote.stop(machine)
    {:ok, machine} = Mote.start_link(record: dir, image: path)
    %{a: a} = Mote.names(machine)
    Mote.send(a, {:run, 0})
    Mote.drain(machine)
    # It runs still.
    for {opts, turns} <- [{[], 5}, {[number: 1], 4}, {[number: 2], 5}] do
      {:ok, replay} = Replay.open(dir, opts)
      {:ok, %{turn: 1}} = Replay.forward(replay, :end)
      names = replay |> Replay.machine() |> Mote.names()
      if turns == 5, do: assert({:ok, {:runner, nil, 5}} = Mote.peek(names.a))
      Replay.close(replay)
    end

    assert {:error, %Error{reason: :journal} = error} = Replay.open(dir, number: 3)
    assert Exception.message(error) =~ "it has no recording 3, but 1, 2"
    # The folder is the machine's.
    assert {:error, %Error{reason: :dir_taken}} = Mote.start_link(record: dir)
    assert {:ok, {:runner, nil, 5}} = Mote.peek(a)
    Mote.stop(machine)
  end

  test "what a recorded machine cannot do is refused", %{dir: dir} do
    for {opts, said} <- [
          {[sponsors: [main: [threads: 2]]], "a recorded machine has one sponsor"},
          {[clock: :manual], "a recorded machine has clock: :system"},
          {[schedule: {:seeded, 1}], "a recorded machine has schedule: :threads"},
          {[durable: [dir: dir]], "and not both"},
          {[record: 5], "the name of a file as the folder of :record"}
        ] do
      assert_raise ArgumentError, ~r"#{said}", fn -> Mote.start_link(Keyword.merge([record: dir], opts)) end
    end

    {:ok, machine} = Mote.start_link(record: dir)
    a = Mote.create(machine, Replayed.runner(nil, 0))
    assert %Error{reason: :not_durable} = catch_error(Mote.send_after(a, :x, 1))
    assert_raise ArgumentError, ~r"is not durable", fn -> Mote.Durable.info(machine) end
    Mote.stop(machine)
  end

  test "a recording of a node that was killed is read as far as it goes", %{dir: dir} do
    code = """
    {:ok, machine} = Mote.start_link(record: #{inspect(dir)})
    a = Mote.create(machine, Mote.Replayed.runner(nil, 0))
    for n <- 1..2_000, do: Mote.send(a, {:run, 0})
    Mote.drain(machine)
    System.cmd("kill", ["-9", System.pid()])
    Process.sleep(:infinity)
    """

    assert {_, 137} = OtherBEAM.run(code)
    {:ok, replay} = Replay.open(dir)
    assert {:ok, %{turn: 2_000}} = Replay.forward(replay, :end)
    Replay.close(replay)

    [journal] = Path.wildcard(Path.join(dir, "*.recording"))
    bytes = File.read!(journal)
    File.write!(journal, binary_part(bytes, 0, byte_size(bytes) - 7))
    {:ok, replay} = Replay.open(dir)
    assert %{cut: cut} = Replay.at(replay)
    assert cut < byte_size(bytes)
    assert {:ok, %{turn: turn}} = Replay.forward(replay, :end)
    assert turn < 2_000
    Replay.close(replay)
  end

  test "no file that was changed does harm, and what is wrong is said", %{dir: dir} do
    ring(dir, 100)
    files = for name <- File.ls!(dir), name != "lock", do: Path.join(dir, name)
    :rand.seed(:exsss, {7, 7, 7})

    for path <- files, bytes = File.read!(path), _ <- 1..25 do
      at = :rand.uniform(byte_size(bytes)) - 1
      <<before::binary-size(at), byte, rest::binary>> = bytes

      changed =
        if :rand.uniform(4) == 1,
          do: before,
          else: before <> <<Bitwise.bxor(byte, :rand.uniform(255))>> <> rest

      File.write!(path, changed)

      case Replay.open(dir) do
        {:ok, replay} ->
          case Replay.forward(replay, :end) do
            {:ok, %{turn: turn}} -> assert turn <= 100
            {:error, error} -> assert Exception.message(error) =~ dir
          end

          Replay.close(replay)

        {:error, error} ->
          assert Exception.message(error) =~ dir
      end

      File.write!(path, bytes)
    end
  end

  test "a machine that does something else is told, and the replay stays where it was", %{dir: dir} do
    {:ok, machine} = Mote.start_link(record: dir)
    a = Mote.create(machine, Replayed.runner(nil, 0))
    for n <- 0..3, do: Mote.send(a, {:run, n}) && Mote.drain(machine)
    Mote.stop(machine)
    {:ok, machine} = Mote.start_link(record: dir)
    b = Mote.create(machine, Replayed.runner(nil, 0))
    for _ <- 0..3, do: Mote.send(b, {:run, 0}) && Mote.drain(machine)
    Mote.stop(machine)
    # The image of another machine.
    [first, _second] = Path.wildcard(Path.join(dir, "*.start"))
    {:ok, other} = Mote.start_link(identity: dir)
    c = Mote.create(other, Replayed.node([], []))
    Mote.send(c, {:meet, c})
    Mote.drain(other)
    Mote.pause(other)
    Mote.send(c, {:spread, 3})
    {:ok, _} = Mote.save(other, first, names: %{})
    Mote.stop(other)
    {:ok, replay} = Replay.open(dir, number: 1)
    assert {:error, error} = Replay.forward(replay, :end)

    assert Exception.message(error) =~
             ~r"00000001.recording: at byte \d+: the machine has not done the same as before"

    assert %{turn: 0, event: 0} = Replay.at(replay)
    Replay.close(replay)
  end
end
