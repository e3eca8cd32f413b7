defmodule Mote.DirectoryTest.Actors do
  use Mote.Behaviour

  defactor tally(key, made, n \\ 0) do
    {customer, :read} ->
      send customer, {key, n}

    {customer, {:boom, x}} ->
      send customer, hd(x)

    {:leave, directory} ->
      send Mote.Directory.shard(directory, key), {self(), {:delete, key, self()}}

    removed when is_boolean(removed) ->
      send made, {:left, n}
      become sink()

    k when is_integer(k) ->
      become n: n + k
  end

  @doc "Tells `made` of every actor that is started."
  defdirectory tallies(made) do
    {:half, n} ->
      tally(div(n, 0), made)

    {:none, _} ->
      nil

    key ->
      send made, :made
      tally(key, made)
  end

  @doc "Each branch ends with a behaviour."
  defdirectory chosen() do
    n when is_integer(n) ->
      if n > 9, do: tally({:large, n}, nil), else: tally({:small, n}, nil)

    {:odd, n} ->
      unless rem(n, 2) == 0, do: tally(:odd, nil)

    key ->
      case key do
        :cond ->
          cond do
            key == :none -> nil
            true -> create(tally(:cond, nil))
          end

        {:with, map} ->
          with %{at: at} <- map do
            tally(at, nil)
          else
            _ -> tally(:else, nil)
          end

        :nothing ->
          nil
      end
  end

  defdirectory named() do
    key when is_binary(key) -> tally(key, nil)
  end

  defactor log(entries \\ []) do
    {customer, :entries} -> send customer, Enum.reverse(entries)
    entry -> become entries: [entry | entries]
  end

  defdirectory logs() do
    _ -> log()
  end

  @doc "Does to the directory what it is told."
  defactor user(directory) do
    {:send, key, message} -> Mote.Directory.send(directory, key, message)
    {:request, key, request} -> send Mote.Directory.shard(directory, key), request
    {customer, {:shard, key}} -> send customer, Mote.Directory.shard(directory, key)
    {customer, {:hash, key}} -> send customer, Mote.Directory.Place.hash(key)
  end

  @doc "Sends the numbers up to `last` to each of the keys, some a turn."
  defactor numbering(directory, keys, n, last) do
    :go when n < last ->
      for key <- keys do
        Mote.Directory.send(directory, key, {self(), n})
        Mote.Directory.send(directory, key, {self(), n + 1})
      end

      send self(), :go
      become n: n + 2

    :go ->
      :ok
  end
end

