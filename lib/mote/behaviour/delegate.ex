defmodule Mote.Behaviour.Delegate do
  # `defactor name(captures), to: Module.name(arguments)`: another name for a behaviour, under which some of its captures
  # are given already. Parses the definition, replaces references by what they stand for, and makes the Elixir function.
  # Nothing of a delegate reaches a machine: references are replaced by the check pass, in this and in other modules.
  #
  # A delegate is `{module | nil, name, [{:capture, n} | {:lit, term}]}`, for references `{name, arity}`. Captures occur
  # once each and in their order, so that the arguments of a reference are computed as they are written.
  @moduledoc false

  alias Mote.Behaviour.{AST, Error, Imports, Marks, Primitives}
  alias Mote.Behaviour.Syntax.Calls
  alias Mote.Prelude

  @type t :: {module | nil, atom, [{:capture, non_neg_integer} | {:lit, term}]}

  @doc "The delegate that `target` is, for a behaviour with these captures."
  @spec parse(Macro.t(), [tuple], Macro.Env.t()) :: t
  def parse(target, captures, env) do
    {{module, name, _arity}, arguments} = target(Calls.become(target, env), target, env)
    template = Enum.map(arguments, &argument(&1, captures, target, env))

    unless for({:capture, n} <- template, do: n) == Enum.to_list(0..(length(captures) - 1)//1) do
      fail(target, "must have each capture once, in their order", env)
    end

    {module, name, template}
  end

  defp target({:become, _, {_, _, _} = behaviour, arguments}, _, _), do: {behaviour, arguments}
  defp target(_sink, target, env), do: fail(target, "must be a behaviour with code", env)

  defp argument({:var, _, key}, captures, target, env) do
    case Enum.find_index(captures, &(&1 == key)) do
      nil -> fail(target, "can only use captures, and #{elem(key, 0)} is none", env)
      n -> {:capture, n}
    end
  end

  defp argument(node, _, target, env) do
    case constant(node) do
      {:ok, term} -> {:lit, term}
      :error -> fail(target, "can only have captures and constants as arguments", env)
    end
  end

  @doc "The value of what is made of literals alone, by the functions of the standard library too: `MapSet.new()`."
  @spec constant(AST.expr()) :: {:ok, term} | :error
  def constant({:lit, _, term}), do: {:ok, term}
  def constant({:tuple, _, es}), do: constants(es, &{:ok, List.to_tuple(&1)})
  def constant({:cons, _, h, t}), do: constants([h, t], fn [h, t] -> {:ok, [h | t]} end)

  def constant({:op, _, primitive, es}) do
    if Primitives.pure?(primitive) and primitive != :on,
      do: constants(es, &Mote.Total.answer(primitive, &1)),
      else: :error
  end

  def constant({:call, _, {module, name, _}, es}) do
    case if(module, do: Prelude.called(module, name), else: Imports.library(name)) do
      nil -> :error
      {own, function} -> constants(es, &{:ok, apply(own, function, &1)})
    end
  end

  def constant(_), do: :error

  defp constants(es, fun) do
    values = Enum.map(es, &constant/1)
    if :error in values, do: :error, else: values |> Enum.map(&elem(&1, 1)) |> answer(fun)
  end

  # What has none is no constant.
  defp answer(values, fun) do
    with :none <- fun.(values), do: :error
  rescue
    _no_answer -> :error
  end

  defp fail(target, what, env) do
    Error.raise_at(env, env.line, "what a defactor delegates to #{what}, got: #{Macro.to_string(target)}")
  end

  @doc "Resolves a reference to a delegate, with the arguments that it is given."
  @spec apply(t, module | nil, [AST.expr()], AST.line()) :: {{module | nil, atom, arity}, [AST.expr()]}
  def apply({own, name, template}, module, arguments, line) do
    {{own || module, name, length(template)}, Enum.map(template, &filled(&1, arguments, line))}
  end

  defp filled({:lit, term}, _, line), do: {:lit, line, term}
  defp filled({:capture, n}, arguments, _), do: Enum.at(arguments, n)

  @doc "The Elixir functions of delegates, and what `__mote__/1` tells of them."
  @spec functions([map]) :: [Macro.t()]
  def functions(definitions), do: Enum.map(definitions, &function/1)

  defp function(%{name: name, arity: arity, delegate: {module, target, template}} = definition) do
    variables = for {name, _} <- definition.captures, do: {name, [generated: true], nil}
    doc = if definition.doc == nil, do: default(definition, module || definition.module), else: definition.doc

    arguments =
      Enum.map(template, fn
        {:capture, n} -> Enum.at(variables, n)
        {:lit, term} -> Macro.escape(term)
      end)

    call = if module, do: {{:., [], [module, target]}, [], arguments}, else: {target, [], arguments}

    quote generated: true, line: definition.line do
      unquote_splicing(Marks.code(definition.marks))
      @doc unquote(doc)
      @spec unquote(name)(unquote_splicing(List.duplicate(quote(do: term), arity))) :: Mote.Behaviour.t()
      def unquote(name)(unquote_splicing(variables)), do: unquote(call)
    end
  end

  defp default(%{delegate: {_, name, template}}, module),
    do: "See `#{inspect(module)}.#{name}/#{length(template)}`."

  @doc "Delegates by name and arity."
  @spec table([map]) :: %{{atom, arity} => t}
  def table(definitions), do: Map.new(definitions, &{{&1.name, &1.arity}, &1.delegate})

  @doc "The definition of a delegate."
  @spec definition(Macro.t(), [tuple], Macro.Env.t()) :: map
  def definition(target, captures, env) do
    %{captures: captures, delegate: parse(target, captures, env), module: env.module}
  end
end
