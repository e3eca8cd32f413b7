defmodule Mote.Behaviour.Loops.Gather do
  # `create gather(customer, count, initial, fun)` and `become gather(…)`: a behaviour of its own is made of the function,
  # whose captures are the customer, how many reports are missing, what they have come to, and the variables that the
  # function uses from outside. Part of the loops pass.
  #
  #     gather(customer, missing, acc, v)   report -> acc = <body>
  #                                                   if missing > 1, become gather(customer, missing - 1, acc, v)
  #                                                   else send customer, acc and become sink()
  #
  # If none are missing at the beginning, no message will come: then the turn that would create it answers.
  @moduledoc false

  alias Mote.Behaviour.{AST, Code, Loops}

  @doc "The expression that creates, or becomes, such a behaviour; its code is added to those lifted."
  @spec lift(AST.line(), :create | :become, [AST.expr()], {[tuple], AST.expr()}, [AST.expr()], map) ::
          {AST.expr(), map}
  def lift(l, verb, values, {[report, acc], body}, sponsor, s) do
    free = body |> AST.free() |> MapSet.difference(MapSet.new([report, acc])) |> Enum.sort_by(&elem(&1, 1))
    arity = 3 + length(free)
    # The message is one more.
    Loops.arity!(arity + 1, length(free), l, s)
    name = :"#{s.code.name}/#{s.code.arity} gather #{l}:#{s.count + 1}"
    s = %{s | count: s.count + 1}

    {[customer, missing, sum], s} = Enum.map_reduce([:customer, :missing, :sum], s, &Loops.fresh/2)
    {[report, acc], s} = Enum.map_reduce([report, acc], s, &named/2)
    again = [{:var, l, customer}, less(l, missing), {:var, l, sum} | reads(l, free)]

    body =
      AST.block(l, [
        {:match, l, {:bind, l, sum}, body},
        {:if, l, AST.sure(l, :gt, [{:var, l, missing}, {:lit, l, 1}]),
         {:become, l, {nil, name, arity}, again},
         AST.block(l, [{:send, l, {:var, l, customer}, {:var, l, sum}}, {:become, l, :sink, []}])}
      ])

    code = %Code{
      kind: :actor,
      name: name,
      arity: arity,
      params: [customer, missing, acc] ++ free ++ [report],
      body: {:case, l, {:var, l, report}, [{:clause, l, {:any, l}, [], body}], :ignore},
      line: l,
      doc: false
    }

    start(l, verb, values, {{nil, name, arity}, reads(l, free)}, sponsor, %{s | lifted: [code | s.lifted]})
  end

  # A parameter that nobody looks at is handed on all the same.
  defp named({:_, _}, s), do: Loops.fresh(:unused, s)
  defp named(variable, s), do: {variable, s}

  defp less(l, missing), do: {:sure, l, :sub, [{:var, l, missing}, {:lit, l, 1}]}
  defp reads(l, variables), do: Enum.map(variables, &{:var, l, &1})

  defp some?({:lit, _, count}), do: is_integer(count) and count > 0
  defp some?(_), do: false

  # The values are calculated once, in their order.
  defp start(l, verb, values, {behaviour, free}, sponsor, s) do
    {names, s} =
      Enum.map_reduce(
        [:customer, :count, :initial] ++ Enum.map(sponsor, fn _ -> :sponsor end),
        s,
        &Loops.fresh/2
      )

    matches =
      for {name, value} <- Enum.zip(names, values ++ sponsor), do: {:match, l, {:bind, l, name}, value}

    [customer, count, initial | sponsor] = reads(l, names)
    guard = {:op, l, :gt, [count, {:lit, l, 0}]}

    some =
      case verb do
        :create -> {:create, l, behaviour, [customer, count, initial | free], List.first(sponsor)}
        :become -> {:become, l, behaviour, [customer, count, initial | free]}
      end

    none =
      case verb do
        :create -> {:create, l, :sink, [], nil}
        :become -> {:become, l, :sink, []}
      end

    clauses = [
      {:clause, l, {:any, l}, [{:and, l, {:op, l, :is_integer, [count]}, guard}], some},
      {:clause, l, {:lit, l, 0}, [], AST.block(l, [{:send, l, customer, initial}, none])}
    ]

    # Nobody has written this case: it fails as a function of that name.
    fail = {:function_clause, {Mote.Behaviour, :gather}, 4}
    started = if some?(Enum.at(values, 1)), do: some, else: {:case, l, count, clauses, fail}
    {AST.block(l, matches ++ [started]), s}
  end
end
