defmodule SecureSocket.Crypto do
  # A customer of actors on the side of the BEAM: a process that seals packets, and answers as an actor would. It keeps
  # nothing: what is needed comes with the request. One of them can serve any number of connections; start as many as
  # shall work at once.
  #
  #     {customer, {:seal, seal, n, data}}         {:sealed, packet}
  #
  # An answer that cannot be delivered ends the process, and with it the connections that it serves: behind it is a gate
  # that would wait for ever.
  @moduledoc false
  use GenServer

  alias SecureSocket.Driver

  @spec start_link(keyword) :: GenServer.on_start()
  def start_link(opts \\ []), do: GenServer.start_link(__MODULE__, nil, opts)

  @impl true
  def init(nil), do: {:ok, nil}

  @impl true
  def handle_info({customer, {:seal, seal, n, data}}, nil) do
    case Driver.tell(customer, {:sealed, seal.(n, data)}) do
      :ok -> {:noreply, nil}
      # Nobody is left to miss it.
      {:error, :machine_down} -> {:noreply, nil}
      {:error, reason} -> {:stop, {:undelivered, reason}, nil}
    end
  end
end
