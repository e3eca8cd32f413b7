defmodule Mote.DurableKillTest do
  # What processes of a node were told is there when the node was killed in the middle of it.
  use ExUnit.Case, async: true

  import Mote.OwnFolder, only: [own_folder: 1, hear_exits: 1]

  alias Mote.{Ledger, Long, OtherBEAM}

  @clients 6

  setup [:own_folder, :hear_exits]

  # Starts a node that works on the folder, and kills it when it has said so much, and there are such files then; what it has said, without
  # what was cut.
  defp run_and_kill(dir, opts, lines, files \\ "lock") do
    paths = for path <- :code.get_path(), path = to_string(path), path =~ ~r"/_build/", do: ["-pa", path]

    code =
      "{:ok, _} = Application.ensure_all_started(:mote)\nLogger.configure(level: :emergency)\nMote.Ledger.serve(#{inspect(dir)}, #{@clients}, #{inspect(opts)})"

    port =
      Port.open({:spawn_executable, System.find_executable("elixir")}, [
        :binary,
        :exit_status,
        :use_stdio,
        :stderr_to_stdout,
        args: List.flatten(paths) ++ ["-e", code],
        env: [{~c"ERL_CRASH_DUMP", ~c"/dev/null"}]
      ])

    {:os_pid, pid} = Port.info(port, :os_pid)

    kill = fn ->
      found(Path.join(dir, files))
      {_, 0} = System.cmd("kill", ["-9", "#{pid}"])
    end

    read(port, kill, lines, "")
  end

  defp found(files), do: Path.wildcard(files) != [] || found(files)

  defp read(port, kill, lines, text) do
    receive do
      {^port, {:data, data}} ->
        text = text <> data
        if lines > 0 and length(:binary.matches(text, "\n")) >= lines, do: kill.()
        read(port, kill, if(length(:binary.matches(text, "\n")) >= lines, do: 0, else: lines), text)

      {^port, {:exit_status, status}} ->
        assert status == 137, text
        said(text)
    after
      120_000 -> flunk("the node says nothing more: #{text}")
    end
  end

  # The last line may be half of one.
  defp said(text) do
    lines = text |> String.split("\n") |> Enum.drop(-1)
    for line <- lines, do: line |> Base.decode64!() |> :erlang.binary_to_term()
  end

  defp check(said, {seen, draws, accounts, _ticks}) do
    refute Enum.any?(Map.keys(seen), &is_tuple/1)

    told =
      Enum.reduce(said, %{}, fn
        {:sent, client, n}, told ->
          assert seen[client] >= n
          told

        {:told, client, draw}, told ->
          Map.put(told, client, draw)

        {:opened, name, address}, told ->
          assert {:opened, name, Mote.ask!(address, :balance)} ==
                   {:opened, name, Mote.ask!(accounts[name], :balance)}

          told

        {:paid, name, n, {balance, _random}}, told ->
          assert Mote.ask!(accounts[name], :balance) >= balance and balance >= n
          told
      end)

    for {client, {n, _, _, _} = draw} <- told do
      # What came after it was not told in time.
      assert seen[client] >= n
      if seen[client] == n, do: assert(draws[client] == draw)
    end
  end

  # Kills nodes one after the other on one folder, by `run_and_kill`, and checks after each that what it has acknowledged is there.
  defp each_life(dir, run_and_kill) do
    Enum.reduce(1..Long.runs(3), [], fn _, before ->
      said = run_and_kill.()
      {:ok, machine, ledger} = Ledger.start(dir)
      check(before ++ said, Mote.ask!(ledger, :all))
      Mote.stop(machine)
      # Addresses that an earlier node has written down lead to the same actors for good.
      before ++ for({:opened, _, _} = opened <- said, do: opened)
    end)
  end

  for sync <- [:batch, :always, :os] do
    test "nothing that was acknowledged is lost, and nothing is half there, with sync: #{inspect(sync)}", %{
      dir: dir
    } do
      opts = [sync: unquote(sync), image_every: 20_000]
      each_life(dir, fn -> run_and_kill(dir, opts, Enum.random(1..400)) end)
    end
  end

  test "nothing is lost when the node is killed while an image is written", %{dir: dir} do
    opts = [image_every: 20_000, fill: 20]
    each_life(dir, fn -> run_and_kill(dir, opts, Enum.random(1..200), "*.image.*.part") end)
  end

  test "a machine whose disk is full ends with the reason, and acknowledges nothing that is not there", %{
    dir: dir
  } do
    code = """
    Process.flag(:trap_exit, true)
    {:ok, machine, ledger} = Mote.Ledger.start(#{inspect(dir)})

    sent =
      Enum.reduce_while(Stream.iterate(1, &(&1 + 1)), 0, fn n, _ ->
        try do
          case Mote.send(ledger, {:add, :client, n}) do
            :ok -> {:cont, n}
            {:error, error} -> {:halt, {n - 1, error.reason}}
          end
        rescue
          error in Mote.Error -> {:halt, {n - 1, error.reason}}
        end
      end)

    receive do
      {:EXIT, ^machine, {:fault, fault}} -> IO.inspect({:full, sent, fault.text}, width: 1_000)
    end
    """

    # The system refuses to make files longer than that.
    {output, 0} = OtherBEAM.run(code, [], "trap '' XFSZ; ulimit -f 32")
    assert [_, sent, reason, text] = Regex.run(~r/\{:full, \{(\d+), :(\w+)\}, "(.*)"\}/, output), output
    assert reason == "machine_down"
    assert text =~ "the journal" and text =~ "file too large"
    {:ok, machine, ledger} = Ledger.start(dir)
    {seen, _, _, _} = Mote.ask!(ledger, :all)
    assert seen.client in [String.to_integer(sent), String.to_integer(sent) + 1]
    Mote.stop(machine)
  end
end
