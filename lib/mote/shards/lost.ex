defmodule Mote.Shards.Lost do
  # Lets go of keys of this node whose actors a program has moved (`Mote.move/3`) to where they are gone: so the next message
  # starts them afresh. It runs in a process of its own, when a node has gone.
  #
  # 1. All keys of the node are looked at, some microseconds each: nobody knows which of them have moved. So it is done only
  #    where a program has ever moved an actor to another node (`Mote.Move.abroad?/0`).
  # 2. An actor that is held is looked at again until it is not: the node that has gone may have taken it in before.
  # 3. A key is let go only if it still leads to the actor that was looked at.
  # 4. Each node judges its own connections: an actor that has moved on from another node is looked for by that one.
  # 5. An actor may be there although the connection has ended, if there is another one by now. Nothing holds it any more by that
  #    connection, from either side: so each actor that forwards to such a node, or is on one, is made to hold the next place again.
  # 6. Actors that are held are waited for when all others have been looked at: a move may take as long as it likes.
  @moduledoc false

  alias Mote.{Address, Behaviour, Error, Far, Move, Native}
  alias Mote.Far.Call
  alias Mote.Machine.{Question, Request}
  alias Mote.Move.Ways

  # How many actors are asked at the same time: one by one, each would wake a thread of the machine.
  @together 100

  # Milliseconds to wait for each of their answers.
  @patience 5_000

  # Milliseconds until it looks again at actors that move.
  @again 100

  @doc """
  Returns the keys that were let go, by the node that their actors were on; `nodes` are those that have gone. Runs to the end; or, if it is
  told `:enough`, until it would only wait for actors that are held.
  """
  @spec let_go(tuple, [node]) :: %{node => [term]}
  def let_go(fronts, nodes) do
    fronts
    |> Tuple.to_list()
    |> Enum.map(&look(&1, ask(&1, :all), nodes))
    |> gone(nodes)
    |> Enum.group_by(&elem(&1, 0), &elem(&1, 1))
  rescue
    # The machine has ended, or a shard has not answered: whoever has asked for this begins again.
    _ in Error -> exit(:enough)
  end

  defp gone(looked_at, nodes) do
    gone = for {_front, gone, _held} <- looked_at, node <- gone, do: node
    held = for {front, _gone, [_ | _] = held} <- looked_at, do: {front, held}
    if held == [], do: gone, else: gone ++ wait(held, nodes)
  end

  defp wait(held, nodes) do
    receive do
      :enough -> []
    after
      @again -> gone(for({front, entries} <- held, do: look(front, entries, nodes)), nodes)
    end
  end

  # Where actors were whose keys it has let go, and the entries of those that are held. What is elsewhere without having been moved by
  # a program, lib/mote/shards/handover.ex sees to.
  defp look(front, entries, nodes) do
    near = for {_key, address} = entry <- entries, not Far.far?(address), do: entry
    ways = near |> Enum.chunk_every(@together) |> Enum.flat_map(&ways(&1, nodes))
    gone = for {{:gone, node}, key, address} <- ways, ask(front, {:delete, key, address}), do: {node, key}
    {front, gone, for({:held, key, address} <- ways, do: {key, address})}
  end

  defp ask(front, request), do: Request.put!(front, {:shard, request}, :infinity)

  defp ways(entries, nodes) do
    asked = for {key, address} <- entries, do: {key, address, ask_about(address)}
    for {key, address, asked} <- asked, do: {near(address, asked, nodes), key, address}
  end

  @doc "Finds out where an address leads: to an actor; to one that is held or cannot be asked now; or nowhere, as the actor was on that node."
  @spec way(Address.t(), [node]) :: :there | :held | {:gone, node}
  def way(%Address{machine: machine} = address, nodes) do
    cond do
      not Far.far?(address) -> near(address, ask_about(address), nodes)
      # Not asked for again and again, if it takes long to find that it cannot be reached.
      node(machine) not in Node.list(:connected) -> {:gone, node(machine)}
      true -> Call.run!(node(machine), __MODULE__, :way, [address, nodes], @patience)
    end
  rescue
    error in Error -> failed(error.reason, node(machine))
    # That node does not know how to answer, or is about to start: nothing is known of the actor.
    _ -> :held
  end

  defp ask_about(%{machine: machine, key: key} = address),
    do: Question.open(machine, [address: address], &Native.actor_info(machine, key, &1))

  defp near(address, asked, nodes) do
    with {:ok, open} <- asked,
         {:ok, {{behaviour, _written}, _sponsor, _pinned, _figures}} <-
           Question.finish(open, [address: address], @patience) do
      case behaviour do
        %Behaviour{module: Ways, name: :onward, captures: {to}} -> onward(address, to, nodes)
        %Behaviour{module: Ways, name: :held} -> :held
        _ -> :there
      end
    else
      {:error, error} -> failed(error.reason, node())
    end
  end

  defp onward(address, to, nodes) do
    with :there <- way(to, nodes),
         do: if(node(to.machine) in nodes or node() in nodes, do: Move.renew(address, to), else: :there)
  end

  defp failed(reason, node) when reason in [:noconnection, :unknown_address, :machine_down],
    do: {:gone, node}

  defp failed(_reason, _node), do: :held
end
