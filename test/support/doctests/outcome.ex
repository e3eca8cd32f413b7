defmodule Mote.Doctests.Outcome do
  @moduledoc """
  What came of an example in Elixir, and of the same as a behaviour: answers are compared by `===` and by their bytes, whole.
  """

  @chance ~r/Enum\.(random|shuffle|take_random)|uniform|phash2\(fn/

  # What guides/language-details.md says of these, under "Differences in rare cases": they are those of the newest release, whichever runs; and
  # guides/language.md under "What is left out", which sigma ends a word.
  @otherwise [
    ~r/Range\.(disjoint\?|split)/,
    ~r/Integer\.extended_gcd/,
    ~r/(Keyword|Access)\.get_and_update!?/,
    ~r/String\.(bag_distance|valid\?)/,
    ~r/String\.(downcase|capitalize)\(.*(greek|literal1)/,
    # Functions have no text in a machine.
    ~r/inspect\((&|fn)/,
    # What should be a function is looked at where it is called.
    ~r/:(lists|maps|ordsets)\.(all|any|foreach|\w*(while|filter|map|fold|foldl|foldr)|partition|search|splitwith|sort)\((literal1|fn)/
  ]
  # Of these only the sign of a zero is.
  @zeros ~r/Float\.(round|ceil|floor)|abs\(-|^\+/

  @doc "Whether nobody can know the answer: it is random, or stands for a function."
  def chance?(text), do: text =~ @chance

  @doc "Whether the guide tells of an answer; machines are of one mind."
  def told?(text, expected, [one, other]) do
    same?(one, other) and
      (Enum.any?(@otherwise, &(text =~ &1)) or
         (text =~ @zeros and expected == {:value, 0.0} and one == {:value, 0.0}))
  end

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
