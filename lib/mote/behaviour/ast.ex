defmodule Mote.Behaviour.AST do
  # The Mote AST, which the passes hand to each other. Syntax makes it, check gives every variable a number of
  # its own, loops replaces `:loop` by calls, flow marks tail calls; IR and plain Elixir are made of the
  # result. Here are the node shapes, the constructors that simplify on the way, and a walk. No pass lives
  # here.
  #
  # Expressions (the second element is always the line):
  #
  #     {:lit, l, term}                    {:var, l, variable}
  #     {:tuple, l, [e]}                   {:cons, l, e, e}
  #     {:op, l, primitive, [e]}           {:block, l, [e]}; until errors also :map_field, for `map.key`
  #     {:and | :or, l, e, e}              strict, as in Elixir
  #     {:both | :either, l, e, e}         && and ||
  #     {:match, l, pattern, e}            {:if, l, e, e, e}
  #     {:case, l, e, [clause], fail}      fail is :case_clause, :with_clause, :try_clause, :function_clause, or that with whose
  #     {:cond, l, [{e, e}]}               {:abort, l, e}
  #     {:call, l, function, [e]}          function is {module | nil, name, arity}; nil is the own module
  #     {:tail_call, l, function, [e]}     after flow only
  #     {:fn, l, [variable], e}            until loops: a function that is a value
  #     {:closure, l, function, [e]}       after loops: the same, with what it captures
  #     {:apply, l, place, [e]}            calls the first of these with the others; place is nil until errors
  #     {:tail_apply, l, place, [e]}       after flow only
  #     {:placed, l, where, [call]}        after errors only: an abort in the call tells of the call
  #     {:self, l}                         {:create, l, behaviour, [e], sponsor e | nil}
  #     {:send, l, e, e}                   {:sendx, l, e, e, e}
  #     {:send_after, l, e, e, e}          {:cancel_timer, l, e}
  #     {:monitor, l, e, e, e}             as send_after, with a process in place of milliseconds
  #     {:become, l, behaviour, [e]}       behaviour may be :sink
  #     {:stash, l, [name], [e]}           a become that keeps the message, and names the captures that change; until check
  #     {:again, l, e}                     a become that is given the message of the turn; until check
  #     {:unstash, l, e}                   what is given back by a become, or whether it is: see check/stash.ex
  #     {:gather, l, :create | :become, [customer e, count e, initial e], {[variable, variable], e}, sponsor e | nil}
  #                                        until loops: a behaviour that is written in place
  #     {:change, l, [name], [e]}          a become that names the captures that change; until check
  #     {:loop, l, [qualifier], collector} until loops
  #     {:none, l, primitive, [e]}         what has no answer, as that primitive of these; until errors
  #     {:sure, l, primitive, [e]}         an operation that has an answer here; until errors
  #     {:must, l, where, [e]}             one that has an answer, or the turn is aborted; where is
  #                                        {module, line, operation}; after errors only
  #     {:ordered, l, primitive, [e]}      a comparison that has no answer where an operand is `:undefined`; after errors only
  #     {:holds, l, e}                     a condition that does not hold where it is `:undefined`; after errors only, and only
  #                                        where a condition may stand, or on the left of :either
  #     {:match, l, pattern, e, fail}      after errors only; fail is {:raised, where}, as it may be of a case
  #     {:attempt, l, e}                   a call that is protected; its value is {value, false}, or {:undefined, reason} if it fails
  #     {:letrec, l, [{key, [variable], e}], e}  until loops: functions that see the variables around them
  #     {:local, l, key, [e]}              until loops: calls one of these, inside of the nearest letrec
  #     {:given, l, [variable], [e], e}    until check: the last with the values of the others, none of which sees what another
  #                                        one binds, nor does the last; what follows sees what they bind
  #
  # Qualifiers are {:gen, l, pattern, [guard], source} and {:filter, l, e}; a source is {:list, l, e}, {:binary, l, e} or
  # {:range, l, first, last, step | nil}. Collectors are {:collect, e}, {:each, e} and
  # {:reduce, initial, variable, e}.
  #
  # Patterns: {:any, l}, {:bind, l, variable}, {:pin, l, variable}, {:lit, l, term}, {:tuple, l, [p]},
  # {:cons, l, p, p}, {:map, l, [{key, p}]} (a key is a literal or a pin), {:bin, l, [segment]} (a segment is a map, see
  # `syntax/binaries.ex`), {:all, l, [p]} (all of them match the same value), {:atom, l} (any atom).
  #
  # A clause is {:clause, l, pattern, [guard], body}; of several guards one must hold.
  @moduledoc false

  alias Mote.Behaviour.Primitives

  @type line :: non_neg_integer
  @type expr :: tuple
  @type pattern :: tuple
  @type clause :: {:clause, line, pattern, [expr], expr}

  @doc "A tuple, a literal one if its elements are."
  def tuple(line, elements) do
    if Enum.all?(elements, &literal?/1),
      do: {:lit, line, List.to_tuple(Enum.map(elements, &value/1))},
      else: {:tuple, line, elements}
  end

  @doc "A list cell, a literal one if both sides are."
  def cons(line, {:lit, _, head}, {:lit, _, tail}), do: {:lit, line, [head | tail]}
  def cons(line, head, tail), do: {:cons, line, head, tail}

  @doc "A list."
  def list(line, elements, tail \\ nil) do
    List.foldr(elements, tail || {:lit, line, []}, &cons(line, &1, &2))
  end

  @doc "A map of `{key, value}`, a literal one if they are."
  def map(line, pairs) do
    op(line, :map_of, [tuple(line, Enum.flat_map(pairs, fn {key, value} -> [key, value] end))])
  end

  @doc """
  What a loop or a function of Enum goes through: the pairs of a map, the members of a set, the integers of a range; a list
  as it is. `line` is that of the loop or function, where Elixir would raise.
  """
  def elements(line, source), do: if(list?(source), do: source, else: op(line, :elements, [source]))

  @doc "Returns whether an expression is known to be a list."
  def list?({:lit, _, list}), do: is_list(list)
  def list?({:cons, _, _, _}), do: true
  def list?({:loop, _, _, {:collect, _}}), do: true
  def list?(_), do: false

  @doc "A primitive operation, calculated at once if its operands are literal and it has an answer."
  def op(line, primitive, args) do
    # The list of a range may be longer than anybody wants to have in the code.
    with true <-
           primitive not in [:on, :elements] and Primitives.pure?(primitive) and Enum.all?(args, &literal?/1),
         {:ok, value} <- Mote.Total.answer(primitive, Enum.map(args, &value/1)) do
      {:lit, line, value}
    else
      _ -> {:op, line, primitive, args}
    end
  end

  @doc "Does the same for an operation that is certain to have an answer, or whose value nobody looks at."
  def sure(line, primitive, args) do
    with {:op, line, primitive, args} <- op(line, primitive, args), do: {:sure, line, primitive, args}
  end

  @doc "A sequence of expressions; a block of one is that one."
  def block(line, []), do: {:lit, line, nil}
  def block(_, [one]), do: one
  def block(line, many), do: {:block, line, many}

  @doc "The line of a node."
  def line(node), do: elem(node, 1)

  def literal?({:lit, _, _}), do: true
  def literal?(_), do: false

  @doc "The value of a literal."
  def value({:lit, _, value}), do: value

  @doc "Returns whether evaluating it again, or in another order, cannot be noticed."
  def simple?({tag, _, _}) when tag in [:lit, :var], do: true
  def simple?(_), do: false

  @doc """
  The expressions directly inside of an expression, in order of evaluation.

  Patterns and guards are not among them; `clauses/1` gives those.
  """
  def children(node) do
    case node do
      {tag, _, _} when tag in [:lit, :var] -> []
      {:self, _} -> []
      {tag, _, es} when tag in [:tuple, :block] -> es
      {:cons, _, a, b} -> [a, b]
      {tag, _, _, es} when tag in [:op, :sure, :none, :must, :ordered, :placed, :closure] -> es
      {tag, _, a, b} when tag in [:and, :or, :both, :either] -> [a, b]
      {:match, _, _, e} -> [e]
      {:match, _, _, e, _} -> [e]
      {:if, _, a, b, c} -> [a, b, c]
      {:case, _, e, clauses, _} -> [e | Enum.map(clauses, fn {:clause, _, _, _, body} -> body end)]
      {:cond, _, clauses} -> Enum.flat_map(clauses, fn {test, body} -> [test, body] end)
      {tag, _, e} when tag in [:abort, :attempt, :cancel_timer, :unstash, :holds] -> [e]
      {tag, _, _, es} when tag in [:call, :tail_call, :become, :local, :apply, :tail_apply] -> es
      {:create, _, _, es, nil} -> es
      {:create, _, _, es, sponsor} -> es ++ [sponsor]
      {:send, _, a, b} -> [a, b]
      {tag, _, a, b, c} when tag in [:sendx, :send_after, :monitor] -> [a, b, c]
    end
  end

  @doc "The node with `fun` of each of its expressions in place of them, those in guards included."
  def map_children(node, fun) do
    case node do
      {tag, _, _} when tag in [:lit, :var] ->
        node

      {:self, _} ->
        node

      {tag, l, es} when tag in [:tuple, :block] ->
        {tag, l, Enum.map(es, fun)}

      {tag, l, name, es}
      when tag in [:op, :sure, :none, :must, :ordered, :placed, :call, :tail_call, :become, :local] or
             tag in [:closure, :apply, :tail_apply] ->
        {tag, l, name, Enum.map(es, fun)}

      {:match, l, pattern, e} ->
        {:match, l, pattern, fun.(e)}

      {:match, l, pattern, e, fail} ->
        {:match, l, pattern, fun.(e), fail}

      {:case, l, e, clauses, fail} ->
        clauses =
          for {:clause, l, pattern, guards, body} <- clauses,
              do: {:clause, l, pattern, Enum.map(guards, fun), fun.(body)}

        {:case, l, fun.(e), clauses, fail}

      {:cond, l, clauses} ->
        {:cond, l, for({test, body} <- clauses, do: {fun.(test), fun.(body)})}

      {:create, l, name, es, sponsor} ->
        {:create, l, name, Enum.map(es, fun), sponsor && fun.(sponsor)}

      {tag, l, e} when tag in [:abort, :attempt, :cancel_timer, :unstash, :holds] ->
        {tag, l, fun.(e)}

      {tag, l, a, b} when tag in [:cons, :and, :or, :both, :either, :send] ->
        {tag, l, fun.(a), fun.(b)}

      {tag, l, a, b, c} when tag in [:if, :sendx, :send_after, :monitor] ->
        {tag, l, fun.(a), fun.(b), fun.(c)}
    end
  end

  @doc "The clauses of a `case`."
  def clauses({:case, _, _, clauses, _}), do: clauses
  def clauses(_), do: []

  @doc "Returns whether some expression inside, itself included, satisfies `fun`."
  def any?(node, fun), do: fun.(node) or Enum.any?(children(node), &any?(&1, fun))

  @doc "Returns whether a segment of a binary is an integer of more bits than a machine reads or writes at once."
  @spec wide?(map) :: boolean
  def wide?(%{kind: :int, size: {:lit, _, n}, unit: unit}), do: n * unit > 64
  def wide?(_), do: false

  @doc "The variables that a pattern binds."
  def bound({:bind, _, v}), do: [v]
  def bound({tag, _, ps}) when tag in [:tuple, :all], do: Enum.flat_map(ps, &bound/1)
  def bound({:cons, _, h, t}), do: bound(h) ++ bound(t)
  def bound({:bin, _, segments}), do: Enum.flat_map(segments, &bound(&1.value))
  def bound({:map, _, pairs}), do: Enum.flat_map(pairs, fn {_, p} -> bound(p) end)
  def bound(_), do: []

  @doc "The variables that a pattern reads."
  def pinned({:pin, _, v}), do: [v]
  def pinned({tag, _, ps}) when tag in [:tuple, :all], do: Enum.flat_map(ps, &pinned/1)
  def pinned({:cons, _, h, t}), do: pinned(h) ++ pinned(t)
  # What a segment has bound may be the size of the next one: it is read, too.
  def pinned({:bin, _, segments}) do
    Enum.flat_map(segments, &pinned(&1.value)) ++ for(%{size: {:var, _, v}} <- segments, do: v)
  end

  def pinned({:map, _, pairs}), do: Enum.flat_map(pairs, fn {key, p} -> pinned(key) ++ pinned(p) end)
  def pinned(_), do: []

  @doc "The variables that an expression (without loops) reads but does not bind."
  def free(node) do
    {read, bound} = variables(node, {MapSet.new(), MapSet.new()})
    MapSet.difference(read, bound)
  end

  # Every variable has a number of its own, so that order and scope need no care.
  defp variables({:var, _, v}, {read, bound}), do: {MapSet.put(read, v), bound}

  defp variables(node, acc) do
    acc =
      case node do
        {:match, _, pattern, _} -> pattern_variables(pattern, acc)
        _ -> acc
      end

    acc =
      Enum.reduce(clauses(node), acc, fn {:clause, _, pattern, guards, _}, acc ->
        Enum.reduce(guards, pattern_variables(pattern, acc), &variables/2)
      end)

    Enum.reduce(children(node), acc, &variables/2)
  end

  defp pattern_variables(pattern, {read, bound}) do
    {MapSet.union(read, MapSet.new(pinned(pattern))), MapSet.union(bound, MapSet.new(bound(pattern)))}
  end
end
