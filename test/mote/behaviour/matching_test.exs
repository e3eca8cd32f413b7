defmodule Mote.Behaviour.MatchingTest do
  # Patterns, branches and guards: their value as plain Elixir and as IR (`eval` compares the two).
  use ExUnit.Case, async: true

  import Mote.Compile, only: [eval: 1, eval: 2, module: 2]

  describe "variables and matching" do
    test "rebinding and blocks" do
      assert eval("x = 1\nx = x + 1\ny = x * 10\n{x, y}") == {2, 20}
      assert eval("(x = a) + 1\nx", a: 5) == 5
      assert eval("x = a\ny = x\nx = 2\n{x, y}", a: 1) == {2, 1}
    end

    test "nothing leaks out of case, if, cond, fn and for" do
      assert eval("x = 1\nif true do x = 2; x end\nx") == 1
      assert eval("x = 1\ny = case 5 do x -> x end\n{x, y}") == {1, 5}
      assert eval("x = 1\ncond do x = 2 -> x end\nx") == 1
      assert eval("x = 1\ny = for x <- [7], do: x\n{x, y}") == {1, [7]}
      assert eval("x = 1\nEnum.map([1], fn _ -> x = 3; x end)\nx") == 1
    end

    test "what a condition binds stays" do
      assert eval("if x = a do x end\nx", a: 4) == 4
      assert eval("case (x = a) do _ -> :ok end\nx", a: 4) == 4
      assert eval("(x = a) && x\nx", a: 4) == 4
    end

    test "arguments do not see each other" do
      assert eval("{x = 2, x}", x: 1) == {2, 1}
      assert eval("y = {x = 2, x}\n{x, y}", x: 1) == {2, {2, 1}}
    end

    test "patterns" do
      assert eval("{a, [b | c]} = x\n{a, b, c}", x: {1, [2, 3]}) == {1, 2, [3]}
      assert eval("{a, a} = x\na", x: {1, 1}) == 1
      assert eval("{a, a} = x\na", x: {1, 1.0}) == {:aborted, {:badmatch, {1, 1.0}}}
      assert eval("{y, ^a} = x\ny", x: {1, 2}, a: 2) == 1
      assert eval("{y, ^a} = x\ny", x: {1, 3}, a: 2) == {:aborted, {:badmatch, {1, 3}}}
      assert eval("{a, b} = c = x\n{a, b, c}", x: {1, 2}) == {1, 2, {1, 2}}
      assert eval("{{a, _} = b, _} = x\n{a, b}", x: {{1, 2}, 3}) == {1, {1, 2}}
      assert eval("{1, :a, \"s\", 'ab', -1, -2.5} = x\n:ok", x: {1, :a, "s", ~c"ab", -1, -2.5}) == :ok
      assert eval("[a, b] ++ c = x\n{a, b, c}", x: [1, 2, 3]) == {1, 2, [3]}
      assert eval("[] = x", x: 1) == {:aborted, {:badmatch, 1}}
      assert eval("{} = x", x: {}) == {}
      assert eval("{a, b} = {x, 2}\na + b", x: 1) == 3
      assert eval("{a} = {x, 2}\na", x: 1) == {:aborted, {:badmatch, {1, 2}}}
      assert eval("[a | b] = [1, 2]\n{a, b}") == {1, [2]}
      assert eval("{:a, b} = {:a, x}", x: 1) == {:a, 1}
      assert eval("1 = 2") == {:aborted, {:badmatch, 2}}
      assert eval("z = ({q, _} = x)\n{z, q}", x: {1, 2}) == {{1, 2}, 1}
    end

    test "texts within binaries, at whole bytes and between" do
      for n <- 1..9 do
        text = binary_part("abcdefghi", 0, n)

        source = """
        case x do
          <<"#{text}", rest::binary>> -> {:first, rest}
          <<a::4, "#{text}", b::4>> -> {:between, a, b}
          <<k, s::binary-size(k), "#{text}">> -> {:last, s}
          _ -> :no
        end
        """

        assert eval(source, x: text <> "z") == {:first, "z"}
        assert eval(source, x: text) == {:first, ""}
        assert eval(source, x: <<1::4, text::binary, 2::4>>) == {:between, 1, 2}
        assert eval(source, x: <<2, "xy", text::binary>>) == {:last, "xy"}
        assert eval(source, x: <<2, "xy", text::binary, 0>>) == :no
        assert eval(source, x: binary_part(text, 0, n - 1) <> "z") == :no
        assert eval(source, x: binary_part(text, 0, n - 1)) == :no
        assert eval(source, x: n) == :no
      end
    end

    test "floats match by their bits, zeros as on the node" do
      {plus, minus} = {eval("0.0"), eval("-0.0")}
      one = plus === minus
      signs = "case x do +0.0 -> :plus; -0.0 -> :minus; _ -> :no end"
      assert eval(signs, x: minus) == if(one, do: :plus, else: :minus)
      assert eval(signs, x: plus) == :plus
      assert eval("case x do 1 -> :int; 1.0 -> :float end", x: 1.0) == :float
      same = if one, do: :same, else: :other
      assert eval("case {x, 0.0} do {a, a} -> :same; _ -> :other end", x: minus) == same
      assert eval("case x do ^y -> :same; _ -> :other end", x: plus, y: minus) == same
    end
  end

  describe "case, cond, if" do
    test "case with guards" do
      source = """
      case x do
        n when is_integer(n) and n > 10 -> {:big, n}
        n when n == 1 when n == 2 -> :small
        {a, b} when a + b == 3 -> :three
        {a, _} when hd(a) == 1 or true -> :head
        [] -> :empty
        [h | _] when h in [:a, :b] -> :ab
        <<>> -> :never
        other -> {:other, other}
      end
      """

      source = String.replace(source, "  <<>> -> :never\n", "")

      for {x, value} <- [
            {11, {:big, 11}},
            {2, :small},
            {1.0, :small},
            {{1, 2}, :three},
            {{[1], 2}, :head},
            {{[], 2}, {:other, {[], 2}}},
            {[], :empty},
            {[:b], :ab},
            {[:c], {:other, [:c]}}
          ] do
        assert eval(source, x: x) == value
      end
    end

    test "case without a matching clause" do
      assert eval("case x do 1 -> 2 end", x: 3) == {:aborted, {:case_clause, 3}}
      assert eval("case {x, 1} do {2, y} -> y end", x: 3) == {:aborted, {:case_clause, {3, 1}}}
      assert eval("case :lit do :lit -> 1; _ -> 2 end") == 1
      assert eval("case x do 1 -> 2; 2 -> 3 end", x: 3) == {:aborted, {:case_clause, 3}}
    end

    test "a case of a tuple builds none, and can still name it" do
      assert eval("case {x, y} do {1, _} = t -> t; {_, 2} -> :second; t -> {:t, t} end", x: 1, y: 2) == {1, 2}

      assert eval("case {x, y} do {1, _} = t -> t; {_, 2} -> :second; t -> {:t, t} end", x: 3, y: 2) ==
               :second

      assert eval("case {x, {y, 3}} do {a, {b, c}} -> a + b + c end", x: 1, y: 2) == 6
    end

    test "cond" do
      source = "cond do x == 1 -> :one; is_list(x) and x -> :list; x -> :truthy end"
      assert eval(source, x: 1) == :one
      assert eval(source, x: []) == :list
      assert eval(source, x: 5) == :truthy
      assert eval(source, x: nil) == {:aborted, :cond_clause}
      assert eval("cond do y = x -> y; true -> :no end", x: 7) == 7
    end

    test "if and unless" do
      assert eval("if x, do: 1", x: nil) == nil
      assert eval("if x, do: 1", x: 0) == 1
      assert eval("unless x do 1 else 2 end", x: nil) == 1
      assert eval("if x == 1 or x == 2 do :a else :b end", x: 2) == :a
      assert eval("if not (x == 1 and true) do :a else :b end", x: 1) == :b
      assert eval("if x do end", x: true) == nil
    end

    test "values meet after branches" do
      assert eval("y = if x > 1, do: x, else: 1\ny + 1", x: 5) == 6
      assert eval("y = case x do {a, _} -> a; b -> b end\n{y, y}", x: {1, 2}) == {1, 1}
      assert eval("{if(x, do: 1, else: 2), if(x, do: 3, else: 4)}", x: false) == {2, 4}
      assert eval("y = (x && 1) || 2\ny", x: nil) == 2
    end
  end

  describe "guards" do
    test "fail without an answer, but not on :undefined" do
      assert eval("case x do y when elem(y, 0) == :undefined -> :yes; _ -> :no end", x: {:undefined}) == :yes
      assert eval("case x do y when elem(y, 1) == :undefined -> :yes; _ -> :no end", x: {:undefined}) == :no
      assert eval("case x do y when y + 1 > 0 -> :yes; _ -> :no end", x: 4_611_686_018_427_387_903) == :yes
      assert eval("case x do y when not (hd(y) == 1) -> :yes; _ -> :no end", x: []) == :no
      assert eval("case x do y when hd(y) == 1 or true -> :yes; _ -> :no end", x: []) == :no
      assert eval("case x do y when true or hd(y) == 1 -> :yes; _ -> :no end", x: []) == :yes
      assert eval("case x do y when hd(y) == 1 when true -> :yes; _ -> :no end", x: []) == :yes
    end

    test "must be true" do
      assert eval("case x do y when y -> :yes; _ -> :no end", x: 1) == :no
      assert eval("case x do y when y -> :yes; _ -> :no end", x: true) == :yes
      assert eval("case x do y when y and true -> :yes; _ -> :no end", x: 1) == :no
      assert eval("case x do y when not y -> :yes; _ -> :no end", x: 1) == :no
      assert eval("case x do y when y or true -> :yes; _ -> :no end", x: 1) == :no
      assert eval("case x do y when not (y or false) -> :yes; _ -> :no end", x: 1) == :no
      assert eval("case x do y when (y and true) == false -> :yes; _ -> :no end", x: false) == :yes
      assert eval("case x do y when (y or true) == true -> :yes; _ -> :no end", x: 3) == :no
      assert eval("case x do y when {y, 1} == {2, 1} and [y | []] == [2] -> :yes; _ -> :no end", x: 2) == :yes
    end

    test "in" do
      assert eval("case x do y when y in 1..3 -> :yes; _ -> :no end", x: 3) == :yes
      assert eval("case x do y when y in 1..3 -> :yes; _ -> :no end", x: 3.0) == :no
      assert eval("case x do y when y in [1, 2.0] -> :yes; _ -> :no end", x: 2.0) == :yes
      assert eval("case x do y when y not in 1..z -> :yes; _ -> :no end", x: 3, z: 2) == :yes
      assert eval("case x do y when y in z..2 -> :yes; _ -> :no end", x: 3, z: :a) == :no
    end

    test "of macros" do
      prelude = "require Integer"
      module = module("defpure f(n) when Integer.is_odd(n), do: :odd\ndefpure f(_), do: :even", prelude)
      assert module.f(3) == :odd
      assert module.f(4) == :even
      assert module.f(:a) == :even
      assert Mote.Interpret.call(module, :f, [3]) == :odd
    end
  end
end
