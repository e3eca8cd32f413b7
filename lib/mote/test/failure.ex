defmodule Mote.Test.Failure do
  @moduledoc """
  What `Mote.Test.explore/3` raises and `Mote.Test.prove/3` returns: an order of turns after which something is wrong.

    * `schedule` - how to reproduce it: `Mote.start_link(schedule: schedule)`, and the same actors and messages while the
      machine is paused;
    * `turns` - the turns up to the rest, or to the one that is wrong, as `Mote.Trace.Turn`s, the first thousand; `more`, how
      many there were besides;
    * `kind` - `:property` when it does not hold, `:timeout` when the actors do not come to rest, or what `Mote.Test.prove/3`
      finds without being asked; `why`, as text.
  """

  defexception [:kind, :why, :schedule, :turns, more: 0]

  @type t :: %__MODULE__{
          kind: :property | :timeout | Mote.Test.flaw(),
          why: String.t(),
          schedule: {:seeded, non_neg_integer, non_neg_integer} | {:order, [non_neg_integer]},
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
      ] ++ Enum.map(shown, &line/1) ++ rest,
      "\n"
    )
  end

  defp choices({:seeded, seed, choices}), do: "seed #{seed}, after #{choices} choices; "
  defp choices({:order, _places}), do: ""

  # With the address of the actor, which may be in messages and captures of other turns.
  defp line(turn) do
    number = String.pad_leading(to_string(turn.number), 3)
    "  #{number}  #{inspect(turn.actor)} #{turn |> Mote.Trace.format() |> String.replace("\n", "\n       ")}"
  end
end
