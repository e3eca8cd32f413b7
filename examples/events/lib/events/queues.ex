defmodule Events.Queues do
  @moduledoc """
  Queueing networks: sources, and stations that serve one customer after the other. All times are exponential, so theory knows
  how long a customer stays (Jackson 1957): `1 / (1 / service - arrivals)` at each station, if `arrivals` come per unit of time.

  A network runs in as many independent copies as you like, all in one machine: so there is always something to do.

      iex> [line] = Events.Queues.run(Events.Queues.single(0.5), copies: 20, seconds: 2_000)
      iex> abs(line.mean / line.theory - 1) < 0.1
      true
  """
  use Mote.Behaviour
  alias Events.Dice

  @typedoc """
  `sources` are `{mean time between customers, station}`, `stations` are `{mean service, [{probability, station}]}`: who goes to
  no other station leaves. Times are milliseconds. `arrivals`: how many customers come to each station per millisecond.
  """
  @type network :: %{
          sources: [{pos_integer, non_neg_integer}],
          stations: [{pos_integer, [{float, non_neg_integer}]}],
          arrivals: [float]
        }

  @doc "One station that is busy for that part of the time: M/M/1."
  @spec single(float) :: network
  def single(load) do
    %{sources: [{round(1_000 / load), 0}], stations: [{1_000, []}], arrivals: [1 / round(1_000 / load)]}
  end

  @doc """
  Three stations, of which the last one sends three in ten back to the first.

      source ─► 0 ─┬─ 0.5 ─► 1 ─► out
                ▲  └─ 0.5 ─► 2 ─► out
                └─── 0.3 ────┘
  """
  @spec jackson() :: network
  def jackson do
    first = 1 / 2_000 / (1 - 0.5 * 0.3)

    %{
      sources: [{2_000, 0}],
      stations: [{1_200, [{0.5, 1}, {0.5, 2}]}, {2_400, []}, {2_000, [{0.3, 0}]}],
      arrivals: [first, first / 2, first / 2]
    }
  end

  @doc "Sends a customer to a station again and again."
  defactor source(dice, mean, station) do
    :next ->
      send station, :customer
      send_after(Dice.exponential(dice, mean), self(), :next)
      become dice: Dice.next(dice)
  end

  @doc "Serves one after the other. `line` has the moments at which those came who are here; `warm` is when counting begins."
  defactor station(dice, mean, warm, routes \\ [], line \\ :queue.new(), served \\ 0, stayed \\ 0) do
    {:routes, routes} ->
      become routes: routes

    :customer ->
      if :queue.is_empty(line), do: send_after(Dice.exponential(dice, mean), self(), :served)
      become line: :queue.in(System.monotonic_time(:millisecond), line), dice: Dice.next(dice)

    :served ->
      {{:value, came}, line} = :queue.out(line)
      now = System.monotonic_time(:millisecond)
      on = Dice.next(dice)
      route(routes, Dice.uniform(on))
      unless :queue.is_empty(line), do: send_after(Dice.exponential(dice, mean), self(), :served)
      counts = if came >= warm, do: 1, else: 0
      become line: line, dice: Dice.next(on), served: served + counts, stayed: stayed + counts * (now - came)

    {customer, :read} ->
      send customer, {served, stayed}
  end

  defeffect route([], _lot), do: :out

  defeffect route([{probability, station} | routes], lot) do
    if lot < probability, do: send(station, :customer), else: route(routes, lot - probability)
  end

  @doc """
  Runs a network, and returns for each station how long customers stayed on average, `:mean`, in all copies, and how long they do by
  `:theory`, in milliseconds, and how many they were.

  Options: `:copies`, `:seconds`, `:seed`. The first tenth of the time is not counted.
  """
  @spec run(network, keyword) :: [%{mean: float, theory: float, customers: non_neg_integer}]
  def run(network, opts \\ []), do: timed(network, opts).stations

  @doc "As `run/2`: the result is `:stations`, and how long the run took is `:microseconds`."
  @spec timed(network, keyword) :: %{stations: [map], microseconds: non_neg_integer, events: non_neg_integer}
  def timed(network, opts) do
    opts = Map.new(Keyword.merge([copies: 100, seconds: 10_000, seed: 1], opts))
    {:ok, machine} = Mote.start_link(clock: :manual)
    copies = for copy <- 1..opts.copies, do: copy(machine, network, copy, opts)
    {microseconds, :ok} = :timer.tc(fn -> Mote.advance(machine, opts.seconds * 1_000, :infinity) end)
    turns = turns(machine)
    read = fn stations -> for {:ok, read} <- Mote.ask_all(stations, :read, :infinity), do: read end
    stations = copies |> Enum.map(read) |> Enum.zip_with(& &1) |> Enum.zip_with(theory(network), &line/2)
    Mote.stop(machine)
    %{stations: stations, microseconds: microseconds, events: turns}
  end

  defp copy(machine, network, copy, opts) do
    seed = Dice.of(opts.seed, copy)

    stations =
      for {{mean, _routes}, n} <- Enum.with_index(network.stations) do
        Mote.create(machine, station(Dice.of(seed, n), mean, opts.seconds * 100))
      end

    for {station, {_mean, routes}} <- Enum.zip(stations, network.stations) do
      Mote.send(
        station,
        {:routes, for({probability, to} <- routes, do: {probability, Enum.at(stations, to)})}
      )
    end

    for {{mean, to}, n} <- Enum.with_index(network.sources) do
      Mote.send(Mote.create(machine, source(Dice.of(seed, -1 - n), mean, Enum.at(stations, to))), :next)
    end

    stations
  end

  defp theory(network) do
    for {{service, _routes}, arrivals} <- Enum.zip(network.stations, network.arrivals),
        do: 1 / (1 / service - arrivals)
  end

  defp line(read, theory) do
    {served, stayed} = Enum.reduce(read, fn {a, b}, {c, d} -> {a + c, b + d} end)
    %{mean: stayed / served, theory: theory, customers: served}
  end

  defp turns(machine) do
    Mote.info(machine).sponsors.main.threads |> Enum.map(& &1.turns) |> Enum.sum()
  end
end
