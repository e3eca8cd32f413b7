defmodule Mote.Bench.Programs.Savina.ConcurrentDictionary do
  # The concurrent dictionary of the Savina suite (`concdict`: 20 workers, 10,000 requests each, a tenth of them writes): one
  # actor owns a map, and each worker sends its next request when the one before is answered.
  #
  # Differences: there are 10,000 keys and not 524,287, and what is written under a key follows from the key, so that the
  # dictionary ends the same in whatever order requests come.
  @moduledoc false

  @workers 20

  use Mote.Bench.Program,
    title: "20 workers make n requests each to one dictionary, a tenth of them writes",
    param: :n,
    defaults: [10_000],
    small: 30,
    metric: :ns_per_request,
    count: &(&1 * @workers),
    processes: @workers + 1

  alias Mote.Bench.Dice

  @keys 10_000

  defmodule Actors do
    use Mote.Behaviour

    @keys 10_000

    defactor dictionary(entries, working, customer) do
      {worker, {:read, key}} ->
        send worker, entries[key]

      {worker, {:write, key, value}} ->
        send worker, value
        become entries: Map.put(entries, key, value)

      :done when working > 1 ->
        become working: working - 1

      :done ->
        send customer, Enum.sum(Map.values(entries))
    end

    # `dice`: the generator of Park and Miller, each for itself.
    defactor worker(left, dice, dictionary) do
      _answer when left == 0 ->
        send dictionary, :done

      _answer ->
        dice = rem(dice * 48_271, 2_147_483_647)
        send dictionary, {self(), request(dice)}
        become left: left - 1, dice: dice
    end

    defpure request(dice) when rem(dice, 10) == 0,
      do: {:write, rem(div(dice, 10), @keys), -rem(div(dice, 10), @keys)}

    defpure request(dice), do: {:read, rem(div(dice, 10), @keys)}
  end

  defmodule Processes do
    @keys 10_000

    @spec dictionary(map, non_neg_integer, pid) :: term
    def dictionary(entries, 0, customer), do: send(customer, Enum.sum(Map.values(entries)))

    def dictionary(entries, working, customer) do
      receive do
        {worker, {:read, key}} ->
          send(worker, entries[key])
          dictionary(entries, working, customer)

        {worker, {:write, key, value}} ->
          send(worker, value)
          dictionary(Map.put(entries, key, value), working, customer)

        :done ->
          dictionary(entries, working - 1, customer)
      end
    end

    @spec worker(non_neg_integer, pos_integer, pid) :: term
    def worker(left, dice, dictionary) do
      receive do
        _answer when left == 0 ->
          send(dictionary, :done)

        _answer ->
          dice = rem(dice * 48_271, 2_147_483_647)
          send(dictionary, {self(), request(dice)})
          worker(left - 1, dice, dictionary)
      end
    end

    defp request(dice) when rem(dice, 10) == 0 do
      {:write, rem(div(dice, 10), @keys), -rem(div(dice, 10), @keys)}
    end

    defp request(dice), do: {:read, rem(div(dice, 10), @keys)}
  end

  # By the keys that are written, without a dictionary that anybody asks.
  @impl true
  def expected(n) do
    written =
      for worker <- 1..@workers,
          dice <- Dice.rolls(worker, n),
          rem(dice, 10) == 0,
          into: MapSet.new(),
          do: rem(div(dice, 10), @keys)

    div(@keys * (@keys - 1), 2) - 2 * Enum.sum(written)
  end

  @impl true
  def mote(machine, n) do
    dictionary = Mote.create(machine, Actors.dictionary(entries(), @workers, self()))
    workers = for seed <- 1..@workers, do: Mote.create(machine, Actors.worker(n, seed, dictionary))
    all = Mote.create(machine, Mote.Library.broadcast(workers))
    [run: asking(all, :start)]
  end

  @impl true
  def beam(n) do
    dictionary = spawn(Processes, :dictionary, [entries(), @workers, self()])
    workers = for seed <- 1..@workers, do: spawn(Processes, :worker, [n, seed, dictionary])
    [run: fn _ -> answer(fn -> for(worker <- workers, do: send(worker, :start)) end) end]
  end

  defp entries, do: Map.new(0..(@keys - 1), &{&1, &1})
end
