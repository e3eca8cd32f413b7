defmodule Mote.Bench.Northwind.Data do
  # The collections of the Northwind programs: made up, or read from the directory that `--data` names, which has
  # `customers.nldjson`, `orders.nldjson`, `order_details.nldjson` and `products.nldjson`, one JSON object a line. (`.json`
  # and `.ndjson` will do, too.)
  @moduledoc false

  alias Mote.Bench.Northwind.{Generator, Json}

  # Fields that are looked at, and of which type they are; the others come along under their own names.
  @fields %{
    customers: [id: &is_integer/1],
    orders: [id: &is_integer/1, customer_id: &is_integer/1],
    order_details: [
      order_id: &is_integer/1,
      product_id: &is_integer/1,
      quantity: &is_number/1,
      unit_price: &is_number/1
    ],
    products: [id: &is_integer/1, list_price: &is_number/1]
  }

  @suffixes ~w(.nldjson .ndjson .json)

  defmodule Error do
    defexception [:message]
  end

  @typedoc "Customers, orders and products by their ids; the lines of every order that has some, in a list."
  @type t :: %{
          customers: %{integer => map},
          orders: %{integer => map},
          products: %{integer => map},
          lines: %{integer => [map]}
        }

  @doc "The data: of the directory that `use/1` named, or made up."
  @spec load() :: t
  def load do
    case Application.get_env(:mote, :bench_data) do
      nil -> index(Generator.collections())
      directory -> read(directory)
    end
  end

  @doc "Says where the data of this node come from: a directory, or nil."
  @spec use(Path.t() | nil) :: :ok
  def use(directory), do: Application.put_env(:mote, :bench_data, directory)

  @doc "The data in a directory. Raises `Mote.Bench.Northwind.Data.Error`, which names file and line."
  @spec read(Path.t()) :: t
  def read(directory) do
    for({collection, fields} <- @fields, into: %{}, do: {collection, file(directory, collection, fields)})
    |> check()
    |> index()
  end

  defp file(directory, collection, fields) do
    files = for suffix <- @suffixes, do: Path.join(directory, "#{collection}#{suffix}")
    file = Enum.find(files, hd(files), &File.regular?/1)

    case File.read(file) do
      {:ok, text} ->
        records =
          for {line, number} <- text |> String.split("\n") |> Enum.with_index(1), String.trim(line) != "" do
            record(line, fields, "#{file}:#{number}")
          end

        if records == [], do: raise(Error, "#{file} has no records"), else: records

      {:error, reason} ->
        raise Error, "cannot read #{file}: #{:file.format_error(reason)}"
    end
  end

  defp record(line, fields, where) do
    case Json.read(line) do
      {:ok, %{} = object} -> Enum.reduce(fields, object, &field(&1, &2, where))
      {:ok, _} -> raise Error, "#{where}: expected an object"
      {:error, what} -> raise Error, "#{where}: #{what}"
    end
  end

  defp field({name, type?}, object, where) do
    {value, others} = Map.pop(object, Atom.to_string(name))

    if type?.(value),
      do: Map.put(others, name, value),
      else: raise(Error, "#{where}: #{name} cannot be #{inspect(value)}")
  end

  # What a record refers to must be there.
  defp check(collections) do
    refers(collections, :orders, :customer_id, :customers)
    refers(collections, :order_details, :order_id, :orders)
    refers(collections, :order_details, :product_id, :products)
    collections
  end

  defp refers(collections, from, field, to) do
    there = MapSet.new(collections[to], & &1.id)

    case Enum.find(collections[from], &(Map.fetch!(&1, field) not in there)) do
      nil -> :ok
      record -> raise Error, "#{from} refer to #{field} #{Map.fetch!(record, field)}, which #{to} do not have"
    end
  end

  defp index(collections) do
    by_id = fn name -> Map.new(collections[name], &{&1.id, &1}) end

    %{
      customers: by_id.(:customers),
      orders: by_id.(:orders),
      products: by_id.(:products),
      lines: Enum.group_by(collections.order_details, & &1.order_id)
    }
  end
end
