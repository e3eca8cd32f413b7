defmodule Mote.Bench.Programs.KMeans do
  # k-means: n points, of 16 coordinates each, in 8 clusters. In each of 10 iterations every point goes to the nearest of 8
  # centres, and every centre to the mean of its points.
  #
  # The points are in parts of a thousand. `sequential` is one actor that goes through them one after the other, `parallel`
  # an actor for each part. Points are packed vectors, of which every iteration makes many that nobody needs any more: so
  # collection is part of the time, and the machines without it show how much.
  @moduledoc false

  @part 1_000
  @iterations 10

  use Mote.Bench.Parallel,
    title:
      "k-means of n points, 16 coordinates, 8 clusters, 10 iterations: in one actor and in an actor per thousand",
    param: :n,
    defaults: [100_000],
    small: 2_100,
    metric: :us_per_iteration,
    count: @iterations,
    expected: :centres,
    processes: &(div(&1, @part) + 2),
    plot: [sizes: [10_000], full: [10_000, 100_000], kind: :bars]

  alias Mote.Bench.Points
  alias Mote.Vector

  # How far a centre may be from the middle of its cloud: ten standard deviations of the mean in the small run.
  @tolerance 0.6

  defmodule Actors do
    use Mote.Behaviour
    alias Mote.Vector

    # Goes through a part: for each centre the sum of the points that are nearest to it, and how many these are.
    defactor worker(points) do
      {customer, {index, centres}} -> send customer, {index, sums(points, centres)}
    end

    defpure sums(points, centres) do
      numbered = for point <- points, do: {nearest(point, centres, 0, 0, :none), point}
      for number <- 0..(length(centres) - 1), do: sum(numbered, number, :none, 0)
    end

    defpure nearest(_point, [], _number, best, _distance), do: best

    defpure nearest(point, [centre | centres], number, best, distance) do
      here = Vector.squared_distance(point, centre)

      # A number is less than any atom.
      if here < distance,
        do: nearest(point, centres, number + 1, number, here),
        else: nearest(point, centres, number + 1, best, distance)
    end

    defpure sum([], _number, sum, count), do: {sum, count}

    defpure sum([{number, point} | points], number, :none, 0), do: sum(points, number, point, 1)

    defpure sum([{number, point} | points], number, sum, count),
      do: sum(points, number, Vector.add(sum, point), count + 1)

    defpure sum([_ | points], number, sum, count), do: sum(points, number, sum, count)

    defpure both([], []), do: []
    defpure both([{:none, 0} | as], [b | bs]), do: [b | both(as, bs)]
    defpure both([a | as], [{:none, 0} | bs]), do: [a | both(as, bs)]
    defpure both([{a, n} | as], [{b, m} | bs]), do: [{Vector.add(a, b), n + m} | both(as, bs)]

    # Centres that no point is nearest to stay.
    defpure means(sums, centres) do
      for {{sum, count}, centre} <- zip(sums, centres) do
        if count == 0, do: centre, else: Vector.div(sum, count)
      end
    end

    defpure zip([], []), do: []
    defpure zip([a | as], [b | bs]), do: [{a, b} | zip(as, bs)]

    # A part a turn, then the next iteration.
    defactor sequential(parts) do
      {customer, {0, centres}} ->
        send customer, centres

      {customer, {iterations, centres}} ->
        send self(), {customer, {iterations, centres}, parts, :none}

      {customer, {iterations, centres}, [], sums} ->
        send self(), {customer, {iterations - 1, means(sums, centres)}}

      {customer, task, [part | parts], :none} ->
        {_, centres} = task
        send self(), {customer, task, parts, sums(part, centres)}

      {customer, task, [part | parts], sums} ->
        {_, centres} = task
        send self(), {customer, task, parts, both(sums, sums(part, centres))}
    end

    # An actor for each part, all at once. Their sums are added up in the order of the parts, so that the result does not
    # depend on who is first.
    defactor parallel(parts) do
      {customer, task} ->
        workers = for part <- parts, do: create(worker(part))
        become iterating(workers, customer)
        send self(), task
    end

    defactor iterating(workers, customer) do
      {0, centres} ->
        send customer, centres

      {_iterations, centres} = task ->
        for worker <- workers, reduce: 0 do
          index ->
            send worker, {self(), {index, centres}}
            index + 1
        end

        become gathering({workers, customer}, task, length(workers), %{})
    end

    defactor gathering(setup, task, open, answers) do
      {index, sums} when open > 1 ->
        become gathering(setup, task, open - 1, Map.put(answers, index, sums))

      {index, sums} ->
        {workers, customer} = setup
        {iterations, centres} = task
        [first | others] = answers |> Map.put(index, sums) |> Map.values()

        sums =
          for sums <- others, reduce: first do
            total -> both(total, sums)
          end

        become iterating(workers, customer)
        send self(), {iterations - 1, means(sums, centres)}
    end
  end

  defmodule Processes do
    # Points are lists of floats, which the BEAM goes through faster than through bytes.

    @spec worker([[float]]) :: term
    def worker(points) do
      receive do
        {customer, {index, centres}} ->
          send(customer, {index, sums(points, centres)})
          worker(points)

        :stop ->
          :ok
      end
    end

    @spec sequential(pid, [[[float]]], pos_integer, [[float]]) :: term
    def sequential(customer, parts, iterations, centres) do
      receive(do: (:start -> :ok))
      iterate(customer, iterations, centres, fn centres -> Enum.map(parts, &sums(&1, centres)) end)
    end

    @spec parallel(pid, [[[float]]], pos_integer, [[float]]) :: term
    def parallel(customer, parts, iterations, centres) do
      receive(do: (:start -> :ok))
      workers = for part <- parts, do: spawn(__MODULE__, :worker, [part])

      iterate(customer, iterations, centres, fn centres ->
        for {worker, index} <- Enum.with_index(workers), do: send(worker, {self(), {index, centres}})
        for {_worker, index} <- Enum.with_index(workers), do: receive(do: ({^index, sums} -> sums))
      end)

      for worker <- workers, do: send(worker, :stop)
    end

    defp iterate(customer, 0, centres, _step), do: send(customer, centres)

    defp iterate(customer, iterations, centres, step) do
      sums =
        centres
        |> step.()
        |> Enum.zip_with(fn [first | others] -> Enum.reduce(others, first, &both(&2, &1)) end)

      iterate(customer, iterations - 1, Enum.zip_with(sums, centres, &mean/2), step)
    end

    defp sums(points, centres) do
      nearest = Enum.group_by(points, &nearest(&1, centres, 0, 0, :none))
      for number <- 0..(length(centres) - 1), do: sum(Map.get(nearest, number, []))
    end

    defp nearest(_point, [], _number, best, _distance), do: best

    defp nearest(point, [centre | centres], number, best, distance) do
      here = distance(point, centre, 0.0)

      if here < distance,
        do: nearest(point, centres, number + 1, number, here),
        else: nearest(point, centres, number + 1, best, distance)
    end

    defp distance([], [], sum), do: sum
    defp distance([a | as], [b | bs], sum), do: distance(as, bs, sum + (a - b) * (a - b))

    defp sum([]), do: {:none, 0}
    defp sum([first | others] = points), do: {Enum.reduce(others, first, &add(&2, &1)), length(points)}

    defp add([], []), do: []
    defp add([a | as], [b | bs]), do: [a + b | add(as, bs)]

    defp both({:none, 0}, other), do: other
    defp both(sum, {:none, 0}), do: sum
    defp both({a, n}, {b, m}), do: {add(a, b), n + m}

    defp mean({:none, 0}, centre), do: centre
    defp mean({sum, count}, _centre), do: Enum.map(sum, &(&1 / count))
  end

  @impl true
  def mote(machine, n) do
    points = for {_cloud, point} <- Points.new(n), do: Vector.new(:f64, point)
    # The first ones belong to different clouds.
    centres = Enum.take(points, Points.clouds())
    parts = Enum.chunk_every(points, @part)
    sequential = Mote.create(machine, Actors.sequential(parts))
    parallel = Mote.create(machine, Actors.parallel(parts))
    request = {self(), {@iterations, centres}}

    [
      sequential: asking(sequential, request),
      parallel: fn centres -> {centres, answer(fn -> Mote.send(parallel, request) end)} end,
      judge: fn {centres, parallel} -> judge(parallel, centres) end
    ]
  end

  @impl true
  def beam(n) do
    points = for {_cloud, point} <- Points.new(n), do: point
    args = [self(), Enum.chunk_every(points, @part), @iterations, Enum.take(points, Points.clouds())]
    [sequential, parallel] = for name <- ~w(sequential parallel)a, do: spawn(Processes, name, args)

    [
      sequential: asking(sequential, :start),
      parallel: fn centres -> {centres, answer(fn -> send(parallel, :start) end)} end,
      judge: fn {centres, parallel} -> judge(parallel, centres) end
    ]
  end

  @doc "Whether both are the same, and centres of the clouds."
  @spec judge([Vector.t() | [float]], [Vector.t() | [float]]) :: :centres | tuple
  def judge(centres, centres) do
    far =
      for {centre, cloud} <- Enum.with_index(centres),
          {is, right} <- Enum.zip(list(centre), Points.centre(cloud)),
          abs(is - right) > @tolerance,
          do: {cloud, is, right}

    if length(centres) == Points.clouds() and far == [], do: :centres, else: {:far, far}
  end

  def judge(parallel, sequential), do: {:parallel, parallel, :sequential, sequential}

  defp list(%Vector{} = centre), do: Vector.to_list(centre)
  defp list(centre), do: centre
end
