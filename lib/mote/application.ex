defmodule Mote.Application do
  # Starts the processes that all machines of a node share: the table of running machines, that of processes
  # that wait for one, the janitor, and the processes for other nodes. The tables belong to the supervisor, so that they outlive the processes
  # that use them.
  @moduledoc false

  use Application
  use Supervisor

  @impl Application
  def start(_type, _args) do
    # Here, so that a library that cannot be loaded is not found out by the first machine.
    Mote.Native.Library.load!(Mote.Native)
    Supervisor.start_link(__MODULE__, [], name: Mote.Supervisor)
  end

  @impl Supervisor
  def init(_arg) do
    Mote.Machine.Table.new()
    Mote.Machine.Comeback.new()
    Mote.Far.Table.new()
    Mote.Far.Berth.new()
    Mote.Far.Lease.new()
    couriers = {DynamicSupervisor, name: Mote.Far.Supervisor}
    shared = [Mote.Machine.Janitor, couriers, Mote.Far.Gate, Mote.Far.Lease]
    Supervisor.init(shared ++ Mote.Reload.children(), strategy: :one_for_one)
  end
end
