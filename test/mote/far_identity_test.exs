defmodule Mote.FarIdentityTest do
  # Addresses that another node keeps while the machine that they lead to goes on in another start of its node, or on a third one. On
  # one node: identity_test.exs.
  use ExUnit.Case, async: true

  import Mote.FarRig, only: [at: 3]
  import Mote.Eventually

  alias Mote.{Actors, Error, Image, Mesh, Native}

  @moduletag skip: Mesh.missing()

  setup do
    path = Path.join(System.tmp_dir!(), "mote_far_identity_#{System.unique_integer([:positive])}")
    on_exit(fn -> File.rm(path) end)
    {:ok, [{home, home_node}, {away, away_node}]} = Mesh.start(["home", "away"])
    :ok = at(home, :machine, [Home, [identity: "market"]])
    :ok = at(away, :machine, [Away])
    {:ok, path: path, home: home, home_node: home_node, away: away, away_node: away_node}
  end

  defp save(context) do
    {:ok, image} = :peer.call(context.home, Mote, :save, [Home, context.path])
    :peer.stop(context.home)
    image
  end

  defp go_on(peer, context), do: :ok = at(peer, :machine, [Home, [identity: "market", image: context.path]])

  defp joined(peers, context) do
    Mesh.connect(peers)
    # The porter of the connection before has to end first.
    eventually(fn -> context.away_node in :peer.call(elem(hd(peers), 0), Node, :list, []) end)
  end

  test "after its node was started again", context do
    address = at(context.home, :create, [Home, Actors.echo()])
    assert at(context.away, :ask, [address, 1]) == {:ok, 1}
    assert %{kept: 1, actors: 1} = save(context)
    {again, again_node} = Mesh.start_named(context.home_node)
    assert again_node == context.home_node
    assert joined([{again, again_node}, {context.away, context.away_node}], context)
    # Nobody is there yet.
    assert {:error, %Error{reason: reason}} = at(context.away, :ask, [address, 2])
    assert reason in [:unknown_address, :machine_down]
    go_on(again, context)
    assert at(context.away, :ask, [address, 3]) == {:ok, 3}
    assert at(again, :ask, [address, 4]) == {:ok, 4}
    # By actors, and in messages, which make of it the address of today.
    assert at(context.away, :ask_through, [Away, address, 5]) == {:ok, 5}
    assert {:ok, today} = at(context.away, :ask, [address, address])
    assert today.key == address.key
    assert at(context.away, :ask, [today, 6]) == {:ok, 6}
    assert at(context.away, :ask_all, [[address, today], 7]) == [{:ok, 7}, {:ok, 7}]
    assert at(context.away, :keep, [address]) == :ok
  end

  test "an image makes no more atoms than it may", context do
    name = "unknown_here_#{System.unique_integer([:positive])}"
    code = "Mote.save(Home, path, names: %{it: String.to_atom(name)})"
    bindings = [path: context.path, name: name]
    {{:ok, _}, _} = :peer.call(context.home, Code, :eval_string, [code, bindings])
    assert {:error, text} = Native.image_open(context.path, {1, :erlang.system_info(:atom_count)})
    assert text =~ ~r/ it has [1-9]\d? atoms that are new to this node, and images may make 0 more: /
    assert_raise ArgumentError, fn -> String.to_existing_atom(name) end
    assert {:ok, %Image{}} = Image.read(context.path)
    {:ok, machine} = Mote.start_link(image: context.path)
    assert to_string(Mote.names(machine).it) == name
  end

  test "atoms of an image that was read before are not counted twice", context do
    code = "Mote.save(Home, path, names: for(n <- 1..3_000, into: %{}, do: {:\"once_\#{name}_\#{n}\", n}))"
    bindings = [path: context.path, name: System.unique_integer([:positive])]
    {{:ok, _}, _} = :peer.call(context.home, Code, :eval_string, [code, bindings])
    opens? = fn most -> match?({:ok, _, _, _}, Native.image_open(context.path, {most, 0})) end
    # So there is no room for as many once more.
    most = Enum.find(1_000..1_000_000//1_000, opens?)
    assert opens?.(most)
  end

  test "on a third node, for whoever is there", context do
    address = at(context.home, :create, [Home, Actors.echo()])
    save(context)
    go_on(context.away, context)
    assert at(context.away, :ask, [address, 1]) == {:ok, 1}
    assert at(context.away, :ask_through, [Away, address, 2]) == {:ok, 2}
    assert [{:ok, 3}] = at(context.away, :ask_all, [[address], 3])
  end
end
