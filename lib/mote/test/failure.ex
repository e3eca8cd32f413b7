defmodule Mote.Test.Failure do
  @moduledoc """
  What `Mote.Test.explore/3` raises and `Mote.Test.prove/3` returns: an order of turns after which something is wrong.

    * `schedule` - how to reproduce it: `Mote.start_link(schedule: schedule)`, and the same actors and messages while the
      machine is paused;
    * `turns` - the turns up to the rest, or to the one that is wrong, as `Mote.Trace.Turn`s, the first thousand; `more`, how
      many there were besides;
    * `instead` - the last turn of the order that decides: the one that comes in place of that with its `number` in an order that does not
      fail; `nil` if there is none, or none among the first ends that were looked at;
    * `kind` - `:property`, `:always` or `:eventually` when it does not hold, `:timeout` when the actors do not come to rest, or what `Mote.Test.prove/3`
      finds without being asked; `why`, as text.
  """

  defexception [:kind, :why, :schedule, :turns, :instead, more: 0]

  @type t :: %__MODULE__{
          kind: :property | :always | :eventually | :timeout | Mote.Test.flaw(),
          why: String.t(),
          schedule: {:seeded, non_neg_integer, non_neg_integer} | {:order, [Mote.Test.step()]},
          instead: Mote.Trace.Turn.t() | nil,
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
      ] ++ Enum.map(shown, &line/1) ++ rest ++ instead(failure.instead),
      "\n"
    )
  end

  defp instead(nil), do: []

  defp instead(turn),
    do: ["", "it goes well if, in place of turn #{turn.number}, this one comes:", line(turn)]

  defp choices({:seeded, seed, choices}), do: "seed #{seed}, after #{choices} choices; "
  defp choices(_order), do: ""

  @doc """
  The turns as a sequence chart in the language of Mermaid: in Livebook, `Kino.Mermaid.new(Mote.Test.Failure.to_mermaid(failure))`.

  Actors are numbered in the order of their first turns. Each turn is an arrow with its message, from the actor that has sent it, or
  from outside; and a note where the actor becomes another, or where the turn is aborted or its message not heard.

      iex> turn = %Mote.Trace.Turn{actor: :till, behaviour: :sink, message: :count, outcome: :ignored}
      iex> %Mote.Test.Failure{turns: [turn]} |> Mote.Test.Failure.to_mermaid() |> String.split("\\n")
      ["sequenceDiagram", "  participant outside", "  participant a1 as sink 1", "  outside->>a1: :count", "  Note over a1: ignored"]
  """
  @spec to_mermaid(t) :: String.t()
  def to_mermaid(%__MODULE__{turns: turns}) do
    actors = turns |> Enum.map(& &1.actor) |> Enum.uniq() |> Enum.with_index(1) |> Map.new()
    first = Enum.uniq_by(turns, & &1.actor)

    named =
      for turn <- first, n = actors[turn.actor], do: "  participant a#{n} as #{name(turn.behaviour)} #{n}"

    {arrows, _sent} = Enum.flat_map_reduce(turns, [], &arrow(&1, &2, actors))
    Enum.join(["sequenceDiagram", "  participant outside"] ++ named ++ arrows, "\n")
  end

  # `sent`: what was sent and has not come yet, with who has sent it.
  defp arrow(turn, sent, actors) do
    is_this? = fn {_from, target, message} -> target == turn.actor and message == turn.message end
    at = Enum.find_index(sent, is_this?)
    {from, sent} = if at, do: {elem(Enum.at(sent, at), 0), List.delete_at(sent, at)}, else: {"outside", sent}
    me = "a#{actors[turn.actor]}"
    sends = turn.sends ++ for({_sponsor, target, message} <- turn.sendx, do: {target, message})
    more = for {target, message} <- sends, do: {me, target, message}
    {["  #{from}->>#{me}: #{text(turn.message)}" | note(me, turn)], sent ++ more}
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
