defmodule Mote.Bench.TasksTest do
  # Captures what the tasks print, also to the standard error, which all processes share.
  use ExUnit.Case, async: false

  import ExUnit.CaptureIO

  alias Mix.Tasks.Mote.{Bench, Demo}

  defp silently(fun), do: capture_io(fn -> capture_io(:stderr, fun) |> then(&send(self(), {:stderr, &1})) end)

  test "mix mote.bench lists the programs" do
    output = capture_io(fn -> Bench.run([]) end)
    assert output =~ ~r/^  fork_bomb +--depth 20 /m
    assert output =~ ~r/^  idle +--n 1_000_000,10_000_000 /m
  end

  test "commands are there in the project above, and print their figures only" do
    mix = &System.cmd("mix", &1, cd: "..", env: [{"MIX_ENV", "test"}])
    assert {"  program" <> _, 0} = mix.(["mote.bench"])
    assert {"bench\tvariant" <> _, 0} = mix.(~w(mote.bench ring --n 100 --runs 1 --format tsv))
  end

  test "mix mote.bench prints tab separated values and nothing else" do
    argv = ~w(fork_bomb --depth 4,5 --runs 1 --compare beam --format tsv)
    [header | lines] = silently(fn -> Bench.run(argv) end) |> String.split("\n", trim: true)

    assert header == "bench\tvariant\tparam\tmetric\tmedian\tmin\tmax\tunit"
    rows = Enum.map(lines, &String.split(&1, "\t"))

    assert Enum.all?(
             rows,
             &match?(["fork_bomb", variant, _, _, _, _, _, _] when variant in ["mote", "beam"], &1)
           )

    for depth <- ["4", "5"],
        {variant, metric} <- [{"mote", "ns_per_actor"}, {"beam", "ns_per_actor"}, {"mote", "ratio_vs_beam"}] do
      assert [[_, _, _, _, median, min, max, _]] =
               Enum.filter(rows, &match?([_, ^variant, ^depth, ^metric | _], &1))

      assert {median, ""} = Float.parse(median)
      assert {^median, ""} = Float.parse(min)
      assert {^median, ""} = Float.parse(max)
    end
  end

  test "mix mote.bench compares sponsors" do
    output = silently(fn -> Bench.run(~w(ring sendx --n 2000 --runs 1 --sponsor both)) end)
    assert output =~ ~r/^  2,000  mote_st  ns per message /m
    assert output =~ ~r/^  2,000  mote_mt  ratio mt vs st .* x$/m
    assert output =~ ~r/^  2,000  mote +ns per round trip parked /m
  end

  test "mix mote.bench prints a table, and its progress apart from it" do
    output = silently(fn -> Bench.run(~w(counting --n 2000 --runs 1)) end)
    assert output =~ "counting: one producer sends n messages to one counter\n\n"
    assert output =~ ~r/^  2,000  mote     ns per message /m
    assert_received {:stderr, "  counting n=2000 mote: warm-up\n" <> _}
  end

  test "mistakes are Mix errors" do
    assert_raise Mix.Error, ~r/there is no bench program "nothing"/, fn -> Bench.run(["nothing"]) end
    assert_raise Mix.Error, ~r/takes no "now"/, fn -> Demo.run(["now"]) end
    assert_raise Mix.Error, ~r/--alive takes a number/, fn -> Demo.run(["--alive", "all"]) end
    assert_raise Mix.Error, ~r/--loud/, fn -> Demo.run(["--loud"]) end
  end

  test "the demo shows every depth, and a message through all" do
    opts = [depths: 5..12, beam_depth: 6, alive: 30_000, where: :here]
    output = capture_io(fn -> assert Mote.Bench.Demo.run(opts) == :ok end)

    for {depth, actors} <- [{5, "63"}, {6, "127"}, {12, "8,191"}] do
      assert output =~ ~r/^ +#{depth} +#{actors} /m
    end

    assert output =~ "BEAM processes up to depth 6, as asked"
    assert output =~ "30,000 actors alive at once"
    assert output =~ ~r/a message through all +\d/
    assert output |> String.split("\n") |> Enum.all?(&(String.length(&1) <= 110))
  end
end
