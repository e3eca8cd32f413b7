defmodule Mote.Raised do
  @moduledoc """
  The exception that Elixir would have raised, where a turn was aborted because of an operation without an
  answer or a value that matches no clause.

  In a behaviour nothing is raised: the turn is aborted with the reason `{:raised, {module, line, operation}, arguments}`,
  which telemetry, `Mote.trace/2` and `Mote.Error` show. This module shows it in the form that Elixir users know:

      iex> reason = {:raised, {Counter, 12, :add}, {1, :a}}
      iex> Mote.Raised.exception(reason)
      %ArithmeticError{message: "bad argument in arithmetic expression"}
      iex> Mote.Raised.format(reason)
      "** (ArithmeticError) Counter:12: bad argument in arithmetic expression: 1 + :a"

  A function of Elixir's library is one operation, no matter what failed within it:

      iex> Mote.Raised.format({:raised, {Counter, 13, {String, :to_integer}}, {"4x"}})
      ~s[** (ArgumentError) Counter:13: 1st argument: not a textual representation of an integer: String.to_integer("4x")]
  """

  alias Mote.Raised.{Attempt, Call}

  import Call, only: [is_end: 2]

  @typedoc "The reason of such an abort."
  @type reason :: {:raised, {module, line :: non_neg_integer, operation}, arguments :: tuple}

  @typedoc """
  An operation or a function of Elixir's library; or a failed match, whose only argument is the value. If a turn ran
  in Elixir, the exception itself stands for a function of the library, without arguments.
  """
  @type operation ::
          atom
          | {:function_clause, name :: atom | {module, name :: atom}, arity}
          | {module, name :: atom}
          | {:reraised, operation}
          | Exception.t()

  @doc "Returns whether a turn was aborted where Elixir would have raised."
  defguard is_raised(reason)
           when is_tuple(reason) and tuple_size(reason) == 3 and elem(reason, 0) == :raised and
                  tuple_size(elem(reason, 1)) == 3 and is_tuple(elem(reason, 2))

  @doc "Returns the exception of a reason."
  @spec exception(reason) :: Exception.t()
  def exception({:raised, {_module, _line, exception}, {}}) when is_exception(exception), do: exception

  def exception({:raised, {module, line, {:reraised, operation}}, arguments}),
    do: exception({:raised, {module, line, operation}, arguments})

  def exception({:raised, {_module, _line, {:function_clause, {Enum, _name}, _arity}}, {[]}}),
    do: %Enum.EmptyError{}

  # It was about to be raised, and is not made before somebody wants to know.
  def exception({:raised, {_module, _line, {module, name} = made}, arguments})
      when is_end(module, name) and tuple_size(arguments) in 1..2,
      do: told(made, Tuple.to_list(arguments))

  # What a function has returned; arguments that no clause takes are two here.
  def exception({:raised, {_module, _line, {:function_clause, {_library, name}, _arity}}, {answer}})
      when name in [:get_and_update, :get_and_update!, :get_and_update_in] and
             not (is_tuple(answer) and tuple_size(answer) == 2) do
    %RuntimeError{
      message: "the given function must return a two-element tuple or :pop, got: #{Call.show(answer)}"
    }
  end

  # It is a word of the language, and no function of that module.
  def exception({:raised, {_module, _line, {:function_clause, {Mote.Behaviour, :gather}, _arity}}, {count}}) do
    %ArgumentError{
      message: "gather waits for a number of messages, which is an integer from 0, got: #{Call.show(count)}"
    }
  end

  def exception({:raised, {_module, _line, {:function_clause, {module, name}, arity}}, _arguments}),
    do: %FunctionClauseError{module: module, function: name, arity: arity}

  def exception({:raised, {module, _line, {:function_clause, name, arity}}, _arguments}),
    do: %FunctionClauseError{module: module, function: name, arity: arity}

  def exception({:raised, {_module, _line, :apply}, {term}}), do: %BadFunctionError{term: term}

  def exception({:raised, {_module, _line, :apply}, {function, arguments}}) do
    function = Mote.Function.named(function)

    # Of what Elixir has made no more than a placeholder may have come.
    if is_function(function) and not is_function(function, length(arguments)),
      do: %BadArityError{function: function, args: arguments},
      else: %ArgumentError{message: "a machine carries functions of Elixir, and cannot call them"}
  end

  # Of put_in, update_in and get_and_update_in.
  def exception({:raised, {_module, _line, {Access, :get_and_update}}, arguments}) do
    if elem(arguments, 0) == nil,
      do: %ArgumentError{message: "could not put/update key #{Call.show(elem(arguments, 1))} on a nil value"},
      else: %FunctionClauseError{module: Access, function: :get_and_update, arity: 3}
  end

  # Only the fields are gone through, which are not a struct.
  def exception({:raised, {_module, _line, {Kernel, :struct!}}, {struct, [_ | _] = fields}}),
    do: told({Kernel, :struct!}, [struct, fields])

  # A slice by an invalid range: Elixir does not get as far as the slice, which could take forever.
  def exception({:raised, {_module, _line, {_library, :slice_range}}, {_source, first, last}})
      when not (is_integer(first) and is_integer(last)),
      do: told(:range, [first, last])

  def exception({:raised, {_module, _line, {_library, :slice_range}}, {_source, first, last, step}})
      when not (is_integer(first) and is_integer(last) and is_integer(step)),
      do: told(:range, [first, last, step])

  # Elixir has a text of everything.
  def exception({:raised, {_module, _line, {Kernel, :inspect}}, arguments})
      when is_list(elem(arguments, 1)) do
    %ArgumentError{
      message:
        "inspect has no text in a machine for functions, addresses and timers, nor for structs whose modules import: does not name"
    }
  end

  def exception({:raised, {_module, _line, {module, name}}, arguments}) when is_atom(module) do
    {name, arguments} = Call.library(name, Tuple.to_list(arguments))
    arity = length(arguments)

    cond do
      Attempt.power?({module, name}, arguments) or Attempt.number?({module, name}, arguments) ->
        %SystemLimitError{}

      Attempt.small?({module, name}, arguments) and Attempt.known?(module, name, arity) and
          exported?(module, name, arity) ->
        told({module, name}, arguments)

      true ->
        %FunctionClauseError{module: module, function: name, arity: arity}
    end
  end

  def exception({:raised, {_module, _line, operation}, arguments}),
    do: told(operation, Tuple.to_list(arguments))

  @doc "Formats a reason as one line; any other reason of an abort as Elixir shows it."
  @spec format(reason | term) :: String.t()
  def format(reason) do
    written(reason)
  catch
    # Of a long reason only a part has come, and `Inspect` and `message/1` may be anybody's.
    _, _ -> inspect(reason, structs: false)
  end

  defp written({:crashed, kind, reason, stack}) when kind in [:error, :exit, :throw] and is_list(stack),
    do: Enum.join([Exception.format_banner(kind, reason, []) | stack], "\n    ")

  defp written({:uncaught, reason}) when is_raised(reason),
    do: "#{written(reason)} (a try asks for more of this exception than a machine knows)"

  defp written({:raised, {module, line, {:reraised, operation}}, arguments}),
    do: written({:raised, {module, line, operation}, arguments})

  defp written({:raised, {module, line, operation}, arguments} = reason) when is_raised(reason) do
    exception = exception(reason)
    message = exception |> Exception.message() |> in_line()
    call = Call.written(operation, arguments)
    about = if String.contains?(message, call), do: message, else: "#{message}: #{call}"
    "** (#{inspect(exception.__struct__)}) #{place(module)}:#{line}: #{about}"
  end

  defp written(reason), do: inspect(reason)

  defp exported?(module, name, arity),
    do: Code.ensure_loaded?(module) and function_exported?(module, name, arity)

  defp told(operation, arguments) do
    with nil <- Attempt.exception(operation, arguments) do
      call = Call.written(operation, List.to_tuple(arguments))
      %ArgumentError{message: "#{call} has no answer in a machine"}
    end
  end

  # The first line; or what it announces.
  defp in_line(message) do
    case String.split(message, "\n  * ", trim: true) do
      [_announcement | [_ | _] = points] -> Enum.map_join(points, ", ", &String.trim/1)
      _ -> message |> String.split([":\n", "\n", ". This protocol"]) |> hd()
    end
  end

  # The file, as far as the module knows it.
  defp place(module) do
    with true <- Code.ensure_loaded?(module),
         source when is_list(source) <- module.module_info(:compile)[:source] do
      Path.basename(source)
    else
      _ -> inspect(module)
    end
  end
end
