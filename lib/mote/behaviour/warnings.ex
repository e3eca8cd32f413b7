defmodule Mote.Behaviour.Warnings do
  # Code that compiles, but is most likely a mistake, unless Elixir warns about it itself: clauses after a clause that
  # matches everything that they match, zeros without a sign in patterns, values that go nowhere, and calls of functions
  # that are not a `defpure`. All are reported as plain Elixir reports them; clauses that macros have written are left
  # out.
  @moduledoc false

  alias Mote.Behaviour.{AST, Covering, Error}
  alias Mote.Behaviour.Check.Stash

  @two_zeros :erlang.binary_to_term(<<131, 70, 0::64>>) !== :erlang.binary_to_term(<<131, 70, 128, 0::56>>)

  @doc "Tells of a pattern that is a zero without a sign, where there are two of them."
  @spec zero(term, Macro.Env.t()) :: :ok
  if @two_zeros do
    def zero(zero, env) when zero === +0.0,
      do: warn("the pattern 0.0 matches +0.0 and not -0.0: write +0.0 or -0.0", env.line, env, nil)
  end

  def zero(_, _), do: :ok

  @doc "Tells of a become that keeps a capture whose name has become that of another variable."
  @spec kept(atom, AST.line(), Error.columns(), Macro.Env.t()) :: :ok
  def kept(name, line, columns, env) do
    message =
      "this become keeps the capture #{name} as it was at the start of the turn, not the variable #{name} that this " <>
        "clause has bound: write become #{name}: #{name}, … to change it, or give the variable another name"

    warn(message, line, env, columns[{line, {:call, :become}}])
  end

  @doc "Tells, in that state of the check pass, of a become that gives a behaviour its captures with their names, as one list."
  @spec listed(String.t(), AST.line(), map) :: :ok
  def listed(message, line, %{columns: columns, names: names, behaviour: behaviour}) do
    function = with {name, captures} <- behaviour, do: {name, Stash.written(captures)}

    warn(
      "#{message}, or bind the list to a variable first if that is meant",
      line,
      %{names.env | function: function},
      columns[{line, {:call, :become}}]
    )
  end

  @doc "Tells of the last value of a clause of a behaviour: nobody looks at it. `kind` is what it looks like."
  @spec nowhere(:reply | :value | {:bound, atom}, AST.line(), map, Macro.Env.t()) :: :ok
  def nowhere({:bound, variable}, line, %{name: name, captures: captures}, env) do
    warn(
      "variable \"#{variable}\" is unused: to change the capture, write `become #{variable}: …`; if it is meant as it is, " <>
        "call it _#{variable}",
      line,
      %{env | function: {name, Stash.written(captures)}},
      nil
    )
  end

  def nowhere(kind, line, %{name: name, captures: captures}, env) do
    what =
      case kind do
        :reply -> "a clause of a behaviour returns nothing, so that this tuple goes nowhere"
        :value -> "the value of this clause goes nowhere, as nobody looks at it"
      end

    values = if captures == [], do: "", else: "…"

    warn(
      "#{what}: the next state is what the actor becomes, become #{name}(#{values}), and an answer is sent, send customer, " <>
        "value. If nothing is to be done, write :ok",
      line,
      %{env | function: {name, Stash.written(captures)}},
      nil
    )
  end

  @doc "Tells of a behaviour that stashes, at that line, and never becomes another one."
  @spec kept(AST.line(), map, Macro.Env.t()) :: :ok
  def kept(line, %{name: name} = definition, env) do
    warn(
      "what #{name} stashes is never taken up again: that happens when the actor becomes another behaviour, and #{name} only " <>
        "becomes itself. Write the state in which it waits as a behaviour of its own",
      line,
      %{env | function: {name, Stash.written(definition.captures)}},
      nil
    )
  end

  @doc """
  Tells of clauses that can never match, as one before them without a guard matches all that they do.

  A clause comes with the patterns of its arguments, and with what its node says of itself: its column, and whether a macro
  has written it.
  """
  @spec unreachable([{[AST.pattern()], AST.clause(), keyword}], Macro.Env.t()) :: :ok
  def unreachable(clauses, env) do
    Enum.reduce(clauses, [], fn {patterns, {:clause, line, _, guards, _}, meta}, before ->
      first = Enum.find(before, fn {others, _} -> Covering.covers?(others, patterns) end)
      if first && not Keyword.get(meta, :generated, false), do: never(first, line, env, meta[:column])
      if guards == [], do: before ++ [{patterns, line}], else: before
    end)

    :ok
  end

  # Of one behind a clause for everything Elixir tells itself.
  defp never({patterns, first}, line, env, column) do
    unless Covering.everything?(patterns),
      do:
        warn(
          "this clause can never match: the one at line #{first} matches all that it does",
          line,
          env,
          column
        )
  end

  @doc """
  Reports functions of other modules that `module` calls and that do not exist, and delegates that it could not
  see, once all modules are compiled.

  What functions are called in the generated code is nothing that the user has ever written. Behaviours are called as they
  were written, so Elixir itself reports those that do not exist.
  """
  @spec undefined(module) :: :ok
  def undefined(module) do
    file = Path.relative_to_cwd(to_string(module.module_info(:compile)[:source]))

    for {kind, {other, name, arity}, line, column} <- module.__mote__(:references),
        wrong = wrong(kind, other, {name, arity}) do
      env = %{file: file, module: module, function: nil}
      warn("#{inspect(other)}.#{name}/#{arity} #{wrong}", line, env, column)
    end

    :ok
  end

  defp wrong(kind, module, named) do
    case {kind, Code.ensure_loaded?(module) and function_exported?(module, :__mote__, 1)} do
      {:function, false} ->
        "is undefined: #{inspect(module)} is not loaded or does not say use Mote.Behaviour"

      {:function, true} ->
        unless named in module.__mote__(:functions), do: no_function(module)

      {:behaviour, false} ->
        nil

      {:behaviour, true} ->
        unseen(module, module.__mote__(:delegates)[named])
    end
  end

  defp no_function(module),
    do: "is undefined: #{inspect(module)} has no defpure of this name with this many arguments"

  defp unseen(_module, nil), do: nil

  defp unseen(module, {target, name, template}) do
    "is another name for #{inspect(target || module)}.#{name}/#{length(template)}, which cannot be seen here, since the " <>
      "two modules refer to each other: write what it stands for"
  end

  defp warn(message, line, env, column) do
    function = env.function && Mote.Behaviour.Code.written(env.function)
    place = [file: env.file, line: line, module: env.module, function: function]

    IO.warn(message, if(column, do: [column: column] ++ place, else: place))
  end
end
