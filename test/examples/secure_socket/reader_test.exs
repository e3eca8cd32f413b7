defmodule SecureSocket.ReaderTest do
  # Reader and buffer without a socket: the test is the driver, and feeds a stream that was cut as it likes.
  use ExUnit.Case, async: true
  use ExUnitProperties

  alias SecureSocket.{Buffer, Crypto, Gate, Keys, Reader}

  @secret "sixteen bytes at least"
  @idle 1_000
  @longest 100

  setup_all do
    {mine, theirs} = {Keys.hello(), Keys.hello()}
    {_, open} = Keys.session(@secret, :server, mine, theirs)
    {seal, _} = Keys.session(@secret, :client, theirs, mine)
    %{seal: seal, open: open, crypto: start_supervised!(Crypto)}
  end

  setup context do
    machine = start_supervised!({Mote, clock: :manual})
    Map.merge(%{machine: machine}, reader(machine, context))
  end

  defp reader(machine, %{crypto: crypto, open: open}, driver \\ self()) do
    buffer = Mote.create(machine, Buffer.buffer({driver, @idle}, "", 0))
    reader = Mote.create(machine, Reader.reader({buffer, crypto, open, driver, @longest}, 0))
    %{buffer: buffer, reader: reader, reads: Mote.create(machine, Gate.gate(reader))}
  end

  # Reads until the first error, which the driver must hear of too, while pieces are fed whenever the buffer asks for more, and `last` when there are none.
  # Gives the data of the packets and the error.
  defp read_all(%{reads: reads, buffer: buffer}, pieces, last \\ {:ended, :closed}) do
    Mote.send(reads, {self(), :read})
    read_all(reads, buffer, pieces, last, [])
  end

  defp read_all(reads, buffer, pieces, last, packets) do
    receive do
      {^buffer, :more} when pieces == [] ->
        if last, do: Mote.send(buffer, last)
        read_all(reads, buffer, [], last, packets)

      {^buffer, :more} ->
        Mote.send(buffer, {:data, hd(pieces)})
        read_all(reads, buffer, tl(pieces), last, packets)

      {:ok, data} ->
        Mote.send(reads, {self(), :read})
        read_all(reads, buffer, pieces, last, [data | packets])

      {:error, why} ->
        assert_receive {:fail, ^why}
        {Enum.reverse(packets), why}
    after
      2_000 -> flunk("no answer after #{length(packets)} packets")
    end
  end

  defp stream(seal, packets),
    do: packets |> Enum.with_index() |> Enum.map_join(fn {data, n} -> seal.(n, data) end)

  defp cut(stream, at) do
    at = min(at, byte_size(stream))
    <<piece::binary-size(at), rest::binary>> = stream
    {piece, rest}
  end

  # Is broken: says so to everybody, tells the driver no more, and delivers nothing of what comes later.
  defp assert_broken(%{reads: reads, buffer: buffer, seal: seal, machine: machine}, why) do
    Mote.send(buffer, {:data, seal.(0, "late")})
    for _ <- 1..2, do: assert(Mote.ask!(reads, :read) == {:error, why})
    assert Mote.drain(machine) == :ok
    refute_received {:fail, _}
    refute_received {:ok, _}
  end

  test "a stream that is split at any byte", %{machine: machine, seal: seal} = context do
    packets = ["abc", "", :crypto.strong_rand_bytes(40)]
    stream = stream(seal, packets)

    for at <- 0..byte_size(stream) do
      <<one::binary-size(at), two::binary>> = stream
      assert read_all(reader(machine, context), [one, two]) == {packets, :closed}
    end
  end

  test "a stream of single bytes", %{seal: seal} = context do
    packets = for n <- 1..10, do: :crypto.strong_rand_bytes(7 * n)
    assert read_all(context, for(<<byte <- stream(seal, packets)>>, do: <<byte>>)) == {packets, :closed}
  end

  property "a stream in pieces of any size", %{machine: machine, seal: seal} = context do
    check all packets <- list_of(binary(max_length: @longest), max_length: 6),
              cuts <- list_of(integer(0..200), max_length: 20) do
      {pieces, rest} = Enum.map_reduce(cuts, stream(seal, packets), &cut(&2, &1))
      assert read_all(reader(machine, context), pieces ++ [rest]) == {packets, :closed}
    end
  end

  test "a stream that ends anywhere", %{machine: machine, seal: seal} = context do
    stream = stream(seal, ["abc", "de"])
    first = 4 + 3 + 32

    for size <- 0..byte_size(stream) do
      {packets, why} = read_all(reader(machine, context), [binary_part(stream, 0, size)])
      {at, n} = if size < first, do: {size, 3}, else: {size - first, 2}
      assert packets == Enum.take(["abc", "de"], div(size, first) + div(size, byte_size(stream)))

      expected =
        cond do
          at == 0 or at == 4 + n + 32 -> :closed
          at < 4 -> {:cut_off, :length, at, 4}
          at < 4 + n -> {:cut_off, :data, at - 4, n}
          true -> {:cut_off, :hmac, at - 4 - n, 32}
        end

      assert {size, why} == {size, expected}
    end
  end

  test "a packet that was changed, anywhere behind its length", %{machine: machine, seal: seal} = context do
    stream = stream(seal, ["first", "second", "third"])
    first = 4 + 5 + 32

    for at <- (first + 4)..(first + 4 + 6 + 31) do
      <<before::binary-size(at), byte, rest::binary>> = stream
      context = Map.merge(context, reader(machine, context))

      assert read_all(context, [<<before::binary, Bitwise.bxor(byte, 1), rest::binary>>]) ==
               {["first"], {:forged, 1}}

      assert_broken(context, {:forged, 1})
    end
  end

  test "packets that are repeated, left out or out of order", %{machine: machine, seal: seal} = context do
    [a, b, c] = for {data, n} <- Enum.with_index(["a", "b", "c"]), do: seal.(n, data)

    for {packets, good, at} <- [
          {[a, a], ["a"], 1},
          {[a, c], ["a"], 1},
          {[b, a], [], 0},
          {[a, b, b], ["a", "b"], 2}
        ] do
      assert read_all(reader(machine, context), packets) == {good, {:forged, at}}
    end
  end

  test "the longest packet, and one byte more", %{machine: machine, seal: seal} = context do
    longest = :crypto.strong_rand_bytes(@longest)
    assert read_all(reader(machine, context), [seal.(0, longest)]) == {[longest], :closed}

    for size <- [@longest + 1, 0xFFFFFFFF] do
      context = Map.merge(context, reader(machine, context))
      # Nothing of it is waited for.
      assert read_all(context, [seal.(0, "ok") <> <<size::32>>], nil) == {["ok"], {:too_long, size, @longest}}
      assert_broken(context, {:too_long, size, @longest})
    end
  end

  test "a peer that falls silent anywhere", %{machine: machine, seal: seal} = context do
    stream = stream(seal, ["abc"])

    for size <- 0..(byte_size(stream) - 1) do
      %{reads: reads, buffer: buffer} = context = Map.merge(context, reader(machine, context))
      Mote.send(reads, {self(), :read})
      assert_receive {^buffer, :more}
      Mote.send(buffer, {:data, binary_part(stream, 0, size)})
      assert_receive {^buffer, :more}
      Mote.advance(machine, @idle)
      assert_receive {:error, {:silent, @idle}}
      assert_receive {:fail, {:silent, @idle}}
      assert_broken(context, {:silent, @idle})
    end
  end

  test "requests wait at the gate while a packet is read, and have their answers in order", context do
    %{reads: reads, buffer: buffer, seal: seal} = context
    asks = for _ <- 1..3, do: Mote.async(reads, :read)

    for <<byte <- stream(seal, ["one", "two"])>> do
      assert_receive {^buffer, :more}
      Mote.send(buffer, {:data, <<byte>>})
    end

    assert_receive {^buffer, :more}
    Mote.send(buffer, {:ended, :closed})
    assert Mote.await_many(asks) == [{:ok, "one"}, {:ok, "two"}, {:error, :closed}]
  end

  test "a request that nobody knows is answered, and the next one too",
       %{reads: reads, seal: seal} = context do
    assert Mote.ask!(reads, {:write, "to a reader"}) == {:error, {:unknown, {:write, "to a reader"}}}
    assert read_all(context, [seal.(0, "fine")]) == {["fine"], :closed}
  end

  test "an end that the driver tells reaches the reader wherever it is",
       %{machine: machine, seal: seal} = context do
    for size <- [nil, 0, 5, 10] do
      %{reads: reads, reader: reader, buffer: buffer} = reader(machine, context)

      if size do
        Mote.send(reads, {self(), :read})
        assert_receive {^buffer, :more}
        Mote.send(buffer, {:data, binary_part(seal.(0, "abc"), 0, size)})
        assert_receive {^buffer, :more}
      end

      Mote.send(reader, {:broken, :closed_here})
      if size, do: assert_receive({:error, :closed_here})
      assert Mote.ask!(reads, :read) == {:error, :closed_here}
    end
  end
end
