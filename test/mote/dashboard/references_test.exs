defmodule Mote.Dashboard.ReferencesTest do
  use ExUnit.Case, async: true
  import Mote.Eventually

  alias Mote.Actors
  alias Mote.Dashboard.{References, Tracing}

  test "an id is of a term, and of no other" do
    references = start_supervised!(References)
    [a, b] = References.put(references, [:a, {:b, 1}])
    assert [^b, ^a, c] = References.put(references, [{:b, 1}, :a, :c])
    assert length(Enum.uniq([a, b, c])) == 3
    assert References.fetch(references, b) == {:ok, {:b, 1}}

    for id <- ["", nil, a <> "x", String.downcase(a) <> "-"],
        do: assert(References.fetch(references, id) == :error)
  end

  test "those that were used longest ago are forgotten" do
    references = start_supervised!({References, most: 10})
    ids = References.put(references, Enum.to_list(1..10))
    assert References.fetch(references, hd(ids)) == {:ok, 1}
    [new] = References.put(references, [11])
    assert References.fetch(references, hd(ids)) == {:ok, 1}
    assert References.fetch(references, new) == {:ok, 11}
    assert References.fetch(references, Enum.at(ids, 1)) == :error
    assert length(for(id <- ids, {:ok, _} <- [References.fetch(references, id)], do: id)) == 4
  end

  test "actors are let go of when nobody asks" do
    machine = start_supervised!(Mote)
    references = start_supervised!({References, forgotten: 50})
    test = self()

    spawn(fn ->
      [id] = References.put(references, [Mote.create(machine, Actors.echo())])
      send(test, {:id, id})
    end)

    assert_receive {:id, id}
    collect(machine, 0)
    assert Mote.behaviours(machine, for: 0) == []
    assert References.fetch(references, id) == :error
  end

  test "a trace that nobody watches ends" do
    machine = start_supervised!(Mote)
    references = start_supervised!(References)
    {:ok, tracing} = Tracing.start_link(machine, references, unwatched: 20)
    :ok = Tracing.start(tracing, [], "all turns", 10)
    # Looked at once, by another way.
    assert eventually(fn -> :sys.get_state(tracing).ended == :unwatched end)
    assert %{on: false, ended: :unwatched} = Tracing.turns(tracing, 1, 0)
    :ok = Tracing.start(tracing, [], "all turns", 10)
    # Where the cores are busy it has ended again by now.
    assert %{run: 2} = Tracing.turns(tracing, 1, 0)
    assert :ok == Tracing.stop(tracing)
    assert :ok == Tracing.stop(tracing)
  end
end
