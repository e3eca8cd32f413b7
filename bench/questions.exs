# Several questions at once, from one process: microseconds per question of `Mote.ask_all/3`, and of `Mote.async/3` with
# `Mote.await_many/2` and with `Mote.yield_many/2`, when actors answer as they are asked; and of 10,000 questions whose answers
# come in the reverse order and wait in the mailbox. Medians with least and greatest. In bench/: mix run questions.exs [ROUNDS]
defmodule Questions do
  use Mote.Behaviour

  defactor echo do
    {customer, request} -> send customer, request
  end

  # Keeps the customers and, when it has so many, answers them, the last one first.
  defactor reversing(count, left, customers) do
    {customer, _} when left > 1 ->
      become left: left - 1, customers: [customer | customers]

    {customer, _} ->
      for waiting <- [customer | customers], do: send(waiting, :answer)
      become left: count, customers: []
  end

  @at_once 20_000
  @reversed 10_000

  def run(rounds) do
    {:ok, machine} = Mote.start_link()
    echoes = for _ <- 1..@at_once, do: Mote.create(machine, echo())

    reversing = List.duplicate(Mote.create(machine, reversing(@reversed, @reversed, [])), @reversed)

    for {how, addresses} <- [{"as asked", echoes}, {"reversed", reversing}] do
      told("ask_all, #{how}", addresses, rounds, fn -> Mote.ask_all(addresses, 1, 60_000) end)

      told("await_many, #{how}", addresses, rounds, fn ->
        Mote.await_many(asked(addresses, machine), 60_000)
      end)

      told("yield_many, #{how}", addresses, rounds, fn ->
        Mote.yield_many(asked(addresses, machine), 60_000)
      end)
    end
  end

  defp asked(addresses, machine) do
    asks = for address <- addresses, do: Mote.async(address, 1)
    # Those that are reversed are all there.
    if length(addresses) == @reversed, do: :ok = Mote.drain(machine)
    asks
  end

  # Each round in a process of its own, whose heap has not grown by the answers of others.
  defp told(what, addresses, rounds, fun) do
    times =
      for _ <- 1..rounds do
        {us, _answers} = Task.await(Task.async(fn -> :timer.tc(fun) end), :infinity)
        us / length(addresses)
      end

    [least, median, most] =
      for n <- [0, div(rounds, 2), -1], do: times |> Enum.sort() |> Enum.at(n) |> Float.round(2)

    IO.puts("#{what}: #{median} µs (#{least}–#{most}) per question")
  end
end

rounds = System.argv() |> List.first("15") |> String.to_integer()
Questions.run(rounds)
