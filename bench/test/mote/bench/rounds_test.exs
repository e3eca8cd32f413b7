defmodule Mote.Bench.RoundsTest do
  use ExUnit.Case, async: true

  alias Mote.Bench.Rounds

  doctest Rounds

  test "ways take turns, round after round, after each was taken once" do
    way = fn name -> fn -> send(self(), name) end end
    assert [[_, _, _], [_, _, _]] = Rounds.times([way.(:one), way.(:other)], 3)
    assert Process.info(self(), :messages) == {:messages, List.flatten(List.duplicate([:one, :other], 4))}
  end

  test "numbers of a command line come before the defaults" do
    assert Rounds.numbers([], [1, 2]) == [1, 2]
    assert Rounds.numbers(["1_000"], [1, 2]) == [1_000, 2]
  end
end
