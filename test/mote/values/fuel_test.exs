defmodule Mote.Values.FuelTest do
  # A turn pays for what its primitives walk over, or one call could hold a thread for long.
  use ExUnit.Case, async: true
  use ExUnitProperties

  alias Mote.Generators

  defmodule Walks do
    use Mote.Behaviour, errors: :undefined

    defactor walk() do
      {customer, {work, n, x}} -> send customer, {:done, repeat(work, n, x)}
    end

    defactor teller() do
      {customer, {n, to, x}} ->
        for _ <- 1..n, do: send(to, x)
        send customer, {:done, n}
    end

    defpure repeat(_, 0, _), do: :ok

    defpure repeat(work, n, x) do
      _ = once(work, x)
      repeat(work, n - 1, x)
    end

    defpure once(:keys, x), do: length(Map.keys(x))
    defpure once(:merge, x), do: map_size(Map.merge(x, x))
    defpure once(:new, x), do: map_size(Map.new(x))
    defpure once(:join, x), do: byte_size(x <> x)
    defpure once(:sort, x), do: Mote.Vector.size(Mote.Vector.sort(x))
    defpure once(:dot, x), do: Mote.Vector.dot(x, x)
    defpure once(:get, x), do: Map.get(x, 1)
    defpure once(:slice, x), do: binary_part(x, 1, byte_size(x) - 1)
  end

  defmodule Priced do
    use Mote.Behaviour, errors: :undefined

    defactor price() do
      {:tell, to, x} ->
        send to, x
        send to, {x, x}

      {work, a, b} ->
        once(work, a, b)
    end

    defpure once(:length, a, _), do: length(a)
    defpure once(:guard, a, _) when length(a) > 3, do: 1
    defpure once(:guard, a, _) when length(a) > 2, do: 2
    defpure once(:guard, _, _), do: 3
    defpure once(:append, a, b), do: a ++ b
    defpure once(:reverse, a, _), do: Enum.reverse(a)
    defpure once(:member, a, b), do: b in a
    defpure once(:subtract, a, b), do: a -- b
    defpure once(:sort_list, a, _), do: :lists.sort(a)
    defpure once(:sort_pairs, a, b), do: :lists.keysort(2, for(x <- a, do: {b, x}))
    defpure once(:keysort, a, _), do: :lists.keysort(1, a)
    defpure once(:to_tuple, a, _), do: List.to_tuple(a)
    defpure once(:from_tuple, a, _), do: Tuple.to_list(List.to_tuple(a))
    defpure once(:unused, a, _), do: unused(a)
    defpure once(:new, a, _), do: Map.new(a)
    defpure once(:keys, a, _), do: Map.keys(a)
    defpure once(:values, a, _), do: Map.values(a)
    defpure once(:pairs, a, _), do: Enum.to_list(a)
    defpure once(:merge, a, b), do: Map.merge(a, b)
    defpure once(:map_of, a, b), do: %{1 => a, b => 2}
    defpure once(:get, a, b), do: Map.get(a, b)
    defpure once(:has, a, b), do: Map.has_key?(a, b)
    defpure once(:put, a, b), do: Map.put(a, b, 1)
    defpure once(:delete, a, b), do: Map.delete(a, b)
    defpure once(:fetch, a, b), do: fetched(a, b)
    defpure once(:put_elem, a, b), do: put_elem(List.to_tuple(a), 0, b)
    defpure once(:put_elems, a, b), do: List.to_tuple([a, b | a]) |> put_elem(0, b) |> put_elem(1, a)
    defpure once(:join, a, b), do: a <> b
    defpure once(:bits, a, b), do: <<1::3, a::binary, b::binary, 0::5>>
    defpure once(:join_odd, a, b), do: <<a::binary, b::binary, 0xD800::utf8>>
    defpure once(:find, a, b), do: Mote.Total.binary_find(a, b, 1)
    defpure once(:plain, a, _), do: Mote.Total.text_run(a, :plain, 1_000_000)
    defpure once(:backwards, a, _), do: Mote.Total.text_changed(a, :reverse)
    defpure once(:byte_list, a, _), do: Mote.Total.binary_list(a, :bytes)
    defpure once(:of_bytes, a, b), do: Mote.Total.binary_join([a, 0, b], :bytes)
    defpure once(:of_text, a, b), do: Mote.Total.binary_join([a, 0, b], :utf8)
    defpure once(:parts, a, b), do: Mote.Total.binary_split(a, b)
    defpure once(:words, a, _), do: Mote.Total.binary_split(a, nil)
    defpure once(:join_all, a, b), do: Mote.Total.binary_join([b, a, a], b)
    defpure once(:join_list, a, b), do: Mote.Total.binary_join(a, b)
    defpure once(:eq, a, b), do: a == b
    defpure once(:ne, a, b), do: a != b
    defpure once(:same, a, b), do: a === b
    defpure once(:lt, a, b), do: a < b
    defpure once(:ge, a, b), do: a >= b
    defpure once(:max, a, b), do: max(a, b)
    defpure once(:pin, a, b), do: pinned(a, {b, 1})
    defpure once(:twice, a, b), do: twice({a, b})
    defpure once(:self, a, _), do: a == a
    defpure once(:vector, a, _), do: Mote.Vector.new(:i64, a)
    defpure once(:bytes, a, _), do: Mote.Vector.from_binary({:u, 8}, a)
    defpure once(:to_list, a, _), do: Mote.Vector.to_list(a)
    defpure once(:concat, a, b), do: Mote.Vector.concat(a, b)
    defpure once(:dot, a, b), do: Mote.Vector.dot(a, b)
    defpure once(:sum, a, _), do: Mote.Vector.sum(a)
    defpure once(:sort, a, _), do: Mote.Vector.sort(a)
    defpure once(:add, a, b), do: Mote.Vector.add(a, b)

    defpure fetched(a, b) do
      case a do
        %{^b => value} -> value
        _ -> :none
      end
    end

    defpure unused(a) do
      length(a)
      Enum.reverse(a)
      length(a)
    end

    defpure pinned(a, b) do
      case b do
        {^a, 1} -> true
        _ -> false
      end
    end

    defpure twice({a, a}), do: true
    defpure twice(_), do: false
  end

  @lists [
    :length,
    :guard,
    :append,
    :reverse,
    :member,
    :subtract,
    :sort_list,
    :sort_pairs,
    :keysort,
    :to_tuple,
    :from_tuple,
    :unused,
    :new,
    :put_elem,
    :put_elems,
    :vector
  ]
  @maps [:keys, :values, :pairs, :merge, :map_of]
  @keyed [:get, :has, :put, :delete, :map_of]
  @comparisons [:eq, :ne, :same, :lt, :ge, :max, :pin, :twice, :self]
  @vectors [:to_list, :concat, :dot, :sum, :sort, :add]

  property "both tiers charge the same for what primitives walk over" do
    machines =
      for tier <- [:interp, :native] do
        machine = start_supervised!({Mote, tier: tier, id: tier})
        {:ok, _} = Generators.load(machine, Priced)
        Mote.pause(machine)
        {machine, Mote.create(machine, Priced.price())}
      end

    check all({works, pairs} <- works(), work <- member_of(works), pair <- pairs) do
      # What both have in common is nowhere the same in memory.
      {a, b} = pair |> :erlang.term_to_binary() |> :erlang.binary_to_term()

      [interpreted, native] =
        for {machine, price} <- machines do
          Mote.send(price, {work, a, b})
          {:ok, turn} = Mote.step(machine)
          turn.fuel
        end

      assert {work, native} == {work, interpreted}
    end
  end

  # Large ones are hardly ever among what is generated.
  test "both tiers charge a second put_elem as the first, however large the tuple" do
    [interpreted, native] =
      for tier <- [:interp, :native] do
        machine = start_supervised!({Mote, tier: tier, id: tier})
        {:ok, _} = Generators.load(machine, Priced)
        Mote.pause(machine)
        price = Mote.create(machine, Priced.price())

        for n <- [0, 62, 63, 300] do
          list = Enum.to_list(1..n//1)
          Mote.send(price, {:put_elems, list, 1})
          {:ok, turn} = Mote.step(machine)
          {n, turn.fuel}
        end
      end

    assert native == interpreted
  end

  defp works do
    long = list_of(one_of([integer(-5..5), {integer(0..3), integer(0..1)}, quarters()]), max_length: 400)

    maps = map_of(one_of([integer(), quarters(), {integer(), integer()}]), integer(), max_length: 150)

    bytes = bytes()

    some =
      one_of([
        long,
        bind(long, &constant({&1, List.to_tuple(&1)})),
        maps,
        bytes,
        resize(
          one_of([other(), tuple({other(), other()}), list_of(other()), map_of(integer(), other())]),
          20
        ),
        list_of(bytes, max_length: 3)
      ])

    printable = map(bytes, fn bytes -> for <<byte <- bytes>>, into: <<>>, do: <<rem(byte, 95) + ?\s>> end)

    vectors =
      map({member_of([:f64, :i64]), list_of(integer(), max_length: 2_000)}, fn {t, l} ->
        Mote.Vector.new(t, l)
      end)

    one_of([
      constant({@lists, pairs(long)}),
      constant({[:new], pairs(list_of({integer(), integer()}, max_length: 200))}),
      constant({@lists, pairs(map({long, other()}, fn {list, last} -> improper(list, last) end))}),
      constant({@maps, pairs(maps)}),
      constant(
        {[:merge], {map_of(some, integer(), max_length: 60), map_of(some, integer(), max_length: 60)}}
      ),
      constant({@keyed, keyed(some, some)}),
      # A pattern that does not fit is paid for by machines only.
      constant({[:fetch], keyed(some)}),
      constant(
        {[
           :join,
           :bits,
           :join_odd,
           :bytes,
           :join_all,
           :plain,
           :backwards,
           :byte_list,
           :parts,
           :words,
           :of_bytes,
           :of_text
         ], pairs(one_of([bytes, printable]))}
      ),
      constant({[:find], {bytes, one_of([member_of(["a", <<0, 1>>, <<0>>]), binary(max_length: 2), bytes])}}),
      constant({[:join_list], {map({list_of(bytes, max_length: 90), other()}, &maybe_improper/1), bytes}}),
      constant({@comparisons, pairs(some)}),
      constant({[:member, :subtract], pairs(list_of(some, max_length: 5))}),
      constant({[:pairs, :member], {ranges(), far()}}),
      constant({[:tell], {constant(self()), scale(some, &(&1 * 10))}}),
      constant({@vectors, pairs(vectors)})
    ])
  end

  # Any, of any length: made of two numbers, since thousands of generators for each were most of the time that this took.
  defp bytes do
    map({integer(0..9_000), integer(0..0xFFFFFFFF)}, fn {size, seed} ->
      {bytes, _} = :rand.bytes_s(size, :rand.seed_s(:exsss, seed))
      bytes
    end)
  end

  # Of few integers, near and far.
  defp ranges do
    map({far(), far(), integer(-3..400)}, fn {first, step, steps} ->
      step = if step == 0, do: 1, else: step
      first..(first + step * steps)//step
    end)
  end

  defp far do
    map({integer(-5..5), member_of([1, 2 ** 62, 2 ** 100, 2 ** 127, 2 ** 700, 3 ** 2_000])}, fn {n, far} ->
      n * far
    end)
  end

  # A map, and a key that it has; or another one.
  defp keyed(keys, others \\ nil) do
    bind(map_of(keys, integer(), min_length: 1, max_length: 20), fn map ->
      {constant(map), one_of([member_of(Map.keys(map)) | List.wrap(others)])}
    end)
  end

  defp maybe_improper({list, last}) when is_tuple(last), do: improper(list, last)
  defp maybe_improper({list, last}) when is_boolean(last), do: list ++ [last]
  defp maybe_improper({list, _}), do: list

  defp improper([], last), do: last
  defp improper([head | tail], last), do: [head | improper(tail, last)]

  # Of one size, whatever the run's.
  defp quarters, do: map(integer(-40..40), &(&1 / 4))
  defp other, do: one_of([integer(), quarters(), boolean(), {boolean(), integer()}, {integer()}])

  # Two that are equal, nearly, or not at all. The generators grow with the run.
  defp pairs(one) do
    one = scale(one, &(&1 * 10))

    one_of([
      map(one, &{&1, &1}),
      map(one, &{&1, nearly(&1)}),
      {one, one},
      map({one, other()}, fn {a, b} -> {[b, a], a} end)
    ])
  end

  defp nearly([head | tail]), do: [head | nearly(tail)]
  defp nearly([]), do: [1]
  defp nearly(number) when is_number(number), do: number + 1

  defp nearly(map) when is_map(map) and not is_struct(map),
    do: Map.new(map, fn {key, value} -> {key, {value}} end)

  defp nearly(binary) when is_binary(binary), do: binary <> "x"
  defp nearly({a, b}), do: {a, nearly(b)}
  defp nearly(other), do: other

  test "what is sent out many times is paid for as often" do
    Process.flag(:message_queue_data, :off_heap)
    list = Enum.to_list(1..10_000)

    for tier <- [:interp, :native] do
      machine = start_supervised!({Mote, tier: tier, id: make_ref()})
      {:ok, _} = Generators.load(machine, Walks)
      teller = Mote.create(machine, Walks.teller())
      # A hundred times for nothing else; then more than the fuel of a turn is enough for.
      assert {:done, 100} = Mote.ask!(teller, {100, self(), list})
      for _ <- 1..100, do: assert_receive(^list)
      assert {:error, %Mote.Error{reason: :aborted} = error} = Mote.ask(teller, {5_000, self(), list})
      assert error.context.reason == :fuel
      refute_received ^list
    end
  end

  defmodule Shared do
    use Mote.Behaviour, errors: :undefined

    defactor compare() do
      {customer, {how, n}} -> send customer, how(how, dag(n, 1), dag(n, 1))
    end

    # Written out it has 2^n leaves.
    defpure dag(0, below), do: below
    defpure dag(n, below), do: dag(n - 1, {below, below})

    defpure how(:eq, a, b), do: a == b
    defpure how(:same, a, b), do: a === b
    defpure how(:lt, a, b), do: a < b
    defpure how(:ge, a, b), do: a >= b
    defpure how(:max, a, b), do: max(a, b) == a
    defpure how(:member, a, b), do: b in [a]
    defpure how(:one, a, _), do: a == a
  end

  test "what is shared is not written out to compare it, and never for nothing" do
    rich = start_supervised!({Mote, id: :rich})
    little = [fuel: 100_000]
    poor = start_supervised!({Mote, [id: :poor] ++ little})
    [rich_one, poor_one] = for machine <- [rich, poor], do: Mote.create(machine, Shared.compare())

    for {how, answer} <- [eq: true, same: true, lt: false, ge: true, max: true, member: true] do
      assert {how, Mote.ask!(rich_one, {how, 60})} == {how, answer}
      before = Mote.info(poor).counters.aborts_fuel
      Mote.send(poor_one, {self(), {how, 60}})
      Mote.drain(poor)
      assert {how, Mote.info(poor).counters.aborts_fuel} == {how, before + 1}
    end

    assert Mote.ask!(poor_one, {:one, 60}) == true
    refute_received _
  end

  defmodule Steps do
    use Mote.Behaviour

    defactor steps(taken) do
      {customer, :taken} -> send customer, taken
      n -> become steps(taken + walked(n))
    end

    defpure walked(0), do: 0
    defpure walked(n), do: 1 + walked(n - 1)
  end

  test "each turn has all of its fuel, whatever those before it have spent" do
    for tier <- [:interp, :native] do
      machine = start_supervised!({Mote, tier: tier, fuel: 250, id: make_ref()})
      {:ok, _} = Generators.load(machine, Steps)
      steps = Mote.create(machine, Steps.steps(0))
      for _ <- 1..100, n <- [10, 100, 200], do: Mote.send(steps, n)
      assert {tier, Mote.ask!(steps, :taken)} == {tier, 31_000}
    end
  end

  test "large maps, binaries and vectors cost more than one call" do
    machine = start_supervised!({Mote, fuel: 50_000})
    walk = Mote.create(machine, Walks.walk())
    map = Map.new(1..20_000, &{&1, &1})
    binary = :binary.copy("x", 500_000)
    [short, long] = for n <- [10_000, 100_000], do: Mote.Vector.new(:f64, Enum.to_list(1..n))

    for {work, x} <- [keys: map, merge: map, new: Map.to_list(map), join: binary, sort: short, dot: long] do
      before = Mote.info(machine).counters.aborts_fuel
      Mote.send(walk, {self(), {work, 200, x}})
      assert {:done, :ok} = Mote.ask!(walk, {work, 1, x})
      refute_received {:done, _}
      assert {work, Mote.info(machine).counters.aborts_fuel} == {work, before + 1}
    end

    # What walks over nothing costs what a call costs.
    for {work, x} <- [get: map, slice: binary], do: assert({:done, :ok} = Mote.ask!(walk, {work, 5_000, x}))
  end
end
