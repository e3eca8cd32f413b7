defmodule Mote.GuidesTest do
  # Every piece of Elixir in these pages is run, in order, in one process, as if pasted into IEx: see `Mote.Guide`. The one
  # guide that builds a project has a test of its own, `ten_minutes_test.exs`.
  use ExUnit.Case, async: true

  # Some pieces show what fails.
  @moduletag :capture_log

  @notebooks ~w(guides/tour.livemd guides/fork-bomb.livemd guides/outbreak.livemd)
  @pages @notebooks ++
           ~w(README.md guides/thinking.md guides/from-genserver.md guides/cheatsheet.cheatmd) ++
           ~w(guides/recipes.md guides/machines.md guides/language.md guides/testing.md guides/gatekeepers.md guides/dashboard.md) ++
           ~w(guides/proving.md guides/images.md guides/image-details.md guides/durable.md guides/replay.md) ++
           ~w(guides/sockets.md guides/pieces.md guides/language-details.md)

  # Many actors, with a collection after each turn.
  @too_many ~w(README.md guides/fork-bomb.livemd guides/outbreak.livemd)

  for page <- @pages do
    if page in @too_many, do: @tag(not_under_stress: "it takes too long")

    test "the pieces of #{page} give what it says" do
      assert Mote.Guide.run(unquote(page)) > 0
    end
  end

  # In a notebook nobody says `mix deps.get`.
  for notebook <- @notebooks do
    test "the setup cell of #{notebook} asks for this version, and for what it uses" do
      config = Mix.Project.config()
      dependencies = Mote.Guide.dependencies(unquote(notebook))
      assert Version.match?(config[:version], dependencies[:mote])
      if File.read!(unquote(notebook)) =~ "Kino.", do: assert(dependencies[:kino])
    end
  end

  test "all notebooks are run" do
    assert Enum.sort(Path.wildcard("{guides,examples,bench}/**/*.livemd")) == Enum.sort(@notebooks)
  end
end
