defmodule Benchee.Formatter do
  @moduledoc """
  Behaviour of what turns a suite into output: `format/2` makes it, `write/2` puts it somewhere.
  """

  alias Benchee.Suite

  @callback format(Suite.t(), options :: term) :: term
  @callback write(formatted :: term, options :: term) :: :ok | {:error, String.t()}

  @doc """
  Runs the formatters of the suite, which are modules, `{module, options}` or functions, and returns the suite.
  """
  @spec output(Suite.t()) :: Suite.t()
  def output(%Suite{configuration: %{formatters: formatters}} = suite) do
    Enum.each(formatters, fn
      formatter when is_function(formatter, 1) -> formatter.(suite)
      {module, options} -> suite |> module.format(Map.new(options)) |> module.write(Map.new(options))
      module -> suite |> module.format(%{}) |> module.write(%{})
    end)

    suite
  end
end
