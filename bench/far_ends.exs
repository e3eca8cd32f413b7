# What is left when something ends on another node: `mix run bench/far_ends.exs [REFERENCES]`. Three nodes of one host. How long after the
# importer's collection, or after its end, the home has collected the actors that only the importer had; and what a receiver that is
# stopped costs the sender and its messages to a third node. Each once, the last one as the medians of five rounds. A minute.

{:module, worker, binary, _} =
  defmodule FarEnds.Worker do
    use Mote.Behaviour

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
      {time, :ok} = :timer.tc(fn -> Mote.gc(__MODULE__) end)
      div(time, 1_000)
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
      {sent, _} =
        :timer.tc(fn ->
          for n <- 1..messages, do: :ok = Mote.send(address, n, on_full: :wait)
          Mote.ask!(address, :count, :infinity)
        end)

      asks = div(messages, 50)
      {asked, _} = :timer.tc(fn -> for n <- 1..asks, do: Mote.ask!(address, {:echo, n}) end)
      {sent / messages, asked / asks}
    end
  end

defmodule FarEnds do
  alias FarEnds.Worker

  @rounds 5
  @messages 100_000
  @patience 600_000

  def main(args, worker, binary) do
    count = args |> Enum.at(0, "1000000") |> String.to_integer()
    {:ok, socket} = :gen_tcp.listen(0, ip: {127, 0, 0, 1})
    {:ok, port} = :inet.port(socket)
    :ok = :gen_tcp.close(socket)
    # The one that listens is the home of references, and the sender.
    home = start("home", port, [], {worker, binary})
    making = call(home, :start, [Worker.making()])
    base = call(home, :live)

    {importer, keeping} = importer(home, port, {worker, binary})
    imported(importer, keeping, making, home, count)
    collection = call(importer, :drop, [keeping])
    times = call(home, :collected, [call(home, :now), limits(base, count)])
    IO.puts("#{count} references dropped, the importer's collection took #{collection} ms: #{told(times)}")

    imported(importer, keeping, making, home, count)
    :ok = call(home, :collected_after, [elem(importer, 1), limits(base, count)])
    signal("KILL", importer)
    IO.puts("importer of #{count} references killed, since nodedown: #{told(call(home, :times))}")

    stopped(home, port, {worker, binary})
    :peer.stop(elem(home, 0))
  end

  # All but a hundredth, and all.
  defp limits(base, count), do: [base + div(count, 100), base]

  defp told([most, all]), do: "99 % collected after #{most} ms, all after #{all} ms"

  defp importer(home, port, code) do
    importer = start("importer", port, ["-dist_listen", "false"], code)
    true = :peer.call(elem(importer, 0), Node, :connect, [elem(home, 1)], @patience)
    {importer, call(importer, :start, [Worker.keeping([])])}
  end

  defp imported(importer, keeping, making, home, count) do
    {time, :ok} = :timer.tc(fn -> call(importer, :import_many, [keeping, making, count]) end)
    IO.puts("#{call(home, :live)} actors at home, imported in #{div(time, 1_000)} ms")
  end

  # -- a receiver that is stopped ------------------------------------------------------------------------------

  defp stopped(home, port, code) do
    [one, third] =
      for name <- ["one", "third"] do
        peer = start(name, port, ["-dist_listen", "false"], code)
        true = :peer.call(elem(peer, 0), Node, :connect, [elem(home, 1)], @patience)
        {peer, call(peer, :start, [Worker.counting(0)])}
      end

    {peer, address} = one
    # The first round loads code.
    for {_, address} <- [one, third], do: call(home, :speed, [address, @messages])
    speeds(home, third, "to the third node before")
    signal("STOP", peer)

    for kind <- [text: 0, text: 100, list: 1_000, many: 500, text: 64 * 1024] do
      {accepted, waiting, grown} = call(home, :flood, [address, elem(peer, 1), kind])

      IO.puts(
        "stopped receiver, #{inspect(kind)}: #{accepted} accepted until refused; #{mb(waiting)} wait, " <>
          "and the node has grown by #{mb(grown)}"
      )

      speeds(home, third, "to the third node meanwhile")
      if kind != {:text, 64 * 1024}, do: go_on(peer, home)
    end

    signal("CONT", peer)
    for {{peer, _, _}, _} <- [one, third], do: :peer.stop(peer)
  end

  # Until all that waited has arrived, and once more.
  defp go_on({_, node, _} = peer, home) do
    signal("CONT", peer)
    wait(fn -> :peer.call(elem(home, 0), Mote, :nodes, [], @patience)[node].waiting == 0 end)
    signal("STOP", peer)
  end

  defp wait(fun) do
    unless fun.() do
      Process.sleep(20)
      wait(fun)
    end
  end

  defp speeds(home, {_, address}, what) do
    {sent, asked} = Enum.unzip(for _ <- 1..@rounds, do: call(home, :speed, [address, @messages]))

    IO.puts("#{what}: #{spread(sent)} us a message, #{spread(asked)} us a question")
  end

  defp spread(times) do
    sorted = Enum.sort(times)

    [median, least, most] =
      for us <- [Enum.at(sorted, div(@rounds, 2)), hd(sorted), List.last(sorted)], do: Float.round(us, 2)

    "#{median} (#{least}–#{most})"
  end

  defp mb(bytes), do: "#{Float.round(bytes / 1_048_576, 1)} MB"

  # -- nodes ---------------------------------------------------------------------------------------------------

  defp start(name, port, args, {worker, binary}) do
    name = ["-name", "#{name}@127.0.0.1", "-connect_all", "false"]
    args = ["-setcookie", "mote", "-start_epmd", "false", "-erl_epmd_port", "#{port}" | name] ++ args
    paths = Enum.flat_map(:code.get_path(), &[~c"-pa", &1])

    {:ok, peer, node} =
      :peer.start(%{
        connection: :standard_io,
        args: Enum.map(args, &to_charlist/1) ++ paths,
        wait_boot: 60_000
      })

    {:module, _} = :peer.call(peer, :code, :load_binary, [worker, ~c"far_ends.exs", binary])
    {:ok, _} = :peer.call(peer, Application, :ensure_all_started, [:mote], @patience)
    {peer, node, :peer.call(peer, System, :pid, [])}
  end

  defp call(peer, function, args \\ []),
    do: :peer.call(elem(peer, 0), FarEnds.Worker, function, args, @patience)

  defp signal(signal, {_, _, pid}), do: {_, 0} = System.cmd("kill", ["-#{signal}", pid])
end

FarEnds.main(System.argv(), worker, binary)
