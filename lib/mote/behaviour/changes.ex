defmodule Mote.Behaviour.Changes do
  # What becomes of actors that have other captures than the new version of their behaviour: `defchange`, and captures with
  # defaults, which are filled by themselves. Neither is anything new for a machine:
  #
  # 1. A change is a behaviour of the name and the captures that the older version had. Whatever message comes, it becomes what is
  #    to go on, and `again()`. A machine has actors run a new version from their next turn on (succession.rs), so that is the
  #    first thing they do in it.
  # 2. Elixir does not see it: there is no function that makes such a behaviour.
  # 3. What has defaults behind its other captures has a change for each number of them that may be given: its first captures are the
  #    older version's, in their order. One that is written takes its place.
  # 4. What stashes has one capture more, in both versions. What was stashed stays stashed where defaults are filled, and is taken
  #    up again, before the message, where a change is written.
  @moduledoc false

  alias Mote.Behaviour.{Code, Error}
  alias Mote.Behaviour.Check.Stash

  # No name that can be written.
  @suffix " change"

  @doc "The name of the behaviour that is a change, and its clause, from what is written."
  @spec written(atom, Macro.t(), Macro.Env.t()) :: {atom, keyword}
  def written(name, [do: body], env) do
    clause = {:->, [generated: true], [[{:_, [], nil}], becoming(body, env)]}
    {:"#{name}#{@suffix}", [do: [clause]]}
  end

  def written(name, _, env),
    do:
      Error.raise_at(
        env,
        env.line,
        "defchange needs a do block, which ends with a behaviour: defchange #{name}(…), do: …"
      )

  # The last of each path is the behaviour.
  defp becoming({:__block__, meta, [_ | _] = statements}, env) do
    {before, [last]} = Enum.split(statements, -1)
    {:__block__, meta, before ++ [becoming(last, env)]}
  end

  defp becoming({branch, meta, args}, env) when branch in [:if, :unless, :case, :cond] and is_list(args) do
    {before, [sections]} = Enum.split(args, -1)

    if branch in [:if, :unless] and not match?([_, _], sections),
      do: no_behaviour!(branch, Error.at(env, meta))

    {branch, meta, before ++ [if(Keyword.keyword?(sections), do: sections(sections, env), else: sections)]}
  end

  defp becoming(behaviour, _env), do: {:__block__, [], [{:become, [], [behaviour]}, {:again, [], []}]}

  defp no_behaviour!(branch, env) do
    Error.raise_at(
      env,
      env.line,
      "each path through a defchange ends with a behaviour, and this #{branch} has no else: write what actors become there"
    )
  end

  defp sections(sections, env) do
    for {section, body} <- sections do
      case body do
        [{:->, _, _} | _] ->
          {section, for({:->, meta, [left, right]} <- body, do: {:->, meta, [left, becoming(right, env)]})}

        body ->
          {section, becoming(body, env)}
      end
    end
  end

  @doc "Definitions in which changes of behaviours that stash have what these keep."
  @spec definitions([map], Macro.Env.t()) :: [map]
  def definitions(definitions, env) do
    actors = for %{kind: :actor, change: nil} = d <- definitions, into: %{}, do: {{d.name, d.arity}, d}
    stashing = for {{name, _}, d} <- actors, Stash.capture?(d.captures), do: name

    Enum.map(definitions, fn
      %{change: name} = d when name != nil ->
        d = if name in stashing, do: with_kept(d), else: d
        if is_map_key(actors, {name, d.arity}), do: present!(d, env), else: d

      d ->
        d
    end)
  end

  defp with_kept(d) do
    {:\\, _, [{name, _, context}, _]} = Stash.capture()
    %{d | arity: d.arity + 1, captures: d.captures ++ [{name, context}]}
  end

  defp present!(d, env) do
    Error.raise_at(
      env,
      d.line,
      "#{d.change} has as many captures as the one that is to be changed, so its actors run the new clauses as they are: " <>
        "a defchange is for captures of an older version, in another number"
    )
  end

  @doc "Checked code, with the changes that defaults make, where no change is written."
  @spec add(map, [map]) :: map
  def add(unit, definitions) do
    codes = Enum.map(unit.codes, &named/1)
    present = for %Code{kind: :actor} = code <- codes, do: {code.name, code.arity}
    beam = for %Code{beam: true} = code <- codes, do: {code.name, code.arity}
    stashing = for %{kind: :actor} = d <- definitions, Stash.capture?(d.captures), do: {d.name, d.arity}

    filled =
      for %{kind: :delegate, full: {name, _} = full, delegate: {nil, name, template}} = d <- definitions,
          full not in beam,
          last?(template),
          code = filled(d, template, full in stashing),
          {name, code.arity} not in present,
          do: code

    %{unit | codes: codes ++ Enum.uniq_by(filled, & &1.arity)}
  end

  # Whether all that is given comes before all defaults.
  defp last?(template) do
    {_given, rest} = Enum.split_while(template, &match?({:capture, _}, &1))
    Enum.all?(rest, &match?({:lit, _}, &1))
  end

  defp named(%Code{kind: :actor} = code) do
    case code.name |> Atom.to_string() |> String.split(@suffix) do
      [name, ""] -> %{code | name: String.to_existing_atom(name), change: true}
      _ -> code
    end
  end

  defp named(code), do: code

  defp filled(%{name: name, line: l, captures: captures}, template, stashes?) do
    names = Enum.map(captures, &elem(&1, 0)) ++ if(stashes?, do: [:kept], else: [])
    arity = length(names)
    variables = names |> Enum.with_index() |> Enum.map(fn {name, n} -> {:var, l, {name, n}} end)
    message = {:message, arity}

    given =
      Enum.map(template, fn
        {:capture, n} -> Enum.at(variables, n)
        {:lit, term} -> {:lit, l, term}
      end)

    given = if stashes?, do: List.replace_at(given, -1, List.last(variables)), else: given
    become = {:become, l, {nil, name, length(template)}, given}
    again = Stash.again(become, l, %{message: message, kept: nil})
    # So a machine knows that it stashes.
    body = if stashes?, do: {:block, l, [{:unstash, l, List.last(variables)}, again]}, else: again

    %Code{
      kind: :actor,
      name: name,
      arity: arity,
      params: Enum.map(variables, &elem(&1, 2)) ++ [message],
      body: {:case, l, {:var, l, message}, [{:clause, l, {:any, l}, [], body}], :ignore},
      line: l,
      next: arity + 1,
      change: true
    }
  end
end
