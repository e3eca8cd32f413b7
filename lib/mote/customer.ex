defmodule Mote.Customer do
  @moduledoc """
  A caller that waits for one answer: the first element of the message `{customer, request}` that `Mote.ask/3`
  sends.

  For actors it is an address like any other, not a pid, although it stands for a process: a behaviour that
  checks its customers should use `is_address/1`, which is true for pids as well, and never `is_pid/1`. A BEAM
  process that is given one answers with `Mote.send/3`. Only the first answer counts, and only while the
  caller waits. When the actor that was asked aborts the turn that is given the question, the waiting process
  gets `:aborted` at once; when nothing holds the customer any more, it gets `:broken_promise` as soon as the
  machine has found out (see the guide *Memory*).
  """

  @enforce_keys [:ref]
  defstruct [:ref]

  # One of another node has beside its reference what tells that node when nobody here has it any more.
  @type t :: %__MODULE__{ref: reference | {reference, binary}}

  defimpl Inspect do
    # As it is shown in a report, which nobody can answer.
    def inspect(%{ref: nil}, _opts), do: "#Mote.Customer<>"

    def inspect(%{ref: ref}, _opts) do
      "#Mote.Customer<#{ref |> :erlang.phash2(0x1000000) |> Integer.to_string(36) |> String.downcase()}>"
    end
  end
end
