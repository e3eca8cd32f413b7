defmodule Mote.Bench.Programs.Users.Router do
  # n messages to topics of three levels, such as `s3/r17/temp`, for a thousand subscribers, four in ten of which have a filter with `+` or
  # `#`, as in MQTT. Each message comes to about seven of them. The filters are a trie of actors, from which messages go to actors
  # or to processes; beside it a trie in ETS, which the process that publishes walks through and sends to the same processes.
  @moduledoc false

  use Mote.Bench.Sides,
    title: "n messages to topics, of which 1,000 subscribers have filters with wildcards",
    defaults: [100_000],
    small: 100,
    metric: :ns_per_publish_mote,
    machines: [mote: [main: [threads: 1]]]

  @subscribers 1_000
  @batch 1_000

  defmodule Actors do
    use Mote.Behaviour

    # `here` are those whose filter ends here, `below` those whose filter goes on with `#`.
    defactor level(children, here, below) do
      {:publish, words, message} ->
        Enum.each(below, &send(&1, message))
        pass(children, here, words, message)

      {:subscribe, [], subscriber} ->
        become here: [subscriber | here]

      {:subscribe, ["#"], subscriber} ->
        become below: [subscriber | below]

      {:subscribe, [word | words], subscriber} when is_map_key(children, word) ->
        send Map.fetch!(children, word), {:subscribe, words, subscriber}

      {:subscribe, [word | words], subscriber} ->
        child = create level(%{}, [], [])
        send child, {:subscribe, words, subscriber}
        become children: Map.put(children, word, child)
    end

    defeffect pass(_children, here, [], message), do: Enum.each(here, &send(&1, message))

    defeffect pass(children, _here, [word | words], message) do
      for word <- [word, "+"], is_map_key(children, word) do
        send Map.fetch!(children, word), {:publish, words, message}
      end
    end

    defactor subscriber(count, sum) do
      {customer, :read} -> send customer, {count, sum}
      {:value, value} -> become subscriber(count + 1, sum + value)
    end
  end

  # Each level is a number, and the root is 0.
  defmodule Table do
    @spec subscribe(:ets.table(), [String.t()], pid, non_neg_integer) :: true
    def subscribe(table, words, pid, level \\ 0)
    def subscribe(table, [], pid, level), do: add(table, {level, :here}, pid)
    def subscribe(table, ["#"], pid, level), do: add(table, {level, :below}, pid)

    def subscribe(table, [word | words], pid, level) do
      :ets.insert_new(table, {{level, word}, :ets.info(table, :size) + 1})
      subscribe(table, words, pid, :ets.lookup_element(table, {level, word}, 2))
    end

    defp add(table, key, pid) do
      :ets.insert_new(table, {key, []})
      :ets.insert(table, {key, [pid | :ets.lookup_element(table, key, 2)]})
    end

    @spec publish(:ets.table(), [String.t()], term, non_neg_integer) :: :ok
    def publish(table, words, message, level \\ 0) do
      tell(table, {level, :below}, message)
      pass(table, words, message, level)
    end

    defp pass(table, [], message, level), do: tell(table, {level, :here}, message)

    defp pass(table, [word | words], message, level) do
      for word <- [word, "+"], [{_, child}] <- [:ets.lookup(table, {level, word})] do
        publish(table, words, message, child)
      end

      :ok
    end

    defp tell(table, key, message) do
      with [{_, pids}] <- :ets.lookup(table, key), do: Enum.each(pids, &send(&1, message))
      :ok
    end
  end

  @impl true
  def works(machine, n) do
    [
      {:publish, n,
       mote: fn -> trie(machine, n, processes()) end,
       ets: fn -> table(n) end,
       mote_actors: fn ->
         trie(machine, n, Mote.create_many(machine, Actors.subscriber(0, 0), @subscribers))
       end}
    ]
  end

  defp trie(machine, n, subscribers) do
    root = Mote.create(machine, Actors.level(%{}, [], []))

    for {filter, subscriber} <- Enum.zip(filters(), subscribers),
        do: Mote.send(root, {:subscribe, filter, subscriber})

    batches = for batch <- batches(n), do: for({words, message} <- batch, do: {:publish, words, message})

    fn ->
      Enum.each(batches, &Mote.send_many(root, &1))
      :ok = Mote.drain(machine, :infinity)
      read(subscribers, fn -> :ok end)
    end
  end

  defp table(n) do
    table = :ets.new(:trie, [:public, read_concurrency: true])
    subscribers = processes()
    for {filter, pid} <- Enum.zip(filters(), subscribers), do: Table.subscribe(table, filter, pid)
    batches = batches(n)

    fn ->
      for batch <- batches, {words, message} <- batch, do: Table.publish(table, words, message)
      read(subscribers, fn -> :ets.delete(table) end)
    end
  end

  # What each has had.
  defp read([%Mote.Address{} | _] = actors, remove) do
    counts = for {:ok, counts} <- Mote.ask_all(actors, :read, :infinity), do: counts
    fn -> remove.() && counts end
  end

  defp read(pids, remove) do
    for pid <- pids, do: send(pid, {self(), :read})
    counts = for pid <- pids, do: receive(do: ({^pid, counts} -> counts))

    fn ->
      for pid <- pids, do: send(pid, :stop)
      remove.() && counts
    end
  end

  defp processes, do: for(_ <- 1..@subscribers, do: spawn_link(fn -> subscriber(0, 0) end))

  defp subscriber(count, sum) do
    receive do
      {:value, value} ->
        subscriber(count + 1, sum + value)

      {from, :read} ->
        send(from, {self(), {count, sum}})
        subscriber(count, sum)

      :stop ->
        :ok
    end
  end

  @doc "The filters of the subscribers."
  @spec filters() :: [[String.t()]]
  def filters do
    for i <- 1..@subscribers do
      [site, room, kind] = topic(i * 7_919)

      case rem(div(i, 20), 10) do
        6 -> [site, "+", kind]
        7 -> [site, room, "#"]
        8 -> ["+", room, kind]
        9 -> [site, "#"]
        _ -> [site, room, kind]
      end
    end
  end

  @doc "What is published, by batches."
  @spec batches(pos_integer) :: [[{topic :: [String.t()], message :: tuple}]]
  def batches(n), do: for(i <- 1..n, do: {topic(i * 31), {:value, i}}) |> Enum.chunk_every(@batch)

  # 20 sites of 50 rooms, with 5 kinds of messages each.
  defp topic(i) do
    kind = Enum.at(~w(temp door light power smoke), rem(div(i, 1_000), 5))
    ["s#{rem(i, 20)}", "r#{rem(div(i, 20), 50)}", kind]
  end
end
