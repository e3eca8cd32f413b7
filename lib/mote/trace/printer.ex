defmodule Mote.Trace.Printer do
  # Writes the turns of a trace to where its starter writes, as lines of text.
  @moduledoc false

  import Mote.Raised, only: [is_raised: 1]

  alias Mote.Behaviour
  alias Mote.Internal.Stray
  alias Mote.Trace.Turn

  # Enough to recognise a message by.
  @inspect [limit: 20, printable_limit: 200]

  @doc "Starts a printer for the calling process and the machine that a process answers for; it ends with either."
  @spec start(reference, pid) :: pid
  def start(ref, owner) do
    starter = self()

    spawn(fn ->
      Process.monitor(starter)
      Process.monitor(owner)
      loop(ref)
    end)
  end

  @spec stop(pid) :: :ok
  def stop(printer) do
    send(printer, :stop)
    :ok
  end

  # Hibernated, it waits in no function of this module: it would be killed when that is loaded a second time.
  defp loop(ref), do: :erlang.hibernate(__MODULE__, :woken, [ref])

  @doc false
  @spec woken(reference) :: term
  def woken(ref) do
    receive do
      {:mote_trace, ^ref, %Turn{} = turn} ->
        IO.puts("##{turn.number} #{format(turn)}")
        loop(ref)

      {:mote_trace, ^ref, :limit} ->
        IO.puts("That was the last turn that this trace shows: see :limit of Mote.trace/3.")
        loop(ref)

      # What was shown before the trace was ended is in front of this.
      :stop ->
        :ok

      {:DOWN, _, :process, _, _} ->
        :ok

      stray ->
        Stray.ignored("printer #{inspect(self())} of a trace", "message", stray)
        loop(ref)
    end
  end

  @doc "See `Mote.Trace.format/1`."
  @spec format(Turn.t()) :: String.t()
  def format(%Turn{} = turn) do
    head = "#{turn.sponsor} #{behaviour(turn.behaviour)} <- #{show(turn.message)}#{outcome(turn.outcome)}"
    Enum.join([head | effects(turn)], "\n  ")
  end

  defp outcome(:commit), do: ""
  defp outcome(:ignored), do: ": ignored"
  defp outcome({:abort, reason}) when is_raised(reason), do: ": aborted, #{Mote.Raised.format(reason)}"
  defp outcome({:abort, reason}), do: ": aborted, #{show(reason)}"

  defp timer(milliseconds) when is_integer(milliseconds), do: "send_after #{milliseconds}"
  defp timer(process), do: "monitor #{show(process)}"

  defp effects(turn) do
    Enum.concat([
      for({_address, new} <- turn.creates, do: "create #{behaviour(new)}"),
      for(
        {_address, new, sponsor} <- turn.creates,
        do: "create #{behaviour(new)}, sponsor: #{show(sponsor)}"
      ),
      for({target, message} <- turn.sends, do: "send #{show(target)}, #{show(message)}"),
      for({by, target, message} <- turn.sendx, do: "sendx #{show(by)}, #{show(target)}, #{show(message)}"),
      for({due, target, message} <- turn.timers, do: "#{timer(due)}, #{show(target)}, #{show(message)}"),
      for(timer <- turn.cancels, do: "cancel_timer #{show(timer)}"),
      if(turn.become, do: ["become #{behaviour(turn.become)}"], else: []),
      if(turn.omitted > 0, do: ["and #{turn.omitted} more"], else: [])
    ])
  end

  defp behaviour(:sink), do: "sink()"

  defp behaviour(%Behaviour{module: module, name: name, captures: captures}) do
    captures = captures |> Tuple.to_list() |> Enum.map_join(", ", &show/1)
    "#{inspect(module)}.#{name}(#{captures})"
  end

  defp show(term), do: Mote.Raised.Printed.term(term, @inspect)
end
