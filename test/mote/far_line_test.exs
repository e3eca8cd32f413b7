defmodule Mote.FarLineTest do
  # The protocol between nodes, without processes: simulated nodes, whose links are slow and deliver parcels again.
  use ExUnit.Case, async: true
  use ExUnitProperties

  alias Mote.Address
  alias Mote.Far.{Intake, Line, Luggage}

  # Bytes of an entry: a third of a parcel.
  @large 22 * 1024

  # An address of a node that is not there.
  defp address(n, node \\ "elsewhere") do
    machine = :erlang.binary_to_term(<<131, 90, 1::16, 119, byte_size(node), node::binary, 1::32, n::32>>)
    %Address{machine: machine, key: <<n::576>>}
  end

  defp put(line, entries, bytes, references \\ []),
    do: Enum.reduce(entries, line, &Line.put(&2, &1, bytes, references, nil))

  test "entries leave in order, in parcels of some 64 KB" do
    line = put(%Line{}, 1..7, @large)
    {{1, ask?, [], entries}, bytes, line} = Line.parcel(line, :there)
    assert {entries, ask?, bytes} == {[1, 2, 3], true, 3 * @large}
    {{2, _, [], [4, 5, 6]}, _, line} = Line.parcel(line, :there)
    {{3, false, [], [7]}, _, line} = Line.parcel(line, :there)
    refute Line.ready?(line)
    assert {{4, true, [], []}, 0, _} = Line.parcel(line, :there, true)
  end

  test "while enough is on its way nothing leaves; what was taken makes room" do
    line = drain(put(%Line{}, 1..100, @large))
    refute Line.ready?(line)
    waiting = Line.waiting(line)
    assert waiting > 70
    refute line |> Line.taken(0) |> Line.ready?()
    assert line |> Line.taken(1) |> Line.ready?()
    line = Line.taken(line, line.parcel - 1)
    refute Line.on_way?(line)
    assert line |> drain() |> Line.waiting() < waiting
  end

  defp drain(line),
    do: if(Line.ready?(line), do: line |> Line.parcel(:there) |> elem(2) |> drain(), else: line)

  test "a reference is announced once in a parcel, and listed until its number is let go" do
    [one, two] = [address(1), address(2)]
    line = put(%Line{}, [:a, :b], 10, [one, two, %{one | sponsor: :other}])
    {{1, _, announced, _}, _, line} = Line.parcel(line, :there)
    assert Enum.sort(for {_, address} <- announced, do: address.key) == [one.key, two.key]
    # Again: under a number of its own, which lives on when the first ones are let go.
    {{2, _, [{again, ^one}], _}, _, line} = line |> put([:c], 10, [one]) |> Line.parcel(:there)
    line = Line.let_go(line, for({number, _} <- announced, do: number))
    assert line.listed == %{again => one}
  end

  test "what goes home is not listed, and kept until it was taken in" do
    {{1, _, [{0, address}], _}, _, line} = %Line{} |> put([:a], 10, [address(1)]) |> Line.parcel(:elsewhere)
    assert line.listed == %{}
    assert [{1, 10, [^address, nil]}] = :queue.to_list(line.on_way)
  end

  test "parcels are taken in once, and in order" do
    assert {:ok, intake} = Intake.take(%Intake{}, 1)
    assert Intake.take(intake, 1) == :repeated
    assert Intake.take(intake, 3) == :gap
    assert {:ok, _} = Intake.take(intake, 2)
  end

  # Each of the nodes has an actor of its own, and sends addresses that it has to others. The field `sponsor`, of which the protocol
  # takes no notice, says by which announcement a node has an address: `{node, number}`, or `nil` of its own. A step is a kind and
  # numbers, taken modulo what there is.
  property "nothing is let go that somebody has, and in the end everything; nothing is lost, nothing comes twice" do
    check all(
            count <- integer(2..6),
            steps <-
              list_of(
                {member_of([:send, :send, :move, :move, :move, :drop, :rest]), integer(0..1000),
                 integer(0..1000), integer(0..1000)},
                max_length: 100
              )
          ) do
      world = Enum.reduce(steps, world(count), fn step, world -> step |> step(world) |> safe!() end)
      world = settle(world)
      assert Enum.sort(world.arrived) == Enum.to_list(0..(world.sent - 1)//1)
      world = settle(%{world | held: Map.new(world.held, fn {node, _} -> {node, []} end)})
      for {_, link} <- world.links, do: assert(link.line.listed == %{})
    end
  end

  defp world(count) do
    nodes = for n <- 1..count, do: :"node#{n}"

    %{
      nodes: nodes,
      held: for({node, n} <- Enum.with_index(nodes), into: %{}, do: {node, [address(n, "#{node}")]}),
      links:
        for(
          a <- nodes,
          b <- nodes,
          a != b,
          into: %{},
          do: {{a, b}, %{line: %Line{}, intake: %Intake{}, on_way: [], known: []}}
        ),
      sent: 0,
      arrived: []
    }
  end

  defp step({:send, a, b, which}, world) do
    {from, _} = pair = pair(world, a, b)

    case world.held[from] do
      [] ->
        world

      held ->
        address = Enum.at(held, rem(which, length(held)))
        target = Enum.find(held, &(Luggage.home(&1) == elem(pair, 1)))
        # Each third fills a parcel.
        bytes = if rem(which, 3) == 0, do: 3 * @large, else: 10

        world =
          update_in(
            world.links[pair].line,
            &Line.put(&1, {:send, world.sent, target}, bytes, [address], target)
          )

        %{world | sent: world.sent + 1}
    end
  end

  # What is on its way arrives, or something leaves.
  defp step({:move, a, b, _}, world) do
    pair = pair(world, a, b)
    if world.links[pair].on_way != [], do: arrive(world, pair), else: leave(world, pair, false)
  end

  defp step({:rest, a, b, _}, world), do: leave(world, pair(world, a, b), true)

  defp step({:drop, a, _, which}, world) do
    node = Enum.at(world.nodes, rem(a, length(world.nodes)))
    held = world.held[node]

    if held == [],
      do: world,
      else: report(put_in(world.held[node], List.delete_at(held, rem(which, length(held)))), node)
  end

  defp pair(%{nodes: nodes}, a, b) do
    from = rem(a, length(nodes))
    {Enum.at(nodes, from), Enum.at(nodes, rem(from + 1 + rem(b, length(nodes) - 1), length(nodes)))}
  end

  defp leave(world, {_, to} = pair, rest?) do
    link = world.links[pair]

    if Line.ready?(link.line) or (rest? and Line.on_way?(link.line)) do
      {parcel, _, line} = Line.parcel(link.line, to, rest?)
      put_in(world.links[pair], %{link | line: line, on_way: link.on_way ++ [parcel]})
    else
      world
    end
  end

  defp arrive(world, {from, to} = pair) do
    %{on_way: [{number, ask?, announced, entries} | on_way]} = link = world.links[pair]
    assert {:ok, intake} = Intake.take(link.intake, number)
    assert Intake.take(intake, number) == :repeated
    # What it is for is still there.
    for {:send, _, target} <- entries, target != nil, do: assert(alive?(world, to, target))
    for {0, address} <- announced, do: assert(alive?(world, to, address))
    line = if ask?, do: Line.taken(link.line, number), else: link.line
    known = for {n, _} when n > 0 <- announced, do: n
    link = %{link | line: line, intake: intake, on_way: on_way, known: known ++ link.known}
    world = put_in(world.links[pair], link)
    got = for {n, address} <- announced, do: %{address | sponsor: if(n > 0, do: {from, n})}
    world = update_in(world.held[to], &(got ++ &1))
    world = %{world | arrived: for({:send, n, _} <- entries, do: n) ++ world.arrived}

    world =
      for {:let_go, numbers} <- entries, reduce: world do
        world -> update_in(world.links[{to, from}].line, &Line.let_go(&1, numbers))
      end

    world |> report(from) |> report(to)
  end

  # Everything that a node has: what it holds, what waits, what is listed, what is kept until it was taken in.
  defp has(world, node) do
    lines = for {{^node, _}, %{line: line}} <- world.links, do: line

    waiting =
      for line <- lines, {_, _, references, target} <- :queue.to_list(line.waiting), do: [target | references]

    kept = for line <- lines, {_, _, kept} <- :queue.to_list(line.on_way), do: kept
    listed = for line <- lines, do: Map.values(line.listed)
    Enum.concat([[world.held[node]], waiting, kept, listed] |> Enum.concat()) |> Enum.reject(&is_nil/1)
  end

  defp alive?(world, home, address),
    do: Enum.any?(has(world, home), &(Luggage.key(&1) == Luggage.key(address)))

  # What it has no more of what others have announced to it.
  defp report(world, node) do
    claims = for %{sponsor: {from, n}} <- has(world, node), into: MapSet.new(), do: {from, n}

    for {{from, ^node} = pair, link} <- world.links, reduce: world do
      world ->
        {known, gone} = Enum.split_with(link.known, &({from, &1} in claims))
        world = put_in(world.links[pair].known, known)

        if gone == [],
          do: world,
          else: update_in(world.links[{node, from}].line, &Line.put(&1, {:let_go, gone}, 0, [], nil))
    end
  end

  # What a node has by an announcement is listed by whom it has it from.
  defp safe!(world) do
    for node <- world.nodes, %{sponsor: {from, n}} = address <- has(world, node) do
      assert Luggage.key(world.links[{from, node}].line.listed[n]) == Luggage.key(address)
    end

    world
  end

  defp settle(world) do
    moved =
      for {pair, _} <- world.links, reduce: world do
        world ->
          world = if world.links[pair].on_way == [], do: leave(world, pair, true), else: world
          if world.links[pair].on_way == [], do: world, else: world |> arrive(pair) |> safe!()
      end

    quiet? =
      Enum.all?(moved.links, fn {_, %{line: line, on_way: way}} ->
        way == [] and not Line.ready?(line) and not Line.on_way?(line)
      end)

    reported = Enum.reduce(moved.nodes, moved, &report(&2, &1))
    if quiet? and reported == moved, do: moved, else: settle(reported)
  end
end
