defmodule Mote.Test.Recorder do
  # Keeps the turns of a run, in a process of its own: the mailbox of a test is the test's.
  @moduledoc false

  alias Mote.Trace
  alias Mote.Trace.Turn

  @type t :: {pid, Trace.t()}

  @spec start(pid, pos_integer) :: t
  def start(machine, limit) do
    starter = self()

    recorder =
      spawn_link(fn ->
        receive do
          {:stop, ^starter, ref} -> send(starter, {ref, kept([])})
        end
      end)

    {recorder, Trace.start(machine, [], to: recorder, limit: limit)}
  end

  @doc "The turns so far, once the machine is quiet, and how many there were beyond the limit."
  @spec stop(t) :: {[Turn.t()], non_neg_integer}
  def stop({recorder, trace}) do
    %{dropped: more} = Trace.stop(trace)
    ref = Process.monitor(recorder)
    send(recorder, {:stop, self(), ref})

    receive do
      {^ref, turns} ->
        Process.demonitor(ref, [:flush])
        forget(recorder)
        {turns, more}

      {:DOWN, ^ref, :process, _, reason} ->
        exit({reason, {__MODULE__, :stop, [recorder]}})
    end
  end

  @doc "Ends the link to a process that is done: a process that traps exits has no use for an exit of each run."
  @spec forget(pid) :: :ok
  def forget(done) do
    Process.unlink(done)

    receive do
      {:EXIT, ^done, _} -> :ok
    after
      0 -> :ok
    end
  end

  defp kept(turns) do
    receive do
      {:mote_trace, _, %Turn{} = turn} -> kept([turn | turns])
      {:mote_trace, _, :limit} -> kept(turns)
    after
      0 -> Enum.reverse(turns)
    end
  end
end
