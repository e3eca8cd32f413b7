defmodule Mote.Bench.UsersTest do
  # What users build: that the ways of a program agree is part of each of its runs, in `programs_test.exs`. Here the results are those of
  # plain models, and ways that differ are found out.
  use ExUnit.Case, async: true
  doctest Mote.Bench.Sides

  alias Mote.Bench.{Program, Run, Sides}
  alias Mote.Bench.Programs.Users.{OrderBook, RateLimiter, Router, Twin}

  # The results of each way of each work.
  defp results(program, n) do
    {:ok, machine} = Mote.start_link(sponsors: program.about().machines[:mote])

    for {work, count, ways} <- program.works(machine, n), {name, way} <- ways, into: %{} do
      {^name, _times, result} = Sides.turn(machine, name, way, count)
      {{work, name}, result}
    end
  end

  test "a bucket gives its tokens, and one for each tick" do
    {granted, _} =
      Enum.reduce(0..4, {[], 2}, fn lap, {granted, tokens} ->
        tokens = if lap in [2, 4], do: min(tokens + 1, 2), else: tokens
        if tokens > 0, do: {[lap | granted], tokens - 1}, else: {granted, tokens}
      end)

    # Lap 0 is the one before what is counted.
    expected = 50 * length(granted -- [0])
    results = results(RateLimiter, 50)
    assert map_size(results) == 6
    for {_, result} <- results, do: assert(result == expected)
  end

  # A list of all that waits, gone through for each order.
  test "orders are matched by price and then by time" do
    orders = Enum.concat(OrderBook.batches(2_000))

    trades =
      for symbol <- 0..99 do
        own = for {^symbol, order} <- orders, do: order
        {_, trades} = Enum.reduce(own, {[], {0, 0, 0}}, &placed/2)
        trades
      end

    assert Enum.sum(for {count, _, _} <- trades, do: count) > 500
    results = results(OrderBook, 2_000)
    assert map_size(results) == 3
    for {_, result} <- results, do: assert(result == trades)
  end

  defp placed({_, _, _, 0}, book), do: book

  defp placed({number, side, price, quantity}, {waiting, {count, value, sum} = trades}) do
    fits = fn {_, other, offer, _} ->
      other != side and if(side == :buy, do: offer <= price, else: offer >= price)
    end

    best = fn {number, _, offer, _} -> {if(side == :buy, do: offer, else: -offer), number} end

    case waiting |> Enum.filter(fits) |> Enum.min_by(best, fn -> nil end) do
      nil ->
        {[{number, side, price, quantity} | waiting], trades}

      {first, other, offer, offered} = found ->
        traded = min(offered, quantity)
        left = if offered > traded, do: [{first, other, offer, offered - traded}], else: []
        trades = {count + 1, value + traded * offer, rem(sum * 31 + first + number, 1_000_000_007)}
        placed({number, side, price, quantity - traded}, {left ++ List.delete(waiting, found), trades})
    end
  end

  test "devices are what their readings have made of them" do
    {first, later} = 60 |> Twin.batches(0..5) |> Enum.concat() |> Enum.split(60)
    {states, sums} = twins(first, %{})
    {_, all_sums} = twins(later, states)
    results = results(Twin, 60)
    assert {_, alarms} = all_sums
    assert alarms > 60
    assert map_size(results) == 9
    for {{work, _}, result} <- results, do: assert(result == if(work == :reading, do: all_sums, else: sums))
  end

  defp twins(readings, states) do
    states =
      for {key, reading} <- readings, reduce: states do
        states ->
          {last, mean, alarms} = Map.get(states, key, {0, 0, 0})
          warm = if reading > 80 and last <= 80, do: 1, else: 0
          Map.put(states, key, {reading, mean + div(reading * 1_000 - mean, 8), alarms + warm})
      end

    {states, for({_, {_, mean, alarms}} <- states, reduce: {0, 0}, do: ({m, a} -> {m + mean, a + alarms}))}
  end

  test "subscribers get what their filters match" do
    published = Enum.concat(Router.batches(300))

    expected =
      for filter <- Router.filters() do
        values = for {topic, {:value, value}} <- published, matches?(filter, topic), do: value
        {length(values), Enum.sum(values)}
      end

    assert Enum.sum(for {count, _} <- expected, do: count) > 300
    results = results(Router, 300)
    assert map_size(results) == 3
    for {_, result} <- results, do: assert(result == expected)
  end

  defp matches?(["#"], _), do: true
  defp matches?([], []), do: true
  defp matches?([word | filter], [topic | topics]) when word in ["+", topic], do: matches?(filter, topics)
  defp matches?(_, _), do: false

  defmodule Differing do
    use Program,
      title: "differs",
      param: :n,
      defaults: [1],
      small: 1,
      metric: :ns_per_sum_mote,
      expected: :agreed,
      measures: & &1.figures,
      machines: [mote: [main: [threads: 1]]]

    @impl true
    def mote(machine, n),
      do:
        Sides.stages(machine, [
          {:sum, 1, mote: fn -> fn -> fn -> n end end end, ets: fn -> fn -> fn -> -n end end end}
        ])
  end

  test "ways that differ are found out" do
    message = "differing with n 7 on mote gave {:differ, [sum: [mote: 7, ets: -7]]}, and :agreed is right"
    assert_raise Run.Error, message, fn -> Run.once(Differing, :mote, 7) end
  end
end
