defmodule Mote.Bench.Programs.Fan do
  # One master in conversation with 100 runners at once: requests `{customer, n}` go out to all of them, replies
  # `{runner, n - 1}` come back to one.
  @moduledoc false

  @runners 100

  use Mote.Bench.Program,
    title: "a master and 100 runners, n requests and n replies with each",
    param: :n,
    defaults: [10_000],
    small: 20,
    metric: :ns_per_round_trip,
    count: &(@runners * &1),
    expected: :done,
    processes: @runners + 1,
    plot: [sizes: [100, 1_000], full: [100, 1_000, 10_000, 100_000]]

  defmodule Actors do
    use Mote.Behaviour

    @runners 100

    # `left`: the runners that are not done.
    defactor master(left, customer) do
      {:start, n} ->
        for _ <- 1..@runners do
          runner = create runner()
          send runner, {self(), n}
        end

      {_runner, 0} when left > 1 ->
        become master(left - 1, customer)

      {_runner, 0} ->
        send customer, :done

      {runner, n} ->
        send runner, {self(), n}
    end

    defactor runner do
      {customer, n} -> send customer, {self(), n - 1}
    end
  end

  defmodule Processes do
    @spec start(pos_integer, pos_integer, pid) :: term
    def start(runners, n, customer) do
      for _ <- 1..runners do
        runner = spawn(__MODULE__, :runner, [])
        send(runner, {self(), n})
      end

      master(runners, customer)
    end

    defp master(0, customer), do: send(customer, :done)

    defp master(left, customer) do
      receive do
        {runner, 0} ->
          send(runner, :stop)
          master(left - 1, customer)

        {runner, n} ->
          send(runner, {self(), n})
          master(left, customer)
      end
    end

    @spec runner() :: :ok
    def runner do
      receive do
        {customer, n} ->
          send(customer, {self(), n - 1})
          runner()

        :stop ->
          :ok
      end
    end
  end

  @impl true
  def mote(machine, n), do: [run: asking(Mote.create(machine, Actors.master(@runners, self())), {:start, n})]

  @impl true
  def beam(n) do
    me = self()
    [run: fn _ -> answer(fn -> spawn(Processes, :start, [@runners, n, me]) end) end]
  end
end
