defmodule Mote.Shards.Giving do
  # Gives away what one front of this node has and does not own by the members of a plan, in parcels (lib/mote/move/parcel.ex).
  #
  # 1. A key is put in over there before it is removed here, and both go by way of the fronts. The one that gets it knows the same
  #    members: so whoever is told by this node that it has given everything away finds it there, or is told by that one.
  # 2. Where an actor has moved, and the other member is gone before it has the key, this node's entry leads to the new place: so the
  #    next plan sees where it is, or that it is lost.
  # 3. An actor that was given to a member which leaves again is there until that one has gone: it is brought back, or given to
  #    another one. Lost is only what is on a node that is no member at all.
  # 4. Where a key has an actor over there, that one stays, and this one is merged into it or goes: two nodes had not seen each other
  #    for a while.
  # 5. A state that is lost is told with its key, by one node: by the one that leaves of what cannot move from it, by the one that has
  #    the key of what had stayed elsewhere, or had to give way.
  @moduledoc false

  alias Mote.{Error, Far, Move}
  alias Mote.Machine.{Question, Request}
  alias Mote.Move.Parcel
  alias Mote.Shards.Rule.Plain

  # Milliseconds to wait for each answer of an actor of this node or another.
  @patience 60_000

  # And at least, though the time of a node that leaves is over.
  @last 1_000

  # Milliseconds until the member's process hears of one that is gone.
  @again 100

  @doc "Returns whether to stop between two parcels: there are other members by now, or the time of a node that leaves is over."
  @spec enough?(map) :: boolean
  def enough?(plan), do: :atomics.get(plan.enough, 1) == 1 or (plan.until != nil and time(plan) == 0)

  defp time(plan), do: Question.left(plan.until)

  @doc "Both together: figures are added, and lists of keys."
  @spec sum(map, map) :: map
  def sum(some, others) do
    Map.merge(some, others, fn
      _, a, b when is_list(a) -> a ++ b
      _, a, b -> a + b
    end)
  end

  @doc "Asks the shard behind a front, for so many milliseconds."
  @spec shard(Mote.Address.t(), term, timeout) :: term
  def shard(front, request, patience), do: Request.put!(front, {:shard, request}, patience)

  @doc "Gives away what is behind one front; returns what has come of it."
  @spec front(map, non_neg_integer) :: map
  def front(plan, i) do
    front = elem(plan.fronts, i)
    members = Map.new(plan.members, fn {_, member} -> {member.node, member} end)
    homes = Map.keys(members) ++ for(%{node: node} <- plan.leaving, do: node) ++ [node()]

    for {place, entries} <- front |> shard(:all, patience(plan)) |> Enum.group_by(&place(&1, homes, plan)),
        reduce: %{} do
      figures -> sum(figures, entries(place, entries, {front, i, members}, plan))
    end
  rescue
    # Of a member that is gone the member's process hears in a moment.
    _ in Error ->
      :atomics.put(plan.enough, 1, 1)
      Process.sleep(@again)
      %{}
  end

  # What is to be done with an entry. The actors of one parcel are in one machine.
  defp place({key, %{machine: machine}}, homes, plan) do
    {_, owner} = Plain.owner(Plain.hash(key), plan.members)

    cond do
      node(machine) not in homes -> :lost
      owner.node != plan.me -> {:give, owner.node, machine}
      node(machine) != node() -> {:bring, machine}
      true -> :here
    end
  end

  defp entries(:here, _entries, _where, _plan), do: %{}

  defp entries(:lost, entries, {front, _, _}, plan),
    do: gone(for {key, _} = entry <- entries, let_go(entry, front, plan), do: key)

  defp entries({:give, to, _machine}, entries, {front, i, members}, plan) do
    owner = Map.fetch!(members, to)
    settle = &given(&1, owner, elem(owner.fronts, i), front, plan)
    parcels(entries, Parcel.first(), owner.machine, settle, plan)
  end

  # Actors that could not move before, or have been given to somebody who leaves.
  defp entries({:bring, _machine}, entries, {front, _, _}, plan),
    do: parcels(entries, Parcel.first(), plan.machine, &brought(&1, front, plan), plan)

  # The next message for the key starts it afresh. It may have been by now, where the key is this node's own.
  defp let_go({key, address}, front, plan), do: shard(front, {:delete, key, address}, patience(plan))

  # -- parcels -------------------------------------------------------------------------------------------------

  # `settle` is given the entries with what has come of their moves.
  defp parcels(entries, count, machine, settle, plan) do
    if entries == [] or enough?(plan) do
      %{}
    else
      {some, others} = Enum.split(entries, count)

      {results, bytes} =
        Parcel.move(for({_, address} <- some, do: address), machine, opts(plan), patience(plan))

      {alone, together} = some |> Enum.zip(results) |> Enum.split_with(&match?({_, :alone}, &1))
      figures = settle.(together)

      figures =
        for {entry, :alone} <- alone, not enough?(plan), reduce: figures do
          figures -> sum(figures, settle.([{entry, alone(entry, machine, plan)}]))
        end

      sum(figures, parcels(others, Parcel.next(length(some), bytes), machine, settle, plan))
    end
  end

  defp alone({_, address}, machine, plan),
    do: Move.hand_over(address, machine, [timeout: timeout(plan)] ++ opts(plan))

  defp timeout(%{until: nil}), do: @patience
  defp timeout(plan), do: min(@patience, time(plan))

  defp patience(%{until: nil}), do: @patience
  # What is begun is ended, though the time is over.
  defp patience(plan), do: @patience |> min(time(plan)) |> max(@last)

  defp opts(%{sponsor: nil}), do: []
  defp opts(%{sponsor: sponsor}), do: [sponsor: sponsor]

  # -- giving --------------------------------------------------------------------------------------------------

  defp given(moves, owner, there, front, plan) do
    outcomes = for {{_, address} = entry, result} <- moves, do: {entry, outcome(result, address, plan)}
    decided = for {entry, {figure, put}} when figure != :raise <- outcomes, do: {entry, figure, put}
    to_put = for {{key, _} = entry, _, put} <- decided, put != nil, do: {entry, {key, put}}

    figures =
      case put(to_put, there, front, plan) do
        :other_view ->
          replace(to_put, front)
          %{later: 1}

        taken ->
          dropped = merge(taken, to_put, owner, front, plan)
          # They are not this node's, so no other actor can have come in the place of one.
          delete(for({{key, _}, _, _} <- decided, do: key), front, plan)
          taken = Map.new(taken)

          done =
            for {{key, _}, figure, _} <- decided,
                do: {key, if(is_map_key(taken, key), do: :merged, else: figure)}

          {gone, others} = Enum.split_with(done, &match?({_, :lost}, &1))

          others
          |> Enum.frequencies_by(&elem(&1, 1))
          |> sum(gone(for {key, _} <- gone, do: key))
          |> sum(%{dropped: dropped})
          |> sum(left(decided))
      end

    # The other member is gone, or was never reached.
    for {_, {:raise, error}} <- outcomes, do: raise(error)
    if Enum.any?(outcomes, &match?({_, :again}, &1)), do: sum(figures, %{again: 1}), else: figures
  end

  # Those that are lost with this node.
  defp left(decided),
    do: %{left: for({{key, _}, figure, nil} <- decided, stayed?(figure), do: key)}

  defp stayed?(figure), do: figure == :stayed or match?({:stayed, _, _}, figure)

  # What is counted, and which address the key has over there, if it has any; or that it is to be tried again.
  defp outcome({:ok, moved}, _address, _plan), do: {:moved, moved}
  defp outcome({:error, %{context: %{why: :sink}}}, _address, _plan), do: {:ended, nil}

  defp outcome({:error, error}, address, plan) do
    cond do
      gone?(error) -> {:lost, nil}
      error.reason in [:noconnection, :machine_down] -> {:raise, error}
      plan.until != nil and passing?(error) -> :again
      # It ends with this node, which tells that. So its key leads nowhere from now on, and starts afresh.
      plan.until != nil and node(address.machine) == plan.me -> {figure(error, address), nil}
      # It is reached where it is, and tried again when the members change.
      true -> {figure(error, address), address}
    end
  end

  # With the machine that it was on; or with the one that it had moved to, or out of reach there.
  defp gone?(%{reason: :noconnection, context: %{moved: _}}), do: true
  defp gone?(%{reason: reason, context: %{address: _}}), do: reason in [:machine_down, :unknown_address]
  defp gone?(_error), do: false

  # A moment later it may move.
  defp passing?(%{reason: reason}) when reason in [:timeout, :no_memory, :overloaded], do: true
  defp passing?(%{context: %{why: why}}), do: why in [:busy, :held]
  defp passing?(_error), do: false

  defp figure(%{reason: reason, message: message}, address)
       when reason in [:stale_behaviour, :undefined_behaviour, :beam_only, :unknown_sponsor],
       do: {:stayed, node(address.machine), message}

  defp figure(_error, _address), do: :stayed

  defp delete(keys, front, plan) do
    in_halves(keys, &Request.put(front, {:shard, {:delete_all, &1}}, patience(plan)))
  end

  # Those that have another actor over there, with that one.
  defp put([], _there, _front, _plan), do: []

  defp put(to_put, there, front, plan) do
    with taken when is_list(taken) <- put(for({_, entry} <- to_put, do: entry), there, plan),
         # What was put twice is no other one.
         do: taken -- for({_, entry} <- to_put, do: entry)
  rescue
    error in Error ->
      replace(to_put, front)
      reraise error, __STACKTRACE__
  end

  defp put(entries, there, plan) do
    in_halves(entries, fn some ->
      Request.put(there, {:put, {plan.view, some}}, patience(plan))
    end)
  end

  # As many in one turn as the machine allows (`:fuel`): a turn that is aborted has done nothing.
  defp in_halves(entries, request) do
    case request.(entries) do
      {:error, %{reason: reason}} when reason in [:aborted, :broken_promise] and length(entries) > 1 ->
        {some, others} = Enum.split(entries, div(length(entries), 2))

        with answers when is_list(answers) <- in_halves(some, request),
             more when is_list(more) <- in_halves(others, request),
             do: answers ++ more

      {:ok, answer} ->
        answer

      {:error, error} ->
        raise error
    end
  end

  # A key that was removed meanwhile stays so. In one step, for messages to it may be coming.
  defp replace(to_put, front),
    do: for({{key, address}, {key, by}} <- to_put, do: shard(front, {:replace, key, address, by}, @last))

  # Returns the keys whose actors are dropped.
  defp merge([], _to_put, _owner, _front, _plan), do: []

  defp merge(taken, to_put, owner, front, plan) do
    goes = for {_, {key, address}} <- to_put, into: %{}, do: {key, address}
    pairs = for {key, stays} <- taken, do: {key, stays, Map.fetch!(goes, key)}
    Far.create_own!(owner.node, :merge, [plan.name, pairs])
  rescue
    error in Error ->
      replace(to_put, front)
      reraise error, __STACKTRACE__
  end

  # -- bringing ------------------------------------------------------------------------------------------------

  defp brought(moves, front, plan) do
    for {{_, address} = entry, result} <- moves, reduce: %{} do
      figures -> sum(figures, one_brought(result, entry, address, front, plan))
    end
  end

  defp one_brought({:ok, moved}, {key, _} = entry, _address, front, _plan) do
    replace([{entry, {key, moved}}], front)
    %{moved: 1}
  end

  defp one_brought({:error, error}, {key, _} = entry, address, front, plan) do
    if gone?(error) do
      let_go(entry, front, plan)
      gone([key])
    else
      %{figure(error, address) => 1}
    end
  end

  # Keys whose actors were gone with the node that they were on.
  defp gone(keys), do: %{lost: length(keys), gone: keys}
end
