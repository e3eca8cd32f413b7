defmodule Mote.Customer do
  @moduledoc """
  A caller that waits for one answer: what `Mote.ask/3` puts first in the message `{customer, request}`.

  For actors it is an address like any other, and no pid, although it stands for a process: a behaviour that looks at its
  customers asks `is_address/1`, which holds for pids as well, and never `is_pid/1`. A BEAM process that is given one
  answers with `Mote.send/3`. Only the first answer counts, and only while somebody waits. When the actor that was asked
  aborts the turn that is given the question, the waiting process gets `:aborted` at once; when all who hold a customer have
  dropped it, `:broken_promise` as soon as the machine has found out (see the guide *Memory*).
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
