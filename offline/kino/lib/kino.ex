defmodule Kino do
  @moduledoc """
  Starts the processes of widgets. In the real package they end with the cell that has started them; here they end with
  `terminate_child/1`, or with the application.
  """

  @doc "Starts a process under the supervisor of all widgets."
  @spec start_child(Supervisor.child_spec() | {module, term} | module) :: DynamicSupervisor.on_start_child()
  def start_child(spec), do: DynamicSupervisor.start_child(Kino.DynamicSupervisor, spec)

  @doc "Ends such a process."
  @spec terminate_child(pid) :: :ok | {:error, :not_found}
  def terminate_child(pid), do: DynamicSupervisor.terminate_child(Kino.DynamicSupervisor, pid)
end

defmodule Kino.Application do
  @moduledoc false
  use Application

  @impl true
  def start(_type, _args) do
    children = [{DynamicSupervisor, strategy: :one_for_one, name: Kino.DynamicSupervisor}]
    Supervisor.start_link(children, strategy: :one_for_one, name: Kino.Supervisor)
  end
end
