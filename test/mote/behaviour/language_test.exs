defmodule Mote.Behaviour.LanguageTest do
  # Every construct of the body language: its value as plain Elixir and as IR (`eval` compares the two).
  use ExUnit.Case, async: true

  import ExUnit.CaptureIO, only: [with_io: 2]
  import Mote.Compile, only: [eval: 1, eval: 2, eval: 3, module: 1, module: 2]

  # Where Elixir itself can say what the value is, it does.
  defp elixir(expression, bindings), do: expression |> Code.eval_string(bindings) |> elem(0)

  defp assert_as_elixir(expression, bindings \\ []) do
    assert eval(expression, bindings) === elixir(expression, bindings)
  end

  describe "literals" do
    test "are themselves" do
      for literal <- [
            "1",
            "-7",
            "0x10",
            "1_000_000",
            "1.5",
            "-2.5e-3",
            ":a",
            "nil",
            "true",
            ~S("text"),
            ~S('chars'),
            "[]",
            "[1, 2 | 3]",
            "[1 | [2]]",
            "{}",
            "{1}",
            "{1, [a: 2], \"x\"}",
            "Enum",
            "~w(a b)a",
            "?a",
            "4611686018427387903",
            "-4611686018427387904",
            "9999999999999999999999"
          ] do
        assert_as_elixir(literal)
      end
    end

    test "keep the sign of zero" do
      assert <<1::1, _::63>> = <<eval("-0.0")::float>>
      assert <<0::1, _::63>> = <<eval("0.0")::float>>
      assert {zero, [other]} = eval("{0.0, [-0.0]}")
      assert <<zero::float>> != <<other::float>>
    end

    test "come out of module attributes" do
      module =
        module("@list [1, {:a, 2.5}]\n@n 3\ndefpure f(x), do: {x, @list, @n}\n@n 4\ndefpure g(@n), do: @n")

      assert module.f(:x) == {:x, [1, {:a, 2.5}], 3}
      assert module.g(4) == 4
    end
  end

  describe "arithmetic" do
    test "is Elixir's where Elixir has an answer" do
      for e <-
            ["1 + 2", "7 - 10", "3 * -4", "7 / 2", "div(-7, 2)", "rem(-7, 2)", "-(3)", "abs(-3)"] ++
              ["max(1, 2.0)", "min(1, 1.0)", "round(2.5)", "round(-2.5)", "trunc(-2.7)", "floor(-2.1)"] ++
              ["ceil(2.1)", "1 + 2.5", "2.0 * 3", "Bitwise.band(12, 10)", "Bitwise.bor(12, 10)"] ++
              ["Bitwise.bxor(12, 10)", "Bitwise.bnot(5)", "Bitwise.bsl(3, 4)", "Bitwise.bsr(-9, 1)"] ++
              [":math.sqrt(2)", ":math.pi()", ":math.pow(2, 10)", ":math.atan2(1, 2)", "+5", "+1.5"] do
        assert_as_elixir(e)
      end

      for op <- ["+", "-", "*", "/"], a <- [1, -2, 2.5, 0.0], b <- [3, 1.5, -0.5] do
        assert_as_elixir("a #{op} b", a: a, b: b)
      end
    end

    test "is undefined without an answer" do
      for e <-
            ["1 + :a", "1 / 0", "1.0 / 0.0", "div(1, 0)", "rem(1, 0)", "div(1.0, 1)", "-:a", "hd([])"] ++
              ["tl(1)", "elem({}, 0)", "elem({1}, -1)", "length([1 | 2])", "tuple_size([])", "[1 | 2] ++ []"] ++
              ["round(:a)", ":math.sqrt(-1)", ":math.log(0)", "not 1", "+:a"] ++
              ["Bitwise.bsl(1, 1_000_000_000_000)", "10_000_000_000_000_000_000_000 / 0"] ++
              ["1.0e308 * 10", "byte_size(:a)", "Tuple.to_list(1)", "List.to_tuple(1)", "Enum.reverse(:a)"] do
        assert eval(e) == :undefined, e
      end

      assert eval("(x + 1) * 2", x: :a) == :undefined
      assert eval("hd(tl(x))", x: [1]) == :undefined
    end
  end

  describe "comparison and booleans" do
    test "compare any terms as Elixir does" do
      terms = [1, 1.0, 2, :a, nil, "b", {1, 2}, {1}, [], [1], [1, 2], 10_000_000_000_000_000_000]

      module =
        module("defpure all(a, b), do: {a == b, a != b, a === b, a !== b, a < b, a <= b, a > b, a >= b}")

      for a <- terms, b <- terms do
        all = {a == b, a != b, a === b, a !== b, a < b, a <= b, a > b, a >= b}
        assert module.all(a, b) == all
        assert Mote.Interpret.call(module, :all, [a, b]) == all
      end
    end

    test "and, or, not are strict" do
      for a <- [true, false], b <- [true, false, 7] do
        assert_as_elixir("a and b", a: a, b: b)
        assert_as_elixir("a or b", a: a, b: b)
        assert_as_elixir("{a and b, not a or b}", a: a, b: b)
      end

      assert eval("a and true", a: 1) == :undefined
      assert eval("a or true", a: nil) == :undefined
      assert eval("not a", a: nil) == :undefined
      assert eval("a == 1 and b", a: 1, b: :x) == :x
    end

    test "the right operand is not evaluated in vain" do
      assert eval("a and abort(:no)", a: false) == false
      assert eval("a == 1 or abort(:no)", a: 1) == true
      assert eval("a || abort(:no)", a: 1) == 1
      assert eval("a && abort(:no)", a: nil) == nil
    end

    test "&&, ||, ! look at truthiness" do
      for a <- [true, false, nil, 0], b <- [1, nil] do
        assert_as_elixir("a && b", a: a, b: b)
        assert_as_elixir("a || b", a: a, b: b)
        assert_as_elixir("!a", a: a)
        assert_as_elixir("if a && !b || a == 0, do: 1, else: 2", a: a, b: b)
        assert_as_elixir("if !(a || b), do: 1, else: 2", a: a, b: b)
      end
    end

    test "in" do
      for x <- [1, 2, 5, 2.0, :a, 0] do
        assert_as_elixir("x in [1, :a, 2]", x: x)
        assert_as_elixir("x not in [1, :a, 2]", x: x)
        assert_as_elixir("x in 1..3", x: x)
        assert_as_elixir("x in 3..1//-1", x: x)
        assert_as_elixir("x in 1..9//2", x: x)
        assert_as_elixir("x in a..b", x: x, a: 1, b: 3)
        assert_as_elixir("x in a..b//1", x: x, a: 3, b: 1)
        assert_as_elixir("Enum.member?(l, x)", x: x, l: [1, 2])
        assert_as_elixir("if x in [1, 2], do: :yes, else: :no", x: x)
      end

      assert eval("1 in x", x: 3) == :undefined
      # What a list ends with is no collection of its own.
      for last <- [2, %{1 => 2}, 1..3, MapSet.new([1])],
          do: assert(eval("1 in x", x: [0 | last]) == :undefined)

      assert eval("1 in a..3", a: :a) == :undefined
      assert eval("(x + 1) in (1 + a)..3", x: 1, a: 0) == true
    end

    test "types" do
      for f <-
            ~w(is_integer is_float is_number is_atom is_boolean is_tuple is_list is_binary is_bitstring is_map
                  is_function is_reference is_pid is_nil),
          x <- [1, 1.0, true, nil, {}, [], "a", <<1::3>>, %{}, self(), make_ref(), 10_000_000_000_000_000_000] do
        assert_as_elixir("#{f}(x)", x: x)
      end

      assert eval("is_address(x)", x: self())
      assert eval("is_address(x)", x: Mote.Reference.customer(:c))
      refute eval("is_map(x)", x: Mote.Reference.customer(:c))
      refute eval("is_pid(x)", x: Mote.Reference.customer(:c))
      assert eval("on(:io, x) == on(:io, x) and is_address(on(:io, x))", x: self())
      assert eval("on(:io, 7)") == :undefined
    end

    test "random numbers are in range" do
      # Many draws in one expression: each of them is compiled anew.
      assert eval("Enum.all?(for _ <- l, do: (x = :rand.uniform()\nx >= 0.0 and x < 1.0))",
               l: Enum.to_list(1..100)
             )

      assert eval("Enum.all?(for _ <- l, do: :rand.uniform(3) in 1..3)", l: Enum.to_list(1..100))

      assert eval(":rand.uniform(x)", x: 0) == :undefined
    end
  end

  describe "lists and tuples" do
    test "that are improper are refused to their end, as Elixir does" do
      for call <- [
            "Enum.reverse_slice(x, 0, 0)",
            "Enum.reverse_slice(x, 1, 0)",
            "Enum.reverse_slice(x, 0, 1)"
          ] do
        assert {:raised, _} = eval(call, [x: [1 | 2]], :abort), call
      end
    end

    test "of pairs have values put in, and no others" do
      for {list, expected} <- [
            {[a: 1, b: 2], [a: 5, b: 2]},
            {[b: 2], [a: 5, b: 2]},
            {[{1, 2}, {:a, 3}], [{1, 2}, {:a, 5}]}
          ],
          call <- ["put_in(x[:a], 5)", "put_in(x, [:a], 5)", "update_in(x, [:a], fn _ -> 5 end)"],
          do: assert(eval(call, x: list) == expected)

      for list <- [[1, 2], [{1, 2}, 3], [{:b, 1} | 2]],
          call <- ["put_in(x[:a], 5)", "put_in(x, [:a], 5)"],
          do: assert({:raised, _} = eval(call, [x: list], :abort), call)
    end

    test "are read and updated as records" do
      head = "require Record\nRecord.defrecordp :pt, x: 0, y: 0\n"
      assert module(head <> "defpure f(x), do: pt(pt(x: x), y: 7)").f(3) == {:pt, 3, 7}
      assert eval(":erlang.setelement(2, x, 9)", x: {1, 2}) == {1, 9}
      # As Elixir fails, and so without an answer.
      assert eval(":erlang.setelement(0, x, 9)", x: {1, 2}) == :undefined
    end

    test "have Elixir's functions" do
      for e <-
            ["l ++ [4]", "[0] ++ l", "l -- [2, 2]", "hd(l)", "tl(l)", "length(l)", "Enum.reverse(l)"] ++
              ["List.to_tuple(l)", "Enum.count(l)", "[0 | l]", "{l, {hd(l)}}", "Kernel.length(l)"] do
        assert_as_elixir(e, l: [1, 2, 3, 2])
      end

      for e <- ["elem(t, 1)", "put_elem(t, 0, :z)", "tuple_size(t)", "Tuple.to_list(t)"] do
        assert_as_elixir(e, t: {:a, :b})
      end

      assert eval("[1] ++ x", x: 2) == [1 | 2]
      assert eval("byte_size(x)", x: "äb") == 3
    end
  end

  describe "what is undefined, in a module that goes on with it" do
    test "is in no order" do
      for operator <- ~w[< <= > >=], {a, b} <- [{:undefined, 1}, {1, :undefined}, {:undefined, :undefined}] do
        assert eval("a #{operator} b", a: a, b: b) == :undefined
        assert eval("not (a #{operator} b)", a: a, b: b) == :undefined
        assert eval("if a #{operator} b, do: :yes, else: :no", a: a, b: b) == :no
        assert eval("case a do x when x #{operator} b -> :yes; _ -> :no end", a: a, b: b) == :no
        assert eval("case a do x when not (x #{operator} b) -> :yes; _ -> :no end", a: a, b: b) == :no

        assert eval("case {a, b} do {x, y} when x == 1 or y == 1 or x #{operator} y -> :yes; _ -> :no end",
                 a: a,
                 b: b
               ) ==
                 if(a == b, do: :no, else: :yes)
      end

      assert eval("if x - 1 >= 0, do: :granted, else: :refused", x: :apples) == :refused
      assert eval("if 0 <= x - 1 and x - 1 < 9, do: :granted, else: :refused", x: :apples) == :refused
      assert eval("case x do y when y - 1 >= 0 -> :granted; _ -> :refused end", x: :apples) == :refused
      assert eval("x == :undefined and x != 1", x: :undefined) == true
    end

    test "does not hold as a condition" do
      for test <- ["x - 1", "hd(x)", "x - 1 && true", "true && x - 1", "x - 1 || false", "not (x - 1)"],
          do: assert(eval("if #{test}, do: :yes, else: :no", x: :a) == :no, test)

      assert eval("unless x - 1, do: :yes, else: :no", x: :a) == :yes
      assert eval("!(x - 1)", x: :a) == true
      assert eval("(x - 1) && abort(:no)", x: :a) == :undefined
      assert eval("(x - 1) || 7", x: :a) == 7
      assert eval("cond do x - 1 -> 1; x > 0 -> 2; true -> 3 end", x: :a) == 2
      assert eval("cond do x - 1 -> 1; x - 1 > 0 -> 2; true -> 3 end", x: :a) == 3
      assert eval("for y <- [1, :a, 3], y - 1, do: y") == [1, 3]
      # What Elixir's own functions are given is as true as any atom there.
      module = module("defpure f(xs), do: {Enum.filter(xs, &(&1 - 1 >= 0)), Enum.reject(xs, &(&1 - 2 >= 0))}")
      assert Mote.Interpret.call(module, :f, [[1, :a, 3]]) == {[1, 3], [1, :a]}
    end
  end

  describe "macros" do
    test "are expanded" do
      assert eval("x |> Kernel.+(1) |> max(5)", x: 7) == 8
      assert eval("match?({:a, _}, x)", x: {:a, 1}) == true
      assert eval("~w(a b)") == ["a", "b"]

      module =
        module("""
        defmacrop twice(e), do: quote(do: unquote(e) + unquote(e))
        defguardp is_small(n) when is_integer(n) and n < 10
        defpure f(n) when is_small(n), do: twice(n)
        defpure f(_), do: __MODULE__
        """)

      assert module.f(4) == 8
      assert module.f(40) == module
    end

    test "hygiene holds" do
      module =
        module("""
        defmacrop swap(a, b), do: quote(do: (x = unquote(a); y = unquote(b); {y, x}))
        defpure f(x), do: {swap(x, 2), x}
        """)

      assert module.f(1) == {{2, 1}, 1}
    end
  end

  describe "functions" do
    test "of Elixir's library by import" do
      module =
        module(
          "defpure f(list), do: list |> map(&(&1 * 2)) |> reduce(fn x, y -> x + y end)\ndefpure g(t), do: trim(t)",
          """
          import Enum, only: [map: 2, reduce: 2]
          import String, only: [trim: 1]
          """
        )

      assert {module.f([1, 2]), module.g(" a ")} == {6, "a"}
      assert Mote.Interpret.call(module, :f, [[1, 2]]) == 6
    end

    test "clauses, guards, recursion" do
      module =
        module("""
        defpure fact(0), do: 1
        defpure fact(n) when n > 0, do: n * fact(n - 1)
        defpure even(0), do: true
        defpure even(n), do: odd(n - 1)
        defpure odd(0), do: false
        defpure odd(n), do: even(n - 1)
        defpure none() do
          :none
        end
        defpure pick({a, [b | _]}, a), do: b
        defpure pick(_, 0.0), do: :zero
        """)

      for {f, args, value} <- [
            {:fact, [10], 3_628_800},
            {:even, [100_001], false},
            {:none, [], :none},
            {:pick, [{1, [2]}, 1], 2},
            {:pick, [{1, [2]}, 0.0], :zero}
          ] do
        assert apply(module, f, args) == value
        assert Mote.Interpret.call(module, f, args) == value
      end

      assert_raise FunctionClauseError, fn -> module.fact(-1) end
      assert Mote.Compile.reason(module, :fact, [-1]) == :function_clause
      assert Mote.Disassemble.breaches(module) == []
    end

    test "of the module's own are called from it alone" do
      module =
        module("""
        defpurep square(0), do: 0
        defpurep square(n) when n > 0, do: n * n
        defpure both(n), do: Enum.sum(for x <- 1..n, do: square(x))
        defactor of() do
          {customer, n} -> send customer, {square(n), both(n)}
        end
        """)

      assert module.both(3) == 14
      assert Mote.Interpret.call(module, :both, [3]) == 14
      refute function_exported?(module, :square, 1)

      for tier <- [:interp, :native] do
        machine = start_supervised!({Mote, tier: tier, id: make_ref()})
        assert Mote.ask!(Mote.create(machine, module.of()), 3) == {9, 14}
      end

      assert Mote.Compile.error("defpure f(x), do: #{inspect(module)}.square(x)") =~
               "undefined function #{inspect(module)}.square/1"

      assert Mote.Compile.error("defpure f(1), do: 1\ndefpurep f(2), do: 2") =~
               "f/1 is defined by both defpure and defpurep: use one"
    end

    test "a million tail calls take no stack" do
      module =
        module("""
        defpure count(0, acc), do: acc
        defpure count(n, acc) when n > 0 and acc >= 0 do
          m = n - 1
          cond do
            acc == 5 -> count(m, acc + 1)
            true -> if m, do: count(m, acc + 1)
          end
        end
        """)

      assert module.count(1_000_000, 0) == 1_000_000
    end

    test "depth is limited in a turn of a machine" do
      module =
        module("""
        defpure deep(0), do: 0
        defpure deep(n), do: 1 + deep(n - 1)
        defactor asked() do
          {customer, n} -> send customer, deep(n)
        end
        """)

      asked = Mote.create(start_supervised!(Mote), module.asked())
      assert Mote.ask!(asked, 99_999) == 99_999
      assert {:error, %Mote.Error{context: %{reason: :stack}}} = Mote.ask(asked, 100_000)

      # A function that Elixir calls is one of Elixir.
      assert module.deep(100_001) == 100_001
      assert Mote.Behaviour.turn(module.asked(), {:me, 100_001}).sends == [me: 100_001]
    end

    test "of other modules" do
      other = module("defpure double(x), do: 2 * x")
      module = module("defpure f(x), do: #{inspect(other)}.double(x) + 1\ndefpure g(x), do: __MODULE__.f(x)")
      assert module.f(4) == 9
      assert module.g(4) == 9
      assert Mote.Interpret.call(module, :g, [4]) == 9
      assert module.__mote__(:imports) == [other]
    end

    test "of missing modules" do
      # Elixir itself warns that the module does not exist (yet).
      source = "defpure f(x), do: Mote.Nowhere.g(x)\ndefactor asked() do\nx -> send x, f(x)\nend"
      {module, _} = with_io(:stderr, fn -> module(source) end)

      assert {:abort, {:raised, {^module, _, %UndefinedFunctionError{}}, {}}} =
               Mote.Behaviour.turn(module.asked(), self()).outcome

      assert_raise UndefinedFunctionError, ~r/Mote.Nowhere.g\/1/, fn -> module.f(1) end
    end

    test "imported ones" do
      other = module("defpure triple(x), do: 3 * x")
      module = module("defpure f(x), do: triple(x)", "import #{inspect(other)}")
      assert module.f(2) == 6
    end
  end
end
