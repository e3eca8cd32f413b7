defmodule Mote.Bench.Programs.PingPong do
  # Two actors, one message on the way: n requests `{customer, request}` and n replies, so 2n messages.
  @moduledoc false

  use Mote.Bench.Program,
    title: "n requests and n replies between two actors",
    param: :n,
    defaults: [1_000_000],
    small: 100,
    metric: :ns_per_message,
    count: &(2 * &1),
    expected: :done,
    processes: 2,
    plot: [sizes: [100_000], full: [100_000, 1_000_000]]

  defmodule Actors do
    use Mote.Behaviour

    defactor ping(pong, customer) do
      0 -> send customer, :done
      n -> send pong, {self(), n}
    end

    defactor pong do
      {customer, n} -> send customer, n - 1
    end
  end

  defmodule Processes do
    @spec ping(pid, pid) :: term
    def ping(pong, customer) do
      receive do
        0 ->
          send(pong, :stop)
          send(customer, :done)

        n ->
          send(pong, {self(), n})
          ping(pong, customer)
      end
    end

    @spec pong() :: :ok
    def pong do
      receive do
        {customer, n} ->
          send(customer, n - 1)
          pong()

        :stop ->
          :ok
      end
    end
  end

  @impl true
  def mote(machine, n) do
    pong = Mote.create(machine, Actors.pong())
    ping = Mote.create(machine, Actors.ping(pong, self()))
    [run: asking(ping, n)]
  end

  @impl true
  def beam(n) do
    pong = spawn(Processes, :pong, [])
    ping = spawn(Processes, :ping, [pong, self()])
    [run: asking(ping, n)]
  end
end
