defmodule SecureSocket.ReaderTest do
  # Reader and buffer without a socket: the test is socket and driver, and feeds a stream that was cut as it likes.
  use ExUnit.Case, async: true
  use ExUnitProperties

  alias SecureSocket.{Keys, Reader}

  @secret "sixteen bytes at least"
  @idle 1_000
  @longest 100

  setup_all do
    {mine, theirs} = {Keys.hello(), Keys.hello()}
    {_, open} = Keys.session(@secret, :server, mine, theirs)
    {seal, _} = Keys.session(@secret, :client, theirs, mine)
    %{seal: seal, open: open}
  end

  setup context do
    io = [beam: true, timeout: :infinity]
    machine = start_supervised!({Mote, clock: :manual, sponsors: [main: [], io: io]})
    %{machine: machine, reader: reader(machine, context)}
  end

  defp reader(machine, %{open: open}) do
    test = self()
    line = {&recv(test, &1), @idle}
    Mote.create(machine, Reader.reader({line, open, test, @longest, :main}, "", 0), sponsor: :io)
  end

  # In the turn: what the test feeds next.
  defp recv(test, @idle) do
    send(test, {:more, self()})

    receive do
      {:come, what} -> what
    end
  end

  # Feeds it, as soon as the turn wants more.
  defp come(what) do
    assert_receive {:more, turn}, 60_000
    send(turn, {:come, what})
  end

  # Reads until the first error, which the driver must hear of too, while pieces are fed whenever more is wanted, and `last`
  # when there are none. Gives the data of the packets and the error.
  defp read_all(reader, pieces, last \\ {:error, :closed}) do
    Mote.send(reader, {self(), :read})
    read_all(reader, pieces, last, [])
  end

  defp read_all(reader, pieces, last, packets) do
    receive do
      {:more, turn} when pieces == [] ->
        if last, do: send(turn, {:come, last})
        read_all(reader, [], last, packets)

      {:more, turn} ->
        send(turn, {:come, {:ok, hd(pieces)}})
        read_all(reader, tl(pieces), last, packets)

      {:ok, data} ->
        Mote.send(reader, {self(), :read})
        read_all(reader, pieces, last, [data | packets])

      # Whoever reads hears of it when the driver has answered.
      {:fail, why} ->
        Mote.send(reader, {:broken, why})
        assert_receive {:error, ^why}, 60_000
        {Enum.reverse(packets), why}
    after
      60_000 -> flunk("no answer after #{length(packets)} packets")
    end
  end

  defp stream(seal, packets),
    do: packets |> Enum.with_index() |> Enum.map_join(fn {data, n} -> seal.(n, data) end)

  defp cut(stream, at) do
    at = min(at, byte_size(stream))
    <<piece::binary-size(at), rest::binary>> = stream
    {piece, rest}
  end

  # Is broken: says so to everybody, tells the driver no more, and wants nothing of what comes later.
  defp assert_broken(machine, reader, why) do
    for _ <- 1..2, do: assert(Mote.ask!(reader, :read) == {:error, why})
    assert Mote.drain(machine, 60_000) == :ok
    assert Mote.info(machine).counters.timers == 0
    refute_received {:fail, _}
    refute_received {:more, _}
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

  test "a stream of single bytes", %{seal: seal, reader: reader} do
    packets = for n <- 1..10, do: :crypto.strong_rand_bytes(7 * n)
    assert read_all(reader, for(<<byte <- stream(seal, packets)>>, do: <<byte>>)) == {packets, :closed}
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
      reader = reader(machine, context)

      assert read_all(reader, [<<before::binary, Bitwise.bxor(byte, 1), rest::binary>>]) ==
               {["first"], {:forged, 1}}

      assert_broken(machine, reader, {:forged, 1})
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
      reader = reader(machine, context)
      # Nothing of it is waited for.
      assert read_all(reader, [seal.(0, "ok") <> <<size::32>>], nil) == {["ok"], {:too_long, size, @longest}}
      assert_broken(machine, reader, {:too_long, size, @longest})
    end
  end

  test "a peer that falls silent anywhere", %{machine: machine, seal: seal} = context do
    stream = stream(seal, ["abc"])

    for size <- 0..(byte_size(stream) - 1) do
      reader = reader(machine, context)
      pieces = if size == 0, do: [], else: [binary_part(stream, 0, size)]
      assert read_all(reader, pieces, {:error, :timeout}) == {[], {:silent, @idle}}
      assert_broken(machine, reader, {:silent, @idle})
    end
  end

  test "requests wait while a packet is read, and have their answers in order",
       %{reader: reader, seal: seal} do
    asks = for _ <- 1..3, do: Mote.async(reader, :read)
    for <<byte <- stream(seal, ["one", "two"])>>, do: come({:ok, <<byte>>})
    come({:error, :closed})
    assert_receive {:fail, :closed}, 60_000
    Mote.send(reader, {:broken, :closed})
    assert Mote.await_many(asks, 60_000) == [{:ok, "one"}, {:ok, "two"}, {:error, :closed}]
  end

  test "a request that nobody knows is answered, and the next one too", %{reader: reader, seal: seal} do
    assert Mote.ask!(reader, {:write, "to a reader"}) == {:error, {:unknown, {:write, "to a reader"}}}
    assert read_all(reader, [seal.(0, "fine")]) == {["fine"], :closed}
  end

  test "the reason that the driver tells is the one that counts, wherever the reader is",
       %{machine: machine, seal: seal} = context do
    for size <- [nil, 0, 5, 10] do
      reader = reader(machine, context)

      # The socket is closed then, which is all that a turn sees.
      if size do
        Mote.send(reader, {self(), :read})
        if size > 0, do: come({:ok, binary_part(seal.(0, "abc"), 0, size)})
        come({:error, :closed})
        assert_receive {:fail, _}, 60_000
      end

      Mote.send(reader, {:broken, :closed_here})
      if size, do: assert_receive({:error, :closed_here}, 60_000)
      assert_broken(machine, reader, :closed_here)
    end
  end

  test "all who ask while the driver is asked have its answer; if it has none, what the reader has seen",
       %{machine: machine} = context do
    for driver <- [:answers, :killed] do
      reader = reader(machine, context)
      asks = for _ <- 1..3, do: Mote.async(reader, :read)
      come({:error, :closed})
      assert_receive {:fail, :closed}, 60_000
      assert Mote.drain(machine, 60_000) == :ok
      assert Enum.map(asks, &Mote.yield(&1, 0)) == [nil, nil, nil]
      if driver == :answers, do: Mote.send(reader, {:broken, :first}), else: Mote.advance(machine, @idle)
      why = if driver == :answers, do: :first, else: :closed
      assert Mote.await_many(asks, 60_000) == List.duplicate({:error, why}, 3)
      assert_broken(machine, reader, why)
    end
  end

  @tag capture_log: true
  test "a turn that is killed leaves a reader that takes nothing for what it is not",
       %{reader: reader, seal: seal} do
    ask = Mote.async(reader, :read)
    come({:ok, binary_part(seal.(0, "abc"), 0, 10)})
    assert_receive {:more, turn}, 60_000
    Process.exit(turn, :kill)
    assert {{:aborted, _, {:crashed, :exit, :killed, []}}, _} = catch_exit(Mote.await(ask, 60_000))
    assert read_all(reader, [seal.(1, "next")]) == {[], {:forged, 0}}
  end
end
