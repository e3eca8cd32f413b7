defmodule Mote.Behaviour.Syntax.Calls do
  # Calls with a module, behaviours in `create` and `become`, and the `in` operator. Loops over Enum are handed on
  # to `Loops`. Whether a function or behaviour exists is not checked here.
  @moduledoc false

  alias Mote.Behaviour.{AST, Error, Imports, Primitives, Syntax}
  alias Mote.Behaviour.IR.Turned
  alias Mote.Behaviour.Syntax.{Applied, Effects, Functions, Hints, Inspected, Loops, Maps, Paths, Ranges}
  alias Mote.Behaviour.Syntax.{Regexes, Templates}
  alias Mote.Prelude

  # What `vec_map2` does with each pair of elements.
  @vector_pairs [:add, :sub, :mul, :div, :min, :max]

  # Nanoseconds in each unit of time.
  @time_units [nanosecond: 1, microsecond: 1_000, millisecond: 1_000_000, second: 1_000_000_000]

  # Some whose answer is never a list.
  @no_lists ~w[
    add sub mul fdiv idiv irem neg abs round trunc floor ceil length map_size tuple_size byte_size to_string bin_of
    binary_part
  ]a

  # Which of two keys `Enum.max_by/2` and its relatives keep: the best so far comes first. `min_max_by` asks what is before.
  @orders %{
    max: quote(do: fn a, b -> a >= b end),
    max_by: quote(do: fn a, b -> a >= b end),
    min: quote(do: fn a, b -> a <= b end),
    min_by: quote(do: fn a, b -> a <= b end),
    min_max_by: quote(do: fn a, b -> a < b end)
  }

  # What sorts by the order of terms, and downwards, in place of functions that take a sorter.
  @sorters %{
    {{:template, Prelude.Inline.Enum, :sort}, :asc} => {:pure, Prelude.Enum, :sort},
    {{:template, Prelude.Inline.Enum, :sort}, :desc} => {:pure, Prelude.Enum, :sort_descending},
    {{:template, Prelude.Inline.Enum, :sort_by}, :asc} => {:template, Prelude.Inline.Enum, :sort_by},
    {{:template, Prelude.Inline.Enum, :sort_by}, :desc} =>
      {:template, Prelude.Inline.Enum, :sort_by_descending},
    {{:template, Prelude.Inline.Enum, :keysort}, :asc} => {:pure, Prelude.List, :keysort},
    {{:template, Prelude.Inline.Enum, :keysort}, :desc} => {:pure, Prelude.List, :keysort_descending}
  }

  # What Elixir's compiler puts in place of functions of Elixir.
  @inlined %{
    {:append_element, 2} => {Tuple, :append},
    {:atom_to_list, 1} => {Atom, :to_charlist},
    {:integer_to_list, 1} => {Integer, :to_charlist},
    {:integer_to_list, 2} => {Integer, :to_charlist},
    {:list_to_float, 1} => {List, :to_float},
    {:list_to_integer, 1} => {List, :to_integer},
    {:list_to_integer, 2} => {List, :to_integer},
    {:list_to_tuple, 1} => {List, :to_tuple},
    {:tuple_to_list, 1} => {Tuple, :to_list}
  }
  # The same the other way round, for those whose arguments are in another order, and count from one.
  @turned [delete_at: 2, insert_at: 3, duplicate: 2]

  @functions [
    {:math, :pi, 0},
    {Enum, :member?, 2},
    {Enum, :reverse, 1},
    {Enum, :slice, 2},
    {String, :slice, 2},
    {System, :monotonic_time, 1}
  ]

  @doc "The functions of modules that are made here of primitives of another spelling."
  @spec functions() :: [{module, atom, arity}]
  def functions do
    erlang = for {name, arity} <- Map.keys(@inlined), do: {:erlang, name, arity}
    tuples = for {name, arity} <- @turned, do: {Tuple, name, arity}
    @functions ++ for(name <- @vector_pairs, do: {Mote.Vector, name, 2}) ++ erlang ++ tuples
  end

  @doc "A call of a function, own (`nil`) or of a module."
  def function(module, name, args, env) do
    {:call, env.line, {other(module, env), name, length(args)}, Syntax.exprs(args, env)}
  end

  defp other(module, env), do: if(module != env.module, do: module)

  @doc "`module.name(args)`."
  def remote(module_ast, name, args, meta, env) do
    if args == [] and meta[:no_parens] == true and not module?(module_ast, env),
      do: field(Syntax.expr(module_ast, env), name, env),
      else: of_module(module(module_ast, env), name, args, meta, env)
  end

  # In Elixir it fails otherwise than `Map.fetch!/2`; of a guard that makes no difference.
  defp field(map, name, %{line: l, context: context}) do
    with {:op, ^l, :map_fetch, operands} when context != :guard <-
           AST.op(l, :map_fetch, [map, {:lit, l, name}]),
         do: {:op, l, :map_field, operands}
  end

  defp of_module(module, name, args, meta, env) do
    arity = length(args)
    primitive = Primitives.remote(module, name, arity)

    cond do
      primitive == :elements ->
        AST.elements(env.line, args |> hd() |> Loops.listed(env) |> Imports.source(:listed, env))

      primitive == :to_string or {module, name, arity} == {String.Chars, :to_string, 1} ->
        text(hd(args), env)

      primitive == :map_new ->
        AST.op(env.line, primitive, gone_through(args, env))

      primitive ->
        AST.op(env.line, primitive, Syntax.exprs(args, env))

      call = module == Enum && Imports.enum(name, args, env) ->
        call

      Imports.first?(module, name, arity, env) or (module == Kernel and hidden?(name, arity, env)) ->
        Imports.call(module, name, args, env)

      module == Kernel ->
        Syntax.expr({name, [{:mote_kernel, true} | meta], args}, env)

      module == :erlang ->
        erlang(name, args, meta, env)

      module == Tuple and {name, arity} in @turned ->
        args
        |> List.update_at(1, if(name == :duplicate, do: & &1, else: &behind/1))
        |> as_given(Turned.turned(:elem, [1, 0]), env, fn args ->
          {name, args} = tuple(name, args)
          erlang(name, args, meta, env)
        end)

      {module, name, args} == {:math, :pi, []} ->
        {:lit, env.line, :math.pi()}

      {module, name, arity} == {Enum, :member?, 2} ->
        member_call(args, env)

      {module, name, arity} == {Enum, :reverse, 1} ->
        reverse(args, env)

      {name, arity} == {:slice, 2} and module in [Enum, String] ->
        slice(module, args, env)

      module == Mote.Vector and arity == 2 and name in @vector_pairs ->
        vectors(name, args, env)

      {module, name} == {System, :monotonic_time} ->
        monotonic_time(args, env)

      module == Map and Maps.function?(name, arity) ->
        Maps.function(name, args, env)

      {module, name, arity} == {Mote.Directory, :send, 3} ->
        Effects.send_to_key(args, env)

      {module, name, arity} == {Mote.Directory, :shard, 2} ->
        function(Mote.Directory.Place, name, args, env)

      module == Enum and Loops.loop?(name, arity) ->
        Loops.enum(name, args, env)

      entry = Prelude.entry(module, name, arity) ->
        prelude(entry, args, env)

      call = Imports.call(module, name, args, env) ->
        call

      hint = Hints.remote(module, name, arity) ->
        Error.raise_at(env, env.line, hint)

      true ->
        Syntax.expand({{:., meta, [module, name]}, meta, args}, env)
    end
  end

  # What only definitions of Kernel itself call.
  defp hidden?(name, arity, %{mote_import: %{within: [{Kernel, _, _} | _]}}),
    do: {name, arity} not in Kernel.__info__(:functions) and {name, arity} not in Kernel.__info__(:macros)

  defp hidden?(_, _, _), do: false

  @doc "A function or a macro of Kernel that is not a primitive."
  def kernel(:apply, args, env), do: Applied.expr(args, env)
  def kernel(:inspect, args, %{context: nil} = env) when length(args) in 1..2, do: Inspected.expr(args, env)

  def kernel(name, args, env) do
    entry = Prelude.entry(Kernel, name, length(args))

    cond do
      Paths.macro?(name, length(args)) -> Paths.expr(name, args, env)
      entry -> prelude(entry, args, env)
      true -> Hints.kernel(name, length(args), env)
    end
  end

  @doc "`to_string(value)`: a primitive, but for lists."
  def text(value, %{context: :guard} = env), do: AST.op(env.line, :to_string, [Syntax.expr(value, env)])

  def text(value, env) do
    case Syntax.expr(value, env) do
      {:lit, _, list} = value when is_list(list) -> text_of_list(value, env)
      {:lit, _, other} = value when not is_map(other) -> AST.op(env.line, :to_string, [value])
      {:op, _, known, _} = value when known in @no_lists -> AST.op(env.line, :to_string, [value])
      value -> by_type(value, env)
    end
  end

  defp by_type(value, %{line: l} = env) do
    {list, other} = {Syntax.fresh(:value), Syntax.fresh(:value)}
    {list_read, other_read} = {{:var, l, list}, {:var, l, other}}

    clauses = [
      {:clause, l, {:bind, l, list}, [AST.op(l, :is_list, [list_read])], text_of_list(list_read, env)},
      {:clause, l, {:bind, l, other}, [], AST.op(l, :to_string, [other_read])}
    ]

    {:case, l, value, Imports.shown(env) ++ clauses, :case_clause}
  end

  defp text_of_list(list, env) do
    module = if env.module == Prelude.Text, do: nil, else: Prelude.Text
    {:call, env.line, {module, :of_list, 1}, [list]}
  end

  # The same name with an offset, or with a function.
  defp prelude({:pure, Mote.Prelude.Enum, :with_index}, [source, {form, _, _} = fun], env)
       when form in [:fn, :&],
       do: Templates.call(Mote.Prelude.Inline.Enum, :with_index_by, [source, fun], env)

  # What may turn out to be a function.
  defp prelude({:pure, Mote.Prelude.Enum, :with_index} = entry, [_, {_, _, _}] = args, env),
    do: by_type(entry, {Mote.Prelude.Inline.Enum, :with_index_by}, args, 1, env)

  # Letters of ASCII need no tables, and the ends of Greek words more than there are.
  defp prelude({:pure, Prelude.Casing, name}, [text, :ascii], env),
    do: {:call, env.line, {Prelude.String, name, 2}, Syntax.exprs([text, :ascii], env)}

  defp prelude({:pure, Prelude.Casing, name}, [_, :greek], env) when name != :upcase,
    do: Error.raise_at(env, env.line, Hints.greek(name))

  defp prelude({:template, Mote.Prelude.Inline.Best = module, name}, args, env),
    do: Templates.call(module, name, with_order(name, args, env), length(args), env)

  defp prelude({:pure, Prelude.Places, name} = entry, args, env)
       when name in [:split, :replace, :count],
       do: Regexes.call(name, args, env, &places(entry, &1, env))

  # What steps among keys call is a value.
  defp prelude({:template, Mote.Prelude.Inline.Kernel, name} = entry, [_, keys, _] = args, env) do
    if is_list(keys) and Enum.any?(keys, &step?(&1, env)) do
      own = if name == :update_in, do: :updated, else: :changed
      function(Prelude.Kernel, own, args, env)
    else
      template(entry, args, env)
    end
  end

  defp prelude({:pure, module, name}, args, env) when module in [Prelude.Enum, Prelude.MapSet],
    do: {:call, env.line, {other(module, env), name, length(args)}, gone_through(args, env)}

  defp prelude({:pure, module, name}, args, env), do: function(module, name, args, env)

  defp prelude(entry, args, env), do: template(entry, args, env)

  # By the order of terms no function is called.
  defp template({:template, module, name} = entry, args, env) do
    {others, [last]} = Enum.split(args, -1)

    case @sorters do
      %{{^entry, ^last} => sorting} -> prelude(sorting, others, env)
      _ -> Templates.call(module, name, args, env)
    end
  end

  defp places(_, [_, _, {form, _, _} | _] = args, env) when form in [:fn, :&],
    do: Templates.call(Prelude.Inline.String, :replace, args, env)

  defp places({:pure, _, :replace} = entry, [_, _, {form, _, _} | _] = args, env)
       when form not in [:<<>>, :<>],
       do: by_type(entry, {Prelude.Inline.String, :replace}, args, 2, env)

  defp places({:pure, module, name}, args, env), do: function(module, name, args, env)

  # The first of the arguments is what the function goes through.
  defp gone_through([], _), do: []

  defp gone_through([source | others], env),
    do: [source |> Syntax.expr(env) |> Imports.source(:listed, env) | Syntax.exprs(others, env)]

  defp step?({{:., _, [module, _]}, _, _}, env), do: Macro.expand(module, env) == Access
  defp step?(_, _), do: false

  defp by_type({:pure, module, name}, {inline, template}, args, position, %{line: l} = env) do
    settled = Enum.map(args, fn _ -> true end)

    Functions.settled(args, settled, env, fn args ->
      fun = Enum.at(args, position)
      as_function = Templates.call(inline, template, args, env)
      other = {:call, l, {module, name, length(args)}, Syntax.exprs(args, env)}
      {:if, l, AST.op(l, :is_function, [Syntax.expr(fun, env)]), as_function, other}
    end)
  end

  # Elixir's own order where a call has none. A last function without arguments gives the answer for an empty source.
  defp with_order(:min_max, [_source, fun_none] = args, env) do
    Functions.arity(fun_none) == 0 || Functions.literal(fun_none, 0, env)
    args
  end

  defp with_order(name, args, env) do
    {values, functions} = Enum.split(args, if(name in [:max, :min], do: 1, else: 2))

    case functions do
      [] ->
        values ++ [@orders[name]]

      [fun] ->
        if Functions.arity(fun) == 0, do: values ++ [@orders[name], fun], else: in_order(name, fun, args, env)

      _ ->
        args
    end
  end

  # How many arguments it takes says what it is there for.
  defp in_order(_, {form, _, _}, args, _) when form in [:fn, :&, :__aliases__], do: args

  defp in_order(name, {_, _, _} = fun, _, env) do
    Error.raise_at(
      env,
      env.line,
      "#{name} wants its function in place here, fn … end or a & capture, as it may be an order or what there is of an empty " <>
        "source, got: #{Macro.to_string(fun)}"
    )
  end

  defp in_order(_, _, args, _), do: args

  # A range that is written in place need not be made.
  defp slice(module, [source, range], env) do
    {name, parts} =
      case Ranges.parts(range, env) do
        {:ok, first, last, step} -> {:slice_range, Enum.reject([first, last, step], &is_nil/1)}
        :error -> {:slice, [range]}
      end

    args = gone_through([source | parts], env)
    {:call, env.line, {Module.concat(Prelude, module), name, length(args)}, args}
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

  defp reverse([source], env),
    do: AST.op(env.line, :reverse, [AST.elements(env.line, hd(gone_through([source], env)))])

  # The places of Erlang's arguments in the order in which the primitive evaluates them: unless that is Erlang's own, they are calculated
  # before.
  defp as_given(args, places, env, make) do
    if env.context == :guard or places == Enum.sort(places),
      do: make.(args),
      else: Functions.settled(args, Enum.map(args, fn _ -> true end), env, make)
  end

  # What is left of `defguard` and Elixir's own macros after their expansion.
  defp erlang(:andalso, [a, b], meta, env), do: Syntax.expr({:and, meta, [a, b]}, env)
  defp erlang(:orelse, [a, b], meta, env), do: Syntax.expr({:or, meta, [a, b]}, env)

  defp erlang(:element, [_, _] = args, _, env) do
    as_given(args, Turned.turned(:elem, [1, 0]), env, fn [index, tuple] ->
      index = AST.op(env.line, :sub, [Syntax.expr(index, env), {:lit, env.line, 1}])
      AST.op(env.line, :elem, [Syntax.expr(tuple, env), index])
    end)
  end

  # What records make of an update.
  defp erlang(:setelement, [_, _, _] = args, _, env) do
    as_given(args, Turned.turned(:put_elem, [1, 0, 2]), env, fn [index, tuple, value] ->
      index = AST.op(env.line, :sub, [Syntax.expr(index, env), {:lit, env.line, 1}])
      AST.op(env.line, :put_elem, [Syntax.expr(tuple, env), index, Syntax.expr(value, env)])
    end)
  end

  defp erlang(:self, [], _, env), do: {:self, env.line}

  defp erlang(:is_map_key, [_, _] = args, meta, env) do
    as_given(args, Turned.turned(:map_has_key, [1, 0]), env, fn [key, map] ->
      Syntax.expr({:is_map_key, meta, [map, key]}, env)
    end)
  end

  defp erlang(:map_get, [_, _] = args, _, env) do
    as_given(args, Turned.turned(:map_fetch, [1, 0]), env, fn [key, map] ->
      AST.op(env.line, :map_fetch, Syntax.exprs([map, key], env))
    end)
  end

  defp erlang(name, args, meta, env) do
    case {@inlined[{name, length(args)}], Prelude.entry(:erlang, name, length(args))} do
      {{module, elixirs}, _} -> of_module(module, elixirs, args, meta, env)
      {_, nil} -> no_erlang(name, args, env)
      {_, entry} -> prelude(entry, args, env)
    end
  end

  defp tuple(:delete_at, [tuple, index]), do: {:delete_element, [index, tuple]}
  defp tuple(:insert_at, [tuple, index, value]), do: {:insert_element, [index, tuple, value]}
  defp tuple(:duplicate, [value, size]), do: {:make_tuple, [size, value]}

  defp behind(index), do: {{:., [], [:erlang, :+]}, [], [index, 1]}

  defp no_erlang(name, args, env) do
    Error.raise_at(env, env.line, Hints.remote(:erlang, name, length(args)))
  end

  @doc "`create behaviour` with its options."
  def create(behaviour, opts, env) do
    sponsor = sponsor(opts, env)

    case unpiped(behaviour, env) do
      {:gather, _, [_, _, _, {form, _, _}]} = gather when form in [:fn, :&] ->
        gather(:create, gather, sponsor, env)

      behaviour ->
        {ref, args} = behaviour(behaviour, :create, env)
        {:create, env.line, ref, args, sponsor}
    end
  end

  defp sponsor([], _), do: nil
  defp sponsor([sponsor: sponsor], env), do: Effects.sponsor(:create, sponsor, env)

  defp sponsor(other, env) do
    Error.raise_at(env, env.line, "create takes one option, sponsor: name, got: #{Macro.to_string(other)}")
  end

  # A behaviour of that name is given no function, so it is not meant.
  defp gather(verb, {:gather, _, [customer, count, initial, fun]}, sponsor, env) do
    values = [Effects.customer(customer, env), Effects.count(count, env), Syntax.expr(initial, env)]
    {:gather, env.line, verb, values, Functions.literal(fun, 2, env), sponsor}
  end

  @doc "`stash capture: value, …`."
  def stash([{name, _} | _] = changes, env) when is_atom(name) do
    {:change, l, names, values} = become(changes, env)
    {:stash, l, names, values}
  end

  def stash(other, env) do
    Error.raise_at(
      env,
      env.line,
      "stash keeps the message that the turn is about: write stash(), or stash capture: value, got: " <>
        Macro.to_string(other)
    )
  end

  @doc "Statements in which `again()` is one with the become before it."
  @spec again([Macro.t()]) :: [Macro.t()]
  def again([{:become, _, [_]} = become, {:again, meta, []} | rest]),
    do: [{:"mote again", meta, [become]} | again(rest)]

  def again([statement | rest]), do: [statement | again(rest)]
  def again([]), do: []

  @doc "Raises for `again()` anywhere else."
  @spec again_alone(Macro.Env.t()) :: no_return
  def again_alone(env) do
    Error.raise_at(
      env,
      env.line,
      "again() gives the message of the turn to what the actor becomes, so it stands directly behind a become: " <>
        "become next(…), and again() in the line below"
    )
  end

  @doc "`become behaviour`, or `become capture: value, …`, which names what changes."
  def become([_ | _] = changes, env) do
    unless Keyword.keyword?(changes), do: not_a_behaviour(changes, env)

    {names, values} = Enum.unzip(changes)

    with [name | _] <- names -- Enum.uniq(names),
         do: Error.raise_at(env, env.line, "this become changes #{name} twice")

    {:change, env.line, names, Syntax.exprs(values, env)}
  end

  def become(behaviour, env) do
    case unpiped(behaviour, env) do
      {:gather, _, [_, _, _, {form, _, _}]} = gather when form in [:fn, :&] ->
        gather(:become, gather, nil, env)

      behaviour ->
        {ref, args} = behaviour(behaviour, :become, env)
        {:become, env.line, ref, args}
    end
  end

  # A pipeline that ends in a behaviour.
  defp unpiped({:|>, _, [_, _]} = piped, env), do: Macro.expand_once(piped, env)
  defp unpiped(behaviour, _env), do: behaviour

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

  defp behaviour({_argument, _, Functions}, verb, env) do
    Error.raise_at(
      env,
      env.line,
      "#{verb} wants a behaviour with its captures, and no value: write the behaviour in the function, &#{verb}(name(&1))"
    )
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
  defp member_call(args, env) do
    made = fn [list, value] ->
      list = list |> Syntax.expr(env) |> Imports.source(:listed, env)
      AST.op(env.line, :member, [Syntax.expr(value, env), list])
    end

    if Enum.any?(args, &Functions.simple?/1), do: made.(args), else: Functions.given(args, env, made)
  end

  @doc "`value in source`."
  def member(value, source, env) do
    case Ranges.parts(source, env) do
      {:ok, first, last, step} -> in_range(value, {first, last, step}, source, env)
      :error -> in_list(value, source, env)
    end
  end

  # What the value binds is seen behind the range, too.
  defp in_range(value, {first, last, step}, source, env) do
    if env.context == nil and Functions.binds?(value),
      do: in_list(value, source, env),
      else: Ranges.member(value, first, last, step, env)
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
    do: AST.op(env.line, :member, [Syntax.expr(value, env), hd(gone_through([source], env))])
end
