defmodule Mote.DurableFilesTest do
  # The folder of a durable machine: what is in it, when it is written, and what a start makes of files that are not what they were.
  use ExUnit.Case, async: true

  import ExUnit.CaptureLog
  import Mote.Ledger, only: [kill: 1]
  import Mote.OwnFolder

  alias Mote.{Durable, Error, Ledger, Long}

  setup [:own_folder, :hear_exits]

  test "the end of a journal that is not whole is left out, told and kept", %{dir: dir} do
    {:ok, machine, ledger} = Ledger.start(dir)
    for n <- 1..10, do: assert(:ok = Mote.send(ledger, {:add, :sent, n}))
    Ledger.kill_and_join(machine)
    [journal] = files(dir, ".journal")
    bytes = File.read!(journal)
    kept = byte_size(bytes) - 60
    File.write!(journal, [binary_part(bytes, 0, kept), :binary.copy(<<0>>, 60)])

    log = capture_log(fn -> assert {:ok, _machine, _ledger} = Ledger.start(dir) end)
    assert log =~ ~r/#{journal}: from byte \d+ on, the last \d+ bytes are no whole entry/
    assert File.read!(Path.join(dir, "torn")) =~ binary_part(bytes, 0, kept)
  end

  test "a machine whose lock was removed writes nothing any more", %{dir: dir} do
    {:ok, machine, _ledger} = Ledger.start(dir)
    File.rm!(Path.join(dir, "lock"))
    assert {:error, %Error{reason: :journal} = error} = Durable.checkpoint(machine)

    assert Exception.message(error) =~
             "lock: this file was removed, so the folder is not this machine's any more"

    assert_receive {:EXIT, ^machine, %Error{reason: :journal}}, 5_000
  end

  test "an image takes the place of a journal that has become long", %{dir: dir} do
    {:ok, machine, ledger} = Ledger.start(dir, image_every: 10_000)
    {:ok, %{number: before}} = Durable.info(machine)

    count =
      Enum.reduce_while(Stream.iterate(1, &(&1 + 1)), 0, fn n, _ ->
        :ok = Mote.send(ledger, {:add, :client, n})
        {:ok, %{number: number}} = Durable.info(machine)
        if number > before + 1, do: {:halt, n}, else: {:cont, n}
      end)

    kill(machine)
    assert length(files(dir, ".image")) in 1..2
    {:ok, machine, ledger} = Ledger.start(dir)
    assert {%{client: ^count}, _, _, _} = Mote.ask!(ledger, :all)
    Mote.stop(machine)
  end

  test "a journal goes on after an image that was not finished", %{dir: dir} do
    {:ok, machine, ledger} = Ledger.start(dir)
    for n <- 1..20, do: :ok = Mote.send(ledger, {:add, :client, n})
    [image] = files(dir, ".image")
    [journal] = files(dir, ".journal")
    [old_image, old_journal] = for path <- [image, journal], do: File.read!(path)
    {:ok, _} = Durable.checkpoint(machine)
    for n <- 21..40, do: :ok = Mote.send(ledger, {:add, :client, n})
    Ledger.kill_and_join(machine)

    # What was written of the first journal until the second one began is not in the copy: the end of it is missing.
    [second] = files(dir, ".journal")
    [newer] = files(dir, ".image")
    File.rm!(newer)
    File.write!(image, old_image)
    File.write!(journal, old_journal)
    assert {:error, %Error{reason: :journal} = error} = Ledger.start(dir)
    assert Exception.message(error) =~ Path.basename(second) <> ": at byte 88: it goes on after"
  end

  test "a folder whose path is longer than an identity, or no text", %{dir: dir} do
    for name <- [String.duplicate("x", 250), <<255, 254>>] do
      dir = Path.join([dir, name, "y"])
      {:ok, machine, ledger} = Ledger.start(dir)
      account = Mote.ask!(ledger, {:open, :x})
      kill(machine)
      {:ok, machine, _ledger} = Ledger.start(dir)
      assert Mote.ask!(account, :balance) == 0
      Mote.stop(machine)
    end
  end

  for {opts, what} <- [
        {[sponsors: [main: [threads: 2]]], "one sponsor with one thread"},
        {[sponsors: [main: [threads: 1], more: [threads: 1]]], "one sponsor with one thread"},
        {[sponsors: [main: [beam: true]]], "one sponsor with one thread"},
        {[clock: :manual], "clock: :system"},
        {[schedule: {:seeded, 1}], "schedule: :threads"},
        {[image: "x"], "no :image"}
      ] do
    test "#{inspect(opts)} is refused", %{dir: dir} do
      error = assert_raise ArgumentError, fn -> Mote.start_link([durable: [dir: dir]] ++ unquote(opts)) end
      assert Exception.message(error) =~ unquote(what)
    end
  end

  for {opts, what} <- [
        {[], "a text"},
        {[dir: "x", sync: :never], ":batch, :always or :os"},
        {[dir: "x", image_every: 0], "a positive number"},
        {[dir: "x", other: 1], "to be :dir"}
      ] do
    test "durable: #{inspect(opts)} is refused" do
      error = assert_raise ArgumentError, fn -> Mote.start_link(durable: unquote(opts)) end
      assert Exception.message(error) =~ unquote(what)
    end
  end

  test "one machine has a folder, and the error names it", %{dir: dir} do
    {:ok, machine, _ledger} = Ledger.start(dir)

    assert {:error, %Error{reason: :dir_taken} = error} =
             Mote.start_link(durable: [dir: dir], identity: "other")

    assert error.context.pid == inspect(machine) and error.context.system_pid == System.pid()
    assert Exception.message(error) =~ inspect(machine)
    Mote.stop(machine)
    assert {:ok, machine, _ledger} = Ledger.start(dir)
    Mote.stop(machine)
  end

  describe "files that are not what they were" do
    setup %{dir: dir} do
      {:ok, machine, ledger} = Ledger.start(dir)
      for n <- 1..10, do: :ok = Mote.send(ledger, {:add, :client, n})
      Ledger.kill_and_join(machine)
      [journal] = files(dir, ".journal")
      %{journal: journal, bytes: File.read!(journal)}
    end

    defp refused(dir) do
      assert {:error, %Error{reason: :journal} = error} = Ledger.start(dir)
      Exception.message(error)
    end

    test "a changed bit in the middle is refused with its place", %{dir: dir, journal: journal, bytes: bytes} do
      # In the first entry, behind the header of 104 bytes.
      <<before::binary-108, byte, rest::binary>> = bytes
      File.write!(journal, [before, Bitwise.bxor(byte, 4), rest])
      assert refused(dir) =~ journal <> ": at byte 104: the checksum of the entry is wrong"
    end

    test "another version is refused", %{
      dir: dir,
      journal: journal,
      bytes: <<magic::binary-8, _, rest::binary>>
    } do
      File.write!(journal, [magic, 9, rest])
      assert refused(dir) =~ journal <> ": at byte 8: the journal is of version 9"
    end

    test "a journal that is not there is missed", %{dir: dir, journal: journal} do
      File.rm!(journal)
      assert refused(dir) =~ journal <> ": the journal that goes on from the image is not there"
    end

    test "an image that is not there is missed", %{dir: dir, journal: journal} do
      Enum.each(files(dir, ".image"), &File.rm!/1)
      assert refused(dir) =~ journal <> ": the image that this journal goes on from is not there"
    end

    test "other fuel is refused", %{dir: dir, journal: journal} do
      assert {:error, %Error{reason: :journal} = error} = Mote.start_link(durable: [dir: dir], fuel: 1_000)
      assert Exception.message(error) =~ journal <> ": the machine was started with fuel: 10000000"
    end

    test "wherever a journal was cut, all whole entries are there", %{
      dir: dir,
      journal: journal,
      bytes: bytes
    } do
      # One client has waited for each message, so that the last number tells how much was read.
      lengths = if Long.long?(), do: 104..byte_size(bytes), else: Enum.take_random(104..byte_size(bytes), 12)
      saved = dir <> "_saved"
      on_exit(fn -> File.rm_rf!(saved) end)
      File.cp_r!(dir, saved)

      counts =
        for length <- Enum.sort(lengths) do
          File.rm_rf!(dir)
          File.cp_r!(saved, dir)
          File.write!(journal, binary_part(bytes, 0, length))
          {:ok, machine, ledger} = Ledger.start(dir)
          {seen, _draws, _accounts, _ticks} = Mote.ask!(ledger, :all)
          Mote.stop(machine)
          assert Map.keys(seen) -- [:client] == []
          Map.get(seen, :client, 0)
        end

      assert counts == Enum.sort(counts)
      assert Enum.all?(counts, &(&1 in 0..10))
      if Long.long?(), do: assert(Enum.uniq(counts) == Enum.to_list(0..10))
    end
  end

  test "a folder that cannot be written is named", %{dir: dir} do
    File.write!(dir, "a file")
    assert {:error, %Error{reason: :journal} = error} = Mote.start_link(durable: [dir: dir])
    assert Exception.message(error) =~ dir
  end
end
