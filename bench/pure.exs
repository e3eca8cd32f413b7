# What a `defpure` function costs that Elixir calls, against the same `def`:
#
#     mix run bench/pure.exs [ROUNDS [NAME…]]
#
# Each line has the median of the rounds in microseconds, with the least and the greatest, and the ratios of the medians and of
# the least. The two sides take turns. On a host that others use only the least ones tell anything.
Code.require_file("load.exs", __DIR__)

defmodule Mote.Bench.Pure do
  alias Mote.Bench.Rounds

  # What people write, a line each: a name, the variables that it is about and the expression.
  @expressions [
    doubled: {:list, quote(do: Enum.sum(for x <- list, x > 3, do: x * 2))},
    counted:
      {:list, quote(do: Enum.reduce(list, %{}, fn x, seen -> Map.put(seen, x, Map.get(seen, x, 0) + 1) end))},
    squares: {:list, quote(do: for(x <- list, into: %{}, do: {x, x * x}))},
    map: {:list, quote(do: Enum.map(list, fn x -> x * 2 end))},
    filter: {:list, quote(do: Enum.filter(list, fn x -> rem(x, 3) == 0 end))},
    reject: {:list, quote(do: Enum.reject(list, fn x -> rem(x, 3) == 0 end))},
    flat_map: {:list, quote(do: Enum.flat_map(list, fn x -> [x, x + 1] end))},
    all: {:list, quote(do: Enum.all?(list, fn x -> x >= 0 end))},
    find: {:list, quote(do: Enum.find(list, fn x -> x == -1 end))},
    sum: {:list, quote(do: Enum.sum(list))},
    count: {:list, quote(do: Enum.count(list, fn x -> x > 100 end))},
    max: {:list, quote(do: Enum.max(list))},
    min_by: {:list, quote(do: Enum.min_by(list, fn x -> rem(x, 1_009) end))},
    member: {:list, quote(do: Enum.member?(list, -1))},
    at: {:list, quote(do: Enum.at(list, 90_000))},
    reverse: {:list, quote(do: Enum.reverse(list))},
    take: {:list, quote(do: Enum.take(list, 50_000))},
    zip: {:list, quote(do: Enum.zip(list, list))},
    with_index: {:list, quote(do: Enum.with_index(list))},
    chunk_every: {:list, quote(do: Enum.chunk_every(list, 10))},
    group_by: {:list, quote(do: Enum.group_by(list, fn x -> rem(x, 100) end))},
    frequencies: {:list, quote(do: Enum.frequencies(list))},
    uniq: {:list, quote(do: Enum.uniq(list))},
    map_new: {:list, quote(do: Map.new(list, fn x -> {x, x} end))},
    join: {:list, quote(do: Enum.join(list, ","))},
    map_join: {:list, quote(do: Enum.map_join(list, ",", fn x -> x + 1 end))},
    sort: {:list, quote(do: Enum.sort(list))},
    sort_desc: {:list, quote(do: Enum.sort(list, :desc))},
    sort_fun: {:list, quote(do: Enum.sort(list, fn a, b -> a >= b end))},
    sort_by: {:list, quote(do: Enum.sort_by(list, &rem(&1 * 7_919, 10_007)))},
    sort_words: {:words, quote(do: Enum.sort(words))},
    sort_floats: {:floats, quote(do: Enum.sort(floats))},
    sort_mixed: {:mixed, quote(do: Enum.sort(mixed))},
    sort_pairs: {:pairs, quote(do: Enum.sort(pairs))},
    concat: {:list, quote(do: list ++ list)},
    length_of: {:list, quote(do: length(list))},
    last: {:list, quote(do: List.last(list))},
    delete: {:list, quote(do: List.delete(list, -1))},
    flatten: {:nested, quote(do: List.flatten(nested))},
    keyfind: {:pairs, quote(do: List.keyfind(pairs, -1, 0))},
    map_get: {:map, quote(do: Enum.reduce(1..100_000, 0, fn i, sum -> sum + Map.get(map, i, 1) end))},
    map_update:
      {:list,
       quote(do: Enum.reduce(list, %{}, fn x, seen -> Map.update(seen, rem(x, 100), 1, &(&1 + 1)) end))},
    map_merge: {:map, quote(do: Map.merge(map, %{a: 1}))},
    over_map: {:map, quote(do: for({key, value} <- map, reduce: 0, do: (sum -> sum + key * value)))},
    over_small_map:
      {:small,
       quote(do: for(_ <- 1..20_000, reduce: 0, do: (_ -> Enum.sum(for({_, value} <- small, do: value)))))},
    fields: {:points, quote(do: for(p <- points, reduce: 0, do: (sum -> sum + p.x * p.y)))},
    struct_fields: {:structs, quote(do: for(p <- structs, reduce: 0, do: (sum -> sum + p.x * p.y)))},
    put_fields: {:points, quote(do: for(p <- points, do: %{p | x: p.y}))},
    literals: {:list, quote(do: for(x <- list, do: %{x: x, y: x + 1}))},
    access: {:points, quote(do: for(p <- points, do: p[:x]))},
    guards:
      {:points,
       quote(
         do:
           Enum.count(points, fn
             %{x: x, y: y} when x > y -> true
             _ -> false
           end)
       )},
    keyword: {:short, quote(do: for(i <- 1..20_000, do: Keyword.get(short, :c, i)))},
    keyword_put: {:short, quote(do: for(i <- 1..20_000, do: Keyword.put(short, :c, i)))},
    split: {:lines, quote(do: for(line <- lines, do: String.split(line, ",")))},
    split_words: {:lines, quote(do: for(line <- lines, do: String.split(line)))},
    replace: {:lines, quote(do: for(line <- lines, do: String.replace(line, "a", "bb")))},
    upcase: {:lines, quote(do: for(line <- lines, do: String.upcase(line)))},
    trim: {:lines, quote(do: for(line <- lines, do: String.trim(line)))},
    starts: {:lines, quote(do: for(line <- lines, do: String.starts_with?(line, "x")))},
    contains: {:lines, quote(do: for(line <- lines, do: String.contains?(line, "9,")))},
    slice: {:lines, quote(do: for(line <- lines, do: String.slice(line, 1, 3)))},
    text_length: {:lines, quote(do: for(line <- lines, do: String.length(line)))},
    pad: {:list, quote(do: for(x <- list, do: String.pad_leading(Integer.to_string(x), 8, "0")))},
    to_integer: {:words, quote(do: for(word <- words, do: String.to_integer(word)))},
    interpolated: {:list, quote(do: for(x <- list, do: "#{x}!"))}
  ]

  @source (quote do
             defpure fib(n) when n < 2, do: n
             defpure fib(n), do: fib(n - 1) + fib(n - 2)

             defpure gcd(a, 0), do: a
             defpure gcd(a, b), do: gcd(b, rem(a, b))
             defpure gcds(n), do: Enum.reduce(1..n, 0, fn i, sum -> sum + gcd(i * 12, 90) end)

             defpure until(at, limit, step) when at >= limit and rem(step, 2) == 0, do: at
             defpure until(at, limit, step), do: until(at + step, limit, step)

             defpure sum_of(n), do: Enum.reduce(1..n, 0, fn i, sum -> sum + rem(i * 7, 13) end)
           end)

  def run(rounds, names) do
    lines =
      for {name, {variable, expression}} <- @expressions do
        {expression, _} = Macro.prewalk(expression, nil, &{plain(&1), &2})
        {:defpure, [], [{name, [], [Macro.var(variable, nil)]}, [do: expression]]}
      end

    source = Macro.prewalk({:__block__, [], [@source | lines]}, & &1)
    Module.create(__MODULE__.Mote, [quote(do: use(Mote.Behaviour)), source], __ENV__)
    defs = Macro.prewalk(source, fn node -> with {:defpure, meta, args} <- node, do: {:def, meta, args} end)
    Module.create(__MODULE__.Elixir, defs, __ENV__)

    calls = [fib: [27], gcds: [100_000], until: [0, 4_000_000, 4], sum_of: [300_000]]
    calls = calls ++ for {name, {variable, _}} <- @expressions, do: {name, [value(variable)]}
    for {name, args} <- calls, names == [] or to_string(name) in names, do: compare(name, args, rounds)
  end

  defp plain({name, meta, context}) when is_atom(name) and is_atom(context), do: {name, meta, nil}
  defp plain(node), do: node

  defp value(:list), do: for(i <- 1..100_000, do: rem(i * 7_919, 99_991))
  defp value(:floats), do: for(i <- value(:list), do: i / 2)
  defp value(:mixed), do: for(i <- value(:list), do: if(rem(i, 2) == 0, do: i, else: i / 2))
  defp value(:words), do: for(i <- value(:list), do: Integer.to_string(i))
  defp value(:pairs), do: for(i <- value(:list), do: {rem(i, 1_000), i})
  defp value(:nested), do: Enum.chunk_every(value(:list), 10)
  defp value(:map), do: Map.new(value(:list), &{&1, &1 + 1})
  defp value(:points), do: for(i <- value(:list), do: %{x: i, y: i + 1})
  defp value(:structs), do: for(point <- value(:points), do: Map.put(point, :__struct__, Point))
  defp value(:small), do: %{a: 1, b: 2, c: 3, d: 4}
  defp value(:short), do: [a: 1, b: 2, c: 3]
  defp value(:lines), do: for(i <- 1..20_000, do: " a#{i},b#{i * 7},c d e \n")

  defp compare(name, args, rounds) do
    [pure, plain] = modules = [__MODULE__.Mote, __MODULE__.Elixir]
    true = apply(pure, name, args) == apply(plain, name, args)
    times = for _ <- 1..rounds, do: for(module <- modules, do: timed(module, name, args))
    [pure, plain] = for times <- Enum.zip_with(times, & &1), do: Rounds.extent(times)
    [least, ratio] = for at <- [0, 1], do: Float.round(elem(pure, at) / max(elem(plain, at), 1), 2)
    IO.puts("#{name}: defpure #{spread(pure)}, def #{spread(plain)}, #{ratio}, least to least #{least}")
  end

  # In a process of its own, which has nothing but the arguments: neither side pays for what the other has left behind.
  defp timed(module, name, args),
    do: fn -> Rounds.us(fn -> apply(module, name, args) end) end |> Task.async() |> Task.await(:infinity)

  defp spread({least, median, most}), do: "#{median} (#{least}–#{most})"
end

{rounds, names} = with([n | names] <- System.argv(), do: {String.to_integer(n), names}, else: (_ -> {25, []}))
Mote.Bench.Pure.run(rounds, names)
