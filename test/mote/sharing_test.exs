defmodule Mote.SharingTest.Parts do
  use Mote.Behaviour

  # All messages, the newest first.
  defactor list(all \\ []) do
    {customer, :get} -> send customer, all
    message -> become all: [message | all]
  end
end

defmodule Mote.SharingTest do
  # What messages and actors have in common is written once: in one call by itself, between calls by Mote.share/2, and long
  # binaries always.
  use ExUnit.Case, async: true
  import Mote.Eventually

  alias Mote.Actors
  alias Mote.SharingTest.Parts

  defp charged(machine) do
    Mote.gc(machine)
    Mote.info(machine).memory.charged
  end

  defp start(opts \\ []) do
    {:ok, machine} = Mote.start_link(opts)
    machine
  end

  # A part that is large enough to be written once, made of earlier parts.
  defp part(n, earlier) do
    one = fn -> Enum.random([n, 1.5, :word, "text", [n], {n, [n]} | earlier]) end
    size = Enum.random([3, 31, 32, 33, 100])

    case :rand.uniform(4) do
      1 -> for _ <- 1..size, do: one.()
      2 -> for(_ <- 1..size, do: one.()) |> List.to_tuple()
      3 -> Map.new(1..size, &{{n, &1}, one.()})
      4 -> for(_ <- 1..size, do: one.()) ++ :tail
    end
  end

  defp parts(count) do
    # Few references each, for written out a part is as large as all that it refers to.
    Enum.reduce(1..count, [], fn n, parts ->
      [part(n, Enum.take(parts, if(rem(n, 3) == 0, do: 1, else: 0))) | parts]
    end)
  end

  defp messages(parts, count) do
    for n <- 1..count do
      some = for _ <- 1..:rand.uniform(3), do: Enum.random(parts)
      Enum.random([{n, some}, [n | some], %{n => some}, hd(some), {hd(some), %{hd(some) => n}}])
    end
  end

  describe "in one call" do
    for {name, opts} <- [plain: [], seeded: [schedule: {:seeded, 1}]] do
      test "terms arrive as they were sent, whatever they share (#{name})" do
        seed = :rand.uniform(1_000_000)
        :rand.seed(:exsss, seed)
        machine = start(unquote(opts))

        for _ <- 1..10 do
          sent = 8 |> parts() |> messages(60)
          keepers = Mote.create_many(machine, for(message <- sent, do: Actors.keeper(message)))
          assert Mote.ask_all(keepers, :get) == for(message <- sent, do: {:ok, message}), "seed #{seed}"

          [to] = Mote.create_many(machine, Parts.list(), 1)
          :ok = Mote.send_many(to, sent)
          assert Mote.ask!(to, :get) == Enum.reverse(sent), "seed #{seed}"

          targets = Mote.create_many(machine, Parts.list(), 7)
          pairs = for {message, n} <- Enum.with_index(sent), do: {Enum.at(targets, rem(n, 7)), message}
          :ok = Mote.send_many(pairs)

          for target <- targets do
            expected = for {^target, message} <- pairs, do: message
            assert Mote.ask!(target, :get) == Enum.reverse(expected), "seed #{seed}"
          end

          keeper = Mote.create(machine, Actors.keeper(sent))
          assert Mote.ask!(keeper, :get) == sent, "seed #{seed}"
        end
      end
    end

    test "actors of one batch have one copy" do
      table = Map.new(1..5_000, &{&1, &1})
      machine = start()
      one = Mote.create(machine, Actors.keeper(table))
      alone = charged(machine)

      for make <- [
            fn -> Mote.create_many(machine, for(_ <- 1..400, do: Actors.keeper(table))) end,
            # Of more than one batch.
            fn -> Mote.create_many(machine, Actors.keeper(table), 4_000) end,
            fn ->
              [one | _] = all = Mote.create_many(machine, Parts.list(), 400)
              :ok = Mote.send_many(for to <- all, do: {to, table})
              [table] = Mote.ask!(one, :get)
              assert map_size(table) == 5_000
              all
            end
          ] do
        before = charged(machine)
        all = make.()
        # A second copy is a block or two.
        assert charged(machine) - before < 20 * alone
        assert Mote.ask!(List.last(all), :get) in [table, [table]]
      end

      assert Mote.ask!(one, :get) == table
    end
  end

  describe "a shared value" do
    test "is the value, in captures and in messages, at any depth" do
      machine = start()
      shared = Mote.share(machine, %{a: [1, 2]})
      assert shared.value == %{a: [1, 2]}
      assert inspect(shared) == "#Mote.Shared<%{a: [1, 2]}>"
      keeper = Mote.create(machine, Actors.keeper({shared, [shared]}))
      assert Mote.ask!(keeper, :get) == {%{a: [1, 2]}, [%{a: [1, 2]}]}
      assert Mote.ask!(keeper, {:swap, shared}) == {%{a: [1, 2]}, [%{a: [1, 2]}]}
      assert Mote.ask!(keeper, :get) == %{a: [1, 2]}
      list = Mote.create(machine, Parts.list())
      :ok = Mote.send_many(list, [shared, {1, shared}])
      assert Mote.ask!(list, :get) == [{1, %{a: [1, 2]}}, %{a: [1, 2]}]
    end

    test "is kept once, as long as this term or an actor has it" do
      machine = start()
      before = Mote.info(machine).references

      {actors, one} =
        Task.async(fn ->
          shared = Mote.share(machine, Enum.to_list(1..100_000))
          one = charged(machine)
          {for(_ <- 1..200, do: Mote.create(machine, Actors.keeper(shared))), one}
        end)
        |> Task.await()

      assert charged(machine) < 2 * one
      collect(machine, before + length(actors))
      assert Mote.ask!(List.last(actors), :get) == Enum.to_list(1..100_000)
    end

    test "is its value for another machine, and where it is made up" do
      [machine, other] = [start(), start()]
      shared = Mote.share(machine, {:of, :one})
      assert Mote.ask!(Mote.create(other, Actors.keeper(shared)), :get) == {:of, :one}

      # The key of an actor that is no shared value shows nothing of that actor.
      actor = Mote.create(machine, Actors.keeper(:secret))

      for key <- [actor.key, "", nil, :binary.copy(<<0>>, 72)] do
        made_up = %Mote.Shared{machine: machine, key: key, value: :public} |> Map.put(:machine, actor.machine)
        assert Mote.ask!(Mote.create(machine, Actors.keeper(made_up)), :get) == :public
      end

      # And it is no actor that does anything.
      address = %{actor | key: shared.key}
      assert Mote.send(address, :anything) == :ok
      assert Mote.info(address).behaviour |> is_atom()
      Mote.stop(machine)
      assert Mote.ask!(Mote.create(other, Actors.keeper(shared)), :get) == {:of, :one}
      assert_raise Mote.Error, fn -> Mote.share(machine, 1) end
      assert_raise ArgumentError, ~r/own node/, fn -> Mote.share({:machine, :other@nowhere}, 1) end
    end

    test "needs memory, once" do
      machine = start(memory: 16_000_000)
      error = assert_raise Mote.Error, fn -> Mote.share(machine, Enum.to_list(1..5_000_000)) end
      assert error.reason == :no_memory
    end
  end

  describe "a long binary" do
    test "is charged once, for all that have it, and not at all when they are gone" do
      bytes = 16_000_000
      machine = start(memory: 8 * bytes)
      binary = :binary.copy(<<7>>, bytes)
      before = charged(machine)

      actors =
        for how <- [:create, :send, :create_many, :send_many], _ <- 1..40 do
          case how do
            :create -> Mote.create(machine, Actors.keeper(binary))
            :create_many -> hd(Mote.create_many(machine, [Actors.keeper([binary, binary])]))
            _ -> tap(Mote.create(machine, Parts.list()), &send_it(how, &1, binary))
          end
        end

      assert (charged(machine) - before) in bytes..(2 * bytes)
      assert Mote.ask!(hd(actors), :get) == binary
      assert Mote.ask!(List.last(actors), :get) == [binary]
      # What comes back is the same binary, also as a part of other messages.
      assert Mote.ask!(Mote.create(machine, Actors.keeper({Mote.ask!(hd(actors), :get), 1})), :get) ==
               {binary, 1}

      assert (charged(machine) - before) in bytes..(2 * bytes)
      # As long as anybody has it.
      [kept | _] = actors
      assert Mote.ask!(kept, {:swap, nil}) == binary
    end

    test "of another machine is charged by both" do
      [machine, other] = for _ <- 1..2, do: start(memory: 128_000_000)
      binary = :binary.copy(<<7>>, 16_000_000)
      list = Mote.create(other, Parts.list())
      before = charged(other)
      relay = Mote.create(machine, Actors.forward(list))
      for _ <- 1..20, do: Mote.send(relay, binary)
      assert eventually(fn -> length(Mote.ask!(list, :get)) == 20 end)
      assert (charged(other) - before) in 16_000_000..32_000_000
    end

    defp send_it(:send, to, binary), do: :ok = Mote.send(to, binary)
    defp send_it(:send_many, to, binary), do: :ok = Mote.send_many(to, [binary])
  end

  describe "a large map" do
    test "goes to processes whole, between what was sent before and after it" do
      machine = start()
      me = self()

      for size <- [0, 32, 33, 1_000, 6_000], wrap <- [& &1, &{1, &1}, &[&1, [&1]], &%{k: {&1}}] do
        map = Map.new(1..size//1, &{{:key, &1}, [&1]})
        value = wrap.(map)
        echo = Mote.create(machine, Actors.echo())
        for n <- 1..3, do: Mote.send(echo, {me, {:before, n}})
        Mote.send(echo, {me, value})
        for n <- 1..3, do: Mote.send(echo, {me, {:after, n}})
        for n <- 1..3, do: assert_receive({:before, ^n}, 30_000)
        assert_receive ^value, 30_000
        for n <- 1..3, do: assert_receive({:after, ^n}, 30_000)
        assert Mote.ask!(echo, value) == value
        ask = Mote.async(echo, value)
        assert Mote.await(ask, 30_000) == value
        assert me |> Process.info(:message_queue_len) |> elem(1) == 0
      end
    end

    test "is not lost when the machine stops" do
      for _ <- 1..5 do
        machine = start()
        map = Map.new(1..20_000, &{&1, &1})
        echo = Mote.create(machine, Actors.echo())
        for _ <- 1..5, do: Mote.send(echo, {self(), map})
        Mote.drain(machine, 30_000)
        Mote.stop(machine)
        for _ <- 1..5, do: assert_receive(^map, 30_000)
      end
    end
  end
end
