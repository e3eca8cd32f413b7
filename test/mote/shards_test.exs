defmodule Mote.ShardsTest do
  # The rule, and one node. Several nodes: far_shards_test.exs; hundreds, without processes: shards_view_test.exs.
  use ExUnit.Case, async: true
  use ExUnitProperties

  import ExUnit.CaptureLog
  import Mote.Eventually

  alias Mote.{Directory, Error, Native, Shards}
  alias Mote.Machine.Question
  alias Mote.Move.Ways
  alias Mote.Shards.{Front, Handover, Lost, Rule}
  alias Mote.Shards.Rule.Plain

  doctest Mote.Shards

  defmodule Users do
    @moduledoc false
    use Mote.Behaviour

    defactor user(key, seen) do
      {customer, :seen} ->
        send customer, Enum.reverse(seen)

      {customer, {:add, n}} ->
        send customer, length(seen) + 1
        become seen: [n | seen]

      n ->
        become seen: [n | seen]
    end

    defdirectory users() do
      :none -> nil
      key -> user(key, [])
    end
  end

  defmodule Vanishing do
    @moduledoc false
    use Mote.Behaviour

    # A front whose node is gone when it is to take a key.
    defactor front() do
      {customer, {:same?, _view}} -> send customer, true
    end

    defactor taking() do
      {customer, {:same?, _view}} -> send customer, true
      {customer, {:put, {_view, _entries}}} -> send customer, []
    end

    # One that knows other members by then, when somebody has removed the key.
    defactor removing(front) do
      {customer, {:same?, _view}} ->
        send customer, true

      {customer, {:put, {_view, [{key, _address}]}}} ->
        send front, {self(), {:shard, {:delete, key}}}
        become removed(customer)
    end

    defactor removed(customer) do
      true -> send customer, :other_view
    end

    # One that knows other members.
    defactor differing() do
      {customer, {:same?, _view}} -> send customer, true
      {customer, {:put, {_view, _entries}}} -> send customer, :other_view
    end

    # In the place of a front: a message for the key comes after each request.
    defactor busy(shard, message) do
      {customer, {:view, _view, _members, _since}} ->
        send customer, :ok

      {customer, {:shard, request}} ->
        send shard, {customer, request}
        send shard, message
    end

    defactor noting(n), beam: true do
      :note -> become n: n + 1
    end
  end

  test "where another node is gone before it has a key, this one knows where its actor is" do
    [here, there, third] = for _ <- 1..3, do: elem({:ok, _} = Mote.start_link(), 1)
    %{shards: {shard}} = Directory.start(here, Users.users(), shards: 1)
    front = Mote.create(here, Front.front(shard, -1, 1, [{1, nil}], :never))
    actor = Mote.create(here, Users.user(:key, [1]))
    Mote.ask!(front, {:shard, {:put, :key, actor}})
    other = %{node: :other, fronts: {Mote.create(third, Vanishing.front())}, machine: there}
    assert catch_exit(Handover.run(plan(front, here, [{2, other}]))) == :enough
    assert %{key: moved} = Mote.ask!(front, {:shard, :all})
    assert Mote.machine(moved).pid == there
    assert Mote.ask!(moved, :seen) == [1]

    # And if that place is gone, the key is free.
    Mote.stop(there)
    last = %{node: :last, fronts: {front}, machine: third}
    assert %{lost: 1, moved: 0, stayed: 0} = Handover.run(plan(front, here, [{3, last}]))
    assert Mote.ask!(front, {:shard, :all}) == %{}
  end

  test "a key that is removed while its actor moves stays removed" do
    [here, there] = for _ <- 1..2, do: elem({:ok, _} = Mote.start_link(), 1)
    %{shards: {shard}} = Directory.start(here, Users.users(), shards: 1)
    front = Mote.create(here, Front.front(shard, -1, 1, [{1, nil}], :never))
    Mote.ask!(front, {:shard, {:put, :key, Mote.create(here, Users.user(:key, []))}})
    other = %{node: :other, fronts: {Mote.create(there, Vanishing.removing(front))}, machine: there}
    assert catch_exit(Handover.run(plan(front, here, [{2, other}]))) == :enough
    assert Mote.ask!(front, {:shard, :all}) == %{}
  end

  test "a key that leads to another place has an actor at every moment, also if messages to it come" do
    [here, there] = for _ <- 1..2, do: elem({:ok, _} = Mote.start_link(), 1)
    %{shards: {shard}} = Directory.start(here, Users.users(), shards: 1)
    busy = Mote.create(here, Vanishing.busy(shard, [:key | :more]))
    Mote.ask!(shard, {:put, :key, Mote.create(here, Users.user(:key, [1]))})
    other = %{node: :other, fronts: {Mote.create(there, Vanishing.differing())}, machine: there}
    assert catch_exit(Handover.run(plan(busy, here, [{2, other}]))) == :enough
    assert %{key: moved} = Mote.ask!(shard, :all)
    assert Mote.machine(moved).pid == there
    assert [1, :more | _] = Mote.ask!(moved, :seen)
  end

  test "a move that takes long keeps no other key from being let go" do
    [here, there] = for _ <- 1..2, do: elem({:ok, _} = Mote.start_link(), 1)

    [{first, moving}, {second, gone}] =
      for _ <- 1..2 do
        %{shards: {shard}} = Directory.start(here, Users.users(), shards: 1)
        actor = Mote.create(here, Users.user(:key, []))
        Mote.ask!(shard, {:put, :key, actor})
        {Mote.create(here, Front.front(shard, -1, 1, [{1, nil}], :never)), actor}
      end

    {:ok, _} = Mote.move(gone, there, timeout: 60_000)
    hold = hold(moving)
    Mote.stop(there)
    search = Task.async(fn -> Lost.let_go({first, second}, []) end)
    assert eventually(fn -> Mote.ask!(second, {:shard, :all}) == %{} end)
    assert Map.keys(Mote.ask!(first, {:shard, :all})) == [:key]
    go_on(moving, hold, nil, {})
    assert Task.await(search, 60_000) == %{node() => [:key]}
    assert Map.keys(Mote.ask!(first, {:shard, :all})) == [:key]
  end

  test "keys whose actors are gone where they have moved are let go, also of one that moves at this moment" do
    [here, there] = for _ <- 1..2, do: elem({:ok, _} = Mote.start_link(), 1)
    %{shards: {shard}} = Directory.start(here, Users.users(), shards: 1)
    front = Mote.create(here, Front.front(shard, -1, 1, [{1, nil}], :never))

    [gone, moving, _stays] =
      for key <- [:gone, :moving, :stays] do
        actor = Mote.create(here, Users.user(key, []))
        Mote.ask!(front, {:shard, {:put, key, actor}})
        actor
      end

    {:ok, moved} = Mote.move(gone, there)
    hold = hold(moving)
    Mote.stop(there)
    search = Task.async(fn -> Lost.let_go({front}, []) end)

    # It waits for the move.
    assert eventually(fn -> Enum.sort(Map.keys(Mote.ask!(front, {:shard, :all}))) == [:moving, :stays] end)
    go_on(moving, hold, {Ways, :onward, Ways.__mote__(:hash)}, {moved})
    assert %{} = lost = Task.await(search, 60_000)
    assert {Map.keys(lost), Enum.sort(lost[node()])} == {[node()], [:gone, :moving]}
    assert Map.keys(Mote.ask!(front, {:shard, :all})) == [:stays]
  end

  # As a move does: holds an actor; lets it go on, as what it was or another one.
  defp hold(%{machine: native, key: key} = actor) do
    hold = {{Ways, :held, Ways.__mote__(:hash)}, 1}
    put = &Native.actor_hold(native, key, hold, &1)
    assert {:ok, %Mote.Behaviour{}} = Question.put(native, 60_000, [address: actor], put)
    hold
  end

  defp go_on(%{machine: native, key: key} = actor, hold, next, captures) do
    put = &Native.actors_go_on(native, [{key, captures}], hold, next, &1)
    assert Question.put(native, 60_000, [address: actor], put) == {:ok, [:ok]}
  end

  # Moves an actor to a machine that ends.
  defp lose(actor) do
    {:ok, there} = Mote.start_link()
    {:ok, _} = Mote.move(actor, there, timeout: 60_000)
    Mote.stop(there)
  end

  test "the shards that have not said what is left on a node that leaves are told beside the keys of the others" do
    {:ok, here} = Mote.start_link()
    %{shards: {shard}} = Directory.start(here, Users.users(), shards: 1)
    front = Mote.create(here, Front.front(shard, -1, 1, [{1, nil}], :never))
    Mote.ask!(front, {:shard, {:put, :key, Mote.create(here, Users.user(:key, []))}})
    silent = Mote.create(here, Mote.Library.fwd(self()))
    plan = %{plan(front, here, []) | fronts: {silent, front, silent}}
    log = capture_log(fn -> assert Handover.left(plan, 1_000) == [:key] end)
    assert log =~ "2 of the 3 shards of"
  end

  # One turn for all of them would need more than the machine allows, and the key would wait forever.
  test "however much waits until the members agree, it comes in order" do
    {:ok, here} = Mote.start_link(fuel: 1_000)
    %{shards: {shard}} = Directory.start(here, Users.users(), shards: 1)
    front = Mote.create(here, Front.front(shard, -1, 1, [{1, nil}], :never))
    Mote.ask!(front, {:shard, {:put, :key, Mote.create(here, Mote.Library.fwd(self()))}})
    send = fn view, n -> Mote.send(front, {view, Plain.hash(:key), [:key | n]}) end
    for n <- 1..2_500, do: send.(-1, n)
    asked = Mote.async(front, {-1, Plain.hash(:other), {:ask, :other, {:add, 1}}})
    alone = plan(front, here, [{1, %{node: node(), fronts: {front}, machine: here}}])
    # Nobody else is known, but it is not said yet that there is nobody.
    Handover.tell(alone)
    for n <- 2_501..5_000, do: send.(1, n)
    Handover.tell(%{alone | view: 2, since: :settled})
    send.(2, 5_001)
    assert Mote.await(asked, 60_000) == 1
    assert for(_ <- 1..5_001, do: receive(do: (n -> n))) == Enum.to_list(1..5_001)
  end

  test "actors of a module that differs where they belong stay, and that is logged" do
    [here, there] = for _ <- 1..2, do: elem({:ok, _} = Mote.start_link(), 1)
    %{shards: {shard}} = Directory.start(here, Users.users(), shards: 1)
    front = Mote.create(here, Front.front(shard, -1, 1, [{1, nil}], :never))
    [{module, _}] = Code.compile_string(changing(1))
    for n <- 1..3, do: Mote.ask!(front, {:shard, {:put, n, Mote.create(here, module.changing(n))}})
    Mote.create(there, module.changing(0))
    ExUnit.CaptureIO.capture_io(:stderr, fn -> Code.compile_string(changing(2)) end)
    Mote.create(here, module.changing(0, 0))
    other = %{node: :other, fronts: {Mote.create(there, Vanishing.taking())}, machine: there}

    log =
      capture_log(fn ->
        assert %{stayed: 3, moved: 0} = Handover.run(plan(front, here, [{2, other}]))
      end)

    assert log =~ "3 actor(s) of the shards :plan stay on #{node()}, and are lost when it goes"
  end

  test "actors of a beam sponsor stay if the shards name none, and that is logged" do
    sponsors = [main: [], io: [beam: true, max_concurrency: 1]]
    [here, there] = for _ <- 1..2, do: elem({:ok, _} = Mote.start_link(sponsors: sponsors), 1)
    %{shards: {shard}} = Directory.start(here, Users.users(), shards: 1)
    front = Mote.create(here, Front.front(shard, -1, 1, [{1, nil}], :never))
    Mote.ask!(front, {:shard, {:put, :key, Mote.create(here, Vanishing.noting(0), sponsor: :io)}})
    other = %{node: :other, fronts: {Mote.create(there, Vanishing.taking())}, machine: there}
    plan = plan(front, here, [{2, other}])

    log =
      capture_log(fn ->
        assert %{stayed: 1, moved: 0} = Handover.run(plan)
      end)

    assert log =~ "1 actor(s) of the shards :plan stay on #{node()}, and are lost when it goes"

    Mote.ask!(front, {:shard, {:put, :key, Mote.create(here, Vanishing.noting(0), sponsor: :io)}})
    assert %{stayed: 0, moved: 1} = Handover.run(%{plan | sponsor: :io})
  end

  # One turn takes as many as its fuel allows.
  test "thousands of keys are given away where turns are short" do
    [here, there] = for _ <- 1..2, do: elem({:ok, _} = Mote.start_link(fuel: 1_000), 1)
    %{shards: {shard}} = Directory.start(here, Users.users(), shards: 1)
    front = Mote.create(here, Front.front(shard, -1, 1, [{1, nil}], :never))
    %{shards: {there_shard}} = Directory.start(there, Users.users(), shards: 1)
    there_front = Mote.create(there, Front.front(there_shard, 1, 2, [{2, nil}], :never))

    for key <- 1..2_000,
        do: Mote.ask!(front, {:shard, {:put, key, Mote.create(here, Users.user(key, [key]))}})

    other = %{node: :other, fronts: {there_front}, machine: there}
    assert %{moved: 2_000, stayed: 0} = Handover.run(plan(front, here, [{2, other}]))
    assert Mote.ask!(front, {:shard, :count}) == 0
    for {key, actor} <- Mote.ask!(there_front, {:shard, :all}), do: assert(Mote.ask!(actor, :seen) == [key])
  end

  # Nobody's messages are accepted meanwhile.
  test "a front is told, and keys are looked for, where the sponsor is full" do
    {:ok, here} = Mote.start_link(sponsors: [main: [threads: 1, inbox: 5]])
    %{shards: {shard}} = Directory.start(here, Users.users(), shards: 1)
    front = Mote.create(here, Front.front(shard, -1, 1, [{1, nil}], :never))
    :ok = Mote.pause(here)

    assert Enum.any?(1..10, fn n ->
             match?({:error, %{reason: :overloaded}}, Mote.send(front, n, on_full: :error))
           end)

    alone = plan(front, here, [{1, %{node: node(), fronts: {front}, machine: here}}])
    told = Task.async(fn -> Handover.tell(alone) end)
    search = Task.async(fn -> Lost.let_go({front}, []) end)
    :ok = Mote.resume(here)
    assert Task.await_many([told, search], 60_000) == [:ok, %{}]
  end

  # Other lines are another version.
  # The second version never becomes, so it cannot take over the actors of the first one.
  defp changing(version) do
    """
    defmodule Mote.ShardsTest.Changing do
      use Mote.Behaviour

      defactor changing(#{if version == 1, do: "n", else: "n, more"}) do
        :add -> become n: n + #{if version == 1, do: "1", else: "more"}
      end
    end
    """
  end

  defp plan(front, machine, members) do
    %{
      name: :plan,
      view: 1,
      enough: :atomics.new(1, []),
      me: node(),
      since: :never,
      fronts: {front},
      sponsor: nil,
      machine: machine,
      members: members,
      leaving: [],
      until: nil
    }
  end

  describe "the rule" do
    defp members(names), do: for(name <- Enum.sort(names), do: {Plain.seed(:"#{name}"), name})

    defp names, do: uniq_list_of(integer(0..10_000), min_length: 2, max_length: 40)
    defp hashes, do: list_of(integer(0..0xFFFFFFFF), length: 20)

    property "moves only the keys of the member that goes, and gives a member that comes nothing but its own" do
      check all([new | names] <- names(), hashes <- hashes()) do
        before = members(names)
        later = members([new | names])

        for hash <- hashes do
          {_, old} = Plain.owner(hash, before)
          {_, now} = Plain.owner(hash, later)
          assert now in [old, new]
        end
      end
    end

    property "is the same whoever asks, in Elixir and in behaviours" do
      check all(names <- names(), hashes <- hashes()) do
        for hash <- hashes do
          members = members(names)
          {_, owner} = Plain.owner(hash, members)
          assert Plain.owner(hash, members(Enum.reverse(names))) |> elem(1) == owner
          assert Rule.owner(hash, members) |> elem(1) == owner
        end
      end
    end

    test "spreads keys of all kinds evenly over any number of nodes" do
      for count <- [2, 3, 20],
          key <- [& &1, &"user #{&1}", &{:order, &1}, &(&1 * 1_000_003)] do
        members = members(for n <- 1..count, do: "app@10.0.0.#{n}")
        keys = count * 1_000
        found = Enum.frequencies(for n <- 1..keys, do: elem(Plain.owner(Plain.hash(key.(n)), members), 1))
        assert map_size(found) == count
        # Five standard deviations and more.
        for {_, n} <- found, do: assert(n in 820..1_180)
      end
    end

    test "a node that comes takes its share" do
      before = members(for n <- 1..9, do: "n#{n}")
      later = members(for n <- 1..10, do: "n#{n}")

      moved =
        Enum.count(1..20_000, &(Plain.owner(Plain.hash(&1), before) != Plain.owner(Plain.hash(&1), later)))

      assert moved in 1_800..2_200
    end
  end

  describe "on one node" do
    setup do
      name = :"shards_#{System.unique_integer([:positive])}"
      {:ok, machine} = Mote.start_link(sponsors: [main: [threads: 2], other: []])
      %{name: name, machine: machine}
    end

    test "is a directory", %{name: name, machine: machine} do
      {:ok, _} =
        Shards.start_link(name: name, machine: machine, start: Users.users(), shards: 4, sponsor: :other)

      for n <- 1..50, key <- [1, "one", {:a, 1}, self(), nil], do: assert(:ok == Shards.send(name, key, n))

      for key <- [1, "one", {:a, 1}, self(), nil],
          do: assert(Shards.ask!(name, key, :seen) == Enum.to_list(1..50))

      assert Shards.count(name) == 5
      assert Shards.nodes(name) == [node()]
      assert Shards.node(name, :any) == node()
      assert eventually(fn -> Shards.settled?(name) end)
      assert %Mote.Address{} = address = Shards.whereis(name, 1)
      {_view, [{_seed, %{shards: fronts}}], _directory} = Shards.Member.routes(name)
      assert Mote.info(elem(fronts, 0)).pinned == :other
      assert Mote.ask!(address, {:add, 51}) == 51
      assert Shards.whereis(name, 2) == nil
    end

    test "a key that is removed starts afresh", %{name: name, machine: machine} do
      {:ok, _} = Shards.start_link(name: name, machine: machine, start: Users.users(), shards: 2)
      for key <- [1, 2], n <- 1..3, do: Shards.send(name, key, n)
      # What was sent before comes before.
      assert Shards.delete(name, 1)
      refute Shards.delete(name, 1)
      assert {Shards.ask!(name, 1, :seen), Shards.ask!(name, 2, :seen)} == {[], [1, 2, 3]}
      two = Shards.whereis(name, 2)
      refute Shards.delete(name, 1, two)
      assert Shards.delete(name, 2, two)
      assert {Shards.whereis(name, 2), Shards.count(name)} == {nil, 1}
      # It lives on by its address.
      assert Mote.ask!(two, :seen) == [1, 2, 3]
      assert_raise Error, fn -> Shards.delete(:no_shards, 1) end
    end

    test "what is sent before it is settled waits, and comes in order", %{name: name, machine: machine} do
      {:ok, pid} = Shards.start_link(name: name, machine: machine, start: Users.users(), shards: 2)
      for n <- 1..200, do: Shards.send(name, rem(n, 3), n)
      for key <- 0..2, do: assert(Shards.ask!(name, key, :seen) == for(n <- 1..200, rem(n, 3) == key, do: n))
      Process.unlink(pid)
      GenServer.stop(pid)
      assert {:error, %Error{reason: :unknown_shards}} = Shards.send(name, 1, 1)
    end

    test "errors are named", %{name: name, machine: machine} do
      assert {:error, %Error{reason: :unknown_shards}} = Shards.ask(name, 1, :seen)
      assert_raise Error, fn -> Shards.nodes(name) end
      {:ok, _} = Shards.start_link(name: name, machine: machine, start: Users.users())
      assert {:error, %Error{reason: :unknown_key}} = Shards.ask(name, :none, :seen)
      assert :ok = Shards.send(name, :none, 1)

      for wrong <- [
            [machine: machine, start: Users.users()],
            [name: :x, start: Users.users()],
            [name: :x, machine: machine],
            [name: :x, machine: machine, start: Users.user(1, [])],
            [name: :x, machine: "machine", start: Users.users()],
            [name: :x, machine: machine, start: Users.users(), shards: 0],
            [name: :x, machine: machine, start: Users.users(), sponsor: 1],
            [name: :x, machine: machine, start: Users.users(), no: 1]
          ] do
        assert_raise ArgumentError, fn -> Shards.start_link(wrong) end
      end
    end

    test "where another node goes during a search, another one follows", %{name: name, machine: machine} do
      {:ok, pid} = Shards.start_link(name: name, machine: machine, start: Users.users(), shards: 1)

      [waited_for, first, second] =
        for key <- 1..3, do: with(1 <- Shards.ask!(name, key, {:add, 1}), do: Shards.whereis(name, key))

      # Otherwise there is nothing to search for.
      assert {:error, %Error{reason: :noconnection}} = Mote.move(first, {Nobody, :nobody@nowhere})
      lose(first)
      hold = hold(waited_for)
      send(pid, {:nodedown, :a, []})
      assert eventually(fn -> Shards.whereis(name, 2) == nil end)
      # By now it has looked at all, and waits for one.
      lose(second)
      send(pid, {:nodedown, :b, []})
      assert eventually(fn -> Shards.whereis(name, 3) == nil end)
      # This one knows of both nodes, and waits, too.
      assert %{search: {_, [:b, :a], []}} = :sys.get_state(pid)
      go_on(waited_for, hold, nil, {})
      assert eventually(fn -> :sys.get_state(pid).search == nil end)
      assert Shards.whereis(name, 1) == waited_for
    end

    test "ends with its machine", %{name: name, machine: machine} do
      Process.flag(:trap_exit, true)
      {:ok, pid} = Shards.start_link(name: name, machine: machine, start: Users.users())
      Mote.stop(machine)
      assert_receive {:EXIT, ^pid, {:shutdown, :machine_down}}, 60_000
      assert {:error, %Error{reason: :unknown_shards}} = Shards.send(name, 1, 1)
    end
  end
end
