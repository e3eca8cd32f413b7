defmodule Mote.Library.CellsTest do
  # What is held, and what is said of it.
  use ExUnit.Case, async: true
  use ExUnitProperties

  alias Mote.{Library, World}

  doctest Mote.Library.Cells

  defp seed, do: integer(0..1_000_000)

  property "a counter is the sum of what was added since it was set" do
    request = one_of([{:add, integer()}, {:reset, integer()}, constant(:read)])

    check all start <- integer(), requests <- list_of(request) do
      {answers, _} =
        Enum.map_reduce(requests, start, fn
          {:add, n}, sum -> {sum + n, sum + n}
          {:reset, n}, sum -> {sum, n}
          :read, sum -> {sum, sum}
        end)

      World.in_order(
        fn world ->
          counter = World.create(world, Library.counter(start))
          for request <- requests, do: World.send(world, counter, {World.customer(world, :me), request})
        end,
        fn heard -> assert Map.get(heard, :me, []) == answers end
      )
    end
  end

  property "no addition to a counter is lost, in whatever order" do
    check all numbers <- list_of(integer(), min_length: 1), seed <- seed() do
      World.everywhere(
        seed,
        fn world ->
          counter = World.create(world, Library.counter(0))
          me = World.customer(world, :me)
          for n <- numbers, do: World.send(world, counter, {me, {:add, n}})
          World.advance(world, 0)
          World.send(world, counter, {me, :read})
        end,
        fn heard -> assert List.last(heard.me) == Enum.sum(numbers) end
      )
    end
  end

  test "a counter ignores what is no integer, and a sum that is too large" do
    {:ok, machine} = Mote.start_link()
    largest = Bitwise.bsl(1, 62) - 1
    counter = Mote.create(machine, Library.counter(largest))

    for bad <- [{:add, 1}, {:add, 1.0}, {:add, :one}, {:reset, nil}, :write] do
      Mote.send(counter, {self(), bad})
    end

    assert Mote.ask!(counter, :read) == largest
    assert Mote.info(machine).counters.ignored == 5
    assert Process.info(self(), :messages) == {:messages, []}
  end
end
