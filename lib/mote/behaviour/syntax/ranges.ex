defmodule Mote.Behaviour.Syntax.Ranges do
  # Ranges: as values, which are the structs that they are in Elixir, and as literals, of which only the parts
  # are used and no struct is built.
  @moduledoc false

  alias Mote.Behaviour.{AST, Error, Syntax}
  alias Mote.Behaviour.IR.Turned
  alias Mote.Behaviour.Syntax.Functions

  # As text, since formatters differ in how they write the atom.
  @stepped String.to_atom("..//")

  @doc "The value of `first..last` or `first..last//step`."
  @spec value(Macro.t(), Macro.t(), Macro.t() | nil, Macro.Env.t()) :: AST.expr()
  def value(first, last, step, env) do
    Functions.given([first, last | List.wrap(step)], env, fn parts ->
      [a, b | step] = Syntax.exprs(parts, env)
      made(env.line, a, b, step)
    end)
  end

  defp made(l, a, b, step) do
    up = AST.op(l, :le, [a, b])

    direction =
      case {step, up} do
        {[step], _} -> step
        {[], {:lit, _, true}} -> {:lit, l, 1}
        {[], {:lit, _, false}} -> {:lit, l, -1}
        {[], _} -> {:if, l, up, {:lit, l, 1}, {:lit, l, -1}}
      end

    fields = [__struct__: {:lit, l, Range}, first: a, last: b, step: direction]
    range = AST.map(l, for({key, value} <- fields, do: {{:lit, l, key}, value}))
    tests = for part <- [a, b | step], do: AST.op(l, :is_integer, [part])
    tests = tests ++ for part <- step, do: AST.op(l, :differ, [part, {:lit, l, 0}])

    case all(l, tests) do
      {:lit, _, true} -> range
      test -> {:if, l, test, range, none(l, [a, b], step)}
    end
  end

  @doc "Returns whether a value is in a range, given by its parts."
  @spec member(Macro.t(), Macro.t(), Macro.t(), Macro.t() | nil, Macro.Env.t()) :: AST.expr()
  def member(value, first, last, step, env) do
    step = step && Syntax.expr(step, env)
    test = fn [value, a, b] -> range_test(value, Syntax.exprs([a, b], env), step, env) end

    # In a guard nothing can be bound, and nothing has effects: there operands are repeated. Elixir makes the range before it
    # calculates the value, or behind it.
    case {env.context, Turned.turned(:member, [:value, :range])} do
      {:guard, _} -> test.([value, first, last])
      {_, [:range, :value]} -> Functions.given([first, last], env, &test.([value | &1]))
      {_, [:value, :range]} -> Functions.given([value, first, last], env, test)
    end
  end

  defp range_test(value, [a, b] = bounds, step, env) do
    l = env.line
    integers = for e <- bounds, do: AST.op(l, :is_integer, [e])
    test = fn [value] -> inside([Syntax.expr(value, env), a, b], step, env) end

    # Bounds that are not integers: no answer in a body, a failure in a guard.
    cond do
      env.context == :guard -> all(l, integers ++ [test.([value])])
      Enum.all?(integers, &match?({:lit, _, true}, &1)) -> Functions.given([value], env, test)
      true -> {:if, l, all(l, integers), Functions.given([value], env, test), none(l, bounds, step)}
    end
  end

  defp none(l, bounds, step), do: {:none, l, :range, bounds ++ List.wrap(step)}

  defp inside([x, a, b], step, %{line: l} = env) do
    test = &AST.op(l, &1, &2)
    up = [test.(:ge, [x, a]), test.(:le, [x, b])]
    down = [test.(:le, [x, a]), test.(:ge, [x, b])]

    inside =
      case {step, a, b} do
        {nil, {:lit, _, first}, {:lit, _, last}} ->
          all(l, if(first <= last, do: up, else: down))

        {nil, _, _} ->
          disj(l, all(l, [test.(:le, [a, b]) | up]), all(l, [test.(:gt, [a, b]) | down]))

        {{:lit, _, n}, _, _} when is_integer(n) and n != 0 ->
          on_step = test.(:eq, [test.(:irem, [test.(:sub, [x, a]), step]), {:lit, l, 0}])
          all(l, if(n > 0, do: up, else: down) ++ if(abs(n) == 1, do: [], else: [on_step]))

        _ ->
          Error.raise_at(env, l, "the step of a range on the right of in must be a literal integer, not 0")
      end

    all(l, [test.(:is_integer, [x]), inside])
  end

  defp all(l, tests), do: tests |> Enum.reverse() |> Enum.reduce(&conj(l, &1, &2))

  defp conj(_, {:lit, _, true}, b), do: b
  defp conj(_, b, {:lit, _, true}), do: b
  defp conj(l, a, b), do: {:and, l, a, b}

  defp disj(l, a, b), do: {:or, l, a, b}

  @doc "The parts of a range `a..b` or `a..b//s` that is written in place: `{:ok, first, last, step or nil}`."
  @spec parts(Macro.t(), Macro.Env.t()) :: {:ok, Macro.t(), Macro.t(), Macro.t() | nil} | :error
  def parts(ast, env) do
    case ast do
      {:.., _, [first, last]} -> {:ok, first, last, nil}
      {@stepped, _, [first, last, step]} -> {:ok, first, last, step}
      {:@, _, _} -> ast |> Macro.expand(env) |> struct_range()
      _ -> :error
    end
  end

  # A module attribute that holds a range comes back as the AST of its struct.
  defp struct_range({:%{}, _, fields}) when is_list(fields) do
    case Map.new(fields) do
      %{__struct__: Range, first: first, last: last, step: step} -> {:ok, first, last, step}
      %{__struct__: Range, first: first, last: last} -> {:ok, first, last, nil}
      _ -> :error
    end
  end

  defp struct_range(_), do: :error
end
