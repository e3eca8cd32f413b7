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

  # `values` has what is known, `order` the keys, the one first in at the front; `waiting` who waits for a key.
  defactor cache(store, size, values \\ %{}, order \\ :queue.new(), waiting \\ %{}) do
    {customer, {:get, key}} ->
      case values do
        %{^key => value} ->
          send customer, value

        _ ->
          case waiting do
            %{^key => customers} ->
              become waiting: Map.put(waiting, key, [customer | customers])

            _ ->
              send store, {self(), {:read, key}}
              become waiting: Map.put(waiting, key, [customer])
          end
      end

    # Until it is written, reads go to the store, behind it.
    {customer, {:put, key, value}} ->
      send store, {self(), {:write, key, value, customer}}
      become values: Map.delete(values, key)

    {:read, key, value} ->
      for customer <- Map.get(waiting, key, []), do: send(customer, value)

      known(
        store,
        size,
        Map.put(values, key, value),
        order,
        Map.delete(waiting, key),
        key,
        Map.has_key?(values, key)
      )

    {:written, customer, result} ->
      send customer, result
  end

  # One key more, and so one less if there are too many.
  defeffect known(store, size, values, order, waiting, _key, true) do
    become cache(store, size, values, order, waiting)
  end

  defeffect known(store, size, values, order, waiting, key, false) do
    order = :queue.in(key, order)

    if map_size(values) > size do
      {{:value, oldest}, order} = :queue.out(order)
      become cache(store, size, Map.delete(values, oldest), order, waiting)
    else
      become cache(store, size, values, order, waiting)
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
      send cache, {:written, customer, with_table(path, &:dets.insert(&1, {key, value}))}
  end

  defp with_table(path, fun) do
    with {:ok, table} <- :dets.open_file(path, file: path) do
      result = fun.(table)
      :ok = :dets.close(table)
      result
    end
  end
end
