defmodule Mote.Raised do
  @moduledoc """
  The exception that Elixir would have raised, where a turn was aborted for an operation that has no answer or a value that no
  clause fits.

  In a behaviour nothing is raised: the turn is aborted with the reason `{:raised, {module, line, operation}, arguments}`,
  which `Mote.Turn`, telemetry, `Mote.trace/2` and `Mote.Error` show. This module tells it as people know it:

      iex> reason = {:raised, {Counter, 12, :add}, {1, :a}}
      iex> Mote.Raised.exception(reason)
      %ArithmeticError{message: "bad argument in arithmetic expression"}
      iex> Mote.Raised.format(reason)
      "** (ArithmeticError) Counter:12: bad argument in arithmetic expression: 1 + :a"

  A function of Elixir's library is one operation, whatever has failed within it:

      iex> Mote.Raised.format({:raised, {Counter, 13, {String, :to_integer}}, {"4x"}})
      ~s[** (ArgumentError) Counter:13: 1st argument: not a textual representation of an integer: String.to_integer("4x")]
  """

  alias Mote.Behaviour.Primitives
  alias Mote.Total.Integers

  @typedoc "The reason of such an abort."
  @type reason :: {:raised, {module, line :: non_neg_integer, operation}, arguments :: tuple}

  @typedoc "An operation, or what has fitted nothing: that is its only argument; or a function of Elixir's library."
  @type operation ::
          atom | {:function_clause, name :: atom | {module, name :: atom}, arity} | {module, name :: atom}

  # Integers up to here, and texts of as many bytes, are small for all functions of the library.
  @small 1_000

  @doc "Whether a turn was aborted where Elixir would have raised."
  defguard is_raised(reason)
           when is_tuple(reason) and tuple_size(reason) == 3 and elem(reason, 0) == :raised and
                  tuple_size(elem(reason, 1)) == 3 and is_tuple(elem(reason, 2))

  @doc "The exception of a reason."
  @spec exception(reason) :: Exception.t()
  def exception({:raised, {_module, _line, {:function_clause, {Enum, _name}, _arity}}, {[]}}),
    do: %Enum.EmptyError{}

  def exception({:raised, {_module, _line, {:function_clause, {module, name}, arity}}, _arguments}),
    do: %FunctionClauseError{module: module, function: name, arity: arity}

  def exception({:raised, {module, _line, {:function_clause, name, arity}}, _arguments}),
    do: %FunctionClauseError{module: module, function: name, arity: arity}

  # Elixir may have the answer, but it could take long.
  def exception({:raised, {_module, _line, {module, name}}, {base, exponent}})
      when {module, name} in [{Kernel, :**}, {Integer, :pow}] and is_integer(base) and is_integer(exponent) and
             exponent > @small,
      do: %SystemLimitError{}

  # Only the fields are gone through, which are no struct.
  def exception({:raised, {_module, _line, {Kernel, :struct!}}, {struct, [_ | _] = fields}}),
    do: told({Kernel, :struct!}, [struct, fields])

  def exception({:raised, {_module, _line, {module, name}}, arguments}) when is_atom(module) do
    {name, arguments} = library(name, Tuple.to_list(arguments))
    arity = length(arguments)

    if small?(arguments) and Code.ensure_loaded?(module) and function_exported?(module, name, arity),
      do: told({module, name}, arguments),
      else: %FunctionClauseError{module: module, function: name, arity: arity}
  end

  def exception({:raised, {_module, _line, operation}, arguments}),
    do: told(operation, Tuple.to_list(arguments))

  @doc "A reason as one line; any other reason of an abort as Elixir shows it."
  @spec format(reason | term) :: String.t()
  def format(reason)

  def format({:raised, {module, line, operation}, arguments} = reason) when is_raised(reason) do
    exception = exception(reason)
    message = exception |> Exception.message() |> in_line()
    call = call(operation, arguments)
    about = if String.contains?(message, call), do: message, else: "#{message}: #{call}"
    "** (#{inspect(exception.__struct__)}) #{place(module)}:#{line}: #{about}"
  end

  def format(reason), do: inspect(reason)

  defp told(operation, arguments) do
    case attempt(operation, arguments) do
      {:raised, exception} ->
        exception

      _an_answer ->
        %ArgumentError{message: "#{call(operation, List.to_tuple(arguments))} has no answer in a machine"}
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

  # -- what Elixir does -----------------------------------------------------------------------------------------------

  # Invariants: whoever asks for an exception may be the process of a machine, so
  # 1. nothing takes longer than to go through the arguments;
  # 2. no struct is gone through by its own code: that may go on for ever, exit, or read a file.

  # A function of the library is called only with what it cannot take long for: few parts, however often they are shared.
  defp small?(value), do: left(value, 100) >= 0

  # Of so many parts that a value may have, those that it leaves; below 0 if it is not small.
  defp left(_value, n) when n < 0, do: n
  defp left(value, n) when is_integer(value), do: if(value in -@small..@small, do: n - 1, else: -1)
  defp left(value, n) when is_binary(value), do: if(byte_size(value) <= @small, do: n - 1, else: -1)
  defp left(%MapSet{} = set, n), do: set |> MapSet.to_list() |> left(n)
  defp left(%Range{first: first, last: last}, n), do: left(last, left(first, n))
  defp left(value, _n) when is_struct(value) or is_function(value), do: -1
  defp left([head | tail], n), do: left(tail, left(head, n - 1))
  defp left(value, n) when is_tuple(value) and tuple_size(value) <= n, do: value |> Tuple.to_list() |> left(n)
  defp left(value, n) when is_map(value) and map_size(value) <= n, do: value |> Map.to_list() |> left(n)
  defp left(value, _n) when is_tuple(value) or is_map(value), do: -1
  defp left(_leaf, n), do: n - 1

  # What a call is made of where it stands: a range that is written in place is not made, lists are collected backwards.
  defp library(:slice_range, [source, first, last | step]),
    do: {:slice, [source, range_of(first, last, step)]}

  defp library(:concat_all, [lists, []]) when is_list(lists), do: {:concat, [Enum.reverse(lists)]}
  defp library(name, arguments), do: {name, arguments}

  defp range_of(first, last, []), do: %Range{first: first, last: last, step: 1}
  defp range_of(first, last, [step]), do: %Range{first: first, last: last, step: step}

  # What goes through its last argument by a protocol.
  @protocols %{
    member: Enumerable,
    reverse: Enumerable,
    elements: Enumerable,
    map_new: Enumerable,
    to_string: String.Chars
  }

  defp attempt(operation, arguments) do
    {:answer, if(long?(operation, arguments), do: :unknown, else: elixir(operation, arguments))}
  rescue
    exception -> {:raised, exception}
  end

  # What only integers beyond those of a machine have no answer for. Elixir might have one, but it could take long.
  @integers [:add, :sub, :mul, :neg, :abs, :idiv, :irem] ++
              [:band, :bor, :bxor, :bnot, :bsl, :bsr, :round, :trunc, :floor, :ceil]

  defp long?(operation, [_, 0]) when operation in [:idiv, :irem], do: false

  defp long?(operation, arguments)
       when operation in @integers or (operation == :to_string and is_integer(hd(arguments))),
       do: Enum.all?(arguments, &is_integer/1) and raise(SystemLimitError)

  defp long?(operation, arguments) when is_map_key(@protocols, operation) do
    value = List.last(arguments)
    (is_struct(value) or is_function(value)) and @protocols[operation].impl_for(value) != nil
  end

  defp long?(_operation, _arguments), do: false

  defp elixir(tag, [left]) when tag in [:and, :or], do: raise(BadBooleanError, term: left, operator: tag)
  defp elixir(:badmatch, [value]), do: raise(MatchError, term: value)
  defp elixir(:case_clause, [value]), do: raise(CaseClauseError, term: value)
  defp elixir(:with_clause, [value]), do: raise(WithClauseError, term: value)
  defp elixir(:cond_clause, []), do: raise(CondClauseError)
  # Elixir 1.20 does not have that exception any more.
  defp elixir(:badstruct, [module, value]) do
    if Code.ensure_loaded?(BadStructError),
      do: raise(struct(BadStructError, struct: module, term: value)),
      else: raise(ArgumentError, "expected a struct #{inspect(module)}, got: #{show(value)}")
  end

  defp elixir(:struct, [value]), do: raise(ArgumentError, "expected a struct, got: #{show(value)}")
  defp elixir(:send_after, _), do: raise(ArgumentError, "expected milliseconds, an integer of 0 or more")
  defp elixir(:range, bounds), do: raise(ArgumentError, range(bounds))
  defp elixir(:binary_generator, [_]), do: raise(ArgumentError, "expected a binary")
  defp elixir(:member, [value, list]), do: Enum.member?(list, value)
  defp elixir(:reverse, [list]), do: Enum.reverse(list)
  defp elixir(:map_update, [map, key, value]), do: %{map | key => value}
  defp elixir(:map_fetch, [map, key]), do: Map.fetch!(map, key)
  defp elixir(:to_string, [value]), do: String.Chars.to_string(value)
  defp elixir(:on, [_, address]), do: raise(ArgumentError, "expected an address, got: #{show(address)}")
  defp elixir(:bin_of, _), do: raise(ArgumentError, "a part of the binary has no such value")

  defp elixir({module, name}, arguments), do: apply(module, name, arguments)

  defp elixir(operation, arguments) do
    case Primitives.spelling(operation) do
      {Mote.Vector, _} -> :unknown
      {module, name} -> apply(module, name, arguments)
      nil -> :unknown
      name -> apply(kernel(name), name, arguments)
    end
  end

  @bitwise [:band, :bor, :bxor, :bnot, :bsl, :bsr]
  defp kernel(name) when name in @bitwise, do: Bitwise
  defp kernel(_name), do: Kernel

  defp range([_, _, 0]), do: "the step of a range must not be 0"
  defp range(_bounds), do: "the bounds and the step of a range must be integers"

  # -- as it is written -----------------------------------------------------------------------------------------------

  @infix %{add: "+", sub: "-", mul: "*", fdiv: "/", append: "++", subtract: "--", member: "in"}

  defp call(operation, {a, b}) when is_map_key(@infix, operation),
    do: "#{show(a)} #{@infix[operation]} #{show(b)}"

  defp call({:function_clause, {module, name}, arity}, _), do: "#{inspect(module)}.#{name}/#{arity}"

  defp call({:function_clause, name, arity}, {arguments}) do
    cond do
      anonymous?(name) and arity == 1 -> "(#{show(arguments)})"
      anonymous?(name) -> called("", arguments)
      is_tuple(arguments) and tuple_size(arguments) == arity -> called(name, arguments)
      true -> show(arguments)
    end
  end

  defp call({Kernel, :**}, {a, b}), do: "#{show(a)} ** #{show(b)}"

  defp call({module, name}, arguments) do
    {name, arguments} = library(name, Tuple.to_list(arguments))
    called(if(module == Kernel, do: name, else: "#{inspect(module)}.#{name}"), List.to_tuple(arguments))
  end

  defp call(operation, {value}) when operation in [:badmatch, :case_clause, :with_clause], do: show(value)

  defp call(:cond_clause, {}), do: ""
  defp call(:range, {a, b}), do: "#{show(a)}..#{show(b)}"
  defp call(:range, {a, b, step}), do: "#{show(a)}..#{show(b)}//#{show(step)}"
  defp call(:neg, {a}), do: "-#{show(a)}"
  defp call(:map_update, {map, key, value}), do: "%{#{show(map)} | #{show(key)} => #{show(value)}}"

  defp call(operation, arguments) do
    name =
      case Primitives.spelling(operation) do
        {module, name} -> "#{inspect(module)}.#{name}"
        name -> "#{name || operation}"
      end

    called(name, arguments)
  end

  defp anonymous?(name), do: name |> to_string() |> String.starts_with?("-")

  defp called(name, arguments), do: "#{name}(#{arguments |> Tuple.to_list() |> Enum.map_join(", ", &show/1)})"

  defp show(term), do: printed(term, limit: 5, printable_limit: 100)

  @doc false
  # As `inspect/2`, also where the code of a struct exits or throws.
  @spec printed(term, keyword) :: String.t()
  def printed(term, opts \\ []) do
    opts = [inspect_fun: &leaf/2] ++ opts

    try do
      inspect(term, opts)
    catch
      _, _ -> inspect(term, [structs: false] ++ opts)
    end
  end

  # Writing out a large integer takes long, and nobody reads it.
  @shown 0x10000000000000000000000000000000000000000000000000000000000000000

  defp leaf(n, _opts) when is_integer(n) and (n >= @shown or n <= -@shown),
    do: "#Integer<#{if n < 0, do: "-"}2^#{64 * (Integers.limbs(n) - 1)}...>"

  defp leaf(term, opts), do: Inspect.inspect(term, opts)
end
