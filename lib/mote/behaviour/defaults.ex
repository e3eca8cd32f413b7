defmodule Mote.Behaviour.Defaults do
  # Default arguments, `defpure f(a, b \\ 1)`: as in Elixir, for each argument that may be left out there is one more
  # definition, with fewer arguments, that calls the one with all of them. Those of a `defactor` are delegates, so what
  # its captures have as defaults are constants.
  @moduledoc false

  alias Mote.Behaviour.{Delegate, Error, Syntax}

  @doc """
  The arguments without their defaults; and the definitions with fewer arguments, `{head, body, doc}`.

  Raises for defaults that are given twice, and for defaults of captures that are not constants.
  """
  @spec split(atom, atom, [Macro.t()], Macro.t() | nil, Macro.Env.t()) ::
          {[Macro.t()], [{Macro.t(), keyword, String.t()}]}
  def split(kind, name, args, body, env) do
    count = Enum.count(args, &default?/1)
    text = "#{name}/#{length(args)}"

    if count == 0 and body == nil,
      do: Module.put_attribute(env.module, :mote_heads, {{name, length(args)}, env.line})

    cond do
      kind == :actor -> Enum.each(args, &constant!(&1, env))
      count > 0 -> once(name, length(args), body, text, env)
      true -> :ok
    end

    shorter = for given <- 0..(count - 1)//1, do: shorter(kind, name, args, given, env)
    {Enum.map(args, &without/1), shorter}
  end

  @doc "Raises for a head without a body that no clauses follow, as those of `definitions`."
  @spec bodies([map], Macro.Env.t()) :: :ok
  def bodies(definitions, env) do
    heads = Module.get_attribute(env.module, :mote_heads)
    Module.delete_attribute(env.module, :mote_heads)

    for {{name, arity}, line} <- Enum.reverse(heads),
        not Enum.any?(definitions, &(&1.name == name and &1.arity == arity)) do
      Error.raise_at(
        env,
        line,
        "#{name}/#{arity} needs a do block: a head without one stands before the clauses, with a doc, a spec or defaults, b \\\\ 1"
      )
    end

    :ok
  end

  defp default?({:\\, _, [_, _]}), do: true
  defp default?(_), do: false

  defp without({:\\, _, [arg, _]}), do: arg
  defp without(arg), do: arg

  defp constant!({:\\, _, [capture, default]}, env) do
    if Delegate.constant(Syntax.expr(default, env)) == :error do
      Error.raise_at(
        env,
        env.line,
        "the default of the capture #{Macro.to_string(capture)} must be a constant, made of literals, got: " <>
          "#{Macro.to_string(default)}; pass the value where the actor is created"
      )
    end
  end

  defp constant!(_, _), do: :ok

  # The newest first.
  defp given(name, arity, env),
    do: for({{^name, ^arity}, _, _} = given <- Module.get_attribute(env.module, :mote_defaults), do: given)

  defp once(name, arity, body, text, env) do
    case given(name, arity, env) do
      [] ->
        Module.put_attribute(
          env.module,
          :mote_defaults,
          {{name, arity}, env.line, if(body, do: :body, else: :head)}
        )

      [{_, line, _} | _] ->
        Error.raise_at(
          env,
          env.line,
          "the defaults of #{text} are given at line #{line}: several clauses have them in one head before all of " <>
            "them, without a body"
        )
    end
  end

  # The first `given` of the arguments with a default are given.
  defp shorter(kind, name, args, given, env) do
    {arguments, _} =
      Enum.map_reduce(Enum.with_index(args), 0, fn
        {{:\\, _, [_, default]}, _}, seen when seen >= given -> {{:default, default}, seen + 1}
        {{:\\, _, [arg, _]}, n}, seen -> {{:given, variable(kind, arg, n)}, seen + 1}
        {arg, n}, seen -> {{:given, variable(kind, arg, n)}, seen}
      end)

    parameters = for {:given, variable} <- arguments, do: variable
    meta = [line: env.line, generated: true]
    call = {name, meta, Enum.map(arguments, &elem(&1, 1))}
    doc = "`#{name}/#{length(args)}` with the defaults of the last arguments that have one."
    {{name, meta, parameters}, [{if(kind == :actor, do: :to, else: :do), call}], doc}
  end

  # In documentation captures have their names; defaults do not see the other arguments.
  defp variable(:actor, capture, _), do: capture
  defp variable(_, _, n), do: Macro.var(:"argument#{n + 1}", __MODULE__)
end
