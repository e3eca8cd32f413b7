defmodule StreamData.Check do
  @moduledoc """
  Runs a function on generated values, and finds a simple one that it fails for. Behind `StreamData.check_all/3`.
  """

  alias StreamData.Random

  @doc """
  Calls `fun` with values of `data`, each of a size one larger than the one before, until it returns
  `{:error, reason}` instead of `{:ok, term}`; then it follows the first simpler value that fails as well, and so on.

  Options: `:initial_seed` (three integers or one), `:initial_size` (1), `:max_runs` (100), `:max_run_time` (in
  milliseconds, `:infinity`), `:max_shrinking_steps` (100). One of `:max_runs` and `:max_run_time` must be finite.
  """
  @spec check_all(StreamData.t(a), keyword, (a -> {:ok, term} | {:error, reason})) ::
          {:ok, map}
          | {:error,
             %{
               original_failure: reason,
               shrunk_failure: reason,
               nodes_visited: non_neg_integer,
               successful_runs: non_neg_integer
             }}
        when a: var, reason: var
  def check_all(data, options, fun) when is_list(options) and is_function(fun, 1) do
    limits = %{
      max_runs: Keyword.get(options, :max_runs, 100),
      max_run_time: Keyword.get(options, :max_run_time, :infinity),
      max_shrinking_steps: Keyword.get(options, :max_shrinking_steps, 100)
    }

    if limits.max_runs == :infinity and limits.max_run_time == :infinity do
      raise ArgumentError, "one of :max_runs and :max_run_time must be an integer"
    end

    started = System.monotonic_time(:millisecond)
    size = Keyword.get(options, :initial_size, 1)
    seed = options |> Keyword.fetch!(:initial_seed) |> Random.seed()
    run(data, fun, limits, started, %{seed: seed, size: size, runs: 0})
  end

  defp run(data, fun, limits, started, state) do
    if over?(limits, started, state.runs) do
      {:ok, %{}}
    else
      {now, later} = Random.split(state.seed)
      tree = StreamData.__call__(data, now, state.size)

      case fun.(tree.root) do
        {:ok, _term} ->
          run(data, fun, limits, started, %{seed: later, size: state.size + 1, runs: state.runs + 1})

        {:error, reason} ->
          {shrunk, visited} = shrink(tree, reason, fun, limits.max_shrinking_steps, 0)

          {:error,
           %{
             original_failure: reason,
             shrunk_failure: shrunk,
             nodes_visited: visited,
             successful_runs: state.runs
           }}
      end
    end
  end

  # Not compared with :infinity, which is greater than any integer anyway.
  defp over?(limits, started, runs) do
    runs >= limits.max_runs or System.monotonic_time(:millisecond) - started >= limits.max_run_time
  end

  defp shrink(_tree, reason, _fun, 0, visited), do: {reason, visited}

  defp shrink(tree, reason, fun, steps, visited) do
    tree.children
    |> Enum.reduce_while(visited, fn child, visited ->
      case fun.(child.root) do
        {:ok, _term} -> {:cont, visited + 1}
        {:error, reason} -> {:halt, {child, reason, visited + 1}}
      end
    end)
    |> case do
      {child, reason, visited} -> shrink(child, reason, fun, steps - 1, visited)
      visited -> {reason, visited}
    end
  end
end
