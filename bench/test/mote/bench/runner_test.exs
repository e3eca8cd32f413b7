defmodule Mote.Bench.RunnerTest do
  use ExUnit.Case, async: true

  import Mote.Eventually

  alias Mote.Bench.{Measure, Memory, Runner, Sample, Threads, Variant}
  alias Mote.Bench.Programs.{Beside, Cps, ForkBomb, Idle, Ring}

  defp metrics(measures), do: Enum.map(measures, &{&1.variant, &1.metric, length(&1.values)})

  # Without what depends on the computer.
  defp sure_metrics(measures) do
    unsure = [:peak_rss_bytes, :bytes_per_actor, :percent_mean_above_median, :ratio_cpu_mt_vs_st]
    Enum.reject(metrics(measures), fn {_, metric, _} -> metric in unsure end)
  end

  test "Mote alone has no ratio" do
    assert ForkBomb |> Runner.measure(5, where: :here, runs: 3) |> metrics() |> Enum.take(1) ==
             [{:mote, :ns_per_actor, 3}]
  end

  test "both variants, their memory, and the ratio run by run" do
    lines = self()
    opts = [where: :here, runs: 2, compare: true, progress: &send(lines, {:progress, &1})]
    measures = Runner.measure(Ring, 600, opts)

    assert {:mote, :ns_per_message, 2} in metrics(measures)
    assert {:beam, :ns_per_message, 2} in metrics(measures)
    assert List.last(metrics(measures)) == {:mote, :ratio_vs_beam, 2}
    if Memory.peak(), do: assert({:mote, :peak_rss_bytes, 1} in metrics(measures))

    assert_received {:progress, "ring n=600 mote: warm-up"}
    assert_received {:progress, "ring n=600 beam: run 2 of 2"}
  end

  test "how many rounds were on uneven cores, if that is asked for" do
    opts = [where: :here, runs: 3, sponsor: :both]

    percent = fn measures ->
      for %{metric: :percent_uneven} = measure <- measures, do: {measure.variant, measure.values}
    end

    assert ForkBomb |> Runner.measure(5, opts) |> percent.() == []
    measures = Runner.measure(ForkBomb, 5, [cores: :even, patience: 0] ++ opts)
    assert [{:mote_st, [percent]}] = percent.(measures)
    assert Enum.any?(0..3, &(percent == 100 * &1 / 3))
    assert {:mote_mt, :ratio_mt_vs_st, 3} in metrics(measures)
  end

  test "the ratio is of times, the BEAM's above" do
    measures = Runner.measure(ForkBomb, 8, where: :here, runs: 1, compare: true)

    [mote, beam, ratio] =
      for {variant, metric} <- [mote: :ns_per_actor, beam: :ns_per_actor, mote: :ratio_vs_beam] do
        measures |> Enum.find(&(&1.variant == variant and &1.metric == metric)) |> Measure.median()
      end

    assert_in_delta ratio, beam / mote, 1.0e-6
  end

  # Cargo builds them, and may wait for another one to be done with the same folder.
  @tag timeout: 1_800_000
  test "programs in Rust, and the ratio to each of them" do
    measures = Runner.measure(Cps, 5, where: :here, runs: 2, compare: true)

    assert sure_metrics(measures) == [
             {:mote, :ns_per_actor, 2},
             {:beam, :ns_per_actor, 2},
             {:continuations, :ns_per_actor, 2},
             {:recursion, :ns_per_actor, 2},
             {:mote, :ratio_vs_beam, 2},
             {:mote, :ratio_vs_continuations, 2},
             {:mote, :ratio_vs_recursion, 2}
           ]

    # What the executable takes is nobody's memory here.
    refute Enum.any?(
             measures,
             &(&1.variant == :recursion and &1.metric in [:peak_rss_bytes, :bytes_per_actor])
           )
  end

  test "sponsors against each other, and both against the BEAM" do
    measures = Runner.measure(ForkBomb, 6, where: :here, runs: 3, sponsor: :both, compare: true)

    assert sure_metrics(measures) == [
             {:mote_st, :ns_per_actor, 3},
             {:mote_mt, :ns_per_actor, 3},
             {:beam, :ns_per_actor, 3},
             {:mote_st, :ratio_vs_beam, 3},
             {:mote_mt, :ratio_vs_beam, 3},
             {:mote_mt, :ratio_mt_vs_st, 3}
           ]

    # The system counts a thread's time when the thread leaves its core: of so little work, perhaps nothing.
    cpu = Enum.find(measures, %{values: []}, &(&1.metric == :ratio_cpu_mt_vs_st)).values
    assert length(cpu) <= 3 and Enum.all?(cpu, &(&1 > 0))

    values = fn variant, metric ->
      Enum.find(measures, &(&1.variant == variant and &1.metric == metric)).values
    end

    speeds = Enum.zip(values.(:mote_st, :ns_per_actor), values.(:mote_mt, :ns_per_actor))

    for {{st, mt}, ratio} <- Enum.zip(speeds, values.(:mote_mt, :ratio_mt_vs_st)) do
      assert_in_delta ratio, st / mt, 1.0e-6
    end
  end

  test "tiers against each other, with each kind of sponsor" do
    measures = Runner.measure(ForkBomb, 5, where: :here, runs: 2, sponsor: :both, tier: :both)

    assert sure_metrics(measures) == [
             {:mote_st_native, :ns_per_actor, 2},
             {:mote_st_interp, :ns_per_actor, 2},
             {:mote_mt_native, :ns_per_actor, 2},
             {:mote_mt_interp, :ns_per_actor, 2},
             {:mote_mt_native, :ratio_mt_vs_st, 2},
             {:mote_mt_interp, :ratio_mt_vs_st, 2},
             {:mote_st_native, :ratio_native_vs_interp, 2},
             {:mote_mt_native, :ratio_native_vs_interp, 2}
           ]

    assert [{:mote_interp, :ns_per_actor, 1} | _] =
             ForkBomb |> Runner.measure(5, where: :here, runs: 1, tier: :interp) |> metrics()
  end

  test "a variant's machine" do
    assert Variant.options(Ring, :mote) == [sponsors: [main: [threads: 1]]]
    assert Variant.options(Ring, :mote_interp) == [sponsors: [main: [threads: 1]], tier: :interp]
    assert Variant.options(Ring, :mote_mt_native) == [sponsors: [main: [threads: :cores]], tier: :native]
    assert Variant.machines(Beside, :st, :both) == ~w(alone_native alone_interp beside_native beside_interp)a
    assert [sponsors: _, tier: :interp] = Variant.options(Beside, :beside_interp)
  end

  test "one kind of sponsor has no ratio" do
    variants = fn sponsor ->
      ForkBomb
      |> Runner.measure(4, where: :here, runs: 1, sponsor: sponsor)
      |> Enum.map(& &1.variant)
      |> Enum.uniq()
    end

    assert variants.(:st) == [:mote]
    assert variants.(:mt) == [:mote_mt]
  end

  test "machines of a program's own" do
    lines = self()
    opts = [where: :here, runs: 1, sponsor: :mt, compare: true, progress: &send(lines, &1)]
    measures = Runner.measure(Beside, 5, opts)

    assert measures |> Enum.map(& &1.variant) |> Enum.uniq() == [:alone, :beside]
    assert {:beside, :ratio_beside_vs_alone, 1} in metrics(measures)
    assert_received "beside: no comparison with BEAM processes: it is about machines and their threads"
  end

  test "machines of a node of their own take turns there" do
    measures = Runner.measure(ForkBomb, 12, runs: 2, sponsor: :both)
    assert {:mote_mt, :ratio_mt_vs_st, 2} in metrics(measures)
    if Memory.rss(), do: assert({:mote_mt, :bytes_per_actor, 1} in metrics(measures))
  end

  test "variants alternate, forth and back" do
    lines = self()
    opts = [where: :here, runs: 2, compare: true, progress: &send(lines, &1)]
    Runner.measure(ForkBomb, 3, opts)

    assert for(_ <- 1..6, do: receive(do: (line -> line))) == [
             "fork_bomb depth=3 mote: warm-up",
             "fork_bomb depth=3 beam: warm-up",
             "fork_bomb depth=3 mote: run 1 of 2",
             "fork_bomb depth=3 beam: run 1 of 2",
             "fork_bomb depth=3 beam: run 2 of 2",
             "fork_bomb depth=3 mote: run 2 of 2"
           ]
  end

  defmodule Witness do
    # Tells which machines it is run on.
    defmacro __using__(opts) do
      opts = [title: "", param: :n, defaults: [1], small: 1, metric: :ns_per_actor] ++ opts

      quote do
        use Mote.Bench.Program, unquote(opts)

        def expected(n), do: n

        def mote(machine, n) do
          send(:witness, {:machine, machine})
          # So slow that it is not repeated.
          [run: fn _ -> Process.sleep(51) && n end]
        end
      end
    end
  end

  defmodule(Kept, do: use(Witness))
  defmodule(Anew, do: use(Witness, anew: [:mote_mt]))
  defmodule(Alone, do: use(Witness, fresh: true))

  defp machines(program) do
    Process.register(self(), :witness)
    Runner.measure(program, 3, where: :here, runs: 3, sponsor: :both)
    Stream.repeatedly(fn -> receive(do: ({:machine, m} -> m), after: (0 -> nil)) end) |> Enum.take_while(& &1)
  end

  test "the warm-up and the timed runs of a variant are on one machine, which ends afterwards" do
    # A small run, the warm-up of each in a place of its own, then the other one's run in the place of the first.
    assert [small_st, st, small_mt, warm_mt, mt | timed] = machines(Kept)
    assert timed == [st, mt, mt, st, st, mt]
    assert [small_st, st, small_mt, warm_mt, mt] |> Enum.uniq() |> length() == 5
    refute Enum.any?([st, mt], &Process.alive?/1)
  end

  test "what a run uses up is there anew for the next one" do
    assert [_, st, _, _, mt | timed] = machines(Anew)
    assert [^st, a, b, ^st, ^st, c] = timed
    assert length(Enum.uniq([st, mt, a, b, c])) == 5
  end

  test "a program about memory has a machine for each run" do
    machines = machines(Alone)
    assert length(machines) == 12 and Enum.uniq(machines) == machines
  end

  # A warm-up that the system holds up for long, as any may be on a busy host, counts as that of a long run, which is not
  # repeated. So what follows is tried until it was not.

  defmodule Lame do
    # One run in ten is held up for long. The others take long enough not to be repeated ten thousand times.
    use Mote.Bench.Program, title: "", param: :n, defaults: [1], small: 1, metric: :us_per_run
    def count(_), do: 1
    def expected(_), do: :ok

    def mote(_, n) do
      runs = Process.get(:runs, 0)
      Process.put(:runs, runs + 1)
      held_up = rem(runs, 10) == 9
      [run: fn _ -> if held_up, do: Process.sleep(n), else: spin(now() + 100) end]
    end

    defp spin(until), do: if(now() < until, do: spin(until), else: :ok)
    defp now, do: System.monotonic_time(:microsecond)
  end

  defmodule Slow do
    # Only the first run on a machine is slow.
    use Mote.Bench.Program, title: "", param: :n, defaults: [1], small: 1, metric: :us_per_run
    def count(_), do: 1
    def expected(_), do: :ok

    def mote(machine, _) do
      runs = :persistent_term.get({Slow, machine}, 0)
      :persistent_term.put({Slow, machine}, runs + 1)
      [run: fn _ -> Process.sleep(if(runs < 1, do: 10, else: 0)) end]
    end
  end

  test "whether runs are repeated does not depend on the warm-up" do
    eventually(fn ->
      {:mote, :percent_mean_above_median, 1} in metrics(Runner.measure(Slow, 4, where: :here, runs: 1))
    end)
  end

  test "of repeated runs the median counts, and the mean is told" do
    sample =
      eventually(fn ->
        sample = Mote.Bench.Run.once(Lame, :mote, 30, repeats: 20)
        assert sample.mean > 3.0e6
        if Sample.ns(sample) < sample.mean / 2, do: sample
      end)

    assert_in_delta Sample.percent_mean_above_median(sample),
                    (sample.mean / Sample.ns(sample) - 1) * 100,
                    1.0e-6

    assert Sample.percent_mean_above_median(Mote.Bench.Run.once(Lame, :mote, 1)) == nil

    percent =
      eventually(fn ->
        Lame
        |> Runner.measure(4, where: :here, runs: 2)
        |> Enum.find(&(&1.metric == :percent_mean_above_median))
      end)

    assert %Measure{variant: :mote, values: [_, _]} = percent
    assert Measure.unit(percent) == "%"
  end

  defmodule Restless do
    # It answers long before it is done.
    use Mote.Bench.Program, title: "", param: :n, defaults: [1], small: 1, metric: :us_per_run

    defmodule Actors do
      use Mote.Behaviour, errors: :undefined

      defactor counter(customer) do
        0 -> send customer, :done
        n -> send self(), n - 1
      end
    end

    def count(_), do: 1
    def expected(_), do: :ok

    def mote(machine, n) do
      [
        run: fn _ ->
          Mote.send(Mote.create(machine, Actors.counter(Process.whereis(:witness))), n * 100_000)
        end
      ]
    end
  end

  test "a machine that is kept has come to rest when its run is over" do
    Process.register(self(), :witness)
    {:ok, keeper} = Mote.Bench.Keeper.start_link()

    for _ <- 1..3 do
      Mote.Bench.Run.once(Restless, :mote, 1, keeper: keeper)
      assert_received :done
    end

    Mote.Bench.Keeper.stop(keeper)
  end

  test "in nodes of their own" do
    measures = Runner.measure(Idle, 20_000, runs: 1, compare: true)
    assert {:mote, :ns_per_message, 1} in metrics(measures)
    assert {:beam, :ns_per_message, 1} in metrics(measures)

    if Memory.rss() do
      bytes = Enum.find(measures, &(&1.variant == :beam and &1.metric == :bytes_per_actor))
      assert Measure.median(bytes) > 300
    end
  end

  test "a comparison that cannot be is left out, with the reason" do
    lines = self()

    defmodule TooMany do
      use Mote.Bench.Program, title: "", param: :n, defaults: [1], small: 1, metric: :ns_per_actor
      def processes(_), do: 200_000_000
      def expected(_), do: nil
      def mote(_, _), do: [run: fn _ -> nil end]
      def beam(_), do: [run: fn _ -> nil end]
    end

    measures = Runner.measure(TooMany, 1, where: :here, compare: true, progress: &send(lines, &1))
    assert Enum.all?(measures, &(&1.variant == :mote))
    assert_received "too_many: no comparison with BEAM processes: 200000000 processes are more" <> _
  end

  test "growth of memory for each" do
    assert Sample.per(1_600, 0, 100) == 16.0
    assert Sample.per(0, 1_600, 100) == 0.0
    assert Sample.per(nil, 1_600, 100) == nil
    assert Sample.per(1_600, nil, 100) == nil
  end

  test "the machines of variants" do
    assert Variant.options(Ring, :mote) == Variant.options(Ring, :mote_st)
    assert [sponsors: [main: [threads: :cores]]] = Variant.options(Ring, :mote_mt)
    assert [sponsors: [single: _]] = Variant.options(Beside, :alone)
    assert Variant.machines(Beside, :both) == [:alone, :beside]
    assert Variant.beam?(Ring) and not Variant.beam?(Beside)
  end

  if File.exists?("/proc/self/task") do
    test "threads by name, and their time" do
      # Of its own name: other tests' machines come and go meanwhile.
      {:ok, machine} = Mote.start_link(name: :cpu, sponsors: [main: [threads: 2]])
      # A thread may not have its name yet.
      before = Threads.cpu_ns("mote-cpu-") || 0
      root = Mote.create(machine, ForkBomb.Actors.node(self()))
      Mote.send(root, 15)
      assert_receive :done
      # The system counts a thread's time when the thread leaves its core.
      eventually(fn -> Threads.cpu_ns("mote-cpu-") > before end)
      assert Threads.cpu_ns("no-such-thread") == nil
      Mote.stop(machine)
    end
  end

  if File.exists?("/proc/self/status") do
    test "memory is that of this process" do
      # In a process of its own, for others take memory and give it back meanwhile; this one gives it back at once.
      flags = ["--erl", "+MMmcs 0"]

      {output, 0} =
        Mote.OtherBEAM.run(
          """
          alias Mote.Bench.Memory
          before = {Memory.rss(), Memory.peak()}
          reset = Memory.reset_peak()
          {_, ref} = spawn_monitor(fn -> :binary.copy("x", 200_000_000) end)
          receive do: ({:DOWN, ^ref, _, _, :normal} -> :ok)
          after_all = {Memory.peak(), Memory.rss()}
          again = Memory.reset_peak() && Memory.peak()
          IO.inspect({before, reset, after_all, again, Memory.available(), Memory.total()})
          """,
          flags
        )

      {{{before, first}, reset, {peak, now}, again, available, total}, _} = Code.eval_string(output)
      # Linux counts by the page, and each core some pages late.
      slack = 4_000_000
      assert before in 10_000_000..100_000_000 and first >= before - slack
      assert reset in [true, false]
      assert peak in (before + 200_000_000 - slack)..(before + 200_000_000 + 10 * slack)
      assert now in (before - slack)..(before + 10 * slack)
      assert again in if(reset, do: (now - slack)..(now + 10 * slack), else: [false])
      assert available in 1..total
    end
  end
end
