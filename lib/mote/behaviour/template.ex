defmodule Mote.Behaviour.Template do
  # Functions that take functions, as source: `deftemplate any?([x | rest], fun), do: …`. They are written like
  # `defpure`, and call `fun.(x)`, themselves and each other. A function that is written in place is fastest as part of the code, so
  # each call gets code of its own, made by `Mote.Behaviour.Syntax.Templates`. In plain Elixir they are functions, which take the place of
  # those that a release of Elixir lacks.
  #
  # 1. A parameter whose name begins with `fun` in the first clause is a function; it is handed on as it is.
  # 2. A range that a call has in place is a list by then, except for a parameter whose name begins with `walked` in the
  #    first clause: that gets the range. What is gone through is called `walked…` or `source` there.
  # 3. No call of a template stands inside of a `fn` that another one is given.
  @moduledoc false

  defmacro __using__(_) do
    quote do
      import Mote.Behaviour.Template, only: [deftemplate: 2]
      Module.register_attribute(__MODULE__, :mote_templates, accumulate: true)
      @before_compile Mote.Behaviour.Template
    end
  end

  @doc "Notes one clause of a template."
  defmacro deftemplate(head, do: body) do
    {head, guards} = Mote.Behaviour.Syntax.split_guards(head)
    {name, _, args} = head
    [args, guards, body] = Macro.prewalk([args, guards, body], &bare(&1, __CALLER__))
    clause = Macro.escape({args, guards, body})

    quote do
      @mote_templates {unquote(name), unquote(length(args)), unquote(clause)}
    end
  end

  # What is in the code of the caller has the caller's line and the modules that are meant here.
  defp bare({:__aliases__, _, _} = alias, env), do: Macro.expand(alias, env)
  defp bare({form, meta, args}, _), do: {form, [generated: true] ++ Keyword.take(meta, [:no_parens]), args}
  defp bare(other, _), do: other

  defmacro __before_compile__(env) do
    templates =
      env.module
      |> Module.get_attribute(:mote_templates)
      |> Enum.reverse()
      |> Enum.group_by(fn {name, arity, _} -> {name, arity} end, &elem(&1, 2))

    # In that module their names are those of templates.
    own = for {key, _} <- templates, key in (Kernel.__info__(:functions) ++ Kernel.__info__(:macros)), do: key

    quote do
      import Kernel, except: unquote(own), warn: false
      unquote_splicing(for {{name, _}, clauses} <- templates, clause <- clauses, do: function(name, clause))
      @doc false
      def __templates__, do: unquote(Macro.escape(templates))
    end
  end

  defp function(name, {args, [], body}),
    do: quote(do: def(unquote(name)(unquote_splicing(args)), do: unquote(body)))

  defp function(name, {args, [guard], body}),
    do: quote(do: def(unquote(name)(unquote_splicing(args)) when unquote(guard), do: unquote(body)))
end
