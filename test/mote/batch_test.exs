defmodule Mote.BatchTest do
  # Many messages at once: all of them, in order, and how many of them when there is no room.
  use ExUnit.Case, async: true
  use ExUnitProperties

  import Mote.Mailbox

  alias Mote.{Actors, Error}

  @moduletag capture_log: true

  defp start(opts \\ []), do: start_supervised!({Mote, Keyword.put(opts, :id, make_ref())})
  defp forward(machine, opts \\ []), do: Mote.create(machine, Actors.forward(self()), opts)

  defp heard(machine) do
    :ok = Mote.drain(machine, 30_000)
    messages()
  end

  # A sponsor that is held up, with room for so many messages; and what lets it go on.
  defp full(inbox, opts \\ []) do
    machine = start(sponsors: [main: [], side: [inbox: inbox] ++ opts])
    forward = forward(machine, sponsor: :side)
    test = self()

    :ok = Mote.pause(machine)
    {machine, forward, fn -> {send(test, :resumed), Mote.resume(machine)} end}
  end

  describe "send_many" do
    test "sends all, in order, whatever they are" do
      machine = start()
      forward = forward(machine)

      terms = [
        1,
        2.5,
        :a,
        "b",
        {:c, [self(), forward]},
        %{d: make_ref()},
        [],
        2 ** 70,
        String.duplicate("e", 9_000)
      ]

      assert Mote.send_many(forward, terms) == :ok
      assert heard(machine) == terms
      assert Mote.send_many(forward, []) == :ok
      many = Enum.to_list(1..50_000)
      assert Mote.send_many(forward, many) == :ok
      assert heard(machine) == many
      assert Mote.info(machine).counters.foreign_in == 50_009
    end

    test "sends what is too big for a batch by itself" do
      machine = start()
      forward = forward(machine)
      big = Enum.to_list(1..10_000)
      assert Mote.send_many(forward, [1, big, 2, big, 3]) == :ok
      assert heard(machine) == [1, big, 2, big, 3]
    end

    test "goes where the address, the pin and the option say" do
      machine = start(sponsors: [main: [], side: []])
      turns = fn -> Enum.sum(for thread <- Mote.info(machine).sponsors.side.threads, do: thread.turns) end
      Mote.send_many(forward(machine), [1, 2], sponsor: :side)
      Mote.send_many(Mote.on(:side, forward(machine)), [3, 4])
      Mote.send_many(forward(machine, sponsor: :side), [5, 6])
      assert Enum.sort(heard(machine)) == [1, 2, 3, 4, 5, 6]
      assert turns.() == 6
    end

    test "to many: each in its order, between machines, sponsors, processes and customers" do
      [one, two] = [start(sponsors: [main: [], side: []]), start()]
      [a, b, c] = [forward(one), forward(one, sponsor: :side), forward(two)]
      targets = [a, a, b, c, self(), Mote.on(:side, a)]
      pairs = for n <- 1..600, target = Enum.at(targets, rem(n, 6)), do: {target, {rem(n, 6), n}}
      assert Mote.send_many(pairs) == :ok
      :ok = Mote.drain(one, 60_000)
      heard = heard(two)
      for i <- 0..5, do: assert(for({^i, n} <- heard, do: n) == for(n <- 1..600, rem(n, 6) == i, do: n))
      assert Mote.send_many([]) == :ok
    end

    test "by a seeded machine, one by one" do
      machine = start(schedule: {:seeded, 7})
      forward = forward(machine)
      :ok = Mote.send_many(forward, [1, %{two: 2}, make_ref(), 4])
      assert [1, %{two: 2}, ref, 4] = heard(machine)
      assert is_reference(ref)
    end

    test "says how many were accepted" do
      {machine, forward, go_on} = full(100)
      assert {:error, %Error{reason: :overloaded} = error} = Mote.send_many(forward, Enum.to_list(1..150))
      assert error.context.accepted == 100
      assert {:error, %Error{context: %{accepted: 0}}} = Mote.send_many([{forward, 1}])
      assert Mote.info(machine).sponsors.side.overloaded > 0
      go_on.()
      assert heard(machine) -- [:resumed] == Enum.to_list(1..100)
    end

    test "waits for room, if asked to" do
      {machine, forward, go_on} = full(100)
      spawn(fn -> Process.sleep(20) && go_on.() end)
      assert Mote.send_many(forward, Enum.to_list(1..1_000), on_full: :wait) == :ok
      assert heard(machine) -- [:resumed] == Enum.to_list(1..1_000)
    end

    test "raises for what cannot be right, and says how many were accepted before" do
      machine = start()
      forward = forward(machine)
      assert_raise ArgumentError, ~r/list of messages/, fn -> Mote.send_many(forward, :no_list) end
      assert_raise ArgumentError, ~r/proper list/, fn -> Mote.send_many(forward, [1 | 2]) end
      assert_raise ArgumentError, ~r/address of an actor/, fn -> Mote.send_many(self(), [1], []) end
      assert_raise ArgumentError, ~r/:on_full/, fn -> Mote.send_many(forward, [1], on_full: :never) end
      assert_raise ArgumentError, ~r/{address, message}/, fn -> Mote.send_many([{forward, 2}, :no_pair]) end

      assert_raise ArgumentError, ~r/an address, a customer or a pid/, fn ->
        Mote.send_many([{:nobody, 1}])
      end

      lost = %{forward | key: String.duplicate(<<0>>, 72)}
      error = catch_error(Mote.send_many([{forward, 3}, {lost, 4}, {forward, 5}]))
      assert %Error{reason: :unknown_address, context: %{accepted: 1}} = error
      assert %Error{reason: :unknown_sponsor} = catch_error(Mote.send_many(forward, [1], sponsor: :nobody))
      assert heard(machine) == [1, 2, 3]
    end

    test "to many of which one cannot be sent to: all before it are, wherever it stands, and none is kept" do
      machine = start()
      actors = for n <- 0..99, do: forward(machine) |> then(&{&1, n})
      {first, _} = hd(actors)
      lost = %{first | key: String.duplicate(<<0>>, 72)}
      %{references: references} = Mote.info(machine)

      for at <- [0, 1, 31, 32, 33, 63, 64, 99], wrong <- [lost, Mote.on(:nowhere, first)] do
        error = catch_error(Mote.send_many(List.replace_at(actors, at, {wrong, :wrong})))
        assert %Error{context: %{accepted: ^at}} = error
        assert error.reason in [:unknown_address, :unknown_sponsor]
        assert heard(machine) == Enum.to_list(0..(at - 1)//1)
        assert Mote.info(machine).references == references
      end

      assert Mote.send_many(actors) == :ok
      assert heard(machine) == Enum.to_list(0..99)
      assert Mote.info(machine).references == references
    end

    test "of a machine that has ended" do
      machine = start_supervised!({Mote, id: :ending})
      forward = forward(machine)
      stop_supervised!(:ending)

      assert %Error{reason: :machine_down, context: %{accepted: 0}} =
               catch_error(Mote.send_many(forward, [1]))

      assert %Error{reason: :machine_down} = catch_error(Mote.send_many([{forward, 1}]))
    end

    test "keeps what is on its way" do
      machine = start()
      :ok = Mote.pause(machine)
      test = self()

      spawn(fn ->
        echoes = for _ <- 1..10, do: Mote.create(machine, Actors.echo())
        Mote.send_many(for echo <- echoes, do: {echo, {test, echo}})
        send(test, :sent)
      end)

      assert_receive :sent
      Process.sleep(10)
      :ok = Mote.resume(machine)
      Mote.gc(machine)
      assert length(heard(machine)) == 10
    end
  end

  describe "cast_stream" do
    test "sends everything, and takes no more than there is room for" do
      machine = start(sponsors: [main: [inbox: 50]])
      forward = forward(machine)
      assert Mote.cast_stream(forward, Stream.map(1..20_000, & &1)) == {:ok, 20_000}
      assert heard(machine) == Enum.to_list(1..20_000)
      assert Mote.info(machine).sponsors.main.high_water <= 50 + 1
      assert Mote.cast_stream(forward, []) == {:ok, 0}

      for wrong <- [5, [1 | 2]] do
        message = "expected a proper list or another enumerable of messages, got: #{inspect(wrong)}"
        assert_raise ArgumentError, message, fn -> Mote.cast_stream(forward, wrong) end
      end
    end

    test "says how many were accepted" do
      {_, forward, _} = full(700)

      assert {:error, %Error{context: %{accepted: 700}}} =
               Mote.cast_stream(forward, 1..5_000, on_full: :error)

      assert {:error, %Error{context: %{accepted: 0}}} = Mote.cast_stream(forward, 1..5_000, timeout: 10)
    end
  end

  test "a machine that is down is told of, also when there is nothing to send" do
    machine = start([])
    forward = forward(machine)
    :ok = Mote.stop(machine)

    for messages <- [[], [1]], send <- [&Mote.send_many/2, &Mote.cast_stream/2] do
      assert %Error{reason: :machine_down} = catch_error(send.(forward, messages))
    end

    assert_raise ArgumentError, ~r/expected the address of an actor/, fn -> Mote.cast_stream(:forward, []) end
  end

  property "many at once are as many one by one" do
    machine = start(sponsors: [main: [], side: []])

    check all(pairs <- list_of(tuple({integer(0..2), term()}), max_length: 60), max_runs: 50) do
      targets = [forward(machine), forward(machine), Mote.on(:side, forward(machine))]
      messages = for {{to, term}, n} <- Enum.with_index(pairs), do: {Enum.at(targets, to), {to, n, term}}
      :ok = Mote.send_many(messages)
      heard = heard(machine)

      for to <- 0..2 do
        expected = for {_, {^to, _, _} = message} <- messages, do: message
        assert for({^to, _, _} = message <- heard, do: message) == expected
      end
    end
  end
end
