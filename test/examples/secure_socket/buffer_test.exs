defmodule SecureSocket.BufferTest do
  # The buffer manager without a socket: the test is the driver and the one who asks.
  use ExUnit.Case, async: true
  use ExUnitProperties

  alias SecureSocket.Buffer

  @idle 1_000

  setup do
    machine = start_supervised!({Mote, clock: :manual})
    %{machine: machine, buffer: Mote.create(machine, Buffer.buffer({self(), @idle}, "", 0))}
  end

  defp take(buffer, n), do: Mote.send(buffer, {self(), {:take, n}})

  # As the driver does it: one piece whenever it is asked for more. Gives what was not asked for.
  defp feed(buffer, pieces) do
    receive do
      {^buffer, :more} ->
        [piece | pieces] = pieces
        Mote.send(buffer, {:data, piece})
        feed(buffer, pieces)

      {:bytes, bytes} ->
        {bytes, pieces}
    after
      2_000 -> flunk("the buffer neither asks for more nor answers; pieces left: #{inspect(pieces)}")
    end
  end

  test "gives exactly as many bytes as were asked for", %{buffer: buffer} do
    take(buffer, 3)
    assert feed(buffer, ["a", "b", "cdefgh"]) == {"abc", []}
    take(buffer, 0)
    assert feed(buffer, []) == {"", []}
    take(buffer, 4)
    assert feed(buffer, []) == {"defg", []}
    take(buffer, 3)
    assert feed(buffer, ["", "ij", "k"]) == {"hij", ["k"]}
  end

  property "no byte is lost, doubled or out of place, however bytes come and are asked for", %{
    machine: machine
  } do
    check all pieces <- list_of(binary(max_length: 40), max_length: 40),
              takes <- list_of(integer(0..60), max_length: 40) do
      buffer = Mote.create(machine, Buffer.buffer({self(), @idle}, "", 0))
      all = IO.iodata_to_binary(pieces)

      {taken, _, _} =
        Enum.reduce(takes, {"", pieces, byte_size(all)}, fn
          n, {taken, pieces, left} when n <= left ->
            take(buffer, n)
            {bytes, pieces} = feed(buffer, pieces)
            assert byte_size(bytes) == n
            {taken <> bytes, pieces, left - n}

          _, acc ->
            acc
        end)

      assert taken == binary_part(all, 0, byte_size(taken))
    end
  end

  test "a request of many small pieces", %{buffer: buffer} do
    pieces = for n <- 1..2_001, do: <<n::32>>
    all = IO.iodata_to_binary(pieces)
    take(buffer, byte_size(all) - 2)
    assert feed(buffer, pieces) == {binary_part(all, 0, byte_size(all) - 2), []}
  end

  test "asks for more once, and only when bytes are missing", %{machine: machine, buffer: buffer} do
    take(buffer, 2)
    assert_receive {^buffer, :more}
    Mote.send(buffer, {:data, "abc"})
    assert_receive {:bytes, "ab"}
    take(buffer, 1)
    assert_receive {:bytes, "c"}
    assert Mote.drain(machine) == :ok
    refute_received {_, :more}
  end

  test "says how much came of a request when the stream ends", %{buffer: buffer} do
    take(buffer, 5)
    assert_receive {^buffer, :more}
    Mote.send(buffer, {:data, "abc"})
    assert_receive {^buffer, :more}
    Mote.send(buffer, {:ended, :closed})
    assert_receive {:failed, 3, :closed}
  end

  test "gives what has come also when the stream has ended meanwhile", %{buffer: buffer} do
    take(buffer, 1)
    assert_receive {^buffer, :more}
    Mote.send(buffer, {:data, "abcd"})
    Mote.send(buffer, {:ended, :closed})
    take(buffer, 2)
    take(buffer, 2)
    for bytes <- ["a", "bc"], do: assert_receive({:bytes, ^bytes})
    assert_receive {:failed, 1, :closed}
    refute_received {_, :more}
  end

  test "a silent peer fails the request after the whole time, and only then", %{
    machine: machine,
    buffer: buffer
  } do
    take(buffer, 5)
    assert_receive {^buffer, :more}
    Mote.advance(machine, @idle - 1)
    refute_received {:failed, _, _}
    # Every piece gives it the whole time again.
    Mote.send(buffer, {:data, "ab"})
    assert_receive {^buffer, :more}
    Mote.advance(machine, @idle - 1)
    refute_received {:failed, _, _}
    Mote.advance(machine, 1)
    assert_receive {:failed, 2, {:silent, @idle}}
  end

  test "nobody is silent from whom nothing is wanted", %{machine: machine, buffer: buffer} do
    take(buffer, 2)
    assert_receive {^buffer, :more}
    Mote.send(buffer, {:data, "abc"})
    assert_receive {:bytes, "ab"}
    # The watchdog is cancelled, and not only ignored when it comes.
    assert Mote.drain(machine) == :ok
    assert Mote.info(machine).counters.timers == 0
    Mote.advance(machine, 10 * @idle)
    take(buffer, 1)
    assert_receive {:bytes, "c"}
  end

  test "a watchdog that was cancelled too late means nothing", %{buffer: buffer} do
    take(buffer, 5)
    assert_receive {^buffer, :more}
    Mote.send(buffer, {:data, "ab"})
    Mote.send(buffer, {:silent, 0})
    Mote.send(buffer, {:data, "cde"})
    assert_receive {:bytes, "abcde"}
    refute_received {:failed, _, _}
  end
end
