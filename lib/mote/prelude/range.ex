defmodule Mote.Prelude.Range do
  # Functions of Range.
  @moduledoc false
  use Mote.Behaviour

  defpure new(first, last), do: first..last
  defpure new(first, last, step), do: first..last//step

  defpure size(first..last//step) when step > 0 and first > last, do: 0
  defpure size(first..last//step) when step < 0 and first < last, do: 0
  defpure size(first..last//step), do: div(last - first, step) + 1

  defpure shift(first..last//step, steps), do: (first + steps * step)..(last + steps * step)//step
end
