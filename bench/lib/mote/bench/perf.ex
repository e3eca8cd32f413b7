defmodule Mote.Bench.Perf do
  # Cache misses of this OS process, as the processor counts them: read by the tool `perf`, on systems and processors that
  # have such counters and let us read them. Elsewhere there is a reason instead.
  @moduledoc false

  # Until perf watches all threads, and until it has written what it saw: milliseconds.
  @attach 300
  @patience 10_000

  @doc "What a function gives, and the cache misses while it ran or why there are none."
  @spec cache_misses((... -> result), Path.t() | nil) ::
          {result, {:ok, non_neg_integer} | {:unavailable, String.t()}}
        when result: term
  def cache_misses(fun, perf \\ System.find_executable("perf"))

  def cache_misses(fun, nil), do: {fun.(), {:unavailable, "perf is not installed"}}

  def cache_misses(fun, perf) do
    args = ["stat", "-x", ",", "-e", "cache-misses", "-p", System.pid()]
    port = Port.open({:spawn_executable, perf}, [:binary, :exit_status, :stderr_to_stdout, args: args])
    os_pid = Port.info(port, :os_pid)
    Process.sleep(@attach)
    result = fun.()

    # It may have given up long before.
    with {:os_pid, pid} <- os_pid, do: System.cmd("kill", ["-INT", "#{pid}"], stderr_to_stdout: true)
    {result, port |> output("") |> misses()}
  end

  defp output(port, read) do
    receive do
      {^port, {:data, data}} -> output(port, read <> data)
      {^port, {:exit_status, _}} -> read
    after
      @patience ->
        Port.close(port)
        read
    end
  end

  # A line such as "81245,,cache-misses,…", or "<not supported>,,cache-misses,…".
  defp misses(output) do
    case Regex.run(~r/^(?:([0-9]+)|<(.+)>),[^,]*,cache-misses/m, output) do
      [_, count] -> {:ok, String.to_integer(count)}
      [_, "", why] -> {:unavailable, "perf says they are #{why}"}
      nil -> {:unavailable, "perf says " <> (output |> String.trim() |> String.slice(0, 100) |> inspect())}
    end
  end
end
