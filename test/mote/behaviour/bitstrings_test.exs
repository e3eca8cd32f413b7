defmodule Mote.Behaviour.BitstringsTest do
  # Bitstrings of any size: made, taken apart, compared, carried and shown, on both tiers as in Elixir, whose own code the same functions
  # are here. Bits, sizes and places are made at random.
  use ExUnit.Case, async: true
  use ExUnitProperties

  alias Mote.Raised

  defmodule Bitstrings do
    use Mote.Behaviour

    @odd <<5::3>>

    defpure call(:sizes, x, _, _),
      do: {bit_size(x), byte_size(x), is_binary(x), is_bitstring(x), x == <<>>, x === @odd}

    defpure call(:made, x, y, n) do
      {<<x::bits, y::bits>>, <<n::3, x::bitstring>>, <<x::bits, n::5>>, <<n::size(n)>>, <<n::little-size(n)>>,
       <<x::bits, y::bits, n::13-little, 1.5::float, "é"::utf8, x::bits>>}
    end

    defpure call(:part, x, _, n), do: {<<x::bits-size(n)>>, <<1::1, x::bitstring-size(n)-unit(1)>>}
    defpure call(:bytes, x, _, n), do: <<n::2, x::binary-size(n)>>
    defpure call(:whole, x, _, n), do: <<n::2, x::binary>>

    defpure call(:taken, x, y, n) do
      [
        case x do
          <<a::size(n), rest::bits>> -> {a, rest}
          _ -> :none
        end,
        case x do
          <<a::bits-size(n), b::bitstring>> -> {a, b}
          _ -> :none
        end,
        case x do
          <<a::bits-size(n), b::binary>> -> {a, b}
          _ -> :none
        end,
        case x do
          <<a::size(n), b::binary-size(1), c::bits>> -> {a, b, c}
          _ -> :none
        end,
        case x do
          <<a::3, b::5-signed, c::bits>> -> {a, b, c}
          <<a::3>> -> a
          _ -> :none
        end,
        case x do
          <<a::signed-little-size(n), _::bits>> -> a
          _ -> :none
        end,
        case x do
          <<a::binary>> -> {:binary, a}
          <<a::bits>> -> {:bits, a}
        end,
        case x do
          <<_::7, c::utf8, _::bits>> -> c
          <<_::3, f::float-32, _::bits>> -> f
          _ -> :none
        end,
        case {x, y} do
          {same, same} -> :same
          {<<p::4, _::bits>>, <<p::4, _::bits>>} -> p
          _ -> :none
        end,
        case x do
          <<a::binary-size(3)-unit(2), b::binary-unit(1)>> -> {a, b}
          _ -> :none
        end,
        case x do
          @odd -> :odd
          <<5::3, 0::1>> -> :longer
          _ -> :none
        end
      ]
    end

    defpure call(:gone_through, x, _, n) do
      {bits(x), for(<<a::3 <- x>>, do: a), for(<<a::bits-size(5) <- x>>, do: a),
       for(<<a::size(n), _::1 <- x>>, do: a), for(<<1::1, a::2 <- x>>, do: a),
       for(<<b::1 <- x>>, into: <<>>, do: <<1 - b::1>>), for(<<b::1 <- x>>, into: x, do: <<b::1>>),
       turned(x, <<>>), for(<<b <- x>>, into: "", do: <<b>>)}
    end

    defpure call(:compared, x, y, _),
      do:
        {x < y, x <= y, x == y, x === y, max(x, y), [x | [y]] > [y, x],
         Enum.sort([x, y, "a", <<1::1>>, <<>>])}

    defpure call(:keys, x, y, n) do
      map = %{x => 1, y => 2, n => 3, <<n>> => 4}
      {map, Map.get(map, y), Map.delete(map, x), Enum.uniq([x, y, x]), MapSet.member?(MapSet.new([y]), x)}
    end

    defpure call(:shown, x, y, _),
      do: {inspect(x), inspect({x, [y]}), inspect(x, base: :hex), inspect(x, limit: 2)}

    defpurep bits(<<b::1, rest::bits>>), do: [b | bits(rest)]
    defpurep bits(<<>>), do: []

    defpurep turned(<<b::1, rest::bits>>, done), do: turned(rest, <<b::1, done::bits>>)
    defpurep turned(<<>>, done), do: done

    defactor calls(state) do
      {customer, {name, x, y, n}} ->
        send customer, call(name, x, y, n)

      {customer, {:kept, x}} ->
        send customer, state
        become state: x

      {customer, :kept} ->
        send customer, {state, bit_size(state)}
    end
  end

  @names [:sizes, :made, :part, :bytes, :whole, :taken, :gone_through, :compared, :keys, :shown]

  setup do
    %{actors: Mote.Generators.on_tiers(Bitstrings, Bitstrings.calls(nil))}
  end

  defp bits do
    one_of([
      bitstring(max_length: 40),
      # Few different ones, of which one begins as the other does.
      map({integer(0..3), integer(0..12)}, fn {n, size} -> <<n::size(size)>> end),
      # Longer than what lies in one cell.
      map(bitstring(length: 37), fn bits -> for(_ <- 1..80, into: <<>>, do: bits) end)
    ])
  end

  property "are in a behaviour what they are in Elixir", %{actors: actors} do
    check all x <- bits(),
              y <- one_of([bits(), constant(x)]),
              n <- integer(0..20),
              name <- member_of(@names),
              max_runs: 400 do
      # From within another one, whose bits do not begin with a byte.
      <<_::3, x::bits>> = <<n::3, x::bits>>
      expected = in_elixir(name, x, y, n)

      for actor <- actors do
        found = Mote.ask(actor, {name, x, y, n})
        assert {name, x, y, n, outcome(found)} === {name, x, y, n, expected}
      end
    end
  end

  defp in_elixir(name, x, y, n) do
    {:ok, Bitstrings.call(name, x, y, n)}
  rescue
    error -> {:error, error.__struct__}
  end

  defp outcome({:ok, value}), do: {:ok, value}

  defp outcome({:error, %{reason: :aborted, context: %{reason: reason}}}),
    do: {:error, Raised.exception(reason).__struct__}

  property "are captured, sent and looked at as they are", %{actors: actors} do
    check all x <- bits(), y <- bits(), max_runs: 50 do
      for actor <- actors do
        Mote.ask!(actor, {:kept, x})
        assert Mote.ask!(actor, :kept) === {x, bit_size(x)}
        assert Mote.ask!(actor, {:kept, {x, %{y => [x | y]}}}) === x
        assert Mote.ask!(actor, {:kept, nil}) === {x, %{y => [x | y]}}
        other = Mote.create(Mote.machine(actor), Bitstrings.calls({x, y}))
        assert {_, {{^x, ^y}}} = {other, Mote.info(other).behaviour.captures}
      end
    end
  end
end
