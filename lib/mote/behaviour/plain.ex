defmodule Mote.Behaviour.Plain do
  # What a module with behaviours tells of itself: `__mote__/1`, with its unit, and the functions of its delegates. The functions
  # that people call, and turns, are made by `Mote.Behaviour.Source`. Calls of other modules are checked when all modules are
  # there, by `Mote.Behaviour.Warnings`.
  @moduledoc false

  alias Mote.Behaviour.{AST, Delegate, Flow, IR}
  alias Mote.Behaviour.Check.Stash

  @doc "The code to be put at the end of the module."
  @spec unit(map, [map], [module], {binary, non_neg_integer, binary}) :: Macro.t()
  def unit(unit, delegates, required, {binary, hash, lines}) do
    {functions, actors} = Enum.split_with(unit.codes, &Flow.function?/1)
    public = Enum.filter(functions, & &1.public)
    {changes, actors} = Enum.split_with(actors, & &1.change)
    delegated = for %{delegate: {module, _, _}} when module != nil <- delegates, do: module
    imports = (delegated ++ Enum.flat_map(unit.codes, &modules(&1.body))) |> Enum.uniq() |> Enum.sort()

    references =
      for {kind, {_, name, _} = function, line} <- Enum.flat_map(unit.codes, &references(&1.body)),
          uniq: true,
          do: {kind, function, line, unit.columns[{line, {:call, name}}]}

    references = Enum.sort_by(references, &elem(&1, 2))

    called = for {:function, function, _, _} <- references, uniq: true, do: function

    quote generated: true do
      unquote_splicing(for module <- required, do: quote(do: require(unquote(module))))
      @compile {:no_warn_undefined, unquote(Macro.escape(called))}
      @after_verify {Mote.Behaviour.Warnings, :undefined}

      unquote_splicing(Delegate.functions(delegates))
      unquote(if delegates != [], do: exported(delegates))

      @doc false
      def __mote__(:unit), do: unquote(binary)
      def __mote__(:hash), do: unquote(hash)
      def __mote__(:lines), do: unquote(lines)
      def __mote__(:errors), do: unquote(unit.errors)
      def __mote__(:messages), do: unquote(unit.messages |> Map.new() |> Macro.escape())
      def __mote__(:behaviours), do: unquote(names(actors))
      def __mote__(:stashing), do: unquote(actors |> Enum.filter(&Stash.capture?(&1.params)) |> names())
      def __mote__(:changes), do: unquote(names(changes))
      def __mote__(:functions), do: unquote(names(public))
      def __mote__(:effects), do: unquote(functions |> Enum.filter(&written_effect?/1) |> names())
      def __mote__(:delegates), do: unquote(Macro.escape(Delegate.table(delegates)))
      def __mote__(:imports), do: unquote(imports)
      def __mote__(:references), do: unquote(Macro.escape(references))
      def __mote__(:beam), do: unquote(actors |> Enum.filter(& &1.beam) |> names())
      def __mote__(:safe), do: unquote(actors |> Enum.reject(& &1.becomes) |> names())
      unquote_splicing(Enum.map(public, &call(&1, hash)))
      def __mote__({:call, _name, _arity}), do: nil
    end
  end

  # Looked up for every call: without making an atom each time.
  defp call(code, hash) do
    quote do
      def __mote__({:call, unquote(code.name), unquote(code.arity)}),
        do: unquote({IR.call_name(code.name, code.arity), hash})
    end
  end

  # Not what loops in an effect have become.
  defp written_effect?(code), do: code.kind == :effect and code.args != nil

  defp names(codes), do: Enum.map(codes, &name/1)
  defp name(code), do: {code.name, code.arity}

  defp modules(node) do
    own =
      case node do
        {tag, _, {module, _, _}, _} when tag in [:call, :tail_call, :become] -> [module]
        {:create, _, {module, _, _}, _, _} -> [module]
        _ -> []
      end

    Enum.reject(own, &is_nil/1) ++ Enum.flat_map(AST.children(node), &modules/1)
  end

  # The functions and behaviours of other modules, with the lines at which they are named.
  defp references(node) do
    own =
      case node do
        {tag, l, {module, _, _} = function, _} when tag in [:call, :tail_call] and module != nil ->
          [{:function, function, l}]

        {:become, l, {module, _, _} = behaviour, _} when module != nil ->
          [{:behaviour, behaviour, l}]

        {:create, l, {module, _, _} = behaviour, _, _} when module != nil ->
          [{:behaviour, behaviour, l}]

        _ ->
          []
      end

    own ++ Enum.flat_map(AST.children(node), &references/1)
  end

  # Modules that name a delegate have it replaced when they are compiled, and require the module that defines it. Mix
  # compiles those again when the exports of a required module change: so what delegates stand for is part of a name.
  defp exported(delegates) do
    name = :"mote delegates #{delegates |> Delegate.table() |> :erlang.phash2()}"

    quote generated: true do
      @doc false
      def unquote(name)(), do: nil
    end
  end
end
