defmodule Broker.Stage do
  @moduledoc "A broker without a network, whose time passes when the test says so. The calling process is the owner of all sockets."

  import ExUnit.Callbacks, only: [start_supervised!: 1]

  alias Broker.{Packets, Reader, StandIn, Topic}

  defstruct [:machine, :root, :sessions]

  def start(opts \\ []) do
    machine = start_supervised!({Mote, clock: :manual, sponsors: [net: [threads: opts[:threads] || 1]]})
    root = Mote.create(machine, Topic.root())
    %__MODULE__{machine: machine, root: root, sessions: Mote.Directory.start(machine)}
  end

  @doc "A connection, whose client has sent nothing. `name` is what the test calls it."
  def socket(stage, name, version \\ 5) do
    env = %{root: stage.root, sessions: stage.sessions, limit: 10_000, patience: 10_000}
    socket = Mote.create(stage.machine, StandIn.socket(self(), name))
    Mote.send(Mote.create(stage.machine, Reader.door(env)), {:connected, socket})
    %{stage: stage, socket: socket, name: name, version: version}
  end

  @doc "A client that is connected. Returns it, and what the broker has answered."
  def client(stage, id, opts \\ []) do
    client = socket(stage, {id, make_ref()}, opts[:version] || 5)
    {client, say(client, Packets.connect(id, opts))}
  end

  @doc "Sends bytes or what else the socket is told, and returns what the broker has sent since."
  def say(client, bytes) when is_binary(bytes), do: say(client, {:feed, bytes})

  def say(client, event) do
    Mote.send(client.socket, event)
    heard(client)
  end

  @doc "What the broker has sent to a client, and what has become of its socket."
  def heard(client) do
    :ok = Mote.drain(client.stage.machine)
    {bytes, events} = flush(client.name, "", [])
    Packets.read(bytes, client.version) ++ Enum.reverse(events)
  end

  defp flush(name, bytes, events) do
    receive do
      {^name, event} when is_atom(event) -> flush(name, bytes, [event | events])
      {^name, more} -> flush(name, bytes <> more, events)
    after
      0 -> {bytes, events}
    end
  end

  @doc "Lets time pass."
  def advance(stage, milliseconds), do: :ok = Mote.advance(stage.machine, milliseconds)
end
