defmodule Mote.Behaviour.Loops.Closures do
  # A function that is a value becomes a function of the unit, which takes that value and then its arguments, and reads from the value
  # what it uses from outside. Part of the loops pass.
  @moduledoc false

  alias Mote.Behaviour.{AST, Code, Loops}

  @doc "The expression that makes the value; the function is added to those lifted. Its body has been walked already."
  @spec lift(AST.line(), [tuple], AST.expr(), map) :: {AST.expr(), map}
  def lift(l, params, body, s) do
    free = body |> AST.free() |> MapSet.difference(MapSet.new(params)) |> Enum.sort_by(&elem(&1, 1))
    arity = 1 + length(params)
    Loops.arity!(arity, 0, l, s)
    {value, s} = Loops.fresh(:function, s)

    captured =
      for {variable, n} <- Enum.with_index(free),
          do: {:match, l, {:bind, l, variable}, AST.sure(l, :captured, [{:var, l, value}, {:lit, l, n}])}

    name = :"#{s.code.name}/#{s.code.arity} fn #{l}:#{s.count + 1}"

    code = %Code{
      kind: :pure,
      name: name,
      arity: arity,
      params: [value | params],
      body: AST.block(l, captured ++ [body]),
      line: l,
      public: false
    }

    closure = {:closure, l, {nil, name, arity}, Enum.map(free, &{:var, l, &1})}
    {closure, %{s | lifted: [code | s.lifted], count: s.count + 1}}
  end
end
