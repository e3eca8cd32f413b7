defmodule Mote.TraceTest.Scene do
  use Mote.Behaviour, errors: :undefined

  defactor parent(out) do
    {:have, n} ->
      child = create child(self(), n)
      pinned = create child(child, n + 1), sponsor: :other
      send child, {:hello, n}
      send pinned, :hello
      send out, {:children, 2}
      sendx :other, self(), :far
      send_after(60_000, out, :late)
      become sink()

    :drop ->
      create child(out, 0)

    :chain ->
      # The first of them is reached by what the second has captured only.
      send create(child(create(child(create(child(out, 1)), 2)), 3)), :go

    {:cancel, timer} ->
      cancel_timer(timer)

    {:known, address} ->
      create child(address, 1)
      send out, {:known, address}

    {:many, n} ->
      for i <- 1..n, do: send(out, i)

    {:again, n} when n > 0 ->
      send self(), {:again, n - 1}

    {:fail, why} ->
      send out, :never
      abort(why)
  end

  defactor child(parent, n) do
    :never -> send parent, n
  end
end

defmodule Mote.TraceTest do
  use ExUnit.Case, async: true
  import Mote.Eventually

  import ExUnit.CaptureIO

  alias Mote.{Actors, Behaviour, Error, Trace}
  alias Mote.Trace.Turn
  alias Mote.TraceTest.Scene

  doctest Mote.Trace

  setup do
    # Some of its actors are busy for good: nothing waits for them when it ends.
    opts = [sponsors: [main: [threads: 1], other: [threads: 2]], shutdown: [drain: 0]]
    %{machine: start_supervised!({Mote, opts})}
  end

  defp turn(%Trace{ref: ref}) do
    assert_receive {:mote_trace, ^ref, %Turn{} = turn}
    turn
  end

  describe "a trace shows" do
    test "message, effects and the new behaviour", %{machine: machine} do
      me = self()
      parent = Mote.create(machine, Scene.parent(me))
      trace = Mote.trace(machine, behaviour: {Scene, :parent})
      Mote.send(parent, {:have, 7})
      turn = turn(trace)
      assert %{number: 1, sponsor: :main, actor: ^parent, message: {:have, 7}, outcome: :commit} = turn
      assert turn.behaviour == Scene.parent(me)
      assert [{child, behaviour}, {pinned, other, :other}] = turn.creates
      assert behaviour == Scene.child(parent, 7)
      assert other == Scene.child(child, 8)
      assert turn.sends == [{child, {:hello, 7}}, {pinned, :hello}, {me, {:children, 2}}]
      assert turn.sendx == [{:other, parent, :far}]
      assert turn.timers == [{60_000, me, :late}]
      assert turn.become == :sink
      assert turn.omitted == 0
      assert Mote.info(pinned).pinned == :other

      # The message came after the turn that sent it was shown, and the turn of what it sent to itself is a sink's.
      assert_receive {:children, 2}
      assert Trace.stop(trace) == %{turns: 1, dropped: 0}
    end

    test "who is new, and only who is", %{machine: machine} do
      parent = Mote.create(machine, Scene.parent(self()))
      echo = Mote.create(machine, Actors.echo())
      trace = Mote.trace(machine, actor: parent)
      Mote.send(parent, :drop)
      assert %{creates: [], omitted: 1} = turn(trace)
      Mote.send(parent, :chain)
      assert %{creates: [{_, third}, {_, second}, {_, first}], omitted: 0} = turn(trace)
      assert [3, 2, 1] = for(child <- [third, second, first], do: elem(child.captures, 1))
      Mote.send(parent, {:known, echo})
      # Nobody can ever send to the new one.
      assert %{creates: [], omitted: 1, sends: [{_, {:known, ^echo}}]} = turn(trace)
    end

    test "turns that are ignored, and those that abort, with the reason", %{machine: machine} do
      parent = Mote.create(machine, Scene.parent(self()))
      trace = Mote.trace(machine)
      Mote.send(parent, :nothing)
      assert %{outcome: :ignored, sends: [], message: :nothing} = turn(trace)
      Mote.send(parent, {:fail, {:no, "luck"}})
      assert %{outcome: {:abort, {:abort, {:no, "luck"}}}, sends: [], become: nil} = turn(trace)
      refute_received :never
    end

    test "timers that are cancelled", %{machine: machine} do
      timer = Mote.send_after(Mote.create(machine, Actors.echo()), :late, 60_000)
      trace = Mote.trace(machine)
      Mote.send(Mote.create(machine, Scene.parent(self())), {:cancel, timer})
      assert %{cancels: [^timer], message: {:cancel, ^timer}} = turn(trace)
    end

    test "a hundred effects of a kind, and the beginning of large values", %{machine: machine} do
      parent = Mote.create(machine, Scene.parent(self()))
      trace = Mote.trace(machine)
      Mote.send(parent, {:many, 250})
      turn = turn(trace)
      assert length(turn.sends) == 100 and turn.omitted == 150
      Mote.send(parent, Enum.to_list(1..10_000))
      assert [1, 2, 3 | _] = message = turn(trace).message
      assert inspect(message, limit: :infinity) =~ ~r/, 50, :\.\.\.\]$/
    end

    test "what creators of very large things create, as omitted", %{machine: machine} do
      parent = Mote.create(machine, Scene.parent(Enum.to_list(1..200_000)))
      trace = Mote.trace(machine)
      Mote.send(parent, :chain)
      assert %{creates: [], omitted: 3} = turn(trace)
    end
  end

  describe "a filter" do
    test "by behaviour, actor, sponsor and message", %{machine: machine} do
      one = Mote.create(machine, Actors.counter(0))
      two = Mote.create(machine, Actors.counter(0), sponsor: :other)
      echo = Mote.create(machine, Actors.echo())

      for {filter, expected} <- [
            {[], [{one, {:add, 1}}, {two, {:add, 2.5}}, {echo, ["x", 7]}]},
            {[behaviour: Actors], [{one, {:add, 1}}, {two, {:add, 2.5}}, {echo, ["x", 7]}]},
            {[behaviour: {Actors, :counter}], [{one, {:add, 1}}, {two, {:add, 2.5}}]},
            {[behaviour: Scene], []},
            {[actor: two], [{two, {:add, 2.5}}]},
            {[sponsor: :main], [{one, {:add, 1}}, {echo, ["x", 7]}]},
            {[sponsor: :other], [{two, {:add, 2.5}}]},
            {[message: {:add, :_}], [{one, {:add, 1}}, {two, {:add, 2.5}}]},
            {[message: {:add, 1}], [{one, {:add, 1}}]},
            {[message: {:add, 2.5}], [{two, {:add, 2.5}}]},
            {[message: {:add}], []},
            {[message: {:_, :_, :_}], []},
            {[message: :_, sponsor: :other], [{two, {:add, 2.5}}]},
            {[message: ["x" | :_]], [{echo, ["x", 7]}]},
            {[message: ["x", 7]], [{echo, ["x", 7]}]},
            {[message: ["x"]], []},
            {[message: []], []},
            {[message: nil], []}
          ] do
        trace = Mote.trace(machine, filter)
        Mote.send(one, {:add, 1})
        Mote.send(two, {:add, 2.5})
        Mote.send(echo, ["x", 7])
        :ok = Mote.drain(machine)
        seen = for _ <- expected, turn = turn(trace), do: {turn.actor, turn.message}
        assert Enum.sort(seen) == Enum.sort(expected), "#{inspect(filter)}"
        assert Trace.stop(trace) == %{turns: length(expected), dropped: 0}
        refute_received {:mote_trace, _, _}
      end
    end

    test "by a behaviour that only actors of an earlier version have, or calls of a function", %{
      machine: machine
    } do
      module = Module.concat(__MODULE__, Versions)
      define = &Code.compile_string("defmodule #{inspect(module)} do\nuse Mote.Behaviour\n#{&1}\nend")
      define.("defactor earlier() do\n_ -> create(sink())\nend")
      actor = Mote.create(machine, module.earlier())
      # Without a warning that it is defined once more.
      :code.delete(module)
      define.("defpure twice(n), do: 2 * n")

      for {behaviour, turn} <- [
            {{module, :earlier}, fn -> Mote.send(actor, 1) end},
            {{module, :"twice/1"}, fn -> Mote.Future.future(&module.twice/1, [2], machine: machine) end},
            {module, fn -> Mote.Future.future(&module.twice/1, [3], machine: machine) end}
          ] do
        trace = Mote.trace(machine, behaviour: behaviour)
        future = turn.()
        %{ref: ref} = trace
        assert_receive {:mote_trace, ^ref, %Turn{}}
        Trace.stop(trace)
        if is_struct(future), do: Mote.Future.touch(future)
      end
    end

    test "that cannot be meant", %{machine: machine} do
      for {filter, opts, text} <- [
            {[behaviour: "Counter"], [],
             "expected :behaviour to be a module or {module, name}, got: \"Counter\""},
            {[behaviour: {Scene, :nobody}], [],
             "got: {Mote.TraceTest.Scene, :nobody}: Mote.TraceTest.Scene has only :"},
            {[behaviour: Enum], [], "got: Enum: Enum has no behaviours"},
            {[actor: self()], [], "expected :actor to be the address of an actor"},
            {[sponsor: true], [], "expected the name of a sponsor"},
            {[message: %{}], [], "expected :message to be a pattern"},
            {[message: {self()}], [], "expected :message to be a pattern"},
            {[module: Actors], [], "unknown key :module in the filter of trace/3"},
            {:all, [], "expected the filter of trace/3 to be a keyword list, got: :all"},
            {[], [to: :nobody], "expected :to to be a process of this node or :iex, got: :nobody"},
            {[], [limit: 0], "expected :limit to be a positive integer, got: 0"},
            {[], [max: 1], "unknown key :max in the options of trace/3"}
          ] do
        assert_raise ArgumentError, ~r/#{Regex.escape(text)}/, fn -> Mote.trace(machine, filter, opts) end
      end

      elsewhere = start_supervised!({Mote, id: :elsewhere})
      echo = Mote.create(elsewhere, Actors.echo())
      error = catch_error(Mote.trace(machine, actor: echo))
      assert %Error{reason: :unknown_address, context: %{address: ^echo}} = error
      assert Exception.message(error) == "#{inspect(echo)} is none of this machine's actors"
    end
  end

  describe "a trace ends" do
    test "showing at its limit, and counts what it does not show", %{machine: machine} do
      parent = Mote.create(machine, Scene.parent(self()))
      trace = Mote.trace(machine, [], limit: 3)
      Mote.send(parent, {:again, 9})
      :ok = Mote.drain(machine)
      ref = trace.ref
      assert for(n <- 1..3, do: turn(trace).number == n) == [true, true, true]
      assert_receive {:mote_trace, ^ref, :limit}
      refute_received {:mote_trace, _, _}
      assert Trace.stop(trace) == %{turns: 3, dropped: 7}
      assert Trace.stop(trace) == :ended
      Mote.send(parent, {:again, 1})
      :ok = Mote.drain(machine)
      refute_received {:mote_trace, _, _}
    end

    test "with the process that is shown turns", %{machine: machine} do
      parent = Mote.create(machine, Scene.parent(self()))
      {pid, monitor} = spawn_monitor(fn -> Process.sleep(:infinity) end)
      trace = Mote.trace(machine, [], to: pid)
      Process.exit(pid, :kill)
      assert_receive {:DOWN, ^monitor, _, _, _}
      Mote.send(parent, {:again, 2})
      :ok = Mote.drain(machine)
      assert Trace.stop(trace) == :ended
    end

    test "with the machine", %{machine: machine} do
      trace = Mote.trace(machine)
      :ok = stop_supervised(Mote)
      assert %Error{reason: :machine_down} = error = catch_error(Trace.stop(trace))
      assert error.message == "the machine is not running"
      assert %Error{reason: :machine_down} = catch_error(Mote.trace(machine))
      assert %Error{reason: :machine_down} = catch_error(Mote.pause(machine))
      assert %Error{reason: :machine_down} = catch_error(Mote.resume(machine))
      assert {:error, %Error{reason: :machine_down}} = Mote.step(machine)
    end
  end

  test "several traces at once, over several threads, miss nothing", %{machine: machine} do
    traces = [
      {Mote.trace(machine, [message: {:again, :_}], limit: 100_000), 800},
      {Mote.trace(machine, [message: {:again, 0}], limit: 100_000), 80}
    ]

    parents = for _ <- 1..80, do: Mote.create(machine, Scene.parent(self()))
    for parent <- parents, do: Mote.send(parent, {:again, 9}, sponsor: :other)
    :ok = Mote.drain(machine)

    for {trace, count} <- traces do
      assert Trace.stop(trace) == %{turns: count, dropped: 0}
      numbers = for _ <- 1..count, do: turn(trace).number
      assert Enum.sort(numbers) == Enum.to_list(1..count)
    end
  end

  test "to :iex is written as text", %{machine: machine} do
    parent = Mote.create(machine, Scene.parent(nil))

    text =
      capture_io(fn ->
        trace = Mote.trace(machine, [], to: :iex, limit: 3)
        monitor = Process.monitor(trace.printer)
        Mote.send(parent, :nothing)
        Mote.send(parent, {:fail, 1})
        Mote.send(parent, {:again, 1})
        :ok = Mote.drain(machine)
        assert Trace.stop(trace) == %{turns: 3, dropped: 1}
        assert_receive {:DOWN, ^monitor, _, _, :normal}
      end)

    assert text =~ "#1 main Mote.TraceTest.Scene.parent(nil) <- :nothing: ignored\n"
    assert text =~ "#2 main Mote.TraceTest.Scene.parent(nil) <- {:fail, 1}: aborted, {:abort, 1}\n"

    assert text =~
             ~r/#3 main .* <- {:again, 1}\n  send #Mote.Address<[^>]*>, {:again, 0}\nThat was the last turn/
  end

  test "every effect has its line" do
    turn = %Turn{
      sponsor: :main,
      behaviour: :sink,
      message: 1,
      outcome: :commit,
      creates: [{nil, Actors.echo()}, {nil, :sink, :other}],
      sends: [{:a, 1}],
      sendx: [{:other, :b, 2}],
      timers: [{5, :c, 3}],
      cancels: [:timer],
      become: %Behaviour{module: Actors, name: :counter, version: 0, captures: {4}},
      omitted: 6
    }

    assert Trace.format(turn) == """
           main sink() <- 1
             create Mote.Actors.echo()
             create sink(), sponsor: :other
             send :a, 1
             sendx :other, :b, 2
             send_after 5, :c, 3
             cancel_timer :timer
             become Mote.Actors.counter(4)
             and 6 more\
           """
  end

  test "a sponsor that there is not is named, with those that there are", %{machine: machine} do
    error = catch_error(Mote.trace(machine, sponsor: :typo))
    assert %Error{reason: :unknown_sponsor} = error
    assert Exception.message(error) =~ "no sponsor :typo, only :main, :other"
  end

  test "what is no trace or no turn is named", %{machine: machine} do
    trace = Mote.trace(machine)

    for other <- [%{trace | machine: make_ref()}, %{trace | number: -1}] do
      assert_raise ArgumentError,
                   ~r/expected a trace of a machine of this node: .*, got: %Mote.Trace{/s,
                   fn ->
                     Trace.stop(other)
                   end
    end

    assert %{turns: 0} = Trace.stop(trace)
    assert_raise ArgumentError, ~r/expected a trace .*, got: :x/, fn -> Trace.stop(:x) end
    assert_raise ArgumentError, ~r/expected a turn, .*, got: :x/, fn -> Trace.format(:x) end
  end

  describe "a paused machine" do
    test "says so", %{machine: machine} do
      running = inspect(Mote.machine(machine))
      refute Mote.info(machine).paused
      :ok = Mote.pause(machine)
      assert Mote.info(machine).paused
      assert inspect(Mote.machine(machine)) == String.replace_suffix(running, ">", ", paused>")
      :ok = Mote.resume(machine)
      refute Mote.info(machine).paused
      assert inspect(Mote.machine(machine)) == running
    end

    test "runs no turns, and goes on where it was", %{machine: machine} do
      busy = Mote.create(machine, Actors.busy(0))
      Mote.send(busy, :go)
      :ok = Mote.pause(machine)
      turns = Mote.info(machine).counters.turns
      counter = Mote.create(machine, Actors.counter(0))
      for n <- 1..3, do: Mote.send(counter, {:add, n})
      assert {:error, %Error{reason: :timeout}} = Mote.ask(counter, :read, 20)
      # It is not quiet: something waits.
      assert {:error, %Error{reason: :timeout, message: message}} = Mote.drain(machine, 10)
      assert message == "the machine was not quiet within 10 ms: it is paused, see Mote.resume/1"
      assert Mote.info(machine).counters.turns == turns
      assert Mote.info(counter).queued == 4
      assert Mote.top(machine, by: :queued, n: 1) |> hd() |> Map.get(:address) == counter
      assert Mote.gc(machine) == :ok
      :ok = Mote.resume(machine)
      assert Mote.ask!(counter, :read) == 6
    end

    test "also on many threads, and when sponsors come and go", %{machine: machine} do
      for n <- 1..100, do: Mote.send(Mote.create(machine, Actors.busy(n)), :go, sponsor: :other)
      :ok = Mote.pause(machine)
      turns = Mote.info(machine).counters.turns
      :ok = Mote.add_sponsor(machine, :third, threads: 2)
      Mote.send(Mote.create(machine, Actors.busy(0)), :go, sponsor: :third)
      :ok = Mote.remove_sponsor(machine, :other)
      Process.sleep(20)
      assert Mote.info(machine).counters.turns == turns

      assert Enum.sum(for {_, sponsor} <- Mote.info(machine).sponsors, do: sponsor.queued + sponsor.inbox) >=
               101

      :ok = Mote.pause(machine)
      :ok = Mote.resume(machine)
      :ok = Mote.resume(machine)
      eventually(fn -> Mote.info(machine).counters.turns > turns + 1000 end)
    end

    test "runs turn by turn", %{machine: machine} do
      :ok = Mote.pause(machine)
      assert Mote.step(machine) == :idle
      counter = Mote.create(machine, Actors.counter(0))
      Mote.send(counter, {:add, 1})
      Mote.send(counter, :what)
      Mote.send(counter, {self(), :read})

      assert {:ok, %Turn{number: 0, message: {:add, 1}, become: become, outcome: :commit}} =
               Mote.step(machine)

      assert become == Actors.counter(1)
      assert Mote.info(counter).behaviour == Actors.counter(1)
      assert {:ok, %Turn{message: :what, outcome: :ignored}} = Mote.step(machine)
      refute_received _
      assert {:ok, %Turn{sends: [{pid, 1}]}} = Mote.step(machine)
      assert pid == self()
      assert_receive 1
      assert Mote.step(machine) == :idle
      assert Mote.info(machine).counters.turns == 3
    end

    test "a step is the whole turn, where it finds no memory at first" do
      machine = start_supervised!({Mote, id: make_ref(), memory: 16 * 1024 * 1024})
      hoard = Mote.create(machine, Mote.Holders.hoard([]))
      assert Mote.ask!(hoard, 10) == :kept
      Mote.pause(machine)
      pid = self()
      for n <- [3_000_000, 3], do: :ok = Mote.send(hoard, {pid, n})
      assert {:ok, %Turn{outcome: {:abort, :no_memory}}} = Mote.step(machine)
      assert {:ok, %Turn{outcome: :commit}} = Mote.step(machine)
      assert_receive :kept
      assert Mote.step(machine) == :idle
    end

    test "a step follows pins: what belongs elsewhere goes there", %{machine: machine} do
      :ok = Mote.add_sponsor(machine, :third, threads: 1)
      echo = Mote.create(machine, Actors.echo(), sponsor: :third)
      forward = Mote.create(machine, Actors.forward(echo))
      :ok = Mote.pause(machine)
      Mote.send(forward, {self(), :hello})
      assert {:ok, %Turn{actor: ^forward}} = Mote.step(machine)
      assert Mote.step(machine) == :idle
      assert {:ok, %Turn{actor: ^echo, sponsor: :third}} = Mote.step(machine, sponsor: :third)
      assert_receive :hello
    end

    test "says why a step cannot be made", %{machine: machine} do
      assert {:error, %Error{reason: :not_paused}} = Mote.step(machine)
      :ok = Mote.pause(machine)
      assert {:error, %Error{reason: :multi_threaded} = error} = Mote.step(machine, sponsor: :other)
      assert Exception.message(error) =~ ":other has several threads"
      assert {:error, %Error{reason: :unknown_sponsor}} = Mote.step(machine, sponsor: :nobody)
      assert_raise ArgumentError, ~r/unknown key :by/, fn -> Mote.step(machine, by: 1) end
    end

    test "stops when it is told to", %{machine: machine} do
      Mote.send(Mote.create(machine, Actors.busy(0)), :go)
      :ok = Mote.pause(machine)
      assert Mote.stop(machine) == :ok
    end
  end
end
