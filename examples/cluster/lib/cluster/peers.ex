defmodule Cluster.Peers do
  @moduledoc """
  Nodes on this computer that run the application, for as long as somebody wants to watch them. They listen on the loopback only.
  """

  alias Cluster.Ports

  # Milliseconds: a computer that is busy starts a node slowly.
  @patience 60_000

  @typedoc "The process that the node is led by, and its name."
  @type t :: {pid, node}

  @doc "Starts a node, which is connected to nobody."
  @spec start(String.t()) :: t
  def start(name) do
    options = ~w(-name #{name}_#{free_port()}@127.0.0.1 -setcookie cluster) ++ ports() ++ kernel()
    paths = Enum.flat_map(:code.get_path(), &[~c"-pa", &1])

    {:ok, peer, node} =
      :peer.start(%{
        connection: :standard_io,
        args: Enum.map(options, &to_charlist/1) ++ paths,
        wait_boot: @patience
      })

    {peer, node}
  end

  defp ports, do: ~w(-start_epmd false -epmd_module #{Ports})

  # Where a node has lost another one in order, `global` would take that for a broken net, and end further connections.
  defp kernel do
    ~w(-kernel inet_dist_use_interface {127,0,0,1} prevent_overlapping_partitions false)
  end

  defp free_port do
    {:ok, socket} = :gen_tcp.listen(0, ip: {127, 0, 0, 1})
    {:ok, port} = :inet.port(socket)
    :ok = :gen_tcp.close(socket)
    port
  end

  @doc "Starts the application, once the node knows those of one that takes part already."
  @spec join(t, t | nil) :: :ok
  def join(peer, other \\ nil) do
    with {_, node} <- other, do: true = call(peer, Node, :connect, [node])
    {:ok, _} = call(peer, Application, :ensure_all_started, [:cluster])
    :ok
  end

  @doc "Calls a function there."
  @spec call(t, module, atom, [term]) :: term
  def call({peer, _node}, module, function, args \\ []),
    do: :peer.call(peer, module, function, args, @patience)

  @doc "Ends a node in order, as `System.stop/0` and a supervisor of the system do."
  @spec stop(t) :: :ok
  def stop(peer), do: ended(peer, fn -> :ok = call(peer, System, :stop) end)

  @doc "Ends a node as a power failure does."
  @spec kill(t) :: :ok
  def kill(peer) do
    ended(peer, fn -> {_, 0} = System.cmd("kill", ["-9", call(peer, System, :pid)]) end)
  end

  defp ended({pid, _}, how) do
    monitor = Process.monitor(pid)
    how.()

    receive do
      {:DOWN, ^monitor, _, _, _} -> :ok
    end
  end

  @doc "Ends those that still run."
  @spec abandon([t]) :: :ok
  def abandon(peers) do
    for {pid, _} <- peers, Process.alive?(pid), do: :peer.stop(pid)
    :ok
  end
end
