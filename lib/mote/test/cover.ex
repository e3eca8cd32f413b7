defmodule Mote.Test.Cover do
  # Lines that ran on machines, for `mix test --cover`: each turn that a machine shows is run once more in plain Elixir, which is the
  # same source, and that Erlang's `:cover` counts. So its figures are those of all other code, and its table is nobody else's.
  #
  # 1. Nothing happens twice: a turn in plain Elixir only lists its effects.
  # 2. Turns of a module that `:cover` does not know are not run, and beam turns are not: these have run in Elixir.
  # 3. A machine shows a turn before its effects are visible elsewhere, in the order of the trace. So what a test has seen is counted
  #    when all that was shown by then is.
  @moduledoc false

  use GenServer

  alias Mote.{Behaviour, Trace}

  # Turns of a machine that are run once more: some seconds for most.
  @limit 100_000

  @doc "Begins, and lets the suite wait for what is to be counted when it ends. Returns whether `:cover` runs."
  @spec start() :: boolean
  def start do
    cover? = Process.whereis(:cover_server) != nil

    if cover? do
      {:ok, _pid} = GenServer.start(__MODULE__, [], name: __MODULE__)
      ExUnit.after_suite(fn _result -> settle() end)
    end

    cover?
  end

  @doc "Waits until all turns that were shown are counted."
  @spec settle() :: :ok
  def settle, do: GenServer.call(__MODULE__, :settle, :infinity)

  @doc "Ends it."
  @spec stop() :: :ok
  def stop, do: GenServer.stop(__MODULE__)

  @impl true
  def init(_arg) do
    Process.flag(:trap_exit, true)
    event = [:mote, :machine, :start]
    :ok = :telemetry.attach(__MODULE__, event, &__MODULE__.watch/4, self())
    {:ok, %{}}
  end

  @impl true
  def terminate(_reason, _known), do: :telemetry.detach(__MODULE__)

  @doc false
  # In the process of the machine that starts.
  def watch(_event, _measurements, %{machine: machine}, to),
    do: Trace.start(machine, [], to: to, limit: @limit)

  @impl true
  def handle_call(:settle, _from, known), do: {:reply, :ok, known}

  @impl true
  def handle_info({:mote_trace, _ref, %Trace.Turn{behaviour: %Behaviour{} = behaviour} = turn}, known) do
    known = Map.put_new_lazy(known, behaviour.module, fn -> covered(behaviour.module) end)
    if beam = known[behaviour.module], do: again(behaviour, turn.message, beam)
    {:noreply, known}
  end

  def handle_info(_other, known), do: {:noreply, known}

  # The beam behaviours of a module whose lines are counted. Not every system with Erlang has `:cover`.
  defp covered(module), do: if(apply(:cover, :is_compiled, [module]), do: module.__mote__(:beam))

  # Whatever it does: a part of a value may be missing where the trace shows only its beginning.
  defp again(%{name: name, captures: captures} = behaviour, message, beam) do
    unless {name, tuple_size(captures)} in beam, do: Behaviour.turn(behaviour, message)
  catch
    _, _ -> :failed
  end
end
