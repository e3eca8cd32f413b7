defmodule Mote.PreludeCases.Scalars do
  @moduledoc "Calls of the functions of numbers, tuples and texts, and words of the language. See `Mote.PreludeCases`."

  @doc "Groups of cases, one a line."
  def cases do
    %{
      "Tuple and Integer" => """
      Tuple.append(tuple, t)
      Tuple.delete_at(tuple, 0)
      Tuple.insert_at(tuple, 1, t)
      Tuple.duplicate(t, n)
      Tuple.sum(tuple)
      Tuple.product(tuple)
      Integer.mod(number, if(i == 0, do: 5, else: i))
      Integer.floor_div(number, if(i == 0, do: 5, else: i))
      Integer.gcd(number, i)
      Integer.gcd(number, 0)
      Integer.extended_gcd(number, i) |> then(fn {g, m, n} -> {abs(g), m * number + n * i == g} end)
      Integer.extended_gcd(i, number) |> then(fn {g, m, n} -> {abs(g), m * i + n * number == g} end)
      Integer.digits(0, n + 2)
      Integer.pow(i, n)
      Integer.digits(number)
      Integer.digits(number, n + 2)
      Integer.undigits(digits)
      Integer.undigits(Integer.digits(number, n + 2), n + 2)
      """,
      "Float, Integer, Range and Base" => """
      Float.round(f, n) + 0.0
      Float.round(f) + 0.0
      Float.ceil(f) + 0.0
      Float.floor(f) + 0.0
      Float.ceil(f, n) + 0.0
      Float.floor(f, n) + 0.0
      Float.round(float, n + n_more) + 0.0
      Float.floor(float, n + n_more) + 0.0
      Float.ceil(float, n + n_more) + 0.0
      {Float.round(5.5675, 3), Float.round(-5.5674, 3), Float.round(2.5), Float.round(1.005, 2), Float.round(0.285, 2)}
      Float.to_string(float)
      Float.to_charlist(f)
      {Float.max_finite(), Float.min_finite()}
      Float.parse(to_string(float) <> s)
      Float.parse(to_string(number) <> "." <> s)
      Float.parse(s <> to_string(f))
      Float.parse(digits_text)
      Float.pow(2.5, n)
      Float.ratio(f)
      String.to_float(to_string(float))
      String.to_float(to_string(f) <> "0e" <> to_string(i))
      Integer.parse(Integer.to_string(number, n + 2) <> s, n + 2)
      Integer.parse(s <> to_string(number), 16)
      String.to_integer(Integer.to_string(number, n + 2), n + 2)
      Integer.to_charlist(number)
      Integer.to_charlist(number, n + 2)
      Integer.extended_gcd(number, n + 1)
      Integer.extended_gcd(n, n_more)
      Integer.ceil_div(number, if(i == 0, do: 5, else: i))
      Integer.popcount(abs(number))
      Range.disjoint?(i..n//1, n_in..20//1)
      Range.disjoint?(i..n//1, n_in..n_more//-1)
      Range.split(i..(i + n)//2, n_in) |> then(fn {a, b} -> {Enum.to_list(a), Enum.to_list(b)} end)
      Range.split(i..(i - n)//-1, n_more) |> then(fn {a, b} -> {Enum.to_list(a), Enum.to_list(b)} end)
      Range.to_list(i..n//2)
      Base.encode16(bin)
      Base.encode16(bin, case: :lower)
      Base.decode16(Base.encode16(bin))
      Base.decode16(hex)
      Base.decode16(hex, case: :mixed)
      Base.decode16(hex, case: :lower)
      Base.decode16!(Base.encode16(bin))
      Base.decode16!(Base.encode16(bin, case: :lower), case: :mixed)
      Base.encode64(bin)
      Base.encode64(bin, padding: false)
      Base.url_encode64(bin)
      Base.url_encode64(bin, padding: false)
      Base.decode64(Base.encode64(bin))
      Base.decode64(Base.encode64(bin, padding: false), padding: false)
      Base.decode64(Base.encode64(bin, padding: false))
      Base.decode64(Base.encode64(bin), padding: false)
      Base.decode64(base)
      Base.decode64(base, padding: false)
      Base.decode64(" " <> Base.encode64(bin) <> "\\n", ignore: :whitespace)
      Base.decode64!(Base.encode64(bin))
      Base.decode64!(Base.encode64(bin, padding: false), padding: false)
      Base.url_decode64(Base.url_encode64(bin))
      Base.url_decode64(base, padding: false)
      Base.url_decode64!(Base.url_encode64(bin))
      Base.url_decode64!(Base.url_encode64(bin), [])
      Base.valid16?(hex)
      Base.valid16?(hex, case: :lower)
      Base.valid64?(base)
      Base.valid64?(base, padding: false)
      Base.url_valid64?(base)
      Base.url_valid64?(base, padding: false)
      """,
      "String" => """
      String.contains?(s, pad)
      String.contains?(s, [pad, "b"])
      String.contains?(s, [])
      String.starts_with?(s, [])
      String.ends_with?(s, [])
      String.starts_with?(s, pad)
      String.starts_with?(s, [pad, "b"])
      String.ends_with?(s, pad)
      String.ends_with?(s, [pad, "b"])
      String.split(s, ",")
      String.split(s <> pad <> s, pad)
      String.replace(s, pad, "<>")
      String.replace("é" <> s <> "ü", "b", "é")
      String.duplicate(s, n)
      String.upcase("é" <> s, :ascii)
      String.downcase("É" <> s, :ascii)
      String.to_integer(to_string(number))
      String.split(u)
      String.split(s, ",", trim: true)
      String.split(s, ",", [])
      String.split(s <> pad <> s, [pad, ",", "ab"])
      String.split(s <> pad <> s, [pad, ",", "ab", "a"], trim: true)
      String.split(s <> pad <> s, ["a", "b"], parts: n + 1)
      String.split(s, "a", parts: n + 1, trim: true)
      String.split(s, ["a", ","], parts: n + 1, trim: true)
      String.split(u, "", parts: n + 1)
      String.split(u, "", parts: n + 1, trim: true)
      String.split(u, "", trim: true)
      String.split(s, [])
      String.split(s, [], trim: true)
      String.split(s, "b", parts: :infinity, trim: false)
      String.replace(s <> pad <> s, [pad, ",", "a"], "é")
      String.replace(s, "a", pad, global: false)
      String.replace(s, "", pad, global: false)
      String.replace(s, [], pad)
      String.replace(u, "", "", [])
      String.replace(s, ["a", "ab"], fn x -> x <> "!" end)
      String.replace(s, "a", &(&1 <> pad), global: false)
      String.replace(u, "", fn x -> "<\#{x}>" end)
      String.count(s, pad)
      String.count(s, ["a", "ab"])
      String.count(u, "")
      String.capitalize(s, :ascii)
      String.capitalize("éÉ" <> s, :ascii)
      String.replace_leading(s, "a", pad)
      String.replace_leading(pad <> pad <> s, pad, "é")
      String.replace_trailing(s, "b", pad)
      String.replace_trailing(s <> pad <> pad, pad, "é")
      String.split_at(u, i)
      String.split_at(u, n)
      String.next_codepoint(u <> "e\u0301")
      String.next_codepoint(bin)
      String.next_grapheme(u)
      String.valid?(u)
      String.valid?(bin)
      String.trim(u)
      String.trim_leading(u)
      String.trim_trailing(u)
      String.trim(s, pad)
      String.trim_leading(s, "a")
      String.trim_trailing(s <> pad <> pad, pad)
      String.graphemes(u)
      String.codepoints(u <> "e\u0301")
      String.to_charlist(u)
      String.length(u)
      String.reverse(u)
      String.at(u, i)
      String.first(u)
      String.last(u)
      String.slice(u, n, n_more)
      String.slice(u, n..n_more)
      String.slice(u, n..-1//1)
      "\#{f} and \#{number}"
      to_string(f * 1.0e-5) <> to_string(f * 1.0e12)
      String.slice(u, n_in, n_more)
      String.pad_leading(u, n)
      String.pad_leading(u, n + 6, pad)
      String.pad_trailing(u, n + 3)
      String.pad_trailing(u, n + 6, [pad, "-"])
      String.replace_prefix(s, "a", pad)
      String.replace_suffix(s, "b", pad)
      Integer.parse(to_string(number) <> s)
      Integer.parse(s <> to_string(number))
      Integer.to_string(number)
      Integer.to_string(number, n + 2)
      String.split(u, "")
      String.replace(s, "", pad)
      """,
      "Words of Kernel" => """
      Kernel.=~(s, pad)
      s =~ ""
      destructure([a, b, c], l) && {a, b, c}
      destructure([x | y], l) && {x, y}
      (destructure([x, y], nil); {x, y})
      Kernel.binary_slice(u, n, n_more)
      Kernel.binary_slice(u, i, n_more)
      Kernel.binary_slice(u, n_in..-1//1)
      Kernel.binary_slice(u, n..n_more//2)
      case bin, do: (<<h, rest::bits>> -> {h, rest}; "" -> :none)
      case bin, do: (<<h::binary-size(2), rest::bitstring>> -> {rest, h}; other -> other)
      case bin, do: (<<h::bits-size(16), _::bits>> -> h; other -> <<other::bits, 1>>)
      case Map.get(%{1 => 1..2, 2 => MapSet.new(), 3 => %{a: 1}}, n), do: (%_{} -> :struct; %{} -> :map; nil -> nil)
      case Enum.at([1..n, MapSet.new(l), map], n_more), do: (%mod{} = x -> {mod, x}; other -> other)
      case 1..n, do: (%kind{last: last} when kind == Range -> last)
      Enum.map([{1, i}, {2, n}], fn {1, x} -> x; {_, y} -> -y end)
      Enum.map([{i, n}], fn {a, b} -> a - b end)
      Enum.reduce([{i, n} | pairs], 0, fn {a, b}, sum -> a - b + sum end)
      {i in 1..3, i not in 2..5, i in [1, 2], n in 0..9//3, i in l, t not in terms}
      {max(i, n), min(i, n), is_map_key(map, i), put_elem({1, 2}, 1, t), binary_part(s <> "ab", 1, 1)}
      {is_struct(t), is_struct(1..2), is_struct(1..2, Range), is_struct(%{}, Range), is_exception(t), is_exception(%ArgumentError{})}
      {if(i > 0, do: 1), unless(i > 0, do: 1), then(i, &(&1 + 1)), tap(i, &(&1 + 1))}
      {to_string(t |> then(fn x when is_number(x) -> x; _ -> nil end)), to_string(key), to_string(n)}
      """,
      "Words of the language" => """
      with {:ok, x} <- Map.fetch(map, i), do: {x, t}
      with {:ok, x} <- Map.fetch(map, i), y = x + n, true <- y > 3, do: {x, y}, else: (:error -> :none; other -> {other, i})
      with {a, b} when a < b <- List.first(pairs), [x | _] <- l, do: {a, b, x}
      with x = i + 1, [y | rest] when y != x <- l, _ <- t, z <- rest, do: {x, y, z}
      with(x <- i, do: x) + with(x = n, do: x)
      with {:ok, x} <- Map.fetch(map, i), do: x, else: (_ -> with([x | _] <- l, do: x, else: (_ -> :empty)))
      for x <- l, into: %{}, do: {x, i}
      for {k, v} <- pairs, k > v, into: map, do: {k, {v, i}}
      for x <- l, into: s, do: "<\#{x}>"
      for <<c <- s>>, c != ?,, into: "", do: <<c, c>>
      for x <- l, into: [], do: x
      for x <- l, y <- ints, uniq: true, do: rem(x + y, 4)
      for x <- l, uniq: true, into: s, do: to_string(x)
      map[i]
      kw[key]
      {%{a: map}[:a][i], nil[i], kw[key]}
      Access.get(map, i)
      Access.get(kw, key, t)
      get_in(%{a: map, b: kw}, [:a, i])
      Kernel.get_in(%{a: map, b: kw}, [:b, key])
      Kernel.put_in(%{a: map}, [:a, i], t)
      Kernel.put_in([{key, i} | Keyword.delete(kw, key)], [key], t)
      Kernel.put_in(%{a: Keyword.delete(kw, key)}, [:a, key], t)
      Kernel.**(i, n)
      Kernel.**(i + 8, n_in)
      {i ** n, f ** 2, 2 ** (f / 1.0e5)}
      tap(i, fn x -> x + 1 end) + then(i, &(&1 * 2))
      Enum.into(texts, "", &to_string/1)
      Enum.into(["x", s], s)
      """
    }
  end
end
