defmodule Mote.Total.Sequence do
  # The primitives on lists, tuples and binaries. Returns `@none` where there is no answer.
  @moduledoc false
  import Kernel,
    except: [hd: 1, tl: 1, length: 1, tuple_size: 1, elem: 2, put_elem: 3, byte_size: 1]

  alias Mote.Total.Term

  @none Mote.Total.None.value()

  def hd([head | _]), do: head
  def hd(_), do: @none

  def tl([_ | tail]), do: tail
  def tl(_), do: @none

  def length(list), do: if(proper?(list), do: :erlang.length(list), else: @none)

  def tuple_size(tuple) when is_tuple(tuple), do: :erlang.tuple_size(tuple)
  def tuple_size(_), do: @none

  def elem(tuple, index)
      when is_tuple(tuple) and is_integer(index) and index >= 0 and
             index < :erlang.tuple_size(tuple),
      do: :erlang.element(index + 1, tuple)

  def elem(_, _), do: @none

  def put_elem(tuple, index, value)
      when is_tuple(tuple) and is_integer(index) and index >= 0 and
             index < :erlang.tuple_size(tuple),
      do: :erlang.setelement(index + 1, tuple, value)

  def put_elem(_, _, _), do: @none

  def append(left, right), do: if(proper?(left), do: left ++ right, else: @none)

  def reverse(list), do: if(proper?(list), do: :lists.reverse(list), else: @none)

  def subtract(left, right) do
    if proper?(left) and proper?(right), do: Enum.reduce(right, left, &delete/2), else: @none
  end

  # Stable, as the BEAM's own is by keys, but not where 1 and 1.0 are in a list. One element is not looked at.
  def sort(list) do
    cond do
      not proper?(list) -> @none
      Term.exact?(list) or floats?(list) -> :lists.sort(list)
      Term.native?(list) -> for {x} <- :lists.keysort(1, for(x <- list, do: {x})), do: x
      true -> Enum.sort(list, &Term.le/2)
    end
  end

  # Two zeros are equal and may have two signs.
  defp floats?([x | rest]) when is_float(x) and x != 0, do: floats?(rest)
  defp floats?([x | rest]) when is_float(x), do: <<x::float>> == <<0::64>> and floats?(rest)
  defp floats?(list), do: list == []

  def keysort(n, list) when is_integer(n) and n > 0 do
    cond do
      not proper?(list) -> @none
      not match?([_, _ | _], list) -> list
      not Enum.all?(list, &keyed?(&1, n)) -> @none
      Enum.all?(list, &Term.native?(:erlang.element(n, &1))) -> :lists.keysort(n, list)
      true -> Enum.sort(list, &Term.le(:erlang.element(n, &1), :erlang.element(n, &2)))
    end
  end

  def keysort(_, _), do: @none

  @doc "Returns whether it is a tuple with an n-th element, counted from one."
  def keyed?(tuple, n), do: is_tuple(tuple) and :erlang.tuple_size(tuple) >= n

  def tuple_to_list(tuple) when is_tuple(tuple), do: :erlang.tuple_to_list(tuple)
  def tuple_to_list(_), do: @none

  def list_to_tuple(list), do: if(proper?(list), do: :erlang.list_to_tuple(list), else: @none)

  def byte_size(bitstring) when is_bitstring(bitstring), do: :erlang.byte_size(bitstring)
  def byte_size(_), do: @none

  # `length/1` in a guard is the BEAM's own, fast check for a proper list.
  defp proper?(list) when :erlang.length(list) >= 0, do: true
  defp proper?(_), do: false

  defp delete(value, list) do
    case Enum.split_while(list, &Term.differ(&1, value)) do
      {before, [_ | rest]} -> before ++ rest
      {_, []} -> list
    end
  end
end
