defmodule SecureSocket.OrderTest do
  # Buffer, reader and gate under many orders of turns: with nobody but actors around them, so that the order of every
  # message is open.
  use ExUnit.Case, async: true

  alias SecureSocket.{Buffer, Gate, Reader}

  defmodule Around do
    use Mote.Behaviour, errors: :undefined

    # The driver: a piece whenever more is asked for, then the end.
    defactor driver(pieces) do
      {buffer, :more} ->
        case pieces do
          [piece | pieces] ->
            send buffer, {:data, piece}
            become driver(pieces)

          [] ->
            send buffer, {:ended, :closed}
        end
    end

    defactor crypto() do
      {customer, {:open, _open, n, <<m::32, _::binary>> = data, _hmac}} when n == m ->
        send customer, {:opened, data}

      {customer, _} ->
        send customer, :forged
    end

    # Reads until the end, and keeps what it got.
    defactor collector(reads, got) do
      :start ->
        send reads, {self(), :read}

      {:ok, <<n::32, _::binary>>} ->
        send reads, {self(), :read}
        become collector(reads, [n | got])

      {:error, why} ->
        become collected(got, why)
    end

    defactor collected(got, why) do
      {customer, :got} -> send customer, {Enum.reverse(got), why}
    end
  end

  test "no order of turns loses, doubles or exchanges anything" do
    packets = for n <- 0..5, do: <<4 + n::32, n::32, 0::size(n)-unit(8), 0::size(32)-unit(8)>>
    stream = IO.iodata_to_binary(packets)
    pieces = for <<piece::binary-size(7) <- stream>>, do: piece
    rest = binary_part(stream, byte_size(stream), -rem(byte_size(stream), 7))

    graph = fn machine ->
      driver = Mote.create(machine, Around.driver(pieces ++ [rest]))
      buffer = Mote.create(machine, Buffer.buffer({driver, 1_000}, "", 0))
      crypto = Mote.create(machine, Around.crypto())
      reader = Mote.create(machine, Reader.reader({buffer, crypto, nil, driver, 100}, 0))
      reads = Mote.create(machine, Gate.gate(reader))
      collectors = for _ <- 1..3, do: Mote.create(machine, Around.collector(reads, []))
      for collector <- collectors, do: Mote.send(collector, :start)
      collectors
    end

    property = fn collectors ->
      answers = for collector <- collectors, do: Mote.ask!(collector, :got)
      for {got, why} <- answers, do: assert(got == Enum.sort(got) and why == :closed)
      answers |> Enum.flat_map(&elem(&1, 0)) |> Enum.sort() == Enum.to_list(0..5)
    end

    Mote.Test.explore(graph, property, seeds: 40)
  end
end
