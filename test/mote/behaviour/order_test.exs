defmodule Mote.Behaviour.OrderTest do
  # Which of several arguments is evaluated first can be noticed where two of them throw, or where one of them fails.
  use ExUnit.Case, async: true

  @calls [
    {"elem", ["{1, 2}", "1"]},
    {"put_elem", ["{1, 2}", "1", "3"]},
    {"is_map_key", ["%{a: 1}", ":a"]},
    {"Map.delete", ["%{a: 1}", ":a"]},
    {"Map.fetch", ["%{a: 1}", ":a"]},
    {"Map.fetch!", ["%{a: 1}", ":a"]},
    {"Map.get", ["%{a: 1}", ":a", "2"]},
    {"Map.has_key?", ["%{a: 1}", ":a"]},
    {"Map.merge", ["%{a: 1}", "%{b: 2}"]},
    {"Map.put", ["%{a: 1}", ":a", "2"]},
    {"Map.put_new", ["%{a: 1}", ":a", "2"]},
    {"Map.replace", ["%{a: 1}", ":a", "2"]},
    {"Map.replace!", ["%{a: 1}", ":a", "2"]},
    {"Keyword.put", ["[a: 1]", ":a", "2"]},
    {"Enum.member?", ["[1, 2]", "1"]},
    {"List.insert_at", ["[1, 2]", "1", "2"]},
    {"List.keyfind", ["[{1, 2}]", "1", "0"]},
    {"String.pad_leading", ["\"a\"", "3", "\"b\""]},
    {"Tuple.append", ["{1, 2}", "1"]},
    {"Tuple.delete_at", ["{1, 2}", "1"]},
    {"Tuple.duplicate", ["1", "2"]},
    {"Tuple.insert_at", ["{1, 2}", "1", "3"]},
    {"Kernel.in", ["1", "x"]},
    {":erlang.element", ["1", "{1, 2}"]},
    {":lists.keyfind", ["1", "1", "[{1, 2}]"]},
    {":maps.get", [":a", "%{a: 1}"]},
    {":maps.put", [":a", "1", "%{b: 2}"]},
    {":erlang.delete_element", ["1", "{1, 2}"]},
    {":erlang.insert_element", ["1", "{1, 2}", "3"]},
    {"is_struct", ["x", "hd(x)"]}
  ]

  # Where `A`, `B` and so on stand, each of which has an effect: it binds the name that another one reads, fails, or throws.
  @forms [
    {"A in B..C", ~w[1 2 3]},
    {"Enum.at(A..B//C, 0)", ~w[1 3 2]},
    {"Enum.map(A, fn y -> {y, x} end)", ["[1]"]},
    {"Enum.map(A, B)", ["[1]", "&{&1, 1}"]},
    {"Enum.map(A..B, fn y -> {y, x} end)", ~w[1 3]},
    {"Enum.sum(A)", ["[1, 2]"]},
    {"Enum.filter(A, fn y -> y == x end)", ["[1]"]},
    {"Enum.reduce(A, B, fn y, acc -> {y, acc, x} end)", ["[1]", "{0, 1}"]},
    {"Enum.reduce(A, {B, C}, fn y, {n, m} -> {n + y, m} end)", ["[1]", "2", "3"]},
    {"Enum.reduce(A, B, C)", ["[1]", "0", "&{&1, &2}"]},
    {"Enum.reduce(1..A, B, fn y, acc -> {y, acc, x} end)", ~w[2 0]},
    {"Enum.find(A, B, fn _ -> throw(x) end)", ["[1]", "2"]},
    {"Enum.group_by(A, B, C)", ["[1]", "& &1", "&{&1}"]},
    {"Enum.chunk_while(A, B, &{:cont, &1, &2}, C)", ["[1]", "0", "&{:cont, &1}"]},
    {"Enum.member?(A, B)", ["[1]", "1"]},
    {":lists.foldl(A, B, C)", ["&{&1, &2}", "0", "[1]"]},
    {"Map.update(A, B, C, fn y -> {y, x} end)", ["%{a: 1}", ":a", "2"]},
    {"Map.update!(A, B, C)", ["%{a: 1}", ":a", "&{&1}"]},
    {"Map.put_new(A, B, C)", ["%{a: 1}", ":b", "2"]},
    {"Keyword.update(A, B, C, fn y -> {y, x} end)", ["[a: 1]", ":a", "2"]},
    {"String.replace(A, B, fn y -> y <> inspect(x) end)", [~s("ab"), ~s("b")]},
    {"apply(A, B)", ["&{&1}", "[1]"]},
    {"put_in(A.a, B)", ["%{a: 1}", "2"]},
    {"put_in(A.b, B)", ["%{a: 1}", "2"]},
    {"put_in(A[B], C)", ["%{a: 1}", ":a", "2"]},
    {"put_in(A.a[B], C)", ["%{a: %{}}", ":b", "2"]},
    {"put_in(A[B].b, C)", ["%{a: %{}}", ":a", "2"]},
    {"update_in(A.a, B)", ["%{a: 1}", "&{&1}"]},
    {"update_in(A.b, B)", ["%{a: 1}", "&{&1}"]},
    {"update_in(A.a.b, B)", ["%{a: %{b: 1}}", "&{&1}"]},
    {"update_in(A[B][C], D)", ["%{a: %{b: 1}}", ":a", ":b", "&{&1}"]},
    {"update_in(A[B].b, fn y -> {y, x} end)", ["%{a: %{b: 1}}", ":a"]},
    {"get_and_update_in(A.b, B)", ["%{a: 1}", "&{&1, 2}"]},
    {"get_and_update_in(A[B][C], D)", ["%{a: %{b: 1}}", ":a", ":b", "&{&1, 2}"]},
    {"pop_in(A[B][C])", ["%{a: %{b: 1}}", ":a", ":b"]},
    {"is_struct(A, Range)", ["1..2"]},
    {"is_struct(A, B)", ["1..2", "Range"]},
    {"is_exception(A, B)", ["1", "ArgumentError"]},
    {"Tuple.delete_at(A, B)", ["{1, 2}", "1"]},
    {"Tuple.insert_at(A, B, C)", ["{1, 2}", "1", "3"]},
    {":maps.put(A, B, C)", [":a", "1", "%{}"]}
  ]

  test "parts of an expression see and do what they see and do in Elixir" do
    texts =
      for {form, values} <- @forms, effects <- effects(length(values)), uniq: true do
        values
        |> Enum.zip(effects)
        |> Enum.with_index(?A)
        |> Enum.reduce(form, fn {{value, effect}, place}, text ->
          String.replace(text, ~r/\b#{<<place>>}\b/, String.replace(effect, "it", value), global: false)
        end)
      end

    assert length(texts) > 500
    texts |> Enum.chunk_every(50) |> Enum.each(&alike/1)
  end

  defp alike(texts) do
    defined = fn kind ->
      for {text, n} <- Enum.with_index(texts), into: "" do
        "#{kind} f#{n}(x, bad), do: (try do (y = (#{text}); {y, x}) rescue _ -> :raised catch v -> {:thrown, v} end)\n"
      end
    end

    mote = Mote.Compile.module(defined.("defpure"), "", :abort)
    elixir = Module.concat(mote, InElixir)
    Mote.Compile.quietly("defmodule #{inspect(elixir)} do\n#{defined.("def")}\nend", "test.ex")

    for {text, n} <- Enum.with_index(texts) do
      expected = apply(elixir, :"f#{n}", [1, :bad])
      assert {text, apply(mote, :"f#{n}", [1, :bad])} == {text, expected}
      assert {text, Mote.Interpret.call(mote, :"f#{n}", [1, :bad])} == {text, expected}
    end

    Enum.each([mote, elixir], &Mote.Compile.purge/1)
  end

  # One part binds what another one reads; one fails, or is neither a collection nor an index, and another one throws.
  defp effects(parts) do
    places = Enum.to_list(0..(parts - 1))
    [binds, throws] = ["(x = :new; it)", "throw({:read, x})"]
    none = List.duplicate("it", parts)

    for(one <- places, do: List.replace_at(none, one, binds)) ++
      for one <- places, other <- places, one != other, effect <- [binds, "bad", "hd(bad)"] do
        none |> List.replace_at(one, effect) |> List.replace_at(other, throws)
      end
  end

  test "arguments are evaluated in Elixir's order" do
    for {called, arguments} <- @calls,
        one <- 0..(length(arguments) - 2),
        other <- (one + 1)..(length(arguments) - 1) do
      arguments =
        arguments |> List.replace_at(one, "throw(#{one})") |> List.replace_at(other, "throw(#{other})")

      code = "try do #{called}(#{Enum.join(arguments, ", ")}) catch n -> n end"
      assert Mote.Compile.eval(code, [x: [1]], :abort) in [one, other], code
    end
  end

  test "an index is counted from one where it is evaluated" do
    for code <- [
          "elem(hd(x), x)",
          "put_elem(hd(x), x, 1)",
          "put_elem(x, x, hd(x))",
          "elem(tl(x), hd([x]))",
          "elem(hd(x), 0)"
        ] do
      code = "try do #{code} rescue e in ArithmeticError -> e.message; ArgumentError -> :argument end"
      {expected, _} = Code.eval_string(code, x: :a)
      assert Mote.Compile.eval(code, [x: :a], :abort) == expected, code
    end

    assert Mote.Compile.eval("elem({1, 2, hd(x)}, hd(x))", [x: [1]], :abort) == 2
    assert Mote.Compile.eval("put_elem({hd(x), 2}, hd(x), 3)", [x: [1]], :abort) == {1, 3}
  end
end
