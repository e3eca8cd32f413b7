defmodule Mote.Raised.Reason do
  # The reason of a turn of the language that Elixir has run, where it raised: that of a machine, as far as the exception and its
  # stacktrace tell. An operation of Elixir's library that raised is its exception.
  @moduledoc false

  alias Mote.Behaviour.Primitives
  alias Mote.{Prelude, Turn}

  # In front of the line of a behaviour there may be what runs the words.
  @words [Mote.Behaviour.Beam, Turn.Stage]

  @doc "Returns the reason of an exception that a turn has raised."
  @spec of(Exception.t(), Exception.stacktrace()) :: term
  def of(exception, stack) do
    stack = Enum.drop_while(stack, &(elem(&1, 0) in @words))

    case Enum.find(stack, &unit?(elem(&1, 0))) do
      {module, _, _, place} ->
        failure = failure(exception, stack, module)
        placed(failure, exception, {module, place[:line] || 0})

      nil ->
        Turn.crashed(:error, exception, stack)
    end
  end

  @doc "Returns the reason of a value that a turn has thrown, and that nothing has caught."
  @spec of_thrown(term, Exception.stacktrace()) :: term
  def of_thrown(value, stack) do
    case Enum.find(stack, &unit?(elem(&1, 0))) do
      {module, _, _, place} -> {:raised, {module, place[:line] || 0, {:erlang, :throw}}, {value}}
      nil -> Turn.crashed(:throw, value, stack)
    end
  end

  defp unit?(module), do: function_exported?(module, :__mote__, 1) and not Prelude.part?(module)

  # What has failed, if it is an operation of the language, with its operands.
  defp failure(exception, [{module, name, arguments, _} | _], module) do
    case exception do
      %MatchError{term: term} -> {:badmatch, {term}}
      %CaseClauseError{term: term} -> {:case_clause, {term}}
      %WithClauseError{term: term} -> {:with_clause, {term}}
      %TryClauseError{term: term} -> {:try_clause, {term}}
      %CondClauseError{} -> {:cond_clause, {}}
      %FunctionClauseError{} -> clause(name, arguments)
      %BadFunctionError{term: term} -> {:apply, {term}}
      %BadArityError{function: function, args: arguments} -> {:apply, {function, arguments}}
      _ -> nil
    end
  end

  defp failure(_, [{:erlang, name, arguments, _}, {module, _, _, _} | _], module) when is_list(arguments) do
    primitive = Primitives.remote(:erlang, name, length(arguments))
    if primitive, do: {primitive, List.to_tuple(arguments)}
  end

  defp failure(_, _, _), do: nil

  defp clause(name, arguments) when is_list(arguments),
    do: {{:function_clause, name, length(arguments)}, {List.to_tuple(arguments)}}

  defp clause(_, _), do: nil

  defp placed(nil, exception, {module, line}), do: {:raised, {module, line, exception}, {}}

  defp placed({operation, arguments}, _, {module, line}) do
    case module.__mote__(:errors) do
      :abort -> {:raised, {module, line, operation}, arguments}
      :undefined -> unplaced(operation, arguments)
    end
  end

  # With `errors: :undefined` a value that matches no clause has a reason without a line.
  defp unplaced(:cond_clause, {}), do: :cond_clause
  defp unplaced({:function_clause, _, _}, _), do: :function_clause
  defp unplaced(:with_clause, {value}), do: {:case_clause, value}
  defp unplaced(operation, {value}), do: {operation, value}
  defp unplaced(operation, arguments), do: {operation, arguments}
end
