defmodule Mote.Shards.View do
  # What one member knows of the others, without processes: who they are, and which of them have given away what is not theirs.
  #
  # 1. A key starts on a member only when nobody else can have it: if all members have said, of the very same members, that they
  #    have given away what is not theirs; or if it belonged to this member then and ever since (`since`).
  # 2. What one says is asked for: each view has a round, and what was said in an earlier one does not count, though it was of the same
  #    members. For a member may have seen others meanwhile.
  # 3. A member answers when it knows the same members and has given away what is theirs.
  # 4. Whoever leaves has no keys, but has to say that it has given them away, as everybody; and it goes when everybody has said so to it.
  @moduledoc false

  alias Mote.Shards.Rule.Plain

  defstruct me: nil,
            members: [],
            leaving: [],
            id: 0,
            round: 0,
            since: :never,
            settled?: false,
            handed?: false,
            waits: %{},
            asked: %{}

  @typedoc "A member: its node, and what tells it from others that were or will be there."
  @type member :: {node, term}

  @type t :: %__MODULE__{}

  @typedoc """
  What is to be done, in this order: tell the fronts of the members, and give away what is not theirs (`:view`); ask another
  member; answer one; tell the fronts that all have answered.
  """
  @type effect ::
          :view
          | {:ask, member, integer, pos_integer}
          | {:ack, member, integer, pos_integer}
          | :settled

  @spec new(member) :: t
  def new(me), do: %__MODULE__{me: me}

  @doc "The members are these, of which some leave."
  @spec change(t, [member], [member]) :: {t, [effect]}
  def change(view, members, leaving \\ []) do
    members = Enum.sort(members)
    leaving = Enum.sort(leaving)

    if {members, leaving} == {view.members, view.leaving},
      do: {view, []},
      else: changed(view, members, leaving)
  end

  defp changed(view, members, leaving) do
    view = %{
      view
      | since: since(view),
        members: members,
        leaving: leaving,
        id: id(members, leaving),
        round: view.round + 1,
        settled?: false,
        handed?: false,
        waits: Map.new(members -- [view.me], &{&1, []}),
        asked: Map.take(view.asked, members)
    }

    asks = for other <- members, other != view.me, do: {:ask, other, view.id, view.round}
    {view, settled} = settle(view)
    {view, [:view | asks] ++ settled}
  end

  # The views in which a key must have been here to be here.
  defp since(%{settled?: true} = view), do: [owners(view)]
  defp since(%{since: :never}), do: :never
  defp since(%{since: views} = view), do: Enum.uniq(views ++ [owners(view)])

  # A number, as behaviours compare it at every message: all know it of the same members.
  defp id(members, leaving) do
    <<id::56, _::bitstring>> = :erlang.md5(:erlang.term_to_binary({members, leaving}, minor_version: 2))
    id
  end

  @doc "Returns the members that have keys, as the rule takes them."
  @spec owners(t) :: [{non_neg_integer, member}]
  def owners(view),
    do: for({node, _} = member <- view.members -- view.leaving, do: {Plain.seed(node), member})

  @doc "Members other than this one that leave."
  @spec others_leaving(t) :: [member]
  def others_leaving(view), do: for(member <- view.leaving -- [view.me], member in view.members, do: member)

  @doc "This member has given away what is not its own by the members of that number."
  @spec handed(t, integer) :: {t, [effect]}
  def handed(%{id: id, handed?: false} = view, id) do
    acks = for {from, {^id, round}} <- view.asked, do: {:ack, from, id, round}
    {%{view | handed?: true}, acks}
  end

  def handed(view, _id), do: {view, []}

  @doc "Another member asks, in a round of its own."
  @spec asked(t, member, integer, pos_integer) :: {t, [effect]}
  def asked(view, from, id, round) do
    view = %{view | asked: Map.put(view.asked, from, {id, round})}
    {view, if(view.handed? and id == view.id, do: [{:ack, from, id, round}], else: [])}
  end

  @doc "Another member has answered."
  @spec acked(t, member, integer, pos_integer) :: {t, [effect]}
  def acked(%{id: id, round: round, settled?: false} = view, from, id, round),
    do: settle(%{view | waits: Map.delete(view.waits, from)})

  def acked(view, _from, _id, _round), do: {view, []}

  defp settle(%{waits: waits} = view) when waits == %{},
    do: {%{view | settled?: true, since: :settled}, [:settled]}

  defp settle(view), do: {view, []}

  @doc "Returns whether it has been said by all others, and to all of them, that everything was given away: whoever leaves may go then."
  @spec agreed?(t) :: boolean
  def agreed?(%{id: id} = view) do
    told? = &match?({^id, _round}, view.asked[&1])
    view.settled? and view.handed? and Enum.all?(view.members -- [view.me], told?)
  end

  @doc "Returns the members that have not answered yet, to be asked again: a question may have been lost."
  @spec missing(t) :: [effect]
  def missing(view),
    do: for({other, _} <- view.waits, do: {:ask, other, view.id, view.round})
end
