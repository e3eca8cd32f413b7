defmodule Mote.FarEntryTest do
  use ExUnit.Case, async: true

  alias Mote.Far.Entry

  test "an entry counts with what its term takes, in memory as well as written out" do
    assert Entry.bytes(Enum.to_list(1..200)) > 16 * 200
    assert Entry.bytes(String.duplicate("x", 70_000)) > 70_000
    assert Entry.bytes({:ok, 1}) < 300
  end

  test "messages that leave together are counted one by one" do
    assert Entry.messages([{:many, 1, 2, nil, [:a, :b]}, {:send, 1, 2, nil, :c}, {:reply, 1, :d}]) == 4
  end
end
