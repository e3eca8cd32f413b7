defmodule Mote.Prelude.List do
  # Functions of List that take no functions.
  @moduledoc false
  use Mote.Behaviour, import: [List]

  require Mote.Prelude

  alias Mote.Prelude.Enum, as: Walk

  # Elixir's needs a level of the stack for each list of a list.
  defpure flatten(list, tail \\ []) when is_list(tail), do: Enum.reverse(leaves(list, [])) ++ tail

  defpure leaves([], found), do: found
  defpure leaves([x | rest], found) when is_list(x), do: leaves(rest, leaves(x, found))
  defpure leaves([x | rest], found), do: leaves(rest, [x | found])

  defpure keysort(list, place) when is_integer(place), do: :lists.keysort(place + 1, list)

  defpure keysort_descending(list, place) when is_list(list),
    do: Enum.reverse(keysort(Enum.reverse(list), place))

  # Elixir warns of its own from 1.18 on.
  defpure zip(lists) when is_list(lists),
    do: Enum.zip(Enum.map(lists, fn list when is_list(list) -> list end))

  defpure ends_with?(list, suffix) do
    before = length(list) - length(suffix)
    before >= 0 and Walk.drop_first(list, before) === suffix
  end

  defpure first!([x | _]), do: x
  defpure last!([x]), do: x
  defpure last!([_ | rest]), do: last!(rest)

  # -- of List.myers_difference/3: `Mote.Prelude.Inline.List` ---------------------------------------------------

  # What is equal costs nothing.
  defpure alike({y, [x | rest1], [x | rest2], edits}), do: alike({y + 1, rest1, rest2, [{:eq, x} | edits]})
  defpure alike(path), do: path

  # The edits in their order, with one list for each run of a kind.
  defpure script([], done), do: done
  defpure script([{:diff, _} = edit | rest], done), do: script(rest, [edit | done])
  defpure script([{kind, x} | rest], [{kind, run} | done]), do: script(rest, [{kind, [x | run]} | done])

  defpure script(edits, [{:eq, run}, {:ins, run}, {:eq, other} | done]),
    do: script(edits, [{:ins, run}, {:eq, run ++ other} | done])

  defpure script([{kind, x} | rest], done), do: script(rest, [{kind, [x]} | done])

  Mote.Prelude.released()
end
