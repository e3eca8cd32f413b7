defmodule Mote.Abort do
  @moduledoc """
  Raised when a `defpure` function that plain Elixir code called aborts.

  Inside a behaviour an abort ends the turn without footprints. Outside of a turn there is nothing to undo, so
  the caller gets this exception. `reason` is the one that a turn would report: `{:abort, value}` for
  `abort(value)`; in a module with `errors: :undefined` also `{:badmatch, value}`, `{:case_clause, value}`, `:cond_clause` or
  `:function_clause`. Elsewhere a failed match and an operation without an answer (`1 + :a`) raise the exception of Elixir.
  Elixir calls such a function like any other: it has no fuel, and its stack is limited only by memory.
  """
  defexception [:reason]

  @type t :: %__MODULE__{reason: term}

  @impl true
  def message(%{reason: reason}), do: "aborted: #{inspect(reason)}"
end
