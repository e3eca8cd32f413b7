defmodule Mote.Chaos.Watchdog do
  @moduledoc """
  No wait may exceed its deadline: whoever begins something that must end says by when.

  What is late is a finding, with what its process was doing, and what the threads of the machines are at.
  """

  alias Mote.Chaos.{Findings, Pool}

  @table :chaos_watched
  @look 200

  def start do
    :ets.new(@table, [:public, :named_table])

    spawn(fn ->
      Process.flag(:priority, :max)
      watch()
    end)
  end

  @doc "Runs `fun`, which must end within so many milliseconds."
  def within(ms, what, fun) do
    key = make_ref()
    :ets.insert(@table, {key, now() + slack(ms), self(), what, ms})

    try do
      fun.()
    after
      :ets.delete(@table, key)
    end
  end

  # The host is shared, and machines that collect after each turn are slow.
  defp slack(ms), do: (ms + 8_000) * if(Pool.get(:stress), do: 4, else: 1)

  defp watch do
    Process.sleep(@look)
    time = now()

    for {_, deadline, pid, what, ms} <- :ets.tab2list(@table), deadline < time, Process.alive?(pid) do
      Findings.found(late(what), %{
        operation: what,
        should_end_within: ms,
        late_by: time - deadline + slack(ms) - ms,
        process: stack(pid),
        threads: threads()
      })
    end

    watch()
  end

  # Operations of one name are one finding, whatever they are about.
  defp late(what) when is_tuple(what), do: :"late_#{elem(what, 0)}"
  defp late(what), do: :"late_#{what}"

  defp stack(pid) do
    with {_, stack} <- Process.info(pid, :current_stacktrace),
         do: Enum.map(stack, &Exception.format_stacktrace_entry/1)
  end

  @doc "Name, state and time of each thread of this process that belongs to a machine, as the system tells it."
  def threads do
    for task <- Path.wildcard("/proc/self/task/*"),
        {:ok, "mote-" <> name} <- [File.read(task <> "/comm")],
        {:ok, stat} <- [File.read(task <> "/stat")] do
      [state | _] = fields = stat |> String.split(") ") |> List.last() |> String.split(" ")
      {String.trim(name), state, Enum.at(fields, 11)}
    end
  end

  defp now, do: System.monotonic_time(:millisecond)
end
