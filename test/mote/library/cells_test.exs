defmodule Mote.Library.CellsTest do
  # What is held, and what is said of it.
  use ExUnit.Case, async: true
  use ExUnitProperties

  alias Mote.{Library, Services, World}

  doctest Mote.Library.Cells

  @moduletag capture_log: true

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
    largest = Bitwise.bsl(1, 1_048_576) - 1
    counter = Mote.create(machine, Library.counter(largest))

    for bad <- [{:add, 1}, {:add, 1.0}, {:add, :one}, {:reset, nil}, :write] do
      Mote.send(counter, {self(), bad})
    end

    assert Mote.ask!(counter, :read) == largest
    assert Mote.info(machine).counters.ignored == 5
    refute_received _
  end

  describe "cell" do
    property "is what was written last; compare and set changes it only from what is expected" do
      value = integer(0..3)
      request = one_of([{:write, value}, {:cas, value, value}, constant(:read)])

      check all start <- value, requests <- list_of(request) do
        {answers, _} =
          Enum.map_reduce(requests, start, fn
            :read, held -> {held, held}
            {:write, new}, _ -> {:ok, new}
            {:cas, held, new}, held -> {:ok, new}
            {:cas, _, _}, held -> {{:error, {:changed, held}}, held}
          end)

        World.in_order(
          fn world ->
            me = World.customer(world, :me)
            cell = World.create(world, Library.cell(start))
            for request <- requests, do: World.send(world, cell, {me, request})
          end,
          fn heard -> assert heard.me == answers end
        )
      end
    end

    property "increments by compare and set are not lost, in whatever order" do
      check all n <- integer(1..5), seed <- seed() do
        World.everywhere(
          seed,
          fn world ->
            cell = World.create(world, Library.cell(0))
            for _ <- 1..n, do: World.send(world, World.create(world, Services.adder(cell)), :go)
            World.advance(world, 0)
            World.send(world, cell, {World.customer(world, :me), :read})
          end,
          fn heard -> assert heard.me == [n] end
        )
      end
    end
  end

  property "a future gives everybody the first value that was written" do
    request = one_of([{:write, integer()}, constant(:read)])

    check all requests <- list_of(request), seed <- seed() do
      scenario = fn world ->
        future = World.create(world, Library.future())

        for {request, n} <- Enum.with_index(requests),
            do: World.send(world, future, {World.customer(world, n), request})
      end

      # Gives the value.
      law = fn heard ->
        writes = for {{:write, value}, n} <- Enum.with_index(requests), do: {value, heard[n]}
        reads = for {:read, n} <- Enum.with_index(requests), do: heard[n]

        case Enum.split_with(writes, fn {_, answers} -> answers == [:ok] end) do
          {[], []} ->
            assert Enum.all?(reads, &(&1 == []))
            nil

          {[{value, _}], others} ->
            assert Enum.all?(others, fn {_, answers} -> answers == [{:error, :written}] end)
            assert Enum.all?(reads, &(&1 == [value]))
            {:write, value}
        end
      end

      World.in_order(scenario, fn heard -> assert law.(heard) == Enum.find(requests, &(&1 != :read)) end)
      World.everywhere(seed, scenario, law)
    end
  end

  property "lazy asks once, when somebody first reads, and gives everybody the answer" do
    check all reads <- integer(0..4), turns <- integer(0..4), answers <- integer(1..2), seed <- seed() do
      World.everywhere(
        seed,
        fn world ->
          service = World.create(world, Services.busy(World.customer(world, :log)))
          lazy = World.create(world, Library.lazy(service, {turns, answers, :it}))
          for n <- 1..reads//1, do: World.send(world, lazy, {World.customer(world, n), :read})
          World.advance(world, 0)
          World.send(world, lazy, {World.customer(world, 0), :other})
          for n <- 1..reads//1, do: World.send(world, lazy, {World.customer(world, n), :read})
        end,
        fn heard ->
          for n <- 1..reads//1, do: assert(heard[n] == [{:done, :it}, {:done, :it}])
          assert heard[0] == []
          assert heard.log == if(reads > 0, do: [begin: :it, end: :it], else: [])
        end
      )
    end
  end

  describe "memo" do
    property "asks each request once, and answers as the service does" do
      request = {integer(0..3), integer(1..2), integer(0..2)}

      check all requests <- list_of(request, max_length: 8), seed <- seed() do
        World.everywhere(
          seed,
          fn world ->
            service = World.create(world, Services.busy(World.customer(world, :log)))
            memo = World.create(world, Library.memo(service))

            for round <- 1..2 do
              for {request, n} <- Enum.with_index(requests),
                  do: World.send(world, memo, {World.customer(world, {round, n}), request})

              World.advance(world, 0)
            end
          end,
          fn heard ->
            for {{_, _, answer}, n} <- Enum.with_index(requests), round <- 1..2 do
              assert heard[{round, n}] == [{:done, answer}]
            end

            assert length(heard.log) == 2 * length(Enum.uniq(requests))
          end
        )
      end
    end

    property "does not keep errors" do
      check all n <- integer(1..4), seed <- seed() do
        World.everywhere(
          seed,
          fn world ->
            log = World.customer(world, :log)
            failing = World.create(world, Library.const({:error, :busy}))
            memo = World.create(world, Library.memo(World.create(world, Library.tee(failing, log))))

            for _ <- 1..n do
              World.send(world, memo, {World.customer(world, :me), :go})
              World.advance(world, 0)
            end
          end,
          fn heard ->
            assert heard.me == List.duplicate({:error, :busy}, n)
            assert length(heard.log) == n
          end
        )
      end
    end
  end

  describe "bounded_buffer" do
    property "is a queue that never has more than its capacity, and loses nothing" do
      operation = one_of([constant(:put), constant(:take)])

      check all capacity <- integer(0..3), operations <- list_of(operation, max_length: 20) do
        puts = Enum.count(operations, &(&1 == :put))
        takes = Enum.count(operations, &(&1 == :take))

        World.in_order(
          fn world ->
            buffer = World.create(world, Library.bounded_buffer(capacity))

            Enum.reduce(operations, {0, 0}, fn
              :put, {p, t} ->
                World.send(world, buffer, {World.customer(world, {:put, p}), {:put, p}})
                {p + 1, t}

              :take, {p, t} ->
                World.send(world, buffer, {World.customer(world, {:take, t}), :take})
                {p, t + 1}
            end)
          end,
          fn heard ->
            # The n-th take has the n-th item.
            for t <- 0..(takes - 1)//1, do: assert(heard[{:take, t}] == if(t < puts, do: [t], else: []))
            taken = min(puts, takes)

            # What is in: all that was answered and not taken.
            for p <- 0..(puts - 1)//1,
                do: assert(heard[{:put, p}] == if(p < taken + capacity, do: [:ok], else: []))
          end
        )
      end
    end

    property "holds no more than its capacity at any moment" do
      operation = one_of([constant(:put), constant(:take)])

      check all capacity <- integer(0..3), operations <- list_of(operation, max_length: 12) do
        for cut <- 0..length(operations) do
          {now, _} = Enum.split(operations, cut)
          puts = Enum.count(now, &(&1 == :put))
          takes = Enum.count(now, &(&1 == :take))

          heard =
            World.run(:reference, fn world ->
              buffer = World.create(world, Library.bounded_buffer(capacity))

              for put <- now, put == :put or put == :take do
                request = if put == :put, do: {:put, 1}, else: :take
                World.send(world, buffer, {World.customer(world, put), request})
              end
            end)

          accepted = length(Map.get(heard, :put, []))
          taken = length(Map.get(heard, :take, []))
          assert accepted - taken <= capacity
          assert accepted == min(puts, taken + capacity)
          assert taken == min(takes, puts)
        end
      end
    end

    property "in whatever order: every item is taken once" do
      check all capacity <- integer(0..3), n <- integer(0..8), seed <- seed() do
        World.everywhere(
          seed,
          fn world ->
            buffer = World.create(world, Library.bounded_buffer(capacity))

            for i <- 1..n//1 do
              World.send(world, buffer, {World.customer(world, :puts), {:put, i}})
              World.send(world, buffer, {World.customer(world, :takes), :take})
            end
          end,
          fn heard ->
            assert Enum.sort(Map.get(heard, :takes, [])) == Enum.to_list(1..n//1)
            assert Map.get(heard, :puts, []) == List.duplicate(:ok, n)
          end
        )
      end
    end

    test "a capacity that is none aborts what is put, and says why" do
      {:ok, machine} = Mote.start_link()
      buffer = Mote.create(machine, Library.bounded_buffer(:large))
      assert {:error, %Mote.Error{reason: :aborted} = error} = Mote.ask(buffer, {:put, 1})
      assert error.context.reason == {:abort, {:bad_capacity, :large}}
      assert Mote.info(machine).counters.aborts_explicit == 1
    end
  end
end
