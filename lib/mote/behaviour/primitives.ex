defmodule Mote.Behaviour.Primitives do
  # What the compiler knows of each primitive, all of it from the table that Rust has, too. What they compute is said by
  # guides/ir.md for people, and by `Mote.Total` for Elixir.
  @moduledoc false

  @table Path.expand("../../../native/mote_vm/src/terms/prim/table.rs", __DIR__)
  @external_resource @table

  @type row :: %{
          number: non_neg_integer,
          name: atom,
          arity: 0..3,
          has: :always | :partial,
          answer: :any | :number | :integer | :fixnum | :float | :boolean | :list | :tuple,
          effort: :free | :walks | :compares | :finds | :calculates | :impure,
          spellings: [atom | {module, atom}]
        }

  row =
    ~r/^ +(\d+) +\w+ +(\w+)\((.*?)\) +(always|partial) +(\w+) +(free|walks|compares|finds|calculates|impure) +"(.*)" +=> .*;$/

  # An atom is a function of Kernel, called without a module; {Module, name} needs its module.
  spelling = fn text ->
    case Regex.run(~r/^(.+)\.(.+)$/, text) do
      [_, ":" <> module, name] -> {String.to_atom(module), String.to_atom(name)}
      [_, module, name] -> {Module.concat([module]), String.to_atom(name)}
      nil -> String.to_atom(text)
    end
  end

  # Rows from this number on are the machine's own.
  own = 200

  rows =
    for line <- File.stream!(@table),
        line =~ ~r/^ +\d/,
        [number, name, arguments, has, answer, effort, spellings] =
          Regex.run(row, line, capture: :all_but_first),
        number = String.to_integer(number),
        number < own do
      %{
        number: number,
        name: String.to_atom(name),
        arity: arguments |> String.split(",", trim: true) |> length(),
        has: String.to_atom(has),
        answer: answer |> String.downcase() |> String.to_atom(),
        effort: String.to_atom(effort),
        spellings: spellings |> String.split() |> Enum.map(spelling)
      }
    end

  @rows rows
  @by_name Map.new(rows, &{&1.name, &1})
  @by_spelling (for row <- rows, spelling <- row.spellings, into: %{} do
                  {{spelling, row.arity}, row.name}
                end)

  # What Elixir's own macros and `defguard` leave behind after expansion.
  @erlang_names %{
    "=:=": :===,
    "=/=": :!==,
    "=<": :<=,
    "/=": :!=
  }

  @doc "All primitives, in the order of their numbers."
  @spec all() :: [row]
  def all, do: @rows

  @doc "The primitive called `name/arity` without a module, or nil."
  def local(name, arity), do: Map.get(@by_spelling, {name, arity})

  @doc "The primitive called `module.name/arity`, or nil."
  def remote(module, name, arity) when module in [Kernel, :erlang] do
    local(Map.get(@erlang_names, name, name), arity)
  end

  def remote(module, name, arity), do: Map.get(@by_spelling, {{module, name}, arity})

  @doc "The number of a primitive in the IR."
  def number(name), do: Map.fetch!(@by_name, name).number

  @doc "Returns how many operands a primitive takes."
  def arity(name), do: Map.fetch!(@by_name, name).arity

  @doc "Returns whether a primitive has an answer for all arguments."
  def always?(name), do: says?(name, :has, [:always])

  @doc "Returns whether the answer depends on nothing but the arguments."
  def pure?(name), do: not says?(name, :effort, [:impure])

  @doc "Returns whether a primitive walks over its arguments, other than to compare them, or to find a key."
  @spec walks?(atom) :: boolean
  def walks?(name), do: says?(name, :effort, [:walks])

  @doc "Returns whether a primitive spends fuel by the size of its arguments, were it only for integers of thousands of bits."
  @spec pays?(atom) :: boolean
  def pays?(name), do: says?(name, :effort, [:walks, :compares, :finds, :calculates])

  @doc "Returns whether the answer is always `true` or `false`."
  def boolean?(name), do: always?(name) and says?(name, :answer, [:boolean])

  @doc "Returns whether the answer is always a number, if there is one."
  def number?(name), do: says?(name, :answer, [:number, :integer, :fixnum, :float])

  @doc "Returns the spelling of a primitive: a function of Kernel or Bitwise, `{module, name}`, or nil where it has a syntax of its own."
  @spec spelling(atom) :: atom | {module, atom}
  def spelling(name) do
    case @by_name do
      %{^name => %{spellings: [spelling | _]}} -> spelling
      _ -> nil
    end
  end

  # The compiler has operations that are no primitives yet, of which the table says nothing.
  defp says?(name, column, words), do: Map.get(@by_name, name, %{})[column] in words
end
