defmodule Mote.Prelude.Tried do
  # What a `try` catches: the reason for which a turn would have been aborted, as Elixir has it.
  #
  # 1. `{kind, value, module, exception}`: `value` is what `catch` sees, and `exception`, of that module, what `rescue` does. A part that
  #    depends on the release of Elixir, or takes its library to be known, is "unseen", and a module "unknown".
  #    What is raised again by `reraise` is an exception from then on, also for `catch`: its operation is `{:reraised, operation}` where the
  #    exception is unseen.
  # 2. Nothing here may be wrong: what is doubtful is unknown, and the turn is aborted where somebody asks for it.
  @moduledoc false
  use Mote.Behaviour

  @arithmetic [:add, :sub, :mul, :fdiv, :idiv, :irem, :neg, :band, :bor, :bxor, :bnot, :bsl, :bsr]
  # These have no answer for arguments of the wrong type, and raise as Erlang does.
  @arguments [:hd, :tl, :tuple_size, :byte_size, :bit_size, :length, :binary_part] ++
               [:round, :trunc, :floor, :ceil, :abs, :append]
  @numbers for(module <- [String, List], name <- [:to_integer, :to_float], do: {module, name}) ++
             for(name <- [:binary_to_integer, :binary_to_float], do: {:erlang, name})
  @texts Map.new([RuntimeError, ArgumentError, ArithmeticError], &{&1, &1.__struct__()})

  # As many bytes are a number that a machine has.
  @most 10_000

  defpure caught({:raised, {_module, _line, {:erlang, kind}}, {value}}) when kind in [:throw, :exit],
    do: {kind, value, nil, nil}

  defpure caught({:raised, {module, _line, operation}, arguments}), do: error(operation, arguments, module)
  defpure caught(_), do: unknown()

  # The reason for which a turn is aborted that raises again what a reason stands for.
  defpure again({:raised, {module, line, operation}, arguments} = reason) do
    case caught(reason) do
      {:error, value, _, value} -> reason
      {:error, _, _, exception} when is_map(exception) -> {:raised, {module, line, exception}, {}}
      _ -> {:raised, {module, line, {:reraised, operation}}, arguments}
    end
  end

  defpure again(reason), do: reason

  defpurep error({:reraised, operation}, arguments, module) do
    {:error, _, exception, _} = error(operation, arguments, module)
    exception_of(exception)
  end

  defpurep error(%{__exception__: true, __struct__: module} = exception, {}, _),
    do: {:error, exception, module, exception}

  defpurep error({module, :exception}, arguments, _), do: made(module, arguments)

  defpurep error({Kernel.Utils, :raise}, {%{__exception__: true, __struct__: module} = exception}, _),
    do: {:error, exception, module, exception}

  defpurep error(operation, {value}, _) when operation in @arithmetic and not is_integer(value),
    do: arithmetic()

  defpurep error(:fdiv, {_, _}, _), do: arithmetic()
  defpurep error(operation, {_, 0}, _) when operation in [:idiv, :irem], do: arithmetic()

  # A machine has no answer for some integers that Elixir has one for.
  defpurep error(operation, {a, b}, _)
           when operation in @arithmetic and not (is_integer(a) and is_integer(b)),
           do: arithmetic()

  defpurep error(:badmatch, {value}, _),
    do: {:error, {:badmatch, value}, MatchError, %MatchError{term: value}}

  defpurep error(:case_clause, {value}, _),
    do: {:error, {:case_clause, value}, CaseClauseError, %CaseClauseError{term: value}}

  defpurep error(:try_clause, {value}, _),
    do: {:error, {:try_clause, value}, TryClauseError, %TryClauseError{term: value}}

  defpurep error(:with_clause, {value}, _),
    do: {:error, :"mote unseen", WithClauseError, %WithClauseError{term: value}}

  defpurep error(:cond_clause, {}, _), do: {:error, :cond_clause, CondClauseError, %CondClauseError{}}
  defpurep error({:function_clause, {Enum, _}, _}, {[]}, _), do: empty()
  # By its own definition, and not in what is written for it here.
  defpurep error({:function_clause, {module, _}, _}, _, module),
    do: {:error, :function_clause, FunctionClauseError, :"mote unseen"}

  defpurep error({:function_clause, {_, _}, _}, _, _), do: unknown()

  defpurep error({:function_clause, name, arity}, _, module) do
    if String.starts_with?(Atom.to_string(name), "-"),
      do: {:error, :function_clause, FunctionClauseError, :"mote unseen"},
      else:
        {:error, :function_clause, FunctionClauseError,
         %FunctionClauseError{module: module, function: name, arity: arity}}
  end

  defpurep error(operation, {map, key}, _) when operation in [:map_field, :map_fetch] and is_map(map),
    do: missing(map, key)

  # `put_in` tells of the map, and `%{map | key: value}` does not.
  defpurep error(:map_update, {map, _, _}, _) when is_map(map),
    do: exception_of(KeyError)

  defpurep error({Map, name}, {map, key, _}, _) when name in [:update!, :replace!] and is_map(map),
    do: missing(map, key)

  defpurep error({Keyword, :fetch!}, {list, key}, _) when is_list(list) and is_atom(key),
    do: if(Keyword.keyword?(list), do: missing(list, key), else: unknown())

  defpurep error(operation, {value}, _) when operation in [:and, :or],
    do:
      {:error, {:badbool, operation, value}, BadBooleanError,
       %BadBooleanError{operator: operation, term: value}}

  defpurep error(:apply, {value}, _),
    do: {:error, {:badfun, value}, BadFunctionError, %BadFunctionError{term: value}}

  defpurep error(operation, _, _) when operation in @arguments, do: argument()
  # Erlang counts from one.
  defpurep error(:elem, {_, index}, _), do: if(is_number(index), do: argument(), else: arithmetic())
  defpurep error(:put_elem, {_, index, _}, _), do: if(is_number(index), do: argument(), else: arithmetic())

  defpurep error(operation, arguments, _) when operation in @numbers do
    text = elem(arguments, 0)

    if is_binary(text) and byte_size(text) > @most, do: unknown(), else: argument()
  end

  defpurep error({Enum, name}, {[]}, _) when name in [:max, :min, :min_max, :random], do: empty()
  defpurep error(_, _, _), do: unknown()

  defpurep made(module, {argument}) do
    case @texts do
      %{^module => default} when is_binary(argument) ->
        exception = %{default | message: argument}
        {:error, exception, module, exception}

      # They have no exception of anything else.
      %{^module => _} ->
        if Keyword.keyword?(argument), do: exception_of(module), else: unknown()

      _ ->
        exception_of(module)
    end
  end

  # Its text is made where somebody reads it.
  defpurep made(module, _), do: exception_of(module)

  defpurep exception_of(module), do: {:error, :"mote unseen", module, :"mote unseen"}

  defpurep argument(), do: {:error, :badarg, ArgumentError, :"mote unseen"}
  defpurep arithmetic(), do: {:error, :badarith, ArithmeticError, %ArithmeticError{}}
  defpurep empty(), do: {:error, %Enum.EmptyError{}, Enum.EmptyError, %Enum.EmptyError{}}
  defpurep missing(term, key), do: {:error, :"mote unseen", KeyError, %KeyError{key: key, term: term}}
  defpurep unknown(), do: {:error, :"mote unseen", :"mote unknown", :"mote unseen"}
end
