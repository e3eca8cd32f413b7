defmodule Mote.Bench.Programs.Savina.Trapezoid do
  # The trapezoidal rule of the Savina suite (`trapezoid`: 10,000,000 pieces, 100 workers, from 1 to 5): each worker adds up a
  # hundredth of the pieces of the area below a curve.
  @moduledoc false

  @workers 100

  use Mote.Bench.Program,
    title: "the area below a curve in 100 n pieces, by 100 workers",
    param: :n,
    defaults: [100_000],
    small: 10,
    metric: :ns_per_piece,
    count: &(&1 * @workers),
    processes: @workers + 1,
    rust: [rust: "trapezoid"]

  defmodule Actors do
    use Mote.Behaviour

    defactor master(workers, pieces, customer) do
      {left, right} ->
        width = (right - left) / workers
        areas = create gather(customer, workers, [], fn area, areas -> [area | areas] end)

        for number <- 0..(workers - 1) do
          send create(worker(pieces, areas)), {left + number * width, width / pieces}
        end
    end

    defactor worker(pieces, customer) do
      {left, width} -> send customer, area(left, width, pieces, 0.0)
    end

    defpure area(_left, _width, 0, area), do: area

    defpure area(left, width, pieces, area) do
      right = left + width
      area(right, width, pieces - 1, area + (height(left) + height(right)) / 2 * width)
    end

    defpure height(x) do
      1 / (x + 1) * :math.sqrt(1 + :math.exp(:math.sqrt(2 * x))) * :math.sin(x * x * x - 1)
    end
  end

  defmodule Processes do
    @spec master(pos_integer, pos_integer, pid) :: term
    def master(workers, pieces, customer) do
      receive do
        {left, right} ->
          width = (right - left) / workers
          me = self()

          for number <- 0..(workers - 1) do
            spawn(fn -> send(me, area(left + number * width, width / pieces, pieces, 0.0)) end)
          end

          send(customer, for(_ <- 1..workers, do: receive(do: (area -> area))))
      end
    end

    defp area(_left, _width, 0, area), do: area

    defp area(left, width, pieces, area) do
      right = left + width
      area(right, width, pieces - 1, area + (height(left) + height(right)) / 2 * width)
    end

    defp height(x) do
      1 / (x + 1) * :math.sqrt(1 + :math.exp(:math.sqrt(2 * x))) * :math.sin(x * x * x - 1)
    end
  end

  # All pieces in one go, which adds them up in another order.
  @impl true
  def expected(n), do: rounded([Actors.area(1.0, 4.0 / (n * @workers), n * @workers, 0.0)])

  @impl true
  def mote(machine, n),
    do: [run: asking(Mote.create(machine, Actors.master(@workers, n, self())), {1.0, 5.0}, &rounded/1)]

  @impl true
  def beam(n), do: [run: asking(spawn(Processes, :master, [@workers, n, self()]), {1.0, 5.0}, &rounded/1)]

  @impl true
  def rust(area, _n), do: rounded([area])

  # Six digits: workers report in any order, and so sums differ in the last ones.
  defp rounded(areas), do: Float.round(Enum.sum(areas), 6)
end
