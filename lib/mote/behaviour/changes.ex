defmodule Mote.Behaviour.Changes do
  # Converts actors that have other captures than the new version of their behaviour: by `defchange`, or by defaults of
  # new captures, which are filled automatically. Neither is anything new for a machine:
  #
  # 1. A change is a behaviour with the captures of the older version. Its name is that of the older behaviour, with a
  #    suffix that nobody can write. Whatever message comes, it becomes the new behaviour, and `again()`. Actors run a new
  #    version from their next turn on (succession.rs), so that is the first thing they do in it.
  # 2. Elixir does not see it: there is no function that makes such a behaviour.
  # 3. A behaviour with defaults behind its other captures has a change for each number of captures that may be given: the
  #    first captures are the older version's, in their order. A written `defchange` takes precedence.
  # 4. A behaviour that stashes has one capture more, and only the older version knows whether it does. So there are two
  #    of each change, one from a behaviour that did not stash and one from a behaviour that did. Stashed messages stay
  #    stashed if defaults are filled and the new version stashes as well. Otherwise they are taken up again, before the
  #    message.
  @moduledoc false

  alias Mote.Behaviour.{Code, Error}
  alias Mote.Behaviour.Check.Stash

  # No names that can be written: of a change from what did not stash, and from what did (succession.rs).
  @plain " change"
  @stashing " stashing change"

  @doc "The name of a change from a behaviour of that name, which stashes or does not."
  @spec from(atom, boolean) :: atom
  def from(name, stashes? \\ false), do: :"#{name}#{if stashes?, do: @stashing, else: @plain}"

  @doc "The name of the behaviour that is a change, and its clause, from what is written."
  @spec written(atom, Macro.t(), Macro.Env.t()) :: {atom, keyword}
  def written(name, [do: body], env) do
    clause = {:->, [generated: true], [[{:_, [], nil}], becoming(body, env)]}
    {from(name), [do: [clause]]}
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

  @doc "Definitions with each change twice: what becomes of those that did not stash, and of those that did."
  @spec definitions([map], Macro.Env.t()) :: [map]
  def definitions(definitions, env) do
    present = for %{kind: :actor, change: nil} = d <- definitions, do: {d.name, written(d), stashes?(d)}

    Enum.flat_map(definitions, fn
      %{change: name} = d when name != nil ->
        directory? =
          Enum.any?(definitions, &match?(%{name: ^name, delegate: {nil, shard, _}} when shard != name, &1))

        if directory?, do: directory!(d, env)
        if {name, d.arity, false} in present, do: present!(d, env)
        [d | if({name, d.arity, true} in present, do: [], else: [with_kept(d)])]

      d ->
        [d]
    end)
  end

  defp stashes?(%{captures: captures}), do: Stash.capture?(captures)
  defp written(%{captures: captures}), do: Stash.written(captures)

  defp with_kept(%{change: name} = d) do
    {:\\, _, [{kept, _, context}, _]} = Stash.capture()
    # Generated, as what is to be told of it is told of the first one.
    %{
      d
      | name: from(name, true),
        arity: d.arity + 1,
        captures: d.captures ++ [{kept, context}],
        generated: true
    }
  end

  defp present!(d, env) do
    Error.raise_at(
      env,
      d.line,
      "#{d.change} has as many captures as the one that is to be changed, so its actors run the new clauses as they are: " <>
        "a defchange is for captures of an older version, in another number"
    )
  end

  defp directory!(d, env) do
    Error.raise_at(
      env,
      d.line,
      "#{d.change} is another name, of a directory for example: a defchange is for a behaviour, and a directory whose new captures " <>
        "come last and have defaults needs none"
    )
  end

  @doc "Checked code, with the changes that defaults make, where no change is written."
  @spec add(map, [map]) :: map
  def add(unit, definitions) do
    codes = Enum.map(unit.codes, &marked/1)
    present = for %Code{kind: :actor} = code <- codes, do: {code.name, code.arity}
    beam = for %Code{beam: true} = code <- codes, do: {code.name, code.arity}
    stashing = for %{kind: :actor} = d <- definitions, stashes?(d), do: {d.name, d.arity}

    filled =
      for %{kind: :delegate, full: {name, arity} = full, delegate: {nil, name, template}} = d <- definitions,
          full not in beam,
          last?(template),
          before? <- [false, true],
          now? <- [full in stashing],
          # That is the behaviour itself.
          not (before? and now? and d.arity + 1 == arity),
          code = filled(d, template, before?, now?),
          {code.name, code.arity} not in present,
          do: code

    %{unit | codes: codes ++ Enum.uniq_by(filled, &{&1.name, &1.arity})}
  end

  # Whether all that is given comes before all defaults.
  defp last?(template) do
    {_given, rest} = Enum.split_while(template, &match?({:capture, _}, &1))
    Enum.all?(rest, &match?({:lit, _}, &1))
  end

  defp marked(%Code{kind: :actor} = code),
    do: %{code | change: code.name |> Atom.to_string() |> String.ends_with?(@plain)}

  defp marked(code), do: code

  # Of what stashed before or did not, to what stashes now or does not.
  defp filled(%{name: name, line: l, captures: captures}, template, before?, now?) do
    names = Enum.map(captures, &elem(&1, 0)) ++ if(before?, do: [:kept], else: [])
    arity = length(names)
    variables = names |> Enum.with_index() |> Enum.map(fn {name, n} -> {:var, l, {name, n}} end)
    message = {:message, arity}
    kept = List.last(variables)

    given =
      Enum.map(template, fn
        {:capture, n} -> Enum.at(variables, n)
        {:lit, term} -> {:lit, l, term}
      end)

    given = if before? and now?, do: List.replace_at(given, -1, kept), else: given
    become = {:become, l, {nil, name, length(template)}, given}

    # A machine knows by the first step that a behaviour stashes.
    body =
      case {before?, now?} do
        {true, true} ->
          {:block, l, [{:unstash, l, kept}, Stash.again(become, l, %{message: message, kept: nil})]}

        {true, false} ->
          {:block, l, [{:unstash, l, kept}, become, {:unstash, l, {:cons, l, {:var, l, message}, kept}}]}

        {false, _} ->
          Stash.again(become, l, %{message: message, kept: nil})
      end

    %Code{
      kind: :actor,
      name: from(name, before?),
      arity: arity,
      params: Enum.map(variables, &elem(&1, 2)) ++ [message],
      body: {:case, l, {:var, l, message}, [{:clause, l, {:any, l}, [], body}], :ignore},
      line: l,
      next: arity + 1,
      change: true
    }
  end
end
