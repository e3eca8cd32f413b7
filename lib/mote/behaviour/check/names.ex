defmodule Mote.Behaviour.Check.Names do
  # The functions and behaviours that a module may refer to: its own, and those of other modules as far as they
  # are compiled already (the rest is found out when the unit is loaded). Part of the check pass.
  @moduledoc false

  alias Mote.Behaviour.{Code, Delegate, Error}
  alias Mote.Behaviour.Check.Stash
  alias Mote.Behaviour.Syntax.Hints

  @doc "The names defined by a module, those of `others` included; raises when two definitions clash."
  def new(definitions, others, env) do
    Enum.reduce(definitions, %{}, fn %{kind: kind, name: name, arity: arity, full: full} = definition, seen ->
      case seen do
        %{{^name, ^arity} => {^kind, nil}} when kind in [:pure, :effect] and full == nil -> seen
        %{{^name, ^arity} => {_, other}} -> twice(definition, full || other, stashing(definitions), env)
        _ -> Map.put(seen, {name, arity}, {kind, full})
      end
    end)

    for %{kind: kind, arity: arity, line: line} <- definitions, do: arity!(env, kind, arity, line)

    for %{name: name, arity: arity, line: line} <- definitions,
        Module.defines?(env.module, {name, arity}) do
      Error.raise_at(env, line, "#{name}/#{arity} is already defined with def")
    end

    %{actor: behaviours, pure: functions, effect: effects, delegate: delegates} =
      Enum.reduce(definitions ++ others, %{actor: [], pure: [], effect: [], delegate: []}, fn definition,
                                                                                              kinds ->
        Map.update!(kinds, definition.kind, &[definition | &1])
      end)

    %{
      module: env.module,
      file: env.file,
      columns: %{},
      env: env,
      behaviours: MapSet.new(behaviours, &{&1.name, &1.arity}),
      functions: MapSet.new(functions, &{&1.name, &1.arity}),
      effects: MapSet.new(effects, &{&1.name, &1.arity}),
      delegates: Delegate.table(delegates),
      definitions: definitions,
      stashing: stashing(definitions)
    }
  end

  defp twice(%{name: name, arity: arity, line: line}, full, stashing, env) do
    why =
      cond do
        {name, arity} in stashing ->
          ": a behaviour that stashes has one capture more than are written, for the messages"

        full == nil ->
          ""

        true ->
          {_, most} = full
          written = if full in stashing, do: most - 1, else: most
          if written == arity, do: "", else: ": #{name}/#{written} with its defaults is #{name}/#{arity}, too"
      end

    Error.raise_at(env, line, "#{name}/#{arity} is already defined#{why}")
  end

  # The behaviours that stash, with the capture that nobody has written.
  defp stashing(definitions) do
    for %{kind: :actor} = d <- definitions, Stash.capture?(d.captures), do: {d.name, d.arity}
  end

  @doc """
  A function to be called, `{module | nil, name, arity}`, by code of the kind `caller`; raises when it is known not to
  exist, and when it has effects and the caller may not have any. `meant` tells what was meant by one that does not exist.
  """
  def function!(names, {module, name, arity}, caller, line, meant) do
    arity!(names, :pure, arity, line)

    if module == nil and MapSet.member?(names.effects, {name, arity}),
      do: effect!(names, {name, arity}, caller, line),
      else: known_function!(names, {module, name, arity}, line, meant)
  end

  defp effect!(names, {name, arity}, :pure, line) do
    fail(
      names,
      line,
      name,
      "#{name}/#{arity} is a defeffect, and a defpure has no effects: call it from a defactor or another defeffect, or make " <>
        "this one a defeffect"
    )
  end

  defp effect!(names, {name, arity}, :gather, line),
    do: fail(names, line, name, "#{name}/#{arity} is a defeffect, and the function of gather has no effects")

  defp effect!(names, {name, arity}, :fn, line) do
    fail(
      names,
      line,
      name,
      "#{name}/#{arity} is a defeffect, and a function that is a value has no effects: write the function in place, as argument " <>
        "of a loop of Enum"
    )
  end

  defp effect!(_, _, _, _), do: :ok

  defp known_function!(names, {nil, name, arity}, line, meant) do
    text = "#{name}/#{arity}"

    cond do
      MapSet.member?(names.functions, {name, arity}) ->
        :ok

      MapSet.member?(names.behaviours, {name, arity}) or is_map_key(names.delegates, {name, arity}) ->
        fail(names, line, name, "#{text} is a behaviour: use create #{name}(…) or become #{name}(…)")

      definition = Module.get_definition(names.module, {name, arity}) ->
        fail(names, line, name, "#{text} is #{plain(definition)}, which behaviours can call, too")

      true ->
        own = MapSet.union(names.functions, names.effects)
        known = texts(own) ++ Hints.known()

        fail(
          names,
          line,
          name,
          (other_arity(own, name) == "" && (Hints.construct(name) || word(name, text))) || meant.() ||
            "undefined function #{text}: #{Hints.functions()}#{other_arity(own, name)}" <>
              Error.suggestion(text, known)
        )
    end
  end

  defp known_function!(names, {module, name, arity}, line, _meant) do
    text = "#{inspect(module)}.#{name}/#{arity}"

    case mote(module) do
      :unknown ->
        :ok

      :foreign ->
        fail(names, line, name, Hints.foreign(module, name, arity))

      %{functions: functions, effects: effects} ->
        if {name, arity} in effects do
          fail(names, line, name, "#{text} is a defeffect, which only its own module can call")
        end

        if {name, arity} not in functions and function_exported?(module, name, arity) do
          fail(
            names,
            line,
            name,
            "#{text} is defined with def: write defpure, which plain Elixir can call, too"
          )
        end

        unless {name, arity} in functions do
          fail(
            names,
            line,
            name,
            "undefined function #{text}#{other_arity(functions, name)}" <>
              Error.suggestion("#{name}/#{arity}", texts(functions))
          )
        end
    end
  end

  @doc """
  A behaviour to create or become and its arguments, those of a delegate replaced by what it stands for.

  Raises when it is known not to exist.
  """
  def behaviour!(_, :sink, [], _), do: {:sink, []}

  def behaviour!(names, {module, name, arity} = behaviour, arguments, line) do
    arity!(names, :actor, arity, line)

    # The capture for what is stashed is nothing that anybody can give.
    if module == nil and {name, arity} in names.stashing,
      do: fail(names, line, name, "the behaviour #{name} has #{captures(arity - 1)}, got #{arity}")

    settled!(names, behaviour, arguments, line)
  end

  defp settled!(_, :sink, [], _), do: {:sink, []}

  defp settled!(names, {module, name, arity} = behaviour, arguments, line) do
    known = behaviours(names, module)

    case known do
      %{delegates: %{{^name, ^arity} => delegate}} ->
        {behaviour, arguments} = Delegate.apply(delegate, module, arguments, line)
        settled!(names, behaviour, arguments, line)

      _ ->
        exists!(names, known, behaviour, line)
        {behaviour, arguments}
    end
  end

  @doc "Raises when what a definition delegates to is known not to exist."
  def delegate!(names, %{delegate: {module, name, template}, line: line}) do
    behaviour = {module, name, length(template)}
    arity!(names, :actor, length(template), line)

    # So that no chain of them comes back to its beginning.
    if module == nil and is_map_key(names.delegates, {name, length(template)}) do
      fail(names, line, name, "#{name}/#{length(template)} delegates itself: name what it stands for")
    end

    exists!(names, behaviours(names, module), behaviour, line)
  end

  defp behaviours(names, nil), do: names

  # What a name stands for is settled here, so this module has to be compiled again when that changes.
  defp behaviours(names, module) do
    known = mote(module)
    if is_map(known), do: Module.put_attribute(names.module, :mote_required, module)
    known
  end

  defp exists!(_, :unknown, _, _), do: :ok

  defp exists!(names, :foreign, {module, name, _}, line),
    do:
      fail(
        names,
        line,
        name,
        "#{inspect(module)} is not a Mote.Behaviour module: it has no behaviour #{name}"
      )

  defp exists!(names, %{behaviours: behaviours, delegates: delegates}, {module, name, arity}, line) do
    unless {name, arity} in behaviours or is_map_key(delegates, {name, arity}) do
      prefix = if module, do: "#{inspect(module)}.", else: ""
      unknown_behaviour(names, prefix, Enum.concat(behaviours, Map.keys(delegates)), name, arity, line)
    end
  end

  @doc "A hint for the name of a function written like a variable."
  def as_variable(_, word) when word in [:self, :stash, :again], do: "; did you mean #{word}()?"

  def as_variable(names, name) do
    if {name, 0} in names.functions or {name, 0} in names.effects, do: "; did you mean #{name}()?"
  end

  defp unknown_behaviour(names, prefix, behaviours, name, arity, line) do
    case for({^name, captures} <- behaviours, do: captures) do
      [] ->
        text = "#{name}/#{arity}"
        hint = no_behaviour(prefix, name, arity) || Error.suggestion(text, texts(behaviours))
        fail(names, line, name, "undefined behaviour #{prefix}#{text}" <> hint)

      arities ->
        fail(
          names,
          line,
          name,
          "the behaviour #{prefix}#{name} has #{Enum.map_join(arities, " or ", &captures/1)}, got #{arity}"
        )
    end
  end

  defp no_behaviour("", :gather, 4),
    do: ": the function of gather is written where it is used, fn … end or &name/2"

  defp no_behaviour(_, name, arity) do
    if Macro.operator?(name, arity),
      do: ": write a behaviour and its captures, or become capture: value for a capture that changes"
  end

  # One of another language.
  defp word(name, text), do: if(word = Hints.word(name), do: "undefined function #{text}: #{word}")

  # A definition of plain Elixir, and what to write instead.
  defp plain({:v1, :defp, _, _}), do: "defined with defp: write defpurep"
  defp plain({:v1, kind, _, _}), do: "defined with #{kind}: write defpure"

  defp captures(1), do: "1 capture"
  defp captures(n), do: "#{n} captures"

  defp other_arity(functions, name) do
    case for({^name, arity} <- functions, do: "#{name}/#{arity}") do
      [] -> ""
      texts -> "; there is #{Enum.join(texts, " and ")}"
    end
  end

  # Asked first: not even the question whether there is such a function may have more.
  defp arity!(where, kind, arity, line) do
    # The message is one more.
    most = Code.most_parameters() - if(kind in [:pure, :effect], do: 0, else: 1)

    if arity > most do
      what =
        if kind in [:pure, :effect],
          do: "def#{kind} has at most #{most} arguments",
          else: "defactor has at most #{most} captures"

      Error.raise_at(where, line, "a #{what}, not #{arity}: put them into a tuple or a map")
    end
  end

  defp texts(names), do: Enum.map(names, fn {name, arity} -> "#{name}/#{arity}" end)

  # A module that is not compiled yet, or waits for this one, is looked at when the unit is loaded. So is one that the compiler
  # knows of, and has not loaded.
  defp mote(module) do
    case Elixir.Code.ensure_compiled(module) do
      {:module, _} -> if Elixir.Code.ensure_loaded?(module), do: loaded(module), else: :unknown
      {:error, _} -> :unknown
    end
  end

  defp loaded(module),
    do: if(function_exported?(module, :__mote__, 1), do: about(module), else: :foreign)

  defp about(module) do
    for part <- [:behaviours, :functions, :effects, :delegates], into: %{}, do: {part, module.__mote__(part)}
  end

  defp fail(names, line, name, description), do: Error.raise_at(names, line, description, {:call, name})
end
