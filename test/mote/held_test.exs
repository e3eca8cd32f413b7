defmodule Mote.HeldTest do
  # What a machine holds outside of its heaps counts against its quota, and is given back.
  # Not async: it looks at the memory of the whole process.
  use ExUnit.Case
  import Mote.Eventually

  alias Mote.{Actors, Holders, Resident}
  alias Mote.Machine.Long

  @megabyte 1024 * 1024

  defp start(opts \\ []), do: start_supervised!({Mote, Keyword.merge([id: make_ref()], opts)})

  # What it is charged with when nothing is queued and nothing is garbage.
  defp at_rest(machine) do
    :erlang.garbage_collect()
    :ok = Mote.drain(machine, 60_000)
    :ok = Mote.gc(machine)
    Mote.info(machine).memory.charged
  end

  # Part of a binary that nobody else keeps.
  defp part(of, size), do: :binary.part(:binary.copy("x", of), 100, size)

  # All but the last bit of 5,000 bytes.
  defp bits(<<bits::bitstring-size(39_999), _::1>>), do: bits

  # In a process that is gone afterwards.
  defp elsewhere(fun), do: fun |> Task.async() |> Task.await(60_000)

  describe "part of a binary" do
    test "keeps the whole only if that is not much more, and is charged with it" do
      machine = start()
      keeper = Mote.create(machine, Actors.keeper(nil))
      before = at_rest(machine)
      most = 10 * @megabyte
      swap = fn of, size -> elsewhere(fn -> Mote.ask!(keeper, {:swap, part(of, size)}) end) end
      swap.(most, 6 * @megabyte)
      assert at_rest(machine) in (before + most)..(before + most + 3 * @megabyte)
      swap.(most, 4 * @megabyte)
      assert at_rest(machine) in (before + 4 * @megabyte)..(before + 7 * @megabyte)
      swap.(most, 10_000)
      assert eventually(fn -> at_rest(machine) < before + 3 * @megabyte end)
      assert Mote.ask!(keeper, :get) == part(most, 10_000)
    end

    test "keeps nothing of what is not charged, however it comes" do
      machine = start()
      holder = Mote.create(machine, Actors.keeper([]))
      small = fn -> part(5 * @megabyte, 5_000) end

      ways = [
        fn -> Mote.create(machine, Actors.keeper(small.())) end,
        fn -> Mote.send(Mote.create(machine, Holders.holder([])), small.()) end,
        fn -> Mote.send_many(holder, [small.(), %{a: [small.()]}]) end,
        fn -> Mote.send_many([{holder, small.()}]) end,
        fn -> Mote.send(holder, {small.(), Enum.to_list(1..10_000)}) end,
        fn -> Mote.send(holder, {small.(), Enum.to_list(1..10_000)}, on_full: :wait) end,
        fn -> Mote.send_after(holder, small.(), 3_600_000) end,
        fn -> Mote.ask!(holder, {:swap, [small.() | small.()]}) end,
        fn -> Mote.async(holder, {:swap, small.()}) |> Mote.Ask.await() end,
        fn -> Mote.send(holder, bits(small.())) end
      ]

      for {way, i} <- Enum.with_index(ways) do
        :erlang.garbage_collect()
        before = :erlang.memory(:binary)
        kept = elsewhere(fn -> way.() end)
        :erlang.garbage_collect()
        eventually(fn -> :erlang.memory(:binary) - before < @megabyte end)
        assert kept != nil, "by way #{i}"
      end
    end

    test "arrives as it is, also when its bytes do not begin with a byte" do
      machine = start()
      keeper = Mote.create(machine, Actors.keeper(nil))
      whole = :crypto.strong_rand_bytes(20_000)
      <<_::3, shifted::binary-size(19_000), _::bitstring>> = whole

      for binary <- [
            whole,
            :binary.part(whole, 1, 15_000),
            :binary.part(whole, 7, 5_000),
            shifted,
            whole <> "x"
          ] do
        term = {[binary | binary], %{binary => binary}}
        Mote.ask!(keeper, {:swap, term})
        assert Mote.ask!(keeper, :get) == term
        assert Mote.info(keeper).behaviour.captures == {term}
      end
    end

    test "is found in a term wherever it is" do
      long = :binary.copy("x", 5_000)
      part = :binary.part(:binary.copy("y", 9_000), 0, 5_000)
      term = {[long | part], %{[part] => {part, "short"}}, fn -> long end, 1.0}
      assert [{fun, 5_000} | binaries] = Long.kept(term) |> Enum.sort_by(&(not is_function(elem(&1, 0))))
      assert fun.() == long
      assert Enum.sort(binaries) == [{long, 5_000}, {part, 9_000}, {part, 9_000}, {part, 9_000}]
    end

    test "that a function has captured is charged with it" do
      machine = start(memory: 64 * @megabyte)
      keeper = Mote.create(machine, Actors.keeper(nil))
      before = at_rest(machine)

      captured = fn of ->
        elsewhere(fn -> with(part = part(of, 100), do: Mote.ask(keeper, {:swap, fn -> part end})) end)
      end

      assert {:ok, _} = captured.(20 * @megabyte)
      assert at_rest(machine) in (before + 20 * @megabyte)..(before + 24 * @megabyte)
      assert {:error, %Mote.Error{reason: :no_memory}} = captured.(80 * @megabyte)
      assert byte_size(Mote.ask!(keeper, :get).()) == 100
      assert {:ok, _} = Mote.ask(keeper, {:swap, nil})
      assert eventually(fn -> at_rest(machine) <= before + 2 * @megabyte end)
    end
  end

  describe "what the machine does not look into" do
    test "is charged, and given back when it goes" do
      machine = start()
      other = start()
      keeper = Mote.create(machine, Actors.keeper(nil))
      before = at_rest(machine)
      list = Enum.to_list(1..1_000)

      # What a thousand of them take at least.
      for {one, least} <- [
            {fn n -> fn -> {n, list} end end, 1_000 * 2_000},
            {fn _ -> make_ref() end, 1_000 * 100},
            {fn n -> 2 ** 70 + n end, 1_000 * 100},
            {fn n -> 2 ** 80_000 + n end, 1_000 * 10_000},
            {fn n -> 2 ** 63 + n end, 1_000 * 96},
            {fn _ -> self() end, 1_000 * 96},
            {fn n -> <<n::16, 1::1>> end, 1_000 * 1_000},
            {fn _ -> Mote.create(other, Actors.echo()) end, 1_000 * 1_000}
          ] do
        Mote.ask!(keeper, {:swap, Enum.map(1..1_000, one)})
        held = at_rest(machine) - before
        assert held >= least, "#{inspect(one.(1))}: #{held}"
        Mote.ask!(keeper, {:swap, nil})
        # A machine lets go of what the node has collected a moment later.
        assert eventually(fn -> at_rest(machine) == before end)
      end
    end

    test "is given back after questions" do
      machine = start()
      silent = Mote.create(machine, Holders.silent([]))
      before = at_rest(machine)
      for _ <- 1..10_000, do: Mote.Ask.ignore(Mote.async(silent, :keep))
      assert at_rest(machine) >= before + 10_000 * 400
      Mote.send(silent, :let_go)
      assert eventually(fn -> at_rest(machine) == before end)
      assert Mote.info(silent).behaviour == Holders.silent([])
    end
  end

  test "a pattern of a trace takes no memory with each message" do
    machine = start()
    counter = Mote.create(machine, Actors.counter(0))
    other = :binary.copy("y", 3_000)
    <<_::3, pattern::binary-size(3_000), _::5>> = <<0::3, :binary.copy("x", 3_000)::binary, 0::5>>
    trace = Mote.trace(machine, message: {:x, pattern})

    round = fn ->
      :ok = Mote.send_many(counter, List.duplicate({:x, other}, 1_000))
      :ok = Mote.drain(machine, 60_000)
    end

    for _ <- 1..30, do: round.()
    before = Resident.megabytes()
    # 300 megabytes of patterns.
    for _ <- 1..100, do: round.()
    assert Resident.megabytes() - before < 150
    Mote.send(counter, {:x, :binary.copy("x", 3_000)})
    assert_receive {:mote_trace, _, _}
    Mote.Trace.stop(trace)
  end

  test "a look at an actor that holds much shows the beginning, and says so" do
    machine = start()
    many = Enum.to_list(1..200_000)

    for {held, least} <- [{many, 16 * 1_000}, {List.to_tuple(many), 8 * 200_000}] do
      info = Mote.info(Mote.create(machine, Actors.keeper(held)))
      assert %{complete: false, bytes: bytes, behaviour: %{captures: {shown}}} = info
      assert bytes >= least
      assert shown == :... or (hd(shown) == 1 and length_of(shown) <= 4_000)
    end

    # The bytes are there, and not worth copying.
    long = Mote.create(machine, Actors.keeper(:binary.copy(<<0::64>>, 1_000_000)))
    assert %{complete: true, bytes: bytes} = Mote.info(long)
    assert bytes >= 8_000_000
    few = Enum.to_list(1..1_000)

    assert %{complete: true, behaviour: %{captures: {^few}}} =
             Mote.info(Mote.create(machine, Actors.keeper(few)))
  end

  defp length_of([_ | tail]), do: 1 + length_of(tail)
  defp length_of(_), do: 0
end
