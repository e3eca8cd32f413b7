defmodule Mote.Measure.SpecsTest do
  use ExUnit.Case, async: true

  # What is documented says what it takes and gives, also where it is written in the language of behaviours.
  for module <- [Mote.Measure.Statistics, Mote.Measure.Histogram, Mote.Measure.Prep, Mote.Measure.Median] do
    test "of #{inspect(module)}" do
      {:docs_v1, _, _, _, _, _, docs} = Code.fetch_docs(unquote(module))
      {:ok, specs} = Code.Typespec.fetch_specs(unquote(module))
      documented = for {{:function, name, arity}, _, _, %{}, _} <- docs, do: {name, arity}
      assert documented != []
      assert documented -- Enum.map(specs, &elem(&1, 0)) == []
    end
  end
end
