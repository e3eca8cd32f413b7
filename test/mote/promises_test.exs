defmodule Mote.PromisesTest do
  # The tables of promises in the guides name tests that there are.
  use ExUnit.Case, async: true

  for guide <- ["nodes.md", "design.md"] do
    test "each promise in the table of #{guide} has its test" do
      rows = Regex.scan(~r/^\| .+ \| `(.+)`: "(.+)" \|$/m, File.read!(Path.join("guides", unquote(guide))))
      assert length(rows) > 20

      for [row, file, name] <- rows do
        source = File.read!(Path.join("test/mote", file))
        assert source =~ ~s(test "#{name}") or source =~ ~s(property "#{name}"), row
      end
    end
  end
end
