defmodule Mote.Bench.SavinaTest do
  # The suite as a whole. That each program gives the right result is tested with all others, in `programs_test.exs`.
  use ExUnit.Case, async: true
  doctest Mote.Bench.Savina
  doctest Mote.Bench.Dice

  alias Mote.Bench
  alias Mote.Bench.{Measure, Options, Runner, Savina, Variant, Worker}
  alias Mote.Bench.Programs

  test "every program is one of the bench's, has a side on BEAM processes, and lines to count" do
    assert Savina.programs() -- Bench.programs() == []
    assert Enum.uniq(Savina.programs()) == Savina.programs()

    for program <- Savina.programs() do
      assert Variant.beam?(program)
      {actors, processes} = Savina.lines(program)
      assert actors in 5..200 and processes in 5..200
    end
  end

  test "those of the suite's directory are all in it, and in the table of README" do
    page = File.read!("README.md")

    for program <- Bench.programs(),
        match?(["Mote", "Bench", "Programs", "Savina" | _], Module.split(program)) do
      assert program in Savina.programs()
      assert page =~ "| `#{program.about().name}` |"
    end
  end

  test "lines are those of code" do
    # `use`, a head, two clauses of five lines, and an end.
    assert {8, 14} = Savina.lines(Programs.Savina.Fibonacci)
  end

  test "a program is measured beside one scheduler and beside all, and is a row of the table" do
    program = Programs.Savina.Chameneos
    opts = [runs: 1, sponsor: :both, compare: :schedulers, where: :here]
    measures = Runner.measure(program, program.about().small, opts)
    assert [_, _ | _] = for(%Measure{metric: :ratio_vs_beam_st} = measure <- measures, do: measure)
    table = Savina.table([{program, Savina.lines(program), measures}])
    assert table =~ ~r/^  chameneos +60 +\d+ +\d+( +[\d,.]+ ns){4}( +[\d,.]+ x){3}$/m
    assert table =~ ~r/^  geometric mean( +[\d,.]+ x){3}$/m
  end

  test "the table has medians, the geometric mean of ratios and the least" do
    rows =
      for {program, one, all} <- [{Programs.PingPong, [1.0, 2.0, 9.0], [4.0]}, {Programs.Ring, [8.0], [9.0]}] do
        measure = &%Measure{bench: "b", variant: &1, param: 7, metric: &2, values: &3}
        ratios = [measure.(:mote_st, :ratio_vs_beam_st, one), measure.(:mote_mt, :ratio_vs_beam, all)]
        {program, {1, 2}, [measure.(:mote_st, :ns_per_message, [5.0]) | ratios]}
      end

    table = Savina.table(rows)
    assert table =~ ~r/^  ping_pong +7 +1 +2 +5.00 ns +– +– +– +2.00 x +4.00 x +–$/m
    assert table =~ ~r/^  geometric mean +4.00 x +6.00 x +–$/m
    assert table =~ ~r/^  least +2.00 x +4.00 x +–$/m
  end

  test "the node of one scheduler has one" do
    worker = Worker.start(:node, processes: 10, schedulers: Variant.schedulers(:beam_st))
    assert :peer.call(worker.where, :erlang, :system_info, [:schedulers]) == 1
    Worker.stop(worker)
  end

  test "savina stands for all, alone, with its own sizes" do
    assert {:ok, options} = Options.parse(~w(savina --runs 3))
    assert %Options{suite: true, runs: 3, sponsor: :both, compare: :schedulers} = options
    assert options.programs == Savina.programs()

    for {argv, message} <- [
          {~w(savina ring), ~s(there is no bench program "savina")},
          {~w(savina --n 3), "--n cannot be said of savina"},
          {~w(savina --compare beam), "--compare cannot be said of savina"}
        ] do
      assert {:error, error} = Options.parse(argv)
      assert error =~ message
    end
  end

  # Each has a check that is independent of its actors.
  test "results are those that are known" do
    assert Programs.Savina.Queens.expected(8) == 92
    assert Programs.Savina.Pi.expected(9) == 3_141_592_653
    assert Programs.Savina.Fibonacci.expected(10) == 55
    assert Programs.Savina.Sieve.expected(30) == {10, 129}
    assert Programs.Savina.Bank.expected(1) == div(1_000 * 1_001, 2) * 1_000_000 + 71 * 1
  end
end
