defmodule World do
  @moduledoc """
  A game world: entities that walk through zones, each an actor of its own, watched through one outbox.

      iex> world = World.start(walkers: 5_000, threads: 2, seed: 1)
      iex> for _ <- 1..30, do: World.tick(world)
      iex> zones = World.watch(world)
      iex> zones |> Map.values() |> Enum.sum()
      5_000
      iex> World.stop(world)
      :ok
  """
  alias World.{Region, Zone}

  @zones 1_024

  @enforce_keys [:machine, :outbox, :regions, :zones]
  defstruct [:machine, :outbox, :regions, :zones]

  @type t :: %__MODULE__{}

  @doc "Makes a world. Options: `:walkers`, `:threads`, `:seed`. The calling process is the one that watches."
  @spec start(keyword) :: t
  def start(opts \\ []) do
    opts = Map.new(Keyword.merge([walkers: 10_000, threads: 1, seed: 1], opts))
    sponsors = for n <- 1..opts.threads, do: :"region_#{n}"

    # Zones leave some garbage. With that much room hardly any tick meets a collection.
    gc = [min: 512 * 1024 * 1024]
    {:ok, machine} = Mote.start_link(sponsors: Enum.map(sponsors, &{&1, threads: 1}), gc: gc)
    outbox = Mote.Outbox.open(machine)
    parts = Enum.chunk_every(0..(@zones - 1), div(@zones + opts.threads - 1, opts.threads))

    zones =
      for {sponsor, numbers} <- Enum.zip(sponsors, parts) do
        Mote.create_many(machine, Enum.map(numbers, &Zone.zone({&1, outbox})), sponsor: sponsor)
      end

    all = List.to_tuple(List.flatten(zones))
    share = div(opts.walkers, opts.threads)

    regions =
      for {{sponsor, mine}, n} <- Enum.with_index(Enum.zip(sponsors, zones)) do
        region = Mote.create(machine, Region.region(all, mine, sponsor), sponsor: sponsor)
        last = if n + 1 == opts.threads, do: opts.walkers, else: (n + 1) * share
        Mote.send(region, {:make, self(), n * share + 1, last, opts.seed})
        region
      end

    for _ <- regions, do: receive(do: (:made -> :ok))
    :ok = Mote.drain(machine, :infinity)
    %__MODULE__{machine: machine, outbox: outbox, regions: regions, zones: %{}}
  end

  @doc "One tick: everybody moves, and then the zones tell the outbox who is where."
  @spec tick(t) :: :ok
  def tick(world), do: Enum.each([:tick, :tell], &everywhere(world, &1))

  # What zones tell must not depend on what has come when: so nobody tells before all have moved.
  defp everywhere(world, message) do
    for region <- world.regions, do: Mote.send(region, message)
    :ok = Mote.drain(world.machine, :infinity)
  end

  @doc "Takes what the zones have told since the last time, as a map from the number of a zone to how many are there."
  @spec watch(t, %{non_neg_integer => non_neg_integer}) :: %{non_neg_integer => non_neg_integer}
  def watch(world, zones \\ %{}) do
    case Mote.Outbox.take(world.outbox, 10_000) do
      [] -> zones
      told -> watch(world, Map.merge(zones, Map.new(told)))
    end
  end

  @doc "Ends the world."
  @spec stop(t) :: :ok
  def stop(world), do: Mote.stop(world.machine)
end
