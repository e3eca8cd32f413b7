defmodule Mote.Raised.Limit do
  # Which limit a turn has exceeded that was aborted by the machine itself, and what to do. Texts only.
  @moduledoc false

  alias Mote.Machine.Table

  @doc """
  What is said behind such a reason, in parentheses; nothing behind other reasons.

  With the number of steps if `machine`, a pid or `nil`, is that of a running machine.
  """
  @spec exceeded(reason :: term, machine :: pid | nil) :: String.t()
  def exceeded(:fuel, machine) do
    " (it needs more than #{steps(machine)} that :fuel in Mote.start_link/1 allows one turn: do a part of the work, and go " <>
      "on with the rest in another turn, by send self(), rest)"
  end

  def exceeded(:no_memory, _), do: " (it needs more than :memory in Mote.start_link/1 allows its machine)"
  def exceeded(:stack, _), do: " (its calls nest deeper than 100,000)"

  def exceeded(:timeout, _),
    do: " (it took longer than :timeout in the options of its beam sponsor allows a turn)"

  def exceeded(:not_durable, _),
    do:
      " (it sets a monitor, or sends a process addresses in a map whose keys have addresses: the journal of its durable or recorded " <>
        "machine could not tell either again, see Mote.Durable)"

  def exceeded(_, _), do: ""

  defp steps(machine) do
    case machine && Table.fuel(machine) do
      {:ok, fuel} -> "the #{grouped(fuel)} steps"
      _ -> "the steps"
    end
  end

  defp grouped(n), do: n |> Integer.to_string() |> String.replace(~r/\B(?=(\d{3})+$)/, ",")
end
