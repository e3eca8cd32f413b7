defmodule Mote.Bench.Programs.GcPause do
  # How long the threads stand still for a collection while n actors live, held by one wide tree or in one long chain,
  # and how much of the time that is, while others are created and forgotten.
  #
  # The longest is read every millisecond as that of the last collection, so one of two that come within that time may be
  # missed. All others are as the machine counts them: by powers of two, so the 99th is one that it is below.
  @moduledoc false

  use Mote.Bench.Program,
    title:
      "longest pause, the power of two below which 99 of 100 are, and time in them, with n live actors: a tree, then a chain",
    param: :n,
    defaults: [1_000_000],
    small: 1_000,
    metric: :us_pause_tree_longest,
    expected: :littered,
    measures: & &1.figures,
    machines: [mote: [main: [threads: 1]]],
    # Often, so that there are some pauses to tell of.
    options: [mote: [gc: [min: 4_000_000, factor: 0.25]]]

  # Garbage that is made meanwhile, in actors for each that lives; and at least.
  @garbage 16
  @least 100_000

  defmodule Actors do
    use Mote.Behaviour

    # Holds two of its kind, and says when all below are there.
    defactor tree(parent, left, right) do
      {:grow, 0} ->
        send parent, :grown

      {:grow, depth} ->
        below_left = create tree(self(), 0, 0)
        below_right = create tree(self(), 0, 0)
        send below_left, {:grow, depth - 1}
        send below_right, {:grow, depth - 1}
        become growing(parent, below_left, below_right, 2)

      :held ->
        _ = {left, right}
    end

    defactor growing(parent, left, right, open) do
      :grown when open > 1 ->
        become growing(parent, left, right, open - 1)

      :grown ->
        send parent, :grown
        become tree(0, left, right)
    end

    # Each holds the one before it.
    defactor chain(customer, before) do
      {:grow, 0} ->
        send customer, :grown

      {:grow, n} ->
        last =
          for _ <- 1..100, reduce: before do
            link -> create link(link)
          end

        become chain(customer, last)
        send self(), {:grow, n - 1}
    end

    defactor link(before) do
      _ -> before
    end

    defactor litter(customer) do
      0 ->
        send customer, :littered

      n ->
        for _ <- 1..100, do: send(create(link(customer)), :live)
        send self(), n - 1
    end
  end

  @impl true
  def mote(machine, n) do
    depth = max(trunc(:math.log2(n)) - 1, 1)

    [
      tree: fn _ ->
        shape(machine, :tree, Mote.create(machine, Actors.tree(self(), 0, 0)), {:grow, depth}, n)
      end,
      forget: fn :littered -> :erlang.garbage_collect() && Mote.gc(machine) end,
      chain: fn :ok ->
        shape(machine, :chain, Mote.create(machine, Actors.chain(self(), 0)), {:grow, div(n, 100) + 1}, n)
      end
    ]
  end

  defp shape(machine, name, root, grow, n) do
    :grown = answer(fn -> Mote.send(root, grow) end)
    Mote.gc(machine)
    litter = Mote.create(machine, Actors.litter(self()))
    before = Mote.info(machine).gc
    start = System.monotonic_time(:nanosecond)
    Mote.send(litter, div(max(n * @garbage, @least), 100))
    longest = longest(machine, before.collections, 0)
    time = System.monotonic_time(:nanosecond) - start
    # Held to here.
    _ = Mote.info(root)
    {:figures, figures(name, longest, before, Mote.info(machine).gc, time), :littered}
  end

  # One that ends with the last turn may be missed.
  defp longest(machine, seen, longest) do
    receive do
      :littered -> longest
    after
      1 ->
        case Mote.info(machine).gc do
          %{collections: ^seen} -> longest(machine, seen, longest)
          %{collections: now, last_pause: pause} -> longest(machine, now, max(pause, longest))
        end
    end
  end

  defp figures(name, longest, before, gc, time) do
    counts = Map.merge(gc.pauses, before.pauses, fn _below, now, before -> now - before end)

    [
      {:"us_pause_#{name}_longest", longest / 1_000},
      {:"us_pause_#{name}_p99", p99(counts) / 1_000},
      {:"percent_paused_#{name}", 100 * (gc.paused - before.paused) / time}
    ]
  end

  @doc false
  # The power of two that 99 of 100 are below; 0 if there were none.
  @spec p99(%{pos_integer => non_neg_integer}) :: non_neg_integer
  def p99(counts) do
    all = Enum.sum(Map.values(counts))

    {below, _} =
      counts
      |> Enum.filter(fn {_below, count} -> count > 0 end)
      |> Enum.sort()
      |> Enum.reduce_while({0, 0}, fn {below, count}, {_, sum} ->
        {if((sum + count) * 100 < all * 99, do: :cont, else: :halt), {below, sum + count}}
      end)

    below
  end
end
