defmodule Mote.AskAtOnceTest do
  # What a question leaves behind that the call itself answers, and what becomes of one whose customer gets away first.
  use ExUnit.Case, async: true
  import Mote.Eventually

  alias Mote.{Actors, Customer, Error, Native, Outbox, Tally}

  defmodule Escapes do
    use Mote.Behaviour

    # `{customer, :keep}` captures the customer; `:answer` answers.
    defactor holder(held) do
      {customer, :keep} -> become holder(customer)
      {customer, :answer} -> send(customer, :answered) && send(held, :kept) && become(holder(:nobody))
    end

    # Hands the customer to a process, an outbox or an actor.
    defactor passer(to) do
      {customer, request} -> send to, {customer, request}
    end

    # Answers after so many milliseconds, and says twice what there is to say.
    defactor later() do
      {customer, ms} -> send_after(ms, customer, :later)
    end

    defactor twice() do
      {customer, request} ->
        send customer, {:first, request}
        send customer, {:second, request}
    end

    defactor teller(to) do
      {customer, n} ->
        send to, {:told, n}
        send customer, n
    end

    defactor creator() do
      {customer, :later} -> send create(passer(customer)), {:who, :cares}
      {customer, :address} -> send customer, create(twice())
    end

    defactor sizes() do
      {customer, n} -> send customer, Enum.to_list(1..n)
    end
  end

  setup do
    machine = start_supervised!({Mote, sponsors: [main: []]})
    %{machine: machine}
  end

  # The question as the call puts it.
  defp put(%{machine: native, key: key}, request), do: Native.ask(native, key, nil, request)

  # What the call returns that has stood in: whether the thread sleeps when it is put is chance.
  defp call(machine, actor, request) do
    eventually(fn ->
      asleep(machine)
      answered = put(actor, request)
      if not is_reference(answered), do: answered
    end)
  end

  defp quiet(machine) do
    eventually(fn -> Mote.info(machine).questions.open == 0 end)
    assert Process.info(self(), [:messages, :monitors]) == [messages: [], monitors: []]
  end

  @moduletag not_under_stress: "a thread that collects all the time does not sleep"
  @moduletag capture_log: true

  test "an answer is what the call returns, and there is no message", %{machine: machine} do
    echo = Mote.create(machine, Actors.echo())

    for request <- [1, :read, 1.5, "text", {:a, [1, %{b: 2}]}, self(), make_ref(), echo],
        do: assert(call(machine, echo, request) == {:ok, request})

    quiet(machine)
  end

  test "so is the reason why there is none", %{machine: machine} do
    faithless = Mote.create(machine, Tally.faithless())
    assert {:mote_failed, {:aborted, Tally, :faithless, _}} = call(machine, faithless, :fail)
    asleep(machine)
    assert {:error, %Error{reason: :aborted}} = Mote.ask(faithless, :fail)
    # Nobody can answer any more, as soon as the turn that forgot it has ended.
    asleep(machine)
    assert {:error, %Error{reason: :broken_promise}} = Mote.ask(faithless, :forget)
    assert Mote.info(machine).questions.broken == 1
    quiet(machine)
  end

  test "a question that only reads leaves nothing in the heap", %{machine: machine} do
    keeper = Mote.create(machine, Actors.keeper({:kept, [1, 2, 3]}))
    ask = fn n -> for(_ <- 1..n, do: {:ok, {:kept, [1, 2, 3]}} = Mote.ask(keeper, :get)) end
    asleep(machine)
    # A heap grows by blocks: those that it works with are taken by now.
    ask.(3_000)
    %{memory: before, counters: first} = Mote.info(machine)
    ask.(50_000)
    %{memory: later, counters: last} = Mote.info(machine)
    # What the thread answers itself waits for a collection.
    missed = last.turns - first.turns - (last.stand_ins - first.stand_ins)
    block = 2 * 1_024 * 1_024
    # Much less than a block: code that has been compiled meanwhile, and the like.
    other = div(block, 8)
    assert later.charged - before.charged <= ceil(1_000 * missed / block) * block + other
  end

  test "what an actor has kept of a question stays", %{machine: machine} do
    keeper = Mote.create(machine, Actors.keeper(nil))

    for n <- 1..300 do
      assert {:ok, kept} = Mote.ask(keeper, {:swap, {n, "a text that is kept", [n]}})
      assert kept == if(n > 1, do: {n - 1, "a text that is kept", [n - 1]})
    end

    Mote.gc(machine)
    assert Mote.ask(keeper, :get) == {:ok, {300, "a text that is kept", [300]}}
  end

  test "a customer that is captured answers later", %{machine: machine} do
    holder = Mote.create(machine, Escapes.holder(:nobody))
    asleep(machine)
    asker = put(holder, :keep)
    assert is_reference(asker)
    tag = make_ref()
    assert Native.ask_wait(holder.machine, asker, tag) == asker
    Mote.gc(machine)
    assert Mote.ask(holder, :answer) == {:ok, :answered}
    assert_receive {^tag, :kept}
    assert Native.cancel(asker) == false
    quiet(machine)
  end

  test "an answer that comes before the process waits is what it gets then", %{machine: machine} do
    holder = Mote.create(machine, Escapes.holder(:nobody))
    asleep(machine)
    asker = put(holder, :keep)
    assert Mote.ask(holder, :answer) == {:ok, :answered}
    assert Native.ask_wait(holder.machine, asker, make_ref()) == {:ok, :kept}

    # One that the machine has to break, as well.
    asleep(machine)
    asker = put(holder, :keep)
    Mote.send(holder, {:nobody, :keep})
    Mote.drain(machine)
    Mote.gc(machine)
    eventually(fn -> Mote.info(machine).questions.broken == 1 end)
    assert Native.ask_wait(holder.machine, asker, make_ref()) == {:mote_failed, :broken_promise}
    quiet(machine)
  end

  test "a large one becomes a message all the same", %{machine: machine} do
    passer = Mote.create(machine, Escapes.passer(self()))
    asleep(machine)
    asker = put(passer, :hi)
    assert_receive {customer, :hi}
    large = Enum.to_list(1..2_000)
    :ok = Mote.send(customer, large)
    tag = make_ref()
    assert Native.ask_wait(passer.machine, asker, tag) == asker
    assert_receive {^tag, ^large}

    sizes = Mote.create(machine, Escapes.sizes())
    for n <- [1, 200, 300, 100_000], do: assert({:ok, ^n} = {:ok, length(Mote.ask!(sizes, n))})
    quiet(machine)
  end

  test "a customer that a process is sent is one and the same, and answers once", %{machine: machine} do
    passer = Mote.create(machine, Escapes.passer(self()))
    forward = Mote.create(machine, Actors.forward(passer))
    asking = Task.async(fn -> Mote.ask(forward, :who) end)
    assert_receive {%Customer{} = customer, :who}
    Mote.send(forward, {:sent, customer})
    assert_receive {:sent, ^customer}
    echo = Mote.create(machine, Actors.echo())
    assert Mote.ask(echo, customer) == {:ok, customer}
    Mote.gc(machine)
    for answer <- [1, 2], do: :ok = Mote.send(customer, answer)
    assert Task.await(asking, 60_000) == {:ok, 1}
  end

  test "a customer that only a process holds is lost with it", %{machine: machine} do
    holder = spawn(fn -> receive(do: ({_customer, :who} -> :ok)) end)
    passer = Mote.create(machine, Escapes.passer(holder))
    asking = Task.async(fn -> Mote.ask(passer, :who) end)
    assert {:error, %Error{reason: :broken_promise}} = Task.await(asking, 60_000)
    assert Mote.info(machine).questions.broken == 1
  end

  test "a customer goes by an outbox, a timer and a new actor", %{machine: machine} do
    outbox = Outbox.open(machine)
    passer = Mote.create(machine, Escapes.passer(outbox))
    asking = Task.async(fn -> Mote.ask(passer, :by_outbox) end)
    assert_receive {:mote_outbox, ^outbox}
    assert [{customer, :by_outbox}] = Outbox.take(outbox)
    Mote.send(customer, :taken)
    assert Task.await(asking, 60_000) == {:ok, :taken}

    later = Mote.create(machine, Escapes.later())
    asleep(machine)
    assert later |> put(60_000) |> is_reference()
    assert Mote.ask(later, 1) == {:ok, :later}

    creator = Mote.create(machine, Escapes.creator())
    asleep(machine)
    assert {:ok, {:who, :cares}} = Mote.ask(creator, :later)
    asleep(machine)
    assert {:ok, twice} = Mote.ask(creator, :address)
    Mote.gc(machine)
    assert Mote.ask(twice, 1) == {:ok, {:first, 1}}
  end

  test "the first of two answers counts, and the other is thrown away", %{machine: machine} do
    twice = Mote.create(machine, Escapes.twice())
    assert call(machine, twice, 7) == {:ok, {:first, 7}}
    assert Mote.info(machine).counters.undelivered >= 1
    quiet(machine)
  end

  test "what the actor sends before it answers is there before", %{machine: machine} do
    teller = Mote.create(machine, Escapes.teller(self()))

    for n <- 1..500 do
      assert {:ok, n} == Mote.ask(teller, n)
      assert_received {:told, ^n}
    end
  end

  test "a caller that is killed while it asks has given up", %{machine: machine} do
    tally = Mote.create(machine, Tally.tally(0))

    for _ <- 1..50 do
      asking = spawn(fn -> for _ <- Stream.cycle([1]), do: Mote.ask(tally, 1) end)
      asked = Mote.info(machine).counters.turns
      eventually(fn -> Mote.info(machine).counters.turns > asked end)
      Process.exit(asking, :kill)
    end

    eventually(fn -> Mote.info(machine).questions.open == 0 end)
    assert {:ok, _} = Mote.ask(tally, 0)
  end

  test "a deadline of 0 takes what is there at once", %{machine: machine} do
    echo = Mote.create(machine, Actors.echo())
    asleep(machine)
    assert Mote.ask(echo, :now, 0) == {:ok, :now}
    later = Mote.create(machine, Escapes.later())
    asleep(machine)
    assert {:error, %Error{reason: :timeout}} = Mote.ask(later, 60_000, 0)
    quiet(machine)
  end

  test "paused and seeded machines answer by messages", %{machine: machine} do
    echo = Mote.create(machine, Actors.echo())
    asleep(machine)
    Mote.pause(machine)
    asker = Native.ask(echo.machine, echo.key, nil, :paused)
    assert is_reference(asker)
    Mote.resume(machine)
    tag = make_ref()

    case Native.ask_wait(echo.machine, asker, tag) do
      ^asker -> assert_receive {^tag, :paused}
      answered -> assert answered == {:ok, :paused}
    end

    # The asker's side is held until here: without it nobody would wait for the answer any more.
    refute Native.cancel(asker)

    seeded = start_supervised!({Mote, schedule: {:seeded, 1}}, id: :seeded)
    echo = Mote.create(seeded, Actors.echo())
    assert Mote.ask(echo, :seeded) == {:ok, :seeded}
  end

  test "what is not asked is not open", %{machine: machine} do
    echo = Mote.create(machine, Actors.echo())
    %{machine: native, key: key} = echo
    forged = binary_part(key, 0, 4) <> <<0::544>>
    assert Native.ask(native, forged, nil, 1) == :unknown
    assert Native.ask(native, key, :nowhere, 1) == :no_sponsor
    assert Native.ask(native, key, nil, Enum.to_list(1..100_000)) == :big
    assert Native.ask(native, key, nil, :binary.copy("a", 10_000)) == :long
    large = Enum.to_list(1..100_000)
    assert Mote.ask(echo, large) == {:ok, large}
    long = :binary.copy("a", 10_000)
    assert Mote.ask(echo, long) == {:ok, long}
    Mote.stop(machine)
    assert Native.ask(native, key, nil, 1) == :stopped
    assert {:error, %Error{reason: :machine_down}} = Mote.ask(echo, 1)
  end
end
