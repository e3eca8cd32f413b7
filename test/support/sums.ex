defmodule Mote.Sums do
  @moduledoc """
  Functions and behaviours that the tests of futures compute.
  """

  use Mote.Behaviour, errors: :undefined

  @doc "Slow on purpose."
  defpure fib(n) when n < 2 do
    n
  end

  defpure fib(n) do
    fib(n - 1) + fib(n - 2)
  end

  @doc "What it was given."
  defpure same(term) do
    term
  end

  @doc "No arguments."
  defpure answer() do
    42
  end

  @doc "All of them."
  defpure sum(a, b, c) do
    a + b + c
  end

  @doc "Aborts."
  defpure failing(reason) do
    abort(reason)
  end

  @doc "So many loop steps, none of which is quick."
  defpure spin(n) do
    for i <- 1..n, reduce: 0 do
      sum -> if :math.sin(:math.exp(:math.cos(i))) > 2, do: 0, else: sum + 1
    end
  end

  @doc "A list of n numbers."
  defpure list(n) do
    for i <- 1..n, do: i
  end

  @doc "Adds up a tree of actors."
  defactor tree(weight) do
    {customer, 0} ->
      send customer, weight

    {customer, depth} ->
      join = create join(customer)
      left = create tree(weight)
      right = create tree(weight)
      send left, {join, depth - 1}
      send right, {join, depth - 1}
  end

  defactor join(customer) do
    sum -> become joined(customer, sum)
  end

  defactor joined(customer, first) do
    sum -> send customer, first + sum
  end

  @doc "Counts turns as long as somebody wants the answer, then tells how many."
  defactor patient(count, told) do
    {customer, :go} ->
      if is_address(customer) do
        send self(), {customer, :go}
        become patient(count + 1, told)
      else
        send told, {:nobody_wants_it, count}
      end
  end

  @doc "Takes the request, and answers only when asked by somebody else."
  defactor silent() do
    {_customer, _request} -> become silent()
  end

  @doc "Answers twice."
  defactor twice() do
    {customer, request} ->
      send customer, {:first, request}
      send customer, {:second, request}
  end

  @doc "Tells somebody, becomes something else, and works for long."
  defactor busy(told) do
    {customer, n} ->
      send told, :has_run
      become silent()
      send customer, spin(n)

    :are_you ->
      send told, :still_busy
  end

  @doc "Answers in one turn and goes on with the request in another."
  defactor answers_and_works(told) do
    {customer, n} when is_integer(n) ->
      send customer, :first
      send self(), {customer, {:work, n}}

    {_customer, {:work, n}} ->
      send told, {:worked, spin(n)}
  end

  @doc "Hands the customer to a process."
  defactor handing(pid) do
    {customer, request} -> send pid, {customer, request}
  end
end
