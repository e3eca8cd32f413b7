defmodule Mote.Bench.Programs.Savina.Queens do
  # N-queens of the Savina suite (`nqueenk`: 12 queens, 20 workers, threshold 4): a master hands boards to workers in turn. A
  # worker sends back the boards with one more queen, until there are 4; from then on it counts all solutions by itself.
  @moduledoc false

  @workers 20
  # By the sequence A000170 of the OEIS.
  @solutions {1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2_680, 14_200, 73_712}

  use Mote.Bench.Program,
    title: "the ways to place n queens so that none takes another, by 20 workers",
    param: :n,
    defaults: [12],
    small: 5,
    metric: :us_per_board,
    # All boards of up to four queens.
    count: fn n -> Enum.sum(Enum.map(0..min(n, 4), &length(boards(&1, n)))) end,
    expected: &elem(@solutions, &1 - 1),
    processes: @workers + 1,
    rust: [rust: "queens"]

  defmodule Actors do
    use Mote.Behaviour

    @threshold 4

    # `out`: the boards that workers have. `next`: whose turn it is.
    defactor master(workers, next, out, solutions, customer) do
      {:board, board} ->
        send elem(workers, next), {self(), board}
        become next: rem(next + 1, tuple_size(workers)), out: out + 1

      {:done, found} when out > 1 ->
        become out: out - 1, solutions: solutions + found

      {:done, found} ->
        send customer, solutions + found
    end

    # A board: the columns of its queens, the last one first.
    defactor worker(size) do
      {master, board} ->
        if length(board) < @threshold do
          for column <- 1..size, safe?(board, column, 1), do: send(master, {:board, [column | board]})
          send master, {:done, 0}
        else
          send master, {:done, solutions(board, size - length(board), size, size)}
        end
    end

    defpure solutions(_board, 0, _column, _size), do: 1
    defpure solutions(_board, _left, 0, _size), do: 0

    defpure solutions(board, left, column, size) do
      here = if safe?(board, column, 1), do: solutions([column | board], left - 1, size, size), else: 0
      here + solutions(board, left, column - 1, size)
    end

    defpure safe?([], _column, _distance), do: true

    defpure safe?([queen | board], column, distance) do
      queen != column and abs(queen - column) != distance and safe?(board, column, distance + 1)
    end
  end

  defmodule Processes do
    @threshold 4

    @spec start(pos_integer, pos_integer, pid) :: pid
    def start(count, size, customer) do
      spawn(fn ->
        receive do
          :start ->
            workers = List.to_tuple(for _ <- 1..count, do: spawn(__MODULE__, :worker, [size]))
            send(elem(workers, 0), {self(), []})
            solutions = master(workers, 1, 1, 0)
            for worker <- Tuple.to_list(workers), do: send(worker, :stop)
            send(customer, solutions)
        end
      end)
    end

    defp master(_workers, _next, 0, solutions), do: solutions

    defp master(workers, next, out, solutions) do
      receive do
        {:board, board} ->
          send(elem(workers, next), {self(), board})
          master(workers, rem(next + 1, tuple_size(workers)), out + 1, solutions)

        {:done, found} ->
          master(workers, next, out - 1, solutions + found)
      end
    end

    @spec worker(pos_integer) :: :ok
    def worker(size) do
      receive do
        {master, board} ->
          if length(board) < @threshold do
            for column <- 1..size, safe?(board, column, 1), do: send(master, {:board, [column | board]})
            send(master, {:done, 0})
          else
            send(master, {:done, solutions(board, size - length(board), size, size)})
          end

          worker(size)

        :stop ->
          :ok
      end
    end

    defp solutions(_board, 0, _column, _size), do: 1
    defp solutions(_board, _left, 0, _size), do: 0

    defp solutions(board, left, column, size) do
      here = if safe?(board, column, 1), do: solutions([column | board], left - 1, size, size), else: 0
      here + solutions(board, left, column - 1, size)
    end

    defp safe?([], _column, _distance), do: true

    defp safe?([queen | board], column, distance) do
      queen != column and abs(queen - column) != distance and safe?(board, column, distance + 1)
    end
  end

  defp boards(0, _size), do: [[]]

  defp boards(queens, size) do
    for board <- boards(queens - 1, size),
        column <- 1..size,
        Actors.safe?(board, column, 1),
        do: [column | board]
  end

  @impl true
  def mote(machine, n) do
    workers = for _ <- 1..@workers, do: Mote.create(machine, Actors.worker(n))
    master = Mote.create(machine, Actors.master(List.to_tuple(workers), 0, 0, 0, self()))
    [run: asking(master, {:board, []})]
  end

  @impl true
  def beam(n), do: [run: asking(Processes.start(@workers, n, self()), :start)]

  @impl true
  def rust(solutions, _n), do: trunc(solutions)
end
