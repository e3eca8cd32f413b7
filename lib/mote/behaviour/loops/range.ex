defmodule Mote.Behaviour.Loops.Range do
  # Loops over ranges. With literal bounds the loop stops when `i` reaches a known number; otherwise the number of
  # steps is calculated first and counted down, so that the bounds may be anything: a value that is not an integer makes the
  # value of the loop `:undefined`. Where `i` is not used, only the steps are counted. Part of the loops pass.
  @moduledoc false

  alias Mote.Behaviour.{AST, Loops}

  @low -0x4000000000000000
  @high 0x3FFFFFFFFFFFFFFF

  @doc "The function of a loop and the expression that starts it, as `Loops.lift/5`."
  def lift(level, first, last, step, initial, s) do
    case stop(first, last, step) do
      {:ok, stop, step} -> literal(level, first, stop, step, initial, s)
      :error -> counted(level, first, last, step, initial, s)
    end
  end

  defp stop({:lit, _, first}, {:lit, _, last}, step) when is_integer(first) and is_integer(last) do
    step =
      case step do
        nil -> if first <= last, do: 1, else: -1
        {:lit, _, step} when is_integer(step) -> step
        _ -> 0
      end

    if step != 0 and first in @low..@high and last in @low..@high and step in @low..@high do
      stop = first + step * max(div(last - first, step) + 1, 0)
      # `div` rounds towards zero: a range that ends before it starts has no step at all.
      stop = if (step > 0 and first > last) or (step < 0 and first < last), do: first, else: stop
      if stop in @low..@high, do: {:ok, stop, step}, else: :error
    else
      :error
    end
  end

  defp stop(_, _, _), do: :error

  defp literal(%{line: l} = level, first, stop, step, initial, s) do
    {i, level, s} = element(level, s)

    Loops.lift(level, [{i, first}], initial, s, fn again ->
      next = again.([AST.sure(l, :add, [{:var, l, i}, {:lit, l, step}])], level.body)

      clauses = [
        {:clause, l, {:lit, l, stop}, [], level.result},
        {:clause, l, {:any, l}, [], next}
      ]

      {:case, l, {:var, l, i}, clauses, :case_clause}
    end)
  end

  defp counted(%{line: l} = level, first, last, step, initial, s) do
    {i, level, s} = element(level, s)
    {n, s} = Loops.fresh(:n, s)
    {first_match, a, s} = named(:first, first, s)
    {last_match, b, s} = named(:last, last, s)
    {step_match, step, s} = if step, do: named(:step, step, s), else: {[], nil, s}
    {count, s} = Loops.fresh(:count, s)
    {by, s} = Loops.fresh(:by, s)

    # The parameters that make `i`, with their first and next values. A literal step is written into the loop, another
    # one is a parameter of it.
    add = fn by -> AST.sure(l, :add, [{:var, l, i}, by]) end

    moving =
      case step do
        {:lit, _, _} -> [{i, a, add.(step)}]
        nil -> [{i, a, add.({:var, l, by})}, {by, direction(l, a, b), {:var, l, by}}]
        _ -> [{i, a, add.({:var, l, by})}, {by, step, {:var, l, by}}]
      end

    moving = if i in AST.free(level.body), do: moving, else: []
    controls = [{n, {:var, l, count}} | for({v, first, _} <- moving, do: {v, first})]
    nexts = [AST.sure(l, :sub, [{:var, l, n}, {:lit, l, 1}]) | for({_, _, next} <- moving, do: next)]

    {start, s} =
      Loops.lift(level, controls, initial, s, fn again ->
        next = again.(nexts, level.body)

        clauses = [
          {:clause, l, {:lit, l, 0}, [], level.result},
          {:clause, l, {:any, l}, [], next}
        ]

        {:case, l, {:var, l, n}, clauses, :case_clause}
      end)

    integers =
      for e <- [a, b] ++ List.wrap(step),
          test = AST.op(l, :is_integer, [e]),
          test != {:lit, l, true},
          do: test

    none = {:none, l, :range, [a, b | List.wrap(step)]}
    steps = if_all(l, integers, steps(l, a, b, step, none), none)

    body = [
      {:match, l, {:bind, l, count}, steps},
      {:if, l, AST.op(l, :is_integer, [{:var, l, count}]), start, none}
    ]

    {AST.block(l, first_match ++ last_match ++ step_match ++ body), s}
  end

  # The variable that runs over the range; a pattern that is more than a variable makes the body a case.
  defp element(%{pattern: {:bind, _, x}, guards: []} = level, s), do: {x, level, s}

  defp element(%{line: l} = level, s) do
    {i, s} = Loops.fresh(:i, s)

    if Loops.plain?(level) do
      {i, level, s}
    else
      clauses = [
        {:clause, l, level.pattern, level.guards, level.body},
        {:clause, l, {:any, l}, [], Loops.unchanged(l, level.acc)}
      ]

      {i, %{level | body: {:case, l, {:var, l, i}, clauses, :case_clause}}, s}
    end
  end

  defp named(name, e, s) do
    if AST.simple?(e) do
      {[], e, s}
    else
      {variable, s} = Loops.fresh(name, s)
      l = AST.line(e)
      {[{:match, l, {:bind, l, variable}, e}], {:var, l, variable}, s}
    end
  end

  defp direction(l, a, b), do: {:if, l, AST.op(l, :le, [a, b]), {:lit, l, 1}, {:lit, l, -1}}

  # How many steps the range has; no integer when there is no answer.
  defp steps(l, a, b, nil, _),
    do: {:if, l, AST.op(l, :le, [a, b]), distance(l, a, b, 1), distance(l, b, a, 1)}

  defp steps(l, a, b, {:lit, _, step}, _) when is_integer(step) and step > 0, do: up(l, a, b, step)

  defp steps(l, a, b, {:lit, _, step}, _) when is_integer(step) and step < 0,
    do: down(l, a, b, {:lit, l, -step})

  defp steps(l, a, b, step, none) do
    zero = {:lit, l, 0}

    {:cond, l,
     [
       {AST.op(l, :gt, [step, zero]), up(l, a, b, step)},
       {AST.op(l, :lt, [step, zero]), down(l, a, b, AST.op(l, :neg, [step]))},
       {{:lit, l, true}, none}
     ]}
  end

  defp up(l, a, b, step),
    do: {:if, l, AST.op(l, :le, [a, b]), distance(l, a, b, step), {:lit, l, 0}}

  defp down(l, a, b, step),
    do: {:if, l, AST.op(l, :ge, [a, b]), distance(l, b, a, step), {:lit, l, 0}}

  defp distance(l, from, to, step) do
    difference = AST.op(l, :sub, [to, from])

    steps =
      case step do
        n when n in [1, {:lit, l, 1}] -> difference
        n when is_integer(n) -> AST.op(l, :idiv, [difference, {:lit, l, n}])
        e -> AST.op(l, :idiv, [difference, e])
      end

    AST.op(l, :add, [steps, {:lit, l, 1}])
  end

  defp if_all(_, [], e, _), do: e

  defp if_all(l, tests, e, none) do
    test = tests |> Enum.reverse() |> Enum.reduce(&{:and, l, &1, &2})
    {:if, l, test, e, none}
  end
end
