defmodule Mote.ReferenceTest do
  # The simulator: order, counters, timers, what leaves it.
  use ExUnit.Case, async: true

  alias Mote.Reference

  defmodule Programs do
    use Mote.Behaviour, errors: :undefined

    defactor node(parent) do
      0 ->
        send parent, :done

      depth when depth > 0 ->
        left = create node(self())
        right = create node(self())
        send left, depth - 1
        send right, depth - 1
        become collect(parent, 2)
    end

    defactor collect(parent, n) do
      :done when n > 1 -> become collect(parent, n - 1)
      :done -> send parent, :done
    end

    defactor counter(n) do
      {customer, :read} ->
        send customer, n

      {:add, k} when is_integer(k) ->
        become counter(n + k)

      :stop ->
        become sink()

      {:boom, x} ->
        send x, :never
        become counter(0)
        {:ok, _} = x

      :lost ->
        nobody = 7
        send nobody, :lost

      :spin ->
        spin()

      {:echo, customer, list} ->
        for x <- list, do: send(customer, {n, x})

      {:later, customer} ->
        send_after 20, customer, :second
        send_after 10, customer, :first
        never = :never
        send_after never, customer, :no

      {:cross, customer} ->
        sendx :io, on(:net, customer), :crossed

      {:born, customer} ->
        send customer, create(sink())
    end

    defpure spin(), do: spin()
  end

  defp new(behaviour, opts \\ []), do: opts |> Reference.new() |> Reference.create(behaviour)

  test "the fork bomb" do
    {root, ref} = new(Programs.node(self()))
    ref = ref |> Reference.send(root, 10) |> Reference.run()
    assert Reference.outside(ref) == [{self(), :done}]

    assert %{turns: turns, sends: sends, creates: 2046, ignored: 0, dropped: 0, aborts: aborts} =
             Reference.counters(ref)

    assert aborts == %{}
    assert turns == 2047 + 2046
    # Each turn but those of the root's message was sent; the last send went outside.
    assert sends == turns
    assert Reference.pending(ref) == 0
    assert Reference.state(ref, root) == Programs.collect(self(), 1)
  end

  test "strictly first in, first out; sends of a turn in program order" do
    {a, ref} = new(Programs.counter(:a))
    {b, ref} = Reference.create(ref, Programs.counter(:b))
    c = Reference.customer(:c)
    ref = ref |> Reference.send(a, {:echo, c, [1, 2]}) |> Reference.send(b, {:echo, c, [3]})
    ref = ref |> Reference.send(a, {c, :read}) |> Reference.run()
    assert Reference.outside(ref) == [{:c, {:a, 1}}, {:c, {:a, 2}}, {:c, {:b, 3}}, {:c, :a}]
  end

  test "run stops after some turns" do
    {a, ref} = new(Programs.counter(0))
    ref = Enum.reduce(1..5, ref, &Reference.send(&2, a, {:add, &1}))
    ref = Reference.run(ref, 2)
    assert Reference.state(ref, a) == Programs.counter(3)
    assert Reference.pending(ref) == 3
    assert ref |> Reference.run() |> Reference.state(a) == Programs.counter(15)
  end

  test "aborts leave no footprints and are counted by reason" do
    {a, ref} = new(Programs.counter(1))
    ref = ref |> Reference.send(a, {:boom, self()}) |> Reference.run()
    assert Reference.outside(ref) == []
    assert Reference.state(ref, a) == Programs.counter(1)
    assert %{aborts: %{badmatch: 1}, becomes: 0, sends: 0, turns: 1} = Reference.counters(ref)
  end

  test "sinks ignore, unknown messages are ignored, what has no address is dropped" do
    {a, ref} = new(Programs.counter(1))
    messages = [:unknown, :lost, :stop, {:add, 1}]
    ref = messages |> Enum.reduce(ref, &Reference.send(&2, a, &1)) |> Reference.run()
    assert Reference.state(ref, a) == :sink
    assert %{ignored: 2, dropped: 1, sends: 0, becomes: 1, turns: 4} = Reference.counters(ref)
    assert %{dropped: 2} = ref |> Reference.send(:nobody, 1) |> Reference.counters()
  end

  test "a created sink ignores everything" do
    {a, ref} = new(Programs.counter(1))
    ref = ref |> Reference.send(a, {:born, Reference.customer(:c)}) |> Reference.run()
    assert [{:c, sink}] = Reference.outside(ref)
    assert Reference.state(ref, sink) == :sink
    assert %{ignored: 1} = ref |> Reference.send(sink, :x) |> Reference.run() |> Reference.counters()
  end

  test "timers wait for the clock" do
    {a, ref} = new(Programs.counter(1))
    c = Reference.customer(:c)
    ref = ref |> Reference.send(a, {:later, c}) |> Reference.run()
    assert Reference.outside(ref) == []
    ref = Reference.advance(ref, 9)
    assert Reference.outside(ref) == []
    ref = Reference.advance(ref, 1)
    assert Reference.outside(ref) == [{:c, :first}]
    ref = Reference.advance(ref, 100)
    assert Reference.outside(ref) == [{:c, :first}, {:c, :second}]
    assert %{timers: 2, dropped: 1} = Reference.counters(ref)
  end

  test "sendx and on are one sponsor's business here, but recorded" do
    {a, ref} = new(Programs.counter(1))
    c = Reference.customer(:c)
    {b, ref} = Reference.create(ref, Programs.counter(2))
    ref = ref |> Reference.send(a, {:cross, c}) |> Reference.send(a, {:cross, b}) |> Reference.run()
    assert Reference.outside(ref) == [{:c, :crossed}]
    # A customer has no sponsor to go to.
    assert [{:io, ^c, :crossed}, {:io, %Reference.On{sponsor: :net, address: ^b}, :crossed}] =
             Reference.sendx(ref)
  end

  test "mistakes are named, and time does not run backwards" do
    {a, ref} = new(Programs.counter(1))

    stranger =
      "expected the address of an actor of this simulator (create/2 gives one that has the new actor), got: "

    for {message, call} <- [
          {"expected the options of Mote.Reference.new/1 to be a keyword list, got: :x",
           fn -> Reference.new(:x) end},
          {"unknown key :fuel in the options of Mote.Reference.new/1; there are :turn",
           fn -> Reference.new(fuel: 1) end},
          {"expected :turn to be a function of three arguments, got: 3", fn -> Reference.new(turn: 3) end},
          {"expected a behaviour, such as Counter.counter(0), got: :counter",
           fn -> Reference.create(ref, :counter) end},
          {"expected a number of turns or :infinity, got: -1", fn -> Reference.run(ref, -1) end},
          {"expected milliseconds, an integer from 0, got: -5", fn -> Reference.advance(ref, -5) end},
          {"expected milliseconds, an integer from 0, got: 1.5", fn -> Reference.advance(ref, 1.5) end},
          {stranger <> "#Mote.Reference.Address<7>",
           fn -> Reference.state(ref, %Reference.Address{id: 7}) end},
          {stranger <> "#Mote.Reference.Address<customer :c>",
           fn -> Reference.state(ref, Reference.customer(:c)) end},
          {stranger <> ":counter", fn -> Reference.state(ref, :counter) end},
          {stranger <> "#Mote.Reference.Address<1>", fn -> Reference.send(Reference.new(), a, 1) end}
        ] do
      assert assert_raise(ArgumentError, call).message == message
    end

    assert ref |> Reference.advance(0) |> Reference.state(a) == Programs.counter(1)
  end

  test "addresses are printed short" do
    assert inspect(%Reference.Address{id: 3}) == "#Mote.Reference.Address<3>"
    assert inspect(Reference.customer(:c)) == "#Mote.Reference.Address<customer :c>"
  end

  test "the programs of this test keep the rules of the IR" do
    assert Mote.Disassemble.breaches(Programs) == []
  end
end
