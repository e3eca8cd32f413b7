defmodule Mote.Behaviour.Flow do
  # Fourth pass: tail calls are marked, and every piece of code learns whether it has effects and whether it (or a
  # loop it calls) becomes. A behaviour that never becomes is safe: its turns may run in parallel.
  @moduledoc false

  alias Mote.Behaviour.{AST, Code}

  @effects [:self, :create, :send, :sendx, :send_after, :cancel_timer, :become]

  @doc "The unit with tail calls, `effects` and `becomes`."
  @spec unit(map) :: map
  def unit(unit) do
    # Lifted loops stand before the code that calls them, so that one walk is enough.
    {codes, _} = Enum.map_reduce(unit.codes, %{}, &code/2)
    %{unit | codes: codes}
  end

  defp code(code, known) do
    effects = AST.any?(code.body, &(effect?(&1) or inherits?(&1, known, :effects)))
    becomes = AST.any?(code.body, &(elem(&1, 0) == :become or inherits?(&1, known, :becomes)))
    body = if function?(code), do: tail(code.body), else: code.body
    code = %{code | effects: effects, becomes: becomes, body: body}
    {code, if(code.public, do: known, else: Map.put(known, code.name, code))}
  end

  @doc "Whether a code is a function; behaviours never call in tail position."
  def function?(%Code{kind: :pure}), do: true
  def function?(%Code{public: false}), do: true
  def function?(_), do: false

  defp effect?(node), do: elem(node, 0) in @effects

  defp inherits?({:call, _, {nil, name, _}, _}, known, key) do
    case known do
      %{^name => code} -> Map.fetch!(code, key)
      _ -> false
    end
  end

  defp inherits?(_, _, _), do: false

  defp tail({:call, l, function, args}), do: {:tail_call, l, function, args}
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
