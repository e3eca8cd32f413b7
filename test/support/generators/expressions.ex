defmodule Mote.Generators.Expressions do
  @moduledoc """
  Random expressions, patterns, guards and terms of the language, as source text.

  Everything asks for a `scope` (names of `values`, of `addresses`, and how many `functions` may be called) and a
  `path`, which makes the names that it binds unlike all others. What is inside is generated only once it is known
  what it is inside of: the alternatives are chosen first, by name.
  """

  import StreamData

  @integers [0, 1, -1, 2, 3, 7, 10, 62, 64, 1_000_000] ++
              [4_611_686_018_427_387_903, -4_611_686_018_427_387_904, 4_611_686_018_427_387_904] ++
              [1_152_921_504_606_846_976, 123_456_789_012_345_678_901_234_567_890, 3_037_000_500] ++
              [-4_611_686_018_427_387_905, 9_223_372_036_854_775_808, 18_446_744_073_709_551_615] ++
              [-340_282_366_920_938_463_463_374_607_431_768_211_457]

  # The second line: 2^-256, 2^-255 and 2^256, where the machine's floats cease to be words, with neighbours, and 2^61.
  @floats [0.0, 1.0, 2.5, -1.5, 1.0e308, 5.0e-324, 4.611686018427388e18, 0.1] ++
            [8.636168555094445e-78, 1.7272337110188893e-77, 1.7272337110188890e-77, 1.1579208923731620e77] ++
            [1.1579208923731618e77, -1.1579208923731620e77, 2.305843009213694e18]
  @atoms [:a, :b, :undefined, nil, true, false]
  @others ["", "text", "\0\x01\x02abcdefghij", [], {}, %{}, %{a: 1}, %{1 => :a, "text" => 2.5}]

  @doc "A literal."
  def literal do
    map(
      frequency([
        {4, member_of(@integers)},
        {2, member_of(@floats)},
        {3, member_of(@atoms)},
        {2, member_of(@others)}
      ]),
      fn
        float when is_float(float) -> Float.to_string(float)
        other -> inspect(other)
      end
    )
    |> then(
      &frequency([{12, &1}, {1, constant("-0.0")}, {1, constant("[1, 2, 3]")}, {1, constant("{1, :a}")}])
    )
  end

  @doc "A term, for messages."
  def term do
    leaf =
      one_of([
        member_of(@integers),
        member_of(@floats),
        member_of(@atoms),
        member_of(@others),
        integer(-3..3)
      ])

    leaf
    |> tree(fn inner ->
      one_of([
        list_of(inner, max_length: 3),
        map(tuple({inner}), & &1),
        tuple({inner, inner}),
        tuple({inner, inner, inner}),
        map(tuple({inner, inner}), fn {a, b} -> [a | b] end),
        map(list_of(tuple({inner, inner}), max_length: 3), &Map.new/1)
      ])
    end)
  end

  @leaves [:literal, :value]
  @branches [:arithmetic, :integers, :unary, :compare, :strict, :lazy, :negate, :tuple, :list, :cons] ++
              [:take, :lists, :elem, :if, :case, :cond, :block, :match, :type, :in, :round, :address] ++
              [:for, :reduce, :pair, :enum, :call, :recurse, :deep, :minmax, :math] ++
              [:map, :map, :map_change, :map_read, :map_loop, :bin, :bin, :bin_read, :vector]

  @doc "An expression of at most this depth."
  def expr(scope, depth, path)
  def expr(scope, 0, path), do: bind(member_of(@leaves), &build(&1, scope, 0, path))

  def expr(scope, depth, path) do
    bind(frequency([{2, member_of(@leaves)}, {5, member_of(@branches)}]), &build(&1, scope, depth - 1, path))
  end

  defp build(:literal, _, _, _), do: literal()
  defp build(:value, scope, _, _), do: member_of(scope.values)

  defp build(:map, s, d, p) do
    bind(integer(0..3), fn n ->
      1..n//1
      |> Enum.map(fn i -> tuple({key(s, d, p <> "k#{i}"), expr(s, d, p <> "#{i}")}) end)
      |> fixed_list()
      |> map(fn pairs -> "%{#{Enum.map_join(pairs, ", ", fn {key, value} -> "#{key} => #{value}" end)}}" end)
    end)
  end

  defp build(:map_change, s, d, p) do
    texts = [
      "Map.put(M, K, V)",
      "Map.put_new(M, K, V)",
      "%{M | K => V}",
      "Map.delete(M, K)",
      "Map.merge(M, V)",
      "Map.merge(V, M)",
      "Map.update(M, K, V, fn o -> {o} end)",
      "Map.update!(M, K, fn _ -> V end)",
      "Map.new(V)",
      "Map.new(V, fn x -> {x, K} end)"
    ]

    map(
      tuple({member_of(texts), map_expr(s, d, p <> "0"), key(s, d, p <> "1"), expr(s, d, p <> "2")}),
      &fill/1
    )
  end

  defp build(:map_read, s, d, p) do
    texts = [
      "Map.get(M, K)",
      "Map.get(M, K, V)",
      "Map.fetch(M, K)",
      "Map.fetch!(M, K)",
      "Map.has_key?(M, K)",
      "is_map_key(M, K)",
      "map_size(M)",
      "is_map(M)",
      "Map.keys(M)",
      "Map.values(M)",
      "Enum.to_list(M)",
      "Map.to_list(M)",
      "Enum.to_list(MapSet.new(M))",
      "(K in MapSet.put(MapSet.new(M), V))",
      "Enum.to_list(%{M | __struct__: V})",
      "Enum.map([1..3, rem(V, 9)..K//2], &Enum.to_list/1)",
      "(case {V, rem(V, 5)..K//-1} do {o, r} -> {o in r, r, Range.size(r)} end)",
      "Enum.count(M)",
      "Enum.reverse(M)",
      "({K, V} in M)",
      "(M === V)",
      "(M < V)",
      "max(M, V)",
      "(case M do o -> o.a end)",
      "(case M do\n%{K => o} -> o\n%{} -> :map\n_ -> V\nend)"
    ]

    map(
      tuple({member_of(texts), map_expr(s, d, p <> "0"), map_key(), expr(s, d, p <> "2")}),
      &fill/1
    )
  end

  defp build(:map_loop, s, d, p) do
    {k, v} = {"x#{p}", "z#{p}"}
    inner = %{s | values: [k, v | s.values]}

    map(tuple({member_of(~w(for reduce)), map_expr(s, d, p <> "0"), expr(inner, d, p <> "1")}), fn
      {"for", source, body} -> "(for {#{k}, #{v}} <- #{source}, do: #{body})"
      {"reduce", source, body} -> "Enum.reduce(#{source}, [], fn {#{k}, #{v}}, acc -> [#{body} | acc] end)"
    end)
  end

  defp build(:bin, s, d, p) do
    bind(integer(0..4), fn n ->
      1..n//1
      |> Enum.map(fn i -> tuple({operand(s, d, p <> "#{i}"), segment()}) end)
      |> fixed_list()
      |> map(fn segments -> "<<#{Enum.map_join(segments, ", ", fn {e, type} -> "(#{e})::#{type}" end)}>>" end)
    end)
  end

  defp build(:vector, s, d, p) do
    texts = [
      "Mote.Vector.to_list(Mote.Vector.OP(M, V))",
      "Mote.Vector.to_list(Mote.Vector.OP(M, M))",
      "Mote.Vector.to_list(Mote.Vector.mul(Mote.Vector.concat(M, M), 0.1))",
      "Mote.Vector.dot(M, Mote.Vector.mul(M, 0.1))",
      "Mote.Vector.squared_distance(M, Mote.Vector.sort(M))",
      "Mote.Vector.slice(M, 1, 2)",
      "Mote.Vector.get(M, K)",
      "Mote.Vector.REDUCE(M)",
      "Mote.Vector.REDUCE(V)",
      "Mote.Vector.new(:f64, V)",
      "Mote.Vector.from_binary(:i64, V)",
      "Mote.Vector.from_binary({:u, 8}, to_string(V))"
    ]

    operations = member_of(~w(add sub mul div min max))
    reductions = member_of(~w(sum min max argmin argmax sort size to_list to_binary))

    map(
      tuple({member_of(texts), operations, reductions, vector_expr(s), map_key(), expr(s, d, p <> "2")}),
      fn {text, operation, reduction, m, k, v} ->
        text = text |> String.replace("OP", operation) |> String.replace("REDUCE", reduction)
        fill({text, m, k, v})
      end
    )
  end

  defp build(:bin_read, s, d, p) do
    texts = [
      "(M <> V)",
      "(\"x\#{V}y\#{M}\")",
      "byte_size(M)",
      "bit_size(M)",
      "binary_part(M, 1, 2)",
      "binary_part(M, K, V)",
      "binary_part(M, byte_size(M), -2)",
      ":binary.at(M, K)",
      "to_string(V)",
      "String.to_float(to_string(V))",
      "is_binary(M)",
      "(M < V)",
      "(case V do k -> (case M do\n<<x::size(k), _::binary>> -> x\n<<_, b::binary-size(k), _::binary>> -> b\n_ -> :none\nend) end)",
      "(case M do\n<<a::3, b::13-signed, c::little-16, r::binary>> -> [a, b, c, r]\n<<x, r::binary>> -> {x, r}\n_ -> 0\nend)",
      "(case M do\n<<f::float, r::binary>> -> {f, r}\n<<n::signed-64, _::binary>> -> n\n<<f::float-32-little>> -> f\n_ -> K\nend)",
      "(case M do\n<<c::utf8, r::binary>> -> {c, r}\n<<n, s::binary-size(n), _::binary>> -> s\n_ -> :no\nend)",
      "(case M do\n<<a::4, s::binary-size(1), b::4, r::binary>> -> {a, s, b, r}\n\"te\" <> r -> r\n_ -> :no\nend)",
      "(for <<x, y::4-signed, _::4 <- M>>, do: {x, y})",
      "(for <<n::4, s::binary-size(n), x::4 <- M>>, do: [x, s])",
      "(for <<c::utf8, 0::1, n::7 <- M>>, reduce: K do acc -> {c, n, acc} end)",
      "(case V do k -> (for <<x::binary-size(k), 1::1, f::7 <- M>>, f > 3, do: {x, f}) end)"
    ]

    map(tuple({member_of(texts), bin_expr(s, d, p <> "0"), map_key(), expr(s, d, p <> "2")}), &fill/1)
  end

  defp build(:arithmetic, s, d, p), do: infix(~w(+ - * /), s, d, p)
  defp build(:compare, s, d, p), do: infix(~w(== != === !== < <= > >=), s, d, p)
  defp build(:strict, s, d, p), do: infix(~w(and or), s, d, p)
  defp build(:lazy, s, d, p), do: infix(~w(&& ||), s, d, p)
  defp build(:lists, s, d, p), do: infix(~w(++ --), s, d, p)

  defp build(:integers, s, d, p) do
    functions =
      ~w(div rem Bitwise.band Bitwise.bor Bitwise.bxor Bitwise.bsl Bitwise.bsr) ++
        ~w(Mote.Integer.add64 Mote.Integer.sub64 Mote.Integer.mul64)

    call(functions, [expr(s, d, p <> "0"), expr(s, d, p <> "1")])
  end

  defp build(:minmax, s, d, p), do: call(~w(max min), [expr(s, d, p <> "0"), expr(s, d, p <> "1")])
  defp build(:unary, s, d, p), do: call(~w(- + abs Bitwise.bnot), [expr(s, d, p)])

  defp build(:math, s, d, p) do
    one = ~w(exp log log2 log10 sin cos tan asin acos atan sinh cosh tanh erf erfc)
    two = ~w(pow atan2)

    one_of([
      call(Enum.map(one, &":math.#{&1}"), [expr(s, d, p)]),
      call(Enum.map(two, &":math.#{&1}"), [expr(s, d, p <> "0"), expr(s, d, p <> "1")])
    ])
  end

  defp build(:round, s, d, p), do: call(~w(round trunc floor ceil :math.sqrt), [expr(s, d, p)])
  defp build(:negate, s, d, p), do: call(~w(not !), [expr(s, d, p)])

  defp build(:take, s, d, p) do
    functions = ~w(hd tl length tuple_size byte_size Tuple.to_list List.to_tuple Enum.reverse Enum.sum)
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
    bind(pattern(s, 1, p <> "m"), fn {pattern, variables} ->
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
      fn {one, two, filter, body} -> "for(#{x} <- #{one}, #{y} <- #{two}, #{filter}, do: #{body})" end
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

  defp vector_expr(s) do
    numbers = one_of([integer(-3..9), member_of(@integers), member_of(@floats), member_of(s.values)])

    map(tuple({member_of(~w(:f64 :f64 :i64 :odd)), list_of(numbers, max_length: 12)}), fn {type, list} ->
      "Mote.Vector.new(#{type}, [#{Enum.map_join(list, ", ", &to_string/1)}])"
    end)
  end

  # Mostly a binary.
  defp bin_expr(s, d, p), do: frequency([{3, build(:bin, s, d, p)}, {1, literal()}, {1, expr(s, d, p)}])

  # What a segment is made of: a literal may not have a type of another kind.
  defp operand(s, _, _),
    do: frequency([{2, map(integer(-3..300), &Integer.to_string/1)}, {1, member_of(s.values)}])

  defp segment do
    member_of(
      ~w[8 8 16 little-24 signed-32 64 signed-little-64 little-size(1)-unit(40) float float-32 float-little] ++
        ~w[utf8 integer unit(8)-size(2) binary]
    )
  end

  # Mostly a map, and mostly one of the keys that are in it.
  defp map_expr(s, d, p), do: frequency([{3, build(:map, s, d, p)}, {1, expr(s, d, p)}])
  defp map_key, do: member_of(~w(:a :b 1 2 1.0 "text" [] {1} %{1=>:a}))
  defp key(s, d, p), do: frequency([{4, map_key()}, {1, expr(s, d, p)}])

  defp fill({text, m, k, v}) do
    text |> String.split(~r/\b[MKV]\b/, include_captures: true) |> Enum.map_join(&part(&1, m, k, v))
  end

  defp part("M", m, _, _), do: "(#{m})"
  defp part("K", _, k, _), do: k
  defp part("V", _, _, v), do: "(#{v})"
  defp part(text, _, _, _), do: text

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
    bind(pattern(s, 2, p <> "c"), fn {pattern, variables} ->
      inner = %{s | values: variables ++ s.values}

      map(tuple({guard(inner, 2), expr(inner, d, p <> "d")}), fn {guard, body} ->
        "#{pattern} when #{guard} -> #{body}"
      end)
    end)
  end

  # -- patterns ------------------------------------------------------------------------------------------------

  @doc "A pattern as `{text, variables}`."
  def pattern(scope, depth, path) do
    kinds =
      [:bind, :any, :literal, :pin] ++
        if(depth > 0, do: [:tuple, :list, :cons, :alias, :twice, :map, :bin], else: [])

    bind(member_of(kinds), &pattern(&1, scope, depth - 1, path))
  end

  defp pattern(:bind, _, _, p), do: constant({"u#{p}", ["u#{p}"]})
  defp pattern(:any, _, _, _), do: constant({"_", []})
  defp pattern(:literal, _, _, _), do: map(literal(), &{&1, []})
  defp pattern(:pin, %{values: ["s" | _]}, _, _), do: constant({"^s", []})
  defp pattern(:pin, _, _, _), do: constant({"1", []})
  defp pattern(:twice, _, _, p), do: constant({"{u#{p}, u#{p}}", ["u#{p}"]})

  defp pattern(:tuple, s, d, p) do
    map(tuple({pattern(s, d, p <> "0"), pattern(s, d, p <> "1")}), fn {{a, va}, {b, vb}} ->
      {"{#{a}, #{b}}", va ++ vb}
    end)
  end

  defp pattern(:list, s, d, p) do
    map(tuple({pattern(s, d, p <> "0"), pattern(s, d, p <> "1")}), fn {{a, va}, {b, vb}} ->
      {"[#{a}, #{b}]", va ++ vb}
    end)
  end

  defp pattern(:cons, s, d, p) do
    map(tuple({pattern(s, d, p <> "0"), pattern(s, d, p <> "1")}), fn {{a, va}, {b, vb}} ->
      {"[#{a} | #{b}]", va ++ vb}
    end)
  end

  defp pattern(:bin, _, _, p) do
    texts = [
      "<<uP, tP::binary>>",
      "<<uP::16, tP::binary-size(uP), _::binary>>",
      "<<_::8, uP::little-signed-16, tP::binary>>",
      "<<uP::float, tP::bytes>>",
      "<<uP::utf8, tP::binary>>",
      "<<uP::5, tP::3, _::binary>>",
      "<<tP::binary-size(2), uP, uP>>"
    ]

    map(member_of(texts), &{String.replace(&1, "P", p), ["u#{p}", "t#{p}"]})
  end

  defp pattern(:map, s, d, p) do
    map(tuple({map_key(), pattern(s, d, p <> "0")}), fn {key, {a, va}} -> {"%{#{key} => #{a}}", va} end)
  end

  defp pattern(:alias, s, d, p),
    do: map(pattern(s, d, p <> "0"), fn {a, va} -> {"#{a} = w#{p}", ["w#{p}" | va]} end)

  # -- guards --------------------------------------------------------------------------------------------------

  @doc "A guard."
  def guard(scope, 0) do
    frequency([
      {3, constant("true")},
      {2,
       map(tuple({member_of(scope.values), member_of(~w(== > < >=)), literal()}), fn {a, op, b} ->
         "#{a} #{op} #{b}"
       end)},
      {1, map(member_of(scope.values), &"is_integer(#{&1})")},
      {1, member_of(scope.values)}
    ])
  end

  def guard(scope, depth) do
    bind(member_of([:simple, :simple, :and, :or, :not, :compute, :take, :in]), fn
      :simple ->
        guard(scope, 0)

      word when word in [:and, :or] ->
        map(tuple({guard(scope, depth - 1), guard(scope, depth - 1)}), fn {a, b} ->
          "((#{a}) #{word} (#{b}))"
        end)

      :not ->
        map(guard(scope, depth - 1), &"not (#{&1})")

      :compute ->
        map(
          tuple(
            {member_of(scope.values), member_of(~w(+ - * /)), literal(), member_of(~w(== != > <=)), literal()}
          ),
          fn {a, op, b, compare, c} -> "#{a} #{op} #{b} #{compare} #{c}" end
        )

      :take ->
        map(
          tuple({member_of(~w(hd tl length tuple_size abs map_size)), member_of(scope.values), literal()}),
          fn {f, a, b} -> "#{f}(#{a}) != #{b}" end
        )

      :in ->
        map(tuple({member_of(scope.values), member_of(["1..3", "[1, :a]", "[]"])}), fn {a, b} ->
          "#{a} in #{b}"
        end)
    end)
  end
end
