defmodule Mote.Behaviour.DefdirectoryTest do
  use ExUnit.Case, async: true

  defmodule Rooms do
    use Mote.Behaviour

    defactor room(shard, all) do
      {customer, :all} -> send customer, all
      {customer, :shard} -> send customer, shard
    end

    @doc "Rooms."
    defdirectory rooms(a, b \\ 2, c, d \\ 4) do
      _ -> room(self(), {a, b, c, d})
    end
  end

  defmodule Files do
    use Mote.Behaviour

    defactor file(path), beam: true do
      {customer, :path} -> send customer, path
    end

    defdirectory files() do
      path when is_binary(path) -> create file(path), sponsor: :io
      _ -> nil
    end
  end

  defmodule Aborts do
    use Mote.Behaviour

    defactor aborts, beam: true do
      {_customer, reason} -> abort(reason)
    end
  end

  test "a clause may create in a sponsor" do
    {:ok, machine} = Mote.start_link(sponsors: [main: [], io: [beam: true]])
    files = Mote.Directory.start(machine, Files.files())
    assert Mote.Directory.ask!(files, "a", :path) == "a"
    assert Mote.info(Mote.Directory.whereis(files, "a")).sponsor == :io
    assert {:error, %{reason: :unknown_key}} = Mote.Directory.ask(files, 1, :path)
  end

  test "the captures of a directory have defaults, and self() is the shard" do
    {:ok, machine} = Mote.start_link()

    for {behaviour, all} <- [
          {Rooms.rooms(1, 3), {1, 2, 3, 4}},
          {Rooms.rooms(1, 9, 3), {1, 9, 3, 4}},
          {Rooms.rooms(1, 9, 3, 8), {1, 9, 3, 8}}
        ] do
      rooms = Mote.Directory.start(machine, behaviour)
      assert Mote.Directory.ask!(rooms, "lobby", :all) == all
      assert Mote.Directory.ask!(rooms, "lobby", :shard) == Mote.Directory.shard(rooms, "lobby")
    end
  end

  test "abort in a beam turn is counted and told as anywhere" do
    {:ok, machine} = Mote.start_link(sponsors: [main: [], io: [beam: true]])
    actor = Mote.create(machine, Aborts.aborts(), sponsor: :io)
    assert {:error, %{reason: :aborted, context: %{reason: {:abort, :no}}}} = Mote.ask(actor, :no)
    assert [%{aborts_explicit: 1, aborts_match: 0}] = Mote.info(machine).sponsors.io.threads
  end

  test "a beam behaviour has no stash, and is told so" do
    code = """
    defmodule Mote.Behaviour.DefdirectoryTest.Stashes do
      use Mote.Behaviour

      defactor stashes, beam: true do
        _ -> stash()
      end
    end
    """

    assert_raise Mote.CompileError, ~r/has no stash/, fn -> Code.compile_string(code) end
  end
end
