defmodule Mote.Actors do
  @moduledoc """
  Behaviours that the tests of machines use.
  """

  use Mote.Behaviour, errors: :undefined

  @doc "Answers with the request."
  defactor echo() do
    {customer, request} -> send customer, request
  end

  @doc "Answers with what it was created with."
  defactor keeper(kept) do
    {customer, :get} ->
      send customer, kept

    {customer, {:swap, new}} ->
      send customer, kept
      become keeper(new)
  end

  @doc "Answers with both captures."
  defactor pair(left, right) do
    {customer, :get} -> send customer, {left, right}
  end

  @doc "Counts."
  defactor counter(count) do
    {customer, :read} -> send customer, count
    {:add, n} -> become counter(count + n)
  end

  @doc "Sends every message on."
  defactor forward(target) do
    message -> send target, message
  end

  @doc "Answers after so many milliseconds."
  defactor late() do
    {customer, ms} -> send_after(ms, customer, :late)
  end

  @doc "Answers with a new echo, and with its own address."
  defactor maker() do
    {customer, :make} -> send customer, create(echo())
    {customer, :self} -> send customer, self()
    {customer, {:on, sponsor, address}} -> send customer, on(sponsor, address)
  end

  @doc "Aborts every turn."
  defactor failing(reason) do
    _ -> abort({reason})
  end

  @doc "Is busy for ever, a turn at a time, once it has got a message."
  defactor busy(turns) do
    {customer, :read} ->
      send customer, turns

    _ ->
      send self(), :again
      become busy(turns + 1)
  end

  @doc "Answers with how the request compares with the capture."
  defactor comparing(left) do
    {customer, right} ->
      send customer, {left === right, left == right, left < right, left > right, is_address(right)}
  end
end
