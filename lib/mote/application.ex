defmodule Mote.Application do
  # Starts what all machines of a node share: the table of running machines, and the janitor. The table belongs to the
  # supervisor, so that it outlives the processes that use it.
  @moduledoc false

  use Application
  use Supervisor

  @impl Application
  def start(_type, _args), do: Supervisor.start_link(__MODULE__, [], name: Mote.Supervisor)

  @impl Supervisor
  def init(_arg) do
    Mote.Machine.Table.new()
    Supervisor.init([Mote.Machine.Janitor], strategy: :one_for_one)
  end
end
