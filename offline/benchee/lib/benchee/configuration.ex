defmodule Benchee.Configuration do
  @moduledoc """
  The options of a run, with times in nanoseconds.
  """

  alias Benchee.{Format, Formatters, Scenario}

  @times [:time, :warmup, :memory_time, :reduction_time]
  @left_out [:memory_time, :reduction_time, :save, :load, :profile_after, :exclude_outliers]

  defstruct time: 5,
            warmup: 2,
            memory_time: 0,
            reduction_time: 0,
            parallel: 1,
            inputs: nil,
            formatters: [Formatters.Console],
            title: nil,
            print: [],
            before_scenario: nil,
            after_scenario: nil,
            before_each: nil,
            after_each: nil,
            pre_check: false,
            save: false,
            load: false,
            percentiles: [50, 99],
            unit_scaling: :best,
            measure_function_call_overhead: false,
            profile_after: false,
            max_sample_size: 1_000_000,
            exclude_outliers: false,
            assigns: %{}

  @type t :: %__MODULE__{}

  @print [benchmarking: true, configuration: true, fast_warning: true]

  @doc """
  Returns the configuration, and the names of options that ask for what this fallback cannot do.
  """
  @spec new(keyword) :: {t, [atom]}
  def new(options) do
    given = struct!(__MODULE__, options)
    left_out = Enum.reject(@left_out, &(Map.fetch!(given, &1) in [0, 0.0, false, nil]))

    configuration =
      Enum.reduce(@times, given, fn key, configuration ->
        Map.update!(configuration, key, &round(&1 * 1_000_000_000))
      end)

    {%{configuration | print: print_options(given.print), inputs: inputs(given.inputs)}, left_out}
  end

  # `print: false` is everything off, as `print: [...]` changes some.
  defp print_options(boolean) when is_boolean(boolean), do: for({key, _} <- @print, do: {key, boolean})
  defp print_options(options), do: Keyword.merge(@print, Enum.to_list(options))

  defp inputs(nil), do: nil
  defp inputs(inputs), do: Enum.to_list(inputs)

  @doc false
  def print(%{configuration: configuration, system: system, scenarios: scenarios}, left_out) do
    seconds = length(scenarios) * (configuration.time + configuration.warmup)
    names = scenarios |> Enum.map(& &1.input_name) |> Enum.uniq()
    inputs = if names == [Scenario.no_input_name()], do: "none specified", else: Enum.join(names, ", ")

    IO.puts("""
    Operating System: #{system.os}
    CPU Information: #{system.cpu_speed}
    Number of Available Cores: #{system.num_cores}
    Available memory: #{system.available_memory}
    Elixir #{system.elixir}
    Erlang #{system.erlang}
    JIT enabled: #{system.jit_enabled?}

    Benchmark suite executing with the following configuration:
    warmup: #{Format.duration(configuration.warmup)}
    time: #{Format.duration(configuration.time)}
    parallel: #{configuration.parallel}
    inputs: #{inputs}
    Estimated total run time: #{Format.duration(seconds)}
    """)

    unless left_out == [] do
      IO.puts("Left out by this fallback for machines without Hex: #{Enum.join(left_out, ", ")}\n")
    end
  end
end
