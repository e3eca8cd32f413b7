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
    {":maps.get", [":a", "%{a: 1}"]}
  ]

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
