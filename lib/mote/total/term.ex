defmodule Mote.Total.Term do
  # Equality, order and types of terms as behaviours see them. They differ from the BEAM's in one point:
  # addresses are not maps but sort as pids, and timers are references. Whether 0.0 and -0.0 are `===` is, as
  # in the machine, what it is on the BEAM that this runs on: they are two terms since OTP 27.
  @moduledoc false
  import Kernel, except: [max: 2, min: 2, not: 1]

  # Those of the simulator, then those of real machines, which plain Elixir code may be given as well.
  alias Mote.Reference.{Address, On}

  @addresses [Address, On, Mote.Address, Mote.Customer, Mote.Outbox]
  @doc "Returns whether a struct is an address."
  defguard is_address_struct(term)
           when :erlang.is_map(term) and :erlang.is_map_key(:__struct__, term) and
                  :erlang.map_get(:__struct__, term) in @addresses

  @doc "Returns whether a struct is a timer."
  defguard is_timer_struct(term)
           when :erlang.is_map(term) and :erlang.is_map_key(:__struct__, term) and
                  :erlang.map_get(:__struct__, term) == Mote.Timer

  @doc "The structs that are no maps for behaviours."
  @spec structs() :: [module]
  def structs, do: [Mote.Timer | @addresses]

  @doc "Returns whether a term is a map for behaviours: an address is none, and neither is a timer."
  defguard is_value_map(term)
           when :erlang.is_map(term) and :erlang.not(is_address_struct(term) or is_timer_struct(term))

  @none Mote.Total.None.value()

  def eq(a, b), do: a == b
  def ne(a, b), do: a != b

  def same(a, b), do: a === b
  def differ(a, b), do: same(a, b) == false

  def lt(a, b), do: order(a, b) == :lt
  def le(a, b), do: order(a, b) != :gt
  def gt(a, b), do: order(a, b) == :gt
  def ge(a, b), do: order(a, b) != :lt

  def max(a, b), do: if(order(a, b) == :lt, do: b, else: a)
  def min(a, b), do: if(order(a, b) == :gt, do: b, else: a)

  def not true, do: false
  def not false, do: true
  def not _, do: @none

  for name <-
        [:is_integer, :is_float, :is_number, :is_atom, :is_boolean, :is_tuple, :is_list] ++
          [:is_binary, :is_bitstring, :is_function, :is_pid] do
    def unquote(name)(a), do: :erlang.unquote(name)(a)
  end

  def is_map(a), do: is_value_map(a)

  def is_function_of(a, arity) when :erlang.is_integer(arity) and arity >= 0,
    do: :erlang.is_function(a, arity)

  def is_function_of(_, _), do: @none

  # A function that is a value is one of Elixir here, which reads what it has captured itself.
  def captured(_, _), do: @none

  def is_reference(a) when is_timer_struct(a), do: true
  def is_reference(a), do: :erlang.is_reference(a)

  def is_address(a) when is_address_struct(a), do: true
  def is_address(a), do: :erlang.is_pid(a)

  def on(sponsor, %On{} = on) when :erlang.is_atom(sponsor), do: %{on | sponsor: sponsor}

  def on(sponsor, %Mote.Address{} = address) when :erlang.is_atom(sponsor),
    do: %{address | sponsor: sponsor}

  def on(sponsor, %Address{id: id} = address) when :erlang.is_atom(sponsor) and :erlang.is_integer(id),
    do: %On{sponsor: sponsor, address: address}

  # A process or a customer has no sponsor to go to.
  def on(sponsor, address) when :erlang.is_atom(sponsor),
    do: if(is_address(address), do: address, else: @none)

  def on(_, _), do: @none

  defp order(a, b) do
    if native?(a) and native?(b), do: native(a, b), else: compare(a, b, &native/2)
  end

  defp native(a, b) when a < b, do: :lt
  defp native(a, b) when a > b, do: :gt
  defp native(_, _), do: :eq

  defguardp is_leaf(a) when :erlang.is_number(a) or :erlang.is_atom(a) or :erlang.is_bitstring(a)

  @doc "Returns whether the BEAM's own order holds for a term, or the elements of a list: no address and no timer is in it."
  @spec native?(term) :: boolean
  def native?([leaf | t]) when is_leaf(leaf), do: native?(t)
  def native?([h | t]), do: native?(h) and native?(t)
  def native?(a) when :erlang.is_tuple(a), do: a |> :erlang.tuple_to_list() |> native?()
  def native?(a) when is_address_struct(a) or is_timer_struct(a), do: false

  def native?(a) when :erlang.is_map(a),
    do: a |> :maps.keys() |> mapless?() and a |> :maps.values() |> native?()

  def native?(_), do: true

  # Terms that have no map in them. From OTP 26 on, the BEAM orders a map that is part of a key by the numbers of its atoms.
  defp mapless?([h | t]), do: mapless?(h) and mapless?(t)
  defp mapless?(a) when :erlang.is_tuple(a), do: a |> :erlang.tuple_to_list() |> mapless?()
  defp mapless?(a), do: not :erlang.is_map(a)

  @doc "The keys of a map, in the order that they have in every map: as terms, but integers come before floats."
  @spec sorted_keys(map) :: [term]
  def sorted_keys(map) do
    keys = :maps.keys(map)
    if exact?(keys), do: :lists.sort(keys), else: Enum.sort(keys, &(key_order(&1, &2) != :gt))
  end

  @doc "The pairs of a map, in the order of the keys."
  @spec sorted_pairs(map) :: [{term, term}]
  def sorted_pairs(map) do
    if map |> :maps.keys() |> exact?(),
      do: :lists.keysort(1, :maps.to_list(map)),
      else: for(key <- sorted_keys(map), do: {key, :maps.get(key, map)})
  end

  @doc """
  Returns whether the BEAM orders a term, or the elements of a list, as a machine does, be they keys or not, and two that are equal are the
  same: neither a float nor a map is in it.
  """
  @spec exact?(term) :: boolean
  def exact?([leaf | t]) when is_leaf(leaf) and :erlang.not(:erlang.is_float(leaf)), do: exact?(t)
  def exact?([h | t]), do: exact?(h) and exact?(t)
  def exact?(a) when :erlang.is_tuple(a), do: a |> :erlang.tuple_to_list() |> exact?()
  def exact?(a), do: :erlang.not(:erlang.is_float(a) or :erlang.is_map(a))

  defp key_order(a, b) do
    if mapless?(a) and mapless?(b), do: native_keys(a, b), else: compare(a, b, &native_keys/2)
  end

  # The BEAM compares maps by their keys in exactly that order, unless there are maps in the keys.
  defp native_keys(a, b), do: native(%{a => 0}, %{b => 0})

  # `leaves` orders what has no address in it and is no timer, tuple, list or map.
  defp compare(a, b, leaves) do
    case {rank(a), rank(b)} do
      {:tuple, :tuple} -> tuples(a, b, leaves)
      {:map, :map} -> maps(a, b, leaves)
      {:list, :list} -> lists(a, b, leaves)
      {:pid, :pid} -> native(pid_key(a), pid_key(b))
      {:reference, :reference} -> native(reference_key(a), reference_key(b))
      {same, same} -> leaves.(a, b)
      {one, other} -> native(position(one), position(other))
    end
  end

  defp tuples(a, b, _) when tuple_size(a) != tuple_size(b), do: native(tuple_size(a), tuple_size(b))
  defp tuples(a, b, leaves), do: lists(:erlang.tuple_to_list(a), :erlang.tuple_to_list(b), leaves)

  defp maps(a, b, _) when map_size(a) != map_size(b), do: native(map_size(a), map_size(b))

  defp maps(a, b, leaves) do
    [keys_a, keys_b] = Enum.map([a, b], &sorted_keys/1)

    case lists(keys_a, keys_b, &native_keys/2) do
      :eq -> lists(Enum.map(keys_a, &:maps.get(&1, a)), Enum.map(keys_b, &:maps.get(&1, b)), leaves)
      decided -> decided
    end
  end

  defp lists([h1 | t1], [h2 | t2], leaves) do
    case compare(h1, h2, leaves) do
      :eq -> compare(t1, t2, leaves)
      decided -> decided
    end
  end

  defp lists(a, b, _), do: native(a == [], b == []) |> flip()

  # The empty list sorts before the others, `true` after `false`.
  defp flip(:lt), do: :gt
  defp flip(:gt), do: :lt
  defp flip(:eq), do: :eq

  defp rank(a) when is_address_struct(a), do: :pid
  defp rank(a) when is_timer_struct(a), do: :reference
  defp rank(a) when :erlang.is_number(a), do: :number
  defp rank(a) when :erlang.is_atom(a), do: :atom
  defp rank(a) when :erlang.is_reference(a), do: :reference
  defp rank(a) when :erlang.is_function(a), do: :function
  defp rank(a) when :erlang.is_port(a), do: :port
  defp rank(a) when :erlang.is_pid(a), do: :pid
  defp rank(a) when :erlang.is_tuple(a), do: :tuple
  defp rank(a) when :erlang.is_map(a), do: :map
  defp rank(a) when :erlang.is_list(a), do: :list
  defp rank(_), do: :bitstring

  @ranks [:number, :atom, :reference, :function, :port, :pid, :tuple, :map, :list, :bitstring]
  for {rank, position} <- Enum.with_index(@ranks) do
    defp position(unquote(rank)), do: unquote(position)
  end

  # Actors, references of `on`, customers, outboxes, processes, as in the machine; in which order two of one kind are is
  # the business of each.
  defp pid_key(%On{sponsor: sponsor, address: address}), do: {1, {sponsor, pid_key(address)}}
  defp pid_key(%Address{id: {:customer, name}}), do: {2, name}
  defp pid_key(%Address{id: id}), do: {0, id}
  defp pid_key(%Mote.Address{machine: machine, key: key, sponsor: nil}), do: {0, {machine, key}}

  defp pid_key(%Mote.Address{sponsor: sponsor} = address),
    do: {1, {sponsor, pid_key(%{address | sponsor: nil})}}

  defp pid_key(%Mote.Customer{ref: ref}), do: {2, ref}
  defp pid_key(%Mote.Outbox{ref: ref}), do: {3, ref}
  defp pid_key(pid), do: {4, pid}

  # Timers come first, those of one thread in the order in which they were armed.
  defp reference_key(%Mote.Timer{machine: machine, key: <<serial::little-64, thread::little-16, _::binary>>}),
    do: {0, {serial, thread, machine}}

  defp reference_key(reference), do: {1, reference}
end
