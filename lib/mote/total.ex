defmodule Mote.Total do
  @moduledoc """
  The primitives of behaviours as plain Elixir functions: the reference for what the machine computes.

  Every primitive of the IR is here under its name. They never raise: what has no answer is `:undefined`.

      iex> Mote.Total.add(1, 2.5)
      3.5
      iex> Mote.Total.add(1, :a)
      :undefined
      iex> Mote.Total.mul(4_000_000_000, 4_000_000_000)
      16000000000000000000
      iex> Mote.Total.hd([])
      :undefined

  Integers may have up to 2^20 bits. Larger ones are carried, compared and tested for their type, but they are no numbers
  to calculate with.

  In a guard "no answer" and the value `:undefined` are not the same thing; `answer/2` tells them apart:

      iex> Mote.Total.answer(:elem, [{:undefined}, 0])
      {:ok, :undefined}
      iex> Mote.Total.answer(:elem, [{:undefined}, 1])
      :none

  What the functions compute is in `lib/mote/total/`, their numbers and spellings in
  `native/mote_vm/src/terms/prim/table.rs`.
  """
  import Kernel, only: [def: 1, def: 2, defp: 2, @: 1]

  alias Mote.Behaviour.Primitives

  @none Mote.Total.None.value()
  @cores [
    Mote.Total.Number,
    Mote.Total.Term,
    Mote.Total.Sequence,
    Mote.Total.Maps,
    Mote.Total.Enumerable,
    Mote.Total.Binaries,
    Mote.Total.Vectors,
    Mote.Total.Regexes
  ]

  Enum.each(@cores, &Code.ensure_compiled!/1)

  @doc """
  The answer of a primitive, `{:ok, value}`, or `:none`.
  """
  @spec answer(atom, [term]) :: {:ok, term} | :none
  def answer(primitive, arguments)

  table =
    for %{name: name, arity: arity, has: answers} <- Primitives.all() do
      arguments = Macro.generate_arguments(arity, __MODULE__)
      core = Enum.find(@cores, &Kernel.function_exported?(&1, name, arity))
      call = {{:., [], [core, name]}, [], arguments}
      {name, arguments, answers, call}
    end

  for {name, arguments, answers, call} <- table do
    case answers do
      :always ->
        def answer(unquote(name), unquote(arguments)), do: {:ok, unquote(call)}

      :partial ->
        def answer(unquote(name), unquote(arguments)), do: answered(unquote(call))
    end
  end

  # Clauses of functions: of one primitive Elixir may know that it has no answer.
  defp answered(@none), do: :none
  defp answered(value), do: {:ok, value}

  for {name, arguments, answers, call} <- table do
    @doc "The primitive `#{name}`; see `guides/ir.md`."
    @spec unquote(name)(unquote_splicing(Enum.map(arguments, fn _ -> {:term, [], []} end))) :: term
    case answers do
      :always ->
        def unquote(name)(unquote_splicing(arguments)), do: unquote(call)

      :partial ->
        def unquote(name)(unquote_splicing(arguments)), do: or_undefined(unquote(call))
    end
  end

  defp or_undefined(@none), do: :undefined
  defp or_undefined(value), do: value
end
