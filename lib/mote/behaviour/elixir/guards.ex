defmodule Mote.Behaviour.Elixir.Guards do
  # Guards as plain Elixir: as guards of the BEAM where they mean the same, otherwise as code that calculates them. Part of the pass
  # to Elixir.
  @moduledoc false

  alias Mote.Behaviour.{AST, Failures, Primitives}
  alias Mote.Behaviour.Elixir.{Direct, Forms, Match}

  @native_partial [:hd, :tl, :tuple_size, :not]
  # In functions that plain Elixir calls.
  @calculated [:add, :sub, :mul, :fdiv, :idiv, :irem, :neg, :abs, :band, :bor, :bxor, :bnot, :bsl, :bsr] ++
                [:round, :trunc, :floor, :ceil, :length, :elem]
  @equal [:eq, :ne, :same, :differ]
  @ordered [:lt, :le, :gt, :ge]
  @not_atoms [:is_integer, :is_float, :is_number, :is_tuple, :is_list, :is_binary, :is_bitstring]

  @doc "Whether a guard means to the BEAM, in code of that form, what it means to a behaviour."
  @spec native?(AST.expr(), Match.form()) :: boolean
  def native?({tag, _, _} = e, _) when tag in [:lit, :var], do: not Forms.negative_zero?(value(e))
  def native?({tag, _, a, b}, form) when tag in [:and, :or], do: native?(a, form) and native?(b, form)

  def native?({:ordered, l, primitive, es}, form), do: native?({:op, l, primitive, es}, form)

  def native?({:op, _, primitive, es}, form) do
    (Forms.native(primitive, es) != nil or primitive in @native_partial or elixir?(primitive, form)) and
      Enum.all?(es, &native?(&1, form))
  end

  def native?(_, _), do: false

  defp elixir?(_primitive, :staged), do: false
  defp elixir?(primitive, :undefined), do: primitive in @equal
  defp elixir?(primitive, :direct), do: primitive in @calculated or primitive in @equal
  defp elixir?(primitive, {:direct, _}), do: elixir?(primitive, :direct) or primitive in @ordered

  @doc "Guards that hold where the order of two operands is in doubt, as that of addresses is, and of what may contain them."
  @spec doubts(AST.expr(), Match.form()) :: [Macro.t()]
  def doubts({tag, _, a, b}, form) when tag in [:and, :or], do: doubts(a, form) ++ doubts(b, form)

  def doubts({tag, _, primitive, [a, b]}, {:direct, _})
      when tag in [:op, :ordered] and primitive in @ordered do
    if Forms.native(primitive, [a, b]) == nil and not number?(a) and not number?(b),
      do: [Forms.all([in_doubt(code(a)), in_doubt(code(b))], :andalso)],
      else: []
  end

  def doubts(_, _), do: []

  defp number?({:op, _, primitive, _}), do: Primitives.number?(primitive)
  defp number?(_), do: false

  defp in_doubt(value), do: Forms.remote(:erlang, :not, [Forms.sure(value)], 0)

  defp value({:lit, _, value}), do: value
  defp value(_), do: nil

  @doc "The code of a guard that is native."
  @spec code(AST.expr()) :: Macro.t()
  def code(e), do: code(e, [])

  # `sure` are variables that are not `:undefined` where this is asked.
  defp code({:and, l, a, b}, sure),
    do: Forms.remote(:erlang, :andalso, [code(a, sure), code(b, defined(a) ++ sure)], l)

  defp code({:or, l, a, b}, sure),
    do: Forms.remote(:erlang, :orelse, [code(a, sure), code(b, sure)], l)

  # There is no `hd([])`: so the guard fails, also behind a `not`.
  defp code({:ordered, l, primitive, es}, sure) do
    compared = code({:op, l, primitive, es}, sure)

    case Enum.reject(es, &(Failures.defined?(&1) or variable(&1) in sure)) do
      [] ->
        compared

      doubtful ->
        defined = Forms.defined(doubtful, Enum.map(doubtful, &code(&1, sure)))
        defined = Forms.remote(:erlang, :orelse, [defined, Forms.remote(:erlang, :hd, [[]], l)], l)
        Forms.remote(:erlang, :andalso, [defined, compared], l)
    end
  end

  defp code({:op, l, :elem, [tuple, index]}, sure) do
    index = Forms.remote(:erlang, :+, [code(index, sure), 1], l)
    Forms.remote(:erlang, :element, [index, code(tuple, sure)], l)
  end

  defp code({:op, l, primitive, es}, sure) do
    name = Forms.native(primitive, es) || Forms.erlang(primitive) || primitive
    Forms.remote(:erlang, name, Enum.map(es, &code(&1, sure)), l)
  end

  defp code(e, _sure), do: Forms.simple(e)

  # The variables that are not `:undefined` where a guard holds.
  defp defined({:and, _, a, b}), do: defined(a) ++ defined(b)
  defp defined({:op, _, test, [{:var, _, v}]}) when test in @not_atoms, do: [v]
  defp defined(_), do: []

  defp variable({:var, _, v}), do: v
  defp variable(_), do: nil

  @doc "Code that calculates guards: of what is to happen where one of them holds, and where none does. Without guards all is well."
  @spec tested([AST.expr()] | nil, Macro.t(), Macro.t(), Match.form()) :: Macro.t()
  def tested(nil, yes, _no, _form), do: yes

  def tested(guards, yes, no, form) do
    tests =
      for guard <- guards do
        quote generated: true, do: unquote(answer(guard, form)) === {:ok, true}
      end

    [first | others] = tests
    any = Enum.reduce(others, first, &Forms.remote(:erlang, :orelse, [&2, &1], 0))

    quote generated: true do
      case unquote(any) do
        true -> unquote(yes)
        _ -> unquote(no)
      end
    end
  end

  # A guard as an expression whose value is {:ok, value} or :none.
  defp answer({:and, _, a, b}, form) do
    quote generated: true do
      case unquote(answer(a, form)) do
        {:ok, true} -> unquote(answer(b, form))
        {:ok, false} -> {:ok, false}
        _ -> :none
      end
    end
  end

  defp answer({:or, _, a, b}, form) do
    quote generated: true do
      case unquote(answer(a, form)) do
        {:ok, false} -> unquote(answer(b, form))
        {:ok, true} -> {:ok, true}
        _ -> :none
      end
    end
  end

  defp answer({:op, l, primitive, es}, form) do
    if Primitives.always?(primitive) and Enum.all?(es, &AST.simple?/1) do
      op = if form == :staged, do: &Forms.op/4, else: &Direct.op/4
      {:ok, op.(primitive, es, Enum.map(es, &Forms.simple/1), l)}
    else
      with_answers(es, form, &Forms.remote(Mote.Total, :answer, [primitive, &1], l))
    end
  end

  defp answer({:ordered, _, primitive, es}, form) do
    with_answers(es, form, fn args ->
      quote generated: true do
        case unquote(Forms.defined(es, args)) do
          true -> Mote.Total.answer(unquote(primitive), unquote(args))
          _ -> :none
        end
      end
    end)
  end

  defp answer({:tuple, _, es}, form), do: with_answers(es, form, &{:ok, {:{}, [], &1}})

  defp answer({:cons, _, h, t}, form),
    do: with_answers([h, t], form, fn [h, t] -> {:ok, [{:|, [], [h, t]}]} end)

  defp answer(e, _form), do: {:ok, Forms.simple(e)}

  defp with_answers(es, form, make, done \\ [])
  defp with_answers([], _form, make, done), do: make.(Enum.reverse(done))

  defp with_answers([e | es], form, make, done) do
    if AST.simple?(e) do
      with_answers(es, form, make, [Forms.simple(e) | done])
    else
      value = {:value, [generated: true, counter: Forms.unique()], __MODULE__}

      quote generated: true do
        case unquote(answer(e, form)) do
          {:ok, unquote(value)} -> unquote(with_answers(es, form, make, [value | done]))
          _ -> :none
        end
      end
    end
  end
end
