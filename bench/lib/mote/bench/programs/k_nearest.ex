defmodule Mote.Bench.Programs.KNearest do
  # k-nearest-neighbours: n points are classified, each by the 5 nearest of 2,000 that are labelled, which all are compared
  # with it. `sequential` is one actor that classifies one point after the other, `parallel` an actor for each point; they
  # share the labelled ones.
  @moduledoc false

  use Mote.Bench.Parallel,
    title: "n points classified by the 5 nearest of 2,000: in one actor and in an actor per point",
    param: :n,
    defaults: [5_000],
    small: 20,
    metric: :us_per_point,
    expected: :classified,
    processes: &(&1 + 1),
    plot: [sizes: [1_000], full: [1_000, 5_000], kind: :bars]

  alias Mote.Bench.Points
  alias Mote.Vector

  @labelled 2_000

  defmodule Actors do
    use Mote.Behaviour
    alias Mote.Vector

    @k 5

    # `{index, point}`. It never becomes another, so as many threads as there are may run it.
    defactor classifier(labelled) do
      {customer, {index, point}} -> send customer, {index, classify(labelled, point)}
    end

    # A point a turn.
    defactor sequential(labelled, points) do
      {customer, :start} ->
        send self(), {customer, points, []}

      {customer, [], labels} ->
        send customer, labels

      {customer, [point | points], labels} ->
        send self(), {customer, points, [classify(labelled, point) | labels]}
    end

    # An actor for each point, all at once.
    defactor parallel(labelled, points) do
      {customer, :start} ->
        for point <- points, reduce: 0 do
          index ->
            classifier = create classifier(labelled)
            send classifier, {self(), {index, point}}
            index + 1
        end

        become gather(customer, length(points), [], fn label, labels -> [label | labels] end)
    end

    # Of the nearest the label that most have; of several such the least.
    defpure classify(labelled, point), do: vote(nearest(labelled, point, []), %{})

    # `best` has the k nearest so far, the farthest of them first.
    defpure nearest([], _point, best), do: best

    defpure nearest([{label, other} | labelled], point, best) do
      distance = Vector.squared_distance(point, other)

      case best do
        [{farthest, _} | others] when length(best) == @k ->
          if distance < farthest,
            do: nearest(labelled, point, insert(others, distance, label)),
            else: nearest(labelled, point, best)

        _ ->
          nearest(labelled, point, insert(best, distance, label))
      end
    end

    defpure insert([{farther, _} = first | best], distance, label) when farther > distance,
      do: [first | insert(best, distance, label)]

    defpure insert(best, distance, label), do: [{distance, label} | best]

    defpure vote([], votes), do: most(Map.to_list(votes), :none, 0)

    defpure vote([{_distance, label} | best], votes),
      do: vote(best, Map.put(votes, label, Map.get(votes, label, 0) + 1))

    defpure most([], label, _votes), do: label
    # The labels come in no certain order.
    defpure most([{label, votes} | others], best, most) when votes > most or (votes == most and label < best),
      do: most(others, label, votes)

    defpure most([_ | others], best, most), do: most(others, best, most)
  end

  defmodule Processes do
    # Points are lists of floats. The labelled ones are in a persistent term, or every process would get a copy of them.

    @k 5

    @spec sequential(pid, term, [[float]]) :: term
    def sequential(customer, key, points) do
      receive do
        :start ->
          labelled = :persistent_term.get(key)
          send(customer, Enum.map(points, &classify(labelled, &1)))
      end
    end

    @spec parallel(pid, term, [[float]]) :: term
    def parallel(customer, key, points) do
      receive do
        :start ->
          for {point, index} <- Enum.with_index(points),
              do: spawn(__MODULE__, :classifier, [self(), key, index, point])

          send(customer, for(_ <- points, do: receive(do: (label -> label))))
      end
    end

    @spec classifier(pid, term, non_neg_integer, [float]) :: term
    def classifier(customer, key, index, point),
      do: send(customer, {index, classify(:persistent_term.get(key), point)})

    defp classify(labelled, point) do
      labelled
      |> nearest(point, [])
      |> Enum.frequencies_by(&elem(&1, 1))
      |> Enum.max_by(&elem(&1, 1))
      |> elem(0)
    end

    defp nearest([], _point, best), do: best

    defp nearest([{label, other} | labelled], point, best) do
      distance = distance(point, other, 0.0)

      case best do
        [{farthest, _} | others] when length(best) == @k ->
          if distance < farthest,
            do: nearest(labelled, point, insert(others, distance, label)),
            else: nearest(labelled, point, best)

        _ ->
          nearest(labelled, point, insert(best, distance, label))
      end
    end

    defp insert([{farther, _} = first | best], distance, label) when farther > distance,
      do: [first | insert(best, distance, label)]

    defp insert(best, distance, label), do: [{distance, label} | best]

    defp distance([], [], sum), do: sum
    defp distance([a | as], [b | bs], sum), do: distance(as, bs, sum + (a - b) * (a - b))
  end

  @impl true
  def mote(machine, n) do
    vectors = &for {label, point} <- &1, do: {label, Vector.new(:f64, point)}
    labelled = vectors.(Points.new(@labelled))
    points = for {_, point} <- vectors.(unlabelled(n)), do: point
    sequential = Mote.create(machine, Actors.sequential(labelled, points))
    parallel = Mote.create(machine, Actors.parallel(labelled, points))
    request = {self(), :start}

    [
      sequential: asking(sequential, request),
      parallel: fn labels -> {labels, answer(fn -> Mote.send(parallel, request) end)} end,
      judge: fn {labels, numbered} -> judge(numbered, labels, n) end
    ]
  end

  @impl true
  def beam(n) do
    :persistent_term.put(__MODULE__, Points.new(@labelled))
    points = for {_, point} <- unlabelled(n), do: point

    [sequential, parallel] =
      for name <- ~w(sequential parallel)a, do: spawn(Processes, name, [self(), __MODULE__, points])

    [
      sequential: asking(sequential, :start),
      parallel: fn labels -> {Enum.reverse(labels), answer(fn -> send(parallel, :start) end)} end,
      judge: fn {labels, numbered} -> judge(numbered, labels, n) end
    ]
  end

  # Others than the labelled ones.
  defp unlabelled(n), do: Points.new(n, 1)

  # `labels` came in order, the last one first; the parallel ones in any, each with its number. All are those of the clouds.
  @doc false
  def judge(numbered, labels, n) do
    right = for {cloud, _} <- unlabelled(n), do: cloud
    numbered = Enum.sort(numbered)

    cond do
      numbered != Enum.with_index(Enum.reverse(labels), &{&2, &1}) ->
        {:parallel, numbered, :sequential, labels}

      Enum.reverse(labels) != right ->
        {:labels, labels}

      true ->
        :classified
    end
  end
end
