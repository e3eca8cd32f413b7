defmodule Mote.Behaviour.Syntax.Templates do
  # A call of a template -> a group of functions (`:letrec`) made for this call, with the functions that it is given put
  # where the template calls them. The variables of the template are renamed, those of the caller stay.
  @moduledoc false

  alias Mote.Behaviour.{AST, Imports, Syntax}
  alias Mote.Behaviour.Syntax.{Functions, Loops}
  alias Mote.Prelude

  # Those whose last argument may be the literal :asc or :desc, and never gets here then (calls.ex).
  @sorting [sort: 2, sort_by: 3, keysort: 3]

  # Those that take a module that compares.
  @by_module [:max, :max_by, :min, :min_by]

  @doc "A call of `name` of the templates in `module`."
  @spec call(module, atom, [Macro.t()], Macro.Env.t()) :: AST.expr()
  def call(module, name, args, env), do: call(module, name, args, length(args), env)

  @doc "A call of `name` of the templates in `module`, which users have written with `arity` arguments."
  @spec call(module, atom, [Macro.t()], arity, Macro.Env.t()) :: AST.expr()
  def call(module, name, args, arity, env) do
    # So that this module is compiled again when the template changes.
    if Module.open?(env.module), do: Module.put_attribute(env.module, :mote_required, module)

    templates = module.__templates__()
    positions = functions(templates, name, length(args))
    Functions.settled(args, positions, env, &made({module, templates}, name, &1, arity, env))
  end

  defp made({module, templates}, name, args, arity, env) do
    {funs, values} = apart(args, functions(templates, name, length(args)))
    called = Prelude.called(module, name)
    known = if called, do: elem(called, 1), else: name
    arities = arities(templates, name, length(args))
    {others, sorter} = Enum.split(funs, if({name, length(args)} in @sorting, do: -1, else: length(funs)))
    others = Enum.zip_with(others, arities, &in_place(&1, &2, known, env))
    sorter = Enum.map(sorter, &sorter(&1, known, env))
    funs = others ++ sorter
    key = {name, length(args), funs}
    seen = %{key => Syntax.fresh(name)}
    fail = {:function_clause, called, arity}
    {functions, seen} = group([key], templates, fail, seen, [], env)
    values = templates |> names(name, length(args)) |> Enum.zip(values) |> Enum.map(&value(&1, env))
    {:letrec, env.line, functions, {:local, env.line, seen[key], values}}
  end

  # `more` is what may stand there besides.
  defp in_place(value, arity, name, more \\ "", env)
  defp in_place({form, _, _} = literal, _, _, _, _) when form in [:fn, :&], do: literal

  defp in_place(value, arity, name, more, env) do
    if name in @by_module and module?(value) do
      by_module(value, :asc, name)
    else
      Functions.refused!(value, to_string(name), "", more, env)
      Functions.in_place(value, arity, env)
    end
  end

  # What sorts may be a module that compares, or turn out to be the name of an order.
  defp sorter({order, module} = value, name, env) when order in [:asc, :desc],
    do: if(module?(module), do: by_module(module, order, name), else: called(value, name, env))

  defp sorter(value, name, env),
    do: if(module?(value), do: by_module(value, :asc, name), else: called(value, name, env))

  defp called(value, name, env) do
    case in_place(value, 2, name, ", or :asc or :desc", env) do
      ^value ->
        value

      _ ->
        quote do
          fn a, b ->
            case unquote(value) do
              :asc -> a <= b
              :desc -> a >= b
              sorter -> sorter.(a, b)
            end
          end
        end
    end
  end

  # As it is written, or as Elixir's compiler has left it.
  defp module?({:__aliases__, _, _}), do: true
  defp module?(value), do: is_atom(value) and match?("Elixir." <> _, Atom.to_string(value))

  # With how many arguments each of its functions is called, by the template or by one that it is handed on to.
  defp arities(templates, name, arity) do
    for {parameter, n} <- Enum.with_index(parameters(templates, name, arity)), named?(parameter, "fun") do
      [{name, arity, n}] |> called_with(templates, MapSet.new()) || 0
    end
  end

  defp called_with([], _, _), do: nil

  defp called_with([{name, arity, n} = place | rest], templates, seen) do
    found =
      for {args, guards, body} <- Map.fetch!(templates, {name, arity}), place not in seen do
        {fun, _, _} = Enum.at(args, n)
        {_, found} = Macro.prewalk([guards, body], [], &{&1, uses(&1, fun, templates) ++ &2})
        found
      end

    found = Enum.concat(found)

    Enum.find(found, &is_integer/1) ||
      called_with(rest ++ Enum.reject(found, &is_integer/1), templates, MapSet.put(seen, place))
  end

  defp uses({{:., _, [{fun, _, nil}]}, _, args}, fun, _), do: [length(args)]

  defp uses({name, _, args}, fun, templates) when is_atom(name) and is_list(args) do
    if is_map_key(templates, {name, length(args)}),
      do: for({{^fun, _, nil}, n} <- Enum.with_index(args), do: {name, length(args), n}),
      else: []
  end

  defp uses(_, _, _), do: []

  # By the function that the module has for it.
  defp by_module(module, order, name) do
    other = if order == :desc or name in [:max, :max_by], do: :lt, else: :gt
    quote(do: fn a, b -> unquote(module).compare(a, b) != unquote(other) end)
  end

  # By the parameter's name: what goes through it step by step, what lists it, and what does neither.
  defp value({"walked", ast}, env), do: ast |> Syntax.expr(env) |> Imports.source(:begun, env)
  defp value({"walked_" <> _, ast}, env), do: ast |> Syntax.expr(env) |> Imports.source(:listed, env)
  defp value({"source", ast}, env), do: ast |> Loops.listed(env) |> Imports.source(:listed, env)
  defp value({_, ast}, env), do: Loops.listed(ast, env)

  # Whether each parameter is a function.
  defp functions(templates, name, arity),
    do: templates |> parameters(name, arity) |> Enum.map(&named?(&1, "fun"))

  # The names of the others; it is a pattern of a template that nobody calls from outside where there is none.
  defp names(templates, name, arity) do
    for parameter <- parameters(templates, name, arity), not named?(parameter, "fun") do
      with {name, _, nil} <- parameter, do: to_string(name), else: (_ -> "")
    end
  end

  defp parameters(templates, name, arity) do
    [{args, _, _} | _] = Map.fetch!(templates, {name, arity})
    args
  end

  defp named?({name, _, nil}, beginning), do: name |> to_string() |> String.starts_with?(beginning)
  defp named?(_, _), do: false

  defp apart(args, positions) do
    {funs, values} = args |> Enum.zip(positions) |> Enum.split_with(&elem(&1, 1))
    {Enum.map(funs, &elem(&1, 0)), Enum.map(values, &elem(&1, 0))}
  end

  # All that are called from those that are called. `fail` is what users know that by: what it is made of they have not written.
  defp group([], _, _, seen, done, _), do: {Enum.reverse(done), seen}

  defp group([{name, arity, funs} = key | rest], templates, fail, seen, done, env) do
    positions = functions(templates, name, arity)
    clauses = Map.fetch!(templates, {name, arity})
    params = for {false, n} <- Enum.with_index(positions), do: Syntax.fresh(:"arg#{n}")

    {clauses, {seen, found}} =
      Enum.map_reduce(clauses, {seen, []}, &clause(&1, positions, funs, templates, fail, env, &2))

    subject = {:tuple, env.line, Enum.map(params, &{:var, env.line, &1})}
    body = {:case, env.line, subject, clauses, fail}
    group(found ++ rest, templates, fail, seen, [{seen[key], params, body} | done], env)
  end

  defp clause({args, guards, body}, positions, funs, templates, fail, env, {seen, found}) do
    {names, patterns} = apart(args, positions)
    funs = names |> Enum.map(&elem(&1, 0)) |> Enum.zip(funs) |> Map.new()
    mark = {:fresh, System.unique_integer()}
    {[patterns, guards], _} = Macro.postwalk([patterns, guards], [], &{renamed(&1, mark), &2})

    {body, {seen, found}} =
      Macro.postwalk(body, {seen, found}, fn node, acc ->
        node |> renamed(mark) |> failing(fail) |> instance(funs, templates, acc)
      end)

    {Syntax.clause({:{}, [], patterns}, guards, body, env), {seen, found}}
  end

  # Not a name that stands for a function: that is not a variable any more.
  defp renamed({name, meta, nil}, mark) when is_atom(name) and name != :_,
    do: {name, [counter: mark] ++ meta, nil}

  defp renamed(other, _), do: other

  defp failing({:case, meta, args}, fail), do: {:case, [mote_fail: fail] ++ meta, args}
  defp failing(other, _), do: other

  # `fun.(…)`, with the function itself in place of its name; what the caller has written is not walked through.
  defp instance({{:., meta, [{name, _, nil}]}, _, args}, funs, _, acc) when is_map_key(funs, name),
    do: {{{:., meta, [funs[name]]}, meta, args}, acc}

  defp instance({name, meta, args} = node, funs, templates, {seen, found} = acc)
       when is_atom(name) and is_list(args) do
    arity = length(args)

    if is_map_key(templates, {name, arity}) do
      {given, values} = apart(args, functions(templates, name, arity))
      key = {name, arity, Enum.map(given, &function(&1, funs))}
      new = not is_map_key(seen, key)
      seen = if new, do: Map.put(seen, key, Syntax.fresh(name)), else: seen
      {{:"mote local", meta, [seen[key] | values]}, {seen, if(new, do: [key | found], else: found)}}
    else
      {node, acc}
    end
  end

  defp instance(node, _, _, acc), do: {node, acc}

  defp function({name, _, nil}, funs), do: Map.fetch!(funs, name)
  # One of the template's own, which knows no variables around it. What it calls is in its place already.
  defp function(literal, _funs), do: literal
end
