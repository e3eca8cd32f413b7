defmodule Mote.Behaviour.Primitives do
  # THE table of primitives: number in the IR, name, arity, whether it always has an answer, Elixir spellings.
  # It does not say what they compute (guides/ir.md for people, `Mote.Total` for Elixir).
  @moduledoc false

  # An atom is a function of Kernel, called without a module; {Module, name} needs its module.
  # :always has an answer for all arguments; :partial gives `:undefined`, or fails a guard.
  @table [
    {0, :add, 2, :partial, [:+]},
    {1, :sub, 2, :partial, [:-]},
    {2, :mul, 2, :partial, [:*]},
    {3, :fdiv, 2, :partial, [:/]},
    {4, :idiv, 2, :partial, [:div]},
    {5, :irem, 2, :partial, [:rem]},
    {6, :neg, 1, :partial, [:-]},
    {7, :abs, 1, :partial, [:abs]},
    {8, :band, 2, :partial, [:band, :&&&, {Bitwise, :band}, {Bitwise, :&&&}]},
    {9, :bor, 2, :partial, [:bor, :|||, {Bitwise, :bor}, {Bitwise, :|||}]},
    {10, :bxor, 2, :partial, [:bxor, :"^^^", {Bitwise, :bxor}, {Bitwise, :"^^^"}]},
    {11, :bnot, 1, :partial, [:bnot, :"~~~", {Bitwise, :bnot}, {Bitwise, :"~~~"}]},
    {12, :bsl, 2, :partial, [:bsl, :<<<, {Bitwise, :bsl}, {Bitwise, :<<<}]},
    {13, :bsr, 2, :partial, [:bsr, :>>>, {Bitwise, :bsr}, {Bitwise, :>>>}]},
    {14, :eq, 2, :always, [:==]},
    {15, :ne, 2, :always, [:!=]},
    {16, :same, 2, :always, [:===]},
    {17, :differ, 2, :always, [:!==]},
    {18, :lt, 2, :always, [:<]},
    {19, :le, 2, :always, [:<=]},
    {20, :gt, 2, :always, [:>]},
    {21, :ge, 2, :always, [:>=]},
    {22, :not, 1, :partial, [:not]},
    {23, :is_integer, 1, :always, [:is_integer]},
    {24, :is_float, 1, :always, [:is_float]},
    {25, :is_number, 1, :always, [:is_number]},
    {26, :is_atom, 1, :always, [:is_atom]},
    {27, :is_boolean, 1, :always, [:is_boolean]},
    {28, :is_tuple, 1, :always, [:is_tuple]},
    {29, :is_list, 1, :always, [:is_list]},
    {30, :is_binary, 1, :always, [:is_binary]},
    {31, :is_bitstring, 1, :always, [:is_bitstring]},
    {32, :is_map, 1, :always, [:is_map]},
    {33, :is_function, 1, :always, [:is_function]},
    {34, :is_reference, 1, :always, [:is_reference]},
    {35, :is_pid, 1, :always, [:is_pid]},
    {36, :is_address, 1, :always, [:is_address]},
    {37, :hd, 1, :partial, [:hd]},
    {38, :tl, 1, :partial, [:tl]},
    {39, :length, 1, :partial, [:length]},
    {40, :tuple_size, 1, :partial, [:tuple_size]},
    {41, :elem, 2, :partial, [:elem]},
    {42, :put_elem, 3, :partial, [:put_elem]},
    {43, :append, 2, :partial, [:++]},
    # Spelled `Enum.reverse(x)`, which takes maps as well.
    {44, :reverse, 1, :partial, []},
    {45, :max, 2, :always, [:max]},
    {46, :min, 2, :always, [:min]},
    {47, :round, 1, :partial, [:round]},
    {48, :trunc, 1, :partial, [:trunc]},
    {49, :floor, 1, :partial, [:floor]},
    {50, :ceil, 1, :partial, [:ceil]},
    # Spelled `x in list` and `Enum.member?(list, x)`; the syntax pass brings the value to the front.
    {51, :member, 2, :partial, []},
    {52, :subtract, 2, :partial, [:--]},
    {53, :tuple_to_list, 1, :partial, [{Tuple, :to_list}]},
    {54, :list_to_tuple, 1, :partial, [{List, :to_tuple}]},
    {55, :byte_size, 1, :partial, [:byte_size]},
    {56, :add64, 2, :partial, [{Mote.Integer, :add64}]},
    {57, :sub64, 2, :partial, [{Mote.Integer, :sub64}]},
    {58, :mul64, 2, :partial, [{Mote.Integer, :mul64}]},
    {60, :sqrt, 1, :partial, [{:math, :sqrt}]},
    {61, :exp, 1, :partial, [{:math, :exp}]},
    {62, :log, 1, :partial, [{:math, :log}]},
    {63, :log2, 1, :partial, [{:math, :log2}]},
    {64, :log10, 1, :partial, [{:math, :log10}]},
    {65, :sin, 1, :partial, [{:math, :sin}]},
    {66, :cos, 1, :partial, [{:math, :cos}]},
    {67, :tan, 1, :partial, [{:math, :tan}]},
    {68, :asin, 1, :partial, [{:math, :asin}]},
    {69, :acos, 1, :partial, [{:math, :acos}]},
    {70, :atan, 1, :partial, [{:math, :atan}]},
    {71, :sinh, 1, :partial, [{:math, :sinh}]},
    {72, :cosh, 1, :partial, [{:math, :cosh}]},
    {73, :tanh, 1, :partial, [{:math, :tanh}]},
    {74, :erf, 1, :partial, [{:math, :erf}]},
    {75, :erfc, 1, :partial, [{:math, :erfc}]},
    {76, :pow, 2, :partial, [{:math, :pow}]},
    {77, :atan2, 2, :partial, [{:math, :atan2}]},
    {80, :random, 0, :always, [{:rand, :uniform}]},
    {81, :random_int, 1, :partial, [{:rand, :uniform}]},
    # Nanoseconds; spelled `System.monotonic_time(unit)`.
    {82, :now, 0, :always, []},
    {90, :on, 2, :partial, [:on]},
    # Of a tuple {k1, v1, …}: spelled `%{k1 => v1, …}`.
    {100, :map_of, 1, :partial, []},
    {101, :map_get, 3, :partial, [{Map, :get}]},
    # Also spelled `map.key`.
    {102, :map_fetch, 2, :partial, [{Map, :fetch!}]},
    {103, :map_put, 3, :partial, [{Map, :put}]},
    # Spelled `%{map | key => value}`.
    {104, :map_update, 3, :partial, []},
    {105, :map_delete, 2, :partial, [{Map, :delete}]},
    # `is_map_key(map, key)` has its arguments the other way round once it is expanded.
    {106, :map_has_key, 2, :partial, [{Map, :has_key?}]},
    {107, :map_size, 1, :partial, [:map_size]},
    {108, :map_keys, 1, :partial, [{Map, :keys}]},
    {109, :map_values, 1, :partial, [{Map, :values}]},
    {110, :map_new, 1, :partial, [{Map, :new}]},
    {111, :map_merge, 2, :partial, [{Map, :merge}]},
    {112, :to_list, 1, :partial, [{Map, :to_list}]},
    # What loops and functions of Enum go through.
    {113, :elements, 1, :partial, [{Enum, :to_list}]},
    # `Enum.sort/1`, `Enum.sort_by/2` and the like are made of these.
    {114, :sort, 1, :partial, [{:lists, :sort}]},
    {115, :keysort, 2, :partial, [{:lists, :keysort}]},
    # Of a tuple of values and one of specifications: spelled `<<…>>` and `<>`.
    {120, :bin_of, 2, :partial, []},
    # The next five are what binary patterns are made of.
    {121, :bin_int, 3, :partial, []},
    {122, :bin_float, 3, :partial, []},
    {123, :bin_slice, 3, :partial, []},
    {124, :bin_rest, 2, :partial, []},
    {125, :bin_utf8, 2, :partial, []},
    {126, :utf8_bits, 1, :partial, []},
    {127, :bit_size, 1, :partial, [:bit_size]},
    {128, :binary_part, 3, :partial, [:binary_part, {:binary, :part}]},
    {129, :binary_at, 2, :partial, [{:binary, :at}]},
    # Also spelled by interpolation.
    {130, :to_string, 1, :partial, [:to_string]},
    {131, :to_float, 1, :partial, [{String, :to_float}]},
    # What String and Enum search texts with, and put them together with.
    {132, :binary_find, 3, :partial, [{Mote.Total, :binary_find}]},
    {133, :binary_join, 2, :partial, [{Mote.Total, :binary_join}]},
    {140, :vec_new, 2, :partial, [{Mote.Vector, :new}]},
    {141, :vec_from_binary, 2, :partial, [{Mote.Vector, :from_binary}]},
    {142, :vec_to_list, 1, :partial, [{Mote.Vector, :to_list}]},
    {143, :vec_to_binary, 1, :partial, [{Mote.Vector, :to_binary}]},
    {144, :vec_size, 1, :partial, [{Mote.Vector, :size}]},
    {145, :vec_get, 2, :partial, [{Mote.Vector, :get}]},
    {146, :vec_slice, 3, :partial, [{Mote.Vector, :slice}]},
    {147, :vec_concat, 2, :partial, [{Mote.Vector, :concat}]},
    # Its first operand says which one; spelled `Mote.Vector.add(a, b)` and so on.
    {148, :vec_map2, 3, :partial, []},
    {149, :vec_dot, 2, :partial, [{Mote.Vector, :dot}]},
    {150, :vec_distance, 2, :partial, [{Mote.Vector, :squared_distance}]},
    {151, :vec_sum, 1, :partial, [{Mote.Vector, :sum}]},
    {152, :vec_min, 1, :partial, [{Mote.Vector, :min}]},
    {153, :vec_max, 1, :partial, [{Mote.Vector, :max}]},
    {154, :vec_argmin, 1, :partial, [{Mote.Vector, :argmin}]},
    {155, :vec_argmax, 1, :partial, [{Mote.Vector, :argmax}]},
    {156, :vec_sort, 1, :partial, [{Mote.Vector, :sort}]}
  ]

  # What Elixir's own macros and `defguard` leave behind after expansion.
  @erlang_names %{
    "=:=": :===,
    "=/=": :!==,
    "=<": :<=,
    "/=": :!=
  }

  @local for {_, name, arity, _, spellings} <- @table,
             spelling <- spellings,
             is_atom(spelling),
             into: %{},
             do: {{spelling, arity}, name}

  @remote for {_, name, arity, _, spellings} <- @table,
              {module, fun} <- spellings,
              into: %{},
              do: {{module, fun, arity}, name}

  @numbers for {number, name, _, _, _} <- @table, into: %{}, do: {name, number}
  @arities for {_, name, arity, _, _} <- @table, into: %{}, do: {name, arity}
  @always for {_, name, _, :always, _} <- @table, into: %{}, do: {name, true}

  @doc "All primitives: `{number, name, arity, :always | :partial, spellings}`."
  def all, do: @table

  @doc "The primitive called `name/arity` without a module, or nil."
  def local(name, arity), do: Map.get(@local, {name, arity})

  @doc "The primitive called `module.name/arity`, or nil."
  def remote(module, name, arity) when module in [Kernel, :erlang] do
    local(Map.get(@erlang_names, name, name), arity)
  end

  def remote(module, name, arity), do: Map.get(@remote, {module, name, arity})

  @doc "The number of a primitive in the IR."
  def number(name), do: Map.fetch!(@numbers, name)

  @doc "How many operands a primitive takes."
  def arity(name), do: Map.fetch!(@arities, name)

  @doc "Whether a primitive has an answer for all arguments."
  def always?(name), do: Map.has_key?(@always, name)

  @doc "Whether the answer depends on nothing but the arguments."
  def pure?(name), do: name not in [:random, :random_int, :now]

  @compared [:eq, :ne, :same, :differ, :lt, :le, :gt, :ge, :max, :min]
  @keyed [:map_get, :map_fetch, :map_put, :map_update, :map_delete, :map_has_key]
  @walking [:length, :put_elem, :append, :reverse, :member, :subtract, :sort, :keysort, :tuple_to_list] ++
             [:list_to_tuple, :map_of, :map_keys, :map_values, :map_new, :map_merge, :to_list, :elements] ++
             [:bin_of, :bin_slice, :binary_find, :binary_join, :vec_new, :vec_from_binary, :vec_to_list] ++
             [:vec_concat, :vec_map2, :vec_dot, :vec_distance, :vec_sum, :vec_min, :vec_max, :vec_argmin] ++
             [:vec_argmax, :vec_sort, :to_float]
  # These pay where integers are long.
  @arithmetic [:add, :sub, :mul, :idiv, :irem, :neg, :abs, :band, :bor, :bxor, :bnot, :bsl, :bsr, :to_string]

  @doc "Whether a primitive walks over its arguments, other than to compare them, or to find a key."
  @spec walks?(atom) :: boolean
  def walks?(name), do: name in @walking

  @doc "Whether a primitive spends fuel by the size of its arguments, were it only for integers of thousands of bits."
  @spec pays?(atom) :: boolean
  def pays?(name), do: name in @compared or name in @keyed or name in @walking or name in @arithmetic

  @boolean [:eq, :ne, :same, :differ, :lt, :le, :gt, :ge] ++
             [:is_integer, :is_float, :is_number, :is_atom, :is_boolean, :is_tuple, :is_list] ++
             [:is_binary, :is_bitstring, :is_map, :is_function, :is_reference, :is_pid] ++
             [:is_address]

  @doc "Whether the answer is always `true` or `false`."
  def boolean?(name), do: name in @boolean

  @number [:add, :sub, :mul, :fdiv, :idiv, :irem, :neg, :abs, :band, :bor, :bxor, :bnot, :bsl, :bsr] ++
            [:length, :tuple_size, :byte_size, :bit_size, :map_size, :round, :trunc, :floor, :ceil] ++
            [:add64, :sub64, :mul64]

  @doc "Whether the answer is always a number, if there is one."
  def number?(name), do: name in @number

  @spelling for {_, name, _, _, [spelling | _]} <- @table, into: %{}, do: {name, spelling}

  @doc "How people write a primitive: a function of Kernel or Bitwise, `{module, name}`, or nil where it has a syntax of its own."
  @spec spelling(atom) :: atom | {module, atom}
  def spelling(name), do: Map.get(@spelling, name)
end
