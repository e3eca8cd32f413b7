defmodule Mote.CoverTest do
  # Not async: `:cover` is the node's.
  use ExUnit.Case, async: false

  alias Mote.Test.Cover

  @moduletag capture_log: true
  # Not every system with Erlang has it.
  @moduletag skip:
               (Process.whereis(:cover_server) != nil && "the suite itself is covered") ||
                 (not Code.ensure_loaded?(:cover) && "there is no :cover")

  @source """
  defmodule Mote.CoverTest.Counter do
    use Mote.Behaviour

    defactor counter(n) do
      {:add, k} ->
        become n: twice(n + k)

      {:sub, k} ->
        become n: n - k

      {customer, :read} ->
        send customer, n
        send customer, hd([])
    end

    defpure twice(n) do
      n * 2
    end

    defactor beam(parent), beam: true do
      message ->
        send parent, message
    end
  end
  """

  setup do
    dir = Path.join(System.tmp_dir!(), "mote_cover_#{System.unique_integer([:positive])}")
    File.mkdir_p!(dir)
    [{module, beam}] = Code.compile_string(@source, "counter.ex")
    path = Path.join(dir, "#{module}.beam")
    File.write!(path, beam)
    {:ok, _} = cover(:start, [])
    {:ok, ^module} = cover(:compile_beam, [String.to_charlist(path)])

    on_exit(fn ->
      cover(:stop, [])
      File.rm_rf!(dir)
    end)

    %{module: module}
  end

  defp cover(function, arguments), do: apply(:cover, function, arguments)

  defp lines(module) do
    {:ok, lines} = cover(:analyse, [module, :calls, :line])
    for {{_, line}, calls} when calls > 0 <- lines, line > 0, into: %{}, do: {line, calls}
  end

  test "lines that ran on machines are counted, each as often as it ran", %{module: module} do
    # What it asks for at the end of the suite this suite has no use for.
    after_suite = Application.get_env(:ex_unit, :after_suite)
    assert Cover.start()
    Application.put_env(:ex_unit, :after_suite, after_suite)
    on_exit(fn -> Cover.stop() end)
    machine = start_supervised!({Mote, sponsors: [main: [], io: [beam: true]]})
    counter = Mote.create(machine, module.counter(0))
    for n <- 1..3, do: Mote.send(counter, {:add, n})
    assert {:error, %Mote.Error{reason: :aborted}} = Mote.ask(counter, :read)
    beam = Mote.create(machine, module.beam(self()), sponsor: :io)
    Mote.send(beam, :hello)
    assert_receive :hello, 30_000
    Cover.settle()
    counted = lines(module)
    assert %{6 => 3, 12 => 1, 13 => 1, 17 => 3, 22 => 1} = counted
    refute is_map_key(counted, 9)
  end

  test "nothing is done without it" do
    cover(:stop, [])
    refute Mote.Test.cover()
    assert Process.whereis(Cover) == nil
  end
end
