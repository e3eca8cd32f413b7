# What a `defpure` function costs that Elixir calls, against the same `def`. From the root: mix run bench/pure.exs [ROUNDS]
#
# Each line has the median of the rounds in microseconds, with the least and the greatest. The two sides take turns.
defmodule Mote.Bench.Pure do
  @source (quote do
             defpure fib(n) when n < 2, do: n
             defpure fib(n), do: fib(n - 1) + fib(n - 2)

             defpure gcd(a, 0), do: a
             defpure gcd(a, b), do: gcd(b, rem(a, b))
             defpure gcds(n), do: Enum.reduce(1..n, 0, fn i, sum -> sum + gcd(i * 12, 90) end)

             defpure until(at, limit, step) when at >= limit and rem(step, 2) == 0, do: at
             defpure until(at, limit, step), do: until(at + step, limit, step)

             defpure sum(n), do: Enum.reduce(1..n, 0, fn i, sum -> sum + rem(i * 7, 13) end)
             defpure doubled(list), do: Enum.sum(for x <- list, x > 3, do: x * 2)

             defpure counted(list),
               do: Enum.reduce(list, %{}, fn x, seen -> Map.put(seen, x, Map.get(seen, x, 0) + 1) end)

             defpure sorted(list), do: Enum.sort(list)
             defpure sorted_by(list), do: Enum.sort_by(list, &rem(&1 * 7_919, 10_007))
           end)

  def run(rounds) do
    Module.create(__MODULE__.Mote, [quote(do: use(Mote.Behaviour)), @source], __ENV__)
    defs = Macro.prewalk(@source, fn node -> with {:defpure, meta, args} <- node, do: {:def, meta, args} end)
    Module.create(__MODULE__.Elixir, defs, __ENV__)
    list = for i <- 1..100_000, do: rem(i * 7_919, 99_991)

    for {name, args} <- [
          fib: [27],
          gcds: [100_000],
          until: [0, 4_000_000, 4],
          sum: [300_000],
          doubled: [list],
          counted: [list],
          sorted: [list],
          sorted_by: [list]
        ],
        do: compare(name, args, rounds)
  end

  defp compare(name, args, rounds) do
    [pure, plain] = modules = [__MODULE__.Mote, __MODULE__.Elixir]
    true = apply(pure, name, args) == apply(plain, name, args)
    times = for _ <- 1..rounds, do: for(module <- modules, do: elem(:timer.tc(module, name, args), 0))
    [pure, plain] = times |> Enum.zip() |> Enum.map(&(&1 |> Tuple.to_list() |> Enum.sort()))
    ratio = Float.round(median(pure) / median(plain), 2)
    IO.puts("#{name}: defpure #{spread(pure)}, def #{spread(plain)}, #{ratio}")
  end

  defp median(times), do: Enum.at(times, div(length(times), 2))
  defp spread(times), do: "#{median(times)} (#{hd(times)}–#{List.last(times)})"
end

rounds = with [n] <- System.argv(), do: String.to_integer(n), else: (_ -> 25)
Mote.Bench.Pure.run(rounds)
