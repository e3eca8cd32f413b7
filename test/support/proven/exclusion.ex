defmodule Mote.Proven.Exclusion do
  # Mutual exclusion over shared registers: Peterson's algorithm for two (1981), and Lamport's bakery (1974). A register is an actor, so
  # each read and each write is a message and its answer, and anything may come between them. `wrong: true` plants a mistake.
  @moduledoc false

  defmodule Register do
    use Mote.Behaviour

    defactor register(value) do
      {customer, :read} ->
        send customer, {:is, value}

      {customer, {:write, value}} ->
        send customer, :written
        become register(value)
    end
  end

  defmodule Peterson do
    # Each says that it wants to go in, gives way to the other, and waits until that one does not want to or has given way. Wrong: it
    # gives way first.
    use Mote.Behaviour

    defactor idle(me, mine, other, way, wrong) do
      :go ->
        if wrong, do: send(way, {self(), {:write, 1 - me}}), else: send(mine, {self(), {:write, true}})
        become wants(me, mine, other, way, wrong)
    end

    defactor wants(me, mine, other, way, wrong) do
      :written ->
        if wrong, do: send(mine, {self(), {:write, true}}), else: send(way, {self(), {:write, 1 - me}})
        become gives(me, mine, other, way)
    end

    defactor gives(me, mine, other, way) do
      :written ->
        send other, {self(), :read}
        become looks(me, mine, other, way)
    end

    defactor looks(me, mine, other, way) do
      {:is, false} ->
        send self(), :leave
        become inside(mine)

      {:is, true} ->
        send way, {self(), :read}
        become waits(me, mine, other, way)
    end

    defactor waits(me, mine, other, way) do
      {:is, n} when n == me ->
        send self(), :leave
        become inside(mine)

      {:is, _} ->
        send other, {self(), :read}
        become looks(me, mine, other, way)
    end

    defactor inside(mine) do
      :leave ->
        send mine, {self(), {:write, false}}
        become done()
    end

    defactor done() do
      :written -> :ok
    end
  end

  defmodule Bakery do
    # Each takes a number above all that it sees, and waits for those with lower ones. While it chooses, others wait for it. Wrong: nobody
    # waits for those that choose.
    use Mote.Behaviour

    # `places`: of each its register of whether it chooses, and that of its number.
    defactor idle(me, places, wrong) do
      :go ->
        {choosing, _} = elem(places, me)
        send choosing, {self(), {:write, not wrong}}
        become chooses(me, places, 0, 0)
    end

    # Reads the numbers of all others.
    defactor chooses(me, places, n, highest) do
      :written ->
        {_, number} = elem(places, 0)
        send number, {self(), :read}

      {:is, number} when n + 1 < tuple_size(places) ->
        {_, next} = elem(places, n + 1)
        send next, {self(), :read}
        become chooses(me, places, n + 1, if(number > highest, do: number, else: highest))

      {:is, number} ->
        mine = if(number > highest, do: number, else: highest) + 1
        {_, register} = elem(places, me)
        send register, {self(), {:write, mine}}
        become has(me, places, mine)
    end

    defactor has(me, places, mine) do
      :written ->
        {choosing, _} = elem(places, me)
        send choosing, {self(), {:write, false}}
        become asks(me, places, mine, 0)
    end

    # Waits for those from the n-th on, that it does not choose.
    defactor asks(me, places, mine, n) do
      :written ->
        {choosing, _} = elem(places, n)
        send choosing, {self(), :read}

      {:is, true} ->
        {choosing, _} = elem(places, n)
        send choosing, {self(), :read}

      {:is, false} ->
        {_, number} = elem(places, n)
        send number, {self(), :read}
        become compares(me, places, mine, n)
    end

    # And then that it has no lower number.
    defactor compares(me, places, mine, n) do
      {:is, number} when number != 0 and (number < mine or (number == mine and n < me)) ->
        {_, register} = elem(places, n)
        send register, {self(), :read}

      {:is, _} when n + 1 < tuple_size(places) ->
        {choosing, _} = elem(places, n + 1)
        send choosing, {self(), :read}
        become asks(me, places, mine, n + 1)

      {:is, _} ->
        send self(), :leave
        become inside(me, places)
    end

    defactor inside(me, places) do
      :leave ->
        {_, number} = elem(places, me)
        send number, {self(), {:write, 0}}
        become done()
    end

    defactor done() do
      :written -> :ok
    end
  end

  @doc "Two who want to go in by Peterson's algorithm."
  def peterson(machine, opts \\ []) do
    [way | wants] = for value <- [0, false, false], do: Mote.create(machine, Register.register(value))

    for {me, mine, other} <- [{0, 0, 1}, {1, 1, 0}] do
      [mine, other] = for n <- [mine, other], do: Enum.at(wants, n)
      one = Mote.create(machine, Peterson.idle(me, mine, other, way, opts[:wrong] || false))
      :ok = Mote.send(one, :go)
      one
    end
  end

  @doc "So many who want to go in by the bakery's."
  def bakery(machine, n, opts \\ []) do
    register = &Mote.create(machine, Register.register(&1))
    places = List.to_tuple(for _ <- 1..n, do: {register.(false), register.(0)})

    for me <- 0..(n - 1) do
      one = Mote.create(machine, Bakery.idle(me, places, opts[:wrong] || false))
      :ok = Mote.send(one, :go)
      one
    end
  end

  @doc "What is to be true always: at most one is inside."
  def alone?(states), do: Enum.count(states, &(elem(&1, 0) == :inside)) <= 1

  @doc "What is to come for each: it is through."
  def through?(states), do: Enum.all?(states, &(elem(&1, 0) == :done))
end
