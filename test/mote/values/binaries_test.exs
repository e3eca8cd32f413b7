defmodule Mote.Values.BinariesTest do
  # Binaries as behaviours see them: on a machine, in the reference, and against Elixir's own.
  use ExUnit.Case, async: true
  use ExUnitProperties

  defmodule Binaries do
    use Mote.Behaviour, errors: :undefined
    @magic "MOTE"

    defactor eval() do
      {customer, {:parse, b}} ->
        send customer, parse(b)

      {customer, {:header, b}} ->
        send customer, header(b)

      {customer, {:frames, b}} ->
        send customer, frames(b, [])

      {customer, {:numbers, b}} ->
        send customer, numbers(b)

      {customer, {:sized, b, n}} ->
        send customer, sized(b, n)

      {customer, {:characters, b}} ->
        send customer, characters(b, [])

      {customer, {:odd, b}} ->
        send customer, odd(b)

      {customer, {:build, n, f, b}} ->
        send customer, build(n, f, b)

      {customer, {:bits, a, b, c}} ->
        send customer, <<a::3, b::4, c::1, a::little-signed-12, b::4>>

      {customer, {:part, b, n}} ->
        send customer, <<n, b::binary-size(n), "end"::binary>>

      {customer, {:join, a, b}} ->
        send customer, {a <> b, "<" <> a <> ":" <> b <> ">", "#{a}-#{b}"}

      {customer, {:slice, b, from, n}} ->
        send customer, {binary_part(b, from, n), :binary.at(b, from), byte_size(b), bit_size(b)}

      {customer, {:pinned, b, x}} ->
        send customer, pinned(b, x)

      {customer, {:sum, b}} ->
        send customer, sum(b, 0)

      {customer, {:wide, b}} ->
        send customer, wide(b)

      {customer, {:made_wide, n, m}} ->
        send customer, <<n::128, m::little-128, n::4, m::100, n::little-76, m::65, n::3>>

      {customer, :literals} ->
        send customer, for(n <- literals(), do: <<n::64>>)
    end

    defactor keeper(b) do
      {customer, :get} -> send customer, b
      {:keep, <<_::16, part::binary-size(100), _::binary>>} -> become keeper(part)
      {:keep, other} -> become keeper(other)
    end

    # Around the ends of the integers that the machine computes with, and of those of 64 bits.
    defpure literals do
      [
        4_611_686_018_427_387_903,
        4_611_686_018_427_387_904,
        -4_611_686_018_427_387_905,
        -9_223_372_036_854_775_808,
        18_446_744_073_709_551_615
      ]
    end

    defpure parse(<<len::32, s::binary-size(len)>>), do: {:exact, len, s}
    defpure parse(<<len::32, s::binary-size(len), rest::binary>>), do: {:frame, len, s, rest}
    defpure parse(<<>>), do: :empty
    defpure parse("k=" <> v), do: {:value, v}
    defpure parse(<<1, _>>), do: :one
    defpure parse(b) when is_binary(b), do: {:other, byte_size(b)}
    defpure parse(_), do: :no_binary

    defpure header(<<@magic, version, flags::little-16, x::float-32, y::float-little, rest::bytes>>),
      do: {version, flags, x, y, rest}

    defpure header(<<@magic, _::binary>>), do: :short
    defpure header(_), do: :none

    defpure frames(<<n::32, frame::binary-size(n), rest::binary>>, acc), do: frames(rest, [frame | acc])
    defpure frames(rest, acc), do: {Enum.reverse(acc), rest}

    defpure numbers(<<a::64, b::signed-64, c::little-64, d::signed-little-64>>), do: {a, b, c, d}

    defpure numbers(<<a::24, b::signed-24, c::little-24, d::signed-little-24, e::native-16>>),
      do: {a, b, c, d, e}

    defpure numbers(<<a::3, b::5, c::signed-4, d::little-12>>), do: {a, b, c, d}
    defpure numbers(_), do: :none

    defpure wide(<<1::128, rest::binary>>), do: {:one, rest}

    defpure wide(<<a::128, b::signed-128, c::little-128, d::signed-little-128, rest::binary>>),
      do: {a, b, c, d, wide(rest)}

    defpure wide(<<a::4, b::signed-100, c::little-76, d::65, e::signed-size(9)-unit(8), _::3>>),
      do: {a, b, c, d, e}

    defpure wide(b), do: for(<<n::96 <- b>>, do: n)

    defpure sized(b, n) do
      case b do
        <<x::size(n), _::1, rest::binary>> -> {x, rest}
        <<x::size(n)-unit(2), rest::binary>> -> {:wide, x, rest}
        <<_, s::binary-size(n)-unit(16)>> -> {:words, s}
        <<_::4, s::binary-size(n), _::4>> -> {:odd, s}
        _ -> :none
      end
    end

    defpure characters(<<c::utf8, rest::binary>>, acc), do: characters(rest, [c | acc])
    defpure characters(<<"€"::utf8, _::binary>>, _), do: :never
    defpure characters("", acc), do: Enum.reverse(acc)
    defpure characters(rest, acc), do: {Enum.reverse(acc), rest}

    defpure odd(<<a::4, rest::binary>>), do: {:whole, a, rest}
    defpure odd(<<a::4, s::binary-size(2), b::4>>), do: {a, s, b}
    defpure odd(<<a::1, b::7, rest::binary>>), do: {:bits, a, b, rest}
    defpure odd(_), do: :none

    defpure build(n, f, b),
      do:
        {<<n::32, n::little-16, n>>, <<f::float, f::float-32-little>>, <<b::binary, 0>>, <<n::utf8>>,
         <<n::64, n::signed-little-64>>}

    defpure pinned(b, x) do
      case b do
        <<^x, rest::binary>> -> {:byte, rest}
        <<y::16, y::16, _::binary>> -> {:twice, y}
        <<1::float, rest::binary>> -> {:one, rest}
        _ -> :none
      end
    end

    defpure sum(<<x, rest::binary>>, acc), do: sum(rest, acc + x)
    defpure sum(<<>>, acc), do: acc
  end

  setup_all do
    machine = start_supervised!(Mote)
    %{machine: machine, eval: Mote.create(machine, Binaries.eval())}
  end

  # What the machine says, and its code where that is read in Elixir, which must be the same.
  defp eval(%{eval: eval}, request) do
    turn = Mote.Interpret.turn(Binaries.eval(), {self(), request})
    answer = Mote.ask!(eval, request, 30_000)
    assert [{_, ^answer}] = turn.sends
    answer
  end

  test "clauses over binaries", context do
    assert eval(context, {:parse, <<3::32, "abc">>}) == {:exact, 3, "abc"}
    assert eval(context, {:parse, <<3::32, "abcd">>}) == {:frame, 3, "abc", "d"}
    assert eval(context, {:parse, <<4::32, "abc">>}) == {:other, 7}
    assert eval(context, {:parse, ""}) == :empty
    assert eval(context, {:parse, "k=v"}) == {:value, "v"}
    assert eval(context, {:parse, <<1, 2>>}) == :one
    assert eval(context, {:parse, <<0xFFFFFFFF::32>>}) == {:other, 4}
    for odd <- [nil, 1, ~c"abc", {}, <<1::3>>, %{}], do: assert(eval(context, {:parse, odd}) == :no_binary)
  end

  test "numbers of all kinds", context do
    header = <<"MOTE", 7, 0x1234::little-16, 0.5::float-32, -1.25::float-little, "rest">>
    assert eval(context, {:header, header}) === {7, 0x1234, 0.5, -1.25, "rest"}
    assert eval(context, {:header, "MOTE"}) == :short
    nan = <<"MOTE", 7, 0::16, 0x7FC00000::32, 0::64>>
    assert eval(context, {:header, nan}) == :short

    for n <- [
          0,
          1,
          -1,
          2 ** 62 - 1,
          2 ** 62,
          2 ** 63 - 1,
          -(2 ** 62),
          -(2 ** 62) - 1,
          -(2 ** 63),
          2 ** 64 - 1
        ] do
      numbers = <<n::64, n::64, n::little-64, n::little-64>>
      <<a::64, b::signed-64, c::little-64, d::signed-little-64>> = numbers
      assert eval(context, {:numbers, numbers}) === {a, b, c, d}

      assert elem(eval(context, {:build, n, 1.0, ""}), 4) === <<n::64, n::little-64>>
    end

    assert eval(context, {:numbers, <<1::3, 30::5, -3::4, 0xABC::little-12>>}) === {1, 30, -3, 0xABC}
    assert {_, _, _, _, _} = eval(context, {:numbers, :crypto.strong_rand_bytes(14)})
  end

  property "numbers of more bits than there are in a word", context do
    <<one::128, _::binary>> = only_one = <<1::128, "x">>
    assert one == 1 and eval(context, {:wide, only_one}) == {:one, "x"}
    assert eval(context, {:wide, <<7::96, -1::96, 1::8>>}) == [7, 2 ** 96 - 1]

    # Of a one in front there is another clause.
    check all n <- integer(),
              k <- integer(0..127),
              sign <- member_of([1, -1]),
              m = n + sign * 2 ** k,
              m != 1 do
      odd = <<n::4, m::100, n::little-76, m::65, n::72, 0::3>>
      <<a::4, b::signed-100, c::little-76, d::65, e::signed-size(9)-unit(8), _::3>> = odd
      assert eval(context, {:wide, odd}) === {a, b, c, d, e}

      wide = <<m::128, m::128, m::little-128, m::little-128, 5::96>>
      <<f::128, g::signed-128, h::little-128, i::signed-little-128, _::binary>> = wide
      assert eval(context, {:wide, wide}) === {f, g, h, i, [5]}

      made = <<n::128, m::little-128, n::4, m::100, n::little-76, m::65, n::3>>
      assert eval(context, {:made_wide, n, m}) === made
    end

    assert eval(context, {:made_wide, 1, :no}) == :undefined
    assert eval(context, {:made_wide, "no", 1}) == :undefined
  end

  test "numbers that stand in the code", context do
    assert eval(context, :literals) === for(n <- Binaries.literals(), do: <<n::64>>)
  end

  test "sizes from variables", context do
    for n <- [0, 1, 3, 7, 8, 15, 31, 32, 33, 63, 64, 65, -1, 1.0, nil, 2 ** 61],
        b <- ["", "a", "abcdefgh", "0123456789abcdef"] do
      eval(context, {:sized, b, n})
    end

    assert eval(context, {:sized, <<5::7, 0::1, "x">>, 7}) == {5, "x"}
    assert eval(context, {:sized, "abcde", 2}) == {:words, "bcde"}
  end

  test "characters", context do
    assert eval(context, {:characters, "aß€😀"}) == ~c"aß€😀"
    assert eval(context, {:characters, <<"a", 0xFF, "b">>}) == {~c"a", <<0xFF, "b">>}
    assert eval(context, {:characters, <<0xED, 0xA0, 0x80>>}) == {[], <<0xED, 0xA0, 0x80>>}
  end

  test "parts that do not begin with a byte", context do
    assert eval(context, {:odd, <<0xAB, 0xCD, 0xEF>>}) == {0xA, <<0xBC, 0xDE>>, 0xF}
    assert eval(context, {:odd, <<0x81, 1>>}) == {:bits, 1, 1, <<1>>}
    assert eval(context, {:odd, ""}) == :none
  end

  test "building", context do
    assert eval(context, {:build, 0x41, 1.5, "x"}) ==
             {<<0x41::32, 0x41, 0, 0x41>>, <<1.5::float, 1.5::float-32-little>>, <<"x", 0>>, "A",
              <<0x41::64, 0x41, 0::56>>}

    ones = {<<-1::56>>, <<1.0::float, 1.0::float-32-little>>, <<"x", 0>>, :undefined, <<-1::128>>}
    assert eval(context, {:build, -1, 1, "x"}) == ones

    assert {_, :undefined, _, _, _} = eval(context, {:build, 1, 1.0e300, "x"})
    odd = List.duplicate(:undefined, 5) |> List.to_tuple()
    for x <- [nil, [], {1}, <<1::2>>], do: assert(eval(context, {:build, x, x, x}) == odd)
    large = 3 ** 90

    low = Integer.mod(large, 2 ** 32)
    assert {<<^low::32, _::binary>>, _, :undefined, _, _} = eval(context, {:build, large, 1.5, large})

    assert eval(context, {:bits, 5, 9, 1}) == <<5::3, 9::4, 1::1, 5::little-signed-12, 9::4>>
    assert eval(context, {:part, "abcdef", 3}) == <<3, "abcend">>
    for n <- [7, -1, nil], do: assert(eval(context, {:part, "abcdef", n}) == :undefined)
  end

  test "joining and interpolation", context do
    assert eval(context, {:join, "a", "b"}) == {"ab", "<a:b>", "a-b"}
    assert eval(context, {:join, "", :b}) == {:undefined, :undefined, "-b"}
    assert eval(context, {:join, -7, nil}) == {:undefined, :undefined, "-7-"}
    assert eval(context, {:join, 1.5, "x"}) == {:undefined, :undefined, "1.5-x"}
    assert eval(context, {:join, -1.0e-7, {}}) == {:undefined, :undefined, :undefined}
    large = :binary.copy("0123456789", 100_000)
    assert {_, _, _} = joined = eval(context, {:join, large, large})
    assert joined == {large <> large, "<" <> large <> ":" <> large <> ">", large <> "-" <> large}
  end

  test "slices", context do
    assert eval(context, {:slice, "hello", 1, 3}) == {"ell", ?e, 5, 40}
    assert eval(context, {:slice, "hello", 4, -3}) == {"ell", ?o, 5, 40}
    assert eval(context, {:slice, "hello", 5, 0}) == {"", :undefined, 5, 40}

    for {from, n} <- [{6, 0}, {0, 6}, {-1, 1}, {2, -3}, {nil, 1}, {1, 1.0}, {2 ** 61, 2 ** 61}] do
      assert {:undefined, _, 5, 40} = eval(context, {:slice, "hello", from, n})
    end

    assert eval(context, {:slice, <<1::3>>, 0, 0}) == {:undefined, :undefined, 1, 3}
  end

  test "pinned values, values that come twice, literal floats", context do
    assert eval(context, {:pinned, "abc", ?a}) == {:byte, "bc"}
    assert eval(context, {:pinned, <<7::16, 7::16, 1>>, 9}) == {:twice, 7}
    assert eval(context, {:pinned, <<1.0::float, 1>>, 9}) == {:one, <<1>>}
    assert eval(context, {:pinned, <<7::16, 8::16, 1>>, 9}) == :none
  end

  property "frames of any size, also far from the start of a large binary", context do
    check all frames <- list_of(binary(max_length: 400), max_length: 40), junk <- binary(max_length: 3) do
      bytes = for(f <- frames, into: "", do: <<byte_size(f)::32, f::binary>>) <> junk
      assert eval(context, {:frames, bytes}) == {frames, junk}
    end
  end

  test "a binary byte by byte", context do
    bytes = :crypto.strong_rand_bytes(20_000)
    assert eval(context, {:sum, bytes}) == bytes |> :binary.bin_to_list() |> Enum.sum()
  end

  test "frames of a large binary, and what they keep" do
    machine = start_supervised!({Mote, id: :memory, memory: 256 * 1024 * 1024})
    mb = 1024 * 1024
    used = fn -> Mote.gc(machine) && Mote.info(machine).memory.heap end
    keeper = Mote.create(machine, Binaries.keeper(nil))
    before = used.()

    for _ <- 1..50 do
      bytes = :crypto.strong_rand_bytes(20 * mb)
      assert again(fn -> Mote.send(keeper, {:keep, bytes}) end) == :ok
      assert again(fn -> Mote.ask(keeper, :get) end) == {:ok, binary_part(bytes, 2, 100)}
    end

    # A part of a hundred bytes keeps the one that it is a part of, and no other.
    assert (used.() - before) in (20 * mb)..(24 * mb)
    Mote.send(keeper, {:keep, "short"})
    assert Mote.ask!(keeper, :get) == "short"
    assert used.() - before < 3 * mb
  end

  # Until a collection has found what was let go of: under stress that may take several turns.
  defp again(fun) do
    with {:error, %Mote.Error{reason: :no_memory}} <- fun.() do
      Process.sleep(1)
      again(fun)
    end
  end

  test "a binary that doubles ends at the quota" do
    defmodule Doubling do
      use Mote.Behaviour, errors: :undefined

      defactor twice(b) do
        {customer, n} -> send customer, byte_size(double(b, n))
      end

      defpure double(b, 0), do: b
      defpure double(b, n), do: double(b <> b, n - 1)
    end

    machine = start_supervised!({Mote, id: :doubling, memory: 64 * 1024 * 1024})
    actor = Mote.create(machine, Doubling.twice("0123456789"))
    assert Mote.ask!(actor, 10) == 10_240
    Mote.send(actor, {self(), 60})
    # Before it come the turns that end at the quota, and their collections.
    assert Mote.ask!(actor, 11, 60_000) == 20_480
    refute_received _
    assert Mote.info(machine).counters.aborts_no_memory == 1
    Mote.gc(machine)
    assert Mote.info(machine).memory.heap < 16 * 1024 * 1024
  end
end
