defmodule StreamDataTest do
  use ExUnit.Case, async: true

  import StreamData

  defp sample(data, count \\ 200), do: data |> map(& &1) |> Enum.take(count)

  # What a check that fails whenever `fails?` is true ends with.
  defp shrunk(data, fails?, options \\ []) do
    options = Keyword.merge([initial_seed: {1, 2, 3}, max_runs: 500, max_shrinking_steps: 1000], options)

    {:error, result} =
      StreamData.check_all(data, options, fn value ->
        if fails?.(value), do: {:error, value}, else: {:ok, nil}
      end)

    result.shrunk_failure
  end

  test "numbers lie where they should" do
    for n <- sample(integer(3..7)), do: assert(n in 3..7)
    for n <- sample(integer(7..3//-1)), do: assert(n in 3..7)
    assert Enum.uniq(sample(integer(5..5))) == [5]
    assert Enum.sort(Enum.uniq(sample(integer(0..2)))) == [0, 1, 2]
    for n <- sample(resize(integer(), 4)), do: assert(n in -4..4)
    for n <- sample(resize(positive_integer(), 0)), do: assert(n == 1)
    for n <- sample(non_negative_integer()), do: assert(n >= 0)
    for n <- sample(byte()), do: assert(n in 0..255)
    assert Enum.sort(Enum.uniq(sample(boolean()))) == [false, true]
    assert_raise ArgumentError, fn -> integer(3..1//1) end
  end

  test "floats lie between their bounds" do
    for x <- sample(float()), do: assert(is_float(x))
    for x <- sample(float(min: 1, max: 2)), do: assert(x >= 1 and x <= 2)
    for x <- sample(float(min: 1.5)), do: assert(x >= 1.5)
    for x <- sample(float(max: -1)), do: assert(x <= -1)
    for x <- sample(float(min: -1.0e308, max: 1.0e308)), do: assert(is_float(x))
    assert_raise ArgumentError, fn -> float(min: 2, max: 1) end
  end

  test "the size grows by one with each run" do
    {:ok, sizes} = Agent.start_link(fn -> [] end)
    data = sized(&constant/1)

    remember = fn size ->
      Agent.update(sizes, &[size | &1])
      {:ok, nil}
    end

    assert check_all(data, [initial_seed: {0, 0, 0}, initial_size: 3, max_runs: 4], remember) == {:ok, %{}}
    assert Agent.get(sizes, & &1) == [6, 5, 4, 3]
  end

  test "the same seed gives the same values" do
    values = fn seed ->
      collect = fn value -> {:ok, Kernel.send(self(), value)} end
      check_all(list_of(integer()), [initial_seed: seed, max_runs: 20], collect)
      for _ <- 1..20, do: receive(do: (value -> value))
    end

    assert values.({1, 2, 3}) == values.({1, 2, 3})
    assert values.({1, 2, 3}) != values.({1, 2, 4})
    assert Enum.uniq(Enum.take(seeded(resize(integer(), 1_000_000), 42), 1)) |> length() == 1
    assert sample(resize(seeded(integer(), 42), 1000), 20) |> Enum.uniq() |> length() == 1
  end

  test "strings, binaries and atoms are of their kind" do
    for s <- sample(string(:ascii)), do: assert(s =~ ~r/\A[ -~]*\z/)
    for s <- sample(string(:alphanumeric, length: 3)), do: assert(s =~ ~r/\A[a-zA-Z0-9]{3}\z/)
    for s <- sample(string(:printable)), do: assert(String.printable?(s))
    for s <- sample(string(:utf8)), do: assert(String.valid?(s))
    for s <- sample(string(?a..?c)), do: assert(s =~ ~r/\A[abc]*\z/)
    for s <- sample(string([?a, ?x..?z], min_length: 1)), do: assert(s =~ ~r/\A[axyz]+\z/)
    for b <- sample(binary(length: 4)), do: assert(byte_size(b) == 4)
    assert Enum.any?(sample(bitstring()), &(not is_binary(&1)))
    for a <- sample(atom(:alphanumeric)), do: assert(inspect(a) =~ ~r/\A:?[a-zA-Z_]/)
    for a <- sample(atom(:alias), 20), do: assert(inspect(a) =~ ~r/\A[A-Z][\w.]*\z/)
  end

  test "lists have the length that is asked for" do
    for l <- sample(list_of(byte(), length: 3)), do: assert(length(l) == 3)
    for l <- sample(list_of(byte(), length: 2..4)), do: assert(length(l) in 2..4)
    for l <- sample(list_of(byte(), min_length: 2, max_length: 5)), do: assert(length(l) in 2..5)
    for l <- sample(resize(list_of(byte()), 5)), do: assert(length(l) <= 5)
    for l <- sample(resize(list_of(byte(), min_length: 7), 5)), do: assert(length(l) == 7)
    for l <- sample(nonempty(list_of(byte()))), do: assert(l != [])
    assert_raise ArgumentError, fn -> list_of(byte(), min_length: 2, max_length: 1) end
    assert_raise ArgumentError, fn -> list_of(byte(), min_size: 2) end
  end

  test "unique lists, maps and sets" do
    for l <- sample(uniq_list_of(byte(), min_length: 5)), do: assert(Enum.uniq(l) == l)
    for l <- sample(uniq_list_of(integer(0..99), uniq_fun: &rem(&1, 3))), do: assert(length(l) <= 3)
    for m <- sample(map_of(byte(), boolean(), length: 3)), do: assert(map_size(m) == 3)
    for s <- sample(mapset_of(byte(), max_length: 3)), do: assert(MapSet.size(s) <= 3)
    assert_raise StreamData.TooManyDuplicatesError, fn -> sample(uniq_list_of(boolean(), min_length: 3)) end
  end

  test "tuples, atoms, fixed and optional maps" do
    for {:a, n, [b]} <- sample({:a, integer(1..2), fixed_list([boolean()])}) do
      assert n in 1..2 and is_boolean(b)
    end

    for m <- sample(fixed_map(a: byte(), b: :x)), do: assert(%{a: _, b: :x} = m)
    maps = sample(optional_map(%{a: byte(), b: byte()}, [:b]))
    assert maps |> Enum.map(&Enum.sort(Map.keys(&1))) |> Enum.uniq() |> Enum.sort() == [[:a], [:a, :b]]
    for l <- sample(keyword_of(byte()), 50), do: assert(Keyword.keyword?(l))
    for l <- sample(shuffle(1..5)), do: assert(Enum.sort(l) == [1, 2, 3, 4, 5])
    assert_raise ArgumentError, fn -> sample("no generator") end
  end

  test "choices" do
    assert Enum.sort(Enum.uniq(sample(member_of([:a, :b])))) == [:a, :b]
    assert Enum.sort(Enum.uniq(sample(one_of([:a, {:b}])))) == [:a, {:b}]
    many = sample(frequency([{9, :a}, {1, :b}]), 1000)
    assert Enum.count(many, &(&1 == :a)) in 800..980
    assert Enum.uniq(sample(nullable(:x))) |> Enum.sort() == [nil, :x]
    assert_raise ArgumentError, fn -> member_of([]) end
  end

  test "filters try again, and give up" do
    for n <- sample(filter(integer(0..9), &(rem(&1, 2) == 0))), do: assert(rem(n, 2) == 0)
    error = assert_raise StreamData.FilterTooNarrowError, fn -> sample(filter(integer(0..9), &(&1 > 9))) end
    assert Exception.message(error) =~ "25 generated values"
    assert_raise StreamData.FilterTooNarrowError, fn -> sample(bind_filter(byte(), fn _ -> :skip end, 3)) end
    data = bind_filter(byte(), fn n -> if n > 100, do: {:cont, constant(n)}, else: :skip end)
    for n <- sample(data), do: assert(n > 100)
  end

  test "bind, map, scale and repeatedly" do
    for {n, l} <- sample(bind(integer(0..5), &{constant(&1), list_of(byte(), length: &1)})) do
      assert length(l) == n
    end

    for n <- sample(map(byte(), &(&1 + 1000))), do: assert(n in 1000..1255)
    assert Enum.uniq(sample(scale(sized(&constant/1), fn _ -> 7 end))) == [7]
    assert sample(repeatedly(&make_ref/0)) |> Enum.uniq() |> length() == 200
  end

  test "trees nest, and stay about as large as their size" do
    data = tree(integer(), &list_of/1)
    leaves = fn value -> value |> List.wrap() |> List.flatten() |> length() end

    depth = fn value, depth ->
      if is_list(value), do: 1 + Enum.max([0 | Enum.map(value, &depth.(&1, depth))]), else: 0
    end

    values = sample(resize(data, 100), 500)
    assert Enum.max(Enum.map(values, leaves)) in 10..100
    assert Enum.max(Enum.map(values, &depth.(&1, depth))) >= 3
    assert Enum.any?(values, &is_integer/1)
    assert Enum.any?(sample(tree(byte(), &{&1, &1})), &match?({{_, _}, _}, &1))
    assert length(sample(term())) == 200
  end

  test "integers shrink to the smallest that fails" do
    assert shrunk(integer(), &(&1 > 17)) == 18
    assert shrunk(integer(), &(&1 < -17)) == -18
    assert shrunk(integer(10..1000), fn _ -> true end) == 10
    assert shrunk(integer(-1000..-10), fn _ -> true end) == -10
    assert shrunk(integer(-1_000_000..1_000_000), &(&1 > 12_345)) == 12_346
    assert shrunk(boolean(), fn _ -> true end) == false
  end

  test "floats shrink to simple ones" do
    assert shrunk(float(), fn _ -> true end) == 0.0
    assert shrunk(float(), &(&1 > 3.0)) in [3.5, 4.0]
    assert shrunk(float(min: 0.25, max: 0.75), fn _ -> true end) <= 0.5
    assert shrunk(float(min: 5.5), fn _ -> true end) <= 6.5
  end

  test "lists shrink to what matters" do
    assert shrunk(list_of(integer()), &Enum.any?(&1, fn n -> n > 9 end)) == [10]
    assert shrunk(list_of(integer()), &(length(&1) > 3)) == [0, 0, 0, 0]
    assert shrunk(list_of(integer(), min_length: 2), fn _ -> true end) == [0, 0]
    commands = list_of(one_of([:noop, {:push, integer()}, :pop]))
    two_pops = fn commands -> Enum.count(commands, &(&1 == :pop)) >= 2 and {:push, 5} in commands end
    assert Enum.sort(shrunk(commands, two_pops, max_runs: 5000)) == [:pop, :pop, {:push, 5}]
  end

  test "what is unique, filtered or bound stays so while it shrinks" do
    assert Enum.sort(shrunk(uniq_list_of(integer(0..9)), &(length(&1) > 2))) == [0, 1, 2]
    assert shrunk(filter(integer(), &(rem(&1, 2) == 1)), &(&1 > 10)) == 11
    bound = bind(integer(0..20), &list_of(:x, length: &1))
    assert shrunk(bound, &(length(&1) > 4)) == [:x, :x, :x, :x, :x]
    assert shrunk(map_of(byte(), byte()), &(map_size(&1) > 0)) == %{0 => 0}
    assert shrunk(optional_map(a: byte(), b: byte()), fn _ -> true end) == %{}
    assert shrunk(string(:alphanumeric), &(&1 =~ "c")) == "c"
    assert shrunk(shuffle(1..6), fn _ -> true end) == [1, 2, 3, 4, 5, 6]
    assert shrunk(tree(integer(), &list_of/1), fn _ -> true end) == 0
  end

  test "unshrinkable values do not shrink, and steps are limited" do
    assert shrunk(unshrinkable(integer(5..9)), fn _ -> true end) in 5..9

    {:error, result} = check_all(constant(1), [initial_seed: {1, 1, 1}], fn 1 -> {:error, :no} end)

    assert result == %{original_failure: :no, shrunk_failure: :no, nodes_visited: 0, successful_runs: 0}
    limited = [initial_seed: {1, 2, 3}, initial_size: 50, max_shrinking_steps: 0]
    {:error, result} = check_all(integer(), limited, &if(&1 > 10, do: {:error, &1}, else: {:ok, nil}))
    assert result.shrunk_failure == result.original_failure
  end

  test "run time may be the limit" do
    slow = fn _ -> {:ok, Process.sleep(5)} end

    assert {:ok, _} =
             check_all(byte(), [initial_seed: {1, 1, 1}, max_runs: :infinity, max_run_time: 30], slow)

    assert_raise ArgumentError, fn ->
      check_all(byte(), [initial_seed: {1, 1, 1}, max_runs: :infinity], slow)
    end
  end
end
