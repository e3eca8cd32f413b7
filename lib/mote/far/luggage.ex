defmodule Mote.Far.Luggage do
  # The addresses and customers in messages between nodes. A key that the BEAM takes to another node holds
  # nothing there. So the sender lists them, and the receiver puts keys of its own node in their place.
  #
  # 1. A term that only looks like an address or a customer is a map like any other: it arrives as it was, and its
  #    contents are searched. Only values that a machine can have made are announced: a reference with a key of 72 bytes.
  @moduledoc false

  alias Mote.{Address, Customer, Native}
  alias Mote.Machine.Long
  require Long

  @type reference_in :: Address.t() | Customer.t()

  # Bytes of a key.
  @key 72

  defguardp is_key(key) when is_binary(key) and byte_size(key) == @key

  defguardp is_address(map)
            when is_map_key(map, :machine) and is_map_key(map, :key) and is_map_key(map, :sponsor) and
                   map_size(map) == 4 and
                   is_reference(:erlang.map_get(:machine, map)) and is_key(:erlang.map_get(:key, map))

  # By its reference, or with a key beside that.
  defguardp is_customer_ref(ref)
            when is_reference(ref) or
                   (is_tuple(ref) and tuple_size(ref) == 2 and is_reference(elem(ref, 0)) and
                      is_key(elem(ref, 1)))

  defguardp is_customer(map)
            when is_map_key(map, :ref) and map_size(map) == 2 and is_customer_ref(:erlang.map_get(:ref, map))

  @doc "Returns the addresses and customers in a term."
  @spec references(term) :: [reference_in]
  def references(term), do: Enum.flat_map(Long.dirty(Native.references_in(term)), &genuine/1)

  # The native side goes by the name of the struct, and does not look into it.
  defp genuine(%Address{} = address) when is_address(address), do: [address]
  defp genuine(%Customer{} = customer) when is_customer(customer), do: [customer]
  defp genuine(other), do: other |> Map.delete(:__struct__) |> references()

  @doc "Returns the identity of a reference."
  @spec key(reference_in) :: term
  def key(%Address{machine: machine, key: key}), do: {machine, key}
  def key(%Customer{ref: {ref, _key}}), do: ref
  def key(%Customer{ref: ref}), do: ref

  @doc "The node that it belongs to; `nil` of what only looks like one."
  @spec home(reference_in) :: node | nil
  def home(%Address{machine: machine}), do: if(is_reference(machine), do: node(machine))

  def home(%Customer{} = customer) do
    ref = key(customer)
    if is_reference(ref), do: node(ref)
  end

  @doc "What stands here for what a parcel announces, by what tells it apart. Its end is among what is `dropped`."
  @spec take_in([{non_neg_integer, reference_in}], reference) :: %{term => reference_in}
  def take_in(announced, dropped) do
    for {number, reference} <- announced, into: %{} do
      {key(reference), taken_in(reference, home(reference) == node(), number, dropped)}
    end
  end

  # At home it holds again what it had held; one of this node before it was restarted holds nothing.
  defp taken_in(%Address{machine: machine, key: key} = address, true, _number, _dropped) do
    case Native.own_key(machine, key) do
      :unknown -> address
      own -> %{address | key: own}
    end
  end

  defp taken_in(%Address{} = address, false, number, dropped) when number > 0,
    do: %{address | key: Native.far_key(address.key, dropped, number)}

  defp taken_in(%Customer{} = customer, true, _number, _dropped), do: %Customer{ref: key(customer)}

  defp taken_in(%Customer{} = customer, false, number, dropped) when number > 0,
    do: %Customer{ref: {key(customer), Native.far_key(<<>>, dropped, number)}}

  defp taken_in(reference, _home?, _number, _dropped), do: reference

  @doc "A term with what stands here for them."
  @spec replace(term, %{term => reference_in}) :: term
  def replace(term, taken) when taken == %{}, do: term

  def replace(%Address{} = address, taken) when is_address(address) do
    with {:ok, %{key: key}} <- Map.fetch(taken, key(address)),
         do: %{address | key: key},
         else: (:error -> address)
  end

  def replace(%Customer{} = customer, taken) when is_customer(customer),
    do: Map.get(taken, key(customer), customer)

  def replace([head | tail], taken), do: [replace(head, taken) | replace(tail, taken)]

  def replace(tuple, taken) when is_tuple(tuple),
    do: tuple |> Tuple.to_list() |> replace(taken) |> List.to_tuple()

  def replace(map, taken) when is_map(map),
    do: for({key, value} <- :maps.to_list(map), into: %{}, do: {replace(key, taken), replace(value, taken)})

  def replace(other, _taken), do: other
end
