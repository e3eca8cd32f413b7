defmodule Mote.PreludeCases.Primitives do
  @moduledoc """
  Calls of what is not of the prelude: primitives, what the compiler takes apart itself, and loops. See
  `Mote.PreludeCases`.
  """

  @doc "Groups of cases, one a line."
  def cases do
    %{
      "Operators and numbers" => """
      {i + n, i - n, i * n, number + f, f - number, number * number, -number, +f, number - i}
      i / (n + 1)
      f / (n_in + 7.5)
      number / i
      number == i
      {i == n, i != n, i === f, i !== f, t == 1, t === 1.0, t != i, i < f, number <= i, t > f, t >= n}
      {abs(number), abs(f), abs(i), max(t, i), min(t, f)}
      {div(number, n + 1), rem(number, n + 1), div(i, n - 8), rem(i, n - 8)}
      div(number, i)
      rem(i, n)
      {round(f), trunc(f), floor(f), ceil(f), round(i), round(float)}
      {not (i > n), i > n and n > 2, i > n or n > 2, i && n, t || i, !t, nil && i}
      (x = y = i; x + y)
      {s <> pad, "a" <> s, bin <> <<i, n::16>>, [i | l] ++ ints, l -- ints, terms -- [t]}
      {i |> abs() |> Kernel.+(n), i in l, i in 1..3, t in terms, i not in 0..9//2}
      {Enum.to_list(i..n//1), (n..i//-2).last, 1..3 == 1..3//1, Enum.to_list(..)}
      {Bitwise.band(number, i), Bitwise.bor(number, i), Bitwise.bxor(number, i), Bitwise.bnot(number)}
      {Bitwise.bsl(number, n), Bitwise.bsr(number, n), Bitwise.bsl(i, n_in), Bitwise.bsr(number, n_in)}
      {Bitwise.&&&(number, i), Bitwise.|||(number, n), Bitwise.^^^(i, n), Bitwise.~~~(i), Bitwise.<<<(number, n), Bitwise.>>>(i, n)}
      {:math.pi(), :math.sqrt(abs(f)), :math.exp(i), :math.log(abs(f) + 1), :math.log2(n + 1), :math.log10(n + 1)}
      {:math.sin(f), :math.cos(f), :math.tan(i), :math.asin(i / 8), :math.acos(i / 8), :math.atan(f), :math.atan2(f, i)}
      {:math.sinh(i), :math.cosh(i), :math.tanh(i), :math.erf(i / 3), :math.erfc(i / 3), :math.pow(n + 1, i)}
      :math.sqrt(i)
      :math.log(i)
      :math.pow(i, f)
      {Integer.is_even(i), Integer.is_odd(number)}
      {:rand.uniform() < 1.0, :rand.uniform(n + 1) in 1..(n + 1)}
      System.monotonic_time(:millisecond) |> is_integer()
      if(t, do: i, else: n)
      unless(t, do: i, else: n)
      {then(i, &(&1 + n)), tap(i, &(&1 + n))}
      """,
      "Tests" => """
      {is_integer(t), is_float(t), is_number(t), is_atom(t), is_boolean(t), is_nil(t), is_list(t), is_tuple(t), is_map(t)}
      {is_binary(t), is_bitstring(t), is_function(t), is_reference(t), is_pid(t), is_integer(number), is_float(f)}
      {is_function(t, 0), is_function(&{&1}, 1), is_function(&{&1, t}, n_in), is_function(fn -> 1 end, 0)}
      is_function(t, i)
      case t, do: (f when is_function(f, n) -> :f; _ -> :other)
      {apply(&{&1, n}, [t]), apply(fn x, y -> {y, x} end, [i | [t]]), apply(List, :wrap, [t])}
      {is_map_key(map, i), is_struct(t), is_struct(1..2, Range), is_exception(t), is_exception(%ArgumentError{}, ArgumentError)}
      {Record.is_record({key, i}), Record.is_record({key, i}, :a), Record.is_record(t), match?({_, x} when x > n, {i, i})}
      is_map_key(t, i)
      case t, do: (x when is_map(x) and map_size(x) > 0 -> :map; x when is_list(x) and hd(x) == 1 -> :list; _ -> :other)
      case {t, i}, do: ({x, y} when x > y or is_nil(x) -> :more; {x, y} when x in [1, 2, :a] and not (y < 0) -> :one; _ -> :other)
      """,
      "Lists, tuples and binaries" => """
      {hd([t | l]), tl([t | l]), length(l), List.to_tuple(l), Tuple.to_list(tuple)}
      hd(l)
      tl(l)
      length(t)
      {tuple_size(tuple), elem(tuple, 0), put_elem(tuple, 0, t)}
      elem(tuple, n)
      put_elem(tuple, n_in, i)
      tuple_size(t)
      {byte_size(s), bit_size(bin), binary_part(s <> "abc", 0, 3), :binary.at(s <> "a", 0)}
      binary_part(s, n, n_in)
      :binary.part(s, n, n_in)
      :binary.at(bin, n)
      byte_size(t)
      <<i::16, n::little-32, f::float, s::binary, ?é::utf8, -1::8, bin::binary>>
      <<number::64, number::little-24, i::128>>
      case bin, do: (<<a, b::signed-16, rest::binary>> -> {a, b, rest}; <<a::little-16>> -> a; other -> {other})
      for <<c <- bin>>, c > 100, do: c
      {to_string(i), to_string(f), to_string(number), to_string(s), to_string(key), to_string(texts)}
      to_string(t)
      String.to_float(to_string(f))
      String.to_float(digits_text)
      """,
      "Maps and loops" => """
      {Map.get(map, i), Map.get(map, i, t), Map.has_key?(map, i), Map.fetch(map, i), map_size(map)}
      Map.fetch!(map, i)
      {Map.put(map, i, t), Map.put_new(map, i, t), Map.delete(map, i), Map.merge(map, %{i => t})}
      {Map.update(map, i, n, &(&1 + 1)), Map.new(), Map.new(pairs), Map.new(l, &{&1, t})}
      Map.update!(map, i, &{&1, t})
      {Enum.sort(Map.keys(map)), Enum.sort(Map.values(map)), Enum.sort(Map.to_list(map))}
      %{map | i => t}
      %{Map.put(map, i, 0) | i => t}
      (%{^i => x} = map; x)
      {Enum.to_list(e), Enum.count(e), Enum.reverse(e), Enum.member?(e, i), Enum.map(e, &{&1}), Enum.each(e, &{&1})}
      {Enum.filter(l, &(&1 > i)), Enum.reduce(l, i, &(&1 - &2)), Enum.sum(l), Enum.sum(i..n//1), Enum.count(i..n//3)}
      Enum.sum(terms)
      Enum.map(l, fn x when x > 0 -> x; 0 -> :zero; x -> -x end)
      for x <- l, y <- ints, x < y, do: {x, y}
      for {x, y} <- pairs, reduce: i do acc -> acc + x * y end
      (x = %{a: %{1 => i}, b: %{key => n}}; {put_in(x.a[1], t), put_in(x.b[key], t).a, update_in(x.a[1], &(&1 + n)), pop_in(x.a[1])})
      (x = %{a: map}; get_and_update_in(x.a[i], &{&1, t}))
      update_in(%{a: i}.a, &(&1 * n))
      {struct!(%URI{host: s, port: n}), struct!(URI)}
      """
    }
  end
end
