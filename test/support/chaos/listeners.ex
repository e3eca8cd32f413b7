defmodule Mote.Chaos.Listeners do
  @moduledoc """
  Processes that actors send to: ears, which take tokens off the list, and receivers, which look at the order of numbers.
  """

  alias Mote.Chaos.{Findings, Pool}

  @doc "A process that takes what comes: tokens are gone, numbers of one actor come one after the other."
  def start(heap) do
    spawn(fn ->
      Process.flag(:message_queue_data, heap)
      listen(%{})
    end)
  end

  @doc "Waits until a listener has seen all that is in its mailbox now."
  def seen(pid) do
    ref = Process.monitor(pid)
    send(pid, {:seen, self(), ref})

    receive do
      {:seen, ^ref} -> Process.demonitor(ref, [:flush])
      {:DOWN, ^ref, _, _, _} -> :ok
    end
  end

  defp listen(last) do
    receive do
      {:token, lane, n} ->
        token(lane, n)
        listen(last)

      {:numbered, id, n} ->
        listen(number(last, id, n))

      {:seen, from, ref} ->
        send(from, {:seen, ref})
        listen(last)

      :end ->
        :ok

      _ ->
        listen(last)
    end
  end

  defp token(lane, n) do
    unless Pool.gone(lane, n) or excused?(lane, n),
      do: Findings.found(:token_twice, %{token: {lane, n}, seen: "it came, and was not on its way any more"})
  end

  # Its machine has ended meanwhile; what it has sent may still come.
  defp excused?(_lane, _n), do: Pool.get(:machine_ended) == true

  @doc "Checks that `n` is the number after the last one of `id`; gives the numbers of all."
  def number(last, id, n) do
    expected = Map.get(last, id, -1) + 1

    unless n == expected do
      {_, waiting} = Process.info(self(), :message_queue_len)

      Findings.found(:order, %{
        seen: "messages of one actor to one process came out of order, or one was lost",
        actor: id,
        expected: expected,
        came: n,
        waiting: waiting
      })
    end

    Map.put(last, id, n)
  end
end
