defmodule Mote.Bench.Programs.Savina.Sor do
  # Successive over-relaxation of the Savina suite (Imam, Sarkar, 2014), for its messages: `Mote.Bench.Cells` on a grid of
  # 60 × 60 whose edges meet.
  @moduledoc false

  alias Mote.Bench.Cells

  @side 60
  @degree 4

  use Mote.Bench.Program,
    title: "3,600 cells in a grid, each of which sends its number to four neighbours in each of n phases",
    param: :n,
    defaults: [100],
    small: 3,
    metric: :ns_per_message,
    count: &Cells.messages(@side * @side, @degree, &1),
    expected: &Cells.sum(@side * @side, @degree, &1),
    processes: @side * @side + 1

  @impl true
  def mote(machine, n), do: Cells.stages(machine, @side * @side, n, &neighbours/1)

  @impl true
  def beam(n), do: Cells.stages(@side * @side, n, &neighbours/1)

  defp neighbours(number) do
    {row, column} = {div(number, @side), rem(number, @side)}
    for {down, right} <- [{1, 0}, {-1, 0}, {0, 1}, {0, -1}], do: at(row + down, column + right)
  end

  defp at(row, column), do: Integer.mod(row, @side) * @side + Integer.mod(column, @side)
end
