defmodule Mote.Bench.Keeper do
  # Keeps machines between the runs of a node, as a supervisor does in an application: one for each variant, started when
  # it is first asked for. One that has ended is started again when it is asked for once more. Which runs happen on them
  # is the business of `run.ex` and `runner.ex`.
  @moduledoc false

  use GenServer

  alias Mote.Bench.Variant

  @type t :: GenServer.server()

  @doc "Starts one that ends with the calling process."
  @spec start_link() :: {:ok, pid}
  def start_link, do: GenServer.start_link(__MODULE__, nil)

  @doc "Starts the only one of a node. It ends with the node."
  @spec start() :: {:ok, pid}
  def start, do: GenServer.start(__MODULE__, nil, name: __MODULE__)

  @doc "The machine of a variant."
  @spec machine(t, module, Variant.t()) :: pid
  def machine(keeper, program, variant), do: GenServer.call(keeper, {:machine, {program, variant}}, :infinity)

  @doc "Ends it, and its machines."
  @spec stop(t) :: :ok
  def stop(keeper), do: GenServer.stop(keeper)

  @impl true
  def init(nil) do
    # So that the end of one machine is not that of all.
    Process.flag(:trap_exit, true)
    {:ok, %{}}
  end

  @impl true
  def handle_call({:machine, {program, variant} = key}, _from, machines) do
    machines =
      Map.put_new_lazy(machines, key, fn ->
        {:ok, machine} = Mote.start_link(Variant.options(program, variant))
        machine
      end)

    {:reply, machines[key], machines}
  end

  @impl true
  def handle_info({:EXIT, pid, _reason}, machines) do
    {:noreply, Map.reject(machines, fn {_, machine} -> machine == pid end)}
  end

  @impl true
  def terminate(_reason, machines), do: Enum.each(machines, fn {_, machine} -> Mote.stop(machine) end)
end
