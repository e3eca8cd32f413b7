defmodule Mote.RedefineTest do
  # A module compiled again and again, as in iex or by a code upgrade, while its actors run. Not async: it changes an
  # option of the compiler. What one thread and versions by hand can show is in native/mote_vm/tests/vm/redefine.rs.
  use ExUnit.Case, async: false

  alias Mote.Error

  @actors 400
  @hops 10
  @tokens 5

  setup do
    Code.put_compiler_option(:ignore_module_conflict, true)
    on_exit(fn -> Code.put_compiler_option(:ignore_module_conflict, false) end)
    machine = start_supervised!({Mote, sponsors: [main: [threads: 2], other: [threads: 2]]})
    %{machine: machine, module: compile(1)}
  end

  # Every version is another shape of code, and says in two places which one it is.
  defp compile(version) do
    [{module, _}] =
      Code.compile_string("""
      defmodule Mote.RedefineTest.Worker do
        use Mote.Behaviour, errors: :undefined

        defpure stamp(), do: #{version}
        #{for n <- 1..rem(version, 5)//1, do: "defpure more#{n}(x), do: x + #{n}\n"}

        defactor worker(tap, id, count) do
          hops when is_integer(hops) ->
            send tap, {id, #{version}, stamp(), count + 1}
            if hops > 0, do: send(self(), hops - 1)
            become worker(tap, id, count + 1)
        end
      end
      """)

    module
  end

  defp told(count), do: for(_ <- 1..count//1, do: receive(do: ({_, _, _, _} = told -> told)))

  test "actors in the thousands go on, and up", %{machine: machine, module: module} do
    actors = for id <- 1..@actors, do: Mote.create(machine, module.worker(self(), id, 0))
    me = self()

    upgrades =
      Task.async(fn ->
        for version <- 2..30 do
          ^module = compile(version)
          :ok = Mote.load(machine, module)
          send(me, {:loaded, version})
        end
      end)

    # Each token goes round while versions come, and at least one comes between two of them.
    for token <- 1..@tokens do
      assert_receive {:loaded, _}, 30_000
      sponsor = Enum.at([:main, :other], rem(token, 2))
      for actor <- actors, do: Mote.send(actor, @hops, sponsor: sponsor)
    end

    Task.await(upgrades, :infinity)
    :ok = Mote.drain(machine, 60_000)
    turns = @tokens * (@hops + 1)
    by_id = (@actors * turns) |> told() |> Enum.group_by(&elem(&1, 0), &Tuple.delete_at(&1, 0))
    refute_received {_, _, _, _}
    assert map_size(by_id) == @actors

    for {_id, told} <- by_id do
      assert Enum.map(told, &elem(&1, 2)) == Enum.to_list(1..turns)
      versions = Enum.map(told, &elem(&1, 0))
      assert versions == Enum.map(told, &elem(&1, 1))
      assert versions == Enum.sort(versions)
      assert List.first(versions) < List.last(versions)
    end

    # The newest one is taken at the next become, and seen in the turn after it.
    for _ <- 1..2, actor <- actors, do: Mote.send(actor, 0)
    newest = (2 * @actors) |> told() |> Enum.group_by(&elem(&1, 0), &elem(&1, 1))
    assert Enum.all?(newest, fn {_id, [_, version]} -> version == 30 end)
  end

  test "actors are created all the time", %{machine: machine, module: module} do
    me = self()

    creators =
      for creator <- 1..2 do
        Task.async(fn ->
          for n <- 1..300, id = {creator, n}, create(machine, module, me, id) == :created, do: id
        end)
      end

    for version <- 2..20, do: compile(version)
    created = Enum.flat_map(creators, &Task.await(&1, :infinity))
    assert created != []
    :ok = Mote.drain(machine, 60_000)
    told = told(length(created))
    refute_received {_, _, _, _}
    assert told |> Enum.map(&elem(&1, 0)) |> Enum.sort() == Enum.sort(created)
    for {_, version, stamp, 1} <- told, do: assert(version == stamp)
  end

  # What was made of a version that is replaced in this moment is refused, and that is all.
  defp create(machine, module, tap, id) do
    actor = Mote.create(machine, module.worker(tap, id, 0))
    Mote.send(actor, 0)
    :created
  rescue
    error in Error ->
      assert error.reason == :stale_behaviour
      :stale
  end

  describe "a version without a behaviour of the one before" do
    setup do
      {:ok, name: "Mote.RedefineTest.Shape#{System.unique_integer([:positive])}"}
    end

    defp shape(name, body),
      do: Code.compile_string("defmodule #{name} do use Mote.Behaviour; #{body} end")

    defp loaded(machine, module),
      do: ExUnit.CaptureLog.capture_log(fn -> :ok = Mote.load(machine, module) end)

    test "says who stays what it is", %{machine: machine, name: name} do
      one = "defactor up(n), do: ({c, :read} -> send c, {1, n}; k -> become n: n + k)"

      more =
        "defactor up(n, coupon \\\\ nil), do: ({c, :read} -> send c, {2, n, coupon}; k -> become n: n + k)"

      [{module, _}] = shape(name, one <> "; defactor same(n), do: (c -> send c, n)")
      actor = Mote.create(machine, module.up(1))
      shape(name, more <> "; defactor same(n), do: (c -> send c, n)")

      log = loaded(machine, module)
      assert log =~ "The new version of #{name} has up/2 and no up/1."
      assert log =~ "actors that are up/1 go on with the version before, until they become another behaviour"
      refute log =~ "same"

      Mote.send(actor, 1)
      assert Mote.ask!(actor, :read) == {1, 2}
      assert Mote.ask!(Mote.create(machine, module.up(1)), :read) == {2, 1, nil}

      # Once: what stays is not told again by the next version, which has all that this one had.
      shape(name, more)
      log = loaded(machine, module)
      assert log =~ "The new version of #{name} has no same/1." and not (log =~ "up/1")
      assert loaded(machine, module) == ""
    end
  end
end
