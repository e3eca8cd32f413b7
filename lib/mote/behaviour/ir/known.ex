defmodule Mote.Behaviour.IR.Known do
  # What is known at a place in the code, on every path to it: operations whose values are in registers, tests
  # that have held. Nothing is calculated or tested a second time. Part of the IR pass.
  #
  # A register that is written is not written again on the same path (`ir/builder.ex`), so what is known stays
  # true.
  @moduledoc false

  alias Mote.Behaviour.Primitives

  @type t :: map

  @doc "Nothing."
  @spec nothing() :: t
  def nothing, do: %{}

  @doc "Finds the place of an operation's value, `:undefined` if it has no answer; nil if there is none."
  def value(known, primitive, os), do: known[{:value, primitive, key(os)}]

  @doc "Finds the place of the answer of an operation that is certain to have one."
  def answer(known, primitive, os), do: known[{:answer, primitive, key(os)}]

  @doc "Finds the place of the own address."
  def self(known), do: known[:self]

  @types [:is_integer, :is_float, :is_number, :is_boolean, :is_tuple, :is_list, :is_binary, :is_bitstring] ++
           [:is_map, :is_function, :is_reference, :is_pid, :is_address]

  @doc "Returns whether an operand is certain not to be `:undefined`."
  def defined?(_, {:k, value}), do: value != :undefined

  def defined?(known, o) do
    is_map_key(known, {:defined, o}) or
      Enum.any?(@types, fn type ->
        test = value(known, type, [o])
        test != nil and is_map_key(known, {:branch, [test]})
      end)
  end

  @doc "Adds the knowledge that an operand is not `:undefined`."
  def defined(known, o), do: Map.put(known, {:defined, o}, true)

  @doc "Returns whether a test goes on here for certain."
  def holds?(known, {tag, _, _} = test) when tag in [:branch, :falsy], do: is_map_key(known, test(test))
  def holds?(known, {:match, _, _, _} = test), do: is_map_key(known, test(test))
  def holds?(_, _), do: false

  @doc "Returns the knowledge where control goes on after an instruction."
  @spec after_instruction(t, tuple) :: t
  def after_instruction(known, instruction) do
    case instruction do
      {:op, d, primitive, os} ->
        if reusable?(primitive), do: calculated(known, d, primitive, os), else: known

      {:guard_op, d, primitive, os, _} ->
        known = if Primitives.number?(primitive), do: defined(known, {:r, d}), else: known

        if reusable?(primitive),
          do: known |> put(:value, d, primitive, os) |> put(:answer, d, primitive, os),
          else: known

      {:self, d} ->
        Map.put(known, :self, {:r, d})

      {tag, _, _} when tag in [:branch, :falsy] ->
        Map.put(known, test(instruction), true)

      {:match, _, _, _} ->
        Map.put(known, test(instruction), true)

      _ ->
        known
    end
  end

  @doc "Returns the knowledge where two paths meet."
  @spec meet(t, t) :: t
  def meet(known, known), do: known
  def meet(a, b), do: Map.filter(a, fn {key, value} -> Map.get(b, key) == value end)

  # What spends fuel for what it walks over spends it each time, as plain Elixir does.
  defp reusable?(primitive), do: Primitives.pure?(primitive) and not Primitives.walks?(primitive)

  defp calculated(known, d, primitive, os) do
    known = put(known, :value, d, primitive, os)
    if Primitives.always?(primitive), do: put(known, :answer, d, primitive, os), else: known
  end

  defp put(known, kind, d, primitive, os), do: Map.put(known, {kind, primitive, key(os)}, {:r, d})

  defp test({tag, o, _}), do: {tag, key([o])}
  defp test({:match, a, b, _}), do: {:match, key([a, b])}

  # As keys of a map 0.0 and -0.0 are one for older releases of OTP.
  defp key(os) do
    Enum.map(os, fn
      {:k, value} when not is_atom(value) and not is_integer(value) -> {:k, :erlang.term_to_binary(value)}
      o -> o
    end)
  end
end
