defmodule Mote.Bench.Programs.Askers do
  # Processes that ask, by address and by key, beside the same on tables of the BEAM and on a process for each key: one asker, two
  # and four at once, each n operations on a thousand keys, in an order that no cache would like. What differs is measured in
  # turns, three times, and a figure is the median, in nanoseconds an operation over all askers together. A ratio is the median of those of
  # the turns, each of one asker; `two_askers` says how many times the operations of one asker two do in the same time, where each has
  # a thread of a partitioned sponsor with its actors.
  @moduledoc false

  use Mote.Bench.Program,
    title:
      "n questions of one process, of two and of four at once, by address and by key, beside tables and processes",
    param: :n,
    defaults: [20_000],
    small: 50,
    metric: :ns_per_ask_become,
    expected: & &1,
    measures: & &1.figures,
    machines: [mote: [a: [threads: 1]]]

  alias Mote.Directory

  @askers [1, 2, 4]
  @turns 3
  @keys 1_000

  defmodule Actors do
    use Mote.Behaviour

    defactor cell(n) do
      {customer, :read} ->
        send customer, n

      {customer, {:add, k}} ->
        become n: n + k
        send customer, n + k
    end

    defdirectory cells() do
      key when is_integer(key) -> cell(0)
    end
  end

  defmodule Server do
    use GenServer

    @impl true
    def init(n), do: {:ok, n}

    @impl true
    def handle_call({:add, k}, _from, n), do: {:reply, n + k, n + k}
  end

  @impl true
  def mote(machine, n) do
    kinds = kinds(machine)

    [
      warm: fn _ -> for {_, operation} <- kinds, do: together(operation, 2, @keys) end,
      ask: fn _ ->
        turns =
          for _ <- 1..@turns,
              do: for({name, operation} <- kinds, k <- @askers, do: {{name, k}, together(operation, k, n)})

        {:figures, figures(turns), n}
      end
    ]
  end

  # Each takes the number of the asker and a key.
  defp kinds(machine) do
    cells = tuple(for _ <- 1..@keys, do: Mote.create(machine, Actors.cell(0), sponsor: :a))

    {:ok, partitioned} = Mote.start_link(sponsors: [main: [threads: 2, partition: true]])
    # The threads get them by turn.
    own = tuple(Mote.create_many(partitioned, Actors.cell(0), @keys))
    directory = Directory.start(machine, Actors.cells(), sponsor: :a)
    for k <- 0..(@keys - 1), do: {:ok, 0} = Directory.ask(directory, k, {:add, 0})
    servers = tuple(for _ <- 1..@keys, do: elem(GenServer.start_link(Server, 0), 1))
    table = :ets.new(:cells, [:public, read_concurrency: true, write_concurrency: true])
    for k <- 0..(@keys - 1), do: :ets.insert(table, {k, 0})

    [
      nothing: fn _, k -> k end,
      ask_read: fn _, k -> {:ok, _} = Mote.ask(elem(cells, k), :read) end,
      ask_become: fn _, k -> {:ok, _} = Mote.ask(elem(cells, k), {:add, 1}) end,
      ask_become_own: fn i, k -> {:ok, _} = Mote.ask(elem(own, k - rem(k, 2) + rem(i, 2)), {:add, 1}) end,
      directory_become: fn _, k -> {:ok, _} = Directory.ask(directory, k, {:add, 1}) end,
      peek: fn _, k -> {:ok, _} = Mote.peek(elem(cells, k)) end,
      directory_peek: fn _, k -> {:ok, _} = Directory.peek(directory, k) end,
      call: fn _, k -> GenServer.call(elem(servers, k), {:add, 1}) end,
      lookup: fn _, k -> :ets.lookup(table, k) end,
      counter: fn _, k -> :ets.update_counter(table, k, 1) end
    ]
  end

  defp tuple(list), do: List.to_tuple(list)

  # Nanoseconds an operation, of so many processes that do `n` each.
  defp together(operation, askers, n) do
    tasks = for i <- 1..askers, do: Task.async(fn -> receive(do: (:go -> repeat(operation, i, n))) end)
    begin = System.monotonic_time()
    for task <- tasks, do: send(task.pid, :go)
    Task.await_many(tasks, :infinity)
    System.convert_time_unit(System.monotonic_time() - begin, :native, :nanosecond) / (n * askers)
  end

  defp repeat(_operation, _i, 0), do: :ok

  defp repeat(operation, i, left) do
    operation.(i, rem(left * 7 + i * 13, @keys))
    repeat(operation, i, left - 1)
  end

  defp figures(turns) do
    turns = Enum.map(turns, &Map.new/1)
    ratio = fn a, b -> median(for turn <- turns, do: turn[a] / turn[b]) end

    ratios = [
      ask_read_by_lookup: ratio.({:ask_read, 1}, {:lookup, 1}),
      ask_become_by_counter: ratio.({:ask_become, 1}, {:counter, 1}),
      directory_by_counter: ratio.({:directory_become, 1}, {:counter, 1}),
      peek_by_lookup: ratio.({:peek, 1}, {:lookup, 1}),
      call_by_ask_become: ratio.({:call, 1}, {:ask_become, 1}),
      two_askers: ratio.({:ask_become_own, 1}, {:ask_become_own, 2})
    ]

    times =
      for {name, k} <- turns |> hd() |> Map.keys() |> Enum.sort(),
          do: {figure(name, k), median(for turn <- turns, do: turn[{name, k}])}

    ratios ++ times
  end

  defp figure(name, 1), do: :"ns_per_#{name}"
  defp figure(name, k), do: :"ns_per_#{name}_of_#{k}"

  defp median(values), do: values |> Enum.sort() |> Enum.at(div(length(values), 2))
end
