defmodule Mote.Behaviour.Source.Gathers do
  # `gather(customer, count, initial, fun)` in plain Elixir: the behaviour that the loops pass makes of the function
  # (loops/gather.ex), of the same name and with the same captures, so that machine and plain Elixir know the same actors.
  @moduledoc false

  alias Mote.Behaviour.{Beam, Code}
  alias Mote.Behaviour.Source.Turns
  alias Mote.Turn.Stage

  @type t :: %{{String.t(), line :: pos_integer} => [Code.t()]}

  @doc "The codes of gathers, by the function and the line that they are written in."
  @spec of([Code.t()]) :: t
  def of(codes) do
    for %Code{kind: :actor} = code <- codes,
        [_, written, line, n] <- [Regex.run(~r"\A(.*) gather (\d+):(\d+)\z"s, Atom.to_string(code.name))] do
      {{written, String.to_integer(line)}, String.to_integer(n), code}
    end
    |> Enum.sort_by(&elem(&1, 1))
    |> Enum.group_by(&elem(&1, 0), &elem(&1, 2))
  end

  @doc "Code in which gathers make their behaviours; and the functions that are the turns of these."
  @spec rewritten(Macro.t(), {atom, arity}, map) :: {Macro.t(), [Macro.t()]}
  def rewritten(ast, _, %{gathers: none}) when none == %{}, do: {ast, []}

  def rewritten(ast, {name, arity}, unit) do
    {ast, {_, functions}} =
      Macro.prewalk(ast, {unit.gathers, []}, fn
        {:gather, meta, [customer, count, initial, {form, _, _} = fun]} = node, {left, functions}
        when form in [:fn, :&] ->
          key = {"#{name}/#{arity}", meta[:line]}

          case left do
            %{^key => [code | rest]} ->
              free = free(code, fun)
              made = made(code, free, unit)
              left = Map.put(left, key, rest)

              {{{:., [], [Beam, :gather]}, meta, [customer, count, initial, made]},
               {left, [turn(code, fun, free, unit) | functions]}}

            _ ->
              {node, {left, functions}}
          end

        node, acc ->
          {node, acc}
      end)

    {ast, functions}
  end

  # What the function uses from outside, as it is written there.
  defp free(code, fun) do
    {_, written} =
      Macro.prewalk(fun, %{}, fn
        {name, meta, context} = variable, seen when is_atom(name) and is_atom(context) ->
          {variable, Map.put_new(seen, name, {name, Keyword.take(meta, [:counter]), context})}

        node, seen ->
          {node, seen}
      end)

    for {name, _} <- code.params |> Enum.drop(3) |> Enum.drop(-1), do: Map.get(written, name, {name, [], nil})
  end

  defp made(code, free, unit) do
    given = Macro.generate_arguments(3, __MODULE__)
    quote(do: fn unquote_splicing(given) -> unquote(Turns.behaviour(code.name, given ++ free, unit)) end)
  end

  defp turn(code, fun, free, unit) do
    again = quote(do: [customer, missing - 1, sum])

    quote generated: true do
      @doc false
      def unquote(Beam.function(code.name))(customer, missing, sum, unquote_splicing(free), report) do
        sum = unquote(fun).(report, sum)

        if missing > 1 do
          Stage.become(unquote(Turns.behaviour(code.name, again ++ free, unit)))
        else
          Stage.send(customer, sum)
          Stage.become(:sink)
        end

        :commit
      end
    end
  end

  @doc "The codes of all gathers."
  @spec codes(t) :: [Code.t()]
  def codes(gathers), do: Enum.concat(Map.values(gathers))
end
