defmodule Mote.Behaviour.FrozenTest do
  # The machine's code does not change by accident: the unit of every behaviour module in the repository is the one that was
  # written down, bit by bit, unless its source has changed as well. After a change of the language on purpose:
  #
  #     MOTE_FREEZE=1 mix test test/mote/behaviour/frozen_test.exs
  use ExUnit.Case, async: true

  alias Mote.Frozen

  # Made of Elixir's own tables and definitions, or with `:queue` and `:gb_trees` of Erlang, or with arguments whose order another
  # release changes.
  @of_elixir for(
               name <-
                 [
                   Access,
                   Base,
                   Base32,
                   Casing,
                   Characters,
                   Differences,
                   Enum,
                   Float,
                   Inspected,
                   Integer,
                   Kernel,
                   Keyword,
                   List,
                   Map,
                   MapSet,
                   Range,
                   Regex,
                   String,
                   Tuple
                 ],
               do: inspect(Module.concat(Mote.Prelude, name))
             ) ++
               for(
                 name <- ~w[Barber BoundedBuffer FilterBank OrderBook Philosophers],
                 do: "Frozen.#{name}.Actors"
               )
  @same_elixir? Version.match?(System.version(), "~> 1.14.0")

  @tag timeout: :infinity
  test "units are as they were written down" do
    if System.get_env("MOTE_FREEZE"), do: Frozen.write()
    written = Frozen.written()
    units = for [module, source, unit] <- Frozen.units(), do: {module, source, unit}

    changed =
      for {module, source, unit} <- units, {^source, frozen} <- [written[module]], unit != frozen, do: module

    assert if(@same_elixir?, do: changed, else: changed -- @of_elixir) == []

    # Fewer would be chance.
    held = Enum.count(units, fn {module, source, _} -> match?({^source, _}, written[module]) end)
    assert held > div(map_size(written), 2)
  end
end
