defmodule Mote.FarSchedule do
  @moduledoc """
  What a random schedule does on each of its nodes (`test/mote/far_schedule_test.exs`). Each node has a machine, and one process, the
  holder, which keeps the addresses that this node has, by number, and does everything that a process can do with them.
  """

  defmodule Boxes do
    @moduledoc false
    use Mote.Behaviour

    # Keeps addresses by number, and tokens. What is forgotten may come later than the order to forget it.
    defactor box(kept, forgotten, tokens) do
      {customer, :tokens} ->
        send customer, Enum.reverse(tokens)

      {customer, {:give, n}} ->
        send customer, Map.get(kept, n)

      {customer, {:relay, n, token}} ->
        case Map.get(kept, n) do
          nil ->
            send customer, false

          address ->
            send address, {:token, token}
            send customer, true
        end

      {:take, n, address} ->
        if Enum.member?(forgotten, n),
          do: become(forgotten: List.delete(forgotten, n)),
          else: become(kept: Map.put(kept, n, address))

      {:forget, n} ->
        if Map.has_key?(kept, n),
          do: become(kept: Map.delete(kept, n)),
          else: become(forgotten: [n | forgotten])

      {:token, token} ->
        become tokens: [token | tokens]
    end
  end

  @machine FarSchedule.Machine

  @doc "Runs a function of this module on a node."
  def at({peer, _node}, function, args \\ []), do: :peer.call(peer, __MODULE__, function, args, 120_000)

  @doc "A machine and a holder, which stay."
  def start do
    caller = self()

    spawn(fn ->
      {:ok, _} = Mote.start_link(name: @machine, sponsors: [main: [threads: 2]])
      Process.register(self(), __MODULE__)
      send(caller, :started)
      hold(%{})
    end)

    receive do
      :started -> :ok
    end
  end

  defp hold(held) do
    {answer, held} =
      receive do
        {:do, from, step} ->
          {answer, held} = step(step, held)
          {{from, answer}, held}

        {:moved, n, {:ok, address}} ->
          {nil, Map.put(held, n, address)}
      end

    # Nothing but what is held stays on the heap.
    with {from, answer} <- answer, do: send(from, {:done, answer})
    :erlang.garbage_collect()
    hold(held)
  end

  @doc "Lets the holder of this node do something, and returns what it says."
  def step(step) do
    send(__MODULE__, {:do, self(), step})

    receive do
      {:done, answer} -> answer
    end
  end

  defp step({:create, n}, held) do
    {:ok, Map.put(held, n, Mote.create(@machine, Boxes.box(%{}, [], [])))}
  end

  defp step({:tokens, n, tokens}, held) do
    for token <- tokens, do: :ok = Mote.send(held[n], {:token, token})
    {:ok, held}
  end

  defp step({:take, n, number, other}, held), do: {Mote.send(held[n], {:take, number, held[other]}), held}
  defp step({:forget, n, number}, held), do: {Mote.send(held[n], {:forget, number}), held}
  defp step({:relay, n, number, token}, held), do: {Mote.ask!(held[n], {:relay, number, token}, 60_000), held}

  defp step({:give, n, number, other}, held) do
    case Mote.ask!(held[n], {:give, number}, 60_000) do
      nil -> {false, held}
      address -> {true, Map.put(held, other, address)}
    end
  end

  defp step({:drop, n}, held), do: {:ok, Map.delete(held, n)}

  # Meanwhile the schedule goes on.
  defp step({:move, n, new, node}, held) do
    holder = self()
    address = held[n]
    spawn(fn -> send(holder, {:moved, new, Mote.move(address, {@machine, node}, timeout: 60_000)}) end)
    {:ok, held}
  end

  defp step({:moved?, n}, held), do: {is_map_key(held, n), held}

  # What actors have got: `{n, numbers}` is the one that is found from an address that is held by what actors keep.
  defp step({:look, paths}, held), do: {Enum.map(paths, fn {n, path} -> look(held[n], path) end), held}

  defp look(nil, _path), do: nil
  defp look(address, []), do: Mote.ask!(address, :tokens, 60_000)
  defp look(address, [n | path]), do: address |> Mote.ask!({:give, n}, 60_000) |> look(path)

  @doc "Collects on this node, and returns how many actors it has."
  def collect do
    Enum.each(Process.list(), &:erlang.garbage_collect/1)
    Mote.gc(@machine)
    Mote.info(@machine).gc.live_actors
  end

  @doc "How many announcements of this node are listed, for all others."
  def listed, do: Enum.sum(for {_, %{listed: listed}} <- Mote.nodes(), do: listed)
end
