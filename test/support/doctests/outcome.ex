defmodule Mote.Doctests.Outcome do
  @moduledoc """
  What came of an example in Elixir, and of the same as a behaviour: answers are compared by `===` and by their bytes, whole.
  """

  @doc "The value of `fun`, or that it raises."
  def attempt(fun) do
    {:value, fun.()}
  rescue
    _ -> :raises
  catch
    _, _ -> :raises
  end

  @doc "The same of an actor's answer."
  def answer({:ok, value}), do: {:value, value}
  def answer({:error, %{reason: :aborted}}), do: :raises
  def answer({:error, error}), do: {:no_answer, error}

  @doc "Whether all answers are the expected one, or some turn was aborted, or there is another value."
  def outcome(expected, answers) do
    cond do
      Enum.all?(answers, &same?(&1, expected)) -> :same
      Enum.all?(answers, &(&1 == :raises or same?(&1, expected))) -> :aborted
      true -> :wrong
    end
  end

  @doc "Whether nobody can tell one from the other."
  def same?(a, b) do
    {a, b} = {seen(a), seen(b)}
    a === b and :erlang.term_to_binary(a) == :erlang.term_to_binary(b)
  end

  # Of a function it is seen how many arguments it takes.
  defp seen(%Mote.Function{arity: arity}), do: {:function, arity}
  defp seen(function) when is_function(function), do: {:function, :erlang.fun_info(function)[:arity]}
  defp seen([head | tail]), do: [seen(head) | seen(tail)]
  defp seen(tuple) when is_tuple(tuple), do: tuple |> Tuple.to_list() |> seen() |> List.to_tuple()

  defp seen(map) when is_map(map) do
    if Enum.any?(:maps.to_list(map), fn {key, value} -> seen(key) !== key or seen(value) !== value end),
      do: Map.new(:maps.to_list(map), &seen/1),
      else: map
  end

  defp seen(other), do: other
end
