defmodule SecureSocket.BlockingReader do
  # The reader once more, in a beam sponsor: its turn waits for the bytes of a whole packet. So there is no circle of behaviours,
  # no buffer, no process for the cryptography, and no gate either: the next request comes when the turn is over.
  #
  # It answers `{customer, :read}` with `{:ok, data}` or `{:error, why}`. A peer that sends nothing costs one of the sponsor's
  # `:max_concurrency`: where there are more connections than that, the other reader is the right one.
  #
  # Invariants:
  # 1. The n-th packet is opened as the n-th. Also after a turn that was killed in the middle, whose bytes are gone: the next
  #    packet does not fit its number then, and is refused.
  # 2. No memory is asked for before the length is known to be allowed.
  # 3. After the first failure it is `SecureSocket.Reader.broken/1`.
  @moduledoc false
  use Mote.Behaviour

  alias SecureSocket.Reader

  @length 4
  @hmac 32

  # `link` is {socket, the function that opens packets, the longest data allowed, milliseconds that a part may take}: of a
  # passive socket, and fewer than the `:timeout` of the sponsor. `n` is the number of the next packet.
  defactor reader(link, n), beam: true do
    {customer, :read} ->
      case packet(link, n) do
        {:ok, data} ->
          send customer, {:ok, data}
          become n: n + 1

        {:error, why} ->
          send customer, {:error, why}
          become Reader.broken(why)
      end

    {customer, request} ->
      send customer, {:error, {:unknown, request}}
  end

  defp packet({socket, open, longest, idle}, n) do
    with {:ok, <<size::32>>} <- take(socket, :length, @length, idle),
         :ok <- allowed(size, longest),
         {:ok, data} <- take(socket, :data, size, idle),
         {:ok, hmac} <- take(socket, :hmac, @hmac, idle) do
      case open.(n, data, hmac) do
        {:opened, data} -> {:ok, data}
        :forged -> {:error, {:forged, n}}
      end
    end
  end

  defp allowed(size, longest) when size <= longest, do: :ok
  defp allowed(size, longest), do: {:error, {:too_long, size, longest}}

  # Of no bytes `recv` would take what there is.
  defp take(_socket, _part, 0, _idle), do: {:ok, ""}

  defp take(socket, part, size, idle) do
    case {:gen_tcp.recv(socket, size, idle), part} do
      {{:ok, bytes}, _} -> {:ok, bytes}
      {{:error, :closed}, :length} -> {:error, :closed}
      # How many have come is known to the socket only.
      {{:error, :closed}, part} -> {:error, {:cut_off, part, :some, size}}
      {{:error, :timeout}, _} -> {:error, {:silent, idle}}
      {{:error, posix}, _} -> {:error, {:tcp, posix}}
    end
  end
end
