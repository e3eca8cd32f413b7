defmodule Mote.OutboxTest do
  # Outboxes: order, wake-ups, bounds, owners that end, demand.
  use ExUnit.Case, async: true
  use ExUnitProperties
  import Mote.Eventually

  alias Mote.{Actors, Error, Outbox}
  alias Mote.OutboxTest.{Producer, Senders}

  doctest Outbox

  @moduletag capture_log: true

  defmodule Senders do
    use Mote.Behaviour, errors: :undefined

    # Sends its name with every number, as many as it is told.
    defactor sender(name, out, next) do
      n ->
        for i <- 0..(n - 1)//1, do: send(out, {name, next + i})
        become sender(name, out, next + n)
    end

    defactor says(out) do
      {:lost, message} ->
        send out, message
        abort(:no)

      {:twice, message} ->
        send out, message
        send out, message

      {:all, messages} ->
        for message <- messages, do: send(out, message)

      {:to, targets, n} ->
        for i <- 1..n, target <- targets, do: send(target, i)

      {customer, :compare, other} ->
        send customer, {out === other, out == other, is_address(out), is_address(other)}

      message ->
        send out, message
    end
  end

  # The shape of a producer of GenStage, without it.
  defmodule Producer do
    def init(machine) do
      Mote.monitor(machine)
      {:producer, {Outbox.open(machine), 0}}
    end

    def handle_demand(demand, {outbox, owed}), do: satisfy(outbox, owed + demand)
    def handle_info({:mote_outbox, outbox}, {outbox, owed}), do: satisfy(outbox, owed)
    def handle_info({:DOWN, _, :process, _machine, reason}, state), do: {:stop, reason, state}

    defp satisfy(outbox, owed) do
      events = Outbox.take(outbox, owed)
      {:noreply, events, {outbox, owed - length(events)}}
    end
  end

  setup do
    machine = start()
    %{machine: machine, outbox: Outbox.open(machine)}
  end

  defp start(opts \\ []), do: start_supervised!({Mote, Keyword.put(opts, :id, make_ref())})
  defp says(machine, outbox), do: Mote.create(machine, Senders.says(outbox))
  defp sender(machine, name, outbox), do: Mote.create(machine, Senders.sender(name, outbox, 0))

  describe "an outbox" do
    test "carries every term, equal and in order", %{machine: machine, outbox: outbox} do
      says = says(machine, outbox)

      terms = [
        1,
        -1.5,
        1.0e300,
        :atom,
        "text",
        "",
        [],
        {},
        [1, [2 | 3], {"four", 5.0}],
        %{map: 1},
        self(),
        make_ref(),
        2 ** 80,
        says,
        outbox,
        String.duplicate("long", 10_000),
        Enum.to_list(1..1_000),
        Enum.reduce(1..50, 1, fn _, inner -> {inner} end),
        <<1::3>>,
        &Outbox.take/1
      ]

      for term <- terms, do: Mote.send(says, term)
      Mote.drain(machine, 60_000)
      assert Outbox.take(outbox, 100) == terms
      assert Outbox.take(outbox) == []
      assert %{received: 20, waiting: 0, overflowed: 0, closed: false, capacity: 65_536} = Outbox.info(outbox)
    end

    test "wakes its owner once, until it was found empty", %{machine: machine, outbox: outbox} do
      says = says(machine, outbox)
      for n <- 1..5, do: Mote.send(says, n)
      Mote.drain(machine, 60_000)
      assert_receive {:mote_outbox, ^outbox}
      assert Outbox.take(outbox, 2) == [1, 2]
      Mote.send(says, 6)
      Mote.drain(machine, 60_000)
      assert Outbox.take(outbox, 4) == [3, 4, 5, 6]
      refute_received {:mote_outbox, _}
      assert Outbox.take(outbox, 1) == []
      Mote.send(says, 7)
      assert_receive {:mote_outbox, ^outbox}
      assert Outbox.take(outbox, 0) == []
      assert Outbox.take(outbox, 1) == [7]
    end

    test "gets nothing from an aborted turn", %{machine: machine, outbox: outbox} do
      says = says(machine, outbox)
      Mote.send(says, {:lost, 1})
      Mote.send(says, {:twice, 2})
      Mote.drain(machine, 60_000)
      assert Outbox.take(outbox) == [2, 2]
    end

    test "takes what one turn sends in its order, whatever it is, up to its bound", %{machine: machine} do
      outbox = Outbox.open(machine, capacity: 140)
      # Some of them cannot be written in words.
      messages = for n <- 1..150, do: if(rem(n, 7) == 0 or n > 135, do: %{n: n}, else: {:n, n})
      Mote.send(says(machine, outbox), {:all, messages})
      Mote.drain(machine, 60_000)
      assert_receive {:mote_outbox, ^outbox}
      assert Outbox.take(outbox, 200) == Enum.take(messages, 140)
      refute_received {:mote_outbox, _}
      assert %{received: 140, overflowed: 10} = Outbox.info(outbox)
      assert %{foreign_out: 140, overflowed: 10} = Mote.info(machine).counters
    end

    test "and everybody else gets what a turn sends in between", %{machine: machine} do
      [one, other] = [Outbox.open(machine), Outbox.open(machine)]
      dead = spawn(fn -> :ok end)
      eventually(fn -> not Process.alive?(dead) end)
      Mote.send(says(machine, one), {:to, [one, one, self(), other, dead, self()], 70})
      Mote.drain(machine, 60_000)
      twice = Enum.flat_map(1..70, &[&1, &1])
      assert Outbox.take(one, 200) == twice
      assert Outbox.take(other, 200) == Enum.to_list(1..70)
      assert for(_ <- 1..140, do: receive(do: (n when is_integer(n) -> n))) == twice
      assert %{foreign_out: 350, undelivered: 70} = Mote.info(machine).counters
    end

    test "is an address that is equal to itself", %{machine: machine} do
      [outbox, other] = [Outbox.open(machine), Outbox.open(machine)]
      says = says(machine, outbox)
      Mote.send(says, {self(), :compare, outbox})
      assert_receive {true, true, true, true}
      Mote.send(says, {self(), :compare, other})
      assert_receive {false, false, true, true}
      assert Mote.Total.is_address(outbox)
      assert inspect(outbox) =~ ~r/^#Mote.Outbox<[0-9a-z]+>$/
    end

    test "may be written to by several machines" do
      [one, two] = [start(), start()]
      outbox = Outbox.open(one)
      for machine <- [one, two], do: Mote.send(says(machine, outbox), :hello)
      for machine <- [one, two], do: Mote.drain(machine, 60_000)
      assert Outbox.take(outbox) == [:hello, :hello]
    end

    test "gives many at once", %{machine: machine} do
      outbox = Outbox.open(machine, capacity: 200_000)
      Mote.send(sender(machine, :a, outbox), 100_000)
      Mote.drain(machine, 60_000)
      assert Outbox.take(outbox, 100_000) == for(n <- 0..99_999, do: {:a, n})
    end

    test "keeps what is in it alive", %{machine: machine, outbox: outbox} do
      Mote.send(says(machine, outbox), Mote.create(machine, Actors.echo()))
      Mote.drain(machine, 60_000)
      :erlang.garbage_collect()
      Mote.gc(machine)
      assert [echo] = Outbox.take(outbox)
      assert Mote.ask!(echo, :still_there) == :still_there
    end
  end

  describe "a bound" do
    test "throws the newest away, and counts", %{machine: machine} do
      outbox = Outbox.open(machine, capacity: 3)
      sender = sender(machine, :a, outbox)
      Mote.send(sender, 5)
      Mote.drain(machine, 60_000)
      assert %{waiting: 3, received: 3, overflowed: 2} = Outbox.info(outbox)
      assert Mote.info(machine).counters.overflowed == 2
      assert Outbox.take(outbox, 2) == [a: 0, a: 1]
      Mote.send(sender, 1)
      Mote.drain(machine, 60_000)
      assert Outbox.take(outbox) == [a: 2, a: 5]
    end
  end

  describe "the end" do
    test "of its owner closes it; what waits is counted as undelivered", %{machine: machine} do
      test = self()

      owner =
        spawn(fn ->
          send(test, Outbox.open(machine))
          receive do: (:stop -> :ok)
        end)

      assert_receive %Outbox{} = outbox
      sender = sender(machine, :a, outbox)
      Mote.send(sender, 3)
      Mote.drain(machine, 60_000)
      monitor = Process.monitor(owner)
      send(owner, :stop)
      assert_receive {:DOWN, ^monitor, _, _, _}
      eventually(fn -> Outbox.info(outbox).closed end)
      Mote.send(sender, 2)
      Mote.drain(machine, 60_000)
      assert Outbox.take(outbox) == []
      assert Mote.info(machine).counters.undelivered == 5
    end

    test "by closing leaves what waits", %{machine: machine, outbox: outbox} do
      sender = sender(machine, :a, outbox)
      Mote.send(sender, 2)
      Mote.drain(machine, 60_000)
      assert Outbox.close(outbox) == :ok
      Mote.send(sender, 2)
      Mote.drain(machine, 60_000)
      assert Enum.to_list(Outbox.stream(outbox)) == [a: 0, a: 1]
      assert Mote.info(machine).counters.undelivered == 2
    end

    test "of the machine leaves what waits" do
      machine = start_supervised!({Mote, id: :ending, shutdown: [drain: 0]})
      outbox = Outbox.open(machine)
      Mote.send(sender(machine, :a, outbox), 2)
      Mote.drain(machine, 60_000)
      refute Outbox.info(outbox).closed
      stop_supervised!(:ending)
      assert %{closed: true, waiting: 2} = Outbox.info(outbox)
      assert Enum.to_list(Outbox.stream(outbox)) == [a: 0, a: 1]
      assert_raise Error, fn -> Outbox.open(machine) end
    end
  end

  test "of a machine that was killed is closed" do
    {:ok, machine} = Mote.start_link()
    Process.unlink(machine)
    outbox = Outbox.open(machine)
    ref = Mote.monitor(machine)
    Process.exit(machine, :kill)
    assert_receive {:DOWN, ^ref, :process, ^machine, :killed}
    eventually(fn -> Outbox.info(outbox).closed end)
    assert Outbox.take(outbox) == []
  end

  describe "a stream" do
    test "is lazy, waits, and leaves no message behind", %{machine: machine, outbox: outbox} do
      sender = sender(machine, :a, outbox)
      spawn(fn -> for _ <- 1..50, do: Process.sleep(1) && Mote.send(sender, 10) end)
      assert outbox |> Outbox.stream() |> Stream.map(&elem(&1, 1)) |> Enum.take(400) == Enum.to_list(0..399)
      Mote.drain(machine, 60_000)
      refute_received {:DOWN, _, _, _, _}
    end

    test "that is halted leaves what it has not given in the outbox", %{machine: machine, outbox: outbox} do
      Mote.send(sender(machine, :a, outbox), 10)
      Mote.drain(machine, 60_000)
      assert outbox |> Outbox.stream() |> Enum.take(3) == [a: 0, a: 1, a: 2]
      assert [{:a, 3} | _] = rest = Outbox.take(outbox)
      assert length(rest) == 7
    end

    test "that is halted leaves a wake-up if something waits, and else lets the next message bring one", %{
      machine: machine,
      outbox: outbox
    } do
      sender = sender(machine, :a, outbox)
      Mote.send(sender, 3)
      Mote.drain(machine, 60_000)
      assert outbox |> Outbox.stream() |> Enum.take(1) == [a: 0]
      assert_received {:mote_outbox, ^outbox}
      assert outbox |> Outbox.stream() |> Enum.take(2) == [a: 1, a: 2]
      refute_received {:mote_outbox, ^outbox}
      Mote.send(sender, 2)
      Mote.drain(machine, 60_000)
      assert_receive {:mote_outbox, ^outbox}
      assert Outbox.take(outbox) == [a: 3, a: 4]
      refute_received {:mote_outbox, ^outbox}
    end

    test "is its owner's", %{outbox: outbox} do
      task = Task.async(fn -> catch_error(Enum.take(Outbox.stream(outbox), 1)) end)
      assert %ArgumentError{message: "#Mote.Outbox<" <> _} = Task.await(task, 60_000)
    end
  end

  test "demand is respected, as GenStage has it", %{machine: machine} do
    {:producer, {outbox, 0} = state} = Producer.init(machine)
    sender = sender(machine, :a, outbox)
    assert {:noreply, [], state} = Producer.handle_demand(3, state)
    Mote.send(sender, 5)
    assert_receive {:mote_outbox, ^outbox} = wake_up
    Mote.drain(machine, 60_000)
    assert {:noreply, [a: 0, a: 1, a: 2], state} = Producer.handle_info(wake_up, state)
    assert {:noreply, [a: 3, a: 4], {_, 8} = state} = Producer.handle_demand(10, state)
    Mote.send(sender, 1)
    assert_receive {:mote_outbox, ^outbox} = wake_up
    assert {:noreply, [a: 5], {_, 7} = state} = Producer.handle_info(wake_up, state)
    Mote.stop(machine)
    assert_receive {:DOWN, _, :process, ^machine, _} = down
    assert Producer.handle_info(down, state) == {:stop, :normal, state}
  end

  test "errors", %{machine: machine, outbox: outbox} do
    for opts <- [[capacity: 0], [capacity: :many], [size: 1], :full],
        do: assert_raise(ArgumentError, ~r/capacity/, fn -> Outbox.open(machine, opts) end)

    for fun <- [&Outbox.take/1, &Outbox.info/1, &Outbox.close/1, &Outbox.stream/1],
        do: assert_raise(ArgumentError, ~r/an outbox/, fn -> fun.(self()) end)

    assert_raise ArgumentError, ~r/number of messages/, fn -> Outbox.take(outbox, -1) end

    for other <- [
          %{outbox | ref: make_ref()},
          %{outbox | ref: nil},
          %{outbox | machine: make_ref(), ref: make_ref()}
        ],
        fun <- [&Outbox.take/1, &Outbox.info/1, &Outbox.close/1, &Enum.take(Outbox.stream(&1), 1)] do
      error = assert_raise ArgumentError, fn -> fun.(other) end

      assert error.message =~
               "#{inspect(other)} is not an outbox of this node: it is taken from on the node where"
    end
  end

  property "first in, first out for each sender, whatever the threads, the bursts and the takes" do
    machine = start(sponsors: [main: [threads: 2]])

    check all(
            bursts <- list_of(tuple({integer(0..3), integer(0..40)}), min_length: 1, max_length: 20),
            takes <- list_of(integer(0..50), min_length: 1),
            max_runs: 50
          ) do
      outbox = Outbox.open(machine, capacity: 10_000)
      senders = for name <- 0..3, do: sender(machine, name, outbox)
      for {name, n} <- bursts, do: Mote.send(Enum.at(senders, name), n)
      some = Enum.flat_map(takes, &Outbox.take(outbox, &1))
      :ok = Mote.drain(machine, 60_000)
      all = some ++ Outbox.take(outbox, 10_000)

      for name <- 0..3 do
        total = Enum.sum(for {^name, n} <- bursts, do: n)
        assert for({^name, n} <- all, do: n) == Enum.to_list(0..(total - 1)//1)
      end
    end
  end
end
