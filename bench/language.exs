# What the language's library costs against Elixir's own, and what a module takes to compile: mix run bench/language.exs
#
# Each figure is the median of its rounds, with the least and the greatest. The two sides take turns.
Code.require_file("load.exs", __DIR__)

defmodule Mote.Bench.Language do
  alias Mote.Bench.Rounds

  # What is called with a text of ASCII.
  defmodule OfText do
    @calls [
      split: quote(do: length(String.split(text))),
      split_at_commas: quote(do: length(String.split(text, ","))),
      downcase: quote(do: byte_size(String.downcase(text))),
      upcase: quote(do: byte_size(String.upcase(text))),
      capitalize: quote(do: byte_size(String.capitalize(text))),
      contains?: quote(do: String.contains?(text, "no such")),
      replace: quote(do: byte_size(String.replace(text, ",", ";"))),
      valid?: quote(do: String.valid?(text)),
      to_charlist: quote(do: length(String.to_charlist(text))),
      length: quote(do: String.length(text)),
      reverse: quote(do: byte_size(String.reverse(text))),
      slice: quote(do: byte_size(String.slice(text, 5, 4_000))),
      graphemes: quote(do: length(String.graphemes(text)))
    ]

    def names, do: Keyword.keys(@calls)

    # In the language, by `defpure`, and as Elixir's own, by `def`.
    defmacro define(definition) do
      functions =
        for {name, expression} <- @calls,
            do: {definition, [], [quote(do: call(unquote(name), text)), [do: expression]]}

      {:__block__, [], functions}
    end
  end

  defmodule Plain do
    require OfText
    OfText.define(:def)
  end

  defmodule Calls do
    use Mote.Behaviour
    require OfText

    defactor calls() do
      {customer, {what, x, n}} -> send customer, times(what, x, n, nil)
    end

    # Its list came when it was created.
    defactor sorter(list) do
      {customer, :sort} -> send customer, hd(Enum.sort(list))
    end

    defpurep times(_, _, 0, answer), do: answer
    defpurep times(what, x, n, _), do: times(what, x, n - 1, call(what, x))

    OfText.define(:defpure)
    defpure call(:append, n), do: byte_size(Enum.reduce(1..n, "", fn _, text -> text <> "x" end))
    defpure call(:join, n), do: byte_size(Enum.map_join(1..n, "", fn _ -> "x" end))
  end

  @counting ~w[length reverse slice graphemes]a

  def run do
    {:ok, machine} = Mote.start_link(fuel: 1_000_000_000_000)
    calls = Mote.create(machine, Calls.calls())
    # What is called for the first time is interpreted until it is compiled.
    settle(machine, calls)

    for {times, n} <- [{200, 10}, {2, 1_000}] do
      text = String.duplicate("Some words of ASCII, with a few commas, ", times)
      IO.puts("functions of String over #{byte_size(text)} bytes, microseconds: Mote, Elixir, ratio")
      for what <- OfText.names(), do: compare(calls, what, text, n, 11)
    end

    emoji = String.duplicate("👩‍👩‍👧🏽e\u0301", 400)
    umlauts = String.duplicate("ä", String.length(emoji))
    IO.puts("characters of several code points against others, as many: microseconds each, ratio")

    for what <- @counting do
      [slow, fast] =
        Rounds.times([fn -> ask(calls, what, emoji, 10) end, fn -> ask(calls, what, umlauts, 10) end], 11)

      line(what, slow, fast, 10)
    end

    IO.puts("a text of n bytes, appended one by one against Enum.map_join/3, in a turn: microseconds")

    for n <- [1_000, 4_000, 16_000] do
      [slow, fast] =
        Rounds.times([fn -> ask(calls, :append, n, 1) end, fn -> ask(calls, :join, n, 1) end], 11)

      line(n, slow, fast, 1)
    end

    IO.puts("Enum.sort/1 of a million integers, microseconds: Mote, a process of the BEAM, ratio")
    list = for _ <- 1..1_000_000, do: :rand.uniform(1_000_000_000)
    sorter = Mote.create(machine, Calls.sorter(list))
    mote = fn -> Mote.ask!(sorter, :sort, timeout: 60_000) end

    [mote, elixir] =
      Rounds.times([mote, fn -> Task.await(Task.async(fn -> hd(Enum.sort(list)) end), 60_000) end], 5)

    line(:sort, mote, elixir, 1)

    IO.puts("a module of 50 behaviours with six clauses each, compiled: microseconds")
    [compiled] = Rounds.times([&compile/0], 3)
    IO.puts("  #{spread(compiled, 1)}")
  end

  defp settle(machine, calls) do
    for what <- OfText.names(), do: ask(calls, what, "a, B", 1)
    Process.sleep(10)
    if Mote.info(machine).native.pending > 0, do: settle(machine, calls)
  end

  defp compare(calls, what, text, n, rounds) do
    elixir = fn -> for _ <- 1..n, do: Plain.call(what, text) end
    [mote, elixir] = Rounds.times([fn -> ask(calls, what, text, n) end, elixir], rounds)
    line(what, mote, elixir, n)
  end

  defp ask(calls, what, x, n), do: Mote.ask!(calls, {what, x, n}, timeout: 60_000)

  defp line(name, ours, others, n) do
    ratio = Float.round(Rounds.middle(ours) / max(Rounds.middle(others), 1), 1)
    IO.puts("  #{name}: #{spread(ours, n)}, #{spread(others, n)}, #{ratio}")
  end

  defp spread(times, n), do: Rounds.spread(Enum.map(times, &(&1 / n)), 2)

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
