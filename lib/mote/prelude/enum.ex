defmodule Mote.Prelude.Enum do
  # Functions of Enum that take no functions, over whatever `Enum.to_list/1` takes.
  # They equal Elixir's own for arguments that those take; `Mote.Prelude` has the table.
  @moduledoc false
  use Mote.Behaviour, import: [Enum]

  require Mote.Prelude

  alias Mote.Prelude.Text

  # A range need not be made a list, here and below: Elixir makes none either, and it may be a long one.
  defpure all?(_.._//_), do: true
  defpure all?(source), do: Enum.all?(Enum.to_list(source), & &1)

  defpure any?(source), do: Enum.any?(source, & &1)

  defpure empty?(_.._//_ = range), do: Range.size(range) == 0
  defpure empty?(source), do: Enum.to_list(source) == []

  defpure count(_.._//_ = range), do: Range.size(range)
  defpure count(source), do: length(Enum.to_list(source))

  # -- some at a time ------------------------------------------------------------------------------------------

  # What may end early goes through `some/1` and then through `others/1`, until these are `[]`. All of a source are
  # some, but a long range is made bit by bit: nobody may look at most of it.
  @some 32

  defpure some(first..last//step = range) do
    if Range.size(range) > @some,
      do: Enum.to_list(first..(first + (@some - 1) * step)//step),
      else: Enum.to_list(first..last//step)
  end

  defpure some({:"mote source", some, _next}), do: some
  defpure some(source), do: Enum.to_list(source)

  defpure others(first..last//step = range),
    do: if(Range.size(range) > @some, do: (first + @some * step)..last//step, else: [])

  defpure others({:"mote source", _some, next}), do: next(next)
  defpure others(_), do: []

  # One step of a source that is made while it is read.
  defpure next(step) do
    case step.({:cont, []}) do
      {:suspended, some, step} -> {:"mote source", some, step}
      {_, some} -> some
    end
  end

  # -- one element ---------------------------------------------------------------------------------------------

  defpure at(source, index, default \\ nil) do
    case fetch(source, index) do
      {:ok, x} -> x
      :error -> default
    end
  end

  defpure fetch(first.._//step = range, index) when is_integer(index) do
    size = Range.size(range)
    index = if index < 0, do: size + index, else: index
    if index >= 0 and index < size, do: {:ok, first + index * step}, else: :error
  end

  defpure fetch(source, index) when is_integer(index) do
    list = Enum.to_list(source)
    nth(list, if(index < 0, do: length(list) + index, else: index))
  end

  defpure fetch!(source, index), do: elem(fetch(source, index), 1)

  defpure nth([], _), do: :error
  defpure nth([x | _], 0), do: {:ok, x}
  defpure nth([_ | rest], n), do: nth(rest, n - 1)

  # -- parts ---------------------------------------------------------------------------------------------------

  # Whatever it is of: Elixir does not look at it either.
  defpure take(_, 0), do: []
  defpure take(_.._//_ = range, n) when is_integer(n), do: slice(range, min(n, 0), abs(n))
  defpure take(source, n) when is_integer(n) and n >= 0, do: take_first(Enum.to_list(source), n, [])

  defpure take(source, n) when is_integer(n) do
    list = Enum.to_list(source)
    drop_first(list, length(list) + n)
  end

  defpure take_first([x | rest], n, taken) when n > 0, do: take_first(rest, n - 1, [x | taken])
  defpure take_first(list, n, taken) when n <= 0 or list == [], do: Enum.reverse(taken)

  defpure drop(_.._//_ = range, n) when is_integer(n) and n < 0,
    do: slice(range, 0, max(Range.size(range) + n, 0))

  defpure drop(_.._//_ = range, n) when is_integer(n), do: slice(range, n, Range.size(range))
  defpure drop(source, n) when is_integer(n) and n >= 0, do: drop_first(Enum.to_list(source), n)

  defpure drop(source, n) when is_integer(n) do
    list = Enum.to_list(source)
    take_first(list, length(list) + n, [])
  end

  defpure drop_first([_ | rest], n) when n > 0, do: drop_first(rest, n - 1)
  defpure drop_first(list, n) when n <= 0 or list == [], do: list

  defpure split(source, n) when is_integer(n) do
    list = Enum.to_list(source)
    split_at(list, if(n < 0, do: length(list) + n, else: n), [])
  end

  defpure split_at([x | rest], n, taken) when n > 0, do: split_at(rest, n - 1, [x | taken])
  defpure split_at(list, n, taken) when n <= 0 or list == [], do: {Enum.reverse(taken), list}

  defpure slice(_, start, 0) when is_integer(start), do: []

  defpure slice(first.._//step = range, start, amount)
          when is_integer(start) and is_integer(amount) and amount >= 0 do
    size = Range.size(range)
    start = if start < 0, do: max(size + start, 0), else: start

    case min(amount, size - start) do
      amount when amount > 0 ->
        Enum.to_list((first + start * step)..(first + (start + amount - 1) * step)//step)

      _ ->
        []
    end
  end

  defpure slice(source, start, amount) when is_integer(start) and is_integer(amount) and amount >= 0 do
    list = Enum.to_list(source)
    start = if start < 0, do: max(length(list) + start, 0), else: start
    take_first(drop_first(list, start), amount, [])
  end

  # Of a range, which is not a value: the compiler takes it apart.
  defpure slice(source, first..last//step), do: slice_range(source, first, last, step)
  defpure slice_range(source, first, last), do: slice_range(source, first, last, 1)

  # What first..last is where the first one is greater: it counts upwards here, as it always has in Elixir.
  defpure slice_range(source, first, last, -1) when first > last, do: slice_range(source, first, last, 1)

  defpure slice_range(from.._//by = range, first, last, step)
          when is_integer(first) and is_integer(last) and step > 0 do
    size = Range.size(range)
    {first, amount} = place(first, last, size)

    if amount > 0 and first < size do
      last = min(first + amount, size) - 1
      apart = by * step
      Enum.to_list((from + first * by)..(from + last * by)//apart)
    else
      []
    end
  end

  defpure slice_range(source, first, last, step) when is_integer(first) and is_integer(last) and step > 0 do
    list = Enum.to_list(source)
    {first, amount} = place(first, last, length(list))
    take_every(take_first(drop_first(list, first), amount, []), step)
  end

  # The first of a slice of so many, and how many it wants.
  defpure place(first, last, size) do
    first = if first < 0, do: max(first + size, 0), else: first
    last = if last < 0, do: last + size, else: last
    {first, max(last - first + 1, 0)}
  end

  defpure reverse_slice(source, start, amount)
          when is_integer(start) and start >= 0 and is_integer(amount) and amount >= 0 do
    {before, rest} = split_at(Enum.to_list(source), start, [])
    {part, rest} = split_at(rest, amount, [])
    # Elixir goes to the end of a list, which an improper one does not have.
    if length(rest) >= 0, do: before ++ Enum.reverse(part) ++ rest
  end

  defpure count_until(_.._//_ = range, limit) when is_integer(limit) and limit > 0,
    do: min(Range.size(range), limit)

  defpure count_until(source, limit) when is_integer(limit) and limit > 0,
    do: counted(Enum.to_list(source), limit, 0)

  defpure counted([_ | rest], limit, n) when n < limit, do: counted(rest, limit, n + 1)
  defpure counted(list, limit, n) when list == [] or n == limit, do: n

  # Of a long range most are not made.
  defpure take_every(first..last//step, nth) when is_integer(nth) and nth > 0 do
    apart = step * nth
    Enum.to_list(first..last//apart)
  end

  defpure take_every(source, nth), do: Enum.take_every(source, nth)

  defpure chunk_every(source, n, step, leftover \\ [])
          when is_integer(n) and n > 0 and is_integer(step) and step > 0,
          do: steps(Enum.to_list(source), n, step, leftover, [])

  defpure steps([], _, _, _, chunks), do: Enum.reverse(chunks)

  defpure steps(list, n, step, leftover, chunks) do
    chunk = take_first(list, n, [])
    missing = n - length(chunk)

    cond do
      missing == 0 -> steps(drop_first(list, step), n, step, leftover, [chunk | chunks])
      leftover == :discard -> Enum.reverse(chunks)
      true -> Enum.reverse([chunk ++ take_first(Enum.to_list(leftover), missing, []) | chunks])
    end
  end

  # -- several -------------------------------------------------------------------------------------------------

  defpure concat_all([], all), do: all
  defpure concat_all([source | rest], all), do: concat_all(rest, Enum.to_list(source) ++ all)

  defpure zip(a, b) when is_list(a) and is_list(b), do: Enum.zip(a, b)

  defpure zip(a, b) do
    {xs, ys} = beside(a, b)
    zip(xs, ys)
  end

  # Two lists. Of a range no more is listed than stands beside something: it may be a long one.
  defpure beside(_.._//_ = a, _.._//_ = b) do
    n = min(Range.size(a), Range.size(b))
    {take(a, n), take(b, n)}
  end

  defpure beside(_.._//_ = a, b) do
    ys = Enum.to_list(b)
    {take(a, length(ys)), ys}
  end

  defpure beside(a, _.._//_ = b) do
    xs = Enum.to_list(a)
    {xs, take(b, length(xs))}
  end

  defpure beside(a, b), do: {Enum.to_list(a), Enum.to_list(b)}

  # What stands at the same place of all of them, each as a list.
  defpure rows(sources) do
    sources = Enum.to_list(sources)
    ranges = for _.._//_ = range <- sources, do: Range.size(range)
    rows(if(ranges == [], do: listed(sources), else: shortened(sources, ranges)), [])
  end

  defpure listed(sources), do: for(source <- sources, do: Enum.to_list(source))

  defpure shortened(sources, ranges) do
    n = for source <- sources, not range?(source), reduce: min(ranges), do: (n -> min(n, count(source)))
    for source <- sources, do: if(range?(source), do: take(source, n), else: Enum.to_list(source))
  end

  defpure range?(source), do: match?(_.._//_, source)

  defpure rows(lists, rows) do
    if lists == [] or Enum.any?(lists, &(&1 == [])),
      do: Enum.reverse(rows),
      else: rows(for(list <- lists, do: tl(list)), [for(list <- lists, do: hd(list)) | rows])
  end

  defpure into(source, target) when is_list(target), do: target ++ Enum.to_list(source)

  defpure into(source, target) when is_bitstring(target),
    do: <<target::bits, Text.bits(Enum.to_list(source))::bits>>

  defpure into(source, %MapSet{map: map} = set),
    do: %{set | map: Map.merge(map, Map.new(for(x <- Enum.to_list(source), do: {x, []})))}

  defpure into(source, target) when not is_struct(target),
    do: Map.merge(target, Map.new(Enum.to_list(source)))

  defpure intersperse(source, separator), do: between(Enum.to_list(source), separator, [])

  defpure between([], _, done), do: Enum.reverse(done)
  defpure between([x], _, done), do: Enum.reverse([x | done])
  defpure between([x | rest], separator, done), do: between(rest, separator, [separator, x | done])

  # -- text ----------------------------------------------------------------------------------------------------

  defpure join(source, joiner \\ "") when is_binary(joiner),
    do: Text.joined(for(x <- Enum.to_list(source), do: to_string(x)), joiner)

  # -- order and number ----------------------------------------------------------------------------------------

  defpure max(first.._//_ = range), do: max(first, last(range))

  defpure max(source) do
    case Enum.to_list(source) do
      [x | rest] when is_list(rest) -> Enum.reduce(rest, x, fn y, x -> if x >= y, do: x, else: y end)
    end
  end

  defpure min(first.._//_ = range), do: min(first, last(range))

  defpure min(source) do
    case Enum.to_list(source) do
      [x | rest] when is_list(rest) -> Enum.reduce(rest, x, fn y, x -> if x <= y, do: x, else: y end)
    end
  end

  defpure last(first.._//step = range) do
    case Range.size(range) do
      size when size > 0 -> first + (size - 1) * step
    end
  end

  defpure min_max(_.._//_ = range), do: {min(range), max(range)}

  defpure min_max(source) do
    list = Enum.to_list(source)
    {min(list), max(list)}
  end

  # What is equal keeps its order: so it is backwards before and after.
  defpure sort_descending(source), do: Enum.reverse(:lists.sort(Enum.reverse(Enum.to_list(source))))

  defpure values(pairs), do: for({_, x} <- pairs, do: x)

  # Few are looked up in a map. Among many, each of them would be looked for all over the memory, and each change of a large map
  # would leave a path of it behind, all of which stays until the turn ends. So many are sorted.
  defpure uniq(source), do: Enum.uniq_by(source, fn x -> x end)

  # The numbers of those that were there before, in order.
  defpure repeated(list) do
    [{first, _} | rest] = :lists.keysort(1, numbered(list, 0, []))
    :lists.sort(later(rest, first, []))
  end

  defpure numbered([], _, done), do: Enum.reverse(done)
  defpure numbered([x | rest], n, done), do: numbered(rest, n + 1, [{x, n} | done])

  defpure later([], _, numbers), do: numbers
  defpure later([{y, n} | rest], x, numbers) when y === x, do: later(rest, x, [n | numbers])

  # Equal, but not the same: 1 and 1.0.
  defpure later([{y, _} | rest], x, numbers) when y == x,
    do: equal(rest, x, %{x => true, y => true}, numbers)

  defpure later([{y, _} | rest], _, numbers), do: later(rest, y, numbers)

  defpure equal([{y, n} | rest], x, seen, numbers) when y == x do
    if is_map_key(seen, y),
      do: equal(rest, x, seen, [n | numbers]),
      else: equal(rest, x, Map.put(seen, y, true), numbers)
  end

  defpure equal(rest, x, _, numbers), do: later(rest, x, numbers)

  # A list without those of the numbers.
  defpure without(list, _, [], done), do: Enum.reverse(done) ++ list
  defpure without([_ | rest], n, [m | numbers], done) when n === m, do: without(rest, n + 1, numbers, done)
  defpure without([x | rest], n, numbers, done), do: without(rest, n + 1, numbers, [x | done])

  # -- at random -----------------------------------------------------------------------------------------------

  defpure random(first..last//step) when first <= last or step < 0,
    do: first + step * (:rand.uniform(div(last - first, step) + 1) - 1)

  defpure random(source) do
    list = Enum.to_list(source)
    elem(nth(list, :rand.uniform(length(list)) - 1), 1)
  end

  defpure take_random(_, 0), do: []
  defpure take_random(source, n) when is_integer(n) and n > 0, do: take_first(shuffle(source), n, [])

  defpure with_index(source, offset \\ 0) when is_integer(offset),
    do: indexed(Enum.to_list(source), offset, [])

  defpure indexed([], _, done), do: Enum.reverse(done)
  defpure indexed([x | rest], i, done), do: indexed(rest, i + 1, [{x, i} | done])

  Mote.Prelude.released()
end
