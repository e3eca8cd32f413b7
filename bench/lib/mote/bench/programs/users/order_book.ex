defmodule Mote.Bench.Programs.Users.OrderBook do
  # n limit orders for a hundred symbols, matched by price and then by time: a book for each symbol. One feeder has the orders, a
  # thousand at a time, as they would come from a socket. A book counts its trades, and adds up what they are worth and which
  # orders were in them, so that another order of matching has another result. Beside the actors a process for each book, with the
  # same `:gb_trees`, and one ordered table that the feeder itself works on.
  @moduledoc false

  use Mote.Bench.Sides,
    title: "n limit orders matched by price and time, in a book for each of 100 symbols",
    defaults: [100_000],
    small: 500,
    metric: :ns_per_order_mote,
    machines: [mote: [main: [threads: 1]]]

  alias Mote.Bench.Dice

  @symbols 100
  @batch 1_000

  defmodule Actors do
    use Mote.Behaviour

    @numbers 67_108_864

    # What waits, by limit and number of the order in one integer; the limit of those who buy is the price below zero, so the best is the
    # smallest in both trees.
    defactor book(bids, asks, trades) do
      {customer, :trades} ->
        send customer, trades

      order ->
        {bids, asks, trades} = place({bids, asks, trades}, order)
        become book(bids, asks, trades)
    end

    defpure place({bids, asks, trades}, {number, :buy, price, quantity}) do
      {asks, left, trades} = match(asks, key(price + 1, 0), number, quantity, trades)
      {rest(bids, key(-price, number), left), asks, trades}
    end

    defpure place({bids, asks, trades}, {number, :sell, price, quantity}) do
      {bids, left, trades} = match(bids, key(1 - price, 0), number, quantity, trades)
      {bids, rest(asks, key(price, number), left), trades}
    end

    defpure match(others, _below, _number, 0, trades), do: {others, 0, trades}

    defpure match(others, below, number, quantity, trades) do
      {first, offered} = if :gb_trees.is_empty(others), do: {below, 0}, else: :gb_trees.smallest(others)
      traded = min(offered, quantity)

      cond do
        first >= below ->
          {others, quantity, trades}

        offered > traded ->
          {:gb_trees.update(first, offered - traded, others), 0, traded(trades, first, traded, number)}

        true ->
          trades = traded(trades, first, traded, number)
          match(:gb_trees.delete(first, others), below, number, quantity - traded, trades)
      end
    end

    defpure rest(own, _key, 0), do: own
    defpure rest(own, key, quantity), do: :gb_trees.insert(key, quantity, own)

    defpure key(limit, number), do: limit * @numbers + number

    defpure traded({count, value, sum}, first, quantity, number) do
      price = abs(Bitwise.bsr(first, 26))
      sum = rem(sum * 31 + Bitwise.band(first, @numbers - 1) + number, 1_000_000_007)
      {count + 1, value + quantity * price, sum}
    end
  end

  defmodule Server do
    use GenServer

    @impl true
    def init(nil), do: {:ok, {:gb_trees.empty(), :gb_trees.empty(), {0, 0, 0}}}

    @impl true
    def handle_cast(order, book), do: {:noreply, Actors.place(book, order)}

    @impl true
    def handle_call(:trades, _from, {_, _, trades} = book), do: {:reply, trades, book}
  end

  # A table for each side of each book, as `Actors.book/3` has trees.
  defmodule Tables do
    @spec new() :: {:ets.table(), :ets.table()}
    def new, do: {:ets.new(:bids, [:ordered_set, :private]), :ets.new(:asks, [:ordered_set, :private])}

    @spec place({:ets.table(), :ets.table()}, tuple, tuple) :: tuple
    def place({bids, asks}, {number, :buy, price, quantity}, trades),
      do: match(asks, Actors.key(price + 1, 0), number, quantity, trades, bids, -price)

    def place({bids, asks}, {number, :sell, price, quantity}, trades),
      do: match(bids, Actors.key(1 - price, 0), number, quantity, trades, asks, price)

    defp match(_others, _below, _number, 0, trades, _own, _limit), do: trades

    defp match(others, below, number, quantity, trades, own, limit) do
      # Of an empty table it is `:"$end_of_table"`, which is above all numbers.
      first = :ets.first(others)

      if first < below do
        offered = :ets.lookup_element(others, first, 2)
        traded = min(offered, quantity)

        if offered > traded,
          do: :ets.update_element(others, first, {2, offered - traded}),
          else: :ets.delete(others, first)

        trades = Actors.traded(trades, first, traded, number)
        match(others, below, number, quantity - traded, trades, own, limit)
      else
        :ets.insert(own, {Actors.key(limit, number), quantity})
        trades
      end
    end
  end

  @impl true
  def works(machine, n) do
    [{:order, n, mote: fn -> actors(machine, n) end, servers: fn -> servers(n) end, ets: fn -> tables(n) end}]
  end

  defp actors(machine, n) do
    empty = :gb_trees.empty()
    books = List.to_tuple(Mote.create_many(machine, Actors.book(empty, empty, {0, 0, 0}), @symbols))

    fed(n, &Mote.send_many(for {symbol, order} <- &1, do: {elem(books, symbol), order}), fn ->
      trades = for {:ok, trades} <- books |> Tuple.to_list() |> Mote.ask_all(:trades, :infinity), do: trades
      fn -> trades end
    end)
  end

  defp servers(n) do
    servers = List.to_tuple(for _ <- 1..@symbols, do: elem(GenServer.start_link(Server, nil), 1))

    fed(n, &for({symbol, order} <- &1, do: GenServer.cast(elem(servers, symbol), order)), fn ->
      servers = Tuple.to_list(servers)
      trades = for server <- servers, do: GenServer.call(server, :trades, :infinity)
      fn -> Enum.each(servers, &GenServer.stop/1) && trades end
    end)
  end

  defp tables(n) do
    batches = batches(n)
    tables = List.to_tuple(for _ <- 1..@symbols, do: Tables.new())

    fn ->
      trades =
        for batch <- batches,
            {symbol, order} <- batch,
            reduce: Map.new(0..(@symbols - 1), &{&1, {0, 0, 0}}) do
          trades -> Map.put(trades, symbol, Tables.place(elem(tables, symbol), order, trades[symbol]))
        end

      fn -> for symbol <- 0..(@symbols - 1), do: trades[symbol] end
    end
  end

  defp fed(n, feed, trades) do
    batches = batches(n)
    fn -> Enum.each(batches, feed) && trades.() end
  end

  @doc "The orders in the order in which they come, by batches."
  @spec batches(pos_integer) :: [[{symbol :: non_neg_integer, order :: tuple}]]
  def batches(n) do
    for(
      {dice, number} <- Enum.with_index(Dice.rolls(1, n)),
      do: {rem(dice, @symbols), order(number, div(dice, @symbols))}
    )
    |> Enum.chunk_every(@batch)
  end

  # Buyers and sellers offer prices of which a third are good enough for the others.
  defp order(number, dice) do
    price = rem(div(dice, 2), 30)
    quantity = 1 + rem(div(dice, 60), 100)

    if rem(dice, 2) == 0,
      do: {number, :buy, 980 + price, quantity},
      else: {number, :sell, 1_020 - price, quantity}
  end
end
