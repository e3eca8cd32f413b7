defmodule Mote.Behaviour.Syntax.Calls do
  # Calls with a module, behaviours in `create` and `become`, and the `in` operator. Loops over Enum are handed on
  # to `Loops`. Whether a function or behaviour exists is not asked here.
  @moduledoc false

  alias Mote.Behaviour.{AST, Error, Primitives, Syntax}
  alias Mote.Behaviour.Syntax.{Effects, Hints, Loops, Maps, Templates}
  alias Mote.Prelude

  # As text, since formatters differ in how they write the atom.
  @stepped String.to_atom("..//")

  # What `vec_map2` does with each pair of elements.
  @vector_pairs [:add, :sub, :mul, :div, :min, :max]

  # Nanoseconds in each unit of time.
  @time_units [nanosecond: 1, microsecond: 1_000, millisecond: 1_000_000, second: 1_000_000_000]

  @functions [
    {:math, :pi, 0},
    {Enum, :member?, 2},
    {Enum, :count, 1},
    {Enum, :reverse, 1},
    {Enum, :slice, 2},
    {String, :slice, 2},
    {System, :monotonic_time, 1}
  ]

  @doc "The functions of modules that are made here of primitives of another spelling."
  @spec functions() :: [{module, atom, arity}]
  def functions, do: @functions ++ for(name <- @vector_pairs, do: {Mote.Vector, name, 2})

  @doc "A call of a function, own (`nil`) or of a module."
  def function(module, name, args, env) do
    module = if module == env.module, do: nil, else: module
    {:call, env.line, {module, name, length(args)}, Syntax.exprs(args, env)}
  end

  @doc "`module.name(args)`."
  def remote(module_ast, name, args, meta, env) do
    if args == [] and meta[:no_parens] == true and not module?(module_ast, env),
      do: AST.op(env.line, :map_fetch, [Syntax.expr(module_ast, env), {:lit, env.line, name}]),
      else: of_module(module(module_ast, env), name, args, meta, env)
  end

  defp of_module(module, name, args, meta, env) do
    arity = length(args)
    primitive = Primitives.remote(module, name, arity)

    cond do
      primitive -> AST.op(env.line, primitive, Syntax.exprs(args, env))
      module == Kernel -> Syntax.expr({name, meta, args}, env)
      module == :erlang -> erlang(name, args, meta, env)
      {module, name, args} == {:math, :pi, []} -> {:lit, env.line, :math.pi()}
      {module, name, arity} == {Enum, :member?, 2} -> member_call(args, env)
      {module, name, arity} == {Enum, :count, 1} -> over(:length, args, env)
      {module, name, arity} == {Enum, :reverse, 1} -> over(:reverse, args, env)
      {name, arity} == {:slice, 2} and module in [Enum, String] -> slice(module, args, env)
      module == Mote.Vector and arity == 2 and name in @vector_pairs -> vectors(name, args, env)
      {module, name} == {System, :monotonic_time} -> monotonic_time(args, env)
      module == Map and Maps.function?(name, arity) -> Maps.function(name, args, env)
      module == Enum and Loops.loop?(name, arity) -> Loops.enum(name, args, env)
      entry = Prelude.entry(module, name, arity) -> prelude(entry, args, env)
      hint = Hints.remote(module, name, arity) -> Error.raise_at(env, env.line, hint)
      true -> Syntax.expand({{:., meta, [module, name]}, meta, args}, env)
    end
  end

  @doc "A function of Kernel that is no primitive."
  def kernel(name, args, env) do
    case Prelude.entry(Kernel, name, length(args)) do
      nil -> Hints.kernel(name, length(args), env)
      entry -> prelude(entry, args, env)
    end
  end

  # The same name with an offset, or with a function.
  defp prelude({:pure, Mote.Prelude.Enum, :with_index}, [source, {form, _, _} = fun], env)
       when form in [:fn, :&],
       do: Templates.call(Mote.Prelude.Inline.Enum, :with_index_by, [source, fun], env)

  # A range is no value: where one is written as an argument it becomes its list.
  defp prelude({:pure, module, name}, args, env) do
    args = Enum.map(args, &Loops.listed(&1, env))
    {:call, env.line, {module, name, length(args)}, args}
  end

  defp prelude({:template, module, name}, args, env), do: Templates.call(module, name, args, env)

  # By a range, which is no value: by its parts.
  defp slice(module, [source, range], env) do
    case range(range, env) do
      {:ok, first, last, step} ->
        parts = Enum.reject([first, last, step], &is_nil/1)
        args = [Loops.listed(source, env) | Syntax.exprs(parts, env)]
        {:call, env.line, {Module.concat(Prelude, module), :slice_range, length(args)}, args}

      :error ->
        what = "#{inspect(module)}.slice/2 wants a range written in place, first..last, got: "
        Error.raise_at(env, env.line, what <> Macro.to_string(range))
    end
  end

  defp vectors(name, args, env),
    do: AST.op(env.line, :vec_map2, [{:lit, env.line, name} | Syntax.exprs(args, env)])

  defp monotonic_time([unit], env) do
    now = AST.op(env.line, :now, [])

    case List.keyfind(@time_units, unit, 0) do
      nil -> no_time_unit(Macro.to_string(unit), env)
      {_, 1} -> now
      {_, nanoseconds} -> AST.op(env.line, :idiv, [now, {:lit, env.line, nanoseconds}])
    end
  end

  defp monotonic_time(_, env), do: no_time_unit("none", env)

  defp no_time_unit(given, env) do
    units = Enum.map_join(@time_units, ", ", &inspect(elem(&1, 0)))

    Error.raise_at(
      env,
      env.line,
      "System.monotonic_time wants a unit that is known when compiling, one of #{units}, got: #{given}"
    )
  end

  # A function of Enum that is a primitive on lists.
  defp over(primitive, [source], env),
    do: AST.op(env.line, primitive, [AST.elements(Syntax.expr(source, env))])

  # What is left of `defguard` and Elixir's own macros after their expansion.
  defp erlang(:andalso, [a, b], meta, env), do: Syntax.expr({:and, meta, [a, b]}, env)
  defp erlang(:orelse, [a, b], meta, env), do: Syntax.expr({:or, meta, [a, b]}, env)

  defp erlang(:element, [index, tuple], _, env) do
    index = AST.op(env.line, :sub, [Syntax.expr(index, env), {:lit, env.line, 1}])
    AST.op(env.line, :elem, [Syntax.expr(tuple, env), index])
  end

  defp erlang(:self, [], _, env), do: {:self, env.line}

  defp erlang(:is_map_key, [key, map], meta, env),
    do: Syntax.expr({:is_map_key, meta, [map, key]}, env)

  defp erlang(:map_get, [key, map], _, env),
    do: AST.op(env.line, :map_fetch, Syntax.exprs([map, key], env))

  defp erlang(name, args, _, env) do
    Error.raise_at(env, env.line, Hints.remote(:erlang, name, length(args)))
  end

  @doc "`create behaviour` with its options."
  def create(behaviour, opts, env) do
    {ref, args} = behaviour(behaviour, :create, env)

    sponsor =
      case opts do
        [] ->
          nil

        [sponsor: sponsor] ->
          Effects.sponsor(:create, sponsor, env)

        other ->
          Error.raise_at(
            env,
            env.line,
            "create takes one option, sponsor: name, got: #{Macro.to_string(other)}"
          )
      end

    {:create, env.line, ref, args, sponsor}
  end

  @doc "`become behaviour`."
  def become(behaviour, env) do
    {ref, args} = behaviour(behaviour, :become, env)
    {:become, env.line, ref, args}
  end

  defp behaviour({:sink, _, args}, _, _) when args in [[], nil], do: {:sink, []}

  defp behaviour({name, meta, args}, _, env) when is_atom(name) and is_list(args) do
    if name in [:__block__, :{}, :%{}, :<<>>, :__aliases__, :fn, :&, :if, :case] do
      not_a_behaviour({name, meta, args}, env)
    else
      {{nil, name, length(args)}, Syntax.exprs(args, env)}
    end
  end

  defp behaviour({{:., _, [module, name]}, _, args}, _, env) when is_atom(name) do
    module = module(module, env)
    module = if module == env.module, do: nil, else: module
    {{module, name, length(args)}, Syntax.exprs(args, env)}
  end

  defp behaviour({name, _, context}, verb, env) when is_atom(name) and is_atom(context) do
    Error.raise_at(
      env,
      env.line,
      "#{verb} wants a behaviour with its captures, such as #{verb} #{name}(…); #{name} is a variable"
    )
  end

  defp behaviour(other, _, env), do: not_a_behaviour(other, env)

  defp not_a_behaviour(ast, env) do
    Error.raise_at(
      env,
      env.line,
      "create and become want a behaviour with its captures, name(…) or Module.name(…), got: " <>
        Macro.to_string(ast)
    )
  end

  defp module?(ast, env), do: ast |> Macro.expand(env) |> is_atom()

  defp module(module, _) when is_atom(module), do: module

  defp module(ast, env) do
    case Macro.expand(ast, env) do
      module when is_atom(module) ->
        module

      _ ->
        Error.raise_at(
          env,
          env.line,
          "the module of a call must be known when compiling, got: #{Macro.to_string(ast)}"
        )
    end
  end

  # -- in ------------------------------------------------------------------------------------------------------

  # The list comes first in Elixir, the value in the primitive; a list that does something keeps its place.
  defp member_call([list, value], env) do
    list = AST.elements(Syntax.expr(list, env))
    value = Syntax.expr(value, env)

    if AST.simple?(list) or AST.simple?(value) do
      AST.op(env.line, :member, [value, list])
    else
      variable = Syntax.fresh(:list)
      read = {:var, env.line, variable}

      AST.block(env.line, [
        {:match, env.line, {:bind, env.line, variable}, list},
        AST.op(env.line, :member, [value, read])
      ])
    end
  end

  @doc "`value in source`, a list or a literal range."
  def member(value, source, env) do
    case range(source, env) do
      {:ok, first, last, step} -> in_range(value, first, last, step, env)
      :error -> in_list(value, source, env)
    end
  end

  defp in_list(value, source, %{context: :guard} = env) do
    source = if is_list(source), do: source, else: Macro.expand(source, env)

    if is_list(source) do
      AST.op(env.line, :member, [Syntax.expr(value, env), Syntax.expr(source, env)])
    else
      Error.raise_at(env, env.line, "in a guard the right side of in must be a literal list or range")
    end
  end

  defp in_list(value, source, env),
    do: AST.op(env.line, :member, [Syntax.expr(value, env), AST.elements(Syntax.expr(source, env))])

  # Operands are used several times: in a body they get names first; in a guard, where nothing can be bound, they
  # have no effects and are simply repeated.
  defp in_range(value, first, last, step, env) do
    operands = Enum.map([value, first, last], &Syntax.expr(&1, env))
    step = step && Syntax.expr(step, env)

    if env.context == :guard or Enum.all?(operands, &AST.simple?/1) do
      range_test(operands, step, env)
    else
      {matches, reads} =
        operands
        |> Enum.map(fn operand ->
          variable = Syntax.fresh(:operand)
          {{:match, env.line, {:bind, env.line, variable}, operand}, {:var, env.line, variable}}
        end)
        |> Enum.unzip()

      AST.block(env.line, matches ++ [range_test(reads, step, env)])
    end
  end

  defp range_test([x, a, b], step, env) do
    l = env.line
    test = &AST.op(l, &1, &2)
    all = fn tests -> Enum.reduce(Enum.reverse(tests), &conj(l, &1, &2)) end
    up = [test.(:ge, [x, a]), test.(:le, [x, b])]
    down = [test.(:le, [x, a]), test.(:ge, [x, b])]
    integers = for e <- [a, b], do: test.(:is_integer, [e])

    inside =
      case {step, a, b} do
        {nil, {:lit, _, first}, {:lit, _, last}} ->
          all.(if first <= last, do: up, else: down)

        {nil, _, _} ->
          disj(l, all.([test.(:le, [a, b]) | up]), all.([test.(:gt, [a, b]) | down]))

        {{:lit, _, n}, _, _} when is_integer(n) and n != 0 ->
          on_step = test.(:eq, [test.(:irem, [test.(:sub, [x, a]), step]), {:lit, l, 0}])
          all.(if(n > 0, do: up, else: down) ++ if(abs(n) == 1, do: [], else: [on_step]))

        _ ->
          Error.raise_at(env, l, "the step of a range on the right of in must be a literal integer, not 0")
      end

    inside = all.([test.(:is_integer, [x]), inside])

    # Bounds that are no integers: no answer in a body, a failure in a guard.
    cond do
      Enum.all?(integers, &match?({:lit, _, true}, &1)) -> inside
      env.context == :guard -> all.(integers ++ [inside])
      true -> {:if, l, all.(integers), inside, {:none, l, :range, [a, b | List.wrap(step)]}}
    end
  end

  defp conj(_, {:lit, _, true}, b), do: b
  defp conj(_, b, {:lit, _, true}), do: b
  defp conj(l, a, b), do: {:and, l, a, b}

  defp disj(l, a, b), do: {:or, l, a, b}

  @doc "Whether an AST is a range `a..b` or `a..b//s`."
  def range(ast, env) do
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
