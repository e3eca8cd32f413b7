defmodule BencheeTest do
  use ExUnit.Case

  import ExUnit.CaptureIO

  alias Benchee.Statistics

  @quick [time: 0.01, warmup: 0, print: false, formatters: []]

  defp statistics(scenario), do: scenario.run_time_data.statistics

  # A job of some milliseconds, and one that takes longer than the other has ever taken, however busy the computer is.
  defp fast_and_slow do
    longest = start_supervised!({Agent, fn -> 0 end})

    fast = fn ms ->
      {time, :ok} = :timer.tc(fn -> Process.sleep(ms) end)
      Agent.update(longest, &max(&1, time))
    end

    slow = fn ms -> Process.sleep(300 * ms + 2 * div(Agent.get(longest, & &1), 1_000)) end
    %{"fast" => fast, "slow" => slow}
  end

  test "runs each job on each input and sorts by speed" do
    suite = Benchee.run(fast_and_slow(), [inputs: [{"two", 2}, {"one", 1}]] ++ @quick)
    assert %Benchee.Suite{scenarios: scenarios} = suite

    assert Enum.map(scenarios, &{&1.input_name, &1.name, &1.job_name, &1.tag}) == [
             {"two", "fast", "fast", nil},
             {"two", "slow", "slow", nil},
             {"one", "fast", "fast", nil},
             {"one", "slow", "slow", nil}
           ]

    for scenario <- scenarios do
      s = statistics(scenario)
      assert s.minimum >= 1_000_000
      assert s.minimum <= s.median and s.median <= s.maximum
      assert s.sample_size == length(scenario.run_time_data.samples)
      assert_in_delta s.ips, 1.0e9 / s.average, 1.0e-6
      assert Map.keys(s.percentiles) == [50, 99]
    end

    [fast, slow | _] = Enum.map(scenarios, &statistics/1)
    assert fast.relative_more == nil
    assert slow.relative_more > 1.5
    assert slow.absolute_difference == slow.average - fast.average
  end

  test "without inputs functions take no argument, and names may be atoms in a list" do
    suite = Benchee.run([one: fn -> Enum.sum(1..10) end], @quick)
    assert [%{name: "one", input_name: "__no_input", run_time_data: data}] = suite.scenarios
    assert data.statistics.sample_size > 10
  end

  test "hooks run in order, untimed, each with the result of the one before" do
    me = self()

    told = fn name, result ->
      fn input ->
        Kernel.send(me, {name, input})
        if result == :sleep, do: Process.sleep(5)
        if is_function(result), do: result.(input), else: input
      end
    end

    job = {
      fn input ->
        Kernel.send(me, {:job, input})
        :result
      end,
      before_scenario: told.(:inner_scenario, &(&1 + 1)),
      before_each: told.(:inner_each, &(&1 + 10)),
      after_each: told.(:inner_after, :sleep),
      after_scenario: told.(:inner_done, nil)
    }

    suite =
      Benchee.run(
        %{"job" => job},
        @quick ++
          [
            inputs: %{"i" => 1},
            max_sample_size: 1,
            before_scenario: told.(:outer_scenario, &(&1 * 2)),
            before_each: told.(:outer_each, &(&1 * 2)),
            after_each: told.(:outer_after, nil),
            after_scenario: told.(:outer_done, nil)
          ]
      )

    {:messages, messages} = Process.info(self(), :messages)

    assert messages == [
             outer_scenario: 1,
             inner_scenario: 2,
             outer_each: 3,
             inner_each: 6,
             job: 16,
             inner_after: :result,
             outer_after: :result,
             inner_done: 3,
             outer_done: 3
           ]

    assert [%{run_time_data: %{statistics: %{average: average}}}] = suite.scenarios
    assert average < 4_000_000
  end

  test "a hook makes the argument of a job without inputs" do
    me = self()

    Benchee.run(
      %{"j" => {fn x -> Kernel.send(me, {:got, x}) end, before_each: fn _ -> 7 end}},
      @quick ++ [max_sample_size: 1]
    )

    assert_received {:got, 7}
  end

  test "parallel copies run in processes of their own" do
    me = self()

    job = fn ->
      Kernel.send(me, {:ran, self()})
      Process.sleep(20)
    end

    Benchee.run(%{"j" => job}, @quick ++ [parallel: 3])
    {:messages, messages} = Process.info(self(), :messages)
    assert messages |> Enum.uniq() |> length() == 3
  end

  test "pre_check compares results" do
    jobs = %{"a" => fn -> 1 end, "b" => fn -> 2 end}
    assert_raise RuntimeError, ~r/different/, fn -> Benchee.run(jobs, @quick ++ [pre_check: :all_same]) end
    assert %{scenarios: [_, _]} = Benchee.run(jobs, @quick ++ [pre_check: true])
  end

  test "unknown options and hooks are refused" do
    assert_raise KeyError, fn -> Benchee.run(%{"a" => fn -> 1 end}, tme: 1) end
    assert_raise ArgumentError, fn -> Benchee.run(%{"a" => {fn -> 1 end, before: 1}}, @quick) end
  end

  test "statistics" do
    s = Statistics.of([200, 400, 400, 400, 500, 500, 500, 700, 900], [50, 75, 99])
    assert s.average == 500.0
    assert_in_delta s.std_dev, 200.0, 1.0e-9
    assert_in_delta s.std_dev_ratio, 0.4, 1.0e-9
    assert_in_delta s.ips, 2.0e6, 1.0e-6
    assert s.median == 500.0
    assert s.percentiles == %{50 => 500.0, 75 => 600.0, 99 => 900.0}
    assert s.mode == [400, 500]
    assert {s.minimum, s.maximum, s.sample_size} == {200, 900, 9}
    assert Statistics.of([1, 2], [50]).mode == nil
    assert Statistics.of([1, 2, 2], [50]).mode == 2
    assert Statistics.of([7], [50]).std_dev == 0.0
    assert Statistics.of([], [50]).sample_size == 0
  end

  test "the console shows a table and a comparison" do
    output =
      capture_io(fn ->
        Benchee.run(fast_and_slow(),
          time: 0.02,
          warmup: 0.001,
          memory_time: 1,
          inputs: %{"here" => 1},
          formatters: [{Benchee.Formatters.Console, extended_statistics: true}]
        )
      end)

    assert output =~ "time: 20 ms"
    assert output =~ "Left out by this fallback for machines without Hex: memory_time"
    assert output =~ "Benchmarking fast with input here ..."
    assert output =~ "##### With input here #####"
    assert output =~ ~r/Name +ips +average +deviation +median +99th %/
    assert output =~ ~r/Comparison:\s*\nfast +\d+\.\d+\nslow +\d+\.\d+ - \d+\.\d+x slower \+\d+\.\d+ ms/
    assert output =~ "sample size"
  end

  test "formatters are modules or functions" do
    me = self()
    Benchee.run(%{"a" => fn -> 1 end}, Keyword.put(@quick, :formatters, [&Kernel.send(me, {:suite, &1})]))
    assert_received {:suite, %Benchee.Suite{}}
  end
end
