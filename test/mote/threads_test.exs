defmodule Mote.ThreadsTest do
  # Not async: it counts the threads of the whole process, all of which have to be its own.
  use ExUnit.Case, async: false
  import Mote.Eventually

  alias Mote.OtherBEAM

  setup do
    if OtherBEAM.threads() == nil, do: flunk("cannot see threads on this system")
    eventually(fn -> OtherBEAM.threads() == [] end)
    :ok
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

  test "are told from each other by as much of their name as the system keeps" do
    {:ok, machine} = Mote.start_link(name: Mote.ThreadsTest.Long, sponsors: [äö: [threads: 2]])
    threads(["Log-äö-1", "Log-äö-2"])
    :ok = Mote.stop(machine)

    {:ok, machine} =
      Mote.start_link(name: Mote.ThreadsTest, sponsors: [worker_a: [], worker_b: [], "Mote.Io": []])

    threads(["T-work_a-1", "T-work_b-1", "Thrst-Io-1"])
    :ok = Mote.stop(machine)
    {:ok, machine} = Mote.start_link(name: :"a\0b", sponsors: ["x\0y": []])
    threads(["\"a\\b\"-xy-1"])
    :ok = Mote.stop(machine)
  end

  test "of machines without a name are told apart by a number of these" do
    machines = for _ <- 1..2, {:ok, machine} = Mote.start_link(sponsors: [main: [threads: 2]]), do: machine
    names = for machine <- machines, n <- 1..2, do: "#{number(machine)}-main-#{n}"
    threads(Enum.sort(names))
    assert length(Enum.uniq(names)) == 4
    Enum.each(machines, &Mote.stop/1)
  end

  defp number(machine) do
    [_, digits] = Regex.run(~r/(\d{1,3})\.\d+>$/, inspect(machine))
    digits
  end

  test "sleep when there is nothing to do" do
    {:ok, machine} = Mote.start_link(name: M2, sponsors: [many: [threads: 8]])
    :ok = Mote.drain(machine, 60_000)
    eventually(fn -> asleep?("M2-many", 8, 500) end)
    :ok = Mote.stop(machine)
  end

  # A thread gives itself its name, a moment after it was started.
  defp threads(names), do: eventually(fn -> Enum.sort(OtherBEAM.threads()) == names end)

  # Whether that many threads of that name sleep, and none of them was woken for that many milliseconds. Processor
  # time would say less: the system counts it in hundredths of a second, and rounds what takes microseconds up to one.
  defp asleep?(name, threads, ms) do
    before = states(name)
    Process.sleep(ms)
    before == states(name) and length(before) == threads and Enum.all?(before, &match?({_, "S", _}, &1))
  end

  # What each thread of that name does ("S" is sleeping), and how often it had to leave its core until now.
  defp states(name) do
    for task <- Enum.sort(File.ls!("/proc/self/task")),
        {:ok, status} <- [File.read("/proc/self/task/#{task}/status")],
        String.starts_with?(status, "Name:\tmote-" <> name) do
      [_, state] = Regex.run(~r/^State:\t(\w)/m, status)
      {task, state, Regex.scan(~r/ctxt_switches:\t(\d+)/, status, capture: :all_but_first)}
    end
  end
end
