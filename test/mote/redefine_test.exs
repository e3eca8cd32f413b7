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
      do: ExUnit.CaptureLog.with_log(fn -> Mote.load(machine, module) end)

    test "says who stays what it is", %{machine: machine, name: name} do
      one = "defactor up(n), do: ({c, :read} -> send c, {1, n}; k -> become n: n + k)"

      more = "defactor up(n, coupon), do: ({c, :read} -> send c, {2, n, coupon}; k -> become n: n + k)"

      [{module, _}] = shape(name, one <> "; defactor same(n), do: (c -> send c, n)")
      actor = Mote.create(machine, module.up(1))
      shape(name, more <> "; defactor same(n), do: (c -> send c, n)")

      {stay, log} = loaded(machine, module)
      assert stay == {:ok, [{{module, :up, 1}, :absent}]}
      assert log =~ "The new version of #{name} has up/2 and no up/1, nor a defchange from it."
      assert log =~ "actors that are up/1 go on with the version before, until they become another behaviour"

      Mote.send(actor, 1)
      assert Mote.ask!(actor, :read) == {1, 2}
      assert Mote.ask!(Mote.create(machine, module.up(1, :half)), :read) == {2, 1, :half}

      # Each time, as long as it is there, and of nothing that is not: nobody is same/1.
      shape(name, more)

      for _ <- 1..2 do
        assert {{:ok, [{{^module, :up, 1}, :absent}]}, log} = loaded(machine, module)
        assert log =~ "has up/2 and no up/1" and not (log =~ "same/1")
      end
    end

    test "takes over what needs an owner now, and what needs none any more", %{machine: machine, name: name} do
      never = "defactor kept(n), do: ({c, :read} -> send c, n)"
      becomes = "defactor kept(n), do: ({c, :read} -> send(c, n) && become n: n + 1)"
      [{module, _}] = shape(name, never)
      actors = for n <- [10, 20], do: Mote.create(machine, module.kept(n))
      reads = fn -> for actor <- actors, do: Mote.ask!(actor, :read) end
      assert reads.() == [10, 20]
      shape(name, becomes)
      assert loaded(machine, module) == {:ok, ""}
      assert {reads.(), reads.()} == {[10, 20], [11, 21]}
      shape(name, never)
      assert loaded(machine, module) == {:ok, ""}
      assert {reads.(), reads.()} == {[12, 22], [12, 22]}
    end
  end

  describe "a version with other captures" do
    setup do
      {:ok, name: "Mote.RedefineTest.Shape#{System.unique_integer([:positive])}"}
    end

    @counter "{:add, k} -> become n: n + k; {c, :read} -> send c, {:v1, n}"

    test "has the defaults of those that are new at the end", %{machine: machine, name: name} do
      [{module, _}] =
        shape(
          name,
          "defactor up(key, n \\\\ 0), do: (#{@counter})\ndefdirectory(ups(), do: (key -> up(key)))"
        )

      directory = Mote.Directory.start(machine, module.ups())
      Mote.Directory.send(directory, :old, {:add, 1})
      actors = for n <- 1..20, do: Mote.create(machine, module.up(:key, n))

      shape(name, """
      defactor up(key, n \\\\ 0, coupon \\\\ nil) do
        {:add, k} -> become n: n + k
        {:coupon, c} -> become coupon: c
        {c, :read} -> send c, {:v2, key, n, coupon}
      end

      defdirectory(ups(), do: (key -> up(key)))
      """)

      assert Mote.load(machine, module) == :ok
      # Without a become of their own before.
      Mote.Directory.send(directory, :old, {:coupon, 5})
      assert Mote.Directory.ask!(directory, :old, :read) == {:v2, :old, 1, 5}
      assert Mote.Directory.ask!(directory, :new, :read) == {:v2, :new, 0, nil}
      for {actor, n} <- Enum.zip(actors, 1..20), do: assert(Mote.ask!(actor, :read) == {:v2, :key, n, nil})
      assert Mote.info(machine).counters.ignored == 0
      up3 = {module, :up, 3}
      assert up3 in for(%{behaviour: behaviour, older: 0} <- Mote.behaviours(machine), do: behaviour)
      refute Enum.any?(Mote.behaviours(machine), &match?(%{behaviour: {^module, :up, 2}}, &1))
    end

    test "says what becomes of them", %{machine: machine, name: name} do
      [{module, _}] =
        shape(name, """
        defactor counter(pair), do: ({c, :read} -> send c, pair; :tick -> become counter({elem(pair, 0) + elem(pair, 1), elem(pair, 1)}))
        defactor wait(n), do: (:go -> become counter({n, 1}); _ -> stash())
        defactor gone(), do: (:go -> become wait(0))
        """)

      [low, high] = for n <- [1, 5], do: Mote.create(machine, module.counter({n, n}))
      wait = Mote.create(machine, module.wait(1))
      ask = Mote.async(wait, :read)
      gone = Mote.create(machine, module.gone())
      Mote.drain(machine)

      shape(name, """
      defactor counter(n, step, size), do: ({c, :read} -> send c, {n, step, size}; :tick -> become n: n + step)
      defactor wait(n, why), do: (:go -> become counter(n, 1, why); _ -> stash())
      defchange wait(n), do: wait(n + 100, :late)
      defchange gone(), do: counter(0, 0, :gone)

      defchange counter(pair) do
        {n, step} = pair

        case n > 3 do
          true -> counter(n, step, :large)
          false -> if step == 1, do: counter(n, 2, :small), else: counter(n, step, :other)
        end
      end
      """)

      assert Mote.load(machine, module) == :ok
      assert Mote.ask!(low, :read) == {1, 2, :small}
      Mote.send(high, :tick)
      assert Mote.ask!(high, :read) == {10, 5, :large}
      Mote.send(wait, :go)
      assert Mote.await(ask) == {101, 1, :late}
      assert Mote.ask!(gone, :read) == {0, 0, :gone}
      # Nobody else can be one of these.
      assert module.__mote__(:behaviours) == [counter: 3, wait: 3]
      refute function_exported?(module, :gone, 0)
    end

    test "what was stashed stays stashed where defaults are filled in", %{machine: machine, name: name} do
      body =
        &"defactor(wait(n#{&1}), do: (:go -> become(done(n)); _ -> stash()))\ndefactor(done(n), do: ({c, k} -> send(c, {n, k})))"

      [{module, _}] = shape(name, body.(""))
      wait = Mote.create(machine, module.wait(1))
      asks = for n <- 1..3, do: Mote.async(wait, n)
      Mote.drain(machine)
      shape(name, body.(", more \\\\ :more"))
      assert Mote.load(machine, module) == :ok
      Mote.send(wait, :unknown)
      Mote.send(wait, :go)
      assert Mote.await_many(asks) == [{1, 1}, {1, 2}, {1, 3}]
    end

    test "is told by a version after the next one, too", %{machine: machine, name: name} do
      [{module, _}] =
        shape(
          name,
          "defactor up(n), do: (k when is_integer(k) -> become n: n + k; {c, :read} -> send c, {1, n})"
        )

      actor = Mote.create(machine, module.up(1))
      two = "defactor up(n, m), do: ({c, :read} -> send(c, {2, n, m}); k -> become n: n + k)"
      shape(name, two)
      assert Mote.load(machine, module) == {:ok, [{{module, :up, 1}, :absent}]}
      shape(name, two <> "; defchange(up(n), do: up(n, :late))")
      assert Mote.load(machine, module) == :ok
      assert Mote.ask!(actor, :read) == {2, 1, :late}
    end

    test "takes no capture for another", %{machine: machine, name: name} do
      # Not in their order, and a list for what is stashed.
      [{module, _}] =
        shape(name, """
        defactor up(a, b \\\\ 0), do: (k -> become(a: k); {c, :read} -> send(c, {a, b}))
        defactor wait(n), do: (:go -> become(up(n)); _ -> stash())
        """)

      actors = for behaviour <- [module.up(1, 2), module.wait(1)], do: Mote.create(machine, behaviour)
      Mote.drain(machine)

      shape(name, """
      defactor up(a, b \\\\ 0, c), do: (k -> become(a: k); {c1, :read} -> send(c1, {a, b, c}))
      defactor wait(n, list), do: (:go -> become(up(n, list, 1)); _ -> :ok)
      """)

      assert {:ok, stay} = Mote.load(machine, module)
      assert {{module, :up, 2}, :absent} in stay and {{module, :wait, 1}, :absent} in stay
      assert length(actors) == 2
    end

    test "moves as all others do", %{machine: machine, name: name} do
      [{module, _}] =
        shape(name, "defactor(up(n), do: ({c, :read} -> send(c, {1, n}); k -> become n: n + k))")

      actor = Mote.create(machine, module.up(1))
      shape(name, "defactor(up(n), do: ({c, :read} -> send(c, {2, n}); k -> become n: n + k))")
      assert Mote.load(machine, module) == :ok
      other = start_supervised!(Mote, id: :other)
      assert {:ok, moved} = Mote.move(actor, other)
      assert Mote.ask!(moved, :read) == {2, 1}
    end

    test "says where a change makes no sense", %{name: name} do
      error = fn body -> Exception.message(assert_raise(Mote.CompileError, fn -> shape(name, body) end)) end

      assert error.("defactor a(n), do: (_ -> :ok)\ndefchange a(m), do: a(m)") =~
               "a has as many captures as the one"

      assert error.("defactor a(n), do: (_ -> :ok)\ndefchange a(m, k), do: a(m, k, 1)") =~
               "the behaviour a has 1 capture, got 3"

      assert error.("defactor a(n), do: (_ -> :ok)\ndefchange a(1, k), do: a(k)") =~
               "a capture is a plain variable"

      assert error.("defactor a(n), do: (_ -> :ok)\ndefchange a(m, k), do: if(m > k, do: a(k))") =~
               "this if has no else"

      assert error.("defactor a(n), do: (_ -> :ok)\ndefchange a(m, k) when m > k, do: a(k)") =~ "no guard"
    end
  end
end
