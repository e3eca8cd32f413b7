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

    test "waits for a service that does not answer, and loses nothing" do
      {:ok, machine} = Mote.start_link()
      gate = Mote.create(machine, Library.serializer(Mote.create(machine, Library.sink())))
      ask = Mote.async(gate, 1)
      assert Mote.drain(machine) == :ok
      assert Mote.yield(ask, 0) == nil
      # The gate is all that knows the customer.
      :erlang.garbage_collect()
      gate = nil
      assert gate == nil
      Mote.ignore(ask)
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

  defp one_at_a_time?(log) do
    log |> Enum.chunk_every(2) |> Enum.all?(&match?([{:begin, n}, {:end, n}], &1))
  end
end
