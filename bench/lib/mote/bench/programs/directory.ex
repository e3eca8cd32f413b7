defmodule Mote.Bench.Programs.Directory do
  # n actors, each with a key, in an order that no cache would like: started on first use by eight actors that send to them
  # by key; then a message to each by its address, and one by its key; then the same from a process. On the BEAM the keys are
  # in a `Registry`, and one process sends. The bytes are what is live after a collection, less the 16 of each actor.
  @moduledoc false

  use Mote.Bench.Program,
    title: "n actors with a key each: started by it, then sent to by address and by key",
    param: :n,
    defaults: [1_000_000],
    small: 1_000,
    metric: :ns_per_key_send,
    expected: & &1,
    processes: & &1,
    plot: [sizes: [10_000, 100_000], full: [10_000, 100_000, 1_000_000], kind: :bars]

  alias Mote.{Bench.Sample, Directory}

  @senders 8
  # What one turn sends.
  @turn 500
  @actor 16

  defmodule Actors do
    use Mote.Behaviour

    defactor tally(n) do
      k -> become n: n + k
    end

    defdirectory tallies() do
      _ -> tally(0)
    end

    defactor sender(directory, keys, addresses) do
      {:hold, :keys, turns} ->
        become keys: turns

      {:hold, :addresses, turns} ->
        become addresses: turns

      :keys ->
        send self(), {:keys, keys}

      :addresses ->
        send self(), {:addresses, addresses}

      {:keys, [turn | turns]} ->
        Enum.each(turn, &Mote.Directory.send(directory, &1, 1))
        send self(), {:keys, turns}

      {:addresses, [turn | turns]} ->
        Enum.each(turn, &send(&1, 1))
        send self(), {:addresses, turns}
    end
  end

  defmodule Processes do
    @spec start(atom, term, pid) :: no_return
    def start(registry, key, parent) do
      {:ok, _} = Registry.register(registry, key, nil)
      send(parent, :ready)
      tally(0)
    end

    defp tally(n) do
      receive do
        {:read, parent} ->
          send(parent, {:count, n})
          tally(n)

        k ->
          tally(n + k)
      end
    end
  end

  @impl true
  def measures(%Sample{param: n, stages: stages} = sample) do
    for(
      %{name: name, ns: ns} <- stages,
      name not in [:prepare, :look, :check],
      do: {:"ns_per_#{name}", ns / n}
    ) ++
      sample.figures
  end

  @impl true
  def mote(machine, n) do
    directory = Directory.start(machine, Actors.tallies(), shards: n |> div(24) |> max(64) |> min(65_536))
    senders = senders(machine, directory)
    keys = keys(n)
    hold(machine, senders, :keys, keys)
    :ok = Mote.gc(machine)
    before = Mote.info(machine).gc.live_bytes

    [
      start: fn _ -> all(machine, senders, :keys) end,
      look: fn _ ->
        :ok = Mote.gc(machine)
        live = Mote.info(machine).gc.live_bytes
        {:figures, [bytes_per_entry: (live - before) / n - @actor], nil}
      end,
      prepare: fn _ ->
        table = Map.new(Directory.stream(directory))
        addresses = Enum.map(keys, &Map.fetch!(table, &1))
        hold(machine, senders, :addresses, addresses)
        addresses
      end,
      address_send: fn addresses ->
        all(machine, senders, :addresses)
        addresses
      end,
      key_send: fn addresses ->
        all(machine, senders, :keys)
        addresses
      end,
      address_send_from_elixir: fn addresses -> Enum.each(addresses, &Mote.send(&1, 1)) end,
      # Without the addresses: collecting those is not to be part of what follows.
      prepare: fn _ ->
        :erlang.garbage_collect()
        Mote.drain(machine, :infinity)
      end,
      key_send_from_elixir: fn _ -> Enum.each(keys, &Directory.send(directory, &1, 1)) end,
      check: fn _ ->
        Mote.drain(machine, :infinity)
        Directory.count(directory)
      end
    ]
  end

  @doc "The actors that send, by keys and by addresses that they hold."
  @spec senders(Mote.Machine.t(), Directory.t()) :: [Mote.Address.t()]
  def senders(machine, directory) do
    for _ <- 1..@senders, do: Mote.create(machine, Actors.sender(directory, [], []))
  end

  @doc "Gives each of the senders a share of keys or addresses."
  @spec hold(Mote.Machine.t(), [Mote.Address.t()], :keys | :addresses, list) :: :ok
  def hold(machine, senders, kind, what) do
    shares = what |> Enum.chunk_every(ceil(length(what) / @senders)) |> Enum.map(&Enum.chunk_every(&1, @turn))
    for {sender, turns} <- Enum.zip(senders, shares), do: :ok = Mote.send(sender, {:hold, kind, turns})
    :ok = Mote.drain(machine, :infinity)
  end

  @doc "Lets them send to all that they hold."
  @spec all(Mote.Machine.t(), [Mote.Address.t()], :keys | :addresses) :: :ok
  def all(machine, senders, kind) do
    for sender <- senders, do: :ok = Mote.send(sender, kind)
    :ok = Mote.drain(machine, :infinity)
  end

  @impl true
  def beam(n) do
    # One for each run: those who are registered there end with it.
    registry = :"#{inspect(__MODULE__)} #{System.unique_integer([:positive])}"

    {:ok, supervisor} =
      Registry.start_link(keys: :unique, name: registry, partitions: System.schedulers_online())

    keys = keys(n)
    me = self()

    [
      start: fn _ ->
        for key <- keys, do: spawn(Processes, :start, [registry, key, me])
        for _ <- keys, do: receive(do: (:ready -> :ok))
      end,
      prepare: fn _ -> for key <- keys, do: registry |> Registry.lookup(key) |> hd() |> elem(0) end,
      address_send: fn pids ->
        Enum.each(pids, &send(&1, 1))
        pids
      end,
      prepare: fn pids -> answered(pids) end,
      key_send: fn pids ->
        for key <- keys do
          [{pid, _}] = Registry.lookup(registry, key)
          send(pid, 1)
        end

        pids
      end,
      check: fn pids ->
        count = length(answered(pids))
        Supervisor.stop(supervisor)
        count
      end
    ]
  end

  defp answered(pids) do
    for pid <- pids, do: send(pid, {:read, self()})
    for _ <- pids, do: receive(do: ({:count, _} -> :ok))
    pids
  end

  @doc "All keys once, each far from the one before."
  @spec keys(pos_integer) :: [non_neg_integer]
  def keys(n), do: for(i <- 1..n, do: rem(i * 7_919, n))
end
