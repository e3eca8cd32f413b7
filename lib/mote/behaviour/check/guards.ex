defmodule Mote.Behaviour.Check.Guards do
  # What a guard may consist of: variables, literals, tuples, lists, primitives, and/or. Part of the check pass.
  @moduledoc false

  alias Mote.Behaviour.{AST, Error, Primitives}
  alias Mote.Prelude

  @doc "Raises a Mote.CompileError for what cannot be in a guard."
  @spec check!(AST.expr(), map) :: :ok
  def check!({:op, l, primitive, args}, s) do
    unless Primitives.pure?(primitive), do: refuse(impure(primitive), l, s)
    Enum.each(args, &check!(&1, s))
  end

  def check!({tag, _, _}, _) when tag in [:lit, :var], do: :ok
  def check!({:tuple, _, es}, s), do: Enum.each(es, &check!(&1, s))

  def check!({tag, _, a, b}, s) when tag in [:and, :or, :cons] do
    check!(a, s)
    check!(b, s)
  end

  def check!(node, s), do: refuse(name(node), AST.line(node), s)

  defp impure(:now), do: "System.monotonic_time"
  defp impure(_random), do: ":rand.uniform"

  defp refuse(what, l, s) do
    Error.raise_at(
      s,
      l,
      "#{what} cannot be used in a guard: guards are made of variables, literals and primitives, " <>
        "joined by and, or, not. Decide it in the body, with if or case"
    )
  end

  defp name({:call, _, {nil, name, arity}, _}), do: "#{name}/#{arity}"

  defp name({:call, _, {module, name, arity}, _}) do
    # By the name that users know.
    case Prelude.called(module, name) do
      {module, name} -> "#{inspect(module)}.#{name}"
      nil -> "#{inspect(module)}.#{name}/#{arity}"
    end
  end

  # What is left of functions that are made where they are called.
  defp name(node) when elem(node, 0) in [:case, :letrec], do: "what is called here"
  defp name({:fn, _, _, _}), do: "fn"
  defp name({:apply, _, _, _}), do: "a call of a function that is a value"
  defp name({:both, _, _, _}), do: "&&"
  defp name({:either, _, _, _}), do: "||"
  defp name({:match, _, _, _}), do: "="
  defp name({:self, _}), do: "self()"
  defp name({:change, _, _, _}), do: "become"
  defp name({:gather, _, verb, _, _, _}), do: to_string(verb)
  defp name({:if, _, _, {:lit, _, false}, {:lit, _, true}}), do: "!"
  defp name({:loop, _, _, _}), do: "a loop"
  defp name({:block, _, _}), do: "a block"
  defp name(node), do: to_string(elem(node, 0))
end
