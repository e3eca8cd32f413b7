defmodule Mote.Behaviour.WarningsTest do
  # What compiles and is most likely a mistake is told of at its line, as in plain Elixir. Nothing else is.
  use ExUnit.Case, async: true
  use ExUnitProperties

  # Elixir of then finds more by its types, and asks for pins in sizes.
  @newest? Version.match?(System.version(), ">= 1.20.0")

  import ExUnit.CaptureIO, only: [with_io: 2]
  import Mote.Compile, only: [warnings: 1, warnings: 2]

  # In Elixir's own words.
  defp unused(line, name),
    do:
      "#{line}: variable \"#{name}\" is unused (if the variable is not meant to be used, prefix it with an underscore)"

  defp never(line, first, function \\ ""),
    do:
      "#{line}: this clause#{function} cannot match because a previous clause at line #{first} always matches"

  describe "what the code of behaviours uses" do
    test "macros of the module: also those that only functions of its own use" do
      body = """
      defguardp digit(c) when c in ?0..?9
      defguardp letter(c) when c in ?a..?z
      defguardp other(c) when c == ?-
      defpurep kind(c) when digit(c), do: :digit
      defpurep kind(_), do: :none
      defeffect tell(c, to) when letter(c), do: send(to, kind(c))
      defactor a(to) do
        c -> tell(c, to)
      end
      """

      assert warnings(body) == ["4: macro other/1 is unused"]
    end

    test "imports: also of what is a primitive" do
      body = "defpurep low(x), do: x &&& 255\ndefpure f(x), do: low(x)"
      assert warnings(body, "import Bitwise") == []
      assert warnings("defpure f(x), do: x", "import Bitwise") == ["1: unused import Bitwise"]
    end

    test "functions of the module's own, where they are, by the names that they have" do
      assert warnings("""
             defpurep ping(x), do: pong(x - 1)
             defpurep pong(x, y \\\\ 2), do: ping(x - y)
             defeffect tell(x), do: send(x, 1)
             defpurep sum(x, y \\\\ 2), do: x + y
             @spec shown(integer) :: integer
             defpurep shown(x), do: sum(x, 3)
             @spec unseen(integer) :: integer
             defpurep unseen(x), do: x
             defactor a(to) do
               x -> send to, shown(x)
             end
             """)
             |> in_order() == [
               "2: function ping/1 is unused",
               "3: function pong/2 is unused",
               "5: default values for the optional arguments in #{if @newest?, do: "the private function "}sum/2 are never used",
               "4: function tell/1 is unused",
               "9: function unseen/1 is unused"
             ]
    end
  end

  test "a variable that hides a capture: what changes that is a become" do
    hint = "to change the capture, write `become n: …`; if it is meant as it is, call it _n"

    assert warnings("""
           defactor counter(n) do
             :inc -> n = n + 1
             {customer, :get} -> send customer, n
             n -> :ok
             :dec -> m = n - 1
           end
           """)
           |> Enum.map(&String.replace(&1, ~r/there is a variable.*/, "…")) == [
             "3: variable \"n\" is unused: #{hint}",
             "5: variable \"n\" is unused (…",
             unused(6, "m"),
             never(6, 5)
           ]

    # Where any Elixir may be called, Elixir tells.
    assert [told] = warnings("defactor counter(n), beam: true do\n:inc -> n = n + 1\nend")
    assert told =~ "3: variable \"n\" is unused (there is"
  end

  test "a become that gives a behaviour a list of its captures and their names" do
    assert warnings("""
           defactor a(count) do
             :one -> become a(count: count + 1)
             :zero -> become a(count: 0)
             :other -> become b(count: count)
             :fine -> become a(other: count)
             :list -> become a([count])
             :named -> become count: [count: 1]
             _ -> become b(1, count: 1)
           end
           defactor b(count, log \\\\ []) do
             _ -> become b(log: log, count: count)
           end
           """) == [
             "3: become a(count: …) makes a keyword list the capture of a: write become count: …, or bind the list to a variable " <>
               "first if that is meant",
             "4: become a(count: …) makes a keyword list the capture of a: write become count: …, or bind the list to a variable " <>
               "first if that is meant",
             "5: become b(count: …) makes a keyword list the capture of b: write the values without the names, become b(…), or " <>
               "bind the list to a variable first if that is meant",
             "12: become b(log: …, count: …) makes a keyword list the capture of b: write become log: …, count: …, or bind the " <>
               "list to a variable first if that is meant"
           ]
  end

  describe "variables that nobody reads" do
    test "of patterns, with their line" do
      assert warnings("""
             defactor a(b) do
               {custmer, :typo} -> send b, 1
               {customer, :right} -> send customer, b
               [x | _] when x > 1 ->
                 {y, z} = {x, 1}
                 send b, z
               %{key: v} -> case v do w -> send b, 2 end
               <<n, rest::binary-size(n)>> -> send b, 3
             end
             """) == [unused(3, "custmer"), unused(6, "y"), unused(8, "w"), unused(9, "rest")]
    end

    test "captures and arguments" do
      assert warnings("defactor a(b,\n c) do\n_ -> send b, 1\nend") == [unused(3, "c")]

      assert warnings("defpure f(x, y), do: x\n\ndefpure f(x, {y, z}), do: x + y")
             |> Enum.member?(unused(2, "y"))

      assert warnings("defpure f([x | y]), do: x") == [unused(2, "y")]
    end

    # The compiler's own way to write that `x` is read.
    test "though a literal looks as if it did" do
      assert warnings("defpure f(x), do: {:var, 1, {:x, 1}}") == [unused(2, "x")]
    end

    test "that are bound once more" do
      assert ["5: variable \"x\" is unused (there is a variable with the same name" <> _] =
               warnings("defpure f(x) do\nx = x + 1\ny = x\nx = y\ny\nend")
    end

    test "of loops and functions" do
      assert warnings("""
             defpure f(x) do
               a = for y <- x, do: 1
               b = for y <- x, reduce: 0 do acc -> y end
               c = Enum.map(x, fn y -> 1 end)
               d = Enum.reduce(x, 0, fn y, acc -> acc end)
               e = for <<y <- x>>, z = y, do: y
               {a, b, c, d, e}
             end
             """) == [unused(3, "y"), unused(4, "acc"), unused(5, "y"), unused(6, "y"), unused(7, "z")]
    end

    test "but none that somebody reads, wherever" do
      assert warnings("""
             defactor a(b, c, d, e, f, g) do
               {_unused, x, x} -> send b, 1
               y when y > c -> send b, 2
               ^d -> send b, 3
               <<_::size(#{if @newest?, do: "^"}e)>> -> send b, 4
               [n] -> for i <- 1..n, i > f, do: send(b, i)
               {m} -> if m, do: become(a(b, c, d, e, f, g))
             end
             defpure h(x) do
               y = 1
               z = Enum.map(x, &(&1 + y))
               %{z: z} |> Map.update(:z, 0, fn old -> old end)
             end
             """) == []
    end

    test "and none of macros" do
      assert warnings(
               "defpure f(x), do: twice(x)",
               "require #{inspect(__MODULE__.Macros)}; import #{inspect(__MODULE__.Macros)}"
             ) == []
    end
  end

  describe "clauses that can never match" do
    test "are those behind one that matches everything" do
      assert warnings("""
             defactor a(b) do
               :one -> send b, 1
               _ -> send b, 2
               :two -> send b, 3
               _ -> send b, 4
             end
             """) == [never(5, 4), never(6, 4)]

      assert warnings("defpure f(x) do\ncase x do\ny -> y\n1 -> 2\nend\nend") == [never(5, 4)]
      assert warnings("defpure f(x) do\ncase x do\n_ = y -> y\n1 -> 2\nend\nend") == [never(5, 4)]
      assert warnings("defpure f(_), do: 1\ndefpure f(1), do: 2") == [never(3, 2, " for f/1")]
      assert warnings("defpure f(_, _), do: 1\ndefpure f(1, 2), do: 2") == [never(3, 2, " for f/2")]
      assert warnings("defpure f(), do: 1\ndefpure f(), do: 2") == [never(3, 2, " for f/0")]

      assert warnings("defpure f(x) do\nEnum.map(x, fn\ny -> y\n1 -> 2\nend)\nend") == [never(5, 4)]

      assert warnings("defpure f(x) do\nEnum.reduce(x, 0, fn\ny, z -> y + z\n1, 2 -> 2\nend)\nend") ==
               [never(5, 4)]

      assert warnings("defpure f(x) do\nfor y <- x, reduce: 0 do\nz -> y + z\n1 -> 2\nend\nend") == [
               never(5, 4)
             ]
    end

    test "are those behind one that matches all that they do" do
      for {first, second} <- [
            {"{_hops, c}", "{:link, c}"},
            {"{customer, _n}", "{:part, customer}"},
            {"{:link, c}", "{:link, {1, c}}"},
            {"[c | _]", "[c, 1]"},
            {"[_, c]", "[1, c]"},
            {"%{a: c}", "%{a: c, b: _}"},
            {"%{}", "%{a: c}"},
            {"{1, c}", "{1, 2} = c"},
            {"{_, _} = c", "{c, 2}"},
            {"{^b, c}", "{^b, [c]}"},
            {"\"x\"", "\"x\""},
            {"<<1, 2>>", "<<1, 2>>"}
          ] do
        source =
          "defactor a(b) do\n#{first} -> send b, #{used(first)}\n#{second} -> send b, #{used(second)}\nend"

        found = Enum.filter(warnings(source), &(&1 =~ "never match"))

        assert found == ["4: this clause can never match: the one at line 3 matches all that it does"],
               "#{first}, then #{second}"

        # The other way round there is something left for the second, unless they are the same.
        other =
          "defactor a(b) do\n#{second} -> send b, #{used(second)}\n#{first} -> send b, #{used(first)}\nend"

        assert Enum.filter(warnings(other), &(&1 =~ "never match")) ==
                 if(first == second, do: found, else: [])
      end
    end

    defp used(pattern), do: if(pattern =~ ~r/\bc\b/, do: "c", else: "1")

    # Patterns of two small alphabets: what is told to be covered is, for every value that there is of them.
    property "are told of only when there is no value for them" do
      check all(first <- pattern(2), second <- pattern(2), max_runs: Mote.Long.runs(40)) do
        source = "defactor a(b) do\n#{first} -> send b, 1\n#{second} -> send b, 2\nend"

        if Enum.any?(warnings(source), &(&1 =~ "never match")) do
          clauses = "case x do\n#{first} -> 1\n#{second} -> 2\n_ -> 3\nend"
          {fun, []} = with_io(:stderr, fn -> Code.eval_string("fn x -> #{clauses} end") end) |> elem(0)
          for value <- values(2), do: assert(fun.(value) != 2, "#{source} of #{inspect(value)}")
        end
      end
    end

    defp pattern(0), do: StreamData.member_of(["_", "_v", "1", ":a", "[]", "%{}", "{}"])

    defp pattern(depth) do
      inner = pattern(depth - 1)

      one_of([
        pattern(0),
        map({inner, inner}, fn {a, b} -> "{#{a}, #{b}}" end),
        map({inner, inner}, fn {a, b} -> "[#{a} | #{b}]" end),
        map(inner, &"[#{&1}]"),
        map(inner, &"%{a: #{&1}}"),
        map({inner, inner}, fn {a, b} -> "%{a: #{a}, b: #{b}}" end),
        # A variable of its own: none stands for what it is a part of, which Elixir 1.20 refuses.
        map({inner, pattern(0)}, fn {a, b} -> "#{a} = #{String.replace(b, "_v", "_w#{depth}")}" end)
      ])
    end

    defp values(0), do: [1, 2, :a, [], %{}, {}]

    defp values(depth) do
      inner = values(depth - 1)
      pairs = for a <- inner, b <- values(0), do: {a, b}

      values(0) ++
        for(
          {a, b} <- pairs,
          value <- [{a, b}, {b, a}, [a | b], [a, b], [b], %{a: a, b: b}, %{a: a}],
          do: value
        )
    end

    test "and no others" do
      assert warnings("""
             defactor a(b) do
               x when x == b -> send b, 1
               {_, _} -> send b, 2
               ^b -> send b, 3
               _ -> send b, 4
             end
             defpure f(x, x), do: x
             defpure f({_, _}, _), do: 1
             defpure f(x, y) when x > y, do: 1
             defpure f(_, y), do: Enum.reduce(y, 0, fn x, x -> x; x, acc -> x + acc end)
             defpure i({x, x}, _), do: x
             defpure i({_, 1}, 2), do: 1
             defpure j(%{a: _}), do: 1
             defpure j(%{b: _}), do: 1
             defpure k({_, _} = x) when elem(x, 0) > 1, do: 1
             defpure k({1, _}), do: 1
             defpure l(<<n, _::binary-size(n)>>), do: 1
             defpure l(<<1, _::binary-size(1)>>), do: 1
             defpure g(x), do: match?(_, x)
             defpure h(x) do
               cond do
                 x -> 1
                 true -> 2
               end
             end
             """) == []
    end

    test "not those that a macro has written" do
      assert warnings("defpure f(x), do: all(x)", "import #{inspect(__MODULE__.Macros)}") == []
    end
  end

  describe "functions of other modules" do
    test "that there are not are called what they are called in the source" do
      assert warnings("""
             defactor a(b) do
               1 -> send b, Mote.NoModule.f(b)
               2 -> for x <- b, do: send(b, Enum.map(x, &Mote.NoModule.g(&1, 1)))
             end
             defpure f(x), do: Mote.NoModule.h(x)
             """) == [
               "3: Mote.NoModule.f/1 is undefined: Mote.NoModule is not loaded or does not say use Mote.Behaviour",
               "4: Mote.NoModule.g/2 is undefined: Mote.NoModule is not loaded or does not say use Mote.Behaviour",
               "6: Mote.NoModule.h/1 is undefined: Mote.NoModule is not loaded or does not say use Mote.Behaviour"
             ]
    end

    test "that are defined later are known, but no others" do
      later = """
      defpure f(x), do: Mote.Compiled.Later.f(x) + Mote.Compiled.Later.f(x, 1) + Mote.Compiled.LaterStill.f(x)
      end
      defmodule Mote.Compiled.Later do
      use Mote.Behaviour, errors: :undefined
      defpure f(x), do: x
      end
      defmodule Mote.Compiled.LaterStill do
      def f(x), do: x
      """

      assert Enum.sort(warnings(later)) == [
               "2: Mote.Compiled.Later.f/2 is undefined: Mote.Compiled.Later has no defpure of this name with this many arguments",
               "2: Mote.Compiled.LaterStill.f/1 is undefined: Mote.Compiled.LaterStill is not loaded or does not say use Mote.Behaviour"
             ]
    end
  end

  # Later releases of Elixir say the column, and tell of functions from the last one on.
  @later? Version.match?(System.version(), ">= 1.16.0")
  defp column(n), do: if(@later?, do: ":#{n}", else: "")
  defp in_order(warnings), do: if(@later?, do: Enum.reverse(warnings), else: warnings)

  defp written(source, file),
    do: ExUnit.CaptureIO.capture_io(:stderr, fn -> Code.compile_string(source, file) end)

  test "a warning names the file, the line and the definition" do
    output =
      written("defmodule Mote.Compiled.Odd do\nuse Mote.Behaviour\ndefpure f(odd), do: 1\nend", "odd.ex")

    assert output =~ "variable \"odd\" is unused"
    assert output =~ "odd.ex:3#{column(11)}: Mote.Compiled.Odd.f/1"
  end

  test "a warning about a clause of a directory names the directory" do
    directory = "defdirectory keys(n) do\nkey -> cell(n)\nend\ndefactor cell(n) do\n{c, :n} -> send c, n\nend"
    output = written("defmodule Mote.Compiled.Keys do\nuse Mote.Behaviour\n#{directory}\nend", "keys.ex")
    assert output =~ "variable \"key\" is unused"
    assert output =~ "keys.ex:4#{column(1)}: Mote.Compiled.Keys.\"keys start\"/2"
  end

  describe "values that go nowhere" do
    test "the last one of a clause, with what to write instead" do
      assert warnings("""
             defactor a(n, map) do
               {:reply, x} -> {:noreply, n + x}
               {:sum, x} -> n + x
               :reset -> 0
               {:library, x} -> Map.put(map, x, n)
               {:template, x} -> Enum.find(x, & &1)
               {:bound, x} ->
                 y = n + x
                 y
               {:branches, x} ->
                 cond do
                   x > n -> %{map | n: x}
                   true -> send(n, [x | if(x, do: map)])
                 end
               {:answer, customer} -> {:reply, send(customer, n), n}
               {:all, x} -> for y <- x, do: y + 1
             end
             """) == [
               "3: " <> reply(),
               "4: " <> value(),
               "5: " <> value(),
               "6: " <> value(),
               "7: " <> value(),
               "10: " <> value(),
               "13: " <> value(),
               "16: " <> reply(),
               "17: " <> value()
             ]
    end

    test "not where there is an effect, or where nothing is to be done" do
      assert warnings("""
             defpure check(x), do: if(x > 1, do: x, else: abort(:small))
             defeffect tell(to, x), do: send(to, x)
             defactor a(to, n) do
               {:ok, _} -> :ok
               {:nil, _} -> nil
               {:list, _} -> []
               {:checked, x} -> check(x)
               {:branch, x} -> if x > 1, do: send(to, n), else: 0
               {:said, x} -> _ = n + x
               {:effect, x} -> {tell(to, x), n}
               {:map, x} -> Enum.map(x, &send(&1, n))
               {:reduce, x} -> Enum.reduce(x, 0, fn y, sum -> send(y, n); sum + 1 end)
               {:and, x} -> x > n and send(to, x)
               {:tap, x} -> tap(x, &send(to, &1))
               {:then, x} -> then(x + 1, &send(to, &1))
               {:with, x} -> with({:ok, y} <- x, do: send(to, y))
               {:case, x} ->
                 case x do
                   0 -> become n: n + 1
                   other -> other
                 end
               {:create, x} -> create a(x, n)
               {:stash, _} -> stash()
               {:abort, x} -> abort({:not_now, x})
               {:pinned, ^n} -> become(a(to, n + 1))
             end
             """) == []
    end

    defp reply,
      do:
        "a clause of a behaviour returns nothing, so that this tuple goes nowhere: the next state is what" <>
          become()

    defp value,
      do: "the value of this clause goes nowhere, as nobody looks at it: the next state is what" <> become()

    defp become,
      do:
        " the actor becomes, become a(…), and an answer is sent, send customer, value. If nothing is to be done, write :ok"
  end

  test "clauses that something else stands between" do
    f = fn n -> "defpure f(#{n}), do: #{n}\n" end

    for other <- ["defpure g(x), do: x\n", "defactor a() do _ -> :ok end\n", "defpure f(x, y), do: {x, y}\n"],
        do: assert(["4: clauses with the same name" <> _] = warnings(f.(1) <> other <> f.(2) <> f.(3)))

    both = "defpure(f(unquote(n)), do: unquote(n))\ndefpure(g(unquote(n)), do: 1)\n"
    assert warnings("for n <- 1..3 do\n#{both}end") == []
    assert warnings(f.(1) <> f.(2)) == []
    assert warnings("defpure g(x, y \\\\ 2), do: x + y\n" <> f.(1)) == []
  end

  test "defaults of the first of several clauses" do
    assert warnings("defpure f(x, y \\\\ 1)\ndefpure f(1, y), do: y\ndefpure f(x, y), do: x + y") == []

    told =
      ExUnit.CaptureIO.capture_io(:stderr, fn ->
        Mote.Compile.module("defpure f(x, y \\\\ 1) when x > 1, do: y\ndefpure f(1, y), do: y")
      end)

    assert told =~ "def f/2 has multiple clauses and also declares default values"
  end

  # Elixir 1.14 takes no columns, neither into the code that it compiles here nor in warnings.
  if Version.match?(System.version(), ">= 1.16.0") do
    test "what is stashed by a behaviour that never becomes another one" do
      gate = fn opened ->
        "defactor gate(open) do\n{_, :enter} when not open -> stash()\n:open -> #{opened}\nend\n"
      end

      assert ["3: what gate stashes is never taken up again" <> _] = warnings(gate.("become open: true"))
      assert ["3: what gate stashes is never taken up again" <> _] = warnings(gate.("become gate(true)"))
      open = "defactor open() do\n{c, :enter} -> send c, :entered\nend\n"
      assert warnings(gate.("become open()") <> open) == []
      assert warnings(gate.("become sink()")) == []
      assert warnings(gate.("unlock()") <> open <> "defeffect unlock(), do: become(open())") == []
    end

    test "a private function that only plain Elixir calls is used" do
      assert warnings(
               "defpurep half(n), do: div(n, 2)\ndefactor a(c), beam: true do\nn -> send c, half(n)\nend"
             ) == []
    end

    test "a warning names the column, where there is one" do
      source = """
      defmodule Mote.Compiled.Columns do
        use Mote.Behaviour
        defactor a(b, c) do
          {:one, x} -> send c, b
          _ -> b = 1; become(c: b)
          :two -> Mote.NoModule.f(b)
        end
        defpure f(_), do: Enum.map([], fn _ -> 1; 2 -> 3 end)
        defpure f(1), do: 2
        defpurep g(x), do: x
      end
      """

      quoted = Code.string_to_quoted!(source, file: "columns.ex", columns: true)

      # What is found when all is compiled is written out, too.
      {{_, diagnostics}, _} =
        with_io(:stderr, fn -> Code.with_diagnostics(fn -> Code.compile_quoted(quoted, "columns.ex") end) end)

      first = &(&1.message |> String.split() |> hd())
      by_types? = &(@newest? and first.(&1) == "the")

      assert diagnostics |> Enum.reject(by_types?) |> Enum.map(&{&1.position, first.(&1)}) |> Enum.sort() == [
               {{4, 12}, "variable"},
               {{5, 17}, "this"},
               {{6, 10}, "this"},
               {{6, 27}, "Mote.NoModule.f/1"},
               {{8, 47}, "this"},
               {{9, 11}, "this"},
               {{10, 12}, if(@later?, do: "function", else: "defpurep")}
             ]
    end
  end

  defmodule Macros do
    defmacro twice(x) do
      quote do
        once = unquote(x)
        other = once
        once + once
      end
    end

    defmacro all(x) do
      quote generated: true do
        case unquote(x) do
          _ -> 1
          2 -> 3
        end
      end
    end
  end
end
