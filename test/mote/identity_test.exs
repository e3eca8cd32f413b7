defmodule Mote.IdentityTest do
  # Machines with an identity: addresses of an earlier life. The keys in an image: native/mote_vm/tests/vm/image.rs. On several
  # nodes: far_identity_test.exs.
  use ExUnit.Case, async: true

  import Bitwise, only: [bxor: 2]
  import Mote.Eventually

  alias Mote.{Directory, Error, Image}

  defmodule Behaviours do
    @moduledoc false
    use Mote.Behaviour

    # Answers whoever asks next with what the one before has asked.
    defactor late(before) do
      {customer, request} ->
        if before != nil, do: send(elem(before, 0), elem(before, 1))
        become late({customer, request})
    end

    defactor sum(n) do
      {:add, more} ->
        become sum(n + more)

      {customer, :read} ->
        send customer, n

      {customer, {:add, more}} ->
        send customer, n + more
        become sum(n + more)
    end

    defactor tells(other) do
      {customer, :other} -> send customer, other
      {:tell, message} -> send other, message
      {:now, other} -> become tells(other)
    end

    defdirectory counters() do
      _key -> sum(0)
    end
  end

  alias Behaviours, as: B

  setup do
    name = "mote_identity_#{System.unique_integer([:positive])}"
    path = Path.join(System.tmp_dir!(), name)
    on_exit(fn -> File.rm(path) end)
    Process.flag(:trap_exit, true)
    {:ok, path: path, identity: name, machine: start!(identity: name)}
  end

  defp start!(opts) do
    {:ok, machine} = Mote.start_link(opts)
    machine
  end

  # Another life of the machine, as of this moment.
  defp again(context, opts \\ []) do
    names = Keyword.get(opts, :names, %{})
    {:ok, _} = Mote.save(context.machine, context.path, names: names)
    Mote.stop(context.machine)
    start!([identity: context.identity, image: context.path] ++ Keyword.delete(opts, :names))
  end

  defp counter(context, n \\ 0), do: Mote.create(context.machine, B.sum(n))

  # The same address as another node, or an earlier start of this one, would have written it.
  defp written_by(address, change) do
    <<131, 90, words::16, 119, size, node::binary-size(size), creation::32, rest::binary>> =
      :erlang.term_to_binary(address.machine, minor_version: 2) |> utf8()

    {node, creation} = change.(node, creation)
    reference = <<131, 90, words::16, 119, byte_size(node), node::binary, creation::32, rest::binary>>
    %{address | machine: :erlang.binary_to_term(reference)}
  end

  # Before OTP 26 names of nodes are written in another way.
  defp utf8(<<131, 90, words::16, 100, size::16, rest::binary>>),
    do: <<131, 90, words::16, 119, size, rest::binary>>

  defp utf8(written), do: written

  defp restarted(node, creation), do: {node, rem(creation + 1, 1_000) + 1}

  test "whatever is done with an old address is done to the actor of the new machine", context do
    [one, two] = for n <- [1, 2], do: counter(context, n)
    late = Mote.create(context.machine, B.late(nil))
    teller = Mote.create(context.machine, B.tells(one))
    on = Mote.on(:main, two)
    machine = again(context)
    assert Mote.ask!(one, :read) == 1
    assert Mote.ask!(on, {:add, 1}) == 3
    :ok = Mote.send(one, {:add, 1})
    :ok = Mote.send_many(two, [{:add, 1}, {:add, 1}])
    :ok = Mote.send_many([{one, {:add, 1}}, {two, {:add, 1}}])
    assert Mote.ask_all([one, two], :read) == [{:ok, 3}, {:ok, 6}]
    # One that waits, and one that is answered later.
    first = Mote.async(late, :a)
    second = Task.async(fn -> Mote.ask(late, :b) end)
    assert Mote.await(first) == :a
    assert {:error, %Error{reason: :timeout}} = Mote.ask(late, :c, 1)
    assert Task.await(second) == {:ok, :b}
    assert Mote.peek(one) == {:ok, {:sum, 3}}
    assert inspect(Mote.info(one).behaviour) =~ "sum(3)"
    assert [_] = Mote.graph(one).nodes
    assert Mote.machine(one).pid == machine
    assert inspect(one) =~ ~r/^#Mote.Address<[0-9a-z]+>$/
    assert Mote.lend(one, 60_000) == one
    # In messages: it is the actor, under its new address.
    Mote.send(teller, {:now, two})
    new = Mote.ask!(teller, :other)
    assert new.key == two.key and new.machine != two.machine
    assert Mote.ask!(new, :read) == 6
    timer = Mote.send_after(one, {:add, 100}, 60_000)
    assert Mote.cancel_timer(timer) in 1..60_000
    Mote.send_after(one, {:add, 10}, 0)
    assert eventually(fn -> Mote.ask!(one, :read) == 13 end)
    reference = Mote.monitor(one)
    Mote.stop(machine)
    assert_receive {:DOWN, ^reference, _, _, _}
    assert {:error, %Error{reason: :machine_down}} = Mote.ask(one, :read)
  end

  test "the address in a row of a database, of an earlier start of this node, and of another one", context do
    kept = counter(context, 7) |> Mote.retain()
    row = :erlang.term_to_binary(kept)
    restarted = written_by(kept, &restarted/2)
    elsewhere = written_by(kept, fn node, creation -> {String.replace(node, ~r/^./, "x"), creation} end)
    refute restarted == kept
    assert node(elsewhere.machine) != node()
    machine = again(context)
    assert Mote.ask!(:erlang.binary_to_term(row), :read) == 7

    for address <- [restarted, elsewhere] do
      :ok = Mote.send(address, {:add, 1})
      assert {:ok, _} = Mote.ask(address, :read)
      assert [{:ok, _}] = Mote.ask_all([address], :read)
      assert address |> Mote.async(:read) |> Mote.await() |> is_integer()
    end

    assert Mote.ask!(kept, :read) == 9
    # In a message, it is the actor.
    teller = Mote.create(machine, B.tells(restarted))
    Mote.send(teller, {:tell, {:add, 1}})
    # By a process that is gone after that, with what it holds.
    here = Task.async(fn -> Mote.ask!(teller, :other).machine end)
    assert Task.await(here) == teller.machine
    assert Mote.ask!(kept, :read) == 10
    :ok = Mote.release(restarted)
    # The terms that this test has are of the machine that has ended: they hold nothing here.
    :erlang.garbage_collect()
    Mote.send(teller, {:now, nil})
    Mote.drain(machine)
    Mote.gc(machine)
    assert {:error, %Error{reason: :unknown_address}} = Mote.ask(kept, :read)
    assert_raise Error, ~r/no running machine/, fn -> Mote.retain(kept) end
  end

  test "addresses of all lives before work, and those that were given later do not", context do
    kept = counter(context)

    Enum.reduce(1..3, context, fn n, context ->
      {:ok, _} = Mote.save(context.machine, context.path)
      later = counter(context)
      Mote.stop(context.machine)
      machine = start!(identity: context.identity, image: context.path)
      assert Mote.ask!(kept, {:add, 1}) == n
      assert {:error, %Error{reason: :unknown_address}} = Mote.ask(later, :read)
      forged = %{kept | key: later.key}
      assert {:error, %Error{reason: :unknown_address}} = Mote.ask(forged, :read)
      %{context | machine: machine}
    end)
  end

  test "a directory, and what it has, are found by old addresses, pinned ones as well", context do
    Mote.stop(context.machine)
    sponsors = [main: [threads: 1], other: [threads: 2], third: [threads: 1]]
    context = %{context | machine: start!(identity: context.identity, sponsors: sponsors)}
    counters = Directory.start(context.machine, B.counters())
    Directory.ask!(counters, :a, {:add, 1})

    pinned = for name <- [:third, :other, :main], do: Mote.create(context.machine, B.sum(3), sponsor: name)

    again(context, sponsors: Enum.reverse(sponsors))
    assert Directory.ask!(counters, :a, {:add, 1}) == 2
    for actor <- pinned, _ <- 1..20, do: Mote.ask!(actor, {:add, 1})

    assert Enum.map(pinned, &{Mote.ask!(&1, :read), Mote.info(&1).sponsor}) == [
             {23, :third},
             {23, :other},
             {23, :main}
           ]
  end

  test "of one identity, one machine runs: the other is named", context do
    assert {:error, %Error{reason: :identity_taken} = error} = Mote.start_link(identity: context.identity)
    assert error.context.machine == context.machine
    assert Exception.message(error) =~ inspect(context.machine)
    Mote.stop(context.machine)
    name = :"named_#{context.identity}"
    start!(identity: context.identity, name: name)
    {:error, error} = Mote.start_link(identity: context.identity)
    assert Exception.message(error) =~ inspect(name)
    # One that is killed has given it up when its supervisor starts another.
    for _ <- 1..20 do
      pid = Process.whereis(name)
      reference = Process.monitor(pid)
      Process.exit(pid, :kill)
      assert_receive {:DOWN, ^reference, _, _, _}
      start!(identity: context.identity, name: name)
    end
  end

  test "an image of another identity is refused; without an identity, old addresses are dead", context do
    kept = counter(context, 7)
    {:ok, image} = Mote.save(context.machine, context.path, names: %{kept: kept})
    assert %{identity: identity, kept: 1, actors: 1} = image
    assert identity == context.identity
    assert {:ok, %{identity: ^identity, kept: 1}} = Image.read(context.path)
    Mote.stop(context.machine)
    {:error, %Error{reason: :image} = error} = Mote.start_link(identity: "another", image: context.path)

    assert Exception.message(error) =~
             ~s(it is an image of the identity "#{identity}", and the machine has "another")

    copy = start!(image: context.path)
    assert {:error, %Error{reason: :machine_down}} = Mote.ask(kept, :read)
    assert Mote.ask!(Mote.names(copy).kept, :read) == 7
    # It has none, so what is saved of it has none. It may get one.
    assert {:ok, %{identity: nil, kept: 0}} = Mote.save(copy, context.path)
    Mote.stop(copy)
    named = start!(image: context.path, identity: identity)
    assert {:error, %Error{reason: :machine_down}} = Mote.ask(kept, :read)
    assert Mote.ask!(Mote.names(named).kept, :read) == 7
  end

  test "a question by an old address can be looked at", context do
    late = Mote.create(context.machine, B.late(nil))
    machine = again(context)
    asked = Mote.async(late, :x)
    Mote.drain(machine)
    assert [%{behaviour: {B, :late, 1}, asker: asker}] = Mote.waiting(asked)
    assert asker == self()
    {:error, error} = Mote.ask(late, :y, 1)
    assert [%{behaviour: {B, :late, 1}}] = Mote.waiting(error)
  end

  # The same image, of another identity.
  defp forged(context) do
    <<head::binary-size(24), _sum::64, bytes::binary>> = File.read!(context.path)
    <<first, rest::binary>> = context.identity
    bytes = :binary.replace(bytes, <<first, rest::binary>>, <<first + 1, rest::binary>>)
    File.write!(context.path, [head, <<checksum(bytes)::64-little>>, bytes])
    <<first + 1, rest::binary>>
  end

  # Of the only block, as native/mote_vm/src/image/blocks.rs has it.
  defp checksum(bytes) do
    length = div(byte_size(bytes), 32) * 32
    <<whole::binary-size(length), rest::binary>> = bytes
    words = for <<word::64-little <- whole>>, do: word
    lanes = for lane <- 1..4, do: mix(0, lane)

    lanes =
      words |> Enum.chunk_every(4) |> Enum.reduce(lanes, &Enum.zip_with(&2, &1, fn a, b -> mix(a, b) end))

    rest = for <<byte <- rest>>, reduce: byte_size(bytes), do: (sum -> mix(sum, byte))
    Enum.reduce(lanes, rest, &mix(&2, &1))
  end

  defp mix(sum, word) do
    <<high::29, low::35>> = <<bxor(sum, word) * 0x9E3779B97F4A7C15::64>>
    <<mixed::64>> = <<low::35, high::29>>
    mixed
  end

  test "an image cannot take over the addresses of a machine that runs", context do
    kept = counter(context, 7)

    taken_over = fn ->
      other = forged(context)
      {:error, %Error{reason: :image} = error} = Mote.start_link(identity: other, image: context.path)

      assert Exception.message(error) =~
               ~s(it names a life of the machine with the identity "#{context.identity}", which runs)
    end

    {:ok, _} = Mote.save(context.machine, context.path)
    taken_over.()
    context = %{context | machine: again(context)}
    {:ok, _} = Mote.save(context.machine, context.path)
    taken_over.()
    assert Mote.ask!(kept, :read) == 7
    {:ok, _} = Mote.save(context.machine, context.path)
    Mote.stop(context.machine)
    start!(identity: context.identity, image: context.path)
    assert Mote.ask!(kept, :read) == 7
  end

  test "what was kept is let go of, and then collected", context do
    [one, two] = for _ <- 1..2, do: counter(context)
    machine = again(context)
    Mote.gc(machine)
    assert Mote.info(machine).gc.live_actors == 2
    assert Mote.release(one) == :ok
    assert_raise Error, fn -> Mote.release(one) end
    Mote.gc(machine)
    assert Mote.info(machine).gc.live_actors == 1
    assert Mote.retain(two) == two
    assert_raise ArgumentError, ~r/expected an address, got: 7/, fn -> Mote.release(7) end
  end

  test "options", %{path: path} do
    for wrong <- [:market, "", String.duplicate("x", 256), <<255>>] do
      assert_raise ArgumentError, ~r/expected :identity to be a text of 1 to 255 bytes/, fn ->
        Mote.start_link(identity: wrong, image: path)
      end
    end
  end
end
