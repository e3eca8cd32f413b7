defmodule Mote.Reload do
  @moduledoc """
  Loads modules that were compiled again into running machines, while a program is developed.

  It runs in `iex -S mix` and in each other program that Mix runs in its `:dev` environment, so where Phoenix's reloader does. Then
  `recompile/0`, `r/1`, a module typed into IEx, and a page that is loaded again are enough: machines that have the module get
  its new version as by `Mote.load/2`, within half a second, and a line in the log says so:

      [info] MyApp.Cart was compiled again: the machine MyApp.Carts runs it

  A release has none. `config :mote, reload: false` turns it off, `config :mote, reload: true` has it run anywhere, in
  the tests of a project for example.
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
  Looks at once, and returns when machines have what was compiled.

      iex> Mote.Reload.look()
      :ok

  Does nothing where it does not run.
  """
  @spec look() :: :ok
  def look, do: if(Process.whereis(__MODULE__), do: GenServer.call(__MODULE__, :look, :infinity), else: :ok)

  @impl true
  def init(_arg), do: {:ok, versions(), @every_ms}

  @impl true
  def handle_call(:look, _from, versions), do: {:reply, :ok, looked(versions), @every_ms}

  @impl true
  def handle_info(:timeout, versions), do: {:noreply, looked(versions), @every_ms}
  def handle_info(_stray, versions), do: {:noreply, versions, @every_ms}

  # Each module with behaviours, and its hash.
  defp versions do
    for {module, _file} <- :code.all_loaded(),
        function_exported?(module, :__mote__, 1),
        hash = hash(module),
        into: %{},
        do: {module, hash}
  end

  # It may go in this moment, or be anybody's.
  defp hash(module) do
    module.__mote__(:hash)
  catch
    _, _ -> nil
  end

  # A version that was seen before is in those machines that want it.
  defp looked(before) do
    now = versions()
    changed = for {module, hash} <- now, is_map_key(before, module), before[module] != hash, do: module
    if changed != [], do: for(pid <- Table.pids(), module <- changed, do: load(pid, module))
    now
  end

  defp load(pid, module) do
    with {:ok, machine} <- Table.fetch(pid),
         hash when is_integer(hash) <- Native.machine_module(machine, module),
         {:ok, _stay} <- Loader.succeed(machine, module) do
      Logger.info("#{inspect(module)} was compiled again: the machine #{name(pid)} runs it",
        mote_module: module
      )
    else
      {:error, %Error{reason: reason} = error} when reason != :machine_down ->
        Logger.warning("#{inspect(module)} was compiled again, but not loaded: #{Exception.message(error)}")

      # It has ended, or has no such module.
      _ ->
        :ok
    end
  end

  defp name(pid), do: inspect(Table.name(pid) || pid)
end
