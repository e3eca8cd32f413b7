# The first hundred fork bombs of a node, one after the other from Elixir: what it costs that code is compiled and memory is fresh. From
# the root, once for each depth, as a node is new only once:
#
#     for depth in 10 13 16; do mix run bench/first_minute.exs $depth; done
#
# Prints microseconds: the first bomb, the best, the median and the greatest of the hundred, and the last two by the best.
Code.require_file("load.exs", __DIR__)

defmodule Mote.Bench.FirstMinute do
  alias Mote.Bench.{Programs.ForkBomb, Rounds}

  @bombs 100

  def run(depth) do
    {:ok, machine} = Mote.start_link()
    times = for _ <- 1..@bombs, do: bomb(machine, depth)
    {best, median, greatest} = Rounds.extent(times)
    by_best = fn time -> Float.round(time / best, 2) end

    IO.puts(
      "depth #{depth}: first #{hd(times)} µs, best #{best}, median #{median} (#{by_best.(median)}), " <>
        "greatest #{greatest} (#{by_best.(greatest)}); #{Mote.info(machine).gc.collections} collections"
    )
  end

  defp bomb(machine, depth) do
    [run: run] = ForkBomb.mote(machine, depth)
    {time, result} = :timer.tc(fn -> run.(nil) end)
    true = result == ForkBomb.expected(depth)
    time
  end
end

[depth] = System.argv()
Mote.Bench.FirstMinute.run(String.to_integer(depth))