defmodule Mote.DirectoryTest do
  use ExUnit.Case, async: true
  use ExUnitProperties
  import ExUnit.CaptureLog
  import Mote.Eventually

  alias Mote.{AnyTerm, Compile, Directory, Error, World}
  alias Mote.Directory.Place.Plain
  alias Mote.DirectoryTest.Actors

  doctest Mote.Directory

  @moduletag capture_log: true

  setup do
    %{machine: start_supervised!({Mote, sponsors: [main: [threads: 4]]})}
  end

  describe "an actor by key" do
    test "is started by the first message, asked, found, counted and removed", %{machine: machine} do
      tallies = Directory.start(machine, Actors.tallies(self()))
      assert Directory.count(tallies) == 0
      assert Directory.send(tallies, :a, 1) == :ok
      assert Directory.ask(tallies, :a, :read) == {:ok, {:a, 1}}
      assert Directory.ask!(tallies, {:b, 1}, :read) == {{:b, 1}, 0}
      assert_raise ArgumentError, ~r/ask by key with Mote.Directory.ask/, fn -> Mote.ask(tallies, :read) end
      for _ <- 1..2, do: assert_receive(:made)
      address = Directory.whereis(tallies, :a)
      assert Mote.ask(address, :read) == {:ok, {:a, 1}}
      assert Directory.whereis(tallies, :c) == nil
      assert Directory.count(tallies) == 2
      assert Map.new(Directory.stream(tallies)) |> Map.keys() |> Enum.sort() == [:a, {:b, 1}]
      assert {:a, address} in Enum.to_list(Directory.stream(tallies))
      assert Directory.delete(tallies, :a)
      refute Directory.delete(tallies, :a)
      assert Mote.ask(address, :read) == {:ok, {:a, 1}}
      assert Directory.ask!(tallies, :a, :read) == {:a, 0}
      assert_receive :made
      refute Directory.delete(tallies, :a, address)
      assert Directory.delete(tallies, :a, Directory.whereis(tallies, :a))
      assert Directory.start_actor(tallies, :d) == Directory.start_actor(tallies, :d)
      assert_receive :made
      refute_received :made
    end

    test "is not started for keys that have none", %{machine: machine} do
      tallies = Directory.start(machine, Actors.tallies(self()))
      for key <- [{:none, 1}, {:none, 2}], do: assert(Directory.send(tallies, key, 1) == :ok)

      assert {:error, %Error{reason: :unknown_key, context: %{key: {:none, 1}}}} =
               Directory.ask(tallies, {:none, 1}, :read)

      assert_raise Error, ~r/has no actor for {:none, 1}/, fn ->
        Directory.ask!(tallies, {:none, 1}, :read)
      end

      assert Directory.start_actor(tallies, {:none, 1}) == nil
      assert Directory.count(tallies) == 0
      :ok = Mote.drain(machine)
      assert Mote.info(machine).counters.dropped == 2

      named = Directory.start(machine, Actors.named())
      assert {:error, %Error{reason: :unknown_key}} = Directory.ask(named, :atom, :read)
      assert Directory.ask!(named, "text", :read) == {"text", 0}
    end

    test "is not found in what is no directory, which is named", %{machine: machine} do
      user = Mote.create(machine, Actors.user(MyApp.Rooms))
      assert {:error, %Error{reason: :aborted} = error} = Mote.ask(user, {:shard, 1})
      assert Exception.message(error) =~ ~r/ArgumentError.*expected a directory, got: MyApp.Rooms/
      assert Exception.message(error) =~ "Mote.Directory.fetch!/1"
    end

    test "is chosen by if, case, cond and with", %{machine: machine} do
      chosen = Directory.start(machine, Actors.chosen())
      keys = [12, 7, {:odd, 3}, :cond, {:with, %{at: 1}}, {:with, %{}}]

      assert for(key <- keys, do: elem(Directory.ask!(chosen, key, :read), 0)) ==
               [{:large, 12}, {:small, 7}, :odd, :cond, 1, :else]

      for key <- [{:odd, 2}, :nothing],
          do: assert({:error, %Error{reason: :unknown_key}} = Directory.ask(chosen, key, :read))
    end

    test "whose start is aborted is none, and whoever asks hears of it", %{machine: machine} do
      tallies = Directory.start(machine, Actors.tallies(self()))
      assert {:error, %Error{reason: :aborted, message: message}} = Directory.ask(tallies, {:half, 1}, :read)
      assert message =~ "ArithmeticError"
      assert message =~ "directory_test.exs"
      assert Directory.whereis(tallies, {:half, 1}) == nil
      assert Directory.ask!(tallies, {:whole, 1}, :read) == {{:whole, 1}, 0}

      for key <- [{:whole, 1}, {:whole, 1}, {:other, 1}] do
        assert {:error, %Error{reason: :aborted, context: context} = error} =
                 Directory.ask(tallies, key, {:boom, []})

        assert context.behaviour == {Actors, :tally}
        assert Exception.message(error) =~ ~r/ArgumentError.*directory_test.exs:\d+: .*hd\(\[\]\)/
      end

      assert Directory.ask!(tallies, {:whole, 1}, {:boom, [1]}) == 1
    end

    test "is put where there is no directory's behaviour", %{machine: machine} do
      directory = Directory.start(machine)
      [one, two] = for key <- [1, 2], do: Mote.create(machine, Actors.tally(key, nil))
      assert {:error, %Error{reason: :unknown_key}} = Directory.ask(directory, :x, :read)
      assert Directory.put(directory, :x, one) == :ok

      assert {:error, %Error{reason: :key_taken, context: %{address: ^one}}} =
               Directory.put(directory, :x, two)

      assert Directory.ask!(directory, :x, :read) == {1, 0}
      assert Directory.delete(directory, :x, two) == false
      assert Directory.delete(directory, :x, one) == true
      assert Directory.put(directory, :x, two) == :ok
      assert Directory.ask!(directory, :x, :read) == {2, 0}
    end

    test "lives until it is removed", %{machine: machine} do
      directory = Directory.start(machine, Actors.named(), shards: 2)
      for n <- 1..1_000, do: Directory.send(directory, "#{n}", n)
      :ok = Mote.gc(machine)
      assert Directory.count(directory) == 1_000
      for n <- 1..1_000, do: assert(Directory.ask!(directory, "#{n}", :read) == {"#{n}", n})
    end

    test "is asked in vain for what it has no clause for, and the request is named as it was put", %{
      machine: machine
    } do
      directory = Directory.start(machine, Actors.tallies(nil))

      assert {:error, %Error{reason: :broken_promise} = error} =
               Directory.ask(directory, :tea, :what, :infinity)

      assert {error.context.request, error.context.behaviour} == {:what, {Actors, :tally}}
      assert error.message =~ "no answer to :what:"
    end
  end

  describe "keys" do
    property "of any kind belong to the same shard in Elixir and in a machine", %{machine: machine} do
      directory = Directory.start(machine)
      addresses = for _ <- 1..3, do: Mote.create(machine, Actors.log())
      user = Mote.create(machine, Actors.user(directory))

      check all key <- AnyTerm.term(addresses) do
        assert Mote.ask!(user, {:hash, key}) == Plain.hash(key)
      end
    end

    property "of any kind are kept apart as in a map", %{machine: machine} do
      addresses = for _ <- 1..3, do: Mote.create(machine, Actors.log())

      check all keys <- list_of(AnyTerm.term(addresses), max_length: 20), max_runs: 40 do
        logs = Directory.start(machine, Actors.logs(), shards: 3)
        user = Mote.create(machine, Actors.user(logs))

        for {key, n} <- Enum.with_index(keys) do
          Directory.send(logs, key, n)
          :ok = Mote.drain(machine)
          Mote.send(user, {:send, key, {:again, n}})
          :ok = Mote.drain(machine)
        end

        model = Enum.group_by(Enum.with_index(keys), &elem(&1, 0), &elem(&1, 1))
        assert Directory.count(logs) == map_size(model)

        for {key, ns} <- model do
          assert Directory.ask!(logs, key, :entries) == Enum.flat_map(ns, &[&1, {:again, &1}])
        end
      end
    end

    test "that Elixir has as structs and a machine has not find the same shard", %{machine: machine} do
      user = Mote.create(machine, Actors.user(nil))
      {:ok, other} = Mote.start_link()

      for key <- [
            Mote.Outbox.open(machine),
            Mote.Outbox.open(other),
            user,
            Mote.create(other, Actors.user(nil))
          ] do
        assert Mote.ask!(user, {:hash, key}) == Plain.hash(key)
        assert Mote.ask!(user, {:hash, {:of, key}}) == Plain.hash({:of, key})
      end
    end

    test "are spread over the shards" do
      shards = List.to_tuple(Enum.to_list(1..64))
      stepped = for step <- [1, 2, 64, 1_000, 1_048_576], do: Enum.map(1..6_400, &(&1 * step))
      texts = for n <- 1..6_400, do: "user:#{n}@example.com"

      others = [
        texts,
        Enum.map(texts, &String.to_atom/1),
        for(n <- 1..6_400, do: {:room, n}),
        for(n <- 1..6_400, do: n / 8)
      ]

      for keys <- stepped ++ others do
        sizes = keys |> Enum.frequencies_by(&Plain.shard(%{shards: shards}, &1)) |> Map.values()
        assert length(sizes) == 64
        assert Enum.max(sizes) < 300
      end
    end
  end

  describe "at the same time" do
    test "many senders start one actor for each key", %{machine: machine} do
      made = Mote.create(machine, Actors.log())
      tallies = Directory.start(machine, Actors.tallies(made))
      keys = for n <- 1..500, do: {:key, n}
      users = for _ <- 1..4, do: Mote.create(machine, Actors.user(tallies))

      tasks =
        for n <- 1..4 do
          Task.async(fn ->
            for key <- Enum.shuffle(keys) do
              Directory.send(tallies, key, 1)
              Mote.send(Enum.at(users, n - 1), {:send, key, 1})
            end
          end)
        end

      Task.await_many(tasks, :infinity)
      :ok = Mote.drain(machine, :infinity)
      assert length(Mote.ask!(made, :entries, :infinity)) == 500
      assert Directory.count(tallies) == 500
      for key <- keys, do: assert(Directory.ask!(tallies, key, :read, :infinity) == {key, 8})
    end

    test "what one sender sends to one key keeps its order", %{machine: machine} do
      logs = Directory.start(machine, Actors.logs())
      keys = Enum.to_list(1..50)
      senders = for _ <- 1..20, do: Mote.create(machine, Actors.numbering(logs, keys, 0, 40))
      Enum.each(senders, &Mote.send(&1, :go))
      :ok = Mote.drain(machine, :infinity)

      for key <- keys do
        by_sender =
          Directory.ask!(logs, key, :entries, :infinity) |> Enum.group_by(&elem(&1, 0), &elem(&1, 1))

        assert Map.new(senders, &{&1, Enum.to_list(0..39)}) == by_sender
      end
    end

    test "nothing is lost when actors remove themselves and are started again", %{machine: machine} do
      left = Mote.create(machine, Actors.log())
      tallies = Directory.start(machine, Actors.tallies(left), shards: 4)
      user = Mote.create(machine, Actors.user(tallies))

      tasks =
        for _ <- 1..4 do
          Task.async(fn ->
            for n <- 1..2_000, key = rem(n, 10) do
              Mote.send(user, {:send, key, 1})
              Directory.send(tallies, key, 1)
              if rem(n, 37) == 0, do: Directory.send(tallies, key, {:leave, tallies})
            end
          end)
        end

      Task.await_many(tasks, :infinity)
      :ok = Mote.drain(machine, :infinity)
      gone = for {:left, n} <- Mote.ask!(left, :entries, :infinity), do: n
      assert length(gone) > 0
      there = for {_, address} <- Directory.stream(tallies), do: elem(Mote.ask!(address, :read, :infinity), 1)
      assert Enum.sum(gone) + Enum.sum(there) == 4 * 2_000 * 2
    end

    property "any order of turns leaves one actor for each key" do
      check all keys <- list_of(integer(0..3), min_length: 1), seed <- integer(0..1_000_000), max_runs: 30 do
        World.everywhere(
          seed,
          fn world ->
            me = World.customer(world, :me)
            shards = for _ <- 1..2, do: World.create(world, Actors.tallies(me))
            directory = %Directory{shards: List.to_tuple(shards)}
            users = for _ <- 1..2, do: World.create(world, Actors.user(directory))
            for key <- keys, user <- users, do: World.send(world, user, {:send, key, 1})
            World.advance(world, 0)
            count = World.customer(world, :count)
            for shard <- shards, do: World.send(world, shard, {count, :count})
            read = World.customer(world, :read)

            for key <- Enum.uniq(keys),
                do: World.send(world, hd(users), {:request, key, {read, {:to, key, :read}}})
          end,
          fn %{me: made, count: counts, read: read} ->
            assert length(made) == length(Enum.uniq(keys))
            assert Enum.sum(counts) == length(made)
            assert Map.new(read) == Map.new(Enum.frequencies(keys), fn {key, n} -> {key, 2 * n} end)
          end
        )
      end
    end
  end

  describe "what goes wrong" do
    test "a machine that is down" do
      {:ok, machine} = Mote.start_link()
      directory = Directory.start(machine, Actors.named())
      :ok = Mote.stop(machine)
      assert_raise Error, ~r/has ended/, fn -> Directory.send(directory, "a", 1) end
      assert {:error, %Error{reason: :machine_down}} = Directory.ask(directory, "a", :read)

      for call <- [
            &Directory.count/1,
            &Enum.to_list(Directory.stream(&1)),
            &Directory.whereis(&1, 1),
            &Directory.delete(&1, 1)
          ] do
        assert %Error{reason: :machine_down} = catch_error(call.(directory))
      end

      assert %Error{reason: :machine_down} = catch_error(Directory.start(machine))
    end

    test "no memory, until messages are handled" do
      machine = start_supervised!({Mote, memory: 16 * 1024 * 1024}, id: :small)
      named = Directory.start(machine, Actors.named())
      text = String.duplicate("x", 100_000)
      # While nothing runs, all that was sent is kept. Afterwards nothing is: a tally ignores it.
      :ok = Mote.pause(machine)
      # Of one binary that is in all of them there would be one.
      send = &Directory.send(named, "#{&1}", text <> "#{&1}")
      refused = Enum.find_value(1..10_000, &with(:ok <- send.(&1), do: nil))
      assert {:error, %Error{reason: :no_memory}} = refused
      :ok = Mote.resume(machine)
      eventually(fn -> match?({:ok, {"1", 0}}, Directory.ask(named, "1", :read)) end)
    end

    test "what is no directory, no behaviour of one, no option", %{machine: machine} do
      for {:error, error} <- [Directory.send(Nowhere, 1, 2), Directory.ask(Nowhere, 1, 2)] do
        assert error.reason == :unknown_directory
        assert error.message =~ "Nowhere"
      end

      for raises <- [
            &Directory.ask!(&1, 1, 2),
            &Directory.whereis(&1, 1),
            &Directory.fetch!/1,
            &Directory.count/1
          ],
          do: assert(%Error{reason: :unknown_directory} = catch_error(raises.(Nowhere)))

      assert_raise ArgumentError, ~r/a directory or the name of one/, fn -> Directory.ask({:x}, 1, 2) end
      assert_raise ArgumentError, ~r/a directory or the name of one/, fn -> Directory.count(nil) end

      assert_raise ArgumentError, ~r/what a defdirectory defines/, fn ->
        Directory.start(machine, Actors.log())
      end

      assert_raise ArgumentError, ~r/what a defdirectory defines/, fn ->
        Directory.start(machine, &Actors.log/0)
      end

      assert_raise ArgumentError, ~r/:shards to be/, fn ->
        Directory.start(machine, Actors.named(), shards: 0)
      end

      assert_raise ArgumentError, ~r/options of start/, fn -> Directory.start(machine, Actors.named(), :x) end

      assert_raise ArgumentError, ~r/unknown key :spnsor/, fn ->
        Directory.start(machine, Actors.named(), spnsor: :x)
      end

      assert %Error{reason: :unknown_sponsor} =
               catch_error(Directory.start(machine, Actors.named(), sponsor: :x))

      assert_raise ArgumentError, ~r/address of an actor/, fn ->
        Directory.put(Directory.start(machine), 1, self())
      end
    end

    test "definitions that are none" do
      assert Compile.error("defdirectory d(), do: 1") =~ "the body of a defdirectory consists of clauses"
      assert Compile.error("defdirectory 1 do _ -> nil end") =~ "write defdirectory name(capture)"
      assert Compile.error("defdirectory d() do _ -> 17 end") =~ "create and become want a behaviour"
      assert Compile.error("defactor a(d) do _ -> Mote.Directory.count(d) end") =~ "{self(), {:whereis, key}}"
    end
  end

  describe "a directory with a name" do
    test "is there while its process is, and comes back with its machine" do
      [machine, name] = for part <- [Machine, Directory], do: Module.concat(__MODULE__, part)

      children = [
        {Mote, name: machine},
        {Directory, name: name, machine: machine, start: Actors.named(), shards: 4}
      ]

      {:ok, supervisor} = Supervisor.start_link(children, strategy: :rest_for_one)
      assert Directory.send(name, "a", 3) == :ok
      assert Directory.ask!(name, "a", :read) == {"a", 3}
      assert [{"a", _}] = Enum.to_list(Directory.stream(name))
      old = Directory.fetch!(name)

      capture_log(fn ->
        Process.exit(Process.whereis(machine), :kill)

        # Whatever is met meanwhile is an error to return.
        eventually(fn ->
          sent = Directory.send(name, "b", 1)

          assert sent == :ok or
                   match?(
                     {:error, %Error{reason: reason}} when reason in [:machine_down, :unknown_directory],
                     sent
                   )

          Directory.ask(name, "a", :read) == {:ok, {"a", 0}}
        end)
      end)

      assert {:error, %Error{reason: :machine_down}} = Directory.ask(old, "a", :read)
      :ok = Supervisor.stop(supervisor)
      assert {:error, %Error{reason: :unknown_directory}} = Directory.send(name, "a", 1)
      assert %Error{reason: :machine_down} = catch_error(Directory.send(old, "a", 1))
    end

    test "needs a name and a machine", %{machine: machine} do
      assert_raise ArgumentError, ~r/:name/, fn -> Directory.start_link(machine: machine) end
      assert_raise ArgumentError, ~r/:machine/, fn -> Directory.start_link(name: X) end

      assert_raise ArgumentError, ~r/unknown key/, fn ->
        Directory.start_link(name: X, machine: machine, start_with: 1)
      end

      assert_raise ArgumentError, ~r/unknown key/, fn -> Directory.child_spec(nme: X) end
    end
  end
end
