defmodule Mote.Prelude.Inline.Enum do
  # Functions of Enum that take functions, as templates: see `Mote.Behaviour.Template`. Those that look for something
  # stop where they have found it. The function is called with the elements in Elixir's own order.
  @moduledoc false
  use Mote.Behaviour.Template

  alias Mote.Prelude.Enum, as: Source

  # -- looking for something -----------------------------------------------------------------------------------

  deftemplate all?(walked, fun), do: search([], walked, true, fn x -> !fun.(x) end, fn _ -> false end)
  deftemplate any?(walked, fun), do: search([], walked, false, fun, fn _ -> true end)
  deftemplate find(walked, fun), do: find(walked, nil, fun)
  deftemplate find(walked, default, fun), do: search([], walked, default, fun, fn x -> x end)

  deftemplate search([x | rest], more, none, fun, fun_found),
    do: if(fun.(x), do: fun_found.(x), else: search(rest, more, none, fun, fun_found))

  deftemplate search([], [], none, fun, fun_found), do: none

  deftemplate search([], more, none, fun, fun_found),
    do: search(Source.some(more), Source.others(more), none, fun, fun_found)

  deftemplate find_index(walked, fun), do: index_in([], walked, 0, fun)

  deftemplate index_in([x | rest], more, i, fun),
    do: if(fun.(x), do: i, else: index_in(rest, more, i + 1, fun))

  deftemplate index_in([], [], _, fun), do: nil
  deftemplate index_in([], more, i, fun), do: index_in(Source.some(more), Source.others(more), i, fun)

  deftemplate find_value(walked, fun), do: find_value(walked, nil, fun)
  deftemplate find_value(walked, default, fun), do: value_in([], walked, default, fun)
  deftemplate value_in([x | rest], more, default, fun), do: fun.(x) || value_in(rest, more, default, fun)
  deftemplate value_in([], [], default, fun), do: default

  deftemplate value_in([], more, default, fun),
    do: value_in(Source.some(more), Source.others(more), default, fun)

  # -- parts ---------------------------------------------------------------------------------------------------

  deftemplate reject(source, fun), do: for(x <- Enum.to_list(source), !fun.(x), do: x)

  deftemplate take_while(walked, fun), do: take_in([], walked, [], fun)

  deftemplate take_in([x | rest], more, taken, fun) do
    if fun.(x), do: take_in(rest, more, [x | taken], fun), else: Enum.reverse(taken)
  end

  deftemplate take_in([], [], taken, fun), do: Enum.reverse(taken)
  deftemplate take_in([], more, taken, fun), do: take_in(Source.some(more), Source.others(more), taken, fun)

  deftemplate drop_while(source, fun), do: drop_in(Enum.to_list(source), fun)
  deftemplate drop_in([], fun), do: []
  deftemplate drop_in([x | rest] = list, fun), do: if(fun.(x), do: drop_in(rest, fun), else: list)

  deftemplate split_while(source, fun), do: split_in(Enum.to_list(source), [], fun)
  deftemplate split_in([], taken, fun), do: {Enum.reverse(taken), []}

  deftemplate split_in([x | rest] = list, taken, fun) do
    if fun.(x), do: split_in(rest, [x | taken], fun), else: {Enum.reverse(taken), list}
  end

  deftemplate split_with(source, fun), do: parted(Enum.to_list(source), [], [], fun)
  deftemplate parted([], yes, no, fun), do: {Enum.reverse(yes), Enum.reverse(no)}

  deftemplate parted([x | rest], yes, no, fun) do
    if fun.(x), do: parted(rest, [x | yes], no, fun), else: parted(rest, yes, [x | no], fun)
  end

  deftemplate chunk_by(source, fun), do: chunks_by(Enum.to_list(source), [], [], nil, fun)
  deftemplate chunks_by([], chunks, [], _, fun), do: Enum.reverse(chunks)
  deftemplate chunks_by([], chunks, chunk, _, fun), do: Enum.reverse([Enum.reverse(chunk) | chunks])

  deftemplate chunks_by([x | rest], chunks, chunk, last, fun) do
    key = fun.(x)

    cond do
      chunk == [] -> chunks_by(rest, chunks, [x], key, fun)
      key === last -> chunks_by(rest, chunks, [x | chunk], key, fun)
      true -> chunks_by(rest, [Enum.reverse(chunk) | chunks], [x], key, fun)
    end
  end

  deftemplate chunk_while(walked, acc, fun, fun_end), do: chunked([], walked, [], acc, fun, fun_end)

  deftemplate chunked([x | rest], more, chunks, acc, fun, fun_end) do
    case fun.(x, acc) do
      {:cont, chunk, acc} -> chunked(rest, more, [chunk | chunks], acc, fun, fun_end)
      {:cont, acc} -> chunked(rest, more, chunks, acc, fun, fun_end)
      {:halt, acc} -> chunked([], [], chunks, acc, fun, fun_end)
    end
  end

  deftemplate chunked([], [], chunks, acc, fun, fun_end) do
    case fun_end.(acc) do
      {:cont, _} -> Enum.reverse(chunks)
      {:cont, chunk, _} -> Enum.reverse([chunk | chunks])
    end
  end

  deftemplate chunked([], more, chunks, acc, fun, fun_end),
    do: chunked(Source.some(more), Source.others(more), chunks, acc, fun, fun_end)

  deftemplate dedup_by(source, fun), do: deduped(Enum.to_list(source), [], nil, fun)
  deftemplate deduped([], done, _, fun), do: Enum.reverse(done)

  deftemplate deduped([x | rest], done, last, fun) do
    key = fun.(x)
    done = if done != [] and key === last, do: done, else: [x | done]
    deduped(rest, done, key, fun)
  end

  deftemplate uniq_by(source, fun), do: uniq_of(Enum.to_list(source), fun)

  deftemplate uniq_of(list, fun) when length(list) >= 10_000,
    do: Source.without(list, 0, Source.repeated(for(x <- list, do: fun.(x))), [])

  deftemplate uniq_of(list, fun), do: uniq_in(list, %{}, [], fun)
  deftemplate uniq_in([], _, done, fun), do: Enum.reverse(done)

  deftemplate uniq_in([x | rest], seen, done, fun) do
    key = fun.(x)

    if is_map_key(seen, key),
      do: uniq_in(rest, seen, done, fun),
      else: uniq_in(rest, Map.put(seen, key, true), [x | done], fun)
  end

  # -- making something of all ---------------------------------------------------------------------------------

  deftemplate count(source, fun),
    do: for(x <- Enum.to_list(source), reduce: 0, do: (n -> if(fun.(x), do: n + 1, else: n)))

  deftemplate count_until(walked, fun, limit) when is_integer(limit) and limit > 0,
    do: until([], walked, 0, limit, fun)

  deftemplate until(_, _, n, limit, fun) when n == limit, do: n

  deftemplate until([x | rest], more, n, limit, fun),
    do: until(rest, more, if(fun.(x), do: n + 1, else: n), limit, fun)

  deftemplate until([], [], n, _, fun), do: n
  deftemplate until([], more, n, limit, fun), do: until(Source.some(more), Source.others(more), n, limit, fun)

  deftemplate sum_by(source, fun),
    do: for(x <- Enum.to_list(source), reduce: 0, do: (sum -> sum + fun.(x)))

  deftemplate product_by(source, fun),
    do: for(x <- Enum.to_list(source), reduce: 1, do: (product -> product * fun.(x)))

  deftemplate flat_map(source, fun),
    do: Source.concat_all(for(x <- Enum.to_list(source), reduce: [], do: (lists -> [fun.(x) | lists])), [])

  # `with_index/2` with a function.
  deftemplate with_index_by(source, fun),
    do: elem(map_reduce(source, 0, fn x, i -> {fun.(x, i), i + 1} end), 0)

  deftemplate flat_map_reduce(walked, acc, fun), do: flat_acc([], walked, [], acc, fun)

  deftemplate flat_acc([x | rest], more, lists, acc, fun) do
    case fun.(x, acc) do
      {:halt, acc} -> {Source.concat_all(lists, []), acc}
      {list, acc} -> flat_acc(rest, more, [list | lists], acc, fun)
    end
  end

  deftemplate flat_acc([], [], lists, acc, fun), do: {Source.concat_all(lists, []), acc}

  deftemplate flat_acc([], more, lists, acc, fun),
    do: flat_acc(Source.some(more), Source.others(more), lists, acc, fun)

  deftemplate map_every(source, nth, fun) when is_integer(nth) and nth >= 0,
    do: every_in(Enum.to_list(source), nth, 0, [], fun)

  deftemplate every_in(list, 0, _, _, fun), do: list
  deftemplate every_in([], _, _, done, fun), do: Enum.reverse(done)
  deftemplate every_in([x | rest], nth, 0, done, fun), do: every_in(rest, nth, nth - 1, [fun.(x) | done], fun)
  deftemplate every_in([x | rest], nth, n, done, fun), do: every_in(rest, nth, n - 1, [x | done], fun)

  deftemplate map_reduce(source, acc, fun), do: mapped(Enum.to_list(source), [], acc, fun)
  deftemplate mapped([], done, acc, fun), do: {Enum.reverse(done), acc}

  deftemplate mapped([x | rest], done, acc, fun) do
    {y, acc} = fun.(x, acc)
    mapped(rest, [y | done], acc, fun)
  end

  deftemplate reduce(source, fun) do
    case Enum.to_list(source) do
      [x | rest] when is_list(rest) -> for(y <- rest, reduce: x, do: (acc -> fun.(y, acc)))
    end
  end

  deftemplate reduce_while(walked, acc, fun), do: while([], walked, acc, fun)

  deftemplate while([x | rest], more, acc, fun) do
    case fun.(x, acc) do
      {:cont, acc} -> while(rest, more, acc, fun)
      {:halt, acc} -> acc
    end
  end

  deftemplate while([], [], acc, fun), do: acc
  deftemplate while([], more, acc, fun), do: while(Source.some(more), Source.others(more), acc, fun)

  deftemplate scan(source, fun) do
    case Enum.to_list(source) do
      [] -> []
      [x | rest] when is_list(rest) -> [x | scan(rest, x, fun)]
    end
  end

  deftemplate scan(source, acc, fun) do
    {scanned, _} =
      map_reduce(source, acc, fn x, acc ->
        acc = fun.(x, acc)
        {acc, acc}
      end)

    scanned
  end

  deftemplate map_join(source, fun), do: map_join(source, "", fun)

  deftemplate map_join(source, joiner, fun) when is_binary(joiner),
    do: Mote.Prelude.Text.joined(for(x <- Enum.to_list(source), do: to_string(fun.(x))), joiner)

  deftemplate map_intersperse(source, separator, fun),
    do: Source.between(for(x <- Enum.to_list(source), do: fun.(x)), separator, [])

  deftemplate zip_with(walked_a, walked_b, fun) do
    {xs, ys} = Source.beside(walked_a, walked_b)
    zip_in(xs, ys, [], fun)
  end

  deftemplate zip_in([x | xs], [y | ys], done, fun), do: zip_in(xs, ys, [fun.(x, y) | done], fun)
  deftemplate zip_in(xs, ys, done, fun) when xs == [] or ys == [], do: Enum.reverse(done)

  deftemplate zip_with(sources, fun), do: for(row <- Source.rows(sources), do: fun.(row))

  deftemplate zip_reduce(sources, acc, fun),
    do: for(row <- Source.rows(sources), reduce: acc, do: (acc -> fun.(row, acc)))

  deftemplate zip_reduce(walked_a, walked_b, acc, fun) do
    {xs, ys} = Source.beside(walked_a, walked_b)
    zip_acc(xs, ys, acc, fun)
  end

  deftemplate zip_acc([x | xs], [y | ys], acc, fun), do: zip_acc(xs, ys, fun.(x, y, acc), fun)
  deftemplate zip_acc(xs, ys, acc, fun) when xs == [] or ys == [], do: acc

  # -- maps ----------------------------------------------------------------------------------------------------

  deftemplate frequencies_by(source, fun) do
    for x <- Enum.to_list(source), reduce: %{} do
      seen ->
        key = fun.(x)
        Map.put(seen, key, Map.get(seen, key, 0) + 1)
    end
  end

  deftemplate group_by(source, fun), do: group_by(source, fun, fn x -> x end)

  # From the end, as Elixir does, so that the groups are in order.
  deftemplate group_by(source, fun_key, fun_value) do
    for x <- Enum.reverse(Enum.to_list(source)), reduce: %{} do
      groups ->
        key = fun_key.(x)
        value = fun_value.(x)
        Map.put(groups, key, [value | Map.get(groups, key, [])])
    end
  end

  deftemplate into(source, target, fun),
    do: Source.into(for(x <- Enum.to_list(source), do: fun.(x)), target)

  # -- order ---------------------------------------------------------------------------------------------------

  deftemplate sort(source, fun), do: ascending(runs(Enum.to_list(source), [], fun), [], fun)

  # What is equal keeps its order, here as in each merge.
  deftemplate runs([a, b | rest], runs, fun),
    do: runs(rest, [if(fun.(a, b), do: [a, b], else: [b, a]) | runs], fun)

  deftemplate runs([a], runs, fun), do: Enum.reverse([[a] | runs])
  deftemplate runs([], runs, fun), do: Enum.reverse(runs)

  # Runs are merged with their neighbours until one is left: n log n. A merge turns them around, since it puts each element before
  # those that it has taken: so they are ascending and descending by turns.
  deftemplate ascending([], [], fun), do: []
  deftemplate ascending([run], [], fun), do: run
  deftemplate ascending([a, b | rest], done, fun), do: ascending(rest, [merge(a, b, [], fun) | done], fun)
  deftemplate ascending([a], done, fun), do: descending(Enum.reverse([Enum.reverse(a) | done]), [], fun)
  deftemplate ascending([], done, fun), do: descending(Enum.reverse(done), [], fun)

  deftemplate merge([], ys, merged, fun), do: :lists.reverse(ys, merged)
  deftemplate merge(xs, [], merged, fun), do: :lists.reverse(xs, merged)

  deftemplate merge([x | xs_rest] = xs, [y | ys_rest] = ys, merged, fun) do
    if fun.(x, y),
      do: merge(xs_rest, ys, [x | merged], fun),
      else: merge(xs, ys_rest, [y | merged], fun)
  end

  deftemplate descending([run], [], fun), do: Enum.reverse(run)

  # Backwards, what comes later is taken first where both are equal.
  deftemplate descending([a, b | rest], done, fun),
    do: descending(rest, [merge(b, a, [], fn y, x -> fun.(x, y) end) | done], fun)

  deftemplate descending([a], done, fun), do: ascending(Enum.reverse([Enum.reverse(a) | done]), [], fun)
  deftemplate descending([], done, fun), do: ascending(Enum.reverse(done), [], fun)

  deftemplate sort_by(source, fun_key),
    do: Source.values(:lists.keysort(1, for(x <- Enum.to_list(source), do: {fun_key.(x), x})))

  deftemplate sort_by_descending(source, fun_key) do
    pairs = for(x <- Enum.to_list(source), do: {fun_key.(x), x})
    Enum.reverse(Source.values(:lists.keysort(1, Enum.reverse(pairs))))
  end

  deftemplate sort_by(source, fun_key, fun) do
    pairs = for(x <- Enum.to_list(source), do: {fun_key.(x), x})
    Source.values(sort(pairs, fn {k, _}, {l, _} -> fun.(k, l) end))
  end

  # Of List.
  deftemplate keysort(list, place, fun) when is_list(list) and is_integer(place) and place >= 0 do
    pairs = for(x <- list, do: {elem(x, place), x})
    Source.values(sort(pairs, fn {k, _}, {l, _} -> fun.(k, l) end))
  end
end
