defmodule Mote.Generators.Containers do
  @moduledoc "Random expressions over maps, binaries and vectors: a part of `Mote.Generators.Expressions`."

  import StreamData

  alias Mote.Generators.{Expressions, Literals}

  @doc "An expression of this kind, of parts of at most this depth."
  def build(kind, scope, depth, path)

  def build(:map, s, d, p) do
    bind(integer(0..3), fn n ->
      1..n//1
      |> Enum.map(fn i -> tuple({key(s), Expressions.expr(s, d, p <> "#{i}")}) end)
      |> fixed_list()
      |> map(fn pairs -> "%{#{Enum.map_join(pairs, ", ", fn {key, value} -> "#{key} => #{value}" end)}}" end)
    end)
  end

  def build(:map_change, s, d, p) do
    texts = [
      "Map.put(M, K, V)",
      "Map.put_new(M, K, V)",
      # Passed on: Erlang's compiler leaves out an update that nobody uses, with the exception that it would have raised.
      "Map.merge(%{}, %{M | K => V})",
      "Map.delete(M, K)",
      "Map.merge(M, V)",
      "Map.merge(V, M)",
      "Map.update(M, K, V, fn o -> {o} end)",
      "Map.update!(M, K, fn _ -> V end)",
      "Map.new(V)",
      "Map.new(V, fn x -> {x, K} end)"
    ]

    map(
      tuple({member_of(texts), map_expr(s, d, p <> "0"), key(s), Expressions.expr(s, d, p <> "2")}),
      &fill/1
    )
  end

  def build(:map_read, s, d, p) do
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
      # Elixir refuses literals that can be no operands.
      "(case K do o -> Enum.map([1..3, rem(V, 9)..o//2], &Enum.to_list/1) end)",
      "(case K do k -> (case {V, rem(V, 5)..k//-1} do {o, r} -> {o in r, r, Range.size(r)} end) end)",
      "Enum.count(M)",
      "Enum.reverse(M)",
      ":lists.sort([V, K | Enum.to_list(M)])",
      ":lists.keysort(2, Enum.to_list(M))",
      ":lists.keysort(V, Enum.to_list(M))",
      "({K, V} in M)",
      "(M === V)",
      "(M < V)",
      "max(M, V)",
      "(case M do o -> o.a end)",
      "(case {M, K} do\n{m, k} -> (case m do\n%{^k => o} -> o\n%{} -> :map\n_ -> V\nend)\nend)"
    ]

    map(
      tuple({member_of(texts), map_expr(s, d, p <> "0"), Literals.key(), Expressions.expr(s, d, p <> "2")}),
      &fill/1
    )
  end

  def build(:map_loop, s, d, p) do
    {k, v} = {"x#{p}", "z#{p}"}
    inner = %{s | values: [k, v | s.values]}

    map(tuple({member_of(~w(for reduce)), map_expr(s, d, p <> "0"), Expressions.expr(inner, d, p <> "1")}), fn
      {"for", source, body} -> "(for {#{k}, #{v}} <- #{source}, do: #{body})"
      {"reduce", source, body} -> "Enum.reduce(#{source}, [], fn {#{k}, #{v}}, acc -> [#{body} | acc] end)"
    end)
  end

  def build(:bin, s, _, _) do
    bind(integer(0..4), fn n ->
      1..n//1
      |> Enum.map(fn _ -> segment(s) end)
      |> fixed_list()
      |> map(fn segments -> "<<#{Enum.map_join(segments, ", ", fn {e, type} -> "(#{e})::#{type}" end)}>>" end)
    end)
  end

  def build(:vector, s, d, p) do
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
      tuple(
        {member_of(texts), operations, reductions, vector_expr(s), Literals.key(),
         Expressions.expr(s, d, p <> "2")}
      ),
      fn {text, operation, reduction, m, k, v} ->
        text = text |> String.replace("OP", operation) |> String.replace("REDUCE", reduction)
        fill({text, m, k, v})
      end
    )
  end

  def build(:bin_read, s, d, p) do
    texts = [
      "(case {M, V} do {o, r} -> o <> r end)",
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
      "(for <<x::bits-size(3), _::2 <- M>>, do: x)",
      "(case M do\n<<a::3, r::bits>> -> {<<r::bits, a::5>>, bit_size(r), r < M}\n_ -> 0\nend)",
      "(case V do k -> (case M do\n<<x::bits-size(k), r::bitstring>> -> {x, r, <<r::bits, k::3>>}\n_ -> :none\nend) end)",
      "(case M do\n<<_::1, s::binary-size(1), r::binary>> -> {s, r}\n<<_::5, r::bits>> -> byte_size(r)\n_ -> 0\nend)",
      "(case V do k -> (for <<x::binary-size(k), 1::1, f::7 <- M>>, f > 3, do: {x, f}) end)"
    ]

    map(
      tuple({member_of(texts), bin_expr(s, d, p <> "0"), Literals.key(), Expressions.expr(s, d, p <> "2")}),
      &fill/1
    )
  end

  defp vector_expr(s) do
    numbers = one_of([integer(-3..9), Literals.integer(), Literals.float(), member_of(s.values)])

    map(tuple({member_of(~w(:f64 :f64 :i64 :odd)), list_of(numbers, max_length: 12)}), fn {type, list} ->
      "Mote.Vector.new(#{type}, [#{Enum.map_join(list, ", ", &to_string/1)}])"
    end)
  end

  # Mostly a binary.
  defp bin_expr(s, d, p),
    do: frequency([{3, build(:bin, s, d, p)}, {1, Literals.literal()}, {1, Expressions.expr(s, d, p)}])

  # What a segment is made of, and its type: a literal may not have a type of another kind.
  defp segment(s) do
    types =
      ~w[8 8 16 little-24 signed-32 64 signed-little-64 little-size(1)-unit(40) float float-32 float-little] ++
        ~w[utf8 integer unit(8)-size(2)]

    frequency([
      {2, tuple({map(integer(-3..300), &Integer.to_string/1), member_of(types)})},
      {1, tuple({member_of(s.values), member_of(["binary" | types])})}
    ])
  end

  # Mostly a map, and mostly one of the keys that are in it.
  defp map_expr(s, d, p), do: frequency([{3, build(:map, s, d, p)}, {1, Expressions.expr(s, d, p)}])
  # Erlang's compiler breaks off at patterns of maps within the key of a map.
  defp key(s), do: frequency([{4, Literals.key()}, {1, member_of(s.values)}])

  defp fill({text, m, k, v}) do
    text |> String.split(~r/\b[MKV]\b/, include_captures: true) |> Enum.map_join(&part(&1, m, k, v))
  end

  defp part("M", m, _, _), do: "(#{m})"
  defp part("K", _, k, _), do: k
  defp part("V", _, _, v), do: "(#{v})"
  defp part(text, _, _, _), do: text
end
