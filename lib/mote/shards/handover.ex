defmodule Mote.Shards.Handover do
  # Gives away what is not this node's any more: by the members that a plan has. It runs in a process of its own.
  #
  # 1. First the fronts hear who the members are. From then on nothing starts here that belongs elsewhere: so what is looked for
  #    after that is all there is.
  # 2. A key is put in over there before it is removed here, and both go by way of the fronts. The one that gets it knows the same
  #    members: so whoever is told by this node that it has given everything away finds it there, or is told by that one.
  # 3. Where an actor has moved, and the other member is gone before it has the key, this node's entry leads to the new place: so the
  #    next plan sees where it is, or that it is lost.
  # 4. This node says that it has given everything away only when all that it has sent to the fronts of whoever leaves is there, and one
  #    that leaves goes only when all that it has passed on is there (`see_off/2`). So no message is on its way to or from a node that
  #    has gone.
  # 5. Where a key has an actor over there, that one stays, and this one goes: two nodes had not seen each other for a while.
  @moduledoc false

  require Logger

  alias Mote.{Error, Library, Move}
  alias Mote.Shards.Rule.Plain

  # Milliseconds to wait for each answer of an actor of this node or another.
  @patience 60_000

  # Milliseconds until the next try, if a member is gone.
  @again 100

  # And until it looks again whether the others know the same members.
  @soon 20

  # How many fronts are seen to at the same time.
  @together 4

  @typedoc "How many actors have moved; could not, and are reached where they are; gave way to another one; were gone with their node."
  @type figures :: %{atom => non_neg_integer}

  @figures [:moved, :stayed, :merged, :lost]

  @doc "Runs to the end, and returns what it has done; or exits, if it was told that it is enough, or a member is gone."
  @spec run(map) :: figures
  def run(%{members: []}), do: Map.new(@figures, &{&1, 0})

  def run(plan) do
    tell_fronts(plan)
    together(plan)

    figures =
      0..(tuple_size(plan.fronts) - 1)
      |> Task.async_stream(&front(plan, &1), max_concurrency: @together, timeout: :infinity)
      |> Enum.reduce(Map.new(@figures, &{&1, 0}), fn {:ok, figures}, all ->
        Map.merge(all, figures, fn _, a, b -> a + b end)
      end)

    if enough?(plan) or is_map_key(figures, :later), do: exit(:enough)
    Enum.each(plan.leaving, &see_off(plan, &1))
    told(figures, plan)
  rescue
    # The machine has ended: its process says so in a moment.
    _ in Error ->
      Process.sleep(@again)
      exit(:enough)
  end

  # What keeps actors where they are, and can be put right, is said.
  defp told(figures, plan) do
    for {{:stayed, home, message}, count} <- figures, reduce: Map.take(figures, @figures) do
      told ->
        Logger.warning(
          "#{count} actor(s) of the shards #{inspect(plan.name)} stay on #{home}, and are lost when it goes: #{message}"
        )

        Map.update!(told, :stayed, &(&1 + count))
    end
  end

  # Until the others know the same members.
  defp together(plan) do
    same? = fn {_, member} ->
      member.node == plan.me or Mote.ask!(elem(member.fronts, 0), {:same?, plan.view}, @patience)
    end

    if not enough?(plan) and not Enum.all?(plan.members, same?) do
      Process.sleep(@soon)
      together(plan)
    end
  end

  # Between two actors.
  defp enough?(plan), do: :atomics.get(plan.enough, 1) == 1

  @doc "Tells this node's fronts who the members are."
  @spec tell_fronts(map) :: :ok
  def tell_fronts(plan) do
    for i <- 0..(tuple_size(plan.fronts) - 1) do
      members = for {seed, member} <- plan.members, do: {seed, elem(member.fronts, i)}
      :ok = Mote.ask!(elem(plan.fronts, i), {:view, plan.view, members, plan.since}, @patience)
    end

    :ok
  end

  @doc "The last thing that a member does which leaves: sees off all that is still here, to those that stay."
  @spec leave(map) :: :ok
  def leave(plan) do
    tell_fronts(plan)
    for {_, member} <- plan.members, do: try_see_off(plan, member)
    :ok
  rescue
    # The machine has ended.
    _ in Error -> :ok
  end

  # Whoever is gone gets nothing any more.
  defp try_see_off(plan, member) do
    see_off(plan, member)
  rescue
    _ in Error -> :ok
  end

  # Returns once everything has arrived there that processes of this node have sent to the fronts of a member, and that its own fronts
  # have passed on to them. An actor of this machine asks, so the question is behind all that waits for the other node.
  defp see_off(plan, %{fronts: fronts}) do
    last = Mote.create(plan.machine, Library.fwd(elem(fronts, 0)))
    Mote.ask!(last, {:same?, plan.view}, @patience)
  end

  defp front(plan, i) do
    front = elem(plan.fronts, i)
    nodes = for {_, member} <- plan.members, do: member.node

    for {key, address} <- shard(front, :all), not enough?(plan), reduce: %{} do
      figures ->
        {_, owner} = Plain.owner(Plain.hash(key), plan.members)
        figure = entry({key, address}, {owner, elem(owner.fronts, i)}, front, nodes, plan)
        Map.update(figures, figure, 1, &(&1 + 1))
    end
  rescue
    # Of a member that is gone the member's process hears in a moment.
    _ in Error ->
      :atomics.put(plan.enough, 1, 1)
      Process.sleep(@again)
      %{}
  end

  defp shard(front, request), do: Mote.ask!(front, {:shard, request}, @patience)

  defp entry({_, address} = entry, {owner, there}, front, nodes, plan) do
    home = node(address.machine)

    cond do
      home != node() and home not in nodes ->
        lost(entry, front)

      owner.node != plan.me ->
        give(entry, owner, there, front, plan)

      home != node() ->
        bring(entry, front, plan)

      true ->
        :here
    end
  end

  defp give({key, address} = entry, owner, there, front, plan) do
    {figure, put} =
      case Move.hand_over(address, owner.machine, opts(plan)) do
        {:ok, moved} -> {:moved, moved}
        {:error, error} -> not_moved(error, address)
      end

    case put && put(entry, put, there, front, plan) do
      :other_view ->
        replace(entry, put, front)
        :later

      taken ->
        shard(front, {:delete, key, address})
        if match?({:taken, _}, taken), do: :merged, else: figure
    end
  end

  defp not_moved(%{context: %{why: :sink}}, _address), do: {:ended, nil}

  defp not_moved(error, address) do
    cond do
      gone?(error) -> {:lost, nil}
      # The other member is gone, or was never reached.
      error.reason in [:noconnection, :machine_down] -> raise error
      # It is reached where it is, and tried again when the members change.
      true -> {stayed(error, address), address}
    end
  end

  defp stayed(%{reason: reason, message: message}, address)
       when reason in [:stale_behaviour, :undefined_behaviour, :beam_only, :unknown_sponsor],
       do: {:stayed, node(address.machine), message}

  defp stayed(_error, _address), do: :stayed

  defp put({key, _} = entry, put, there, front, plan) do
    Mote.ask!(there, {:put, plan.view, key, put}, @patience)
  rescue
    error in Error ->
      replace(entry, put, front)
      reraise error, __STACKTRACE__
  end

  # With the machine that it was on; or with the one that it had moved to, or out of reach there.
  defp gone?(%{reason: :noconnection, context: %{moved: _}}), do: true
  defp gone?(%{reason: reason, context: %{address: _}}), do: reason in [:machine_down, :unknown_address]
  defp gone?(_error), do: false

  # A key that was removed meanwhile stays so. In one step, for messages to it may be coming.
  defp replace({key, address}, by, front), do: shard(front, {:replace, key, address, by})

  # An actor that could not move before.
  defp bring({_, address} = entry, front, plan) do
    case Move.hand_over(address, plan.machine, opts(plan)) do
      {:ok, moved} ->
        replace(entry, moved, front)
        :moved

      {:error, error} ->
        if gone?(error), do: lost(entry, front), else: stayed(error, address)
    end
  end

  # The next message for the key starts it afresh.
  defp lost({key, address}, front) do
    shard(front, {:delete, key, address})
    :lost
  end

  defp opts(%{sponsor: nil}), do: [timeout: @patience]
  defp opts(%{sponsor: sponsor}), do: [timeout: @patience, sponsor: sponsor]
end
