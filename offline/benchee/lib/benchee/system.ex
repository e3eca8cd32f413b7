defmodule Benchee.System do
  @moduledoc """
  What the suite runs on.
  """

  @doc false
  def gather do
    %{
      elixir: System.version(),
      erlang: System.otp_release(),
      jit_enabled?: :erlang.system_info(:emu_flavor) == :jit,
      num_cores: System.schedulers_online(),
      os: os(),
      cpu_speed: first_in("/proc/cpuinfo", ~r/^model name\s*:\s*(.+)$/m),
      available_memory: memory()
    }
  end

  defp os do
    case :os.type() do
      {:unix, :linux} -> :Linux
      {:unix, :darwin} -> :macOS
      {:win32, _} -> :Windows
      {_, name} -> name
    end
  end

  defp memory do
    case Integer.parse(first_in("/proc/meminfo", ~r/^MemTotal:\s*(\d+) kB$/m)) do
      {kibibytes, ""} -> "#{Float.round(kibibytes / (1024 * 1024), 2)} GB"
      _ -> "unknown"
    end
  end

  defp first_in(file, pattern) do
    with {:ok, text} <- File.read(file), [_, found] <- Regex.run(pattern, text) do
      found
    else
      _ -> "unknown"
    end
  end
end
