defmodule Mote.GuidesTest do
  # Every piece of Elixir in these pages is run, in order, in one process, as if pasted into IEx: see `Mote.Guide`. The one
  # guide that builds a project has a test of its own, `ten_minutes_test.exs`.
  use ExUnit.Case, async: true

  # Some pieces show what fails.
  @moduletag :capture_log

  @pages ~w(README.md guides/tour.livemd guides/thinking.md guides/from-genserver.md guides/cheatsheet.cheatmd) ++
           ~w(guides/machines.md guides/language.md guides/testing.md guides/gatekeepers.md guides/dashboard.md)

  # Two million actors, with a collection after each turn.
  @too_many ~w(README.md)

  for page <- @pages do
    if page in @too_many, do: @tag(not_under_stress: "it takes too long")

    test "the pieces of #{page} give what it says" do
      assert Mote.Guide.run(unquote(page)) > 0
    end
  end
end
