defmodule Mote.Processes do
  @moduledoc """
  The processes of a machine, for tests that hold them up or look at them.
  """

  @doc "The process that sends what the machine's threads leave to it in a rush."
  @spec postman(pid) :: pid
  def postman(machine) do
    {:links, links} = Process.info(machine, :links)
    Enum.find(links, &(is_pid(&1) and initial(&1) == {Mote.Machine.Postman, :init, 1}))
  end

  defp initial(pid), do: elem(Process.info(pid, :dictionary), 1)[:"$initial_call"]
end
