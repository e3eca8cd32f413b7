# What is left when something ends on another node: `mix run bench/far_ends.exs [REFERENCES]`. Three nodes of one host. How long after the
# importer's collection, or after its end, the home has collected the actors that only the importer had; and what a receiver that is
# stopped costs the sender and its messages to a third node. Each once, the last one as the medians of five rounds. A minute.
Code.require_file("load.exs", __DIR__)

{:module, worker, binary, _} =
  defmodule FarEnds.Worker do
    use Mote.Behaviour

    alias Mote.Bench.Rounds

    defactor making() do
      {customer, n} -> send customer, for(_ <- 1..n, do: create(idle(0)))
    end

    defactor idle(n) do
      _ -> become idle(n + 1)
    end

    defactor keeping(kept) do
      {customer, {:keep, some}} ->
        send customer, :ok
        become keeping([some | kept])

      {customer, :forget} ->
        send customer, :ok
        become keeping([])
    end

    defactor counting(n) do
      {customer, :count} -> send customer, n
      {customer, {:echo, what}} -> send customer, what
      _ -> become counting(n + 1)
    end

    # References in one answer.
    @some 1_000

    # Milliseconds in which processes collect.
    @settling 500

    # -- on every node -----------------------------------------------------------------------------------------

    @doc "A machine and an actor, which stay."
    def start(behaviour) do
      caller = self()

      spawn(fn ->
        {:ok, machine} = Mote.start_link(name: __MODULE__)
        actor = Mote.create(machine, behaviour)
        Kernel.send(caller, {:started, actor})
        hold(actor)
      end)

      receive do
        {:started, actor} -> actor
      end
    end

    defp hold(actor) do
      receive do
        {:held, from} -> Kernel.send(from, actor)
      end
    end

    def live do
      :ok = Mote.gc(__MODULE__)
      Mote.info(__MODULE__).gc.live_actors
    end

    # -- on the importer ---------------------------------------------------------------------------------------

    def import_many(keeping, making, count) do
      for _ <- 1..div(count, @some), do: :ok = Mote.ask!(keeping, {:keep, Mote.ask!(making, @some, 60_000)})
      :ok
    end

    @doc "Drops all of it; milliseconds of its collection."
    def drop(keeping) do
      :ok = Mote.ask!(keeping, :forget)
      Enum.each(Process.list(), &:erlang.garbage_collect/1)
      div(Rounds.us(fn -> :ok = Mote.gc(__MODULE__) end), 1_000)
    end

    # -- at home -----------------------------------------------------------------------------------------------

    @doc "Milliseconds until no more than so many actors are left, for each of these limits."
    def collected(since, limits) do
      for limit <- limits, do: until(since, limit)
    end

    # A collection takes a core: so there is one when it is worth it.
    defp until(since, limit) do
      if Mote.info(__MODULE__).references > limit or live() > limit do
        Process.sleep(20)
        until(since, limit)
      else
        now() - since
      end
    end

    def now, do: System.monotonic_time(:millisecond)

    @doc "The same, since this node has heard that another one is gone: `times/0` returns them."
    def collected_after(node, limits) do
      caller = self()

      spawn(fn ->
        true = Node.monitor(node, true)
        Process.register(self(), FarEnds.Watch)
        Kernel.send(caller, :watching)

        receive do
          {:nodedown, ^node} -> :ok
        end

        times = collected(now(), limits)

        receive do
          {:times, from} -> Kernel.send(from, {:times, times})
        end
      end)

      receive do
        :watching -> :ok
      end
    end

    def times do
      Kernel.send(FarEnds.Watch, {:times, self()})

      receive do
        {:times, times} -> times
      end
    end

    # -- on the sender -----------------------------------------------------------------------------------------

    @doc "Sends until it is refused: how often, what waits, and how much the node has grown."
    def flood(address, node, kind) do
      before = memory()
      accepted = accepted(address, kind, 0)
      %{waiting: waiting} = Mote.nodes()[node]
      {accepted, waiting, memory() - before}
    end

    defp accepted(address, kind, n) do
      case put(address, kind, n) do
        :ok -> accepted(address, kind, n + 1)
        {:error, %{reason: :overloaded}} -> n
      end
    end

    # Each with a text or a list of its own.
    defp put(address, {:text, bytes}, n), do: Mote.send(address, {String.duplicate("x", bytes), n})
    defp put(address, {:list, length}, n), do: Mote.send(address, Enum.to_list(n..(n + length)))
    defp put(address, {:many, length}, n), do: Mote.send_many(address, Enum.to_list(n..(n + length)))

    # A process that is held by the connection collects later: so nobody waits for it.
    defp memory do
      for pid <- Process.list(), do: :erlang.garbage_collect(pid, async: pid)
      Process.sleep(@settling)
      :erlang.memory(:total)
    end

    @doc "Microseconds of a message, and of a question."
    def speed(address, messages) do
      sent =
        Rounds.us(fn ->
          for n <- 1..messages, do: :ok = Mote.send(address, n, on_full: :wait)
          Mote.ask!(address, :count, :infinity)
        end)

      asks = div(messages, 50)
      asked = Rounds.us(fn -> for n <- 1..asks, do: Mote.ask!(address, {:echo, n}) end)
      {sent / messages, asked / asks}
    end
  end

