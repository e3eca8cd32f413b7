defmodule Mote.CollectingTest do
  # What one machine collects, by its own figures. What looks at the memory of the whole process is in gc_test.exs.
  use ExUnit.Case, async: true
  use ExUnitProperties
  import Mote.Eventually

  alias Mote.{Actors, Holders}

  describe "live actors are those that can be reached" do
    # What is done with the actors that Elixir holds, chosen by number.
    defp steps do
      number = integer(0..1_000)

      one_of([
        tuple({constant(:create), list_of(number, max_length: 3)}),
        tuple({constant(:link), number, list_of(number, max_length: 3)}),
        tuple({constant(:drop), number}),
        tuple({constant(:fetch), number}),
        constant({:collect})
      ])
    end

    property "in any graph, whatever is created, linked, given back and dropped" do
      sponsors = [one: [threads: 1], two: [threads: 2]]
      # It collects without end: nothing waits for that when it ends.
      opts = [sponsors: sponsors, gc: [min: 1, factor: 0], shutdown: [drain: 0]]
      machine = start_supervised!({Mote, opts})

      check all steps <- list_of(steps(), max_length: 60) do
        {_links, held} =
          for step <- steps ++ [{:collect}], reduce: {%{}, %{}} do
            {links, held} -> step(step, machine, links, held)
          end

        # Everything is dropped at the end of the round.
        assert is_map(held)
      end

      collect(machine, 0)
      assert Mote.info(machine).gc.live_actors == 0
    end

    # `links` is the graph as it must be, by number; `held` are the addresses that Elixir has.
    defp step({:create, to}, machine, links, held) do
      to = choose(held, to)
      id = map_size(links)
      sponsor = Enum.at([nil, :one, :two], rem(id, 3))
      address = Mote.create(machine, Holders.holder(numbered(held, to)), sponsor: sponsor)
      {Map.put(links, id, to), Map.put(held, id, address)}
    end

    defp step({:link, from, to}, _machine, links, held) do
      case choose(held, [from]) do
        [] ->
          {links, held}

        [id] ->
          to = choose(held, to)
          sponsor = if rem(from, 2) == 0, do: :one, else: :two
          :linked = Mote.ask!(held[id], {:link, numbered(held, to)}, sponsor: sponsor)
          {Map.put(links, id, to), held}
      end
    end

    defp step({:drop, id}, _machine, links, held), do: {links, Map.drop(held, choose(held, [id]))}

    defp step({:fetch, from}, _machine, links, held) do
      for id <- choose(held, [from]), {id, address} <- Mote.ask!(held[id], :links), reduce: {links, held} do
        {links, held} -> {links, Map.put_new(held, id, address)}
      end
    end

    defp step({:collect}, machine, links, held) do
      collect(machine, map_size(held))
      assert Mote.info(machine).gc.live_actors == reachable(links, Map.keys(held), MapSet.new())
      {links, held}
    end

    defp choose(held, _numbers) when held == %{}, do: []

    defp choose(held, numbers) do
      ids = held |> Map.keys() |> Enum.sort()
      for number <- numbers, uniq: true, do: Enum.at(ids, rem(number, length(ids)))
    end

    defp numbered(held, ids), do: for(id <- ids, do: {id, held[id]})

    defp reachable(_links, [], seen), do: MapSet.size(seen)

    defp reachable(links, [id | rest], seen) do
      if id in seen,
        do: reachable(links, rest, seen),
        else: reachable(links, links[id] ++ rest, MapSet.put(seen, id))
    end
  end

  @tag not_under_stress: "it counts collections"
  test "what the machine does not look into hastens collections: of questions that are answered not many are left" do
    machine = start_supervised!({Mote, gc: [min: 4 * 1024 * 1024]})
    keeper = Mote.create(machine, Actors.keeper(1))

    # In the heap they take half of what is between two collections. What a call answers itself leaves nothing there.
    for _ <- 1..20_000, do: Mote.await(Mote.async(keeper, :get))
    assert Mote.info(machine).gc.collections >= 1
  end
end
