defmodule Mote.Dashboard.Server do
  # The process of a dashboard: it listens, and keeps the processes that serve.
  #
  # The server is Mote's own, for a page that asks for JSON once a second. The `httpd` of OTP would serve that as well,
  # but can tell clients apart only when a request is there. So a client that opens as many connections as it allows, and
  # says nothing, keeps the owner out. Bandit and Plug would be dependencies of everybody.
  #
  # 1. It ends with the process that started it, and everything that belongs to it ends with it.
  # 2. Each connection has a process of its own, so a failure in one does not affect the others.
  # 3. There are at most `@guests` connections that have not shown the token yet, and `@owners` that have. When one more comes, the
  #    oldest of them goes. So nobody keeps the owner out, who shows the token with the first line that is sent.
  @moduledoc false

  use GenServer

  alias Mote.Dashboard.{Connection, Router}
  alias Mote.Error

  @guests 32
  # A browser opens up to six for each tab.
  @owners 64

  @spec start_link(map) :: GenServer.on_start()
  def start_link(%{name: name} = options) do
    GenServer.start_link(__MODULE__, options, if(name, do: [name: name], else: []))
  end

  @spec url(GenServer.server()) :: String.t()
  def url(server), do: GenServer.call(server, :url)

  @impl GenServer
  def init(%{machine: machine, ip: ip, port: port, token: token}) do
    Process.flag(:trap_exit, true)

    case :gen_tcp.listen(port, Connection.options(ip)) do
      {:ok, listening} ->
        {:ok, {_, port}} = :inet.sockname(listening)
        context = machine |> Router.context() |> Map.put(:token, token)
        connections = %{guest: [], owner: [], leaving: []}
        state = %{listening: listening, context: context, ip: ip, port: port, serving: MapSet.new()}
        {:ok, state |> Map.merge(connections) |> serve()}

      {:error, reason} ->
        text = :inet.format_error(reason)
        {:stop, Error.new(:start, "the dashboard cannot listen on #{:inet.ntoa(ip)}, port #{port}: #{text}")}
    end
  end

  # The process that takes connections.
  defp serve(state) do
    server = self()
    pid = :proc_lib.spawn_link(fn -> accept(state.listening, server) end)
    %{state | serving: MapSet.put(state.serving, pid)}
  end

  defp accept(listening, server) do
    case :gen_tcp.accept(listening) do
      {:ok, socket} ->
        connection = GenServer.call(server, :connection, :infinity)

        case :gen_tcp.controlling_process(socket, connection) do
          :ok -> send(connection, {:serve, socket})
          # The client has gone.
          {:error, _} -> :gen_tcp.close(socket)
        end

        accept(listening, server)

      # The client has gone, or the node has too many files open: another one may be served.
      {:error, reason} when reason in [:econnaborted, :emfile, :enfile, :system_limit] ->
        Process.sleep(100)
        accept(listening, server)

      {:error, reason} ->
        exit({:shutdown, reason})
    end
  end

  # The newest first. When there are too many, the oldest one ends, and its socket with it.
  defp enter(state, kind, pid, most) do
    {stay, leave} = Enum.split([pid | state[kind]], most)
    for pid <- leave, do: Process.exit(pid, :shutdown)
    Map.merge(state, %{kind => stay, leaving: leave ++ state.leaving})
  end

  defp left(state, pid),
    do:
      Enum.reduce(
        [:guest, :owner, :leaving],
        state,
        &Map.update!(&2, &1, fn all -> List.delete(all, pid) end)
      )

  defp connection?(state, pid), do: Enum.any?([:guest, :owner, :leaving], &(pid in state[&1]))

  @impl GenServer
  def handle_call(:url, _from, state) do
    {:reply, "http://#{host(state.ip)}:#{state.port}/#{state.context.token}/", state}
  end

  def handle_call(:connection, _from, state) do
    server = self()
    pid = Connection.start_link(state.context, fn -> GenServer.cast(server, {:admitted, self()}) end)
    {:reply, pid, enter(state, :guest, pid, @guests)}
  end

  @impl GenServer
  def handle_cast({:admitted, pid}, state) do
    if pid in state.guest,
      do: {:noreply, state |> left(pid) |> enter(:owner, pid, @owners)},
      else: {:noreply, state}
  end

  @impl GenServer
  def handle_info({:EXIT, listening, _reason}, %{listening: listening} = state),
    do: {:stop, {:shutdown, :closed}, state}

  def handle_info({:EXIT, pid, reason}, state) do
    cond do
      connection?(state, pid) -> {:noreply, left(state, pid)}
      pid in state.serving -> {:noreply, serve(%{state | serving: MapSet.delete(state.serving, pid)})}
      true -> {:stop, reason, state}
    end
  end

  use Mote.Internal.Stray

  @impl GenServer
  def terminate(_reason, state) do
    # A normal end of this process would be no end of theirs.
    connections = state.guest ++ state.owner ++ MapSet.to_list(state.serving)

    for pid <- [state.context.references, state.context.tracing | connections],
        do: Process.exit(pid, :shutdown)

    :ok
  end

  # Every address of this computer: one of them.
  defp host({0, 0, 0, 0}), do: "localhost"
  defp host({0, 0, 0, 0, 0, 0, 0, 0}), do: "localhost"
  defp host(ip) when tuple_size(ip) == 8, do: "[#{:inet.ntoa(ip)}]"
  defp host(ip), do: :inet.ntoa(ip)

  defp who(_state), do: "the dashboard #{inspect(self())}"
end
