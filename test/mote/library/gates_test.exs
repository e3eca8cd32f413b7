defmodule Mote.Library.GatesTest do
  # What a gate promises: how many at once, in which order, and one answer for each customer. The service underneath takes
  # requests all at once and says when it begins and ends each, so that a gate that lets two in is seen.
  use ExUnit.Case, async: true
  use ExUnitProperties

  alias Mote.{Library, Services, World}

  doctest Mote.Library.Gates

  defp seed, do: integer(0..1_000_000)

  # Turns of work and answers to each request.
  defp work(answers), do: list_of({integer(0..4), answers}, min_length: 1, max_length: 6)

  describe "serializer" do
    property "lets one request in at a time, in order, and gives every customer its answer" do
      check all work <- work(integer(1..3)), seed <- seed() do
        requests = Enum.with_index(work, fn {turns, answers}, n -> {turns, answers, n} end)

        scenario = fn world ->
          service = World.create(world, Services.busy(World.customer(world, :log)))
          gate = World.create(world, Library.serializer(service))

          for {_, _, n} = request <- requests,
              do: World.send(world, gate, {World.customer(world, n), request})
        end

        World.in_order(scenario, fn heard ->
          assert heard.log == Enum.flat_map(requests, fn {_, _, n} -> [begin: n, end: n] end)
        end)

        World.everywhere(seed, scenario, fn heard ->
          for {_, _, n} <- requests, do: assert(heard[n] == [{:done, n}])
          assert one_at_a_time?(heard.log)
          assert length(heard.log) == 2 * length(requests)
        end)
      end
    end

    property "ignores what is no request and what is no answer to its own" do
      check all noise <-
                  list_of(one_of([integer(), constant({:reply, nil, 1}), constant({:reply, self(), 1})])),
                seed <- seed() do
        World.everywhere(
          seed,
          fn world ->
            service = World.create(world, Services.busy(World.customer(world, :log)))
            gate = World.create(world, Library.serializer(service))
            for message <- noise, do: World.send(world, gate, message)
            World.send(world, gate, {World.customer(world, :me), {3, 1, :request}})
            for message <- noise, do: World.send(world, gate, message)
          end,
          fn heard -> assert heard == %{me: [done: :request], log: [begin: :request, end: :request]} end
        )
      end
    end

    test "waits as long as the service has not answered; the service's own request to it is never let in" do
      {:ok, machine} = Mote.start_link()
      log = self()
      gate = Mote.create(machine, Library.serializer(Mote.create(machine, Library.label(log, :asked))))
      Mote.send(gate, {self(), 1})
      Mote.send(gate, {self(), 2})
      assert Mote.drain(machine) == :ok
      assert_received {:asked, {tag, 1}}
      refute_received _
      # As the service would.
      Mote.send(gate, {tag, :nested})
      assert Mote.drain(machine) == :ok
      refute_received _
      Mote.send(tag, :done)
      assert Mote.drain(machine) == :ok
      assert_received :done
      assert_received {:asked, {_, 2}}
    end

    test "keeps hundreds of thousands waiting, and lets them in in order" do
      {:ok, machine} = Mote.start_link()
      gate = Mote.create(machine, Library.serializer(Mote.create(machine, Library.counter(0))))
      par_map = Mote.create(machine, Library.par_map(gate))
      assert Mote.ask!(par_map, List.duplicate({:add, 1}, 200_000), 60_000) == Enum.to_list(1..200_000)
    end
  end

  describe "safe_serializer" do
    property "answers every request, with what comes in time or with a timeout, and goes on" do
      check all delays <- list_of(integer(0..20), min_length: 1, max_length: 6), seed <- seed() do
        World.everywhere(
          seed,
          fn world ->
            service = World.create(world, Services.late(World.customer(world, :log)))
            gate = World.create(world, Library.safe_serializer(service, 10))

            for {delay, n} <- Enum.with_index(delays),
                do: World.send(world, gate, {World.customer(world, n), {delay, n}})

            World.advance(world, 1_000)
          end,
          fn heard ->
            assert length(heard.log) == length(delays)

            for {delay, n} <- Enum.with_index(delays) do
              cond do
                delay < 10 -> assert heard[n] == [done: n]
                delay > 10 -> assert heard[n] == [error: :timeout]
                true -> assert heard[n] in [[done: n], [error: :timeout]]
              end
            end
          end
        )
      end
    end

    property "lets the next one in after the answer, or after the timeout" do
      check all work <- work(integer(0..2)), seed <- seed() do
        requests = Enum.with_index(work, fn {turns, answers}, n -> {turns, answers, n} end)

        scenario = fn world ->
          service = World.create(world, Services.busy(World.customer(world, :log)))
          gate = World.create(world, Library.safe_serializer(service, 10))

          for {_, _, n} = request <- requests,
              do: World.send(world, gate, {World.customer(world, n), request})

          for _ <- requests, do: World.advance(world, 10)
        end

        World.everywhere(seed, scenario, fn heard ->
          for {_, answers, n} <- requests do
            assert heard[n] == if(answers == 0, do: [error: :timeout], else: [done: n])
          end

          assert one_at_a_time?(heard.log)
        end)
      end
    end
  end

  describe "rw_gate" do
    property "lets readers in together and writers alone, in order, and gives everybody an answer" do
      kinds = one_of([constant(:read), constant(:write)])

      check all work <- list_of({kinds, integer(0..4), integer(1..2)}, min_length: 1, max_length: 8),
                seed <- seed() do
        requests =
          Enum.with_index(work, fn {kind, turns, answers}, n -> {kind, {turns, answers, {kind, n}}} end)

        scenario = fn world ->
          service = World.create(world, Services.busy(World.customer(world, :log)))
          gate = World.create(world, Library.rw_gate(service))

          for {{kind, request}, n} <- Enum.with_index(requests),
              do: World.send(world, gate, {World.customer(world, n), {kind, request}})
        end

        # Begun in the order of their coming.
        World.in_order(scenario, fn heard ->
          assert for({:begin, id} <- heard.log, do: id) == for({_, {_, _, id}} <- requests, do: id)
          # And all that come together are let in together.
          if Enum.all?(requests, &match?({:read, _}, &1)) and
               Enum.all?(work, fn {_, turns, _} -> turns > 2 end) do
            assert Enum.take(heard.log, length(requests)) |> Enum.all?(&match?({:begin, _}, &1))
          end
        end)

        World.everywhere(seed, scenario, fn heard ->
          for {{_, {_, _, id}}, n} <- Enum.with_index(requests), do: assert(heard[n] == [{:done, id}])

          Enum.reduce(heard.log, [], fn
            {:begin, {:write, _} = id}, inside ->
              assert inside == []
              [id | inside]

            {:begin, {:read, _} = id}, inside ->
              assert Enum.all?(inside, &match?({:read, _}, &1))
              [id | inside]

            {:end, id}, inside ->
              assert id in inside
              inside -- [id]
          end)
        end)
      end
    end

    test "ignores what is neither" do
      {:ok, machine} = Mote.start_link()
      gate = Mote.create(machine, Library.rw_gate(Mote.create(machine, Library.const(1))))

      for message <- [1, {self(), :read}, {self(), {:append, 1}}, {:reply, nil, 1}],
          do: Mote.send(gate, message)

      assert Mote.ask!(gate, {:write, 1}) == 1
      assert Mote.info(machine).counters.ignored == 4
      refute_received _
    end
  end

  describe "sequencer" do
    property "sends each message once, in the order of the numbers, as far as there is no gap" do
      check all messages <- list_of({integer(0..9), integer()}, max_length: 15), seed <- seed() do
        scenario = fn world ->
          sequencer = World.create(world, Library.sequencer(World.customer(world, :me), 2))
          for {n, message} <- messages, do: World.send(world, sequencer, {n, {n, message}})
        end

        numbers = for({n, _} <- messages, do: n)
        expected = Enum.take_while(2..9, &(&1 in numbers))

        World.everywhere(seed, scenario, fn heard ->
          assert for({n, _} <- heard.me, do: n) == expected
          assert heard.me -- messages == []
        end)
      end
    end

    test "waits for what is missing, and ignores what has no number" do
      {:ok, machine} = Mote.start_link()
      sequencer = Mote.create(machine, Library.sequencer(self(), 0))
      for message <- [{1, :b}, :no, {nil, 1}, {-1, 1}, {1, :again}], do: Mote.send(sequencer, message)
      assert Mote.drain(machine) == :ok
      refute_received _
      assert Mote.info(machine).counters.ignored == 4
      Mote.send(sequencer, {0, :a})
      assert Mote.drain(machine) == :ok
      assert Process.info(self(), :messages) == {:messages, [:a, :b]}
    end
  end

  describe "suspendable" do
    property "sends everything on once and in order, but for what comes behind a suspend, and that after its resume" do
      check all parts <- list_of(list_of(integer(), max_length: 4), min_length: 1, max_length: 4),
                seed <- seed() do
        # The parts with a suspend before each but the first.
        scenario = fn world ->
          door = World.create(world, Library.suspendable(World.customer(world, :target)))

          for {part, n} <- Enum.with_index(parts) do
            if n > 0,
              do:
                World.send(
                  world,
                  door,
                  {World.customer(world, :keys), :suspend}
                )

            for message <- part, do: World.send(world, door, {n, message})
          end
        end

        World.in_order(scenario, fn heard ->
          assert heard.target == for(message <- hd(parts), do: {0, message})
        end)

        # Whoever gets a key uses it at once.
        resuming = fn world ->
          target = World.customer(world, :target)
          door = World.create(world, Library.suspendable(target))

          for {part, n} <- Enum.with_index(parts) do
            if n > 0, do: World.send(world, door, {World.create(world, Services.user()), :suspend})
            for message <- part, do: World.send(world, door, {n, message})
          end
        end

        all = for {part, n} <- Enum.with_index(parts), message <- part, do: {n, message}
        World.in_order(resuming, fn heard -> assert heard.target == all end)
        World.everywhere(seed, resuming, fn heard -> assert Enum.sort(heard.target) == Enum.sort(all) end)
      end
    end

    test "only the capability resumes, and once" do
      {:ok, machine} = Mote.start_link()
      door = Mote.create(machine, Library.suspendable(self()))
      resume = Mote.ask!(door, :suspend)
      for message <- [:a, {:reply, nil, :go}, {:reply, door, :go}], do: Mote.send(door, message)
      assert Mote.drain(machine) == :ok
      refute_received _
      for _ <- 1..2, do: Mote.send(resume, :go)
      assert Mote.drain(machine) == :ok
      # A capability that was used is a message as any other.
      assert {:messages, [:a, {:reply, nil, :go}, {:reply, ^door, :go}, {:reply, ^resume, :go}]} =
               Process.info(self(), :messages)
    end
  end

  defp one_at_a_time?(log) do
    log |> Enum.chunk_every(2) |> Enum.all?(&match?([{:begin, n}, {:end, n}], &1))
  end
end
