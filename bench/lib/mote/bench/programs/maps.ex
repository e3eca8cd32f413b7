defmodule Mote.Bench.Programs.Maps do
  # A map of 10,000 integer keys, read and changed n times each, in two stages; the keys are in no order that a cache
  # would like. All of a stage is one turn of one actor, against one process.
  @moduledoc false

  @keys 10_000

  use Mote.Bench.Program,
    title: "a map of 10,000 keys: n gets, then n puts",
    param: :n,
    defaults: [1_000_000],
    small: 100,
    metric: :ns_per_get,
    expected: @keys,
    processes: 1

  alias Mote.Bench.Sample

  # Coprime to the number of keys: every key has its turn.
  @step 7_919

  defmodule Actors do
    use Mote.Behaviour

    defactor keeper(map) do
      {customer, {:get, n}} ->
        send customer, gets(map, n, 0, 0)

      {customer, {:put, n}} ->
        map = puts(map, n, 0)
        send customer, map_size(map)
        become keeper(map)
    end

    defpure gets(_, 0, _, sum), do: sum
    defpure gets(map, n, key, sum), do: gets(map, n - 1, rem(key + 7_919, 10_000), sum + Map.get(map, key))

    defpure puts(map, 0, _), do: map
    defpure puts(map, n, key), do: puts(Map.put(map, key, n), n - 1, rem(key + 7_919, 10_000))
  end

  defmodule Processes do
    @spec keeper(map) :: no_return
    def keeper(map) do
      receive do
        {customer, {:get, n}} ->
          send(customer, gets(map, n, 0, 0))
          keeper(map)

        {customer, {:put, n}} ->
          map = puts(map, n, 0)
          send(customer, map_size(map))
          keeper(map)
      end
    end

    defp gets(_, 0, _, sum), do: sum
    defp gets(map, n, key, sum), do: gets(map, n - 1, rem(key + 7_919, 10_000), sum + Map.get(map, key))

    defp puts(map, 0, _), do: map
    defp puts(map, n, key), do: puts(Map.put(map, key, n), n - 1, rem(key + 7_919, 10_000))
  end

  @impl true
  def measures(sample) do
    for stage <- [:get, :put], do: {:"ns_per_#{stage}", Sample.stage(sample, stage).ns / count(sample.param)}
  end

  @impl true
  def mote(machine, n) do
    keeper = Mote.create(machine, Actors.keeper(map()))
    stages(n, &Mote.send(keeper, &1))
  end

  @impl true
  def beam(n) do
    keeper = spawn(Processes, :keeper, [map()])
    stages(n, &send(keeper, &1))
  end

  defp map, do: Map.new(0..(@keys - 1), &{rem(&1 * @step, @keys), &1})

  defp stages(n, send) do
    [
      get: fn _ -> answer(fn -> send.({self(), {:get, n}}) end) end,
      put: fn _ -> answer(fn -> send.({self(), {:put, n}}) end) end
    ]
  end
end
