defmodule Mote.Chaos.Labour do
  @moduledoc """
  Heavy operations as data: any of `operations/0`, so many times, on terms of any of the `shapes/0`.

  What an operation costs is for the machine to charge: nothing here knows which of them are cheap.
  """

  use Mote.Behaviour, errors: :undefined

  @lists [:list, :pairs, :comb, :improper, :rows, :debts]
  @maps [:map, :small_map, :tree_map]
  @any @lists ++ @maps ++ [:tree, :binary, :vector, :number]

  # What each operation takes; anything else has no answer, which is quick.
  @operations [
    {[:merge, :merge_back], @maps, @maps},
    {[:put, :delete, :get, :has, :put_key, :key], @maps, [:tree, :tree_map, :number, :comb]},
    {[:keys, :values, :to_list], @maps, [:number]},
    {[:append, :subtract], @lists, @lists},
    {[:length, :reverse, :sum, :tuple, :vec_new], @lists, [:number]},
    {[:map_new], [:pairs, :map, :list], [:number]},
    {[:member], @lists, @any},
    {[:equal, :less, :max, :pair, :tree, :flip, :list], @any, @any},
    {[:string, :glue, :bytes, :split], [:binary], [:binary]},
    {[:sort, :vec_list, :vec_add, :vec_concat, :vec_sum], [:vector], [:vector]}
  ]

  # Their sizes: the least and the greatest that a scenario asks for.
  @shapes [
    tree: {20, 45},
    comb: {100, 20_000},
    list: {100, 60_000},
    pairs: {10, 3_000},
    improper: {100, 60_000},
    rows: {100, 20_000},
    debts: {100, 20_000},
    map: {1, 1_500},
    small_map: {1, 32},
    tree_map: {20, 45},
    binary: {4, 18},
    vector: {4, 20},
    number: {0, 1_000}
  ]

  # Those that make something larger than a cell.
  @allocating ~w(merge merge_back put put_key delete keys values to_list append subtract reverse tuple vec_new)a ++
                ~w(map_new list glue bytes vec_list vec_add vec_concat)a

  @doc "Operations that allocate, as `operations/0`."
  def allocating do
    for {names, first, second} <- @operations,
        names = Enum.filter(names, &(&1 in @allocating)),
        names != [],
        do: {names, first, second}
  end

  @doc "Operations with the shapes that they take: `{names, first, second}`."
  def operations, do: @operations

  @doc "The names of all shapes, each with its least and its greatest size."
  def shapes, do: @shapes

  @doc """
  Works on the two terms that it holds. `:do` works without keeping anything, `:grow` keeps what each round makes for the
  next; `:hold` makes its terms anew, `:swap` exchanges the two.
  """
  defactor worker(x, y) do
    {customer, {:do, what, n}} ->
      send customer, kind(over(n, what, x, y, x))

    {:do, what, n} ->
      if over(n, what, x, y, x) == :never, do: send(self(), :never)

    {:grow, what, n} ->
      become worker(again(n, what, x, y), y)

    {:hold, {one, n}, {other, k}} ->
      become worker(build(one, n), build(other, k))

    :swap ->
      become worker(y, x)

    :forget ->
      become worker(0, 0)
  end

  defpure over(0, _what, _x, _y, last), do: last
  defpure over(n, what, x, y, _last), do: over(n - 1, what, x, y, apply_to(what, x, y))

  defpure again(0, _what, x, _y), do: x
  defpure again(n, what, x, y), do: again(n - 1, what, apply_to(what, x, y), y)

  defpure apply_to(what, x, y) do
    case what do
      :merge -> Map.merge(x, y)
      :merge_back -> Map.merge(y, x)
      :put -> Map.put(x, 7, y)
      :put_key -> Map.put(x, y, 1)
      :has -> Map.has_key?(x, y)
      :get -> Map.get(x, y)
      :delete -> Map.delete(x, y)
      :keys -> Map.keys(x)
      :values -> Map.values(x)
      :map_new -> Map.new(x)
      :append -> x ++ y
      :subtract -> x -- y
      :length -> length(x)
      :reverse -> Enum.reverse(x)
      :equal -> x == y
      :less -> x < y
      :max -> max(x, y)
      :member -> y in x
      :to_list -> Enum.to_list(x)
      other -> apply_more(other, x, y)
    end
  end

  defpure apply_more(what, x, y) do
    case what do
      :list -> Tuple.to_list(x)
      :tuple -> List.to_tuple(x)
      :string -> to_string(x)
      :glue -> x <> y
      :bytes -> for(<<byte <- x>>, do: byte)
      :split -> halves(x)
      :sort -> Mote.Vector.sort(x)
      :vec_list -> Mote.Vector.to_list(x)
      :vec_add -> Mote.Vector.add(x, y)
      :vec_concat -> Mote.Vector.concat(x, y)
      :vec_new -> Mote.Vector.new(:f64, x)
      :vec_sum -> Mote.Vector.sum(x)
      :sum -> Enum.sum(x)
      :pair -> {x, x}
      :key -> %{x => y}
      :tree -> [x | y]
      :flip -> {y, x}
    end
  end

  defpure halves(x) do
    half = div(byte_size(x), 2)
    binary_part(x, half, byte_size(x) - half) <> binary_part(x, 0, half)
  end

  defpure build(shape, n) do
    case shape do
      :tree -> tree(n, 0)
      :comb -> comb(n, [])
      :list -> list(n, [])
      :pairs -> for(i <- 1..n//1, do: {i, i * 0.5})
      :improper -> list(n, :end)
      :rows -> rows(n, 1, [])
      :debts -> rows(n, -1, [])
      :map -> Map.new(for(i <- 1..n//1, do: {i, n}))
      :small_map -> Map.new(for(i <- 1..n//1, do: {i, n}))
      :tree_map -> %{tree(n, 0) => 1, tree(n, 1) => 2}
      :binary -> doubled(n, "sixteen bytes ok")
      :vector -> vector(n, Mote.Vector.new(:f64, [3.5, -1, 2, 0.25]))
      :number -> n
    end
  end

  # 2^n leaves in n cells.
  defpure tree(0, t), do: t
  defpure tree(n, t), do: tree(n - 1, {t, t})
  defpure comb(0, t), do: t
  defpure comb(n, t), do: comb(n - 1, [[n] | t])
  defpure list(0, t), do: t
  defpure list(n, t), do: list(n - 1, [n | t])
  # Tuples that differ at their ends only.
  defpure rows(0, _sign, t), do: t
  defpure rows(n, sign, t), do: rows(n - 1, sign, [{0, 0, 0, 0, n * sign} | t])
  defpure doubled(0, b), do: b
  defpure doubled(n, b), do: doubled(n - 1, b <> b)
  defpure vector(0, v), do: v
  defpure vector(n, v), do: vector(n - 1, Mote.Vector.concat(v, Mote.Vector.mul(v, -0.5)))

  defpure kind(x) do
    cond do
      is_list(x) -> :list
      is_map(x) -> :map
      is_tuple(x) -> :tuple
      is_binary(x) -> :binary
      true -> x
    end
  end
end
