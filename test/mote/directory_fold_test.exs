defmodule Mote.DirectoryFoldTest do
  use ExUnit.Case, async: true
  use ExUnitProperties

  alias Mote.{AnyTerm, Directory, Error, Native}

  defmodule Carts do
    use Mote.Behaviour

    defactor cart(items, n) do
      {:put, item} -> become cart([item | items], n + 1)
      {:fill, n} -> become cart(Enum.to_list(1..n), n)
      :end -> become sink()
    end

    defdirectory carts() do
      _key -> cart([], 0)
    end
  end

  # A machine whose order is seeded is never stood in for: its thread shows everything itself.
  for {how, options} <- [threads: [], the_thread_itself: [schedule: {:seeded, 1}]] do
    describe "by #{how}" do
      setup do
        machine = start_supervised!({Mote, unquote(options)})
        %{machine: machine, carts: Directory.start(machine, Carts.carts(), shards: 4)}
      end

      test "shows each key once, with the state of its actor", %{carts: carts} do
        assert states(carts) == []
        # Several parts of each shard, and keys whose neighbours are large.
        keys =
          Enum.to_list(1..3_000) ++
            [self(), String.duplicate("k", 5_000), Enum.to_list(1..6_000), "b", :c, {1.5, %{}}]

        for key <- keys, do: Directory.send(carts, key, {:put, :it})
        Mote.drain(carts.shards |> elem(0) |> machine())
        assert_same(states(carts), for(key <- keys, do: {key, {:cart, [:it], 1}}))
      end

      test "looks at one by one what is not shown with the others", %{machine: machine, carts: carts} do
        for n <- [100, 255, 256, 257, 1_500], do: Directory.send(carts, n, {:fill, n})
        Directory.send(carts, :gone, :end)
        Directory.put(carts, :other, Mote.create(machine, Carts.cart([], :of_another)))
        Mote.drain(machine)

        assert_same(
          states(carts),
          [{:gone, {:sink}}, {:other, {:cart, [], :of_another}}] ++
            for(n <- [100, 255, 256, 257, 1_500], do: {n, {:cart, Enum.to_list(1..n), n}})
        )
      end

      test "a key that is there all the time comes once, whatever comes and goes", %{
        machine: machine,
        carts: carts
      } do
        for key <- 1..4_000, do: Directory.send(carts, key, {:put, :it})
        Mote.drain(machine)

        # At each even key an odd one goes, which may be the one that comes next, and a new one comes.
        seen =
          Directory.fold(carts, [], fn
            key, _state, seen when is_integer(key) and rem(key, 2) == 0 ->
              Directory.delete(carts, key + 1)
              Directory.send(carts, key + 0.5, {:put, :it})
              [key | seen]

            _key, _state, seen ->
              seen
          end)

        assert Enum.sort(seen) == Enum.to_list(2..4_000//2)
      end
    end
  end

  property "shows what was put, whatever the keys are" do
    machine = start_supervised!(Mote)

    check all(keys <- uniq_list_of(AnyTerm.term([:a]), max_length: 300), max_runs: 12) do
      carts = Directory.start(machine, Carts.carts(), shards: 1)
      for key <- keys, do: Directory.send(carts, key, {:put, 1})
      Mote.drain(machine)
      shown = for {key, {:cart, [1], 1}} <- states(carts), do: key
      assert_same(shown, for({key, _} <- Directory.stream(carts), do: key))
    end
  end

  test "sees actors of other threads" do
    machine = start_supervised!({Mote, sponsors: [main: [threads: 2], other: []]})
    carts = Directory.start(machine, Carts.carts(), shards: 2)

    for key <- 1..100 do
      sponsor = Enum.at([:main, :other], rem(key, 2))
      :ok = Directory.put(carts, key, Mote.create(machine, Carts.cart([], 0), sponsor: sponsor))
      Directory.send(carts, key, {:put, key})
    end

    Mote.drain(machine)
    assert_same(states(carts), for(key <- 1..100, do: {key, {:cart, [key], 1}}))
  end

  test "selects" do
    machine = start_supervised!(Mote)
    start_supervised!({Directory, name: __MODULE__.Carts, machine: machine, start: Carts.carts()})
    for key <- 1..10, do: Directory.send(__MODULE__.Carts, key, {:fill, key})
    Mote.drain(machine)
    found = Directory.select(__MODULE__.Carts, fn key, {:cart, _items, key} -> key > 8 end)
    assert_same(found, for(n <- [9, 10], do: {n, {:cart, Enum.to_list(1..n), n}}))
  end

  test "says why it cannot go on" do
    machine = start_supervised!(Mote)
    carts = Directory.start(machine, Carts.carts())
    assert_raise ArgumentError, ~r/timout/, fn -> Directory.fold(carts, 0, fn _, _, n -> n end, timout: 1) end

    assert_raise Error, ~r/unknown_directory|no directory/, fn ->
      Directory.select(:nowhere, fn _, _ -> true end)
    end

    :ok = Mote.stop(machine)
    error = assert_raise Error, fn -> Directory.fold(carts, 0, fn _, _, n -> n end) end
    assert error.reason == :machine_down
  end

  test "a part begins behind a key that is not there, and not in a map of another machine" do
    machine = start_supervised!(Mote)
    carts = Directory.start(machine, Carts.carts(), shards: 1)
    for key <- 1..100, do: Directory.send(carts, key * 2, {:put, 1})
    Mote.drain(machine)
    {:ok, stranger} = Mote.start_link()
    shard = elem(carts.shards, 0)
    ask = fn after_key -> Native.peek_entries(shard.machine, shard.key, [after_key]) end

    for {key, first} <- [{0, 2}, {1, 2}, {2, 4}, {99, 100}, {198, 200}, {-3, 2}],
        do: assert({[{^first, {:cart, [1], 1}} | _], false} = eventually_seen(ask, key))

    assert eventually_seen(ask, 200) == {[], false}
    # As in Elixir's maps, floats come after all integers.
    assert eventually_seen(ask, -1.5) == {[], false}
    assert match?({[], false}, eventually_seen(ask, Mote.create(stranger, Carts.cart([], 0))))
  end

  defp eventually_seen(ask, key) do
    with :busy <- ask.(key) do
      Process.sleep(1)
      eventually_seen(ask, key)
    end
  end

  defp states(carts), do: Directory.fold(carts, [], &[{&1, &2} | &3])

  # The same pairs, each as often, in whatever order.
  defp assert_same(left, right), do: assert({left -- right, right -- left} == {[], []})

  defp machine(address), do: Native.machine_owner(address.machine)
end
