# Two nodes of one host: `mix run bench/far.exs [MESSAGES]`. Small messages one way, by processes and by actors (one a turn, a thousand), beside `send/2` from process
# to process; questions beside `GenServer.call/2`. Each the median of five rounds, in turns. Half a minute.
Code.require_file("load.exs", __DIR__)

{:module, worker, binary, _} =
  defmodule FarBench.Worker do
    use Mote.Behaviour

    alias Mote.Bench.Rounds

    defactor counting(n) do
      {customer, :count} -> send customer, n
      _ -> become counting(n + 1)
    end

    # So many a turn.
    defactor sending(to, each) do
      {customer, left} when left > 0 ->
        for n <- 1..each, do: send(to, n)
        send self(), {customer, left - each}

      {customer, _} ->
        send to, {customer, :count}
    end

    defactor echo() do
      {customer, what} -> send customer, what
    end

    # -- at home -----------------------------------------------------------------------------------------------

    def home do
      caller = self()

      spawn(fn ->
        {:ok, machine} = Mote.start_link()
        counting = Mote.create(machine, counting(0))
        echo = Mote.create(machine, echo())
        {:ok, server} = Agent.start_link(fn -> 0 end)
        counter = spawn(fn -> count(0) end)
        Kernel.send(caller, {:home, %{counting: counting, echo: echo, server: server, counter: counter}})
        Process.sleep(:infinity)
      end)

      receive do
        {:home, home} -> home
      end
    end

    defp count(n) do
      receive do
        {from, :count} ->
          Kernel.send(from, {:count, n})
          count(n)

        _ ->
          count(n + 1)
      end
    end

    # -- away: microseconds of each -----------------------------------------------------------------------------

    def run(:mote_send, home, count) do
      Rounds.us(fn ->
        for n <- 1..count, do: :ok = Mote.send(home.counting, n, on_full: :wait)
        Mote.ask!(home.counting, :count, :infinity)
      end)
    end

    def run(:mote_send_many, home, count) do
      Rounds.us(fn ->
        for _ <- 1..div(count, 1_000),
            do: :ok = Mote.send_many(home.counting, Enum.to_list(1..1_000), on_full: :wait)

        Mote.ask!(home.counting, :count, :infinity)
      end)
    end

    def run(:mote_actor, home, count), do: actor(home, count, 1)
    def run(:mote_actor_1000, home, count), do: actor(home, count, 1_000)

    def run(:send, home, count) do
      Rounds.us(fn ->
        for n <- 1..count, do: Kernel.send(home.counter, n)
        Kernel.send(home.counter, {self(), :count})

        receive do
          {:count, n} -> n
        end
      end)
    end

    def run(:mote_ask, home, count), do: Rounds.us(fn -> for n <- 1..count, do: Mote.ask!(home.echo, n) end)
    def run(:call, home, count), do: Rounds.us(fn -> for _ <- 1..count, do: Agent.get(home.server, & &1) end)

    defp actor(home, count, each) do
      {:ok, machine} = Mote.start_link()
      sending = Mote.create(machine, sending(home.counting, each))
      us = Rounds.us(fn -> Mote.ask!(sending, count, :infinity) end)
      Mote.stop(machine)
      us
    end
  end

defmodule FarBench do
  alias Mote.Bench.{Peers, Rounds}

  @rounds 5
  # What actors send is not to be lost, though all of it may wait.
  @waiting ["-mote", "waiting_for_node", "1073741824"]

  def main(args, {worker, _} = code) do
    [messages] = Rounds.numbers(args, [500_000])
    port = Peers.port()
    away = Peers.listen("away", port, code, @waiting)
    home = Peers.connect("home", port, code, @waiting, away)
    there = Peers.call(home, worker, :home, [])
    asks = div(messages, 50)

    kinds =
      for(kind <- [:send, :mote_send, :mote_send_many, :mote_actor, :mote_actor_1000], do: {kind, messages}) ++
        [call: asks, mote_ask: asks]

    run = fn kind, count -> Peers.call(away, worker, :run, [kind, there, count]) end
    # The first round loads code.
    for {kind, count} <- kinds, do: run.(kind, div(count, 10))

    rounds =
      for _ <- 1..@rounds, do: Map.new(kinds, fn {kind, count} -> {kind, run.(kind, count) / count} end)

    for {kind, _} <- kinds do
      {_, us, _} = extent = rounds |> Enum.map(& &1[kind]) |> Rounds.extent()
      [least, middle, most] = for us <- Tuple.to_list(extent), do: Float.round(us, 2)
      a_second = round(1_000_000 / us)

      IO.puts(
        "#{String.pad_trailing("#{kind}", 16)} #{middle} us each (#{least}–#{most}), #{a_second} a second"
      )
    end

    Enum.each([home, away], &Peers.stop/1)
  end
end

FarBench.main(System.argv(), {worker, binary})
