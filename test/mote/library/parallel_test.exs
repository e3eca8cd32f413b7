defmodule Mote.Library.ParallelTest do
  # One answer for each customer: the first, or all in their order, whatever order the services answer in.
  use ExUnit.Case, async: true
  use ExUnitProperties

  alias Mote.{Library, Services, World}

  doctest Mote.Library.Parallel

  defp seed, do: integer(0..1_000_000)
  defp numbers, do: list_of(integer(-9..9), max_length: 5)

  property "race answers once, with an answer of one of the services; without any it says so" do
    # What each answers, and how often.
    check all services <- list_of({integer(), integer(0..3)}, max_length: 5), seed <- seed() do
      World.everywhere(
        seed,
        fn world ->
          services = for {n, times} <- services, do: World.create(world, Services.saying(n, times))
          race = World.create(world, Library.race(services))
          for name <- [:a, :b], do: World.send(world, race, {World.customer(world, name), :go})
        end,
        fn heard ->
          for name <- [:a, :b] do
            case for({n, times} <- services, times > 0, do: n) do
              [] when services == [] ->
                assert heard[name] == [{:error, :no_services}]

              [] ->
                assert heard[name] == []

              answers ->
                assert [answer] = heard[name]
                assert answer in answers
            end
          end
        end
      )
    end
  end

  property "fork answers with what all services answer first, in their order" do
    check all services <- list_of({integer(-3..3), integer(-3..3), integer(1..3)}, max_length: 5),
              requests <- numbers(),
              seed <- seed() do
      World.everywhere(
        seed,
        fn world ->
          services = for {a, b, hops} <- services, do: World.create(world, Services.roundabout(a, b, hops))

          fork = World.create(world, Library.fork(services))

          for {request, n} <- Enum.with_index(requests),
              do: World.send(world, fork, {World.customer(world, n), request})
        end,
        fn heard ->
          for {request, n} <- Enum.with_index(requests) do
            assert heard[n] == [for({a, b, _} <- services, do: a * request + b)]
          end
        end
      )
    end
  end

  property "par_map and map_reduce are map, and map and a function of its result" do
    check all lists <- list_of(numbers(), min_length: 1, max_length: 3), hops <- integer(0..3), seed <- seed() do
      World.everywhere(
        seed,
        fn world ->
          mapper = World.create(world, Services.roundabout(3, 1, hops))
          par_map = World.create(world, Library.par_map(mapper))
          map_reduce = World.create(world, Library.map_reduce(mapper, World.create(world, Services.sum())))

          for {list, n} <- Enum.with_index(lists) do
            World.send(world, par_map, {World.customer(world, {:map, n}), list})
            World.send(world, map_reduce, {World.customer(world, {:reduce, n}), list})
          end
        end,
        fn heard ->
          for {list, n} <- Enum.with_index(lists) do
            mapped = Enum.map(list, &(3 * &1 + 1))
            assert heard[{:map, n}] == [mapped]
            assert heard[{:reduce, n}] == [Enum.sum(mapped)]
          end
        end
      )
    end
  end

  property "a service that answers more than once takes no place of another" do
    check all times <- list_of(integer(1..3), min_length: 1, max_length: 5), seed <- seed() do
      World.everywhere(
        seed,
        fn world ->
          services =
            for {times, n} <- Enum.with_index(times), do: World.create(world, Services.saying(n, times))

          World.send(world, World.create(world, Library.fork(services)), {World.customer(world, :me), :go})
        end,
        fn heard -> assert heard.me == [Enum.to_list(0..(length(times) - 1))] end
      )
    end
  end

  test "a hundred thousand at once" do
    {:ok, machine} = Mote.start_link()
    par_map = Mote.create(machine, Library.par_map(Mote.create(machine, Services.linear(2, 0))))
    assert Mote.ask!(par_map, Enum.to_list(1..100_000), 60_000) == Enum.to_list(2..200_000//2)
  end
end
