defmodule Mote.Behaviour.Syntax.Maps do
  # Maps: literals, updates, patterns, structs as the maps that they are, and the functions of Map that are made of
  # several primitives. Those that are one primitive are in the table of primitives.
  @moduledoc false

  alias Mote.Behaviour.{AST, Error, Syntax}
  alias Mote.Behaviour.IR.Turned
  alias Mote.Behaviour.Syntax.{Functions, Loops}

  @doc "`%{…}` and `%{map | …}`."
  @spec literal([Macro.t()], Macro.Env.t()) :: AST.expr()
  def literal([{:|, _, [map, pairs]}], env) do
    Enum.reduce(pairs, Syntax.expr(map, env), fn {key, value}, map ->
      AST.op(env.line, :map_update, [map, Syntax.expr(key, env), Syntax.expr(value, env)])
    end)
  end

  def literal(pairs, env) do
    if {:__struct__, Regex} in pairs,
      do: Syntax.Regexes.made(pairs, env),
      else:
        AST.map(env.line, for({key, value} <- pairs, do: {Syntax.expr(key, env), Syntax.expr(value, env)}))
  end

  @doc "`%Name{…}`: the map with its defaults."
  @spec struct(Macro.t(), Macro.t(), Macro.Env.t()) :: AST.expr()
  def struct(name, {:%{}, _, [{:|, _, [struct, pairs]}]}, env) do
    %{__struct__: module} = defaults(name, pairs, env)
    updated(struct, [{:__struct__, {:lit, env.line, module}}], :badstruct, pairs, env)
  end

  def struct(name, {:%{}, _, pairs}, env) do
    defaults = defaults(name, pairs, env)
    enforced(defaults.__struct__, pairs, env)

    AST.map(
      env.line,
      for {key, default} <- Enum.sort(Map.to_list(defaults)) do
        case List.keyfind(Enum.reverse(pairs), key, 0) do
          {_, value} -> {{:lit, env.line, key}, Syntax.expr(value, env)}
          nil -> {{:lit, env.line, key}, {:lit, env.line, default}}
        end
      end
    )
  end

  @doc "`struct(module, fields)` and `struct(struct, fields)`: fields that the struct does not have are left out."
  @spec struct_of(Macro.t(), Macro.t(), Macro.Env.t()) :: AST.expr()
  def struct_of(struct, fields, env), do: filled(:structured, Macro.expand(struct, env), struct, fields, env)

  # By a function of the prelude.
  defp filled(name, module, struct, fields, env) do
    struct = if is_atom(module), do: empty(module, env), else: Syntax.expr(struct, env)
    {:call, env.line, {Mote.Prelude.Kernel, name, 2}, [struct, Syntax.expr(fields, env)]}
  end

  # With the defaults alone.
  defp empty(module, env) do
    pairs = module |> defaults([], env) |> Map.to_list() |> Enum.sort()
    AST.map(env.line, for({key, value} <- pairs, do: {{:lit, env.line, key}, {:lit, env.line, value}}))
  end

  @later "; which keys fields have that are calculated is not known here, so write struct!(%Name{key: value}, fields)"

  @doc "`struct!(module, fields)` and `struct!(struct, fields)`."
  @spec struct!(Macro.t(), Macro.t(), Macro.Env.t()) :: AST.expr()
  def struct!(struct, fields, env) do
    module = Macro.expand(struct, env)

    cond do
      not Keyword.keyword?(fields) ->
        if is_atom(module), do: enforced(module, [], env, @later)
        filled(:structured!, module, struct, fields, env)

      is_atom(module) ->
        struct(module, {:%{}, [], fields}, env)

      true ->
        updated(struct, [{:__struct__, {:atom, env.line}}], :struct, Keyword.delete(fields, :__struct__), env)
    end
  end

  # The map of an expression with other values, if it has the pairs that make it a struct.
  defp updated(ast, pairs, operation, changes, %{line: l} = env) do
    value = Syntax.fresh(:struct)
    pattern = {:all, l, [{:bind, l, value}, {:map, l, for({key, p} <- pairs, do: {{:lit, l, key}, p})}]}
    read = {:var, l, value}

    map =
      Enum.reduce(changes, read, fn {key, value}, map ->
        AST.op(l, :map_update, [map, {:lit, l, key}, Syntax.expr(value, env)])
      end)

    other = Syntax.fresh(:other)
    expected = for {_, {:lit, _, module}} <- pairs, do: {:lit, l, module}
    failure = {:none, l, operation, expected ++ [{:var, l, other}]}

    clauses = [
      {:clause, l, pattern, [], map},
      {:clause, l, {:bind, l, other}, [], failure}
    ]

    {:case, l, Syntax.expr(ast, env), clauses, :case_clause}
  end

  # As in Elixir. Elixir itself checks the keys that a struct of this very module enforces: see `literals/1`.
  defp enforced(module, pairs, env, more \\ "") do
    if module == env.module,
      do: Module.put_attribute(module, :mote_literals, {env.line, Keyword.keys(pairs)}),
      else: module.__struct__(for {key, _} <- pairs, do: {key, nil})
  rescue
    error in ArgumentError -> Error.raise_at(env, env.line, error.message <> more)
  end

  @doc "Code in which Elixir sees the structs of the module itself that its behaviours make, to see that no key is missing."
  @spec literals(Macro.Env.t()) :: Macro.t()
  def literals(env) do
    literals =
      for {line, keys} <- Module.get_attribute(env.module, :mote_literals),
          do: quote(line: line, do: %__MODULE__{unquote_splicing(for key <- keys, do: {key, nil})})

    if literals != [] do
      quote generated: true do
        defp unquote(:"mote literals")(), do: {unquote_splicing(literals)}
      end
    end
  end

  @doc "The pattern `%{key => pattern}`."
  @spec pattern([Macro.t()], Macro.Env.t()) :: AST.pattern()
  def pattern([{:|, _, [_, _]}] = update, env) do
    Error.raise_at(
      env,
      env.line,
      "cannot use map/struct update syntax in match, got: #{Macro.to_string({:%{}, [], update})}; write %{key: value} = map"
    )
  end

  def pattern(pairs, env),
    do: {:map, env.line, for({key, value} <- pairs, do: {key(key, env), Syntax.Pattern.pattern(value, env)})}

  @doc "The pattern `%Name{…}`."
  @spec struct_pattern(Macro.t(), Macro.t(), Macro.Env.t()) :: AST.pattern()
  def struct_pattern(_, {:%{}, _, [{:|, _, [_, _]}] = update}, env), do: pattern(update, env)

  def struct_pattern({name, _, context} = any, {:%{}, _, pairs}, env)
      when is_atom(name) and is_atom(context) and name != :__MODULE__,
      do: any_struct(any, pairs, env)

  def struct_pattern({:^, _, [_]} = pin, {:%{}, _, pairs}, env), do: any_struct(pin, pairs, env)

  def struct_pattern(name, {:%{}, _, pairs}, env) do
    %{__struct__: module} = defaults(name, pairs, env)
    pattern([{:__struct__, module} | pairs], env)
  end

  # Its name is not known when compiling, and is an atom.
  defp any_struct(name, pairs, %{line: l} = env) do
    {:map, _, fields} = pattern(pairs, env)
    name = {:all, l, [{:atom, l}, Syntax.Pattern.pattern(name, env)]}
    {:map, l, [{{:lit, l, :__struct__}, name} | fields]}
  end

  # Whether there is a -0.0 somewhere in a term.
  defp negative_zero?(value) when is_float(value), do: <<value::float>> == <<1::1, 0::63>>
  defp negative_zero?([head | tail]), do: negative_zero?(head) or negative_zero?(tail)
  defp negative_zero?(value) when is_tuple(value), do: value |> Tuple.to_list() |> negative_zero?()
  defp negative_zero?(value) when is_map(value), do: value |> :maps.to_list() |> negative_zero?()
  defp negative_zero?(_), do: false

  # A key that is used to find a value cannot itself be found by matching.
  defp key({:^, _, [_]} = pin, env), do: Syntax.Pattern.pattern(pin, env)

  defp key(literal, env) when is_float(literal), do: Syntax.Pattern.pattern(literal, env)

  defp key(ast, env) do
    with {:lit, _, value} = key <- Syntax.expr(ast, %{env | context: :guard}),
         true <- is_float(value) or not negative_zero?(value) do
      key
    else
      _ ->
        Error.raise_at(
          env,
          env.line,
          "#{Macro.to_string(ast)} cannot be a key in a pattern: a key is a literal (without a -0.0 in it) or a " <>
            "pinned variable, ^name"
        )
    end
  end

  defp defaults(name, pairs, env) do
    module = Macro.expand(name, env)

    unless is_atom(module) do
      Error.raise_at(
        env,
        env.line,
        "the name of a struct must be known when compiling, got: #{Macro.to_string(name)}; match %{__struct__: name}"
      )
    end

    defaults = Macro.struct!(module, env)
    if Module.open?(env.module), do: Module.put_attribute(env.module, :mote_structs, module)

    for {key, _} <- pairs, not is_map_key(defaults, key) do
      Error.raise_at(env, env.line, "%#{inspect(module)}{} has no key #{Macro.to_string(key)}")
    end

    defaults
  end

  # -- functions of Map ----------------------------------------------------------------------------------------

  @functions [get: 2, new: 0, new: 2, fetch: 2, put_new: 3, update: 4, update!: 3]

  @doc "Returns whether `Map.name/arity` is available, and no primitive."
  def function?(name, arity), do: {name, arity} in @functions

  @doc "These functions."
  @spec functions() :: [{module, atom, arity}]
  def functions, do: for({name, arity} <- @functions, do: {Map, name, arity})

  @doc "A function of Map."
  @spec function(atom, [Macro.t()], Macro.Env.t()) :: AST.expr()
  def function(:get, [map, key], env),
    do: AST.op(env.line, :map_get, Syntax.exprs([map, key], env) ++ [{:lit, env.line, nil}])

  def function(:new, [], env), do: {:lit, env.line, %{}}

  def function(:new, [source, fun], env),
    do: AST.op(env.line, :map_new, [Loops.enum(:map, [source, fun], env)])

  def function(:fetch, args, env) do
    named(Turned.turned(:map_fetch, args), env, fn args ->
      [map, key] = Turned.turned(:map_fetch, args)
      found = AST.tuple(env.line, [{:lit, env.line, :ok}, AST.op(env.line, :map_fetch, [map, key])])
      by_key(map, key, found, {:lit, env.line, :error}, env)
    end)
  end

  def function(:put_new, args, env) do
    named(args, env, fn [map, key, value] ->
      by_key(map, key, map, AST.op(env.line, :map_put, [map, key, value]), env)
    end)
  end

  def function(:update, args, env) do
    Functions.settled(args, [false, false, false, true], env, fn [map, key, default, fun] ->
      named([map, key, default], env, fn [map, key, default] ->
        put = AST.op(env.line, :map_put, [map, key, default])
        by_key(map, key, changed(map, key, fun, env), put, env)
      end)
    end)
  end

  def function(:update!, args, env) do
    Functions.settled(args, [false, false, true], env, fn [map, key, fun] ->
      named([map, key], env, fn [map, key] ->
        by_key(map, key, changed(map, key, fun, env), {:none, env.line, :map_fetch, [map, key]}, env)
      end)
    end)
  end

  defp changed(map, key, fun, env) do
    {[x], body} = Functions.literal(fun, 1, env)
    old = {:match, env.line, {:bind, env.line, x}, AST.op(env.line, :map_fetch, [map, key])}
    AST.op(env.line, :map_put, [map, key, AST.block(env.line, [old, body])])
  end

  defp named(args, env, fun), do: Functions.given(args, env, &fun.(Syntax.exprs(&1, env)))

  defp by_key(map, key, present, missing, %{line: l}) do
    clauses = [
      {:clause, l, {:lit, l, true}, [], present},
      {:clause, l, {:lit, l, false}, [], missing},
      {:clause, l, {:any, l}, [], {:none, l, :map_has_key, [map, key]}}
    ]

    {:case, l, AST.op(l, :map_has_key, [map, key]), clauses, :case_clause}
  end
end
