defmodule Events.PholdProcesses do
  @moduledoc """
  PHOLD as an engine of GenServers: each entity is one, and so is the calendar, which calls the entity whose event is next.

      iex> Events.PholdProcesses.timed(entities: 20, seconds: 10).events in 150..250
      true
  """
  defmodule Entity do
    @moduledoc false
    use GenServer
    alias Events.Dice

    @impl true
    def init({dice, entities}), do: {:ok, {dice, entities, 0}}

    @impl true
    def handle_call(:event, _from, {dice, entities, events}) do
      next = Dice.next(dice)
      planned = {Dice.exponential(dice, 1_000), rem(next, entities)}
      {:reply, planned, {Dice.next(next), entities, events + 1}}
    end

    def handle_call(:read, _from, {_, _, events} = state), do: {:reply, events, state}
  end

  alias Events.Dice

  @doc "Runs PHOLD, with the options and the result of `Events.Phold.timed/1`."
  @spec timed(keyword) :: %{events: non_neg_integer, microseconds: non_neg_integer}
  def timed(opts) do
    opts = Map.new(Keyword.merge([entities: 1_000, first: 1, seconds: 100, seed: 1], opts))

    entities =
      for n <- 1..opts.entities do
        {:ok, pid} = GenServer.start_link(Entity, {Dice.of(opts.seed, n), opts.entities})
        pid
      end

    all = List.to_tuple(entities)

    calendar =
      for n <- 1..opts.entities, k <- 1..opts.first, reduce: :gb_sets.new() do
        calendar ->
          dice = Dice.of(Dice.of(opts.seed, n), k)
          :gb_sets.add({Dice.exponential(dice, 1_000), n * opts.first + k, n - 1}, calendar)
      end

    serial = (opts.entities + 1) * (opts.first + 1)
    loop = fn -> loop(calendar, serial, all, opts.seconds * 1_000) end
    {microseconds, :ok} = :timer.tc(loop)
    events = entities |> Enum.map(&GenServer.call(&1, :read)) |> Enum.sum()
    Enum.each(entities, &GenServer.stop/1)
    %{events: events, microseconds: microseconds}
  end

  defp loop(calendar, serial, all, limit) do
    {{now, _serial, entity}, calendar} = :gb_sets.take_smallest(calendar)

    if now <= limit do
      {delay, target} = GenServer.call(elem(all, entity), :event)
      loop(:gb_sets.add({now + delay, serial, target}, calendar), serial + 1, all, limit)
    else
      :ok
    end
  end
end
