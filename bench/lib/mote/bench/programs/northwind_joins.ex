defmodule Mote.Bench.Programs.NorthwindJoins do
  # The store of `northwind`, asked for orders: each with its customer and its lines, and these with their products. A
  # round is a request for every order, all at once.
  @moduledoc false

  alias Mote.Bench.Northwind.Data

  @readers 2

  use Mote.Bench.Program,
    title:
      "n times every order at once, with its customer, its lines and their products, through two readers",
    param: :n,
    defaults: [10_000],
    small: 20,
    metric: :ns_per_order,
    count: &(&1 * map_size(Data.load().orders)),
    processes: @readers + 3,
    data: true,
    plot: [sizes: [1_000], full: [1_000, 10_000]]

  alias Mote.Bench.Programs.Northwind
  alias Mote.Bench.Programs.Northwind.Actors

  @impl true
  def expected(n) do
    data = Data.load()

    weights =
      for {id, order} <- data.orders do
        id + order.customer_id + (data.lines |> Map.get(id, []) |> Enum.map(& &1.product_id) |> Enum.sum())
      end

    n * Enum.sum(weights)
  end

  @impl true
  def mote(machine, n) do
    data = Data.load()

    client =
      Mote.create(machine, Actors.client(Northwind.db(machine, data, @readers), requests(data), self()))

    [reads: asking(client, n)]
  end

  @impl true
  def beam(n) do
    data = Data.load()
    Northwind.beam_reads(data, requests(data), n)
  end

  defp requests(data), do: for({id, _order} <- data.orders, do: {:order, id})
end
