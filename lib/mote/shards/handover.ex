defmodule Mote.Shards.Handover do
  # Has this node give away what is not its own any more, by the members that a plan has (lib/mote/shards/giving.ex gives). It runs in
  # a process of its own.
  #
  # 1. First the fronts hear who the members are. From then on nothing starts here that belongs elsewhere: so what is looked for
  #    after that is all there is.
  # 2. This node says that it has given everything away only when all that it has sent to the fronts of whoever leaves is there, and one
  #    that leaves goes only when all that it has passed on is there (`see_off/2`). So no message is on its way to or from a node that
  #    has gone.
  # 3. A node that leaves tries again what could not move yet, until its time is over. What is left then is counted, key by key.
  @moduledoc false

  require Logger

  alias Mote.{Error, Library}
  alias Mote.Machine.{Question, Request}
  alias Mote.Shards.Giving

  # Milliseconds to wait for each answer of an actor of this node or another.
  @patience 60_000

  # Milliseconds until the next try, if a member is gone, or an actor of a node that leaves could not move: there longer each time, up
  # to this.
  @again 100
  @longest 2_000

  # And until it looks again whether the others know the same members.
  @soon 20

  # Milliseconds to wait for the shards of this node when they are asked what is left, and for each member at least.
  @last 1_000

  # How many fronts are seen to at the same time.
  @together 4

  @typedoc """
  How many actors have moved; could not, and are reached where they are; found another one in their place; were gone with their node.
  The keys of these last ones, those whose actors had to give way to another one, and of a node that leaves those that it could not
  give away.
  """
  @type figures :: %{atom => non_neg_integer | [term]}

  @figures %{moved: 0, stayed: 0, merged: 0, lost: 0, gone: [], dropped: [], left: []}

  @doc "Runs to the end, and returns what it has done; or exits, if it was told that it is enough, or a member is gone."
  @spec run(map) :: figures
  def run(%{members: []}), do: @figures

  def run(plan) do
    tell_fronts(plan)
    together(plan)
    figures = give(plan)
    if told_enough?(plan) or is_map_key(figures, :later), do: exit(:enough)
    figures = if plan.until, do: Giving.sum(figures, %{left: left(plan)}), else: figures
    # A node that leaves itself has to tell what it has done, whatever becomes of others that leave.
    Enum.each(plan.leaving, if(plan.until, do: &try_see_off(plan, &1), else: &see_off(plan, &1)))
    told(figures, plan)
  rescue
    _ in Error -> failed()
  end

  # The machine has ended, whose process says so in a moment; or somebody has not answered.
  @spec failed() :: no_return
  defp failed do
    Process.sleep(@again)
    exit(:enough)
  end

  defp give(plan, again \\ @again) do
    figures =
      0..(tuple_size(plan.fronts) - 1)
      |> Task.async_stream(&Giving.front(plan, &1), max_concurrency: @together, timeout: :infinity)
      |> Enum.reduce(%{}, fn {:ok, figures}, all -> Giving.sum(figures, all) end)

    {later, figures} = Map.pop(figures, :again, 0)

    if later == 0 or Giving.enough?(plan) do
      figures
    else
      Process.sleep(min(again, Question.left(plan.until)))
      Giving.sum(figures, give(plan, min(2 * again, @longest)))
    end
  end

  @doc "Returns the keys that a node which leaves has still, as far as its shards say so in that many milliseconds."
  @spec left(map, non_neg_integer) :: [term]
  def left(plan, patience \\ @last) do
    answers = plan.fronts |> Tuple.to_list() |> Request.put_all({:shard, :all}, patience)
    silent = Enum.count(answers, &match?({:error, _}, &1))

    if silent > 0 do
      Logger.error(
        "#{silent} of the #{length(answers)} shards of #{inspect(plan.name)} have not said in time which keys they still have: " <>
          "the state of those keys is lost, and they are not among those that are told"
      )
    end

    for {:ok, entries} <- answers, {key, _} <- entries, do: key
  end

  # What keeps actors where they are, and can be put right, is said.
  defp told(figures, plan) do
    for {{:stayed, home, message}, count} <- figures, reduce: Map.merge(@figures, figures) do
      told ->
        Logger.warning(
          "#{count} actor(s) of the shards #{inspect(plan.name)} stay on #{home}, and are lost when it goes: #{message}"
        )

        told |> Map.delete({:stayed, home, message}) |> Map.update!(:stayed, &(&1 + count))
    end
  end

  # Until the others know the same members.
  defp together(plan) do
    same? = fn {_, member} ->
      member.node == plan.me or Request.put!(elem(member.fronts, 0), {:same?, plan.view}, @patience)
    end

    if not Giving.enough?(plan) and not Enum.all?(plan.members, same?) do
      Process.sleep(@soon)
      together(plan)
    end
  end

  defp told_enough?(plan), do: :atomics.get(plan.enough, 1) == 1

  @doc "Tells this node's fronts that all members have given away what is not theirs; exits if that fails."
  @spec tell(map) :: :ok
  def tell(plan) do
    tell_fronts(plan)
  rescue
    _ in Error -> failed()
  end

  # Who the members are.
  defp tell_fronts(plan) do
    for i <- 0..(tuple_size(plan.fronts) - 1) do
      members = for {seed, member} <- plan.members, do: {seed, elem(member.fronts, i)}
      :ok = Request.put!(elem(plan.fronts, i), {:view, plan.view, members, plan.since}, @patience)
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
    left = Question.left(plan.until || :infinity)
    Request.put!(last, {:same?, plan.view}, left |> max(@last) |> min(@patience))
  end
end
