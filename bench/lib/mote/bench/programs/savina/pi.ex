defmodule Mote.Bench.Programs.Savina.Pi do
  # The digits of pi of the Savina suite (`piprecision`: 5,000 digits, 20 workers): a master hands out the terms of the formula of
  # Bailey, Borwein and Plouffe, one at a time to each worker, and adds them up. Numbers are integers, pi times a power of ten.
  @moduledoc false

  # Digits that are calculated beyond those that are wanted.
  @beyond 10
  @workers 20

  use Mote.Bench.Program,
    title: "n digits of pi, a term at a time by 20 workers",
    param: :n,
    defaults: [5_000],
    small: 50,
    metric: :us_per_term,
    # A term has 1.2 digits.
    count: &(div((&1 + @beyond) * 10, 12) + @workers),
    processes: @workers + 1

  defmodule Actors do
    use Mote.Behaviour

    # `next`: the term that is to be handed out, `left`: how many are still to come back.
    defactor master(next, terms, left, sum, customer) do
      {:free, worker} ->
        send worker, {self(), next}
        become next: next + 1

      {worker, term} when next < terms ->
        send worker, {self(), next}
        become next: next + 1, left: left - 1, sum: sum + term

      {_worker, term} when left > 1 ->
        become left: left - 1, sum: sum + term

      {_worker, term} ->
        send customer, sum + term
    end

    defactor worker(one) do
      {master, k} when is_integer(k) -> send master, {self(), term(one, k)}
      master -> send master, {:free, self()}
    end

    defpure term(one, k) do
      above = 120 * k * k + 151 * k + 47
      below = 512 * k * k * k * k + 1_024 * k * k * k + 712 * k * k + 194 * k + 15
      div(one * above, below * Bitwise.bsl(1, 4 * k))
    end
  end

  defmodule Processes do
    @spec start(pos_integer, pos_integer, pos_integer, pid) :: pid
    def start(workers, one, terms, customer) do
      spawn(fn ->
        receive do
          :start ->
            me = self()
            workers = for k <- 0..(workers - 1), do: spawn(fn -> worker(me, one, k) end)
            sum = master(length(workers), terms, terms, 0)
            for worker <- workers, do: send(worker, :stop)
            send(customer, sum)
        end
      end)
    end

    defp master(_next, _terms, 0, sum), do: sum

    defp master(next, terms, left, sum) do
      receive do
        {worker, term} when next < terms ->
          send(worker, {:term, next})
          master(next + 1, terms, left - 1, sum + term)

        {_worker, term} ->
          master(next, terms, left - 1, sum + term)
      end
    end

    defp worker(master, one, k) do
      send(master, {self(), term(one, k)})

      receive do
        {:term, k} -> worker(master, one, k)
        :stop -> :ok
      end
    end

    defp term(one, k) do
      above = 120 * k * k + 151 * k + 47
      below = 512 * k * k * k * k + 1_024 * k * k * k + 712 * k * k + 194 * k + 15
      div(one * above, below * Bitwise.bsl(1, 4 * k))
    end
  end

  # By Machin's formula.
  @impl true
  def expected(n) do
    one = one(n)
    div(4 * (4 * arctan(one, 5) - arctan(one, 239)), Integer.pow(10, @beyond))
  end

  # Of one part in so many.
  defp arctan(one, part), do: arctan(div(one, part), part * part, 1, 0)

  defp arctan(0, _square, _odd, sum), do: sum

  defp arctan(power, square, odd, sum) do
    sign = if rem(odd, 4) == 1, do: 1, else: -1
    arctan(div(power, square), square, odd + 2, sum + sign * div(power, odd))
  end

  @impl true
  def mote(machine, n) do
    workers = for _ <- 1..@workers, do: Mote.create(machine, Actors.worker(one(n)))
    master = Mote.create(machine, Actors.master(0, count(n), count(n), 0, self()))
    all = Mote.create(machine, Mote.Library.broadcast(workers))
    [run: asking(all, master, &digits/1)]
  end

  @impl true
  def beam(n), do: [run: asking(Processes.start(@workers, one(n), count(n), self()), :start, &digits/1)]

  defp one(n), do: Integer.pow(10, n + @beyond)
  defp digits(pi), do: div(pi, Integer.pow(10, @beyond))
end
