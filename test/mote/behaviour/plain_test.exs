defmodule Mote.Behaviour.PlainTest do
  # A `defpure` function that Elixir calls is its own source: over generated terms it must answer, or fail, as its code does in a
  # machine.
  use ExUnit.Case, async: true
  use ExUnitProperties

  import Mote.Long, only: [runs: 1]

  alias Mote.Compile

  # Equal and not the same, or nearly text.
  @leaves [1, 1.0, 2, -1, 0, 0.0, -0.0, 0.5, 2 ** 62, 2 ** 70, 3.0e20, nil, true, :a, :b, :undefined] ++
            [
              "",
              "a",
              "b",
              "aB",
              " ",
              "é",
              "ß a",
              "12",
              "-7",
              "1,2",
              <<255>>,
              <<0xC3>>,
              <<0xE2, 0x80>>,
              <<0x85>>
            ]

  @foreign [nil]

  defp leaf(more),
    do: frequency([{6, member_of(@leaves)}, {2, integer()}, {1, float()}, {2, member_of(more)}])

  defp terms(more) do
    tree(leaf(more), fn inner ->
      frequency([
        {4, list_of(inner, max_length: 9)},
        {3, map(list_of(inner, max_length: 4), &List.to_tuple/1)},
        {2, map_of(inner, inner, max_length: 4)},
        {1, map({inner, inner}, fn {head, tail} -> [head, 1 | tail] end)}
      ])
    end)
  end

  defp lists(more) do
    one_of([
      list_of(leaf(more), max_length: 14),
      list_of({leaf(more), leaf(more)}, max_length: 14),
      list_of(terms(more), max_length: 9)
    ])
  end

  # The BEAM's own order of a map's keys is a machine's for maps of up to 32 keys; from OTP 26 on, for atoms it is not.
  defp key(more) do
    if System.otp_release() >= "26", do: filter(leaf(more), &(not is_atom(&1))), else: leaf(more)
  end

  # What an operation is mostly given, and anything.
  defp operand(more \\ @foreign) do
    frequency([
      {3, lists(more)},
      {2, map_of(key(more), terms(more), max_length: 32)},
      {3, terms(more)},
      {1, member_of([MapSet.new([1, 2.0, :a]), 1..4, 9..1//-3, %{__struct__: Nobody, a: 1}])},
      {1, member_of([[], %{}, {}, [a: 1, b: 2.0], %{a: 1, b: 2}, [1 | 2]])}
    ])
  end

  @expressions [
    "Enum.sort(a)",
    "Enum.sort(a, :desc)",
    "Enum.sort(a, fn x, y -> x >= y end)",
    "Enum.sort_by(a, &{b, &1})",
    "Enum.sort_by(a, &elem(&1, 0))",
    "List.keysort(a, 1)",
    "Enum.max(a)",
    "Enum.min(a)",
    "Enum.min_by(a, & &1)",
    "Enum.member?(a, b)",
    "b in a",
    "Enum.take(a, b)",
    "Enum.join(a, b)",
    "Enum.join(a)",
    "Enum.uniq(a)",
    "Enum.reverse(a)",
    "Enum.map(a, &{&1})",
    "for({k, v} <- a, do: {v, k})",
    "for(x <- a, into: %{}, do: {x, b})",
    "length(a)",
    "a ++ b",
    "a -- b",
    "List.delete(a, b)",
    "List.flatten(a)",
    "List.keyfind(a, b, 0)",
    "a < b",
    "a >= b",
    "if(a > b, do: 1, else: 2)",
    "max(a, b)",
    "min(a, b)",
    "a == b",
    "Map.get(a, b, :none)",
    "Map.fetch!(a, b)",
    "Map.fetch(a, b)",
    "Map.put(a, b, :new)",
    "Map.delete(a, b)",
    "Map.has_key?(a, b)",
    "Map.merge(a, b)",
    "Map.update(a, b, 1, &{&1})",
    "Map.keys(a)",
    "Map.to_list(a)",
    "map_size(a)",
    "%{a | b => 1}",
    "a.a",
    "a[b]",
    "%{a: a, b: b, a: 1}",
    "%{a => 1, b => 2}",
    "%{1.0 => a, 1 => b}",
    "a <> b",
    "a <> \"-\" <> b",
    "\"\#{a}, \#{b}\"",
    "<<a::8, b::binary>>",
    "<<a::utf8, b>>",
    "<<a::16, b::4, 3::4>>",
    "<<a::float, b::little-24>>",
    "byte_size(a)",
    "to_string(a)",
    "a + b",
    "1..a//b"
  ]

  @tag timeout: 180_000
  property "operations are the same for Elixir and for the code of a turn" do
    for expression <- @expressions do
      check all(
              a <- filter(operand(), &(not open_order?(expression, &1))),
              b <- one_of([operand(), element_of(a), leaf(@foreign)]),
              not odd?(expression, a, b),
              max_runs: runs(20)
            ) do
        answer = if unordered?({a, b}), do: :open, else: Compile.eval(expression, [a: a, b: b], :abort)

        refute match?({:differ, _, _}, answer),
               "#{expression} of #{inspect({a, b}, structs: false)}: #{inspect(answer)}"
      end
    end
  end

  # Where a list is read by a key, Elixir raises for an element that has the key and is no pair; a machine goes on.
  defp odd?("a[b]", list, key) when is_list(list) and length(list) > 0,
    do: Enum.any?(list, &(is_tuple(&1) and tuple_size(&1) not in [0, 2] and elem(&1, 0) == key))

  # Of no elements Elixir does not ask what should have them.
  defp odd?("Enum.take(a, b)", a, 0), do: Enumerable.impl_for(a) == nil
  defp odd?(_, _, _), do: false

  # Elixir does not always keep the order of elements that are equal and not the same, such as 1 and 1.0.
  defp open_order?("Enum.sort(a)", a), do: open_order?(a, &Enum.sort/1, &<=/2)
  defp open_order?("Enum.sort(a, :desc)", a), do: open_order?(a, &Enum.sort(&1, :desc), &>=/2)
  defp open_order?(_, _), do: false

  defp open_order?(a, sort, kept) do
    list = Enum.to_list(a)
    not same?({:value, sort.(list)}, {:value, Enum.sort(list, kept)})
  rescue
    _ -> false
  end

  # Since OTP 26 a small map is not in the order of its keys where these are atoms; in a machine it is.
  @open_maps? System.otp_release() >= "26"
  defp unordered?(term), do: @open_maps? and open_map?(term)

  defp open_map?(%{} = map) do
    atoms = for key <- Map.keys(map), is_atom(key), do: key
    atoms != Enum.sort(atoms) or Enum.any?(Map.values(map) ++ Map.keys(map), &open_map?/1)
  end

  defp open_map?([head | tail]), do: open_map?(head) or open_map?(tail)
  defp open_map?(tuple) when is_tuple(tuple), do: tuple |> Tuple.to_list() |> open_map?()
  defp open_map?(_), do: false

  defp element_of([_ | _] = list) when length(list) > 0, do: member_of(list)

  defp element_of(map) when is_map(map) and map_size(map) > 0 and not is_struct(map),
    do: member_of(Map.keys(map))

  defp element_of(other), do: constant(other)

  @tag timeout: 180_000
  @tag :capture_log
  property "a machine says the same of all but addresses" do
    functions =
      for {expression, i} <- Enum.with_index(@expressions),
          do: "defpure v#{i}(a, b) do\n_ = {a, b}\n#{expression}\nend\n"

    clauses =
      for i <- 0..(length(@expressions) - 1), do: "{customer, {#{i}, a, b}} -> send customer, v#{i}(a, b)\n"

    module = Compile.module("#{functions}\ndefactor server() do\n#{clauses}\nend", "", :abort)
    actor = Mote.create(start_supervised!(Mote), module.server())

    for {expression, i} <- Enum.with_index(@expressions) do
      check all(a <- operand([:c]), b <- one_of([operand([:c]), element_of(a)]), max_runs: runs(10)) do
        direct = outcome(fn -> apply(module, :"v#{i}", [a, b]) end)
        place = "#{expression} of #{inspect({a, b})}: #{inspect(direct)}"

        odd? = odd?(expression, a, b) or open_order?(expression, a) or unordered?({a, b})

        case not odd? && Mote.ask(actor, {i, a, b}) do
          false -> :ok
          {:ok, answer} -> assert same?(direct, {:value, answer}), "#{place} is not #{inspect(answer)}"
          {:error, reason} -> assert match?({:raised, _}, direct), "#{place}, but #{inspect(reason)}"
        end
      end
    end
  end

  test "what is sorted keeps its order where it is equal and not the same" do
    sort = &Mote.Interpret.call(Mote.Prelude.Enum, :sort, [&1])
    assert sort.([3, 1.0, 2, 2.0]) === [1.0, 2, 2.0, 3]
    assert sort.([[3], [1.0], [2], [2.0]]) === [[1.0], [2], [2.0], [3]]

    assert for(zero <- sort.([1.5, 0.0, -0.0, 0.5]), do: <<zero::float>>) ==
             for(zero <- [0.0, -0.0, 0.5, 1.5], do: <<zero::float>>)
  end

  test "what a function of the library fails with is told of the line that called it" do
    module = Compile.module("defpure f(text), do: {String.to_integer(text)}", "", :abort)

    stacktrace =
      try do
        module.f("1x")
      rescue
        ArgumentError -> __STACKTRACE__
      end

    assert {^module, :f, 1, place} = Enum.find(stacktrace, &(elem(&1, 0) == module))
    assert place[:line] == 2
  end

  test "operators that return :undefined stand in expressions, and not in patterns and guards" do
    module =
      Compile.module("""
      defpure text("a" <> rest) when rest <> "" == rest or -1 < 0, do: {rest, -rest}
      defpure part(<<n, part::binary-size(n), _::binary>>) when n - 1 >= 0 and n in 1..9, do: part <> n
      defpure all(xs), do: for(<<c <- xs>>, c - 98 >= 0, do: c)

      defpure which(x) do
        case x do
          first..last//-1 -> {first, last}
          -1 -> :minus
          %{-1 => y} -> y + :a
          y when not (y < 3) -> :large
          y when y < 3 -> :small
          _ -> :none
        end
      end

      defpure second(x) do
        with [y | _] when y - 1 > 0 <- x, <<z>> = <<y>>, %{^z => a} = %{z => -z}, do: {a, hd([])}
      end

      defpure other(x), do: {Mote.Vector.new(:i64, x), Enum.map([x], &Map.keys/1), x.a, Enum.reverse(x)}
      defpure further(x), do: {Map.get(x, :a), Mote.Vector.min(x, x), Mote.Vector.add(x, 1)}
      """)

    for {name, x, answer} <- [
          {:text, "ab", {"b", :undefined}},
          {:part, <<2, "abc">>, :undefined},
          {:all, "abc", ~c"bc"},
          {:which, -1, :minus},
          {:which, %{-1 => 1}, :undefined},
          {:which, 5, :large},
          {:which, 2, :small},
          {:which, :undefined, :none},
          {:second, [2], {-2, :undefined}},
          {:second, [1], [1]},
          {:other, 1, {:undefined, [:undefined], :undefined, :undefined}},
          {:further, 1, {:undefined, :undefined, :undefined}}
        ] do
      assert {name, apply(module, name, [x])} == {name, answer}
      assert {name, Mote.Interpret.call(module, name, [x])} == {name, answer}
    end

    assert module.which(3..1//-1) == {3, 1}
  end

  test "what is undefined does not decide, in functions of the library either" do
    for test <- ["a, fn x -> x + b end", "a, &(&1 + b)"],
        name <-
          ~w(filter reject any? all? find find_index find_value take_while drop_while split_while) ++
            ~w(split_with count),
        do: assert_decides("Enum.#{name}(#{test})", [3, 1, 2])

    for name <- ~w(filter reject split_with) do
      assert_decides("Map.#{name}(a, fn {_, x} -> x < b end)", %{a: 0, b: 2})
      assert_decides("MapSet.#{name}(a, fn x -> x < b end)", MapSet.new([0, 2]))
    end

    for order <- ["fn x, y -> x + b < y end", "&(&1 + b < &2)"],
        do: assert_decides("Enum.sort(a, #{order})", [3, 1, 2])

    assert_decides("Enum.sort_by(a, &{&1, b}, fn x, y -> elem(x, 0) + b < y end)", [3, 1, 2])
    assert_decides("Enum.count_until(a, fn x -> x + b end, 2)", [3, 1, 2])
    assert_decides("a |> Enum.find(:none, &(&1 + b)) |> then(&[&1])", [3, 1, 2])
  end

  # Both forms say the same, where the sums are numbers and where they are undefined.
  defp assert_decides(expression, a) do
    for b <- [1, :undefined] do
      answer = Compile.eval(expression, [a: a, b: b], :undefined)
      refute match?({:differ, _, _}, answer), "#{expression}: #{inspect(answer)}"
      refute match?({:raised, _}, answer), "#{expression}: #{inspect(answer)}"
    end
  end

  test "an address is no map in any pattern" do
    module =
      Compile.module(
        """
        defpure clause(%{}), do: :map
        defpure clause(_), do: :other
        defpure inner({%{} = m, [%{id: _}]}), do: m
        defpure inner(_), do: :other
        defpure matched(x), do: match?({%{}, _}, {x, 1})
        defpure loop(xs), do: for(%{} <- xs, do: 1)
        defpure first(x), do: with(%{} <- x, do: :map)
        defpure bound(x) do
          {:ok, %{} = m} = {:ok, x}
          m
        end
        """,
        "",
        :abort
      )

    address = %Mote.Reference.Address{id: 1}
    assert {module.clause(%{}), module.clause(address)} == {:map, :other}
    assert {module.inner({%{}, [%{id: 1}]}), module.inner({%{}, [address]})} == {%{}, :other}
    assert {module.matched(%{}), module.matched(address)} == {true, false}
    assert module.loop([%{}, address, %{a: 1}]) == [1, 1]
    assert {module.first(%{}), module.first(address)} == {:map, address}
    assert module.bound(%{a: 1}) == %{a: 1}

    assert %MatchError{term: {:ok, ^address}} =
             catch_error(module.bound(address)) |> then(&Exception.normalize(:error, &1))
  end

  # What this release of Elixir has is its own.
  test "functions of the library that the node's release lacks are the language's own" do
    for {module, name, arity} = function <- Mote.Prelude.functions(), not there?(module, name, arity) do
      {_, place, own} = Mote.Prelude.entry(module, name, arity)
      assert {function, there?(place, own, arity)} == {function, true}
    end

    for {expression, answer} <- [
          {"Enum.sum_by([1, 2.5], & &1 * x)", 7.0},
          {"[1, 2] |> Enum.product_by(&(&1 + x))", 12},
          {"Enum.map([[x], [3]], &List.first!/1)", [2, 3]},
          {"%{a: x, b: 1} |> Map.intersect(%{a: 3})", %{a: 3}},
          {"Map.intersect(%{a: x}, %{a: 3, c: 1}, fn _, a, b -> a + b end)", %{a: 5}},
          {"Keyword.intersect([a: 1], [a: x])", [a: 2]},
          {"Keyword.split_with([a: 1, b: x], fn {_, v} -> v > 1 end)", {[b: 2], [a: 1]}},
          {"Map.split_with(%{a: 1, b: x}, fn {_, v} -> v > 1 end)", {%{b: 2}, %{a: 1}}},
          {"MapSet.split_with(MapSet.new([1, x]), &(&1 > 1))", {MapSet.new([2]), MapSet.new([1])}},
          {"Integer.ceil_div(7, x)", 4},
          {"Integer.popcount(x + 1)", 2},
          {"List.ends_with?([1, x], [x])", true},
          {"Range.to_list(1..x)", [1, 2]},
          {"Range.split(1..4, x)", {1..2, 3..4}},
          {"String.byte_slice(\"héllo\", 0, x)", "h"},
          {"String.count(\"abab\", \"b\") + x", 4},
          {"String.replace_invalid(<<?a, 255>>)", "a�"},
          {"{Base.valid16?(\"0A\"), Base.valid64?(\"?\"), x}", {true, false, 2}}
        ] do
      assert {expression, Compile.eval(expression, [x: 2], :abort)} == {expression, answer}
    end

    if not there?(List, :first!, 1),
      do: assert({:raised, %FunctionClauseError{}} = Compile.eval("List.first!(x)", [x: []], :abort))
  end

  defp there?(module, name, arity) do
    Code.ensure_loaded?(module) and
      (function_exported?(module, name, arity) or macro_exported?(module, name, arity))
  end

  defp outcome(fun) do
    {:value, fun.()}
  rescue
    exception -> {:raised, exception}
  end

  defp same?({:value, a}, {:value, b}),
    do: :erlang.term_to_binary(a, [:deterministic]) == :erlang.term_to_binary(b, [:deterministic])

  defp same?(_, _), do: false
end
