defmodule Mote.InspectionTest.Twins do
  use Mote.Behaviour, errors: :undefined

  alias Mote.Holders

  defactor twins() do
    {customer, n} ->
      list = for i <- 1..n, do: i
      send customer, {create(Holders.holder(list)), create(Holders.holder(list))}
  end
end

defmodule Mote.InspectionTest do
  use ExUnit.Case, async: true
  use ExUnitProperties
  import Mote.Eventually

  alias Mote.{Actors, Error, Graph, Holders}
  alias Mote.InspectionTest.Twins

  doctest Mote.Inspection
  doctest Mote.Graph

  setup do
    # Some of its actors are busy for good: nothing waits for them when it ends.
    opts = [sponsors: [main: [threads: 1], other: [threads: 2]], shutdown: [drain: 0]]
    %{machine: start_supervised!({Mote, opts})}
  end

  describe "info of an actor" do
    test "says what it is, holds and waits for", %{machine: machine} do
      pair = Mote.create(machine, Actors.pair([1, 2], {:a, :b}))
      info = Mote.info(pair)
      assert info.behaviour == Actors.pair([1, 2], {:a, :b})
      assert info.address == pair
      assert info.machine == machine
      assert %{busy: false, queued: 0, sponsor: :main, pinned: nil} = info
      # The record, two captures, two list cells, a tuple of two with its header.
      assert info.bytes == 16 + 16 + 32 + 32
    end

    test "knows pins and sponsors", %{machine: machine} do
      pinned = Mote.create(machine, Actors.echo(), sponsor: :other)
      assert %{pinned: :other, sponsor: :other, bytes: 16} = Mote.info(pinned)
      echo = Mote.create(machine, Actors.counter(0))
      Mote.send(echo, {:add, 1}, sponsor: :other)
      Mote.drain(machine, 60_000)
      assert %{pinned: nil} = Mote.info(echo)
      :ok = Mote.remove_sponsor(machine, :other)
      # Its events go to the first one from now on.
      assert %{pinned: :main, sponsor: :main} = Mote.info(pinned)
    end

    test "of an actor that has become a sink", %{machine: machine} do
      [{module, _}] =
        Code.compile_string("""
        defmodule Mote.InspectionTest.Gone do
          use Mote.Behaviour, errors: :undefined
          defactor gone(_a, _b) do
            _ -> become sink()
          end
        end
        """)

      gone = Mote.create(machine, module.gone(1, 2))
      Mote.send(gone, :go)
      Mote.drain(machine, 60_000)
      assert %{behaviour: :sink, bytes: 16} = Mote.info(gone)
      assert [%{behaviour: :sink, actors: 1}] = Mote.behaviours(machine, for: 0)
      assert Mote.info(gone).behaviour == :sink
    end

    test "of events that wait", %{machine: machine} do
      busy = Mote.create(machine, Actors.busy(0))
      Mote.send(busy, :go)
      assert %{busy: true, queued: 1, behaviour: %{name: :busy}} = Mote.info(busy)
    end

    test "of another machine is of that machine", %{machine: machine} do
      other = start_supervised!({Mote, id: :other})
      echo = Mote.create(other, Actors.echo())
      keeper = Mote.create(machine, Actors.keeper(echo))
      assert Mote.info(echo).machine == other
      assert Mote.info(keeper).behaviour.captures == {echo}
      :ok = stop_supervised(:other)
      assert %Error{reason: :machine_down} = catch_error(Mote.info(echo))
    end
  end

  describe "top" do
    test "by turns", %{machine: machine} do
      busy = Mote.create(machine, Actors.busy(0))
      idle = Mote.create(machine, Actors.echo())
      Mote.send(busy, :go)

      # On a busy host the thread may not run meanwhile.
      top =
        eventually(fn ->
          with [%{turns: turns} = top] when turns > 100 <- Mote.top(machine, for: 50),
               do: top,
               else: (_ -> nil)
        end)

      assert %{address: ^busy, behaviour: {Actors, :busy, 1}, turns: turns} = top
      assert Mote.info(machine).counters.turns > turns
      assert is_struct(idle)
    end

    test "by turns, among several, and more than there is room for", %{machine: machine} do
      for n <- 1..3, do: Mote.send(Mote.create(machine, Actors.busy(n)), :go, sponsor: :other)
      Mote.send(Mote.create(machine, Holders.bomb()), 0)

      # As above.
      eventually(fn ->
        found = Mote.top(machine, n: 3, for: 100)
        assert found == Enum.sort_by(found, & &1.turns, :desc)
        for(%{behaviour: {Actors, :busy, 1}} = busy <- found, do: busy) |> length() == 3
      end)
    end

    test "by what waits", %{machine: machine} do
      echo = Mote.create(machine, Actors.echo())
      assert Mote.top(machine, by: :queued) == []
      busy = Mote.create(machine, Actors.busy(0))
      for _ <- 1..5, do: Mote.send(busy, :go)
      Mote.info(busy)
      assert [%{address: ^busy, behaviour: {Actors, :busy, 1}, queued: 5}] = Mote.top(machine, by: :queued)
      assert is_struct(echo)
    end

    test "by bytes", %{machine: machine} do
      holders = for n <- 1..20, do: Mote.create(machine, Holders.holder(Enum.to_list(1..n)))
      assert [first, second] = Mote.top(machine, by: :bytes, n: 2)
      assert first == %{address: Enum.at(holders, 19), behaviour: {Holders, :holder, 1}, bytes: 16 + 20 * 16}
      assert second.bytes == 16 + 19 * 16
      assert Mote.info(first.address).bytes == first.bytes
      # Those that nobody holds any more are not there: only as long as they are mentioned below are all.
      :erlang.garbage_collect()
      assert eventually(fn -> length(Mote.top(machine, by: :bytes, n: 100)) == 20 end)
      assert Mote.top(machine, by: :bytes, n: 0) == []
      assert length(holders) == 20
    end

    test "what several share counts once, for the one or the other", %{machine: machine} do
      maker = Mote.create(machine, Twins.twins())
      {one, two} = Mote.ask!(maker, 100)
      assert [first | others] = Mote.top(machine, by: :bytes)
      assert first.address in [one, two] and first.bytes == 16 + 100 * 16
      # The other twin, and who made them.
      assert Enum.map(others, & &1.bytes) == [16, 16]
      assert maker in Enum.map(others, & &1.address)
      # Asked for alone, each holds all of it.
      assert Mote.info(one).bytes == first.bytes
      assert Mote.info(two).bytes == first.bytes
    end

    test "long binaries count", %{machine: machine} do
      binary = Mote.create(machine, Holders.holder(:binary.copy("x", 10_000)))
      assert [%{address: ^binary, bytes: bytes}] = Mote.top(machine, by: :bytes)
      # With the environment that it is shared by.
      assert bytes in 10_016..13_000
    end

    test "asks for what can be meant", %{machine: machine} do
      for {opts, text} <- [
            {[by: :parked],
             "expected :by of top/2 to be :turns, :queued, :bytes, :running, :bytes_in or :bytes_out, got: :parked"},
            {[n: -1], "expected :n of top/2 to be an integer from 0, got: -1"},
            {[for: "1"], "expected :for of top/2"},
            {[many: 1], "unknown key :many in the options of top/2; there are :by, :n, :for, :timeout"},
            {[by: :turns, by: :bytes], "expected each key once in the options of top/2, got :by twice"},
            {:turns, "expected the options of top/2 to be a keyword list, got: :turns"}
          ] do
        assert_raise ArgumentError, ~r/#{Regex.escape(text)}/, fn -> Mote.top(machine, opts) end
      end
    end
  end

  describe "behaviours" do
    property "are all that is alive, and what it holds", %{machine: machine} do
      check all sizes <- list_of(integer(0..30), max_length: 20), max_runs: 30 do
        held =
          for {size, n} <- Enum.with_index(sizes) do
            case rem(n, 3) do
              0 -> Mote.create(machine, Holders.holder(Enum.to_list(1..size//1)))
              1 -> Mote.create(machine, Actors.pair({size}, 1.0e300), sponsor: :other)
              2 -> Mote.create(machine, Actors.echo())
            end
          end

        # The addresses of the round before go a moment after they are collected.
        :erlang.garbage_collect()
        eventually(fn -> Mote.info(machine).references == length(held) end)
        Mote.gc(machine)
        found = Mote.behaviours(machine, for: 0)
        gc = Mote.info(machine).gc
        assert sum(found, :actors) == gc.live_actors
        assert sum(found, :bytes) == gc.live_bytes
        assert Enum.all?(found, &(&1.turns == 0))
        assert gc.live_actors == length(held)
      end
    end

    defp sum(found, key), do: found |> Enum.map(& &1[key]) |> Enum.sum()

    test "are counted at work", %{machine: machine} do
      busy = Mote.create(machine, Actors.busy(0))
      Mote.send(busy, :go)

      eventually(fn ->
        found = Mote.behaviours(machine, for: 50)
        assert [%{behaviour: {Actors, :busy, 1}, actors: 1, bytes: 16, turns: turns}] = found
        turns > 100
      end)
    end
  end

  test "what is no graph is named" do
    for draw <- [&Graph.to_mermaid/1, &Graph.to_dot/1] do
      assert_raise ArgumentError, "expected a graph returned by Mote.graph/2, got: :x", fn -> draw.(:x) end
    end
  end

  describe "graph" do
    test "shows who holds whom, and by which capture", %{machine: machine} do
      leaf = Mote.create(machine, Actors.echo())
      middle = Mote.create(machine, Actors.pair(:nothing, [{leaf}, {leaf, leaf}]))
      root = Mote.create(machine, Actors.pair(middle, {Mote.on(:other, leaf), self()}))
      graph = Mote.graph(root)
      assert %Graph{truncated: false} = graph
      # By distance: both are one step away, in the order of the captures.
      assert Enum.map(graph.nodes, & &1.address) == [root, middle, leaf]

      assert Enum.map(graph.nodes, & &1.behaviour) == [
               {Actors, :pair, 2},
               {Actors, :pair, 2},
               {Actors, :echo, 0}
             ]

      assert graph.edges == [
               %{from: 0, capture: 0, to: 1},
               %{from: 0, capture: 1, to: 2},
               %{from: 1, capture: 1, to: 2}
             ]

      assert Graph.to_mermaid(graph) == """
             graph LR
               n0["Mote.Actors.pair/2"]
               n1["Mote.Actors.pair/2"]
               n2["Mote.Actors.echo/0"]
               n0 -->|0| n1
               n0 -->|1| n2
               n1 -->|1| n2\
             """
    end

    test "ends in cycles", %{machine: machine} do
      one = Mote.create(machine, Holders.holder([]))
      two = Mote.create(machine, Holders.holder([one]))
      :linked = Mote.ask!(one, {:link, [two, one]})
      assert %Graph{truncated: false, nodes: [_, _], edges: edges} = Mote.graph(one)
      assert Enum.map(edges, &{&1.from, &1.to}) == [{0, 1}, {0, 0}, {1, 0}]
    end

    test "is bounded in depth and in nodes", %{machine: machine} do
      chain = Enum.reduce(1..10, Mote.create(machine, Actors.echo()), &link(machine, &1, &2))
      assert %Graph{truncated: true, nodes: nodes} = Mote.graph(chain, depth: 4)
      assert length(nodes) == 5
      assert %Graph{truncated: true, nodes: [_, _, _]} = Mote.graph(chain, depth: 100, limit: 3)
      assert %Graph{truncated: false, nodes: nodes} = Mote.graph(chain, depth: 10)
      assert length(nodes) == 11
      assert %Graph{truncated: true, nodes: [_], edges: []} = Mote.graph(chain, depth: 0)
    end

    defp link(machine, _n, to), do: Mote.create(machine, Holders.holder(to))

    test "of what is no address", %{machine: machine} do
      assert_raise ArgumentError, ~r/expected the address of an actor/, fn -> Mote.graph(machine) end
      echo = Mote.create(machine, Actors.echo())
      forged = %{echo | key: :binary.copy(<<1>>, byte_size(echo.key))}
      assert %Error{reason: :unknown_address} = catch_error(Mote.graph(forged))
      assert %Error{reason: :unknown_address} = catch_error(Mote.info(forged))
    end

    test "labels are quoted" do
      graph = %Graph{nodes: [%{id: 0, behaviour: {:"a\"<b\\", :"x\ny", 1}}]}
      assert Graph.to_mermaid(graph) =~ "n0[\":&quot;a\\&quot;&lt;b"
      assert Graph.to_dot(graph) =~ ~S(label=":\"a\\\"<b)
    end
  end

  test "a machine that is not running", %{machine: machine} do
    echo = Mote.create(machine, Actors.echo())
    :ok = stop_supervised(Mote)

    for look <- [
          fn -> Mote.info(echo) end,
          fn -> Mote.graph(echo) end,
          fn -> Mote.top(machine) end,
          fn -> Mote.top(machine, by: :queued) end,
          fn -> Mote.behaviours(machine) end
        ] do
      assert %Error{reason: :machine_down} = catch_error(look.())
    end

    refute_receive _, 10
  end

  test "whoever looks keeps the actor, and nothing else", %{machine: machine} do
    Mote.send(Mote.create(machine, Actors.busy(0)), :go)
    found = eventually(fn -> with [] <- Mote.top(machine, for: 20), do: nil end)
    assert Mote.info(machine).references >= 1
    assert length(found) == 1
  end

  test "looks do not disturb the work", %{machine: machine} do
    counter = Mote.create(machine, Actors.counter(0))

    looker =
      Task.async(fn ->
        for _ <- 1..20 do
          Mote.top(machine, for: 1)
          Mote.top(machine, by: :queued)
          Mote.behaviours(machine, for: 0)
          Mote.graph(counter)
        end
      end)

    for _ <- 1..20_000, do: Mote.send(counter, {:add, 1}, sponsor: Enum.random([:main, :other]))
    Task.await(looker, 60_000)
    assert Mote.ask!(counter, :read, 10_000) <= 20_000
    assert Mote.drain(machine, 10_000) == :ok
    assert Mote.ask!(counter, :read) == 20_000
  end
end
