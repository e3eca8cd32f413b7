defmodule Mote.Behaviour.Check.Misread do
  # Code that reads as one thing and means another by Elixir's grammar: `customer ! message` is a call of `customer` with
  # `!message`, and in `become counter(count: 1)` a list is the capture. Part of the check pass; texts are for its errors.
  @moduledoc false

  alias Mote.Behaviour.{AST, Error, Warnings}
  alias Mote.Behaviour.Check.Stash
  alias Mote.Behaviour.Syntax.Hints

  @doc "Guesses what a call of a function that does not exist was meant to be, or returns nil."
  @spec call({module | nil, atom, arity}, [AST.expr()], map) :: String.t() | nil
  def call({nil, name, 1}, [argument], scope) do
    case {variable?(name, scope), argument} do
      {true, {:if, _, _, {:lit, _, false}, {:lit, _, true}}} ->
        "there is no operator ! that sends: write send #{name}, message"

      {true, {:call, _, {nil, :xor, 1}, _}} ->
        "there is no operator xor: #{Hints.word(:xor)}"

      _ ->
        nil
    end
  end

  def call(_, _, _), do: nil

  defp variable?(name, scope), do: Enum.any?(scope, &match?({{^name, _}, _}, &1))

  @doc """
  Tells of a become, in that state of the check pass, whose only capture is a keyword list, where all keys of it are names of
  captures of that behaviour. Raises where the behaviour has no such number of captures.
  """
  @spec become({module | nil, atom, arity} | :sink, [AST.expr()], AST.line(), map) :: :ok
  def become({nil, name, 1}, [argument], l, %{names: names} = s) do
    keys = keys(argument)

    if keys not in [nil, []] and keys -- captures(name, names.definitions) == [],
      do: listed(name, Enum.map_join(keys, ", ", &"#{&1}: …"), l, s),
      else: :ok
  end

  def become(_, _, _, _), do: :ok

  defp listed(name, changes, l, %{names: names} = s) do
    same = match?({^name, _}, s.behaviour)

    instead =
      if same, do: "write become #{changes}", else: "write the values without the names, become #{name}(…)"

    message = "become #{name}(#{changes}) makes a keyword list the capture of #{name}: #{instead}"

    if {name, 1} in names.behaviours or is_map_key(names.delegates, {name, 1}),
      do: Warnings.listed(message, l, s),
      else: Error.raise_at(s, l, message, {:call, :become})
  end

  # One with defaults may be given one of several.
  defp captures(name, definitions) do
    written =
      for %{kind: :actor, name: ^name, captures: captures} <- definitions,
          do: for({capture, _} = key <- captures, not Stash.capture?([key]), do: capture)

    Enum.find(written, Enum.concat(written), &match?([_], &1))
  end

  defp keys({:lit, _, list}), do: if(Keyword.keyword?(list), do: Keyword.keys(list))

  defp keys({:cons, _, pair, rest}) do
    with key when is_atom(key) and key != nil <- key(pair),
         keys when is_list(keys) <- keys(rest),
         do: [key | keys],
         else: (_ -> nil)
  end

  defp keys(_), do: nil

  defp key({:lit, _, {key, _}}), do: key
  defp key({:tuple, _, [{:lit, _, key}, _]}), do: key
  defp key(_), do: nil
end
