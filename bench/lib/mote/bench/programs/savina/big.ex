defmodule Mote.Bench.Programs.Savina.Big do
  # `big` of the Savina suite: 120 actors, each of which sends n pings to others by lot, one when the one before is
  # answered. Everybody talks to everybody, so there are no ties to share along.
  @moduledoc false

  @size 120

  use Mote.Bench.Program,
    title: "120 actors send n pings each to one of them by lot, each when the one before is answered",
    param: :n,
    defaults: [20_000],
    small: 5,
    metric: :ns_per_message,
    count: &(2 * @size * &1),
    processes: @size + 1

  defmodule Actors do
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

  defmodule Processes do
    @spec player(pos_integer, pos_integer, pid) :: term
    def player(left, dice, counter) do
      receive do
        {:players, players} ->
          send(elem(players, rem(dice, tuple_size(players))), {:ping, self()})
          play(left, rem(dice * 48_271, 2_147_483_647), players, counter)
      end
    end

    defp play(left, dice, players, counter) do
      receive do
        {:ping, from} ->
          send(from, :pong)
          play(left, dice, players, counter)

        :pong when left > 1 ->
          send(elem(players, rem(dice, tuple_size(players))), {:ping, self()})
          play(left - 1, rem(dice * 48_271, 2_147_483_647), players, counter)

        :pong ->
          send(counter, dice)
          play(left, dice, players, counter)

        :stop ->
          :ok
      end
    end

    @spec counter(pos_integer, pid) :: term
    def counter(size, customer) do
      receive do
        players ->
          sum = Enum.sum(for _ <- 1..size, do: receive(do: (number when is_integer(number) -> number)))
          for player <- players, do: send(player, :stop)
          send(customer, sum)
      end
    end
  end

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
    [run: asking(starter, :start)]
  end

  @impl true
  def beam(n) do
    counter = spawn(Processes, :counter, [@size, self()])
    players = for seed <- 1..@size, do: spawn(Processes, :player, [n, seed, counter])
    send(counter, players)
    all = List.to_tuple(players)
    [run: fn _ -> answer(fn -> for(player <- players, do: send(player, {:players, all})) end) end]
  end
end
