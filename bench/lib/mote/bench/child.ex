defmodule Mote.Bench.Child do
  # A program of the system that a bench starts beside itself, and what the system says of it: CPU time and memory.
  #
  # 1. It ends with the process that has started it, however that ends: the system closes the pipe that is its standard input. A
  #    program that does not look at that has a shell beside it which does, and kills it (`watched: true`).
  # 2. When `stop/1` returns, it has ended.
  @moduledoc false

  alias Mote.Bench.{Run, Threads}

  @patience 120_000
  @ends 10_000

  # The shell that waits has the program's status and says nothing of its own; the one that reads has no output, so that the pipe ends
  # with the program.
  @watch """
  exec 3<&0
  "$@" </dev/null 3<&- & child=$!
  echo "$child"
  exec 2>/dev/null
  (read -r _ <&3; kill -9 "$child") >/dev/null & watch=$!
  wait "$child"; status=$?
  kill "$watch"
  exit "$status"
  """

  @enforce_keys [:name, :port, :os_pid]
  defstruct [:name, :port, :os_pid]

  @type t :: %__MODULE__{name: String.t(), port: port, os_pid: String.t()}

  @doc "Raises `Mote.Bench.Run.Error` where the system does not say of a program what `program` reads."
  @spec measurable!(String.t()) :: :ok
  def measurable!(program) do
    unless File.dir?("/proc/self/task"),
      do:
        raise(Run.Error,
          message: "#{program} reads CPU time and memory from /proc, which this system does not have"
        )

    :ok
  end

  @doc """
  Starts a program. Options: `watched` (false): see above; `silent` (false): what it says to its standard error is taken for its
  output, and not shown; others are those of `Port.open/2`, such as `:cd` and `:env`.
  """
  @spec start(Path.t(), [String.t()], keyword) :: t
  def start(executable, args, opts \\ []) do
    {watched, opts} = Keyword.pop(opts, :watched, false)
    {silent, opts} = Keyword.pop(opts, :silent, false)
    name = Path.basename(executable)
    silent = if silent, do: [:stderr_to_stdout], else: []
    opts = [:binary, :exit_status, line: 4_096] ++ silent ++ opts

    if watched do
      sh = System.find_executable("sh")
      port = Port.open({:spawn_executable, sh}, [args: ["-c", @watch, "sh", executable | args]] ++ opts)
      child = %__MODULE__{name: name, port: port, os_pid: nil}
      %{child | os_pid: line(child)}
    else
      port = Port.open({:spawn_executable, executable}, [args: args] ++ opts)
      {:os_pid, os_pid} = Port.info(port, :os_pid)
      %__MODULE__{name: name, port: port, os_pid: "#{os_pid}"}
    end
  end

  @doc "The next line that it prints. Raises `Mote.Bench.Run.Error` when it ends instead, or says nothing for two minutes."
  @spec line(t) :: String.t()
  def line(%__MODULE__{port: port, name: name}) do
    receive do
      {^port, {:data, {:eol, line}}} -> line
      {^port, {:exit_status, status}} -> raise Run.Error, message: "#{name} has ended with status #{status}"
    after
      @patience -> raise Run.Error, message: "#{name} has said nothing for #{div(@patience, 1_000)} seconds"
    end
  end

  @doc "Writes a line to it."
  @spec tell(t, String.t()) :: true
  def tell(%__MODULE__{port: port}, line), do: Port.command(port, line <> "\n")

  @doc "Ends it, if it has not ended."
  @spec stop(t) :: :ok
  def stop(%__MODULE__{port: port, os_pid: os_pid} = child) do
    close(port)
    flush(port)
    ended(child, System.monotonic_time(:millisecond) + @ends, File.exists?("/proc/#{os_pid}"))
  end

  # It may end at this moment.
  defp close(port) do
    Port.close(port)
  rescue
    ArgumentError -> true
  end

  defp ended(_child, _until, false), do: :ok

  defp ended(child, until, true) do
    if System.monotonic_time(:millisecond) > until,
      do: raise(Run.Error, message: "#{child.name}, process #{child.os_pid}, does not end")

    Process.sleep(10)
    ended(child, until, File.exists?("/proc/#{child.os_pid}"))
  end

  defp flush(port) do
    receive do
      {^port, _} -> flush(port)
    after
      0 -> :ok
    end
  end

  @doc "How many files a process has open."
  @spec files(String.t()) :: non_neg_integer
  def files(os_pid), do: length(File.ls!("/proc/#{os_pid}/fd"))

  @doc "CPU time that a process takes while a function runs: of all its threads, and of the busiest, in nanoseconds; and what that returns."
  @spec cpu(String.t(), (... -> result)) :: {all :: non_neg_integer, busiest :: non_neg_integer, result}
        when result: term
  def cpu(os_pid, fun) do
    before = Threads.times(os_pid)
    result = fun.()
    used = for {id, time} <- Threads.times(os_pid), do: time - Map.get(before, id, 0)
    {Enum.sum(used), Enum.max(used, fn -> 0 end), result}
  end
end
