defmodule Mote.CopyRig do
  @moduledoc """
  A durable machine on one of two nodes, with a copy on the other one: what runs on these nodes (`Mote.TwoNodes`).
  """

  alias Mote.{Durable, Ledger}

  @doc "A machine with a copy, and clients that count and tell `heard` what they were told. Returns the process that copies."
  @spec serve(String.t(), pos_integer, keyword, pid) :: pid
  def serve(dir, clients, opts, heard) do
    me = self()
    acknowledged = :counters.new(1, [])
    :persistent_term.put(__MODULE__, acknowledged)

    # Of its own, since the machine ends with whoever has started it.
    spawn(fn ->
      {:ok, machine, ledger} = Ledger.start(dir, image_every: 50_000)
      {:ok, copy} = Durable.copy(machine, opts)
      following(copy)
      for client <- 1..clients, do: spawn(fn -> count(ledger, client, 1, {acknowledged, heard}) end)
      send(me, {self(), copy})
      Process.sleep(:infinity)
    end)

    receive do
      {_server, copy} when is_pid(copy) -> copy
    end
  end

  defp following(copy) do
    unless Durable.copied(copy).state == :following, do: following(copy)
  end

  defp count(ledger, client, n, {acknowledged, heard} = told) do
    if rem(client, 2) == 0,
      do: :ok = Mote.send(ledger, {:add, client, n}),
      else: {^n, _, _, _} = Mote.ask!(ledger, {:add, client, n}, :infinity)

    :counters.add(acknowledged, 1, 1)
    send(heard, {client, n})
    count(ledger, client, n + 1, told)
  end

  @doc "How much was acknowledged on this node."
  @spec acknowledged() :: non_neg_integer
  def acknowledged, do: :counters.get(:persistent_term.get(__MODULE__), 1)

  @doc "How far each client is in the machine that takes over a folder of this node."
  @spec taken_over(String.t()) :: map
  def taken_over(dir) do
    {:ok, machine, ledger} = Ledger.start(dir, take_over: true)
    {seen, _, _, _} = Mote.ask!(ledger, :all, 30_000)
    Mote.stop(machine)
    seen
  end

  @doc "Parts this node from another one, until `rejoin/1`."
  @spec part(node) :: boolean
  def part(node) do
    true = :erlang.set_cookie(node, :another)
    :erlang.disconnect_node(node)
  end

  @spec rejoin(node) :: boolean
  def rejoin(node), do: :erlang.set_cookie(node, :erlang.get_cookie())
end
