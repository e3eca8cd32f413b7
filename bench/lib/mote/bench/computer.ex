defmodule Mote.Bench.Computer do
  # Where figures come from: processor, memory, versions. Anything that a system does not report is left out.
  @moduledoc false

  alias Mote.Bench.{Memory, Report}

  @root Path.expand("../../../..", __DIR__)

  @doc "Lines of name and value, for people."
  @spec describe() :: [{String.t(), String.t()}]
  def describe do
    lines = [
      {"Processor", processor()},
      {"Cores", "#{System.schedulers_online()}"},
      {"Memory", with(bytes when bytes != nil <- Memory.total(), do: Report.memory(bytes))},
      {"System", system()},
      {"Load before", load()},
      {"OTP", "#{System.otp_release()} (ERTS #{:erlang.system_info(:version)}, #{emulator()})"},
      {"Elixir", System.version()},
      {"Mote", mote()}
    ]

    for {name, value} when value != nil <- lines, do: {name, value}
  end

  defp processor do
    with {:ok, text} <- File.read("/proc/cpuinfo"),
         [_, name] <- Regex.run(~r/^model name\s*:\s*(.+)$/m, text) do
      name
    else
      _ -> List.to_string(:erlang.system_info(:system_architecture))
    end
  end

  defp system do
    {_, name} = :os.type()
    version = with {_, _, _} = numbers <- :os.version(), do: numbers |> Tuple.to_list() |> Enum.join(".")
    "#{name} #{version}, #{:erlang.system_info(:system_architecture)}"
  end

  # How much else was going on: figures of a busy computer are worth little.
  defp load do
    case File.read("/proc/loadavg") do
      {:ok, text} -> text |> String.split() |> Enum.take(3) |> Enum.join(", ")
      {:error, _} -> nil
    end
  end

  defp emulator, do: :erlang.system_info(:emu_flavor)

  defp mote do
    version = :mote |> Application.spec(:vsn) |> to_string()
    if commit = commit(), do: "#{version}, commit #{commit}", else: version
  end

  # Of Mote's own repository only: what was unpacked without one may be in somebody else's.
  defp commit do
    with true <- File.exists?(Path.join(@root, ".git")),
         git when git != nil <- System.find_executable("git"),
         args = ~w(describe --always --dirty --abbrev=10 --exclude=*),
         {commit, 0} <- System.cmd(git, args, cd: @root, stderr_to_stdout: true) do
      String.trim(commit)
    else
      _ -> nil
    end
  end
end
