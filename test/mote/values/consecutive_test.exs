defmodule Mote.ConsecutiveTest.Actors do
  use Mote.Behaviour

  defactor idle() do
    _ -> :ok
  end

  defactor log(entries \\ []) do
    {customer, :entries} -> send customer, entries
    entry -> become entries: [entry | entries]
  end

  defdirectory logs() do
    _ -> log()
  end

  defactor user(directory) do
    {:send, key, message} -> Mote.Directory.send(directory, key, message)
    {customer, {:shard, key}} -> send customer, Mote.Directory.shard(directory, key)
  end

  defactor stock(goods, n) do
    {customer, :read} -> send customer, {goods, n}
    more -> become n: n + more
  end

  defactor reader() do
    {customer, {:elements, table, places}} ->
      send customer, {tuple_size(table), for(i <- places, do: elem(table, i))}

    {customer, {:same, table, i, address}} when elem(table, i) == address ->
      send customer, true

    {customer, {:same, _, _, _}} ->
      send customer, false

    {customer, {:put, table, i, x}} ->
      table = put_elem(table, i, x)
      send customer, {elem(table, i), elem(table, i + 1)}

    {customer, {:whole, table}} ->
      send customer, {is_tuple(table), table == List.to_tuple(Tuple.to_list(table)), table}
  end
end

defmodule Mote.ConsecutiveTest do
  # Many addresses of actors that lie one behind the other, as the shards of a directory do: a machine computes the elements
  # of a tuple of them. Nobody may see that.
  use ExUnit.Case, async: true

  alias Mote.ConsecutiveTest.Actors
  alias Mote.{Directory, Machine}
  alias Mote.Machine.Creator

  @count 3_000

  for tier <- [:native, :interp] do
    test "elements of a table are those that Elixir sees (#{tier})" do
      machine = start_supervised!({Mote, tier: unquote(tier)})
      {:ok, native} = Machine.fetch(machine)
      {:ok, row} = Creator.create_row(native, Actors.idle(), @count, nil)
      reader = Mote.create(machine, Actors.reader())
      [first, second | rest] = row
      [last | _] = Enum.reverse(row)

      tables = [
        row,
        Enum.reverse(row),
        [second, first | rest],
        [first, first | rest],
        List.replace_at(row, 2_000, :none),
        List.replace_at(row, @count - 1, first),
        [nil | tl(row)],
        Enum.take(row, 100)
      ]

      places = [0, 1, 2, 77, 99]

      for list <- tables, _again <- 1..3 do
        table = List.to_tuple(list)
        far = [tuple_size(table) - 1, div(tuple_size(table), 2) | places]
        expected = {tuple_size(table), for(i <- far, do: elem(table, i))}
        assert Mote.ask!(reader, {:elements, table, far}) == expected
        assert Mote.ask!(reader, {:same, table, 1, Enum.at(list, 1)})
        refute Mote.ask!(reader, {:same, table, 2, self()})
        # There is no such element.
        refute Mote.ask!(reader, {:same, table, tuple_size(table), last})
        refute Mote.ask!(reader, {:same, table, -1, last})
        assert {true, true, ^table} = Mote.ask!(reader, {:whole, table})
        assert Mote.ask!(reader, {:put, table, 1, :changed}) == {:changed, Enum.at(list, 2)}
      end

      assert {:error, %{reason: :aborted}} = Mote.ask(reader, {:elements, List.to_tuple(row), [@count]})
    end
  end

  test "each shard of a directory is found, in behaviours as from Elixir" do
    machine = start_supervised!(Mote)
    directory = Directory.start(machine, Actors.logs(), shards: 5_000)
    user = Mote.create(machine, Actors.user(directory))
    keys = Enum.to_list(1..20_000//7)
    :ok = Mote.gc(machine)
    for key <- keys, do: assert(Mote.ask!(user, {:shard, key}) == Directory.shard(directory, key))
    for key <- keys, do: Mote.send(user, {:send, key, {:entry, key}})
    :ok = Mote.drain(machine)
    assert Directory.count(directory) == length(keys)
    for key <- keys, do: assert(Directory.ask!(directory, key, :entries) == [entry: key])
  end

  test "a row of a behaviour with captures shares them, and each changes its own" do
    machine = start_supervised!(Mote)
    {:ok, native} = Machine.fetch(machine)
    {:ok, row} = Creator.create_row(native, Actors.stock(:tea, 5), 1_500, nil)
    for {actor, i} <- Enum.with_index(row), rem(i, 2) == 0, do: Mote.send(actor, i)
    :ok = Mote.drain(machine)
    :ok = Mote.gc(machine)

    for {actor, i} <- Enum.with_index(row) do
      assert Mote.ask!(actor, :read) == {:tea, if(rem(i, 2) == 0, do: 5 + i, else: 5)}
    end
  end
end
