defmodule Mote.Behaviour.Elixir.Forms do
  # The smallest pieces of plain Elixir: variables, constants, calls and primitives. Part of the pass to Elixir.
  @moduledoc false

  alias Mote.Behaviour.{AST, Failures}

  @doc "The code of what `Mote.Behaviour.AST.simple?/1` is."
  @spec simple(AST.expr()) :: Macro.t()
  def simple({:lit, _, value}), do: literal(value)
  def simple({:var, _, v}), do: variable(v)

  @doc "A number for a variable of the generated code."
  def unique, do: System.unique_integer([:positive])

  @doc "A call of a function of another module."
  def remote(module, name, args, l),
    do: {{:., generated(l), [module, name]}, generated(l), args}

  @doc "The code that ends a turn, or a function that is called directly."
  @spec abort(Mote.Behaviour.Elixir.Expressions.form(), Macro.t(), non_neg_integer) :: Macro.t()
  def abort(:staged, reason, l), do: remote(Mote.Turn.Stage, :abort, [reason], l)
  def abort(_direct, reason, l), do: remote(Mote.Turn.Direct, :abort, [reason, function(l)], l)

  @doc "The name and arity of the function that the code is in, which has no frame any more where it ends by a call."
  @spec function(non_neg_integer) :: Macro.t()
  def function(l),
    do:
      {{:., generated(l), [{:__ENV__, generated(l), nil}, :function]}, [no_parens: true] ++ generated(l), []}

  @doc "The variable of a name and number."
  def variable({name, n}), do: {name, [generated: true, counter: n], __MODULE__}

  @doc "Metadata of generated code, which the compiler shall not warn about."
  def generated(line \\ 0), do: [generated: true, line: line]

  @doc "The code of a constant."
  def literal(value) do
    # Older releases of OTP take -0.0 in a literal for 0.0.
    if negative_zero?(value),
      do: remote(:erlang, :binary_to_term, [:erlang.term_to_binary(value)], 0),
      else: Macro.escape(value)
  end

  @doc "Whether there is a -0.0 somewhere in a term."
  def negative_zero?(value) when is_float(value), do: <<value::float>> == <<1::1, 0::63>>
  def negative_zero?([head | tail]), do: negative_zero?(head) or negative_zero?(tail)
  def negative_zero?(value) when is_tuple(value), do: value |> Tuple.to_list() |> negative_zero?()
  def negative_zero?(value) when is_map(value), do: value |> :maps.to_list() |> negative_zero?()
  def negative_zero?(_), do: false

  @doc "A test whether the BEAM orders a value and anything else as a machine does."
  # Numbers and atoms come before all that is in doubt, and binaries behind it.
  @spec sure(Macro.t()) :: Macro.t()
  def sure(value),
    do:
      all(for(test <- [:is_number, :is_atom, :is_bitstring], do: remote(:erlang, test, [value], 0)), :orelse)

  @doc "Several tests as one, by `:andalso` or `:orelse`."
  @spec all([Macro.t(), ...], :andalso | :orelse) :: Macro.t()
  def all(tests, operator), do: Enum.reduce(tests, &remote(:erlang, operator, [&2, &1], 0))

  @native [:is_integer, :is_float, :is_number, :is_atom, :is_boolean, :is_tuple, :is_list] ++
            [:is_binary, :is_bitstring, :is_function, :is_pid]

  @comparisons %{eq: :==, ne: :"/=", lt: :<, le: :"=<", gt: :>, ge: :>=}

  # What Elixir's own operation is called in `:erlang`, where it is not called as the primitive.
  @erlang %{
            add: :+,
            sub: :-,
            mul: :*,
            fdiv: :/,
            idiv: :div,
            irem: :rem,
            neg: :-,
            append: :++,
            same: :"=:=",
            differ: :"=/="
          }
          |> Map.merge(@comparisons)

  @doc "The name of Elixir's own operation in `:erlang`, where it is another one."
  @spec erlang(atom) :: atom | nil
  def erlang(primitive), do: @erlang[primitive]

  @compared [:same, :differ | Map.keys(@comparisons)]

  @doc "A primitive: with its operands, and with their code."
  def op(primitive, es, args, l) do
    case native(primitive, es) do
      nil -> remote(Mote.Total, primitive, args, l)
      name -> remote(:erlang, name, args, l)
    end
  end

  @doc "Whether none of some expressions, with their code, is `:undefined`: of those that may be."
  def defined(es, args) do
    tests =
      for {e, arg} <- Enum.zip(es, args),
          not Failures.defined?(e),
          do: remote(:erlang, :"=/=", [arg, :undefined], 0)

    all(tests, :andalso)
  end

  @doc """
  The function of `:erlang` that does the same as a primitive with these operands, or nil.

  An address is a struct here, so it would sort wrongly against most terms, but not against numbers and atoms. And to
  compare two terms of any size costs fuel.
  """
  def native(primitive, es) do
    # A comparison of comparisons is something that Elixir warns about.
    if primitive in @compared and Enum.any?(es, &match?({:op, _, op, _} when op in @compared, &1)),
      do: nil,
      else: native_function(primitive, es)
  end

  defp native_function(primitive, _) when primitive in @native, do: primitive

  defp native_function(primitive, [a, b]) when is_map_key(@comparisons, primitive),
    do: if(scalar?(a) or scalar?(b), do: @comparisons[primitive])

  defp native_function(:same, [a, b]), do: if(exact?(a) or exact?(b), do: :"=:=")
  defp native_function(:differ, [a, b]), do: if(exact?(a) or exact?(b), do: :"=/=")
  defp native_function(_, _), do: nil

  defp scalar?({:lit, _, value}), do: is_number(value) or is_atom(value)
  defp scalar?(_), do: false

  @doc "Whether a literal equals only what the BEAM, in every release, says it equals."
  def exact?({:lit, _, value}),
    do: is_integer(value) or is_atom(value) or is_binary(value) or value == []

  def exact?(_), do: false
end
