defmodule Events.Phold do
  @moduledoc """
  PHOLD, the usual benchmark of engines for discrete events (Fujimoto 1990): entities that do nothing with an event but to plan
  the next one, at an entity by lot, after a time by lot.

  One unit of time is a second of the machine's clock.

      iex> result = Events.Phold.run(entities: 100, seconds: 50, seed: 3)
      iex> result == Events.Phold.run(entities: 100, seconds: 50, seed: 3)
      true
      iex> result.events in 4_500..5_500
      true
  """
  use Mote.Behaviour
  alias Events.Dice

  @mean 1_000

  @doc "An entity. It is told who the others are, and then begins with as many events."
  defactor entity(dice, all \\ {}, events \\ 0) do
    :event ->
      send_after(Dice.exponential(dice, @mean), other(all, Dice.next(dice)), :event)
      become dice: Dice.next(Dice.next(dice)), events: events + 1

    {:begin, all, first} ->
      for n <- 1..first, do: send_after(Dice.exponential(Dice.of(dice, n), @mean), self(), :event)
      become all: all

    {customer, :read} ->
      send customer, events
  end

  defpurep other(all, dice), do: elem(all, rem(dice, tuple_size(all)))

  @doc "Makes the entities, and answers how many events all of them have had."
  defactor model(entities \\ {}) do
    {customer, {:make, count, first, seed}} ->
      all = List.to_tuple(for n <- 1..count, do: create(entity(Dice.of(seed, n))))
      for n <- 1..count, do: send(elem(all, n - 1), {:begin, all, first})
      send customer, :made
      become entities: all

    {customer, :read} ->
      sum = create gather(customer, tuple_size(entities), 0, fn events, sum -> sum + events end)
      for n <- 1..tuple_size(entities), do: send(elem(entities, n - 1), {sum, :read})
  end

  @doc """
  Runs PHOLD and returns how many events there were, and how many microseconds they took.

  Options: `:entities`, `:first` (events of each at the start), `:seconds`, `:seed`.
  """
  @spec run(keyword) :: %{events: non_neg_integer}
  def run(opts \\ []), do: Map.delete(timed(opts), :microseconds)

  @doc "As `run/1`, with the time that it took: `:microseconds`."
  @spec timed(keyword) :: %{events: non_neg_integer, microseconds: non_neg_integer}
  def timed(opts) do
    opts = Map.new(Keyword.merge([entities: 1_000, first: 1, seconds: 100, seed: 1], opts))
    {:ok, machine} = Mote.start_link(clock: :manual)
    model = Mote.create(machine, model())
    :made = Mote.ask!(model, {:make, opts.entities, opts.first, opts.seed}, :infinity)
    advance = fn -> Mote.advance(machine, opts.seconds * 1_000, :infinity) end
    {microseconds, :ok} = :timer.tc(advance)
    events = Mote.ask!(model, :read, :infinity)
    Mote.stop(machine)
    %{events: events, microseconds: microseconds}
  end
end
