# What maps cost against Elixir's own: mix run bench/maps.exs
#
# A state of a few atoms, of which one changes; and maps of many integers or texts, that are read, changed, built in rising order and
# folded. Nanoseconds an operation by the least of the rounds, which take turns; the BEAM runs its side in a process of its own.
Code.require_file("load.exs", __DIR__)

defmodule Mote.Bench.Maps do
  alias Mote.Bench.Rounds

  # The same functions for both sides: by `def`, and by `defpure`.
  defmodule Loops do
    @loops [
      update: {quote(do: %{map | qty: map.qty + 1}), quote(do: map)},
      put: {quote(do: Map.put(map, :qty, n)), quote(do: map)},
      get: {quote(do: map), quote(do: map.qty)},
      get_integer: {quote(do: map), quote(do: Map.get(map, rem(n * 7919, size), 0))},
      put_integer: {quote(do: Map.put(map, rem(n * 7919, size), n)), quote(do: map)},
      rising: {quote(do: Map.put(map, size - n, n)), quote(do: map)},
      get_text:
        {quote(do: map), quote(do: Map.get(map, "user:" <> Integer.to_string(rem(n * 7919, size)), 0))},
      put_text:
        {quote(do: Map.put(map, "user:" <> Integer.to_string(rem(n * 7919, size)), n)), quote(do: map)}
    ]

    # A loop of each name, and `run` of all.
    defmacro define(definition) do
      [map, n, size] = Enum.map([:map, :n, :size], &Macro.var(&1, nil))

      for {name, {next, value}} <- @loops do
        step =
          quote(
            do:
              unquote(name)(
                unquote(hygienic(value)),
                unquote(hygienic(next)),
                unquote(n) - 1,
                unquote(size)
              )
          )

        [
          {definition, [], [quote(do: unquote(name)(last, _, 0, _)), [do: quote(do: last)]]},
          {definition, [],
           [quote(do: unquote(name)(_, unquote(map), unquote(n), unquote(size))), [do: step]]},
          {definition, [],
           [
             quote(do: run(unquote(name), unquote(map), unquote(n), unquote(size))),
             [do: quote(do: unquote(name)(nil, unquote(map), unquote(n), unquote(size)))]
           ]}
        ]
      end
      |> List.flatten()
      |> Enum.sort_by(fn {_, _, [{name, _, _}, _]} -> name end)
      |> then(&{:__block__, [], &1})
    end

    defp hygienic(code),
      do:
        Macro.prewalk(
          code,
          &if(match?({_, _, __MODULE__}, &1), do: put_elem(&1, 2, nil), else: &1)
        )
  end

  defmodule Plain do
    require Loops
    Loops.define(:def)
    def fold(map), do: Enum.reduce(map, 0, fn {_, value}, sum -> sum + value end)
  end

  defmodule Actor do
    use Mote.Behaviour
    require Loops

    defactor holder(map) do
      {customer, {:fold, _, _}} ->
        send(customer, Enum.reduce(map, 0, fn {_, value}, sum -> sum + value end))

      {customer, {what, n, size}} ->
        run(what, map, n, size)
        send(customer, :ok)

      {customer, {:texts, size}} ->
        send(customer, :ok)
        become(holder(Map.new(1..size, fn i -> {"user:" <> Integer.to_string(i - 1), i} end)))

      {customer, {:integers, size}} ->
        send(customer, :ok)
        become(holder(Map.new(1..size, fn i -> {i - 1, i} end)))
    end

    Loops.define(:defpurep)
  end

  @steps 20_000

  def run do
    {:ok, machine} = Mote.start_link(fuel: 1_000_000_000_000)
    IO.puts("ns an operation: Mote, Elixir, ratio")

    for size <- [5, 10, 30] do
      map = Map.new([{:qty, 0} | for(i <- 2..size, do: {:"key_#{i}", i})])
      actor = Mote.create(machine, Actor.holder(map))

      for what <- [:update, :put, :get],
          do: compare(actor, {what, @steps, size}, map, "#{size} atoms")
    end

    empty = Mote.create(machine, Actor.holder(%{}))

    for size <- [10_000, 100_000],
        do: compare(empty, {:rising, size, size}, %{}, "to #{size} integers")

    actor = Mote.create(machine, Actor.holder(%{}))

    for size <- [10_000, 100_000, 1_000_000] do
      Mote.ask!(actor, {:integers, size}, timeout: 60_000)
      map = Map.new(1..size, &{&1 - 1, &1})

      for what <- [:get_integer, :put_integer],
          do: compare(actor, {what, @steps, size}, map, "#{size} integers")

      compare(actor, {:fold, size, size}, map, "#{size} integers")
      Mote.ask!(actor, {:texts, size}, timeout: 60_000)
      map = Map.new(1..size, &{"user:#{&1 - 1}", &1})

      for what <- [:get_text, :put_text],
          do: compare(actor, {what, @steps, size}, map, "#{size} texts")
    end
  end

  defp compare(actor, {what, n, size} = question, map, of) do
    mote = fn -> Mote.ask!(actor, question, timeout: 60_000) end
    settle(mote, actor)
    elixir = fn -> if what == :fold, do: Plain.fold(map), else: Plain.run(what, map, n, size) end
    [mote, elixir] = [mote, elixir] |> Rounds.times(15) |> Enum.map(&(Enum.min(&1) * 1_000 / n))

    IO.puts(
      "  #{what}, #{of}: #{Float.round(mote, 1)}, #{Float.round(elixir, 1)}, #{Float.round(mote / elixir, 2)}"
    )
  end

  # What is called for the first time is interpreted until it is compiled.
  defp settle(ask, actor) do
    ask.()
    Process.sleep(10)
    if Mote.info(Mote.machine(actor)).native.pending > 0, do: settle(ask, actor)
  end
end

Mote.Bench.Maps.run()
