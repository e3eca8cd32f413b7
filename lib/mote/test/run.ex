defmodule Mote.Test.Run do
  # A machine of a test, from its start to its end, and what a property says of it.
  @moduledoc false

  alias Mote.Test.Recorder

  @type graph :: (pid -> term)
  @type property :: (term -> as_boolean(term))
  @type wrong :: :untrue | {:error, Exception.t()} | {:error | :exit | :throw, term, Exception.stacktrace()}

  @doc "Starts a machine and holds it still, has `graph` put its actors there, and ends it after `act`."
  @spec paused(graph, keyword, (pid, context :: term -> result)) :: result when result: term
  def paused(graph, opts, act) do
    {:ok, machine} = Mote.start_link(opts)

    try do
      :ok = Mote.pause(machine)
      act.(machine, graph.(machine))
    after
      Mote.stop(machine)
      Recorder.forget(machine)
    end
  end

  @doc "Has processes collect their garbage, and waits until the resources in it are let go of."
  @spec collect([pid]) :: :ok
  def collect(processes) do
    Enum.each(processes, &:erlang.garbage_collect/1)

    # A scheduler of the BEAM does not let go of a resource when a process has collected it, but when it comes to its own work, and that may
    # be when the process goes on on another one. Its own work comes in order, and this is some of it, for each scheduler.
    asked = :erlang.trace_delivered(:all)

    receive do
      {:trace_delivered, :all, ^asked} -> :ok
    end
  end

  @doc "Returns whether a property holds, or what is wrong."
  @spec check(property, term) :: :ok | wrong
  def check(property, context) do
    if property.(context), do: :ok, else: :untrue
  catch
    kind, reason -> {kind, reason, __STACKTRACE__}
  end

  @doc "Describes a flaw, as text."
  @spec why(wrong) :: String.t()
  def why(:untrue), do: "the property does not hold"
  def why({:error, error}), do: "the actors do not come to rest: " <> Exception.message(error)
  def why({kind, reason, stack}), do: Exception.format(kind, reason, stack)
end
