defmodule Mote.QuotaTest do
  # Not async: it starts and stops machines by the hundred, and looks at the memory of the whole process.
  use ExUnit.Case
  import Mote.Eventually

  alias Mote.{Error, Holders, Outbox}

  @moduletag capture_log: true

  @megabyte 1024 * 1024
  # Of a turn that is to last while others send: a machine may take a nanosecond for ten of them.
  @most_steps 1_000_000_000_000

  defmodule Actors do
    use Mote.Behaviour, errors: :undefined

    @doc "Counts lists; is busy for as many steps as it is told."
    defactor counter(count) do
      {customer, :read} ->
        send customer, count

      {customer, {:count, [_ | _]}} ->
        send customer, :counted
        become counter(count + 1)

      steps when is_integer(steps) ->
        spin(steps)

      [_ | _] ->
        become counter(count + 1)
    end

    @doc "Tells an actor as often as it is told, and passes questions on to it."
    defactor teller(to) do
      {customer, {:pass, message}} -> send to, {customer, {:count, message}}
      {message, times} -> for _ <- 1..times, do: send(to, message)
    end

    @doc "Sends the beginning of binaries."
    defactor cutter(to) do
      {binary, size} ->
        <<part::binary-size(size), _::binary>> = binary
        send to, part
    end

    @doc "Does as many things in one turn as it is told, and says when it has."
    defactor many(times) do
      {customer, {:send, n}} ->
        for _ <- 1..n, do: send(self(), :nothing)
        send customer, :done
        become many(times + 1)

      {customer, {:sendx, n}} ->
        for _ <- 1..n, do: sendx(:other, self(), :nothing)
        send customer, :done
        become many(times + 1)

      {customer, {:arm, n}} ->
        for _ <- 1..n, do: send_after(3_600_000, self(), :nothing)
        send customer, :done
        become many(times + 1)

      {customer, {:create, n}} ->
        for _ <- 1..n, do: send(create(counter(0)), 0)
        send customer, :done
        become many(times + 1)

      {customer, {:spin, n}} ->
        send self(), :nothing
        create(counter(0))
        send customer, spin(n)
        become many(times + 1)

      {customer, {:deep, n}} ->
        send self(), :nothing
        create(counter(0))
        send customer, deep(n)
        become many(times + 1)

      {customer, {:lists, list, times_over}} ->
        send self(), :nothing
        create(counter(0))
        send customer, over(list, times_over)

      {customer, :times} ->
        send customer, times
    end

    defpure spin(n) do
      if n == 0, do: :ok, else: spin(n - 1)
    end

    # Few calls, and each of them walks over the list.
    defpure over(list, n) do
      if n == 0, do: :ok, else: over((list ++ [n]) -- [n], n - 1)
    end

    defpure deep(n) do
      if n == 0, do: 0, else: 1 + deep(n - 1)
    end
  end

  defp start(opts), do: start_supervised!({Mote, Keyword.merge([id: make_ref(), fuel: 1_000_000_000], opts)})

  defp charged(machine), do: Mote.info(machine).memory.charged

  defp resident do
    [_, pages | _] = "/proc/self/statm" |> File.read!() |> String.split()
    div(String.to_integer(pages) * 4, 1024)
  end

  # What it holds when nothing is queued and nothing is garbage.
  defp at_rest(machine) do
    :erlang.garbage_collect()
    :ok = Mote.drain(machine, 60_000)
    Mote.gc(machine)

    eventually(fn ->
      Enum.all?(Mote.info(machine).sponsors, fn {_, s} -> s.asleep == length(s.threads) end)
    end)

    charged(machine)
  end

  # What `fun` gives during a turn. A message enters when a turn is over, and then takes its room in the heap whatever the
  # quota says: if the turn was over too early, again with a longer one. What it gave last counts.
  defp while_busy(machine, counter, fun, steps \\ 100_000_000) when steps < @most_steps do
    turns = Mote.info(machine).counters.turns
    :ok = Mote.send(counter, steps)
    eventually(fn -> Mote.info(machine).inbox == 0 end)
    seen = fun.()

    if Mote.info(machine).counters.turns == turns do
      [seen]
    else
      :ok = Mote.drain(machine, 60_000)
      :ok = Mote.gc(machine)
      [seen | while_busy(machine, counter, fun, 2 * steps)]
    end
  end

  describe "messages from outside" do
    test "are refused at the quota, and what was accepted is not lost" do
      machine = start(memory: 12 * @megabyte, fuel: @most_steps)
      counter = Mote.create(machine, Actors.counter(0))
      before = at_rest(machine)
      list = Enum.to_list(1..20_000)

      fill = fn ->
        %{accepted: accepted(counter, list), charged: charged(machine), asked: ask(counter, list)}
      end

      fills = while_busy(machine, counter, fill)
      filled = List.last(fills)
      # A message is charged with the 320,000 bytes that its list will take.
      assert filled.accepted in 10..40
      assert filled.charged <= 12 * @megabyte
      assert {:error, %Error{reason: :no_memory}} = filled.asked
      :ok = Mote.drain(machine, 60_000)
      :ok = Mote.gc(machine)
      assert Mote.ask!(counter, :read) == Enum.sum(for %{accepted: n} <- fills, do: n)
      assert Mote.info(machine).counters.aborts_no_memory == 0
      assert at_rest(machine) <= before + 4 * @megabyte
      assert :ok = Mote.send(counter, list)
    end

    defp ask(counter, list), do: Mote.ask(counter, {:read, list})

    # As many as are accepted if they do not enter, and one more.
    defp accepted(counter, list, n \\ 0)
    defp accepted(_counter, _list, 41), do: 41

    defp accepted(counter, list, n) do
      case Mote.send(counter, list) do
        :ok ->
          accepted(counter, list, n + 1)

        {:error, %Error{reason: :no_memory} = error} ->
          assert error.context.address == counter
          n
      end
    end

    test "are refused at the quota when they are to come later, and what was armed fires" do
      machine = start(memory: 8 * @megabyte, clock: :manual, sponsors: [main: [inbox: 3]])
      counter = Mote.create(machine, Actors.counter(0))
      before = at_rest(machine)
      list = Enum.to_list(1..10_000)
      # Each with the 160,000 bytes that its list will take.
      armed = arm_until_refused(counter, list, 60_000, 0)
      assert armed in 20..52
      assert charged(machine) in (5 * @megabyte)..(8 * @megabyte)
      full = charged(machine)
      for _ <- 1..1_000, do: assert(%Error{reason: :no_memory} = refused(counter, list, 60_000))
      assert charged(machine) == full
      # All of them, which are more than its inbox lets in from outside.
      assert Mote.advance(machine, 60_000) == :ok
      assert Mote.ask!(counter, :read) == armed
      assert Mote.info(machine).counters.aborts_no_memory == 0
      at_rest(machine)
      timers = for _ <- 1..armed, do: Mote.send_after(counter, list, 60_000)
      for timer <- timers, do: assert(Mote.cancel_timer(timer) == 60_000)
      assert at_rest(machine) <= before + 2 * @megabyte
    end

    defp arm_until_refused(_counter, _list, _milliseconds, 53), do: 53

    defp arm_until_refused(counter, list, milliseconds, n) do
      case refused(counter, list, milliseconds) do
        %Mote.Timer{} -> arm_until_refused(counter, list, milliseconds, n + 1)
        %Error{reason: :no_memory} -> n
      end
    end

    # The timer, or why there is none.
    defp refused(counter, list, milliseconds) do
      Mote.send_after(counter, list, milliseconds)
    rescue
      error in Error -> error
    end

    test "reach a machine whose heaps are full" do
      machine = start(memory: 32 * @megabyte)
      hoard = Mote.create(machine, Holders.hoard([]))
      :kept = fill(hoard, 2_000_000)
      # No turn could make a list of any size now, but one that needs little has its place.
      assert {:error, %Error{reason: :aborted}} = Mote.ask(hoard, 900_000)
      for _ <- 1..100, do: assert(Mote.ask!(hoard, 1) == :kept)
    end

    # As much as there is room for.
    defp fill(hoard, n) do
      case Mote.ask(hoard, n) do
        {:ok, :kept} -> :kept
        {:error, _} -> fill(hoard, div(n * 9, 10))
      end
    end
  end

  test "a sponsor is added only if the quota is enough for its threads as well" do
    machine = start(memory: 16_000_000)
    message = ~r/at least 50331648 bytes .* got: 16000000/
    assert_raise ArgumentError, message, fn -> Mote.add_sponsor(machine, :many, threads: 10) end
    assert Mote.sponsors(machine) == [:main]
    assert Mote.add_sponsor(machine, :one) == :ok
    assert_raise ArgumentError, ~r/at least 16777216 bytes/, fn -> Mote.add_sponsor(machine, :two) end
    assert Mote.remove_sponsor(machine, :one) == :ok
    assert Mote.add_sponsor(machine, :two) == :ok
    assert Mote.add_sponsor(start([]), :many, threads: 100) == :ok
  end

  describe "binaries that are shared with the BEAM" do
    # What a thread takes in meanwhile may need the room that is asked for once more, as above.
    setup do
      machine = start(memory: 16_000_000, fuel: @most_steps, clock: :manual)
      counter = Mote.create(machine, Actors.counter(0))
      before = at_rest(machine)
      :ok = Mote.pause(machine)
      %{machine: machine, counter: counter, before: before}
    end

    # Each is another one.
    defp binary(n, size \\ 2_000_000), do: :binary.copy(<<n>>, size)

    defp emptied(%{machine: machine, before: before}) do
      :ok = Mote.resume(machine)
      assert at_rest(machine) <= before + 2 * @megabyte
    end

    test "are charged while they wait to enter", %{machine: machine, counter: counter} = context do
      binaries = Enum.map(1..30, &binary/1)
      :ok = Mote.resume(machine)

      fills =
        while_busy(machine, counter, fn ->
          %{answers: Enum.map(binaries, &Mote.send(counter, &1)), charged: charged(machine)}
        end)

      %{answers: answers, charged: charged} = List.last(fills)
      assert {accepted, refused} = Enum.split_while(answers, &(&1 == :ok))
      assert length(accepted) in 3..20
      assert Enum.all?(refused, &match?({:error, %Error{reason: :no_memory}}, &1))
      assert charged in 6_000_000..40_000_000
      emptied(context)
    end

    test "are charged in a batch, which enters as far as it can",
         %{machine: machine, counter: counter} = context do
      assert {:error, %Error{reason: :no_memory} = error} =
               Mote.send_many(counter, Enum.map(1..30, &binary/1))

      assert error.context.accepted in 3..20
      # Not at once: the thread may be at taking them in, and charges each when it has it.
      eventually(fn -> charged(machine) in 6_000_000..40_000_000 end)
      emptied(context)
    end

    test "are charged in a message of a timer", %{machine: machine, counter: counter} = context do
      armed = for n <- 1..30, %Mote.Timer{} = timer <- [refused(counter, binary(n), 100_000)], do: timer
      assert length(armed) in 3..20
      assert charged(machine) in 6_000_000..40_000_000
      for timer <- armed, do: assert(Mote.cancel_timer(timer) == 100_000)
      emptied(context)
    end

    test "are refused if they are more than all", %{counter: counter} = context do
      assert {:error, %Error{reason: :no_memory}} = Mote.send(counter, {:one, binary(1, 20_000_000)})
      assert {:error, %Error{reason: :no_memory}} = Mote.ask(counter, binary(1, 20_000_000))
      emptied(context)
      assert {:error, %Error{reason: :no_memory}} = Mote.send(counter, {:one, binary(1, 20_000_000)})
    end

    test "are charged in an outbox", %{machine: machine} = context do
      outbox = Outbox.open(machine)
      emptied(context)
      teller = Mote.create(machine, Actors.teller(outbox))

      for n <- 1..30 do
        send_all(machine, teller, {binary(n), 1})
        :ok = Mote.gc(machine)
      end

      assert %{received: received, overflowed: lost} = Outbox.info(outbox)
      assert received in 3..20 and received + lost == 30
      assert charged(machine) in 6_000_000..40_000_000
      assert length(Outbox.take(outbox)) == received
      assert at_rest(machine) <= context.before + 2 * @megabyte
    end

    test "are not kept whole by what waits in an outbox of a part", %{machine: machine} = context do
      outbox = Outbox.open(machine)
      emptied(context)
      cutter = Mote.create(machine, Actors.cutter(outbox))
      for n <- 1..30, do: send_all(machine, cutter, {binary(n), 1_100})
      :ok = Mote.gc(machine)
      assert at_rest(machine) <= context.before + 2 * @megabyte
      assert Outbox.info(outbox).received == 30
      parts = Outbox.take(outbox)
      assert parts == Enum.map(1..30, &binary(&1, 1_100))
      assert Enum.all?(parts, &(:binary.referenced_byte_size(&1) == 1_100))
      # Of most of it nothing is copied.
      send_all(machine, cutter, {binary(31), 1_900_000})
      assert [part] = Outbox.take(outbox)
      assert {byte_size(part), :binary.referenced_byte_size(part)} == {1_900_000, 2_000_000}
    end
  end

  describe "messages of another machine's actors" do
    test "are refused at the quota, counted on both sides, and what was accepted is not lost" do
      machine = start(memory: 8 * @megabyte, fuel: @most_steps)
      other = start([])
      counter = Mote.create(machine, Actors.counter(0))
      teller = Mote.create(other, Actors.teller(counter))
      before = at_rest(machine)

      # A message is charged with the 8,000 bytes that its list takes on its way.
      fill = fn ->
        for _ <- 1..4, do: :ok = Mote.send(teller, {Enum.to_list(1..1_000), 1_000})
        :ok = Mote.drain(other, 60_000)
        {charged(machine), Mote.ask(teller, {:pass, Enum.to_list(1..10_000)})}
      end

      fills = while_busy(machine, counter, fill)
      {filled, asked} = List.last(fills)
      assert filled in (7 * @megabyte)..(8 * @megabyte)
      # A customer that is lost is let go of.
      assert {:error, %Error{reason: :broken_promise}} = asked
      sent = 4_001 * length(fills)

      assert %{sends: ^sent, overflowed: lost, foreign_out: told, aborts_no_memory: 0} =
               Mote.info(other).counters

      assert told > 200 and told + lost == sent
      assert Mote.info(machine).counters.refused_no_memory == lost
      assert at_rest(machine) <= before + 2 * @megabyte
      assert Mote.ask!(counter, :read) == told
      # There is memory again.
      assert Mote.ask!(teller, {:pass, [1]}) == :counted
      assert Mote.ask!(counter, :read) == told + 1
    end
  end

  describe "a message that is far larger written out than in the machine" do
    # The same pair in both places of a pair, and so on: 2^depth leaves.
    @shared Mote.Compile.module("""
            defpure nested(0, x), do: x
            defpure nested(n, x), do: nested(n - 1, {x, x})

            defactor teller(to) do
              {:tell, depth} -> send to, nested(depth, 1)
              word -> send to, word
            end

            defactor counter(n) do
              {customer, :get} -> send customer, n
              _ -> become counter(n + 1)
            end
            """)

    test "is lost and counted, and those around it arrive" do
      machine = start_supervised!({Mote, memory: 64 * @megabyte})
      teller = Mote.create(machine, @shared.teller(self()))
      for word <- [:before, {:tell, 3}, {:tell, 24}, {:tell, 10}, :after], do: Mote.send(teller, word)
      assert_receive :before, 5_000
      assert_receive {{{1, 1}, {1, 1}}, {{1, 1}, {1, 1}}}, 5_000
      assert_receive {{_, _}, {_, _}}, 5_000
      assert_receive :after, 5_000
      assert %{overflowed: 1, aborts_fuel: 0} = Mote.info(machine).counters
      # Writing that out is more than a turn can pay for.
      Mote.send(teller, {:tell, 60})
      assert Mote.drain(machine) == :ok
      assert %{overflowed: 1, aborts_fuel: 1} = Mote.info(machine).counters
    end

    test "is lost on its way to another machine as well" do
      [here, there] = for id <- [:here, :there], do: start_supervised!({Mote, memory: 64 * @megabyte, id: id})
      counter = Mote.create(there, @shared.counter(0))
      teller = Mote.create(here, @shared.teller(counter))
      for depth <- [3, 24, 5], do: Mote.send(teller, {:tell, depth})
      assert Mote.drain(here) == :ok and Mote.drain(there) == :ok
      assert Mote.ask(counter, :get) == {:ok, 2}
      assert Mote.info(here).counters.overflowed == 1
    end
  end

  describe "an outbox" do
    for {what, times, each} <- [{:large, 3, 1_000}, {:small, 25, 20_000}] do
      test "is bounded by the quota, and taking from it makes room: #{what} messages" do
        machine = start(memory: 8 * @megabyte)
        outbox = Outbox.open(machine, capacity: 10_000_000)
        teller = Mote.create(machine, Actors.teller(outbox))
        before = at_rest(machine)
        message = if unquote(what) == :large, do: Enum.to_list(1..1_000), else: {:a, 1}
        {times, each} = {unquote(times), unquote(each)}

        for _ <- 1..2 do
          seen = Outbox.info(outbox)
          for _ <- 1..times, do: send_all(machine, teller, {message, each})
          info = Outbox.info(outbox)
          {received, lost} = {info.received - seen.received, info.overflowed - seen.overflowed}
          assert received > 200 and lost > 0 and received + lost == times * each
          assert charged(machine) in (5 * @megabyte)..(8 * @megabyte)
          counters = Mote.info(machine).counters
          assert %{overflowed: all, refused_no_memory: all} = counters
          assert {all, counters.aborts_no_memory} == {info.overflowed, 0}
          # What was accepted is all there.
          messages = Outbox.take(outbox, 10_000_000)
          assert length(messages) == received and Enum.all?(messages, &(&1 == message))
          assert at_rest(machine) <= before + 2 * @megabyte
        end
      end
    end

    test "gives back what it was charged with when its owner ends" do
      machine = start(memory: 8 * @megabyte)
      {owner, monitor} = spawn_monitor(fn -> hold_outbox(machine) end)
      send(owner, {self(), :outbox})
      assert_receive {:outbox, outbox}, 20_000
      before = at_rest(machine)
      teller = Mote.create(machine, Actors.teller(outbox))
      send_all(machine, teller, {Enum.to_list(1..1_000), 3_000})
      assert Outbox.info(outbox).overflowed > 0
      send(owner, :end)
      assert_receive {:DOWN, ^monitor, _, _, _}, 20_000
      eventually(fn -> Outbox.info(outbox).closed end)
      # The last of its letters may go a moment later.
      eventually(fn -> at_rest(machine) <= before + 2 * @megabyte end)
    end

    defp hold_outbox(machine) do
      outbox = Outbox.open(machine, capacity: 10_000_000)
      receive do: ({from, :outbox} -> send(from, {:outbox, outbox}))
      receive do: (:end -> :ok)
    end

    # In turns that leave the heap as it is.
    defp send_all(machine, teller, what) do
      :ok = Mote.send(teller, what)
      :ok = Mote.drain(machine, 60_000)
    end
  end

  describe "a turn that needs more than there is" do
    for {what, n} <- [send: 4_000_000, sendx: 4_000_000, arm: 1_000_000, create: 2_000_000] do
      test "leaves nothing behind: #{what}" do
        machine = start(memory: 32 * @megabyte, sponsors: [main: [], other: []])
        many = Mote.create(machine, Actors.many(0))
        before = at_rest(machine)
        assert {:error, %Error{reason: :aborted}} = Mote.ask(many, {unquote(what), unquote(n)}, 60_000)
        counters = Mote.info(machine).counters
        assert %{aborts_no_memory: 1, sends: 0, creates: 0, timers: 0, sendx: 0} = counters
        assert at_rest(machine) <= before + 4 * @megabyte
        assert Mote.ask!(many, :times) == 0
        # And a smaller one of its kind goes on.
        assert Mote.ask!(many, {unquote(what), 1_000}) == :done
        assert Mote.ask!(many, :times) == 1
      end
    end
  end

  test "a turn that has no fuel or no stack left leaves nothing behind" do
    machine = start(fuel: 1_000_000)
    many = Mote.create(machine, Actors.many(0))

    # Fuel is spent by calls, and by what primitives walk over: a thousand calls, and a hundred million elements.
    walk = {:lists, Enum.to_list(1..100_000), 1_000}
    requests = [{{:spin, 2_000_000}, :aborts_fuel}, {walk, :aborts_fuel}, {{:deep, 200_000}, :aborts_stack}]
    assert Mote.ask!(many, {:lists, Enum.to_list(1..100), 1_000}) == :ok

    for {request, counter} <- requests do
      before = Mote.info(machine).counters
      assert {:error, %Error{reason: :aborted}} = Mote.ask(many, request, 60_000)
      counters = Mote.info(machine).counters
      assert counters[counter] == before[counter] + 1
      assert {counters.sends, counters.creates} == {before.sends, before.creates}
      # The asker hears of it before the thread says how much is queued.
      eventually(fn -> Mote.info(machine).sponsors.main.queued == 0 end)
      assert Mote.ask!(many, :times) == 0
    end
  end

  test "a bomb without end stays within the quota, and the machine recovers when it is gone" do
    machine = start(memory: 48 * @megabyte, sponsors: [main: [threads: 2], calm: []])
    bomb = Mote.create(machine, Holders.bomb())
    echo = Mote.create(machine, Actors.many(0))
    Mote.send(bomb, 0)
    eventually(fn -> Mote.info(machine).counters.aborts_no_memory > 10_000 end)

    for _ <- 1..200 do
      # A block for each thread, and what is on its way between them.
      assert charged(machine) <= (48 + 6) * @megabyte
      # Accepted or refused.
      with {:error, error} <- Mote.send(bomb, 0), do: assert(error.reason == :no_memory)
      Process.sleep(1)
    end

    assert is_map(Mote.info(echo))
    :ok = Mote.stop(machine)
  end

  describe "nothing is left of" do
    test "messages, timers, questions and sponsors, counted in bytes" do
      machine = start(sponsors: [main: [], other: [threads: 2]])
      counter = Mote.create(machine, Actors.counter(0))
      silent = Mote.create(machine, Holders.silent([]))
      many = Mote.create(machine, Actors.many(0))
      tree = Mote.create(machine, Mote.Travellers.tree(nil))

      round = fn ->
        for n <- 1..10_000, do: Mote.send(counter, [n, "text", {:tuple, n}])
        {:error, %Error{reason: :timeout}} = Mote.ask(silent, :keep, 1)
        pid = spawn(fn -> Mote.ask(silent, :keep) end)
        Mote.send(silent, :let_go)
        :done = Mote.ask!(many, {:sendx, 20_000})
        Mote.send(tree, 14, sponsor: :other)
        timers = for _ <- 1..1_000, do: Mote.send_after(counter, [1], 3_600_000)
        for timer <- timers, do: Mote.cancel_timer(timer)
        :ok = Mote.add_sponsor(machine, :guest, threads: 2)
        Mote.send(tree, 12, sponsor: :guest)
        :ok = Mote.remove_sponsor(machine, :guest)
        Process.exit(pid, :kill)
        eventually(fn -> not Process.alive?(pid) end)
        Mote.send(silent, :let_go)
        held = at_rest(machine)

        {held, Mote.info(machine).gc.live_bytes, Mote.info(machine).gc.live_actors,
         Mote.info(machine).references}
      end

      for _ <- 1..3, do: round.()
      {held, bytes, actors, references} = round.()

      for _ <- 1..5 do
        {again, ^bytes, ^actors, ^references} = round.()
        # Heaps keep a block or two as it comes.
        assert_in_delta again, held, 8 * @megabyte

        # What is no block is what the tables of held addresses take, and these are as large as they ever were.
        assert rem(again - held, 2 * @megabyte) == 0, "something that is no block is still charged"
      end
    end

    test "a thousand machines" do
      cycle = fn ->
        {:ok, machine} = Mote.start_link(sponsors: [main: [threads: 2, inbox: 10]])
        counter = Mote.create(machine, Actors.counter(0))
        for n <- 1..5, do: Mote.send(counter, [n])
        # Two threads keep no order.
        :ok = Mote.drain(machine)
        5 = Mote.ask!(counter, :read)
        :ok = Mote.stop(machine)
      end

      for _ <- 1..100, do: cycle.()
      :erlang.garbage_collect()
      before = resident()
      for _ <- 1..1_000, do: cycle.()
      :erlang.garbage_collect()
      # A thousand machines with a block each would be 2,000 megabytes; with a queue's first chunks 30.
      assert resident() - before < 15
    end
  end
end
