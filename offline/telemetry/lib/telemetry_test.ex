defmodule :telemetry_test do
  @moduledoc """
  Turns events into messages to a test process.
  """

  @doc """
  Sends `{event_name, ref, measurements, metadata}` to `pid` for each of the events, until the handler whose id
  is the returned `ref` is detached.
  """
  @spec attach_event_handlers(pid, [:telemetry.event_name()]) :: reference
  def attach_event_handlers(pid, event_names) when is_pid(pid) do
    ref = make_ref()
    :ok = :telemetry.attach_many(ref, event_names, &__MODULE__.handle_event/4, %{dest_pid: pid, ref: ref})
    ref
  end

  @doc false
  def handle_event(event_name, measurements, metadata, %{dest_pid: pid, ref: ref}) do
    Kernel.send(pid, {event_name, ref, measurements, metadata})
  end
end
