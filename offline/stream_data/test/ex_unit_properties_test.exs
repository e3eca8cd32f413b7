defmodule ExUnitPropertiesTest do
  use ExUnit.Case, async: true
  use ExUnitProperties

  setup do
    %{given: :context}
  end

  property "takes the context and checks", %{given: :context} do
    check all list <- list_of(integer()), n <- integer() do
      assert length([n | list]) == length(list) + 1
    end
  end

  property "is tagged", context do
    assert context.property
    assert context.test_type == :property
  end

  test "gen all with patterns, bindings and filters" do
    data =
      gen all {:ok, n} <- one_of([:error, {:ok, integer(1..100)}]),
              m = n * 2,
              rem(n, 3) != 0,
              k when k > 5 <- integer(0..50) do
        {n, m, k}
      end

    for {n, m, k} <- Enum.take(data, 100) do
      assert m == 2 * n and rem(n, 3) != 0 and k > 5
    end

    assert Enum.take(gen(all x <- constant(1), do: x), 2) == [1, 1]
  end

  test "a variable of one clause is there in the next generator" do
    check all n <- integer(1..10), list <- list_of(byte(), length: n), max_runs: 30 do
      assert length(list) == n
    end
  end

  test "returns :ok, and runs as often as asked" do
    assert :ok = check(all(_ <- byte(), max_runs: 7, do: Kernel.send(self(), :ran)))
    for _ <- 1..7, do: assert_received(:ran)
    refute_received :ran
  end

  test "an assertion fails with the simplest values" do
    error =
      assert_raise ExUnit.AssertionError, fn ->
        check all n <- integer(0..1000), list <- list_of(constant(:x)), initial_seed: 1 do
          assert n < 10 or length(list) < 2
        end
      end

    assert error.message =~ ~r/Failed with generated values \(after \d+ successful runs?\)/
    assert error.message =~ "* Clause:    n <- integer(0..1000)"
    assert error.message =~ "Generated: 10\n"
    assert error.message =~ "Generated: [:x, :x]"
  end

  test "another exception is reported with the values" do
    error =
      assert_raise ExUnitProperties.Error, fn ->
        check all n <- integer(0..1000), max_runs: 1000 do
          if n > 41, do: raise("too much")
        end
      end

    assert error.message =~ "Generated: 42"
    assert error.message =~ "** (RuntimeError) too much"
  end

  test "sizes are limited by :max_generation_size" do
    check all n <- sized(&constant/1), initial_size: 5, max_generation_size: 10 do
      assert n in 5..10
    end
  end

  test "unknown options are refused" do
    assert_raise ArgumentError, ~r/numtests/, fn ->
      check all _ <- byte(), numtests: 3 do
        :ok
      end
    end
  end

  test "pick takes one value" do
    assert pick(integer(3..3)) == 3
    assert pick({:a, :b}) == {:a, :b}

    outside = Task.async(fn -> assert_raise RuntimeError, fn -> pick(byte()) end end)
    assert Exception.message(Task.await(outside)) =~ "random seed"
  end
end
