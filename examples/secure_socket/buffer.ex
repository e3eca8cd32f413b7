defmodule SecureSocket.Buffer do
  # The buffer manager: bytes arrive in pieces of any size, and are asked for in pieces of exact size. It knows nothing
  # of packets.
  #
  # Invariants:
  # 1. Bytes leave in the order in which they came, each once: those that came and were not asked for are `rest`.
  # 2. One customer at a time. Its request is answered once: `{:bytes, binary}` of exactly the size that it asked for,
  #    or `{:failed, got, why}`.
  # 3. The driver owes one message exactly while the buffer is filling: it was asked for more, and nothing came since.
  #    So a peer that is faster than the reader waits in TCP, and at most one piece of it is here. It also makes order
  #    a matter of the protocol: nobody has two messages under way to here.
  # 4. A watchdog is armed exactly while the driver owes something.
  @moduledoc false
  use Mote.Behaviour

  # `line` is {driver, milliseconds after which a peer counts as silent}; `round` counts how often more was asked for.
  defactor buffer(line, rest, round) do
    {customer, {:take, n}} when byte_size(rest) >= n ->
      <<bytes::binary-size(n), rest::binary>> = rest
      send customer, {:bytes, bytes}
      become rest: rest

    {customer, {:take, n}} ->
      become filling(line, [rest], byte_size(rest), {customer, n}, round, more(line, round))

    {:ended, why} ->
      become ended(rest, why)
  end

  # What came since the request, the newest first, and how many bytes that are; fewer than are wanted.
  defactor filling(line, parts, size, wanted, round, watchdog) do
    {:data, bytes} ->
      cancel_timer(watchdog)
      {customer, n} = wanted
      missing = n - size

      case bytes do
        <<last::binary-size(missing), rest::binary>> ->
          send customer, {:bytes, join([last | parts])}
          become buffer(line, rest, round + 1)

        _too_few ->
          become parts: [bytes | parts],
                 size: size + byte_size(bytes),
                 round: round + 1,
                 watchdog: more(line, round + 1)
      end

    {:ended, why} ->
      cancel_timer(watchdog)
      {customer, _n} = wanted
      send customer, {:failed, size, why}
      become sink()

    # One that was cancelled too late is of an earlier round, and means nothing.
    {:silent, late} when late == round ->
      {_driver, idle} = line
      {customer, _n} = wanted
      send customer, {:failed, size, {:silent, idle}}
      become sink()
  end

  # Asks the driver for more; returns the watchdog.
  defeffect more({driver, idle}, round) do
    send driver, {self(), :more}
    send_after(idle, self(), {:silent, round})
  end

  # The stream has ended before anybody wanted more of it: what has come is still there.
  defactor ended(rest, why) do
    {customer, {:take, n}} when byte_size(rest) >= n ->
      <<bytes::binary-size(n), rest::binary>> = rest
      send customer, {:bytes, bytes}
      become ended(rest, why)

    {customer, {:take, _n}} ->
      send customer, {:failed, byte_size(rest), why}
      become sink()
  end

  # The parts in the order in which they came, as one binary. Neighbours are joined in pairs, so that each byte is copied
  # as often as the number of parts can be halved, and not once for each part.
  defpure join([bytes]), do: bytes
  defpure join(parts), do: parts |> pairs([]) |> join_forth()

  defpure join_forth([bytes]), do: bytes
  defpure join_forth(parts), do: parts |> pairs_forth([]) |> join()

  # The newest first; gives the oldest first. And back.
  defpure pairs([late, early | parts], joined), do: pairs(parts, [early <> late | joined])
  defpure pairs([early], joined), do: [early | joined]
  defpure pairs([], joined), do: joined

  defpure pairs_forth([early, late | parts], joined), do: pairs_forth(parts, [early <> late | joined])
  defpure pairs_forth([late], joined), do: [late | joined]
  defpure pairs_forth([], joined), do: joined
end
