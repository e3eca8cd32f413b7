defmodule Mote.DurableCopyTest do
  # Copies of durable machines, and machines that take them over.
  use ExUnit.Case, async: true

  import Mote.Eventually
  import Mote.Ledger, only: [kill: 1]
  import Mote.OwnFolder, only: [own_folder: 1, hear_exits: 1]

  alias Mote.{Durable, Error, Ledger}

  setup [:own_folder, :hear_exits]

  defp copied(machine, to, opts \\ []) do
    {:ok, copy} = Durable.copy(machine, [node: node(), dir: to] ++ opts)
    followed(machine, copy)
    copy
  end

  # All that the disk has at this moment.
  defp followed(machine, copy) do
    {:ok, %{number: number, bytes: bytes}} = Durable.info(machine)

    eventually(fn ->
      copied = Durable.copied(copy)
      copied.state == :following and copied.journal >= {number, bytes}
    end)
  end

  defp add(ledger, client, numbers),
    do: for(n <- numbers, do: {^n, _, _, _} = Mote.ask!(ledger, {:add, client, n}))

  # The machine of the copy, and what it has come to.
  defp taken_over(to) do
    {:ok, machine, ledger} = Ledger.start(to, take_over: true)
    {seen, _, _, _} = Mote.ask!(ledger, :all)
    {machine, ledger, seen}
  end

  test "a machine goes on from a copy, with its addresses, and the copy is no copy any more", %{
    dir: dir,
    to: to
  } do
    {:ok, machine, ledger} = Ledger.start(dir)
    add(ledger, :before, 1..20)
    copy = copied(machine, to)
    add(ledger, :after, 1..20)
    account = Mote.ask!(ledger, {:open, :x})
    Mote.ask!(account, {:pay, 7})
    followed(machine, copy)
    assert %{entries: entries, number: 2, node: node, dir: ^to} = Durable.copied(copy)
    assert entries > 40 and node == node()

    # While it follows, after its machine, and after its process.
    assert {:error, %Error{reason: :dir_taken} = error} = Ledger.start(to)

    assert Exception.message(error) =~
             "#{to} is a copy of the durable machine in #{dir} of #{node()}: a machine"

    kill(machine)
    eventually(fn -> not Process.alive?(copy) end)
    assert {:error, %Error{reason: :dir_taken}} = Ledger.start(to)

    {other, again, seen} = taken_over(to)
    assert seen == %{before: 20, after: 20}
    assert Mote.ask!(account, :balance) == 7
    add(again, :after, 21..30)
    Mote.stop(other)

    # A machine of its own.
    assert {:ok, other, again} = Ledger.start(to)
    assert {%{after: 30}, _, _, _} = Mote.ask!(again, :all)
    Mote.stop(other)

    # To which nobody copies any more.
    {:ok, machine, _ledger} = Ledger.start(dir)
    assert {:error, %Error{reason: :dir_taken} = error} = Durable.copy(machine, node: node(), dir: to)
    assert Exception.message(error) =~ "is the folder of a machine of its own"
    Mote.stop(machine)
  end

  test "images and journals of the copy follow those of the machine", %{dir: dir, to: to} do
    {:ok, machine, ledger} = Ledger.start(dir, image_every: 4_000)
    copy = copied(machine, to)
    {:ok, %{number: first}} = Durable.info(machine)

    last =
      Enum.find(Stream.iterate(1, &(&1 + 1)), fn n ->
        add(ledger, :x, n..n)
        Durable.copied(copy).number > first + 1
      end)

    followed(machine, copy)
    Mote.stop(machine)
    eventually(fn -> not Process.alive?(copy) end)
    assert {machine, _ledger, %{x: ^last}} = taken_over(to)
    Mote.stop(machine)
  end

  test "a checkpoint while nothing comes is copied", %{dir: dir, to: to} do
    {:ok, machine, ledger} = Ledger.start(dir)
    copy = copied(machine, to)
    {:ok, _} = Durable.checkpoint(machine, %{ledger: ledger, other: 1})
    {:ok, %{number: number}} = Durable.info(machine)
    eventually(fn -> Durable.copied(copy).number == number end)
    kill(machine)
    {machine, _ledger, _seen} = taken_over(to)
    assert Mote.names(machine).other == 1
    Mote.stop(machine)
  end

  describe "a copy that is begun again" do
    setup %{dir: dir, to: to} do
      {:ok, machine, ledger} = Ledger.start(dir)
      add(ledger, :x, 1..20)
      ended(copied(machine, to))
      add(ledger, :x, 21..40)
      %{machine: machine, ledger: ledger, image: inode(to, "image"), journal: inode(to, "journal")}
    end

    defp inode(to, extension), do: File.stat!(file(to, extension)).inode

    defp file(to, extension) do
      [path] = Path.wildcard(Path.join(to, "*." <> extension))
      path
    end

    # Its folder is nobody's when the process there has ended, too.
    defp ended(copy) do
      %{standby: {standby, _}} = :sys.get_state(copy)
      GenServer.stop(copy)
      eventually(fn -> not Process.alive?(standby) end)
    end

    defp again(%{machine: machine, ledger: ledger, to: to}) do
      copy = copied(machine, to)
      add(ledger, :x, 41..60)
      followed(machine, copy)
      kill(machine)
      eventually(fn -> not Process.alive?(copy) end)
      {machine, _ledger, seen} = taken_over(to)
      assert seen == %{x: 60}
      Mote.stop(machine)
    end

    test "goes on where it had ended", %{to: to} = context do
      copy = copied(context.machine, to)
      assert {inode(to, "image"), inode(to, "journal")} == {context.image, context.journal}
      ended(copy)
      again(context)
    end

    test "goes on where a write was cut off", %{to: to} = context do
      path = file(to, "journal")
      {:ok, journal} = :file.open(path, [:read, :write])
      {:ok, _} = :file.position(journal, div(File.stat!(path).size, 2) + 1)
      :ok = :file.truncate(journal)
      ended(copied(context.machine, to))
      assert inode(to, "journal") == context.journal
      again(context)
    end

    test "begins anew where its bytes are others than the machine's", %{to: to} = context do
      path = file(to, "journal")
      bytes = File.read!(path)
      at = div(byte_size(bytes), 2)
      <<before::binary-size(at), byte, rest::binary>> = bytes
      File.write!(path, [before, Bitwise.bxor(byte, 1), rest])
      ended(copied(context.machine, to))
      assert File.read!(path) |> binary_part(0, byte_size(bytes)) == bytes
      again(context)
    end

    test "begins anew where the machine does not have its journal any more", %{to: to} = context do
      before = file(to, "image")
      for _ <- 1..2, do: {:ok, _} = Durable.checkpoint(context.machine)
      ended(copied(context.machine, to))
      refute file(to, "image") == before
      again(context)
    end

    test "begins anew where half of an image has come", %{to: to} = context do
      File.rename!(file(to, "image"), file(to, "image") <> ".part")
      assert {:error, %Error{reason: :journal} = error} = Ledger.start(to, take_over: true)
      assert Exception.message(error) =~ "a copy of which not even the first image has come"
      again(context)
    end
  end

  test "the folder of another one's copy is refused", %{dir: dir, to: to} do
    {:ok, machine, _ledger} = Ledger.start(dir)
    copied(machine, to)
    Mote.stop(machine)
    File.rm_rf!(dir)
    other = dir <> "_other"
    on_exit(fn -> File.rm_rf!(other) end)
    {:ok, machine, _ledger} = Ledger.start(other)
    assert {:error, %Error{reason: :dir_taken} = error} = Durable.copy(machine, node: node(), dir: to)
    assert Exception.message(error) =~ "is a copy of the durable machine in #{dir} of"
    Mote.stop(machine)
  end

  # Where its journals are looked at, when it is to have the addresses of the first one, and at its last step, the journal of its own.
  test "a take-over that is refused leaves the copy a copy, which goes on", %{dir: dir, to: to} do
    {:ok, machine, ledger} = Ledger.start(dir)
    copy = copied(machine, to)
    add(ledger, :x, 1..20)
    followed(machine, copy)

    refused = fn opts, text ->
      assert {:error, %Error{} = error} = Mote.start_link([durable: [dir: to, take_over: true]] ++ opts)
      assert Exception.message(error) =~ text
      # Nobody else may have it.
      assert {:error, %Error{reason: :dir_taken}} = Ledger.start(to)
    end

    for {opts, text} <- [{[fuel: 1_000], "was started with fuel"}, {[], "is running on this node already"}] do
      refused.(opts, text)
      # The first machine goes on, and so does the copying.
      add(ledger, text, 1..5)
      eventually(fn -> Durable.copied(copy).state == :following end)
      followed(machine, copy)
    end

    kill(machine)
    eventually(fn -> not Process.alive?(copy) end)
    in_the_way = for n <- 2..6, do: Path.join(to, "0000000#{n}.journal.part")
    Enum.each(in_the_way, &File.mkdir!/1)
    refused.([], "its journal cannot begin")
    Enum.each(in_the_way, &File.rmdir!/1)
    assert {machine, _ledger, seen} = taken_over(to)
    assert seen == %{:x => 20, "was started with fuel" => 5, "is running on this node already" => 5}
    Mote.stop(machine)
    assert {:ok, machine, _ledger} = Ledger.start(to)
    Mote.stop(machine)
  end

  @tag :capture_log
  test "a copy that does nothing is away when its time for a step is over, and is begun again", context do
    %{dir: dir, to: to} = context
    {:ok, machine, ledger} = Ledger.start(dir)
    copy = copied(machine, to)
    %{standby: {standby, _}} = :sys.get_state(copy)
    :ok = :sys.suspend(standby)
    add(ledger, :x, 1..5)
    eventually(fn -> :sys.get_state(copy).step != nil end)
    %{step: {ref, _, timer}} = :sys.get_state(copy)
    assert Process.read_timer(timer) in 1..15_000
    # What the timer says.
    send(copy, {:late, ref})
    refute match?(%{standby: {^standby, _}}, :sys.get_state(copy))
    eventually(fn -> not Process.alive?(standby) end)
    eventually(fn -> Durable.copied(copy).state == :following end)
    followed(machine, copy)
    kill(machine)
    assert {machine, _ledger, %{x: 5}} = taken_over(to)
    Mote.stop(machine)
  end

  describe "a machine that waits for its copy" do
    setup %{dir: dir, to: to} do
      {:ok, machine, ledger} = Ledger.start(dir)
      copy = copied(machine, to, wait: true)
      add(ledger, :x, 1..20)
      %{standby: {standby, _}} = :sys.get_state(copy)
      :sys.suspend(standby)
      sending = Task.async(fn -> Mote.send(ledger, {:add, :x, 21}) end)
      # It has been accepted.
      eventually(fn -> Process.info(sending.pid, :status) == {:status, :waiting} end)
      assert Task.yield(sending, 50) == nil
      %{machine: machine, ledger: ledger, copy: copy, standby: standby, sending: sending}
    end

    test "acknowledges what that has", context do
      :sys.resume(context.standby)
      assert Task.await(context.sending) == :ok
      # At once there, with no wait for the copy.
      kill(context.machine)
      eventually(fn -> not Process.alive?(context.standby) end)
      {machine, _ledger, %{x: 21}} = taken_over(context.to)
      Mote.stop(machine)
    end

    test "acknowledges nothing when it ends", context do
      kill(context.machine)
      assert {:error, %Error{reason: :machine_down, context: %{accepted: 1}}} = Task.await(context.sending)
    end

    test "goes on alone when the copy is ended", context do
      GenServer.stop(context.copy)
      assert Task.await(context.sending) == :ok
      add(context.ledger, :x, 22..30)
      Mote.stop(context.machine)
    end

    test "goes on alone when the process that copies is killed", context do
      Process.exit(context.copy, :kill)
      assert Task.await(context.sending) == :ok
      Mote.stop(context.machine)
    end

    test "waits while the other end is away, and goes on with the next one", context do
      Process.exit(context.standby, :kill)
      assert Task.await(context.sending) == :ok
      assert %{state: :following} = Durable.copied(context.copy)
      add(context.ledger, :x, 22..30)
      Mote.stop(context.machine)
    end
  end

  test "options that are none, folders and nodes that are none, and machines that are not durable are refused",
       %{dir: dir, to: to} do
    {:ok, machine, _ledger} = Ledger.start(dir)

    for {opts, text} <- [
          {[dir: to], ":node of copy/2 to be a node"},
          {[node: node()], "the :dir of copy/2"},
          {[node: node(), dir: to, wait: 1], ":wait of copy/2 to be true or false"},
          {[node: node(), dir: to, then: 1], "options of copy/2 to be :node, :dir and :wait"}
        ] do
      assert_raise ArgumentError, ~r/#{text}/, fn -> Durable.copy(machine, opts) end
    end

    assert {:error, %Error{reason: :noconnection}} = Durable.copy(machine, node: :nobody@nowhere, dir: to)
    File.write!(to, "a file")
    assert {:error, %Error{reason: :journal}} = Durable.copy(machine, node: node(), dir: to)
    File.rm!(to)
    {:ok, copy} = Durable.copy(machine, node: node(), dir: to)

    assert {:error, %Error{reason: :copied, context: %{copy: ^copy}}} =
             Durable.copy(machine, node: node(), dir: to)

    Mote.stop(machine)
    {:ok, plain} = Mote.start_link()
    assert_raise ArgumentError, ~r/is not durable/, fn -> Durable.copy(plain, node: node(), dir: to) end
    Mote.stop(plain)
  end
end
