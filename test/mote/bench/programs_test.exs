defmodule Mote.Bench.ProgramsTest do
  use ExUnit.Case, async: true

  alias Mote.Bench
  alias Mote.Bench.{Program, Run, Sample}

  for program <- Bench.programs() do
    @program program
    @about program.about()

    describe "#{@about.name}" do
      test "gives the right result on Mote" do
        assert %Sample{stages: [_ | _]} = sample = Run.once(@program, :mote, @about.small, true)
        assert Sample.ns(sample) > 0
      end

      test "gives the right result on BEAM processes" do
        assert %Sample{stages: [_ | _]} = Run.once(@program, :beam, @about.small, true)
      end

      test "has its main metric among the measures, and all of them have units" do
        samples = for fresh <- [true, false], do: Run.once(@program, :beam, @about.small, fresh)
        samples = if @about.fresh, do: Enum.take(samples, 1), else: samples
        metrics = samples |> Enum.flat_map(&@program.measures/1) |> Keyword.keys()

        assert @about.metric in metrics
        assert metrics == Enum.uniq(metrics)
        for metric <- metrics, do: assert(Bench.Measure.unit(measure(metric)) in ["ns", "bytes"])
      end

      test "says what it needs" do
        assert @about.param in [:depth, :n]
        assert [_ | _] = @about.defaults
        assert @program.count(@about.small) > 0
        assert @program.processes(@about.small) > 0
        assert {:ok, @program} == Bench.fetch(@about.name)
      end
    end
  end

  test "names are those of the documentation" do
    names = Enum.map(Bench.programs(), & &1.about().name)
    assert names == ~w(fork_bomb chain ping_pong ring counting idle)
    assert Bench.fetch("unknown") == :error
  end

  test "the machine did what is counted" do
    creates = fn program, param -> Run.once(program, :mote, param, false).info.counters.creates end

    # The first one is created from outside.
    assert creates.(Bench.Programs.ForkBomb, 7) == Bench.Programs.ForkBomb.count(7) - 1
    assert creates.(Bench.Programs.Chain, 70) == Bench.Programs.Chain.count(70) - 1
    assert creates.(Bench.Programs.Idle, 1_500) == Bench.Programs.Idle.count(1_500)
  end

  test "the ring gives the number of the actor that got the zero" do
    for n <- [1, 502, 503, 504], variant <- [:mote, :beam] do
      assert %Sample{} = Run.once(Bench.Programs.Ring, variant, n, false)
    end
  end

  test "counting is right for numbers that are no multiple of a batch" do
    for n <- [1, 999, 1_001, 2_500], variant <- [:mote, :beam] do
      assert %Sample{} = Run.once(Bench.Programs.Counting, variant, n, false)
    end
  end

  test "the shortest chain and the smallest tree" do
    for variant <- [:mote, :beam] do
      assert %Sample{} = Run.once(Bench.Programs.Chain, variant, 1, false)
      assert %Sample{} = Run.once(Bench.Programs.ForkBomb, variant, 1, false)
      assert %Sample{} = Run.once(Bench.Programs.PingPong, variant, 1, false)
    end
  end

  describe "a program that fails" do
    defmodule Wrong do
      use Program, title: "wrong", param: :n, defaults: [1], small: 1, metric: :ns_per_actor

      def count(n), do: n
      def processes(_), do: 1
      def expected(n), do: n
      def mote(_machine, _n), do: [run: fn _ -> :wrong end]
      def beam(_n), do: [run: fn _ -> exit(:broken) end]
    end

    defmodule Aborting do
      use Program, title: "aborts", param: :n, defaults: [1], small: 1, metric: :ns_per_actor

      defmodule Actors do
        use Mote.Behaviour

        defactor actor do
          :abort -> abort(:asked)
          customer -> send customer, :done
        end
      end

      def count(n), do: n
      def processes(_), do: 1
      def expected(_), do: :done
      def beam(_n), do: []

      def mote(machine, _n) do
        actor = Mote.create(machine, Actors.actor())
        Mote.send(actor, :abort)
        me = self()
        [run: fn _ -> answer(fn -> Mote.send(actor, me) end) end]
      end
    end

    test "by its result says what it should have been" do
      assert_raise Run.Error, "wrong with n 7 on mote gave :wrong, and 7 is right", fn ->
        Run.once(Wrong, :mote, 7, false)
      end
    end

    @tag :capture_log
    test "by an abort says so" do
      assert_raise Run.Error, ~r/^aborting with n 1 on mote had turns that abort: .*aborts_explicit: 1/, fn ->
        Run.once(Aborting, :mote, 1, false)
      end
    end

    test "by an exit says why" do
      assert_raise Run.Error, ~r/^wrong with n 7 on beam failed: .*:broken/, fn ->
        Run.once(Wrong, :beam, 7, false)
      end
    end
  end

  test "options of a program are checked" do
    assert_raise ArgumentError, fn -> Program.about(Wrong, title: "x", parameter: :n) end
  end

  defp measure(metric), do: %Bench.Measure{bench: "", variant: :mote, param: 1, metric: metric, values: [1]}
end