defmodule FarEnds do
  alias FarEnds.Worker
  alias Mote.Bench.{Peers, Rounds}

  @rounds 5
  @messages 100_000
  # Each node knows those that it needs.
  @apart ["-connect_all", "false"]

  def main(args, code) do
    [count] = Rounds.numbers(args, [1_000_000])
    port = Peers.port()
    # The one that listens is the home of references, and the sender.
    home = Peers.listen("home", port, code, @apart)
    making = call(home, :start, [Worker.making()])
    base = call(home, :live)

    {importer, keeping} = started("importer", home, port, code, Worker.keeping([]))
    imported(importer, keeping, making, home, count)
    collection = call(importer, :drop, [keeping])
    times = call(home, :collected, [call(home, :now), limits(base, count)])
    IO.puts("#{count} references dropped, the importer's collection took #{collection} ms: #{told(times)}")

    imported(importer, keeping, making, home, count)
    :ok = call(home, :collected_after, [importer.node, limits(base, count)])
    Peers.signal(importer, "KILL")
    IO.puts("importer of #{count} references killed, since nodedown: #{told(call(home, :times))}")

    stopped(home, port, code)
    Peers.stop(home)
  end

  # All but a hundredth, and all.
  defp limits(base, count), do: [base + div(count, 100), base]

  defp told([most, all]), do: "99 % collected after #{most} ms, all after #{all} ms"

  # Another node, and its actor.
  defp started(name, home, port, code, behaviour) do
    peer = Peers.connect(name, port, code, @apart, home)
    {peer, call(peer, :start, [behaviour])}
  end

  defp imported(importer, keeping, making, home, count) do
    us = Rounds.us(fn -> :ok = call(importer, :import_many, [keeping, making, count]) end)
    IO.puts("#{call(home, :live)} actors at home, imported in #{div(us, 1_000)} ms")
  end

  # -- a receiver that is stopped ------------------------------------------------------------------------------

  defp stopped(home, port, code) do
    [one, third] = for name <- ["one", "third"], do: started(name, home, port, code, Worker.counting(0))

    {peer, address} = one
    # The first round loads code.
    for {_, address} <- [one, third], do: call(home, :speed, [address, @messages])
    speeds(home, third, "to the third node before")
    Peers.signal(peer, "STOP")

    for kind <- [text: 0, text: 100, list: 1_000, many: 500, text: 64 * 1024] do
      {accepted, waiting, grown} = call(home, :flood, [address, peer.node, kind])

      IO.puts(
        "stopped receiver, #{inspect(kind)}: #{accepted} accepted until refused; #{mb(waiting)} wait, " <>
          "and the node has grown by #{mb(grown)}"
      )

      speeds(home, third, "to the third node meanwhile")
      if kind != {:text, 64 * 1024}, do: go_on(peer, home)
    end

    Peers.signal(peer, "CONT")
    for {peer, _} <- [one, third], do: Peers.stop(peer)
  end

  # Until all that waited has arrived, and once more.
  defp go_on(peer, home) do
    Peers.signal(peer, "CONT")
    wait(fn -> Peers.call(home, Mote, :nodes, [])[peer.node].waiting == 0 end)
    Peers.signal(peer, "STOP")
  end

  defp wait(fun) do
    unless fun.() do
      Process.sleep(20)
      wait(fun)
    end
  end

  defp speeds(home, {_, address}, what) do
    {sent, asked} = Enum.unzip(for _ <- 1..@rounds, do: call(home, :speed, [address, @messages]))
    IO.puts("#{what}: #{Rounds.spread(sent, 2)} us a message, #{Rounds.spread(asked, 2)} us a question")
  end

  defp mb(bytes), do: "#{Float.round(bytes / 1_048_576, 1)} MB"

  defp call(peer, function, args \\ []), do: Peers.call(peer, Worker, function, args)
end

FarEnds.main(System.argv(), {worker, binary})
