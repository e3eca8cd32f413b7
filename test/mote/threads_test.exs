defmodule Mote.ThreadsTest do
  # Not async: it counts the threads of the whole process, all of which have to be its own.
  use ExUnit.Case, async: false

  alias Mote.OtherBEAM

  setup do
    if OtherBEAM.threads() == nil, do: flunk("cannot see threads on this system")
    wait_for(fn -> OtherBEAM.threads() == [] end)
  end

  test "are named after their machine and sponsor" do
    {:ok, machine} = Mote.start_link(name: M1, sponsors: [io: [], multi: [threads: 3]])
    threads(["M1-io-1", "M1-multi-1", "M1-multi-2", "M1-multi-3"])
    :ok = Mote.add_sponsor(machine, :new, threads: 2)
    threads(["M1-io-1", "M1-multi-1", "M1-multi-2", "M1-multi-3", "M1-new-1", "M1-new-2"])
    :ok = Mote.remove_sponsor(machine, :multi)
    threads(["M1-io-1", "M1-new-1", "M1-new-2"])
    :ok = Mote.stop(machine)
    assert OtherBEAM.threads() == []
  end

  test "have as much of their name as the system keeps" do
    {:ok, machine} = Mote.start_link(name: Mote.ThreadsTest.Long, sponsors: [äöü: []])
    threads(["Mote.Threa"])
    :ok = Mote.stop(machine)
    {:ok, machine} = Mote.start_link(sponsors: [main: []])
    threads(["anonymous-"])
    :ok = Mote.stop(machine)
  end

  test "sleep when there is nothing to do" do
    {:ok, machine} = Mote.start_link(name: M2, sponsors: [many: [threads: 8]])
    :ok = Mote.drain(machine)
    wait_for(fn -> Mote.info(machine).sponsors.many.asleep == 8 end)
    before = ticks("M2-many")
    Process.sleep(500)
    assert ticks("M2-many") - before <= 1
    :ok = Mote.stop(machine)
  end

  # A thread gives itself its name, a moment after it was started.
  defp threads(names), do: wait_for(fn -> Enum.sort(OtherBEAM.threads()) == names end)

  # Processor time of the threads of that name, in hundredths of a second.
  defp ticks(name) do
    Enum.sum(
      for task <- File.ls!("/proc/self/task"),
          {:ok, "mote-" <> comm} <- [File.read("/proc/self/task/#{task}/comm")],
          String.starts_with?(comm, name) do
        [_, rest] = String.split(File.read!("/proc/self/task/#{task}/stat"), ") ")
        fields = String.split(rest)
        String.to_integer(Enum.at(fields, 11)) + String.to_integer(Enum.at(fields, 12))
      end
    )
  end

  defp wait_for(fun, tries \\ 1_000) do
    cond do
      fun.() -> :ok
      tries == 0 -> flunk("waited in vain")
      true -> Process.sleep(5) && wait_for(fun, tries - 1)
    end
  end
end
