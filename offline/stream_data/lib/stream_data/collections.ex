defmodule StreamData.Collections do
  @moduledoc """
  Generators of lists, tuples, maps and sets, behind the functions of the same names in `StreamData`.
  """

  alias StreamData.{LazyTree, Random, TooManyDuplicatesError}

  @doc """
  A list of values of `data`.

  Its length is between `:min_length` (default 0) and `:max_length` (default: the size, or `:min_length` if that is
  more), or exactly `:length`, which is an integer or a range. Shrinks by leaving elements out, then in its elements.
  """
  @spec list_of(StreamData.t(a), keyword) :: StreamData.t([a]) when a: var
  def list_of(data, options \\ []) do
    bounds = bounds(options, [:length, :min_length, :max_length])

    StreamData.__new__(fn seed, size ->
      {min_length, length, seed} = draw_length(bounds, seed, size)

      {trees, _seed} =
        Enum.map_reduce(1..length//1, seed, fn _place, seed ->
          {now, later} = Random.split(seed)
          {StreamData.__call__(data, now, size), later}
        end)

      LazyTree.list(trees, min_length)
    end)
  end

  @doc """
  A list of values of `data` that differ, or whose results of `:uniq_fun` differ.

  Takes the length options of `list_of/2`. Raises `StreamData.TooManyDuplicatesError` after `:max_tries` (default
  10) duplicates in a row, if the list is shorter than its `:min_length` by then.
  """
  @spec uniq_list_of(StreamData.t(a), keyword) :: StreamData.t([a]) when a: var
  def uniq_list_of(data, options \\ []) do
    bounds = bounds(options, [:length, :min_length, :max_length, :max_tries, :uniq_fun])
    uniq_fun = Keyword.get(options, :uniq_fun, & &1)
    max_tries = Keyword.get(options, :max_tries, 10)

    StreamData.__new__(fn seed, size ->
      {min_length, length, seed} = draw_length(bounds, seed, size)
      draw = &StreamData.__call__(data, &1, size)

      trees = draw_unique(draw, uniq_fun, %{need: min_length, max_tries: max_tries}, length, seed)
      keep = fn list -> if unique?(list, uniq_fun), do: {:cont, list}, else: :skip end
      {:ok, tree} = trees |> LazyTree.list(min_length) |> LazyTree.map_filter(keep)
      tree
    end)
  end

  defp draw_unique(draw, uniq_fun, limits, length, seed) do
    state = {[], MapSet.new(), seed, limits.max_tries}

    1
    |> Stream.iterate(&(&1 + 1))
    |> Enum.reduce_while(state, fn _draw, {trees, seen, seed, tries} ->
      count = length(trees)

      cond do
        count == length ->
          {:halt, trees}

        tries == 0 and count >= limits.need ->
          {:halt, trees}

        tries == 0 ->
          raise TooManyDuplicatesError,
            max_tries: limits.max_tries,
            remaining_to_generate: limits.need - count,
            generated: Enum.map(Enum.reverse(trees), & &1.root)

        true ->
          {now, later} = Random.split(seed)
          tree = draw.(now)
          key = uniq_fun.(tree.root)

          if MapSet.member?(seen, key),
            do: {:cont, {trees, seen, later, tries - 1}},
            else: {:cont, {[tree | trees], MapSet.put(seen, key), later, limits.max_tries}}
      end
    end)
    |> Enum.reverse()
  end

  defp unique?(list, uniq_fun), do: length(Enum.uniq_by(list, uniq_fun)) == length(list)

  @doc """
  The lists of `list_data` that have an element.
  """
  @spec nonempty(StreamData.t([a])) :: StreamData.t([a, ...]) when a: var
  def nonempty(list_data), do: StreamData.filter(list_data, &(&1 != []))

  @doc """
  A list with one value of each of the generators. Shrinks in its elements.
  """
  @spec fixed_list([StreamData.t()]) :: StreamData.t([term])
  def fixed_list(datas) when is_list(datas) do
    StreamData.__new__(fn seed, size ->
      {trees, _seed} =
        Enum.map_reduce(datas, seed, fn data, seed ->
          {now, later} = Random.split(seed)
          {StreamData.__call__(data, now, size), later}
        end)

      LazyTree.zip(trees)
    end)
  end

  @doc """
  A tuple with one value of each of the generators in the tuple. Shrinks in its elements.
  """
  @spec tuple(tuple) :: StreamData.t(tuple)
  def tuple(tuple_of_datas) when is_tuple(tuple_of_datas) do
    tuple_of_datas |> Tuple.to_list() |> fixed_list() |> StreamData.map(&List.to_tuple/1)
  end

  @doc """
  A map with keys and values of these generators. Takes the options of `uniq_list_of/2` except `:uniq_fun`.
  """
  @spec map_of(StreamData.t(k), StreamData.t(v), keyword) :: StreamData.t(%{optional(k) => v})
        when k: var, v: var
  def map_of(key_data, value_data, options \\ []) do
    {key_data, value_data}
    |> uniq_list_of(Keyword.put(options, :uniq_fun, &elem(&1, 0)))
    |> StreamData.map(&Map.new/1)
  end

  @doc """
  A set of values of `data`. Takes the options of `uniq_list_of/2` except `:uniq_fun`.
  """
  @spec mapset_of(StreamData.t(a), keyword) :: StreamData.t(MapSet.t(a)) when a: var
  def mapset_of(data, options \\ []) do
    data |> uniq_list_of(Keyword.delete(options, :uniq_fun)) |> StreamData.map(&MapSet.new/1)
  end

  @doc """
  A map with these keys, and a value of the generator that each of them has.
  """
  @spec fixed_map(map | keyword) :: StreamData.t(map)
  def fixed_map(data_map) do
    {keys, datas} = data_map |> Enum.to_list() |> Enum.unzip()
    datas |> fixed_list() |> StreamData.map(&Map.new(Enum.zip(keys, &1)))
  end

  @doc """
  Like `fixed_map/1`, but any of the `optional_keys` (default: all) may be missing. Shrinks towards fewer keys.
  """
  @spec optional_map(map | keyword, [term] | nil) :: StreamData.t(map)
  def optional_map(data_map, optional_keys \\ nil) do
    data_map
    |> Map.new(fn {key, data} ->
      present = StreamData.map(data, &{:present, &1})

      if optional_keys == nil or key in optional_keys,
        do: {key, StreamData.one_of([StreamData.constant(:absent), present])},
        else: {key, present}
    end)
    |> fixed_map()
    |> StreamData.map(fn map -> for {key, {:present, value}} <- map, into: %{}, do: {key, value} end)
  end

  @doc """
  A keyword list with values of `value_data`.
  """
  @spec keyword_of(StreamData.t(a)) :: StreamData.t([{atom, a}]) when a: var
  def keyword_of(value_data), do: list_of({StreamData.atom(:alphanumeric), value_data})

  @doc """
  The elements of `enumerable` in another order. Shrinks towards the given order.
  """
  @spec shuffle(Enumerable.t()) :: StreamData.t([term])
  def shuffle(enumerable) do
    elements = Enum.to_list(enumerable)
    count = length(elements)

    # Sorting is stable: equal keys, and so all of them shrunk to 0, keep the order.
    StreamData.integer(0..(count * count))
    |> list_of(length: count)
    |> StreamData.map(fn keys ->
      keys |> Enum.zip(elements) |> Enum.sort_by(&elem(&1, 0)) |> Enum.map(&elem(&1, 1))
    end)
  end

  defp bounds(options, known) do
    case Keyword.keys(options) -- known do
      [] -> :ok
      unknown -> raise ArgumentError, "unknown options: #{inspect(unknown)}, known are #{inspect(known)}"
    end

    {low, high} =
      case options[:length] do
        nil -> {Keyword.get(options, :min_length, 0), Keyword.get(options, :max_length, :size)}
        low..high//1 -> {low, high}
        length when is_integer(length) -> {length, length}
        other -> raise ArgumentError, ":length must be an integer or a range, got: #{inspect(other)}"
      end

    if is_integer(low) and low >= 0 and (high == :size or (is_integer(high) and high >= low)) do
      {low, high}
    else
      raise ArgumentError, "no list has a length like this: #{inspect(options)}"
    end
  end

  defp draw_length({low, high}, seed, size) do
    {now, later} = Random.split(seed)
    high = if high == :size, do: max(low, size), else: high
    {low, Random.integer(low, high, now), later}
  end
end
