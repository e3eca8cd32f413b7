defmodule Mote.OutboxHoldTest do
  # Outboxes that hold: nothing is lost, and what waits beyond the capacity counts in the sponsor that has sent it.
  use ExUnit.Case, async: true
  use ExUnitProperties
  import Mote.Eventually

  alias Mote.{Error, Outbox}
  alias Mote.OutboxHoldTest.Behaviours

  @moduletag capture_log: true

  defmodule Behaviours do
    use Mote.Behaviour

    defactor passing(out) do
      {:all, messages} -> for message <- messages, do: send(out, message)
      {:late, message} -> send_after(0, out, message)
      {:both, other, message} -> send(out, message) && send(other, message)
      message -> send out, message
    end

    # Becomes with each message: of one that never does, messages keep no order on several threads.
    defactor numbering(out, n) do
      message ->
        send out, message
        become n: n + 1
    end

    # Sends to itself, until it has counted so far.
    defactor producing(out, text) do
      {from, to} ->
        send out, {from, text}
        if from < to, do: send(self(), {from + 1, to})
    end

    # Written out, a value of depth n has 2 ** n parts.
    defactor deep(out) do
      n -> send out, nested(n, {})
    end

    defpure nested(n, value) do
      if n == 0, do: value, else: nested(n - 1, {value, value})
    end
  end

  defp start(opts \\ []), do: start_supervised!({Mote, Keyword.put(opts, :id, make_ref())})
  defp passing(machine, outbox), do: Mote.create(machine, Behaviours.passing(outbox))
  defp hold(machine, capacity), do: Outbox.open(machine, on_full: :hold, capacity: capacity)
  defp main(machine), do: Mote.info(machine).sponsors.main
  defp counters(machine), do: Mote.info(machine).counters

  # Sends numbers until none is accepted any more while nothing runs: how many were.
  defp fill(machine, actor, from) do
    answers = Stream.map(from..(from + 100_000), &{&1, Mote.send(actor, &1)})
    assert {refused, {:error, %Error{reason: :overloaded}}} = Enum.find(answers, &(elem(&1, 1) != :ok))
    # What runs counts until the end of its batch, beside what it has sent.
    :ok = Mote.drain(machine, 60_000)
    if refused == from, do: 0, else: refused - from + fill(machine, actor, refused)
  end

  test "takes every message, in order, and says how many are held" do
    machine = start()
    outbox = hold(machine, 10)
    # Some of them cannot be written in words.
    messages = for n <- 1..1_000, do: if(rem(n, 7) == 0, do: %{n: n}, else: {:n, n})
    Mote.send(passing(machine, outbox), {:all, messages})
    :ok = Mote.drain(machine, 60_000)
    assert %{held: 990, waiting: 990} = main(machine)
    assert %{waiting: 1_000, received: 1_000, overflowed: 0, capacity: 10} = Outbox.info(outbox)
    {first, rest} = Enum.split(messages, 300)
    assert Outbox.take(outbox, 300) == first
    assert %{held: 690, waiting: 690} = main(machine)
    assert Outbox.take(outbox, 1_000) == rest
    assert %{held: 0, waiting: 0} = main(machine)
    assert %{foreign_out: 1_000, overflowed: 0} = counters(machine)
  end

  test "a sponsor is full while its messages are held, and takes messages again as they are taken" do
    machine = start(sponsors: [main: [inbox: 50]])
    outbox = hold(machine, 5)
    passing = passing(machine, outbox)
    accepted = fill(machine, passing, 1)
    # A place may have been taken ahead.
    assert accepted in 54..55
    assert main(machine).held == accepted - 5
    assert Outbox.take(outbox, 20) == Enum.to_list(1..20)
    more = fill(machine, passing, accepted + 1)
    assert more in 19..21
    assert Outbox.take(outbox, 100) == Enum.to_list(21..(accepted + more))
    assert %{held: 0, waiting: 0} = main(machine)
  end

  test "who waits for room goes on as messages are taken" do
    machine = start(sponsors: [main: [inbox: 20, on_full: :wait]])
    outbox = hold(machine, 3)
    passing = passing(machine, outbox)
    sender = Task.async(fn -> for n <- 1..500, do: Mote.send(passing, n, timeout: :infinity) end)
    eventually(fn -> main(machine).held >= 15 end)
    assert Outbox.info(outbox).waiting <= 23
    taken = outbox |> Outbox.stream() |> Enum.take(500)
    assert taken == Enum.to_list(1..500)
    assert Task.await(sender, 60_000) == List.duplicate(:ok, 500)
    :ok = Mote.drain(machine, 60_000)
    assert %{held: 0, waiting: 0} = main(machine)
  end

  test "when its owner ends it closes, what is held is undelivered, and who waits goes on" do
    machine = start(sponsors: [main: [inbox: 20, on_full: :wait]])
    test = self()

    owner =
      spawn(fn ->
        Kernel.send(test, hold(machine, 3))
        receive do: (:stop -> :ok)
      end)

    assert_receive %Outbox{} = outbox
    passing = passing(machine, outbox)
    sender = Task.async(fn -> for n <- 1..100, do: Mote.send(passing, n, timeout: :infinity) end)
    eventually(fn -> main(machine).held >= 15 end)
    Kernel.send(owner, :stop)
    assert Task.await(sender, 60_000) == List.duplicate(:ok, 100)
    :ok = Mote.drain(machine, 60_000)
    assert %{held: 0, waiting: 0} = main(machine)
    assert counters(machine).undelivered == 100
    assert Outbox.take(outbox) == []
  end

  test "one that is closed gives what it holds, and no place is taken for ever" do
    machine = start()
    outbox = hold(machine, 1)
    passing = passing(machine, outbox)
    Mote.send(passing, {:all, [1, 2, 3]})
    :ok = Mote.drain(machine, 60_000)
    :ok = Outbox.close(outbox)
    Mote.send(passing, 4)
    :ok = Mote.drain(machine, 60_000)
    assert %{held: 2} = main(machine)
    assert Enum.to_list(Outbox.stream(outbox)) == [1, 2, 3]
    assert %{held: 0, waiting: 0} = main(machine)
    assert counters(machine).undelivered == 1
  end

  test "at the quota turns are aborted, what was sent is kept, and all goes on when there is room" do
    machine = start(memory: 16_000_000)
    outbox = hold(machine, 10)
    producing = Mote.create(machine, Behaviours.producing(outbox, :binary.copy("x", 200)))
    Mote.send(producing, {1, 1_000_000})
    :ok = Mote.drain(machine, 60_000)
    # The last number has been sent to itself, and its turn was aborted.
    assert %{aborts_no_memory: 1, overflowed: 0, refused_no_memory: 0} = counters(machine)
    assert %{received: received, waiting: received} = Outbox.info(outbox)
    assert received in 10_000..200_000
    assert Mote.info(machine).memory.charged <= 16_000_000
    assert {:error, %Error{reason: :no_memory}} = Mote.send(producing, {0, :binary.copy("x", 4_000_000)})
    taken = Outbox.take(outbox, received + 1)
    assert Enum.map(taken, &elem(&1, 0)) == Enum.to_list(1..received)
    Mote.send(producing, {received + 1, received + 1_000})
    :ok = Mote.drain(machine, 60_000)
    taken = Outbox.take(outbox, 2_000)
    assert Enum.map(taken, &elem(&1, 0)) == Enum.to_list((received + 1)..(received + 1_000))
    assert %{aborts_no_memory: 1} = counters(machine)
  end

  test "a turn that sends more than there is memory for sends nothing of it, to nobody" do
    machine = start(memory: 16_000_000)
    outbox = hold(machine, 10)
    passing = passing(machine, outbox)
    # A hundred messages, of which each would fit.
    large = Enum.to_list(1..10_000)
    Mote.send(passing, {:all, List.duplicate(large, 100)})
    :ok = Mote.drain(machine, 60_000)
    assert %{aborts_no_memory: 1, foreign_out: 0, overflowed: 0} = counters(machine)
    Mote.send(passing, {:all, List.duplicate(large, 10)})
    :ok = Mote.drain(machine, 60_000)
    assert Outbox.take(outbox, 100) == List.duplicate(large, 10)
    # Larger than all that there is, though it is small here.
    Mote.send(Mote.create(machine, Behaviours.deep(outbox)), 22)
    :ok = Mote.drain(machine, 60_000)
    assert %{aborts_no_memory: 2, overflowed: 0} = counters(machine)
    assert Outbox.take(outbox) == []
  end

  test "what timers send is held, and stays where the machine is saved" do
    machine = start()
    outbox = hold(machine, 1)
    passing = passing(machine, outbox)
    for n <- 1..5, do: Mote.send(passing, {:late, n})
    eventually(fn -> main(machine).held == 4 end)
    path = Path.join(System.tmp_dir!(), "mote-hold-#{System.unique_integer([:positive])}.image")
    on_exit(fn -> File.rm(path) end)
    {:ok, _} = Mote.save(machine, path)
    {:ok, again} = Mote.start_link(image: path)
    assert %{held: 0, waiting: 0} = main(again)
    assert Enum.sort(Outbox.take(outbox)) == [1, 2, 3, 4, 5]
    assert main(machine).held == 0
  end

  test "counts in the sponsor of the machine that has sent" do
    [one, two] = [start(), start()]
    outbox = hold(one, 2)
    Mote.send(passing(two, outbox), {:all, [1, 2, 3, 4]})
    :ok = Mote.drain(two, 60_000)
    assert {0, 2} = {main(one).held, main(two).held}
    Mote.send(passing(one, outbox), 5)
    :ok = Mote.drain(one, 60_000)
    assert {1, 2} = {main(one).held, main(two).held}
    assert Outbox.take(outbox) == [1, 2, 3, 4, 5]
    assert {0, 0} = {main(one).held, main(two).held}
  end

  test "what is held can be taken after the end of the machine, and counts as messages in outboxes" do
    test = self()
    id = make_ref()
    machine = start_supervised!({Mote, id: :ending, shutdown: [drain: 0]})

    handler = fn _, figures, %{machine: from}, _ -> from == machine && Kernel.send(test, {:left, figures}) end
    :ok = :telemetry.attach(id, [:mote, :machine, :unfinished], handler, nil)
    on_exit(fn -> :telemetry.detach(id) end)
    outbox = hold(machine, 2)
    Mote.send(passing(machine, outbox), {:all, [1, 2, 3, 4]})
    :ok = Mote.drain(machine, 60_000)
    stop_supervised!(:ending)
    assert_receive {:left, %{events: 0, letters: 4}}
    assert Outbox.take(outbox) == [1, 2, 3, 4]
  end

  test "options are checked" do
    machine = start()

    for opts <- [[on_full: :wait], [on_full: true], [on_full: :hold, capacity: 0]],
        do: assert_raise(ArgumentError, ~r/on_full: :discard or :hold/, fn -> Outbox.open(machine, opts) end)
  end

  property "nothing is lost and all places are given back, whatever the threads, the sponsors and the takes" do
    machine =
      start(sponsors: [main: [threads: 2, inbox: 40, on_full: :wait], other: [inbox: 30, on_full: :wait]])

    check all(
            senders <- list_of({member_of([:main, :other]), integer(1..200)}, min_length: 1, max_length: 4),
            capacity <- integer(1..60),
            takes <- list_of(integer(0..50), max_length: 10),
            max_runs: 30
          ) do
      outbox = hold(machine, capacity)

      tasks =
        for {{sponsor, n}, name} <- Enum.with_index(senders) do
          actor = Mote.create(machine, Behaviours.numbering(outbox, 0))

          Task.async(fn ->
            for i <- 1..n, do: :ok = Mote.send(actor, {name, i}, sponsor: sponsor, timeout: :infinity)
          end)
        end

      total = senders |> Enum.map(&elem(&1, 1)) |> Enum.sum()
      some = takes |> Enum.flat_map(&Outbox.take(outbox, &1))
      all = some ++ Enum.take(Outbox.stream(outbox), total - length(some))
      Task.await_many(tasks, 60_000)

      for {{_, n}, name} <- Enum.with_index(senders),
          do: assert(for({^name, i} <- all, do: i) == Enum.to_list(1..n))

      :ok = Mote.drain(machine, 60_000)
      for {_, sponsor} <- Mote.info(machine).sponsors, do: assert(%{held: 0, waiting: 0} = sponsor)
      assert %{overflowed: 0} = Outbox.info(outbox)
    end
  end
end
