defmodule SecureSocket.BufferTest do
  # The buffer without a socket: the test has the pieces, in its mailbox.
  use ExUnit.Case, async: true
  use ExUnitProperties

  alias SecureSocket.Buffer

  @idle 1_000

  # As the socket does it: one piece whenever more is wanted, each after the whole time at most.
  @line {&__MODULE__.recv/1, @idle}

  def recv(@idle) do
    receive do
      {:come, what} -> what
    after
      0 -> flunk("more is wanted than has come")
    end
  end

  defp come(pieces), do: for(piece <- pieces, do: send(self(), {:come, {:ok, piece}}))
  defp ends(why), do: send(self(), {:come, {:error, why}})

  # What was not asked for.
  defp left do
    receive do
      {:come, {:ok, piece}} -> [piece | left()]
    after
      0 -> []
    end
  end

  test "gives exactly as many bytes as were asked for" do
    come(["a", "b", "cdefgh"])
    assert {:ok, "abc", rest} = Buffer.take(@line, "", 3)
    assert {:ok, "", rest} = Buffer.take(@line, rest, 0)
    assert {:ok, "defg", rest} = Buffer.take(@line, rest, 4)
    come(["", "ij", "k"])
    assert {:ok, "hij", ""} = Buffer.take(@line, rest, 3)
    assert left() == ["k"]
  end

  property "no byte is lost, doubled or out of place, however bytes come and are asked for" do
    check all pieces <- list_of(binary(max_length: 40), max_length: 40),
              takes <- list_of(integer(0..60), max_length: 40) do
      all = IO.iodata_to_binary(pieces)
      come(pieces)

      {taken, rest} =
        Enum.reduce(takes, {"", ""}, fn
          n, {taken, rest} when byte_size(taken) + n <= byte_size(all) ->
            assert {:ok, bytes, rest} = Buffer.take(@line, rest, n)
            assert byte_size(bytes) == n
            {taken <> bytes, rest}

          _, acc ->
            acc
        end)

      assert IO.iodata_to_binary([taken, rest | left()]) == all
    end
  end

  test "a request of many small pieces" do
    pieces = for n <- 1..2_001, do: <<n::32>>
    all = IO.iodata_to_binary(pieces)
    come(pieces)

    assert Buffer.take(@line, "", byte_size(all) - 2) ==
             {:ok, binary_part(all, 0, byte_size(all) - 2), <<2_001::16>>}
  end

  test "wants more only when bytes are missing" do
    come(["abc", "d"])
    assert {:ok, "ab", rest} = Buffer.take(@line, "", 2)
    assert {:ok, "c", ""} = Buffer.take(@line, rest, 1)
    assert left() == ["d"]
  end

  test "says how much came of a request when the stream ends, and gives before what has come" do
    come(["abcd"])
    assert {:ok, "a", rest} = Buffer.take(@line, "", 1)
    ends(:closed)
    assert {:ok, "bc", rest} = Buffer.take(@line, rest, 2)
    assert Buffer.take(@line, rest, 2) == {:failed, 1, :closed}
  end

  test "says how much came when no more does, and why" do
    for {what, why} <- [
          closed: :closed,
          timeout: {:silent, @idle},
          einval: :closed,
          etimedout: {:tcp, :etimedout}
        ] do
      come(["ab", "c"])
      ends(what)
      assert Buffer.take(@line, "", 5) == {:failed, 3, why}
    end
  end
end
