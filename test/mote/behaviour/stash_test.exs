defmodule Mote.Behaviour.StashTest.Actors do
  use Mote.Behaviour

  @doc "Takes one job at a time: `{:job, n}` is done when `{:done, n}` comes; what else comes is kept meanwhile."
  defactor desk(log) do
    {:job, n} ->
      send log, {:begun, n}
      become busy(log, n)

    {:note, n} ->
      send log, {:note, n}

    _ ->
      :ok
  end

  defactor busy(log, job, seen \\ 0) do
    {:done, ^job} ->
      send log, {:done, job}
      become desk(log)

    {:next, ^job, next} ->
      send log, {:begun, next}
      become busy(log, next, seen)

    :seen ->
      become seen: seen + 1

    {:boom, _} ->
      stash()
      send log, hd([])

    {:open, _} ->
      become desk(log)
      send log, hd([])

    _ ->
      stash()
  end

  @doc "Everything that can follow a stash in one turn; `open` gives back."
  defactor shut(log, n \\ 0) do
    :open -> become open(log)
    :twice -> reopen(log, n)
    :both -> become(open(log)) && become n: n + 1
    :other -> become(n: n + 1) && become(open(log))
    :effect -> become(n: n + 1) && reopen(log, n)
    :again -> become shut(log, n + 1)
    :gather -> become gather(log, 2, [], fn x, xs -> [x | xs] end)
    :sink -> become sink()
    {:keep, x} -> stash n: x
    {customer, :n} -> send customer, n
    _ -> stash()
  end

  defactor open(log) do
    message -> send log, message
  end

  # Shut again, although it was before.
  defeffect reopen(log, n) do
    send log, {:reopened, n}
    become shut(log, n + 1)
  end

  # Both keep everything that is numbered, and pass to each other.
  defactor one(log) do
    :other -> become other(log)
    :show -> become open(log)
    :improper -> send log, [:one | :more]
    {:k, _} -> stash()
  end

  defactor other(log) do
    {:k, 3} -> become one(log)
    {:k, 7} -> become one(log)
    {:k, _} -> stash()
    message -> send log, {:other, message}
  end

  @doc "Waits for an answer of `service` to each request, and keeps the others."
  defactor front(service) do
    {customer, request} ->
      send service, {self(), request}
      become waiting(service, customer)
  end

  defactor waiting(service, customer) do
    {:answer, answer} ->
      send customer, answer
      become front(service)

    _ ->
      stash()
  end

  defactor service() do
    {customer, request} -> send customer, {:answer, request}
  end

  @doc "Asks `front` a number of times, numbered, and says in the end whether the answers came in their order."
  defactor asker(front, sent, got, last, parent) do
    :go when sent < last ->
      send front, {self(), sent}
      send front, {self(), sent + 1}
      send self(), :go
      become sent: sent + 2

    :go ->
      :ok

    n when is_integer(n) ->
      if n != got, do: send(parent, {:wrong, n, got})
      if n + 1 == last, do: send(parent, :done)
      become got: got + 1
  end
end

