defmodule Mote.Behaviour.TextsTest do
  # What primitives do with whole texts, against Elixir's own: as plain Elixir, as IR, and in machines of both tiers.
  use ExUnit.Case, async: true
  use ExUnitProperties

  alias Mote.{Interpret, Total}
  alias Mote.Prelude.Characters

  @calls """
  String.split(text)
  String.split(text, part)
  String.split(text, part, trim: true)
  String.replace(text, part, "-ü-")
  {String.codepoints(text), String.valid?(text)}
  {:binary.bin_to_list(text), :erlang.binary_to_list(text), IO.iodata_to_binary([[text, 255], ?a | part])}
  """

  # Releases of Erlang have errors about characters beside bytes that are not of UTF-8.
  @of_characters """
  {String.length(text), String.graphemes(text), String.slice(text, 7, 70)}
  {String.upcase(text), String.downcase(text), String.reverse(text)}
  """

  # These raise where a text is not of UTF-8.
  @of_valid """
  {String.to_charlist(text), to_charlist(text), List.to_charlist([text, 228, [part]])}
  List.to_string([[text, 228], ?a, part])
  """

  setup do
    calls = String.split(@calls <> @of_characters <> @of_valid, "\n", trim: true)
    names = Enum.map(Enum.with_index(calls), fn {_, i} -> :"call#{i}" end)
    functions = Enum.zip_with(names, calls, &"defpure #{&1}(text, part), do: #{&2}\n")
    clauses = Enum.map(names, &"{customer, {:#{&1}, text, part}} -> send customer, #{&1}(text, part)\n")

    module =
      Mote.Compile.module("""
      #{functions}
      defactor server() do
        #{clauses}
        {customer, {:run, texts}} -> send customer, Enum.map(texts, &Mote.Total.text_run(&1, :plain, 9))
        {customer, {:changed, how, texts}} -> send customer, Enum.map(texts, &Mote.Total.text_changed(&1, how))
      end
      """)

    servers =
      for tier <- [:interp, :native],
          do: Mote.create(start_supervised!({Mote, tier: tier, id: tier}), module.server())

    %{module: module, servers: servers, calls: Enum.zip(names, calls)}
  end

  @pieces [
            "a",
            "Bc",
            ",",
            ", ",
            " ",
            "\t\r\n",
            "\r",
            "\0",
            "äß",
            "語",
            "Я",
            "\u2028",
            "\u00A0",
            "e\u0301",
            "\u0301"
          ] ++
            ["👩‍👩‍👧🏽", "🇩🇪🇫", "\u0600", "각", "ŉΣİ"]
  @odd [
    <<0xFF>>,
    <<0xC3>>,
    <<0xE2, 0x80>>,
    <<0xED, 0xA0, 0x80>>,
    <<0xC0, 0x80>>,
    <<0x80>>,
    <<0xF4, 0x90, 0x80, 0x80>>
  ]

  property "texts of any length are taken apart, changed and put together as in Elixir", context do
    check all(
            pieces <- list_of(frequency([{9, member_of(@pieces)}, {1, member_of(@odd)}]), max_length: 9),
            # The pieces again and again, so that there are none, 80 or 8,000 of them, or a few.
            count <- member_of([1, 1, 1, 80, 80, 8_000]),
            part <- member_of([",", ", ", "a", "Bc", "ä", "", <<0xC3>>]),
            max_runs: Mote.Long.runs(60)
          ) do
      pieces = if pieces == [] or count == 1, do: pieces, else: Enum.take(Stream.cycle(pieces), count)
      text = IO.iodata_to_binary(pieces)
      valid? = String.valid?(text) and String.valid?(part)

      for {name, call} <- context.calls, valid? or not (@of_valid =~ call) do
        expected =
          if valid? or (@calls =~ call and part != ""),
            do: apply(context.module, name, [text, part]),
            else: Interpret.call(context.module, name, [text, part])

        for server <- context.servers,
            do: assert({call, Mote.ask!(server, {name, text, part}, timeout: 60_000)} === {call, expected})

        # What interprets in Elixir takes its time.
        if count < 8_000,
          do: assert({call, Interpret.call(context.module, name, [text, part])} === {call, expected})
      end
    end
  end

  test "characters that are plain, and letters that are changed, are so in this release", context do
    texts = for c <- Enum.concat([0..0xD7FF, 0xE000..0x1FFFF, 0xE0000..0xE1000]), do: <<c::utf8>>

    for texts <- Enum.chunk_every(texts, 1_000) do
      runs = Enum.map(texts, &Total.text_run(&1, :plain, 9))
      for server <- context.servers, do: assert(Mote.ask!(server, {:run, texts}) == runs)

      for {<<c::utf8>>, {_, 1}} <- Enum.zip(texts, runs),
          c not in 0x4E10..0x9FF0,
          do: assert({c, Interpret.call(Characters, :class, [c])} == {c, :other})

      for how <- [:upcase, :downcase, :reverse] do
        changed = Enum.map(texts, &Total.text_changed(&1, how))
        for server <- context.servers, do: assert(Mote.ask!(server, {:changed, how, texts}) == changed)
      end
    end
  end

  test "what is no text, and no binary, has no answer" do
    none = Total.text_run(:none, :plain, 1)

    for odd <- [<<1::3>>, <<0xFF, 1::1>>, ~c"a", nil, 1] do
      assert Total.text_run(odd, :utf8, 1) == none
      assert Total.text_changed(odd, :reverse) == none
      for kind <- [:bytes, :utf8], do: assert(Total.binary_list(odd, kind) == none)
      for part <- [nil, "", ","], do: assert(Total.binary_split(odd, part) == none)
      for kind <- [:bytes, :utf8], odd != 1, do: assert(Total.binary_join([odd], kind) == none)
    end

    for odd <- @odd, text = "a" <> odd do
      assert Total.binary_list(text, :utf8) == none
      assert Total.binary_join([text], :utf8) == none
      assert Total.text_run(text, :utf8, 9) == {1, 1}
    end
  end
end
