defmodule Mote.Library.TimeTest do
  # Either the answer or the timeout, once; and no timer is left behind.
  use ExUnit.Case, async: true
  use ExUnitProperties

  alias Mote.{Library, Services, World}

  doctest Mote.Library.Time

  defp seed, do: integer(0..1_000_000)

  defp outcome(delay, limit, request) do
    cond do
      delay < limit -> [[done: request]]
      delay > limit -> [[error: :timeout]]
      true -> [[done: request], [error: :timeout]]
    end
  end

  describe "timed" do
    property "gives the answer if it comes in time, a timeout otherwise, and nothing more" do
      check all delays <- list_of(integer(0..20), max_length: 6), limit <- integer(1..20), seed <- seed() do
        World.everywhere(
          seed,
          fn world ->
            service = World.create(world, Services.late(World.customer(world, :log)))
            timed = World.create(world, Library.timed(service, limit))

            for {delay, n} <- Enum.with_index(delays),
                do: World.send(world, timed, {World.customer(world, n), {delay, n}})

            World.advance(world, 100)
          end,
          fn heard ->
            for {delay, n} <- Enum.with_index(delays), do: assert(heard[n] in outcome(delay, limit, n))
          end
        )
      end
    end

    property "takes the first of several answers" do
      check all answers <- integer(1..4), turns <- integer(0..4), seed <- seed() do
        World.everywhere(
          seed,
          fn world ->
            service = World.create(world, Services.busy(World.customer(world, :log)))
            timed = World.create(world, Library.timed(service, 10))
            World.send(world, timed, {World.customer(world, :me), {turns, answers, 1}})
            World.advance(world, 100)
          end,
          fn heard -> assert heard.me == [done: 1] end
        )
      end
    end

    test "leaves no timer behind when the answer was in time" do
      {:ok, machine} = Mote.start_link(clock: :manual)
      timed = Mote.create(machine, Library.timed(Mote.create(machine, Library.const(1)), 60_000))
      for _ <- 1..100, do: assert(Mote.ask!(timed, :go) == 1)
      assert Mote.info(machine).counters.timers == 0
    end
  end

  describe "guard" do
    property "cleans up once for each request, with what the customer gets" do
      check all delays <- list_of(integer(0..20), max_length: 6), limit <- integer(1..20), seed <- seed() do
        World.everywhere(
          seed,
          fn world ->
            service = World.create(world, Services.late(World.customer(world, :log)))
            guard = World.create(world, Library.guard(service, World.customer(world, :cleanup), limit))

            for {delay, n} <- Enum.with_index(delays),
                do: World.send(world, guard, {World.customer(world, n), {delay, n}})

            World.advance(world, 100)
          end,
          fn heard ->
            told = for n <- 0..(length(delays) - 1)//1, do: hd(heard[n])
            assert Enum.sort(heard.cleanup) == Enum.sort(told)
            for {delay, n} <- Enum.with_index(delays), do: assert(heard[n] in outcome(delay, limit, n))
          end
        )
      end
    end

    property "cleans up once, however often the service answers" do
      check all answers <- integer(0..3), turns <- integer(0..4), seed <- seed() do
        World.everywhere(
          seed,
          fn world ->
            service = World.create(world, Services.busy(World.customer(world, :log)))
            guard = World.create(world, Library.guard(service, World.customer(world, :cleanup), 10))
            World.send(world, guard, {World.customer(world, :me), {turns, answers, 1}})
            World.advance(world, 100)
          end,
          fn heard ->
            assert heard.me == if(answers == 0, do: [error: :timeout], else: [done: 1])
            assert heard.cleanup == heard.me
          end
        )
      end
    end
  end

  test "milliseconds that are none are an error" do
    {:ok, machine} = Mote.start_link()
    const = Mote.create(machine, Library.const(1))

    for bad <- [-1, 1.5, :soon, nil, :infinity] do
      error = {:error, {:bad_milliseconds, bad}}
      assert Mote.ask!(Mote.create(machine, Library.timed(const, bad)), 1) == error
      assert Mote.ask!(Mote.create(machine, Library.guard(const, self(), bad)), 1) == error
      assert_receive ^error
      assert Mote.ask!(Mote.create(machine, Library.safe_serializer(const, bad)), 1) == error
    end
  end
end
