defmodule Mote.Library.HubsTest do
  # A registry is a map, a hub a set.
  use ExUnit.Case, async: true
  use ExUnitProperties

  import Mote.Eventually

  alias Mote.{Library, World}

  doctest Mote.Library.Hubs

  defp seed, do: integer(0..1_000_000)

  property "a registry does what a map does" do
    name = one_of([integer(0..2), constant({:a, "name"})])
    address = one_of([constant(:x), constant(:y)])
    request = one_of([{:register, name, address}, {:lookup, name}, {:unregister, name}, constant(:names)])

    check all requests <- list_of(request) do
      {answers, _} =
        Enum.map_reduce(requests, %{}, fn
          {:register, name, _}, map when is_map_key(map, name) -> {{:error, {:taken, map[name]}}, map}
          {:register, name, address}, map -> {:ok, Map.put(map, name, address)}
          {:lookup, name}, map when is_map_key(map, name) -> {{:ok, map[name]}, map}
          {:unregister, name}, map when is_map_key(map, name) -> {:ok, Map.delete(map, name)}
          :names, map -> {Enum.sort(Map.keys(map)), map}
          _, map -> {{:error, :unknown}, map}
        end)

      World.in_order(
        fn world ->
          addresses = for name <- [:x, :y], into: %{}, do: {name, World.create(world, Library.const(name))}
          me = World.customer(world, :me)
          registry = World.create(world, Library.registry())
          World.send(world, me, addresses)

          for request <- requests do
            request = with {:register, name, which} <- request, do: {:register, name, addresses[which]}
            World.send(world, registry, {me, request})
          end
        end,
        fn %{me: [addresses | heard]} ->
          names = Map.new(addresses, fn {name, address} -> {address, name} end)

          assert answers ==
                   Enum.map(heard, fn
                     {:ok, address} -> {:ok, names[address]}
                     {:error, {:taken, address}} -> {:error, {:taken, names[address]}}
                     other -> other
                   end)
        end
      )
    end
  end

  property "whoever registers a name at the same time as others: one has it" do
    check all n <- integer(1..5), seed <- seed() do
      World.everywhere(
        seed,
        fn world ->
          registry = World.create(world, Library.registry())
          one = World.create(world, Library.sink())

          for _ <- 1..n,
              do: World.send(world, registry, {World.customer(world, :me), {:register, :name, one}})
        end,
        fn heard ->
          assert Enum.count(heard.me, &(&1 == :ok)) == 1
          assert Enum.count(heard.me, &match?({:error, {:taken, _}}, &1)) == n - 1
        end
      )
    end
  end

  property "what is published is heard once by everybody who has subscribed, and by nobody else" do
    subscriber = integer(0..2)
    request = one_of([{:subscribe, subscriber}, {:unsubscribe, subscriber}, {:publish, integer()}])

    check all requests <- list_of(request) do
      {expected, answers, _} =
        Enum.reduce(requests, {%{0 => [], 1 => [], 2 => []}, [], MapSet.new()}, fn
          {:subscribe, n}, {heard, answers, set} ->
            {heard, [:ok | answers], MapSet.put(set, n)}

          {:unsubscribe, n}, {heard, answers, set} ->
            {heard, [:ok | answers], MapSet.delete(set, n)}

          {:publish, x}, {heard, answers, set} ->
            {Enum.reduce(set, heard, fn n, heard -> Map.update!(heard, n, &(&1 ++ [x])) end),
             [MapSet.size(set) | answers], set}
        end)

      World.in_order(
        fn world ->
          hub = World.create(world, Library.pubsub())
          ears = for n <- 0..2, into: %{}, do: {n, World.customer(world, n)}
          me = World.customer(world, :me)

          for request <- requests do
            request =
              case request do
                {:publish, x} -> {:publish, x}
                {verb, n} -> {verb, ears[n]}
              end

            World.send(world, hub, {me, request})
          end
        end,
        fn heard -> assert heard == Map.put(expected, :me, Enum.reverse(answers)) end
      )
    end
  end

  property "in whatever order, all subscribers hear all that is published after them" do
    check all messages <- list_of(integer()), seed <- seed() do
      World.everywhere(
        seed,
        fn world ->
          hub = World.create(world, Library.pubsub())

          for n <- 0..2,
              do: World.send(world, hub, {World.customer(world, :me), {:subscribe, World.customer(world, n)}})

          World.advance(world, 0)

          for message <- messages,
              do: World.send(world, hub, {World.customer(world, :me), {:publish, message}})
        end,
        fn heard -> for n <- 0..2, do: assert(Enum.sort(heard[n]) == Enum.sort(messages)) end
      )
    end
  end

  test "what is no address is neither registered nor subscribed" do
    {:ok, machine} = Mote.start_link()
    Mote.send(Mote.create(machine, Library.registry()), {self(), {:register, :name, :nobody}})
    Mote.send(Mote.create(machine, Library.pubsub()), {self(), {:subscribe, :nobody}})
    assert Mote.drain(machine) == :ok
    assert Mote.info(machine).counters.ignored == 2
    refute_received _
  end

  describe "a process that has ended" do
    setup do
      %{machine: start_supervised!({Mote, sponsors: [main: [threads: 2]]})}
    end

    defp ended(fun) do
      {_, ref} = spawn_monitor(fun)
      receive do: ({:DOWN, ^ref, _, _, reason} -> assert(reason == :normal))
    end

    test "is no subscriber any more", %{machine: machine} do
      hub = Mote.create(machine, Library.pubsub())
      for _ <- 1..500, do: ended(fn -> Mote.ask!(hub, {:subscribe, self()}) end)
      Mote.ask!(hub, {:subscribe, self()})
      eventually(fn -> Mote.ask!(hub, {:publish, :once}) == 1 end)
      assert Mote.ask!(hub, {:publish, :again}) == 1
      assert_receive :again
    end

    test "has no name any more, and another one can have it", %{machine: machine} do
      registry = Mote.create(machine, Library.registry())

      for n <- 1..200 do
        ended(fn -> for name <- [:shared, {:own, n}], do: Mote.ask!(registry, {:register, name, self()}) end)
        # The name is free as soon as the machine knows.
        eventually(fn -> Mote.ask!(registry, {:lookup, :shared}) == {:error, :unknown} end)
      end

      assert :ok = Mote.ask!(registry, {:register, :mine, self()})
      eventually(fn -> Mote.ask!(registry, :names) == [:mine] end)
    end

    test "has given its name back before, and takes it from nobody", %{machine: machine} do
      registry = Mote.create(machine, Library.registry())

      ended(fn ->
        Mote.ask!(registry, {:register, :name, self()})
        Mote.ask!(registry, {:unregister, :name})
      end)

      Mote.ask!(registry, {:register, :name, self()})
      assert Mote.ask!(registry, {:lookup, :name}) == {:ok, self()}
      assert Mote.info(machine).counters.timers == 1
    end
  end
end
