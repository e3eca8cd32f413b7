defmodule :telemetry_app do
  @moduledoc false

  use Application

  @impl true
  def start(_type, _args) do
    Supervisor.start_link([:telemetry_handler_table], strategy: :one_for_one, name: :telemetry_sup)
  end
end
