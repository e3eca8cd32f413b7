defmodule Mote.Far.Intake do
  # The state of what comes from one node, without processes: which parcels were taken in, and which announced
  # references are no longer held here. The other side of `Mote.Far.Line`.
  #
  # 1. A parcel is taken in once, and after all those before it.
  @moduledoc false

  # So many are worth an entry at once.
  @many 1_000

  defstruct next: 1, dropped: [], count: 0

  @type t :: %__MODULE__{}

  @doc "Whether the parcel of that number is to be taken in."
  @spec take(t, pos_integer) :: {:ok, t} | :repeated | :gap
  def take(%{next: next} = intake, number) do
    cond do
      number == next -> {:ok, %{intake | next: next + 1}}
      number < next -> :repeated
      true -> :gap
    end
  end

  @doc "Nobody has what was announced by that number."
  @spec dropped(t, pos_integer) :: t
  def dropped(intake, number), do: %{intake | dropped: [number | intake.dropped], count: intake.count + 1}

  @doc "Whether there is something to report; `:now` if it is much."
  @spec report?(t) :: boolean | :now
  def report?(%{count: count}) when count >= @many, do: :now
  def report?(%{count: count}), do: count > 0

  @doc "What was dropped since the last report."
  @spec report(t) :: {[pos_integer], t}
  def report(intake), do: {intake.dropped, %{intake | dropped: [], count: 0}}
end
