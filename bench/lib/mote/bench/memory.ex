defmodule Mote.Bench.Memory do
  # The memory of this OS process as Linux counts it, in bytes. On other systems everything is `nil`
  # ("unavailable" in the reports): an answer that means something else on every system would only mislead.
  @moduledoc false

  @status "/proc/self/status"
  @clear_refs "/proc/self/clear_refs"
  @meminfo "/proc/meminfo"

  @doc "Memory in use now (VmRSS), by this OS process or another one."
  @spec rss(os_pid :: String.t()) :: non_neg_integer | nil
  def rss(os_pid \\ "self"), do: field("/proc/#{os_pid}/status", "VmRSS")

  @doc "The most memory in use since the start, or since `reset_peak/0` (VmHWM)."
  @spec peak() :: non_neg_integer | nil
  def peak, do: field(@status, "VmHWM")

  @doc "Lets the peak start again from the memory in use now. `false` where that is not permitted."
  @spec reset_peak() :: boolean
  def reset_peak, do: File.write(@clear_refs, "5") == :ok

  @doc "Memory that new programs can have without swapping."
  @spec available() :: non_neg_integer | nil
  def available, do: field(@meminfo, "MemAvailable")

  @doc "Memory that the system has for objects of its own, such as sockets."
  @spec system() :: non_neg_integer | nil
  def system, do: field(@meminfo, "Slab")

  @doc "Memory that the computer has."
  @spec total() :: non_neg_integer | nil
  def total, do: field(@meminfo, "MemTotal")

  # Lines such as "VmRSS:     87824 kB".
  defp field(file, name) do
    with {:ok, text} <- File.read(file),
         [_, kib] <- Regex.run(~r/^#{name}:\s+(\d+) kB$/m, text) do
      String.to_integer(kib) * 1024
    else
      _ -> nil
    end
  end
end
