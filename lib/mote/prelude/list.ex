defmodule Mote.Prelude.List do
  # Functions of List that take no functions, and those of Keyword, whose values are lists of pairs.
  @moduledoc false
  use Mote.Behaviour

  alias Mote.Prelude.Enum, as: Walk

  defpure delete(list, y), do: without(list, y, [])

  defpure without([], _, before), do: Enum.reverse(before)
  defpure without([x | rest], y, before) when x === y, do: Enum.reverse(before) ++ rest
  defpure without([x | rest], y, before), do: without(rest, y, [x | before])

  defpure delete_at(list, index), do: elem(pop_at(list, index, nil), 1)

  defpure pop_at(list, index), do: pop_at(list, index, nil)

  defpure pop_at(list, index, default) when is_integer(index) and index >= 0,
    do: pop(list, index, default, [])

  defpure pop_at(list, index, default) when is_integer(index),
    do: pop_from_end(list, length(list) + index, default)

  defpure pop_from_end(list, index, default) when index < 0, do: {default, list}
  defpure pop_from_end(list, index, default), do: pop(list, index, default, [])

  defpure pop([], _, default, before), do: {default, Enum.reverse(before)}
  defpure pop([x | rest], 0, _, before), do: {x, Enum.reverse(before) ++ rest}
  defpure pop([x | rest], n, default, before), do: pop(rest, n - 1, default, [x | before])

  defpure insert_at(list, index, value) when is_integer(index) and index >= 0,
    do: insert(list, index, value, [])

  defpure insert_at(list, index, value) when is_integer(index),
    do: insert(list, max(length(list) + index + 1, 0), value, [])

  defpure insert([x | rest], n, value, before) when n > 0, do: insert(rest, n - 1, value, [x | before])
  defpure insert(list, _, value, before) when is_list(list), do: Enum.reverse(before) ++ [value | list]

  defpure replace_at(list, index, value) when is_integer(index) and index >= 0,
    do: replace(list, index, value, [])

  defpure replace_at(list, index, value) when is_integer(index) do
    index = length(list) + index
    if index < 0, do: list, else: replace(list, index, value, [])
  end

  defpure replace([], _, _, before), do: Enum.reverse(before)
  defpure replace([_ | rest], 0, value, before), do: Enum.reverse(before) ++ [value | rest]
  defpure replace([x | rest], n, value, before), do: replace(rest, n - 1, value, [x | before])

  defpure duplicate(x, n) when is_integer(n) and n >= 0, do: copies(x, n, [])

  defpure copies(_, 0, list), do: list
  defpure copies(x, n, list), do: copies(x, n - 1, [x | list])

  defpure first([]), do: nil
  defpure first([x | _]), do: x
  defpure first([], default), do: default
  defpure first([x | _], _), do: x

  defpure last(list), do: last(list, nil)
  defpure last([], default), do: default
  defpure last([x], _), do: x
  defpure last([_ | rest], default), do: last(rest, default)

  defpure flatten(list, tail \\ []) when is_list(tail), do: Enum.reverse(leaves(list, [])) ++ tail

  # As deep as the lists nest, however long they are.
  defpure leaves([], found), do: found
  defpure leaves([x | rest], found) when is_list(x), do: leaves(rest, leaves(x, found))
  defpure leaves([x | rest], found), do: leaves(rest, [x | found])

  defpure starts_with?(list, []) when is_list(list), do: true
  defpure starts_with?([x | xs], [y | ys]) when x === y, do: starts_with?(xs, ys)
  defpure starts_with?(list, [_ | _]) when is_list(list), do: false

  defpure wrap(nil), do: []
  defpure wrap(list) when is_list(list), do: list
  defpure wrap(other), do: [other]

  defpure zip(lists) when is_list(lists) do
    for row <- Walk.rows(Enum.map(lists, fn list when is_list(list) -> list end), []), do: List.to_tuple(row)
  end

  # -- of tuples with a key ------------------------------------------------------------------------------------

  defpure keyfind(list, key, place, default \\ nil) when is_integer(place) and place >= 0,
    do: found(list, key, place, default)

  defpure found([], _, _, default), do: default

  defpure found([x | rest], key, place, default) do
    if keyed?(x, key, place), do: x, else: found(rest, key, place, default)
  end

  defpure keyed?(x, key, place), do: is_tuple(x) and tuple_size(x) > place and elem(x, place) == key

  defpure keysort(list, place) when is_integer(place), do: :lists.keysort(place + 1, list)

  defpure keysort_descending(list, place) when is_list(list),
    do: Enum.reverse(keysort(Enum.reverse(list), place))

  defpure keymember?(list, key, place), do: keyfind(list, key, place, nil) != nil
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

  defpure keyfind!(list, key, place) do
    case keyfind(list, key, place, nil) do
      found when found != nil -> found
    end
  end

  defpure keytake(list, key, place) when is_integer(place) and place >= 0,
    do: taken(list, key, place, [])

  defpure taken([], _, _, _), do: nil

  defpure taken([x | rest], key, place, before) do
    if keyed?(x, key, place),
      do: {x, Enum.reverse(before) ++ rest},
      else: taken(rest, key, place, [x | before])
  end

  # -- of characters -------------------------------------------------------------------------------------------

  defpure ascii_printable?(list, limit \\ :infinity)
          when is_list(list) and (limit == :infinity or (is_integer(limit) and limit >= 0)),
          do: printable?(list, limit)

  defpurep printable?([], _), do: true
  defpurep printable?(_, 0), do: true

  defpurep printable?([c | rest], limit)
           when c in 32..126 or c in [?\n, ?\r, ?\t, ?\v, ?\b, ?\f, ?\e, ?\a],
           do: printable?(rest, if(limit == :infinity, do: limit, else: limit - 1))

  defpurep printable?(_, _), do: false

  defpure improper?([]), do: false
  defpure improper?([_ | rest]) when is_list(rest), do: improper?(rest)
  defpure improper?([_ | _]), do: true

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
end
