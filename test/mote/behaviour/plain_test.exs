defmodule Mote.Behaviour.PlainTest do
  # A `defpure` function that Elixir calls uses Elixir's own operations and functions where these answer the same: over
  # generated terms it must be what a turn is, and what a machine says.
  use ExUnit.Case, async: true
  use ExUnitProperties

  alias Mote.{Compile, Prelude, Turn}
  alias Mote.Prelude.Own
  alias Mote.Reference.Address

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

  # What a machine does not take for what it is, but hands on.
  @foreign [<<1::3>>]
  @addresses @foreign ++ [%Address{id: 1}, %Address{id: 2}, %Address{id: {:customer, :a}}]

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

  # What an operation is mostly given, and anything.
  defp operand(more \\ @addresses) do
    frequency([
      {3, lists(more)},
      {2, map_of(leaf(more), terms(more), max_length: 40)},
      {3, terms(more)},
      {1, member_of([MapSet.new([1, 2.0, :a]), 1..4, 9..1//-3, %{__struct__: Nobody, a: 1}, %URI{port: 1}])},
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
    "%{1.0 => a, 1 => b, 0.0 => 1, -0.0 => 2}",
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

  for errors <- [:abort, :undefined] do
    @tag timeout: 180_000
    property "where errors are #{errors}, operations are the same for Elixir, for a turn and for its code" do
      for expression <- @expressions do
        check all(a <- operand(), b <- one_of([operand(), element_of(a), leaf(@addresses)]), max_runs: 60) do
          answer = Compile.eval(expression, [a: a, b: b], unquote(errors))

          refute match?({:differ, _, _}, answer),
                 "#{expression} of #{inspect({a, b}, structs: false)}: #{inspect(answer)}"
        end
      end
    end
  end

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
      check all(a <- operand([:c]), b <- one_of([operand([:c]), element_of(a)]), max_runs: 30) do
        direct = outcome(fn -> apply(module, :"v#{i}", [a, b]) end)
        place = "#{expression} of #{inspect({a, b})}: #{inspect(direct)}"

        case Mote.ask(actor, {i, a, b}) do
          {:ok, answer} -> assert same?(direct, {:value, answer}), "#{place} is not #{inspect(answer)}"
          {:error, reason} -> assert match?({:raised, _}, direct), "#{place}, but #{inspect(reason)}"
        end
      end
    end
  end

  @tag timeout: 180_000
  property "functions that Elixir has itself are what the prelude makes of all arguments, be they such or not" do
    for {{place, name, arity}, {_, kinds}} <- Own.entries() do
      assert Code.ensure_loaded?(place) and function_exported?(place, name, arity)

      check all(arguments <- arguments(kinds), not endless?(name, arguments), max_runs: 60) do
        direct = outcome(fn -> apply(place, name, arguments) end)
        turn = outcome(fn -> Turn.pure(fn -> apply(place, :"mote #{name}", arguments) end) end)
        shown = "#{inspect(place)}.#{name} of #{inspect(arguments, structs: false)}"
        assert alike?(direct, turn), "#{shown}: #{inspect(direct)}, in a turn #{inspect(turn)}"
      end
    end
  end

  property "and what Elixir's own functions make of them, but for the order of what is equal and not the same" do
    check all(list <- lists([:c]), texts <- list_of(text()), n <- integer(-3..9), max_runs: 300) do
      assert Prelude.Enum.max([1 | list]) === Enum.max([1 | list])
      assert Prelude.Enum.min([1 | list]) === Enum.min([1 | list])
      assert Prelude.Enum.take(list, n) === Enum.take(list, n)
      assert Prelude.Enum.sort(list) == Enum.sort(list)
      assert Prelude.Enum.sort(list) === Enum.sort(list, &(&1 <= &2))
      assert Prelude.Enum.join(texts, "é") === Enum.join(texts, "é")
    end
  end

  test "what is sorted keeps its order where it is equal and not the same" do
    assert Prelude.Enum.sort([3, 1.0, 2, 2.0]) === [1.0, 2, 2.0, 3]
    assert Prelude.Enum.sort([[3], [1.0], [2], [2.0]]) === [[1.0], [2], [2.0], [3]]

    assert for(zero <- Prelude.Enum.sort([1.5, 0.0, -0.0, 0.5]), do: <<zero::float>>) ==
             for(zero <- [0.0, -0.0, 0.5, 1.5], do: <<zero::float>>)
  end

  test "addresses are sorted as pids" do
    [one, two, _] = @addresses -- @foreign
    assert Prelude.Enum.sort([%{}, two, {}, self(), one, "", :a]) === [:a, one, two, self(), {}, %{}, ""]
    assert Prelude.Enum.max([{1, one}, {1, %{}}]) === {1, %{}}
    assert Prelude.Enum.max([one, {}]) === {}
    assert Prelude.Enum.min([{}, one]) === one
    assert Prelude.Enum.sort([%{a: %{}}, %{a: one}]) === [%{a: one}, %{a: %{}}]
  end

  test "what a function of the library fails with is told of the line that called it, and of nothing behind it" do
    module = Compile.module("defpure f(text), do: {String.to_integer(text)}", "", :abort)
    exception = %ArgumentError{} = catch_error(module.f("1x"))

    stacktrace =
      try do
        module.f("1x")
      rescue
        _ -> __STACKTRACE__
      end

    assert Exception.message(exception) =~ "not a textual representation of an integer"
    assert [{^module, :f, 1, place} | rest] = stacktrace
    assert place[:line] == 2
    refute Enum.any?(rest, &match?({^module, _, _, _}, &1))
  end

  defp arguments(kinds), do: kinds |> Enum.map(&argument/1) |> fixed_list() |> scale(&min(&1, 60))

  # Of a kind, and any other one at times.
  defp argument(kind), do: frequency([{5, of(kind)}, {1, operand()}])

  # Elixir begins to make a text of 2 ** 62 characters, and memory ends.
  defp endless?(name, [_text, count | _]) when name in [:duplicate, :pad_leading, :pad_trailing],
    do: is_integer(count) and count > 1_000

  defp endless?(_name, _arguments), do: false

  defp of(:any), do: one_of([operand(), chars()])
  defp of(:map), do: map_of(leaf(@addresses), operand(), max_length: 4)
  defp of(:tuple), do: map(list_of(leaf(@addresses), max_length: 4), &List.to_tuple/1)

  defp of(:cells) do
    improper = map({lists(@addresses), leaf(@addresses)}, fn {list, tail} -> list ++ tail end)
    one_of([lists(@addresses), list_of(text()), list_of(pair()), chars(), improper])
  end

  defp of(kind) when kind in [:bytes, :part, :text, :character],
    do: one_of([text(), map(text(), &Base.encode64/1)])

  defp of(:integer), do: one_of([integer(), integer(-9..9), member_of([2 ** 63, -(2 ** 70)])])
  defp of(:count), do: integer(-2..9)
  defp of(first..last//1), do: integer(first..last)
  defp of([_ | _] = values), do: member_of(values)

  defp pair, do: map({leaf(@addresses), leaf(@addresses)}, & &1)

  defp chars,
    do:
      list_of(
        one_of([text(), integer(0..300), list_of(one_of([text(), integer(0..0x110000)]), max_length: 3)])
      )

  # Text, and what is nearly text: parts of characters, white space of all sizes.
  @parts [
           "a",
           "b",
           "A",
           "1",
           "-",
           "+",
           "_",
           " ",
           "\n",
           "\r\n",
           ",",
           "é",
           "ß",
           "İ",
           "Σ",
           "ǆ",
           "ﬁ",
           "e\u0301",
           "\u00A0",
           "\u0085",
           "\u2003"
         ] ++
           ["\u3000", "\u2028", "👨‍👩‍👧", "🇩🇪", "한", <<0x1100::utf8, 0x1161::utf8>>] ++
           [
             <<255>>,
             <<0xC2>>,
             <<0x85>>,
             <<0xA0>>,
             <<0xE2>>,
             <<0x80>>,
             <<0xE3>>,
             <<0xED, 0xA0, 0x80>>,
             <<0xF0, 0x9F>>
           ]

  defp text,
    do:
      one_of([binary(max_length: 6), map(list_of(member_of(@parts), max_length: 8), &IO.iodata_to_binary/1)])

  defp outcome(fun) do
    {:value, fun.()}
  rescue
    exception -> {:raised, exception}
  end

  defp same?({:value, a}, {:value, b}),
    do: :erlang.term_to_binary(a, [:deterministic]) == :erlang.term_to_binary(b, [:deterministic])

  defp same?(_, _), do: false

  defp alike?({:raised, _}, {:raised, _}), do: true
  defp alike?(a, b), do: same?(a, b)
end
