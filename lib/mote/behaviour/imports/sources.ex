defmodule Mote.Behaviour.Imports.Sources do
  # Sources besides lists, maps, ranges and sets: streams, and structs with an `Enumerable` of their own. A module that
  # names one in `import:` has them. It then checks each source for them.
  #
  # 1. The functions here stand in the unit of that module, in place of the protocols: which structs there are is known when compiling.
  # 2. Of a source that may not end nobody takes more than Elixir does: `begun/1` goes step by step for what stops where it has found
  #    something (`Mote.Prelude.Enum.some/1`), and `limited/2` takes no more than are asked for. Everything else lists it.
  # 3. A value that is not such a source stays as it is, and the function that goes through it refuses it, or not.
  @moduledoc false

  # Of Enum, in place of those that list their source.
  @enum [
    at: 2,
    at: 3,
    chunk_every: 4,
    concat: 1,
    count_until: 2,
    empty?: 1,
    fetch: 2,
    fetch!: 2,
    slice: 2,
    slice: 3,
    take: 2,
    zip: 1,
    zip: 2
  ]

  # Of the protocols, as the library calls them.
  @protocols [{Collectable, :into, 1}, {Enumerable, :reduce, 3}]

  @doc "Functions of Enum that are had here."
  @spec enum() :: [{atom, arity}]
  def enum, do: @enum

  @doc "Returns whether a function is made here."
  @spec made?({module, atom, arity}) :: boolean
  def made?({Enumerable, name, arity}),
    do: {name, arity} in ([begun: 1, lazy?: 1, limited: 2, listed: 1, reduce: 3] ++ @enum)

  def made?(function), do: function in @protocols

  @doc "The clauses of one of them; `structs` are the structs that can be gone through, with their implementations."
  @spec clauses({module, atom, arity}, [{module, module}]) :: [{keyword, [Macro.t()], [Macro.t()], Macro.t()}]
  def clauses({_, name, arity}, structs) do
    {:__block__, _, definitions} = code(structs)

    for {:def, _, [head, [do: body]]} <- definitions,
        {{^name, _, args}, guards} <- [apart(head)],
        length(args) == arity,
        do: {[generated: true], args, guards, body}
  end

  defp apart({:when, _, [head, guard]}), do: {head, [guard]}
  defp apart(head), do: {head, []}

  defp code(structs) do
    of_structs =
      for {struct, implementation} <- structs do
        quote do
          def reduce(%{__struct__: unquote(struct)} = source, acc, fun),
            do: unquote(implementation).reduce(source, acc, fun)
        end
      end

    tests =
      for {struct, _} <- structs do
        quote do
          def lazy?(%{__struct__: unquote(struct)}), do: true
        end
      end

    # As Elixir's compiler would have left them.
    Macro.prewalk({:__block__, [], of_structs ++ tests ++ elem(fixed(), 2)}, fn
      {:__aliases__, _, parts} -> Module.concat(parts)
      other -> other
    end)
  end

  defp fixed do
    quote do
      def reduce(source, acc, fun) when :erlang.is_list(source), do: Enumerable.List.reduce(source, acc, fun)
      def reduce(source, acc, fun) when :erlang.is_function(source, 2), do: source.(acc, fun)
      def reduce(%{__struct__: Range} = range, acc, fun), do: Enumerable.Range.reduce(range, acc, fun)
      def reduce(source, acc, fun), do: Enumerable.List.reduce(Mote.Prelude.Enum.some(source), acc, fun)

      def lazy?(source), do: :erlang.is_function(source, 2)

      def listed(source) do
        case lazy?(source) do
          true ->
            :lists.reverse(
              :erlang.element(2, reduce(source, {:cont, []}, fn x, all -> {:cont, [x | all]} end))
            )

          false ->
            source
        end
      end

      def begun(source) do
        case lazy?(source) do
          true -> Mote.Prelude.Enum.next(fn acc -> reduce(source, acc, fn x, _ -> {:suspend, [x]} end) end)
          false -> source
        end
      end

      def limited(source, n) do
        case lazy?(source) do
          true when :erlang.>=(n, 0) -> listed(Stream.take(source, n))
          true -> listed(source)
          false -> source
        end
      end

      def at(source, index), do: Mote.Prelude.Enum.at(limited(source, :erlang.+(index, 1)), index, nil)

      def at(source, index, other),
        do: Mote.Prelude.Enum.at(limited(source, :erlang.+(index, 1)), index, other)

      def fetch(source, index), do: Mote.Prelude.Enum.fetch(limited(source, :erlang.+(index, 1)), index)
      def fetch!(source, index), do: Mote.Prelude.Enum.fetch!(limited(source, :erlang.+(index, 1)), index)

      def slice(source, start, n) when :erlang.andalso(:erlang.>=(start, 0), :erlang.>=(n, 0)),
        do: Mote.Prelude.Enum.slice(limited(source, :erlang.+(start, n)), start, n)

      def slice(source, start, n), do: Mote.Prelude.Enum.slice(listed(source), start, n)

      def slice(source, %{__struct__: Range, first: first, last: last} = range)
          when :erlang.andalso(:erlang.>=(first, 0), :erlang.>=(last, 0)),
          do: Mote.Prelude.Enum.slice(limited(source, :erlang.+(:erlang.max(first, last), 1)), range)

      def slice(source, range), do: Mote.Prelude.Enum.slice(listed(source), range)

      def take(source, n), do: Mote.Prelude.Enum.take(limited(source, n), n)
      def count_until(source, n), do: Mote.Prelude.Enum.count_until(limited(source, n), n)

      def chunk_every(source, n, step, leftover),
        do: Mote.Prelude.Enum.chunk_every(listed(source), n, step, limited(leftover, n))

      def empty?(source), do: Mote.Prelude.Enum.empty?(limited(source, 1))

      def concat(sources),
        do: Mote.Prelude.Enum.concat(Enum.map(listed(sources), fn source -> listed(source) end))

      def zip(a, b), do: zip([a, b])

      def zip(sources) do
        sources = listed(sources)

        case Enum.any?(sources, fn source -> lazy?(source) end) do
          true -> listed(Stream.zip(sources))
          false -> Mote.Prelude.Enum.zip(sources)
        end
      end

      def into(list) when :erlang.is_list(list), do: Collectable.List.into(list)
      def into(text) when :erlang.is_bitstring(text), do: Collectable.BitString.into(text)

      # The release's own looks into the set, and later ones do so by functions that a machine has not.
      def into(%{__struct__: MapSet} = set) do
        collect = fn
          set, {:cont, value} -> MapSet.put(set, value)
          set, :done -> set
          _set, :halt -> :ok
        end

        {set, collect}
      end

      def into(map) when :erlang.is_map(map), do: Collectable.Map.into(map)
    end
  end
end
