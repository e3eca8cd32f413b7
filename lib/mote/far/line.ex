defmodule Mote.Far.Line do
  # The state of what goes to one node, without processes and clocks: entries that wait, and parcels on their way.
  # `Mote.Far.Intake` is the other side of it.
  #
  # Invariants:
  # 1. Entries leave in the order in which they were put in, each in one parcel.
  # 2. While `@window` bytes are on their way, nothing leaves. Before that limit, the other side was asked to
  #    report what it has.
  # 3. A parcel announces the references in it that stay on the other side. Whoever sends it lists them from before it leaves until the
  #    other side says that it has dropped their numbers. Every announcement has a number of its own, so a report about one does not
  #    concern another that is on its way.
  # 4. Of each parcel on its way it is known how many messages are in it, for whoever has to say what became of them.
  # 5. The targets of a parcel, and references in it that go home, are kept until it was taken in. Otherwise
  #    the report of their end might arrive there first, by way of a third node.
  @moduledoc false

  alias Mote.Far.{Entry, Luggage}

  @parcel Entry.parcel()
  @window 8 * @parcel

  defstruct waiting: :queue.new(),
            bytes: 0,
            parcel: 1,
            on_way: :queue.new(),
            on_way_bytes: 0,
            unasked: 0,
            number: 1

  @type t :: %__MODULE__{}

  @typedoc "A number, whether to say when it was taken in, what it announces (by 0 what goes home), and its entries."
  @type parcel :: {pos_integer, boolean, [{non_neg_integer, term}], [term]}

  @doc "Puts in an entry of that many bytes with the references in it; `target` is what it is for."
  @spec put(t, term, non_neg_integer, [term], term) :: t
  def put(line, entry, bytes, references, target) do
    %{line | waiting: :queue.in({entry, bytes, references, target}, line.waiting), bytes: line.bytes + bytes}
  end

  @doc "Returns whether a whole parcel waits."
  @spec parcel?(t) :: boolean
  def parcel?(line), do: line.bytes >= @parcel

  @doc "Returns whether something can leave."
  @spec ready?(t) :: boolean
  def ready?(line), do: line.on_way_bytes < @window and not :queue.is_empty(line.waiting)

  @doc "The entries that wait, with their bytes."
  @spec waiting(t) :: [{term, non_neg_integer}]
  def waiting(line), do: for({entry, bytes, _, _} <- :queue.to_list(line.waiting), do: {entry, bytes})

  @doc "Returns whether it is not known of everything that it was taken in."
  @spec on_way?(t) :: boolean
  def on_way?(line), do: not :queue.is_empty(line.on_way)

  @doc "The parcels of which it is not known that they were taken in, with that many messages each."
  @spec on_way(t) :: [{pos_integer, non_neg_integer}]
  def on_way(line), do: for({number, _, messages, _} <- :queue.to_list(line.on_way), do: {number, messages})

  @doc "The next parcel for `node`, with the bytes in it. With `ask?` the other side is to say that it has taken it in."
  @spec parcel(t, node, boolean) :: {parcel, non_neg_integer, t}
  def parcel(line, node, ask? \\ false) do
    {entries, references, kept, bytes, waiting} = take(line.waiting, [], [], [], 0)

    {returning, others} =
      references |> Enum.uniq_by(&Luggage.key/1) |> Enum.split_with(&(Luggage.home(&1) == node))

    announced =
      for(reference <- returning, do: {0, reference}) ++ Enum.with_index(others, &{line.number + &2, &1})

    ask? = ask? or line.unasked + bytes >= @parcel

    line = %{
      line
      | waiting: waiting,
        bytes: line.bytes - bytes,
        parcel: line.parcel + 1,
        on_way: :queue.in({line.parcel, bytes, Entry.messages(entries), returning ++ kept}, line.on_way),
        on_way_bytes: line.on_way_bytes + bytes,
        unasked: if(ask?, do: 0, else: line.unasked + bytes),
        number: line.number + length(others)
    }

    {{line.parcel - 1, ask?, announced, entries}, bytes, line}
  end

  defp take(waiting, entries, references, kept, bytes) do
    with true <- bytes < @parcel,
         {{:value, {entry, size, its, target}}, rest} <- :queue.out(waiting) do
      take(rest, [entry | entries], its ++ references, [target | kept], bytes + size)
    else
      _ -> {Enum.reverse(entries), references, kept, bytes, waiting}
    end
  end

  @doc "The other side has taken in all parcels up to that number."
  @spec taken(t, pos_integer) :: t
  def taken(line, number) do
    case :queue.peek(line.on_way) do
      {:value, {first, bytes, _messages, _kept}} when first <= number ->
        line = %{line | on_way: :queue.drop(line.on_way), on_way_bytes: line.on_way_bytes - bytes}
        taken(line, number)

      _ ->
        line
    end
  end
end
