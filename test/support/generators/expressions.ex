defmodule Mote.Generators.Expressions do
  @moduledoc """
  Random expressions of the language, as source text.

  Everything asks for a `scope` (names of `values`, of `addresses`, and how many `functions` may be called) and a
  `path`, which makes the names that it binds unlike all others. What is inside is generated only once it is known
  what it is inside of: the alternatives are chosen first, by name.
  """

  import StreamData

  alias Mote.Generators.{Containers, Literals, Patterns}

  @leaves [:literal, :value]
  @branches [:arithmetic, :integers, :unary, :compare, :strict, :lazy, :negate, :tuple, :list, :cons] ++
              [:take, :lists, :elem, :if, :case, :cond, :block, :match, :type, :in, :round, :address] ++
              [:for, :reduce, :pair, :enum, :call, :recurse, :deep, :minmax, :math] ++
              [
                :closure,
                :closure,
                :map,
                :map,
                :map_change,
                :map_read,
                :map_loop,
                :bin,
                :bin,
                :bin_read,
                :vector
              ]

  @doc "An expression of at most this depth."
  def expr(scope, depth, path)
  def expr(scope, 0, path), do: bind(member_of(@leaves), &build(&1, scope, 0, path))

  def expr(scope, depth, path) do
    bind(frequency([{2, member_of(@leaves)}, {5, member_of(@branches)}]), &build(&1, scope, depth - 1, path))
  end

  defp build(:literal, _, _, _), do: Literals.literal()
  defp build(:value, scope, _, _), do: member_of(scope.values)

  defp build(kind, s, d, p) when kind in [:map, :map_change, :map_read, :map_loop, :bin, :bin_read, :vector],
    do: Containers.build(kind, s, d, p)

  defp build(:arithmetic, s, d, p), do: infix(~w(+ - * /), s, d, p)
  defp build(:compare, s, d, p), do: infix(~w(== != === !== < <= > >=), s, d, p)
  defp build(:strict, s, d, p), do: infix(~w(and or), s, d, p)
  defp build(:lazy, s, d, p), do: infix(~w(&& ||), s, d, p)
  defp build(:lists, s, d, p), do: infix(~w(++ --), s, d, p)

  defp build(:integers, s, d, p) do
    functions =
      ~w(div rem Bitwise.band Bitwise.bor Bitwise.bxor) ++
        ~w(Mote.Integer.add64 Mote.Integer.sub64 Mote.Integer.mul64)

    # Elixir's integers may be larger than a machine's, and take all memory.
    shifted = map(expr(s, d, p <> "1"), &"rem(#{&1}, 1_000)")

    one_of([
      call(functions, [expr(s, d, p <> "0"), expr(s, d, p <> "1")]),
      call(~w(Bitwise.bsl Bitwise.bsr), [expr(s, d, p <> "0"), shifted])
    ])
  end

  defp build(:minmax, s, d, p), do: call(~w(max min), [expr(s, d, p <> "0"), expr(s, d, p <> "1")])
  # Without `+`, which makes 0.0 of -0.0 on the BEAM.
  defp build(:unary, s, d, p), do: call(~w(- abs Bitwise.bnot), [expr(s, d, p)])

  defp build(:math, s, d, p) do
    one = ~w(exp log log2 log10 sin cos tan asin acos atan sinh cosh tanh erf erfc)
    two = ~w(pow atan2 fmod)

    one_of([
      call(Enum.map(one, &":math.#{&1}"), [expr(s, d, p)]),
      call(Enum.map(two, &":math.#{&1}"), [expr(s, d, p <> "0"), expr(s, d, p <> "1")])
    ])
  end

  defp build(:round, s, d, p), do: call(~w(round trunc floor ceil :math.sqrt), [expr(s, d, p)])
  defp build(:negate, s, d, p), do: call(~w(not !), [expr(s, d, p)])

  defp build(:take, s, d, p) do
    functions =
      ~w(hd tl length tuple_size byte_size Tuple.to_list List.to_tuple Enum.reverse Enum.sum :lists.sort)

    call(functions, [expr(s, d, p)])
  end

  defp build(:type, s, d, p) do
    functions =
      ~w(is_integer is_float is_number is_atom is_boolean is_tuple is_list is_binary is_nil is_address) ++
        ~w(is_bitstring is_function is_reference is_pid)

    call(functions, [expr(s, d, p)])
  end

  defp build(:address, %{addresses: [_ | _]} = s, _, _) do
    addresses = member_of(s.addresses)
    tests = ["is_address(A)", "is_map(A)", "is_tuple(A)", "A == B", "A === B", "A != B", "is_pid(A)"]

    map(tuple({member_of(tests), addresses, addresses}), fn {test, a, b} ->
      "(#{test |> String.replace("A", a) |> String.replace("B", b)})"
    end)
  end

  defp build(:address, s, _, _), do: member_of(s.values)

  defp build(:tuple, s, d, p), do: map(several(s, d, p), &"{#{&1}}")
  defp build(:list, s, d, p), do: map(several(s, d, p), &"[#{&1}]")

  defp build(:cons, s, d, p),
    do: map(tuple({expr(s, d, p <> "0"), expr(s, d, p <> "1")}), fn {a, b} -> "[#{a} | #{b}]" end)

  defp build(:elem, s, d, p) do
    map(
      tuple({member_of([:elem, :put]), expr(s, d, p <> "0"), expr(s, d, p <> "1"), expr(s, d, p <> "2")}),
      fn
        {:elem, a, b, _} -> "elem(#{a}, #{b})"
        {:put, a, b, c} -> "put_elem(#{a}, #{b}, #{c})"
      end
    )
  end

  defp build(:in, s, d, p) do
    sources = one_of([constant("[1, :a, 2.5]"), constant("1..3"), constant("3..-1"), expr(s, d, p <> "1")])
    map(tuple({expr(s, d, p <> "0"), sources}), fn {value, source} -> "(#{value} in #{source})" end)
  end

  defp build(:if, s, d, p) do
    map(
      tuple({member_of(~w(if unless)), expr(s, d, p <> "0"), expr(s, d, p <> "1"), expr(s, d, p <> "2")}),
      fn {word, test, yes, no} -> "#{word}(#{test}, do: #{yes}, else: #{no})" end
    )
  end

  defp build(:case, s, d, p) do
    map(
      tuple({expr(s, d, p <> "0"), list_of(clause(s, d, p), max_length: 2), expr(s, d, p <> "1"), boolean()}),
      fn {subject, clauses, last, total} ->
        # Without a last clause the case may abort, which is rather rare.
        last = if total or clauses == [], do: ["_ -> #{last}"], else: ["y#{p} -> {y#{p}, #{last}}"]
        "case #{subject} do\n#{Enum.join(clauses ++ last, "\n")}\nend"
      end
    )
    |> map(&"(#{&1})")
  end

  defp build(:cond, s, d, p) do
    map(
      tuple({expr(s, d, p <> "0"), expr(s, d, p <> "1"), expr(s, d, p <> "2"), expr(s, d, p <> "3")}),
      fn {test, value, other, last} ->
        "(cond do\n#{test} -> #{value}\n#{other} && 1 -> 2\ntrue -> #{last}\nend)"
      end
    )
  end

  defp build(:block, s, d, p) do
    inner = %{s | values: ["b#{p}" | s.values]}

    map(tuple({expr(s, d, p <> "0"), expr(inner, d, p <> "1")}), fn {value, body} ->
      "(b#{p} = #{value}\n#{body})"
    end)
  end

  defp build(:match, s, d, p) do
    bind(Patterns.pattern(s, 1, p <> "m"), fn {pattern, variables} ->
      inner = %{s | values: variables ++ s.values}

      map(tuple({expr(s, d, p <> "0"), expr(inner, d, p <> "1")}), fn {value, body} ->
        # Mostly the value has the shape that is asked for.
        "(case {#{value}} do\n{#{pattern}} -> #{body}\n_ -> :no_match\nend)"
      end)
    end)
  end

  defp build(:for, s, d, p) do
    {x, y} = {"x#{p}", "z#{p}"}
    inner = %{s | values: [x, y | s.values]}

    map(
      tuple(
        {source(s, p <> "0"), source(%{s | values: [x | s.values]}, p <> "1"), expr(inner, d, p <> "2"),
         expr(inner, d, p <> "3")}
      ),
      # A filter that is a list would be taken for options.
      fn {one, two, filter, body} ->
        filter = if String.starts_with?(filter, "["), do: "(case #{filter} do #{x} -> #{x} end)", else: filter
        "for(#{x} <- #{one}, #{y} <- #{two}, #{filter}, do: #{body})"
      end
    )
  end

  defp build(:reduce, s, d, p) do
    {x, acc} = {"x#{p}", "acc#{p}"}
    inner = %{s | values: [x, acc | s.values]}

    map(
      tuple({boolean(), source(s, p <> "0"), expr(s, d, p <> "1"), expr(inner, d, p <> "2")}),
      fn
        {true, source, initial, body} ->
          "Enum.reduce(#{source}, #{initial}, fn #{x}, #{acc} -> #{body} end)"

        {false, source, initial, body} ->
          "for(#{x} <- #{source}, reduce: #{initial}, do: (#{acc} -> #{body}))"
      end
    )
  end

  # An accumulator that is a tuple in every step, mostly.
  defp build(:pair, s, d, p) do
    {x, a, b} = {"x#{p}", "a#{p}", "b#{p}"}
    inner = %{s | values: [x, a, b | s.values]}

    map(
      tuple({source(s, p <> "0"), expr(s, d, p <> "1"), expr(inner, d, p <> "2"), integer(0..4)}),
      fn {source, initial, e, kind} ->
        step =
          case kind do
            0 -> "{#{a}, #{e}}"
            1 -> "if(#{e}, do: {#{b}, #{a}}, else: {#{x}, #{b}})"
            2 -> "(cond do #{e} -> t#{p}; true -> {#{b}, #{x}} end)"
            3 -> "(case #{e} do {_, _} = y#{p} -> {#{b}, y#{p}}; _ -> {elem(t#{p}, 1), {#{a}}} end)"
            4 -> e
          end

        "Enum.reduce(#{source}, {#{initial}, 1}, fn #{x}, {#{a}, #{b}} = t#{p} -> #{step} end)"
      end
    )
  end

  defp build(:enum, s, d, p) do
    inner = %{s | values: ["x#{p}" | s.values]}

    map(
      tuple({member_of(~w(map filter each)), source(s, p <> "0"), expr(inner, d, p <> "1")}),
      fn {name, source, body} -> "Enum.#{name}(#{source}, fn x#{p} -> #{body} end)" end
    )
  end

  # Functions that are values: in variables and tuples, given to functions, made by others. What is seen of a program has none in it,
  # since Elixir does not get them as they are.
  defp build(:closure, s, d, p) do
    {f, x, y} = {"fun#{p}", "x#{p}", "y#{p}"}

    # It has no effects, of which self() is one.
    one = %{s | values: [x | s.values], addresses: []}
    bodies = {expr(one, d, p <> "0"), expr(%{one | values: [y | one.values]}, d, p <> "1")}

    map(tuple({bodies, expr(s, d, p <> "2"), source(s, p <> "3"), integer(0..6)}), fn
      {{one, two}, value, source, kind} ->
        made = "#{f} = fn #{x} -> #{one} end"

        case kind do
          0 ->
            "(#{made}; {#{f}.(#{value}), is_function(#{f}), is_function(#{f}, 1), is_function(#{f}, 2)})"

          1 ->
            "(#{made}; Enum.map(#{source}, #{f}))"

          2 ->
            "({#{f}, z#{p}} = {fn #{x}, #{y} -> #{two} end, #{value}}; #{f}.(1, z#{p}))"

          3 ->
            "(#{made}; Enum.map([#{f}, &{&1}], fn g#{p} -> g#{p}.(#{value}) end))"

          4 ->
            "(fn #{x} -> fn #{y} -> #{two} end end).(#{value}).(2)"

          5 ->
            "(#{made}; Map.get(%{a: #{f}, b: 1}, :a).(#{value}))"

          6 ->
            "(#{f} = fn #{f}, #{x}, #{y} -> if(#{x} == 0, do: #{y}, else: #{f}.(#{f}, #{x} - 1, {#{y}})) end; " <>
              "{#{f}.(#{f}, 2, #{value}), is_function(#{value}, 1)})"
        end
    end)
  end

  defp build(:call, %{functions: 0} = s, d, p), do: build(:arithmetic, s, d, p)

  defp build(:call, s, d, p) do
    map(
      tuple({integer(0..(s.functions - 1)), expr(s, d, p <> "0"), expr(s, d, p <> "1")}),
      fn {i, x, y} -> "f#{i}(#{x}, #{y})" end
    )
  end

  defp build(:recurse, %{functions: 0} = s, d, p), do: build(:compare, s, d, p)

  defp build(:recurse, s, d, p) do
    map(
      tuple({integer(0..(s.functions - 1)), integer(0..4), expr(s, d, p)}),
      fn {i, n, x} -> "r#{i}(#{n}, #{x})" end
    )
  end

  # Calls that wait for each other, seldom more than there may be.
  defp build(:deep, %{functions: 0} = s, d, p), do: build(:minmax, s, d, p)

  defp build(:deep, s, d, p) do
    depths = frequency([{30, integer(0..9)}, {4, integer(100..400)}, {2, member_of([99_990, 100_001])}])

    map(tuple({integer(0..(s.functions - 1)), depths, expr(s, d, p)}), fn {i, n, x} ->
      "d#{i}(#{n}, #{x})"
    end)
  end

  @doc "What a loop may run over: mostly a short list or range."
  def source(scope, path) do
    one_of([
      constant("[1, :a, 2.5]"),
      constant("[1, 2]"),
      constant("1..3"),
      constant("2..0"),
      constant("0..5//2"),
      map(member_of(scope.values), &"1..rem(#{&1}, 4)"),
      map(member_of(scope.values), &"[#{&1}]"),
      expr(scope, 1, path)
    ])
  end

  # Lists that grow in every step of a loop make programs slow; tuples stay what they are.
  defp several(s, d, p) do
    bind(integer(0..3), fn
      0 ->
        constant("")

      n ->
        1..n |> Enum.map(&expr(s, d, p <> "#{&1}")) |> fixed_list() |> map(fn es -> Enum.join(es, ", ") end)
    end)
  end

  defp infix(operators, s, d, p) do
    map(tuple({expr(s, d, p <> "0"), member_of(operators), expr(s, d, p <> "1")}), fn {a, op, b} ->
      "(#{a} #{op} #{b})"
    end)
  end

  defp call(functions, args) do
    map(tuple({member_of(functions), fixed_list(args)}), fn {function, args} ->
      "#{function}(#{Enum.join(args, ", ")})" |> parenthesised(function)
    end)
  end

  # `-(x)` is an operator: it must not run into what stands before it.
  defp parenthesised(text, function) when function in ~w(- + not !), do: "(#{text})"
  defp parenthesised(text, _), do: text

  defp clause(s, d, p) do
    bind(Patterns.pattern(s, 2, p <> "c"), fn {pattern, variables} ->
      inner = %{s | values: variables ++ s.values}

      map(tuple({Patterns.guard(inner, 2), expr(inner, d, p <> "d")}), fn {guard, body} ->
        "#{pattern} when #{guard} -> #{body}"
      end)
    end)
  end
end
