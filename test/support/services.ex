defmodule Mote.Services do
  @moduledoc """
  Services to be asked in tests of `Mote.Library`: slow ones, silent ones, and those that answer too often.
  """

  use Mote.Behaviour

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

  @doc "Answers with what it makes of a number."
  defactor linear(a, b) do
    {customer, n} -> send customer, a * n + b
  end

  @doc "Answers with the next number, so many times."
  defactor repeating(times) do
    {customer, n} -> for _ <- 1..times//1, do: send(customer, n + 1)
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
