defmodule Mote.ImageMigrationTest do
  # Actors that take up other code before their machine goes on from an image: `:migrate` of `Mote.start_link/1`.
  use ExUnit.Case, async: true

  import ExUnit.CaptureLog

  alias Mote.{Directory, Error, Library}

  @first """
  defmodule Mote.ImageMigrationTest.Shop do
    use Mote.Behaviour

    # Answers with all that it has, the version first.
    defactor cart(items, other) do
      {customer, :all} -> send customer, {1, items, other}
      {:later, milliseconds} -> become cart([send_after(milliseconds, self(), {:add, :late}) | items], other)
      {:add, item} -> become cart([item | items], other)
      {:apply, n} -> become cart([fn x -> x + n end | items], other)
    end

    # Keeps what comes until it is opened.
    defactor closed(other) do
      :open -> become cart([], other)
      _ -> stash()
    end

    defactor empty() do
      {customer, :all} -> send customer, 1
    end

    defactor entity(key) do
      {customer, :key} -> send customer, {1, key}
    end

    defdirectory entities() do
      key -> entity(key)
    end
  end
  """

  @second """
  defmodule Mote.ImageMigrationTest.Shop do
    use Mote.Behaviour

    defactor cart(items, other, total) do
      {customer, :all} -> send customer, {2, items, other, total}
      {customer, {:apply, x}} -> send customer, hd(items).(x)
      {:add, item} -> become cart([item | items], other, total + 1)
    end

    defactor closed(other, tries) do
      :open -> become cart([], other, tries)
      _ -> stash()
    end

    defactor empty() do
      {customer, :all} -> send customer, 2
    end

    defactor tells(pid) do
      message -> send pid, {:told, message}
    end

    defactor away(), beam: true do
      {customer, :all} -> send customer, :away
    end

    defactor entity(key) do
      {customer, :key} -> send customer, {2, key}
    end

    defdirectory entities() do
      key -> entity(key)
    end
  end
  """

  @shop Mote.ImageMigrationTest.Shop

  setup do
    compile(@first)
    path = Path.join(System.tmp_dir!(), "mote_migration_#{System.unique_integer([:positive])}")
    on_exit(fn -> Enum.each(Path.wildcard(path <> "*"), &File.rm!/1) end)
    {:ok, machine} = Mote.start_link(clock: :manual)
    {:ok, machine: machine, path: path}
  end

  defp compile(code) do
    previous = Code.compiler_options(ignore_module_conflict: true)
    [{module, _}] = Code.compile_string(code)
    Code.compiler_options(previous)
    module
  end

  # The module is there only at run time.
  defp make(name, captures), do: apply(@shop, name, captures)

  defp go_on(path, migrate, opts \\ []) do
    {:ok, machine} = Mote.start_link([image: path, clock: :manual, migrate: migrate] ++ opts)
    {machine, Mote.names(machine)}
  end

  defp refused(path, migrate, opts \\ []) do
    Process.flag(:trap_exit, true)
    {:error, %Error{} = error} = Mote.start_link([image: path, migrate: migrate] ++ opts)
    assert error.context.path == path
    {error.reason, String.replace(Exception.message(error), path, "FILE")}
  end

  defp changed({@shop, :cart, {items, other}}), do: make(:cart, [items, other, length(items)])
  defp changed({@shop, :closed, {other}}), do: make(:closed, [other, 0])
  defp changed(_other), do: :keep

  test "an actor becomes what the function makes of it, and keeps all that is its own", %{path: path} do
    sponsors = [main: [threads: 1], other: [threads: 1]]
    {:ok, machine} = Mote.start_link(sponsors: sponsors, identity: path, clock: :manual)
    one = Mote.create(machine, make(:cart, [[:a], nil]), sponsor: :other)
    two = Mote.create(machine, make(:cart, [[%{one: one}, self()], one]))
    Mote.send(one, {:later, 1_000})
    Mote.send(one, {:apply, 5})
    Mote.drain(machine)
    Mote.advance(machine, 300)
    Mote.pause(machine)
    Mote.send_many(one, [{:add, :waits}, {:add, 7}])
    {:ok, image} = Mote.save(machine, path, names: %{two: two})
    assert {image.kept, image.events, image.timers} == {2, 2, 1}
    Mote.stop(machine)
    compile(@second)

    log =
      capture_log(fn ->
        resolve = fn %{kind: :pid} -> {:ok, self()} end
        {machine, names} = go_on(path, &changed/1, sponsors: sponsors, identity: path, resolve: resolve)
        # The old address leads there, and what it holds is what it was.
        assert {2, [7, :waits, f, timer, :a], nil, 5} = Mote.ask!(one, :all)
        assert Mote.info(names.two).pinned == nil
        assert {2, [%{one: new}, pid], new, 2} = Mote.ask!(two, :all)
        assert is_pid(pid)
        assert Mote.info(new).pinned == :other
        assert %Mote.Function{} = f
        assert Mote.cancel_timer(timer) == 700
        assert [%{actors: 2, older: 0}] = Mote.behaviours(machine, for: 0)
      end)

    refute log =~ "older"
  end

  test "functions and timers in captures are what they were", %{machine: machine, path: path} do
    actor = Mote.create(machine, make(:cart, [[], nil]))
    Mote.send(actor, {:later, 500})
    Mote.send(actor, {:apply, 5})
    Mote.drain(machine)
    {:ok, _} = Mote.save(machine, path, names: %{actor: actor})
    compile(@second)
    {other, %{actor: actor}} = go_on(path, &changed/1)
    assert Mote.ask!(actor, {:apply, 3}) == 8
    Mote.advance(other, 499)
    assert {2, [_, timer], nil, 2} = Mote.ask!(actor, :all)
    assert Mote.cancel_timer(timer) == 1
    Mote.advance(other, 100)
    assert {2, [_, _], nil, 2} = Mote.ask!(actor, :all)
  end

  test "what it has stashed comes before what waits, whether it is pinned or not", %{path: path} do
    sponsors = [main: [threads: 1], other: [threads: 1]]
    {:ok, machine} = Mote.start_link(sponsors: sponsors)
    pinned = Mote.create(machine, make(:closed, [nil]), sponsor: :other)
    free = Mote.create(machine, make(:closed, [nil]))
    away = Mote.create(machine, make(:closed, [nil]))
    none = Mote.create(machine, make(:closed, [nil]))
    actors = [pinned: pinned, free: free, away: Mote.on(:other, away)]
    for n <- 1..3, {_, actor} <- actors, do: Mote.send(actor, {:add, n})
    Mote.drain(machine)
    Mote.pause(machine)

    for n <- [4, :open, 5],
        actor <- [pinned, free, actors[:away]],
        do: Mote.send(actor, if(n == :open, do: n, else: {:add, n}))

    {:ok, _} = Mote.save(machine, path, names: Map.new([none: none] ++ actors))
    Mote.stop(machine)
    compile(@second)
    test = self()

    migrate = fn {@shop, :closed, {nil}} = actor ->
      send(test, {:asked, actor})
      make(:closed, [nil, 10])
    end

    {_, names} = go_on(path, migrate, sponsors: sponsors)
    for _ <- 1..4, do: assert_receive({:asked, {@shop, :closed, {nil}}})

    for name <- [:pinned, :free, :away],
        do: assert({^name, {2, [5, 4, 3, 2, 1], nil, 15}} = {name, Mote.ask!(names[name], :all)})

    Mote.send_many(names.none, [{:add, 1}, :open])
    assert {2, [1], nil, 11} = Mote.ask!(names.none, :all)

    {_, names} = go_on(path, fn {_, :closed, {nil}} -> make(:cart, [[], nil, 0]) end, sponsors: sponsors)
    assert {2, [5, 4, 3, 2, 1], nil, 5} = Mote.ask!(names.pinned, :all)
    assert {2, [], nil, 0} = Mote.ask!(names.none, :all)
  end

  test "those that are kept go on in the old version, and this is said", %{machine: machine, path: path} do
    carts = for n <- 1..3, do: Mote.create(machine, make(:cart, [[n], nil]))
    empty = Mote.create(machine, make(:empty, []))
    {:ok, _} = Mote.save(machine, path, names: %{carts: carts, empty: empty})
    compile(@second)

    migrate = fn
      {@shop, :cart, {[2], nil}} -> :keep
      actor -> changed(actor)
    end

    log =
      capture_log(fn ->
        {other, %{carts: carts, empty: empty}} = go_on(path, migrate)

        assert [{2, [1], nil, 1}, {1, [2], nil}, {2, [3], nil, 1}] =
                 for(cart <- carts, do: Mote.ask!(cart, :all))

        assert Mote.ask!(empty, :all) == 1

        behaviours =
          for %{behaviour: {_, name, n}} = of <- Mote.behaviours(other, for: 0),
              do: {name, n, of.actors, of.older}

        assert Enum.sort(behaviours) == [{:cart, 2, 1, 1}, {:cart, 3, 2, 0}, {:empty, 0, 1, 1}]
      end)

    assert log =~
             "with older versions of Mote.ImageMigrationTest.Shop.cart/2, Mote.ImageMigrationTest.Shop.empty/0"
  end

  test "those of a module that is gone become others", %{machine: machine, path: path} do
    gone = @first |> String.replace("Shop", "Gone") |> compile()
    new = @second |> String.replace("Shop", "Comes") |> compile()
    actor = Mote.create(machine, gone.cart([:a], nil))
    {:ok, _} = Mote.save(machine, path, names: %{actor: actor})
    :code.purge(gone)
    :code.delete(gone)
    {other, names} = go_on(path, fn {^gone, :cart, {items, nil}} -> new.cart(items, actor, 0) end)
    # An address of another machine is one here, too.
    assert {2, [:a], ^actor, 0} = Mote.ask!(names.actor, :all)
    assert [%{behaviour: {^new, :cart, 3}, older: 0}] = Mote.behaviours(other, for: 0)
  end

  test "a directory has its entries, and nobody is asked about its shards", %{machine: machine, path: path} do
    entities = Directory.start(machine, make(:entities, []))
    for n <- 1..1_200, do: Directory.send(entities, n, :nothing)
    Mote.drain(machine)
    {:ok, _} = Mote.save(machine, path, names: %{entities: entities})
    compile(@second)
    {other, %{entities: entities}} = go_on(path, fn {@shop, :entity, {key}} -> make(:entity, [key]) end)
    for n <- [1, 600, 1_200], do: assert(Directory.ask!(entities, n, :key) == {2, n})
    assert Enum.all?(Mote.behaviours(other, for: 0), &(&1.older == 0))
  end

  test "large captures, in batches that are as large as one of them", %{machine: machine, path: path} do
    texts = for n <- 1..10, do: String.duplicate(Integer.to_string(n), 50_000)
    list = Enum.to_list(1..20_000)
    carts = for text <- texts, do: Mote.create(machine, make(:cart, [[text | list], nil]))
    {:ok, _} = Mote.save(machine, path, names: %{carts: carts})
    compile(@second)
    {_, %{carts: carts}} = go_on(path, &changed/1)

    for {cart, text} <- Enum.zip(carts, texts),
        do: assert({2, [^text | ^list], nil, 20_001} = Mote.ask!(cart, :all))
  end

  test "nobody is asked where the code is the same", %{machine: machine, path: path} do
    actor = Mote.create(machine, make(:cart, [[], nil]))
    counter = Mote.create(machine, Library.counter(3))
    {:ok, _} = Mote.save(machine, path, names: %{actor: actor, counter: counter})
    {_, %{actor: actor, counter: counter}} = go_on(path, fn _ -> raise "asked" end)
    assert {1, [], nil} = Mote.ask!(actor, :all)
    assert Mote.ask!(counter, :read) == 3
  end

  describe "a machine does not go on" do
    setup %{machine: machine, path: path} do
      cart = Mote.create(machine, make(:cart, [[1, 2], nil]))
      {:ok, _} = Mote.save(machine, path, names: %{cart: cart})
      compile(@second)
      :ok
    end

    @refused "FILE: for an actor that is Mote.ImageMigrationTest.Shop.cart/2 :migrate "

    test "if the function fails, in any way", %{path: path} do
      assert {:image, @refused <> "failed: ** (RuntimeError) no such item" <> where} =
               refused(path, fn _ -> raise "no such item" end)

      assert where =~ "image_migration_test.exs"
      assert {:image, @refused <> "failed: ** (throw) :away" <> _} = refused(path, fn _ -> throw(:away) end)
      assert {:image, @refused <> "failed: ** (exit) :away" <> _} = refused(path, fn _ -> exit(:away) end)

      assert {:image, @refused <> "failed: ** (FunctionClauseError)" <> _} =
               refused(path, fn {:no, _, _} -> :keep end)

      # The file is as it was.
      {_, %{cart: cart}} = go_on(path, &changed/1)
      assert {2, [1, 2], nil, 2} = Mote.ask!(cart, :all)
    end

    test "if it returns anything else", %{path: path} do
      for {returned, shown} <- [
            {nil, "nil"},
            {{@shop, :cart, {1}}, "{Mote.ImageMigrationTest.Shop, :cart, {1}}"},
            {%{make(:empty, []) | captures: nil}, "#Mote.Behaviour<"},
            {%{make(:empty, []) | version: :new}, "#Mote.Behaviour<"}
          ] do
        {:image, text} = refused(path, fn _ -> returned end)
        assert String.starts_with?(text, @refused <> "returned " <> shown)
        assert text =~ ", and not a behaviour with its captures"
      end
    end

    test "if there is no such behaviour, or not in that version", %{path: path} do
      empty = make(:empty, [])
      name = "Mote.ImageMigrationTest.Shop.empty"

      assert refused(path, fn _ -> %{empty | captures: {1}} end) ==
               {:image, @refused <> "returned #{name}/1, and there is no such behaviour"}

      other = " of another version of the module than the one that is loaded"

      assert refused(path, fn _ -> %{empty | version: 7} end) ==
               {:image, @refused <> "returned #{name}/0" <> other}

      assert refused(path, fn _ -> %{empty | version: -7} end) ==
               {:image, @refused <> "returned #{name}/0" <> other}

      assert {:image, @refused <> "returned a behaviour of Enum: Enum has no behaviours" <> _} =
               refused(path, fn _ -> %{empty | module: Enum} end)
    end

    test "if an actor would run in processes and is pinned to none", %{path: path} do
      opts = [sponsors: [main: [threads: 1], away: [beam: true]]]
      {:image, text} = refused(path, fn _ -> make(:away, []) end, opts)
      shop = "Mote.ImageMigrationTest.Shop"

      assert text ==
               "FILE: an actor that is #{shop}.cart/2 cannot become #{shop}.away/0, which is marked beam: true: " <>
                 "it is pinned to no beam sponsor"
    end

    test "if it has no memory for what they become", %{path: path} do
      large = Enum.to_list(1..1_000_000)

      assert {:no_memory, _} =
               refused(path, fn _ -> make(:cart, [large, nil, 0]) end, memory: 8 * 1024 * 1024)

      {_, %{cart: cart}} = go_on(path, &changed/1, memory: 8 * 1024 * 1024)
      assert {2, [1, 2], nil, 2} = Mote.ask!(cart, :all)
    end

    test "and runs no turn, whatever the function sends", %{path: path} do
      {:ok, elsewhere} = Mote.start_link()
      tells = Mote.create(elsewhere, make(:tells, [self()]))
      # Of the two actors the second one becomes nothing, when the first one has been sent something.
      {:ok, machine} = Mote.start_link()
      compile(@first)
      one = Mote.create(machine, make(:cart, [[:first], nil]))
      two = Mote.create(machine, make(:cart, [[one], tells]))
      {:ok, _} = Mote.save(machine, path, names: %{one: one, two: two})
      compile(@second)
      test = self()

      migrate = fn
        {_, :cart, {[:first], _}} ->
          make(:tells, [test])

        {_, :cart, {[%Mote.Address{} = one], _}} ->
          send(test, {:sent, Mote.send(one, :hello), one})
          :nothing
      end

      assert {:image, @refused <> "returned :nothing" <> _} =
               refused(path, migrate, resolve: fn %{value: value} -> {:ok, value} end)

      assert_receive {:sent, :ok, one}
      assert {:error, %Error{reason: :machine_down}} = Mote.ask(one, :x)
      refute_received {:told, _}
    end

    test "if its process is killed meanwhile, and nothing of it stays", %{path: path} do
      {:ok, named} = Mote.start_link(identity: path)
      Mote.stop(named)
      Process.flag(:trap_exit, true)
      test = self()

      migrate = fn _ ->
        send(test, {:asked, self()})
        Process.sleep(:infinity)
      end

      spawn(fn -> Mote.start_link(image: path, migrate: migrate, identity: path) end)
      assert_receive {:asked, pid}, 5_000
      monitor = Process.monitor(pid)
      Process.exit(pid, :kill)
      assert_receive {:DOWN, ^monitor, :process, _, _}, 5_000
      Mote.Eventually.eventually(fn -> match?({:ok, _}, Mote.start_link(identity: path)) end)
    end
  end

  test "what is no function is refused" do
    assert_raise ArgumentError, ~r/expected :migrate to be a function of one argument, got: 1/, fn ->
      Mote.start_link(migrate: 1)
    end
  end
end
