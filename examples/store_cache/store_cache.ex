defmodule StoreCache do
  @moduledoc """
  A cache in front of a slow store: the cache is a native actor, the store a DETS table on a disk, in a beam sponsor.

      {:ok, machine} = Mote.start_link(sponsors: [main: [], disk: [beam: true]])
      cache = StoreCache.start(machine, "words.dets", 1_000)
      Mote.ask(cache, {:put, "key", 1})   #=> {:ok, :ok}
      Mote.ask(cache, {:get, "key"})      #=> {:ok, {:ok, 1}}

  What is in the cache is answered in a native turn, also while the store is busy. Whoever asks for a key that is on its way
  waits for the same read. What is written is in the store before it is acknowledged.
  """

  use Mote.Behaviour

  @doc "Starts a cache of that many keys in front of the table of a file."
  @spec start(Mote.Machine.t(), Path.t(), pos_integer) :: Mote.Address.t()
  def start(machine, path, size) do
    store = Mote.create(machine, store(String.to_charlist(path)), sponsor: :disk)
    Mote.create(machine, cache(store, size), sponsor: :main)
  end

  # `values` has what is known, `order` its keys, first in at the front; `waiting` who waits for a key, `writing` how often a key
  # is being written. What is read meanwhile may be older than what is written: it is answered, and not kept.
  defactor cache(store, size, values \\ %{}, order \\ [], waiting \\ %{}, writing \\ %{}) do
    {customer, {:get, key}} ->
      case {values, waiting} do
        {%{^key => value}, _} ->
          send customer, value

        {_, %{^key => customers}} ->
          become waiting: Map.put(waiting, key, [customer | customers])

        _ ->
          send store, {self(), {:read, key}}
          become waiting: Map.put(waiting, key, [customer])
      end

    {customer, {:put, key, value}} ->
      send store, {self(), {:write, key, value, customer}}

      become values: Map.delete(values, key),
             order: List.delete(order, key),
             writing: Map.update(writing, key, 1, &(&1 + 1))

    {:written, key, customer, result} ->
      send customer, result

      case writing do
        %{^key => 1} -> become writing: Map.delete(writing, key)
        %{^key => n} -> become writing: Map.put(writing, key, n - 1)
      end

    {:read, key, value} ->
      for customer <- Map.get(waiting, key, []), do: send(customer, value)

      if Map.has_key?(writing, key) do
        become waiting: Map.delete(waiting, key)
      else
        {forgotten, order} = Enum.split(order ++ [key], max(length(order) + 1 - size, 0))

        become values: values |> Map.put(key, value) |> Map.drop(forgotten),
               order: order,
               waiting: Map.delete(waiting, key)
      end
  end

  @doc "The table of a file: opened for each request, so that a turn that is killed leaves none open."
  defactor store(path), beam: true do
    {cache, {:read, key}} ->
      value =
        with_table(path, fn table ->
          case :dets.lookup(table, key) do
            [{^key, value}] -> {:ok, value}
            [] -> :error
          end
        end)

      send cache, {:read, key, value}

    {cache, {:write, key, value, customer}} ->
      send cache, {:written, key, customer, with_table(path, &:dets.insert(&1, {key, value}))}
  end

  defp with_table(path, fun) do
    with {:ok, table} <- :dets.open_file(path, file: path) do
      result = fun.(table)
      :ok = :dets.close(table)
      result
    end
  end
end
