defmodule Mote.Bench.CoresTest do
  # Rounds that wait for even cores, by looks that are given.
  use ExUnit.Case, async: true

  alias Mote.Bench.{Cores, Rust}

  # One after the other; the last one again and again.
  defp looks(looks) do
    {:ok, agent} = Agent.start_link(fn -> looks end)

    fn ->
      Agent.get_and_update(agent, fn
        [look] -> {look, [look]}
        [look | looks] -> {look, looks}
      end)
    end
  end

  defp rounds do
    counter = :counters.new(1, [])

    fn ->
      :counters.add(counter, 1, 1)
      :counters.get(counter, 1)
    end
  end

  test "a round on even cores counts, and costs no patience" do
    assert {[1], true, patience} = Cores.on_even([rounds()], 60_000, looks([true]))
    assert patience in 59_000..60_000
    # However long it takes.
    assert {[:ok], true, patience} = Cores.on_even([fn -> Process.sleep(600) end], 500, looks([true]))
    assert patience > 0
  end

  test "nothing is run before they are even" do
    test = self()
    even? = looks([false, false, true])
    look = fn -> even?.() |> tap(&send(test, {:looked, &1})) end
    assert {[:ran], true, _} = Cores.on_even([fn -> send(test, :ran) end], 60_000, look)

    assert {:messages, [{:looked, false}, {:looked, false}, {:looked, true}, :ran, {:looked, true}]} =
             Process.info(self(), :messages)
  end

  test "a round after which they are uneven is made again" do
    assert {[3], true, _} = Cores.on_even([rounds()], 60_000, looks([true, false, true, false, true, true]))
  end

  test "without patience it counts as it is" do
    assert Cores.on_even([rounds()], 0, looks([false])) == {[1], false, 0}
    assert Cores.on_even([rounds()], 0, looks([true, false])) == {[1], false, 0}
    assert {[1], true, 0} = Cores.on_even([rounds()], 0, looks([true]))
  end

  test "patience ends" do
    assert Cores.on_even([fn -> Process.sleep(20) end], 10, looks([true, false])) == {[:ok], false, 0}
  end

  test "all rounds together have that much patience" do
    run = rounds()
    slow = fn -> Process.sleep(20) && run.() end
    looks = List.flatten(List.duplicate([true, false], 20))
    assert {[n], false, 0} = Cores.on_even([slow], 50, looks(looks))
    assert n <= 3
  end

  test "between the runs of a round they are looked at, too" do
    run = rounds()
    looks = [true, false, true, true, false, true, true, true]
    assert {[4, 5], true, _} = Cores.on_even([run, run], 60_000, looks(looks))
    assert {[1, 2], false, 0} = Cores.on_even([fn -> 1 end, fn -> 2 end], 0, looks([true, false]))
  end

  # Cargo builds, which may take minutes.
  @tag timeout: 900_000
  test "the cores of this computer" do
    :ok = Rust.build()
    assert is_boolean(Cores.even?())
    assert {_ns, _cpu_ns, evenness} = Rust.run("cores", 100, 1)
    assert evenness > 0 and evenness <= 1
  end
end
