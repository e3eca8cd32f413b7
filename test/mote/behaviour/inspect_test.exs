defmodule Mote.Behaviour.InspectTest do
  # `inspect` in a machine is Elixir's own, on both tiers, or the turn is aborted.
  use ExUnit.Case, async: true
  use ExUnitProperties

  @moduletag :capture_log

  @runs Mote.Long.runs(100)

  # No map here has two atoms as keys: releases of OTP differ in their order.
  @terms [1, -5, 3 ** 90, 0.1, -0.0, 1.0e15, 1.0e16, 1.0e-7, 123_456_789.25, 5.0e-324] ++
           [
             :a,
             nil,
             true,
             Enum,
             Mote.Behaviour,
             :"Elixir.no",
             Elixir,
             :"Elixir.Elixir.A",
             :"a b",
             :"",
             :a@b,
             :"@a"
           ] ++
           [
             :ok?,
             :no!,
             :"a?b",
             :A,
             :"A.b",
             :"1a",
             :_,
             :+,
             :.,
             :..,
             :...,
             :<>,
             :{},
             :%{},
             :"::",
             :->,
             :&,
             :and
           ] ++
           [
             :"//",
             String.to_atom("..//"),
             :"a\n",
             :"\#{a}",
             :é,
             :É,
             :aé?,
             :"é b",
             :"×",
             :"漢 a",
             :"a漢!b",
             :"ŉ",
             :"a\u0149 "
           ] ++
           [
             "",
             "abc",
             "é漢😀",
             "a\n\t\"\\\#{x}#",
             "\e\d\a\b\v\f\0",
             <<255>>,
             <<0>>,
             "\u200B\uFEFF\u{10FFFF}",
             <<0x7F>>
           ] ++
           [
             "\u{FFFE}",
             "ab" <> <<0xC3>>,
             String.duplicate("ab", 3000),
             :binary.copy(<<1>>, 60),
             <<?a, 0xED, 0xA0, 0x80>>
           ] ++
           [
             [],
             [1, 2],
             ~c"abc",
             ~c"a'\"\n",
             [?a | ?b],
             [1, 2 | 3],
             [1 | {2}],
             [a: 1, b: [c: 2]],
             [{:"a b", 1}]
           ] ++
           [
             [{Enum, 1}],
             [{:a, 1}, 2],
             [{:a, 1} | 2],
             [[[[[]]]]],
             Enum.to_list(1..100),
             List.duplicate(?x, 5000)
           ] ++
           [
             List.duplicate(Enum.to_list(1..30), 9),
             List.duplicate("abcdefgh", 60),
             [a: "b", c: ["d", {:e, [f: 1]}]]
           ] ++
           [{}, {1}, {1, "b", :c}, %{}, %{a: 1}, %{"a" => %{1 => 2}}, %{1 => 2, 3.5 => {4}}, %{{1} => []}] ++
           [%{nil => 1}, %{"a b": 1}, %{Enum => 1}, Map.new(1..32, &{&1, &1}), %{__struct__: 1}] ++
           [1..3, 3..1//-1, 3..1//-2, 1..0//1, MapSet.new(), MapSet.new([1, 2]), MapSet.new(~c"ab")] ++
           [
             ~D[2020-02-29],
             ~T[01:02:03.040],
             ~N[2020-02-29 01:02:03],
             ~U[2020-02-29 01:02:03Z]
           ]

  @options [[], [limit: 0], [limit: 3], [limit: :infinity], [limit: 7, pretty: true], [printable_limit: 2]] ++
             [
               [printable_limit: :infinity],
               [pretty: true],
               [pretty: true, width: 0],
               [pretty: true, width: 17]
             ] ++
             [
               [pretty: true, width: :infinity],
               [width: 3],
               [base: :hex],
               [base: :octal],
               [base: :binary, limit: 5]
             ] ++
             [
               [charlists: :as_lists],
               [charlists: :as_charlists],
               [binaries: :as_binaries],
               [binaries: :as_strings]
             ] ++
             [
               [structs: false],
               [structs: false, pretty: true, width: 20],
               [safe: false],
               [no: 1, limit: 2, limit: 4]
             ]

  defmodule Shown do
    use Mote.Behaviour

    defpure shown(term, nil), do: inspect(term)
    defpure shown(term, options), do: inspect(term, options)

    defactor shown() do
      {customer, {:all, terms}} -> send customer, Enum.map(terms, &inspect/1)
      {customer, {term, options}} -> send customer, shown(term, options)
    end
  end

  alias Mote.Imported.{Bag, Item, Secret}

  defmodule Structs do
    use Mote.Behaviour, import: [Item, Secret, Bag, URI, Version]
    defstruct [:z, :a, b: 1]

    defpure named(%RuntimeError{message: message}), do: %__MODULE__{a: message}

    defactor structs() do
      {customer, {term, nil}} -> send customer, Enum.map_join([term], ", ", &inspect(&1))
      {customer, {term, options}} -> send customer, inspect(term, options)
    end
  end

  @structs [
    %{__struct__: Structs, z: 1, a: [2], b: nil},
    %{__struct__: Structs},
    [~D[0000-01-01]],
    %RuntimeError{message: "no"},
    %Item{name: "a", price: %Bag{items: [1, %Item{name: [%Secret{id: 7}]}, ~D[2020-02-29]]}},
    %Secret{secret: 1, size: 2},
    [%Bag{items: Enum.to_list(1..70), name: "b"}, %Bag{}],
    %{1 => %Bag{items: [%{__struct__: Structs, z: "zz", a: ~c"ab", b: %Bag{items: ["b"]}}]}},
    URI.parse("http://a.b/c"),
    Version.parse!("1.2.3-rc.1")
  ]

  for tier <- [:interp, :native] do
    test "is Elixir's own for structs that the module knows: #{tier}" do
      structs = Mote.create(start_supervised!({Mote, tier: unquote(tier)}), Structs.structs())

      for options <- [nil, [limit: 3], [pretty: true, width: 12], [base: :hex, limit: :infinity]],
          term <- @structs do
        assert {term, options, asked(structs, term, options)} === {term, options, elixir(term, options)}
      end

      # One more key makes a map of it.
      more = %{__struct__: Structs, z: 1, a: 2, b: 3, c: 4}
      assert asked(structs, more, nil) == "%{__struct__: #{inspect(Structs)}, a: 2, b: 3, c: 4, z: 1}"
      # Elixir shows that something has failed.
      assert asked(structs, %Bag{items: 1}, nil) == :raised
    end
  end

  test "refuses options that a machine does not have where they are written" do
    for option <- [:syntax_colors, :inspect_fun] do
      assert Mote.Compile.error("defpure f(x), do: inspect(x, limit: 1, #{option}: x)") =~
               "2: inspect has no option #{option}: in a behaviour: "
    end
  end

  for tier <- [:interp, :native] do
    test "is Elixir's own, for all kinds of terms with all options: #{tier}" do
      shown = Mote.create(start_supervised!({Mote, tier: unquote(tier)}), Shown.shown())
      assert Mote.ask!(shown, {:all, @terms}) === Enum.map(@terms, &inspect/1)

      # Which of a struct's keys comes first without it differs between releases of OTP.
      for options <- @options, term <- @terms, options[:structs] != false or not is_struct(term) do
        expected = elixir(term, options)
        assert {term, options, asked(shown, term, options)} === {term, options, expected}
      end
    end
  end

  # Where Elixir raises, as for characters that are none, a turn is aborted.
  defp elixir(term, options) do
    if options, do: inspect(term, options), else: inspect(term)
  rescue
    _ -> :raised
  end

  defp asked(shown, term, options) do
    case Mote.ask(shown, {term, options}) do
      {:ok, text} -> text
      {:error, %{reason: :aborted}} -> :raised
    end
  end

  property "is Elixir's own for generated terms" do
    actors =
      for tier <- [:interp, :native],
          do: Mote.create(start_supervised!({Mote, tier: tier}, id: tier), Shown.shown())

    check all term <- any(), options <- options(), max_runs: @runs do
      expected = elixir(term, options)
      for actor <- actors, do: assert(asked(actor, term, options) === expected)
    end
  end

  defp any do
    leaf =
      one_of([
        integer(),
        float(),
        atom(:alphanumeric),
        atom(:alias),
        map(string(:printable, max_length: 6), &String.to_atom("a" <> ascii(&1))),
        string(:printable),
        string(:ascii),
        binary(),
        charlist_of(?\s..?~)
      ])

    tree(leaf, fn inner ->
      one_of([
        list_of(inner),
        map({list_of(inner, min_length: 1), inner}, fn {list, tail} -> list ++ tail end),
        keyword_of(inner),
        map(list_of(inner, max_length: 5), &List.to_tuple/1),
        map_of(one_of([integer(), string(:ascii)]), inner, max_length: 9)
      ])
    end)
  end

  defp charlist_of(range), do: list_of(integer(range), max_length: 9)
  defp ascii(text), do: for(<<c <- text>>, c < 128, into: "", do: <<c>>)

  defp options do
    optional_map(%{
      limit: one_of([integer(0..20), constant(:infinity)]),
      pretty: boolean(),
      width: integer(0..100),
      base: member_of([:decimal, :hex]),
      charlists: member_of([:infer, :as_lists]),
      printable_limit: integer(0..9)
    })
    |> map(&Map.to_list/1)
  end

  test "knows all atoms of one or two ASCII characters, and of Latin letters" do
    shown = Mote.create(start_supervised!(Mote), Shown.shown())
    ascii = for a <- 0..127, b <- [[] | Enum.map(0..127, &[&1])], do: List.to_atom([a | b])
    latin = for c <- 0x80..0x17F, name <- [[c], [?a, c], [?A, c], [c, ?a]], do: List.to_atom(name)

    for names <- Enum.chunk_every(ascii, 500),
        do: assert(Mote.ask!(shown, {:all, names}) === Enum.map(names, &inspect/1))

    {unknown, known} = Enum.split_with(latin, &(asked(shown, &1, nil) == :raised))
    for name <- known, do: assert(asked(shown, name, nil) === inspect(name))
    # Those that Elixir writes otherwise: "ŉ" is a letter and an apostrophe.
    assert Enum.uniq(for name <- unknown, c <- to_charlist(name), c > 127, do: c) -- ~c"ªµºĲĳĿŀŉſ" == []
  end

  test "is Elixir's own for pids, references and ports" do
    # As another node would have given it.
    elsewhere = <<131, 88, 100, 4::16, "a@bc", 77::32, 0::32, 1::32>> |> :erlang.binary_to_term()
    carried = [self(), make_ref(), elsewhere, hd(Port.list()), :erlang.list_to_pid(~c"<0.1.2>")]

    for tier <- [:interp, :native] do
      shown = Mote.create(start_supervised!({Mote, tier: tier}, id: tier), Shown.shown())
      for term <- carried ++ [carried], do: assert(Mote.ask!(shown, {term, nil}) === inspect(term))
    end
  end

  test "of what a machine only carries aborts the turn, and says so" do
    machine = start_supervised!(Mote)
    shown = Mote.create(machine, Shown.shown())

    for term <- [&String.length/1, shown, %URI{}, %{__struct__: No.Such}, :漢],
        shape <- [& &1, &{1, [&1]}, &%{a: &1}] do
      {:error, error} = Mote.ask(shown, {shape.(term), nil})
      assert error.reason == :aborted

      assert Mote.Raised.format(error.context.reason) =~
               ~r/^\*\* \(ArgumentError\) inspect_test.exs:\d+: inspect has no text in a machine for functions, /
    end

    assert {:error, %{reason: :aborted}} = Mote.ask(shown, {1, [syntax_colors: [number: :red]]})
    assert {:error, %{reason: :aborted}} = Mote.ask(shown, {1, [inspect_fun: 1]})
    assert Mote.ask!(shown, {1, [syntax_colors: []]}) == "1"
  end
end
