# Functions of Elixir's library in a turn, of native code: as `Mote.Prelude` has them, and compiled from the definition of the release
# that runs: mix run bench/prelude.exs [FUNCTION …]
#
# Columns: the call, the size of what it is given, ns of the prelude's, ns of the other one, and by how much that is slower. What is
# written by hand stays so where it is 1.5 times as slow or more at one of the sizes; where the prelude has the definition of the
# release itself, both columns are the same.

calls = """
Base.decode16(hex)
Base.decode16(text)
Base.decode64(base64)
Base.encode16(text)
Base.encode64(text)
Base.encode32(text)
Base.hex_encode32(text)
Float.pow(float, 3)
Float.ratio(float)
Integer.digits(number)
Integer.digits(number, 7)
Integer.digits(number, 16)
Integer.extended_gcd(number, number2)
Integer.floor_div(number, -7)
Integer.gcd(number, number2)
Integer.mod(number, 7)
Integer.pow(3, exponent)
Integer.undigits(digits)
Integer.parse(digits_text)
Kernel.**(3, exponent)
Kernel.binary_slice(text, 1, 5)
Kernel.get_in(map, [5, :a])
Kernel.put_in(nested, [:a, 5], 1)
Keyword.delete(kw, :none)
Keyword.delete(kw, :k5)
Keyword.delete_first(kw, :k5)
Keyword.drop(kw, [:k1, :k5])
Keyword.equal?(kw, kw2)
Keyword.fetch(kw, :k9)
Keyword.fetch!(kw, :k9)
Keyword.from_keys(atoms, 0)
Keyword.get(kw, :k9)
Keyword.get(kw, :none, 1)
Keyword.get_values(kw, :k5)
Keyword.has_key?(kw, :none)
Keyword.keys(kw)
Keyword.keyword?(kw)
Keyword.merge(kw, kw2)
Keyword.new(kw)
Keyword.pop(kw, :k5)
Keyword.pop!(kw, :k5)
Keyword.pop_first(kw, :k5)
Keyword.pop_values(kw, :k5)
Keyword.put(kw, :k5, 0)
Keyword.put_new(kw, :none, 0)
Keyword.replace(kw, :k5, 0)
Keyword.replace!(kw, :k5, 0)
Keyword.split(kw, [:k1, :k5])
Keyword.take(kw, [:k1, :k5])
Keyword.to_list(kw)
Keyword.validate(kw, allowed)
Keyword.validate!(kw, allowed)
Keyword.values(kw)
List.ascii_printable?(chars)
List.ascii_printable?(chars, 5)
List.delete(list, 8)
List.delete(list, :none)
List.delete_at(list, 8)
List.delete_at(list, -1)
List.duplicate(1, size)
List.first(list)
List.first([], 1)
List.flatten(lists)
List.flatten(lists, list)
List.improper?(list)
List.insert_at(list, 8, 0)
List.insert_at(list, -1, 0)
List.keydelete(pairs, 8, 0)
List.keyfind(pairs, 8, 0)
List.keyfind(pairs, :none, 0)
List.keyfind!(pairs, 8, 0)
List.keymember?(pairs, :none, 0)
List.keyreplace(pairs, 8, 0, {0, 0})
List.keysort(pairs2, 1)
List.keystore(pairs, :none, 0, {0, 0})
List.keytake(pairs, 8, 0)
List.last(list)
List.myers_difference(small, small2)
List.pop_at(list, 8)
List.pop_at(list, -1)
List.replace_at(list, 8, 0)
List.replace_at(list, -1, 0)
List.starts_with?(list, list)
List.wrap(list)
List.zip([list, list])
Map.drop(map, small)
Map.equal?(map, map)
Map.from_keys(list, 0)
Map.from_struct(struct)
Map.pop(map, 5)
Map.pop(map, :none, 1)
Map.pop!(map, 5)
Map.replace(map, 5, 0)
Map.replace!(map, 5, 0)
Map.split(map, small)
Map.take(map, small)
MapSet.delete(set, 5)
MapSet.intersection(set, set2)
MapSet.member?(set, 5)
MapSet.new(list)
MapSet.new(range)
MapSet.put(set, :x)
MapSet.size(set)
MapSet.to_list(set)
MapSet.union(set, set2)
Range.disjoint?(range, range2)
Range.new(1, size)
Range.new(1, size, 2)
Range.shift(range, 5)
Range.size(range)
String.capitalize(text)
String.codepoints(text)
String.contains?(text, "none")
String.contains?(text, ["none", "zero"])
String.downcase(text)
String.duplicate(text, 3)
String.ends_with?(text, "z")
String.myers_difference(short, short2)
String.next_codepoint(text)
String.pad_leading(short, 60)
String.pad_trailing(short, 60, "ab")
String.printable?(text)
String.replace(text, "a", "bc")
String.replace_leading(text, "a", "b")
String.replace_prefix(text, "a", "b")
String.replace_suffix(text, "z", "b")
String.replace_trailing(text, "z", "b")
String.split(text, "a")
String.starts_with?(text, "a")
String.starts_with?(text, ["b", "a"])
String.trim(spaced)
String.trim(spaced, " ")
String.trim_leading(spaced, " ")
String.trim_trailing(spaced, " ")
String.upcase(text)
Tuple.append(tuple, 1)
Tuple.delete_at(tuple, 1)
Tuple.duplicate(1, size)
Tuple.insert_at(tuple, 1, 1)
Tuple.product(tuple)
Tuple.sum(tuple)
Enum.at(list, 8)
Enum.chunk_every(list, 3)
Enum.chunk_every(list, 3, 2)
Enum.chunk_every(list, 3, 2, [])
Enum.concat(lists)
Enum.concat(list, list)
Enum.dedup(list)
Enum.drop_every(list, 3)
Enum.frequencies(list)
Enum.intersperse(list, 0)
Enum.join(list)
Enum.join(list, ",")
Enum.max(list)
Enum.min(list)
Enum.min_max(list)
Enum.product(ones)
Enum.reverse(list, list)
Enum.reverse_slice(list, 2, 5)
Enum.slide(list, 2, 5)
Enum.sort(list)
Enum.split(list, 8)
Enum.split(list, -2)
Enum.take_every(list, 3)
Enum.uniq(list)
Enum.unzip(pairs)
Enum.with_index(list)
Enum.with_index(list, 1)
Enum.zip([list, list])
Enum.zip(list, list)
"""

