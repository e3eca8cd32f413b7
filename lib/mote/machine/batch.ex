defmodule Mote.Machine.Batch do
  # Sending many messages: each call of the NIF takes as many as a scheduler has time for, and they enter
  # together.
  @moduledoc false

  import Mote.Internal.Expected, only: [expected!: 2]

  alias Mote.{Address, Durable, Error, Far, Native}
  alias Mote.Far.Entry
  alias Mote.Machine.{Long, Sending}
  require Long

  @chunk 500

  @doc "See `Mote.send_many/3`."
  @spec send_many(Address.t(), [term], Mote.send_options()) :: :ok | {:error, Error.t()}
  def send_many(%Address{} = address, messages, opts) when is_list(messages) do
    {named, on_full, timeout} = Sending.options!(opts, "send_many/3")
    sponsor = address.sponsor || named

    if Far.far?(address) and not List.improper?(messages),
      do: far(address, sponsor, messages, on_full, timeout),
      else: near(address, sponsor, messages, opts)
  end

  def send_many(%Address{}, other, _opts), do: expected!("a list of messages to send", other)

  def send_many(other, _messages, _opts), do: expected!("the address of an actor to send to", other)

  defp near(%{machine: machine, key: key} = address, sponsor, messages, opts) do
    native = &Long.batch(Native.send_many(machine, key, sponsor, &1))
    one = &Sending.send(address, &1, &2)
    go(messages, 0, opts, native, one, address: address, sponsor: sponsor)
  end

  # Some at a time: so what waits stays near its bound, however many there are, and however large.
  defp far(address, sponsor, messages, on_full, timeout) do
    messages
    |> Stream.chunk_every(@chunk)
    |> Stream.flat_map(&Entry.parts/1)
    |> Enum.reduce_while({:ok, 0}, fn {some, _bytes} = part, {:ok, accepted} ->
      case Far.send_many(address, sponsor, part, on_full, timeout) do
        :ok -> {:cont, {:ok, accepted + length(some)}}
        {:error, error} -> {:halt, {:error, accepted(error, accepted)}}
      end
    end)
    |> then(&with {:ok, _} <- &1, do: :ok)
  end

  @doc "See `Mote.send_many/2`. `send` is `Mote.send/3`, for pairs that a batch cannot take."
  @spec send_pairs([{term, term}], Mote.send_options(), send) :: :ok | {:error, Error.t()}
        when send: (term, term, Mote.send_options() -> :ok | {:error, Error.t()})
  def send_pairs(pairs, opts, send) do
    {sponsor, _, _} = Sending.options!(opts, "send_many/2")
    go(pairs, 0, opts, &Long.batch(Native.send_pairs(&1, sponsor)), &pair(&1, &2, send), sponsor: sponsor)
  end

  defp pair({target, message}, opts, send), do: send.(target, message, opts)

  defp pair(other, _opts, _send), do: expected!("{address, message} in the list to send", other)

  # `unsynced`: the durable machine that has taken some whose disk was not waited for yet.
  defp go(messages, accepted, opts, native, one, context, unsynced \\ nil) do
    {some, rest, why} = native.(messages)
    accepted = accepted + some

    {why, taken_by} =
      case why do
        {durable, why} -> {why, durable}
        why -> {why, unsynced}
      end

    with :ok <- if(taken_by == unsynced, do: :ok, else: synced(unsynced, context)),
         :ok <- if(why == :more, do: :ok, else: synced(taken_by, context)) do
      case {why, rest} do
        {:ok, []} ->
          :ok

        {:more, _} ->
          go(rest, accepted, opts, native, one, context, taken_by)

        # What a batch cannot do: wait for room, share a long binary that the machine does not have yet, send to a process.
        {why, [message | rest]} when why in [:full, :full_wait, :no_memory, :big, :long, :other] ->
          with :ok <- single(message, accepted, opts, one),
               do: go(rest, accepted + 1, opts, native, one, context)

        {:ok, tail} ->
          raise ArgumentError, "expected a proper list of messages, got one that ends with #{inspect(tail)}"

        {word, _} ->
          raise Error.from(word, [accepted: accepted] ++ about(rest, context))
      end
    end
  end

  defp synced(nil, _context), do: :ok
  defp synced(machine, context), do: Durable.synced(machine, context)

  # Of pairs the first one that is left was not accepted.
  defp about([{%Address{} = address, _} | _], context), do: Keyword.put_new(context, :address, address)
  defp about(_rest, context), do: context

  defp single(message, accepted, opts, one) do
    with {:error, error} <- one.(message, opts), do: {:error, accepted(error, accepted)}
  rescue
    error in Error -> reraise accepted(error, accepted), __STACKTRACE__
  end

  defp accepted(error, accepted), do: %{error | context: Map.put(error.context, :accepted, accepted)}

  @doc "See `Mote.cast_stream/3`."
  @spec cast_stream(Address.t(), Enumerable.t(), Mote.send_options()) ::
          {:ok, non_neg_integer} | {:error, Error.t()}
  def cast_stream(address, messages, opts) do
    Sending.options!(opts, "cast_stream/3")
    opts = Keyword.put_new(opts, :on_full, :wait)
    # A caller that sends nothing also learns what is wrong with the address, the options or the machine.
    :ok = send_many(address, [], opts)
    messages!(messages)

    messages
    |> Stream.chunk_every(@chunk)
    |> Enum.reduce_while({:ok, 0}, fn chunk, {:ok, sent} ->
      case send_many(address, chunk, opts) do
        :ok -> {:cont, {:ok, sent + length(chunk)}}
        {:error, error} -> {:halt, {:error, accepted(error, sent + error.context.accepted)}}
      end
    end)
  end

  defp messages!(messages) do
    if Enumerable.impl_for(messages) == nil or (is_list(messages) and List.improper?(messages)),
      do: expected!("a proper list or another enumerable of messages", messages)
  end
end
