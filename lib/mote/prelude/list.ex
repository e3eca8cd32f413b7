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
  defpure zip(lists) when is_list(lists) do
    for row <- Walk.rows(Enum.map(lists, fn list when is_list(list) -> list end), []), do: List.to_tuple(row)
  end

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

  defpure delete(list, y), do: without(list, y, [])

  defpure without([], _, before), do: Enum.reverse(before)
  defpure without([x | rest], y, before) when x === y, do: Enum.reverse(before) ++ rest
  defpure without([x | rest], y, before), do: without(rest, y, [x | before])

  defpure first([]), do: nil
  defpure first([x | _]), do: x
  defpure first([], default), do: default
  defpure first([x | _], _), do: x

  defpure keyed?(x, key, place), do: is_tuple(x) and tuple_size(x) > place and elem(x, place) == key
  defpure keydelete(list, key, place), do: keyed(list, key, place, [], [])
  defpure keyreplace(list, key, place, new) when is_tuple(new), do: keyed(list, key, place, [new], [])
  defpure keystore(list, key, place, new) when is_tuple(new), do: keyed(list, key, place, [new], [new])

  # With other elements in place of the first that has the key, or at the end if none has.
  defpure keyed(list, key, place, instead, missing) when is_integer(place) and place >= 0,
    do: changed(list, key, place, instead, missing, [])

  defpure changed([], _, _, _, missing, before), do: Enum.reverse(before) ++ missing

  defpure changed([x | rest], key, place, instead, missing, before) do
    if keyed?(x, key, place),
      do: Enum.reverse(before) ++ instead ++ rest,
      else: changed(rest, key, place, instead, missing, [x | before])
  end

  defpure ascii_printable?(list, limit \\ :infinity)
          when is_list(list) and (limit == :infinity or (is_integer(limit) and limit >= 0)),
          do: printable?(list, limit)

  defpurep printable?([], _), do: true
  defpurep printable?(_, 0), do: true

  defpurep printable?([c | rest], limit)
           when c in 32..126 or c in [?\n, ?\r, ?\t, ?\v, ?\b, ?\f, ?\e, ?\a],
           do: printable?(rest, if(limit == :infinity, do: limit, else: limit - 1))

  defpurep printable?(_, _), do: false

  Mote.Prelude.released()
end
