defmodule Mote.Behaviour.Loops.Binary do
  # Generators over binaries, `<<segments <- binary>>`. The loop carries the position in bits, so the rest of
  # the binary is never built:
  #
  #     loop(binary, at, acc, v) -> loop(binary, at + <bits>, <body>, v)    when the segments match from there on
  #                              -> loop(binary, at + <bits>, acc, v)       when only their values do not
  #                              -> <result>                                when there is not enough left
  #                              -> no answer                               when it is not a bitstring
  #
  # For a segment that is a float, bits that are not a number count in older releases of OTP as too few, and as a value that does not
  # match since OTP 26: a behaviour does what the node does.
  #
  # Part of the pass `Mote.Behaviour.Loops`.
  @moduledoc false

  alias Mote.Behaviour.{AST, Loops}

  @no_number <<255, 255, 255, 255, 0::32>>
  @skips_no_number for(<<f::float-32 <- @no_number>>, do: f) != []

  @doc "The function of a generator over the binary `source`, and the call that starts it."
  def lift(%{line: l, pattern: {:bin, _, segments}} = level, source, initial, s) do
    {binary, s} = Loops.fresh(:binary, s)
    {at, s} = Loops.fresh(:at, s)
    {segments, s} = Enum.map_reduce(segments, s, &seen/2)
    sizes = for %{size: {:var, _, v}} <- segments, do: v
    {others, s} = Enum.map_reduce(segments, s, &any(&1, sizes, &2))

    Loops.lift(level, [{binary, source}, {at, {:lit, l, 0}}], initial, s, fn again ->
      step = fn segments, value ->
        next = again.([{:var, l, binary}, behind(segments, {:var, l, at})], value)
        {:clause, l, {:bin, l, [skip(l, at) | segments] ++ [tail(l)]}, [], next}
      end

      skipping = if others == segments, do: [], else: [step.(others, Loops.unchanged(l, level.acc))]

      clauses =
        [step.(segments, level.body)] ++
          skipping ++
          [
            {:clause, l, {:bin, l, [tail(l)]}, [], level.result},
            {:clause, l, {:any, l}, [], {:none, l, :binary_generator, [{:var, l, binary}]}}
          ]

      {:case, l, {:var, l, binary}, clauses, :case_clause}
    end)
  end

  # How many bits a character takes is known from its value.
  defp seen(%{kind: :utf8, value: {:any, l}} = segment, s) do
    {character, s} = Loops.fresh(:character, s)
    {%{segment | value: {:bind, l, character}}, s}
  end

  defp seen(segment, s), do: {segment, s}

  # The same segment with any value. What it binds stays: it may say how large another one is.
  if @skips_no_number do
    defp any(%{kind: :float, value: value} = segment, sizes, s) do
      if match?({:bind, _, _}, value) and elem(value, 2) in sizes,
        do: {segment, s},
        else: {%{segment | kind: :int, value: {:any, elem(value, 1)}, signed: false}, s}
    end
  end

  defp any(%{value: {tag, _}} = segment, _, s) when tag == :any, do: {segment, s}
  defp any(%{value: {:bind, _, _}} = segment, _, s), do: {segment, s}
  defp any(%{value: {_, l, _}} = segment, _, s), do: seen(%{segment | value: {:any, l}}, s)

  # The position behind the segments.
  defp behind(segments, at) do
    Enum.reduce(segments, at, fn segment, at -> AST.sure(AST.line(at), :add, [at, bits(segment)]) end)
  end

  defp bits(%{kind: :utf8, value: {:lit, l, character}}), do: AST.op(l, :utf8_bits, [{:lit, l, character}])
  defp bits(%{kind: :utf8, value: {_, l, v}}), do: {:sure, l, :utf8_bits, [{:var, l, v}]}

  defp bits(%{size: size, unit: unit}),
    do: AST.sure(AST.line(size), :mul, [size, {:lit, AST.line(size), unit}])

  defp skip(l, at), do: %{tail(l) | kind: :skip, size: {:var, l, at}}
  defp tail(l), do: %{kind: :tail, value: {:any, l}, size: nil, unit: 1, signed: false, little: false}
end
