defmodule SecureSocket.WriterTest do
  # The writer without a socket: the test is the process that writes, and the driver.
  use ExUnit.Case, async: true

  alias SecureSocket.{Crypto, Gate, Keys, Writer}

  @idle 1_000
  @longest 100

  setup do
    machine = start_supervised!({Mote, clock: :manual})
    crypto = start_supervised!(Crypto)
    {mine, theirs} = {Keys.hello(), Keys.hello()}
    {seal, _} = Keys.session("sixteen bytes at least", :client, mine, theirs)
    {_, open} = Keys.session("sixteen bytes at least", :server, theirs, mine)
    writer = Mote.create(machine, Writer.writer({crypto, seal, self(), self(), @longest, @idle, :main}, 0))
    %{machine: machine, writer: writer, writes: Mote.create(machine, Gate.gate(writer)), open: open}
  end

  defp opened(open, n, <<size::32, data::binary-size(size), hmac::binary>>), do: open.(n, data, hmac)

  test "packets leave one after the other, each when the one before is written", context do
    %{machine: machine, writer: writer, writes: writes, open: open} = context
    asks = for n <- 1..5, do: Mote.async(writes, {:write, "packet #{n}"})

    for n <- 1..5 do
      assert_receive {^writer, {:write, packet}}
      assert opened(open, n - 1, packet) == {:opened, "packet #{n}"}
      assert Mote.drain(machine, 60_000) == :ok
      refute_received {_, {:write, _}}
      Mote.send(writer, :written)
    end

    assert Mote.await_many(asks) == List.duplicate(:ok, 5)
  end

  test "the watchdog is cancelled when the packet is written", %{machine: machine} = context do
    %{writer: writer, writes: writes} = context
    ask = Mote.async(writes, {:write, "x"})
    assert_receive {^writer, {:write, _}}
    assert Mote.drain(machine, 60_000) == :ok
    assert Mote.info(machine).counters.timers == 1
    Mote.send(writer, :written)
    assert Mote.await(ask) == :ok
    assert Mote.drain(machine, 60_000) == :ok
    assert Mote.info(machine).counters.timers == 0
  end

  test "a watchdog that was cancelled too late means nothing", %{writer: writer, writes: writes} do
    asks = for n <- 1..2, do: Mote.async(writes, {:write, "packet #{n}"})
    assert_receive {^writer, {:write, _}}
    Mote.send(writer, :written)
    assert_receive {^writer, {:write, _}}
    Mote.send(writer, {:stuck, 0})
    Mote.send(writer, :written)
    assert Mote.await_many(asks) == [:ok, :ok]
    refute_received {:fail, _}
  end

  test "a packet that nobody writes fails after the whole time, and all that wait with it", context do
    %{machine: machine, writer: writer, writes: writes} = context
    asks = for n <- 1..3, do: Mote.async(writes, {:write, "packet #{n}"})
    assert_receive {^writer, {:write, _}}
    Mote.advance(machine, @idle - 1)
    refute_received {:fail, _}
    Mote.advance(machine, 1)
    assert Mote.await_many(asks) == List.duplicate({:error, {:stuck, @idle}}, 3)
    assert_receive {:fail, {:stuck, @idle}}
    # Too late, and without any effect.
    Mote.send(writer, :written)
    assert Mote.ask!(writes, {:write, "late"}) == {:error, {:stuck, @idle}}
    refute_received {_, {:write, _}}
  end

  test "a packet that could not be written breaks the writer", %{writer: writer, writes: writes} do
    ask = Mote.async(writes, {:write, "x"})
    assert_receive {^writer, {:write, _}}
    Mote.send(writer, {:unwritten, {:tcp, :enetdown}})
    assert Mote.await(ask) == {:error, {:tcp, :enetdown}}
    assert_receive {:fail, {:tcp, :enetdown}}
    assert Mote.ask!(writes, {:write, "late"}) == {:error, {:tcp, :enetdown}}
  end

  test "an end that the driver tells reaches the writer wherever it is", context do
    %{machine: machine, writer: writer, writes: writes} = context
    ask = Mote.async(writes, {:write, "x"})
    assert_receive {^writer, {:write, _}}
    Mote.send(writer, {:broken, :closed_here})
    assert Mote.await(ask) == {:error, :closed_here}
    assert Mote.drain(machine, 60_000) == :ok
    assert Mote.info(machine).counters.timers == 0
    assert Mote.ask!(writes, {:write, "late"}) == {:error, :closed_here}
  end

  test "the longest packet, and one byte more", %{writer: writer, writes: writes} do
    ask = Mote.async(writes, {:write, :binary.copy("x", @longest)})
    assert_receive {^writer, {:write, _}}
    Mote.send(writer, :written)
    assert Mote.await(ask) == :ok
    too_long = :binary.copy("x", @longest + 1)
    assert Mote.ask!(writes, {:write, too_long}) == {:error, {:too_long, @longest + 1, @longest}}
    refute_received {_, {:write, _}}
  end
end
