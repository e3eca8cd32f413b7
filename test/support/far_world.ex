defmodule Mote.FarWorld do
  @moduledoc """
  The protocol between any number of simulated nodes, without processes: `Mote.Far.Line` and `Mote.Far.Intake` of each pair that talks,
  over links that are slow, repeat parcels, and are lost.

  Each node has an actor of its own, and sends addresses that it has to others. The field `sponsor`, of which the protocol takes no
  notice, says by which announcement a node has an address: `{node, connection, number}`, or `nil` of its own.

  What must hold is checked at each step, for the two nodes that have to do with it:

    * what a node has by an announcement is listed by whom it has it from, as long as that connection lives;
    * what a parcel is for, and what comes home, is still there;
    * a parcel that is repeated is not taken in.
  """

  alias Mote.{Address, FarRig}
  alias Mote.Far.{Intake, Line, Luggage}

  # Bytes of an entry: a third of a parcel.
  @large 22 * 1024

  defstruct count: 0,
            held: %{},
            links: %{},
            peers: %{},
            connections: %{},
            sent: 0,
            arrived: MapSet.new(),
            lost: MapSet.new()

  @doc "That many nodes, which have sent nothing yet."
  def new(count) do
    %__MODULE__{count: count, held: for(n <- 0..(count - 1), into: %{}, do: {n, [address(n)]})}
  end

  @doc "The address of the actor of a node."
  def address(n), do: FarRig.address_of("node#{n}", n)

  @doc """
  One step: a kind, and numbers that choose among what there is. `:send` sends an address, `:move` lets something arrive or leave, `:rest`
  lets everything leave and asks, `:drop` forgets an address, `:cut` ends a connection with all that is on its way.
  """
  def step({:send, a, b, which}, world) do
    {from, to} = pair = pair(world, a, b)

    case world.held[from] do
      [] ->
        world

      held ->
        address = Enum.at(held, rem(which, length(held)))
        target = Enum.find(held, &(home(&1) == to))
        bytes = if rem(which, 3) == 0, do: 3 * @large, else: 10
        world = put(world, pair, {:send, world.sent, target}, bytes, [address], target)
        %{world | sent: world.sent + 1}
    end
  end

  def step({:move, a, b, _}, world) do
    pair = pair(world, a, b)

    case world.links do
      %{^pair => %{way: [_ | _]}} -> arrive(world, pair)
      %{^pair => _} -> leave(world, pair, false)
      _ -> world
    end
  end

  def step({:rest, a, b, _}, world) do
    pair = pair(world, a, b)
    if is_map_key(world.links, pair), do: leave(world, pair, true), else: world
  end

  def step({:drop, a, _, which}, world) do
    node = rem(a, world.count)

    case world.held[node] do
      [] -> world
      held -> report(put_in(world.held[node], List.delete_at(held, rem(which, length(held)))), node)
    end
  end

  def step({:cut, a, b, _}, world) do
    {from, to} = pair(world, a, b)
    world = Enum.reduce([{from, to}, {to, from}], world, &cut(&2, &1))
    world |> report(from) |> report(to)
  end

  defp pair(%{count: count}, a, b) do
    from = rem(a, count)
    {from, rem(from + 1 + rem(b, count - 1), count)}
  end

  defp home(%Address{key: <<n::576>>}), do: n

  # -- links ---------------------------------------------------------------------------------------------------

  defp link(world, {from, to} = pair) do
    case world.links do
      %{^pair => _} ->
        world

      links ->
        connection = Map.get(world.connections, pair, 0)

        new = %{
          line: %Line{},
          listed: %{},
          intake: %Intake{},
          way: [],
          known: MapSet.new(),
          connection: connection
        }

        peers =
          Enum.reduce([{from, to}, {to, from}], world.peers, fn {a, b}, peers ->
            Map.update(peers, a, [b], &Enum.uniq([b | &1]))
          end)

        %{world | links: Map.put(links, pair, new), peers: peers}
    end
  end

  defp put(world, pair, entry, bytes, references, target) do
    world = link(world, pair)
    update_in(world.links[pair].line, &Line.put(&1, entry, bytes, references, target))
  end

  defp leave(world, {_, to} = pair, rest?) do
    link = world.links[pair]

    if Line.ready?(link.line) or (rest? and Line.on_way?(link.line)) do
      {{_, _, announced, _} = parcel, _, line} = Line.parcel(link.line, :"node#{to}", rest?)
      listed = for {n, address} when n > 0 <- announced, into: link.listed, do: {n, address}
      put_in(world.links[pair], %{link | line: line, listed: listed, way: link.way ++ [parcel]})
    else
      world
    end
  end

  defp arrive(world, {from, to} = pair) do
    %{way: [{number, ask?, announced, entries} | way]} = link = world.links[pair]
    {:ok, intake} = Intake.take(link.intake, number)
    :repeated = Intake.take(intake, number)
    # What it is for is still there.
    for {:send, _, %Address{sponsor: _} = target} <- entries, do: must(has?(world, to, target), :target)
    for {0, address} <- announced, do: must(has?(world, to, address), :returning)
    line = if ask?, do: Line.taken(link.line, number), else: link.line
    known = for {n, _} when n > 0 <- announced, into: link.known, do: n
    world = put_in(world.links[pair], %{link | line: line, intake: intake, way: way, known: known})
    got = for {n, address} <- announced, do: %{address | sponsor: if(n > 0, do: {from, link.connection, n})}
    world = update_in(world.held[to], &(got ++ &1))
    world = Enum.reduce(entries, world, &entry(&1, pair, &2))
    world |> report(from) |> report(to)
  end

  defp entry({:send, n, _}, _pair, world) do
    must(n not in world.arrived, :twice)
    %{world | arrived: MapSet.put(world.arrived, n)}
  end

  defp entry({:let_go, connection, numbers}, {from, to}, world) do
    case world.links do
      %{{^to, ^from} => %{connection: ^connection}} ->
        update_in(world.links[{to, from}].listed, &Map.drop(&1, numbers))

      _ ->
        world
    end
  end

  # Nothing of it arrives any more, and nothing is listed for it.
  defp cut(world, pair) do
    case Map.pop(world.links, pair) do
      {nil, _} ->
        world

      {link, links} ->
        entries =
          for({entry, _} <- Line.waiting(link.line), do: entry) ++
            for({_, _, _, entries} <- link.way, entry <- entries, do: entry)

        lost = for {:send, n, _} <- entries, into: world.lost, do: n
        %{world | links: links, lost: lost, connections: Map.update(world.connections, pair, 1, &(&1 + 1))}
    end
  end

  # -- what nodes have -----------------------------------------------------------------------------------------

  # All that a node has: what it holds, what waits, what is listed, what is kept until it was taken in.
  defp has(world, node) do
    of_links =
      for peer <- Map.get(world.peers, node, []),
          %{line: line, listed: listed} <- List.wrap(world.links[{node, peer}]) do
        waiting = for {_, _, references, target} <- :queue.to_list(line.waiting), do: [target | references]
        kept = for {_, _, _, kept} <- :queue.to_list(line.on_way), do: kept
        [Map.values(listed) | waiting ++ kept]
      end

    [world.held[node], of_links] |> List.flatten() |> Enum.reject(&is_nil/1)
  end

  # What came over a connection that is lost may be gone, and so may what was passed on of it.
  defp has?(world, home, address) do
    map_size(world.connections) > 0 or Enum.any?(has(world, home), &(Luggage.key(&1) == Luggage.key(address)))
  end

  # It says what it has no more of what others have announced to it; and what it has is listed there.
  defp report(world, node) do
    claims = for %{sponsor: {_, _, _} = claim} = address <- has(world, node), do: {claim, address}

    for {{from, connection, n}, address} <- claims,
        %{connection: ^connection} = link <- List.wrap(world.links[{from, node}]) do
      must(listed?(link, n, address), {:listed, n})
    end

    claims = for {claim, _} <- claims, into: MapSet.new(), do: claim

    for from <- Map.get(world.peers, node, []), link = world.links[{from, node}], reduce: world do
      world ->
        {known, gone} = Enum.split_with(link.known, &({from, link.connection, &1} in claims))

        if gone == [] do
          world
        else
          world = put_in(world.links[{from, node}].known, MapSet.new(known))
          put(world, {node, from}, {:let_go, link.connection, gone}, 0, [], nil)
        end
    end
  end

  defp listed?(%{listed: listed}, n, address),
    do: is_map_key(listed, n) and Luggage.key(listed[n]) == Luggage.key(address)

  defp must(true, _what), do: :ok
  defp must(_, what), do: raise("the protocol does not keep #{inspect(what)}")

  # -- the end -------------------------------------------------------------------------------------------------

  @doc "Lets everything that is on its way arrive, until nothing moves."
  def settle(world) do
    moved =
      for {pair, _} <- world.links, reduce: world do
        world ->
          world = if world.links[pair].way == [], do: leave(world, pair, true), else: world
          if world.links[pair].way == [], do: world, else: arrive(world, pair)
      end

    if Enum.all?(moved.links, fn {_, %{line: line, way: way}} ->
         way == [] and not Line.ready?(line) and not Line.on_way?(line)
       end),
       do: moved,
       else: settle(moved)
  end

  @doc "Everybody forgets everything, also the own actor."
  def forget(world) do
    world = %{world | held: Map.new(world.held, fn {node, _} -> {node, []} end)}
    Enum.reduce(Map.keys(world.held), world, &report(&2, &1))
  end

  @doc "How many announcements are listed."
  def listed(world), do: Enum.sum(for {_, %{listed: listed}} <- world.links, do: map_size(listed))
end
