defmodule Mote.ChaosTest do
  # The harness of `bin/prove chaos`: what it runs is a step of bin/test.
  use ExUnit.Case, async: true

  alias Mote.Chaos.{Kinds, Run, Scenario, Shrink}

  @moduletag :tmp_dir

  defp scenario(ops) do
    %Scenario{
      seed: 0,
      kinds: [],
      schedulers: 2,
      stress: nil,
      machines: [[], [memory: 16_777_216]],
      modules: [],
      plain: [],
      phases: [[[{:create, 0, :relay, nil}, {:create, 1, :relay, :main}]], [ops, [{:gc, 0}]]]
    }
  end

  # What is no operation is found as any exception is that nobody expects.
  @broken {:no_such_operation, 1}
  @harmless [{:token, 0, 1, [{:send, 2}, :make, {:sendx, :main, 3}], nil}, {:settle, 0}, {:info, 1}]

  test "a seed decides a scenario" do
    for seed <- 1..3 do
      assert Scenario.of(seed) == Scenario.of(seed)
      assert Scenario.of(seed) != Scenario.of(seed + 1)
    end
  end

  test "each kind has operations, and only those that are wanted are in a scenario" do
    for kind <- Kinds.all() do
      scenario = Scenario.of(3, [kind])
      assert scenario.kinds == [kind]
      assert Scenario.size(scenario) > 30
    end
  end

  test "a scenario is the same after it was written and read", %{tmp_dir: dir} do
    scenario = Scenario.of(11, [:programs, :agree, :traffic])
    path = Path.join(dir, "scenario.exs")
    Scenario.write!(scenario, path)
    assert Scenario.read!(path) == scenario
  end

  @tag timeout: :infinity
  test "what holds is told to hold", %{tmp_dir: dir} do
    run = Run.once(scenario(@harmless), dir)
    assert {run.outcome, run.detail} == {:held, ""}
    assert File.read!(Path.join(dir, "output")) =~ "all held"
  end

  @tag timeout: :infinity
  test "what is found is made smaller, as long as it is found", %{tmp_dir: dir} do
    scenario = scenario(@harmless ++ [{:repeat, 3, [{:settle, 0}, @broken]}])
    run = Run.once(scenario, dir)
    assert run.outcome == :unexpected_exception
    assert run.detail =~ "no_such_operation"
    assert Run.last_operations(run) =~ "no_such_operation"

    deadline = System.monotonic_time(:millisecond) + 600_000
    smaller = fn -> send(self(), Shrink.smallest(scenario, run, dir, deadline)) end
    assert ExUnit.CaptureIO.capture_io(smaller) =~ "smaller"
    assert_received {smallest, last}
    assert last.outcome == :unexpected_exception
    assert Shrink.tidy(smallest).phases == [[[]], [[{:repeat, 1, [@broken]}]]]
    assert length(smallest.machines) == 1
  end
end
