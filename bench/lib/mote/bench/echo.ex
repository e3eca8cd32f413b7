defmodule Mote.Bench.Echo do
  # Two echo servers on loopback, for a node of their own: sockets of a machine, with one I/O thread, and a process for each
  # connection with a `gen_tcp` socket that is `active: :once`.
  @moduledoc false

  defmodule Actors do
    use Mote.Behaviour

    defactor start() do
      {:connected, socket} ->
        send(socket, {self(), {:read, :some}})
        become(echo(socket))
    end

    defactor echo(socket) do
      {:ok, data} ->
        send(socket, {nil, {:write, data}})
        send(socket, {self(), {:read, :some}})

      {:error, _reason} ->
        become(sink())
    end
  end

  @type server :: :mote | :gen_tcp

  @doc "Starts a server, which lives as long as the node or the process that `stop/1` gets. Returns its port, and that."
  @spec start(server) :: {:inet.port_number(), pid}
  def start(server) do
    caller = self()

    # Of its own, because the caller ends with its call.
    {keeper, monitor} =
      spawn_monitor(fn ->
        {port, state} = open(server)
        send(caller, {self(), port})
        keep(state)
      end)

    receive do
      {^keeper, port} ->
        Process.demonitor(monitor, [:flush])
        {port, keeper}

      {:DOWN, ^monitor, :process, _, reason} ->
        exit(reason)
    end
  end

  @doc "Collects whatever is garbage in the node."
  @spec collect(pid) :: :ok
  def collect(keeper) do
    for pid <- Process.list(), do: :erlang.garbage_collect(pid)
    ask(keeper, :collect)
  end

  @doc "Bytes of live actors and records of sockets, as the machine counts them; 0 without one."
  @spec counted(pid) :: non_neg_integer
  def counted(keeper), do: ask(keeper, :counted)

  defp ask(keeper, what) do
    monitor = Process.monitor(keeper)
    send(keeper, {self(), what})

    receive do
      {^keeper, answer} -> Process.demonitor(monitor, [:flush]) && answer
      {:DOWN, ^monitor, :process, _, reason} -> exit(reason)
    end
  end

  defp keep(state) do
    receive do
      {from, what} ->
        send(from, {self(), answer(what, state)})
        keep(state)
    end
  end

  defp answer(:collect, {:mote, machine, _listener}), do: Mote.gc(machine)
  defp answer(:collect, _listener), do: :ok

  defp answer(:counted, {:mote, machine, _listener}) do
    memory = Mote.info(machine).memory
    memory.live + memory.charged - memory.heap - memory.queues
  end

  defp answer(:counted, _listener), do: 0

  defp open(:mote) do
    {:ok, machine} = Mote.start_link(sponsors: [main: [threads: 1], net: [threads: 1, io: true]])
    {:ok, listener} = Mote.Net.listen(machine, accept: Actors.start())
    {:ok, %{local: {_, port}}} = Mote.Net.info(listener)
    # Whoever has the address of a listener keeps it open.
    {port, {:mote, machine, listener}}
  end

  defp open(:gen_tcp) do
    options = [:binary, active: false, nodelay: true, backlog: 1_024, ip: {127, 0, 0, 1}]
    {:ok, listener} = :gen_tcp.listen(0, options)
    {:ok, port} = :inet.port(listener)
    spawn_link(fn -> accept(listener) end)
    {port, listener}
  end

  defp accept(listener) do
    {:ok, socket} = :gen_tcp.accept(listener)
    pid = spawn(fn -> receive do: (:yours -> serve(socket)) end)
    :ok = :gen_tcp.controlling_process(socket, pid)
    send(pid, :yours)
    accept(listener)
  end

  defp serve(socket) do
    with :ok <- :inet.setopts(socket, active: :once) do
      receive do
        {:tcp, ^socket, data} ->
          :gen_tcp.send(socket, data)
          serve(socket)

        {:tcp_closed, ^socket} ->
          :ok

        {:tcp_error, ^socket, _reason} ->
          :gen_tcp.close(socket)
      end
    end
  end
end
