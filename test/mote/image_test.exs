defmodule Mote.ImageTest do
  # Machines that go on from an image. What is in the bytes: native/mote_vm/tests/vm/image.rs.
  use ExUnit.Case, async: true

  import ExUnit.CaptureLog

  alias Mote.{Directory, Error, Image, Library, TwoNodes}

  defmodule Behaviours do
    @moduledoc false
    use Mote.Behaviour

    # Answers with what it has got so far, the oldest last.
    defactor keeps(got, other) do
      {customer, :got} ->
        send customer, {got, other}

      {:later, milliseconds, message} ->
        become keeps([{:armed, send_after(milliseconds, self(), {:came, message})} | got], other)

      message ->
        become keeps([message | got], other)
    end

    # Keeps what comes until it is opened.
    defactor closed(other) do
      :open -> become keeps([], other)
      _ -> stash()
    end

    # Answers whoever asks next with what the one before has asked.
    defactor late(before) do
      {customer, request} ->
        if before != nil, do: send(elem(before, 0), elem(before, 1))
        become late({customer, request})
    end

    # Applies a function that it holds, or is given.
    defactor applies(f) do
      {customer, {:apply, x}} -> send customer, f.(x)
      {customer, :held} -> send customer, f
      {customer, {f, x}} -> send customer, f.(x)
      {:hold, n} -> become applies(plus(n))
      {:add, n} -> become applies(fn x -> {f.(x), n} end)
    end

    defpure plus(n), do: fn x -> x + n end

    # Keys that share a long list.
    defactor heavy(map, list) do
      {:put, n} -> become heavy(Map.put(map, {list, n}, n), list)
      {customer, :size} -> send customer, map_size(map)
    end

    defactor time() do
      {customer, :now} -> send customer, System.monotonic_time(:millisecond)
    end

    defactor blocking(), beam: true do
      {:block, name} ->
        Kernel.send(name, {:blocks, :erlang.self()})
        receive do: (:go_on -> :ok)
    end

    defactor entity(key, value) do
      {customer, :get} -> send customer, value
      {:put, new} -> become entity(key, new)
    end

    defdirectory entities() do
      key -> entity(key, nil)
    end
  end

  alias Behaviours, as: B

  setup do
    path = Path.join(System.tmp_dir!(), "mote_image_#{System.unique_integer([:positive])}")

    on_exit(fn ->
      path
      |> Path.dirname()
      |> Path.join(Path.basename(path) <> "*")
      |> Path.wildcard()
      |> Enum.each(&File.rm!/1)
    end)

    {:ok, machine} = Mote.start_link(clock: :manual)
    {:ok, machine: machine, path: path}
  end

  defp go_on(path, opts \\ []) do
    {:ok, machine} = Mote.start_link([image: path, clock: :manual] ++ opts)
    {machine, Mote.names(machine)}
  end

  defp refused(path, opts \\ []) do
    Process.flag(:trap_exit, true)
    {:error, %Error{reason: :image} = error} = Mote.start_link([image: path] ++ opts)
    Exception.message(error)
  end

  test "values of all kinds, shared parts, and references to actors come back", %{
    machine: machine,
    path: path
  } do
    one = Mote.create(machine, B.keeps([], nil))
    many = Enum.to_list(1..1000)

    value = %{
      :atom => [nil, true, :"with space", :größer],
      1 => [0, -1, 2 ** 62, -(2 ** 62) - 1, 2 ** 4000, -(3 ** 90)],
      {1.5} => [0.0, -0.0, 1.0e-300, 1.7976931348623157e308],
      "text" => [
        "",
        "short",
        String.duplicate("long", 500),
        binary_part(String.duplicate("abc", 400), 7, 900)
      ],
      [] => [[], {}, %{}, [1 | 2], <<5::3>>],
      many: many,
      again: {many, many},
      map: Map.new(1..500, &{&1, Integer.to_string(&1)}),
      one: one,
      on: Mote.on(:main, one)
    }

    two = Mote.create(machine, B.keeps(value, one))

    assert {:ok, %Image{lost: []} = image} =
             Mote.save(machine, path, names: %{one: one, two: two, more: {:a, [two]}})

    assert image.actors == 2
    assert image.bytes == File.stat!(path).size
    {_other, names} = go_on(path)
    assert %{one: new_one, two: new_two, more: {:a, [new_two]}} = names
    assert {found, ^new_one} = Mote.ask!(new_two, :got)
    assert found == %{value | one: new_one, on: Mote.on(:main, new_one)}
    refute new_one == one
  end

  test "functions come back, with what they have captured", %{machine: machine, path: path} do
    [one, two] = for _ <- 1..2, do: Mote.create(machine, B.applies(nil))
    Mote.send_many([{one, {:hold, 10}}, {two, {:hold, 20}}])
    for n <- [:a, one], do: Mote.send(one, {:add, n})
    assert Mote.ask!(one, {:apply, 1}) == {{11, :a}, one}
    held = Mote.ask!(two, :held)
    assert {:ok, %Image{lost: []}} = Mote.save(machine, path, names: %{one: one, two: two})
    {_other, names} = go_on(path)
    assert Mote.ask!(names.one, {:apply, 1}) == {{11, :a}, names.one}
    assert Mote.ask!(names.two, {:apply, 1}) == 21
    # What was taken out of the machine that was saved is the same function here.
    assert Mote.ask!(names.one, {held, 1}) == 21
  end

  test "messages that wait, timers and stashes go on where they were", %{machine: machine, path: path} do
    keeper = Mote.create(machine, B.keeps([], nil))
    closed = Mote.create(machine, B.closed(keeper))
    Mote.send_many(closed, [1, 2])
    Mote.send(keeper, {:later, 1_000, :from_a_turn})
    Mote.drain(machine)
    Mote.advance(machine, 300)
    Mote.send_after(keeper, :from_outside, 200)
    Mote.pause(machine)
    Mote.send_many(keeper, [:a, :b])
    assert {:ok, image} = Mote.save(machine, path, names: %{keeper: keeper, closed: closed})
    assert {image.events, image.timers, image.moment} == {2, 2, 300}

    {other, names} = go_on(path)
    assert Mote.now(other) == 300
    Mote.advance(other, 199)
    assert {[:b, :a, {:armed, timer}], nil} = Mote.ask!(names.keeper, :got)
    Mote.advance(other, 1)
    assert {[:from_outside | _], nil} = Mote.ask!(names.keeper, :got)
    # The reference that the actor has kept is that of the timer here.
    assert Mote.cancel_timer(timer) == 500
    Mote.send_many(names.closed, [3, :open, 4])
    assert {[4, 3, 2, 1], _} = Mote.ask!(names.closed, :got)
  end

  test "a timer fires at its time, and time goes on", %{machine: machine, path: path} do
    keeper = Mote.create(machine, B.keeps([], nil))
    Mote.send(keeper, {:later, 1_000, :x})
    time = Mote.create(machine, B.time())
    Mote.drain(machine)
    Mote.advance(machine, 600)
    {:ok, _} = Mote.save(machine, path, names: %{keeper: keeper, time: time})
    {other, names} = go_on(path)
    assert Mote.ask!(names.time, :now) == 600
    Mote.advance(other, 399)
    assert {[{:armed, _}], nil} = Mote.ask!(names.keeper, :got)
    Mote.advance(other, 1)
    assert {[{:came, :x}, {:armed, _}], nil} = Mote.ask!(names.keeper, :got)
  end

  test "what only the BEAM has is listed with its holder, and is dead", %{machine: machine, path: path} do
    ref = make_ref()
    keeper = Mote.create(machine, B.keeps(%{self() => :me, ref => :ref}, & &1))
    late = Mote.create(machine, B.late(nil))
    asked = Task.async(fn -> Mote.ask(late, :question, timeout: :infinity) end)
    wait_for_customer(machine)
    {:ok, image} = Mote.save(machine, path, names: %{keeper: keeper, late: late, pid: self()})

    assert [
             %{kind: :address, behaviour: {B, :late, 1}, held: :state, count: 1},
             %{kind: :function, behaviour: {B, :keeps, 2}, held: :state, count: 1},
             %{kind: :pid, behaviour: nil, held: :state, count: 1},
             %{kind: :pid, behaviour: {B, :keeps, 2}, held: :state, count: 1},
             %{kind: :reference, behaviour: {B, :keeps, 2}, held: :state, count: 1}
           ] = image.lost

    {:ok, read} = Image.read(path)
    assert read.lost == image.lost

    {other, names} = go_on(path)
    assert is_reference(names.pid)
    {map, function} = Mote.ask!(names.keeper, :got)
    assert Enum.sort(Map.values(map)) == [:me, :ref]
    assert is_reference(function)
    # An answer for a caller of the other machine goes nowhere, and is counted.
    Mote.send(names.late, {nil, :next})
    Mote.drain(other)
    assert Mote.info(other).counters.dropped == 1

    # The caller waits for the machine that it has asked, and hears of its end.
    Mote.stop(machine)
    assert {:error, %Error{reason: reason}} = Task.await(asked)
    assert reason in [:machine_down, :broken_promise]
  end

  defp wait_for_customer(machine) do
    if Mote.waiting(machine) == [], do: wait_for_customer(machine)
  end

  test "what only the BEAM has is what :resolve makes of it", %{machine: machine, path: path} do
    {:ok, elsewhere} = Mote.start_link()
    there = Mote.create(elsewhere, Library.counter(5))
    {:ok, port} = :gen_udp.open(0)
    late = Mote.create(machine, B.late(nil))
    waits = Mote.async(late, :x)
    keeper = Mote.create(machine, B.keeps([self(), port, make_ref(), &String.upcase/1, there], nil))
    Mote.drain(machine)
    {:ok, %{lost: lost}} = Mote.save(machine, path, names: %{keeper: keeper, late: late})
    # With the customer.
    assert lost |> Enum.map(& &1.count) |> Enum.sum() == 6
    test = self()

    resolve = fn
      %{value: value} = lost when not is_reference(value) ->
        send(test, {:asked, lost})
        {:ok, if(is_port(value), do: {:port, [keeper]}, else: value)}

      _ ->
        :lost
    end

    {_, names} = go_on(path, resolve: resolve)
    assert {[^test, {:port, [_]}, dead, upcase, ^there], nil} = Mote.ask!(names.keeper, :got)
    assert is_reference(dead)
    assert upcase == (&String.upcase/1)
    keeps = {B, :keeps, 2}
    assert_receive {:asked, %{kind: :pid, behaviour: ^keeps, held: :state, value: ^test}}
    assert_receive {:asked, %{kind: :address, value: ^there}}
    assert_receive {:asked, %{kind: :port, value: ^port}}
    Process.flag(:trap_exit, true)
    Mote.stop(machine)
    assert catch_exit(Mote.await(waits)) == {:machine_down, {Mote, :await, [waits, 5_000]}}
    assert {:error, {%ArgumentError{message: message}, _}} = Mote.start_link(image: path, resolve: & &1)
    assert message =~ "expected :resolve to return {:ok, value} or :lost, got: %{"
    assert_raise ArgumentError, ~r/expected :resolve to be a function/, fn -> Mote.start_link(resolve: 1) end
  end

  test "pids of a node without a name mean nobody in another one", %{path: path} do
    {:ok, peer, _} = TwoNodes.start_peer([])

    code = """
    {:ok, _} = Application.ensure_all_started(:mote)
    [machine, other] = for _ <- 1..2, {:ok, machine} <- [Mote.start_link()], do: machine
    there = Mote.create(other, Mote.Library.counter(5))
    names = %{all: [self(), hd(Port.list()), make_ref(), &String.upcase/1, there]}
    {:ok, %{lost: lost}} = Mote.save(machine, path, names: names)
    Enum.map(lost, & &1.kind)
    """

    {kinds, _} = :peer.call(peer, Code, :eval_string, [code, [path: path]], 60_000)
    assert kinds == [:address, :function, :pid, :port, :reference]
    test = self()

    resolve = fn lost ->
      send(test, {:asked, lost.kind, Map.fetch(lost, :value)})
      :lost
    end

    {_, %{all: all}} = go_on(path, resolve: resolve)
    assert length(all) == 5
    upcase = {:ok, &String.upcase/1}
    for kind <- [:pid, :port, :reference], do: assert_receive({:asked, ^kind, :error})
    assert_receive {:asked, :function, ^upcase}
    assert_receive {:asked, :address, {:ok, %Mote.Address{}}}
  end

  test "what functions have captured is not in the file", %{machine: machine, path: path} do
    [secret, large] = for size <- [50, 100_000], do: String.duplicate("?", size)
    functions = [fn -> secret end, fn -> large end, &File.read/1]
    {:ok, %{bytes: bytes}} = Mote.save(machine, path, names: %{functions: functions})
    assert bytes < 50_000
    refute File.read!(path) =~ secret
    test = self()

    resolve = fn lost ->
      send(test, {:asked, lost})
      :lost
    end

    go_on(path, resolve: resolve)
    assert_receive {:asked, %{kind: :function, value: read}}
    assert read == (&File.read/1)
    for _ <- 1..2, do: assert_receive({:asked, %{kind: :function} = lost} when not is_map_key(lost, :value))
  end

  test "two keys of a map that :resolve makes equal are an error", %{machine: machine, path: path} do
    keeper = Mote.create(machine, B.keeps([], %{{self(), 1} => :me, {make_ref(), 1} => :ref}))
    {:ok, _} = Mote.save(machine, path, names: %{keeper: keeper})
    text = refused(path, resolve: fn _ -> {:ok, :same} end)

    assert text =~
             ~r/: at byte \d+: of the 2 keys of a map, some are equal: what takes the place of lost values has made them so$/

    {_, _} = go_on(path, resolve: fn lost -> {:ok, lost.kind} end)
  end

  test "a directory comes back with its keys", %{machine: machine, path: path} do
    entities = Directory.start(machine, B.entities())
    for n <- 1..100, do: Directory.send(entities, n, {:put, {:value, n}})
    Directory.send(entities, {:a, "key"}, {:put, :other})
    Mote.drain(machine)
    {:ok, _} = Mote.save(machine, path, names: %{entities: entities})
    Mote.stop(machine)
    {_other, %{entities: entities}} = go_on(path)

    assert entities |> Directory.stream() |> Enum.map(&elem(&1, 0)) |> Enum.sort() ==
             Enum.to_list(1..100) ++ [{:a, "key"}]

    assert for(n <- 1..100, do: Directory.ask!(entities, n, :get)) == for(n <- 1..100, do: {:value, n})
    assert Directory.ask!(entities, {:a, "key"}, :get) == :other
    # It starts others as before.
    assert Directory.ask!(entities, :new, :get) == nil
  end

  test "an actor that is held by a move is again what it was", %{machine: machine, path: path} do
    keeper = Mote.create(machine, B.keeps([:first], nil))
    hold = Mote.Move.new_hold()
    {:ok, _} = Mote.Move.hold(keeper, hold, 5_000)
    Mote.send_many(keeper, [:second, :third])
    Mote.drain(machine)
    {:ok, image} = Mote.save(machine, path, names: %{keeper: keeper})
    assert image.events == 2
    {_other, names} = go_on(path)
    assert Mote.ask!(names.keeper, :got) == {[:third, :second, :first], nil}
  end

  test "a turn that is away begins again", %{path: path} do
    opts = [sponsors: [main: [threads: 1], away: [beam: true]]]
    {:ok, machine} = Mote.start_link(opts)
    actor = Mote.create(machine, B.blocking(), sponsor: :away)
    name = :"#{__MODULE__}.away"
    Process.register(self(), name)
    Mote.send(actor, {:block, name})
    assert_receive {:blocks, worker}
    {:ok, image} = Mote.save(machine, path, names: %{actor: actor})
    assert image.lost == []
    assert {image.events, image.sponsors} == {1, [:away]}
    send(worker, :go_on)
    assert refused(path) =~ "it needs sponsors that the machine does not have: :away"
    go_on(path, opts)
    assert_receive {:blocks, again}
    send(again, :go_on)
    assert again != worker
  end

  test "actors stay pinned, and machines with several threads go on from each other", %{path: path} do
    sponsors = [first: [threads: 2], second: [threads: 2]]
    {:ok, machine} = Mote.start_link(sponsors: sponsors)

    actors =
      for n <- 1..500,
          do: Mote.create(machine, Library.counter(n), sponsor: Enum.at([:first, :second], rem(n, 2)))

    {:ok, _} = Mote.save(machine, path, names: %{actors: actors})
    {:ok, other} = Mote.start_link(sponsors: [second: [threads: 1], first: [threads: 3]], image: path)
    %{actors: actors} = Mote.names(other)
    assert Mote.ask_all(actors, {:add, 1}) == for(n <- 1..500, do: {:ok, n + 1})
    assert Enum.map(Enum.take(actors, 2), &Mote.info(&1).pinned) == [:second, :first]
  end

  test "a machine that goes on saves what was named again", %{machine: machine, path: path} do
    counter = Mote.create(machine, Library.counter(1))
    {:ok, _} = Mote.save(machine, path, names: %{counter: counter})
    {other, %{counter: counter}} = go_on(path)
    Mote.ask!(counter, {:add, 1})
    {:ok, _} = Mote.save(other, path)
    {_third, %{counter: counter}} = go_on(path)
    assert Mote.ask!(counter, :read) == 2
  end

  describe "code" do
    defp compile(code) do
      previous = Code.compiler_options(ignore_module_conflict: true)
      [{module, _}] = Code.compile_string(code)
      Code.compiler_options(previous)
      module
    end

    defp version(answer) do
      """
      defmodule Mote.ImageTest.Changing do
        use Mote.Behaviour
        defpure said(n), do: {#{inspect(answer)}, n}
        defactor changing(n) do
          {customer, :say} -> send customer, said(n)
          {customer, :next} ->
            send customer, :ok
            become changing(n + 1)
        end
      end
      """
    end

    test "that has changed goes on in its old version until the actors become another", %{
      machine: machine,
      path: path
    } do
      module = compile(version(:old))
      actor = Mote.create(machine, module.changing(1))
      {:ok, _} = Mote.save(machine, path, names: %{actor: actor})
      compile(version(:new))

      log =
        capture_log(fn ->
          {other, %{actor: actor}} = go_on(path)
          assert Mote.ask!(actor, :say) == {:old, 1}
          assert [%{behaviour: {^module, :changing, 1}, actors: 1, older: 1}] = Mote.behaviours(other, for: 0)
          assert Mote.ask!(Mote.create(other, module.changing(1)), :say) == {:new, 1}
          Mote.ask!(actor, :next)
          assert Mote.ask!(actor, :say) == {:new, 2}
          assert [%{actors: 2, older: 0}] = Mote.behaviours(other, for: 0)
        end)

      assert log =~ "with older versions of Mote.ImageTest.Changing.changing/1"
    end

    test "that is gone comes out of the image", %{machine: machine, path: path} do
      code = String.replace(version(:gone), "Changing", "Gone")
      module = compile(code)
      actor = Mote.create(machine, module.changing(1))
      {:ok, _} = Mote.save(machine, path, names: %{actor: actor})
      :code.purge(module)
      :code.delete(module)
      capture_log(fn -> send(self(), go_on(path)) end)
      assert_receive {_other, %{actor: actor}}
      Mote.ask!(actor, :next)
      assert Mote.ask!(actor, :say) == {:gone, 2}
    end
  end

  describe "what is wrong is said, with the file and the place:" do
    test "a file that is none", %{path: path} do
      assert refused(path) == "#{path}: no such file or directory"
      File.write!(path, "hello")
      assert refused(path) == "#{path}: at byte 0: this is not an image of a machine"
      assert {:error, %Error{reason: :image, context: %{path: ^path}}} = Image.read(path)
    end

    test "one that was cut or changed", %{machine: machine, path: path} do
      {:ok, _} = Mote.save(machine, path, names: %{a: Mote.create(machine, Library.counter(1))})
      bytes = File.read!(path)
      File.write!(path, binary_part(bytes, 0, byte_size(bytes) - 1))
      assert refused(path) =~ ~r/: at byte \d+: the file ends here, in the middle of the image$/
      <<start::binary-size(100), byte, rest::binary>> = bytes
      File.write!(path, [start, Bitwise.bxor(byte, 1), rest])
      assert refused(path) =~ ": at byte 16: the checksum of the block is wrong: its bytes were changed"
      <<start::binary-size(8), _version, rest::binary>> = bytes
      File.write!(path, [start, 9, rest])
      assert refused(path) =~ "the image is of version 9 of the format, and this Mote reads version 2"
    end

    test "a machine that is too small", %{machine: machine, path: path} do
      actor = Mote.create(machine, Library.cell(Enum.to_list(1..2_000_000)))
      {:ok, _} = Mote.save(machine, path, names: %{actor: actor})
      Process.flag(:trap_exit, true)
      assert {:error, %Error{reason: :no_memory}} = Mote.start_link(image: path, memory: 16 * 1024 * 1024)
    end

    test "a place that cannot be written leaves the file that is there", %{machine: machine, path: path} do
      {:ok, _} = Mote.save(machine, path)
      before = File.read!(path)
      assert {:error, %Error{reason: :image} = error} = Mote.save(machine, path <> "/below")
      assert Exception.message(error) =~ "#{path}/below: "
      assert File.read!(path) == before
      assert Path.wildcard(path <> "*") == [path]
    end

    test "nobody waits for a file that cannot be written, however large it would be", %{
      machine: machine,
      path: path
    } do
      actor = Mote.create(machine, Library.counter(1))
      # More blocks than may wait.
      many = for n <- 1..80, do: :binary.copy(<<n>>, 1_000_000)
      assert {:error, %Error{reason: :image}} = Mote.save(machine, path <> "/no", names: %{many: many})
      assert Mote.ask!(actor, :read) == 1
    end

    test "what could not be read again is not saved", %{machine: machine, path: path} do
      list = Enum.to_list(1..30_000)
      many = for n <- 1..2, do: Mote.create(machine, B.heavy(%{}, [n | list]))
      for n <- 1..700, do: Mote.send(hd(many), {:put, n})
      Mote.drain(machine, 60_000)
      assert {:ok, _} = Mote.save(machine, path, names: %{many: many})
      {other, %{many: [first, _]}} = go_on(path)
      assert Mote.ask!(first, :size) == 700
      Mote.stop(other)
      for n <- 1..700, do: Mote.send(List.last(many), {:put, n})
      Mote.drain(machine, 60_000)
      assert {:error, %Error{reason: :image} = error} = Mote.save(machine, path, names: %{many: many})
      assert Exception.message(error) =~ "keys of maps are so large"
      assert {:ok, %Image{actors: 2}} = Image.read(path)
    end

    test "what another life of this process has left is no obstacle", %{machine: machine, path: path} do
      for n <- 0..2_000, do: File.write!("#{path}.#{System.pid()}-#{n}.part", "")
      assert {:ok, _} = Mote.save(machine, path)
    end

    test "options", %{machine: machine, path: path} do
      assert_raise ArgumentError, ~r/expected :names of save\/3 to be a map/, fn ->
        Mote.save(machine, path, names: [1])
      end

      assert_raise ArgumentError, ~r/expected the name of a file as the second argument of save\/3/, fn ->
        Mote.save(machine, :no)
      end

      assert_raise ArgumentError, ~r/expected the name of a file as image:/, fn ->
        Mote.start_link(image: 7)
      end

      Mote.stop(machine)

      for opts <- [[], [names: %{}]],
          do: assert({:error, %Error{reason: :machine_down}} = Mote.save(machine, path, opts))
    end
  end

  test "an address of another machine among the names is lost", %{machine: machine, path: path} do
    {:ok, other} = Mote.start_link()
    there = Mote.create(other, Library.counter(1))
    {:ok, image} = Mote.save(machine, path, names: %{there: there})
    assert [%{kind: :address, behaviour: nil, count: 1}] = image.lost
  end

  test "an image that takes longer than :timeout is written all the same, and that is what is said", %{
    machine: machine,
    path: path
  } do
    # A busy host may hold this process up until the image is there.
    error =
      Mote.Eventually.eventually(fn ->
        File.rm(path)
        with {:ok, _image} <- Mote.save(machine, path, timeout: 0), do: nil
      end)

    assert {:error, %Error{reason: :timeout, message: message}} = error
    assert message =~ "the image was not written within 0 ms"
    assert Mote.Eventually.eventually(fn -> File.exists?(path) end)
  end

  test "machines are saved while they work, and each image is of one moment", %{path: path} do
    {:ok, machine} = Mote.start_link(sponsors: [main: [threads: 2]])
    # Whatever one gives the other takes: the sum is the same at every moment.
    pairs = for _ <- 1..20, do: Mote.create(machine, B.keeps([], nil))
    run = Enum.map(pairs, fn actor -> Task.async(fn -> for n <- 1..2_000, do: Mote.send(actor, n) end) end)

    for _ <- 1..5 do
      {:ok, _} = Mote.save(machine, path, names: %{actors: pairs})
      {other, %{actors: actors}} = go_on(path, sponsors: [main: [threads: 2]])
      Mote.drain(other)

      for actor <- actors do
        {got, nil} = Mote.ask!(actor, :got)
        # What was sent before, in its order, none twice and none left out.
        assert Enum.reverse(got) == Enum.to_list(1..length(got)//1)
      end

      Mote.stop(other)
    end

    Task.await_many(run, 60_000)
  end

  test "mix mote.image shows what is in one", %{machine: machine, path: path} do
    keeper = Mote.create(machine, B.keeps([self()], nil))
    Mote.send_after(keeper, :x, 1_000)
    {:ok, _} = Mote.save(machine, path, names: %{keeper: keeper})
    Mix.shell(Mix.Shell.Process)
    Mix.Tasks.Mote.Image.run([path])
    Mix.shell(Mix.Shell.IO)
    assert_receive {:mix_shell, :info, [text]}
    assert text =~ ~r/^  1 actors$/m
    assert text =~ ~r/^  1 timers$/m
    assert text =~ ~r/^  1 Mote.ImageTest.Behaviours.keeps\/2, version [0-9a-f]+$/m
    assert text =~ ~r/^  1 pid: state of Mote.ImageTest.Behaviours.keeps\/2$/m
    assert_raise Mix.Error, ~r/no such file/, fn -> Mix.Tasks.Mote.Image.run([path <> "-none"]) end
    assert_raise Mix.Error, ~r/the name of one file/, fn -> Mix.Tasks.Mote.Image.run([path, path]) end
    old = path <> "-old"
    File.cp!(path, old)
    Mix.shell(Mix.Shell.Process)
    Mix.Tasks.Mote.Image.run([path, "--diff", old])
    assert_receive {:mix_shell, :info, [_]}
    assert_receive {:mix_shell, :info, [text]}
    assert text =~ ~r/Changed since .*-old:\n  none/
    others = for _ <- 1..1_000, do: Mote.create(machine, Library.counter(1))
    {:ok, _} = Mote.save(machine, path, names: %{keeper: keeper, others: others})
    Mix.Tasks.Mote.Image.run(["--diff", old, path])
    Mix.shell(Mix.Shell.IO)
    assert_receive {:mix_shell, :info, [_]}
    assert_receive {:mix_shell, :info, [text]}
    assert text =~ ~r/^ +1,000 actors: 1, now 1,001$/m
    assert text =~ ~r/^ +1,000 Mote.Library.Cells.counter\/1, version [0-9a-f]+: 0, now 1,000$/m
    refute text =~ "timers"
  end
end
