# How the cost of the protocol between nodes grows with their number: `mix run bench/far_simulated.exs [MESSAGES]`. Simulated nodes in one
# process, without sockets: what is measured is what `Mote.Far.Line`, `Mote.Far.Intake`, `Mote.Shards.View` and the rule of shards do
# themselves. Half a minute.
Code.require_file("load.exs", __DIR__)

defmodule FarSimulated do
  alias Mote.Address
  alias Mote.Far.{Intake, Line}
  alias Mote.Shards.Rule.Plain
  alias Mote.Shards.View

  @nodes [2, 10, 100, 300, 1_000]

  # Bytes of a message, about.
  @bytes 60

  def main(args) do
    [messages] = Mote.Bench.Rounds.numbers(args, [200_000])

    IO.puts(
      "#{messages} messages, each with an address, between two nodes that are drawn; each address is dropped there and reported"
    )

    IO.puts(row(["nodes", "us a message", "connections", "messages a parcel", "KB of state a node"]))
    for count <- @nodes, do: messages(count, messages)
    IO.puts("\nshards: one node comes to that many")
    IO.puts(row(["nodes", "messages", "ms of work, all nodes", "us to place a key", "% of the keys moved"]))
    for count <- @nodes, do: shards(count)
  end

  defp row(cells), do: Enum.map_join(cells, "", &String.pad_leading("#{&1}", 24))

  # -- addresses -----------------------------------------------------------------------------------------------

  defp messages(count, messages) do
    :rand.seed(:exsss, {1, 2, count})
    addresses = List.to_tuple(for n <- 0..(count - 1), do: address(n))
    {time, {lines, _, parcels}} = :timer.tc(fn -> run(messages, count, addresses) end)
    bytes = for({_, line} <- lines, do: :erts_debug.flat_size(line) * 8) |> Enum.sum()

    IO.puts(
      row([
        count,
        Float.round(time / messages, 2),
        map_size(lines),
        Float.round(messages / parcels, 1),
        Float.round(bytes / count / 1024, 1)
      ])
    )
  end

  # In rounds, as a courier sends what has come meanwhile: each round as many messages as nodes have connections at most.
  defp run(messages, count, addresses) do
    rounds = max(div(messages, 10_000), 1)
    each = div(messages, rounds)

    Enum.reduce(1..rounds, {%{}, %{}, 0}, fn _, world ->
      {pairs, world} =
        Enum.reduce(1..each, {MapSet.new(), world}, fn n, {pairs, {lines, intakes, parcels}} ->
          from = :rand.uniform(count) - 1
          to = rem(from + :rand.uniform(count - 1), count)
          address = elem(addresses, :rand.uniform(count) - 1)
          line = Map.get(lines, {from, to}, %Line{})
          line = Line.put(line, {:send, n, address}, @bytes, [address], address)
          {MapSet.put(pairs, {from, to}), {Map.put(lines, {from, to}, line), intakes, parcels}}
        end)

      Enum.reduce(pairs, world, &leave/2)
    end)
  end

  defp leave({from, to} = pair, {lines, intakes, parcels} = world) do
    line = lines[pair]

    if Line.ready?(line) do
      {{number, ask?, _, _}, _, line} = Line.parcel(line, :"n#{to}", true)
      {:ok, intake} = Intake.take(Map.get(intakes, pair, %Intake{}), number)
      line = if ask?, do: Line.taken(line, number), else: line
      leave({from, to}, {Map.put(lines, pair, line), Map.put(intakes, pair, intake), parcels + 1})
    else
      world
    end
  end

  defp address(n) do
    node = "n#{n}"
    machine = :erlang.binary_to_term(<<131, 90, 1::16, 119, byte_size(node), node::binary, 1::32, n::32>>)
    %Address{machine: machine, key: <<n::576>>}
  end

  # -- shards --------------------------------------------------------------------------------------------------

  defp shards(count) do
    members = for n <- 1..count, do: {:"n#{n}", n}
    new = {:new, 0}
    old = Map.new(members, &{&1, settled(&1, members)})
    all = Map.put(old, new, View.new(new))
    {time, messages} = :timer.tc(fn -> join(all, [new | members]) end)
    seeds = for {node, _} = member <- Enum.sort(members), do: {Plain.seed(node), member}
    later = for {node, _} = member <- Enum.sort([new | members]), do: {Plain.seed(node), member}
    keys = Enum.map(1..5_000, &Plain.hash/1)
    {placing, before} = :timer.tc(fn -> Enum.map(keys, &elem(Plain.owner(&1, seeds), 1)) end)

    moved =
      keys
      |> Enum.map(&elem(Plain.owner(&1, later), 1))
      |> Enum.zip(before)
      |> Enum.count(fn {a, b} -> a != b end)

    IO.puts(
      row([
        count,
        messages,
        Float.round(time / 1000, 1),
        Float.round(placing / 5_000, 2),
        Float.round(moved / 50, 2)
      ])
    )
  end

  defp settled(me, members) do
    {view, _} = View.change(View.new(me), members)
    {view, _} = View.handed(view, view.id)
    Enum.reduce(members -- [me], view, &elem(View.acked(&2, &1, view.id, view.round), 0))
  end

  # Everybody hears of it, gives away what is not its own, asks all others, and is answered.
  defp join(views, members) do
    {views, asks} =
      Enum.map_reduce(views, [], fn {me, view}, asks ->
        {view, effects} = View.change(view, members)
        {view, []} = View.handed(view, view.id)
        {{me, view}, [for({:ask, to, id, round} <- effects, do: {me, to, id, round}) | asks]}
      end)

    {_, count} =
      asks
      |> Enum.concat()
      |> Enum.reduce({Map.new(views), 0}, fn {from, to, id, round}, {views, count} ->
        {view, [{:ack, ^from, ^id, ^round}]} = View.asked(views[to], from, id, round)
        {asker, _} = View.acked(views[from], to, id, round)
        {%{views | to => view, from => %{asker | asked: views[from].asked}}, count + 2}
      end)

    count
  end
end

FarSimulated.main(System.argv())
