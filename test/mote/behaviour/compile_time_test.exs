defmodule Mote.Behaviour.CompileTimeTest do
  # What the compiler does grows with the code that it is given, and not faster: counted in reductions, which no other work on
  # the host changes.
  use ExUnit.Case, async: true

  import Mote.Compile, only: [module: 1]

  @steps [
    "Enum.sort(&(&1 > &2))",
    "Enum.sort_by(&(-&1))",
    "Enum.sort_by(& &1, :desc)",
    "Enum.group_by(&(-&1))",
    "Enum.into(%{}, &{&1, &1})",
    "Keyword.update(:a, 1, & &1)",
    "Enum.uniq_by(&(-&1))",
    "Enum.dedup_by(& &1)",
    "Enum.chunk_by(& &1)",
    "Enum.reject(&(&1 > 1))",
    "Enum.flat_map(&[&1])",
    "Enum.scan(&(&1 + &2))",
    "Enum.min_by(& &1)",
    "update_in([:a], & &1)",
    "Map.filter(fn {_, v} -> v > 1 end)",
    "Enum.map(&(&1 + 1))",
    "Enum.to_list()",
    "then(& &1)"
  ]

  defp reductions(step, n) do
    compiling =
      Task.async(fn ->
        module("defpure f(x), do: x" <> String.duplicate(" |> #{step}", n))
        {:reductions, reductions} = Process.info(self(), :reductions)
        reductions
      end)

    Task.await(compiling, :infinity)
  end

  test "twice as many steps of a pipeline are at most three times the work" do
    for step <- @steps do
      # What the first one loads is not counted.
      reductions(step, 1)
      {short, long} = {reductions(step, 6), reductions(step, 12)}
      assert long <= 3 * short, "#{step}: 6 steps take #{short} reductions, 12 take #{long}"
    end
  end
end
