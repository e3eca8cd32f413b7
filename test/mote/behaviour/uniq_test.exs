defmodule Mote.Behaviour.UniqTest do
  # Long lists, of which the repeated elements are found by sorting: short ones are among the cases of the prelude.
  use ExUnit.Case, async: true
  use ExUnitProperties

  defmodule Distinct do
    use Mote.Behaviour

    defactor finder() do
      {customer, {list, divisor}} ->
        send customer, {Enum.uniq(list), Enum.uniq_by(list, fn {_, n} -> rem(n, divisor) end)}
    end
  end

  property "long lists keep the first of each, in their order" do
    finder = Mote.create(start_supervised!(Mote), Distinct.finder())

    # Some are equal and not the same.
    kinds = [1, 1.0, 2, :a, "a", {1, 2}, {1.0, 2}, {1, 2.0}, [1], [1.0], %{a: 1}, %{a: 1.0}]

    check all(
            some <- list_of(member_of(kinds), min_length: 1, max_length: 30),
            distinct <- member_of([1, 50, 9_999, 20_000]),
            divisor <- integer(1..20_000),
            max_runs: 20
          ) do
      size = length(some)
      list = for i <- 1..(10_000 + size), do: {Enum.at(some, rem(i, size)), rem(i * 7919, distinct)}

      assert Mote.ask!(finder, {list, divisor}) ==
               {Enum.uniq(list), Enum.uniq_by(list, fn {_, n} -> rem(n, divisor) end)}
    end
  end

  test "a list without any is the same list, and one of equal elements has one" do
    finder = Mote.create(start_supervised!(Mote), Distinct.finder())
    assert {list, [{0, 0}]} = Mote.ask!(finder, {for(i <- 0..20_000, do: {i, i}), 1})
    assert list == for(i <- 0..20_000, do: {i, i})
    assert Mote.ask!(finder, {List.duplicate({1, 1}, 30_000), 7}) == {[{1, 1}], [{1, 1}]}
  end
end
