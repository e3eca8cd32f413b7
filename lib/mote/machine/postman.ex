defmodule Mote.Machine.Postman do
  # Sends the messages to processes that a machine's threads leave to it: those that come in a rush, which a scheduler
  # sends several times cheaper than they do (native/mote_nif/src/mail.rs). Lives as long as the machine's process; what it
  # leaves behind is sent when the machine is joined.
  @moduledoc false

  use GenServer

  alias Mote.Native

  @doc "Starts the postman of the calling machine."
  @spec start_link(reference) :: GenServer.on_start()
  def start_link(native), do: GenServer.start_link(__MODULE__, {self(), native})

  @impl GenServer
  def init({machine, native}) do
    # The link says nothing when that ends normally.
    Process.monitor(machine)
    :ok = Native.machine_postman(native)
    {:ok, native}
  end

  @impl GenServer
  def handle_info(:mote_mail, native) do
    deliver(native)
    {:noreply, native}
  end

  def handle_info({:DOWN, _, :process, _, _}, native), do: {:stop, :normal, native}
  def handle_info(_message, native), do: {:noreply, native}

  # Not one call for all of it: in between others have their turn.
  defp deliver(native), do: if(Native.machine_deliver(native), do: deliver(native), else: :ok)
end
