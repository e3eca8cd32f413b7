# What operations on vectors cost: nanoseconds of CPU time of the machine's one thread for an element of integers and of floats, the
# median of the rounds with the least and the greatest. On Linux.
#
#     ERL_FLAGS="+sbwt none" mix run bench/vectors.exs [ROUNDS]
Code.require_file("load.exs", __DIR__)

defmodule Mote.Bench.OfVectors do
  alias Mote.Bench.{Rounds, Run, Threads}

  @sizes [50, 1_000, 5_000, 50_000]
  # Elements of a round.
  @elements 5_000_000

  defmodule Actors do
    use Mote.Behaviour
    alias Mote.Vector, as: V

    # Something of each result is used.
    defactor vectors() do
      {customer, {what, x, y, n}} -> send customer, times(what, x, y, n, 0)
    end

    # A row of distances, which others pass by in as many turns: its state is what each turn makes.
    defactor row(x) do
      {:relax, y} -> become row(V.min(x, V.add(y, 1)))
      {customer, :sum} -> send customer, V.sum(x)
    end

    defpurep times(_, _, _, 0, sum), do: sum
    defpurep times(what, x, y, n, sum), do: times(what, x, y, n - 1, sum + call(what, x, y))

    defpurep call(:add, x, y), do: V.get(V.add(x, y), 0)
    defpurep call(:sub, x, y), do: V.get(V.sub(x, y), 0)
    defpurep call(:mul, x, y), do: V.get(V.mul(x, y), 0)
    defpurep call(:min, x, y), do: V.get(V.min(x, y), 0)
    defpurep call(:max, x, y), do: V.get(V.max(x, y), 0)
    defpurep call(:add_one, x, _), do: V.get(V.add(x, 1), 0)
    defpurep call(:relax, x, y), do: V.get(V.min(x, V.add(y, 3)), 0)
    defpurep call(:dot, x, y), do: V.dot(x, y)
    defpurep call(:sum, x, _), do: V.sum(x)
    defpurep call(:least, x, _), do: V.min(x)
  end

  @operations ~w[add sub mul min max add_one relax dot sum least]a

  def run(args) do
    [rounds] = Rounds.numbers(args, [7])
    {:ok, machine} = Mote.start_link(fuel: 1_000_000_000_000, sponsors: [main: [threads: 1]])
    vectors = Mote.create(machine, Actors.vectors())
    for what <- @operations, do: ask(vectors, {what, vector(:i64, 9, 7), vector(:i64, 9, 11), 1})
    Run.compiled(machine)

    for what <- @operations ++ [:state], size <- @sizes do
      figures =
        for type <- [:i64, :f64] do
          [x, y] = for step <- [7, 11], do: vector(type, size, step)
          n = div(@elements, size)
          way = if what == :state, do: states(machine, x, y, n), else: fn -> ask(vectors, {what, x, y, n}) end
          way.()
          Rounds.spread(for(_ <- 1..rounds, do: cpu_ns(machine, way) / (n * size)), 2)
        end

      IO.puts("#{what} of #{size}: #{Enum.join(figures, ", ")}")
    end
  end

  defp states(machine, x, y, n) do
    fn ->
      row = Mote.create(machine, Actors.row(x))
      Mote.send_many(for _ <- 1..n, do: {row, {:relax, y}})
      Mote.ask!(row, :sum, timeout: 60_000)
    end
  end

  defp vector(type, size, step),
    do: Mote.Vector.new(type, for(i <- 1..size, do: rem(i * step, 101)))

  defp ask(actor, question), do: Mote.ask!(actor, question, timeout: 60_000)

  defp cpu_ns(machine, way) do
    before = Threads.cpu_ns("mote-")
    way.()
    :ok = Mote.drain(machine, :infinity)
    Threads.cpu_ns("mote-") - before
  end
end

Mote.Bench.OfVectors.run(System.argv())
