defmodule Mote.Chaos.Machines do
  @moduledoc """
  The machines of a run: each has a place, and one that was ended on purpose gets a successor there.

  A machine that ends for another reason is a finding.
  """

  use GenServer

  alias Mote.Chaos.{Findings, Pool}

  @sorts ~w(relay log worker keeper breaker clock tree silent wild)a

  def start(configs), do: GenServer.start(__MODULE__, configs, name: __MODULE__)

  @doc "The machine at a place."
  def at(m), do: Pool.get({:machine, rem(m, length(Pool.get(:configs)))})

  @doc "How a machine was started."
  def config(m), do: Enum.at(Pool.get(:configs), rem(m, length(Pool.get(:configs))))

  @doc "Ends the machine at a place by `fun`, and starts another one there."
  def replace(m, fun), do: GenServer.call(__MODULE__, {:replace, m, fun}, :infinity)

  @doc "Ends all of them by `fun`, for good."
  def end_all(fun), do: GenServer.call(__MODULE__, {:end_all, fun}, :infinity)

  @doc "All that there are."
  def all, do: for(m <- 0..(length(Pool.get(:configs)) - 1), do: {m, at(m)})

  @doc "A sort of actors of a machine: those of its predecessor are none of them, however late they are put down."
  def sort(sort, machine), do: {sort, machine}

  @impl true
  def init(configs) do
    Process.flag(:trap_exit, true)
    Pool.set(:configs, configs)
    for m <- 0..(length(configs) - 1), do: begin(m)
    {:ok, nil}
  end

  defp begin(m) do
    {:ok, machine} = Mote.start_link(config(m))
    Pool.set({:machine, m}, machine)
  end

  @impl true
  def handle_call({:replace, m, fun}, _from, state) do
    finish(m, fun)
    begin(m)
    {:reply, :ok, state}
  end

  def handle_call({:end_all, fun}, _from, state) do
    for {m, _} <- all(), do: finish(m, fun)
    {:reply, :ok, state}
  end

  defp finish(m, fun) do
    machine = at(m)
    Pool.set(:machine_ended, true)
    Pool.excuse(machine)
    for sort <- @sorts, do: Pool.clear(sort(sort, machine))
    fun.(machine)

    receive do
      {:EXIT, ^machine, _} -> Pool.excuse(machine)
    end
  end

  @impl true
  def handle_info({:EXIT, pid, reason}, state) do
    if Enum.any?(all(), &match?({_, ^pid}, &1)),
      do:
        Findings.found(machine_ended(reason), %{
          machine: pid,
          reason: reason,
          seen: "a machine ended, and nobody had ended it"
        })

    {:noreply, state}
  end

  # A broken invariant is another thing than an error of the process.
  defp machine_ended({:fault, _}), do: :fault
  defp machine_ended(_), do: :machine_ended
end
