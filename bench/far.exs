# Two nodes of one host: `mix run bench/far.exs [MESSAGES]`. Small messages one way, by processes and by actors (one a turn, a thousand), beside `send/2` from process
# to process; questions beside `GenServer.call/2`. Each the median of five rounds, in turns. Half a minute.

{:module, worker, binary, _} =
  defmodule FarBench.Worker do
    use Mote.Behaviour

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
      time(fn ->
        for n <- 1..count, do: :ok = Mote.send(home.counting, n, on_full: :wait)
        Mote.ask!(home.counting, :count, :infinity)
      end)
    end

    def run(:mote_send_many, home, count) do
      time(fn ->
        for _ <- 1..div(count, 1_000),
            do: :ok = Mote.send_many(home.counting, Enum.to_list(1..1_000), on_full: :wait)

        Mote.ask!(home.counting, :count, :infinity)
      end)
    end

    def run(:mote_actor, home, count), do: actor(home, count, 1)
    def run(:mote_actor_1000, home, count), do: actor(home, count, 1_000)

    def run(:send, home, count) do
      time(fn ->
        for n <- 1..count, do: Kernel.send(home.counter, n)
        Kernel.send(home.counter, {self(), :count})

        receive do
          {:count, n} -> n
        end
      end)
    end

    def run(:mote_ask, home, count), do: time(fn -> for n <- 1..count, do: Mote.ask!(home.echo, n) end)
    def run(:call, home, count), do: time(fn -> for _ <- 1..count, do: Agent.get(home.server, & &1) end)

    defp actor(home, count, each) do
      {:ok, machine} = Mote.start_link()
      sending = Mote.create(machine, sending(home.counting, each))
      time = time(fn -> Mote.ask!(sending, count, :infinity) end)
      Mote.stop(machine)
      time
    end

    defp time(fun), do: fun |> :timer.tc() |> elem(0)
  end

defmodule FarBench do
  @rounds 5
  @patience 300_000

  def main(args, worker, binary) do
    messages = args |> Enum.at(0, "500000") |> String.to_integer()
    {:ok, socket} = :gen_tcp.listen(0, ip: {127, 0, 0, 1})
    {:ok, port} = :inet.port(socket)
    :ok = :gen_tcp.close(socket)
    {:ok, away, node} = peer(port, ["-name", "away@127.0.0.1"])
    {:ok, home, _} = peer(port, ["-name", "home@127.0.0.1", "-dist_listen", "false"])

    for peer <- [home, away] do
      {:module, _} = :peer.call(peer, :code, :load_binary, [worker, ~c"far.exs", binary])
      {:ok, _} = :peer.call(peer, Application, :ensure_all_started, [:mote], @patience)
    end

    true = :peer.call(home, Node, :connect, [node])
    there = :peer.call(home, worker, :home, [])
    asks = div(messages, 50)

    kinds =
      for(kind <- [:send, :mote_send, :mote_send_many, :mote_actor, :mote_actor_1000], do: {kind, messages}) ++
        [call: asks, mote_ask: asks]

    # The first round loads code.
    for {kind, count} <- kinds, do: :peer.call(away, worker, :run, [kind, there, div(count, 10)], @patience)

    rounds =
      for _ <- 1..@rounds,
          do:
            Map.new(kinds, fn {kind, count} ->
              {kind, :peer.call(away, worker, :run, [kind, there, count], @patience) / count}
            end)

    for {kind, _} <- kinds do
      times = Enum.sort(Enum.map(rounds, & &1[kind]))
      us = Enum.at(times, div(@rounds, 2))
      [least, most] = for us <- [hd(times), List.last(times)], do: Float.round(us, 2)

      IO.puts(
        "#{String.pad_trailing("#{kind}", 16)} #{Float.round(us, 2)} us each (#{least}–#{most}), #{round(1_000_000 / us)} a second"
      )
    end

    Enum.each([home, away], &:peer.stop/1)
  end

  # As in test/support/two_nodes.ex.
  defp peer(port, name) do
    args = ["-setcookie", "mote", "-start_epmd", "false", "-erl_epmd_port", "#{port}" | name]
    # What actors send is not to be lost, though all of it may wait.
    args = args ++ ["-mote", "waiting_for_node", "1073741824"]
    paths = Enum.flat_map(:code.get_path(), &[~c"-pa", &1])

    :peer.start_link(%{
      connection: :standard_io,
      args: Enum.map(args, &to_charlist/1) ++ paths,
      wait_boot: 60_000
    })
  end
end

FarBench.main(System.argv(), worker, binary)
