defmodule Mote.Bench.Peers do
  # Nodes of this host that know each other without epmd: the first one listens at a port, and all others connect to it.
  @moduledoc false

  # Milliseconds in which a node does what it is asked.
  @patience 600_000

  @type t :: %{peer: pid, node: node, os_pid: String.t()}

  @doc "A port that is free."
  @spec port() :: :inet.port_number()
  def port do
    {:ok, socket} = :gen_tcp.listen(0, ip: {127, 0, 0, 1})
    {:ok, port} = :inet.port(socket)
    :ok = :gen_tcp.close(socket)
    port
  end

  @doc "Starts the node that listens, with Mote and a module that a script has compiled."
  @spec listen(String.t(), :inet.port_number(), {module, binary}, [String.t()]) :: t
  def listen(name, port, code, args), do: start(name, port, code, args)

  @doc "Starts another node, and connects it to the one that listens."
  @spec connect(String.t(), :inet.port_number(), {module, binary}, [String.t()], t) :: t
  def connect(name, port, code, args, to) do
    peer = start(name, port, code, ["-dist_listen", "false" | args])
    true = call(peer, Node, :connect, [to.node])
    peer
  end

  defp start(name, port, {module, binary}, args) do
    name = ["-name", "#{name}@127.0.0.1"]
    args = ["-setcookie", "mote", "-start_epmd", "false", "-erl_epmd_port", "#{port}" | name] ++ args
    paths = Enum.flat_map(:code.get_path(), &[~c"-pa", &1])

    {:ok, peer, node} =
      :peer.start(%{
        connection: :standard_io,
        args: Enum.map(args, &to_charlist/1) ++ paths,
        wait_boot: 60_000
      })

    peer = %{peer: peer, node: node, os_pid: nil}
    {:module, _} = call(peer, :code, :load_binary, [module, ~c"script", binary])
    {:ok, _} = call(peer, Application, :ensure_all_started, [:mote])
    %{peer | os_pid: call(peer, System, :pid, [])}
  end

  @doc "Calls a function there."
  @spec call(t, module, atom, list) :: term
  def call(%{peer: peer}, module, function, args), do: :peer.call(peer, module, function, args, @patience)

  @doc "Sends a signal of the system, such as `\"STOP\"`."
  @spec signal(t, String.t()) :: :ok
  def signal(%{os_pid: pid}, signal) do
    {_, 0} = System.cmd("kill", ["-#{signal}", pid])
    :ok
  end

  @spec stop(t) :: :ok
  def stop(%{peer: peer}), do: :peer.stop(peer)
end
