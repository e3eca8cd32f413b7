defmodule SecureSocket.Reader do
  # Takes packets out of a stream of bytes, in a beam sponsor: its turn waits for the bytes of a whole packet, and opens it. The
  # next request waits for the end of the turn, as every message of an actor does, so that no gate is needed.
  #
  # It answers `{customer, :read}` with `{:ok, data}` or `{:error, why}`.
  #
  # Invariants:
  # 1. The n-th packet is opened as the n-th: one that is repeated, left out or out of order does not fit its HMAC. Also after a
  #    turn that was killed in the middle, whose bytes are gone: the next packet does not fit its number then.
  # 2. Nothing is opened, and no memory asked for, before the length is known to be allowed.
  # 3. Every request is answered, also one that it does not know.
  # 4. The first reason counts. That its socket is closed is all that a turn sees of an end on this side, so a failure is told
  #    to the driver, and the answer is the reason that comes back. After that there is only `broken`.
  # 5. Answers are sent by the native sponsor. Otherwise whoever asks would come along into the beam sponsor, and need one of
  #    its places, which may all be taken by turns that wait for their peers.
  @moduledoc false
  use Mote.Behaviour

  alias SecureSocket.Buffer

  @length 4
  @hmac 32

  # `link` is what never changes: {line of a buffer, the function that opens packets, driver, the longest data allowed, the
  # native sponsor}. `rest` is what has come of later packets, `n` the number of the next one.
  defactor reader(link, rest, n), beam: true do
    {:broken, why} ->
      become broken(why, elem(link, 4))

    {customer, :read} ->
      {{_recv, idle}, _open, driver, _longest, sponsor} = link

      case packet(link, rest, n) do
        {:ok, data, rest} ->
          sendx sponsor, customer, {:ok, data}
          become rest: rest, n: n + 1

        {:error, why} ->
          send driver, {:fail, why}
          become failing(customer, send_after(idle, self(), {:broken, why}), sponsor)
      end

    {customer, request} ->
      sendx elem(link, 4), customer, {:error, {:unknown, request}}
  end

  # Waits for the driver to say why. If it has been killed it never does: then a watchdog says what the reader has seen.
  defactor failing(customer, watchdog, sponsor) do
    {:broken, why} ->
      cancel_timer(watchdog)
      sendx sponsor, customer, {:error, why}
      become broken(why, sponsor)

    {other, _request} when is_address(other) ->
      stash()
  end

  # The end, of a writer too: it has forgotten the connection and can only say why.
  defactor broken(why, sponsor) do
    {customer, _request} when is_address(customer) -> sendx sponsor, customer, {:error, why}
  end

  defp packet({line, open, _driver, longest, _sponsor}, rest, n) do
    with {:ok, <<size::32>>, rest} <- part(:length, line, rest, @length),
         :ok <- allowed(size, longest),
         {:ok, data, rest} <- part(:data, line, rest, size),
         {:ok, hmac, rest} <- part(:hmac, line, rest, @hmac) do
      case open.(n, data, hmac) do
        {:opened, data} -> {:ok, data, rest}
        :forged -> {:error, {:forged, n}}
      end
    end
  end

  defp allowed(size, longest) when size <= longest, do: :ok
  defp allowed(size, longest), do: {:error, {:too_long, size, longest}}

  defp part(part, line, rest, size) do
    with {:failed, got, why} <- Buffer.take(line, rest, size), do: {:error, cut(why, part, got, size)}
  end

  # Which part of a packet a stream has ended in, if it has ended. Between two packets the peer has ended well.
  defp cut(:closed, :length, 0, _wanted), do: :closed
  defp cut(:closed, part, got, wanted), do: {:cut_off, part, got, wanted}
  defp cut(why, _part, _got, _wanted), do: why
end
