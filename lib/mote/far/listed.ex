defmodule Mote.Far.Listed do
  # The references that another node has from here, by the numbers of their announcements.
  #
  # 1. Neither place is on the heap of a process: each of its collections would copy a million references, and one that is let go
  #    would hold its actor until the next one.
  # 2. Actors of this node, which may be millions, are held by the native side without any term: so all of them end within a
  #    fraction of a second, on a dirty scheduler, when the connection does. Customers, and addresses that only pass through
  #    this node, are kept in a table as what holds them here.
  @moduledoc false

  alias Mote.{Address, Customer, Native}
  alias Mote.Far.Luggage
  alias Mote.Machine.Long
  require Long

  @enforce_keys [:actors, :others]
  defstruct @enforce_keys ++ [count: 0]

  @opaque t :: %__MODULE__{}

  @doc "The native list, for whoever clears it when the process that has it ended."
  @spec actors() :: reference
  def actors, do: Native.listed_new()

  @doc "Lists nothing, for the calling process."
  @spec new(reference) :: t
  def new(actors), do: %__MODULE__{actors: actors, others: :ets.new(__MODULE__, [:private])}

  @doc "Lists what a parcel announces; what goes home is announced by 0, and held there."
  @spec add(t, [{non_neg_integer, Luggage.reference_in()}]) :: t
  def add(listed, announced) do
    {actors, others} = Enum.split_with(announced, &own?/1)

    :ets.insert(
      listed.others,
      for({number, reference} when number > 0 <- others, do: {number, holder(reference)})
    )

    if actors == [] do
      listed
    else
      actors = for {number, %Address{machine: machine, key: key}} <- actors, do: {number, machine, key}
      %{listed | count: Long.dirty(Native.listed_add(listed.actors, actors))}
    end
  end

  defp own?({number, %Address{} = address}), do: number > 0 and Luggage.home(address) == node()
  defp own?({_number, %Customer{}}), do: false

  defp holder(%Address{key: key}), do: key
  defp holder(%Customer{ref: ref}), do: ref

  @doc "Nobody on the other node has what was announced by these numbers."
  @spec drop(t, [term]) :: t
  def drop(listed, numbers) do
    Enum.each(numbers, &:ets.delete(listed.others, &1))
    %{listed | count: Long.dirty(Native.listed_drop(listed.actors, numbers))}
  end

  @doc "Returns how many there are."
  @spec count(t) :: non_neg_integer
  def count(listed), do: listed.count + :ets.info(listed.others, :size)

  @doc "The process that has had the native list ended."
  @spec clear(reference) :: :ok
  def clear(actors), do: Native.listed_clear(actors)
end
