defmodule Mote.Bench.Threads do
  # The threads of an OS process as Linux counts them. On other systems everything is `nil`, as in `Memory`.
  @moduledoc false

  @self "self"

  @doc "CPU time of each thread of an OS process, user and system, in nanoseconds. Empty where the system does not tell."
  @spec times(String.t()) :: %{(id :: String.t()) => non_neg_integer}
  def times(os_pid) do
    for id <- ids(os_pid), time = time(os_pid, id), into: %{}, do: {id, time}
  end

  @doc """
  CPU time of all of this process's threads whose name begins so, in nanoseconds; names are cut after 15 characters.

  From `schedstat`, since the ticks of `stat` are 10 ms each.
  """
  @spec cpu_ns(String.t()) :: non_neg_integer | nil
  def cpu_ns(prefix) do
    times = for id <- ids(@self), named?(id, prefix), time = time(@self, id), do: time
    if times != [], do: Enum.sum(times)
  end

  defp ids(os_pid) do
    case File.ls("/proc/#{os_pid}/task") do
      {:ok, ids} -> ids
      {:error, _} -> []
    end
  end

  # Threads may end in the meantime.
  defp named?(id, prefix) do
    case File.read("/proc/#{@self}/task/#{id}/comm") do
      {:ok, name} -> String.starts_with?(name, prefix)
      {:error, _} -> false
    end
  end

  # "time on a core, time waiting for one, turns"
  defp time(os_pid, id) do
    case File.read("/proc/#{os_pid}/task/#{id}/schedstat") do
      {:ok, text} -> text |> String.split() |> hd() |> String.to_integer()
      {:error, _} -> nil
    end
  end
end
