defmodule Mote.Library.TimeTest do
  # Either the answer or the timeout, once; and no timer is left behind.
  use ExUnit.Case, async: true
  use ExUnitProperties

  alias Mote.{Library, Services, World}

  doctest Mote.Library.Time

  defmodule Stamps do
    @moduledoc false
    use Mote.Behaviour

    # Passes on what comes, and when it came.
    defactor stamping(to) do
      message -> send to, {message, System.monotonic_time(:millisecond)}
    end
  end

  @moduletag capture_log: true

  defp seed, do: integer(0..1_000_000)

  # Requests of customers that are numbered, to what `wrap` puts before a service that answers each after its delay.
  defp late(seed, delays, wrap, check) do
    scenario = fn world ->
      wrapped =
        World.create(world, wrap.(world, World.create(world, Services.late(World.customer(world, :log)))))

      for {delay, n} <- Enum.with_index(delays),
          do: World.send(world, wrapped, {World.customer(world, n), {delay, n}})

      World.advance(world, 100)
    end

    World.everywhere(seed, scenario, check)
  end

  # One request to a service that works for some turns, and answers as often.
  defp busy(seed, {turns, answers}, wrap, check) do
    scenario = fn world ->
      wrapped =
        World.create(world, wrap.(world, World.create(world, Services.busy(World.customer(world, :log)))))

      World.send(world, wrapped, {World.customer(world, :me), {turns, answers, 1}})
      World.advance(world, 100)
    end

    World.everywhere(seed, scenario, check)
  end

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
        late(seed, delays, fn _, service -> Library.timed(service, limit) end, fn heard ->
          for {delay, n} <- Enum.with_index(delays), do: assert(heard[n] in outcome(delay, limit, n))
        end)
      end
    end

    property "takes the first of several answers" do
      check all answers <- integer(1..4), turns <- integer(0..4), seed <- seed() do
        timed = fn _, service -> Library.timed(service, 10) end
        busy(seed, {turns, answers}, timed, fn heard -> assert heard.me == [done: 1] end)
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
    defp guard(limit), do: &Library.guard(&2, World.customer(&1, :cleanup), limit)

    property "cleans up once for each request, with what the customer gets" do
      check all delays <- list_of(integer(0..20), max_length: 6), limit <- integer(1..20), seed <- seed() do
        late(seed, delays, guard(limit), fn heard ->
          told = for n <- 0..(length(delays) - 1)//1, do: hd(heard[n])
          assert Enum.sort(heard.cleanup) == Enum.sort(told)
          for {delay, n} <- Enum.with_index(delays), do: assert(heard[n] in outcome(delay, limit, n))
        end)
      end
    end

    property "cleans up once, however often the service answers" do
      check all answers <- integer(0..3), turns <- integer(0..4), seed <- seed() do
        busy(seed, {turns, answers}, guard(10), fn heard ->
          assert heard.me == if(answers == 0, do: [error: :timeout], else: [done: 1])
          assert heard.cleanup == heard.me
        end)
      end
    end
  end

  property "select answers once: the earliest, or a timeout" do
    check all delays <- list_of(integer(0..20), max_length: 4), limit <- integer(1..20), seed <- seed() do
      World.everywhere(
        seed,
        fn world ->
          services = for delay <- delays, do: World.create(world, Services.delayed(delay))

          World.send(
            world,
            World.create(world, Library.select(services, limit)),
            {World.customer(world, :me), :go}
          )

          World.advance(world, 100)
        end,
        fn heard ->
          earliest = Enum.min(delays, fn -> limit + 1 end)
          late = if earliest >= limit, do: [[error: :timeout]], else: []
          assert heard.me in (if(earliest <= limit, do: [[{:after, earliest}]], else: []) ++ late)
        end
      )
    end
  end

  property "a rate limiter sends everything, in order, and no more than it may in any time" do
    # How much later each message comes than the one before.
    check all gaps <- list_of(integer(0..8), min_length: 1, max_length: 10),
              count <- integer(1..3),
              seed <- seed(),
              max_runs: 25 do
      window = 10

      scenario = fn world ->
        stamping = World.create(world, Stamps.stamping(World.customer(world, :me)))
        limiter = World.create(world, Library.rate_limiter(stamping, count, window))
        World.send(world, stamping, :begins)
        World.advance(world, 0)

        for {gap, n} <- Enum.with_index(gaps) do
          # All of a moment is done before the next begins.
          if gap > 0, do: World.advance(world, gap)
          World.send(world, limiter, n)
        end

        World.advance(world, window * length(gaps))
      end

      # When each was sent, from the beginning.
      check = fn [{:begins, began} | sent] ->
        times = for {_, at} <- sent, do: at - began

        for from <- times, do: assert(Enum.count(times, &(&1 in from..(from + window - 1))) <= count)
        # No later than it must be: the same as a limiter by the book.
        arrivals = Enum.scan(gaps, &+/2)

        ideal =
          Enum.reduce(arrivals, [], fn at, sent ->
            free = if length(sent) >= count, do: Enum.at(sent, count - 1) + window, else: 0
            [max(at, max(free, List.first(sent) || 0)) | sent]
          end)

        assert times == Enum.reverse(ideal)
      end

      all = Enum.to_list(0..(length(gaps) - 1))

      World.in_order(scenario, fn heard ->
        assert Enum.map(tl(heard.me), &elem(&1, 0)) == all
        check.(heard.me)
      end)

      World.everywhere(seed, scenario, fn heard ->
        assert Enum.sort(Enum.map(tl(heard.me), &elem(&1, 0))) == all
        check.(heard.me)
      end)
    end
  end

  property "a batcher sends everything, in order, in full lists or when it is time" do
    check all gaps <- list_of(integer(0..8), min_length: 1, max_length: 10), size <- integer(1..4) do
      scenario = fn world ->
        batcher = World.create(world, Library.batcher(World.customer(world, :me), size, 10))

        for {gap, n} <- Enum.with_index(gaps) do
          World.advance(world, gap)
          World.send(world, batcher, n)
        end

        World.advance(world, 1_000)
      end

      World.in_order(scenario, fn heard ->
        assert heard.me == batches(gaps, size)
      end)
    end
  end

  # By the book: what comes ten or more after the first of a list is not in it.
  defp batches(gaps, size) do
    {batches, {_, batch}} =
      gaps
      |> Enum.scan(&+/2)
      |> Enum.with_index()
      |> Enum.reduce({[], {0, []}}, fn {at, n}, {batches, {from, batch}} ->
        cond do
          batch == [] and size == 1 -> {[[n] | batches], {0, []}}
          batch == [] -> {batches, {at, [n]}}
          at >= from + 10 and size == 1 -> {[[n], Enum.reverse(batch) | batches], {0, []}}
          at >= from + 10 -> {[Enum.reverse(batch) | batches], {at, [n]}}
          length(batch) + 1 == size -> {[Enum.reverse([n | batch]) | batches], {0, []}}
          true -> {batches, {from, [n | batch]}}
        end
      end)

    Enum.reverse(if batch == [], do: batches, else: [Enum.reverse(batch) | batches])
  end

  test "what is wrong with a limiter or a batcher aborts its turns, and says so" do
    {:ok, machine} = Mote.start_link()

    for behaviour <- [
          Library.rate_limiter(self(), 0, 1),
          Library.rate_limiter(self(), 1, :often),
          Library.batcher(self(), 0, 1),
          Library.batcher(self(), 2, -1)
        ],
        do: Mote.send(Mote.create(machine, behaviour), 1)

    assert Mote.drain(machine) == :ok
    assert Mote.info(machine).counters.aborts_explicit == 4
    refute_received 1
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
