defmodule Mote.FoldTest do
  # The states of all actors of a machine: each that is alive all the time is seen once, whatever happens meanwhile.
  use ExUnit.Case, async: true
  use ExUnitProperties
  import Mote.Eventually

  alias Mote.{Directory, Error, Native}
  alias Mote.FoldTest.Behaviours

  @moduletag capture_log: true

  defmodule Behaviours do
    use Mote.Behaviour

    defactor cart(items, n) do
      {:put, item} -> become cart([item | items], n + 1)
      {:fill, n} -> become cart(Enum.to_list(1..n), n)
      :check_out -> become paid(items)
      :end -> become sink()
    end

    defactor paid(items) do
      :again -> become cart(items, length(items))
    end

    # Two words of one number, which are the same in each whole state.
    defactor twin(n, _same) do
      {:turns, 0} -> :ok
      {:turns, left} -> become(twin(n + 1, {n + 1, n + 1})) && send(self(), {:turns, left - 1})
    end

    # Makes as many actors as it is told, and keeps one of ten; aborts where there are three more.
    defactor maker(kept) do
      {:make, n} ->
        made = for i <- 1..n, do: create(cart([], i))
        if rem(n, 10) == 3, do: abort(:no)
        become kept: Enum.take_every(made, 10)
    end

    # Moves from one sponsor to another, with each message.
    defactor mover(n, sponsors) do
      {:move, 0} ->
        :ok

      {:move, left} ->
        [next, other] = sponsors
        become n: n + 1, sponsors: [other, next]
        sendx(next, self(), {:move, left - 1})
    end

    defdirectory carts() do
      _key -> cart([], 0)
    end
  end

  defp start(opts \\ []), do: start_supervised!({Mote, Keyword.put(opts, :id, make_ref())})

  defp states(machine, behaviour \\ Behaviours),
    do: Mote.fold(machine, behaviour, [], &[&1 | &2], timeout: 60_000)

  defp carts(numbers), do: for(n <- numbers, do: Behaviours.cart([], n))

  # A machine whose order is seeded is never stood in for: its thread shows everything itself.
  for {how, options} <- [threads: [], the_thread_itself: [schedule: {:seeded, 1}]] do
    describe "by #{how}" do
      setup do
        %{machine: start_supervised!({Mote, unquote(options)})}
      end

      test "shows each actor once, as of its last turn", %{machine: machine} do
        assert states(machine) == []
        # Several slices, and several blocks of them.
        carts = Mote.create_many(machine, carts(1..200_000))
        Mote.send(hd(carts), {:put, :tea})
        Mote.drain(machine, 60_000)

        assert Enum.sort(states(machine)) ==
                 Enum.sort([{:cart, [:tea], 2} | for(n <- 2..200_000, do: {:cart, [], n})])

        assert length(carts) == 200_000
      end

      test "shows what is wanted", %{machine: machine} do
        carts = Mote.create_many(machine, carts(1..10))
        for cart <- Enum.take(carts, 4), do: Mote.send(cart, :check_out)
        Mote.send(List.last(carts), :end)
        other = Mote.create(machine, Mote.Actors.echo())
        Process.put(:kept, [other | carts])
        Mote.drain(machine, 60_000)
        assert states(machine, {Behaviours, :paid}) == List.duplicate({:paid, []}, 4)
        assert Enum.sort(states(machine, {Behaviours, :cart})) == for(n <- 5..9, do: {:cart, [], n})
        assert length(states(machine, Behaviours)) == 9
        assert length(states(machine, nil)) == 11
        assert states(machine, {Behaviours, :echo}) == []
      end

      test "shows those that hold much, too", %{machine: machine} do
        carts = Mote.create_many(machine, carts(1..50))
        sizes = [100, 255, 256, 257, 1_500]
        for {cart, n} <- Enum.zip(carts, sizes), do: Mote.send(cart, {:fill, n})
        Mote.drain(machine, 60_000)
        expected = for(n <- sizes, do: {:cart, Enum.to_list(1..n), n}) ++ for(n <- 6..50, do: {:cart, [], n})
        assert Enum.sort(states(machine)) == Enum.sort(expected)
        assert length(carts) == 50
      end

      test "what nobody can reach is not shown, and no place is shown for what was there", %{machine: machine} do
        maker = Mote.create(machine, Behaviours.maker([]))
        for n <- [500, 503, 70, 503, 1_000, 3], do: Mote.send(maker, {:make, n})
        Mote.drain(machine, 60_000)
        assert Enum.sort(states(machine, {Behaviours, :cart})) == for(n <- 1..1_000//10, do: {:cart, [], n})
        assert [{:maker, _}] = states(machine, {Behaviours, :maker})
        assert is_struct(maker)
      end
    end
  end

  test "an actor that is alive all the time is seen once, whatever is made, forgotten and collected meanwhile" do
    machine = start(gc: [min: 262_144])
    carts = Mote.create_many(machine, carts(1..30_000))
    maker = Mote.create(machine, Behaviours.maker([]))

    look = fn {:cart, _, n}, seen ->
      if rem(n, 100) == 0, do: Mote.send(maker, {:make, 1_000 + Enum.random(1..9)})
      if rem(n, 10_000) == 0, do: Mote.gc(machine)
      [n | seen]
    end

    seen = Mote.fold(machine, {Behaviours, :cart}, [], look, timeout: 60_000)

    # Those of the maker have numbers of up to 1,009 as well, and may be seen.
    assert seen |> Enum.filter(&(&1 > 1_009)) |> Enum.sort() == Enum.to_list(1_010..30_000)
    assert Enum.all?(1..1_009, &(&1 in seen))
    assert length(carts) == 30_000
  end

  test "actors of several threads that are awake, and states that are whole" do
    machine = start(sponsors: [main: [threads: 2], other: []], shutdown: [drain: 0])
    twins = Mote.create_many(machine, for(_ <- 1..3_000, do: Behaviours.twin(0, {0, 0})))

    for {twin, i} <- Enum.with_index(twins),
        do: Mote.send(twin, {:turns, 1_000_000_000}, sponsor: Enum.at([:main, :other], rem(i, 2)))

    for _ <- 1..5 do
      seen = Mote.fold(machine, Behaviours, [], &[&1 | &2], timeout: 60_000)
      assert length(seen) == 3_000
      for {:twin, n, same} <- seen, do: assert(same == {n, n})
    end

    assert length(twins) == 3_000
  end

  test "actors that go from sponsor to sponsor all the time" do
    machine = start(sponsors: [main: [], other: []], shutdown: [drain: 0])
    movers = Mote.create_many(machine, for(i <- 1..200, do: Behaviours.mover(i * 1_000_000, [:other, :main])))
    for mover <- movers, do: Mote.send(mover, {:move, 1_000_000_000})

    for _ <- 1..20 do
      number = fn {:mover, n, _}, seen -> [div(n, 1_000_000) | seen] end
      seen = Mote.fold(machine, Behaviours, [], number, timeout: 60_000)
      assert length(seen) == 200
    end

    assert length(movers) == 200
  end

  test "actors of a sponsor that was removed, of a paused machine, and of a beam sponsor" do
    machine = start(sponsors: [main: [], gone: [], beam: [beam: true]])
    behaviour = fn n -> Behaviours.cart([], n) end

    pinned =
      for n <- 1..300,
          do: Mote.create(machine, behaviour.(n), sponsor: Enum.at([:gone, :beam, :main], rem(n, 3)))

    for cart <- pinned, do: Mote.send(cart, {:put, :it})
    moved = for n <- 301..400, do: Mote.create(machine, behaviour.(n))
    for cart <- moved, do: Mote.send(cart, {:put, :it}, sponsor: :gone)
    Mote.drain(machine, 60_000)
    expected = for n <- 1..400, do: {:cart, [:it], n + 1}
    assert Enum.sort(states(machine)) == expected
    Mote.remove_sponsor(machine, :gone)
    assert Enum.sort(states(machine)) == expected
    Mote.pause(machine)
    assert Enum.sort(states(machine)) == expected
    Mote.resume(machine)
    assert length(pinned ++ moved) == 400
  end

  test "the same states as those of a directory" do
    machine = start()
    carts = Directory.start(machine, Behaviours.carts(), shards: 4)
    for key <- 1..500, do: Directory.send(carts, key, {:put, key})
    Mote.drain(machine, 60_000)
    by_key = Directory.fold(carts, [], fn _key, state, all -> [state | all] end)
    assert Enum.sort(by_key) == Enum.sort(states(machine, {Behaviours, :cart}))
  end

  test "a place that was made up leads nowhere" do
    machine = start()
    carts = Mote.create_many(machine, carts(1..1_000))
    Mote.gc(machine)
    {:ok, native} = Mote.Machine.fetch(machine)
    last = :binary.copy(<<255>>, 88)
    eventually(fn -> match?({[], _, :ended}, Native.fold_here(native, last, nil, nil)) end)

    for _ <- 1..2_000 do
      <<next::native-64, thread::native-64, _::binary>> = noise = :rand.bytes(88)
      {_, _, _} = Native.fold_here(native, noise, Behaviours, nil)
      noise = <<0::64, rem(thread, 3)::native-64, next::native-64, noise::binary>> |> binary_part(0, 88)
      assert {states, _, _} = Native.fold_here(native, noise, Behaviours, nil)
      assert Enum.all?(states, &match?({:cart, [], _}, &1))
    end

    assert length(carts) == 1_000
  end

  test "says why it cannot go on" do
    machine = start()
    assert_raise ArgumentError, ~r/timout/, fn -> Mote.fold(machine, nil, 0, fn _, n -> n end, timout: 1) end

    assert_raise ArgumentError, ~r/\{module, name\}/, fn ->
      Mote.fold(machine, "cart", 0, fn _, n -> n end)
    end

    Mote.stop(machine)
    eventually(fn -> not Process.alive?(machine) end)
    assert_raise Error, fn -> states(machine) end
  end

  property "shows what there is, whatever has come and gone before" do
    machine = start(sponsors: [main: [threads: 2]])

    check all(steps <- list_of({integer(0..600), integer(0..600)}, max_length: 6), max_runs: 25) do
      # Terms of an earlier run may keep its actors.
      run = System.unique_integer([:positive, :monotonic]) * 1_000

      kept =
        for {made, dropped} <- steps, reduce: [] do
          kept ->
            kept = Enum.drop(kept, dropped)
            :erlang.garbage_collect()
            numbers = (run + 1)..(run + made)//1
            kept ++ Enum.zip(Mote.create_many(machine, carts(numbers)), numbers)
        end

      for {cart, _} <- Enum.take_every(kept, 3), do: Mote.send(cart, {:put, :it})
      Mote.drain(machine, 60_000)
      put = for {_, n} <- Enum.take_every(kept, 3), do: n + 1
      seen = states(machine)
      assert Enum.sort(for({:cart, [:it], n} when n > run <- seen, do: n)) == Enum.sort(put)
      assert Enum.all?(kept, &is_tuple/1)
    end
  end
end
