defmodule Mote.FarPackingTest do
  # Entries in a parcel: what is unpacked is what was packed.
  use ExUnit.Case, async: true
  use ExUnitProperties

  alias Mote.Far.Packing

  # Few addresses and sponsors, so that many are the same.
  defp entry do
    gen all(
          kind <- member_of([:send, :send, :send, :many, :ask, :lend, :reply, :let_go]),
          machine <- member_of([:m, :n]),
          key <- member_of(["a", "b", "c"]),
          sponsor <- member_of([nil, nil, :main]),
          what <- integer(1..9)
        ) do
      case kind do
        :send -> {:send, machine, key, sponsor, what}
        :many -> {:many, machine, key, sponsor, [what, what + 1]}
        :ask -> {:ask, machine, key, sponsor, what, :tag}
        :lend -> {:lend, machine, key, what}
        other -> {other, :tag, what}
      end
    end
  end

  # Messages one by one.
  defp single({:many, machine, key, sponsor, messages}),
    do: for(message <- messages, do: {:send, machine, key, sponsor, message})

  defp single(entry), do: [entry]

  property "what is unpacked is what was packed, in its order" do
    check all(entries <- list_of(entry(), max_length: 40)) do
      {targets, packed} = Packing.pack(entries)
      unpacked = Packing.unpack({targets, packed})
      assert Enum.flat_map(unpacked, &single/1) == Enum.flat_map(entries, &single/1)
      # Each address once.
      targets = Tuple.to_list(targets)
      assert targets == Enum.uniq(targets)
      assert length(packed) <= length(entries)
    end
  end

  test "consecutive messages for one actor are one entry" do
    entries = for {key, n} <- [{"a", 1}, {"a", 2}, {"b", 3}, {"a", 4}], do: {:send, :m, key, nil, n}
    assert {{{:m, "a"}, {:m, "b"}}, packed} = Packing.pack(entries)
    assert packed == [{:many, 0, nil, [1, 2]}, {:send, 1, nil, 3}, {:send, 0, nil, 4}]
  end

  test "what is not packed is told of" do
    strange = [
      {{}, [{:send, 0, nil, 1}]},
      {{:m}, [{:lend, 0, 1}]},
      {{{:m, "a"}}, [{:send, nil, nil, 1}]},
      {nil, [{:many, 0, nil, []}]},
      :nothing
    ]

    for packed <- strange do
      %error{} = Exception.normalize(:error, catch_error(Packing.unpack(packed)))
      assert error in [ArgumentError, FunctionClauseError]
    end
  end
end
