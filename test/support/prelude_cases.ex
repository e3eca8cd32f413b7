defmodule Mote.PreludeCases do
  @moduledoc """
  Calls of the functions of `Mote.Prelude`, as text, for the property that compares them with Elixir's own.

  The name of a variable says what it is: see `generator/1`.
  """

  import StreamData

  @cases %{
    # How the two lists of a queue are filled is its own business.
    "queues" => """
    :queue.to_list(:queue.in(t, :queue.from_list(l)))
    :queue.to_list(:queue.in_r(t, :queue.from_list(l)))
    :queue.to_list(:queue.in(t, :queue.in(1, :queue.new())))
    elem(:queue.out(:queue.from_list(l)), 0)
    elem(:queue.out_r(:queue.from_list(l)), 0)
    :queue.to_list(elem(:queue.out(:queue.from_list(l)), 1))
    :queue.to_list(elem(:queue.out_r(:queue.from_list(l)), 1))
    :queue.peek(:queue.from_list(l))
    :queue.peek_r(:queue.from_list(l))
    :queue.get(:queue.in_r(t, :queue.from_list(l)))
    :queue.get_r(:queue.in(t, :queue.from_list(l)))
    :queue.to_list(:queue.drop(:queue.in(t, :queue.from_list(l))))
    :queue.to_list(:queue.drop_r(:queue.in(t, :queue.from_list(l))))
    :queue.is_empty(:queue.from_list(l))
    :queue.is_queue(t)
    :queue.is_queue(:queue.from_list(l))
    :queue.len(:queue.in(t, :queue.from_list(l)))
    :queue.member(i, :queue.from_list(l))
    :queue.to_list(:queue.reverse(:queue.from_list(l)))
    :queue.to_list(:queue.join(:queue.from_list(l), :queue.from_list(ints)))
    :queue.to_list(:queue.in(t, :queue.join(:queue.from_list(l), :queue.from_list(ints))))
    elem(:queue.out_r(:queue.join(:queue.from_list(l), :queue.from_list(ints))), 0)
    :queue.is_empty({l, ints})
    :queue.len({l, ints})
    :queue.to_list(:queue.in(1, {l, ints}))
    elem(:queue.out({l, ints}), 0)
    :queue.peek({l, ints})
    :queue.member(1, {l, ints})
    :queue.to_list(:queue.reverse({l, ints}))
    Enum.reduce(l, {:queue.new(), []}, fn x, {q, out} -> if x > -3, do: {:queue.in(x, q), out}, else: {elem(:queue.out(q), 1), [:queue.peek(q) | out]} end) |> then(fn {q, out} -> {:queue.to_list(q), out} end)
    Enum.reduce(l, {:queue.new(), []}, fn x, {q, out} -> if x > -3, do: {:queue.in_r(x, q), out}, else: {elem(:queue.out_r(q), 1), [:queue.peek_r(q) | out]} end) |> then(fn {q, out} -> {:queue.to_list(q), out} end)
    """,
    "Enum: parts" => """
    Enum.at(e, i)
    Enum.at(e, i, t)
    Enum.fetch(e, i)
    Enum.fetch!([t | e_list], n_in)
    Enum.take(e, i)
    Enum.drop(e, i)
    Enum.split(e, i)
    Enum.slice(e, n, n_more)
    Enum.take_every(e, n)
    Enum.drop_every(e, n)
    Enum.chunk_every(e, n + 1)
    Enum.chunk_every(e, n + 1, n_more + 1)
    Enum.chunk_every(e, n + 1, n_more + 1, terms)
    Enum.chunk_every(e, n + 1, n_more + 1, :discard)
    Enum.map_every(l, n, &(&1 * 2))
    Enum.slice(e, n..n_more)
    Enum.slice(e, n..-2//1)
    Enum.slice([1, 2, 3], 0..2//2)
    Enum.slice([1, 2, 3 | l], -2..-1)
    Enum.take_while(l, fn x -> x < i end)
    Enum.drop_while(l, fn x -> x < i end)
    Enum.split_while(l, &(&1 < i))
    Enum.split_with(l, &(rem(&1, 2) == 0 and &1 > i))
    Enum.reject(l, fn x when x > i -> true; _ -> nil end)
    Enum.chunk_by(l, &(&1 > i))
    Enum.dedup(l)
    Enum.dedup_by(l, &rem(&1, 2))
    Enum.uniq(e)
    Enum.uniq_by(l, &rem(&1, 3))
    Enum.take(1..9, i)
    Enum.drop(-3..12//4, i)
    """,
    "Enum: looking for something" => """
    Enum.all?(terms)
    Enum.any?(terms)
    Enum.all?(l, &(&1 > i))
    Enum.any?(l, &(&1 > i))
    Enum.any?(map, fn {k, v} -> k == v end)
    Enum.empty?(e)
    Enum.find(l, fn x -> x > i end)
    Enum.find(l, t, fn x -> x > i end)
    Enum.find(i..n//2, &(&1 > 2))
    Enum.find_index(l, fn x -> x > i end)
    Enum.find_value(l, fn x -> x > i && {x, i} end)
    Enum.find_value(l, t, fn x -> if x > i, do: x * 2 end)
    Enum.count(l, &(&1 > i))
    Enum.reduce_while(l, 0, fn x, acc -> if acc > 5, do: {:halt, {:done, acc}}, else: {:cont, acc + x} end)
    """,
    "Enum: putting together" => """
    Enum.concat([l, e, terms])
    Enum.concat(e, l)
    Enum.concat(1..4, l)
    Enum.reverse(e, l)
    Enum.zip(e, l)
    Enum.zip(1..3, terms)
    Enum.zip([e, l, map])
    Enum.flat_map_reduce(l, i, fn x, acc -> if acc > 6, do: {:halt, acc}, else: {[x, acc], acc + 1} end)
    Enum.zip_with(l, ints, fn x, y -> {y, x + i} end)
    Enum.zip_reduce(l, ints, i, fn x, y, acc -> x + y - acc end)
    Enum.unzip(pairs)
    Enum.with_index(e)
    Enum.with_index(e, i)
    Enum.with_index(e, fn x, i -> {i, x} end)
    Enum.with_index(l, &(&1 * &2))
    Enum.into(pairs, map)
    Enum.into(e, [])
    Enum.into(l, map, fn x -> {x, i} end)
    Enum.intersperse(e, t)
    Enum.map_intersperse(l, t, &(&1 * 2))
    Enum.join(texts)
    Enum.join(texts, s)
    Enum.map_join(l, &(&1 + i))
    Enum.map_join(l, ", ", fn x -> "<\#{x}>" end)
    Enum.flat_map(l, fn x -> [x, i] end)
    Enum.flat_map(l, fn x when x > i -> []; x -> [x] end)
    Enum.map_reduce(l, i, fn x, acc -> {x * acc, acc + 1} end)
    Enum.reduce([i | l], fn x, acc -> x - acc end)
    Enum.scan(l, &(&1 + &2))
    Enum.scan(l, i, &(&1 - &2))
    Enum.any?(l, fn x -> Enum.all?(ints, fn y -> x + y > i end) end)
    Enum.flat_map(l, fn x -> Enum.reject(ints, fn y -> x + y > i end) end)
    l |> Enum.sort_by(&rem(&1, 3)) |> then(fn [x | _] -> x; other -> other end)
    """,
    "Words of the language" => """
    with {:ok, x} <- Map.fetch(map, i), do: {x, t}
    with {:ok, x} <- Map.fetch(map, i), y = x + n, true <- y > 3, do: {x, y}, else: (:error -> :none; other -> {other, i})
    with {a, b} when a < b <- List.first(pairs), [x | _] <- l, do: {a, b, x}
    with x = i + 1, [y | rest] when y != x <- l, _ <- t, z <- rest, do: {x, y, z}
    with(x <- i, do: x) + with(x = n, do: x)
    with {:ok, x} <- Map.fetch(map, i), do: x, else: (_ -> with([x | _] <- l, do: x, else: (_ -> :empty)))
    for x <- l, into: %{}, do: {x, i}
    for {k, v} <- pairs, k > v, into: map, do: {k, {v, i}}
    for x <- l, into: s, do: "<\#{x}>"
    for <<c <- s>>, c != ?,, into: "", do: <<c, c>>
    for x <- l, into: [], do: x
    for x <- l, y <- ints, uniq: true, do: rem(x + y, 4)
    for x <- l, uniq: true, into: s, do: to_string(x)
    map[i]
    kw[key]
    {%{a: map}[:a][i], nil[i], kw[key]}
    Access.get(map, i)
    Access.get(kw, key, t)
    get_in(%{a: map, b: kw}, [:a, i])
    Kernel.get_in(%{a: map, b: kw}, [:b, key])
    Kernel.put_in(%{a: map}, [:a, i], t)
    Kernel.put_in([{key, i} | Keyword.delete(kw, key)], [key], t)
    Kernel.put_in(%{a: Keyword.delete(kw, key)}, [:a, key], t)
    Kernel.**(i, n)
    Kernel.**(i + 8, n_in)
    {i ** n, f ** 2, 2 ** (f / 1.0e5)}
    tap(i, fn x -> x + 1 end) + then(i, &(&1 * 2))
    Enum.into(texts, "", &to_string/1)
    Enum.into(["x", s], s)
    """,
    "Enum: order and number" => """
    Enum.max([t | terms])
    Enum.min([t | terms])
    Enum.min_max([i | l])
    Enum.max_by([i | l], &rem(&1, 3))
    Enum.min_by([i | l], &rem(&1, 3))
    Enum.min_max_by([i | l], &rem(&1, 3))
    Enum.product(l)
    Enum.product_by(l, fn x -> x + 1 end)
    Enum.sum_by(l, &(&1 * 2))
    Enum.sort(ordered)
    Enum.sort(l, :asc)
    Enum.sort(l, :desc)
    Enum.sort(pairs, fn {a, _}, {b, _} -> a <= b end)
    Enum.sort(pairs, fn {_, a}, {_, b} -> a >= b end)
    Enum.sort_by(pairs, &elem(&1, 1))
    Enum.sort_by(pairs, &elem(&1, 0), :desc)
    Enum.sort_by(pairs, fn {_, x} -> x end, fn a, b -> rem(a, 4) <= rem(b, 4) end)
    Enum.frequencies(e)
    Enum.frequencies_by(l, &rem(&1, 3))
    Enum.group_by(l, &rem(&1, 3))
    Enum.group_by(pairs, fn {k, _} -> k end, fn {_, v} -> {v, i} end)
    """,
    "List" => """
    List.delete(terms, t)
    List.delete_at(terms, i)
    List.duplicate(t, n)
    List.first(terms)
    List.first(terms, i)
    List.last(terms)
    List.last(terms, i)
    List.flatten(lists)
    List.flatten(lists, l)
    List.insert_at(l, i, t)
    List.keydelete(pairs, i, 1)
    List.keyfind(pairs, i, 0)
    List.keyfind(pairs, i, 0, t)
    List.keymember?(pairs, i, 1)
    List.keyreplace(pairs, i, 0, {i, t})
    List.keystore(pairs, i, 0, {i, t})
    List.keysort(pairs, 1)
    List.keyfind(pairs, i, n)
    List.keymember?(pairs, i, n)
    List.keydelete(pairs, i, n)
    List.keyreplace(pairs, i, n, {i, t})
    List.keystore(pairs, i, n, {i, t})
    List.keysort([], n)
    List.pop_at(terms, i)
    List.pop_at(terms, i, :none)
    List.replace_at(terms, i, t)
    List.starts_with?(l, Enum.take(l, n))
    List.starts_with?(l, ints)
    List.wrap(t)
    List.zip([l, terms, ints])
    List.foldl(l, i, &(&1 - &2))
    List.foldr(l, i, &(&1 - &2))
    List.update_at(l, i, &(&1 * n))
    """,
    "Map and Keyword" => """
    Map.drop(map, l)
    Map.take(map, l)
    Map.split(map, l)
    Map.pop(map, i)
    Map.pop!(Map.put(map, i, n), i)
    Map.replace!(Map.put(map, i, n), i, t)
    Map.pop(map, i, t)
    Map.replace(map, i, t)
    Map.from_keys(l, t)
    Map.equal?(map, Map.new(pairs))
    Map.filter(map, fn {k, v} -> k + v > i end)
    Map.reject(map, fn {k, v} -> k + v > i end)
    Map.merge(map, Map.new(pairs), fn k, a, b -> {k, a, b, i} end)
    Map.get_lazy(map, i, fn -> {:none, n} end)
    Map.put_new_lazy(map, i, fn -> {:none, n} end)
    Keyword.get(kw, key)
    Keyword.get(kw, key, t)
    Keyword.fetch(kw, key)
    Keyword.update(kw, key, t, &(&1 + i))
    Keyword.update!([{key, n} | kw], key, &(&1 + i))
    Map.from_struct(%URI{host: s})
    Keyword.fetch!([{:b, i}, {key, t} | kw], key)
    Keyword.has_key?(kw, key)
    Keyword.delete(kw, key)
    Keyword.put(kw, key, t)
    Keyword.put_new(kw, key, t)
    Keyword.keys(kw)
    Keyword.values(kw)
    Keyword.get_values(kw, key)
    Keyword.take(kw, keys)
    Keyword.drop(kw, keys)
    Keyword.merge(kw, [{key, t}, {:b, i}])
    Keyword.pop(kw, key)
    Keyword.pop(kw, key, t)
    Keyword.validate(kw, [:a, {:b, i}, {:c, t}])
    Keyword.validate([{key, i} | kw], [key | keys])
    Keyword.validate([{:c, i}, {:a, n}], [{:b, t}, :a, {key, n}, :c])
    Keyword.validate!([{key, i}], [{:b, n}, {key, t}, {:d, i}])
    """,
    "MapSet and Range" => """
    MapSet.new()
    MapSet.new(terms)
    MapSet.new(i..n//2)
    MapSet.new(l, &rem(&1, 3))
    MapSet.put(MapSet.new(l), t)
    MapSet.delete(MapSet.new(l), i)
    MapSet.member?(MapSet.new(l), i)
    MapSet.size(MapSet.new(terms))
    MapSet.equal?(MapSet.new(l), MapSet.new(Enum.reverse(l)))
    MapSet.equal?(MapSet.new(l), MapSet.new(ints))
    MapSet.union(MapSet.new(l), MapSet.new(ints))
    MapSet.intersection(MapSet.new(l), MapSet.new(ints))
    MapSet.difference(MapSet.new(l), MapSet.new(ints))
    MapSet.symmetric_difference(MapSet.new(l), MapSet.new(ints))
    MapSet.subset?(MapSet.new(l), MapSet.new(l ++ ints))
    MapSet.subset?(MapSet.new(l), MapSet.new(ints))
    MapSet.disjoint?(MapSet.new(l), MapSet.new(ints))
    MapSet.filter(MapSet.new(l), &(&1 > i))
    MapSet.reject(MapSet.new(l), &(&1 > i))
    MapSet.to_list(MapSet.new(l))
    Map.to_list(map)
    Enum.map(MapSet.new(l), &(&1 * 2))
    Enum.into(l, MapSet.new([i]))
    for x <- MapSet.new(l), x > i, into: MapSet.new(), do: rem(x, 5)
    {i in MapSet.new(l), Enum.member?(MapSet.new(terms), t), Enum.count(MapSet.new(ints))}
    i..n
    i..n//(n_more + 1)
    [1..3, 3..1//-1, i..i, {1..i, n..2//-1}]
    Range.new(i, n)
    Range.new(i, n, n_more + 1)
    Range.size(i..n//2)
    Range.size(i..n//-3)
    Range.shift(i..n//2, n_more)
    %{r: i..n//2}.r.step
    Enum.map([i..n//1, n..i//-2], fn range -> {Enum.sum(range), Enum.count(range), Enum.to_list(range)} end)
    Enum.map([i..n//1, n..i//-2, 1..9//4], &{n_more in &1, Enum.member?(&1, i), t in &1})
    for range <- [i..n, 2..n//3], x <- range, do: x
    Enum.map([0..1, n..n_more, -2..-1], fn range -> Enum.slice(terms, range) end)
    Enum.map([0..1, n..n_more, -2..-1], &String.slice(s, &1))
    Enum.zip(1..3, [1..2, 2..1//-1])
    Tuple.append({1}, 1..2)
    case i..n//2 do (first..last//step -> {first, last, step}) end
    """,
    "Tuple and Integer" => """
    Tuple.append(tuple, t)
    Tuple.delete_at(tuple, 0)
    Tuple.insert_at(tuple, 1, t)
    Tuple.duplicate(t, n)
    Tuple.sum(tuple)
    Tuple.product(tuple)
    Integer.mod(number, if(i == 0, do: 5, else: i))
    Integer.floor_div(number, if(i == 0, do: 5, else: i))
    Integer.gcd(number, i)
    Integer.gcd(number, 0)
    Integer.extended_gcd(number, i) |> then(fn {g, m, n} -> {abs(g), m * number + n * i == g} end)
    Integer.extended_gcd(i, number) |> then(fn {g, m, n} -> {abs(g), m * i + n * number == g} end)
    Integer.digits(0, n + 2)
    Integer.pow(i, n)
    Integer.digits(number)
    Integer.digits(number, n + 2)
    Integer.undigits(digits)
    Integer.undigits(Integer.digits(number, n + 2), n + 2)
    """,
    "Enum: the best, and several at once" => """
    Enum.max([i | l], &>=/2)
    Enum.max([i | l], fn a, b -> rem(a, 3) >= rem(b, 3) end)
    Enum.max(l, fn -> :none end)
    Enum.max(l, &(&1 >= &2), fn -> {:none, i} end)
    Enum.min([i | l], fn a, b -> rem(a, 3) <= rem(b, 3) end)
    Enum.min(terms, fn -> t end)
    Enum.min(l, &<=/2, fn -> nil end)
    Enum.max_by(l, &rem(&1, 3), fn -> :none end)
    Enum.max_by([i | l], &rem(&1, 3), &<=/2)
    Enum.max_by(l, &rem(&1, 3), &>=/2, fn -> :none end)
    Enum.min_by(l, &rem(&1, 3), fn -> :none end)
    Enum.min_by([i | l], fn x -> {rem(x, 4), x} end, fn {a, _}, {b, _} -> a >= b end)
    Enum.min_by(l, &rem(&1, 3), &<=/2, fn -> :none end)
    Enum.min_max(l, fn -> i end)
    Enum.min_max_by([i | l], &rem(&1, 3), fn -> nil end)
    Enum.min_max_by([i | l], &rem(&1, 3), fn a, b -> a > b end)
    Enum.min_max_by(l, &rem(&1, 3), &</2, fn -> :none end)
    Enum.chunk_while(l, [], fn x, acc -> if x > i, do: {:cont, Enum.reverse(acc), [x]}, else: {:cont, [x | acc]} end, fn acc -> {:cont, acc, nil} end)
    Enum.chunk_while(l, 0, fn x, acc -> if acc > 9, do: {:halt, acc}, else: {:cont, x, acc + 1} end, fn _ -> {:cont, :end} end)
    Enum.count_until(e, n + 1)
    Enum.count_until(l, &(&1 > i), n + 1)
    Enum.slide([1, 2, 3, 4, 5, 6, 7, 8 | e_list], n, n_more)
    Enum.slide([1, 2, 3, 4, 5, 6 | l], n_in, n_in)
    Enum.slide([1, 2, 3, 4, 5, 6 | l], n_in, n)
    Enum.slide(l, 1..2, n + 3)
    Enum.slide([t, t, i | l], 1..2, 0)
    Enum.slide([1, 2, 3, 4, 5], -3..-2//1, 0)
    Enum.reverse_slice(e, n, n_more)
    Enum.zip_with([l, ints, terms], fn [a, b, c] -> {c, b, a} end)
    Enum.zip_with([l, 1..3], &Enum.sum/1)
    Enum.zip_reduce([l, ints], [], fn row, acc -> [row | acc] end)
    {Enum.random([t]), Enum.random(n..n), Enum.random([i | l]) in [i | l], Enum.random(n..20//3) in n..20//3}
    Enum.sort(Enum.shuffle(l)) == Enum.sort(l)
    {length(Enum.take_random(l, n)), Enum.take_random(l, n) -- l}
    List.keysort(pairs, 1, :desc)
    List.keysort(pairs, 0, fn a, b -> rem(a, 3) <= rem(b, 3) end)
    """,
    "Containers: paths and single keys" => """
    put_in(%{a: map}.a[i], t)
    put_in(%{a: %{b: t, c: 1}}.a.b, i)
    put_in(%{a: Keyword.delete(kw, key)}[:a][key], t)
    update_in(%{a: map}[:a], fn m -> map_size(m) end)
    update_in(%{a: %{b: i}}.a.b, &(&1 + 1))
    update_in(%{map: Map.put(map, i, n)}.map[i], fn x -> {x, t} end)
    Kernel.update_in(%{a: Map.put(map, i, n)}, [:a, i], &(&1 * 2))
    Kernel.update_in(%{a: [b: i]}, [:a, :b], fn x -> [x, t] end)
    pop_in(%{a: map}.a[i])
    pop_in(%{a: map}[:a][i])
    pop_in(%{a: nil}[:a][i])
    pop_in(%{i => %{a: t}}[n][:a])
    Kernel.pop_in(%{a: map, b: nil}, [:a, i])
    Kernel.pop_in(%{a: nil, b: t}, [:a, i])
    Kernel.pop_in(map, [i])
    get_and_update_in(%{a: map}.a[i], fn x -> {x, t} end)
    get_and_update_in(%{a: %{b: i}}.a.b, &{&1, &1 + 1})
    get_and_update_in(%{a: map}[:a][i], fn _ -> :pop end)
    Kernel.get_and_update_in(%{a: map}, [:a, i], fn x -> {{:got, x}, t} end)
    Kernel.get_and_update_in(%{a: map}, [:a, i], fn _ -> :pop end)
    Access.fetch(map, i)
    Access.fetch(kw, key)
    Access.fetch!(Map.put(map, i, t), i)
    Access.pop(map, i)
    Access.pop(kw, key)
    Map.get_and_update(map, i, fn x -> {x, {t, x}} end)
    Map.get_and_update(map, i, fn _ -> :pop end)
    Map.get_and_update!(Map.put(map, i, t), i, &{&1, n})
    Map.pop_lazy(map, i, fn -> {:none, t} end)
    Map.replace_lazy(map, i, &{&1, t})
    Map.split_with(map, fn {k, v} -> k > v end)
    Map.intersect(map, Map.new(pairs))
    Map.intersect(map, Map.new(pairs), fn k, a, b -> {k, a, b, i} end)
    MapSet.split_with(MapSet.new(l), &(&1 > i))
    Keyword.new()
    Keyword.new(kw)
    Keyword.new(l, fn x -> {if(x > i, do: :a, else: :b), x} end)
    Keyword.filter(kw, fn {k, v} -> k == key or v > i end)
    Keyword.reject(kw, fn {k, v} -> k == key or v > i end)
    Keyword.split_with(kw, fn {_, v} -> v > i end)
    Keyword.get_lazy(kw, key, fn -> t end)
    Keyword.put_new_lazy(kw, key, fn -> t end)
    Keyword.replace_lazy(kw, key, &{&1, i})
    Keyword.pop_lazy(kw, key, fn -> t end)
    Keyword.get_and_update(Keyword.delete(kw, key), key, fn x -> {x, t} end)
    Keyword.get_and_update([{key, n} | Keyword.delete(kw, key)], key, &{&1, &1 + 1})
    Keyword.get_and_update([{key, n} | Keyword.delete(kw, key)], key, fn _ -> :pop end)
    Keyword.get_and_update!([{key, n} | kw], key, fn x -> {x, t} end)
    Keyword.get_and_update!([{key, n} | Keyword.delete(kw, key)], key, fn _ -> :pop end)
    Keyword.merge(kw, [{key, t}, {:b, i}, {key, n}], fn k, a, b -> {k, a, b} end)
    Keyword.intersect(kw, [{key, t}, {:b, i}])
    Keyword.intersect(kw, [{key, t}, {:b, i}], fn k, a, b -> {k, a, b} end)
    Keyword.delete_first(kw, key)
    Keyword.equal?(kw, Enum.reverse(kw))
    Keyword.equal?(kw, [{key, t} | kw])
    Keyword.from_keys(keys, t)
    Keyword.keyword?(kw)
    Keyword.keyword?([{key, t} | terms])
    Keyword.pop!([{key, t} | kw], key)
    Keyword.pop_first(kw, key)
    Keyword.pop_first(kw, key, t)
    Keyword.pop_values(kw, key)
    Keyword.replace(kw, key, t)
    Keyword.replace!([{key, n} | kw], key, t)
    Keyword.split(kw, keys)
    Keyword.to_list(kw)
    :maps.find(i, map)
    :maps.from_keys(l, t)
    :maps.from_list(pairs)
    :maps.get(i, Map.put(map, i, t))
    :maps.get(i, map, t)
    :maps.is_key(i, map)
    :maps.keys(Map.new([{i, t}]))
    :maps.values(Map.new([{i, t}]))
    :maps.merge(map, Map.new(pairs))
    :maps.new()
    :maps.put(i, t, map)
    :maps.remove(i, map)
    :maps.size(map)
    :maps.take(i, map)
    :maps.to_list(Map.new([{i, t}]))
    :maps.update(i, t, Map.put(map, i, n))
    :maps.with(l, map)
    :maps.without(l, map)
    :maps.map(fn k, v -> {v, k} end, map)
    :maps.filter(fn k, v -> k > v end, map)
    :maps.fold(fn k, v, sum -> k - v + sum end, i, map)
    :maps.update_with(i, &{&1, t}, Map.put(map, i, n))
    """,
    "List: characters, and lists of Erlang" => """
    List.keyfind!([{i, t} | pairs], i, 0)
    List.keytake(pairs, i, 1)
    List.first!([i | l])
    List.last!([i | l])
    List.ends_with?(l, Enum.drop(l, n))
    List.ends_with?(l, ints)
    List.improper?(terms)
    List.improper?([i | n])
    List.ascii_printable?(to_charlist(u))
    List.ascii_printable?([?a, n | l])
    List.ascii_printable?([?a, n | l], n_more)
    List.to_integer(to_charlist(number))
    List.to_integer(~c"\#{Integer.to_string(number, n + 2)}", n + 2)
    List.to_float(to_charlist(f))
    List.to_string(chars)
    List.to_charlist(chars)
    to_string(chars)
    "<\#{chars}, \#{n}>"
    to_charlist(u)
    {to_charlist(i), to_charlist(f), to_charlist(:é), to_charlist(l), to_charlist(nil)}
    Kernel.to_charlist(number)
    Atom.to_string(key)
    {Atom.to_string(nil), Atom.to_string(:é), Atom.to_charlist(:é)}
    Atom.to_charlist(key)
    IO.iodata_to_binary([s, [[pad | u], ?a], pad])
    IO.iodata_to_binary(u)
    IO.iodata_length([s, [u, ?a] | pad])
    IO.chardata_to_string(chars)
    IO.chardata_to_string(u)
    Function.identity(t)
    Enum.group_by(l, &Function.identity/1)
    :lists.append([l, terms, l])
    :lists.append(l, t)
    :lists.delete(t, terms)
    :lists.droplast([t | terms])
    :lists.duplicate(n, t)
    :lists.flatten(lists)
    :lists.flatten(lists, l)
    :lists.keydelete(i, 1, pairs)
    :lists.keyfind(i, 2, pairs)
    :lists.keymember(i, 1, pairs)
    :lists.keyreplace(i, 1, pairs, {i, t})
    :lists.keysort(2, pairs)
    :lists.keystore(i, 2, pairs, {t, i})
    :lists.keytake(i, 1, pairs)
    :lists.last([t | terms])
    :lists.max([t | terms])
    :lists.min([t | terms])
    :lists.member(t, terms)
    :lists.nth(n + 1, terms ++ [1, 2, 3, 4, 5, 6, 7, 8])
    :lists.nthtail(n, terms ++ [1, 2, 3, 4, 5, 6, 7, 8])
    :lists.prefix(Enum.take(l, n), l)
    :lists.prefix(ints, l)
    :lists.reverse(terms)
    :lists.reverse(terms, t)
    :lists.seq(i, i + n)
    :lists.seq(i, i + n, 2)
    :lists.seq(n, i - 7, -2)
    :lists.sort(ordered)
    :lists.split(n, terms ++ [1, 2, 3, 4, 5, 6, 7, 8])
    :lists.sublist(terms, n)
    :lists.sublist([t | terms], 2, n)
    :lists.subtract(l, ints)
    :lists.suffix(Enum.drop(l, n), l)
    :lists.sum(l)
    :lists.unzip(pairs)
    :lists.usort(l)
    :lists.zip(l, Enum.map(l, &(&1 + i)))
    :lists.all(&(&1 < i), l)
    :lists.any(&(&1 < i), l)
    :lists.dropwhile(&(&1 < i), l)
    :lists.filter(&(&1 < i), l)
    :lists.flatmap(&[&1, i], l)
    :lists.foldl(fn x, acc -> x - acc end, i, l)
    :lists.foldr(fn x, acc -> x - acc end, i, l)
    :lists.foreach(fn x -> x + 1 end, l)
    :lists.map(&(&1 * n), l)
    :lists.mapfoldl(&{&1 * &2, &1 + &2}, i, l)
    :lists.partition(&(&1 < i), l)
    :lists.search(&(&1 < i), l)
    :lists.splitwith(&(&1 < i), l)
    :lists.takewhile(&(&1 < i), l)
    """,
    "Bytes, and what Erlang calls text" => """
    :binary.bin_to_list(bin)
    :binary.copy(bin)
    :binary.copy(bin, n)
    :binary.decode_unsigned(bin)
    :binary.decode_unsigned(bin, if(i > 0, do: :big, else: :little))
    :binary.encode_unsigned(abs(number))
    :binary.encode_unsigned(abs(number), if(i > 0, do: :big, else: :little))
    :binary.first("a" <> bin)
    :binary.last(bin <> "a")
    :binary.list_to_bin([s, [[pad | u], ?a], pad])
    :binary.match(s, pad <> "b")
    :binary.match(s, ["b", "a" <> pad])
    :binary.matches(s <> u <> s, pad <> "b")
    :binary.matches(s, ["b", "a", "ab"])
    :binary.part(bin <> "abc", {min(n, 3), 0 - min(n, 3)})
    :binary.replace(s, pad <> "b", u)
    :binary.replace(s, [pad <> "a", "b"], u, [:global])
    :binary.replace(s, "a", u, [])
    :binary.split(s, "a" <> pad)
    :binary.split(s, [pad <> "a", "b"], [:global])
    :binary.split(s <> s, "a", [:global, :trim])
    :binary.split(s <> s, "a", [:global, :trim_all])
    :binary.split(s, "a", [:trim])
    :erlang.adler32(bin)
    :erlang.adler32([s, [u, ?a] | pad])
    :erlang.atom_to_binary(key)
    :erlang.binary_to_float(to_string(float))
    :erlang.binary_to_integer(to_string(number))
    :erlang.binary_to_integer(Integer.to_string(number, n + 2), n + 2)
    :erlang.binary_to_list(bin)
    :erlang.crc32(bin)
    :erlang.crc32([s, [u, ?a] | pad])
    :erlang.float_to_binary(f, decimals: n)
    :erlang.float_to_binary(f, decimals: n + n_more)
    :erlang.float_to_binary(number / 1000, [:compact, decimals: n])
    :erlang.float_to_binary(n / 16, [{:decimals, 2}, :compact])
    {:erlang.float_to_binary(-0.001, decimals: 2), :erlang.float_to_binary(1.0e22, decimals: 1), :erlang.float_to_binary(1.115, decimals: 2)}
    :erlang.integer_to_binary(number)
    :erlang.integer_to_binary(number, n + 2)
    :erlang.iolist_size([s, [u, ?a] | pad])
    :erlang.iolist_to_binary([s, [[pad | u], ?a], pad])
    :erlang.list_to_binary([s, [[pad | u], ?a], pad])
    :erlang.phash2(t)
    :erlang.phash2(terms)
    :erlang.phash2(number, 4_294_967_296)
    :erlang.phash2({float, -n, [i, n | u], key}, 4_294_967_296)
    :erlang.phash2([l, map, texts], n + 1)
    :erlang.phash2({bin, to_charlist(u <> s)}, 1_000_003)
    :erlang.phash2(for(x <- 1..n_more//1, into: map, do: {x, {x}}))
    {:erlang.phash2(:漢字), :erlang.phash2([[] | :é]), :erlang.phash2([nil, 0.0, -0.0]), :erlang.phash2(MapSet.new(l))}
    :math.ceil(f) + 0.0
    :math.ceil(i)
    :math.floor(f)
    :math.floor(i)
    :math.fmod(f, n + 1)
    :math.fmod(f * 1.0e9, f + 0.3)
    :math.fmod(i, -2.5)
    """,
    "Float, Integer, Range and Base" => """
    Float.round(f, n) + 0.0
    Float.round(f) + 0.0
    Float.ceil(f) + 0.0
    Float.floor(f) + 0.0
    Float.ceil(f, n) + 0.0
    Float.floor(f, n) + 0.0
    Float.round(float, n + n_more) + 0.0
    Float.floor(float, n + n_more) + 0.0
    Float.ceil(float, n + n_more) + 0.0
    {Float.round(5.5675, 3), Float.round(-5.5674, 3), Float.round(2.5), Float.round(1.005, 2), Float.round(0.285, 2)}
    Float.to_string(float)
    Float.to_charlist(f)
    {Float.max_finite(), Float.min_finite()}
    Float.parse(to_string(float) <> s)
    Float.parse(to_string(number) <> "." <> s)
    Float.parse(s <> to_string(f))
    Float.parse(digits_text)
    Float.pow(2.5, n)
    Float.ratio(f)
    String.to_float(to_string(float))
    String.to_float(to_string(f) <> "0e" <> to_string(i))
    Integer.parse(Integer.to_string(number, n + 2) <> s, n + 2)
    Integer.parse(s <> to_string(number), 16)
    String.to_integer(Integer.to_string(number, n + 2), n + 2)
    Integer.to_charlist(number)
    Integer.to_charlist(number, n + 2)
    Integer.extended_gcd(number, n + 1)
    Integer.extended_gcd(n, n_more)
    Integer.ceil_div(number, if(i == 0, do: 5, else: i))
    Integer.popcount(abs(number))
    Range.disjoint?(i..n//1, n_in..20//1)
    Range.disjoint?(i..n//1, n_in..n_more//-1)
    Range.split(i..(i + n)//2, n_in) |> then(fn {a, b} -> {Enum.to_list(a), Enum.to_list(b)} end)
    Range.split(i..(i - n)//-1, n_more) |> then(fn {a, b} -> {Enum.to_list(a), Enum.to_list(b)} end)
    Range.to_list(i..n//2)
    Base.encode16(bin)
    Base.encode16(bin, case: :lower)
    Base.decode16(Base.encode16(bin))
    Base.decode16(hex)
    Base.decode16(hex, case: :mixed)
    Base.decode16(hex, case: :lower)
    Base.decode16!(Base.encode16(bin))
    Base.decode16!(Base.encode16(bin, case: :lower), case: :mixed)
    Base.encode64(bin)
    Base.encode64(bin, padding: false)
    Base.url_encode64(bin)
    Base.url_encode64(bin, padding: false)
    Base.decode64(Base.encode64(bin))
    Base.decode64(Base.encode64(bin, padding: false), padding: false)
    Base.decode64(Base.encode64(bin, padding: false))
    Base.decode64(Base.encode64(bin), padding: false)
    Base.decode64(base)
    Base.decode64(base, padding: false)
    Base.decode64(" " <> Base.encode64(bin) <> "\\n", ignore: :whitespace)
    Base.decode64!(Base.encode64(bin))
    Base.decode64!(Base.encode64(bin, padding: false), padding: false)
    Base.url_decode64(Base.url_encode64(bin))
    Base.url_decode64(base, padding: false)
    Base.url_decode64!(Base.url_encode64(bin))
    Base.url_decode64!(Base.url_encode64(bin), [])
    Base.valid16?(hex)
    Base.valid16?(hex, case: :lower)
    Base.valid64?(base)
    Base.valid64?(base, padding: false)
    Base.url_valid64?(base)
    Base.url_valid64?(base, padding: false)
    """,
    "Words of Kernel" => """
    Kernel.struct(%URI{host: s}, [{key, i}, {:port, n} | kw])
    Kernel.struct(URI, [{:path, s}, {key, i}])
    struct(URI, %{key => i, port: n})
    struct(%URI{port: n})
    Kernel.struct!(%URI{host: s}, Keyword.put([port: n], :path, pad))
    Kernel.struct!(URI, Keyword.put(Keyword.take(kw, [:host]), :path, pad))
    struct!(%URI{host: s}, [{:port, n} | Keyword.take(kw, [:host])])
    Kernel.=~(s, pad)
    s =~ ""
    destructure([a, b, c], l) && {a, b, c}
    destructure([x | y], l) && {x, y}
    (destructure([x, y], nil); {x, y})
    Kernel.binary_slice(u, n, n_more)
    Kernel.binary_slice(u, i, n_more)
    Kernel.binary_slice(u, n_in..-1//1)
    Kernel.binary_slice(u, n..n_more//2)
    case bin, do: (<<h, rest::bits>> -> {h, rest}; "" -> :none)
    case bin, do: (<<h::binary-size(2), rest::bitstring>> -> {rest, h}; other -> other)
    case bin, do: (<<h::bits-size(16), _::bits>> -> h; other -> <<other::bits, 1>>)
    case Map.get(%{1 => 1..2, 2 => MapSet.new(), 3 => %{a: 1}}, n), do: (%_{} -> :struct; %{} -> :map; nil -> nil)
    case Enum.at([1..n, MapSet.new(l), map], n_more), do: (%mod{} = x -> {mod, x}; other -> other)
    case 1..n, do: (%kind{last: last} when kind == Range -> last)
    Enum.map([{1, i}, {2, n}], fn {1, x} -> x; {_, y} -> -y end)
    Enum.map([{i, n}], fn {a, b} -> a - b end)
    Enum.reduce([{i, n} | pairs], 0, fn {a, b}, sum -> a - b + sum end)
    {i in 1..3, i not in 2..5, i in [1, 2], n in 0..9//3, i in l, t not in terms}
    {max(i, n), min(i, n), is_map_key(map, i), put_elem({1, 2}, 1, t), binary_part(s <> "ab", 1, 1)}
    {is_struct(t), is_struct(1..2), is_struct(1..2, Range), is_struct(%{}, Range), is_exception(t), is_exception(%ArgumentError{})}
    {if(i > 0, do: 1), unless(i > 0, do: 1), then(i, &(&1 + 1)), tap(i, &(&1 + 1))}
    {to_string(t |> then(fn x when is_number(x) -> x; _ -> nil end)), to_string(key), to_string(n)}
    """,
    "String" => """
    String.contains?(s, pad)
    String.contains?(s, [pad, "b"])
    String.contains?(s, [])
    String.starts_with?(s, [])
    String.ends_with?(s, [])
    String.starts_with?(s, pad)
    String.starts_with?(s, [pad, "b"])
    String.ends_with?(s, pad)
    String.ends_with?(s, [pad, "b"])
    String.split(s, ",")
    String.split(s <> pad <> s, pad)
    String.replace(s, pad, "<>")
    String.replace("é" <> s <> "ü", "b", "é")
    String.duplicate(s, n)
    String.upcase("é" <> s, :ascii)
    String.downcase("É" <> s, :ascii)
    String.to_integer(to_string(number))
    String.split(u)
    String.split(s, ",", trim: true)
    String.split(s, ",", [])
    String.split(s <> pad <> s, [pad, ",", "ab"])
    String.split(s <> pad <> s, [pad, ",", "ab", "a"], trim: true)
    String.split(s <> pad <> s, ["a", "b"], parts: n + 1)
    String.split(s, "a", parts: n + 1, trim: true)
    String.split(s, ["a", ","], parts: n + 1, trim: true)
    String.split(u, "", parts: n + 1)
    String.split(u, "", parts: n + 1, trim: true)
    String.split(u, "", trim: true)
    String.split(s, [])
    String.split(s, [], trim: true)
    String.split(s, "b", parts: :infinity, trim: false)
    String.replace(s <> pad <> s, [pad, ",", "a"], "é")
    String.replace(s, "a", pad, global: false)
    String.replace(s, "", pad, global: false)
    String.replace(s, [], pad)
    String.replace(u, "", "", [])
    String.replace(s, ["a", "ab"], fn x -> x <> "!" end)
    String.replace(s, "a", &(&1 <> pad), global: false)
    String.replace(u, "", fn x -> "<\#{x}>" end)
    String.count(s, pad)
    String.count(s, ["a", "ab"])
    String.count(u, "")
    String.upcase(letters)
    String.downcase(letters)
    String.capitalize(letters)
    String.capitalize(s)
    String.upcase(u <> letters <> <<255>>)
    String.downcase(<<255>> <> letters)
    {String.upcase("straße ŉ ﬁ ǆ"), String.downcase("ΌΣΟΣ İ"), String.capitalize("ǆABC")}
    String.capitalize(s, :ascii)
    String.capitalize("éÉ" <> s, :ascii)
    String.replace_leading(s, "a", pad)
    String.replace_leading(pad <> pad <> s, pad, "é")
    String.replace_trailing(s, "b", pad)
    String.replace_trailing(s <> pad <> pad, pad, "é")
    String.split_at(u, i)
    String.split_at(u, n)
    String.next_codepoint(u <> "e\u0301")
    String.next_codepoint(bin)
    String.next_grapheme(u)
    String.valid?(u)
    String.valid?(bin)
    String.trim(u)
    String.trim_leading(u)
    String.trim_trailing(u)
    String.trim(s, pad)
    String.trim_leading(s, "a")
    String.trim_trailing(s <> pad <> pad, pad)
    String.graphemes(u)
    String.codepoints(u <> "e\u0301")
    String.to_charlist(u)
    String.length(u)
    String.reverse(u)
    String.at(u, i)
    String.first(u)
    String.last(u)
    String.slice(u, n, n_more)
    String.slice(u, n..n_more)
    String.slice(u, n..-1//1)
    "\#{f} and \#{number}"
    to_string(f * 1.0e-5) <> to_string(f * 1.0e12)
    String.slice(u, n_in, n_more)
    String.pad_leading(u, n)
    String.pad_leading(u, n + 6, pad)
    String.pad_trailing(u, n + 3)
    String.pad_trailing(u, n + 6, [pad, "-"])
    String.replace_prefix(s, "a", pad)
    String.replace_suffix(s, "b", pad)
    Integer.parse(to_string(number) <> s)
    Integer.parse(s <> to_string(number))
    Integer.to_string(number)
    Integer.to_string(number, n + 2)
    String.split(u, "")
    String.replace(s, "", pad)
    """
  }

  @doc "The names of the groups."
  def groups, do: @cases |> Map.keys() |> Enum.sort()

  @doc "The cases of a group."
  def of(group), do: @cases |> Map.fetch!(group) |> String.split("\n", trim: true)

  @doc "All cases."
  def all, do: Enum.flat_map(groups(), &of/1)

  @variables [
               :bin,
               :hex,
               :letters,
               :base,
               :chars,
               :float,
               :digits_text,
               :e,
               :e_list,
               :ordered,
               :l,
               :ints,
               :terms,
               :pairs,
               :map,
               :texts,
               :i,
               :n,
               :n_in,
               :n_more,
               :t,
               :s
             ] ++
               [:f, :u, :number, :pad, :digits, :key, :keys, :kw, :lists, :tuple]

  @doc "The variables of a case that are generated."
  def variables(expression) do
    {_, names} =
      expression
      |> Code.string_to_quoted!()
      |> Macro.prewalk([], fn
        {name, _, nil} = node, names when name in @variables -> {node, [name | names]}
        node, names -> {node, names}
      end)

    names |> Enum.uniq() |> Enum.sort()
  end

  @doc "What a variable may be."
  def generator(name) do
    case name do
      :e ->
        one_of([list_of(small()), map_of(small(), small()), terms()])

      :e_list ->
        list_of(small(), min_length: 6)

      name when name in [:l, :ints] ->
        list_of(small(), max_length: 14)

      :terms ->
        terms()

      # Elixir's sort/1 leaves numbers that are equal and not the same in no order that it tells of.
      :ordered ->
        list_of(one_of([small(), {small(), small()}, text(), member_of([:a, nil, 0.5, [1]])]))

      :pairs ->
        list_of({small(), small()}, max_length: 40)

      :map ->
        map_of(small(), small(), max_length: 8)

      :texts ->
        list_of(one_of([text(), small(), member_of([:a, :é])]))

      :i ->
        small()

      name when name in [:n, :n_more] ->
        integer(0..7)

      :n_in ->
        integer(-6..6)

      :t ->
        a_term()

      :s ->
        text()

      :u ->
        string([?a..?c, ?\s, ?\t, ?\n, ?\r, 0xA0, ?é, 0x3000, ?漢, ?€, 0x2003], max_length: 9)

      :f ->
        one_of([float(min: -1.0e6, max: 1.0e6), map(integer(-40..40), &(&1 / 2))])

      :float ->
        one_of([
          float(),
          map(integer(1..0x7FEF), fn n ->
            <<f::float>> = <<n::16, 7::48>>
            f
          end)
        ])

      :letters ->
        string(
          [
            ?A..?z,
            0xC0..0x58F,
            0x10A0..0x10FF,
            0x13A0..0x13FD,
            0x1C80..0x2184,
            0xA640..0xABBF,
            0xFB00..0xFB17,
            0x10400..0x104FF
          ],
          max_length: 9
        )

      :bin ->
        binary(max_length: 9)

      :hex ->
        string([?0..?9, ?A..?F, ?a..?f, ?g], max_length: 4)

      :base ->
        string([?A..?F, ?w..?z, ?0, ?9, ?+, ?/, ?-, ?_, ?=], max_length: 6)

      :chars ->
        list_of(
          one_of([text(), member_of([?a, ?é, 0x1F600]), list_of(one_of([text(), member_of([?x, ?ü])]))])
        )

      :digits_text ->
        string([?0..?2, ?., ?e, ?-, ?+], max_length: 8)

      :number ->
        one_of([integer(-1_000_000..1_000_000), map(integer(), &(&1 * 7 ** 60))])

      :pad ->
        string(?a..?c, min_length: 1, max_length: 3)

      :digits ->
        map(one_of([integer(0..1_000_000_000), constant(3 ** 99)]), &Integer.digits/1)

      :key ->
        member_of([:a, :b, :c, :d])

      :keys ->
        list_of(member_of([:a, :b, :c, :d]), max_length: 3)

      :kw ->
        list_of({member_of([:a, :b, :c, :d]), small()}, max_length: 6)

      :lists ->
        list_of(one_of([small(), list_of(one_of([small(), list_of(small())]))]), max_length: 5)

      :tuple ->
        map(list_of(small(), min_length: 1, max_length: 5), &List.to_tuple/1)
    end
  end

  defp small, do: integer(-7..7)
  defp terms, do: list_of(a_term(), max_length: 12)

  # Few of them, so that some are equal; numbers that are equal and not the same.
  defp a_term do
    one_of([member_of([nil, false, true, :a, 1, 1.0, 2, "b", [], {1, 2}, [1], %{a: 1}]), small()])
  end

  defp text, do: string([?a..?c, ?\s, ?,, ?A..?C], max_length: 9)
end
