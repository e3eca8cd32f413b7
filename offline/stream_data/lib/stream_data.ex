defmodule StreamData do
  @moduledoc """
  Generators of random values that know how to become simpler.

  A fallback for building without Hex, with the names and results of the real package. Besides `%StreamData{}`
  structs, atoms are generators of themselves and tuples of generators are generators of tuples.

  A generator is an enumerable without end: `Enum.take(StreamData.integer(), 5)`. To test with generators, see
  `ExUnitProperties`.
  """

  alias StreamData.{Check, Collections, LazyTree, Numbers, Random, Recursive, Text}

  @tries 25

  @enforce_keys [:generator]
  defstruct [:generator]

  @type size :: non_neg_integer
  @type seed :: Random.seed()
  @type t(a) :: %__MODULE__{generator: (seed, size -> LazyTree.t(a))} | atom | tuple
  @type t :: t(term)

  defmodule FilterTooNarrowError do
    @moduledoc """
    Raised when a filter refuses too many generated values in a row.
    """

    defexception [:tries, :last_value]

    @impl true
    def message(%{tries: tries, last_value: last}) do
      seen =
        case last do
          {:value, value} -> " (the last one was #{inspect(value)})"
          nil -> ""
        end

      "#{tries} generated values in a row did not pass the filter#{seen}. " <>
        "Generate values that fit in the first place, for example with map/2 or bind/2, or allow more tries"
    end
  end

  defmodule TooManyDuplicatesError do
    @moduledoc """
    Raised when a list, map or set of unique values cannot be filled.
    """

    defexception [:max_tries, :remaining_to_generate, :generated]

    @impl true
    def message(error) do
      "#{error.max_tries} values in a row were duplicates, and #{error.remaining_to_generate} more unique values are " <>
        "needed beside #{inspect(error.generated)}. Use a generator of more different values, a smaller :min_length " <>
        "or a larger :max_tries"
    end
  end

  # Underscored, so that `import StreamData` leaves the short names to those who import.

  @doc false
  def __new__(generator) when is_function(generator, 2), do: %__MODULE__{generator: generator}

  @doc false
  def __call__(%__MODULE__{generator: generator}, seed, size), do: generator.(seed, size)
  def __call__(atom, _seed, _size) when is_atom(atom), do: LazyTree.constant(atom)
  def __call__(tuple, seed, size) when is_tuple(tuple), do: __call__(tuple(tuple), seed, size)

  def __call__(other, _seed, _size) do
    raise ArgumentError,
          "expected a generator (a %StreamData{} struct, an atom or a tuple of generators), got: #{inspect(other)}"
  end

  @doc """
  Always `term`, which never shrinks.
  """
  @spec constant(a) :: t(a) when a: var
  def constant(term), do: __new__(fn _seed, _size -> LazyTree.constant(term) end)

  @doc """
  What `fun` returns when called again for each value. It does not shrink.
  """
  @spec repeatedly(fun) :: t
  def repeatedly(fun) when is_function(fun, 0) do
    __new__(fn _seed, _size -> LazyTree.constant(fun.()) end)
  end

  @doc """
  The values of `data` after `fun`; they shrink as those of `data` do.
  """
  @spec map(t(a), (a -> b)) :: t(b) when a: var, b: var
  def map(data, fun) when is_function(fun, 1) do
    __new__(fn seed, size -> data |> __call__(seed, size) |> LazyTree.map(fun) end)
  end

  @doc """
  Generates from the generator that `fun` makes of a value of `data`. Shrinks that value first.
  """
  @spec bind(t(a), (a -> t(b))) :: t(b) when a: var, b: var
  def bind(data, fun) when is_function(fun, 1) do
    __new__(fn seed, size ->
      {seed1, seed2} = Random.split(seed)

      data
      |> __call__(seed1, size)
      |> LazyTree.map(&__call__(fun.(&1), seed2, size))
      |> LazyTree.flatten()
    end)
  end

  @doc """
  Like `bind/2`, but `fun` returns `{:cont, generator}`, or `:skip` for another try with a new value.

  Raises `StreamData.FilterTooNarrowError` after `max_consecutive_failures` skips in a row.
  """
  @spec bind_filter(t(a), (a -> {:cont, t(b)} | :skip), pos_integer) :: t(b) when a: var, b: var
  def bind_filter(data, fun, max_consecutive_failures \\ @tries)
      when is_function(fun, 1) and is_integer(max_consecutive_failures) do
    __new__(fn seed, size ->
      inner = fn value, seed ->
        case fun.(value) do
          {:cont, generator} -> {:cont, __call__(generator, seed, size)}
          :skip -> :skip
        end
      end

      data |> try_filter(inner, seed, size, max_consecutive_failures) |> LazyTree.flatten()
    end)
  end

  @doc """
  The values of `data` for which `predicate` is true.

  Raises `StreamData.FilterTooNarrowError` after `max_consecutive_failures` others in a row.
  """
  @spec filter(t(a), (a -> as_boolean(term)), pos_integer) :: t(a) when a: var
  def filter(data, predicate, max_consecutive_failures \\ @tries)
      when is_function(predicate, 1) and is_integer(max_consecutive_failures) do
    keep = fn value, _seed -> if predicate.(value), do: {:cont, value}, else: :skip end
    __new__(fn seed, size -> try_filter(data, keep, seed, size, max_consecutive_failures) end)
  end

  defp try_filter(data, fun, seed, size, tries) do
    Enum.reduce_while(1..tries//1, {seed, nil}, fn _try, {seed, _last} ->
      {seed1, rest} = Random.split(seed)
      {seed2, rest} = Random.split(rest)
      tree = __call__(data, seed1, size)

      case LazyTree.map_filter(tree, &fun.(&1, seed2)) do
        {:ok, tree} -> {:halt, tree}
        :error -> {:cont, {rest, {:value, tree.root}}}
      end
    end)
    |> case do
      {_seed, last} -> raise FilterTooNarrowError, tries: tries, last_value: last
      tree -> tree
    end
  end

  @doc """
  `data` at this size, whatever size is asked for.
  """
  @spec resize(t(a), size) :: t(a) when a: var
  def resize(data, size) when is_integer(size) and size >= 0 do
    __new__(fn seed, _size -> __call__(data, seed, size) end)
  end

  @doc """
  The generator that `fun` returns for the size that is asked for.
  """
  @spec sized((size -> t(a))) :: t(a) when a: var
  def sized(fun) when is_function(fun, 1) do
    __new__(fn seed, size -> __call__(fun.(size), seed, size) end)
  end

  @doc """
  `data` at the size that `fun` makes of the one that is asked for.
  """
  @spec scale(t(a), (size -> size)) :: t(a) when a: var
  def scale(data, fun) when is_function(fun, 1), do: sized(&resize(data, fun.(&1)))

  @doc """
  The values of `data`, which do not shrink.
  """
  @spec unshrinkable(t(a)) :: t(a) when a: var
  def unshrinkable(data) do
    __new__(fn seed, size -> LazyTree.constant(__call__(data, seed, size).root) end)
  end

  @doc """
  The same values of `data` each time, as `seed` says.
  """
  @spec seeded(t(a), integer) :: t(a) when a: var
  def seeded(data, seed) when is_integer(seed) do
    __new__(fn _seed, size -> __call__(data, Random.seed({seed, 0, 0}), size) end)
  end

  @doc """
  An element of `enumerable`. Shrinks towards the first.
  """
  @spec member_of(Enumerable.t()) :: t(term)
  def member_of(enumerable) do
    case Enum.to_list(enumerable) do
      [] ->
        raise ArgumentError, "member_of/1 needs at least one element"

      members ->
        members = List.to_tuple(members)
        map(integer(0..(tuple_size(members) - 1)), &elem(members, &1))
    end
  end

  @doc """
  A value of one of the generators. Shrinks towards the first of them.
  """
  @spec one_of([t(a)]) :: t(a) when a: var
  def one_of([_ | _] = datas), do: datas |> member_of() |> bind(& &1)

  @doc """
  A value of one of the generators in `[{weight, generator}]`. Shrinks towards the first of them.
  """
  @spec frequency([{pos_integer, t(a)}]) :: t(a) when a: var
  def frequency([_ | _] = weighted) do
    total = weighted |> Enum.map(&elem(&1, 0)) |> Enum.sum()

    bind(integer(0..(total - 1)), fn point ->
      Enum.reduce_while(weighted, point, fn {weight, data}, point ->
        if point < weight, do: {:halt, data}, else: {:cont, point - weight}
      end)
    end)
  end

  @doc """
  `nil`, or a value of `data`.
  """
  @spec nullable(t(a)) :: t(a | nil) when a: var
  def nullable(data), do: frequency([{1, constant(nil)}, {4, data}])

  defdelegate integer(), to: Numbers
  defdelegate integer(range), to: Numbers
  defdelegate positive_integer(), to: Numbers
  defdelegate non_negative_integer(), to: Numbers
  defdelegate boolean(), to: Numbers
  defdelegate byte(), to: Numbers
  defdelegate float(options \\ []), to: Numbers

  defdelegate binary(options \\ []), to: Text
  defdelegate bitstring(options \\ []), to: Text
  defdelegate codepoint(kind \\ :utf8), to: Text
  defdelegate string(kind_or_codepoints, options \\ []), to: Text
  defdelegate atom(kind), to: Text

  defdelegate list_of(data, options \\ []), to: Collections
  defdelegate uniq_list_of(data, options \\ []), to: Collections
  defdelegate nonempty(list_data), to: Collections
  defdelegate fixed_list(datas), to: Collections
  defdelegate tuple(tuple_of_datas), to: Collections
  defdelegate map_of(key_data, value_data, options \\ []), to: Collections
  defdelegate fixed_map(data_map), to: Collections
  defdelegate optional_map(data_map, optional_keys \\ nil), to: Collections
  defdelegate keyword_of(value_data), to: Collections
  defdelegate mapset_of(data, options \\ []), to: Collections
  defdelegate shuffle(enumerable), to: Collections

  defdelegate tree(leaf_data, subtree_fun), to: Recursive
  defdelegate term(), to: Recursive

  defdelegate check_all(data, options, fun), to: Check

  defimpl Enumerable do
    alias StreamData.{LazyTree, Random}

    def reduce(data, acc, fun) do
      seed = Random.seed({:erlang.unique_integer(), :erlang.monotonic_time(), :erlang.phash2(self())})
      # Sizes as check_all/3 would use them.
      sizes = Stream.cycle(1..100)

      sizes
      |> Stream.transform(seed, fn size, seed ->
        {now, later} = Random.split(seed)
        %LazyTree{root: root} = StreamData.__call__(data, now, size)
        {[root], later}
      end)
      |> Enumerable.reduce(acc, fun)
    end

    def count(_data), do: {:error, __MODULE__}
    def member?(_data, _term), do: {:error, __MODULE__}
    def slice(_data), do: {:error, __MODULE__}
  end
end
