defmodule Mote.Far.Call do
  # Calls of Mote's functions on another node that nothing that was sent there need come before. What a user calls goes by the courier
  # (`Mote.Far.create!/4`).
  @moduledoc false

  alias Mote.Error

  @doc "What the function returns there; raises what it raises there, or `Mote.Error` if there is no connection."
  @spec run!(node, module, atom, [term]) :: term
  def run!(node, module, function, args) do
    :erpc.call(node, module, function, args)
  rescue
    error in ErlangError -> raise failed(error.original, node)
  end

  defp failed({:exception, %{__exception__: true} = exception, _stacktrace}, _node), do: exception
  defp failed({:exception, reason, stacktrace}, _node), do: Exception.normalize(:error, reason, stacktrace)
  defp failed(_erpc, node), do: Error.from(:noconnection, node: node)
end
