# What the language's library costs against Elixir's own, and what a module takes to compile. From the root: mix run bench/language.exs
#
# Each figure is the median of its rounds, with the least and the greatest. The two sides take turns.
defmodule Mote.Bench.Language do
  defmodule Calls do
    use Mote.Behaviour

    defactor calls() do
      {customer, {what, x, n}} -> send customer, times(what, x, n, nil)
    end

    # Its list came when it was created.
    defactor sorter(list) do
      {customer, :sort} -> send customer, hd(Enum.sort(list))
    end

    defpurep times(_, _, 0, answer), do: answer
    defpurep times(what, x, n, _), do: times(what, x, n - 1, call(what, x))

    defpure call(:split, text), do: length(String.split(text))
    defpure call(:split_at_commas, text), do: length(String.split(text, ","))
    defpure call(:downcase, text), do: byte_size(String.downcase(text))
    defpure call(:upcase, text), do: byte_size(String.upcase(text))
    defpure call(:capitalize, text), do: byte_size(String.capitalize(text))
    defpure call(:contains?, text), do: String.contains?(text, "no such")
    defpure call(:replace, text), do: byte_size(String.replace(text, ",", ";"))
    defpure call(:valid?, text), do: String.valid?(text)
    defpure call(:to_charlist, text), do: length(String.to_charlist(text))
    defpure call(:length, text), do: String.length(text)
    defpure call(:reverse, text), do: byte_size(String.reverse(text))
    defpure call(:slice, text), do: byte_size(String.slice(text, 5, 4_000))
    defpure call(:graphemes, text), do: length(String.graphemes(text))
    defpure call(:append, n), do: byte_size(Enum.reduce(1..n, "", fn _, text -> text <> "x" end))
    defpure call(:join, n), do: byte_size(Enum.map_join(1..n, "", fn _ -> "x" end))
  end

  @strings ~w[split split_at_commas downcase upcase capitalize contains? replace valid? to_charlist length reverse slice graphemes]a
  @counting ~w[length reverse slice graphemes]a

  def run do
    {:ok, machine} = Mote.start_link(fuel: 1_000_000_000_000)
    calls = Mote.create(machine, Calls.calls())
    # What is called for the first time is interpreted until it is compiled.
    settle(machine, calls)
    text = String.duplicate("Some words of ASCII, with a few commas, ", 200)

    IO.puts("functions of String over #{byte_size(text)} bytes, microseconds: Mote, Elixir, ratio")
    for what <- @strings, do: compare(calls, what, text, 10, 11)

    emoji = String.duplicate("👩‍👩‍👧🏽e\u0301", 400)
    umlauts = String.duplicate("ä", String.length(emoji))
    IO.puts("characters of several code points against others, as many: microseconds each, ratio")

    for what <- @counting do
      [slow, fast] =
        rounds([fn -> ask(calls, what, emoji, 10) end, fn -> ask(calls, what, umlauts, 10) end], 11)

      line(what, slow, fast, 10)
    end

    IO.puts("a text of n bytes, appended one by one against Enum.map_join/3, in a turn: microseconds")

    for n <- [1_000, 4_000, 16_000] do
      [slow, fast] = rounds([fn -> ask(calls, :append, n, 1) end, fn -> ask(calls, :join, n, 1) end], 11)
      line(n, slow, fast, 1)
    end

    IO.puts("Enum.sort/1 of a million integers, microseconds: Mote, a process of the BEAM, ratio")
    list = for _ <- 1..1_000_000, do: :rand.uniform(1_000_000_000)
    sorter = Mote.create(machine, Calls.sorter(list))
    mote = fn -> Mote.ask!(sorter, :sort, timeout: 60_000) end

    [mote, elixir] =
      rounds([mote, fn -> Task.await(Task.async(fn -> hd(Enum.sort(list)) end), 60_000) end], 5)

    line(:sort, mote, elixir, 1)

    IO.puts("a module of 50 behaviours with six clauses each, compiled: microseconds")
    [compiled] = rounds([&compile/0], 3)
    IO.puts("  #{spread(compiled, 1)}")
  end

  defp settle(machine, calls) do
    for what <- @strings, do: ask(calls, what, "a, B", 1)
    Process.sleep(10)
    if Mote.info(machine).native.pending > 0, do: settle(machine, calls)
  end

  defp compare(calls, what, text, n, rounds) do
    elixir = fn -> for _ <- 1..n, do: plain(what, text) end
    [mote, elixir] = rounds([fn -> ask(calls, what, text, n) end, elixir], rounds)
    line(what, mote, elixir, n)
  end

  # The same words as in `Calls`, which are Elixir's own functions here.
  defp plain(:split, text), do: length(String.split(text))
  defp plain(:split_at_commas, text), do: length(String.split(text, ","))
  defp plain(:downcase, text), do: byte_size(String.downcase(text))
  defp plain(:upcase, text), do: byte_size(String.upcase(text))
  defp plain(:capitalize, text), do: byte_size(String.capitalize(text))
  defp plain(:contains?, text), do: String.contains?(text, "no such")
  defp plain(:replace, text), do: byte_size(String.replace(text, ",", ";"))
  defp plain(:valid?, text), do: String.valid?(text)
  defp plain(:to_charlist, text), do: length(String.to_charlist(text))
  defp plain(:length, text), do: String.length(text)
  defp plain(:reverse, text), do: byte_size(String.reverse(text))
  defp plain(:slice, text), do: byte_size(String.slice(text, 5, 4_000))
  defp plain(:graphemes, text), do: length(String.graphemes(text))

  defp ask(calls, what, x, n), do: Mote.ask!(calls, {what, x, n}, timeout: 60_000)

  defp rounds(ways, rounds) do
    Enum.each(ways, & &1.())
    times = for _ <- 1..rounds, do: Enum.map(ways, &elem(:timer.tc(&1), 0))
    times |> Enum.zip() |> Enum.map(&(&1 |> Tuple.to_list() |> Enum.sort()))
  end

  defp line(name, ours, others, n) do
    ratio = Float.round(median(ours) / max(median(others), 1), 1)
    IO.puts("  #{name}: #{spread(ours, n)}, #{spread(others, n)}, #{ratio}")
  end

  defp spread(times, n) do
    [median, least, most] = Enum.map([median(times), hd(times), List.last(times)], &Float.round(&1 / n, 1))
    "#{median} (#{least}–#{most})"
  end

  defp median(times), do: Enum.at(times, div(length(times), 2))

  defp compile do
    behaviours =
      for i <- 1..50 do
        """
          defactor counter#{i}(count, names) do
            {customer, :count} -> send customer, count
            {customer, :names} -> send customer, Enum.sort(names)
            {:add, n} when is_integer(n) -> become counter#{i}(count + n, names)
            {:name, name} -> become counter#{i}(count, [name | names])
            {:each, to} -> for name <- names, do: send(to, {name, count})
            {:fork, customer} -> send customer, create(counter#{i}(0, names))
          end
        """
      end

    module = Module.concat(__MODULE__, "M#{System.unique_integer([:positive])}")
    Code.compile_string("defmodule #{inspect(module)} do\nuse Mote.Behaviour\n#{behaviours}\nend")
    :code.purge(module)
    :code.delete(module)
  end
end

Mote.Bench.Language.run()
