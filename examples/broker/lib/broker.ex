defmodule Broker do
  @moduledoc """
  An MQTT broker of tiny actors: versions 3.1.1 and 5, QoS 0 and 1.

      {:ok, broker} = Broker.start_link(port: 1883)
      Broker.port(broker)
      #=> 1883

  It is a process, which holds a machine and listens. `Broker.start_link/1` says which options there are.
  """
  use GenServer

  alias Broker.{Reader, Topic}

  @defaults [port: 1883, ip: {127, 0, 0, 1}, threads: 1, max_packet: 262_144, patience: 10_000]

  @doc """
  Starts a broker, linked to the calling process. Options, with their defaults:

    * `:port` (1883; 0 is any that is free) and `:ip` (`{127, 0, 0, 1}`), where it listens;
    * `:threads` (1), which have the sockets and the actors;
    * `:max_packet` (262,144), the bytes of the largest packet that clients may send;
    * `:patience` (10,000), the milliseconds that a client may take for its CONNECT.

  Returns `{:error, reason}` if the port is in use or the like.
  """
  @spec start_link(keyword) :: GenServer.on_start()
  def start_link(opts \\ []), do: GenServer.start_link(__MODULE__, Keyword.validate!(opts, @defaults))

  @doc "Returns the port that it listens on."
  @spec port(pid) :: :inet.port_number()
  def port(broker), do: GenServer.call(broker, :port)

  @doc "Returns its machine, to look at."
  @spec machine(pid) :: pid
  def machine(broker), do: GenServer.call(broker, :machine)

  @impl GenServer
  def init(opts) do
    {:ok, machine} = Mote.start_link(sponsors: [net: [threads: opts[:threads], io: true]])
    root = Mote.create(machine, Topic.root())
    sessions = Mote.Directory.start(machine)
    env = %{root: root, sessions: sessions, limit: opts[:max_packet], patience: opts[:patience]}

    case Mote.Net.listen(machine, port: opts[:port], ip: opts[:ip], accept: Reader.door(env)) do
      {:ok, listener} -> {:ok, %{machine: machine, listener: listener}}
      {:error, reason} -> {:stop, reason}
    end
  end

  @impl GenServer
  def handle_call(:port, _from, state) do
    {:ok, %{local: {_ip, port}}} = Mote.Net.info(state.listener)
    {:reply, port, state}
  end

  def handle_call(:machine, _from, state), do: {:reply, state.machine, state}

  # Where it is not stopped in order, the machine ends since it is linked.
  @impl GenServer
  def terminate(_reason, state), do: Mote.stop(state.machine)
end
