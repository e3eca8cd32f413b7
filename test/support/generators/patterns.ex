defmodule Mote.Generators.Patterns do
  @moduledoc "Random patterns and guards, as source text. Scopes and paths are those of `Mote.Generators.Expressions`."

  import StreamData

  alias Mote.Generators.Literals

  @doc "A pattern as `{text, variables}`."
  def pattern(scope, depth, path) do
    kinds =
      [:bind, :any, :literal, :pin] ++
        if(depth > 0, do: [:tuple, :list, :cons, :alias, :twice, :map, :bin], else: [])

    bind(member_of(kinds), &pattern(&1, scope, depth - 1, path))
  end

  defp pattern(:bind, _, _, p), do: constant({"u#{p}", ["u#{p}"]})
  defp pattern(:any, _, _, _), do: constant({"_", []})
  defp pattern(:literal, _, _, _), do: map(Literals.literal(), &{&1, []})
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
      "<<uP::5, tP::bits>>",
      "<<uP::bits-size(3), tP::bitstring>>",
      "<<tP::binary-size(2), uP, uP>>"
    ]

    map(member_of(texts), &{String.replace(&1, "P", p), ["u#{p}", "t#{p}"]})
  end

  defp pattern(:map, s, d, p) do
    # Erlang's compiler breaks off at a key that is a map.
    keys = filter(Literals.key(), &(&1 != "%{1=>:a}"))
    map(tuple({keys, pattern(s, d, p <> "0")}), fn {key, {a, va}} -> {"%{#{key} => #{a}}", va} end)
  end

  defp pattern(:alias, s, d, p),
    do: map(pattern(s, d, p <> "0"), fn {a, va} -> {"#{a} = w#{p}", ["w#{p}" | va]} end)

  @doc "A guard."
  def guard(scope, 0) do
    frequency([
      {3, constant("true")},
      {2,
       map(tuple({member_of(scope.values), member_of(~w(== > < >=)), Literals.literal()}), fn {a, op, b} ->
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
            {member_of(scope.values), member_of(~w(+ - * /)), Literals.literal(), member_of(~w(== != > <=)),
             Literals.literal()}
          ),
          fn {a, op, b, compare, c} -> "#{a} #{op} #{b} #{compare} #{c}" end
        )

      :take ->
        map(
          tuple(
            {member_of(~w(hd tl length tuple_size abs map_size)), member_of(scope.values), Literals.literal()}
          ),
          fn {f, a, b} -> "#{f}(#{a}) != #{b}" end
        )

      :in ->
        map(tuple({member_of(scope.values), member_of(["1..3", "[1, :a]", "[]"])}), fn {a, b} ->
          "#{a} in #{b}"
        end)
    end)
  end
end
