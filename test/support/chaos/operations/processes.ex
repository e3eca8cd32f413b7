defmodule Mote.Chaos.Operations.Processes do
  @moduledoc "Processes beside machines: askers, receivers, readers of outboxes, strays, and those that end at any moment."

  alias Mote.Chaos.{Actors, Findings, Listeners, Machines, Operations, Pool, Watchdog}

  def run({:receiver, heap}, _lane), do: Pool.put(:receiver, Listeners.start(heap))
  def run({:end_receiver, i}, _lane), do: if(pid = Pool.pick(:receiver, i), do: Process.exit(pid, :kill))

  # Many messages of another process, so that the receiver's queue is contended.
  def run({:spam, i, n}, _lane) do
    with pid when pid != nil <- Pool.pick(:receiver, i), do: spawn(fn -> spam(pid, n) end)
  end

  # Each asks when the one before it has been answered: one order, many senders.
  def run({:askers, m, i, processes, times}, _lane) do
    with log when log != nil <- Pool.pick(Machines.sort(:log, Machines.at(m)), i) do
      for {pid, ref} <- askers(processes, log, times) do
        send(pid, :begin)
        {pid, ref}
      end
      |> Enum.each(fn {_, ref} -> down(ref) end)
    end
  end

  # -- outboxes ------------------------------------------------------------------------------------------------

  # Every other one holds.
  def run({:outbox, m, capacity}, _lane) do
    on_full = Enum.at([:discard, :hold], rem(capacity, 2))
    Pool.put(:outbox, Mote.Outbox.open(Machines.at(m), capacity: capacity, on_full: on_full))
  end

  def run({:take, i, n}, _lane), do: outbox(i, &Mote.Outbox.take(&1, n))
  def run({:outbox_info, i}, _lane), do: outbox(i, &Mote.Outbox.info/1)
  def run({:close, i}, _lane), do: outbox(i, &Mote.Outbox.close/1)

  def run({:outbox_owner, m, n, ms}, _lane) do
    machine = Machines.at(m)

    {pid, ref} =
      spawn_monitor(fn ->
        try do
          outbox = Mote.Outbox.open(machine)
          log = Mote.create(machine, Actors.log(outbox, :owned, 0))
          for _ <- 1..3, do: Mote.send(log, {:tick, n})
          taken(outbox, %{}, 3 * n)
        rescue
          Mote.Error -> :ok
        end
      end)

    Process.sleep(ms)
    Process.exit(pid, :kill)
    down(ref)
  end

  # -- ends ----------------------------------------------------------------------------------------------------

  def run({:spawned, op, ms}, lane) do
    {pid, ref} = spawn_monitor(fn -> Operations.run(op, lane) end)
    Process.sleep(ms)
    Process.exit(pid, :kill)
    down(ref)
  end

  def run({:stray, m, whom, how}, _lane) do
    for pid <- strangers(whom, Machines.at(m)), do: stray(how, pid)
  end

  # -- parts ---------------------------------------------------------------------------------------------------

  defp askers(processes, log, times) do
    lane = self()

    pids =
      for _ <- 1..processes do
        spawn_monitor(fn ->
          next =
            receive do
              {:next, next} -> next
            end

          receive do
            :begin -> if next.first?, do: send(self(), {:turn, times})
          end

          pass(next.pid, log, lane)
        end)
      end

    for {{pid, _}, n} <- Enum.with_index(pids) do
      {next, _} = Enum.at(pids, rem(n + 1, processes))
      send(pid, {:next, %{pid: next, first?: n == 0}})
    end

    pids
  end

  # Times that are left go round; whoever gets none passes the end on, and ends.
  defp pass(next, log, lane) do
    receive do
      {:turn, n} when n <= 0 ->
        send(next, {:turn, 0})

      {:turn, n} ->
        Watchdog.within(2_000, {:ask_tick, n}, fn -> asked(log) end)
        send(next, {:turn, if(Mote.Chaos.Checks.time_left?(), do: n - 1, else: 0)})
        pass(next, log, lane)
    end
  end

  defp asked(log) do
    Mote.ask(log, {:tick, 1}, 2_000)
  rescue
    Mote.Error -> :down
  end

  defp spam(_pid, 0), do: :ok

  defp spam(pid, n) do
    send(pid, :spam)

    # Not more than it takes.
    if rem(n, 20_000) == 0 do
      case Process.info(pid, :message_queue_len) do
        {_, waiting} when waiting > 100_000 -> Process.sleep(20)
        _ -> :ok
      end
    end

    spam(pid, n - 1)
  end

  defp outbox(i, fun), do: with(outbox when outbox != nil <- Pool.pick(:outbox, i), do: fun.(outbox))

  # What an owner takes has the order in which it was sent; what is missing found no room.
  defp taken(_outbox, _last, 0), do: :ok

  defp taken(outbox, last, left) do
    messages = Mote.Outbox.take(outbox, 100)

    last =
      for {:numbered, id, n} <- messages, reduce: last do
        last ->
          if n <= Map.get(last, id, -1),
            do: Findings.found(:outbox_order, %{actor: id, came: n, after: last[id]})

          Map.put(last, id, n)
      end

    receive do
      {:mote_outbox, _} -> :ok
    after
      5 -> :ok
    end

    taken(outbox, last, left)
  end

  defp strangers(:machine, machine), do: [machine]

  defp strangers(:linked, machine) do
    with {:links, links} <- Process.info(machine, :links),
         do: Enum.filter(links, &(is_pid(&1) and &1 != Process.whereis(Machines))),
         else: (_ -> [])
  end

  # Mote's own processes: a supervisor of OTP ends where it is called with what it does not know.
  defp strangers(:supervised, _machine),
    do: for({_, pid, :worker, _} <- Supervisor.which_children(Mote.Supervisor), is_pid(pid), do: pid)

  defp stray(:call, pid) do
    GenServer.call(pid, {:stray, self()}, 100)
  catch
    :exit, _ -> :refused
  end

  defp stray(:cast, pid), do: GenServer.cast(pid, {:stray, self()})
  defp stray(:info, pid), do: send(pid, {:stray, make_ref(), self()})
  defp stray(:down, pid), do: send(pid, {:DOWN, make_ref(), :process, self(), :stray})

  defp down(ref) do
    receive do
      {:DOWN, ^ref, _, _, _} -> :ok
    end
  end
end
