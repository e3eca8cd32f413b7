defmodule SecureSocket.Reader do
  # Takes packets out of a stream of bytes: a circle of behaviours, each of which waits for one thing.
  #
  #     reader --read--> length --4 bytes--> data --its bytes--> hmac --32 bytes--> opening --opened--> reader
  #
  # What it has got so far is what the next behaviour has captured. It stands behind a gate, which gives it one request
  # `{customer, :read}` at a time; the answer is `{:ok, data}` or `{:error, why}`.
  #
  # Invariants:
  # 1. The n-th packet is opened as the n-th: one that is repeated, left out or out of order does not fit its HMAC.
  # 2. Nothing is opened, and no memory asked for, before the length is known to be allowed.
  # 3. Every request is answered, also one that it does not know. Behind a gate that is a duty.
  # 4. After the first failure there is only `broken`: nothing more is delivered.
  @moduledoc false
  use Mote.Behaviour

  @length 4
  @hmac 32

  # `link` is what never changes: {buffer, crypto, the function that opens packets, driver, the longest data allowed}.
  # `n` is the number of the next packet.
  defactor reader(link, n) do
    {customer, :read} when is_address(customer) ->
      send elem(link, 0), {self(), {:take, @length}}
      become length(link, n, customer)

    {customer, request} when is_address(customer) ->
      send customer, {:error, {:unknown, request}}

    {:broken, why} ->
      become broken(why)
  end

  defactor length(link, n, customer) do
    {:bytes, <<size::32>>} when size <= elem(link, 4) ->
      send elem(link, 0), {self(), {:take, size}}
      become data(link, n, customer, size)

    {:bytes, <<size::32>>} ->
      why = {:too_long, size, elem(link, 4)}
      send customer, {:error, why}
      send elem(link, 3), {:fail, why}
      become broken(why)

    # Between two packets: so the peer has ended well.
    {:failed, 0, why} ->
      send customer, {:error, why}
      send elem(link, 3), {:fail, why}
      become broken(why)

    {:failed, got, why} ->
      why = cut(why, :length, got, @length)
      send customer, {:error, why}
      send elem(link, 3), {:fail, why}
      become broken(why)

    {:broken, why} ->
      send customer, {:error, why}
      become broken(why)
  end

  defactor data(link, n, customer, size) do
    {:bytes, data} ->
      send elem(link, 0), {self(), {:take, @hmac}}
      become hmac(link, n, customer, data)

    {:failed, got, why} ->
      why = cut(why, :data, got, size)
      send customer, {:error, why}
      send elem(link, 3), {:fail, why}
      become broken(why)

    {:broken, why} ->
      send customer, {:error, why}
      become broken(why)
  end

  defactor hmac(link, n, customer, data) do
    {:bytes, hmac} ->
      {_buffer, crypto, open, _driver, _longest} = link
      send crypto, {self(), {:open, open, n, data, hmac}}
      become opening(link, n, customer)

    {:failed, got, why} ->
      why = cut(why, :hmac, got, @hmac)
      send customer, {:error, why}
      send elem(link, 3), {:fail, why}
      become broken(why)

    {:broken, why} ->
      send customer, {:error, why}
      become broken(why)
  end

  defactor opening(link, n, customer) do
    {:opened, data} ->
      send customer, {:ok, data}
      become reader(link, n + 1)

    :forged ->
      why = {:forged, n}
      send customer, {:error, why}
      send elem(link, 3), {:fail, why}
      become broken(why)

    {:broken, why} ->
      send customer, {:error, why}
      become broken(why)
  end

  defactor broken(why) do
    {customer, _request} when is_address(customer) -> send customer, {:error, why}
  end

  # Which part of a packet a stream has ended in, if it has ended.
  defpure cut(:closed, part, got, wanted), do: {:cut_off, part, got, wanted}
  defpure cut(why, _part, _got, _wanted), do: why
end
