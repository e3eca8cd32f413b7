defmodule Mote.Bench.Programs.Savina.Smokers do
  # The cigarette smokers of the Savina suite (`cigsmok`: 1,000 rounds, 200 smokers): an arbiter lets one smoker begin, chosen by
  # lot, and the next one as soon as that one has lit up. To smoke is an idle loop of up to 1,000 rounds.
  @moduledoc false

  @smokers 200

  use Mote.Bench.Program,
    title: "an arbiter lets one of 200 smokers by lot begin, n times",
    param: :n,
    defaults: [1_000],
    small: 20,
    metric: :us_per_round,
    # All rounds of the idle loops.
    expected: fn n -> 1 |> Mote.Bench.Dice.rolls(n) |> Enum.map(&rem(div(&1, 1_000), 1_000)) |> Enum.sum() end,
    processes: @smokers + 1,
    rust: [rust: "smokers"]

  defmodule Actors do
    use Mote.Behaviour

    defactor arbiter(smokers, left, dice, customer) do
      _start_or_lit when left > 0 ->
        dice = rem(dice * 48_271, 2_147_483_647)
        send elem(smokers, rem(dice, tuple_size(smokers))), {:smoke, rem(div(dice, 1_000), 1_000), self()}
        become left: left - 1, dice: dice

      _lit ->
        smokers = Tuple.to_list(smokers)
        sum = create gather(customer, length(smokers), 0, fn rounds, sum -> rounds + sum end)
        for smoker <- smokers, do: send(smoker, {:home, sum})
    end

    # Messages leave an actor when its turn is over. So to light up is one turn, and to smoke another.
    defactor smoker(dice, smoked) do
      {:smoke, rounds, arbiter} ->
        send arbiter, :lit
        send self(), rounds
        become smoked: smoked + rounds

      {:home, sum} ->
        send self(), {:done, sum}

      {:done, sum} ->
        send sum, if(dice > 0, do: smoked, else: 0)

      rounds ->
        become dice: idle(dice, rounds)
    end

    defpure idle(dice, 0), do: dice
    defpure idle(dice, left), do: idle(rem(dice * 48_271, 2_147_483_647), left - 1)
  end

  defmodule Processes do
    @spec arbiter(tuple, non_neg_integer, pos_integer, pid) :: term
    def arbiter(smokers, 0, _dice, customer) do
      receive do: (:lit -> :ok)
      for smoker <- Tuple.to_list(smokers), do: send(smoker, {:home, self()})
      rounds = for _ <- 1..tuple_size(smokers), do: receive(do: ({:smoked, rounds} -> rounds))
      send(customer, Enum.sum(rounds))
    end

    def arbiter(smokers, left, dice, customer) do
      receive do
        _start_or_lit ->
          dice = rem(dice * 48_271, 2_147_483_647)
          send(elem(smokers, rem(dice, tuple_size(smokers))), {:smoke, rem(div(dice, 1_000), 1_000), self()})
          arbiter(smokers, left - 1, dice, customer)
      end
    end

    @spec smoker(pos_integer, non_neg_integer) :: term
    def smoker(dice, smoked) do
      receive do
        {:smoke, rounds, arbiter} ->
          send(arbiter, :lit)
          smoker(idle(dice, rounds), smoked + rounds)

        {:home, arbiter} ->
          send(arbiter, {:smoked, if(dice > 0, do: smoked, else: 0)})
      end
    end

    defp idle(dice, 0), do: dice
    defp idle(dice, left), do: idle(rem(dice * 48_271, 2_147_483_647), left - 1)
  end

  @impl true
  def mote(machine, n) do
    smokers = for seed <- 1..@smokers, do: Mote.create(machine, Actors.smoker(seed, 0))
    arbiter = Mote.create(machine, Actors.arbiter(List.to_tuple(smokers), n, 1, self()))
    [run: asking(arbiter, :start)]
  end

  @impl true
  def beam(n) do
    smokers = for seed <- 1..@smokers, do: spawn(Processes, :smoker, [seed, 0])
    arbiter = spawn(Processes, :arbiter, [List.to_tuple(smokers), n, 1, self()])
    [run: asking(arbiter, :start)]
  end

  @impl true
  def rust(rounds, _n), do: trunc(rounds)
end
