defmodule Mote.SuccessionTest do
  # What follows a behaviour in a new version of its module: whatever the two stash and become, and where directories are. Not async: it
  # changes an option of the compiler.
  use ExUnit.Case, async: false

  setup do
    Code.put_compiler_option(:ignore_module_conflict, true)
    on_exit(fn -> Code.put_compiler_option(:ignore_module_conflict, false) end)
    %{machine: start_supervised!(Mote), name: "Mote.SuccessionTest.K#{System.unique_integer([:positive])}"}
  end

  defp version(name, body) do
    [{module, _}] = Code.compile_string("defmodule #{name} do\nuse Mote.Behaviour\n#{body}\nend")
    module
  end

  defp loaded(machine, module), do: ExUnit.CaptureLog.with_log(fn -> Mote.load(machine, module) end)

  # Actors that have stashed two questions, and a message by which they go on.
  defp waiting(machine, behaviour) do
    actor = Mote.create(machine, behaviour)
    asks = for n <- 1..2, do: Mote.async(actor, n)
    Mote.drain(machine)
    {actor, asks}
  end

  @stashing "defactor k(n), do: (:go -> become k9(n); {c, :what} -> send(c, {:k, n}); _ -> stash())"
  @plain "defactor k(n), do: ({c, :what} -> send(c, {:k, n}); :go -> become k9(n))"
  @next "defactor k9(n), do: ({c, k} -> send(c, {n, k}))"

  describe "a change" do
    test "is from what stashed as well", %{machine: machine, name: name} do
      module = version(name, @stashing <> "\n" <> @next)
      {actor, asks} = waiting(machine, module.k(1))
      version(name, @next <> "\ndefchange k(n), do: k9(n + 1)")
      assert loaded(machine, module) == {:ok, ""}
      assert Mote.ask!(actor, 3) == {2, 3}
      assert Mote.await_many(asks) == [{2, 1}, {2, 2}]
    end

    test "is from what did not, to what does", %{machine: machine, name: name} do
      for change <- [", z \\\\ 5", ", z"] do
        module = version(name, @plain <> "\n" <> @next)
        actor = Mote.create(machine, module.k(1))
        written = if change == ", z", do: "defchange k(n), do: k(n, 5)", else: ""

        version(name, """
        defactor k(n#{change}), do: (:go -> become k9({n, z}); _ -> stash())
        #{@next}
        #{written}
        """)

        assert loaded(machine, module) == {:ok, ""}
        ask = Mote.async(actor, :any)
        Mote.send(actor, :go)
        assert Mote.await(ask) == {{1, 5}, :any}
      end
    end

    test "is from what stashed, to what does not", %{machine: machine, name: name} do
      module = version(name, @stashing <> "\n" <> @next)
      {actor, asks} = waiting(machine, module.k(1))
      version(name, "defactor k(n, m \\\\ 7), do: ({c, k} -> send(c, {n, m, k}))")
      assert loaded(machine, module) == {:ok, ""}
      assert Mote.ask!(actor, 3) == {1, 7, 3}
      assert Mote.await_many(asks) == [{1, 7, 1}, {1, 7, 2}]
    end

    test "is of what never became", %{machine: machine, name: name} do
      module = version(name, "defactor parse(next), do: (m -> send(next, m))")
      [one, two] = for _ <- 1..2, do: Mote.create(machine, module.parse(self()))
      version(name, "defactor parse(next, n \\\\ 0), do: (m -> send(next, {m, n}) && become n: n + 1)")
      assert loaded(machine, module) == {:ok, ""}
      for m <- [:a, :b], do: Mote.send(one, m)
      assert_receive {:b, 1}
      assert_receive {:a, 0}

      version(
        name,
        "defactor other(next), do: (m -> send(next, {:other, m}))\n" <>
          "defchange parse(next), do: other(next)\ndefchange parse(next, _n), do: other(next)"
      )

      assert loaded(machine, module) == {:ok, ""}
      for actor <- [one, two], do: Mote.send(actor, :c)
      for _ <- 1..2, do: assert_receive({:other, :c})
    end

    test "shows what its actors were", %{machine: machine, name: name} do
      module = version(name, @stashing <> "\n" <> @next)
      {actor, _asks} = waiting(machine, module.k(1))
      version(name, "defactor k(n, m \\\\ 7), do: (_ -> become(m: n + m))")
      assert Mote.load(machine, module) == :ok
      assert Mote.peek(actor) == {:ok, {:k, 1}}
      assert [%{behaviour: {^module, :k, 1}, older: 0}] = Mote.behaviours(machine, for: 0)
      assert {:ok, _} = Mote.peek(actor)
      assert module.__mote__(:behaviours) == [k: 2]
    end
  end

  test "what begins to become is nobody's twice, while several threads run it", %{name: name} do
    machine = start_supervised!({Mote, sponsors: [one: [threads: 2], two: [threads: 2]]}, id: :threads)
    me = self()
    sent = 2_000

    for round <- 1..5 do
      name = "#{name}x#{round}"
      module = version(name, "defactor k(to), do: (_ -> send(to, :old))")
      actor = Mote.create(machine, module.k(me))

      senders =
        for sponsor <- [:one, :two], _ <- 1..2 do
          Task.async(fn ->
            for n <- 1..sent do
              if n == 100, do: send(me, :begun)
              Mote.send(actor, n, sponsor: sponsor)
            end
          end)
        end

      assert_receive :begun, 30_000
      version(name, "defactor k(to, n \\\\ 1), do: (_ -> send(to, n) && become n: n + 1)")
      assert Mote.load(machine, module) == :ok
      Task.await_many(senders, :infinity)
      for _ <- 2..4, do: assert_receive(:begun)
      Mote.send(actor, :last)
      Mote.drain(machine, 60_000)
      told = for _ <- 1..(4 * sent + 1), do: receive(do: (told -> told))
      new = Enum.reject(told, &(&1 == :old))
      # Each of them has counted once.
      assert new != [] and Enum.sort(new) == Enum.to_list(1..length(new))
    end
  end

  test "a stash that is new needs nothing, and one that is gone keeps its actors", %{
    machine: machine,
    name: name
  } do
    module = version(name, @plain <> "\n" <> @next)
    actor = Mote.create(machine, module.k(1))
    version(name, @stashing <> "\n" <> @next)
    assert loaded(machine, module) == {:ok, ""}
    ask = Mote.async(actor, 1)
    assert Mote.ask!(actor, :what) == {:k, 1}
    version(name, @plain <> "\n" <> @next)
    assert {{:ok, [{{^module, :k, 1}, :other_kind}]}, log} = loaded(machine, module)
    assert log =~ "has a k/1 of another kind: one of the two versions stashes"
    Mote.send(actor, :go)
    assert Mote.await(ask) == {1, 1}
    assert loaded(machine, module) == {:ok, ""}
  end

  test "captures are counted as they are written", %{machine: machine, name: name} do
    module = version(name, @stashing <> "\n" <> @next)
    {actor, asks} = waiting(machine, module.k(1))
    version(name, "defactor k(n, m), do: (_ -> become(m: n + m))")
    assert {{:ok, [{{^module, :k, 1}, :absent}]}, log} = loaded(machine, module)
    assert log =~ "has k/2 and no k/1, nor a defchange from it"
    # So it is alive until here.
    Mote.send(actor, :go)
    assert Mote.await_many(asks) == [{1, 1}, {1, 2}]
  end

  describe "what is told" do
    test "is who lives and stays now", %{machine: machine, name: name} do
      module = version(name, @plain <> "\n" <> @next)
      assert Mote.load(machine, module) == :ok
      # Of nobody.
      version(name, @next)
      assert loaded(machine, module) == {:ok, ""}
      version(name, @plain <> "\n" <> @next)
      actor = Mote.create(machine, module.k(1))
      for n <- 2..3, do: version(name, @next <> "\ndefpure v(), do: #{n}")
      for _ <- 1..2, do: assert({{:ok, [{{^module, :k, 1}, :absent}]}, _} = loaded(machine, module))
      # While it is paused as well.
      Mote.pause(machine)
      assert {{:ok, [{{^module, :k, 1}, :absent}]}, _} = loaded(machine, module)
      Mote.resume(machine)
      version(name, @plain <> "\n" <> @next)
      assert loaded(machine, module) == {:ok, ""}
      assert Mote.ask!(actor, :what) == {:k, 1}
    end
  end

  describe "directories" do
    @integers "defactor k(key), do: ({c, :key} -> send c, key)\ndefdirectory ks(), do: (x when is_integer(x) -> k(x))"
    @all "defactor k(key), do: ({c, :key} -> send c, key)\ndefdirectory ks(), do: (x when is_integer(x) or is_binary(x) -> k(x))"
    @limit "defactor k(key, limit), do: ({c, :key} -> send c, {key, limit})\ndefchange k(key), do: k(key, :old)\n" <>
             "defdirectory ks(limit \\\\ 10), do: (x -> k(x, limit))"

    test "have defaults of new captures", %{machine: machine, name: name} do
      module = version(name, @integers)
      keys = Mote.Directory.start(machine, module.ks())
      assert Mote.Directory.ask!(keys, 1, :key) == 1
      version(name, @limit)
      assert loaded(machine, module) == {:ok, ""}
      assert Mote.Directory.ask!(keys, 1, :key) == {1, :old}
      for n <- 2..200, do: assert(Mote.Directory.ask!(keys, n, :key) == {n, 10})

      error =
        assert_raise Mote.CompileError, fn -> version(name, @limit <> "\ndefchange ks(n, m), do: ks(n)") end

      assert Exception.message(error) =~
               "a directory whose new captures come last and have defaults needs none"
    end

    @tag :tmp_dir
    test "of an image take up their new rule", %{machine: machine, name: name, tmp_dir: folder} do
      path = Path.join(folder, "keys.image")
      module = version(name, @integers)
      keys = Mote.Directory.start(machine, module.ks())
      assert Mote.Directory.ask!(keys, 1, :key) == 1
      {:ok, _} = Mote.save(machine, path, names: %{keys: keys})

      for {body, new} <- [{@all, &"#{&1}"}, {@limit, &{"#{&1}", 10}}] do
        version(name, body)
        other = start_supervised!({Mote, image: path}, id: body)
        keys = Mote.names(other).keys
        for n <- 1..200, do: assert(Mote.Directory.ask!(keys, "#{n}", :key) == new.(n))
        assert Mote.Directory.ask!(keys, 1, :key) == 1
        # Other actors have until they become, or until they are told.
        assert [%{behaviour: {^module, :k, 1}, older: 1}] =
                 Enum.filter(Mote.behaviours(other, for: 0), &(&1.older > 0))

        assert Mote.load(other, module) == :ok
        refute Enum.any?(Mote.behaviours(other, for: 0), &(&1.older > 0))
      end
    end

    @tag :tmp_dir
    test "of a durable machine do so when it starts", %{name: name, tmp_dir: folder} do
      start = fn -> start_supervised!({Mote, durable: [dir: folder]}, id: :durable) end
      module = version(name, @integers)
      machine = start.()
      keys = Mote.Directory.start(machine, module.ks())
      assert Mote.Directory.ask!(keys, 1, :key) == 1
      version(name, @all)
      assert {:error, error} = Mote.load(machine, module)
      assert Exception.message(error) =~ "a durable machine takes new code when it is started"
      refute Exception.message(error) =~ "Compile"
      {:ok, _} = Mote.Durable.checkpoint(machine, %{keys: keys})
      stop_supervised!(:durable)
      machine = start.()
      keys = Mote.names(machine).keys
      for n <- 1..200, do: assert(Mote.Directory.ask!(keys, "#{n}", :key) == "#{n}")
      assert {{:ok, [{{^module, :k, 1}, :durable}]}, log} = loaded(machine, module)
      assert log =~ "A durable machine has actors take new code"
    end
  end
end
