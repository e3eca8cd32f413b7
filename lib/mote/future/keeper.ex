defmodule Mote.Future.Keeper do
  # The process of an environment: it holds the sponsor, and removes it when the environment is released or
  # its owner dies, however that happens. Calls the hooks of futures that are finished.
  #
  # 1. A hook runs in a process of its own, one at a time: however that ends, and whatever it receives, the keeper goes on
  #    and misses nothing.
  # 2. It is gone some time after its owner: the process that should have announced a future may have been
  #    killed, so it also checks by itself whether the future is finished.
  @moduledoc false

  use GenServer, restart: :temporary

  require Logger

  alias Mote.{Error, Future, Native}

  # In milliseconds, after the last message.
  @patience 100

  @doc "Starts one for the calling process; returns the name of its sponsor too."
  @spec start(reference, reference, keyword, list) ::
          {:ok, pid, atom} | {:error, Error.t() | %ArgumentError{}}
  def start(native, resource, sponsor, hooks) do
    with {:ok, keeper} <- GenServer.start(__MODULE__, {self(), native, resource, sponsor, hooks}) do
      {:ok, keeper, GenServer.call(keeper, :sponsor, :infinity)}
    end
  catch
    # Gone with the machine, between the two.
    :exit, _ -> {:error, Error.from(:stopped, machine: Native.machine_owner(native))}
  end

  @doc "Has the hooks called when the future is finished."
  @spec watch(pid, Mote.Future.t()) :: :ok
  def watch(keeper, future), do: GenServer.cast(keeper, {:watch, future})

  @doc "Ends it, when all hooks have been called and the sponsor is gone."
  @spec release(pid, reference, atom) :: :ok
  def release(keeper, native, sponsor) do
    GenServer.call(keeper, :release, :infinity)
  catch
    # Gone with the machine, or killed, and then the sponsor is still there.
    :exit, _ ->
      Mote.remove_sponsor(Native.machine_owner(native), sponsor)
      :ok
  end

  @impl GenServer
  def init({owner, native, resource, sponsor, hooks}) do
    machine = Native.machine_owner(native)

    case add_sponsor(machine, sponsor, 1) do
      {:ok, name} ->
        {:ok,
         %{
           machine: machine,
           native: native,
           resource: resource,
           sponsor: name,
           hooks: hooks,
           watched: %{},
           owner_down: Process.monitor(owner),
           machine_down: Process.monitor(machine)
         }}

      {:error, error} ->
        {:stop, error}
    end
  rescue
    # The owner is to hear it: what it wants is more than its machine has.
    error in ArgumentError -> {:stop, error}
  end

  # Names are reused, so their number is that of the environments at once: atoms are never collected.
  defp add_sponsor(machine, opts, n) do
    name = :"future_#{n}"

    case Mote.add_sponsor(machine, name, opts) do
      :ok -> {:ok, name}
      {:error, %Error{reason: :sponsor_exists}} -> add_sponsor(machine, opts, n + 1)
      {:error, error} -> {:error, error}
    end
  end

  @impl GenServer
  def handle_call(:sponsor, _from, state), do: {:reply, state.sponsor, state}

  def handle_call(:release, _from, state) do
    state = finish_all(state)
    Mote.remove_sponsor(state.machine, state.sponsor)
    {:stop, :normal, :ok, state}
  end

  @impl GenServer
  def handle_cast({:watch, %Future{} = future}, state) do
    tag = make_ref()
    asker = Native.future_wait(state.native, future.ref, tag)
    {:noreply, put_in(state.watched[tag], {future, asker})}
  end

  @impl GenServer
  def handle_info({tag, _told}, state) when is_map_key(state.watched, tag), do: {:noreply, finish(state, tag)}

  # Its machine is down: what is not finished never will be.
  def handle_info({:DOWN, ref, :process, _, _}, %{machine_down: ref} = state) do
    {:stop, :normal, Enum.reduce(Map.keys(state.watched), state, &finish(&2, &1))}
  end

  # Its owner is.
  def handle_info({:DOWN, ref, :process, _, _}, %{owner_down: ref} = state) do
    Native.environment_kill(state.resource, true)
    state = finish_all(state)
    Mote.remove_sponsor(state.machine, state.sponsor)
    {:stop, :normal, state}
  end

  # A machine that ends tells callers that wait for a future, too.
  def handle_info({tag, :mote_failed, _reason}, state) when is_reference(tag), do: {:noreply, state}

  use Mote.Internal.Stray

  defp who(state), do: "keeper #{inspect(self())} of sponsor #{inspect(state.sponsor)}"

  # All of them are finished, and their messages are here or on their way, if they come at all (invariant 2), or the
  # machine is down.
  defp finish_all(%{watched: watched} = state) when watched == %{}, do: state

  defp finish_all(%{watched: watched, machine_down: ref} = state) do
    receive do
      {tag, _told} when is_map_key(watched, tag) -> finish_all(finish(state, tag))
      {:DOWN, ^ref, :process, _, _} -> Enum.reduce(Map.keys(watched), state, &finish(&2, &1))
    after
      @patience ->
        finished = for {tag, {future, _}} <- watched, Future.finished?(future), do: tag
        finished |> Enum.reduce(state, &finish(&2, &1)) |> finish_all()
    end
  end

  defp finish(state, tag) do
    {{future, _asker}, state} = pop_in(state.watched[tag])
    Enum.each(state.hooks, &call(&1, future))
    state
  end

  # Invariant 1. A process that a hook starts and links to may fail without taking the hook along.
  defp call(hook, future) do
    {pid, ref} =
      spawn_monitor(fn ->
        Process.flag(:trap_exit, true)

        try do
          hook.(future)
        catch
          kind, reason -> failed(future, Exception.format(kind, reason, __STACKTRACE__))
        end
      end)

    receive do
      {:DOWN, ^ref, :process, ^pid, :normal} -> :ok
      {:DOWN, ^ref, :process, ^pid, reason} -> failed(future, Exception.format(:exit, reason))
    end
  end

  defp failed(future, why), do: Logger.error("a hook of #{inspect(future)} failed: #{why}")
end
