defmodule Mote.Values.MapsTest do
  # Maps as behaviours see them: on a machine, in the reference, and against Elixir's own.
  use ExUnit.Case, async: true
  use ExUnitProperties

  defmodule Point do
    defstruct x: 0, y: 0
  end

  defmodule Maps do
    use Mote.Behaviour, errors: :undefined

    defactor eval() do
      {customer, {:literal, a, b}} -> send customer, {%{}, %{:k => 1, a => b, b => a}, %{a: %{b: [a]}}}
      {customer, {:pattern, m}} -> send customer, pattern(m)
      {customer, {:pinned, m, key}} -> send customer, pinned(m, key)
      {customer, {:guard, m, key}} -> send customer, guard(m, key)
      {customer, {:update, m, v}} -> send customer, %{m | a: v, b: [v]}
      {customer, {:field, m}} -> send customer, {m.a, m.b.c}
      {customer, {:read, m, k}} -> send customer, read(m, k)
      {customer, {:count, m}} -> send customer, count(m)
      {customer, {:change, m, k, v}} -> send customer, change(m, k, v)
      {customer, {:loop, m}} -> send customer, loop(m)
      {customer, {:new, pairs}} -> send customer, Map.new(pairs)
      {customer, {:squares, n}} -> send customer, Map.new(1..n, fn i -> {i, i * i} end)
      {customer, {:compare, a, b}} -> send customer, {a == b, a === b, a < b, a <= b, max(a, b)}
      {customer, {:struct, x}} -> send customer, {%Point{x: x}, point(%Point{y: x}), point(%{y: x})}
    end

    defactor state(m) do
      {:put, k, v} -> become state(Map.put(m, k, v))
      {:delete, k} -> become state(Map.delete(m, k))
      {customer, :get} -> send customer, m
      {customer, {:get, k}} -> send customer, Map.get(m, k)
    end

    defpure pattern(%{a: a, b: %{c: [c | _]}}), do: {:deep, a, c}
    defpure pattern(%{a: a}), do: {:a, a}
    defpure pattern(%{1 => one, 1.0 => float}), do: {:numbers, one, float}
    defpure pattern(%{} = m), do: {:map, map_size(m)}
    defpure pattern(other), do: {:other, other}

    defpure pinned(m, key) do
      case m do
        %{^key => value} -> {:found, value}
        %{} -> :missing
        _ -> :no_map
      end
    end

    defpure guard(m, key) when is_map_key(m, key) and map_size(m) > 1, do: {:has, m}
    defpure guard(m, _) when is_map(m), do: :map
    defpure guard(m, _) when m == %{}, do: :never
    defpure guard(_, _), do: :other

    defpure read(m, k) do
      {Map.get(m, k), Map.get(m, k, :default), Map.fetch(m, k), Map.fetch!(m, k), Map.has_key?(m, k),
       map_size(m), Map.keys(m), Map.values(m), Map.to_list(m)}
    end

    defpure count(m), do: Enum.count(m)

    defpure change(m, k, v) do
      {Map.put(m, k, v), Map.put_new(m, k, v), Map.delete(m, k), Map.merge(m, %{k => v}),
       Map.merge(%{k => v}, m), Map.update(m, k, v, fn old -> [old | v] end),
       Map.update!(m, k, fn old -> {old, v} end)}
    end

    defpure loop(m) do
      pairs = for {k, v} <- m, do: {v, k}

      {pairs, Enum.reduce(m, 0, fn {_, v}, sum -> sum + v end), Enum.filter(m, fn {_, v} -> v > 1 end),
       Enum.map(m, &elem(&1, 0))}
    end

    defpure point(%Point{x: x, y: y}), do: {x, y}
    defpure point(_), do: :no_point
  end

  setup_all do
    machine = start_supervised!(Mote)
    %{machine: machine, eval: Mote.create(machine, Maps.eval())}
  end

  # What the machine says, and its code where that is read in Elixir, which must be the same.
  defp eval(%{eval: eval}, request) do
    turn = Mote.Interpret.turn(Maps.eval(), {self(), request})
    answer = Mote.ask!(eval, request, 30_000)
    assert [{_, ^answer}] = turn.sends
    answer
  end

  test "literals, also with keys that come twice", context do
    assert eval(context, {:literal, 1, 2}) === {%{}, %{:k => 1, 1 => 2, 2 => 1}, %{a: %{b: [1]}}}
    assert eval(context, {:literal, :k, 2}) === {%{}, %{:k => 2, 2 => :k}, %{a: %{b: [:k]}}}

    assert eval(context, {:literal, %{x: 1}, %{x: 1}}) ===
             {%{}, %{:k => 1, %{x: 1} => %{x: 1}}, %{a: %{b: [%{x: 1}]}}}
  end

  # Until OTP 27 they are the same key; which of the two a map has is seen by its bits.
  @tag skip: :erlang.binary_to_term(<<131, 70, 0::64>>) !== :erlang.binary_to_term(<<131, 70, 128, 0::56>>)
  test "of two zeros the first one stays the key, but in a map of pairs and in a merge", context do
    bits = fn map -> for {zero, value} <- map, do: {<<zero::float>>, value} end
    [plus, minus] = zeros = [<<0::64>>, <<1::1, 0::63>>]
    [positive, negative] = for <<zero::float <- Enum.join(zeros)>>, do: zero

    for {a, b, first, last} <- [{positive, negative, plus, minus}, {negative, positive, minus, plus}] do
      assert {_, literal, _} = eval(context, {:literal, a, b})
      assert [{^first, _}] = bits.(Map.delete(literal, :k))
      assert bits.(eval(context, {:new, [{a, 1}, {b, 2}]})) == [{last, 2}]
      {put, new, none, over, under, _, _} = eval(context, {:change, %{a => 1}, b, 2})

      assert Enum.map([put, new, none, over, under], bits) == [
               [{first, 2}],
               [{first, 1}],
               [],
               [{last, 2}],
               [{first, 1}]
             ]
    end

    # Where one of them is much smaller, its entries are put into the other one.
    many = Map.new(1..30, &{&1, &1})

    for {a, b} <- [{positive, negative}, {negative, positive}] do
      {_, _, _, over, under, _, _} = eval(context, {:change, Map.put(many, a, 1), b, 2})
      zero = fn map -> for {zero, _} <- map, zero == 0, do: <<zero::float>> end
      assert {zero.(over), zero.(under)} == {[<<b::float>>], [<<a::float>>]}
    end
  end

  test "patterns", context do
    assert eval(context, {:pattern, %{a: 1, b: %{c: [2, 3], d: 4}}}) == {:deep, 1, 2}
    assert eval(context, {:pattern, %{a: 1, b: %{c: []}}}) == {:a, 1}
    assert eval(context, {:pattern, %{1 => :i, 1.0 => :f}}) == {:numbers, :i, :f}
    assert eval(context, {:pattern, %{1 => :i}}) == {:map, 1}
    assert eval(context, {:pattern, %{}}) == {:map, 0}
    assert eval(context, {:pattern, [a: 1]}) == {:other, [a: 1]}
    assert eval(context, {:pinned, %{1 => nil}, 1}) == {:found, nil}
    assert eval(context, {:pinned, %{1 => nil}, 1.0}) == :missing
    assert eval(context, {:pinned, %{%{[1] => 2} => 3}, %{[1] => 2}}) == {:found, 3}
    assert eval(context, {:pinned, :a, 1.0}) == :no_map
  end

  test "an address is no map", context do
    assert Mote.ask!(context.eval, {:pattern, context.eval}) == {:other, context.eval}

    assert Mote.ask!(context.eval, {:read, context.eval, :machine}) ==
             List.to_tuple(List.duplicate(:undefined, 9))
  end

  test "guards", context do
    assert eval(context, {:guard, %{1 => 2, 3 => 4}, 3}) == {:has, %{1 => 2, 3 => 4}}
    assert eval(context, {:guard, %{1 => 2}, 1}) == :map
    assert eval(context, {:guard, %{1 => 2, 3 => 4}, 2}) == :map
    assert eval(context, {:guard, [1, 2], 1}) == :other
  end

  test "an update needs its keys", context do
    assert eval(context, {:update, %{a: 1, b: 2, c: 3}, 4}) == %{a: 4, b: [4], c: 3}
    assert eval(context, {:update, %{a: 1}, 4}) == :undefined
    assert eval(context, {:update, 7, 4}) == :undefined
    assert eval(context, {:field, %{a: 1, b: %{c: 2}}}) == {1, 2}
    assert eval(context, {:field, %{a: 1}}) == {1, :undefined}
  end

  # It is written in the language, and such a function aborts the turn where it fails, whatever its caller has chosen.
  test "to count what is no map", %{eval: eval} do
    for odd <- [1, {}, "map", :a, eval],
        do: assert({:error, %Mote.Error{reason: :aborted}} = Mote.ask(eval, {:count, odd}))
  end

  test "functions of what is no map, or has no such key", context do
    undefined = List.duplicate(:undefined, 9) |> List.to_tuple()
    for odd <- [1, nil, {}, "map", :a], do: assert(eval(context, {:read, odd, 1}) == undefined)

    assert {nil, :default, :error, :undefined, false, 1, [2], [3], [{2, 3}]} =
             eval(context, {:read, %{2 => 3}, 1})

    assert {nil, nil, {:ok, nil}, nil, true, 1, [1], [nil], [{1, nil}]} =
             eval(context, {:read, %{1 => nil}, 1})

    assert eval(context, {:change, 1, 2, 3}) == List.duplicate(:undefined, 7) |> List.to_tuple()
    assert {_, _, _, _, _, %{}, :undefined} = eval(context, {:change, %{}, 2, 3})
    assert eval(context, {:new, [{1, 2}, {3, 4}, {1, 5}]}) == %{1 => 5, 3 => 4}

    for odd <- [[{1, 2, 3}], [1], [{1, 2} | 3], 1, {1, 2}],
        do: assert(eval(context, {:new, odd}) == :undefined)
  end

  test "loops run in the order of the keys", context do
    m = %{"z" => 1, :b => 2, :a => 3, 2 => 4, 1.5 => 5, {1} => 6}
    keys = [2, 1.5, :a, :b, {1}, "z"]
    assert {pairs, 21, filtered, ^keys} = eval(context, {:loop, m})
    assert pairs == for(k <- keys, do: {m[k], k})
    assert filtered == for(k <- keys, m[k] > 1, do: {k, m[k]})
    many = Map.new(1..1000, &{(&1 * 7919) |> rem(1000), &1})
    assert {_, 500_500, _, keys} = eval(context, {:loop, many})
    assert keys == Enum.sort(Map.keys(many))
  end

  test "comparisons are Elixir's", context do
    maps =
      [
        %{},
        %{a: 1},
        %{a: 1.0},
        %{a: 2},
        %{b: 0},
        %{1 => 0},
        %{1.0 => 0},
        %{0.5 => 0},
        %{a: %{a: 1}},
        %{a: %{a: 1.0}}
      ] ++
        [Map.new(1..50, &{&1, &1}), Map.new(1..50, &{&1, &1 * 1.0}), Map.new(0..49, &{&1, &1}), [], {}, :a]

    for a <- maps, b <- maps do
      assert eval(context, {:compare, a, b}) === {a == b, a === b, a < b, a <= b, max(a, b)}
    end
  end

  test "structs are maps", context do
    assert eval(context, {:struct, 5}) == {%Point{x: 5}, {0, 5}, :no_point}
    assert eval(context, {:update, %{__struct__: Point, a: 1, b: 2}, 3}) == %{__struct__: Point, a: 3, b: [3]}
  end

  test "maps that are part of keys are in the order of terms", context do
    # From OTP 26 on, the BEAM itself orders them by the numbers of their atoms.
    [first, second] = [[%{b: 0, A: 0}], [%{:a => 0, "" => 0}]]
    assert first < second
    assert elem(eval(context, {:read, %{first => 1, second => 2}, 0}), 6) == [first, second]
    assert elem(eval(context, {:read, %{{first} => 1, {second} => 2}, 0}), 6) == [{first}, {second}]
  end

  property "reading and changing is Elixir's", context do
    leaf = one_of([integer(), float(), binary(), bitstring(), atom(:alphanumeric)])
    term = tree(leaf, fn inner -> one_of([list_of(inner), tuple({inner, inner}), map_of(inner, inner)]) end)
    key = one_of([integer(0..20), member_of([:a, :b, "k", 1.0, [1], %{}]), term])

    check all map <- map_of(key, term, max_length: 50), key <- key, value <- term, max_runs: 50 do
      {put, new, delete, over, under, updated, _} = eval(context, {:change, map, key, value})
      assert put === Map.put(map, key, value)
      assert new === Map.put_new(map, key, value)
      assert delete === Map.delete(map, key)
      assert over === Map.merge(map, %{key => value})
      assert under === Map.merge(%{key => value}, map)
      assert updated === Map.update(map, key, value, &[&1 | value])
      {got, or_default, fetched, _, has, size, keys, values, pairs} = eval(context, {:read, map, key})
      assert eval(context, {:count, map}) == size
      assert {got, or_default} === {Map.get(map, key), Map.get(map, key, :default)}
      assert {fetched, has, size} === {Map.fetch(map, key), Map.has_key?(map, key), map_size(map)}
      assert Enum.zip(keys, values) === pairs
      assert Map.new(pairs) === map
    end
  end

  property "a map that changes turn by turn", context do
    step = one_of([{:put, integer(0..300), integer()}, {:delete, integer(0..300)}])

    check all steps <- list_of(step, max_length: 1000), max_runs: 20 do
      state = Mote.create(context.machine, Maps.state(%{}))
      Enum.each(steps, &Mote.send(state, &1))

      expected =
        Enum.reduce(steps, %{}, fn
          {:put, k, v}, m -> Map.put(m, k, v)
          {:delete, k}, m -> Map.delete(m, k)
        end)

      assert Mote.ask!(state, :get) === expected
      for k <- 0..300//37, do: assert(Mote.ask!(state, {:get, k}) === expected[k])
    end
  end

  test "a million keys", context do
    map = Map.new(1..1_000_000, &{&1, -&1})
    state = Mote.create(context.machine, Maps.state(map))
    assert Mote.ask!(state, {:get, 777_777}, 30_000) == -777_777
    Mote.send(state, {:put, 777_777, :new})
    Mote.send(state, {:delete, 1})
    assert Mote.ask!(state, {:get, 777_777}) == :new
    assert Mote.ask!(state, :get, 30_000) == map |> Map.put(777_777, :new) |> Map.delete(1)
  end

  test "a cycle through maps is collected" do
    machine = start_supervised!({Mote, id: :collected})

    task =
      Task.async(fn ->
        [one, two] = for _ <- 1..2, do: Mote.create(machine, Maps.state(Map.new(1..100, &{&1, &1})))
        Mote.send(one, {:put, :other, two})
        Mote.send(two, {:put, one, %{deep: [one]}})
        assert Mote.ask!(one, {:get, :other}) == two
        assert Mote.ask!(two, {:get, one}) == %{deep: [one]}
        Mote.gc(machine)
        assert Mote.info(machine).gc.live_actors == 2
        assert Mote.ask!(one, {:get, 77}) == 77
      end)

    Task.await(task, 60_000)
    collected = fn -> Mote.gc(machine) && Mote.info(machine).gc.live_actors == 0 end
    assert Enum.any?(1..100, fn _ -> collected.() or Process.sleep(20) != :ok end)
  end
end
