defmodule Mote.Bench.ChildTest do
  use ExUnit.Case, async: true

  alias Mote.Bench.{Child, Files, Run, Runner, Worker}
  alias Mote.Bench.Programs.Sockets

  @sh System.find_executable("sh")
  # One that ends with its standard input, and one that does not look at it.
  @reads ["-c", "echo here; exec cat"]
  @sleeps ["-c", "echo here; exec sleep 600"]

  defp alive?(os_pid), do: File.exists?("/proc/#{os_pid}")

  defp gone(os_pid), do: if(alive?(os_pid), do: Process.sleep(10) && gone(os_pid), else: :ok)

  defp started(args, opts) do
    child = Child.start(@sh, args, opts)
    assert Child.line(child) == "here"
    assert alive?(child.os_pid)
    child
  end

  for {args, watched} <- [{@reads, false}, {@sleeps, true}] do
    @args args
    @opts [watched: watched]

    test "ends when it is stopped (watched: #{watched})" do
      child = started(@args, @opts)
      assert Child.stop(child) == :ok
      refute alive?(child.os_pid)
      assert Child.stop(child) == :ok
    end

    test "ends with the process that has started it (watched: #{watched})" do
      me = self()

      starter =
        spawn(fn ->
          send(me, {:os_pid, started(@args, @opts).os_pid})
          Process.sleep(:infinity)
        end)

      assert_receive {:os_pid, os_pid}, 60_000
      Process.exit(starter, :kill)
      assert gone(os_pid) == :ok
    end

    test "says that it has ended, and with which status (watched: #{watched})" do
      child = Child.start(@sh, ["-c", "exit 7"], @opts)
      assert_raise Run.Error, "sh has ended with status 7", fn -> Child.line(child) end
      assert Child.stop(child) == :ok
    end
  end

  @tag :capture_log
  test "ends with a node that is killed, even if it does not look at its standard input" do
    worker = Worker.start(:node)
    os_pid = Worker.os_pid(worker)

    start = """
    Mote.Bench.Child.start(#{inspect(@sh)}, #{inspect(@sleeps)}, watched: true)
    Process.sleep(:infinity)
    """

    caller =
      Task.async(fn -> assert_raise Run.Error, fn -> Worker.call(worker, Code, :eval_string, [start]) end end)

    assert [child] = wait_for(fn -> children(os_pid) end)
    {_, 0} = System.cmd("kill", ["-KILL", os_pid])
    Task.await(caller, 60_000)
    assert gone(child) == :ok
    Worker.stop(worker)
  end

  # Those of its children, children of these and so on, that sleep for so long.
  defp children(os_pid) do
    {text, 0} = System.cmd("ps", ["-eo", "pid=,ppid=,args="])

    rows =
      for line <- String.split(text, "\n", trim: true), do: String.split(line, ~r/\s+/, parts: 3, trim: true)

    below = below([os_pid], rows)
    for [pid, _, "sleep 600"] <- rows, pid in below, do: pid
  end

  defp below([], _rows), do: []

  defp below(parents, rows) do
    children = for [pid, parent | _] <- rows, parent in parents, do: pid
    children ++ below(children, rows)
  end

  defp wait_for(fun) do
    case fun.() do
      [] -> Process.sleep(10) && wait_for(fun)
      found -> found
    end
  end

  test "CPU time is that of the other process, while the function runs" do
    child =
      Child.start(@sh, [
        "-c",
        "read -r _; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo done; exec cat"
      ])

    {all, busiest, "done"} =
      Child.cpu(child.os_pid, fn ->
        Child.tell(child, "go")
        Child.line(child)
      end)

    assert all > 0 and busiest == all
    assert Child.files(child.os_pid) >= 3
    assert Child.stop(child) == :ok
  end

  test "a node may have as many files as it asks for, if the system permits it, and else it is said what to raise" do
    assert Files.exec(0) == %{}
    worker = Worker.start(:node, files: 300)
    assert {"500\n", 0} = Worker.call(worker, System, :cmd, ["sh", ["-c", "ulimit -n"]])
    Worker.stop(worker)

    # More than any kernel has.
    assert_raise Run.Error, ~r/needs 9000000000200 files .* smaller --n, or raise the hard limit/, fn ->
      Runner.measure(Sockets, 9_000_000_000_000 - 1_000, runs: 1)
    end
  end

  test "what cannot be had is said once, and the other figures are there" do
    me = self()
    measures = Runner.measure(Mote.Bench.ChildTest.Partly, 1, where: :here, progress: &send(me, &1))
    assert [%{metric: :us_cpu_per_echo, values: [1.0]}] = measures
    assert_received "partly: cpu_by_tokio is not available: no cargo"
  end

  defmodule Partly do
    use Mote.Bench.Program,
      title: "partly",
      param: :n,
      defaults: [1],
      small: 1,
      metric: :us_cpu_per_echo,
      expected: :done,
      measures: & &1.figures,
      machines: [mote: [main: [threads: 1]]],
      fresh: true,
      elsewhere: true,
      runs: 1

    def measures_fresh(sample), do: measures(sample)

    def mote(_machine, _n),
      do: [
        run: fn _ -> {:figures, [us_cpu_per_echo: 1.0, cpu_by_tokio: {:unavailable, "no cargo"}], :done} end
      ]
  end
end
