defmodule Mote.Behaviour.IR.Binaries do
  # The pattern of a binary: each segment is read at its position, which is a number of bits. It is known when
  # compiling until a segment has a size that is not; from there on a register has it. Part of the IR pass.
  @moduledoc false

  alias Mote.Behaviour.AST
  alias Mote.Behaviour.IR.Match

  import Mote.Behaviour.IR.Builder, only: [emit: 2, fresh: 1, stop: 2]

  # Bytes of the longest text that is compared as integers.
  @short 8

  @doc "Goes to `fail` unless the binary `o` consists of these segments."
  def pattern([], o, fail, g), do: emit(g, {:match, o, {:k, ""}, fail})

  def pattern(segments, o, fail, g) do
    {init, [last]} = Enum.split(segments, -1)
    {position, g} = Enum.reduce(init, {{:k, 0}, g}, &segment(&1, o, &2, fail))

    case last.kind do
      :rest ->
        {rest, g} = rest(last, o, position, whole_bytes?(init), fail, g)
        Match.pattern(last.value, rest, fail, g)

      # Of what was not read before it is not known yet whether it has bits.
      :tail ->
        if Enum.all?(init, &(&1.kind == :skip)), do: elem(read(:bit_size, [o], fail, g), 1), else: g

      _ ->
        {position, g} = segment(last, o, {position, g}, fail)
        {size, g} = read(:bit_size, [o], fail, g)
        emit(g, {:match, size, position, fail})
    end
  end

  # All that is left.
  defp rest(%{unit: 1}, o, position, _, fail, g), do: read(:bin_tail, [o, position], fail, g)
  defp rest(_, o, position, true, fail, g), do: read(:bin_rest, [o, position], fail, g)

  defp rest(_, o, position, false, fail, g) do
    {rest, g} = read(:bin_tail, [o, position], fail, g)
    {is_binary, g} = read(:is_binary, [rest], fail, g)
    {rest, emit(g, {:branch, is_binary, fail})}
  end

  # Whether what comes behind them certainly begins with a byte.
  defp whole_bytes?(segments) do
    bits = for %{size: {:lit, _, n}, unit: unit} when is_integer(n) <- segments, do: n * unit

    others =
      for %{size: size, unit: unit, kind: kind} <- segments,
          kind != :utf8,
          not match?({:lit, _, _}, size),
          do: unit

    rem(Enum.sum(bits), 8) == 0 and Enum.all?(others, &(rem(&1, 8) == 0))
  end

  # Reads a segment, matches its value, and gives the position behind it.
  defp segment(%{kind: kind} = s, o, {position, g}, fail) when kind in [:int, :float] do
    {value, bits, g} = number(s, o, position, fail, g)
    g = Match.pattern(float(s), value, fail, g)
    advance(:add, position, bits, g)
  end

  # A short text is compared as integers, so that no part of the binary is made.
  defp segment(%{kind: :binary, value: {:lit, _, text}} = s, o, at, fail)
       when is_binary(text) and byte_size(text) in 1..@short do
    case s.size do
      {:lit, _, n} when n * s.unit == bit_size(text) -> text(text, o, at, fail)
      _ -> part(s, o, at, fail)
    end
  end

  defp segment(%{kind: :binary} = s, o, at, fail), do: part(s, o, at, fail)

  defp segment(%{kind: :utf8} = s, o, {position, g}, fail) do
    {value, g} = read(:bin_utf8, [o, position], fail, g)
    g = Match.pattern(s.value, value, fail, g)
    {bits, g} = read(:utf8_bits, [value], fail, g)
    advance(:add, position, bits, g)
  end

  defp segment(%{kind: :skip, size: {:var, _, v}}, _, {_, g}, _), do: {Map.fetch!(g.env, v), g}

  defp text("", _, at, _), do: at

  defp text(text, o, {position, g}, fail) do
    bytes = Enum.find([4, 2, 1], &(&1 <= byte_size(text)))
    n = text |> binary_part(0, bytes) |> :binary.decode_unsigned()
    rest = binary_part(text, bytes, byte_size(text) - bytes)
    {value, g} = read(:bin_int, [o, position, {:k, bytes * 8 * 4}], fail, g)
    g = emit(g, {:match, value, {:k, n}, fail})
    text(rest, o, advance(:add, position, {:k, bytes * 8}, g), fail)
  end

  defp part(%{unit: unit} = s, o, {position, g}, fail) when rem(unit, 8) > 0 do
    {bits, g} = scaled(s.size, unit, fail, g)
    {value, g} = read(:bin_bits, [o, position, bits], fail, g)
    g = Match.pattern(s.value, value, fail, g)
    advance(:add, position, bits, g)
  end

  defp part(s, o, {position, g}, fail) do
    {bytes, g} = scaled(s.size, div(s.unit, 8), fail, g)
    {value, g} = read(:bin_slice, [o, position, bytes], fail, g)
    g = Match.pattern(s.value, value, fail, g)
    {bits, g} = advance(:mul, bytes, {:k, 8}, g)
    advance(:add, position, bits, g)
  end

  # A number, and its bits.
  defp number(s, o, position, fail, g) do
    if AST.wide?(s), do: wide(s, o, position, fail, g), else: number_at_once(s, o, position, fail, g)
  end

  defp number_at_once(s, o, position, fail, g) do
    flags = if(s.signed, do: 2, else: 0) + if s.little, do: 1, else: 0
    {bits, g} = scaled(s.size, s.unit, fail, g)
    {spec, g} = calculate(:mul, bits, 4, fail, g)
    {spec, g} = calculate(:add, spec, flags, fail, g)
    {value, g} = read(if(s.kind == :int, do: :bin_int, else: :bin_float), [o, position, spec], fail, g)
    {value, bits, g}
  end

  # The sign is in the higher part.
  defp wide(%{size: {:lit, l, n}, unit: unit} = s, o, position, fail, g) do
    low = %{s | size: {:lit, l, 64}, unit: 1, signed: false}
    high = %{s | size: {:lit, l, n * unit - 64}, unit: 1}
    {first, second} = if s.little, do: {low, high}, else: {high, low}
    {one, bits, g} = number_at_once(first, o, position, fail, g)
    {position, g} = advance(:add, position, bits, g)
    {other, _, g} = number_at_once(second, o, position, fail, g)
    {low, high} = if s.little, do: {one, other}, else: {other, one}
    {high, g} = read(:bsl, [high, {:k, 64}], fail, g)
    {value, g} = read(:add, [high, low], fail, g)
    {value, {:k, n * unit}, g}
  end

  # An integer in the pattern of a float means the float.
  defp float(%{kind: :float, value: {:lit, l, n}}) when is_integer(n), do: {:lit, l, n * 1.0}
  defp float(%{value: value}), do: value

  defp scaled({:lit, _, n}, unit, fail, g) when n < 0, do: {{:k, n * unit}, stop(g, {:jump, fail})}
  defp scaled({:lit, _, n}, unit, _, g), do: {{:k, n * unit}, g}
  defp scaled({:var, _, v}, unit, fail, g), do: calculate(:mul, Map.fetch!(g.env, v), unit, fail, g)

  defp calculate(:mul, a, 1, _, g), do: {a, g}
  defp calculate(:add, a, 0, _, g), do: {a, g}
  defp calculate(primitive, a, n, fail, g) when is_integer(n), do: calculate(primitive, a, {:k, n}, fail, g)

  # A variable may be known to be some constant, of any type.
  defp calculate(:add, {:k, a}, {:k, b}, _, g) when is_integer(a) and is_integer(b), do: {{:k, a + b}, g}
  defp calculate(:mul, {:k, a}, {:k, b}, _, g) when is_integer(a) and is_integer(b), do: {{:k, a * b}, g}
  defp calculate(:add, {:k, 0}, b, _, g), do: {b, g}
  defp calculate(primitive, a, b, fail, g), do: read(primitive, [a, b], fail, g)

  # The position behind a segment that was read has an answer: it is within the binary.
  defp advance(primitive, {:k, a}, {:k, b}, g) when is_integer(a) and is_integer(b),
    do: calculate(primitive, {:k, a}, {:k, b}, nil, g)

  defp advance(:add, {:k, 0}, b, g), do: {b, g}

  defp advance(primitive, a, b, g) do
    # A constant on the right side makes the shorter code.
    [a, b] = Enum.sort_by([a, b], &match?({:k, _}, &1))
    {d, g} = fresh(g)
    {{:r, d}, emit(g, {:op, d, primitive, [a, b]})}
  end

  defp read(primitive, os, fail, g) do
    {d, g} = fresh(g)
    {{:r, d}, emit(g, {:guard_op, d, primitive, os, fail})}
  end
end
