defmodule SecureSocket.OrderTest do
  # The reader under many orders of turns: with nobody but actors around it, so that the order of every message is open.
  use ExUnit.Case, async: true

  alias SecureSocket.Reader

  defmodule Around do
    use Mote.Behaviour, errors: :undefined

    # The driver: says why the connection has ended.
    defactor driver(reader) do
      {:reader, reader} -> become driver(reader)
      {:fail, why} -> send reader, {:broken, why}
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
    open = fn n, <<m::32, _::binary>> = data, _hmac -> if n == m, do: {:opened, data}, else: :forged end

    graph = fn machine ->
      # The socket: a piece whenever more is wanted, then the end.
      socket = start_supervised!({Agent, fn -> pieces ++ [rest] end}, id: make_ref())
      driver = Mote.create(machine, Around.driver(nil))
      line = {fn 1_000 -> Agent.get_and_update(socket, &piece/1) end, 1_000}
      reads = Mote.create(machine, Reader.reader({line, open, driver, 100, :main}, "", 0), sponsor: :io)
      Mote.send(driver, {:reader, reads})
      collectors = for _ <- 1..3, do: Mote.create(machine, Around.collector(reads, []))
      for collector <- collectors, do: Mote.send(collector, :start)
      collectors
    end

    property = fn collectors ->
      answers = for collector <- collectors, do: Mote.ask!(collector, :got)
      for {got, why} <- answers, do: assert(got == Enum.sort(got) and why == :closed)
      answers |> Enum.flat_map(&elem(&1, 0)) |> Enum.sort() == Enum.to_list(0..5)
    end

    sponsors = [main: [], io: [beam: true, max_concurrency: 4, timeout: :infinity]]
    Mote.Test.explore(graph, property, seeds: 40, sponsors: sponsors)
  end

  defp piece([piece | pieces]), do: {{:ok, piece}, pieces}
  defp piece([]), do: {{:error, :closed}, []}
end
