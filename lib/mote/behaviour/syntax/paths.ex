defmodule Mote.Behaviour.Syntax.Paths do
  # `put_in(map.key[other], value)` and the other macros of Kernel that take a path: code that takes the containers apart and
  # puts them together again, without functions that do. A step is `.field`, which must be
  # there, or `[key]`.
  @moduledoc false

  alias Mote.Behaviour.{AST, Error, Syntax}
  alias Mote.Behaviour.Syntax.Functions

  @macros [get_in: 1, put_in: 2, update_in: 2, pop_in: 1, get_and_update_in: 2]

  @doc "Returns whether `name/arity` takes a path."
  def macro?(name, arity), do: {name, arity} in @macros

  @doc "These macros."
  @spec macros() :: [{atom, arity}]
  def macros, do: @macros

  @doc "A call of one of them."
  @spec expr(atom, [Macro.t()], Macro.Env.t()) :: AST.expr()
  def expr(name, [path | args], env) do
    {base, steps} = apart(path, [], env)

    if steps == [] do
      Error.raise_at(
        env,
        env.line,
        "#{name}/#{length(args) + 1} takes a path, such as map.key or map[key], got: #{Macro.to_string(path)}"
      )
    end

    name |> code(base, steps, args, path, env) |> Syntax.expr(env)
  end

  defp code(:get_in, base, steps, [], _, _), do: read(base, steps)
  defp code(:put_in, base, steps, [value], _, _), do: write(base, steps, {:value, value})

  # Of fields alone Elixir makes `Map.update!(map, :field, fun)`, of others a function that calls this one.
  defp code(:update_in, base, steps, [fun], _, _),
    do: write(base, steps, {if(List.keymember?(steps, :key, 0), do: :inside, else: :beside), fun})

  defp code(:get_and_update_in, base, steps, [fun], _, _), do: both(base, steps, {:beside, fun})

  defp code(:pop_in, base, steps, [], path, env) do
    case List.last(steps) do
      {:key, _} ->
        popped(base, steps, :field)

      {:field, field} ->
        Error.raise_at(
          env,
          env.line,
          "pop_in/1 cannot take the field .#{field} out of its map, which must have it: the path of " <>
            "#{Macro.to_string(path)} must end with [key]"
        )
    end
  end

  defp apart({{:., _, [Access, :get]}, _, [container, key]}, steps, env),
    do: apart(container, [{:key, key} | steps], env)

  defp apart({{:., _, [container, field]}, meta, []} = call, steps, env) when is_atom(field) do
    if meta[:no_parens] == true and not is_atom(Macro.expand(container, env)),
      do: apart(container, [{:field, field} | steps], env),
      else: {call, steps}
  end

  defp apart(base, steps, _), do: {base, steps}

  # -- code ----------------------------------------------------------------------------------------------------

  defp read(value, []), do: value
  defp read(container, [{:key, key} | steps]), do: read(get(container, key), steps)

  # What is nil has no fields, and is no error here.
  defp read(container, [{:field, field} | steps]) do
    value = variable(:value)

    found =
      quote do
        case unquote(container) do
          nil -> nil
          unquote(value) -> unquote(field(value, field))
        end
      end

    read(found, steps)
  end

  # The container with what `leaf` makes of the old value at the end of the path.
  defp write(value, [], leaf), do: leaf(leaf, value)

  defp write(container, [step | steps], leaf) do
    level(container, step, steps, leaf, fn container, step, leaf ->
      put(container, step, write(got(container, step), steps, leaf))
    end)
  end

  # `{got, container}`, where `leaf` makes `{got, value}` or `:pop` of the value at the end of the path.
  defp both(value, [], leaf), do: leaf(leaf, value)

  defp both(container, [step | steps], leaf) do
    level(container, step, steps, leaf, fn container, step, leaf ->
      answered(container, step, both(got(container, step), steps, leaf))
    end)
  end

  # What is at the end of a path is looked for before a value or a function is calculated that Elixir has in a function there.
  defp leaf({:value, value}, old),
    do:
      if(Functions.simple?(value),
        do: value,
        else:
          quote(
            do:
              (
                _ = unquote(old)
                unquote(value)
              )
          )
      )

  defp leaf({:inside, fun}, old) do
    if Functions.simple?(fun) do
      call(fun, old)
    else
      value = variable(:value)

      quote(
        do:
          (
            unquote(value) = unquote(old)
            unquote(call(fun, value))
          )
      )
    end
  end

  defp leaf({:beside, fun}, old), do: call(fun, old)

  # The same without the key at the end. Where there is nothing that could have it, the key of that goes; a field stays.
  defp popped(container, [{:key, key}], within) do
    value = variable(:value)

    quote do
      case unquote(container) do
        nil -> unquote(if within == :key, do: :pop, else: {nil, nil})
        unquote(value) -> Mote.Prelude.Access.popped(unquote(value), unquote(key))
      end
    end
  end

  defp popped(container, [step | steps], _within) do
    level(container, step, steps, nil, fn container, step, _ ->
      answered(container, step, popped(got(container, step), steps, elem(step, 0)))
    end)
  end

  defp answered(container, step, inner) do
    {answer, value} = {variable(:answer), variable(:value)}

    clauses =
      quote do
        {unquote(answer), unquote(value)} -> {unquote(answer), unquote(put(container, step, value))}
        :pop -> unquote(pop(container, step))
      end

    {:case, [mote_fail: {:function_clause, {Kernel, :get_and_update_in}, 2}], [inner, [do: clauses]]}
  end

  # What `make` makes of a container, a step and a leaf that are calculated once, as arguments of one function are. A function at the
  # end of the path is one of them where Elixir gives it to that function.
  defp level(container, step, rest, leaf, make) do
    keys = for {:key, key} <- [step], do: key
    funs = for {:beside, fun} <- [leaf], rest == [], do: fun

    made = fn [container | args] ->
      {keys, funs} = Enum.split(args, length(keys))
      step = List.first(for(key <- keys, do: {:key, key}), step)
      make.(container, step, List.first(for(fun <- funs, do: {:beside, fun}), leaf))
    end

    {:"mote given", [], [[container | keys ++ funs], made]}
  end

  # What is no map has a field for nobody: `.field` of an atom would be a call.
  defp got(container, {:field, field}), do: quote(do: Map.fetch!(unquote(container), unquote(field)))

  defp got(container, {:key, key}),
    do: quote(do: Mote.Prelude.Access.held(unquote(container), unquote(key)))

  defp put(container, {:field, field}, value),
    do: quote(do: %{unquote(container) | unquote(field) => unquote(value)})

  defp put(container, {:key, key}, value),
    do: quote(do: Mote.Prelude.Access.put(unquote(container), unquote(key), unquote(value)))

  defp pop(container, {:key, key}),
    do: quote(do: Mote.Prelude.Access.popped(unquote(container), unquote(key)))

  defp pop(container, {:field, field}),
    do: {field(container, field), quote(do: Map.delete(unquote(container), unquote(field)))}

  defp get(container, key), do: quote(do: Mote.Prelude.Access.get(unquote(container), unquote(key)))
  defp field(container, field), do: {{:., [], [container, field]}, [no_parens: true], []}
  defp call(fun, value), do: {{:., [], [fun]}, [], [value]}

  defp variable(name) do
    {name, counter} = Syntax.fresh(name)
    {name, [counter: counter, generated: true], nil}
  end
end
