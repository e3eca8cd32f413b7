defmodule Mote.Behaviour.Elixir.Direct do
  # Calls and primitives of a function that plain Elixir calls. Part of the pass to Elixir.
  #
  # Where Elixir's own operation returns the same, or raises the same, it is used. Elsewhere the operation is
  # one of `Mote.Total.Direct`, or of `Mote.Total` where every argument has an answer. An integer may be
  # larger here than in a machine.
  @moduledoc false

  alias Mote.Behaviour.{AST, Code, Primitives}
  alias Mote.Behaviour.Elixir.{Binaries, Expressions, Forms, Match, Usual}

  # Elixir's own in all that they answer, and raise.
  @own [:add, :sub, :mul, :fdiv, :idiv, :irem, :neg, :abs, :band, :bor, :bxor, :bnot, :bsl, :bsr] ++
         [:round, :trunc, :floor, :ceil, :not, :hd, :tl, :tuple_size, :elem, :length, :append]
  @equal [:eq, :ne, :same, :differ]
  # Elixir's own where the BEAM orders one operand and anything else as a machine does; and for integers of the usual size, since
  # these need not raise.
  @ordered [:lt, :le, :gt, :ge, :max, :min]
  @counted [:add, :sub]
  # Elixir 1.20 makes a type with a part for each element up to a literal index: of an index of 2^60 it takes all memory.
  @most_index 999

  @doc """
  The functions of a unit that plain Elixir may call, as they are called there: the public ones under their names, and those
  that they or plain Elixir call. One that is private has another name where its own means something else.
  """
  @spec codes(map, Macro.Env.t()) :: [Code.t()]
  def codes(unit, env) do
    functions = for %Code{kind: :pure} = code <- unit.codes, into: %{}, do: {{code.name, code.arity}, code}
    called = reached(for({key, code} <- functions, code.public or key in unit.named, do: key), functions)
    taken = for {_, names} <- env.functions ++ env.macros, name <- names, into: MapSet.new(), do: name

    names =
      for {name, arity} = key <- called, into: %{} do
        case functions[key] do
          %{public: true} -> {key, if(key in taken, do: {unit.module, name, arity}, else: {nil, name, arity})}
          _ -> {key, {nil, private(key, taken, env), arity}}
        end
      end

    for key <- Enum.sort(called) do
      code = functions[key]
      {_, name, _} = names[key]
      %{code | name: name, body: renamed(code.body, names)}
    end
  end

  defp private({name, _arity} = key, taken, env) do
    if key in taken or Module.defines?(env.module, key), do: :"mote direct #{name}", else: name
  end

  @doc "The functions that are called by some, themselves included: of a map of them by name and arity."
  @spec reached([{atom, arity}], %{{atom, arity} => Code.t()}, MapSet.t()) :: MapSet.t()
  def reached(keys, functions, called \\ MapSet.new())
  def reached([], _functions, called), do: called

  def reached([key | rest], functions, called) do
    if key in called,
      do: reached(rest, functions, called),
      else: reached(own_calls(functions[key].body) ++ rest, functions, MapSet.put(called, key))
  end

  @doc "The functions of the own module that an expression calls."
  @spec own_calls(AST.expr()) :: [{atom, arity}]
  def own_calls(node) do
    inside = node |> AST.children() |> Enum.flat_map(&own_calls/1)

    case node do
      {tag, _, {nil, name, arity}, _} when tag in [:call, :tail_call] -> [{name, arity} | inside]
      _ -> inside
    end
  end

  defp renamed({tag, l, {nil, name, arity}, es}, names) when tag in [:call, :tail_call],
    do: {tag, l, Map.fetch!(names, {name, arity}), Enum.map(es, &renamed(&1, names))}

  defp renamed(node, names), do: AST.map_children(node, &renamed(&1, names))

  @doc """
  The body of a function; and that of another one, of this name, which is called where the BEAM may order two terms in another way
  than a machine, or nil.
  """
  @spec body(Code.t(), atom, Mote.Behaviour.Failures.mode()) :: {Macro.t(), Macro.t() | nil}
  def body(%Code{body: {:case, l, e, clauses, fail}} = code, careful, :abort) do
    params = Enum.map(code.params, &Forms.variable/1)
    form = {:direct, {careful, Forms.generated(l), params}}

    bodies = Enum.map(clauses, &Expressions.clause(&1, :direct))
    body = Match.clauses(bodies, Expressions.expr(e, :direct), {form, fail}, l)
    {body, if(Match.doubts?(clauses, form), do: Expressions.expr(code.body, :direct))}
  end

  def body(code, _careful, :abort), do: {Expressions.expr(code.body, :direct), nil}
  def body(code, _careful, :undefined), do: {Expressions.expr(code.body, :undefined), nil}

  @doc "A call of a function."
  @spec call({module | nil, atom, arity}, [Macro.t()], non_neg_integer) :: Macro.t()
  def call({nil, name, _}, args, l), do: {name, Forms.generated(l), args}
  def call({module, name, _}, args, l), do: Forms.remote(module, name, args, l)

  @doc "A call of a function of the library, with variables and literals: what fails in it is told of the call."
  @spec library(tuple, {module | nil, atom, arity}, [Macro.t()], non_neg_integer) :: Macro.t()
  def library(where, function, args, l) do
    quote generated: true, line: l do
      try do
        unquote(call(function, args, l))
      rescue
        _ ->
          Mote.Turn.Direct.told(
            {:raised, unquote(Macro.escape(where)), {unquote_splicing(args)}},
            __STACKTRACE__,
            unquote(Forms.function(l))
          )
      end
    end
  end

  @doc "A primitive that raises where it has no answer: with its operands, and with their code."
  @spec must(tuple, atom, [AST.expr()], [Macro.t()], non_neg_integer) :: Macro.t()
  def must(where, primitive, es, args, l) do
    checked = &checked(where, primitive, &1, l)

    cond do
      primitive == :bin_of -> Binaries.made(es, args, checked, l)
      primitive not in @own -> Usual.of(primitive, es, args, checked, l)
      not Enum.all?(es, &fits?(primitive, &1)) -> checked.(args)
      primitive == :elem -> Forms.remote(Kernel, :elem, args, l)
      true -> own(primitive, args, l)
    end
  end

  # The compiler warns of literals for which there is no answer.
  defp fits?(:elem, {:lit, _, value}), do: value in 0..@most_index

  defp fits?(primitive, {:lit, _, value}) when primitive in [:fdiv, :idiv, :irem],
    do: is_number(value) and value != 0

  defp fits?(:append, {:lit, _, value}), do: is_list(value) and not List.improper?(value)
  defp fits?(_primitive, {:lit, _, value}), do: is_number(value)
  defp fits?(_primitive, _), do: true

  defp checked(where, primitive, args, l),
    do: Forms.remote(Mote.Total.Direct, primitive, [Macro.escape(where), Forms.function(l) | args], l)

  @doc "A primitive that always has an answer: with its operands, and with their code."
  @spec op(atom, [AST.expr()], [Macro.t()], non_neg_integer) :: Macro.t()
  def op(primitive, es, args, l) do
    total = &Forms.remote(total(primitive, length(es)), primitive, &1, l)

    cond do
      Forms.native(primitive, es) != nil -> Forms.op(primitive, es, args, l)
      primitive in @equal -> own(primitive, args, l)
      primitive in @ordered -> either(es, args, primitive, {:orelse, &Forms.sure/1}, total, l)
      primitive in @counted -> either(es, args, primitive, {:andalso, &small/1}, total, l)
      true -> Usual.of(primitive, es, args, total, l)
    end
  end

  # One that has no answer is `:undefined`; the others need not pay for it.
  defp total(primitive, arity),
    do: if(Primitives.always?(primitive), do: Mote.Total.core(primitive, arity), else: Mote.Total)

  defp own(primitive, args, l), do: Forms.remote(:erlang, Forms.erlang(primitive) || primitive, args, l)

  # Elixir's own operation where the operands are such, otherwise that of a machine. Small integers that are written out are.
  defp either(es, args, primitive, {operator, test}, total, l) do
    operands =
      for {e, arg, part} <- Enum.zip([es, args, [:left, :right]]) do
        if small?(e), do: arg, else: {part, [generated: true, counter: Forms.unique()], __MODULE__}
      end

    own = primitive |> own(operands, l) |> branching(primitive, l)

    case for {e, arg, operand} <- Enum.zip([es, args, operands]), not small?(e), do: {arg, operand} do
      [] ->
        total.(args)

      [{arg, operand}] ->
        either_of(arg, operand, test.(operand), own, total.(operands), l)

      _ ->
        either_of(
          List.to_tuple(args),
          List.to_tuple(operands),
          Forms.all(Enum.map(operands, test), operator),
          own,
          total.(operands),
          l
        )
    end
  end

  # The BEAM compares inline where it branches, and calls a function where it wants the value.
  defp branching(own, primitive, l) when primitive in [:lt, :le, :gt, :ge] do
    quote generated: true, line: l do
      case unquote(own) do
        true -> true
        false -> false
      end
    end
  end

  defp branching(own, _primitive, _l), do: own

  defp either_of(value, pattern, test, own, total, l) do
    quote generated: true, line: l do
      case unquote(value) do
        unquote(pattern) when unquote(test) -> unquote(own)
        unquote(pattern) -> unquote(total)
      end
    end
  end

  # Integers whose sum is far from the largest one of a machine.
  @small 0x400_0000_0000_0000
  defp small(variable) do
    integer = Forms.remote(:erlang, :is_integer, [variable], 0)
    Forms.all([integer, order(:>=, variable, -@small), order(:"=<", variable, @small)], :andalso)
  end

  defp small?({:lit, _, value}), do: value in -@small..@small
  defp small?(_), do: false

  defp order(name, variable, limit), do: Forms.remote(:erlang, name, [variable, limit], 0)
end
