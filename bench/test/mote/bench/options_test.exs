defmodule Mote.Bench.OptionsTest do
  use ExUnit.Case, async: true
  doctest Mote.Bench.Options

  alias Mote.Bench.Options
  alias Mote.Bench.Programs.{ForkBomb, Ring}

  test "a program with its default size" do
    assert {:ok, options} = Options.parse(["fork_bomb"])

    assert %Options{
             programs: [ForkBomb],
             runs: nil,
             seconds: nil,
             compare: false,
             format: :table,
             cores: :any
           } = options

    assert Options.params(options, ForkBomb) == ForkBomb.about().defaults
  end

  test "every option" do
    argv = ~w(fork_bomb ring --depth 10..12,20 --n 1_000 --runs 3 --compare beam --format tsv --cores even)
    assert {:ok, options} = Options.parse(argv)
    assert %Options{programs: [ForkBomb, Ring], runs: 3, compare: true, format: :tsv, cores: :even} = options
    assert Options.params(options, ForkBomb) == [10, 11, 12, 20]
    assert Options.params(options, Ring) == [1000]
  end

  test "sponsors" do
    for {argv, sponsor} <- [
          {~w(ring), :st},
          {~w(ring --sponsor st), :st},
          {~w(ring --sponsor mt), :mt},
          {~w(sendx ring --sponsor both), :both}
        ] do
      assert {:ok, options} = Options.parse(argv)
      assert Options.sponsor(options) == sponsor
    end
  end

  test "tiers" do
    for {argv, tier} <- [
          {~w(ring), :default},
          {~w(ring --tier native), :native},
          {~w(sendx --tier interp), :interp},
          {~w(idle_cpu ring --tier both), :both}
        ] do
      assert {:ok, %Options{tier: ^tier}} = Options.parse(argv)
    end
  end

  test "options are read before anything else of the bench is loaded" do
    code = """
    for argv <- [~w(ring --sponsor mt), ~w(ring --sponsor st), ~w(ring --tier interp), ~w(ring --cores even)],
        do: {:ok, _} = Mote.Bench.Options.parse(argv)
    """

    assert Mote.OtherBEAM.run(code) == {"", 0}
  end

  test "nothing is a request for the list" do
    assert {:ok, %Options{programs: []}} = Options.parse([])
  end

  test "mistakes are explained" do
    for {argv, message} <- [
          {~w(fork_bmb), ~s(there is no bench program "fork_bmb"; there are: fork_bomb, floor, cps, )},
          {~w(ring --depth 3), "--depth is not the size of ring"},
          {~w(fork_bomb --n 3), "--n is not the size of fork_bomb"},
          {~w(ring --n 3..1), "--n takes numbers and ranges"},
          {~w(ring --n 0), "--n takes numbers and ranges"},
          {~w(ring --n many), "--n takes numbers and ranges"},
          {~w(ring --runs 0), "--runs must be at least 1"},
          {~w(ring --cores odd), ~s(--cores must be any or even, got: "odd")},
          {~w(sockets --seconds 0), "--seconds must be at least 1, got: 0"},
          {~w(ring --seconds 2), "--seconds changes nothing for ring"},
          {~w(ring --runs few), ~s(--runs cannot be "few")},
          {~w(ring --runs), "--runs needs a value"},
          {~w(ring --compare pony), ~s(--compare must be beam, got: "pony")},
          {~w(ring --sponsor two), ~s(--sponsor must be st, mt or both, got: "two")},
          {~w(ring --sponsor), "--sponsor needs a value"},
          {~w(ring --tier jit), ~s(--tier must be native, interp or both, got: "jit")},
          {~w(ring --tier default), ~s(--tier must be native, interp or both, got: "default")},
          {~w(sendx idle_cpu --sponsor both), "--sponsor changes nothing for sendx, idle_cpu"},
          {~w(ring --format json), ~s(--format must be table or tsv, got: "json")},
          {~w(ring --speed 3), "there is no option --speed"},
          {~w(--sponsor mt), "say what to measure: one or several of fork_bomb, floor, cps, "}
        ] do
      assert {:error, error} = Options.parse(argv)
      assert String.starts_with?(error, message), "#{inspect(argv)}: #{error}"
    end
  end
end
