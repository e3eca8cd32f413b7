defmodule Mote.Behaviour.Flow do
  # Fourth pass: tail calls are marked, and every piece of code learns whether it has effects and whether it (or a
  # function it calls) becomes. A behaviour that never becomes is safe: its turns may run in parallel.
  @moduledoc false

  alias Mote.Behaviour.{AST, Code}

  @effects [:self, :create, :send, :sendx, :send_after, :monitor, :cancel_timer, :become, :unstash]

  @doc "The unit with tail calls, `effects` and `becomes`."
  @spec unit(map) :: map
  def unit(unit) do
    callers = callers(unit.codes)
    effects = spread(for(code <- unit.codes, AST.any?(code.body, &effect?/1), do: key(code)), callers)
    becomes = spread(for(code <- unit.codes, AST.any?(code.body, &become?/1), do: key(code)), callers)

    codes =
      for code <- unit.codes do
        body = if function?(code), do: tail(code.body), else: code.body
        %{code | effects: key(code) in effects, becomes: key(code) in becomes or code.beam, body: body}
      end

    %{unit | codes: codes}
  end

  # The codes that call each function of the unit.
  defp callers(codes) do
    for code <- codes, called <- called(code.body), reduce: %{} do
      callers -> Map.update(callers, called, [key(code)], &[key(code) | &1])
    end
  end

  defp called(node) do
    inside = node |> AST.children() |> Enum.flat_map(&called/1)

    case node do
      {:call, _, {nil, name, arity}, _} -> [{:function, name, arity} | inside]
      _ -> inside
    end
  end

  # A behaviour may have the name of a loop's function: nobody calls it.
  defp key(code), do: {if(function?(code), do: :function, else: :behaviour), code.name, code.arity}

  # What some codes do, those that call them do as well.
  defp spread(found, callers, all \\ MapSet.new())
  defp spread([], _, all), do: all

  defp spread([key | rest], callers, all) do
    if key in all,
      do: spread(rest, callers, all),
      else: spread(Map.get(callers, key, []) ++ rest, callers, MapSet.put(all, key))
  end

  @doc "Returns whether a code is a function; behaviours never call in tail position."
  def function?(%Code{kind: kind}) when kind != :actor, do: true
  def function?(%Code{public: false}), do: true
  def function?(_), do: false

  defp effect?(node), do: elem(node, 0) in @effects
  defp become?(node), do: elem(node, 0) == :become

  defp tail({:call, l, function, args}), do: {:tail_call, l, function, args}
  defp tail({:apply, l, place, es}), do: {:tail_apply, l, place, es}
  defp tail({:block, l, es}), do: {:block, l, List.update_at(es, -1, &tail/1)}
  defp tail({:if, l, test, yes, no}), do: {:if, l, test, tail(yes), tail(no)}

  defp tail({:case, l, e, clauses, fail}) do
    clauses =
      for {:clause, l, pattern, guards, body} <- clauses,
          do: {:clause, l, pattern, guards, tail(body)}

    {:case, l, e, clauses, fail}
  end

  defp tail({:cond, l, clauses}),
    do: {:cond, l, for({test, body} <- clauses, do: {test, tail(body)})}

  defp tail({tag, l, a, b}) when tag in [:and, :or, :both, :either], do: {tag, l, a, tail(b)}
  defp tail(other), do: other
end
