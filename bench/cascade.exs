# What one question takes whose answer is a cascade of actors, put to a machine that sleeps: nanoseconds an actor, the median of
# 200 questions with the tenth and the ninetieth percentile, and as many milliseconds between them as a thread needs to fall asleep.
#
#     MIX_ENV=prod mix run bench/cascade.exs [THREADS]
defmodule Cascade do
  use Mote.Behaviour

  defactor node(parent) do
    0 ->
      send parent, :done

    {customer, depth} ->
      for child <- [create(node(self())), create(node(self()))], do: send(child, depth - 1)
      become collect(customer, 2)

    depth ->
      for child <- [create(node(self())), create(node(self()))], do: send(child, depth - 1)
      become collect(parent, 2)
  end

  defactor collect(parent, n) do
    :done when n > 1 -> become n: n - 1
    :done -> send parent, :done
  end
end

threads = System.argv() |> List.first("1") |> String.to_integer()
{:ok, machine} = Mote.start_link(sponsors: [main: [threads: threads]])

for depth <- 4..11 do
  actors = Integer.pow(2, depth + 1) - 1

  times =
    for _ <- 1..200 do
      root = Mote.create(machine, Cascade.node(nil))
      Process.sleep(2)
      began = System.monotonic_time()
      :done = Mote.ask!(root, depth)
      System.convert_time_unit(System.monotonic_time() - began, :native, :nanosecond) / actors
    end

  [tenth, median, ninetieth] = for at <- [20, 100, 180], do: times |> Enum.sort() |> Enum.at(at) |> round()
  IO.puts("depth #{depth}, #{actors} actors: #{median} ns (#{tenth}–#{ninetieth})")
end
