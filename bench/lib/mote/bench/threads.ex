defmodule Mote.Bench.Threads do
  # The threads of this OS process as Linux counts them. On other systems everything is `nil`, as in `Memory`.
  @moduledoc false

  @tasks "/proc/self/task"

  @doc """
  CPU time of all threads whose name begins so, in nanoseconds; names are cut after 15 characters.

  From `schedstat`, since the ticks of `stat` are 10 ms each.
  """
  @spec cpu_ns(String.t()) :: non_neg_integer | nil
  def cpu_ns(prefix) do
    with {:ok, [_ | _] = ids} <- File.ls(@tasks) do
      times = for id <- ids, named?(id, prefix), time = time(id), do: time
      if times != [], do: Enum.sum(times)
    else
      _ -> nil
    end
  end

  # Threads may end in the meantime.
  defp named?(id, prefix) do
    case File.read(Path.join([@tasks, id, "comm"])) do
      {:ok, name} -> String.starts_with?(name, prefix)
      {:error, _} -> false
    end
  end

  # "time on a core, time waiting for one, turns"
  defp time(id) do
    case File.read(Path.join([@tasks, id, "schedstat"])) do
      {:ok, text} -> text |> String.split() |> hd() |> String.to_integer()
      {:error, _} -> nil
    end
  end
end
