defmodule Mote.Services do
  @moduledoc """
  Services to be asked in tests of `Mote.Library`: slow ones, silent ones, and those that answer too often.
  """

  use Mote.Behaviour, errors: :undefined

  @doc """
  Is at work on a request for some turns, on many requests at once, and answers `{:done, request}` so many times.

  Tells the log when it begins and when it is done. Requests are `{turns, answers, request}`.
  """
  defactor busy(log) do
    {customer, {turns, answers, request}} ->
      send log, {:begin, request}
      send create(worker(log, customer, answers, request)), turns
  end

  defactor worker(log, customer, answers, request) do
    0 ->
      send log, {:end, request}
      for _ <- 1..answers//1, do: send(customer, {:done, request})

    turns ->
      send self(), turns - 1
  end

  @doc "Answers `{:done, request}` after so many milliseconds; requests are `{milliseconds, request}`."
  defactor late(log) do
    {customer, {milliseconds, request}} ->
      send log, {:begin, request}
      send_after(milliseconds, customer, {:done, request})
  end

  @doc "Answers after so many milliseconds."
  defactor delayed(milliseconds) do
    {customer, _} -> send_after(milliseconds, customer, {:after, milliseconds})
  end

  @doc "Answers with what it makes of a number."
  defactor linear(a, b) do
    {customer, n} -> send customer, a * n + b
  end

  @doc "Answers the same, so many times."
  defactor saying(answer, times) do
    {customer, _} -> for _ <- 1..times//1, do: send(customer, answer)
  end

  @doc "As `linear/2`, after some turns."
  defactor roundabout(a, b, hops) do
    {customer, n} -> send create(traveller(customer, a * n + b)), hops
  end

  defactor traveller(customer, answer) do
    0 -> send customer, answer
    hops -> send self(), hops - 1
  end

  @doc "Answers with the next number, so many times."
  defactor repeating(times) do
    {customer, n} -> for _ <- 1..times//1, do: send(customer, n + 1)
  end

  @doc "Uses every capability that it gets."
  defactor user() do
    capability -> send capability, :go
  end

  @doc "Adds one to a cell by compare and set, until it has succeeded."
  defactor adder(cell) do
    :go -> send cell, {self(), :read}
    :ok -> become sink()
    {:error, {:changed, n}} -> send cell, {self(), {:cas, n, n + 1}}
    n -> send cell, {self(), {:cas, n, n + 1}}
  end

  @doc "Answers with the sum of a list."
  defactor sum() do
    {customer, list} -> send customer, Enum.sum(list)
  end

  @doc "Answers with behaviours of the library that it creates or becomes itself."
  defactor maker() do
    {customer, {:fwd, target}} -> send customer, create(Mote.Library.fwd(target))
    {customer, {:serializer, service}} -> send customer, create(Mote.Library.serializer(service))
    {customer, :counter} -> send customer, create(Mote.Library.counter(5))
    {_, {:become, value}} -> become Mote.Library.const(value)
  end
end
