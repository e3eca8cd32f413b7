defmodule Mote.PartitionTest.Actors do
  use Mote.Behaviour

  @doc "Remembers the last number of each sender, and how many came out of order."
  defactor log(last, wrong) do
    {customer, :read} ->
      send customer, {last, wrong}

    {customer, {:say, from, n}} ->
      send customer, :ok
      become last: Map.put(last, from, n), wrong: wrong + wrong(last, from, n)

    {:say, from, n} ->
      become last: Map.put(last, from, n), wrong: wrong + wrong(last, from, n)
  end

  defpurep wrong(last, from, n), do: if(n == Map.get(last, from, 0) + 1, do: 0, else: 1)

  defdirectory logs() do
    key when is_integer(key) -> log(%{}, 0)
  end
end

defmodule Mote.PartitionTest do
  use ExUnit.Case, async: true
  import Mote.Eventually

  alias Mote.Directory
  alias Mote.PartitionTest.Actors

  @moduletag capture_log: true

  defp start(threads),
    do: start_supervised!({Mote, sponsors: [main: [threads: threads, partition: true]], id: make_ref()})

  defp threads(machine), do: Mote.info(machine).sponsors.main.threads
  defp thread(actor), do: Mote.info(actor).thread

  # Each of these threads has begun and sleeps, so that it can be stood in for.
  defp all_asleep(machine) do
    eventually(fn ->
      sponsor = Mote.info(machine).sponsors.main
      sponsor.asleep == length(sponsor.threads) and Enum.all?(sponsor.threads, &(&1.parks > 0))
    end)
  end

  describe "the threads of a partitioned sponsor" do
    test "take turns in getting actors from outside, and keep them" do
      machine = start(3)
      one_by_one = for _ <- 1..6, do: Mote.create(machine, Actors.log(%{}, 0))
      together = Mote.create_many(machine, Actors.log(%{}, 0), 6)
      listed = Mote.create_many(machine, for(_ <- 1..6, do: Actors.log(%{}, 0)))

      for actors <- [one_by_one, together, listed] do
        assert actors |> Enum.map(&thread/1) |> Enum.frequencies() == %{1 => 2, 2 => 2, 3 => 2}
      end

      before = Enum.map(one_by_one, &thread/1)
      for n <- 1..100, actor <- one_by_one, do: :ok = Mote.send(actor, {:say, 1, n})
      :ok = Mote.send_many(for n <- 1..100, actor <- one_by_one, do: {actor, {:say, 2, n}})
      :ok = Mote.drain(machine)
      assert Enum.map(one_by_one, &thread/1) == before
      for actor <- one_by_one, do: assert({:ok, {%{1 => 100, 2 => 100}, 0}} = Mote.ask(actor, :read))
      assert Enum.sum(for thread <- threads(machine), do: thread.forwarded + thread.taken_over) == 0
    end

    test "are stood in for, each by who asks its actors" do
      machine = start(2)
      [a, b] = Mote.create_many(machine, Actors.log(%{}, 0), 2)

      # A thread that is awake at the moment answers itself.
      for {actor, place} <- [{a, 0}, {b, 1}] do
        eventually(fn ->
          all_asleep(machine)
          before = Enum.map(threads(machine), & &1.stand_ins)
          {:ok, {%{}, 0}} = Mote.ask(actor, :read)
          after_it = Enum.map(threads(machine), & &1.stand_ins)
          after_it == List.update_at(before, place, &(&1 + 1))
        end)
      end
    end

    test "have the keys of a directory by their shards, and those that its actors start" do
      machine = start(2)
      logs = Directory.start(machine, Actors.logs(), shards: 8)
      keys = 1..200
      for key <- keys, do: {:ok, :ok} = Directory.ask(logs, key, {:say, 1, 1})

      places =
        for key <- keys do
          shard = logs |> Directory.shard(key) |> thread()
          assert logs |> Directory.whereis(key) |> thread() == shard
          shard
        end

      assert places |> Enum.uniq() |> Enum.sort() == [1, 2]
      assert Enum.sum(for thread <- threads(machine), do: thread.forwarded + thread.taken_over) == 0
    end
  end

  describe "several processes" do
    test "ask and send to all actors, and each finds its messages in order, none lost" do
      machine = start(2)
      logs = Directory.start(machine, Actors.logs())
      actors = Mote.create_many(machine, Actors.log(%{}, 0), 10)
      rounds = 300

      ask = fn from, n ->
        for {actor, at} <- Enum.with_index(actors) do
          case rem(n + at + from, 3) do
            0 -> {:ok, :ok} = Mote.ask(actor, {:say, from, n})
            1 -> :ok = Mote.send(actor, {:say, from, n})
            2 -> :ok = Mote.send_many([{actor, {:say, from, n}}])
          end
        end

        for key <- 1..10 do
          case rem(n + key + from, 2) do
            0 -> {:ok, :ok} = Directory.ask(logs, key, {:say, from, n})
            1 -> :ok = Directory.send(logs, key, {:say, from, n})
          end
        end
      end

      1..4
      |> Enum.map(fn from -> Task.async(fn -> for n <- 1..rounds, do: ask.(from, n) end) end)
      |> Task.await_many(:infinity)

      all = Map.new(1..4, &{&1, rounds})
      for actor <- actors, do: assert(Mote.ask(actor, :read) == {:ok, {all, 0}})
      for key <- 1..10, do: assert(Directory.ask(logs, key, :read) == {:ok, {all, 0}})
    end

    test "go on while the sponsor of what they ask is removed" do
      machine = start_supervised!({Mote, id: make_ref()})
      :ok = Mote.add_sponsor(machine, :west, threads: 2, partition: true)
      actors = for _ <- 1..4, do: Mote.create(machine, Actors.log(%{}, 0), sponsor: :west)
      me = self()

      askers =
        for from <- 1..3 do
          Task.async(fn ->
            for n <- 1..400 do
              if n == 100, do: send(me, :begun)

              for {actor, at} <- Enum.with_index(actors) do
                case rem(n + at, 2) do
                  0 -> {:ok, :ok} = Mote.ask(actor, {:say, from, n})
                  1 -> :ok = Mote.send(actor, {:say, from, n})
                end
              end
            end
          end)
        end

      for _ <- askers, do: assert_receive(:begun, 60_000)
      assert :ok = Mote.remove_sponsor(machine, :west)
      Task.await_many(askers, :infinity)
      all = Map.new(1..3, &{&1, 400})
      for actor <- actors, do: assert(Mote.ask(actor, :read) == {:ok, {all, 0}})
      assert Mote.info(hd(actors)).sponsor == :main
    end

    test "learn that the machine has stopped, whatever they ask" do
      machine = start(2)
      actors = Mote.create_many(machine, Actors.log(%{}, 0), 4)

      askers =
        for actor <- actors do
          Task.async(fn ->
            fn -> Mote.ask(actor, :read) end
            |> Stream.repeatedly()
            |> Enum.find(&match?({:error, _}, &1))
          end)
        end

      eventually(fn -> Enum.all?(threads(machine), &(&1.turns > 100)) end)
      :ok = Mote.stop(machine)

      for asker <- askers do
        assert {:error, error} = Task.await(asker, 60_000)
        assert error.reason in [:machine_down, :stopping]
      end
    end
  end

  @tag :tmp_dir
  test "an image gives what the outside has to the threads by turn again", %{tmp_dir: dir} do
    path = Path.join(dir, "image")
    identity = "partition-#{System.unique_integer()}"
    sponsors = [main: [threads: 2, partition: true]]
    {:ok, machine} = Mote.start_link(sponsors: sponsors, identity: identity)
    actors = Mote.create_many(machine, Actors.log(%{}, 0), 8)
    for actor <- actors, do: {:ok, :ok} = Mote.ask(actor, {:say, 1, 1})
    {:ok, _} = Mote.save(machine, path)
    :ok = Mote.stop(machine)
    {:ok, _} = Mote.start_link(sponsors: sponsors, image: path, identity: identity)
    for actor <- actors, do: {:ok, :ok} = Mote.ask(actor, {:say, 1, 2})
    for actor <- actors, do: assert({:ok, {%{1 => 2}, 0}} = Mote.ask(actor, :read))
    assert actors |> Enum.map(&thread/1) |> Enum.frequencies() == %{1 => 4, 2 => 4}
  end

  test "the option is a boolean, and beam sponsors have none" do
    assert_raise ArgumentError, ~r/expected :partition of sponsor :main to be a boolean, got: 2/, fn ->
      Mote.start_link(sponsors: [main: [partition: 2]])
    end

    assert_raise ArgumentError, ~r/unknown option :partition of beam sponsor :main/, fn ->
      Mote.start_link(sponsors: [main: [beam: true, partition: true]])
    end
  end
end
