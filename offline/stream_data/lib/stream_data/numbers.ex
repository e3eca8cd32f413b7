defmodule StreamData.Numbers do
  @moduledoc """
  Generators of numbers, behind the functions of the same names in `StreamData`.
  """

  alias StreamData.{LazyTree, Random}

  @doc """
  An integer in `-size..size`. Shrinks towards 0.
  """
  @spec integer() :: StreamData.t(integer)
  def integer, do: StreamData.sized(&integer(-&1..&1))

  @doc """
  An integer of the range, at every size. Shrinks towards the one nearest to 0.
  """
  @spec integer(Range.t()) :: StreamData.t(integer)
  def integer(first..last//step) when step in [1, -1] and (last - first) * step >= 0 do
    low = min(first, last)
    high = max(first, last)
    target = 0 |> max(low) |> min(high)

    StreamData.__new__(fn seed, _size -> LazyTree.integer(Random.integer(low, high, seed), target) end)
  end

  def integer(range) do
    raise ArgumentError, "expected a range that is not empty and has a step of 1, got: #{inspect(range)}"
  end

  @doc """
  An integer in `1..size`. Shrinks towards 1.
  """
  @spec positive_integer() :: StreamData.t(pos_integer)
  def positive_integer, do: StreamData.sized(&integer(1..max(1, &1)))

  @doc """
  An integer in `0..size`. Shrinks towards 0.
  """
  @spec non_negative_integer() :: StreamData.t(non_neg_integer)
  def non_negative_integer, do: StreamData.sized(&integer(0..&1))

  @doc """
  `false` or `true`. Shrinks towards `false`.
  """
  @spec boolean() :: StreamData.t(boolean)
  def boolean, do: StreamData.map(integer(0..1), &(&1 == 1))

  @doc """
  A byte. Shrinks towards 0.
  """
  @spec byte() :: StreamData.t(byte)
  def byte, do: integer(0..255)

  @doc """
  A float between `:min` and `:max`, both optional. Shrinks towards whole numbers, and those towards 0.
  """
  @spec float(keyword) :: StreamData.t(float)
  def float(options \\ []) do
    low = bound(options, :min)
    high = bound(options, :max)

    if low && high && low > high do
      raise ArgumentError, ":min must not be greater than :max, got: #{inspect(options)}"
    end

    StreamData.__new__(fn seed, size -> seed |> random_float(size, low, high) |> float_tree(low, high) end)
  end

  defp bound(options, key) do
    case options[key] do
      nil -> nil
      number when is_number(number) -> number * 1.0
      other -> raise ArgumentError, "expected #{inspect(key)} to be a number, got: #{inspect(other)}"
    end
  end

  defp random_float(seed, size, nil, nil) do
    {sign, seed} = Random.split(seed)
    value = magnitude(seed, size)
    if Random.integer(0, 1, sign) == 0, do: value, else: -value
  end

  defp random_float(seed, size, low, nil), do: low + magnitude(seed, size)
  defp random_float(seed, size, nil, high), do: high - magnitude(seed, size)

  defp random_float(seed, _size, low, high) do
    # Weighted ends, since high - low may be too large for a float.
    part = Random.float(seed)
    (low * (1.0 - part) + high * part) |> max(low) |> min(high)
  end

  # Mostly of the order of the size; sometimes whole, sometimes from the far ends of the exponents.
  defp magnitude(seed, size) do
    {kind, seed} = Random.split(seed)
    {exponent, seed} = Random.split(seed)
    near = Random.float(seed) * (size + 1)

    case Random.integer(0, 9, kind) do
      0 -> Float.floor(near)
      1 -> near * :math.pow(2, Random.integer(-3 * size, 3 * size, exponent))
      _ -> near
    end
  end

  defp float_tree(value, low, high) do
    %LazyTree{root: value, children: Stream.flat_map([:whole, :rounded], &simpler(&1, value, low, high))}
  end

  defp simpler(:whole, value, low, high) do
    whole = trunc(value)
    target = 0.0 |> max(low || 0.0) |> min(high || 0.0)
    within? = &((low == nil or &1 >= low) and (high == nil or &1 <= high))
    tree = LazyTree.integer(whole, if(target == trunc(target), do: trunc(target), else: whole))

    cond do
      whole == value -> tree |> floats(within?) |> Enum.take(1) |> Enum.flat_map(& &1.children)
      within?.(whole * 1.0) -> floats(tree, within?)
      true -> []
    end
  end

  # Fewer and fewer binary places; a value with n of them differs only from its roundings to less than n.
  defp simpler(:rounded, value, low, high) do
    for places <- 1..12,
        abs(value) < 1.0e12,
        scale = Bitwise.bsl(1, places),
        rounded = trunc(value * scale) / scale,
        rounded != value,
        (low == nil or rounded >= low) and (high == nil or rounded <= high) do
      float_tree(rounded, low, high)
    end
  end

  defp floats(tree, within?) do
    keep = fn whole -> if within?.(whole * 1.0), do: {:cont, whole * 1.0}, else: :skip end

    case LazyTree.map_filter(tree, keep) do
      {:ok, tree} -> [tree]
      :error -> []
    end
  end
end
