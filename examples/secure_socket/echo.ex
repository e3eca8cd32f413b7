defmodule SecureSocket.Echo do
  # An actor that uses a connection: sends back what comes, until the connection ends. Begin it with `:start`.
  #
  # It asks for the next packet when the last one is written: so its peer sends no faster than it takes the answers.
  @moduledoc false
  use Mote.Behaviour

  defactor echo(reads, writes) do
    :start -> send reads, {self(), :read}
    {:ok, data} -> send writes, {self(), {:write, data}}
    :ok -> send reads, {self(), :read}
    {:error, _why} -> become sink()
  end
end
