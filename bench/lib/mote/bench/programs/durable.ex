defmodule Mote.Bench.Programs.Durable do
  # What a durable machine takes in: small messages that processes have acknowledged when the disk has them, in bursts and one by one; what
  # Mnesia takes in tables with `disc_copies`, whose transactions do not wait for the disk; and a question with `sync: :always`, in turns
  # with one write and `fdatasync` of a file beside it.
  #
  # All of it happens in a folder of the system's for temporary files, so that must be on a disk.
  @moduledoc false

  use Mote.Bench.Program,
    title:
      "n acknowledged messages to a durable machine, n / 20 transactions of Mnesia, 500 questions beside fdatasync",
    param: :n,
    defaults: [1_000_000],
    small: 1_000,
    metric: :messages_per_s,
    expected: & &1

  alias Mote.Bench.Sample

  # Processes that send bursts, and messages in each; processes that send one by one; questions.
  @bursts 8
  @burst 500
  @singles 1_000
  @questions 500

  defmodule Actors do
    use Mote.Behaviour

    defactor counter(count) do
      {:add, n} -> become counter(count + n)
      {customer, :read} -> send customer, count
    end
  end

  @impl true
  def measures(%Sample{figures: figures}), do: figures

  @impl true
  def mote(_machine, n) do
    [{:all, fn _ -> all(n) end}]
  end

  defp all(n) do
    dir = Path.join(System.tmp_dir!(), "mote_bench_durable_#{System.unique_integer([:positive])}")
    File.mkdir_p!(dir)

    try do
      bursts = per_s(n, fn -> sent(dir, n) end)
      single = div(n, 10)
      singles = per_s(single, fn -> singles(dir, single) end)
      transactions = max(div(n, 20), 1)
      mnesia = mnesia(Path.join(dir, "mnesia"), transactions)
      {ask, sync} = questions(dir, min(n, @questions))

      figures =
        [messages_per_s: bursts, singles_per_s: singles] ++
          beside(bursts, mnesia) ++
          [us_per_ask: ask, us_per_fdatasync: sync, by_fdatasync: ask / sync]

      {:figures, figures, n}
    after
      File.rm_rf!(dir)
    end
  end

  defp beside(bursts, per_s) when is_float(per_s), do: [mnesia_per_s: per_s, by_mnesia: bursts / per_s]

  defp beside(_bursts, {:unavailable, why}) do
    IO.puts(:stderr, "  nothing beside it: #{why}")
    []
  end

  # Only the sending is timed.
  defp per_s(n, send), do: n / (send.() / 1_000_000)

  defp sent(dir, n) do
    with_machine(dir, :batch, n, fn counter ->
      each_of(@bursts, n, fn count -> burst(counter, count) end)
    end)
  end

  defp burst(_counter, 0), do: :ok

  defp burst(counter, count) do
    some = min(count, @burst)
    :ok = Mote.send_many(counter, List.duplicate({:add, 1}, some), on_full: :wait)
    burst(counter, count - some)
  end

  defp singles(dir, n) do
    with_machine(dir, :batch, n, fn counter ->
      each_of(@singles, n, fn count -> repeat(count, fn -> :ok = Mote.send(counter, {:add, 1}) end) end)
    end)
  end

  # Microseconds that `act` takes, whose messages have all come.
  defp with_machine(dir, sync, n, act) do
    {:ok, machine} = Mote.start_link(durable: [dir: Path.join(dir, "machine"), sync: sync])
    counter = Mote.create(machine, Actors.counter(0))
    {us, _} = :timer.tc(fn -> act.(counter) end)
    if n, do: ^n = Mote.ask!(counter, :read, :infinity)
    Mote.stop(machine)
    File.rm_rf!(Path.join(dir, "machine"))
    us
  end

  defp each_of(processes, n, act) do
    counts = for i <- 1..processes, do: div(n, processes) + if(i <= rem(n, processes), do: 1, else: 0)
    counts |> Enum.map(fn count -> Task.async(fn -> act.(count) end) end) |> Task.await_many(:infinity)
  end

  defp mnesia(dir, n) do
    Application.put_env(:mnesia, :dir, String.to_charlist(dir))

    with {:module, mnesia} <- Code.ensure_loaded(:mnesia) do
      # It warns of a disk that is slower than its callers.
      Logger.put_module_level(:mnesia_lib, :error)
      apply(mnesia, :create_schema, [[node()]])
      :ok = apply(mnesia, :start, [])

      {:atomic, :ok} =
        apply(mnesia, :create_table, [:counters, [disc_copies: [node()], attributes: [:key, :value]]])

      {us, _} =
        :timer.tc(fn ->
          each_of(@bursts, n, fn count ->
            key = self()

            repeat(count, fn ->
              write = fn -> apply(mnesia, :write, [{:counters, key, 1}]) end
              {:atomic, :ok} = apply(mnesia, :transaction, [write])
            end)
          end)
        end)

      apply(mnesia, :stop, [])
      n / (us / 1_000_000)
    else
      _ -> {:unavailable, "this Erlang has no Mnesia (Debian: erlang-mnesia)"}
    end
  end

  # The medians of both, in microseconds.
  defp questions(dir, n) do
    {:ok, file} = :file.open(Path.join(dir, "beside"), [:write, :raw, :binary])
    bytes = :binary.copy("x", 128)

    with_machine(dir, :always, nil, fn counter ->
      pairs =
        for _ <- 1..n do
          {ask, _} = :timer.tc(fn -> Mote.ask!(counter, :read) end)

          {sync, :ok} =
            :timer.tc(fn ->
              :ok = :file.write(file, bytes)
              :file.datasync(file)
            end)

          {ask, sync}
        end

      {asks, syncs} = Enum.unzip(pairs)
      Process.put(__MODULE__, {median(asks), median(syncs)})
    end)

    :file.close(file)
    Process.delete(__MODULE__)
  end

  defp median(list), do: list |> Enum.sort() |> Enum.at(div(length(list), 2))
end