calls = String.split(calls, "\n", trim: true)

calls =
  case System.argv() do
    [] -> calls
    only -> Enum.filter(calls, fn call -> Enum.any?(only, &String.starts_with?(call, &1)) end)
  end

data = fn n ->
  list = Enum.map(0..(n - 1), &rem(&1 * 7, n))
  kw = Enum.map(0..(min(n, 100) - 1), &{:"k#{&1}", &1})
  text = String.duplicate("a quick fox jumps ", div(n, 16) + 1) <> "z"

  [
    list: list,
    small: Enum.take(list, 12),
    small2: list |> Enum.take(12) |> Enum.reverse(),
    ones: List.duplicate(1, n),
    range: 1..n//1,
    range2: 5..n//3,
    pairs: Enum.map(0..(n - 1), &{&1, &1}),
    pairs2: Enum.map(list, &{0, &1}),
    lists: Enum.chunk_every(list, 5),
    kw: kw,
    kw2: Enum.take(kw, 5),
    allowed: Keyword.keys(kw),
    atoms: Keyword.keys(kw),
    map: Map.new(list, &{&1, %{a: 1}}),
    nested: %{a: Map.new(list, &{&1, 1})},
    set: MapSet.new(list),
    set2: MapSet.new(list, &(&1 + 5)),
    struct: %URI{},
    text: text,
    hex: Base.encode16(text),
    base64: Base.encode64(text),
    short: "quick brown",
    short2: "brown quick",
    spaced: String.duplicate(" ", 10) <> text <> "   ",
    chars: String.to_charlist(text),
    tuple: List.to_tuple(Enum.take(list, 20)),
    digits: List.duplicate(7, n),
    digits_text: String.duplicate("7", n),
    number: Integer.pow(7, div(n, 2)),
    number2: Integer.pow(6, div(n, 2)),
    exponent: n,
    float: 0.3,
    size: n
  ]
end

sizes = [10, 1000]
names = Keyword.keys(data.(16))

variables = fn call ->
  {_, found} =
    call
    |> Code.string_to_quoted!()
    |> Macro.prewalk([], fn
      {name, _, nil} = node, found -> {node, [name | found]}
      node, found -> {node, found}
    end)

  found |> Enum.uniq() |> Enum.filter(&(&1 in names))
end

# The value is looked at, so that it must be made.
compiled = fn call, imports, number ->
  module = Module.concat(Mote.Bench.Prelude, "#{imports != []}#{number}")
  arguments = Enum.join(variables.(call), ", ")

  Code.compile_string("""
  defmodule #{inspect(module)} do
    use Mote.Behaviour, import: #{inspect(imports)}
    Module.put_attribute(__MODULE__, :mote_first, true)
    defpure repeat(0, n, _), do: n
    defpure repeat(k, n, {#{arguments}} = data), do: repeat(k - 1, if(#{call} == :nothing, do: n, else: n + 1), data)
    defactor bench(data), do: ({customer, k} -> send customer, repeat(k, 0, data))
  end
  """)

  module
end

module_of = fn call ->
  {{:., _, [{:__aliases__, _, name}, _]}, _, _} = Code.string_to_quoted!(call)
  Module.concat(name)
end

{:ok, machine} = Mote.start_link(tier: :native, fuel: 2_000_000_000)

actor = fn module, call, n ->
  values = data.(n) |> Keyword.take(variables.(call)) |> Map.new()
  Mote.create(machine, module.bench(List.to_tuple(Enum.map(variables.(call), &values[&1]))))
end

ask = fn actor, k ->
  fn -> {:ok, ^k} = Mote.ask(actor, k, timeout: 120_000) end |> :timer.tc() |> elem(0)
end

for {call, number} <- Enum.with_index(calls) do
  try do
    hand = compiled.(call, [], number)
    own = compiled.(call, [module_of.(call)], number)

    for n <- sizes do
      both = [actor.(hand, call, n), actor.(own, call, n)]
      # Until all of it is native.
      for a <- both, do: ask.(a, 2)
      Process.sleep(150)

      k =
        both
        |> hd()
        |> ask.(50)
        |> max(1)
        |> then(&trunc(3_000 * 50 / &1))
        |> max(10)
        |> min(100_000)

      times = for _ <- 1..7, do: Enum.map(both, &ask.(&1, k))

      [by_hand, by_import] = times |> Enum.zip() |> Enum.map(&(&1 |> Tuple.to_list() |> Enum.min()))

      ratio = Float.round(by_import / by_hand, 2)

      IO.puts(
        "#{String.pad_trailing(call, 44)} #{String.pad_leading("#{n}", 5)} #{Float.round(by_hand * 1000 / k, 1)} " <>
          "#{Float.round(by_import * 1000 / k, 1)} #{ratio}"
      )
    end
  rescue
    error ->
      IO.puts(
        "#{String.pad_trailing(call, 44)} #{error |> Exception.message() |> String.split("\n") |> hd() |> String.slice(0, 150)}"
      )
  end
end
