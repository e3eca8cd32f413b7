defmodule Mote.Prelude.Regex do
  # Regular expressions: Elixir's own `Regex`, compiled from the release that compiles, above what the machine finds. What `:re.run/3`
  # would return is made here of places in bytes.
  #
  # 1. A regex is what Elixir has made of it: its source and its options say what it means, and nobody looks at its `re_pattern`.
  # 2. What the machine does not know for certain has no answer (`native/mote_vm/src/terms/prim/regexes.rs`).
  @moduledoc false
  use Mote.Behaviour, import: [Regex]

  require Mote.Prelude

  # Each letter with the options that it stands for, all of them.
  @letters [
    {"i", [:caseless]},
    {"m", [:multiline]},
    {"s", [:dotall, {:newline, :anycrlf}]},
    {"u", [:unicode, :ucp]},
    {"x", [:extended]},
    {"U", [:ungreedy]}
  ]

  defpure matched?(%Regex{} = regex, text) when is_binary(text),
    do: Mote.Total.regex_run(pattern(regex), text, 0) != nil

  # As `String` has it.
  defpure of_text?(text, regex), do: matched?(regex, text)

  defpure names(%Regex{} = regex), do: Mote.Total.regex_names(pattern(regex))

  defpurep pattern(%Regex{source: source, opts: opts}), do: {source, letters(opts)}

  # Of later releases a list.
  defpurep letters(opts) when is_binary(opts), do: opts

  defpurep letters(opts) do
    found = Enum.filter(@letters, fn {_letter, options} -> options -- opts == [] end)
    others = if opts -- Enum.flat_map(found, &elem(&1, 1)) == [], do: "", else: "?"
    Enum.map_join(found, &elem(&1, 0)) <> others
  end

  Mote.Prelude.released()

  # `String.count/2` of later releases.
  defpure count(regex, text), do: length(Regex.scan(regex, text, return: :index))

  # -- in place of -----------------------------------------------------------------------------------------------

  # `:erlang.fun_info/2`, of the number of arguments.
  defpure information(fun, :arity), do: {:arity, arity(fun, 0)}

  defpurep arity(fun, n), do: if(is_function(fun, n), do: n, else: arity(fun, n + 1))

  # `:re.run/3` of the pattern of a regex.
  defpure run_safe(regex, text, options) do
    pattern = pattern(regex)
    at = Keyword.get(pairs(options), :offset, 0)

    case if(:global in options, do: all(pattern, text, at), else: one(pattern, text, at)) do
      [] -> :nomatch
      matches -> shown(matches, :global in options, captures(options), {pattern, text})
    end
  end

  defpurep pairs(options), do: for({key, value} <- options, do: {key, value})

  defpurep captures([]), do: {:all, :index}
  defpurep captures([{:capture, capture, return} | _]), do: {capture, return}
  defpurep captures([{:capture, capture} | _]), do: {capture, :index}
  defpurep captures([_ | options]), do: captures(options)

  defpurep one(pattern, text, at) when at >= 0 do
    case Mote.Total.regex_run(pattern, text, at) do
      nil -> []
      match -> [match]
    end
  end

  # Who asks for all of them behind the end finds none; who asks for one is wrong.
  defpurep all(_pattern, text, at) when at > byte_size(text), do: []
  defpurep all(pattern, text, at) when at >= 0, do: Enum.reverse(Mote.Total.regex_run(pattern, text, -1 - at))

  # Groups behind the last one that took part are left out, unless they are named.
  defpurep shown(_matches, _global, {:none, _}, _), do: :match

  defpurep shown(matches, global, {capture, return}, {pattern, text}) do
    names = Mote.Total.regex_names(pattern)

    all =
      for match <- matches do
        {groups, named} =
          if names == [], do: {match, []}, else: Enum.split(match, length(match) - length(names))

        for place <- chosen(groups, Enum.zip(names, named), capture), do: part(place, return, pattern, text)
      end

    # Where nothing is to be captured there is only that it matches.
    cond do
      capture == [] or (capture == :all_names and names == []) -> :match
      global -> {:match, all}
      true -> {:match, hd(all)}
    end
  end

  defpurep chosen([first | _], _, :first), do: [first]
  defpurep chosen(groups, _, :all), do: taken(groups)
  defpurep chosen(groups, _, :all_but_first), do: tl(taken(groups))
  defpurep chosen(_, named, :all_names), do: for({_, place} <- named, do: place)

  defpurep chosen(groups, named, wanted) when is_list(wanted),
    do:
      for(one <- wanted, do: if(is_integer(one), do: place(groups, one), else: named(named, to_string(one))))

  defpurep taken(groups), do: groups |> Enum.reverse() |> Enum.drop_while(&(&1 == {-1, 0})) |> Enum.reverse()
  defpurep place(groups, n), do: if(n < 0, do: {-1, 0}, else: Enum.at(groups, n, {-1, 0}))

  defpurep named([{name, place} | _], wanted) when name == wanted, do: place
  defpurep named([_ | rest], wanted), do: named(rest, wanted)
  defpurep named([], _wanted), do: {-1, 0}

  defpurep part(place, :index, _, _), do: place
  defpurep part({-1, 0}, return, _, _), do: if(return == :list, do: [], else: "")
  defpurep part({start, size}, :binary, _, text), do: binary_part(text, start, size)

  defpurep part({start, size}, :list, {_, letters}, text) do
    part = binary_part(text, start, size)

    if Mote.Total.binary_find(letters, "u", 0) != nil,
      do: String.to_charlist(part),
      else: :binary.bin_to_list(part)
  end
end
