defmodule Mote.Total.Work do
  # What primitives walk over, and the fuel that they spend for it: the same as the machine charges (guides/ir.md, under
  # "Aborts"). One function clause for each primitive that walks; the others cost nothing. Work is paid for
  # beforehand, so nothing runs without fuel.
  #
  # Comparing a term with itself costs nothing, here and in the machine. "Itself" means the same place in
  # memory, about which the two do not always agree for terms from outside.
  @moduledoc false

  import Mote.Total.Enumerable, only: [is_near: 3, is_range: 3]
  import Mote.Total.Term, only: [is_value_map: 1]
  import Mote.Total.Vectors, only: [is_vector: 1]

  alias Mote.Total.{Integers, Sequence, Sorting, Term}
  alias Mote.Turn.Stage

  # Elements for one unit of fuel, those that are free, and bytes that cost as much as an element.
  @elements 4
  @free 64
  @bytes 32
  # An element that has to find its place among others costs a multiple of its weight. A map is put together anew when the
  # other one has more than a certain share of its entries.
  @placed 4
  @few 8

  @compared [:eq, :ne, :same, :differ, :lt, :le, :gt, :ge, :max, :min]
  @walking [
             :length,
             :put_elem,
             :append,
             :reverse,
             :member,
             :subtract,
             :sort,
             :keysort,
             :tuple_to_list,
             :list_to_tuple,
             :map_of,
             :map_keys
           ] ++
             [:map_values, :map_new, :map_merge, :to_list, :elements, :bin_slice, :vec_new, :vec_from_binary] ++
             [:vec_to_list, :vec_concat, :vec_map2, :vec_dot, :vec_distance, :vec_sum, :vec_min, :vec_max] ++
             [:vec_argmin, :vec_argmax, :vec_sort, :to_float]

  # These pay for what they have searched, or put together.
  @paying [:bin_of, :binary_find, :binary_join]

  # These pay where integers are long, while they calculate.
  @arithmetic [:add, :sub, :mul, :idiv, :irem, :neg, :abs, :band, :bor, :bxor, :bnot, :bsl, :bsr, :to_string]

  @keyed [:map_get, :map_fetch, :map_put, :map_update, :map_delete, :map_has_key]

  @doc "Whether a primitive is paid for before it is calculated."
  @spec paid?(atom) :: boolean
  def paid?(name), do: name in @compared or name in @keyed or name in @walking

  @doc "Whether a primitive walks over its arguments, other than to compare them, or to find a key."
  @spec walks?(atom) :: boolean
  def walks?(name), do: name in @walking or name in @paying

  @doc "Whether a primitive pays by the size of its arguments, were it only for integers of thousands of bits."
  @spec pays?(atom) :: boolean
  def pays?(name), do: paid?(name) or name in @paying or name in @arithmetic

  @doc "Pays, within a turn, for bytes that were put together or searched, as far as they were, and for the elements they are of."
  @spec bytes(non_neg_integer, non_neg_integer) :: :ok | integer | nil
  def bytes(bytes, elements \\ 0), do: count(elements + div(bytes, @bytes))

  @doc "Pays, within a turn, for the elements that an operation visits."
  @spec count(non_neg_integer) :: :ok | integer | nil
  def count(elements) when elements >= @free + @elements, do: if(Stage.fuel(), do: spend(elements))
  def count(_), do: :ok

  @doc "Pays for messages that leave the machine, within a turn: for all of each, but for the bytes of binaries."
  @spec pay_for_messages([term]) :: :ok | integer
  def pay_for_messages(messages) do
    most = (Stage.fuel() + 1) * @elements + @free
    spend(Enum.reduce(messages, 0, &written_out(&1, &2, most)))
  end

  @doc "Pays for a primitive, within a turn."
  def pay(:to_float, text), do: charge(:to_float, [text])
  def pay(name, a), do: if(big?(a), do: charge(name, [a]))

  def pay(name, a, b) when name in @compared,
    do: if(compound?(a) and compound?(b), do: charge(name, [a, b]))

  def pay(name, map, key) when name in @keyed, do: if(compound?(key), do: charge(name, [map, key]))
  def pay(name, a, b), do: charge(name, [a, b])

  def pay(name, map, key, _) when name in @keyed, do: pay(name, map, key)
  def pay(name, a, b, c), do: charge(name, [a, b, c])

  defp charge(name, arguments) do
    with fuel when is_integer(fuel) <- Stage.fuel() do
      # More than that is too much, however much more it is.
      most = (fuel + 1) * @elements + @free
      spend(work(name, arguments, most))
    end
  end

  defp spend(work) when work < @free + @elements, do: :ok
  defp spend(work), do: Stage.spend(div(work - @free, @elements))

  # How many integers a range has; where they are far more than can be paid for, without a division that takes long.
  defp integers(%Range{first: first, last: last, step: step} = range, most) do
    cond do
      if(step > 0, do: first > last, else: first < last) -> 0
      Integers.limbs(last - first) > Integers.limbs(step) + 2 -> most + 1
      true -> Range.size(range)
    end
  end

  # -- lists and tuples ----------------------------------------------------------------------------------------

  defp work(:length, [list], _), do: spine(list, 0)
  defp work(:append, [left, _], _), do: spine(left, 0)
  defp work(:reverse, [list], _), do: spine(list, 0)
  defp work(:tuple_to_list, [tuple], _), do: size(tuple)
  defp work(:list_to_tuple, [list], _), do: spine(list, 0)

  defp work(:member, [value, %Range{first: first, last: last, step: step}], _)
       when is_range(first, last, step) and is_integer(value) and not is_near(first, last, step),
       do: Integers.remainder([value, first, last], step)

  defp work(:member, [_, %Range{}], _), do: 0

  defp work(:member, [value, %MapSet{map: map}], most) when is_value_map(map),
    do: weight([value], @placed, 0, most)

  defp work(:member, [_, %{__struct__: _}], _), do: 0

  defp work(:member, [value, map], most) when is_value_map(map),
    do: member(Mote.Total.Maps.to_list(map), value, map_size(map), most)

  defp work(:member, [value, list], most), do: member(list, value, 0, most)

  defp work(:put_elem, [tuple, i, _], _) when is_tuple(tuple) and i in 0..(tuple_size(tuple) - 1)//1,
    do: tuple_size(tuple)

  defp work(:subtract, [left, right], most) when length(left) >= 0 do
    n = placed(right, 1, length(left), most)
    if proper?(right), do: subtract(left, Enum.frequencies(right), length(right), n, most), else: n
  end

  defp work(:subtract, [left, _], _), do: spine(left, 0)

  defp work(:sort, [list], most), do: sorting(list, list, most)

  defp work(:keysort, [n, list], most) when is_integer(n) and n > 0 do
    keyed = proper?(list) and Enum.all?(list, &Sequence.keyed?(&1, n))
    sorting(list, if(keyed, do: Enum.map(list, &elem(&1, n - 1)), else: []), most)
  end

  # -- maps ----------------------------------------------------------------------------------------------------

  defp work(name, [map, key], most) when name in @keyed and is_value_map(map),
    do: weight([key], @placed, 0, most)

  defp work(:map_of, [parts], most) when is_tuple(parts) and rem(tuple_size(parts), 2) == 0,
    do: parts |> Tuple.to_list() |> Enum.take_every(2) |> weight(@placed, tuple_size(parts), most)

  defp work(name, [map], _) when name in [:map_keys, :map_values, :to_list] and is_value_map(map),
    do: map_size(map)

  defp work(:elements, [%Range{first: first, last: last, step: step} = range], most)
       when is_range(first, last, step),
       do: integers(range, most) * Integers.visit([first, last, step])

  defp work(:elements, [%MapSet{map: map}], _) when is_value_map(map), do: map_size(map)
  defp work(:elements, [%{__struct__: _}], _), do: 0
  defp work(:elements, [map], _) when is_value_map(map), do: map_size(map)

  defp work(:map_new, [pairs], most) when is_list(pairs), do: pairs(pairs, 0, most)

  defp work(:map_merge, [a, b], most) when is_value_map(a) and is_value_map(b) do
    {m, n} = {map_size(a), map_size(b)}
    work = min(m + n, min(m, n) * @placed * @few)

    cond do
      n < div(m, @few) -> weight(Map.keys(b), @placed, work, most)
      m < div(n, @few) -> weight(Map.keys(a), @placed, work, most)
      true -> weight(Map.keys(b), 1, weight(Map.keys(a), 1, work, most), most)
    end
  end

  # -- binaries and vectors ------------------------------------------------------------------------------------

  defp work(:bin_slice, [binary, position, count], _) when is_binary(binary) do
    fits = is_integer(position) and position >= 0 and is_integer(count) and count >= 0
    inside = fits and position + count * 8 <= bit_size(binary)
    if inside and rem(position, 8) != 0, do: count, else: 0
  end

  defp work(:to_float, [text], _) when is_binary(text), do: byte_size(text)

  defp work(:vec_new, [_, list], _), do: spine(list, 0)
  defp work(:vec_from_binary, [_, binary], _) when is_binary(binary), do: div(byte_size(binary), @bytes)
  defp work(:vec_to_list, [v], _) when is_vector(v), do: elements(v)

  defp work(:vec_concat, [a, b], _) when is_vector(a) and is_vector(b),
    do: if(a.type == b.type, do: share(elements(a) + elements(b)), else: 0)

  defp work(:vec_map2, [name, a, _], _) when name in [:add, :sub, :mul, :div, :min, :max], do: walked(a)
  defp work(name, [a, _], _) when name in [:vec_dot, :vec_distance], do: walked(a)
  defp work(:vec_sort, [v], _) when is_vector(v), do: share(levels(elements(v)))
  defp work(name, [v], _) when name in [:vec_sum, :vec_min, :vec_max, :vec_argmin, :vec_argmax], do: walked(v)

  # -- comparisons ---------------------------------------------------------------------------------------------

  # Which of two terms is less is found where they differ first: up to there they are equal.
  defp work(name, [a, b], most) when name in @compared do
    compared(a, b, if(name in [:same, :differ], do: :same, else: :equal), 0, most)
  end

  defp work(_, _, _), do: 0

  defp big?([_ | _]), do: true
  defp big?(a), do: is_tuple(a) or is_map(a)

  defp compound?(a), do: big?(a) or is_binary(a) or Integers.weight(a) > 0

  defp proper?(list) when length(list) >= 0, do: true
  defp proper?(_), do: false

  defp spine([_ | tail], n), do: spine(tail, n + 1)
  defp spine(_, n), do: n

  defp size(tuple) when is_tuple(tuple), do: tuple_size(tuple)
  defp size(_), do: 0

  defp elements(v), do: div(byte_size(v.binary), 8)
  defp levels(0), do: 0
  defp levels(n), do: n * (n |> Integer.digits(2) |> length() |> Kernel.-(1))
  defp share(elements), do: div(elements * 8, @bytes)
  defp walked(v) when is_vector(v), do: share(elements(v))
  defp walked(_), do: 0

  defp member(_, _, n, most) when n > most, do: n

  defp member([head | tail], value, n, most) do
    n = compared(head, value, :same, n + 1, most)
    if n > most or Term.same(head, value), do: n, else: member(tail, value, n, most)
  end

  defp member(_, _, n, _), do: n

  # Elements that find their places, each at an extra cost.
  defp placed([head | tail], each, n, most) when n <= most,
    do: placed(tail, each, weight([head], @placed, n + each, most), most)

  defp placed(_, _, n, _), do: n

  # One that is odd is the last.
  defp pairs([{key, _} | tail], n, most) when n <= most,
    do: pairs(tail, weight([key], @placed, n + @placed, most), most)

  defp pairs([_ | _], n, _), do: n + @placed
  defp pairs(_, n, _), do: n

  # Elements of the left side find their places until nothing is unwanted any more.
  defp subtract([head | tail], unwanted, count, n, most) when count > 0 and n <= most do
    n = weight([head], @placed, n, most)

    case unwanted do
      %{^head => left} when left > 0 -> subtract(tail, %{unwanted | head => left - 1}, count - 1, n, most)
      _ -> subtract(tail, unwanted, count, n, most)
    end
  end

  defp subtract(_, _, _, n, _), do: n

  # Elements and steps, and what comparing their keys costs.
  defp sorting(list, keys, most) when length(list) > 1 do
    n = length(list) + levels(length(list))

    if n <= most and Enum.any?(keys, &compound?/1),
      do: Sorting.compared(keys, n, &compared_keys(&1, &2, &3, most)),
      else: n
  end

  defp sorting(list, _, _), do: spine(list, 0)

  defp compared_keys(_, _, n, most) when n > most, do: {false, n}

  defp compared_keys(a, b, n, most) do
    n = compared(a, b, :equal, n, most)
    {n <= most and Term.gt(a, b), n}
  end

  # -- what terms weigh: the elements that would be compared to find them equal to others ------------------------

  defp weight([term | terms], times, n, most) when n <= most do
    cond do
      is_tuple(term) ->
        weight(terms, times, weight(Tuple.to_list(term), times, n + tuple_size(term) * times, most), most)

      match?([_ | _], term) ->
        weight(terms, times, list(term, times, n, most), most)

      is_value_map(term) ->
        n = n + 2 * map_size(term) * times
        n = weight(Map.values(term), times, weight(Map.keys(term), times, n, most), most)
        weight(terms, times, n, most)

      is_binary(term) ->
        weight(terms, times, n + div(byte_size(term), @bytes) * times, most)

      true ->
        weight(terms, times, n + Integers.weight(term) * times, most)
    end
  end

  defp weight(_, _, n, _), do: n

  # Head and tail of each cell.
  defp list([head | tail], times, n, most) when n <= most,
    do: list(tail, times, weight([head], times, n + 2 * times, most), most)

  defp list([_ | _], _, n, _), do: n
  defp list(rest, times, n, most), do: weight([rest], times, n, most)

  defp written_out(_, n, most) when n > most, do: n
  defp written_out([head | tail], n, most), do: written_out(tail, written_out(head, n + 2, most), most)

  defp written_out(tuple, n, most) when is_tuple(tuple),
    do: tuple |> Tuple.to_list() |> Enum.reduce(n + tuple_size(tuple), &written_out(&1, &2, most))

  defp written_out(map, n, most) when is_value_map(map) do
    Enum.reduce(Map.to_list(map), n + 2 * map_size(map), fn {key, value}, n ->
      written_out(value, written_out(key, n, most), most)
    end)
  end

  defp written_out(leaf, n, _), do: n + Integers.weight(leaf)

  # The pair itself is no element of anything.
  defp compared(a, b, question, n, most), do: compared([{[a], [b], question}], n - 1, most)

  defp compared([{[x | xs], [y | ys], question} | rest], n, most) when n <= most do
    rest = if xs == [], do: rest, else: [{xs, ys, question} | rest]
    n = n + 1

    cond do
      :erts_debug.same(x, y) ->
        compared(rest, n, most)

      is_tuple(x) and is_tuple(y) ->
        tuples(x, y, question, rest, n, most)

      match?({[_ | _], [_ | _]}, {x, y}) ->
        compared([{[hd(x), tl(x)], [hd(y), tl(y)], question} | rest], n, most)

      is_value_map(x) and is_value_map(y) ->
        maps(x, y, question, rest, n, most)

      true ->
        leaves(x, y, question, rest, n, most)
    end
  end

  defp compared(_, n, _), do: n

  defp tuples({}, {}, _, rest, n, most), do: compared(rest, n, most)

  defp tuples(x, y, question, rest, n, most) when tuple_size(x) == tuple_size(y),
    do: compared([{Tuple.to_list(x), Tuple.to_list(y), question} | rest], n, most)

  defp tuples(_, _, _, _, n, _), do: n

  defp maps(x, y, _, rest, n, most) when map_size(x) == 0 and map_size(y) == 0, do: compared(rest, n, most)

  defp maps(x, y, question, rest, n, most) when map_size(x) == map_size(y) do
    {xs, ys} = {Term.sorted_keys(x), Term.sorted_keys(y)}
    values = fn map, keys -> Enum.map(keys, &Map.get(map, &1)) end
    compared([{xs, ys, :key}, {values.(x, xs), values.(y, ys), question} | rest], n, most)
  end

  defp maps(_, _, _, _, n, _), do: n

  defp leaves(x, y, question, rest, n, most) do
    n =
      if is_binary(x) and is_binary(y),
        do: n + div(min(byte_size(x), byte_size(y)), @bytes),
        else: n + Integers.compared(x, y)

    if alike?(x, y, question), do: compared(rest, n, most), else: n
  end

  defp alike?(x, y, :equal), do: x == y
  defp alike?(x, y, :same), do: Term.same(x, y)
  defp alike?(x, y, :key), do: x === y
end
