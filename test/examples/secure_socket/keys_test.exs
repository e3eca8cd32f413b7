defmodule SecureSocket.KeysTest do
  use ExUnit.Case, async: true
  use ExUnitProperties

  alias SecureSocket.{Keys, Reason}

  doctest Reason

  @secret "sixteen bytes at least"

  defp sessions(secret \\ @secret) do
    {one, other} = {Keys.hello(), Keys.hello()}
    {Keys.session(secret, :client, one, other), Keys.session(secret, :server, other, one)}
  end

  defp open(open, n, <<size::32, data::binary-size(size), hmac::binary-size(32)>>), do: open.(n, data, hmac)

  property "what one side seals the other opens" do
    {{seal, _}, {_, open}} = sessions()

    check all data <- binary(), n <- integer(0..0xFFFFFFFFFFFFFFFF) do
      assert <<size::32, _::binary>> = packet = seal.(n, data)
      assert size == byte_size(data) and byte_size(packet) == 4 + size + 32
      assert open(open, n, packet) == {:opened, data}
    end
  end

  test "each number and each direction has a stream of its own" do
    {{seal, _}, {back, _}} = sessions()
    zeros = <<0::size(64)-unit(8)>>
    packets = for n <- 0..3, seal <- [seal, back], do: binary_part(seal.(n, zeros), 4, 64)
    assert packets == Enum.uniq(packets)
  end

  property "whatever is changed is found out" do
    {{seal, _}, {_, open}} = sessions()

    check all data <- binary(min_length: 1), bit <- positive_integer() do
      <<size::32, sealed::bitstring>> = seal.(7, data)
      at = rem(bit, bit_size(sealed))
      <<before::bitstring-size(at), one::1, rest::bitstring>> = sealed
      changed = <<size::32, before::bitstring, 1 - one::1, rest::bitstring>>
      assert open(open, 7, changed) == :forged
    end
  end

  test "another number, size, direction, connection or secret is found out" do
    {{seal, mine}, {_, open}} = sessions()
    {_, {_, other}} = sessions()
    <<3::32, data::binary-size(3), hmac::binary>> = packet = seal.(5, "abc")
    assert open(open, 5, packet) == {:opened, "abc"}

    for forged <- [
          open(open, 4, packet),
          open(mine, 5, packet),
          open(other, 5, packet),
          open.(5, binary_part(data, 0, 2), hmac),
          open.(5, data, :binary.copy(<<0>>, 32))
        ],
        do: assert(forged == :forged)

    {one, two} = {Keys.hello(), Keys.hello()}
    {seal, _} = Keys.session(@secret, :client, one, two)
    {_, open} = Keys.session(@secret <> "!", :server, two, one)
    assert open(open, 0, seal.(0, "abc")) == :forged
  end

  test "keys are those of HKDF-SHA256, checked against RFC 5869" do
    # Test case 3 of the RFC: no salt, no info; the first block of what comes out.
    secret = :binary.copy(<<0x0B>>, 22)
    from = :crypto.mac(:hmac, :sha256, "", secret)
    assert Base.encode16(from, case: :lower) =~ ~r/^19ef24a32c717b16/
    assert Base.encode16(:crypto.mac(:hmac, :sha256, from, <<1>>), case: :lower) =~ ~r/^8da4e775a563c18f/
  end

  test "a reason of each kind is a sentence" do
    reasons = [
      :closed,
      :closed_here,
      {:cut_off, :hmac, 0, 32},
      {:too_long, 9, 8},
      {:forged, 3},
      {:silent, 20},
      {:stuck, 20},
      {:tcp, :etimedout},
      {:gone, :crypto, :killed},
      {:unknown, :what}
    ]

    sentences = Enum.map(reasons, &Reason.describe/1)
    assert sentences == Enum.uniq(sentences)
    assert Reason.describe({:forged, 3}) == "packet 3 is not what the peer sent: its HMAC does not fit"
    assert Reason.describe({:tcp, :etimedout}) == "TCP failed: connection timed out"
  end
end
