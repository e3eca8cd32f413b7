defmodule Mote.Values.IntegersTest do
  # Integers of any size: on a machine in both tiers, in the IR's meaning and as plain Elixir they are what they are in Elixir.
  use ExUnit.Case, async: true
  use ExUnitProperties
  doctest Mote.Integer

  @moduletag capture_log: true

  alias Mote.{Behaviour, Error, Generators}

  # What is calculated on a machine and in Elixir, in the same words. The extended_gcd of 0 and a negative number is another
  # one in older releases of Elixir.
  defmodule Source do
    def all do
      Code.string_to_quoted!(~S"""
      [
        a + b, a - b, a * b, a * a - b * b, -a, abs(a), div(a, b), rem(a, b), a &&& b, a ||| b, bxor(a, b),
        a <<< by, a >>> by, a <<< -by, Bitwise.bsr(a <<< by, by), a + 1, a - 1, 1 - a, a * 2, max(a, b),
        min(a, b), is_integer(a * b), "#{a}", to_string(a * b), Integer.mod(a, b), Integer.floor_div(a, b),
        Integer.gcd(a, b), Integer.extended_gcd(a ||| 1, b), Integer.pow(a, 5), Integer.digits(a),
        Integer.digits(b, 7), Integer.undigits(Integer.digits(a)), Integer.to_string(a, 36),
        Integer.parse("#{a} and"), String.to_integer("#{b}"), Enum.sum([a, b, a]), Enum.product([a, b, 3]),
        Enum.sort([a, b, 0, -a]), <<a::64, b::signed-little-48>>, round(a), trunc(b), a in [b, a],
        {a, b} == {b, a}
      ]
      """)
    end

    def compared do
      Code.string_to_quoted!("""
      [
        a == b, a === b, a < b, a <= b, a > b, a >= b, a != b, a !== b,
        a == x, a < x, a > x, a <= x, x >= a, max(a, x), a === x, is_number(a), is_float(a)
      ]
      """)
    end
  end

  defmodule Calculates do
    use Mote.Behaviour, errors: :undefined
    import Bitwise

    defactor calculate() do
      {customer, {a, b, by}} -> send customer, all(a, b, by)
    end

    defactor compare() do
      {customer, {a, b, x}} -> send customer, compared(a, b, x)
    end

    defactor hold(value) do
      {customer, :get} -> send customer, value
      {_customer, {:put, new}} -> become hold({new, value})
    end

    defactor pattern() do
      {customer, 18_446_744_073_709_551_616} -> send customer, :two_to_64
      {customer, {:not, -18_446_744_073_709_551_616}} -> send customer, :minus
      {customer, n} when is_integer(n) and n > 18_446_744_073_709_551_616 -> send customer, :more
      {customer, %{9_223_372_036_854_775_808 => value}} -> send customer, value
      {customer, _} -> send customer, :other
    end

    defpure all(a, b, by) do
      unquote(Source.all()) ++
        [
          ~~~a,
          %{a => 1, b => 2}[a],
          for(i <- a..(a + 3), do: i),
          Mote.Integer.add64(a, b),
          Mote.Integer.sub64(a, b),
          Mote.Integer.mul64(a, b)
        ]
    end

    defactor cost() do
      {customer, {a, b, by}} -> send customer, costly(a, b, by)
    end

    # Each operation once: a machine calculates once what is written twice.
    defpure costly(a, b, by) do
      [
        a + b,
        a - b,
        a * b,
        -a,
        abs(b),
        div(a, b),
        rem(b, a + 2),
        a &&& b,
        a ||| b,
        bxor(a, b),
        ~~~a,
        a <<< by,
        b >>> by,
        to_string(b),
        {a, 1} < {b, 2},
        %{a => 1, {b} => 2},
        Integer.gcd(a, b),
        Integer.pow(a, 3),
        Integer.digits(b),
        Integer.parse("123456789012345678901234567890" <> "x"),
        a + 1.5
      ]
    end

    defpure compared(a, b, x), do: unquote(Source.compared())
  end

  # The same in Elixir. The last ones are what Elixir has under another name, or does in another order, or has not at all.
  defmodule Expected do
    import Bitwise

    def all(a, b, by) do
      unquote(Source.all()) ++
        [
          bnot(a),
          Map.new([{a, 1}, {b, 2}])[a],
          Enum.to_list(a..(a + 3)),
          a + b &&& 0xFFFF_FFFF_FFFF_FFFF,
          a - b &&& 0xFFFF_FFFF_FFFF_FFFF,
          a * b &&& 0xFFFF_FFFF_FFFF_FFFF
        ]
    end

    def compared(a, b, x), do: unquote(Source.compared())
  end

  # What is around the ends of what a machine, the BEAM and a processor have words for; and whatever else.
  defp large do
    borders = [0, 8, 31, 52, 53, 58, 59, 60, 61, 62, 63, 64, 65, 126, 127, 128, 129, 191, 192, 256, 500]

    border =
      map({member_of(borders), integer(-2..2), member_of([1, -1])}, fn {bits, off, sign} ->
        sign * (Bitwise.bsl(1, bits) + off)
      end)

    any =
      bind(integer(1..80), fn bytes ->
        map({binary(length: bytes), member_of([1, -1])}, fn {bytes, sign} ->
          sign * :binary.decode_unsigned(bytes)
        end)
      end)

    frequency([{3, border}, {2, any}, {1, integer()}])
  end

  defp machines(behaviour) do
    for tier <- [:interp, :native] do
      machine = start_supervised!({Mote, tier: tier, id: make_ref()})
      {:ok, _} = Generators.load(machine, Calculates)
      {machine, Mote.create(machine, behaviour)}
    end
  end

  property "integers are what they are in Elixir" do
    actors = machines(Calculates.calculate())

    check all(a <- large(), b <- large(), b != 0, by <- integer(0..200)) do
      expected = Expected.all(a, b, by)
      assert Calculates.all(a, b, by) == expected
      assert Mote.Interpret.call(Calculates, :all, [a, b, by]) == expected
      for {_, actor} <- actors, do: assert(Mote.ask!(actor, {a, b, by}) == expected)
    end
  end

  property "they compare with each other and with floats as in Elixir, exactly" do
    actors = machines(Calculates.compare())

    floats = [
      1.0e300,
      -1.0e300,
      0.5,
      0.0,
      4.611686018427388e18,
      9.223372036854775808e18,
      1.8446744073709552e19
    ]

    check all(
            a <- large(),
            b <- one_of([large(), constant(a), constant(a + 1)]),
            x <- one_of([member_of(floats), constant(a / 1), constant(b * 0.75)])
          ) do
      expected = Expected.compared(a, b, x)
      assert Calculates.compared(a, b, x) == expected
      assert Mote.Interpret.call(Calculates, :compared, [a, b, x]) == expected
      for {_, actor} <- actors, do: assert(Mote.ask!(actor, {a, b, x}) == expected)
    end
  end

  property "they cross the boundary, and live in actors while cells are collected" do
    machine = start_supervised!({Mote, gc: [min: 65_536, factor: 1.0], id: make_ref()})
    actor = Mote.create(machine, Calculates.hold(nil))

    check all(values <- list_of(one_of([large(), {large(), large()}, map_of(large(), large())]), length: 5)) do
      Enum.each(values, &Mote.send(actor, {self(), {:put, &1}}))
      {fifth, {fourth, {third, _}}} = Mote.ask!(actor, :get)
      assert [fifth, fourth, third] == values |> Enum.reverse() |> Enum.take(3)
    end
  end

  test "patterns, guards and keys" do
    for {_, actor} <- machines(Calculates.pattern()) do
      two_to_64 = 2 ** 64
      assert Mote.ask!(actor, two_to_64) == :two_to_64
      assert Mote.ask!(actor, {:not, -two_to_64}) == :minus
      assert Mote.ask!(actor, two_to_64 + 1) == :more
      assert Mote.ask!(actor, two_to_64 - 1) == :other
      assert Mote.ask!(actor, %{(2 ** 63) => :found}) == :found
    end
  end

  defmodule Ranges do
    use Mote.Behaviour

    defactor of() do
      {customer, {range, n}} ->
        send customer, [
          Enum.count(range),
          Enum.empty?(range),
          Enum.take(range, 2),
          Enum.take(range, -2),
          Enum.at(range, 1),
          Enum.count_until(range, 3),
          n in range,
          Enum.member?(range, range.first),
          Enum.member?(range, range.last),
          1.0 in range,
          Enum.drop(range, max(Enum.count(range) - 3, 0)),
          Enum.drop(range, min(3 - Enum.count(range), 0))
        ]

      {customer, {:list, range, _}} ->
        send customer, {Enum.to_list(range), Enum.sum(range), Enum.reverse(range), for(i <- range, do: i - 1)}
    end
  end

  describe "ranges" do
    @far 2 ** 1_000
    @ends [0, 1, -1, 5, 2 ** 62, -(2 ** 100), 2 ** 100 + 1, 2 ** 127, -(2 ** 128), @far, @far + 5, -@far]

    # Of few integers, near and far.
    @short for first <- @ends,
               step <- [1, -1, 3, -(2 ** 70), 2 ** 130],
               steps <- [-1, 0, 1, 4],
               do: first..(first + steps * step + div(step, 2))//step

    test "of any size hold what Elixir's hold, however many that are" do
      long = for first <- @ends, last <- @ends, step <- [1, -7, 2 ** 101], do: first..last//step

      for {_, actor} <- machines(Ranges.of()), range <- @short ++ long do
        n = range.first + 2 * range.step
        size = Range.size(range)
        ends? = range.last in range

        edge = fn from, to ->
          for i <- from..to//1, i in 0..(size - 1)//1, do: range.first + i * range.step
        end

        assert Mote.ask!(actor, {range, n}) ==
                 [
                   size,
                   size == 0,
                   edge.(0, 1),
                   edge.(size - 2, size - 1),
                   if(size > 1, do: range.first + range.step),
                   min(size, 3),
                   size > 2,
                   size > 0,
                   ends?,
                   false,
                   edge.(max(size - 3, 0), size - 1),
                   edge.(0, min(size, 3) - 1)
                 ],
               inspect(range)
      end
    end

    test "are listed as in Elixir" do
      for {_, actor} <- machines(Ranges.of()), range <- @short do
        list = Enum.to_list(range)
        expected = {list, Enum.sum(list), Enum.reverse(list), for(i <- list, do: i - 1)}
        assert Mote.ask!(actor, {:list, range, :all}) == expected, inspect(range)
      end
    end
  end

  defmodule Raising do
    use Mote.Behaviour

    defactor calculate() do
      {customer, {:shift, n}} -> send customer, Bitwise.bsl(1, n)
      {customer, {:pow, n}} -> send customer, Integer.pow(2, n)
      {customer, {:add, a, b}} -> send customer, a + b
      {customer, {:float, a}} -> send customer, a / 1
      {customer, {:square, a}} -> send customer, rem(a * a, 1_000_000_007)
      {customer, {:double, n}} -> send customer, doubled(n, 1)
      {customer, {:rem, a, b}} -> send customer, rem(a, b)
      {customer, {:text, n}} -> send customer, byte_size(to_string(Integer.pow(2, n)))
      {customer, {:digits, n}} -> send customer, Enum.sum(Integer.digits(n))
      {customer, {:parse, n}} -> send customer, Integer.parse(to_string(n) <> "!") == {n, "!"}
      {customer, :ping} -> send customer, :pong
    end

    defpure doubled(0, n), do: rem(n, 10)
    defpure doubled(i, n), do: doubled(i - 1, n + n)
  end

  test "what is too large ends the turn at once" do
    for tier <- [:interp, :native] do
      machine = start_supervised!({Mote, tier: tier, id: make_ref()})
      actor = Mote.create(machine, Raising.calculate())

      for question <- [{:shift, 10_000_000_000}, {:pow, 10_000_000_000}, {:add, 2 ** 1_048_576 - 1, 1}] do
        began = System.monotonic_time(:millisecond)
        assert {:error, %Error{reason: :aborted} = error} = Mote.ask(actor, question)
        assert error.message =~ "SystemLimitError", error.message
        assert byte_size(error.message) < 1_000
        # Little of that is its own, even on a computer that others occupy.
        assert System.monotonic_time(:millisecond) - began < 20_000
        assert %SystemLimitError{} = Mote.Raised.exception(error.context.reason)
      end

      assert {:error, %Error{} = error} = Mote.ask(actor, {:float, 2 ** 1_024})
      assert error.message =~ "ArithmeticError"
      assert Mote.ask!(actor, :ping) == :pong
    end
  end

  test "what cannot be paid for ends the turn: with fuel for the time, with memory for the room" do
    machine = start_supervised!({Mote, fuel: 5_000, id: make_ref()})
    actor = Mote.create(machine, Raising.calculate())
    ten_thousand_digits = 10 ** 10_000
    assert {:error, %Error{reason: :aborted} = error} = Mote.ask(actor, {:square, ten_thousand_digits})
    assert error.context.reason == :fuel
    assert Mote.ask!(actor, {:square, 10 ** 1_000}) == rem(10 ** 2_000, 1_000_000_007)

    small = start_supervised!({Mote, memory: 10_000_000, id: make_ref()})
    actor = Mote.create(small, Raising.calculate())
    assert {:error, %Error{reason: :aborted} = error} = Mote.ask(actor, {:double, 100_000})
    assert error.context.reason == :no_memory
    assert Mote.ask!(actor, {:double, 100}) == 6
  end

  test "a turn has fuel for the largest numbers" do
    machine = start_supervised!(Mote)
    actor = Mote.create(machine, Raising.calculate())
    {a, b} = {2 ** 1_000_000, 3 ** 315_000}
    assert Mote.ask!(actor, {:rem, a, b}) == rem(a, b)
    assert Mote.ask!(actor, {:text, 1_000_000}) == 301_030
    nines = 10 ** 301_030 - 1
    assert Mote.ask!(actor, {:digits, -nines}) == -9 * 301_030
    assert Mote.ask!(actor, {:parse, nines}) and Mote.ask!(actor, {:parse, -b})
  end

  property "large numbers cost as much fuel in plain Elixir as on a machine" do
    actors =
      for tier <- [:interp, :native] do
        machine = start_supervised!({Mote, tier: tier, id: make_ref()})
        {:ok, _} = Generators.load(machine, Calculates)
        Mote.pause(machine)
        {machine, Mote.create(machine, Calculates.cost()), Mote.create(machine, Calculates.compare())}
      end

    sizes =
      map({integer(1..600), binary(length: 8)}, fn {limbs, <<n::64>>} -> Bitwise.bsl(n, 64 * limbs) + n end)

    check all(a <- sizes, b <- one_of([sizes, large(), constant(a)]), b != 0, max_runs: 25) do
      # Nowhere the same in memory.
      {a, b} = {a, b} |> :erlang.term_to_binary() |> :erlang.binary_to_term()
      message = {self(), {a, b, 0.5}}

      [interpreted, native] =
        for {machine, _, compare} <- actors do
          Mote.send(compare, message)
          {:ok, turn} = Mote.step(machine)
          Mote.drain(machine, 60_000)
          turn.fuel
        end

      assert native == interpreted
    end

    check all(
            a <- one_of([sizes, large()]),
            a != -2,
            b <- one_of([sizes, large()]),
            b != 0,
            by <- one_of([integer(0..200), integer(0..20_000)]),
            max_runs: 40
          ) do
      message = {self(), {a, b, by}}

      [interpreted, native] =
        for {machine, cost, _} <- actors do
          Mote.send(cost, message)
          {:ok, turn} = Mote.step(machine)
          turn.fuel
        end

      assert native == interpreted
    end
  end
end
