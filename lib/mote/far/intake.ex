defmodule Mote.Far.Intake do
  # The state of what comes from one node, without processes: which parcels were taken in. The other side of
  # `Mote.Far.Line`.
  #
  # 1. A parcel is taken in once, and after all those before it.
  @moduledoc false

  defstruct next: 1

  @type t :: %__MODULE__{}

  @doc "Returns whether the parcel of that number is to be taken in."
  @spec take(t, pos_integer) :: {:ok, t} | :repeated | :gap
  def take(%{next: next} = intake, number) do
    cond do
      number == next -> {:ok, %{intake | next: next + 1}}
      number < next -> :repeated
      true -> :gap
    end
  end
end
