defmodule Mote.Bench.Programs.Neighbours do
  # `Mote.Bench.Cells` in a ring, where two threads can share along two ties of a thousand.
  @moduledoc false

  alias Mote.Bench.Cells

  @size 1_000
  @degree 2

  use Mote.Bench.Program,
    title: "1,000 cells in a ring, each of which sends its number to both neighbours in each of n phases",
    param: :n,
    defaults: [500],
    small: 3,
    metric: :ns_per_message,
    count: &Cells.messages(@size, @degree, &1),
    expected: &Cells.sum(@size, @degree, &1)

  @impl true
  def mote(machine, n) do
    Cells.stages(machine, @size, n, fn number ->
      for step <- [1, -1], do: Integer.mod(number + step, @size)
    end)
  end
end
