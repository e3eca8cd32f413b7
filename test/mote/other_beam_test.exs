defmodule Mote.OtherBEAMTest do
  # An operating system process with busy machines: whatever ends there, or is taken away, it ends as any other, or goes on.
  use ExUnit.Case, async: true

  alias Mote.OtherBEAM

  @busy """
  busy = fn ->
    {:ok, machine} = Mote.start_link(sponsors: [main: [threads: 4], other: [threads: 2]])
    for n <- 1..16 do
      busy = Mote.create(machine, Mote.Actors.busy(0))
      Mote.send(busy, :go, sponsor: if(rem(n, 4) == 0, do: :other, else: :main))
    end
    # And one that sends to the BEAM without end: a thousand messages as soon as those before have come.
    other = Mote.create(machine, Mote.Actors.busy(0))
    flood = fn flood, to ->
      for n <- 1..1_000, do: Mote.send(to, {n, other})
      for _ <- 1..1_000, do: receive(do: (_ -> :ok))
      flood.(flood, to)
    end
    spawn(fn -> flood.(flood, Mote.create(machine, Mote.Actors.forward(self()))) end)
    machine
  end
  machines = for _ <- 1..3, do: busy.()
  Process.sleep(100)
  """

  for {how, code, status} <- [
        {"halts", "System.halt(3)", 3},
        {"stops", "System.stop(4); Process.sleep(:infinity)", 4},
        {"comes to the end of its script", "IO.puts(length(machines))", 0},
        {"stops the application first", ":ok = Application.stop(:mote); IO.puts(:stopped)", 0}
      ] do
    test "#{how} as any other" do
      assert {output, unquote(status)} = OtherBEAM.run(@busy <> unquote(code))
      refute output =~ ~r/segmentation|crash|abort|panick/i
    end
  end

  test "says that the application is not running, and ends machines that outlive it without a word" do
    code = """
    {:ok, machine} = Mote.start_link(name: Left)
    :ok = Application.stop(:mote)
    {:error, %Mote.Error{reason: :start} = error} = Mote.start_link()
    IO.puts(Exception.message(error))
    :telemetry.attach(:end, [:mote, :machine, :stop], fn _, _, about, _ -> IO.inspect({:ended, about.name}) end, nil)
    :ok = Mote.stop(machine)
    {:ok, _} = Application.ensure_all_started(:mote)
    {:ok, _} = Mote.start_link(name: Left)
    """

    assert {output, 0} = OtherBEAM.run(code)
    assert output =~ "the application :mote is not running"
    assert output =~ "{:ended, Left}"
    refute output =~ "native code that is gone"
  end

  test "whose owners are killed or exit goes on" do
    code =
      @busy <>
        """
        Process.flag(:trap_exit, true)
        [killed, shut_down, stopped] = machines
        Process.exit(killed, :kill)
        Process.exit(shut_down, :shutdown)
        :ok = Mote.stop(stopped)
        for pid <- [killed, shut_down], do: receive(do: ({:EXIT, ^pid, _} -> :ok))

        # And one whose starter ends while it is busy.
        {starter, monitor} = spawn_monitor(fn -> busy.() && exit(:shutdown) end)
        receive do {:DOWN, ^monitor, _, ^starter, _} -> :ok end

        gone = fn gone, tries ->
          threads = Mote.OtherBEAM.threads()
          if threads != [] and tries > 0, do: Process.sleep(10) && gone.(gone, tries - 1), else: threads
        end

        IO.inspect(gone.(gone, 1_000))
        """

    assert {output, 0} = OtherBEAM.run(code)
    assert output =~ "[]"
    refute output =~ ~r/segmentation|panick/i
  end

  test "survives that the native code is taken away" do
    code =
      @busy <>
        """
        [machine | rest] = machines
        # A machine that is to report meanwhile ends.
        Process.flag(:trap_exit, true)
        echo = Mote.create(machine, Mote.Actors.echo())
        true = :code.delete(Mote.Native)
        :code.purge(Mote.Native)
        Process.sleep(50)
        # The module comes back by itself, and does not know the old machines.
        {:error, _} = Mote.ask(echo, :hello, 100)
        {:ok, fresh} = Mote.start_link()
        1 = Mote.ask!(Mote.create(fresh, Mote.Actors.echo()), 1)
        for pid <- rest, do: Process.exit(pid, :kill)
        Process.exit(machine, :shutdown)
        Process.sleep(200)
        :erlang.garbage_collect()
        1 = Mote.ask!(Mote.create(fresh, Mote.Actors.echo()), 1)
        IO.puts("still here")
        """

    assert {output, 0} = OtherBEAM.run(code)
    assert output =~ "still here"
  end

  test "takes a reload of the native code as an error" do
    code =
      @busy <>
        """
        IO.inspect(:code.load_file(Mote.Native))
        echo = Mote.create(hd(machines), Mote.Actors.echo())
        IO.inspect(Mote.ask(echo, :still_here, :infinity))
        """

    assert {output, 0} = OtherBEAM.run(code)
    assert output =~ "{:error, :on_load_failure}"
    assert output =~ "{:ok, :still_here}"
  end

  describe "a native library that cannot be loaded ends the start of the application, which says why," do
    @describetag :tmp_dir

    # With the modules of Mote as they are, and that library.
    defp start_without(dir, library) do
      mote = Path.join(dir, "mote")
      File.mkdir_p!(mote)
      File.cp_r!(Application.app_dir(:mote, "ebin"), Path.join(mote, "ebin"))
      if library, do: File.mkdir_p!(Path.join(mote, "priv/native"))
      if library, do: File.write!(Path.join(mote, "priv/native/libmote_nif.so"), library)

      ebins =
        for path <- :code.get_path(),
            path = to_string(path),
            path =~ ~r"/_build/" and not (path =~ ~r"/mote/"),
            do: path

      paths = Enum.flat_map([Path.join(mote, "ebin") | ebins], &["-pa", &1])

      code =
        "{:error, {:mote, why}} = Application.ensure_all_started(:mote); IO.puts(Application.format_error(why))"

      System.cmd("elixir", paths ++ ["-e", code], stderr_to_stdout: true)
    end

    test "as in an escript, which has no files beside its code", %{tmp_dir: dir} do
      assert {output, 0} = start_without(dir, nil)

      assert output =~
               "the native library of Mote.Native cannot be loaded: #{dir}/mote/priv is not a directory. An escript cannot carry"
    end

    test "or because the system refuses it", %{tmp_dir: dir} do
      assert {output, 0} = start_without(dir, "no library")
      assert output =~ "the native library of Mote.Native cannot be loaded: the system refuses it"
      assert output =~ "#{dir}/mote/priv/native"
    end
  end
end
