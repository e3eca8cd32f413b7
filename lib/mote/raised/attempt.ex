defmodule Mote.Raised.Attempt do
  # The exception that Elixir raises where a machine has no answer, found out by trying it in Elixir.
  #
  # Invariants: the caller that asks for an exception may be the process of a machine, so
  # 1. nothing takes longer than to go through the arguments;
  # 2. no struct is traversed by its own code, which may run forever, exit, or read a file.
  @moduledoc false

  alias Mote.Behaviour.Primitives
  alias Mote.Timer
  alias Mote.Raised.{Call, Segments}

  @doc "The exception that Elixir raises for an operation; nil if it raises none, or if finding out may take long."
  @spec exception(Mote.Raised.operation(), arguments :: [term]) :: Exception.t() | nil
  def exception(operation, arguments) do
    unless long?(operation, arguments), do: elixir(operation, arguments)
    nil
  rescue
    exception -> exception
  end

  # Integers up to here, and texts of as many bytes, are small for all functions of the library.
  @small 1_000
  # And up to here for a few of them, except powers.
  @short 0x100000000000000000000000000000000

  @doc "Whether it is a power that Elixir may have an answer for, but one that could take long."
  @spec power?({module, name :: atom}, arguments :: [term]) :: boolean
  def power?(function, [base, exponent])
      when function in [{Kernel, :**}, {Integer, :pow}] and is_integer(base) and is_integer(exponent),
      do: exponent > @small

  def power?(_function, _arguments), do: false

  # As many bytes say whether it begins with a number.
  @beginning 20

  @doc """
  Whether it makes an integer of a text that begins as one, or of digits. Elixir has an answer for these, and a machine lacks it
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

  @doc """
  Whether a function of the library cannot take long for its arguments, powers excepted: they have few parts, however often
  these are shared. The functions of Integer take no longer for large integers than for a few parts, and an index is only an
  index.
  """
  @spec small?({module, name :: atom}, arguments :: [term]) :: boolean
  def small?({module, name}, arguments) when module == Integer or {module, name} == {Enum, :fetch!},
    do: arguments |> Enum.reject(&(is_integer(&1) and abs(&1) < @short)) |> left(100) >= 0

  def small?(_function, arguments), do: left(arguments, 100) >= 0

  # How many of `n` parts are left after those of a value; below 0 if it is not small.
  defp left(_value, n) when n < 0, do: n
  defp left(value, n) when is_integer(value), do: if(value in -@small..@small, do: n - 1, else: -1)
  defp left(value, n) when is_binary(value), do: if(byte_size(value) <= @small, do: n - 1, else: -1)
  defp left(%MapSet{} = set, n), do: set |> MapSet.to_list() |> left(n)

  defp left(%Range{first: first, last: last}, n) when is_integer(first) and is_integer(last),
    do: left(last, left(first, n))

  defp left(value, _n) when is_struct(value) or is_function(value), do: -1
  defp left([head | tail], n), do: left(tail, left(head, n - 1))
  defp left(value, n) when is_tuple(value) and tuple_size(value) <= n, do: value |> Tuple.to_list() |> left(n)
  defp left(value, n) when is_map(value) and map_size(value) <= n, do: value |> Map.to_list() |> left(n)
  defp left(value, _n) when is_tuple(value) or is_map(value), do: -1
  defp left(_leaf, n), do: n - 1

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
      else: raise(ArgumentError, "expected a struct #{inspect(module)}, got: #{Call.show(value)}")
  end

  defp elixir(:struct, [value]), do: raise(ArgumentError, "expected a struct, got: #{Call.show(value)}")

  defp elixir(:send_after, [milliseconds]), do: Timer.milliseconds!(milliseconds)
  defp elixir(:range, [_, _ | _] = bounds), do: apply(Range, :new, bounds)
  defp elixir(:binary_generator, [_]), do: raise(ArgumentError, "expected a binary")
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
end