defmodule Mote.Behaviour.StashTest do
  # `stash()`: what an actor keeps, and takes up again when it becomes another.
  use ExUnit.Case, async: true
  use ExUnitProperties

  import Mote.Compile, only: [error: 1]
  import Mote.Mailbox
  import Mote.World, only: [told: 2]

  alias Mote.{Behaviour, World}
  alias Mote.Behaviour.StashTest.Actors

  @moduletag capture_log: true

  describe "what is kept" do
    test "stays in its order when behaviours that stash pass to each other" do
      numbers = for n <- 1..9, do: {:k, n}
      kept = for n <- [1, 2, 4, 5, 6, 7, 8, 9], do: {:k, n}
      assert told(&Actors.one/1, numbers ++ [:other, :show]) == kept
      assert told(&Actors.one/1, numbers ++ [:other, :other, :show]) == kept -- [{:k, 7}]
      # A behaviour that stashes may have an improper list.
      assert told(&Actors.one/1, [{:k, 1}, :improper, :show]) == [[:one | :more], {:k, 1}]
    end

    test "comes before what waits, in its order" do
      jobs = [
        {:job, 1},
        {:note, :a},
        {:job, 2},
        {:note, :b},
        {:done, 1},
        {:note, :c},
        {:done, 2},
        {:note, :d}
      ]

      assert told(&Actors.desk/1, jobs) ==
               [
                 {:begun, 1},
                 {:done, 1},
                 {:note, :a},
                 {:begun, 2},
                 {:done, 2},
                 {:note, :b},
                 {:note, :c},
                 {:note, :d}
               ]
    end

    test "stays while the behaviour stays, whatever its captures" do
      jobs = [{:job, 1}, {:note, :a}, :seen, {:next, 1, 2}, {:note, :b}, {:done, 1}, {:done, 2}]
      assert told(&Actors.desk/1, jobs) == [{:begun, 1}, {:begun, 2}, {:done, 2}, {:note, :a}, {:note, :b}]
    end

    test "is what committed turns have kept, and is given back by these" do
      jobs = [{:job, 1}, {:note, :a}, {:boom, 1}, {:open, 1}, {:note, :b}, {:done, 1}, {:note, :c}]
      assert told(&Actors.desk/1, jobs) == [{:begun, 1}, {:done, 1}, {:note, :a}, {:note, :b}, {:note, :c}]
    end

    test "goes by the last become of a turn, also in a defeffect" do
      shut = &told(fn log -> Actors.shut(log) end, &1)
      assert shut.([:a, :b, :open, :c]) == [:a, :b, :c]
      assert shut.([:a, :both, :b, :open]) == [:a, :b]
      assert shut.([:a, :other, :b]) == [:a, :b]
      assert shut.([:a, :again, :b, :open]) == [:a, :b]
      assert shut.([:a, :twice, :b, :open]) == [{:reopened, 0}, :a, :b]
      assert shut.([:a, :b, :effect, :c, :open]) == [{:reopened, 0}, :a, :b, :c]
      assert shut.([{:keep, 7}, :twice, :open]) == [{:reopened, 7}, {:keep, 7}]
      assert shut.([:a, :b, :gather]) == [[:b, :a]]
      assert shut.([:a, :sink, :open]) == []
    end
  end

  test "a turn tells of it" do
    waiting = Actors.waiting(:service, :me)
    assert waiting == Actors.waiting(:service, :me)
    one = Behaviour.turn(waiting, {:you, 1})
    assert {one.outcome, one.sends, one.unstashed} == {:commit, [], []}
    two = Behaviour.turn(one.become, {:you, 2})
    three = Behaviour.turn(two.become, {:answer, 0})
    assert {three.become, three.sends} == {Actors.front(:service), [{:me, 0}]}
    assert three.unstashed == [{:you, 1}, {:you, 2}]
  end

  # A queue of a desk, by hand: what waits, what is kept, what it is busy with, what the log has.
  defp model([], _kept, _busy, log), do: Enum.reverse(log)

  defp model([message | rest], kept, busy, log) do
    case {busy, message} do
      {nil, {:job, n}} -> model(rest, kept, n, [{:begun, n} | log])
      {nil, {:note, n}} -> model(rest, kept, nil, [{:note, n} | log])
      {nil, _} -> model(rest, kept, nil, log)
      {n, {:done, n}} -> model(Enum.reverse(kept) ++ rest, [], nil, [{:done, n} | log])
      {n, {:next, n, next}} -> model(rest, kept, next, [{:begun, next} | log])
      {_, :seen} -> model(rest, kept, busy, log)
      {_, {word, _}} when word in [:boom, :open] -> model(rest, kept, busy, log)
      _ -> model(rest, [message | kept], busy, log)
    end
  end

  property "does what a list by hand does" do
    n = integer(1..3)

    message =
      one_of([
        tuple({member_of([:job, :done, :note, :done, :boom, :open]), n}),
        tuple({constant(:next), n, n}),
        constant(:seen)
      ])

    check all messages <- list_of(message, max_length: 60), max_runs: 200 do
      assert told(&Actors.desk/1, messages) == model(messages, [], nil, [])
    end
  end

  property "whoever asks gets the answers in the order of the questions, on any number of threads" do
    check all seed <- integer(0..1_000_000), askers <- integer(1..4), max_runs: 30 do
      World.everywhere(
        seed,
        fn world ->
          me = World.customer(world, :me)
          front = World.create(world, Actors.front(World.create(world, Actors.service())))

          for _ <- 1..askers,
              do: World.send(world, World.create(world, Actors.asker(front, 0, 0, 6, me)), :go)
        end,
        &assert(&1.me == List.duplicate(:done, askers))
      )
    end
  end

  describe "on threads" do
    setup do
      %{machine: start_supervised!({Mote, sponsors: [main: [threads: 4], other: [threads: 2]]})}
    end

    defp ask_all(machine, fronts, askers, last) do
      all =
        for front <- fronts, _ <- 1..askers, do: Mote.create(machine, Actors.asker(front, 0, 0, last, self()))

      Enum.each(all, &Mote.send(&1, :go))
      for _ <- all, do: assert_receive(:done, 60_000)
      refute_received {:wrong, _, _}
    end

    test "the order of pairs is kept while actors change hands", %{machine: machine} do
      fronts = for _ <- 1..20, do: Mote.create(machine, Actors.front(Mote.create(machine, Actors.service())))
      ask_all(machine, fronts, 5, 40)
      assert Mote.drain(machine, :infinity) == :ok
      assert %{ignored: 0, dropped: 0} = Mote.info(machine).counters
    end

    test "with collections, and in a sponsor that is removed", %{machine: machine} do
      service = Mote.create(machine, Actors.service())
      fronts = for _ <- 1..10, do: Mote.create(machine, Actors.front(service))
      collector = Task.async(fn -> for _ <- 1..20, do: Mote.gc(machine) end)
      ask_all(machine, fronts, 5, 40)
      Task.await(collector, :infinity)

      shut = Mote.create(machine, Actors.shut(self()))
      for n <- 1..1_000, do: Mote.send(shut, {:number, n}, sponsor: :other)
      Mote.send(shut, :open, sponsor: :other)
      :ok = Mote.remove_sponsor(machine, :other)
      for n <- 1..1_000, do: assert_receive({:number, ^n}, 60_000)
    end

    test "in a machine that is full, what is kept is given back", %{} do
      machine = start_supervised!({Mote, memory: 16 * 1024 * 1024}, id: :small)
      shut = Mote.create(machine, Actors.shut(self()))
      numbers = Stream.iterate(1, &(&1 + 1))
      text = String.duplicate("x", 200)
      kept = Enum.find(numbers, &(Mote.send(shut, {:number, &1, text}) != :ok or rem(&1, 5_000) == 0)) - 1
      :ok = Mote.drain(machine, :infinity)
      Mote.send(shut, :open, on_full: :wait)
      :ok = Mote.drain(machine, :infinity)
      aborted = Mote.info(machine).counters.aborts_no_memory
      got = for {:number, n, _} <- messages(), do: n
      assert got == Enum.sort(got)
      assert length(got) + aborted >= kept
    end
  end

  test "who does not stash has nothing of it" do
    assert {:open, 1} in Actors.__mote__(:behaviours)
    assert {:waiting, 3} in Actors.__mote__(:behaviours)
    assert Behaviour.turn(Actors.open(:log), 1).unstashed == []
  end

  test "whoever leaves it behind says whether it would be stashed again" do
    module =
      Mote.Compile.module("""
      defactor guarded(n) do
        x when x > n -> become b()
        _ -> stash()
      end

      defactor path(_n) do
        {:if, x} -> if x, do: stash(), else: become(b())
        _ -> stash()
      end

      # Another n than the capture; and what a body reads decides nothing.
      defactor again(n) do
        {n, 1} when n > 2 -> become b()
        {customer, :n} -> send customer, n
        [_ | _] -> stash()
        n -> become b()
      end

      defactor b() do
        _ -> :ok
      end
      """)

    said = fn module, name ->
      for {:unstash, {:k, said}} <- Mote.Disassemble.code(module, name), uniq: true, do: said
    end

    for {module, name} <- [{Actors, :busy}, {Actors, :shut}, {module, :guarded}, {module, :path}],
        do: assert({name, Enum.sort(said.(module, name))} == {name, [false, true]})

    for {module, name} <- [{Actors, :waiting}, {module, :again}],
        do: assert({name, Enum.sort(said.(module, name))} == {name, [:again, false]})
  end

  test "a clause may stash on one path and become on another" do
    assert [{_, _}] =
             Code.compile_string("""
             defmodule Mote.BothPaths do
               use Mote.Behaviour
               defactor a(n) do
                 {:if, x} -> if x, do: stash(), else: become(n: x)
                 {:and, x} -> x && stash()
                 {:case, x} ->
                   case x do
                     1 -> stash n: 2
                     2 -> become n: 3
                     3 -> abort stash()
                   end
                   send x, n
                 {:cond, x} ->
                   cond do
                     x > 1 -> stash()
                     true -> become n: x
                   end
               end
             end
             """)
  end

  test "mistakes" do
    assert error("defactor a() do x -> stash end") =~ "did you mean stash()?"
    assert error("defactor a() do _ -> stash(1) end") =~ "write stash(), or stash capture: value, got: 1"
    assert error("defactor a(n) do _ -> stash m: n end") =~ "a has no capture m"
    assert error("defpure f(x), do: stash() && x") =~ "stash cannot be used in a defpure"
    assert error("defeffect f(), do: stash()\ndefactor a() do _ -> f() end") =~ "let the clause stash"
    assert error("defactor a() do _ -> stash(1, 2) end") =~ "write stash(), or stash capture: value"
    undone = "defactor a() do x -> (if x, do: stash()); become b() end\ndefactor b() do _ -> :ok end"
    assert error(undone) =~ "this become undoes the stash() before it"
    assert error("defactor a(n) do x -> stash() && become(n: x) end") =~ "write stash capture: value"

    assert error("defactor a(n) do x -> become n: x\nstash() end") =~
             "this stash() undoes the become before it"

    assert error("defactor a(n) do x -> stash n: x\nbecome gather(x, 2, 0, &+/2) end") =~
             "the message would be lost"

    assert error("defpure stash(), do: 1") =~ "stash is a word of the language"
  end
end
