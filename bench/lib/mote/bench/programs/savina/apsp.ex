defmodule Mote.Bench.Programs.Savina.Apsp do
  # All-pairs shortest paths of the Savina suite: the algorithm of Floyd and Warshall on blocks of 50 × 50 distances, an actor
  # for each. In each of n phases a block tells all others in its row and column what it is, and improves its distances when
  # it has heard of them.
  #
  # The graph is a circle of n nodes one apart, and roads between all others that are never shorter.
  @moduledoc false

  @side 50

  use Mote.Bench.Program,
    title: "shortest paths between n nodes, on blocks of 50 × 50",
    param: :n,
    defaults: [300],
    small: 100,
    metric: :us_per_phase_of_a_block,
    count: &(&1 * Integer.pow(div(&1, @side), 2)),
    # From each node once round the circle.
    expected: &(&1 * div(&1 * (&1 - 1), 2)),
    processes: &(Integer.pow(div(&1, @side), 2) + 1)

  defmodule Actors do
    use Mote.Behaviour

    @side 50

    defactor starter(blocks) do
      :start -> for block <- blocks, do: send(block, :start)
    end

    defactor lone(place, rows, nodes, adder) do
      {:others, others} -> become block(place, 0, rows, %{}, %{}, length(others) + 1, others, {nodes, adder})
    end

    # `now` and `early` are the rows of other blocks in this phase and in the next one, by place. Others are one phase ahead at
    # most, for then they need what this block has not sent.
    defactor block(place, phase, rows, now, early, left, others, setup) do
      :start ->
        for block <- [self() | others], do: send(block, {phase, place, rows})

      {of, from, its} when of == phase and map_size(now) + 1 < left ->
        become now: Map.put(now, from, its)

      {of, from, its} when of == phase and phase + 1 < elem(setup, 0) ->
        rows = improved(place, phase, rows, now |> Map.put(from, its) |> Map.put(place, rows))
        for block <- others, do: send(block, {phase + 1, place, rows})
        become block(place, phase + 1, rows, early, %{}, length(others), others, setup)

      {of, from, its} when of == phase ->
        rows = improved(place, phase, rows, now |> Map.put(from, its) |> Map.put(place, rows))
        send elem(setup, 1), Enum.sum(Enum.map(rows, &Enum.sum/1))

      {_next, from, its} ->
        become early: Map.put(early, from, its)
    end

    # By paths over the node of the phase: its row is in a block of the same column, and its column in one of the same row.
    defpure improved({row, column}, phase, rows, blocks) do
      {over, at} = {div(phase, @side), rem(phase, @side)}
      there = blocks |> Map.fetch!({over, column}) |> Enum.at(at)
      here = blocks |> Map.fetch!({row, over}) |> Enum.map(&Enum.at(&1, at))
      Enum.zip_with(rows, here, &row(&1, &2, there))
    end

    defpure row([old | olds], way, [on | ons]) when way + on < old, do: [way + on | row(olds, way, ons)]
    defpure row([old | olds], way, [_ | ons]), do: [old | row(olds, way, ons)]
    defpure row([], _way, []), do: []

    defactor adder(left, sum, customer) do
      number when left > 1 -> become left: left - 1, sum: sum + number
      number -> send customer, sum + number
    end
  end

  defmodule Processes do
    @side 50

    @spec block({non_neg_integer, non_neg_integer}, [[non_neg_integer]], pos_integer, pid) :: term
    def block(place, rows, nodes, adder) do
      others = receive do: ({:others, others} -> others)
      receive do: (:start -> phase(place, 0, rows, others, nodes, adder))
    end

    defp phase(_place, nodes, rows, _others, nodes, adder),
      do: send(adder, Enum.sum(Enum.map(rows, &Enum.sum/1)))

    # What others send of the next phase waits in the queue.
    defp phase(place, phase, rows, others, nodes, adder) do
      for block <- others, do: send(block, {phase, place, rows})
      theirs = for _ <- others, into: %{}, do: receive(do: ({^phase, from, its} -> {from, its}))
      rows = improved(place, phase, rows, Map.put(theirs, place, rows))
      phase(place, phase + 1, rows, others, nodes, adder)
    end

    defp improved({row, column}, phase, rows, blocks) do
      {over, at} = {div(phase, @side), rem(phase, @side)}
      there = blocks |> Map.fetch!({over, column}) |> Enum.at(at)
      here = blocks |> Map.fetch!({row, over}) |> Enum.map(&Enum.at(&1, at))
      Enum.zip_with(rows, here, &row(&1, &2, there))
    end

    defp row([old | olds], way, [on | ons]) when way + on < old, do: [way + on | row(olds, way, ons)]
    defp row([old | olds], way, [_ | ons]), do: [old | row(olds, way, ons)]
    defp row([], _way, []), do: []

    @spec adder(pos_integer, pid) :: term
    def adder(blocks, customer) do
      send(customer, Enum.sum(for _ <- 1..blocks, do: receive(do: (number -> number))))
    end
  end

  @impl true
  def mote(machine, n) do
    places = places(n)
    adder = Mote.create(machine, Actors.adder(length(places), 0, self()))
    blocks = Map.new(places, &{&1, Mote.create(machine, Actors.lone(&1, rows(&1, n), n, adder))})
    for {place, block} <- blocks, do: Mote.send(block, {:others, others(place, blocks)})
    starter = Mote.create(machine, Actors.starter(Map.values(blocks)))
    :ok = Mote.drain(machine, 60_000)
    [run: asking(starter, :start)]
  end

  @impl true
  def beam(n) do
    places = places(n)
    adder = spawn(Processes, :adder, [length(places), self()])
    blocks = Map.new(places, &{&1, spawn(Processes, :block, [&1, rows(&1, n), n, adder])})
    for {place, block} <- blocks, do: send(block, {:others, others(place, blocks)})
    [run: fn _ -> answer(fn -> for(block <- Map.values(blocks), do: send(block, :start)) end) end]
  end

  defp places(n), do: for(row <- 0..(div(n, @side) - 1), column <- 0..(div(n, @side) - 1), do: {row, column})

  # Those in the same row or column.
  defp others({row, column} = place, blocks) do
    for {{r, c} = other, block} <- blocks, other != place, r == row or c == column, do: block
  end

  defp rows({row, column}, n) do
    for from <- within(row), do: for(to <- within(column), do: distance(from, to, n))
  end

  defp within(part), do: (part * @side)..(part * @side + @side - 1)

  defp distance(same, same, _n), do: 0
  defp distance(from, to, n) when rem(from + 1, n) == to, do: 1
  defp distance(_from, _to, n), do: n
end
