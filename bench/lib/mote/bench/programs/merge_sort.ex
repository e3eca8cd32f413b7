defmodule Mote.Bench.Programs.MergeSort do
  # Merge sort of n random integers down to single ones, with an actor for each part of the list: 2n - 1 of them. An
  # actor has two others sort the halves of its part; when both have come back, it merges them.
  @moduledoc false

  use Mote.Bench.Program,
    title: "merge sort of n random integers, an actor for each part down to single ones",
    param: :n,
    defaults: [1_048_576],
    small: 100,
    metric: :ns_per_actor,
    count: &(2 * &1 - 1),
    expected: :sorted,
    processes: &(count(&1) + 1),
    plot: [sizes: [1_024, 8_192, 65_536], full: [1_024, 8_192, 65_536, 262_144, 1_048_576]]

  @seed {1945, 6, 30}
  @greatest 1_000_000_000

  defmodule Actors do
    use Mote.Behaviour

    # `{order, list, length}`: to sort are the first so many of the list. Nothing is copied on the way down: what is
    # immutable can be shared.
    #
    # A merged list is made from its end to its beginning. So whoever wants the least first (`:up`) merges two lists that
    # have the greatest first (`:down`).
    defactor sorter(parent) do
      {_order, [single | _], 1} ->
        send parent, [single]

      {order, list, length} ->
        half = div(length, 2)
        left = create sorter(self())
        right = create sorter(self())
        send left, {other(order), list, half}
        send right, {other(order), drop(list, half), length - half}
        become waiting(parent, order)
    end

    defactor waiting(parent, order) do
      sorted -> become merger(parent, order, sorted)
    end

    defactor merger(parent, order, sorted) do
      other when order == :up -> send parent, up(sorted, other, [])
      other -> send parent, down(sorted, other, [])
    end

    defpure other(:up), do: :down
    defpure other(:down), do: :up

    defpure drop(list, 0), do: list
    defpure drop([_ | list], n), do: drop(list, n - 1)

    defpure up([a | as], [b | _] = bs, merged) when a > b, do: up(as, bs, [a | merged])
    defpure up([_ | _] = as, [b | bs], merged), do: up(as, bs, [b | merged])
    defpure up([], rest, merged), do: onto(merged, rest)
    defpure up(rest, [], merged), do: onto(merged, rest)

    defpure down([a | as], [b | _] = bs, merged) when a < b, do: down(as, bs, [a | merged])
    defpure down([_ | _] = as, [b | bs], merged), do: down(as, bs, [b | merged])
    defpure down([], rest, merged), do: onto(merged, rest)
    defpure down(rest, [], merged), do: onto(merged, rest)

    defpure onto(merged, []), do: merged
    defpure onto(merged, [next | rest]), do: onto([next | merged], rest)

    # Has the list, and tells the customer whether it comes back sorted and whole.
    defactor judge(list, length, sum, customer) do
      :start ->
        sorter = create sorter(self())
        send sorter, {:up, list, length}

      sorted ->
        send customer, verdict(sorted, length, sum)
    end

    defpure verdict([first | _] = sorted, length, sum), do: verdict(sorted, first, length, sum)

    defpure verdict([], _last, 0, 0), do: :sorted

    defpure verdict([next | rest], last, length, sum) when last <= next,
      do: verdict(rest, next, length - 1, sum - next)

    defpure verdict(_rest, _last, _length, _sum), do: :not_sorted
  end

  defmodule Processes do
    # The lists are copied on their way down and up. Splitting and merging are those of the standard library.

    @spec sorter(pid) :: term
    def sorter(parent) do
      receive do
        {list, 1} ->
          send(parent, list)

        {list, length} ->
          half = div(length, 2)
          {left, right} = :lists.split(half, list)
          send(spawn(__MODULE__, :sorter, [self()]), {left, half})
          send(spawn(__MODULE__, :sorter, [self()]), {right, length - half})

          receive do
            sorted ->
              receive do
                other -> send(parent, :lists.merge(sorted, other))
              end
          end
      end
    end

    @spec judge([integer], pos_integer, integer, pid) :: term
    def judge(list, length, sum, customer) do
      receive do
        :start -> send(spawn(__MODULE__, :sorter, [self()]), {list, length})
      end

      receive do
        sorted -> send(customer, verdict(sorted, hd(sorted), length, sum))
      end
    end

    defp verdict([], _last, 0, 0), do: :sorted

    defp verdict([next | rest], last, length, sum) when last <= next,
      do: verdict(rest, next, length - 1, sum - next)

    defp verdict(_rest, _last, _length, _sum), do: :not_sorted
  end

  @impl true
  def mote(machine, n) do
    list = list(n)
    judge = Mote.create(machine, Actors.judge(list, n, Enum.sum(list), self()))
    [run: asking(judge, :start)]
  end

  @impl true
  def beam(n) do
    list = list(n)
    judge = spawn(Processes, :judge, [list, n, Enum.sum(list), self()])
    [run: asking(judge, :start)]
  end

  defp list(n) do
    :rand.seed(:exsss, @seed)
    for _ <- 1..n, do: :rand.uniform(@greatest)
  end
end
