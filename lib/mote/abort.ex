defmodule Mote.Abort do
  @moduledoc """
  Raised when a `defpure` function that plain Elixir code called aborts.

  Inside a behaviour an abort ends the turn without footprints. Outside of a turn there is nothing to undo, so
  the caller gets this exception. `reason` is the one that a turn would report: `{:abort, value}` for
  `abort(value)`, `{:badmatch, value}`, `{:case_clause, value}`, `:cond_clause`, `:function_clause`, `:fuel`,
  `:stack` or `:undefined_function`. What has no answer (`1 + :a`) raises the exception of Elixir instead.
  """
  defexception [:reason]

  @type t :: %__MODULE__{reason: term}

  @impl true
  def message(%{reason: reason}), do: "aborted: #{inspect(reason)}"
end
