defmodule Mote.Behaviour.SortingTest do
  # Sorting by keys that are often equal, so that it shows whether what is equal keeps its order.
  use ExUnit.Case, async: true
  use ExUnitProperties

  defmodule Sorting do
    use Mote.Behaviour

    defactor sorter() do
      {customer, list} -> send customer, sorted(list)
    end

    defpure sorted(list) do
      [
        Enum.sort(list, fn {a, _}, {b, _} -> a <= b end),
        Enum.sort(list, fn {a, _}, {b, _} -> a >= b end),
        Enum.sort(list, :desc),
        Enum.sort_by(list, fn {a, _} -> a end, fn a, b -> a >= b end),
        Enum.sort_by(list, fn {a, _} -> a end, :asc),
        Enum.sort_by(list, fn {a, _} -> a end, :desc),
        List.keysort(list, 0, fn a, b -> rem(a, 3) <= rem(b, 3) end),
        List.keysort(list, 0, :desc)
      ]
    end
  end

  property "lists of any length are sorted as in Elixir" do
    sorter = Mote.create(start_supervised!(Mote), Sorting.sorter())

    check all(keys <- list_of(integer(0..9), max_length: 70), max_runs: 200) do
      list = Enum.with_index(keys)
      third = fn a, b -> rem(a, 3) <= rem(b, 3) end

      assert Mote.ask!(sorter, list) == [
               Enum.sort(list, fn {a, _}, {b, _} -> a <= b end),
               Enum.sort(list, fn {a, _}, {b, _} -> a >= b end),
               Enum.sort(list, :desc),
               Enum.sort_by(list, &elem(&1, 0), fn a, b -> a >= b end),
               Enum.sort_by(list, &elem(&1, 0)),
               Enum.sort_by(list, &elem(&1, 0), :desc),
               List.keysort(list, 0, third),
               List.keysort(list, 0, :desc)
             ]
    end
  end
end
