defmodule Mote.Reload do
  @moduledoc """
  Loads modules that were compiled again into running machines, while a program is developed.

  It runs in `iex -S mix` and in every other program that Mix runs in its `:dev` environment, so also where Phoenix's
  reloader runs. Then `recompile/0`, `r/1`, a module typed into IEx, and a page that is loaded again are enough:
  machines that have the module get its new version as by `Mote.load/2`, within half a second, and a line in the log
  says so:

      [info] MyApp.Cart was compiled again: the machine MyApp.Carts runs it

  A release has no reloader. `config :mote, reload: false` turns it off. `config :mote, reload: true` makes it run
  anywhere, for example in the tests of a project.
  """

  use GenServer

  require Logger

  alias Mote.{Error, Native}
  alias Mote.Machine.{Loader, Table}

  @every_ms 500

  @doc false
  # Decided when the application starts: a release has no Mix.
  @spec children() :: [module]
  def children, do: if(Application.get_env(:mote, :reload, developed?()), do: [__MODULE__], else: [])

  defp developed?,
    do: function_exported?(Mix, :env, 0) and Process.whereis(Mix.State) != nil and Mix.env() == :dev

  @doc false
  @spec start_link(term) :: GenServer.on_start()
  def start_link(_arg), do: GenServer.start_link(__MODULE__, [], name: __MODULE__)

  @doc """
  Looks for compiled modules at once, and returns when machines have them.

      iex> Mote.Reload.look()
      :ok

  Does nothing where it does not run.
  """
  @spec look() :: :ok
  def look, do: if(Process.whereis(__MODULE__), do: GenServer.call(__MODULE__, :look, :infinity), else: :ok)

  @impl true
  def init(_arg), do: {:ok, MapSet.new(), @every_ms}

  @impl true
  def handle_call(:look, _from, told), do: {:reply, :ok, looked(told), @every_ms}

  @impl true
  def handle_info(:timeout, told), do: {:noreply, looked(told), @every_ms}
  def handle_info(_stray, told), do: {:noreply, told, @every_ms}

  # Whatever a machine has in another version than the node. What cannot be loaded is tried each time, as another module may be on
  # its way, and told of once.
  defp looked(told) do
    versions = versions()
    failed = for pid <- Table.pids(), {module, hash} <- versions, failed = load(pid, module, hash), do: failed
    for {module, _, text} = failed <- Enum.uniq(failed), failed not in told, do: tell_failed(module, text)
    MapSet.new(failed)
  end

  # Each module with behaviours, and its hash.
  defp versions do
    for {module, _file} <- :code.all_loaded(),
        function_exported?(module, :__mote__, 1),
        hash = hash(module),
        do: {module, hash}
  end

  # It may go in this moment, or be anybody's.
  defp hash(module) do
    module.__mote__(:hash)
  catch
    _, _ -> nil
  end

  # Returns what has failed.
  defp load(pid, module, hash) do
    with {:ok, machine} <- Table.fetch(pid),
         has when is_integer(has) and has != hash <- Native.machine_module(machine, module),
         {:ok, _stay} <- Loader.succeed(machine, module) do
      Logger.info("#{inspect(module)} was compiled again: the machine #{name(pid)} runs it",
        mote_module: module
      )

      nil
    else
      {:error, %Error{reason: reason} = error} when reason != :machine_down ->
        {module, hash, Exception.message(error)}

      # It has ended, has no such module, or this very version.
      _ ->
        nil
    end
  end

  defp tell_failed(module, text),
    do: Logger.warning("#{inspect(module)} was compiled again, but not loaded: #{text}", mote_module: module)

  defp name(pid), do: inspect(Table.name(pid) || pid)
end
