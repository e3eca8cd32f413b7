# Several questions at once, from one process: microseconds per question of `Mote.ask_all/3`, and of `Mote.async/3` with
# `Mote.await_many/2` and with `Mote.yield_many/2`, when actors answer as they are asked; and of 10,000 questions whose answers
# come in the reverse order and wait in the mailbox. Medians with least and greatest. mix run bench/questions.exs [ROUNDS]
Code.require_file("load.exs", __DIR__)

defmodule Questions do
  use Mote.Behaviour

  alias Mote.Bench.Rounds

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

    ways = [
      ask_all: &Mote.ask_all(&1, 1, 60_000),
      await_many: &Mote.await_many(asked(&1, machine), 60_000),
      yield_many: &Mote.yield_many(asked(&1, machine), 60_000)
    ]

    for {how, addresses} <- [{"as asked", echoes}, {"reversed", reversing}], {way, fun} <- ways do
      told("#{way}, #{how}", addresses, rounds, fn -> fun.(addresses) end)
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
        us = Task.await(Task.async(fn -> Rounds.us(fun) end), :infinity)
        Float.round(us / length(addresses), 2)
      end

    {least, median, most} = Rounds.extent(times)
    IO.puts("#{what}: #{median} µs (#{least}–#{most}) per question")
  end
end

[rounds] = Mote.Bench.Rounds.numbers(System.argv(), [15])
Questions.run(rounds)
