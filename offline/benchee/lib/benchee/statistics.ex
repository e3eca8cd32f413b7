defmodule Benchee.Statistics do
  @moduledoc """
  Statistics of samples. Times are in nanoseconds, `ips` in runs per second.

  The three `relative_*` and `absolute_difference` fields compare with the fastest job on the same input; they are
  `nil` for that one.
  """

  alias Benchee.{CollectionData, Suite}

  defstruct [
    :average,
    :ips,
    :std_dev,
    :std_dev_ratio,
    :std_dev_ips,
    :median,
    :percentiles,
    :mode,
    :minimum,
    :maximum,
    :relative_more,
    :relative_less,
    :absolute_difference,
    sample_size: 0
  ]

  @type t :: %__MODULE__{}

  @doc """
  Adds statistics to every scenario, and sorts those of one input by their average.
  """
  @spec add(Suite.t()) :: Suite.t()
  def add(%Suite{scenarios: scenarios, configuration: configuration} = suite) do
    scenarios =
      scenarios
      |> Enum.map(fn scenario ->
        samples = scenario.run_time_data.samples
        statistics = of(samples, configuration.percentiles)
        %{scenario | run_time_data: %CollectionData{samples: samples, statistics: statistics}}
      end)
      |> by_input()
      |> Enum.flat_map(fn group -> group |> Enum.sort_by(&average/1) |> relate() end)

    %{suite | scenarios: scenarios}
  end

  @doc """
  Groups scenarios by input, in the order that they have.
  """
  @spec by_input([Benchee.Scenario.t()]) :: [[Benchee.Scenario.t()]]
  def by_input(scenarios) do
    groups = Enum.group_by(scenarios, & &1.input_name)
    for name <- scenarios |> Enum.map(& &1.input_name) |> Enum.uniq(), do: Map.fetch!(groups, name)
  end

  @doc """
  The statistics of these samples.
  """
  @spec of([number], [number]) :: t
  def of([], _percentiles), do: %__MODULE__{}

  def of(samples, percentiles) do
    sorted = Enum.sort(samples)
    count = length(sorted)
    lookup = List.to_tuple(sorted)
    average = Enum.sum(sorted) / count
    std_dev = std_dev(sorted, average, count)
    ratio = if average > 0, do: std_dev / average, else: 0.0
    ips = if average > 0, do: 1.0e9 / average

    %__MODULE__{
      average: average,
      ips: ips,
      std_dev: std_dev,
      std_dev_ratio: ratio,
      std_dev_ips: ips && ips * ratio,
      median: percentile(lookup, count, 50),
      percentiles: Map.new(Enum.uniq([50 | percentiles]), &{&1, percentile(lookup, count, &1)}),
      mode: mode(sorted),
      minimum: hd(sorted),
      maximum: elem(lookup, count - 1),
      sample_size: count
    }
  end

  defp std_dev(_samples, _average, 1), do: 0.0

  defp std_dev(samples, average, count) do
    squares = samples |> Enum.map(&((&1 - average) * (&1 - average))) |> Enum.sum()
    :math.sqrt(squares / (count - 1))
  end

  # Between the two nearest ranks, in proportion.
  defp percentile(sorted, count, percent) do
    rank = percent / 100 * (count + 1)
    below = trunc(rank)

    cond do
      below < 1 -> elem(sorted, 0) * 1.0
      below >= count -> elem(sorted, count - 1) * 1.0
      true -> elem(sorted, below - 1) + (rank - below) * (elem(sorted, below) - elem(sorted, below - 1))
    end
  end

  # nil when no sample is there twice, a list when several are the most frequent.
  defp mode(samples) do
    frequencies = Enum.frequencies(samples)
    most = frequencies |> Map.values() |> Enum.max()
    modes = for {sample, ^most} <- frequencies, do: sample

    cond do
      most == 1 -> nil
      match?([_], modes) -> hd(modes)
      true -> Enum.sort(modes)
    end
  end

  defp relate([]), do: []

  defp relate([reference | others]) do
    base = average(reference)

    [
      reference
      | Enum.map(others, fn scenario ->
          update_in(scenario.run_time_data.statistics, &relate(&1, base))
        end)
    ]
  end

  defp relate(%{average: average} = statistics, base) when is_number(average) and is_number(base) do
    %{
      statistics
      | relative_more: if(base > 0, do: average / base, else: :infinity),
        relative_less: if(average > 0, do: base / average, else: :infinity),
        absolute_difference: average - base
    }
  end

  defp relate(statistics, _base), do: statistics

  defp average(scenario), do: scenario.run_time_data.statistics.average
end
