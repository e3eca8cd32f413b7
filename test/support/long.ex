defmodule Mote.Long do
  @moduledoc """
  How long tests take: `MOTE_LONG=1` asks for the long versions. What a few runs find on every day, since each has a seed of its
  own, many runs find at once.
  """

  @doc "Whether the long versions were asked for."
  @spec long?() :: boolean
  def long?, do: System.get_env("MOTE_LONG", "0") != "0"

  @doc "So many runs of a property, or ten times as many."
  @spec runs(pos_integer) :: pos_integer
  def runs(usual), do: if(long?(), do: 10 * usual, else: usual)
end
