defmodule Mote.Bench.Programs.Big do
  # `big` of the Savina suite: 120 actors, each of which sends n pings to others by lot, one when the one before is
  # answered. Everybody talks to everybody, so there are no ties to share along.
  @moduledoc false

  use Mote.Bench.Program,
    title: "120 actors send n pings each to one of them by lot, each when the one before is answered",
    param: :n,
    defaults: [5_000],
    small: 5,
    metric: :ns_per_message

  @size 120

  defmodule Actors do
    @moduledoc false
    use Mote.Behaviour

    defactor starter(players) do
      :start -> for player <- Tuple.to_list(players), do: send(player, {:players, players})
    end

    # `dice` makes the next number: the generator of Park and Miller.
    defactor player(left, dice, players, counter) do
      {:players, players} ->
        send elem(players, rem(dice, tuple_size(players))), {:ping, self()}
        become players: players, dice: rem(dice * 48_271, 2_147_483_647)

      {:ping, from} ->
        send from, :pong

      :pong when left > 1 ->
        send elem(players, rem(dice, tuple_size(players))), {:ping, self()}
        become left: left - 1, dice: rem(dice * 48_271, 2_147_483_647)

      :pong ->
        send counter, dice
    end

    defactor counter(left, sum, customer) do
      number when left > 1 -> become left: left - 1, sum: sum + number
      number -> send customer, sum + number
    end
  end

  @impl true
  def count(n), do: 2 * @size * n

  # The state of everybody's generator after n pings.
  @impl true
  def expected(n) do
    power = Integer.pow(48_271, n)
    Enum.sum(for seed <- 1..@size, do: rem(seed * power, 2_147_483_647))
  end

  @impl true
  def mote(machine, n) do
    counter = Mote.create(machine, Actors.counter(@size, 0, self()))
    players = for seed <- 1..@size, do: Mote.create(machine, Actors.player(n, seed, nil, counter))
    starter = Mote.create(machine, Actors.starter(List.to_tuple(players)))
    [run: fn _ -> answer(fn -> Mote.send(starter, :start) end) end]
  end
end
