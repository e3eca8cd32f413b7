defmodule Mote.Total.Vectors do
  # The primitives on vectors (`Mote.Vector`). Returns `@none` where there is no answer. The order in which floats are
  # added up is that of the machine, or the sums would differ: see guides/ir.md.
  @moduledoc false
  import Mote.Internal.Sized, only: [sized: 1]

  alias Mote.Total.Number

  @none Mote.Total.None.value()
  @lanes 8
  @low -0x8000000000000000
  @high 0x7FFFFFFFFFFFFFFF

  @doc "Returns whether a term is a vector."
  defguard is_vector(v)
           when is_map(v) and map_size(v) == 3 and is_map_key(v, :__struct__) and
                  :erlang.map_get(:__struct__, v) == Mote.Vector and is_map_key(v, :type) and
                  :erlang.map_get(:type, v) in [:f64, :i64] and is_map_key(v, :binary) and
                  is_binary(:erlang.map_get(:binary, v)) and
                  rem(byte_size(:erlang.map_get(:binary, v)), 8) == 0

  def vec_new(type, list) when type in [:f64, :i64] and length(list) >= 0, do: made(type, list)
  def vec_new(_, _), do: @none

  def vec_from_binary(type, binary) when is_binary(binary) do
    case {type, binary} do
      {{:u, 8}, _} ->
        made(:i64, :binary.bin_to_list(binary))

      {{:s, 32}, _} when rem(byte_size(binary), 4) == 0 ->
        made(:i64, for(<<n::signed-little-32 <- binary>>, do: n))

      {{:f, 32}, _} ->
        with list when is_list(list) <- floats32(binary, []), do: made(:f64, list)

      {type, _} when type in [:f64, {:f, 64}] ->
        checked(%{__struct__: Mote.Vector, type: :f64, binary: binary})

      {type, _} when type in [:i64, {:s, 64}] ->
        checked(%{__struct__: Mote.Vector, type: :i64, binary: binary})

      _ ->
        @none
    end
  end

  def vec_from_binary(_, _), do: @none

  defp checked(v) when is_vector(v), do: if(elements(v) == @none, do: @none, else: v)
  defp checked(_), do: @none

  defp floats32(<<f::float-little-32, rest::binary>>, all), do: floats32(rest, [f | all])
  defp floats32(<<>>, all), do: Enum.reverse(all)
  defp floats32(_, _), do: @none

  def vec_to_list(v) when is_vector(v), do: elements(v)
  def vec_to_list(_), do: @none

  def vec_to_binary(v) when is_vector(v), do: v.binary
  def vec_to_binary(_), do: @none

  def vec_size(v) when is_vector(v), do: div(byte_size(v.binary), 8)
  def vec_size(_), do: @none

  def vec_get(v, i) when is_vector(v) and is_integer(i) and i >= 0 do
    case v do
      %{type: :f64, binary: sized(<<_::binary-size(^i)-unit(64), f::float-little, _::binary>>)} -> f
      %{type: :i64, binary: sized(<<_::binary-size(^i)-unit(64), n::signed-little-64, _::binary>>)} -> n
      _ -> @none
    end
  end

  def vec_get(_, _), do: @none

  def vec_slice(v, start, count)
      when is_vector(v) and is_integer(start) and is_integer(count) and start >= 0 and count >= 0 do
    case v.binary do
      sized(<<_::binary-size(^start)-unit(64), part::binary-size(^count)-unit(64), _::binary>>) ->
        %{v | binary: part}

      _ ->
        @none
    end
  end

  def vec_slice(_, _, _), do: @none

  def vec_concat(a, b)
      when is_vector(a) and is_vector(b) and :erlang.map_get(:type, a) == :erlang.map_get(:type, b),
      do: %{a | binary: a.binary <> b.binary}

  def vec_concat(_, _), do: @none

  def vec_map2(name, a, b) when name in [:add, :sub, :mul, :div, :min, :max] and is_vector(a) do
    with xs when is_list(xs) <- elements(a),
         ys when is_list(ys) <- others(a.type, b, length(xs)) do
      finite(fn -> made(a.type, Enum.zip_with(xs, ys, &each(name, a.type, &1, &2))) end)
    end
  end

  def vec_map2(_, _, _), do: @none

  defp others(type, %{type: type} = b, n) when is_vector(b) do
    ys = elements(b)
    if is_list(ys) and length(ys) == n, do: ys, else: @none
  end

  defp others(:f64, y, n) do
    case float(y) do
      @none -> @none
      y -> List.duplicate(y, n)
    end
  end

  defp others(:i64, y, n) when is_integer(y) and y in @low..@high, do: List.duplicate(y, n)
  defp others(_, _, _), do: @none

  defp each(:add, _, x, y), do: x + y
  defp each(:sub, _, x, y), do: x - y
  defp each(:mul, _, x, y), do: x * y
  defp each(:div, :f64, x, y), do: x / y
  defp each(:div, :i64, _, 0), do: @none
  defp each(:div, :i64, x, y), do: div(x, y)
  defp each(:min, _, x, y), do: min(x, y)
  defp each(:max, _, x, y), do: max(x, y)

  def vec_dot(a, b), do: paired(a, b, &(&1 * &2))
  def vec_distance(a, b), do: paired(a, b, &((&1 - &2) * (&1 - &2)))

  defp paired(%{type: type} = a, %{type: type} = b, fun)
       when is_vector(a) and is_vector(b) and
              byte_size(:erlang.map_get(:binary, a)) == byte_size(:erlang.map_get(:binary, b)) do
    with xs when is_list(xs) <- elements(a), ys when is_list(ys) <- elements(b) do
      finite(fn -> total(type, Enum.zip_with(xs, ys, fun)) end)
    end
  end

  defp paired(_, _, _), do: @none

  def vec_sum(v) when is_vector(v) do
    with xs when is_list(xs) <- elements(v), do: finite(fn -> total(v.type, xs) end)
  end

  def vec_sum(_), do: @none

  defp total(:i64, terms), do: fit(Enum.sum(terms))

  defp total(:f64, terms) do
    lanes =
      terms
      |> Enum.chunk_every(@lanes)
      |> Enum.reduce(List.duplicate(0.0, @lanes), fn chunk, sums ->
        {now, rest} = Enum.split(sums, length(chunk))
        Enum.zip_with(now, chunk, &(&1 + &2)) ++ rest
      end)

    Enum.reduce(lanes, 0.0, &(&2 + &1))
  end

  def vec_min(v), do: extreme(v, &</2, fn value, _ -> value end)
  def vec_max(v), do: extreme(v, &>/2, fn value, _ -> value end)
  def vec_argmin(v), do: extreme(v, &</2, fn _, index -> index end)
  def vec_argmax(v), do: extreme(v, &>/2, fn _, index -> index end)

  # The first of several equal ones.
  defp extreme(v, better, choose) when is_vector(v) do
    with [first | rest] <- elements(v) do
      {best, at, _} =
        Enum.reduce(rest, {first, 0, 1}, fn x, {best, at, i} ->
          if better.(x, best), do: {x, i, i + 1}, else: {best, at, i + 1}
        end)

      choose.(best, at)
    else
      _ -> @none
    end
  end

  defp extreme(_, _, _), do: @none

  # With a function it is stable, also for the two zeros.
  def vec_sort(v) when is_vector(v) do
    with xs when is_list(xs) <- elements(v), do: made(v.type, Enum.sort(xs, &<=/2))
  end

  def vec_sort(_), do: @none

  # -- elements ------------------------------------------------------------------------------------------------

  defp elements(%{type: :i64, binary: binary}), do: for(<<n::signed-little-64 <- binary>>, do: n)
  defp elements(%{type: :f64, binary: binary}), do: floats(binary, [])

  defp floats(<<f::float-little, rest::binary>>, all), do: floats(rest, [f | all])
  defp floats(<<>>, all), do: Enum.reverse(all)
  defp floats(_, _), do: @none

  defp made(:f64, list) do
    floats = Enum.map(list, &float/1)

    if @none in floats,
      do: @none,
      else: %{
        __struct__: Mote.Vector,
        type: :f64,
        binary: for(f <- floats, into: "", do: <<f::float-little>>)
      }
  end

  defp made(:i64, list) do
    if Enum.all?(list, &(is_integer(&1) and &1 in @low..@high)),
      do: %{__struct__: Mote.Vector, type: :i64, binary: for(n <- list, into: "", do: <<n::little-64>>)},
      else: @none
  end

  defp float(n), do: Number.float(n)

  defp fit(n) when n in @low..@high, do: n
  defp fit(_), do: @none

  defp finite(fun) do
    fun.()
  rescue
    ArithmeticError -> @none
  end
end
