defmodule Mote.Chaos.Checks do
  @moduledoc """
  What must be true, in the middle of a run and after each phase of it.

    1. `Mote.drain/2` is exact: when it gives `:ok`, all that its caller has sent has arrived (`settle/2`).
    2. When nothing goes on any more, every message that was accepted is accounted for (`all/1`).
    3. Turns end, within a bound: a collection begins, and a machine stops, whatever its programs do.
    4. It counts what it does: turns are what came in, and what committed turns have sent.
    5. The process takes no more memory than the quotas of its machines, what the BEAM takes, and a margin.
  """

  alias Mote.Chaos.{Findings, Listeners, Machines, Pool, Watchdog}

  @phase 4_000
  @margin 512 * 1_048_576
  # Milliseconds: for a turn that spends all of its fuel, and for all that a phase leaves behind.
  @turn 5_000
  @quiet 5_000

  @doc "Whether a phase goes on, or what is left of it is left out."
  def time_left?, do: System.monotonic_time(:millisecond) < Pool.get(:phase_ends)

  @doc "A phase begins."
  def begin_phase, do: Pool.set(:phase_ends, System.monotonic_time(:millisecond) + @phase)

  @doc "Waits until a machine is quiet; then no token that this lane has sent there is missing. Check 1."
  def settle(m, lane) do
    machine = Machines.at(m)

    with :ok <- Mote.drain(machine, 2_000) do
      Listeners.seen(lane.ear)
      missing = Pool.open(lane.id, machine, :now)
      if missing != [] and accountable?(machine), do: missing(:drain_inexact, machine, missing, lane)
    end
  end

  # A turn that was aborted for want of memory has used its token up.
  defp accountable?(machine) do
    machine in Enum.map(Machines.all(), &elem(&1, 1)) and Mote.info(machine).counters.aborts_no_memory == 0
  rescue
    Mote.Error -> false
  end

  # What is missing may have been late, or be gone: that is worth knowing.
  defp missing(check, machine, tokens, lane) do
    before = Mote.info(machine)
    Process.sleep(1_000)
    Listeners.seen(lane.ear)
    later = Pool.open(lane.id, machine, :now)

    Findings.found(check, %{
      seen: "drain gave :ok, and not all that was sent before had arrived",
      missing: length(tokens),
      missing_a_second_later: Enum.count(tokens, &(&1 in later)),
      sponsors: for({name, s} <- before.sponsors, do: {name, s.asleep, s.inbox, s.queued}),
      counters: counters(before)
    })
  end

  @doc "Everything that must be true when all lanes have ended: checks 2 to 5."
  def all(lanes) do
    for {m, _} <- Machines.all(), do: quiet(m)
    for lane <- lanes, do: Listeners.seen(lane.ear)
    for {_, machine} <- Machines.all(), accountable?(machine), do: accounted(machine, lanes)
    for {_, machine} <- Machines.all(), do: counted(machine)
    memory()
  end

  # What has much to do may take long, but each turn of it ends: a collection waits for one.
  defp quiet(m) do
    machine = Machines.at(m)
    Mote.resume(machine)
    Watchdog.within(@turn, {:turn, m}, fn -> Mote.gc(machine) end)

    with {:error, _} <- settled(m, machine) do
      Machines.replace(m, fn machine -> Watchdog.within(@turn, {:stop, m}, fn -> Mote.stop(machine) end) end)
    end
  end

  defp settled(m, machine) do
    if Machines.config(m)[:clock] == :manual,
      do: Mote.advance(machine, 1_000, @quiet),
      else: Mote.drain(machine, @quiet)
  end

  # Timers of the system's clock are waited for: the longest is short.
  defp accounted(machine, lanes, tries \\ 20) do
    open = Pool.open(machine)

    cond do
      open == [] ->
        :ok

      tries > 0 ->
        Process.sleep(50)
        Mote.drain(machine, 5_000)
        for lane <- lanes, do: Listeners.seen(lane.ear)
        accounted(machine, lanes, tries - 1)

      true ->
        Findings.found(:lost, %{
          seen: "messages were accepted, the machine is quiet, and they have not arrived",
          tokens: open,
          counters: counters(Mote.info(machine))
        })
    end
  end

  # What fires, and what waits in outboxes when their owners end, is counted in other ways.
  @apart [:timers, :sponsors, :memory, :outboxes, :code, :programs]

  defp counted(machine) do
    c = Mote.info(machine).counters
    turns = c.foreign_in + c.sends - c.foreign_out - c.undelivered - c.overflowed

    if c.aborts_no_memory == 0 and Enum.all?(Pool.get(:kinds), &(&1 not in @apart)) and c.turns != turns do
      Findings.found(:counters, %{
        seen: "turns are not what came in and was sent within the machine",
        turns: c.turns,
        should_be: turns,
        counters: counters(%{counters: c})
      })
    end
  end

  # Only where each machine has a bound is there one of all.
  defp memory do
    quotas = for {m, _} <- Machines.all(), do: Machines.config(m)[:memory]

    with true <- Enum.all?(quotas, &is_integer/1), rss when is_integer(rss) <- resident() do
      mail = for {_, machine} <- Machines.all(), do: Mote.info(machine).mail
      bound = Enum.sum(quotas) + :erlang.memory(:total) + @margin

      if rss > bound and Enum.sum(mail) == 0,
        do: Findings.found(:memory, %{resident: rss, bound: bound, quotas: quotas, beam: :erlang.memory()})
    end
  end

  defp resident do
    with {:ok, status} <- File.read("/proc/self/status"),
         [_, kb] <- Regex.run(~r/VmRSS:\s+(\d+)/, status),
         do: String.to_integer(kb) * 1024
  end

  defp counters(info), do: :maps.filter(fn _, n -> n != 0 end, info.counters)
end
