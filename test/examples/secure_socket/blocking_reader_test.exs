defmodule SecureSocket.BlockingReaderTest do
  # The reader that waits in its turn, at one end of a socket.
  use ExUnit.Case, async: true

  alias SecureSocket.{BlockingReader, Keys}

  @secret "sixteen bytes at least"
  @longest 100

  setup_all do
    {mine, theirs} = {Keys.hello(), Keys.hello()}
    {_, open} = Keys.session(@secret, :server, mine, theirs)
    {seal, _} = Keys.session(@secret, :client, theirs, mine)
    %{seal: seal, open: open}
  end

  setup do
    machine = start_supervised!({Mote, sponsors: [main: [], io: [beam: true, timeout: :infinity]]})
    %{machine: machine}
  end

  defp connect(machine, open, idle \\ 60_000) do
    {:ok, listener} = :gen_tcp.listen(0, [:binary, active: false, ip: {127, 0, 0, 1}])
    {:ok, port} = :inet.port(listener)
    {:ok, peer} = :gen_tcp.connect({127, 0, 0, 1}, port, [:binary, active: false])
    {:ok, socket} = :gen_tcp.accept(listener)
    :gen_tcp.close(listener)
    {peer, Mote.create(machine, BlockingReader.reader({socket, open, @longest, idle}, 0), sponsor: :io)}
  end

  defp read(reader), do: Mote.ask!(reader, :read, 60_000)

  test "packets in order, however they come", %{machine: machine, open: open, seal: seal} do
    {peer, reader} = connect(machine, open)
    packets = ["abc", "", :crypto.strong_rand_bytes(@longest), "end"]
    reads = for _ <- packets, do: Mote.async(reader, :read)
    stream = for {data, n} <- Enum.with_index(packets), into: "", do: seal.(n, data)
    for <<byte <- stream>>, do: :ok = :gen_tcp.send(peer, <<byte>>)
    assert Mote.await_many(reads, 60_000) == Enum.map(packets, &{:ok, &1})
    assert Mote.ask!(reader, :write) == {:error, {:unknown, :write}}
    :gen_tcp.close(peer)
    assert read(reader) == {:error, :closed}
    assert read(reader) == {:error, :closed}
  end

  test "only who reads waits", %{machine: machine, open: open, seal: seal} do
    {slow_peer, slow} = connect(machine, open)
    {quick_peer, quick} = connect(machine, open)
    waits = Mote.async(slow, :read)
    :ok = :gen_tcp.send(quick_peer, seal.(0, "quick"))
    assert read(quick) == {:ok, "quick"}
    assert Mote.yield(waits, 0) == nil
    :ok = :gen_tcp.send(slow_peer, seal.(0, "slow"))
    assert Mote.await(waits, 60_000) == {:ok, "slow"}
  end

  test "whatever does not fit breaks it", %{machine: machine, open: open, seal: seal} do
    for {bytes, why} <- [
          {seal.(1, "another number"), {:forged, 0}},
          {<<101::32>>, {:too_long, 101, @longest}},
          {binary_part(seal.(0, "abc"), 0, 6), {:cut_off, :data, :some, 3}},
          {binary_part(seal.(0, "abc"), 0, 20), {:cut_off, :hmac, :some, 32}}
        ] do
      {peer, reader} = connect(machine, open)
      :ok = :gen_tcp.send(peer, bytes)
      :gen_tcp.close(peer)
      for _ <- 1..2, do: assert(read(reader) == {:error, why})
    end

    {_peer, reader} = connect(machine, open, 1)
    for _ <- 1..2, do: assert(read(reader) == {:error, {:silent, 1}})
  end
end
