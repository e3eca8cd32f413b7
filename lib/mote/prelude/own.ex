defmodule Mote.Prelude.Own do
  # THE table of the functions of the prelude that plain Elixir leaves to Elixir's own, and for which arguments. What is written
  # in the language costs a multiple there, of a function of the BEAM's above all.
  #
  # 1. For arguments of these kinds Elixir's own function returns what the prelude's does, or both raise: what is raised is made
  #    anew of the call (`Mote.Turn.Direct.told/3`).
  # 2. One that calls itself in the prelude is given no kind that looks at more than the value itself: kinds are looked at with
  #    every call.
  @moduledoc false

  alias Mote.Prelude.Table
  alias Mote.Total.Term

  # A row is a module as users know it with its functions, each with a kind for each argument. Those of `@own` are written below.
  @table [
    {Access, get: [:map, :any], get: [:map, :any, :any], fetch: [:map, :any]},
    {Base,
     encode16: [:bytes],
     encode16: [:bytes, [[case: :lower]]],
     encode64: [:bytes],
     encode64: [:bytes, [[padding: false]]],
     url_encode64: [:bytes],
     url_encode64: [:bytes, [[padding: false]]],
     decode16: [:bytes],
     decode16!: [:bytes],
     decode64: [:bytes],
     decode64!: [:bytes],
     url_decode64: [:bytes],
     url_decode64!: [:bytes]},
    {Enum, count: [:map], empty?: [:map], max: [:cells], min: [:cells], take: [:cells, :integer]},
    {Integer, digits: [:integer], parse: [:bytes], to_string: [:integer], to_string: [:integer, 2..36]},
    {IO, iodata_length: [:any], iodata_to_binary: [:any]},
    {List,
     delete: [:cells, :any],
     flatten: [:cells],
     keydelete: [:cells, :any, :count],
     keyfind: [:cells, :any, :count],
     keyfind: [:cells, :any, :count, :any],
     keymember?: [:cells, :any, :count],
     keyreplace: [:cells, :any, :count, :tuple],
     keystore: [:cells, :any, :count, :tuple],
     to_string: [:cells]},
    {MapSet, new: [:cells]},
    {String,
     at: [:text, :integer],
     codepoints: [:text],
     contains?: [:bytes, :part],
     downcase: [:text],
     duplicate: [:bytes, :count],
     ends_with?: [:bytes, :bytes],
     graphemes: [:text],
     last: [:text],
     length: [:text],
     pad_leading: [:text, :count],
     pad_leading: [:text, :count, :character],
     pad_trailing: [:text, :count],
     pad_trailing: [:text, :count, :character],
     replace: [:bytes, :part, :bytes],
     reverse: [:text],
     split: [:bytes, :part],
     split: [:bytes, :part, [[trim: true], [parts: 2]]],
     starts_with?: [:bytes, :bytes],
     to_charlist: [:text],
     to_integer: [:bytes],
     trim: [:bytes],
     trim_leading: [:bytes],
     trim_trailing: [:bytes],
     upcase: [:text],
     valid?: [:bytes]}
  ]

  @places Map.new(Table.entries(), fn {{module, name, arity}, {_, place, own}} ->
            {{module, name, arity}, {place, own}}
          end)
  @own [:max, :min]

  @entries (for {module, functions} <- @table, {name, kinds} <- functions, into: %{} do
              arity = length(kinds)
              {place, own} = Map.get(@places, {module, name, arity}, {module, name})
              {{place, own, arity}, {{if(name in @own, do: __MODULE__, else: module), name}, kinds}}
            end)

  @typedoc "What a value is of, or is one of. `:text` is valid, and looked at for that: all of it."
  @type kind ::
          :any
          | :cells
          | :map
          | :tuple
          | :integer
          | :count
          | :bytes
          | :part
          | :text
          | :character
          | Range.t()
          | [term]

  @doc "Elixir's own function for one that is written in `place`, with the kinds of its arguments; or nil."
  @spec entry(module, atom, arity) :: {{module, atom}, [kind]} | nil
  def entry(place, name, arity), do: @entries[{place, name, arity}]

  @doc "All places that have some."
  @spec entries() :: [{{module, atom, arity}, {{module, atom}, [kind]}}]
  def entries, do: Enum.sort(@entries)

  @doc "The test that a value is of a kind."
  @spec test(kind, Macro.t()) :: Macro.t()
  def test(:any, _), do: true
  def test(:cells, value), do: quote(do: :erlang.is_list(unquote(value)))
  def test(:tuple, value), do: quote(do: :erlang.is_tuple(unquote(value)))
  def test(:integer, value), do: quote(do: :erlang.is_integer(unquote(value)))
  def test(:count, value), do: both(test(:integer, value), test(0..0xFFFFFF, value))
  def test(:bytes, value), do: quote(do: :erlang.is_binary(unquote(value)))
  def test(:part, value), do: both(test(:bytes, value), quote(do: :erlang."/="(unquote(value), "")))
  def test(:text, value), do: both(test(:bytes, value), quote(do: String.valid?(unquote(value))))
  def test(:character, value), do: both(test(:part, value), quote(do: String.valid?(unquote(value))))
  def test([_ | _] = values, value), do: quote(do: :lists.member(unquote(value), unquote(values)))

  def test(first..last//1, value),
    do:
      quote(
        do:
          :erlang.andalso(
            :erlang.>=(unquote(value), unquote(first)),
            :erlang."=<"(unquote(value), unquote(last))
          )
      )

  def test(:map, value),
    do:
      both(
        quote(do: :erlang.is_map(unquote(value))),
        quote(do: :erlang.not(:erlang.is_map_key(:__struct__, unquote(value))))
      )

  defp both(a, b), do: quote(do: :erlang.andalso(unquote(a), unquote(b)))

  # -- what needs a look at the answer, or at all elements -------------------------------------------------------

  # Whatever is less than a number, an atom or a binary for the BEAM is so for a machine, and the other way round.
  defguardp is_leaf(a) when is_number(a) or is_atom(a) or is_bitstring(a)

  @doc "The greatest of a list, the first of those that are equal."
  def max(list) do
    with greatest when not is_leaf(greatest) <- :lists.max(list), do: Enum.max(list, &Term.ge/2)
  end

  @doc "The least of a list, the first of those that are equal."
  def min(list) do
    with least when not is_leaf(least) <- :lists.min(list), do: Enum.min(list, &Term.le/2)
  end
end
