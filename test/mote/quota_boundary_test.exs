defmodule Mote.QuotaBoundaryTest do
  # The quota and what crosses the boundary: binaries of the BEAM, messages of other machines, outboxes.
  #
  # Not async: its turns have to last while messages are sent.
  use ExUnit.Case
  import Mote.Eventually
  import Mote.QuotaRig

  alias Mote.{Error, Outbox}
  alias Mote.QuotaRig.Actors

  @moduletag capture_log: true

  @megabyte 1024 * 1024

  describe "binaries that are shared with the BEAM" do
    # What a thread takes in meanwhile may need the room that is asked for once more, as above.
    setup do
      machine = start(memory: 16_000_000, fuel: most_steps(), clock: :manual)
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
      machine = start(memory: 8 * @megabyte, fuel: most_steps())
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
            defpure captured(0, f), do: f
            defpure captured(n, f), do: captured(n - 1, holding({f, f}))
            defpure holding(pair), do: fn -> pair end

            defactor teller(to) do
              {:tell, depth} -> send to, nested(depth, 1)
              {:functions, depth} -> send to, captured(depth, fn -> 1 end)
              {customer, {:ask, depth}} -> send customer, nested(depth, 1)
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
      assert_receive :before
      assert_receive {{{1, 1}, {1, 1}}, {{1, 1}, {1, 1}}}
      assert_receive {{_, _}, {_, _}}
      assert_receive :after
      assert %{overflowed: 1, aborts_fuel: 0} = Mote.info(machine).counters
      # Writing that out is more than a turn can pay for.
      Mote.send(teller, {:tell, 60})
      assert Mote.drain(machine, 60_000) == :ok
      assert %{overflowed: 1, aborts_fuel: 1} = Mote.info(machine).counters
      # Functions are written out with what they have captured.
      for depth <- [2, 60], do: Mote.send(teller, {:functions, depth})
      assert Mote.drain(machine, 60_000) == :ok
      assert_receive %Mote.Function{captures: {{%Mote.Function{captures: {{%Mote.Function{}, _}}}, _}}}
      assert %{overflowed: 1, aborts_fuel: 2} = Mote.info(machine).counters
    end

    test "is refused from outside before it is written out" do
      machine = start_supervised!({Mote, memory: 64 * @megabyte})
      counter = Mote.create(machine, @shared.counter(0))
      # Of all this, 2^60 leaves, a process has sixty pairs.
      nested = Enum.reduce(1..60, 1, fn _, x -> {x, x} end)
      assert {:error, %Error{reason: :no_memory}} = Mote.send(counter, nested)
      assert {:error, %Error{reason: :no_memory}} = Mote.ask(counter, nested)
      assert {:error, %Error{reason: :no_memory}} = Mote.send(counter, List.duplicate(nested, 1_000_000))
      assert_raise Error, fn -> Mote.create(machine, @shared.counter(nested)) end
      # A part of a long binary that is not worth sharing, a hundred times.
      part = :binary.part(:binary.copy("x", 200_000_000), 7, 1_000_000)
      assert {:error, %Error{reason: :no_memory}} = Mote.send(counter, List.duplicate(part, 100))
      assert Mote.info(machine).counters.refused_no_memory == 5
      assert Mote.ask(counter, :get) == {:ok, 0}
    end

    test "is created with, from outside, if it fits" do
      machine = start_supervised!({Mote, memory: 16 * @megabyte})
      # Of eight bytes an element.
      fits = Tuple.duplicate(1, 1_200_000)
      assert Mote.ask(Mote.create(machine, @shared.counter(fits)), :get) == {:ok, fits}
      assert_raise Error, fn -> Mote.create(machine, @shared.counter(Tuple.duplicate(1, 2_400_000))) end
    end

    test "is told as what it is to whoever asked" do
      machine = start_supervised!({Mote, memory: 64 * @megabyte})
      teller = Mote.create(machine, @shared.teller(self()))
      assert {:ok, {{1, 1}, {1, 1}}} = Mote.ask(teller, {:ask, 2})

      assert {:error, %Error{reason: :answer_too_large, message: message}} =
               Mote.ask(teller, {:ask, 24}, :infinity)

      assert message =~ ~r/larger than the machine's memory/
      %{ref: ref} = ask = Mote.async(teller, {:ask, 24})
      assert_receive {^ref, :mote_failed, :answer_too_large}, 20_000
      # Held until here: to drop it would cancel it.
      assert ask.ref == ref
      assert {:answer_too_large, _} = catch_exit(Mote.await(Mote.async(teller, {:ask, 24}), :infinity))
      future = Mote.Future.future(@shared.teller(self()), {:ask, 24}, machine: machine)
      assert %Error{reason: :answer_too_large} = catch_error(Mote.Future.touch(future))
      # Whoever asked is told before it is counted.
      eventually(fn -> Mote.info(machine).counters.overflowed == 4 end)
      assert Mote.info(machine).questions == %{open: 0, broken: 0}
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
end
