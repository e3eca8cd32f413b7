defmodule Mote.World do
  @moduledoc """
  One scenario on several machines: on `Mote.Reference`, on a machine of one thread, and on seeded ones of several.

  A scenario is a function of a world: it creates actors, sends, and lets time pass. Customers are outside, and what they
  hear is what laws are about.

      World.everywhere(seed, fn world ->
        once = World.create(world, Mote.Library.once(World.customer(world, :me)))
        World.send(world, once, 1)
      end, fn heard -> assert heard.me == [1] end)

  What is sent between two `advance/2` enters a seeded machine at once, so that its turns come in many orders.
  """

  alias Mote.Reference

  defstruct [:machine]

  @doc "Calls `check` with what is heard, a map of lists by the names of the customers, for each kind of machine."
  def everywhere(seed, scenario, check) do
    in_order(scenario, check)
    check.(run({:seeded, seed}, scenario))
    :ok
  end

  @doc "As `everywhere/3`, without the machines that promise no order."
  def in_order(scenario, check) do
    check.(run(:reference, scenario))
    check.(run(:machine, scenario))
    :ok
  end

  @doc """
  What the customer that `behaviour` is given hears, which is the same everywhere, when all of these messages are queued for an actor
  of it at once.
  """
  def told(behaviour, messages) do
    scenario = fn world ->
      actor = create(world, behaviour.(customer(world, :log)))
      for message <- messages, do: send(world, actor, message)
    end

    told = run(:reference, scenario).log
    everywhere(:erlang.phash2(messages), scenario, fn heard -> ^told = heard.log end)
    told
  end

  @doc "What is heard in a scenario on the reference, on a machine of one thread, or on a seeded one."
  def run(:reference, scenario) do
    Process.put(__MODULE__, Reference.new())
    Process.put({__MODULE__, :names}, [])
    scenario.(%__MODULE__{})
    outside = Reference.outside(Reference.run(Process.delete(__MODULE__)))
    names = Process.delete({__MODULE__, :names})
    Map.new(names, fn name -> {name, for({^name, message} <- outside, do: message)} end)
  end

  # Scenarios know nothing of each other: one machine will do for all of a test.
  def run(:machine, scenario) do
    machine =
      with nil <- Process.get({__MODULE__, :machine}) do
        {:ok, machine} = Mote.start_link(clock: :manual)
        Process.put({__MODULE__, :machine}, machine)
        machine
      end

    run_on(machine, scenario)
  end

  def run({:seeded, _} = schedule, scenario) do
    # Not to compile the library for each.
    opts = [clock: :manual, schedule: schedule, sponsors: [main: [threads: 4]], tier: :interp]
    {:ok, machine} = Mote.start_link(opts)
    heard = run_on(machine, scenario)
    Mote.stop(machine)
    heard
  end

  defp run_on(machine, scenario) do
    Process.put({__MODULE__, :names}, [])
    :ok = Mote.pause(machine)
    scenario.(%__MODULE__{machine: machine})
    :ok = Mote.resume(machine)
    :ok = Mote.drain(machine, 60_000)

    Map.new(Process.delete({__MODULE__, :names}), fn {name, ear} ->
      {name, GenServer.call(ear, :heard)}
    end)
  end

  @doc "A customer outside of the world."
  def customer(%{machine: nil}, name) do
    Process.put({__MODULE__, :names}, Enum.uniq([name | Process.get({__MODULE__, :names})]))
    Reference.customer(name)
  end

  def customer(_world, name) do
    names = Process.get({__MODULE__, :names})

    case List.keyfind(names, name, 0) do
      {_, pid} ->
        pid

      nil ->
        {:ok, pid} = GenServer.start_link(__MODULE__.Ear, [])
        Process.put({__MODULE__, :names}, [{name, pid} | names])
        pid
    end
  end

  def create(%{machine: nil}, behaviour) do
    {address, ref} = Reference.create(Process.get(__MODULE__), behaviour)
    Process.put(__MODULE__, ref)
    address
  end

  def create(%{machine: machine}, behaviour), do: Mote.create(machine, behaviour)

  def send(%{machine: nil}, target, message) do
    Process.put(__MODULE__, Reference.send(Process.get(__MODULE__), target, message))
    :ok
  end

  def send(_world, target, message), do: Mote.send(target, message)

  @doc "Lets everything be done that was sent before, then time pass."
  def advance(%{machine: nil}, milliseconds) do
    Process.put(__MODULE__, Reference.advance(Process.get(__MODULE__), milliseconds))
    :ok
  end

  def advance(%{machine: machine}, milliseconds) do
    :ok = Mote.resume(machine)
    :ok = Mote.advance(machine, milliseconds)
    :ok = Mote.pause(machine)
  end

  defmodule Ear do
    @moduledoc false
    # Keeps every message that is no call.
    use GenServer

    @impl true
    def init(heard), do: {:ok, heard}

    @impl true
    def handle_call(:heard, _from, heard), do: {:stop, :normal, Enum.reverse(heard), []}

    @impl true
    def handle_info(message, heard), do: {:noreply, [message | heard]}
  end
end
