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
    assert Scenario.of(1) == Scenario.of(1)
    assert Scenario.of(1) != Scenario.of(2)
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

    {smallest, last} = smallest(scenario, run, &found(&1, run))
    assert last == run
    assert Shrink.tidy(smallest).phases == [[[]], [[{:repeat, 1, [@broken]}]]]
    assert length(smallest.machines) == 1
    # So is what was made smaller where it is run.
    assert Run.once(smallest, dir).outcome == run.outcome
  end

  test "what needs luck is tried more often, in more rounds, and made smaller as well" do
    scenario = scenario(@harmless ++ [@broken])
    found = %Run{outcome: :unexpected_exception, seconds: 0.0}
    tries = :counters.new(1, [])

    # Each second time.
    luck = fn candidate ->
      :counters.add(tries, 1, 1)
      if rem(:counters.get(tries, 1), 2) == 0, do: found(candidate, found), else: %{found | outcome: :held}
    end

    {smallest, ^found} = smallest(scenario, found, luck)
    assert Shrink.tidy(smallest).phases == [[[]], [[@broken]]]
    assert :counters.get(tries, 1) > 20
  end

  # A run of what has the operation in it finds that, without a process of its own.
  defp found(%{phases: phases}, found) do
    operations =
      phases
      |> List.flatten()
      |> Enum.flat_map(&with({:repeat, _, inner} <- &1, do: inner, else: (op -> [op])))

    if @broken in operations, do: found, else: %{found | outcome: :held}
  end

  defp smallest(scenario, found, run) do
    deadline = System.monotonic_time(:millisecond) + 600_000
    smaller = fn -> send(self(), Shrink.smallest(scenario, found, run, deadline)) end
    assert ExUnit.CaptureIO.capture_io(smaller) =~ "smaller"
    assert_received {%Scenario{}, %Run{}} = answer
    answer
  end
end
