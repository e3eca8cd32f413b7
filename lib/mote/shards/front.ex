defmodule Mote.Shards.Front do
  # What stands before each shard of a node's directory, and takes what is for its keys. A key is at home on one node, and the
  # nodes hear of it one after the other when members come and go: so a front sends on what belongs elsewhere, and keeps what
  # belongs here while the key may still be elsewhere.
  #
  #     shard    the shard of the directory
  #     view     the number of the members that it knows of
  #     me       the seed of this node
  #     members  `{seed, front}`: the front of this number on each
  #     since    `:settled`, if all members have given away what is not theirs; otherwise the members of each view since
  #              then, or `:never` if there was none
  #
  # 1. All that is sent to the shard goes by way of its one front. So what is kept comes first, and what a request such as `:all`
  #    answers is later than everything before it.
  # 2. A front takes actors in from another node only if that one knows the same members.
  # 3. What was sent by somebody who knows the same members is for this node: then the rule is not looked at.
  # 4. Each message that is kept has a turn of its own when there are other members: so however much waits, no turn is longer than
  #    the machine allows (`:fuel`).
  @moduledoc false

  use Mote.Behaviour

  alias Mote.Shards.Rule

  defactor front(shard, view, me, members, since) do
    {from, hash, what} ->
      case place(from, hash, view, me, members, since) do
        :here -> send shard, what
        :wait -> stash()
        front -> send front, {view, hash, what}
      end

    {customer, {from, hash, what}} ->
      case place(from, hash, view, me, members, since) do
        :here -> send shard, {customer, what}
        :wait -> stash()
        front -> send front, on_again(view, hash, customer, what)
      end

    {customer, {:view, view, members, since}} ->
      send customer, :ok
      look_again(shard, view, me, members, since)

    # Actors of another node that knows the same members. Otherwise they might be given away again, and nobody would wait for that.
    {customer, {:put, {from, entries}}} ->
      if from == view,
        do: send(shard, {customer, {:put_all, entries}}),
        else: send(customer, :other_view)

    {customer, {:same?, from}} ->
      send customer, from == view

    # What the directory is asked for by those who manage it.
    {customer, {:shard, request}} ->
      send shard, {customer, request}
  end

  # In the form in which it came. A message and a question differ in what they are wrapped in.
  defpure on_again(view, hash, customer, what), do: {customer, {view, hash, what}}

  # What a `defeffect` becomes counts as another behaviour, so what was kept is taken up.
  defeffect look_again(shard, view, me, members, since), do: become(front(shard, view, me, members, since))

  @doc false
  defpure place(from, hash, view, me, members, since) do
    cond do
      from == view and since == :settled ->
        :here

      # All leave.
      members == [] ->
        :wait

      true ->
        case Rule.owner(hash, members) do
          {^me, _} -> if here?(hash, me, since), do: :here, else: :wait
          {_, front} -> front
        end
    end
  end

  defpure here?(hash, me, since) do
    case since do
      :settled -> true
      :never -> false
      views -> Enum.all?(views, fn seeds -> mine?(hash, me, seeds) end)
    end
  end

  defpure mine?(hash, me, seeds) do
    case Rule.owner(hash, seeds) do
      {^me, _} -> true
      _ -> false
    end
  end
end
