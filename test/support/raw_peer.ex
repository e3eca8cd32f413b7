defmodule SecureSocket.RawPeer do
  # A peer that is plain :gen_tcp: says hello as the protocol wants it, then sends and takes whatever bytes a test likes.
  @moduledoc false

  alias SecureSocket.Keys

  @enforce_keys [:socket, :seal, :open]
  defstruct [:socket, :seal, :open]

  @type t :: %__MODULE__{}

  @doc "Connects to a listener as a client does."
  @spec connect(:gen_tcp.socket(), binary) :: t
  def connect(listener, secret) do
    socket = connect(listener)
    mine = Keys.hello()
    :ok = :gen_tcp.send(socket, mine)
    {:ok, theirs} = :gen_tcp.recv(socket, Keys.hello_size(), 5_000)
    {seal, open} = Keys.session(secret, :client, mine, theirs)
    %__MODULE__{socket: socket, seal: seal, open: open}
  end

  @doc "Connects and says nothing."
  @spec connect(:gen_tcp.socket()) :: :gen_tcp.socket()
  def connect(listener) do
    {:ok, port} = :inet.port(listener)
    {:ok, socket} = :gen_tcp.connect({127, 0, 0, 1}, port, [:binary, active: false, nodelay: true])
    socket
  end

  @doc "Sends bytes as they are."
  @spec send(t, iodata) :: :ok | {:error, term}
  def send(%{socket: socket}, bytes), do: :gen_tcp.send(socket, bytes)

  @doc "The data of packet n, as it comes from the other side."
  @spec receive(t, non_neg_integer) :: {:opened, binary} | :forged
  def receive(%{socket: socket, open: open}, n) do
    {:ok, <<size::32>>} = :gen_tcp.recv(socket, 4, 5_000)
    {:ok, data} = if size == 0, do: {:ok, ""}, else: :gen_tcp.recv(socket, size, 5_000)
    {:ok, hmac} = :gen_tcp.recv(socket, 32, 5_000)
    open.(n, data, hmac)
  end
end
