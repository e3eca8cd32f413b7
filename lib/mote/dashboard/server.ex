defmodule Mote.Dashboard.Server do
  # The process of a dashboard: it listens, and keeps the processes that serve.
  #
  # 1. It ends with the process that started it, and everything that belongs to it ends with it.
  # 2. A serving process that ends is replaced, so a failure in one request does not affect the others.
  @moduledoc false

  use GenServer

  alias Mote.Dashboard.{Connection, Router}
  alias Mote.Error

  # How many connections are served at once. A browser opens up to six for each tab; others wait.
  @connections 32

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
        state = %{listening: listening, context: context, ip: ip, port: port, serving: MapSet.new()}
        {:ok, Enum.reduce(1..@connections, state, fn _, state -> serve(state) end)}

      {:error, reason} ->
        text = :inet.format_error(reason)
        {:stop, Error.new(:start, "the dashboard cannot listen on #{:inet.ntoa(ip)}, port #{port}: #{text}")}
    end
  end

  defp serve(state) do
    pid = :proc_lib.spawn_link(Connection, :accept, [state.listening, state.context])
    %{state | serving: MapSet.put(state.serving, pid)}
  end

  @impl GenServer
  def handle_call(:url, _from, state) do
    {:reply, "http://#{host(state.ip)}:#{state.port}/#{state.context.token}/", state}
  end

  @impl GenServer
  def handle_info({:EXIT, listening, _reason}, %{listening: listening} = state),
    do: {:stop, {:shutdown, :closed}, state}

  def handle_info({:EXIT, pid, reason}, state) do
    if pid in state.serving,
      do: {:noreply, serve(%{state | serving: MapSet.delete(state.serving, pid)})},
      else: {:stop, reason, state}
  end

  use Mote.Internal.Stray

  @impl GenServer
  def terminate(_reason, state) do
    # A normal end of this process would be no end of theirs.
    for pid <- [state.context.references, state.context.tracing | MapSet.to_list(state.serving)],
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
