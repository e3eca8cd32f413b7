defmodule Mote.Test.Failure do
  @moduledoc """
  A failure, which `Mote.Test.explore/3` raises and `Mote.Test.prove/3` returns: an order of turns after which
  something is wrong.

    * `schedule` - how to reproduce it: `Mote.start_link(schedule: schedule)`, and the same actors and messages while the
      machine is paused;
    * `turns` - the turns up to the rest, or to the one that is wrong, as `Mote.Trace.Turn`s, the first thousand; `more`, how
      many there were besides;
    * `fates` - what has become of messages as options of `Mote.Test.prove/3` allow it, or of timers: `{number, what, turn}`. Before the
      turn with that number a message was `:lost`, which would have had `turn`, or a timer `:fires`; or the turn itself is that of a
      message that comes `:twice`, or is `:aborted` whatever it does;
    * `instead` - the last turn of the order that decides: the one that comes in place of that with its `number` in an order that does not
      fail; `nil` if there is none, or none among the first ends that were looked at;
    * `kind` - `:property`, `:always` or `:eventually` when it does not hold, `:timeout` when the actors do not come to rest, or what `Mote.Test.prove/3`
      finds without being asked; `why`, as text.
  """

  defexception [:kind, :why, :schedule, :turns, :instead, fates: [], more: 0]

  @type t :: %__MODULE__{
          kind: :property | :always | :eventually | :timeout | Mote.Test.flaw(),
          why: String.t(),
          schedule: {:seeded, non_neg_integer, non_neg_integer} | {:order, [Mote.Test.step()]},
          instead: Mote.Trace.Turn.t() | nil,
          fates: [{pos_integer, :lost | :twice | :aborted | :fires, Mote.Trace.Turn.t() | nil}],
          turns: [Mote.Trace.Turn.t()],
          more: non_neg_integer
        }

  # More would not be read.
  @lines 60

  @impl true
  def message(%__MODULE__{} = failure) do
    count = length(failure.turns)
    {shown, others} = Enum.split(failure.turns, @lines)

    rest =
      case length(others) + failure.more do
        0 -> []
        n -> ["  and #{n} more turns"]
      end

    Enum.join(
      [
        failure.why,
        "",
        choices(failure.schedule) <>
          "to reproduce it: schedule: #{inspect(failure.schedule, limit: :infinity, charlists: :as_lists)}",
        "",
        "the #{count + failure.more} turns up to here:"
      ] ++ lines(shown, failure.fates) ++ rest ++ instead(failure.instead),
      "\n"
    )
  end

  # What comes before a turn, the turn, and what is to be said of it.
  defp lines(turns, fates) do
    before? = fn {_number, what, _turn} -> what in [:lost, :fires] end
    last = if turns == [], do: 0, else: List.last(turns).number

    shown =
      for turn <- turns do
        {before, of_it} = fates |> Enum.filter(&(elem(&1, 0) == turn.number)) |> Enum.split_with(before?)
        Enum.map(before, &fate/1) ++ [line(turn)] ++ Enum.map(of_it, &fate/1)
      end

    # With more turns than are shown they come later.
    behind = for {number, _, _} = fate <- fates, number == last + 1, before?.(fate), do: fate(fate)
    Enum.concat(shown) ++ behind
  end

  defp fate({_number, :lost, turn}),
    do: "    -  lost: #{inspect(turn.actor)} #{Mote.Trace.format(%{turn | outcome: :commit}) |> head()}"

  defp fate({_number, :fires, _turn}), do: "    -  a timer fires"
  defp fate({_number, :twice, _turn}), do: "       this message comes once more"
  defp fate({_number, :aborted, _turn}), do: "       aborted as :aborts says, whatever it does"

  defp head(text), do: text |> String.split("\n", parts: 2) |> hd()

  defp instead(nil), do: []

  defp instead(turn),
    do: ["", "it goes well if, in place of turn #{turn.number}, this one comes:", line(turn)]

  defp choices({:seeded, seed, choices}), do: "seed #{seed}, after #{choices} choices; "
  defp choices(_order), do: ""

  @doc """
  The turns as a sequence chart in the language of Mermaid: in Livebook, `Kino.Mermaid.new(Mote.Test.Failure.to_mermaid(failure))`.

  Actors are numbered in the order of their first turns. Each turn is an arrow with its message, from the actor that has sent it, or
  from outside; and a note where the actor becomes another, or where the turn is aborted or its message not heard.
  An arrow that ends with a cross is a message that was lost.

      iex> turn = %Mote.Trace.Turn{actor: :till, behaviour: :sink, message: :count, outcome: :ignored}
      iex> %Mote.Test.Failure{turns: [turn]} |> Mote.Test.Failure.to_mermaid() |> String.split("\\n")
      ["sequenceDiagram", "  participant outside", "  participant a1 as sink 1", "  outside->>a1: :count", "  Note over a1: ignored"]
  """
  @spec to_mermaid(t) :: String.t()
  def to_mermaid(%__MODULE__{turns: turns, fates: fates}) do
    lost = for {number, :lost, turn} <- fates, do: {number, "-x", turn}
    arrows = Enum.sort_by(lost ++ for(turn <- turns, do: {turn.number, "->>", turn}), &elem(&1, 0))
    first = Enum.uniq_by(turns ++ for({_, _, turn} <- lost, do: turn), & &1.actor)
    actors = first |> Enum.map(& &1.actor) |> Enum.with_index(1) |> Map.new()

    named =
      for turn <- first, n = actors[turn.actor], do: "  participant a#{n} as #{name(turn.behaviour)} #{n}"

    {arrows, _sent} = Enum.flat_map_reduce(arrows, [], &arrow(&1, &2, actors))
    Enum.join(["sequenceDiagram", "  participant outside"] ++ named ++ arrows, "\n")
  end

  # `sent`: what was sent and has not come yet, with who has sent it.
  defp arrow({_number, head, turn}, sent, actors) do
    is_this? = fn {_from, target, message} -> target == turn.actor and message == turn.message end
    at = Enum.find_index(sent, is_this?)
    {from, sent} = if at, do: {elem(Enum.at(sent, at), 0), List.delete_at(sent, at)}, else: {"outside", sent}
    me = "a#{actors[turn.actor]}"
    arrow = "  #{from}#{head}#{me}: #{text(turn.message)}"
    if head == "-x", do: {[arrow], sent}, else: {[arrow | note(me, turn)], sent ++ more(me, turn)}
  end

  defp more(me, turn) do
    sends = turn.sends ++ for({_sponsor, target, message} <- turn.sendx, do: {target, message})
    for {target, message} <- sends, do: {me, target, message}
  end

  defp note(me, %{outcome: {:abort, reason}}), do: ["  Note over #{me}: abort #{text(reason)}"]
  defp note(me, %{outcome: :ignored}), do: ["  Note over #{me}: ignored"]
  defp note(_me, %{become: nil}), do: []
  defp note(me, %{become: :sink}), do: ["  Note over #{me}: sink"]

  defp note(me, %{become: next}),
    do: ["  Note over #{me}: " <> name(next) <> text(Tuple.to_list(next.captures))]

  defp name(:sink), do: "sink"
  defp name(behaviour), do: text(behaviour.module) <> "." <> to_string(behaviour.name)

  # What Mermaid takes for its own.
  defp text(term) do
    term
    |> inspect(charlists: :as_lists, limit: 20)
    |> String.replace("#", "#35;")
    |> String.replace(~r/(?<!#35);/, "#59;")
    |> String.replace("\n", " ")
  end

  # With the address of the actor, which may be in messages and captures of other turns.
  defp line(turn) do
    number = String.pad_leading(to_string(turn.number), 3)
    "  #{number}  #{inspect(turn.actor)} #{turn |> Mote.Trace.format() |> String.replace("\n", "\n       ")}"
  end

  defimpl Inspect do
    import Inspect.Algebra

    # As it is raised: ExUnit shows it so where a match fails.
    def inspect(failure, _opts) do
      lines = failure |> Exception.message() |> String.split("\n")
      shown = Enum.flat_map(lines, &[line(), &1])
      concat(["#Mote.Test.Failure<", nest(concat(shown), 2), line(), ">"])
    end
  end
end
