defmodule Mote.Chaos.Run do
  @moduledoc """
  Runs a scenario in an operating system process of its own, and says how that ended.
  """

  alias Mote.Chaos.{Findings, Scenario}

  defstruct [:outcome, :detail, :seconds, :delay, :dir]

  # What takes longer hangs in a way that its own watchdog has not seen.
  @seconds 150

  @typedoc """
  `outcome` is `:held`, or names what was found: two findings of one name are taken for one. `delay` is by how many
  milliseconds this host was late meanwhile, as this process has seen it.
  """
  @type t :: %__MODULE__{outcome: atom, detail: String.t(), seconds: float, delay: integer, dir: Path.t()}

  @doc "Runs it once, in this directory."
  @spec once(Scenario.t(), Path.t()) :: t
  def once(scenario, dir) do
    File.rm_rf!(dir)
    File.mkdir_p!(dir)
    Scenario.write!(scenario, Path.join(dir, "scenario.exs"))
    began = System.monotonic_time(:millisecond)
    {status, output, delay} = wait(start(scenario, dir), "", began + 1_000 * @seconds, 0)
    File.write!(Path.join(dir, "output"), output)
    {outcome, detail} = outcome(status, output, Findings.read(Path.join(dir, "finding")))
    seconds = (System.monotonic_time(:millisecond) - began) / 1_000
    %__MODULE__{outcome: outcome, detail: detail, seconds: seconds, delay: delay, dir: dir}
  end

  defp start(scenario, dir) do
    paths = for path <- :code.get_path(), path = to_string(path), path =~ ~r"/_build/", do: ["-pa", path]
    code = "Mote.Chaos.Child.main(#{inspect(dir)})"
    # No core is dumped: the machine's memory may be large.
    script = ~s(ulimit -c 0; exec nice -n 5 elixir "$@" 2>&1)
    erl = "+S #{scenario.schedulers}:#{scenario.schedulers}"
    args = ["-c", script, "sh", "--erl", erl] ++ List.flatten(paths) ++ ["-e", code]
    env = for {name, value} <- environment(scenario), do: {to_charlist(name), to_charlist(value)}

    Port.open(
      {:spawn_executable, System.find_executable("sh")},
      [:binary, :exit_status, :stderr_to_stdout, args: args, env: env]
    )
  end

  defp environment(scenario),
    do: [{"ERL_CRASH_DUMP", "/dev/null"}, {"MOTE_GC_STRESS", scenario.stress || "0"}]

  @look 50

  # Beside waiting it measures how late it is itself.
  defp wait(port, output, deadline, delay) do
    began = System.monotonic_time(:millisecond)

    receive do
      {^port, {:data, data}} -> wait(port, last(output <> data), deadline, delay)
      {^port, {:exit_status, status}} -> {status, output, delay}
    after
      @look ->
        now = System.monotonic_time(:millisecond)
        delay = max(delay, now - began - @look)
        if now > deadline, do: give_up(port, output, delay), else: wait(port, output, deadline, delay)
    end
  end

  # Its own process and no other.
  defp give_up(port, output, delay) do
    with {:os_pid, pid} <- Port.info(port, :os_pid), do: System.cmd("kill", ["-9", "#{pid}"])

    receive do
      {^port, {:exit_status, _}} -> {:hung, output, delay}
    end
  end

  @most 400_000
  defp last(output) when byte_size(output) > 2 * @most, do: binary_part(output, byte_size(output), -@most)
  defp last(output), do: output

  defp outcome(0, _output, nil), do: {:held, ""}

  defp outcome(:hung, _output, nil),
    do: {:hung, "no end after #{@seconds} s, and no deadline of its own was seen to pass"}

  defp outcome(_status, _output, {check, text}), do: {check, text}

  defp outcome(status, _output, nil) when status > 128,
    do: {signal(status - 128), "ended by signal #{status - 128}"}

  defp outcome(status, _output, nil), do: {:failed, "ended with status #{status}"}

  defp signal(6), do: :abort_signal
  defp signal(7), do: :bus_error
  defp signal(9), do: :killed
  defp signal(11), do: :segmentation_fault
  defp signal(n), do: :"signal_#{n}"

  @doc "What each lane was at when the process ended: the last lines of their journals."
  @spec last_operations(t) :: String.t()
  def last_operations(%{dir: dir}) do
    for path <- Enum.sort(Path.wildcard(Path.join(dir, "journal.*"))),
        lines = path |> File.read!() |> String.split("\n", trim: true),
        List.last(lines) != "ended",
        into: "" do
      "  #{Path.basename(path)}: #{List.last(lines)}\n"
    end
  end
end
