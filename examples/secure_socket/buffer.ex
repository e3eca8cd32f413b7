defmodule SecureSocket.Buffer do
  # Bytes arrive in pieces of any size, and are asked for in pieces of exact size. These are functions of whoever reads, whose
  # turn waits; they know nothing of packets.
  #
  # Invariants:
  # 1. Bytes leave in the order in which they came, each once: those that came and were not asked for are `rest`.
  # 2. More is taken from TCP only when bytes are missing. So a peer that is faster than the reader waits in TCP, and at most
  #    one piece of it is here.
  # 3. Every piece gives the peer the whole time again.
  @moduledoc false

  @typedoc "How to get the next piece, as by `:gen_tcp.recv/3`, and milliseconds after which a peer counts as silent."
  @type line :: {(timeout -> {:ok, binary} | {:error, atom}), pos_integer}

  @doc "So many bytes, and what is left; or how many have come, and why no more do."
  @spec take(line, binary, non_neg_integer) ::
          {:ok, binary, rest :: binary} | {:failed, got :: non_neg_integer, SecureSocket.Reason.t()}
  def take(_line, rest, n) when byte_size(rest) >= n do
    {bytes, rest} = split(rest, n)
    {:ok, bytes, rest}
  end

  def take(line, rest, n), do: fill(line, [rest], n - byte_size(rest), n)

  # What came so far, and how much is missing.
  defp fill({recv, idle} = line, parts, missing, n) do
    case recv.(idle) do
      {:ok, bytes} when byte_size(bytes) >= missing ->
        {last, rest} = split(bytes, missing)
        {:ok, IO.iodata_to_binary([parts | last]), rest}

      {:ok, bytes} ->
        fill(line, [parts | bytes], missing - byte_size(bytes), n)

      {:error, why} ->
        {:failed, n - missing, reason(why, idle)}
    end
  end

  defp split(bytes, n), do: {binary_part(bytes, 0, n), binary_part(bytes, n, byte_size(bytes) - n)}

  # `:einval`: a socket whose port ended between two steps of `:gen_tcp.recv/3`, as when the process that owns it is killed.
  defp reason(why, _idle) when why in [:closed, :einval], do: :closed
  defp reason(:timeout, idle), do: {:silent, idle}
  defp reason(posix, _idle), do: {:tcp, posix}
end
