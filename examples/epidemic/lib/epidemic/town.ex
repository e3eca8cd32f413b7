defmodule Epidemic.Town do
  @moduledoc """
  Makes the people, lets them know each other, and counts what happens to them.

  A behaviour can only send to addresses that it has. So first everybody is made, block by block; then each block's people are
  told who their contacts are, which the builder looks up in a tuple of the blocks' tuples.
  """
  use Mote.Behaviour
  alias Epidemic.{Dice, Network, Person}

  @block 1_000

  @doc "Answers `{customer, town}` with `:ready` when all people are there and know each other. Then it is the town."
  defactor builder(rules) do
    {customer, town} ->
      send self(), {:make, 0}
      become making(customer, town, rules, [])
  end

  # A block a turn: a turn is bounded. The town is cut into as many districts as there are sponsors, one after the other, so
  # that neighbours share a thread.
  defactor making(customer, town, rules, blocks) do
    {:make, first} ->
      {people, _near, _far, seed, sponsors} = town
      last = min(first + @block, people) - 1
      sponsor = elem(sponsors, div(first * tuple_size(sponsors), people))

      block =
        for i <- first..last do
          create Person.stranger(rules, Dice.of(seed, i)), sponsor: sponsor
        end

      blocks = [List.to_tuple(block) | blocks]

      if last + 1 < people do
        send self(), {:make, last + 1}
        become blocks: blocks
      else
        send self(), {:introduce, 0}
        become introducing(customer, town, List.to_tuple(Enum.reverse(blocks)))
      end
  end

  # The next block is not begun before the people of this one have heard.
  defactor introducing(customer, town, all) do
    {:introduce, block} when block < tuple_size(all) ->
      people = elem(all, block)
      {count, near, far, seed, _sponsors} = town

      for n <- 0..(tuple_size(people) - 1) do
        contacts = Network.contacts(block * @block + n, {count, near, far, seed})
        send elem(people, n), List.to_tuple(Enum.map(contacts, &person(all, &1)))
      end

      send self(), {:introduce, block + 1}

    {:introduce, _block} ->
      send customer, :ready
      become town(all)
  end

  @doc "The people. They stay in the machine: a million addresses in Elixir take more memory than the people themselves."
  defactor town(all) do
    {customer, {:infect, people, step}} ->
      for i <- 0..(people - 1)//step, do: send(person(all, i), :infect)
      send customer, :infected
  end

  defpurep person(all, i), do: elem(elem(all, div(i, @block)), rem(i, @block))

  @doc "Counts. Answers `{customer, :read}` with what has happened so far."
  defactor office(infected \\ 0, infectious \\ 0, recovered \\ 0, warned \\ 0) do
    :infected -> become infected: infected + 1
    :infectious -> become infectious: infectious + 1
    :recovered -> become recovered: recovered + 1
    :stays_home -> become warned: warned + 1
    {customer, :read} -> send customer, {infected, infectious, recovered, warned}
  end
end
