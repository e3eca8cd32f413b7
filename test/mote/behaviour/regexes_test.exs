defmodule Mote.Behaviour.RegexesTest do
  # Regular expressions on machines of both tiers find what Erlang's engine finds, or the turn is aborted. Patterns are made at random, of
  # everything that the machine knows and of some that it does not; regexes come in messages, as Elixir has made them.
  use ExUnit.Case, async: true

  alias Mote.Behaviour.RegexesTest.Calls

  @moduletag :capture_log

  defmodule Calls do
    use Mote.Behaviour

    @date ~r/(?<y>\d{4})-(?<m>\d\d)(?:-(?<d>\d\d))?/

    defpure call(:run, regex, text), do: {Regex.run(regex, text), Regex.run(regex, text, return: :index)}

    defpure call(:match, regex, text),
      do: {Regex.match?(regex, text), String.match?(text, regex), text =~ regex}

    defpure call(:scan, regex, text),
      do: {Regex.scan(regex, text), Regex.scan(regex, text, capture: :first, return: :index)}

    defpure call(:offset, regex, text) do
      for(at <- [0, 1_000], do: Regex.scan(regex, text, offset: at)) ++
        for capture <- [:all_names, [], [1, 0]], do: Regex.scan(regex, text, capture: capture)
    end

    defpure call(:split, regex, text),
      do: {Regex.split(regex, text), String.split(text, regex, trim: true, parts: 3)}

    defpure call(:replace, regex, text),
      do: {Regex.replace(regex, text, "<\\0|\\1>"), String.replace(text, regex, "", global: false)}

    defpure call(:named, regex, text), do: {Regex.names(regex), Regex.named_captures(regex, text)}

    defpure call(:captures, regex, text) do
      for capture <- [:all_but_first, :all_names, :none, [1, 0], ["n1", :n2, "no"]],
          do: Regex.run(regex, text, capture: capture, return: :list)
    end

    defpure dates(text),
      do:
        {text =~ @date, Regex.named_captures(@date, text), String.replace(text, @date, fn d -> "[#{d}]" end)}

    defpure parts(text, pattern), do: {String.split(text, pattern), String.replace(text, pattern, "-")}

    defpure escaped(text),
      do: {Regex.escape(text), Regex.source(~r/a\/b/iu), Regex.opts(~r/a/), ~R/f#{1,3}o/i}

    defpure turned(text),
      do: Regex.replace(~r/(\w+) (\w+)/, text, fn _, a, b -> "#{b} #{String.length(a)}" end)

    defpure parsed(text), do: URI.parse(text)

    defactor calls() do
      {customer, {:call, name, regex, text}} -> send customer, call(name, regex, text)
      {customer, {:dates, text}} -> send customer, dates(text)
      {customer, {:parts, text, pattern}} -> send customer, parts(text, pattern)
      {customer, {:escaped, text}} -> send customer, escaped(text)
      {customer, {:turned, text}} -> send customer, turned(text)
      {customer, {:parsed, text}} -> send customer, parsed(text)
    end
  end

  @names [:run, :match, :scan, :offset, :split, :replace, :named, :captures]

  setup do
    %{actors: Mote.Generators.on_tiers(Calls, Calls.calls())}
  end

  test "of any kind find what they find in Elixir", %{actors: actors} do
    # The same patterns each time, so that it is no matter of chance how many of them are known.
    seed = if Mote.Long.long?(), do: System.os_time(), else: 1
    :rand.seed(:exsss, seed)

    outcomes =
      for _ <- 1..Mote.Long.runs(400),
          unicode? = :rand.uniform(3) == 1,
          {:ok, regex} <- [Regex.compile(pattern(2), options(unicode?))],
          text = text(unicode?),
          name <- Enum.take_random(@names, 3),
          {:ok, expected} <- [in_elixir(name, regex, text)] do
        for actor <- actors do
          case Mote.ask(actor, {:call, name, regex, text}) do
            {:ok, found} ->
              assert {regex.source, regex.opts, text, name, found} ===
                       {regex.source, regex.opts, text, name, expected}

              :same

            {:error, %{reason: :aborted}} ->
              :aborted
          end
        end
      end

    # Both tiers are of one mind, and most is known.
    assert Enum.all?(outcomes, fn [one, other] -> one == other end)
    known = Enum.count(outcomes, &(&1 == [:same, :same]))
    assert known > div(2 * length(outcomes), 3), "seed #{seed}: #{known} of #{length(outcomes)}"
  end

  # For a few patterns PCRE says that it has a bug.
  defp in_elixir(name, regex, text) do
    {:ok, Calls.call(name, regex, text)}
  catch
    :error, %ErlangError{original: :internal_error} -> :bug
    _, :internal_error -> :bug
  end

  test "are what people write", %{actors: actors} do
    for actor <- actors do
      for request <- [
            {:dates, "from 2024-02-29 to 2024-03"},
            {:dates, "never"},
            {:parts, "a1b22c", ~r/\d+/},
            {:parts, "a1b22c", ["1", "22"]},
            {:parts, "a1b22c", "b"},
            {:escaped, "a.b*c"},
            {:turned, "abc de, f gh"},
            {:parsed, "https://me@example.com:8080/a/b?c=d#e"},
            {:parsed, "mailto:a@b"},
            {:parsed, ""}
          ] do
        [name | args] = Tuple.to_list(request)
        assert {request, seen(Mote.ask!(actor, request))} === {request, seen(apply(Calls, name, args))}
      end
    end
  end

  # Since OTP 28 no regex equals another: each has a reference of its own.
  defp seen(%Regex{source: source, opts: opts}), do: {:regex, source, opts}
  defp seen(tuple) when is_tuple(tuple), do: tuple |> Tuple.to_list() |> Enum.map(&seen/1) |> List.to_tuple()
  defp seen(other), do: other

  test "end with the fuel of their turn, and stay within bounds", %{actors: [actor | _]} do
    hard = ~r/^(a+)+$/
    machine = start_supervised!({Mote, fuel: 50_000}, id: :fuel)
    poor = Mote.create(machine, Calls.calls())
    text = String.duplicate("a", 40) <> "!"
    assert {:error, %{context: %{reason: :fuel}}} = Mote.ask(poor, {:call, :match, hard, text})

    long = String.duplicate("ab ", 100_000)
    assert {true, true, true} = Mote.ask!(actor, {:call, :match, ~r/(?:a|b| )*$/, "ab ab"})
    assert {[_], [{0, 300_000}]} = Mote.ask!(actor, {:call, :run, ~r/.*/s, long})
    # The ways that are left fill no memory without end.
    assert {:error, %{reason: :aborted}} =
             Mote.ask(actor, {:call, :run, ~r/(?:(?:a|b| )(?:a|b| ))*x/, String.duplicate(long, 10)})
  end

  test "are found all over a text for fuel that grows as the text does" do
    unit = "ab é"

    for tier <- [:interp, :native], n <- [200, 20_000] do
      machine = start_supervised!({Mote, tier: tier, fuel: 1_000 + 40 * n * byte_size(unit)}, id: {tier, n})
      actor = Mote.create(machine, Calls.calls())
      text = String.duplicate(unit, n)

      for name <- [:scan, :split, :replace], regex <- [~r/\w(b)?/u, ~r//s] do
        assert {n, name, regex, Mote.ask!(actor, {:call, name, regex, text})} ===
                 {n, name, regex, Calls.call(name, regex, text)}
      end
    end
  end

  # Of later releases a list, in any order.
  test "have the options that their letters stand for", %{actors: actors} do
    for {letters, opts} <- [
          {"", []},
          {"iu", [:ucp, :caseless, :unicode]},
          {"sx", [:extended, {:newline, :anycrlf}, :dotall]}
        ],
        actor <- actors do
      regex = %{Regex.compile!("A. b", letters) | opts: opts}
      text = "A\n b aé b A\nb"
      assert {opts, Mote.ask!(actor, {:call, :scan, regex, text})} === {opts, Calls.call(:scan, regex, text)}
    end

    # These stand for no letter, or for half of one.
    for opts <- [[:firstline], [:unicode], [:dotall]], actor <- actors do
      regex = %{~r/a/ | opts: opts}
      assert {:error, %{reason: :aborted}} = Mote.ask(actor, {:call, :scan, regex, "a"})
    end
  end

  test "that a machine does not know are refused where they are written" do
    for {regex, told} <- [
          {~S"~r/\p{L}/u", "a machine knows no \\p{…} in a regex"},
          {~S"~r/a\Kb/", "a machine knows no \\X"},
          {~S"~r/(a)(?(1)b)/", "(?(condition)"},
          {~S"~r/a#{x}/", "with \#{…} in it is not known when compiling"},
          {~S"~r/(/", "missing "},
          {~S"Regex.compile!(x)", "Regex.compile!/1 is not available"}
        ] do
      assert Mote.Compile.error("defpure f(x), do: {x, #{regex}}") =~ told
    end
  end

  # -- patterns at random --------------------------------------------------------------------------------------

  @ones ~w[a b c A B K k s 1 _ é . . . \\d \\w \\s \\W \\D \\b \\B ^ $ \\A \\z \\Z \\h \\n - ,] ++
          ["\n", " ", "ab", "{", "\\x41"]
  @members ~w[a b-d A-C \\d \\w \\s . ^ k s é à-ö \\n _ 0-9 - \\-] ++
             Enum.map(~w[alpha upper ^digit punct space xdigit], &"[:#{&1}:]")
  @groups ["(", "(", "(?:", "(?>", "(?=", "(?!", "(?<=", "(?<!", "(?i:", "(?-i:", "(?<n1>", "(?<n2>"]
  @often ["", "", "", "", "*", "+", "?", "*?", "+?", "??", "*+", "++", "{2}", "{1,2}", "{0,}", "{2,3}?"]

  defp pattern(depth), do: Enum.map_join(1..Enum.random([1, 1, 1, 2, 3]), "|", fn _ -> sequence(depth) end)
  # Places and looks are not repeated: a machine does not know how PCRE does that.
  defp sequence(depth) do
    Enum.map_join(1..:rand.uniform(4), fn _ ->
      one = one(depth)
      if one =~ ~r/^(\^|\$|\\[bBAzZ]|\(\?[=!<i]|\(\?s\))/, do: one, else: one <> Enum.random(@often)
    end)
  end

  defp one(depth) do
    case :rand.uniform(6) do
      n when n > 4 and depth > 0 ->
        Enum.random(@groups) <> pattern(depth - 1) <> ")"

      4 when depth > 0 ->
        Enum.random(["(?i)", "(?s)", "\\1", "(#{pattern(depth - 1)})"])

      3 ->
        "[#{Enum.random(["", "^"])}#{Enum.map_join(1..:rand.uniform(3), fn _ -> Enum.random(@members) end)}]"

      _ ->
        Enum.random(@ones)
    end
  end

  defp options(unicode?) do
    some =
      for {option, rare} <- [{"i", 4}, {"m", 5}, {"s", 6}, {"x", 9}, {"U", 12}],
          :rand.uniform(rare) == 1,
          do: option

    Enum.join(some) <> if(unicode?, do: "u", else: "")
  end

  @texts ["a", "b", "c", "a", "b", "A", "B", "K", "k", "s", "1", "2", "_", " ", "\n", ",", "-", "d"]

  defp text(unicode?) do
    more = if unicode?, do: ["é", "É", "ſ", "K", "日", "«"], else: [<<0xE9>>, "é", <<200>>]
    Enum.map_join(0..:rand.uniform(12), fn _ -> Enum.random(@texts ++ more) end)
  end
end
