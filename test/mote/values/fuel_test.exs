defmodule Mote.Values.FuelTest do
  # A turn pays for what its primitives walk over, or one call could hold a thread for long.
  use ExUnit.Case, async: true

  defmodule Walks do
    use Mote.Behaviour

    defactor walk() do
      {customer, {work, n, x}} -> send customer, {:done, repeat(work, n, x)}
    end

    defpure repeat(_, 0, _), do: :ok

    defpure repeat(work, n, x) do
      _ = once(work, x)
      repeat(work, n - 1, x)
    end

    defpure once(:keys, x), do: length(Map.keys(x))
    defpure once(:merge, x), do: map_size(Map.merge(x, x))
    defpure once(:new, x), do: map_size(Map.new(x))
    defpure once(:join, x), do: byte_size(x <> x)
    defpure once(:sort, x), do: Mote.Vector.size(Mote.Vector.sort(x))
    defpure once(:dot, x), do: Mote.Vector.dot(x, x)
    defpure once(:get, x), do: Map.get(x, 1)
    defpure once(:slice, x), do: binary_part(x, 1, byte_size(x) - 1)
  end

  test "large maps, binaries and vectors cost more than one call" do
    machine = start_supervised!({Mote, fuel: 50_000})
    walk = Mote.create(machine, Walks.walk())
    map = Map.new(1..20_000, &{&1, &1})
    binary = :binary.copy("x", 500_000)
    [short, long] = for n <- [10_000, 100_000], do: Mote.Vector.new(:f64, Enum.to_list(1..n))

    for {work, x} <- [keys: map, merge: map, new: Map.to_list(map), join: binary, sort: short, dot: long] do
      before = Mote.info(machine).counters.aborts_fuel
      Mote.send(walk, {self(), {work, 200, x}})
      assert {:done, :ok} = Mote.ask!(walk, {work, 1, x})
      refute_received {:done, _}
      assert {work, Mote.info(machine).counters.aborts_fuel} == {work, before + 1}
    end

    # What walks over nothing costs what a call costs.
    for {work, x} <- [get: map, slice: binary], do: assert({:done, :ok} = Mote.ask!(walk, {work, 5_000, x}))
  end
end
