defmodule Mote.Bench.ProgramsTest do
  use ExUnit.Case, async: true

  alias Mote.Bench
  alias Mote.Bench.{Keeper, Program, Run, Rust, Sample, Variant}

  setup_all do
    :ok = Rust.build()
  end

  for program <- Bench.programs() do
    @program program
    @about program.about()

    describe "#{@about.name}" do
      variants = Enum.flat_map(Variant.sponsors(), &Variant.machines(program, &1))
      [first | others] = Enum.uniq(variants ++ Variant.machines(program, :st, :both))

      test "gives the right result on #{first}, with its main metric among the measures, and all of them have units" do
        kinds = if @about.fresh, do: [true], else: [true, false]
        samples = for fresh <- kinds, do: once(@program, unquote(first), fresh: fresh)
        metrics = samples |> Enum.flat_map(&Program.figures/1) |> Keyword.keys()

        assert @about.metric in metrics
        # Those of one metric, if it has several values, stand together.
        assert Enum.dedup(metrics) == Enum.uniq(metrics)
        units = ["ns", "us", "ms", "%", "bytes", "misses", "/s", "x"]
        for metric <- metrics, do: assert(Bench.Measure.unit(measure(metric)) in units)
      end

      # What runs elsewhere has nothing of the variant's machine.
      for variant <- others, not program.about().elsewhere do
        test "gives the right result on #{variant}" do
          once(@program, unquote(variant), fresh: true)
        end
      end

      if Variant.beam?(program) do
        test "gives the right result on BEAM processes" do
          once(@program, :beam, fresh: true)
          assert @program.processes(@about.small) > 0
        end
      end

      for variant <- Variant.rust(program) do
        test "gives the right result in Rust (#{variant})" do
          sample = once(@program, unquote(variant), fresh: true, repeats: 2)
          assert %Sample{stages: [_], before: nil, peak: nil} = sample
        end
      end

      test "says what it needs" do
        assert @about.param in [:depth, :n]
        assert [_ | _] = @about.defaults
        assert @program.count(@about.small) > 0
        assert {:ok, @program} == Bench.fetch(@about.name)
      end
    end
  end

  test "names are those of the documentation" do
    names = Enum.map(Bench.programs(), & &1.about().name)

    assert names ==
             ~w(fork_bomb floor cps chain ping_pong serializer ring counting hot fan) ++
               ~w(neighbours sor radixsort sieve apsp big) ++
               ~w(fork_join_throughput fork_join_create chameneos fibonacci) ++
               ~w(concurrent_dictionary sorted_list bounded_buffer philosophers barber smokers logistic_map bank) ++
               ~w(queens quicksort bitonic_sort trapezoid guided_search filter_bank unbalanced_tree pi recursive_matmul) ++
               ~w(merge_sort northwind northwind_joins northwind_threads) ++
               ~w(erfc_bomb random_bomb time_eater time_eater_sends self_send cons fib erfc_dsl maps directory binaries) ++
               ~w(vectors idle estragon sendx from_sleep beside apart apart_erfc idle_cpu ask askers) ++
               ~w(rate_limiter order_book twin router boundary fan_out door durable record) ++
               ~w(timers futures fib_futures) ++
               ~w(k_means k_nearest pool_size beam_turns telemetry churn) ++
               ~w(collecting gc_pause quota prove sockets broker secure_sockets)

    assert Bench.fetch("unknown") == :error
    page = File.read!("README.md")
    assert Enum.reject(names, &(page =~ "`#{&1}`")) == []
  end

  test "the machine did what is counted" do
    creates = fn program, param -> Run.once(program, :mote, param).info.counters.creates end

    # The first one is created from outside.
    assert creates.(Bench.Programs.ForkBomb, 7) == Bench.Programs.ForkBomb.count(7) - 1
    assert creates.(Bench.Programs.Chain, 70) == Bench.Programs.Chain.count(70) - 1
    assert creates.(Bench.Programs.Idle, 1_500) == Bench.Programs.Idle.count(1_500)
  end

  test "a list of many actors, and one of as many numbers, take no deep stack" do
    assert %Sample{} = Run.once(Bench.Programs.Cons, :mote, 100_000)
  end

  test "a thousand countdowns are a thousand values" do
    figures = :mote |> then(&Run.once(Bench.Programs.SelfSend, &1, 10)) |> Bench.Programs.SelfSend.measures()
    assert [p99] = Keyword.get_values(figures, :ns_per_message_p99)
    times = Keyword.get_values(figures, :ns_per_message)
    assert length(times) == 1_000
    assert Enum.count(times, &(&1 > p99)) < 10
  end

  test "the 99th of 100 pauses is below a power of two that one in a hundred is not below" do
    assert Bench.Programs.GcPause.p99(%{}) == 0
    assert Bench.Programs.GcPause.p99(%{256 => 0, 512 => 1}) == 512
    assert Bench.Programs.GcPause.p99(%{512 => 98, 1_024 => 1, 4_096 => 1, 2_048 => 0}) == 1_024
    assert Bench.Programs.GcPause.p99(%{512 => 98, 4_096 => 2}) == 4_096
  end

  test "a pool answers every request, whatever its size" do
    for n <- [1, 3] do
      sample = Run.once(Bench.Programs.PoolSize, :pool, n)
      assert %Sample{figures: [us_p99: us]} = sample
      # A request waits for nine milliseconds.
      assert us >= 9_000
    end
  end

  test "messages are those that are counted" do
    sends = fn program, variant, param -> Run.once(program, variant, param).info.counters.sends end

    # To the counter, and to oneself all but the last time; the first ones are the starter's.
    assert sends.(Bench.Programs.Hot, :mote_mt, 7) == 2 * Bench.Programs.Hot.count(7) + 1
    # There and back, and the answer.
    assert sends.(Bench.Programs.Fan, :mote_mt, 7) == 2 * Bench.Programs.Fan.count(7) + 1
  end

  test "sends between sponsors pass from one thread to the other" do
    counters = Run.once(Bench.Programs.Sendx, :mote, 50).info.counters
    # The round trips of the first stage, and one for each pause of the second.
    assert counters.sendx == 2 * (50 + 50)
  end

  test "randoms that are too few or too many are found out" do
    alias Bench.Programs.{ErfcBomb, RandomBomb, TimeEater, TimeEaterSends}

    for {program, sum} <- [
          {ErfcBomb, 1_000 * 0.6},
          {RandomBomb, 128 * 0.65},
          {TimeEater, 1_024 * 0.65},
          {TimeEaterSends, 1_024 * 0.35}
        ] do
      [run: run] = program.beam(1)
      send(self(), sum)
      assert {:mean, _} = run.(nil)
    end
  end

  test "programs in Rust are those of the crate, and a wrong result of one is found out" do
    programs = Enum.filter(Bench.programs(), &(Variant.rust(&1) != []))

    assert Enum.map(programs, & &1.about().name) ==
             ~w(floor cps radixsort sorted_list philosophers barber smokers queens quicksort trapezoid erfc_bomb fib erfc_dsl vectors)

    for program <- programs, result <- [0.0, 2.0], do: assert(program.rust(result, 9) != program.expected(9))

    assert_raise RuntimeError, ~r/unknown 1 ended with status 1: usage.*programs: floor, continuations/, fn ->
      Rust.run("unknown", 1, 1)
    end
  end

  test "programs in Rust run where Mote is not started, as in a task" do
    run = "%{ns: _} = hd(Mote.Bench.Run.once(Mote.Bench.Programs.Floor, :floor, 6).stages)"
    paths = Enum.flat_map(:code.get_path(), &["-pa", "#{&1}"])
    assert {_, 0} = System.cmd("elixir", paths ++ ["-e", run], stderr_to_stdout: true)
  end

  test "the ring gives the number of the actor that got the zero" do
    for n <- [1, 502, 503, 504], variant <- [:mote, :beam] do
      assert %Sample{} = Run.once(Bench.Programs.Ring, variant, n)
    end
  end

  test "counting is right for numbers that are no multiple of a batch" do
    for n <- [1, 999, 1_001, 2_500], variant <- [:mote, :mote_mt, :beam] do
      assert %Sample{} = Run.once(Bench.Programs.Counting, variant, n)
    end
  end

  test "Godot comes for everybody, whether batches are full or not" do
    for n <- [1, 999, 1_000, 1_001, 3_500], variant <- [:mote, :mote_mt, :beam] do
      assert %Sample{} = Run.once(Bench.Programs.Estragon, variant, n)
    end
  end

  test "the shortest chain and the smallest tree" do
    for variant <- [:mote, :beam] do
      assert %Sample{} = Run.once(Bench.Programs.Chain, variant, 1)
      assert %Sample{} = Run.once(Bench.Programs.ForkBomb, variant, 1)
      assert %Sample{} = Run.once(Bench.Programs.PingPong, variant, 1)
      assert %Sample{} = Run.once(Bench.Programs.Cons, variant, 1)
    end
  end

  test "lists of all lengths are sorted, and one that is not is found out" do
    for n <- 1..9, variant <- [:mote, :mote_mt, :beam] do
      assert %Sample{} = Run.once(Bench.Programs.MergeSort, variant, n)
    end

    alias Bench.Programs.MergeSort.Actors
    assert Actors.verdict([1, 2, 2], 3, 5) == :sorted

    for wrong <- [[2, 1, 2], [1, 2], [1, 2, 2, 2], [1, 2, 3]],
        do: assert(Actors.verdict(wrong, 3, 5) == :not_sorted)
  end

  test "clusters and classes are those of the clouds, and others are found out" do
    alias Bench.{Points, Programs}
    centres = for cloud <- 0..7, do: Points.centre(cloud)
    assert Programs.KMeans.judge(centres, centres) == :centres
    assert {:far, [_ | _]} = Programs.KMeans.judge(Enum.reverse(centres), Enum.reverse(centres))
    assert {:far, []} = Programs.KMeans.judge(Enum.take(centres, 7), Enum.take(centres, 7))
    assert {:parallel, _, :sequential, _} = Programs.KMeans.judge(centres, Enum.reverse(centres))

    labels = for {cloud, _} <- Points.new(9, 1), do: cloud
    numbered = labels |> Enum.with_index(&{&2, &1}) |> Enum.shuffle()
    assert Programs.KNearest.judge(numbered, Enum.reverse(labels), 9) == :classified
    assert {:parallel, _, _, _} = Programs.KNearest.judge(tl(numbered), Enum.reverse(labels), 9)
    wrong = List.duplicate(0, 9)
    assert {:labels, _} = Programs.KNearest.judge(Enum.with_index(wrong, &{&2, &1}), wrong, 9)
  end

  test "means and votes" do
    alias Bench.Programs.{KMeans, KNearest}
    vector = &Mote.Vector.new(:f64, &1)
    centres = [vector.([0.0]), vector.([10.0]), vector.([99.0])]
    sums = KMeans.Actors.sums(Enum.map([[1.0], [2.0], [9.0]], vector), centres)
    assert sums == [{vector.([3.0]), 2}, {vector.([9.0]), 1}, {:none, 0}]
    assert KMeans.Actors.means(sums, centres) == [vector.([1.5]), vector.([9.0]), vector.([99.0])]
    assert KMeans.Actors.both(sums, Enum.reverse(sums)) == [hd(sums), {vector.([18.0]), 2}, hd(sums)]

    labelled =
      for {label, x} <- [{:b, 1}, {:a, 2}, {:a, 9}, {:b, 3}, {:c, 8}, {:a, 4}], do: {label, vector.([x])}

    nearest = KNearest.Actors.nearest(labelled, vector.([0]), [])
    assert nearest == [{64.0, :c}, {16.0, :a}, {9.0, :b}, {4.0, :a}, {1.0, :b}]
    assert KNearest.Actors.classify(labelled, vector.([0])) == :a
    assert KNearest.Actors.classify(labelled, vector.([1])) == :a
  end

  describe "a program that fails" do
    defmodule Wrong do
      use Program, title: "wrong", param: :n, defaults: [1], small: 1, metric: :ns_per_actor

      def processes(_), do: 1
      def expected(n), do: n
      def mote(_machine, _n), do: [run: fn _ -> :wrong end]
      def beam(_n), do: [run: fn _ -> exit(:broken) end]
    end

    defmodule Aborting do
      use Program, title: "aborts", param: :n, defaults: [1], small: 2, metric: :ns_per_actor

      defmodule Actors do
        use Mote.Behaviour, errors: :undefined

        defactor actor do
          :abort -> abort(:asked)
          customer -> send customer, :done
        end
      end

      def processes(_), do: 1
      def expected(_), do: :done
      def beam(_n), do: []

      # With n = 2 there is no answer.
      def mote(machine, n) do
        actor = Mote.create(machine, Actors.actor())
        Mote.send(actor, :abort)
        me = self()
        [run: fn _ -> answer(fn -> if n == 1, do: Mote.send(actor, me) end) end]
      end
    end

    defmodule Deadly do
      use Program, title: "deadly", param: :n, defaults: [1], small: 1, metric: :ns_per_actor

      def expected(n), do: n
      def mote(machine, _n), do: [run: fn _ -> answer(fn -> Process.exit(machine, :kill) end) end]
    end

    defp aborted(variant, n) do
      "aborting with n #{n} on #{variant}: #{inspect(Aborting.Actors)}.actor aborted a turn: " <>
        "{:abort, :asked}, message: :abort"
    end

    test "by its result says what it should have been" do
      assert_raise Run.Error, "wrong with n 7 on mote gave :wrong, and 7 is right", fn ->
        Run.once(Wrong, :mote, 7)
      end
    end

    @tag :capture_log
    test "by an abort says so" do
      assert_raise Run.Error, aborted("mote", 1), fn -> Run.once(Aborting, :mote, 1) end
    end

    @tag :capture_log
    test "by an abort without which there is no answer says so, and does not wait for ever" do
      assert_raise Run.Error, aborted("mote_mt", 2), fn -> Run.once(Aborting, :mote_mt, 2) end
    end

    @tag :capture_log
    test "by an abort in a place of its own says so there" do
      assert_raise Run.Error, aborted("mote", 2), fn -> Bench.Runner.measure(Aborting, 1, where: :here) end
    end

    @tag :capture_log
    test "by the end of a machine that is kept says so, and the next run has another one" do
      {:ok, keeper} = Keeper.start_link()
      first = Keeper.machine(keeper, Deadly, :mote)

      assert_raise Run.Error, ~r/^deadly with n 1 on mote failed: killed/, fn ->
        Run.once(Deadly, :mote, 1, keeper: keeper)
      end

      second = Keeper.machine(keeper, Deadly, :mote)
      assert second != first and Process.alive?(second)
      Keeper.stop(keeper)
      refute Process.alive?(second)
    end

    test "by its last result says so, too" do
      assert_raise Run.Error, ~r/^wrong with n 7 on mote_mt gave :wrong/, fn ->
        Run.once(Wrong, :mote_mt, 7, repeats: 3)
      end
    end

    test "by an exit says why" do
      assert_raise Run.Error, ~r/^wrong with n 7 on beam failed: .*:broken/, fn ->
        Run.once(Wrong, :beam, 7)
      end
    end
  end

  describe "repeated runs" do
    defmodule Counted do
      use Program, title: "counted", param: :n, defaults: [1], small: 1, metric: :us_per_message

      def expected(_), do: :done
      def mote(_machine, n), do: [wait: fn _ -> count_and_wait(n) end, rest: fn :waited -> figures() end]

      # How long each run has taken by its own clock, in nanoseconds, the newest first.
      defp count_and_wait(n) do
        {us, :ok} = :timer.tc(Process, :sleep, [n])
        Agent.update(__MODULE__, &[us * 1_000 | &1])
        :waited
      end

      defp figures, do: {:figures, [percent_of_core: 12.5], :done}
    end

    setup do
      start_supervised!(%{id: Counted, start: {Agent, :start_link, [fn -> [] end, [name: Counted]]}})
      :ok
    end

    test "have one more ahead of them, and the median of the others" do
      {all, sample} = :timer.tc(Run, :once, [Counted, :mote, 25, [repeats: 4]])
      assert [_, _, _, _, first] = waited = Agent.get(Counted, & &1)
      assert %Sample{repeats: 4, stages: [%{name: :wait, ns: ns}, %{name: :rest}]} = sample
      # A median is at least the shortest, and of four at most half of what they take together.
      assert ns >= Enum.min(waited) and ns <= (all * 1_000 - first) / 2
      assert [us_per_message: us] = Counted.measures(sample)
      assert_in_delta us, ns / 25 / 1_000, 100
      assert sample.figures == [percent_of_core: 12.5]
    end

    test "are one if nothing is said" do
      assert %Sample{repeats: 1} = Run.once(Counted, :mote, 1)
      assert [_] = Agent.get(Counted, & &1)
    end
  end

  test "options of a program are checked" do
    assert_raise ArgumentError, fn -> Program.about(Wrong, title: "x", parameter: :n) end
  end

  defp once(program, variant, opts) do
    sample = Run.once(program, variant, program.about().small, opts)
    assert %Sample{stages: [_ | _]} = sample
    assert Sample.ns(sample) > 0
    sample
  end

  defp measure(metric), do: %Bench.Measure{bench: "", variant: :mote, param: 1, metric: metric, values: [1]}
end
