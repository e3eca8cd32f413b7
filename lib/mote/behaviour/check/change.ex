defmodule Mote.Behaviour.Check.Change do
  # `become size: size - 1`: a become of the same behaviour in which the captures that are not named keep
  # their values. It becomes the node of the long form, so it costs the same. Part of the check pass.
  #
  # 1. The value that is kept is that of the capture at the start of the turn. A variable of the same name
  #    that the clause has bound since is another variable: the compiler warns about it.
  # 2. The values are calculated in the order in which they are written.
  @moduledoc false

  alias Mote.Behaviour.{AST, Error, Warnings}
  alias Mote.Behaviour.Check.Stash

  @doc "The become with these changes, `{name, checked expression}`, in the state of the check pass."
  @spec become(AST.line(), [{atom, AST.expr()}], map) :: {AST.expr(), map}
  def become(l, [{changed, _} | _], %{behaviour: nil} = s) do
    Error.raise_at(
      s,
      l,
      "become #{changed}: … names a capture of the behaviour that it stands in, and a defeffect has none: write become " <>
        "name(…), or give the value back to the clause, which becomes"
    )
  end

  def become(l, changes, %{behaviour: {name, captures}} = s) do
    for {changed, _} <- changes, do: capture!(changed, name, captures, l, s)
    shadowed(changes, captures, l, s)
    {before, changes, s} = in_order(changes, captures, l, s)

    values =
      for {{capture, _}, variable} <- captures do
        with {_, value} <- List.keyfind(changes, capture, 0, {:var, l, variable}), do: value
      end

    {AST.block(l, before ++ [{:become, l, {nil, name, length(captures)}, values}]), s}
  end

  defp capture!(changed, name, captures, l, s) do
    # That for what is stashed has no name that can be written.
    names = for {{capture, _} = written, _} <- captures, not Stash.capture?([written]), do: capture

    cond do
      List.keymember?(Enum.map(captures, &elem(&1, 0)), changed, 0) ->
        :ok

      names == [] ->
        Error.raise_at(
          s,
          l,
          "#{name} has no captures, so there is nothing that become #{changed}: … could change"
        )

      true ->
        Error.raise_at(
          s,
          l,
          "#{name} has no capture #{changed}, it has #{Enum.join(names, ", ")}" <>
            Error.suggestion(to_string(changed), Enum.map(names, &to_string/1))
        )
    end
  end

  defp shadowed(changes, captures, l, s) do
    # As everywhere, of variables written by hand.
    for {{name, nil} = key, variable} <- captures,
        not List.keymember?(changes, name, 0),
        Map.get(s.scope, key) != variable do
      env = %{s.names.env | function: {elem(s.behaviour, 0), length(captures)}}
      Warnings.kept(name, l, s.columns, env)
    end
  end

  # Values in the order of the captures need no names.
  defp in_order(changes, captures, l, s) do
    places =
      for {name, _} <- changes, do: Enum.find_index(captures, fn {{capture, _}, _} -> capture == name end)

    if places == Enum.sort(places) do
      {[], changes, s}
    else
      {matches, {changes, s}} =
        Enum.map_reduce(changes, {[], s}, fn {name, value}, {changes, s} ->
          variable = {name, s.next}
          match = {:match, l, {:bind, l, variable}, value}
          {match, {[{name, {:var, l, variable}} | changes], %{s | next: s.next + 1}}}
        end)

      {matches, changes, s}
    end
  end
end
