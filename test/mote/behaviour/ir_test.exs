defmodule Mote.Behaviour.IRTest do
  # The code for the machine: that it is tight, that it keeps the rules of guides/ir.md, that it decodes.
  use ExUnit.Case, async: true

  import Mote.Compile, only: [module: 1, module: 3]
  alias Mote.Disassemble

  defp code(source, name \\ :f), do: Disassemble.code(module(source), name)

  test "the fork bomb" do
    module =
      module("""
      defactor node(parent) do
        0 -> send parent, :done
        depth when depth > 0 ->
          left = create node(self())
          right = create node(self())
          send left, depth - 1
          send right, depth - 1
          become collect(parent, 2)
      end
      defactor collect(parent, n) do
        :done when n > 1 -> become collect(parent, n - 1)
        :done -> send parent, :done
      end
      """)

    node = {module, :node, 1}

    assert Disassemble.code(module, :node) == [
             {:match, {:r, 1}, {:k, 0}, {:l, 3}},
             {:send, {:r, 0}, {:k, :done}},
             {:done},
             {:match, {:r, 1}, {:k, :undefined}, {:l, 5}},
             {:jump, {:l, 15}},
             {:op, {:d, 2}, :gt, [{:r, 1}, {:k, 0}]},
             {:branch, {:r, 2}, {:l, 15}},
             {:self, {:d, 2}},
             {:create, {:d, 3}, node, [{:r, 2}]},
             {:create, {:d, 2}, node, [{:r, 2}]},
             {:op, {:d, 1}, :sub, [{:r, 1}, {:k, 1}]},
             {:send, {:r, 3}, {:r, 1}},
             {:send, {:r, 2}, {:r, 1}},
             {:become, {module, :collect, 2}, [{:r, 0}, {:k, 2}]},
             {:done},
             {:ignore}
           ]

    # The literal that both clauses want is tested once.
    assert [
             {:match, _, {:k, :done}, {:l, 10}},
             {:match, _, {:k, :undefined}, {:l, 3}},
             {:jump, {:l, 8}},
             {:op, _, :gt, _},
             {:branch, _, {:l, 8}} | _
           ] = Disassemble.code(module, :collect)
  end

  test "constants are operands, aliases cost nothing, what nobody reads is not there" do
    assert code("defpure f(x) do\ny = x\nz = y\n_ = {x, 1}\nis_atom(x)\nw = z + 1\nw\nend") == [
             {:op, {:d, 0}, :add, [{:r, 0}, {:k, 1}]},
             {:return, {:r, 0}}
           ]

    assert code("defpure f(x), do: {x, {1, [2.0, :a]}, 2 * 3 + 1}") == [
             {:tuple, {:d, 0}, [{:r, 0}, {:k, {1, [2.0, :a]}}, {:k, 7}]},
             {:return, {:r, 0}}
           ]
  end

  test "what nobody reads is calculated where it may spend fuel" do
    assert [{:op, _, :bsl, [{:r, 0}, {:k, 1_000_000}]}, {:return, {:k, 0}}] =
             code("defpure f(x) do\n_ = Bitwise.bsl(x, 1_000_000)\n0\nend")

    assert [{:op, _, :eq, [{:r, 0}, {:r, 1}]}, {:return, {:k, 0}}] =
             code("defpure f(x, y) do\n_ = x == y\n0\nend")

    # Both ways lead to the same place, and the values may be large.
    assert [{:match, {:r, 0}, {:r, 1}, _} | _] =
             code("defpure f(x, y) do\n_ = if(x === y, do: 1, else: 2)\n0\nend")

    assert [{:return, {:k, 0}}] = code("defpure f(x) do\n_ = if(x === :a, do: 1, else: 2)\n0\nend")
  end

  test "a tuple that is taken apart at once is not built" do
    refute Enum.any?(code("defpure f(x, y) do\ncase {x, y} do\n{1, b} -> b\n{a, _} -> a\nend\nend"), fn i ->
             elem(i, 0) in [:tuple, :match_tuple]
           end)

    assert code("defpure f(x, y) do\n{a, b} = {y, x}\na - b\nend") == [
             {:op, {:d, 0}, :sub, [{:r, 1}, {:r, 0}]},
             {:return, {:r, 0}}
           ]
  end

  test "neighbours of one shape take the message apart once" do
    code = code("defpure f({:a, x}), do: x\ndefpure f({:b, y}), do: y\ndefpure f({z, _}), do: z")
    assert Enum.count(code, &(elem(&1, 0) == :match_tuple)) == 3

    code = code("defpure f(m) do\ncase m do\n{:a, x} -> x\n{:b, y} -> y\n{z, _} -> z\nend\nend")

    assert Enum.count(code, &(elem(&1, 0) == :match_tuple)) == 1
  end

  test "what is known on every way is neither calculated nor tested again" do
    assert code("defpure f(x), do: {x + 1, x + 1, x - 1}") == [
             {:op, {:d, 1}, :add, [{:r, 0}, {:k, 1}]},
             {:op, {:d, 0}, :sub, [{:r, 0}, {:k, 1}]},
             {:tuple, {:d, 0}, [{:r, 1}, {:r, 1}, {:r, 0}]},
             {:return, {:r, 0}}
           ]

    # A guard that has held has an answer; a test that holds is left out.
    assert [
             {:guard_op, {:d, 0}, :add, _, _},
             {:op, _, :gt, _},
             {:branch, _, _},
             {:tuple, _, [r: 0, r: 0]} | _
           ] = code("defpure f(x) when x + 1 > 2, do: (if x + 1 > 2, do: {x + 1, x + 1}, else: :no)")

    tests = "defpure f(x) when is_integer(x), do: (if is_integer(x) and x == :a, do: 1, else: x)"
    assert [{:op, _, :is_integer, _}, {:branch, _, _}, {:match, _, {:k, :a}, _} | _] = code(tests)
  end

  test "what is known on some ways only is not known, and chance and time are asked every time" do
    count = fn code, primitive -> Enum.count(code, &match?({_, _, ^primitive, _}, &1)) end

    # On the way to the last sum there is none; it may be that of another zero; none has an answer.
    assert count.(code("defpure f(x, y), do: {if(y == :a, do: x + 1), x + 1}"), :add) == 2
    assert count.(code("defpure f(x), do: {x * 0.0, x * -0.0, x * 0}"), :mul) == 3
    assert count.(code("defpure f(), do: {:rand.uniform(), :rand.uniform()}"), :random) == 2

    time = "System.monotonic_time(:nanosecond)"
    assert count.(code("defpure f(), do: {#{time}, #{time}}"), :now) == 2

    code = code("defpure f(x) do\ny = x + 1\ncase x do\n_ when x + 1 == y -> y\n_ -> :none\nend\nend")
    assert count.(code, :add) == 1 and Enum.any?(code, &match?({:guard_op, _, :add, _, _}, &1))
  end

  describe "loops" do
    defp loop(expression) do
      module = module("defpure f(x, y), do: #{expression}")
      unit = Disassemble.unit(module.__mote__(:unit))
      Enum.find(unit.functions, &(&1.name != :f)).code
    end

    test "do not build the tuples that they hand on" do
      for expression <- [
            "Enum.reduce(1..x, {0, 1}, fn _, {a, b} -> {b, a + b} end)",
            "Enum.reduce(x, {y, 1}, fn e, {a, b} -> if e > a, do: {e, b}, else: {a, b + 1} end)",
            "Enum.reduce(x, {0, 0}, fn e, acc -> cond do e == 1 -> acc; true -> {e, elem(acc, 0)} end end)",
            "for(e <- x, e > y, reduce: {y, 0}, do: ({a, 7} -> abort(a); {a, n} -> {a + e, n + 1}))"
          ] do
        code = loop(expression)
        refute Enum.any?(code, &(elem(&1, 0) in [:match_tuple, :call]))
        # Only what the loop ends with.
        ends = for [{:tuple, {:d, d}, _}, {tag, {:r, d}}] <- Enum.chunk_every(code, 2, 1), do: tag
        assert :return in ends and ends -- [:return, :abort] == []
        assert length(ends) == Enum.count(code, &(elem(&1, 0) == :tuple))
      end
    end

    test "hand on a tuple where that may be something else" do
      for expression <- [
            "Enum.reduce(x, y, fn e, {a, b} -> {b, a + e} end)",
            "Enum.reduce(x, {0, 1}, fn e, {a, b} -> if e, do: {b, a}, else: y end)",
            "Enum.reduce(x, {0, 1}, fn e, {a, b} -> {b, a, e} end)"
          ] do
        assert Enum.any?(loop(expression), &(elem(&1, 0) == :match_tuple))
      end
    end

    test "over ranges only count where nobody looks at the variable" do
      assert [_, _, {:op, _, :sub, _}, {:op, _, :mul, _}, {:tail_call, {_, _, 2}, _}] =
               loop("Enum.reduce(1..x, 1, fn _, acc -> acc * 2 end)")
    end
  end

  test "tail calls of functions, calls of behaviours" do
    assert {:tail_call, {_, :f, 2}, _} =
             List.last(code("defpure f(0, a), do: a\ndefpure f(n, a), do: f(n - 1, a + n)"))

    assert [{:call, _, {_, :g, 1}, [{:r, 0}]}, {:done}] =
             code("defactor f(x) do\n_ -> g(x)\nend\ndefpure g(x), do: x")
  end

  test "conditions are jumps" do
    assert [{:match, {:r, 0}, {:k, :a}, {:l, 2}}, {:return, {:k, 1}}, {:return, {:k, 2}}] =
             code("defpure f(x), do: if(x == :a, do: 1, else: 2)")

    assert [
             {:match, {:r, 0}, {:k, :undefined}, {:l, 2}},
             {:jump, {:l, 6}},
             {:op, {:d, 0}, :gt, _},
             {:branch, {:r, 0}, {:l, 5}},
             {:return, {:k, 1}},
             {:return, {:k, 2}},
             {:abort, {:k, {:case_clause, :undefined}}}
           ] = code("defpure f(x), do: (case x > 1 do true -> 1; false -> 2 end)")

    # That an operand is not `:undefined` is tested once, and not of an integer.
    assert [
             {:match, {:r, 0}, {:k, :undefined}, {:l, 2}},
             {:jump, {:l, 7}},
             {:op, _, :lt, _},
             {:branch, _, {:l, 6}},
             {:op, _, :gt, _},
             {:branch, _, {:l, 7}},
             {:return, {:k, 1}},
             {:return, {:k, 2}}
           ] = code("defpure f(x), do: if(not (x < 1) or x > 9, do: 1, else: 2)")

    assert [
             {:op, _, :is_integer, _},
             {:branch, _, {:l, 5}},
             {:op, _, :gt, _},
             {:branch, _, {:l, 5}},
             {:return, {:k, 1}} | _
           ] = code("defpure f(x) when is_integer(x) and x > 1, do: 1")
  end

  test "where the turn is aborted instead nothing is compared with :undefined" do
    module = module("defpure f(x, y) when x > y, do: {x < 1, x < 1 or y > 2, if(y > 1, do: x)}", "", :abort)
    refute Enum.any?(Disassemble.code(module, :f), &match?({:match, _, {:k, :undefined}, _}, &1))
  end

  test "guards use guard_op where an answer may be missing" do
    code = code("defpure f(x) when x + 1 > 2, do: 1\ndefpure f(_), do: 2")

    assert [
             {:guard_op, {:d, 0}, :add, [{:r, 0}, {:k, 1}], {:l, 4}},
             {:op, _, :gt, _},
             {:branch, _, {:l, 4}} | _
           ] = code
  end

  test "the hash depends on the content only" do
    name = Mote.Compiled.Same

    compile = fn source ->
      Code.compile_string(
        "defmodule #{inspect(name)} do use Mote.Behaviour, errors: :undefined\n#{source}\nend"
      )
    end

    {hashes, units} =
      for source <- [
            "defpure f(x), do: for(y <- x, do: y + 1)",
            "defpure f(x), do: for(y <- x, do: y + 1)",
            "defpure f(x), do: for(y <- x, do: y + 2)"
          ] do
        Code.put_compiler_option(:ignore_module_conflict, true)
        compile.(source)
        Code.put_compiler_option(:ignore_module_conflict, false)
        {apply(name, :__mote__, [:hash]), apply(name, :__mote__, [:unit])}
      end
      |> Enum.unzip()

    assert [a, a, b] = hashes
    assert a != b
    assert [u, u, _] = units
  end

  test "constants of every kind survive" do
    big = 123_456_789_012_345_678_901_234_567_890
    values = [0, -1, 4_611_686_018_427_387_903, -4_611_686_018_427_387_904, big, 1.5, :"ä b", "bytes", []]
    values = [{values, {}}, [1 | 2], ~c"abc" | values]
    module = module("defpure f(), do: #{inspect(values, limit: :infinity)}")
    assert module.f() == values
    assert Mote.Interpret.call(module, :f, []) == values
    unit = Disassemble.unit(module.__mote__(:unit))
    assert values in unit.constants
    assert unit.module == Atom.to_string(module)
  end

  test "a created sink is a hidden behaviour of the unit" do
    unit = Disassemble.unit(module("defactor a() do\n_ -> create(sink())\nend").__mote__(:unit))
    assert [%{name: :a}, %{name: :sink, arity: 0, code: [{:ignore}], flag: {:safe, true}}] = unit.behaviours
  end

  test "a module without behaviours is a unit too, with a hidden one for each function" do
    module = module("defpure f(x), do: x\ndefpure f(x, _y), do: x")
    unit = Disassemble.unit(module.__mote__(:unit))
    assert [%{name: :"f/1", arity: 0, flag: {:safe, true}}, %{name: :"f/2"}] = unit.behaviours
    assert module.__mote__(:behaviours) == []
    assert {:"f/1", hash} = module.__mote__({:call, :f, 1})
    assert hash == module.__mote__(:hash)
    assert module.__mote__({:call, :f, 3}) == nil
  end

  test "lifted loops are nobody's business" do
    unit = Disassemble.unit(module("defpure f(n), do: (for i <- 1..n, do: i)").__mote__(:unit))
    assert [%{name: :"f/1"}] = unit.behaviours
    assert length(unit.functions) == 2
  end
end
