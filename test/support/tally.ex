defmodule Mote.Tally do
  @moduledoc """
  Behaviours whose answers tell in which order they got their messages, and how often.
  """

  use Mote.Behaviour, errors: :undefined

  @doc "Adds, and answers with the sum if it is asked."
  defactor tally(sum) do
    {customer, n} ->
      send customer, sum + n
      become tally(sum + n)

    n ->
      become tally(sum + n)
  end

  @doc "Answers when it has counted down from the request."
  defactor slow() do
    {customer, n} -> send customer, down(n)
  end

  @doc "Forgets who asks, or aborts."
  defactor faithless() do
    {_customer, :forget} -> :ok
    _ -> abort(:because)
  end

  @doc "0, after so many steps."
  defpure down(0), do: 0
  defpure down(n), do: down(n - 1)
end
