defmodule Benchee do
  @moduledoc """
  Runs functions for a while, each on every input, and says how fast they are and how they compare.

      Benchee.run(
        %{"reverse" => &Enum.reverse/1, "sort" => &Enum.sort/1},
        inputs: %{"ten" => Enum.shuffle(1..10), "thousand" => Enum.shuffle(1..1000)},
        time: 1
      )

  A fallback for building without Hex, with the names and results of the real package. It measures run times
  only: memory, reductions, profiles and saved runs are left out, and a line of the output says so when asked for.
  """

  alias Benchee.{Configuration, Formatter, Runner, Scenario, Statistics, Suite, System}

  @type job :: function | {function, keyword}
  @type jobs :: %{optional(String.t() | atom) => job} | [{String.t() | atom, job}]

  @doc """
  Runs the jobs, prints what the formatters make of the results, and returns them.

  A job is a function, of one argument if there are inputs or hooks that return one, or `{function, hooks}`. Times
  among the options are in seconds, all results in nanoseconds.

    * `:time` (5), `:warmup` (2) - how long to measure each job on each input, and how long to run it before.
    * `:inputs` - a map or list of `{name, input}`; `:parallel` (1) - how many processes run the job at once.
    * `:before_scenario`, `:after_scenario`, `:before_each`, `:after_each` - functions of one argument, for all
      jobs or for one. What a "before" returns is the next one's input; an "after_each" gets the job's result.
    * `:pre_check` - run every job once first; `:all_same` compares the results.
    * `:measure_function_call_overhead` - subtract the time of an empty function.
    * `:formatters`, `:print`, `:title`, `:percentiles` ([50, 99]), `:max_sample_size` (1_000_000).
  """
  @spec run(jobs, keyword) :: Suite.t()
  def run(jobs, options \\ []) when is_list(options) do
    {configuration, left_out} = Configuration.new(options)

    suite = %Suite{
      configuration: configuration,
      system: System.gather(),
      scenarios: scenarios(jobs, configuration)
    }

    if configuration.print[:configuration], do: Configuration.print(suite, left_out)

    suite
    |> Runner.run()
    |> Statistics.add()
    |> Formatter.output()
  end

  defp scenarios(jobs, configuration) do
    inputs = configuration.inputs || [{Scenario.no_input_name(), Scenario.no_input()}]

    for {input_name, input} <- inputs, {job_name, job} <- jobs do
      {function, hooks} = if is_tuple(job), do: job, else: {job, []}
      Scenario.new(to_string(job_name), function, hooks, to_string(input_name), input)
    end
  end
end
