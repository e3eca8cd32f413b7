defmodule ExUnitProperties.Runner do
  @moduledoc false
  # What `check all` does at run time: options and their defaults, and the words of a failure.

  @defaults [
    initial_seed: nil,
    initial_size: 1,
    max_runs: 100,
    max_run_time: :infinity,
    max_shrinking_steps: 100,
    max_generation_size: :infinity
  ]

  # data generates {[{clause, value}] in reverse, body}.
  @spec run(StreamData.t({[{String.t(), term}], fun}), keyword) :: :ok
  def run(data, options) do
    {max_size, options} = options |> complete() |> Keyword.pop!(:max_generation_size)

    case StreamData.check_all(StreamData.scale(data, &min(&1, max_size)), options, &call/1) do
      {:ok, _result} -> :ok
      {:error, %{shrunk_failure: failure, successful_runs: runs}} -> fail(failure, runs)
    end
  end

  defp complete(options) do
    set =
      for {key, _default} <- @defaults,
          {:ok, value} <- [Application.fetch_env(:stream_data, key)],
          do: {key, value}

    @defaults
    |> Keyword.merge(set)
    |> Keyword.merge(checked(options))
    |> Keyword.update!(:initial_seed, &seed/1)
  end

  defp checked(options) do
    case Keyword.keys(options) -- Keyword.keys(@defaults) do
      [] -> options
      unknown -> raise ArgumentError, "unknown options of check all: #{inspect(unknown)}"
    end
  end

  defp seed(nil), do: {0, 0, ExUnit.configuration()[:seed] || 0}
  defp seed(integer) when is_integer(integer), do: {0, 0, integer}
  defp seed({_, _, _} = seed), do: seed

  defp call({generated, body}) do
    body.()
    {:ok, nil}
  rescue
    exception ->
      {:error, %{exception: exception, stacktrace: __STACKTRACE__, generated: Enum.reverse(generated)}}
  end

  defp fail(%{exception: exception, stacktrace: stacktrace, generated: generated}, runs) do
    values =
      Enum.map_join(generated, "\n\n", fn {clause, value} ->
        indent("* Clause:    #{clause}\nGenerated: #{inspect(value, pretty: true, limit: :infinity)}")
      end)

    header =
      "Failed with generated values (after #{runs} successful run#{if runs == 1, do: "", else: "s"}):\n\n" <>
        values

    case exception do
      %ExUnit.AssertionError{message: message} when is_binary(message) ->
        reraise %{exception | message: header <> "\n\n" <> message}, stacktrace

      %ExUnit.AssertionError{} ->
        reraise %{exception | message: header}, stacktrace

      other ->
        banner = Exception.format_banner(:error, other, stacktrace)

        reraise ExUnitProperties.Error,
                [message: header <> "\n\ngot exception:\n\n    " <> banner],
                stacktrace
    end
  end

  # The first line starts the item; what follows stands below its text.
  defp indent(text), do: "    " <> String.replace(text, "\n", "\n      ")
end
