defmodule Mote.Total.None do
  # The mark that the cores of `Mote.Total` give each other for "no answer". It never leaves `Mote.Total`:
  # a behaviour sees `:undefined`, a guard sees a failure.
  @moduledoc false

  @doc "The mark."
  @spec value() :: atom
  def value, do: :"mote: no answer"
end
