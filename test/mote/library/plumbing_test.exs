defmodule Mote.Library.PlumbingTest do
  # What goes in comes out, where it should, as often as it should.
  use ExUnit.Case, async: true
  use ExUnitProperties

  alias Mote.{Library, Services, World}

  doctest Mote.Library.Plumbing

  defp seed, do: integer(0..1_000_000)
  defp messages, do: list_of(term(), max_length: 8)

  property "fwd, label, tee and broadcast lose nothing, add nothing and keep the order" do
    check all messages <- messages(), seed <- seed() do
      for {names, behaviour, expected} <- [
            {[:a], fn [a] -> Library.fwd(a) end, messages},
            {[:a], fn [a] -> Library.label(a, :it) end, Enum.map(messages, &{:it, &1})},
            {[:a, :b], fn [a, b] -> Library.tee(a, b) end, messages},
            {[:a, :b, :c], fn all -> Library.broadcast(all) end, messages}
          ] do
        scenario = &all(&1, behaviour.(for name <- names, do: World.customer(&1, name)), messages)
        World.in_order(scenario, fn heard -> assert heard == Map.new(names, &{&1, expected}) end)

        World.everywhere(seed, scenario, fn heard ->
          for name <- names, do: assert(Enum.sort(heard[name]) == Enum.sort(expected))
        end)
      end
    end
  end

  defp all(world, behaviour, messages) do
    actor = World.create(world, behaviour)
    for message <- messages, do: World.send(world, actor, message)
  end

  property "a tag gives its own address with each message, and no two tags the same" do
    check all a <- messages(), b <- messages(), seed <- seed() do
      World.everywhere(
        seed,
        fn world ->
          me = World.customer(world, :me)
          tags = for _ <- 1..2, do: World.create(world, Library.tag(me))
          World.send(world, me, {:tags, tags})

          for {tag, messages} <- Enum.zip(tags, [a, b]), message <- messages do
            World.send(world, tag, message)
          end
        end,
        fn %{me: [{:tags, [tag_a, tag_b]} | heard]} ->
          assert tag_a != tag_b
          assert Enum.sort(for {^tag_a, message} <- heard, do: message) == Enum.sort(a)
          assert Enum.sort(for {^tag_b, message} <- heard, do: message) == Enum.sort(b)
          assert length(heard) == length(a) + length(b)
        end
      )
    end
  end

  property "once lets one message through, the first one" do
    check all messages <- messages(), seed <- seed() do
      scenario = &all(&1, Library.once(World.customer(&1, :a)), messages)
      World.in_order(scenario, fn heard -> assert heard.a == Enum.take(messages, 1) end)

      World.everywhere(seed, scenario, fn heard ->
        assert length(heard.a) == min(length(messages), 1)
        assert heard.a -- messages == []
      end)
    end
  end

  property "const answers every request, and nothing else" do
    check all value <- term(), requests <- messages(), seed <- seed() do
      World.everywhere(
        seed,
        fn world ->
          me = World.customer(world, :me)
          const = World.create(world, Library.const(value))
          for request <- requests, do: World.send(world, const, {me, request})
          World.send(world, const, {me, 1, 2})
        end,
        fn heard -> assert heard.me == List.duplicate(value, length(requests)) end
      )
    end
  end

  property "a sink ignores everything, also when it is asked" do
    check all messages <- messages(), seed <- seed() do
      World.everywhere(
        seed,
        fn world ->
          me = World.customer(world, :me)
          all(world, Library.sink(), Enum.map(messages, &{me, &1}) ++ messages)
        end,
        fn heard -> assert heard.me == [] end
      )
    end
  end

  test "what a sink ignores is counted" do
    {:ok, machine} = Mote.start_link()
    sink = Mote.create(machine, Library.sink())
    for n <- 1..3, do: Mote.send(sink, n)
    assert Mote.drain(machine) == :ok
    assert Mote.info(machine).counters.ignored == 3
  end

  property "a pipe is the composition of its services, for each request by itself" do
    numbers = integer(-5..5)

    check all stages <- list_of({numbers, numbers}, max_length: 5),
              requests <- list_of(numbers, max_length: 5),
              seed <- seed() do
      World.everywhere(
        seed,
        fn world ->
          stages = for {a, b} <- stages, do: World.create(world, Services.linear(a, b))
          pipe = World.create(world, Library.pipe(stages))

          for {request, n} <- Enum.with_index(requests),
              do: World.send(world, pipe, {World.customer(world, n), request})
        end,
        fn heard ->
          for {request, n} <- Enum.with_index(requests) do
            assert heard[n] == [Enum.reduce(stages, request, fn {a, b}, x -> a * x + b end)]
          end
        end
      )
    end
  end

  property "a pipe takes the first answer of each service" do
    check all counts <- list_of(integer(1..3), min_length: 1, max_length: 4), seed <- seed() do
      World.everywhere(
        seed,
        fn world ->
          # Each answers with the next request, so many times; after the last one the customer is the one to hear it all.
          stages = for count <- counts, do: World.create(world, Services.repeating(count))
          World.send(world, World.create(world, Library.pipe(stages)), {World.customer(world, :me), 0})
        end,
        fn heard -> assert heard.me == List.duplicate(length(counts), List.last(counts)) end
      )
    end
  end
end
