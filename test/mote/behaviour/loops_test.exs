defmodule Mote.Behaviour.LoopsTest do
  # `for` and the loops of Enum: values against Elixir's own, scoping, effects inside, fuel.
  use ExUnit.Case, async: true

  import Mote.Compile, only: [eval: 1, eval: 2, module: 1, turn: 2]

  defp assert_as_elixir(expression, bindings \\ []) do
    {value, _} = Code.eval_string(expression, bindings)
    assert eval(expression, bindings) === value
  end

  describe "for" do
    test "over lists and ranges" do
      assert_as_elixir("for x <- l, do: x * 2", l: [1, 2, 3])
      assert_as_elixir("for x <- 1..4, do: x")
      assert_as_elixir("for x <- 9..2//-3, do: x")
      assert_as_elixir("for x <- 3..1//1, do: x")
      assert_as_elixir("for x <- a..b, do: x", a: 3, b: 1)
      assert_as_elixir("for x <- a..b, do: x", a: 1, b: 3)
      assert_as_elixir("for x <- a..b//2, do: x", a: 1, b: 6)
      assert_as_elixir("for x <- a..b//1, do: x", a: 5, b: 1)
      assert_as_elixir("for x <- a..b//s, do: x", a: 5, b: 1, s: -2)
      assert_as_elixir("for x <- a..b//s, do: x", a: 5, b: 1, s: 2)
      assert_as_elixir("for x <- (a + 1)..(b * 2), do: x", a: 5, b: 4)
      assert_as_elixir("for _ <- 1..3, do: :x")
    end

    test "with several generators and filters" do
      assert_as_elixir("for x <- l, y <- 1..x, x != y, z <- [x, y], rem(z, 2) == 1, do: {x, y, z}",
        l: [1, 2, 3]
      )

      assert_as_elixir("for x <- l, x, do: x", l: [1, nil, 2, false])
      assert_as_elixir("for x <- l, y = x + 1, y > 2, do: {x, y}", l: [1, 2, 3])
    end

    test "with patterns and guards in generators" do
      assert_as_elixir("for {:ok, x} <- l, do: x", l: [{:ok, 1}, :no, {:ok, 2}, {:error, 3}])
      assert_as_elixir("for x when is_integer(x) and x > 1 <- l, do: x", l: [1, :a, 2, 3])
      assert_as_elixir("for {x, x} <- l, do: x", l: [{1, 1}, {1, 2}])
      assert_as_elixir("for {^a, x} <- l, do: x", a: 1, l: [{1, 5}, {2, 6}])
      assert_as_elixir("for x when x > 2 <- 1..4, do: x")
      assert_as_elixir("for 2 <- 1..4, do: :two")
      assert_as_elixir("for {x, _} <- l, {y, ^x} <- l, do: {x, y}", l: [{1, 2}, {2, 1}])
    end

    test "with reduce" do
      assert_as_elixir("for x <- 1..5, reduce: 0 do acc -> acc + x end")
      assert_as_elixir("for x <- 1..3, y <- 1..x, y != 2, reduce: [] do acc -> [{x, y} | acc] end")
      assert_as_elixir("for x <- l, reduce: {0, 1} do {s, p} -> {s + x, p * x} end", l: [1, 2, 3])
      assert_as_elixir("for x <- l, reduce: 0 do n when n > 2 -> n; n -> n + x end", l: [1, 2, 3])

      assert eval("for x <- [1], reduce: 0 do :never -> x end") == {:aborted, {:case_clause, 0}}
    end

    test "sees the variables around it, in nested loops too" do
      assert_as_elixir("for x <- [1, 2], do: for(y <- [10, 20], do: x + y + a)", a: 100)
      assert_as_elixir("b = a * 2\nfor x <- [1, 2], do: (c = b + x; for(y <- [c], do: {x, y, a}))", a: 100)
      assert_as_elixir("for x <- for(y <- [1, 2], do: y + a), do: x", a: 1)
      assert_as_elixir("case {a, 2} do {x, y} -> for z <- [1], do: x + y + z end", a: 1)
    end

    test "the variable of a loop hides one around it" do
      assert_as_elixir("for a <- [1, 2], a <- [a, a * 10], do: a", a: 5)
    end

    test "over neither list nor range is undefined" do
      assert eval("for x <- a, do: x", a: 7) == :undefined
      assert eval("for x <- a, do: x", a: [1 | 2]) == :undefined
      assert eval("for x <- a..3, do: x", a: :b) == :undefined
      assert eval("for x <- a..3, do: x", a: 1.5) == :undefined
      assert eval("for x <- a..3//b, do: x", a: 1, b: 0) == :undefined
      assert eval("for x <- [1], y <- a, do: {x, y}", a: 7) == :undefined
      assert eval("for x <- [1], reduce: 0 do acc -> acc + a end", a: :b) == :undefined
    end

    test "up to the ends of the integers" do
      assert_as_elixir("for x <- 4611686018427387902..4611686018427387903, do: x")
      assert_as_elixir("for x <- a..b, do: x", a: 4_611_686_018_427_387_902, b: 4_611_686_018_427_387_903)
    end

    test "beyond what is one word in a machine" do
      a = 4_611_686_018_427_387_902
      assert_as_elixir("for x <- a..b, do: x", a: a, b: a + 3)
      assert_as_elixir("for x <- b..a//-2, do: x", a: -a - 4, b: -a)
      assert_as_elixir("for x <- 4611686018427387902..4611686018427387906, do: x")
      assert_as_elixir("Enum.map(r, &(&1 + 1))", r: (2 ** 70)..(2 ** 70 + 2))
      assert_as_elixir("{x in r, 5 in r}", x: 2 ** 70 + 1, r: (2 ** 70)..(2 ** 70 + 2))
    end
  end

  describe "Enum" do
    test "map, filter, each, sum, reduce" do
      l = [1, 2, 3, 4]
      assert_as_elixir("Enum.map(l, fn x -> x * 2 end)", l: l)
      assert_as_elixir("Enum.map(1..3, fn x -> x * 2 end)")
      assert_as_elixir("Enum.filter(l, fn x -> rem(x, 2) == 0 end)", l: l)
      assert_as_elixir("Enum.each(l, fn x -> x end)", l: l)
      assert_as_elixir("Enum.sum(l)", l: l)
      assert_as_elixir("Enum.sum(1..10)")
      assert_as_elixir("Enum.reduce(l, 0, fn x, acc -> x + acc end)", l: l)
      assert_as_elixir("Enum.reduce(l, {0, 1}, fn x, {s, p} -> {s + x, p * x} end)", l: l)
      assert_as_elixir("l |> Enum.map(&(&1 + 1)) |> Enum.sum()", l: l)
    end

    test "reduce that hands on a tuple" do
      l = [3, 1, 4, 1, 5]
      assert_as_elixir("Enum.reduce(1..n, {0, 1}, fn _, {a, b} -> {b, a + b} end)", n: 30)
      assert_as_elixir("Enum.reduce(l, {0, 0}, fn _, {a, b} -> {b, a} end)", l: l)
      assert_as_elixir("Enum.reduce(l, {n, []}, fn x, {_a, b} = t -> {x, [t | b]} end)", l: l, n: 7)
      assert_as_elixir("Enum.reduce(l, {n}, fn x, {a} -> {{a, x}} end)", l: l, n: 7)
      assert_as_elixir("Enum.reduce([], {n, 1}, fn _, {a, b} -> {b, a} end)", n: 7)
      assert_as_elixir("Enum.reduce(l, {0, 1}, fn x, acc -> {elem(acc, 1), x + tuple_size(acc)} end)", l: l)
      assert_as_elixir("Enum.reduce(l, {0, 1}, fn _, a -> case a do ^a when is_tuple(a) -> a end end)", l: l)
      assert_as_elixir("Enum.reduce(l, {0, 1}, fn x, {a, b} when a < x -> {x, b}; _, acc -> acc end)", l: l)
      assert_as_elixir("Enum.reduce(l, {0, {1, 2}}, fn x, {a, {b, c}} -> {b, {c, a + x}} end)", l: l)
      assert_as_elixir("for x <- l, x > 1, reduce: {0, 1} do {a, b} -> (c = a + x; {b, c}) end", l: l)
      assert_as_elixir("for x <- l, y <- l, reduce: {0, 1} do {a, b} -> {b, a + x * y} end", l: l)

      assert_as_elixir("for {:a, x} <- m, reduce: {0, 1} do {a, b} -> {b, a + x} end",
        m: [{:a, 1}, 2, {:a, 3}]
      )

      assert_as_elixir(
        "Enum.reduce(l, {0, 1}, fn x, {a, b} -> cond do x == 3 -> {a, x}; x == 4 -> {1, 2}; true -> {b, a} end end)",
        l: l
      )

      # The loop inside sees the tuple of the one around it.
      assert_as_elixir(
        "Enum.reduce(l, {0, 1}, fn x, t -> {Enum.sum(for _ <- [1, 2], do: elem(t, 0)), x} end)",
        l: l
      )

      assert eval("Enum.reduce(l, {0, 1}, fn x, {a, 1} -> {x, a} end)", l: [5, 6]) ==
               {:aborted, :function_clause}

      assert eval("for x <- l, reduce: {0, 1} do {a, 1} -> {x, a} end", l: [5, 6]) ==
               {:aborted, {:case_clause, {5, 0}}}

      assert eval("Enum.reduce(x, {0, 1}, fn _, {a, b} -> {b, a} end)", x: :no_list) == :undefined
    end

    test "functions with several clauses and guards" do
      assert_as_elixir("Enum.map(l, fn {:a, x} -> x; x when is_integer(x) -> -x; _ -> :no end)",
        l: [{:a, 1}, 2, :b]
      )

      assert_as_elixir("Enum.reduce(l, 0, fn x, acc when x > acc -> x; _, acc -> acc end)", l: [1, 5, 3])
      assert eval("Enum.map([1], fn :a -> 1 end)") == {:aborted, :function_clause}
      assert eval("Enum.map(l, fn _ -> :x end)", l: [1, 2]) == [:x, :x]
    end

    test "captures" do
      module =
        module("""
        defpure double(x), do: 2 * x
        defpure all(l), do: Enum.map(l, &double/1)
        defpure total(l), do: Enum.reduce(l, 0, &+/2)
        defpure most(l), do: Enum.reduce(l, 0, &max/2)
        defpure remote(l), do: Enum.map(l, &__MODULE__.double/1)
        defpure pairs(l), do: Enum.reduce(l, [], &[{&1, double(&1)} | &2])
        """)

      assert module.all([1, 2]) == [2, 4]
      assert module.total([1, 2]) == 3
      assert module.most([1, 7, 2]) == 7
      assert module.remote([4]) == [8]
      assert module.pairs([1, 2]) == [{2, 4}, {1, 2}]
    end

    test "of what is no list" do
      for e <-
            ["Enum.map(x, &(&1))", "Enum.sum(x)", "Enum.each(x, fn y -> y end)", "Enum.filter(x, &(&1))"] ++
              ["Enum.reduce(x, 0, fn _, a -> a end)"],
          x <- [:a, {1}, [1 | 2]] do
        assert eval(e, x: x) == :undefined
      end
    end
  end

  describe "effects in loops" do
    setup do
      module =
        module("""
        defactor looper(c) do
          {:all, l} -> for x <- l, do: send(c, {x, self()})
          {:tree, n} ->
            actors = for i <- 1..n, do: create(looper(i))
            for {a, i} <- [{hd(actors), 1}], x <- 1..2, do: send(a, {i, x, length(actors)})
          {:become, l} -> Enum.each(l, fn x -> become(looper(x)) end)
          {:stop, l} -> for x <- l, do: (send(c, x); if(x == 3, do: abort(x)))
          {:improper, l} -> send(c, Enum.map(l, fn x -> send(c, x) end))
        end
        defactor safe(c) do
          l -> for x <- l, do: send(c, x)
        end
        """)

      %{module: module}
    end

    test "happen in order", %{module: module} do
      me = %Mote.Reference.Address{id: 0}
      turn = turn(module.looper(self()), {:all, [1, 2]})
      assert turn.sends == [{self(), {1, me}}, {self(), {2, me}}]

      turn = turn(module.looper(self()), {:tree, 2})
      assert [{one, _}, {_two, _}] = turn.creates
      assert turn.sends == [{one, {1, 1, 2}}, {one, {1, 2, 2}}]
    end

    test "last become wins, an abort leaves nothing", %{module: module} do
      assert turn(module.looper(1), {:become, [5, 6, 7]}).become == module.looper(7)
      turn = turn(module.looper(self()), {:stop, [1, 2, 3, 4]})
      assert %{outcome: {:abort, {:abort, 3}}, effects: [], become: nil} = turn
    end

    test "the steps before an improper tail stay", %{module: module} do
      turn = Mote.Interpret.turn(module.looper(self()), {:improper, [1 | 2]})
      assert turn.sends == [{self(), 1}, {self(), :undefined}]
    end

    test "make a behaviour unsafe only when they become", %{module: module} do
      assert module.__mote__(:safe) == [safe: 1]
      assert Mote.Disassemble.breaches(module) == []
    end
  end

  describe "a long range" do
    # Each would be out of fuel if it were listed.
    @ending_early [
      "Enum.find(RANGE, &(&1 > 50))",
      "Enum.find(RANGE, :none, &(&1 > 5))",
      "Enum.find_index(RANGE, &(&1 > 5))",
      "Enum.find_value(RANGE, &(&1 > 5 && {:ok, &1}))",
      "{Enum.any?(RANGE), Enum.any?(RANGE, &(&1 > 5)), Enum.all?(RANGE, &(&1 < 5))}",
      "Enum.reduce_while(RANGE, 0, &if(&1 > 100, do: {:halt, &2}, else: {:cont, &1 + &2}))",
      "Enum.take_while(RANGE, &(&1 < 70))",
      "Enum.chunk_while(RANGE, 0, &if(&1 > 9, do: {:halt, &2}, else: {:cont, &1, &2 + 1}), &{:cont, &1, 0})",
      "Enum.flat_map_reduce(RANGE, 0, &if(&2 > 9, do: {:halt, &2}, else: {[&1, &2], &2 + 1}))",
      "Enum.count_until(RANGE, &(&1 > 5), 3)",
      "{Enum.take(RANGE, 3), Enum.take(RANGE, -3), Enum.at(RANGE, 7), Enum.fetch(RANGE, -1), Enum.empty?(RANGE)}",
      "{Enum.count(RANGE), Enum.sum(RANGE), Enum.member?(RANGE, 7), 7 in RANGE, Enum.slice(RANGE, 7..9)}",
      "{Enum.zip(RANGE, [1, 2]), Enum.zip_with(RANGE, [1, 2], &(&1 - &2)), Enum.zip_with([1], RANGE, &(&1 - &2))}",
      "RANGE |> Enum.find(&(&1 > 5)) |> Kernel.in(RANGE)"
    ]

    test "is walked no further than it must be, in place or not" do
      for expression <- @ending_early,
          range <- ["r", "1..1_000_000_000_000", "(f - 1)..(f * 1_000_000_000_000)//3"] do
        expression = String.replace(expression, "RANGE", "(#{range})")
        {value, _} = Code.eval_string(expression, r: 1..1_000_000_000_000, f: 1)

        module =
          module("defactor a() do\n{c, r, f} ->\n_ = {r, f}\nvalue = #{expression}\nsend c, value\nend")

        turn = turn(module.a(), {self(), 1..1_000_000_000_000, 1})
        assert {expression, turn.outcome, turn.sends} == {expression, :commit, [{self(), value}]}
      end
    end
  end

  test "a loop of a million steps" do
    module = module("defpure sum(n), do: for(x <- 1..n, reduce: 0, do: (acc -> acc + x))")
    assert module.sum(1_000_000) == 500_000_500_000
  end
end
