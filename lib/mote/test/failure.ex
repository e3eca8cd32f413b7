defmodule Mote.Test.Failure do
  @moduledoc """
  What `Mote.Test.explore/3` raises: an order of turns after which the property does not hold.

    * `schedule` - how to reproduce it: `Mote.start_link(schedule: schedule)`, and the same actors and messages while the
      machine is paused;
    * `turns` - the turns up to the rest, as `Mote.Trace.Turn`s, the first thousand; `more`, how many there were besides;
    * `kind` - `:property` when it does not hold, `:timeout` when the actors do not come to rest; `why`, as text.
  """

  defexception [:kind, :why, :schedule, :turns, more: 0]

  @type t :: %__MODULE__{
          kind: :property | :timeout,
          why: String.t(),
          schedule: {:seeded, non_neg_integer, non_neg_integer},
          turns: [Mote.Trace.Turn.t()],
          more: non_neg_integer
        }

  # More would not be read.
  @lines 60

  @impl true
  def message(%__MODULE__{schedule: {:seeded, seed, choices}} = failure) do
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
        "seed #{seed}, after #{choices} choices; to reproduce it: schedule: #{inspect(failure.schedule)}",
        "",
        "the #{count + failure.more} turns up to here:"
      ] ++ Enum.map(shown, &line/1) ++ rest,
      "\n"
    )
  end

  # With the address of the actor, which may be in messages and captures of other turns.
  defp line(turn) do
    number = String.pad_leading(to_string(turn.number), 3)
    "  #{number}  #{inspect(turn.actor)} #{turn |> Mote.Trace.format() |> String.replace("\n", "\n       ")}"
  end
end
