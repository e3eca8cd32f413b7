defmodule Mote.FarEntryTest do
  use ExUnit.Case, async: true

  alias Mote.Far.Entry

  test "an entry counts with what its term takes, in memory as well as written out" do
    assert Entry.bytes(Enum.to_list(1..200)) > 16 * 200
    assert Entry.bytes(String.duplicate("x", 70_000)) > 70_000
    assert Entry.bytes({:ok, 1}) < 300
  end

  # However long it takes to look through.
  test "an entry counts as much where its term is long" do
    term = fn n -> for i <- 1..n, do: {i, %{at: [i]}, "text"} end
    each = 8 * (2 + 4 + 8 + 2 + 6)

    for n <- [2_000, 20_000] do
      written = :erlang.external_size(term.(n))
      assert_in_delta Entry.bytes(term.(n)) - written, each * n, 64 * n
    end
  end

  test "messages that leave together are counted one by one" do
    assert Entry.messages([{:many, 1, 2, nil, [:a, :b]}, {:send, 1, 2, nil, :c}, {:reply, 1, :d}]) == 4
  end
end
