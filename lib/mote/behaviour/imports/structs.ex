defmodule Mote.Behaviour.Imports.Structs do
  # How `inspect` shows structs of the program: a clause for each of those that the module can know.
  #
  # 1. Those are its own, those that it names in its code, and those of the modules that it imports.
  # 2. Where a module has an implementation of `Inspect`, that is compiled, if the module is imported. Of others a machine
  #    does not know how they are shown.
  @moduledoc false

  alias Mote.Prelude.Inspected

  @doc "The clauses of a function of a struct and of the options, `:unknown` for all others; `imported` are the modules that are imported."
  @spec clauses([module], Macro.Env.t()) :: [{keyword, [Macro.t()], [Macro.t()], Macro.t()}]
  def clauses(imported, %{module: own} = env) do
    named = Module.get_attribute(own, :mote_structs) || []
    meta = [line: env.line, generated: true]

    known =
      for module <- Enum.uniq([own | imported ++ named]),
          fields = fields(module),
          body = body(module, fields, module in imported) do
        pattern = {:=, [], [quote(do: %{__struct__: unquote(module)}), variable(:struct)]}
        {meta, [pattern, variable(:opts)], [], body}
      end

    known ++ [{meta, [{:_, [], nil}, {:_, [], nil}], [], :unknown}]
  end

  defp variable(name), do: {name, [], __MODULE__}

  # In the order of their definition, with what is noted of each; nil of a module without a struct.
  defp fields(module) do
    noted =
      if Module.open?(module) do
        {set, _} = :elixir_module.data_tables(module)
        with [found] <- :ets.lookup(set, {:elixir, :struct}), do: elem(found, 1), else: (_ -> nil)
      else
        Code.ensure_loaded?(module) and function_exported?(module, :__info__, 1) and module.__info__(:struct)
      end

    if noted, do: Enum.reject(noted, &(&1.field in [:__struct__, :__exception__]))
  end

  defp body(module, fields, imported?) do
    implementation = Module.concat(Inspect, module)
    args = [variable(:struct), variable(:opts)]

    cond do
      not match?({:module, _}, Code.ensure_compiled(implementation)) ->
        name = Macro.inspect_atom(:literal, module)
        call(Inspected, :fields, args ++ [name, Macro.escape(fields)])

      imported? ->
        call(implementation, :inspect, args)

      true ->
        nil
    end
  end

  defp call(module, name, args), do: {{:., [], [module, name]}, [], args}
end
