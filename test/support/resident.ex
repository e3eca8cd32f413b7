defmodule Mote.Resident do
  @moduledoc """
  How much memory the system keeps for this process.

  What is resident is everybody's: machines that are gone leave memory behind that the next one is given first, so that
  the process grows by less than what a machine takes. A test compares with what it has seen the machine take, or
  leaves room for it.
  """

  @doc "Megabytes of this process that are in memory."
  @spec megabytes() :: non_neg_integer
  def megabytes, do: div(kibibytes(), 1024)

  if File.regular?("/proc/self/status") do
    defp kibibytes do
      [_, number] = Regex.run(~r/^VmRSS:\s+(\d+) kB$/m, File.read!("/proc/self/status"))
      String.to_integer(number)
    end
  else
    defp kibibytes do
      {number, 0} = System.cmd("ps", ["-o", "rss=", "-p", System.pid()])
      number |> String.trim() |> String.to_integer()
    end
  end
end
