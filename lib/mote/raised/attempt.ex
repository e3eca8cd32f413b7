defmodule Mote.Raised.Attempt do
  # The exception that Elixir raises where a machine has no answer, found out by trying it in Elixir.
  #
  # Invariants: the caller that asks for an exception may be the process of a machine, so
  # 1. nothing takes longer than to go through the arguments;
  # 2. no struct is traversed by its own code, which may run forever, exit, or read a file.
  @moduledoc false

  alias Mote.Behaviour.{Imports, Listing, Primitives}
  alias Mote.Timer
  alias Mote.Raised.{Call, Segments}

  import Call, only: [is_end: 2]

  @doc "The exception that Elixir raises for an operation; nil if it raises none, or if finding out may take long."
  @spec exception(Mote.Raised.operation(), arguments :: [term]) :: Exception.t() | nil
  def exception(operation, arguments) do
    # What a machine reports of a long list ends with a placeholder, which is no pair where pairs are expected.
    with %FunctionClauseError{} = exception <- raised(operation, arguments) do
      case Enum.map(arguments, &reported/1) do
        ^arguments -> exception
        shown -> raised(operation, shown) || exception
      end
    end
  end

  defp raised(operation, arguments) do
    unless long?(operation, arguments), do: elixir(operation, arguments)
    nil
  rescue
    exception -> exception
  end

  defp reported(list) when length(list) > 1,
    do: if(List.last(list) == :..., do: Enum.drop(list, -1), else: list)

  defp reported(value), do: value

  # Integers up to here are small for all functions of the library.
  @small 1_000
  # And up to here for most of them, except powers.
  @short 0x100000000000000000000000000000000

  @doc "Returns whether it is a power that Elixir may have an answer for, but one that could take long."
  @spec power?({module, name :: atom}, arguments :: [term]) :: boolean
  def power?(function, [base, exponent])
      when function in [{Kernel, :**}, {Integer, :pow}] and is_integer(base) and is_integer(exponent),
      do: exponent > @small

  def power?(_function, _arguments), do: false

  # As many bytes say whether it begins with a number.
  @beginning 20

  @doc """
  Returns whether it makes an integer of a text that begins as one, or of digits. Elixir has an answer for these, and a machine lacks it
  only where the integer is too large. (Of a long argument only the beginning may have come.)
  """
  @spec number?({module, name :: atom}, arguments :: [term]) :: boolean
  def number?({Integer, :parse} = function, [text | base]) when is_binary(text),
    do: exception(function, [binary_part(text, 0, min(byte_size(text), @beginning)) | base]) == nil

  def number?({Integer, :undigits}, [digits]), do: digits?(digits, 10)

  def number?({Integer, :undigits}, [digits, base]) when is_integer(base) and base >= 2,
    do: digits?(digits, base)

  def number?(_function, _arguments), do: false

  # They are not put together: that could take minutes.
  defp digits?([], _base), do: true
  defp digits?([digit | rest], base), do: is_integer(digit) and digit < base and digits?(rest, base)
  defp digits?(_tail, _base), do: false

  # They set what the whole node goes by, and are the only ones of the library that do.
  @settings [{Calendar, :put_time_zone_database, 1}, {URI, :default_port, 2}]

  @doc "Returns whether a machine has a function, so that it may have failed there: no reason that somebody makes up calls another one."
  @spec known?(module, name :: atom, arity) :: boolean
  def known?(module, name, arity) do
    function = {module, name, arity}

    (Imports.offered?(module) and function not in @settings) or {module, name} == {Mote.Directory, :shard} or
      function in Listing.all()
  end

  # Of these an integer may be a number of parts that are made, or they take longer than to go through the arguments.
  @costly [
    {List, :duplicate},
    {List, :myers_difference},
    {:erlang, :make_tuple},
    {String, :duplicate},
    {String, :pad_leading},
    {String, :pad_trailing},
    {String, :myers_difference},
    {String, :jaro_distance},
    {String, :bag_distance},
    {Enum, :chunk_every},
    {:lists, :duplicate},
    {:lists, :seq}
  ]

  # Of the others in these an integer is an index, a key or a value, or stands where there should be a collection.
  @collections [Enum, Map, MapSet, Keyword, List, Tuple, String, Range, Float, Access] ++
                 [:maps, :lists, :queue]

  # So it is in these, which Elixir's compiler puts in place of functions of Tuple.
  @elements [erlang: :delete_element, erlang: :insert_element]

  # How many parts the arguments may have, and the integers among them.
  @few {100, @small}
  @many {3_000, @short}
  # For integers that may be made of so many others.
  @large {100, @short}

  # As many bytes of a text count as a part.
  @bytes 10

  @doc """
  Returns whether a function of the library cannot take long for its arguments, powers excepted: they have few parts, however often
  these are shared.
  """
  @spec small?({module, name :: atom}, arguments :: [term]) :: boolean
  def small?({module, name} = function, arguments) do
    {parts, integer} =
      cond do
        costly?(function, arguments) -> @few
        module in @collections or function in @elements -> @many
        module == Integer or Imports.library?(module) -> @large
        true -> @few
      end

    name |> unlisted(arguments) |> left(parts, integer) >= 0
  end

  # What is no text and no collection is refused at once.
  defp costly?({module, _name}, [value | _])
       when module in [String, Enum] and (is_number(value) or is_atom(value)),
       do: false

  defp costly?(function, _arguments), do: function in @costly

  # No range is listed where one element is fetched, nor where it says which ones are.
  defp unlisted(:fetch!, arguments), do: Enum.map(arguments, &bounds/1)
  defp unlisted(:slice, [source | indexes]), do: [source | Enum.map(indexes, &bounds/1)]
  defp unlisted(_name, arguments), do: arguments

  defp bounds(%Range{first: first, last: last}), do: {first, last}
  defp bounds(value), do: value

  # How many of `n` parts are left after those of a value; below 0 if it is not small. `most` is the largest integer.
  defp left(_value, n, _most) when n < 0, do: n
  defp left(value, n, most) when is_integer(value), do: if(value in -most..most, do: n - 1, else: -1)
  defp left(value, n, _most) when is_binary(value), do: n - 1 - div(byte_size(value), @bytes)
  defp left(%MapSet{} = set, n, most), do: set |> MapSet.to_list() |> left(n, most)

  defp left(%Range{first: first, last: last}, n, most) when is_integer(first) and is_integer(last),
    do: left(last, left(first, n - abs(last - first), most), most)

  # What has no code that goes through it.
  defp left(%module{} = value, n, most) do
    if Imports.library?(module), do: value |> Map.from_struct() |> left(n, most), else: -1
  end

  defp left(value, _n, _most) when is_function(value), do: -1
  defp left([head | tail], n, most), do: left(tail, left(head, n - 1, most), most)

  defp left(value, n, most) when is_tuple(value) and tuple_size(value) <= n,
    do: value |> Tuple.to_list() |> left(n, most)

  defp left(value, n, most) when is_map(value) and map_size(value) <= n,
    do: value |> Map.to_list() |> left(n, most)

  defp left(value, _n, _most) when is_tuple(value) or is_map(value), do: -1
  defp left(_leaf, n, _most), do: n - 1

  # What goes through its last argument by a protocol.
  @protocols %{
    member: Enumerable,
    reverse: Enumerable,
    elements: Enumerable,
    map_new: Enumerable,
    to_string: String.Chars
  }

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

  # A search may go back for long, and where PCRE has bugs end the process.
  defp long?(_operation, arguments),
    do: Enum.any?(arguments, &is_struct(&1, Regex)) and Enum.any?(arguments, &is_binary/1)

  defp elixir(tag, [left]) when tag in [:and, :or], do: raise(BadBooleanError, term: left, operator: tag)
  defp elixir(:badmatch, [value]), do: raise(MatchError, term: value)
  defp elixir(:case_clause, [value]), do: raise(CaseClauseError, term: value)
  defp elixir(:with_clause, [value]), do: raise(WithClauseError, term: value)
  defp elixir(:try_clause, [value]), do: raise(TryClauseError, term: value)
  defp elixir(:cond_clause, []), do: raise(CondClauseError)
  # Elixir 1.20 does not have that exception any more.
  defp elixir(:badstruct, [module, value]) do
    if Code.ensure_loaded?(BadStructError),
      do: raise(struct(BadStructError, struct: module, term: value)),
      else: raise(ArgumentError, "expected a struct #{inspect(module)}, got: #{Call.show(value)}")
  end

  defp elixir(:struct, [value]), do: raise(ArgumentError, "expected a struct, got: #{Call.show(value)}")

  defp elixir(:send_after, [milliseconds]), do: Timer.milliseconds!(milliseconds)

  defp elixir(:monitor, [value]),
    do: raise(ArgumentError, "expected a pid to monitor, got: #{Call.show(value)}")

  defp elixir(:range, [_, _ | _] = bounds), do: apply(Range, :new, bounds)
  defp elixir(:binary_generator, [value]), do: for(<<byte <- value>>, do: byte)
  defp elixir(:member, [value, list]), do: Enum.member?(list, value)
  defp elixir(:reverse, [list]), do: Enum.reverse(list)
  defp elixir(:map_update, [map, key, value]), do: %{map | key => value}
  defp elixir(:map_fetch, [map, key]), do: Map.fetch!(map, key)
  # Of an atom it is a call.
  defp elixir(:map_field, [module, name]) when is_atom(module) and module not in [nil, true, false],
    do: raise(UndefinedFunctionError, module: module, function: name, arity: 0)

  defp elixir(:map_field, [map, key]) when is_map(map), do: raise(KeyError, key: key, term: map)

  # Of anything that is not a map: until Elixir 1.20 as if it were a map without the key.
  defp elixir(:map_field, [term, key]) do
    term.any
  rescue
    KeyError -> raise(Exception.normalize(:error, {:badkey, key, term}, []))
  end

  defp elixir(:to_string, [value]), do: String.Chars.to_string(value)
  defp elixir(:on, [_, address]), do: raise(ArgumentError, "expected an address, got: #{Call.show(address)}")
  defp elixir(:bin_of, [values, specs]), do: raise(ArgumentError, Segments.failed(values, specs))

  # A name says something to processes only.
  defp elixir({Mote.Directory, :shard}, [other, _key]) do
    raise ArgumentError,
          "expected a directory, got: #{Call.show(other)}; behaviours have no names of directories, give them what " <>
            "Mote.Directory.fetch!/1 returns"
  end

  # What it says shows terms: the unit has the code, and the values of its variables have come. Without that unit it says nothing.
  defp elixir({module, name} = made, [key, values]) when is_end(module, name) do
    with {unit, n} when is_atom(unit) and is_tuple(values) <- key,
         true <- Code.ensure_loaded?(unit) and function_exported?(unit, :__mote__, 1),
         %{^n => written} <- unit.__mote__(:messages) do
      variables = for {value, n} <- values |> Tuple.to_list() |> Enum.with_index(), do: {:"v#{n}", value}
      {argument, _} = Code.eval_quoted(written, variables)
      elixir(made, [argument])
    else
      _ -> elixir(made, [[]])
    end
  end

  defp elixir({module, :exception}, [argument]), do: raise(module.exception(argument))
  defp elixir({Kernel.Utils, :raise}, [argument]), do: raise(argument)
  defp elixir({:erlang, :throw}, [value]), do: :erlang.error({:nocatch, value})
  defp elixir({:erlang, name}, [reason]) when name in [:error, :exit, :nif_error], do: :erlang.error(reason)
  defp elixir({module, name}, arguments), do: call(module, name, arguments)

  defp elixir(operation, arguments) do
    case Primitives.spelling(operation) do
      {Mote.Vector, _} -> :unknown
      {module, name} -> call(module, name, arguments)
      nil -> :unknown
      name -> apply(kernel(name), name, arguments)
    end
  end

  # Elixir's compiler puts a function of Erlang in place of some functions, which raises something else.
  for {module, name, arity} <- [
        {Atom, :to_string, 1},
        {Atom, :to_charlist, 1},
        {Integer, :to_string, 1},
        {Integer, :to_string, 2},
        {Integer, :to_charlist, 1},
        {Integer, :to_charlist, 2},
        {List, :to_atom, 1},
        {List, :to_existing_atom, 1},
        {List, :to_float, 1},
        {List, :to_integer, 1},
        {List, :to_integer, 2},
        {List, :to_tuple, 1},
        {Map, :keys, 1},
        {Map, :merge, 2},
        {Map, :to_list, 1},
        {Map, :values, 1},
        {String, :duplicate, 2},
        {String, :to_atom, 1},
        {String, :to_existing_atom, 1},
        {String, :to_float, 1},
        {String, :to_integer, 1},
        {String, :to_integer, 2},
        {Tuple, :to_list, 1}
      ] do
    arguments = Macro.generate_arguments(arity, __MODULE__)

    defp call(unquote(module), unquote(name), unquote(arguments)),
      do: unquote(module).unquote(name)(unquote_splicing(arguments))
  end

  defp call(module, name, arguments), do: apply(module, name, arguments)

  @bitwise [:band, :bor, :bxor, :bnot, :bsl, :bsr]
  defp kernel(name) when name in @bitwise, do: Bitwise
  defp kernel(_name), do: Kernel
end
