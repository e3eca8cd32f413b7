defmodule Mote.PromisesTest do
  # The tables of promises name tests that exist.
  use ExUnit.Case, async: true

  @page "guides/internals/promises.md"

  for part <- ["Promises of a machine", "Promises about other nodes"] do
    test "each promise under #{part} has its test" do
      [_, table] = String.split(File.read!(@page), "## #{unquote(part)}\n")
      [table | _] = String.split(table, "\n## ")
      rows = Regex.scan(~r/^\| .+ \| `(.+)`: "(.+)" \|$/m, table)
      assert length(rows) > 20

      for [row, file, name] <- rows do
        source = File.read!(Path.join("test/mote", file))
        assert source =~ ~s(test "#{name}") or source =~ ~s(property "#{name}"), row
      end
    end
  end
end
