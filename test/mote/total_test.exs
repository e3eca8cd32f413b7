defmodule Mote.TotalTest do
  # The primitives: Elixir's answers where there are any, `:undefined` elsewhere, and never an exception.
  use ExUnit.Case, async: true
  doctest Mote.Total

  alias Mote.Behaviour.Primitives
  alias Mote.Reference.{Address, On}
  alias Mote.Total

  @high 4_611_686_018_427_387_903
  @low -4_611_686_018_427_387_904
  @minus_zero Mote.Total.neg(0.0)

  @terms [0, 1, -1, 2, 3, 62, 63, 64, @high, @low, @high + 1, @low - 1, 1.0e300] ++
           [0.0, @minus_zero, 1.0, -1.5, 2.5, 1.7e308, 5.0e-324, 4.611686018427388e18] ++
           [:a, :undefined, nil, true, false, "", "abc", <<1::3>>] ++
           [{}, {1}, {1, 2}, {0.0}, {@minus_zero}, [], [1], [1, 2], [1 | 2], [0.0], [[], {}], %{}, %{a: 1}] ++
           [%Address{id: 1}, %Address{id: 2}, %On{sponsor: :s, address: %Address{id: 1}}, [%Address{id: 1}]] ++
           [%Address{id: {:customer, :c}}]

  defp terms, do: @terms ++ [self(), make_ref(), fn -> 1 end, {self(), 1}]

  test "every primitive answers everything, and as answer/2 says" do
    for %{name: name, arity: arity, has: answers} <- Primitives.all(), Primitives.pure?(name) do
      for args <- tuples(arity) do
        value = apply(Total, name, args)

        case Total.answer(name, args) do
          {:ok, answer} -> assert bits(answer) == bits(value)
          :none -> assert value == :undefined and answers == :partial, "#{name} #{inspect(args)}"
        end
      end
    end
  end

  # The sign of a zero as well, whether the node tells the two apart or not.
  defp bits(term), do: :erlang.term_to_binary(term)

  defp tuples(0), do: [[]]
  defp tuples(1), do: Enum.map(terms(), &[&1])
  defp tuples(2), do: for(a <- terms(), b <- terms(), do: [a, b])

  defp tuples(3),
    do: for(a <- [{1, 2}, {}, 1], b <- [0, 1, 2, -1, 1.0, :a, @high + 1], c <- terms(), do: [a, b, c])

  test "arithmetic is Elixir's" do
    numbers = Enum.filter(@terms, &is_number/1)

    for a <- numbers, b <- numbers do
      assert bits(Total.add(a, b)) == bits(elixir(fn -> a + b end))
      assert bits(Total.sub(a, b)) == bits(elixir(fn -> a - b end))
      assert bits(Total.mul(a, b)) == bits(elixir(fn -> a * b end))
      assert bits(Total.fdiv(a, b)) == bits(elixir(fn -> a / b end))
      assert Total.idiv(a, b) == elixir(fn -> div(a, b) end)
      assert Total.irem(a, b) == elixir(fn -> rem(a, b) end)
      assert Total.band(a, b) == elixir(fn -> Bitwise.band(a, b) end)
      assert Total.pow(a, b) == elixir(fn -> :math.pow(a, b) end)
    end

    for a <- numbers do
      assert Total.round(a) == elixir(fn -> round(a) end)
      assert Total.trunc(a) == elixir(fn -> trunc(a) end)
      assert Total.floor(a) == elixir(fn -> floor(a) end)
      assert Total.ceil(a) == elixir(fn -> ceil(a) end)
      assert Total.sqrt(a) == elixir(fn -> :math.sqrt(a) end)
      assert Total.erfc(a) == elixir(fn -> :math.erfc(a) end)
    end
  end

  defp elixir(fun) do
    fun.()
  rescue
    ArithmeticError -> :undefined
  end

  test "shifts" do
    assert Total.bsl(1, 61) == 2_305_843_009_213_693_952
    assert Total.bsl(-1, 62) == @low
    assert Total.bsl(1, 62) == @high + 1
    assert Total.bsl(1, 1_048_575) == 2 ** 1_048_575
    assert Total.bsl(1, 1_048_576) == :undefined
    assert Total.bsl(1, @high) == :undefined
    assert Total.bsl(1, 2 ** 70) == :undefined
    assert Total.bsr(-1, 2 ** 70) == -1
    assert Total.bsl(0, @high) == 0
    assert Total.bsl(8, -2) == 2
    assert Total.bsl(-8, @low) == -1
    assert Total.bsr(8, -2) == 32
    assert Total.bsr(-8, 1000) == -1
    assert Total.bsr(8, @high) == 0
    assert Total.bsr(1, @low) == :undefined
    assert Total.bsr(1.0, 1) == :undefined
  end

  test "division by zero, overflow, what is no number" do
    assert Total.fdiv(1, 0) == :undefined
    assert Total.fdiv(1, 0.0) == :undefined
    assert Total.idiv(@low, -1) == @high + 1
    assert Total.irem(@low, -1) == 0
    assert Total.neg(@low) == @high + 1
    assert Total.abs(@low) == @high + 1
    assert Total.add(@high, 1) == @high + 1
    assert Total.add(:undefined, 1) == :undefined
    assert Total.round(1.0e30) == round(1.0e30)
    assert Total.mul(1.0e200, 1.0e200) == :undefined
    assert Total.exp(1000) == :undefined
    assert Total.acos(2) == :undefined
  end

  test "integers beyond 2^20 bits are carried, and not calculated with" do
    most = 2 ** 1_048_576 - 1
    assert Total.sub(most, 1) == most - 1
    assert Total.neg(-most) == most
    beyond = most + 1

    for {name, arguments} <- [
          add: [most, 1],
          sub: [-most, 1],
          mul: [most, most],
          mul: [most, 2],
          bsl: [most, 1],
          bnot: [most],
          add: [beyond, 1],
          neg: [beyond],
          idiv: [beyond, 2],
          bsr: [beyond, 70],
          trunc: [beyond],
          to_string: [beyond],
          fdiv: [most, 2],
          add: [most, 1.0],
          bin_of: [{beyond}, {32 * 8}]
        ] do
      assert apply(Total, name, arguments) == :undefined, "#{name}"
    end

    assert Total.lt(most, beyond) and Total.is_integer(beyond) and Total.same(beyond, most + 1)
  end

  test "floats are the nearest ones of integers" do
    for e <- [64, 65, 70, 127, 128, 1000, 1023], off <- [0, 1, -1], tie <- [0, 1, 2, 3], sign <- [1, -1] do
      # The last bit that a float has, and the one below it.
      n = sign * (2 ** e + tie * 2 ** (e - 53) + off)
      nearest = [Total.trunc(Total.fdiv(n, 1)), n] |> Enum.reduce(&abs(&1 - &2))
      assert nearest <= 2 ** (e - 53), "2^#{e}"
      if tie == 1 and off == 0, do: assert(Total.trunc(Total.fdiv(n, 1)) == sign * 2 ** e)
      if tie == 1 and off == 1, do: assert(Total.trunc(Total.fdiv(n, 1)) == sign * (2 ** e + 2 ** (e - 52)))
    end

    assert Total.fdiv(2 ** 1024 - 2 ** 970, 1) == :undefined
    assert Total.fdiv(2 ** 1024 - 2 ** 970 - 1, 1) == 1.7976931348623157e308
  end

  test "floats are the same when they are on this node" do
    # Older releases of OTP would make one literal of both zeros, and take both for the same.
    minus = Total.neg(Process.get(:no_such_key, 0.0))
    plus = Total.neg(minus)
    one = plus === minus
    assert Total.same(plus, minus) == one
    assert Total.same({1, [plus]}, {1, [minus]}) == one
    assert Total.same([1 | plus], [1 | minus]) == one
    assert Total.same({1, [plus]}, {1, [plus]})
    assert Total.eq(plus, minus)
    assert Total.eq({1, plus}, {1.0, minus})
    refute Total.same(1, 1.0)
    assert Total.eq(1, 1.0)
    assert Total.differ(plus, minus) != one
    assert Total.member(plus, [1, minus]) == one
    assert Total.member(1, [1 | 2])
    assert Total.member(2, [1 | 2]) == :undefined
    assert bits(Total.subtract([plus, minus, 1], [minus])) == bits(if(one, do: [minus, 1], else: [plus, 1]))
    assert <<0::64>> = <<Total.abs(minus)::float>>
    assert <<1::1, 0::63>> = <<minus::float>>
  end

  test "order is Elixir's, an address sorts as a pid" do
    plain = [3, 1.5, :b, make_ref(), fn -> 1 end, self(), {1}, {1, 2}, %{}, [], [1], [1 | 2], "a", <<1::3>>]

    for a <- plain, b <- plain do
      assert Total.lt(a, b) == a < b
      assert Total.le(a, b) == a <= b
      assert Total.gt(a, b) == a > b
      assert Total.ge(a, b) == a >= b
    end

    address = %Address{id: 1}
    on = %On{sponsor: :s, address: address}

    for address <- [address, on], below <- [1, 2.5, :a, make_ref(), fn -> 1 end] do
      assert Total.lt(below, address) and Total.gt(address, below)
    end

    for address <- [address, on], above <- [{}, %{}, [], [1], "a"] do
      assert Total.lt(address, above) and Total.gt(above, address)
    end

    assert Total.lt({address, 1}, {{}, 0})
    assert Total.lt([address], [[]])
    assert Total.lt([1, address], [1, {}])
    assert Total.lt([address], [address, 1])
    assert Total.gt({address, 2, 3}, {address, 9})
    assert Total.lt(%Address{id: 1}, %Address{id: 2})
    assert Total.le(address, address) and Total.ge(address, address)
    assert Total.max(1, 1.0) === 1
    assert Total.min(1.0, 1) === 1.0
    assert Total.max(address, :a) == address
  end

  test "an address is an address and nothing else" do
    for address <- [%Address{id: 1}, %On{sponsor: :s, address: %Address{id: 1}}] do
      assert Total.is_address(address)
      refute Total.is_map(address)
      refute Total.is_pid(address)
      refute Total.is_tuple(address)
    end

    assert Total.is_address(self()) and Total.is_pid(self())
    assert Total.is_map(%{})
    actor = %Address{id: 1}
    assert Total.on(:a, actor) == %On{sponsor: :a, address: actor}
    assert Total.on(:b, Total.on(:a, actor)) == %On{sponsor: :b, address: actor}
    assert Total.on(1, actor) == :undefined

    # There is no sponsor to choose.
    for other <- [self(), Mote.Reference.customer(:c)] do
      assert Total.on(:a, other) == other
      assert Total.on(1, other) == :undefined
    end

    assert Total.on(:a, 1) == :undefined
  end

  test "types of what is only carried" do
    assert Total.is_integer(@high + 1)
    assert Total.is_number(@high + 1)
    assert Total.is_function(fn -> 1 end)
    assert Total.is_reference(make_ref())
    assert Total.is_bitstring(<<1::3>>)
    refute Total.is_binary(<<1::3>>)
    assert Total.byte_size(<<1::3>>) == 1
    assert Total.bit_size(<<1::3>>) == 3
  end

  test "random numbers" do
    assert Total.random() >= 0.0
    assert Total.random_int(5) in 1..5
    for bad <- [0, -1, 1.0, :a, @high + 1], do: assert(Total.random_int(bad) == :undefined)
  end
end
