defmodule Mote.Bench.Programs.Users.RateLimiter do
  # A limit for each of n users: a bucket of two tokens that gets one back each tick. One process asks for tokens, then two do, each
  # for its share of the users, in an order that no cache would like, four times each; the tick goes on every second time. A user's
  # state is one number: the tick at which the bucket would be full. So in ETS a whole decision is one `:ets.update_counter/4`. The
  # machine has many more partitions than there are processes, so that two of these seldom want the same one.
  @moduledoc false

  use Mote.Bench.Sides,
    title: "a token bucket for each of n users, asked for a token four times",
    defaults: [300_000],
    small: 100,
    metric: :ns_per_alone_mote,
    machines: [mote: [main: [threads: 32, partition: true]]]

  alias Mote.{Bench.Sides, Directory}

  @askers [alone: 1, together: 2]
  @laps 4
  @tokens 2
  @servers 64

  defmodule Actors do
    use Mote.Behaviour

    defactor bucket(full) do
      {customer, now} when full < now + 2 ->
        send customer, true
        become full: max(full, now) + 1

      {customer, _now} ->
        send customer, false
    end

    defdirectory buckets() do
      user when is_integer(user) -> bucket(0)
    end
  end

  # Each has a share of the users.
  defmodule Server do
    use GenServer

    @impl true
    def init(nil), do: {:ok, %{}}

    @impl true
    def handle_call({user, now}, _from, buckets) do
      full = max(Map.get(buckets, user, 0), now)

      if full < now + 2,
        do: {:reply, true, Map.put(buckets, user, full + 1)},
        else: {:reply, false, buckets}
    end
  end

  @impl true
  def works(machine, n) do
    for {work, askers} <- @askers do
      {work, @laps * n,
       mote: fn -> actors(machine, n, askers) end,
       ets: fn -> table(n, askers) end,
       servers: fn -> servers(n, askers) end}
    end
  end

  defp actors(machine, n, askers) do
    buckets = Directory.start(machine, Actors.buckets())
    taken(n, askers, &Directory.ask!(buckets, &1, &2), fn -> :ok end)
  end

  # The second number is never below the tick, and one above it for each token that is taken.
  defp table(n, askers) do
    table = :ets.new(:buckets, [:public, write_concurrency: true])

    take = fn user, now ->
      full = now + @tokens
      steps = [{2, -1, now - 1, now - 1}, {2, 1}, {2, 1, full, full}]
      [_, before, after_it] = :ets.update_counter(table, user, steps, {user, 0})
      after_it > before
    end

    taken(n, askers, take, fn -> :ets.delete(table) end)
  end

  defp servers(n, askers) do
    servers = List.to_tuple(for _ <- 1..@servers, do: elem(GenServer.start_link(Server, nil), 1))
    take = &GenServer.call(elem(servers, rem(&1, @servers)), {&1, &2})
    taken(n, askers, take, fn -> servers |> Tuple.to_list() |> Enum.each(&GenServer.stop/1) end)
  end

  # All have taken a token before. Returns how many more they get.
  defp taken(n, askers, take, remove) do
    granted(n, askers, 0..0, take)

    fn ->
      granted = granted(n, askers, 1..@laps, take)
      fn -> remove.() && granted end
    end
  end

  defp granted(n, askers, laps, take) do
    Enum.sum(
      Sides.at_once(askers, fn first ->
        for lap <- laps, reduce: 0, do: (sum -> sum + lap(first, askers, n, div(lap, 2), take))
      end)
    )
  end

  # The users first, first + step and so on.
  defp lap(first, step, n, now, take, granted \\ 0)
  defp lap(i, _step, n, _now, _take, granted) when i > n, do: granted

  defp lap(i, step, n, now, take, granted) do
    granted = if take.(rem(i * 7_919, n), now), do: granted + 1, else: granted
    lap(i + step, step, n, now, take, granted)
  end
end
