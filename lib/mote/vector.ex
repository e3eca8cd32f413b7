defmodule Mote.Vector do
  @moduledoc """
  Packed arrays of 64-bit floats (`:f64`) or integers (`:i64`), for behaviours and for Elixir.

      iex> v = Mote.Vector.new(:f64, [3, 1.5, 2])
      iex> Mote.Vector.dot(v, v)
      15.25
      iex> v |> Mote.Vector.mul(2) |> Mote.Vector.to_list()
      [6.0, 3.0, 4.0]
      iex> Mote.Vector.argmin(v)
      1

  In a behaviour the same calls are primitives that run over the bytes. An operation without an answer raises `ArgumentError`,
  and aborts the turn in a behaviour (see `Mote.Behaviour`).

      iex> Mote.Vector.get(Mote.Vector.new(:i64, [1]), 1)
      ** (ArgumentError) Mote.Vector.get(#Mote.Vector<:i64 [1]>, 1) has no answer

  A vector is a struct of its `type` and a `binary` with its elements, eight bytes each in little endian order. It
  enters and leaves a machine unchanged. Long vectors, and slices, are shared and not copied.

  Elements have one type: integers become floats in `new/2` and beside a vector of floats, but nothing becomes an
  integer. Floats are finite. A result that is not finite, or an integer of more than 64 bits, counts as no answer.

  Sums of floats are made in eight lanes: the i-th adds up the elements whose index is i modulo eight, then the lanes are
  added from the first to the last. So machine and Elixir return the same sum, and the machine adds several
  elements at once.

  To convert tensors, use `Mote.Vector.from_binary({:f, 32}, Nx.to_binary(tensor))` with the type of the tensor, one
  of `{:f, 64}`, `{:f, 32}`, `{:s, 64}`, `{:s, 32}`, `{:u, 8}`; and `Nx.from_binary(Mote.Vector.to_binary(vector),
  {:f, 64})`, on computers whose own order is little endian.
  """

  alias Mote.Raised.Call
  alias Mote.Total

  @enforce_keys [:type, :binary]
  defstruct [:type, :binary]

  @type t :: %__MODULE__{type: :f64 | :i64, binary: binary}
  @type type :: :f64 | :i64

  @doc "Makes a vector of a proper list of numbers."
  @spec new(type, [number]) :: t
  def new(type, list), do: answer(:vec_new, [type, list])

  @doc "Makes a vector of the bytes of its elements; `type` may be that of a tensor."
  @spec from_binary(type | {:f, 64 | 32} | {:s, 64 | 32} | {:u, 8}, binary) :: t
  def from_binary(type, binary), do: answer(:vec_from_binary, [type, binary])

  @doc "Returns the elements as a list."
  @spec to_list(t) :: [number]
  def to_list(vector), do: answer(:vec_to_list, [vector])

  @doc "Returns the bytes of the elements, eight each in little endian order."
  @spec to_binary(t) :: binary
  def to_binary(vector), do: answer(:vec_to_binary, [vector])

  @doc "Returns the number of elements."
  @spec size(t) :: non_neg_integer
  def size(vector), do: answer(:vec_size, [vector])

  @doc "Returns the element at an index, from 0."
  @spec get(t, non_neg_integer) :: number
  def get(vector, index), do: answer(:vec_get, [vector, index])

  @doc "Returns `count` elements from `start` on."
  @spec slice(t, non_neg_integer, non_neg_integer) :: t
  def slice(vector, start, count), do: answer(:vec_slice, [vector, start, count])

  @doc "Returns all elements of `a`, then those of `b`, which has the same type."
  @spec concat(t, t) :: t
  def concat(a, b), do: answer(:vec_concat, [a, b])

  for {name, text} <- [
        add: "The sums",
        sub: "The differences",
        mul: "The products",
        div: "The quotients (of integers those of `div/2`)",
        min: "The lesser ones",
        max: "The greater ones"
      ] do
    @doc "#{text} of the elements of two vectors of one size and type, or of each element and a number."
    @spec unquote(name)(t, t | number) :: t
    def unquote(name)(a, b), do: answer(:vec_map2, [unquote(name), a, b])
  end

  @doc "Returns the sum of the products of the elements of two vectors."
  @spec dot(t, t) :: number
  def dot(a, b), do: answer(:vec_dot, [a, b])

  @doc "Returns the sum of the squares of the differences of the elements of two vectors."
  @spec squared_distance(t, t) :: number
  def squared_distance(a, b), do: answer(:vec_distance, [a, b])

  @doc "Returns the sum of the elements."
  @spec sum(t) :: number
  def sum(vector), do: answer(:vec_sum, [vector])

  @doc "Returns the least element."
  @spec min(t) :: number
  def min(vector), do: answer(:vec_min, [vector])

  @doc "Returns the greatest element."
  @spec max(t) :: number
  def max(vector), do: answer(:vec_max, [vector])

  @doc "Returns the index of the least element, or of the first of several."
  @spec argmin(t) :: non_neg_integer
  def argmin(vector), do: answer(:vec_argmin, [vector])

  @doc "Returns the index of the greatest element, or of the first of several."
  @spec argmax(t) :: non_neg_integer
  def argmax(vector), do: answer(:vec_argmax, [vector])

  @doc "Returns the elements in ascending order."
  @spec sort(t) :: t
  def sort(vector), do: answer(:vec_sort, [vector])

  defp answer(primitive, arguments) do
    case Total.answer(primitive, arguments) do
      {:ok, value} -> value
      :none -> raise ArgumentError, "#{Call.written(primitive, List.to_tuple(arguments))} has no answer"
    end
  end

  defimpl Inspect do
    import Inspect.Algebra

    @shown 20

    def inspect(%{type: type} = vector, opts) do
      case Mote.Total.answer(:vec_to_list, [vector]) do
        {:ok, list} ->
          shown = Enum.take(list, @shown)
          more = if length(list) > @shown, do: [:...], else: []
          concat(["#Mote.Vector<", to_doc(type, opts), " ", to_doc(shown ++ more, opts), ">"])

        :none ->
          Inspect.Any.inspect(vector, opts)
      end
    end
  end
end
