defmodule Mote.Bench.Programs.Savina.GuidedSearch do
  # A* of the Savina suite (`astar`: a grid of 30 × 30 × 30 places, 20 workers, 1,024 places at a time): the cheapest way
  # from one corner to the opposite one.
  #
  # Savina's workers mark the places of one graph that all share. Here each place has an owner, who knows the cheapest way to
  # it (hash-distributed A*): a worker searches the layers that it owns, and what leads to other layers goes to their owners
  # by the master, which knows the cheapest way so far, and whether there is work left.
  @moduledoc false

  @workers 20

  use Mote.Bench.Program,
    title: "the cheapest way through a grid of n × n × n places, whose layers belong to 20 workers",
    param: :n,
    defaults: [30],
    small: 4,
    metric: :us_per_place,
    count: &(&1 * &1 * &1),
    # By Dijkstra's algorithm, in one queue.
    expected: &dijkstra(:gb_sets.singleton({0, {0, 0, 0}}), MapSet.new(), &1),
    processes: @workers + 1

  # More than any way costs.
  @unknown 1_000_000_000

  defmodule Actors do
    use Mote.Behaviour

    @threshold 1_024

    # `out`: how many messages workers have not answered. A worker's work for others comes before its answer.
    defactor master(workers, out, bound, customer) do
      {:work, owner, states} ->
        send elem(workers, owner), {self(), bound, states}
        become out: out + 1

      {:done, found} when out > 1 ->
        become out: out - 1, bound: min(bound, found)

      {:done, found} ->
        send customer, min(bound, found)
    end

    # `costs`: of the cheapest ways to the places of its layers. A state: an estimate of the way by there to the end, the cost of
    # the way to there, and the place.
    defactor worker(costs, grid) do
      {master, bound, states} ->
        {costs, others, found} = search(Enum.sort(states), [], costs, %{}, bound, @threshold, grid)
        for {owner, states} <- others, do: send(master, {:work, owner, states})
        send master, {:done, found}
        become costs: costs
    end

    # States in the order of their estimates; their successors in this worker's layers are the next wave, and the others are
    # listed for their owners. After so many places the rest is work for later.
    defpure search([], [], costs, others, bound, _left, _grid), do: {costs, others, bound}

    defpure search([], wave, costs, others, bound, left, grid) do
      search(Enum.sort(wave), [], costs, others, bound, left, grid)
    end

    defpure search([{_, _, place} | _] = states, wave, costs, others, bound, 0, grid) do
      {costs, Map.put(others, owner(place, grid), states ++ wave), bound}
    end

    defpure search([{estimate, cost, place} | states], wave, costs, others, bound, left, grid) do
      {side, _workers} = grid

      cond do
        estimate >= bound or cost >= Map.get(costs, place, bound) ->
          search(states, wave, costs, others, bound, left, grid)

        place == {side - 1, side - 1, side - 1} ->
          search(states, wave, Map.put(costs, place, cost), others, cost, left - 1, grid)

        true ->
          {wave, others} = shared(successors(place, cost, side), owner(place, grid), wave, others, grid)
          search(states, wave, Map.put(costs, place, cost), others, bound, left - 1, grid)
      end
    end

    defpure shared([], _here, wave, others, _grid), do: {wave, others}

    defpure shared([{_, _, place} = state | states], here, wave, others, grid) do
      case owner(place, grid) do
        owner when owner == here ->
          shared(states, here, [state | wave], others, grid)

        owner ->
          shared(states, here, wave, Map.put(others, owner, [state | Map.get(others, owner, [])]), grid)
      end
    end

    defpure owner({_, _, z}, {_side, workers}), do: rem(z, workers)

    defpure successors({x, y, z}, cost, side) do
      for {right, back, up} <- [{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}],
          x = x + right,
          y = y + back,
          z = z + up,
          x >= 0 and x < side and y >= 0 and y < side and z >= 0 and z < side do
        cost = cost + weight(x, y, z)
        {cost + 3 * (side - 1) - x - y - z, cost, {x, y, z}}
      end
    end

    # What it costs to enter a place, 1 to 10. So no way is cheaper than the number of its steps.
    defpure weight(x, y, z),
      do: 1 + rem(7 * x * x + 13 * y * y + 29 * z * z + x * y + 3 * y * z + 5 * x * z, 10)
  end

  defmodule Processes do
    @threshold 1_024

    @spec master(tuple, non_neg_integer, pos_integer, pid) :: term
    def master(workers, out, bound, customer) do
      receive do
        {:work, owner, states} ->
          send(elem(workers, owner), {self(), bound, states})
          master(workers, out + 1, bound, customer)

        {:done, found} when out > 1 ->
          master(workers, out - 1, min(bound, found), customer)

        {:done, found} ->
          for worker <- Tuple.to_list(workers), do: send(worker, :stop)
          send(customer, min(bound, found))
      end
    end

    @spec worker(map, {pos_integer, pos_integer}) :: :ok
    def worker(costs, grid) do
      receive do
        {master, bound, states} ->
          {costs, others, found} = search(Enum.sort(states), [], costs, %{}, bound, @threshold, grid)
          for {owner, states} <- others, do: send(master, {:work, owner, states})
          send(master, {:done, found})
          worker(costs, grid)

        :stop ->
          :ok
      end
    end

    defp search([], [], costs, others, bound, _left, _grid), do: {costs, others, bound}

    defp search([], wave, costs, others, bound, left, grid) do
      search(Enum.sort(wave), [], costs, others, bound, left, grid)
    end

    defp search([{_, _, place} | _] = states, wave, costs, others, bound, 0, grid) do
      {costs, Map.put(others, owner(place, grid), states ++ wave), bound}
    end

    defp search([{estimate, cost, place} | states], wave, costs, others, bound, left, grid) do
      {side, _workers} = grid

      cond do
        estimate >= bound or cost >= Map.get(costs, place, bound) ->
          search(states, wave, costs, others, bound, left, grid)

        place == {side - 1, side - 1, side - 1} ->
          search(states, wave, Map.put(costs, place, cost), others, cost, left - 1, grid)

        true ->
          {wave, others} = shared(successors(place, cost, side), owner(place, grid), wave, others, grid)
          search(states, wave, Map.put(costs, place, cost), others, bound, left - 1, grid)
      end
    end

    defp shared([], _here, wave, others, _grid), do: {wave, others}

    defp shared([{_, _, place} = state | states], here, wave, others, grid) do
      case owner(place, grid) do
        owner when owner == here ->
          shared(states, here, [state | wave], others, grid)

        owner ->
          shared(states, here, wave, Map.put(others, owner, [state | Map.get(others, owner, [])]), grid)
      end
    end

    defp owner({_, _, z}, {_side, workers}), do: rem(z, workers)

    defp successors({x, y, z}, cost, side) do
      for {right, back, up} <- [{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}],
          x = x + right,
          y = y + back,
          z = z + up,
          x >= 0 and x < side and y >= 0 and y < side and z >= 0 and z < side do
        cost = cost + weight(x, y, z)
        {cost + 3 * (side - 1) - x - y - z, cost, {x, y, z}}
      end
    end

    defp weight(x, y, z), do: 1 + rem(7 * x * x + 13 * y * y + 29 * z * z + x * y + 3 * y * z + 5 * x * z, 10)
  end

  defp dijkstra(queue, done, n) do
    {{cost, place}, queue} = :gb_sets.take_smallest(queue)

    cond do
      place == {n - 1, n - 1, n - 1} ->
        cost

      place in done ->
        dijkstra(queue, done, n)

      true ->
        next = for {_estimate, cost, place} <- Actors.successors(place, cost, n), do: {cost, place}
        dijkstra(Enum.reduce(next, queue, &:gb_sets.add_element/2), MapSet.put(done, place), n)
    end
  end

  @impl true
  def mote(machine, n) do
    workers = for _ <- 1..@workers, do: Mote.create(machine, Actors.worker(%{}, {n, @workers}))
    master = Mote.create(machine, Actors.master(List.to_tuple(workers), 0, @unknown, self()))
    [run: asking(master, start(n))]
  end

  @impl true
  def beam(n) do
    workers = for _ <- 1..@workers, do: spawn(Processes, :worker, [%{}, {n, @workers}])
    master = spawn(Processes, :master, [List.to_tuple(workers), 0, @unknown, self()])
    [run: asking(master, start(n))]
  end

  defp start(n), do: {:work, 0, [{3 * (n - 1), 0, {0, 0, 0}}]}
end
