defmodule Mote.Chaos.Actors do
  @moduledoc """
  Behaviours whose messages can be accounted for, and those that make trouble: addresses where nobody expects them.

  What heavy operations do to a machine is in `Mote.Chaos.Labour`.
  """

  use Mote.Behaviour, errors: :undefined

  @doc """
  Passes `{:go, path, to, token}` on along its path, and the token to whoever is at its end.

  Each step of a path says how the next one is reached. `{customer, {path, token}}` is a question that is answered by
  whoever is at the end.
  """
  defactor relay(count) do
    {:go, [step | path], to, token} ->
      message = {:go, path, to, token}

      case step do
        {:send, next} -> send next, message
        {:sendx, sponsor, next} -> sendx sponsor, next, message
        {:on, sponsor, next} -> send on(sponsor, next), message
        {:after, ms, next} -> send_after ms, next, message
        {:pin, sponsor} -> send create(relay(0), sponsor: sponsor), message
        :make -> send create(relay(0)), message
      end

      become relay(count + 1)

    {:go, [], to, token} ->
      send to, token
      become relay(count + 1)

    {customer, {path, token}} ->
      send self(), {:go, path, customer, token}
  end

  @doc "Tells `to` numbers, one after the other, as many as it is asked for."
  defactor log(to, id, n) do
    {customer, {:tick, times}} ->
      for i <- n..(n + times - 1)//1, do: send(to, {:numbered, id, i})
      send customer, n + times
      become log(to, id, n + times)

    {:tick, times} ->
      for i <- n..(n + times - 1)//1, do: send(to, {:numbered, id, i})
      become log(to, id, n + times)
  end

  @doc "Keeps whatever it is sent, at most `n` of it, and gives it back."
  defactor keeper(kept, n) do
    {customer, :get} ->
      send customer, kept

    {customer, {:put, more}} ->
      send customer, :ok
      become keeper([more | kept], n + 1)

    {customer, :self} ->
      send customer, self()

    :forget ->
      become keeper([], 0)

    _ when n > 200 ->
      become keeper([], 0)

    more ->
      become keeper([more | kept], n + 1)
  end

  @doc "Does nothing with what it is told, and holds what it was made with."
  # The compiler would see that what is written out does not match.
  defpurep given(term), do: term

  defactor holder(x) do
    {customer, :get} -> send customer, x
    :end -> become sink()
  end

  @doc "Ends turns in every way, with new actors in the reasons."
  defactor breaker(last) do
    {:abort, x} ->
      abort({:oops, create(holder(x)), [last | x]})

    {:map, x} ->
      abort(%{create(holder(last)) => x, at: %{self() => create(holder(self()))}})

    {:timer, x} ->
      abort({send_after(10, self(), x), x})

    {:case, x} ->
      case {create(holder(x)), create(breaker(last))} do
        {_, :never} -> send self(), x
      end

    {:match, x} ->
      {:never, _} = given([create(holder(x)), self() | create(holder({last, x}))])
      send self(), x

    {:late, x} ->
      a = create(holder(x))
      send a, {self(), a}
      sendx :side, a, create(holder(a))
      become breaker([a | x])
      abort(a)

    {:fuel, n} ->
      a = create(holder(n))
      send a, spin(n * 1_000_000, a)

    {:deep, n} ->
      send create(holder(n)), dig(n * 100_000, self())

    {:keep, x} ->
      become breaker({x, last})

    :forget ->
      become breaker(0)

    {customer, x} ->
      send customer, {create(holder(customer)), x}
  end

  defpure spin(0, x), do: x
  defpure spin(n, x), do: spin(n - 1, x)
  defpure dig(0, x), do: x
  defpure dig(n, x), do: [dig(n - 1, x)]

  @doc "A tree of so many levels, that tells nobody."
  defactor tree(to) do
    {0, token} ->
      send to, token
      become sink()

    {n, token} when is_integer(n) and n > 0 ->
      left = create tree(to)
      send left, {n - 1, token}
      send create(tree(self())), {n - 1, token}

    _ ->
      become sink()
  end

  @doc "Arms timers and cancels some of them."
  defactor clock(timers) do
    {:arm, times, ms, target, message} ->
      armed = for i <- 1..times//1, do: send_after(ms + i, target, message)
      become clock([armed | timers])

    :cancel ->
      for armed <- timers, timer <- armed, do: cancel_timer(timer)
      become clock([])

    {customer, ms} ->
      send_after ms, customer, :late

    _ ->
      become clock([])
  end

  @doc "For futures: takes as long as it is told."
  defpure count(n) when n <= 0, do: 0
  defpure count(n), do: count(n - 1)
  defpure one(x), do: x
  defpure broken(x), do: hd([abort({:broken, x})])

  @doc "For futures: answers after `n` turns, unless its customer was killed."
  defactor slow(n) do
    {customer, x} when n > 0 ->
      if is_address(customer), do: send(self(), {customer, x})
      become slow(n - 1)

    {customer, x} ->
      send customer, x
  end

  @doc "Never answers: the customer is dropped, kept or handed on."
  defactor silent(kept) do
    {_customer, :drop} ->
      become silent(0)

    {customer, :keep} ->
      become silent(customer)

    {customer, {:pass, next}} ->
      send next, {customer, :get}

    {customer, {:twice, x}} ->
      send customer, x
      send customer, {x, kept}

    _ ->
      become silent(0)
  end
end
