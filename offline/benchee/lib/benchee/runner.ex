defmodule Benchee.Runner do
  @moduledoc """
  Runs scenarios and collects the samples of their run times, in nanoseconds.
  """

  alias Benchee.{CollectionData, Scenario, Suite}

  # A measured time shorter than this many units of the clock says more about the clock.
  @least_units 10

  @doc """
  Runs each scenario of the suite in processes of its own.
  """
  @spec run(Suite.t()) :: Suite.t()
  def run(%Suite{configuration: configuration, scenarios: scenarios} = suite) do
    if configuration.pre_check, do: pre_check(scenarios, configuration)
    overhead = if configuration.measure_function_call_overhead, do: overhead(), else: 0
    %{suite | scenarios: Enum.map(scenarios, &benchmark(&1, configuration, overhead))}
  end

  defp pre_check(scenarios, configuration) do
    for {input_name, group} <- Enum.group_by(scenarios, & &1.input_name) do
      results = Enum.map(group, fn scenario -> apart(fn -> once(scenario, configuration) end) end)

      if configuration.pre_check == :all_same and length(Enum.uniq(results)) > 1 do
        raise "the jobs return different results for the input #{input_name}: " <>
                inspect(Enum.zip(Enum.map(group, & &1.name), results))
      end
    end
  end

  defp once(scenario, configuration) do
    input = before(:before_scenario, scenario, configuration, scenario.input)
    {result, _time} = measured(scenario, configuration, input)
    done(:after_scenario, scenario, configuration, input)
    result
  end

  defp benchmark(scenario, configuration, overhead) do
    if configuration.print[:benchmarking] do
      input =
        if scenario.input_name == Scenario.no_input_name(), do: "", else: " with input #{scenario.input_name}"

      IO.puts("Benchmarking #{scenario.name}#{input} ...")
    end

    samples =
      1..configuration.parallel
      |> Enum.map(fn _copy -> Task.async(fn -> collect(scenario, configuration) end) end)
      |> Enum.flat_map(&Task.await(&1, :infinity))
      |> Enum.map(&max(0, &1 - overhead))

    %{scenario | run_time_data: %CollectionData{samples: samples}}
  end

  defp apart(fun), do: fun |> Task.async() |> Task.await(:infinity)

  defp collect(scenario, configuration) do
    input = before(:before_scenario, scenario, configuration, scenario.input)
    _ = samples(scenario, configuration, input, configuration.warmup, 1)
    :erlang.garbage_collect()
    samples = if configuration.time > 0, do: timed(scenario, configuration, input), else: []
    done(:after_scenario, scenario, configuration, input)
    samples
  end

  defp timed(scenario, configuration, input) do
    repeat = repeat(scenario, configuration, input)

    if repeat > 1 and configuration.print[:fast_warning] do
      IO.puts("#{scenario.name} is too fast for the clock: each sample is the average of #{repeat} calls")
    end

    samples(scenario, configuration, input, configuration.time, repeat)
  end

  defp samples(_scenario, _configuration, _input, 0, _repeat), do: []

  defp samples(scenario, configuration, input, nanoseconds, repeat) do
    until = now() + System.convert_time_unit(nanoseconds, :nanosecond, :native)
    sample_until(until, scenario, configuration, input, repeat, [], 0)
  end

  defp sample_until(until, scenario, configuration, input, repeat, samples, count) do
    time = sample(scenario, configuration, input, repeat)
    samples = [time | samples]
    count = count + 1

    if now() < until and count < configuration.max_sample_size,
      do: sample_until(until, scenario, configuration, input, repeat, samples, count),
      else: Enum.reverse(samples)
  end

  defp sample(scenario, configuration, input, 1) do
    {_result, time} = measured(scenario, configuration, input)
    nanoseconds(time)
  end

  defp sample(scenario, _configuration, input, repeat) do
    nanoseconds(repeated(call(scenario.function, input), repeat)) / repeat
  end

  # Many calls between two looks at the clock leave no room for the hooks of each.
  defp repeat(scenario, configuration, input) do
    hooks = [scenario.before_each, scenario.after_each, configuration.before_each, configuration.after_each]
    if Enum.all?(hooks, &is_nil/1), do: enough(call(scenario.function, input), 1), else: 1
  end

  defp enough(call, repeat) do
    if repeated(call, repeat) >= @least_units, do: repeat, else: enough(call, repeat * 10)
  end

  defp repeated(call, repeat) do
    start = now()
    loop(call, repeat)
    now() - start
  end

  defp loop(_call, 0), do: :ok

  defp loop(call, count) do
    call.()
    loop(call, count - 1)
  end

  defp measured(scenario, configuration, input) do
    call = call(scenario.function, before(:before_each, scenario, configuration, input))
    start = now()
    result = call.()
    time = now() - start
    done(:after_each, scenario, configuration, result)
    {result, time}
  end

  defp call(function, :__no_input), do: function
  defp call(function, input), do: fn -> function.(input) end

  # Hooks of all jobs are the outer ones: first before, last after.
  defp before(hook, scenario, configuration, input) do
    input = if outer = Map.fetch!(configuration, hook), do: outer.(input), else: input
    if inner = Map.fetch!(scenario, hook), do: inner.(input), else: input
  end

  defp done(hook, scenario, configuration, value) do
    if inner = Map.fetch!(scenario, hook), do: inner.(value)
    if outer = Map.fetch!(configuration, hook), do: outer.(value)
    :ok
  end

  defp overhead do
    empty = fn -> :ok end
    times = for _ <- 1..1000, do: nanoseconds(repeated(empty, 10)) / 10
    Enum.min(times)
  end

  defp now, do: :erlang.monotonic_time()

  defp nanoseconds(native), do: System.convert_time_unit(native, :native, :nanosecond)
end
