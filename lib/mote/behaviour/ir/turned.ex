defmodule Mote.Behaviour.IR.Turned do
  # The order in which Elixir evaluates arguments: from left to right. Before Elixir 1.20 there are exceptions, functions of its
  # library in whose place its compiler puts functions of Erlang with another order of arguments (elixir_rewrite). `Map.put/3`
  # is none of them: it becomes an update of the map. Where two arguments may fail, or do something, the order can be noticed.
  @moduledoc false

  alias Mote.Behaviour.{AST, IR}
  alias Mote.Prelude

  # Asked of the compiler that is here.
  {element, []} = Code.eval_string("&elem(&1.(), &2.())")

  turns? =
    try do
      element.(fn -> throw(0) end, fn -> throw(1) end)
    catch
      first -> first == 1
    end

  # The places of the arguments, in the order of their evaluation.
  turned = %{
    :elem => [1, 0],
    :put_elem => [1, 0, 2],
    :map_fetch => [1, 0],
    :map_delete => [1, 0],
    :map_has_key => [1, 0],
    :member => [1, 0],
    {Prelude.Map, :replace!, 3} => [1, 2, 0],
    {Prelude.Maps, :put, 3} => [2, 0, 1]
  }

  for {called, places} <- turned, turns? do
    defp places(unquote(Macro.escape(called)), _), do: unquote(places)
  end

  defp places(_, count), do: Enum.to_list(0..(count - 1)//1)

  @doc "Emits the arguments of an operation or a function; returns their operands, as they were written, and the builder."
  @spec operands(term, [AST.expr()], map) :: {[term], map}
  def operands(called, es, g)

  # A list that is written in place is compared with one by one, behind the value.
  def operands(:member, [_, {form, _, _, _}] = es, g) when form == :cons, do: IR.operands(es, g)

  def operands(called, es, g) do
    {os, g} = called |> turned(es) |> IR.operands(g)
    {called |> places(length(es)) |> Enum.zip(os) |> Enum.sort() |> Enum.map(&elem(&1, 1)), g}
  end

  @doc "Arguments in the order of their evaluation. Of two, what this makes of that is again what was written."
  @spec turned(term, [term]) :: [term]
  def turned(called, args), do: for(at <- places(called, length(args)), do: Enum.at(args, at))
end
