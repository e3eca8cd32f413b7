defmodule Broker.Outgoing do
  # The messages of QoS 1 that a session has for its client. It knows nothing of sockets.
  #
  # Invariants:
  # 1. Messages go out in the order in which they came, at most `window` before one is acknowledged.
  # 2. No two that are not acknowledged have the same number.
  # 3. At most 1,000 wait. The newest are lost beyond that, as the oldest are what a client has missed for longest.
  # 4. What has expired is not sent for the first time.
  @moduledoc false
  use Mote.Behaviour

  # `sent` has a number and a message each, the oldest first; `waiting` is a queue of `waits` messages.
  defstruct sent: [], waiting: :queue.new(), waits: 0, last: 0

  @most 1_000

  @doc """
  Takes in a message. Returns what is to be sent now, with its numbers, and what there is then.

      iex> {now, out} = Broker.Outgoing.put(%Broker.Outgoing{}, %{expires: nil}, 1, 0)
      iex> {later, out} = Broker.Outgoing.put(out, %{expires: nil}, 1, 0)
      iex> {then, _out} = Broker.Outgoing.acknowledged(out, 1, 1, 0)
      iex> {now, later, then}
      {[{1, %{expires: nil}}], [], [{2, %{expires: nil}}]}
  """
  defpure put(%{waits: waits} = out, _message, _window, _now) when waits >= @most, do: {[], out}

  defpure put(out, message, window, now) do
    pump(%{out | waiting: :queue.in(message, out.waiting), waits: out.waits + 1}, window, now)
  end

  @doc "The client has a message. Returns the same."
  defpure acknowledged(out, number, window, now) do
    pump(%{out | sent: List.keydelete(out.sent, number, 0)}, window, now)
  end

  @doc "What is to be sent for the first time, as far as the window allows it."
  defpure pump(out, window, now) do
    {new, out} = take(out, window - length(out.sent), now, [])
    if new == [], do: {[], out}, else: {new, %{out | sent: out.sent ++ new}}
  end

  defpurep take(out, room, _now, new) when room <= 0 or out.waits == 0, do: {Enum.reverse(new), out}

  defpurep take(out, room, now, new) do
    {{:value, message}, waiting} = :queue.out(out.waiting)
    out = %{out | waiting: waiting, waits: out.waits - 1}

    if message.expires != nil and message.expires <= now do
      take(out, room, now, new)
    else
      number = free(out.last, out.sent)
      take(%{out | last: number}, room - 1, now, [{number, message} | new])
    end
  end

  # Numbers go round from 65,535 to 1.
  defpurep free(last, sent) do
    number = rem(last, 0xFFFF) + 1
    if List.keymember?(sent, number, 0), do: free(number, sent), else: number
  end
end
