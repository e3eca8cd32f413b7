defmodule Mote.Bench.Programs.Savina.UnbalancedTree do
  # The unbalanced cobwebbed tree of the Savina suite (`uct`: up to 200,000 nodes, 10 children or none, 500 ± 100 rounds of a
  # loop for each): a tree of actors grows and is then traversed, and each node works meanwhile.
  #
  # Differences: what a node does follows from its own number, and not from a generator that all share, so that all trees of a
  # size are the same; and no message is urgent, since nothing came of that but a name.
  @moduledoc false

  use Mote.Bench.Program,
    title: "n unbalanced trees of about ten nodes each, grown from one root and traversed",
    param: :n,
    defaults: [20_000],
    small: 20,
    metric: :ns_per_node,
    count: &(1 + length(nodes(&1))),
    processes: &count/1

  defmodule Actors do
    use Mote.Behaviour

    defactor root(count) do
      {customer, :grow} -> grow(1, for(number <- 1..count, do: following(1, number)), customer)
    end

    defactor bud(dice) do
      {customer, :grow} -> grow(dice, children(dice), customer)
    end

    # Becomes a branch that knows its children, who report how many nodes they have.
    defeffect grow(dice, seeds, customer) do
      children = for seed <- seeds, do: create(bud(seed))
      size = create gather(customer, length(children), 1, fn size, sum -> size + sum end)
      for child <- children, do: send(child, {size, :grow})
      become branch(dice, children)
    end

    defactor branch(dice, children) do
      {customer, :traverse} ->
        sum = create gather(customer, length(children), work(dice, 400 + rem(dice, 201)), &add/2)
        for child <- children, do: send(child, {sum, :traverse})
    end

    defpure add(value, sum), do: rem(value + sum, 1_000_003)

    # Ten of them with a probability of nine in a hundred.
    defpure children(dice),
      do: if(rem(dice, 100) < 9, do: for(number <- 1..10, do: following(dice, number)), else: [])

    defpure following(dice, number), do: rem((dice + number) * 48_271, 2_147_483_647)

    defpure work(dice, 0), do: rem(dice, 1_000_003)
    defpure work(dice, left), do: work(rem(dice * 48_271, 2_147_483_647), left - 1)
  end

  defmodule Processes do
    @spec root(pos_integer) :: term
    def root(count), do: grow(1, for(number <- 1..count, do: following(1, number)))

    @spec bud(pos_integer) :: term
    def bud(dice), do: grow(dice, children(dice))

    defp grow(dice, seeds) do
      receive do
        {customer, :grow} ->
          children = for seed <- seeds, do: spawn(__MODULE__, :bud, [seed])
          for child <- children, do: send(child, {self(), :grow})
          send(customer, {:size, gather(children, :size, 1, &+/2)})
          branch(dice, children)
      end
    end

    defp branch(dice, children) do
      receive do
        {customer, :traverse} ->
          for child <- children, do: send(child, {self(), :traverse})
          value = work(dice, 400 + rem(dice, 201))
          send(customer, {:sum, gather(children, :sum, value, &rem(&1 + &2, 1_000_003))})
      end
    end

    defp gather(children, tag, initial, fun) do
      Enum.reduce(children, initial, fn _, sum -> receive(do: ({^tag, value} -> fun.(value, sum))) end)
    end

    defp children(dice),
      do: if(rem(dice, 100) < 9, do: for(number <- 1..10, do: following(dice, number)), else: [])

    defp following(dice, number), do: rem((dice + number) * 48_271, 2_147_483_647)

    defp work(dice, 0), do: rem(dice, 1_000_003)
    defp work(dice, left), do: work(rem(dice * 48_271, 2_147_483_647), left - 1)
  end

  @impl true
  def expected(n) do
    work = fn dice -> rem(dice * power(400 + rem(dice, 201)), 2_147_483_647) |> rem(1_000_003) end
    {count(n), rem(Enum.sum(Enum.map([1 | nodes(n)], work)), 1_000_003)}
  end

  # So many rounds of the generator at once.
  defp power(rounds), do: rem(Integer.pow(48_271, rounds), 2_147_483_647)

  # The numbers of all nodes but the root.
  defp nodes(n), do: Enum.flat_map(1..n, &subtree(Actors.following(1, &1)))
  defp subtree(dice), do: [dice | Enum.flat_map(Actors.children(dice), &subtree/1)]

  @impl true
  def mote(machine, n) do
    root = Mote.create(machine, Actors.root(n))
    me = self()

    [
      grow: asking(root, {me, :grow}),
      traverse: fn size -> {size, answer(fn -> Mote.send(root, {me, :traverse}) end)} end
    ]
  end

  @impl true
  def beam(n) do
    root = spawn(Processes, :root, [n])
    me = self()

    [
      grow: fn _ -> elem(answer(fn -> send(root, {me, :grow}) end), 1) end,
      traverse: fn size -> {size, elem(answer(fn -> send(root, {me, :traverse}) end), 1)} end
    ]
  end
end
