defmodule Mote.Abort do
  @moduledoc """
  Raised when a `defpure` function that plain Elixir code called aborts.

  Inside a behaviour an abort ends the turn without footprints. Outside of a turn there is nothing to undo, so
  the caller gets this exception. `reason` is the one that a turn would report: `{:abort, value}` for `abort(value)`. Elixir calls
  such a function like any other: a failed match and `1 + :a` raise the exception of Elixir, it has no fuel, and its stack is
  limited only by memory.
  """
  defexception [:reason]

  @type t :: %__MODULE__{reason: term}

  @impl true
  def message(%{reason: reason}), do: "aborted: #{inspect(reason)}"
end
