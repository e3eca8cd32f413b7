defmodule Benchee.Suite do
  @moduledoc """
  One run: what was asked for, where it ran, and its scenarios with their results.
  """

  defstruct [:configuration, :system, scenarios: []]

  @type t :: %__MODULE__{
          configuration: Benchee.Configuration.t(),
          system: map,
          scenarios: [Benchee.Scenario.t()]
        }
end

defmodule Benchee.CollectionData do
  @moduledoc """
  The samples of one kind of measurement, and their statistics.
  """

  alias Benchee.Statistics

  defstruct statistics: %Statistics{}, samples: []

  @type t :: %__MODULE__{statistics: Statistics.t(), samples: [number]}
end

defmodule Benchee.Scenario do
  @moduledoc """
  One job on one input, later with its results.
  """

  alias Benchee.CollectionData

  @hooks [:before_scenario, :after_scenario, :before_each, :after_each]

  defstruct [
    :name,
    :job_name,
    :function,
    :input_name,
    :input,
    :tag,
    :before_scenario,
    :after_scenario,
    :before_each,
    :after_each,
    run_time_data: %CollectionData{},
    memory_usage_data: %CollectionData{},
    reductions_data: %CollectionData{}
  ]

  @type t :: %__MODULE__{}

  @doc "The name of the input of scenarios without one."
  @spec no_input_name() :: String.t()
  def no_input_name, do: "__no_input"

  @doc "The input of scenarios without one: their functions have no argument."
  @spec no_input() :: atom
  def no_input, do: :__no_input

  @doc false
  def new(job_name, function, hooks, input_name, input) do
    case Keyword.keys(hooks) -- @hooks do
      [] -> :ok
      unknown -> raise ArgumentError, "unknown hooks of job #{inspect(job_name)}: #{inspect(unknown)}"
    end

    fields = [name: job_name, job_name: job_name, function: function, input_name: input_name, input: input]
    struct!(__MODULE__, fields ++ hooks)
  end
end
