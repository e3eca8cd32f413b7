defmodule Mote.Bench.Northwind.Generator do
  # Data in the shape and of the size of Northwind, the small trading company that databases are shown with: 29
  # customers, 48 orders with 58 lines, 45 products. Made up, the same in every run.
  @moduledoc false

  @seed {1996, 7, 4}

  @customers 29
  @orders 48
  @lines 58
  @products 45

  @first ~w(Ada Ben Carla Deniz Emil Fatou Greta Hugo Ines Jonas Kim Lea Milan Noor Olga Pablo)
  @last ~w(Aalto Baker Costa Dubois Eriksen Fischer Garcia Horvat Ito Jansen Kowalski Larsen Moreau)
  @cities [{"Seattle", "WA"}, {"Boston", "MA"}, {"Denver", "CO"}, {"Miami", "FL"}, {"Portland", "OR"}]
  @titles ["Owner", "Purchasing Manager", "Purchasing Assistant", "Accountant"]
  @kinds ~w(Tea Coffee Syrup Olives Rice Soup Mustard Almonds Honey Pasta Beans Cheese)
  @payments ["Check", "Credit Card", "Cash"]

  @doc "The collections, as lists of records."
  @spec collections() :: %{atom => [map]}
  def collections do
    :rand.seed(:exsss, @seed)
    products = for id <- 1..@products, do: product(id)

    %{
      customers: for(id <- 1..@customers, do: customer(id)),
      products: products,
      orders: for(id <- 1..@orders, do: order(id)),
      order_details: lines(products)
    }
  end

  defp customer(id) do
    {city, state} = Enum.random(@cities)

    %{
      id: id,
      company: "Company #{id}",
      first_name: Enum.random(@first),
      last_name: Enum.random(@last),
      job_title: Enum.random(@titles),
      business_phone: "(123)555-#{999 + id}",
      address: "#{:rand.uniform(999)} #{id}th Street",
      city: city,
      state_province: state,
      zip_postal_code: 99_000 + id,
      country_region: "USA"
    }
  end

  defp product(id) do
    cost = :rand.uniform(4_000) / 100

    %{
      id: id,
      product_code: "NW-#{id}",
      product_name: "#{Enum.random(@kinds)} #{id}",
      standard_cost: cost,
      list_price: Float.round(cost * 4 / 3, 2),
      reorder_level: 5 * :rand.uniform(10),
      discontinued: false
    }
  end

  defp order(id) do
    {city, state} = Enum.random(@cities)

    %{
      id: id,
      customer_id: :rand.uniform(@customers),
      order_date: "2006-0#{:rand.uniform(6)}-#{9 + :rand.uniform(19)}T00:00:00Z",
      ship_name: "#{Enum.random(@first)} #{Enum.random(@last)}",
      ship_city: city,
      ship_state_province: state,
      shipping_fee: :rand.uniform(20_000) / 100,
      payment_type: Enum.random(@payments),
      status_id: :rand.uniform(3)
    }
  end

  # Every order has a line, and some have more.
  defp lines(products) do
    more = for _ <- 1..(@lines - @orders), do: :rand.uniform(@orders)

    for {id, seq} <- number(Enum.sort(Enum.to_list(1..@orders) ++ more)) do
      product = Enum.random(products)

      %{
        order_id: id,
        line_seq: seq,
        product_id: product.id,
        quantity: 5.0 * :rand.uniform(20),
        unit_price: product.list_price,
        discount: 0,
        status_id: 2
      }
    end
  end

  # Lines of one order are numbered from 0.
  defp number(ids), do: ids |> Enum.chunk_by(& &1) |> Enum.flat_map(&Enum.with_index/1)
end
