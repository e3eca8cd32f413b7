defmodule Mote.Far.Call do
  # Calls of Mote's functions on another node that nothing that was sent there need come before. What a user calls goes by the courier
  # (`Mote.Far.create!/4`).
  @moduledoc false

  alias Mote.Error

  @doc "Returns the function's result there; raises what it raises there, or `Mote.Error` if there is no connection, or no answer in time."
  @spec run!(node, module, atom, [term], timeout) :: term
  def run!(node, module, function, args, timeout) do
    :erpc.call(node, module, function, args, timeout)
  rescue
    error in ErlangError -> raise failed(error.original, node, timeout)
  end

  defp failed({:exception, %{__exception__: true} = exception, _stacktrace}, _node, _timeout), do: exception

  defp failed({:exception, reason, stacktrace}, _node, _timeout),
    do: Exception.normalize(:error, reason, stacktrace)

  defp failed({:erpc, :timeout}, node, timeout), do: Error.from(:timeout, node: node, timeout: timeout)
  defp failed(_erpc, node, _timeout), do: Error.from(:noconnection, node: node)
end
