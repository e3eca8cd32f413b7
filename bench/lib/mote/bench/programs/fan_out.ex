defmodule Mote.Bench.Programs.FanOut do
  # A room with n subscribers, each of them a process, that tells all of them the same: a tuple of two, then a map with a text. From the
  # message to the room until the last process has had its own, about ten thousand messages at a time. On the BEAM side the room is a
  # process, and beside it stands `Registry.dispatch/3`, as Phoenix.PubSub uses it.
  @moduledoc false

  use Mote.Bench.Program,
    title: "a room tells n processes the same, 100,000 messages in all, then what is larger",
    param: :n,
    defaults: [1, 10, 1_000, 10_000],
    small: 20,
    metric: :ns_per_row,
    expected: :ok,
    processes: &(2 * &1 + 1)

  alias Mote.Bench.Sample

  @messages 100_000
  @at_once 10_000

  defmodule Actors do
    use Mote.Behaviour

    defactor room(pids) do
      {:tell, message} -> for pid <- pids, do: send(pid, message)
    end
  end

  @impl true
  def measures(%Sample{stages: stages, param: n}) do
    for %{name: name, ns: ns} <- stages,
        name != :end,
        do: {:"ns_per_#{name}", ns / (rounds(n) * at_once(n) * n)}
  end

  @impl true
  def mote(machine, n) do
    {pids, left} = subscribers(n)
    room = Mote.create(machine, Actors.room(pids))
    stages(n, left, "", &Mote.send(room, {:tell, &1}))
  end

  @impl true
  def beam(n) do
    {pids, left} = subscribers(n)
    room = spawn_link(fn -> room(pids) end)
    registry = __MODULE__.Registry
    {:ok, started} = Registry.start_link(keys: :duplicate, name: registry)
    # They end with the registry.
    {listed, listed_left} =
      subscribers(n, &spawn/1, fn -> {:ok, _} = Registry.register(registry, :room, nil) end)

    for pid <- listed do
      send(pid, {:ready, self()})
      receive(do: ({^pid, :ready} -> :ok))
    end

    dispatch = fn message ->
      Registry.dispatch(registry, :room, &for({pid, _} <- &1, do: send(pid, message)))
    end

    stages(n, left, "", &send(room, {:tell, &1})) ++
      stages(n, listed_left, "registry_", dispatch) ++ [end: fn _ -> Supervisor.stop(started) end]
  end

  defp stages(n, left, prefix, tell) do
    map = %{event: "message", topic: "room:lobby", payload: %{from: 17, text: String.duplicate("text ", 20)}}

    for {name, message} <- [row: {:number, 17}, map: map] do
      {:"#{prefix}#{name}", fn _ -> repeat(rounds(n), fn -> round(left, n, fn -> tell.(message) end) end) end}
    end
  end

  # The last one that has had its message says so.
  defp round(left, n, tell) do
    :atomics.put(left, 1, n * at_once(n))
    repeat(at_once(n), tell)
    receive(do: (:told -> :ok))
  end

  defp subscribers(n, spawn \\ &spawn_link/1, first \\ fn -> :ok end) do
    left = :atomics.new(1, [])
    owner = self()
    {for(_ <- 1..n, do: spawn.(fn -> first.() && subscriber(owner, left) end)), left}
  end

  defp subscriber(owner, left) do
    receive do
      {:ready, from} -> send(from, {self(), :ready})
      _ -> if :atomics.sub_get(left, 1, 1) == 0, do: send(owner, :told)
    end

    subscriber(owner, left)
  end

  defp room(pids) do
    receive(do: ({:tell, message} -> Enum.each(pids, &send(&1, message))))
    room(pids)
  end

  defp at_once(n), do: max(div(@at_once, n), 1)
  defp rounds(n), do: div(@messages, n * at_once(n))
end
