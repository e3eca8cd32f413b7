defmodule Mote.Processes do
  @moduledoc """
  The processes of a machine, for tests that hold them up or look at them.
  """

  @doc "The process that sends what the machine's threads leave to it in a rush."
  @spec postman(pid) :: pid
  def postman(machine), do: machine |> linked(Mote.Machine.Postman) |> hd()

  @doc "The processes of that module which are linked to a machine."
  @spec linked(pid, module) :: [pid]
  def linked(machine, module) do
    {:links, links} = Process.info(machine, :links)
    Enum.filter(links, &(is_pid(&1) and of?(&1, module)))
  end

  # It may have ended meanwhile.
  defp of?(pid, module) do
    with {:dictionary, dictionary} <- Process.info(pid, :dictionary),
         do: dictionary[:"$initial_call"] == {module, :init, 1}
  end
end
