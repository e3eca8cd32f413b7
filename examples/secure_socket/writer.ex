defmodule SecureSocket.Writer do
  # Sends data as packets: has it sealed, hands the packet to the process that writes, waits until that is done. It
  # stands behind a gate, which gives it one request `{customer, {:write, data}}` at a time; the answer is `:ok` or
  # `{:error, why}`.
  #
  # Invariants:
  # 1. The n-th packet is sealed as the n-th, and packets leave in the order of their numbers: the next one is not begun
  #    before the system has taken the last one. So the writer is no faster than the peer reads.
  # 2. Every request is answered, also when the process that writes is gone: a watchdog answers for it.
  # 3. After the first failure there is only `broken`.
  @moduledoc false
  use Mote.Behaviour

  alias SecureSocket.Reader

  # `link` is what never changes: {crypto, the function that seals packets, the process that writes, driver, the longest
  # data allowed, milliseconds after which a peer counts as stuck, the sponsor of the writer}.
  defactor writer(link, n) do
    {customer, {:write, data}} when is_binary(data) and byte_size(data) <= elem(link, 4) ->
      send elem(link, 0), {self(), {:seal, elem(link, 1), n, data}}
      become sealing(link, n, customer)

    {customer, {:write, data}} when is_binary(data) ->
      send customer, {:error, {:too_long, byte_size(data), elem(link, 4)}}

    {customer, request} when is_address(customer) ->
      send customer, {:error, {:unknown, request}}

    {:broken, why} ->
      become Reader.broken(why, elem(link, 6))
  end

  defactor sealing(link, n, customer) do
    {:sealed, packet} ->
      {_crypto, _seal, out, _driver, _longest, idle, _sponsor} = link
      send out, {self(), {:write, packet}}
      watchdog = send_after(idle, self(), {:stuck, n})
      become writing(link, n, customer, watchdog)

    {:broken, why} ->
      send customer, {:error, why}
      become Reader.broken(why, elem(link, 6))
  end

  defactor writing(link, n, customer, watchdog) do
    :written ->
      cancel_timer(watchdog)
      send customer, :ok
      become writer(link, n + 1)

    {:unwritten, why} ->
      cancel_timer(watchdog)
      send customer, {:error, why}
      send elem(link, 3), {:fail, why}
      become Reader.broken(why, elem(link, 6))

    # One that was cancelled too late is of an earlier packet, and means nothing.
    {:stuck, late} when late == n ->
      why = {:stuck, elem(link, 5)}
      send customer, {:error, why}
      send elem(link, 3), {:fail, why}
      become Reader.broken(why, elem(link, 6))

    {:broken, why} ->
      cancel_timer(watchdog)
      send customer, {:error, why}
      become Reader.broken(why, elem(link, 6))
  end
end
