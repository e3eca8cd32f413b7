defmodule Mote.Values.GeneratorsTest do
  # Generators over binaries: the same source as a behaviour and as Elixir, on a machine, in the reference and on the BEAM.
  use ExUnit.Case, async: true
  use ExUnitProperties

  # Of a binary `b` and a byte `n`.
  @sources [
    bytes: "for <<x <- b>>, do: x",
    words: "for <<x::16 <- b>>, do: x + n",
    little: "for <<x::signed-little-16, y::24 <- b>>, do: {x, y}",
    large: "for <<x::64 <- b>>, do: x",
    nibbles: "for <<x::4 <- b>>, do: x",
    odd: "for <<x::3, y::signed-6 <- b>>, do: {x, y}",
    bits: "for <<k::3, x::size(k) <- b>>, do: {k, x}",
    frames: "for <<k, x::binary-size(k) <- b>>, do: x",
    chunks: "for <<x::binary-size(3) <- b>>, do: x",
    unit: "for <<k::4, x::binary-size(k)-unit(16), _::4 <- b>>, do: x",
    outer: "for <<x::binary-size(n), y <- b>>, do: {x, y}",
    literal: "for <<1, x <- b>>, do: x",
    text: "for <<\"a\", x <- b>>, do: x",
    tagged: "for <<1::4, k::4, x::binary-size(k) <- b>>, do: x",
    pinned: "for <<^n, x <- b>>, do: x",
    twice: "for <<x, x <- b>>, do: x",
    floats: "for <<x::float-32, _ <- b>>, do: x",
    characters: "for <<x::utf8 <- b>>, do: x",
    other_characters: "for <<_::utf8, x <- b>>, do: x",
    one_character: "for <<97::utf8, x <- b>>, do: x",
    filter: "for <<x <- b>>, rem(x, 2) == 0, y = x + 1, do: y",
    inner: "for i <- 1..3, <<x <- b>>, do: {i, x}",
    outside: "for <<x <- b>>, i <- 1..rem(x, 3)//1, do: {i, x}",
    nested: "for <<x <- b>>, <<y::4 <- <<x, n>> >>, do: y",
    reduce: "for <<x <- b>>, reduce: n do acc -> acc + x end",
    reduce_pair: "for <<x::16 <- b>>, reduce: {0, n} do {s, k} -> {s + x, k + 1} end",
    reduce_list: "for <<x, y <- b>>, reduce: [] do [] -> [x]; list -> [y | list] end"
  ]

  defmodule Behaviours do
    use Mote.Behaviour, errors: :undefined

    for {name, source} <- Module.get_attribute(Mote.Values.GeneratorsTest, :sources) do
      defpure unquote(:"of_#{name}")(b, n) do
        # Not every source looks at it.
        _ = n
        unquote(Code.string_to_quoted!(source))
      end

      defactor unquote(:"ask_#{name}")() do
        {customer, {b, n}} -> send customer, unquote(:"of_#{name}")(b, n)
      end
    end

    defactor asked() do
      {customer, {:endless, b}} -> send customer, endless(b)
      {customer, {:elsewhere, b, k}} -> send customer, elsewhere(b, k)
    end

    defactor teller() do
      {customer, b} -> for <<x, y::binary-size(1) <- b>>, x > 9, do: send(customer, {x, y})
    end

    defpure endless(b), do: for(<<x::0 <- b>>, do: x)
    defpure elsewhere(b, k), do: for(<<x::binary-size(k) <- b>>, do: x)
  end

  defmodule Plain do
    for {name, source} <- Module.get_attribute(Mote.Values.GeneratorsTest, :sources) do
      def unquote(:"of_#{name}")(b, n) do
        _ = n
        unquote(Code.string_to_quoted!(source))
      end
    end
  end

  setup_all do
    machine = start_supervised!({Mote, fuel: 50_000})
    functions = Map.new(@sources, fn {name, _} -> {name, asked(machine, :"ask_#{name}")} end)
    %{machine: machine, functions: functions}
  end

  defp asked(machine, name), do: Mote.create(machine, apply(Behaviours, name, []))

  property "everything as on the BEAM", %{functions: functions} do
    b =
      one_of([
        binary(),
        bitstring(),
        map(list_of(integer(0..3), max_length: 40), &:binary.list_to_bin/1),
        string(:printable),
        map(list_of(binary(max_length: 5)), &for(x <- &1, into: "", do: <<byte_size(x), x::binary>>))
      ])

    check all b <- b, n <- integer(0..4) do
      for {name, function} <- functions, n > 0 or name != :outer do
        expected = apply(Plain, :"of_#{name}", [b, n])
        assert {name, apply(Behaviours, :"of_#{name}", [b, n])} === {name, expected}
        assert {name, Mote.ask!(function, {b, n})} === {name, expected}
      end
    end
  end

  test "what does not fit in, and what is left at the end" do
    assert Behaviours.of_literal(<<1, 5, 2, 6, 1, 7, 1>>, 0) == [5, 7]
    assert Behaviours.of_frames(<<1, "a", 0, 3, "bc">>, 0) == ["a", ""]
    assert Behaviours.of_tagged(<<1::4, 1::4, "a", 2::4, 2::4, "bc", 1::4, 0::4>>, 0) == ["a", ""]
    assert Behaviours.of_nibbles(<<0xAB>>, 0) == [0xA, 0xB]
  end

  test "what is no binary has no answer", %{functions: functions} do
    for odd <- [nil, 7, [1], {}, %{}], name <- [:bytes, :frames, :reduce] do
      assert Mote.Interpret.call(Behaviours, :"of_#{name}", [odd, 1]) == :undefined
      assert Mote.ask!(functions[name], {odd, 1}) == :undefined
    end
  end

  test "sizes that are none end the loop", %{machine: machine} do
    asked = asked(machine, :asked)

    for size <- [-1, nil, 1.0, 2 ** 61, 100] do
      assert Behaviours.elsewhere("abc", size) == []
      assert Mote.ask!(asked, {:elsewhere, "abc", size}) == []
    end
  end

  test "effects", %{machine: machine} do
    Mote.send(Mote.create(machine, Behaviours.teller()), {self(), <<1, 2, 10, 20, 11, 21, 12>>})
    assert_receive {10, <<20>>}
    assert_receive {11, <<21>>}
    assert Mote.drain(machine, 60_000) == :ok
    refute_received _
  end

  @tag :capture_log
  test "a step of no bits ends when the fuel does", %{machine: machine} do
    before = Mote.info(machine).counters.aborts_fuel
    asked = asked(machine, :asked)
    assert {:error, %Mote.Error{reason: :aborted}} = Mote.ask(asked, {:endless, "abc"}, 10_000)
    assert Mote.info(machine).counters.aborts_fuel == before + 1
  end
end
