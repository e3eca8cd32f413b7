defmodule Mote.MailTest do
  # Messages to processes that come in a rush are sent by the machine's postman: nothing else may be different.
  use ExUnit.Case, async: true

  import Mote.Eventually
  import Mote.Processes

  alias Mote.Error

  defmodule Actors do
    use Mote.Behaviour, errors: :undefined

    # So many messages in one turn.
    defactor teller() do
      {customer, {to, from, upto}} ->
        for n <- from..upto, do: send(to, {:number, n})
        send customer, :told

      {to, from, upto} ->
        for n <- from..upto, do: send(to, {:number, n})
    end

    # One to all.
    defactor each(all) do
      message -> for to <- all, do: send(to, message)
    end

    # One in each turn, as quickly as it can.
    defactor drip(to) do
      {n, last} ->
        send to, {:number, n}
        if n < last, do: send(self(), {n + 1, last})
    end

    # In every turn some that are plain, some that are not, and one that is large.
    defactor mixed(to, large) do
      {n, last} ->
        for i <- 1..20, do: send(to, {:number, n, i})
        send to, {:number, n, %{map: n}}
        send to, {:number, n, self()}
        send to, {:number, n, large}
        for i <- 21..40, do: send(to, {:number, n, i})
        if n < last, do: send(self(), {n + 1, last})
    end
  end

  # Tells all of its processes the same, and the first one in between what is for it alone.
  defmodule Room do
    use Mote.Behaviour, errors: :undefined

    defactor room(pids) do
      {:tell, message} ->
        for pid <- pids, do: send(pid, message)

      # Made for each of them.
      {:number, n} ->
        for pid <- pids, do: send(pid, {:number, n})

      {:between, from, upto} ->
        for n <- from..upto do
          send hd(pids), {:alone, n}
          for pid <- pids, do: send(pid, {:number, n})
        end

      {customer, :done} ->
        send customer, self()
    end
  end

  # Sends on, in one turn, what it gets.
  defmodule Forward do
    use Mote.Behaviour

    defactor forward(to) do
      messages -> for message <- messages, do: send(to, message)
    end
  end

  # Sends to one process, and begins anew, until it is told to stop.
  defmodule Rush do
    use Mote.Behaviour, errors: :undefined

    defactor rush(to) do
      :go ->
        for n <- 1..200, do: send(to, {:number, n})
        send self(), :go

      :stop ->
        become sink()
    end
  end

  setup do
    machine = start_supervised!({Mote, sponsors: [main: [threads: 1], other: [threads: 1]]})
    %{machine: machine, teller: Mote.create(machine, Actors.teller())}
  end

  defp waiting, do: elem(Process.info(self(), :message_queue_len), 1)

  defp numbers do
    receive do
      {:number, n} -> [n | numbers()]
    after
      0 -> []
    end
  end

  # A process that only has a mailbox.
  defp mailbox, do: spawn_link(fn -> receive(do: (:never -> :ok)) end)

  test "what one turn sends arrives whole, in order, before the machine is quiet", %{
    machine: machine,
    teller: teller
  } do
    for n <- [1, 15, 16, 17, 1_000, 20_000] do
      Mote.send(teller, {self(), 1, n})
      assert :ok = Mote.drain(machine, 60_000)
      assert waiting() == n
      assert numbers() == Enum.to_list(1..n)
    end
  end

  # What takes long to copy is copied on dirty schedulers, after the first millisecond. 40 copies are 32 MB.
  test "a large message to many processes does not hold up a scheduler", %{machine: machine} do
    {:links, links} = Process.info(machine, :links)
    postman? = &(Process.info(&1, :dictionary) |> elem(1) |> List.keyfind(:"$initial_call", 0))

    [postman] =
      for pid <- links, is_pid(pid), match?({_, {Mote.Machine.Postman, _, _}}, postman?.(pid)), do: pid

    :erlang.trace(postman, true, [:call])
    :erlang.trace_pattern({Mote.Native, :machine_deliver_big, 1}, true, [])
    large = Enum.to_list(1..50_000)
    pids = for _ <- 1..40, do: mailbox()
    Mote.send(Mote.create(machine, Actors.each(pids)), {:all, large})
    assert :ok = Mote.drain(machine, 60_000)
    assert_receive {:trace, ^postman, :call, {Mote.Native, :machine_deliver_big, [_]}}
    :erlang.trace_pattern({Mote.Native, :machine_deliver_big, 1}, false, [])
    for pid <- pids, do: assert(Process.info(pid, :messages) == {:messages, [{:all, large}]})
  end

  test "what many turns send arrives in order", %{machine: machine} do
    Mote.send(Mote.create(machine, Actors.drip(self())), {1, 20_000})
    assert :ok = Mote.drain(machine, 60_000)
    assert numbers() == Enum.to_list(1..20_000)
  end

  test "whatever it is", %{machine: machine} do
    large = Enum.to_list(1..5_000)
    actor = Mote.create(machine, Actors.mixed(self(), large))
    Mote.send(actor, {1, 200})
    assert :ok = Mote.drain(machine, 60_000)

    for n <- 1..200 do
      expected = Enum.to_list(1..20) ++ [%{map: n}, actor, large] ++ Enum.to_list(21..40)
      assert for(_ <- expected, do: receive(do: ({:number, ^n, what} -> what))) == expected
    end

    assert waiting() == 0
  end

  test "maps of any size, in a rush and through an outbox", %{machine: machine} do
    of = fn size -> Map.new(1..size//1, &{"key #{&1}", {&1, [&1]}}) end
    maps = for size <- [0, 1, 2, 8, 9, 31, 32, 33, 40, 200], do: of.(size)
    nested = Enum.reduce(1..12, :leaf, &%{&1 => &2, other: %{}})

    maps =
      maps ++
        [
          %{1 => :integer, 1.0 => :float, "1" => %{nil: nil}},
          URI.parse("https://a.b/c?d"),
          {%{a: 1}, [%{b: [%{}]}]},
          nested
        ]

    # More than a rush, each several times and each different from the one before.
    messages = List.flatten(List.duplicate(maps, 5))
    Mote.send(Mote.create(machine, Forward.forward(self())), messages)
    assert :ok = Mote.drain(machine, 60_000)
    assert self() |> Process.info(:messages) |> elem(1) == messages

    outbox = Mote.Outbox.open(machine)
    Mote.send(Mote.create(machine, Forward.forward(outbox)), messages)
    assert :ok = Mote.drain(machine, 60_000)
    assert Mote.Outbox.take(outbox, length(messages)) == messages
  end

  test "each of many processes gets what is for it, in order", %{machine: machine, teller: teller} do
    other = Mote.create(machine, Actors.teller(), sponsor: :other)

    tasks =
      for k <- 1..20 do
        Task.async(fn ->
          receive do
            :told -> numbers()
          end
          |> then(&{k, &1})
        end)
      end

    for round <- 1..10, {%{pid: pid}, k} <- Enum.with_index(tasks) do
      Mote.send(if(rem(k, 2) == 0, do: teller, else: other), {pid, round * 100, round * 100 + 10 * k})
    end

    assert :ok = Mote.drain(machine, 60_000)
    for task <- tasks, do: send(task.pid, :told)

    for {{_, got}, k} <- tasks |> Task.await_many(60_000) |> Enum.with_index() do
      assert got == Enum.flat_map(1..10, &Enum.to_list((&1 * 100)..(&1 * 100 + 10 * k)))
    end
  end

  describe "one message to many processes" do
    # Processes that keep what they get.
    defp keepers(count), do: for(_ <- 1..count, do: mailbox())
    defp kept(pid), do: pid |> Process.info(:messages) |> elem(1)

    test "is there once for each, whatever it is and however many they are", %{machine: machine} do
      large = Map.new(1..200, &{&1, {&1, "value"}})

      for count <- [2, 15, 16, 17, 1_000, 3_000] do
        pids = keepers(count)
        room = Mote.create(machine, Room.room(pids))
        messages = [{:tell, 1}, {:number, 2}, {:tell, %{text: "text"}}, {:tell, large}, {:number, 3}]

        messages =
          messages ++ [{:tell, {large, room, Enum.to_list(1..2_000)}}, {:tell, String.duplicate("x", 5_000)}]

        for message <- messages, do: Mote.send(room, message)
        assert :ok = Mote.drain(machine, 60_000)

        expected =
          Enum.map(messages, fn
            {:tell, message} -> message
            number -> number
          end)

        for pid <- Enum.take(pids, 20) ++ [List.last(pids)], do: assert(kept(pid) == expected)
        assert Enum.all?(pids, &(Process.info(&1, :message_queue_len) == {:message_queue_len, 7}))
      end
    end

    test "keeps its place among what else is for one of them", %{machine: machine} do
      pids = keepers(50)
      # The first one twice.
      room = Mote.create(machine, Room.room([hd(pids) | pids]))
      # A first turn of few, then such as wait for the postman, and one that comes by itself behind them.
      for {from, upto} <- [{1, 1}, {2, 40}, {41, 400}], do: Mote.send(room, {:between, from, upto})
      assert {:ok, _} = Mote.ask(room, :done)
      assert :ok = Mote.drain(machine, 60_000)
      assert kept(hd(pids)) == Enum.flat_map(1..400, &[{:alone, &1}, {:number, &1}, {:number, &1}])
      for pid <- tl(pids), do: assert(kept(pid) == Enum.map(1..400, &{:number, &1}))
    end

    test "is counted for each, also for those who are gone", %{machine: machine} do
      [gone | pids] = keepers(100)
      Process.unlink(gone)
      Process.exit(gone, :kill)

      for {few, rounds} <- [{pids, 30}, {Enum.take(pids, 2), 3}] do
        %{undelivered: undelivered, foreign_out: out} = Mote.info(machine).counters
        room = Mote.create(machine, Room.room([gone | few]))
        for n <- 1..rounds, do: Mote.send(room, {:number, n})
        assert :ok = Mote.drain(machine, 60_000)
        counters = Mote.info(machine).counters

        assert {counters.undelivered - undelivered, counters.foreign_out - out} ==
                 {rounds, rounds * length(few)}
      end
    end

    @tag capture_log: true
    test "waits for the postman, is outstanding as often, and is sent at the end", %{machine: machine} do
      postman = postman(machine)
      :ok = :sys.suspend(postman)
      pids = keepers(2_500)
      room = Mote.create(machine, Room.room(pids))
      large = Map.new(1..100, &{&1, &1})
      for message <- [{:number, 1}, {:tell, large}, {:number, 2}], do: Mote.send(room, message)
      assert {:ok, _} = Mote.ask(room, :done)
      assert Mote.info(machine).mail == 7_500
      assert {:error, %Error{reason: :timeout}} = Mote.drain(machine, 50)
      # And what comes by itself waits behind it.
      Mote.send(Mote.create(machine, Actors.teller()), {hd(pids), 3, 3})
      eventually(fn -> Mote.info(machine).mail == 7_501 end)
      assert kept(hd(pids)) == []
      ref = Process.monitor(machine)
      Process.exit(postman, :kill)
      assert_receive {:DOWN, ^ref, :process, _, :killed}
      assert kept(hd(pids)) == [{:number, 1}, large, {:number, 2}, {:number, 3}]
      for pid <- tl(pids), do: assert(kept(pid) == [{:number, 1}, large, {:number, 2}])
    end
  end

  test "an answer comes after what was sent before it", %{teller: teller} do
    for _ <- 1..20 do
      assert {:ok, :told} = Mote.ask(teller, {self(), 1, 5_000})
      assert waiting() == 5_000
      numbers()
    end
  end

  test "what nobody is there to take is counted", %{machine: machine, teller: teller} do
    dead = mailbox()
    Process.unlink(dead)
    Process.exit(dead, :kill)
    Mote.send(teller, {dead, 1, 3_000})
    assert :ok = Mote.drain(machine, 60_000)
    Mote.send(teller, {self(), 1, 100})
    assert :ok = Mote.drain(machine, 60_000)
    assert %{undelivered: 3_000, foreign_out: 100} = Mote.info(machine).counters
  end

  test "the machine is not quiet while any wait", %{machine: machine, teller: teller} do
    postman = postman(machine)
    :ok = :sys.suspend(postman)
    Mote.send(teller, {self(), 1, 1_000})
    assert {:error, %Error{reason: :timeout}} = Mote.drain(machine, 50)
    assert waiting() == 0
    eventually(fn -> Mote.info(machine).mail == 1_000 end)
    # And those that come one by one wait behind them.
    Mote.send(teller, {self(), 1_001, 1_001})
    assert {:error, %Error{reason: :timeout}} = Mote.drain(machine, 50)
    # Those for others do not.
    assert Task.await(Task.async(fn -> Mote.ask!(teller, {self(), 1, 1}) end), 60_000) == :told
    :ok = :sys.resume(postman)
    assert :ok = Mote.drain(machine, 60_000)
    assert numbers() == Enum.to_list(1..1_001)
    assert Mote.info(machine).mail == 0
  end

  test "a machine that ends has sent everything", %{machine: machine, teller: teller} do
    :ok = :sys.suspend(postman(machine))
    pid = mailbox()
    {:ok, :told} = Task.await(Task.async(fn -> Mote.ask(teller, {pid, 1, 10_000}) end))
    assert Process.info(pid, :message_queue_len) == {:message_queue_len, 0}
    :ok = stop_supervised(Mote)
    assert Process.info(pid, :message_queue_len) == {:message_queue_len, 10_000}
  end

  @tag capture_log: true
  test "a machine without its postman ends, and has sent everything", %{machine: machine, teller: teller} do
    postman = postman(machine)
    :ok = :sys.suspend(postman)
    pid = mailbox()
    {:ok, :told} = Task.await(Task.async(fn -> Mote.ask(teller, {pid, 1, 10_000}) end))
    ref = Process.monitor(machine)
    Process.exit(postman, :kill)
    assert_receive {:DOWN, ^ref, :process, _, :killed}
    assert Process.info(pid, :message_queue_len) == {:message_queue_len, 10_000}
  end

  test "a postman ends with its machine", %{machine: machine} do
    ref = Process.monitor(postman(machine))
    :ok = stop_supervised(Mote)
    assert_receive {:DOWN, ^ref, :process, _, _}
  end

  test "what is for another node does not wait for the end of a rush", %{machine: machine} do
    postman = postman(machine)
    local = spawn_link(&swallow/0)
    rush = Mote.create(machine, Rush.rush(local))
    Mote.send(rush, :go)
    eventually(fn -> Mote.info(machine).mail > 0 end)

    # As the machine asks it to; its relay does not mind which node it is.
    for n <- 1..20 do
      send(postman, {:mote_abroad, [{self(), [{:abroad, n}]}]})
      assert_receive {:abroad, ^n}
    end

    Mote.send(rush, :stop)
    assert :ok = Mote.drain(machine, 60_000)
  end

  # Takes what comes, and does nothing.
  defp swallow do
    receive do
      {:number, _} -> swallow()
    end
  end
end
