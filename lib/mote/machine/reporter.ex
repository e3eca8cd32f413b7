defmodule Mote.Machine.Reporter do
  # What a machine's process reports about its machine: the events of `Mote.Telemetry`, and the log of aborted
  # turns. It is the state of that and the functions that change it; messages and timers are the process's own
  # business.
  #
  # Aborted turns are reported on request: the machine sends at most as many reports as were asked for, and is asked
  # again once a second at most. So neither the mailbox nor the log can be flooded, however slow a handler is.
  @moduledoc false

  require Logger

  import Mote.Internal.Expected, only: [expected!: 2]

  alias Mote.Machine.Ending
  alias Mote.Native

  @reports 10
  @again 1_000
  @levels [:none, :events, :stats, :threads]
  @interval 1_000
  # Figures that do not only grow.
  @gauges [:timers, :queue_high_water]

  # A sponsor is known by its name and when it was started: one that was removed and added again begins at zero.
  @nothing %{counters: %{}, gc: %{}, questions: %{}, sponsors: %{}}

  @enforce_keys [:about, :native, :title]
  defstruct [
    :about,
    :native,
    :title,
    last: @nothing,
    last_at: nil,
    pending: false,
    pausing: [],
    unreported: %{}
  ]

  @typedoc "The metadata of every event of a machine, and how much is reported: enough to report its end without its process."
  @type about :: %{machine: pid, name: term, started: integer, level: atom, interval: timeout}

  @opaque t :: %__MODULE__{}

  @doc "The option `:telemetry` of a machine; raises `ArgumentError`."
  @spec options!(term) :: %{interval: timeout, level: atom}
  def options!(opts) do
    unless Keyword.keyword?(opts),
      do: expected!(":telemetry to be a keyword list of :interval and :level", opts)

    for {key, _} <- opts, key not in [:interval, :level] do
      raise ArgumentError, "unknown option #{inspect(key)} of :telemetry; there are :interval and :level"
    end

    %{
      interval: interval!(Keyword.get(opts, :interval, @interval)),
      level: level!(Keyword.get(opts, :level, :stats))
    }
  end

  defp interval!(ms) when is_integer(ms) and ms in 1..0xFFFFFFFF, do: ms

  defp interval!(other),
    do: expected!(":interval of :telemetry to be a positive number of milliseconds", other)

  defp level!(level) when level in @levels, do: level

  defp level!(other),
    do: expected!(":level of :telemetry to be one of #{Enum.map_join(@levels, ", ", &inspect/1)}", other)

  @doc "Returns the reporting settings of the machine of the calling process."
  @spec about(term, %{interval: timeout, level: atom}) :: about
  def about(name, options) do
    Map.merge(options, %{machine: self(), name: name, started: System.monotonic_time()})
  end

  @doc "Tells of the start, and asks for the first reports."
  @spec start(about, reference, String.t()) :: t
  def start(about, native, title) do
    Native.machine_reports(native, @reports)
    sponsors = Native.machine_sponsors(native)
    measurements = %{system_time: System.system_time(), monotonic_time: about.started}
    tell(about, [:machine, :start], measurements, %{sponsors: if(is_list(sponsors), do: sponsors, else: [])})
    %__MODULE__{about: about, native: native, title: title, last_at: about.started}
  end

  @doc "Milliseconds to the next `tick/1`, if there is to be one."
  @spec interval(t) :: pos_integer | nil
  def interval(%{about: %{level: level, interval: interval}}) when level in [:stats, :threads], do: interval
  def interval(_reporter), do: nil

  # -- aborted turns -------------------------------------------------------------------------------------------

  @doc "One report. With the milliseconds after which `renew/1` is to be called, if that is not to come already."
  @spec aborted(t, tuple) :: {t, pos_integer | nil}
  def aborted(reporter, {sponsor, module, behaviour, reason, message}) do
    printed = Mote.Raised.Printed.term(message)

    Logger.warning(
      fn ->
        "#{inspect(module)}.#{behaviour} aborted a turn of machine #{reporter.title}: #{Mote.Raised.format(reason)}" <>
          "#{Mote.Raised.Limit.exceeded(reason, reporter.about.machine)}, message: #{printed}"
      end,
      mote_module: module,
      mote_behaviour: behaviour,
      mote_sponsor: sponsor,
      mote_reason: reason,
      # Not the term: whoever keeps it would keep the actors in it.
      mote_message: printed
    )

    tell(reporter.about, [:turn, :abort], %{system_time: System.system_time()}, %{
      sponsor: sponsor,
      module: module,
      behaviour: behaviour,
      reason: reason,
      message: printed
    })

    {%{reporter | pending: true}, if(reporter.pending, do: nil, else: @again)}
  end

  @doc "Tells how many aborted turns were not reported, and asks for more reports. As `aborted/2`."
  @spec renew(t) :: {t, pos_integer | nil}
  def renew(reporter) do
    Native.machine_reports(reporter.native, @reports)
    unreported = unreported(Native.machine_info(reporter.native), reporter.unreported)

    more = for {id, total} <- unreported, unreported(reporter, id, total), do: id

    # Threads count a moment later than they report.
    reporter = %{reporter | unreported: unreported, pending: more != []}
    {reporter, if(more != [], do: @again)}
  end

  defp unreported(%{sponsors: sponsors}, _last) do
    Map.new(sponsors, fn {name, sponsor} -> {{name, sponsor.started}, sum(sponsor.threads, :unreported)} end)
  end

  defp unreported(:stopped, last), do: last

  # Whether there were more.
  defp unreported(reporter, {sponsor, _} = id, total) do
    count = since(total, reporter.unreported[id])

    if count > 0 do
      Logger.warning(
        "#{count} more aborted turns in sponsor #{inspect(sponsor)} of machine #{reporter.title}"
      )

      tell(reporter.about, [:turn, :unreported], %{count: count}, %{sponsor: sponsor})
    end

    count > 0
  end

  # -- the end -------------------------------------------------------------------------------------------------

  @doc "Tells of a fault."
  @spec fault(t, map) :: :ok
  def fault(reporter, fault),
    do: tell(reporter.about, [:machine, :fault], %{system_time: System.system_time()}, fault)

  @doc "Tells of the end of a machine, in whatever process, and of what it has left."
  @spec stop(about, term, Ending.figures()) :: :ok
  def stop(about, reason, figures) do
    if Enum.any?(figures, fn {_, count} -> count > 0 end),
      do: tell(about, [:machine, :unfinished], figures, %{reason: reason})

    now = System.monotonic_time()
    measurements = %{duration: now - about.started, monotonic_time: now}

    case reason do
      expected when expected in [:normal, :shutdown] ->
        tell(about, [:machine, :stop], measurements, %{reason: reason})

      {:shutdown, _} ->
        tell(about, [:machine, :stop], measurements, %{reason: reason})

      _ ->
        tell(about, [:machine, :exception], measurements, %{kind: :exit, reason: reason, stacktrace: []})
    end
  end

  # -- statistics ----------------------------------------------------------------------------------------------

  @doc "Tells what has changed since the last time."
  @spec tick(t) :: t
  def tick(reporter) do
    with true <- interval(reporter) != nil, %{} = info <- Native.machine_info(reporter.native) do
      now = System.monotonic_time()
      %{about: about, last: last} = reporter
      tell(about, [:machine, :memory], Map.put(info.memory, :mail, info.mail), %{})
      collections(about, info.gc, last.gc)
      promises(about, since(info.questions.broken, last.questions[:broken]))
      undelivered(about, since(info.counters.undelivered, last.counters[:undelivered]))
      quota(about, info, last)
      lost(about, Native.machine_lost(reporter.native))

      sponsors = Map.new(info.sponsors, fn {name, sponsor} -> {{name, sponsor.started}, sponsor} end)

      for {{name, _} = id, sponsor} <- sponsors do
        sponsor(about, name, sponsor, last.sponsors[id], now - reporter.last_at)
        if sponsor.beam, do: turns(about, name, Native.machine_turns(reporter.native, name))
      end

      reporter = pausing(reporter, sponsors)

      # One that is removed goes with `removed/3`, which may come after this.
      %{reporter | last: %{info | sponsors: Map.merge(last.sponsors, sponsors)}, last_at: now}
    else
      _ -> reporter
    end
  end

  @doc "Tells what a sponsor that was removed has done since the last time; `done` is what it has done in all."
  @spec removed(t, atom, map) :: t
  def removed(reporter, name, done) do
    id = {name, done.started}
    {last, reporter} = pop_in(reporter, [Access.key!(:last), :sponsors, id])

    if interval(reporter) do
      sponsor(reporter.about, name, done, last, System.monotonic_time() - reporter.last_at)
    end

    unreported(reporter, id, sum(done.threads, :unreported))
    %{reporter | unreported: Map.delete(reporter.unreported, id)}
  end

  # The sponsors that pause in accepting connections. Each is warned of once, until it has accepted some again without a pause.
  defp pausing(reporter, sponsors) do
    pausing =
      for {{name, _} = id, %{net: %{} = now}} <- sponsors,
          before = net_before(reporter.last.sponsors[id]),
          now.accept_paused > before.accept_paused or
            (name in reporter.pausing and now.accepted == before.accepted),
          do: name

    for name <- pausing -- reporter.pausing do
      Logger.warning(
        "sponsor #{inspect(name)} of machine #{reporter.title} accepts no connections for the moment: the system has no files " <>
          "or no memory left for them (`ulimit -n` says how many files a process may have)"
      )
    end

    %{reporter | pausing: pausing}
  end

  defp net_before(nil), do: %{accept_paused: 0, accepted: 0}
  defp net_before(%{net: before}), do: before

  defp collections(about, gc, last) do
    with count when count > 0 <- since(gc.collections, last[:collections]) do
      measurements = %{
        count: count,
        last_pause: native(gc.last_pause),
        longest_pause: native(gc.longest_pause),
        reclaimed: since(gc.reclaimed, last[:reclaimed]),
        live_actors: gc.live_actors,
        live_bytes: gc.live_bytes
      }

      tell(about, [:machine, :gc], measurements, %{})
    end
  end

  defp promises(_about, 0), do: :ok
  defp promises(about, count), do: tell(about, [:machine, :broken_promises], %{count: count}, %{})

  defp undelivered(_about, 0), do: :ok
  defp undelivered(about, count), do: tell(about, [:machine, :undelivered], %{count: count}, %{})

  defp quota(about, info, last) do
    [aborted, refused] =
      for counter <- [:aborts_no_memory, :refused_no_memory],
          do: since(info.counters[counter], last.counters[counter])

    if aborted + refused > 0 do
      measurements = Map.merge(info.memory, %{count: aborted + refused, refused: refused})
      tell(about, [:machine, :quota], measurements, %{})
    end
  end

  defp lost(about, behaviours) do
    for {module, behaviour, count} <- behaviours,
        do: tell(about, [:turn, :no_memory], %{count: count}, %{module: module, behaviour: behaviour})
  end

  defp sponsor(about, name, sponsor, last, duration) do
    last_threads = if last, do: last.threads, else: []
    threads = Enum.with_index(sponsor.threads, fn now, i -> changes(now, Enum.at(last_threads, i, %{})) end)

    measurements =
      threads
      |> Enum.reduce(&Map.merge(&1, &2, fn _, a, b -> a + b end))
      |> Map.merge(Map.take(sponsor, [:asleep, :inbox, :queued, :queue_bytes, :waiting]))
      |> Map.merge(%{duration: duration, threads: length(threads)})

    tell(about, [:sponsor, :stats], measurements, %{sponsor: name})

    with count when count > 0 <- since(sponsor.overloaded, last && last.overloaded) do
      measurements = %{count: count, waiting: sponsor.waiting, high_water: sponsor.high_water}
      tell(about, [:sponsor, :overload], measurements, %{sponsor: name})
    end

    if sponsor.net, do: net(about, name, sponsor.net, last && last.net)

    if about.level == :threads do
      for {counts, n} <- Enum.with_index(threads, 1) do
        tell(about, [:thread, :stats], Map.put(counts, :duration, duration), %{sponsor: name, thread: n})
      end
    end
  end

  # Of an I/O sponsor.
  defp net(about, sponsor, now, last) do
    last = last || %{}
    grown = Map.new(Map.delete(now, :open), fn {counter, value} -> {counter, since(value, last[counter])} end)
    {paused, grown} = Map.pop!(grown, :accept_paused)
    tell(about, [:net, :stats], Map.put(grown, :open, now.open), %{sponsor: sponsor})
    if paused > 0, do: tell(about, [:net, :accept_paused], %{count: paused}, %{sponsor: sponsor})
  end

  # Of a beam sponsor, by behaviour.
  defp turns(about, sponsor, all) do
    for {module, behaviour, turns, waited, ran, longest} <- all do
      measurements = %{
        turns: turns,
        queue_time: native(waited),
        run_time: native(ran),
        longest: native(longest)
      }

      tell(about, [:sponsor, :turns], measurements, %{sponsor: sponsor, module: module, behaviour: behaviour})
    end
  end

  defp changes(now, last) do
    for {counter, value} <- now, into: %{} do
      case counter do
        :busy_ns -> {:busy, native(since(value, last[:busy_ns]))}
        gauge when gauge in @gauges -> {gauge, value}
        _ -> {counter, since(value, last[counter])}
      end
    end
  end

  defp since(now, last), do: max(now - (last || 0), 0)
  defp sum(threads, counter), do: threads |> Enum.map(&Map.fetch!(&1, counter)) |> Enum.sum()
  defp native(ns), do: System.convert_time_unit(ns, :nanosecond, :native)

  @doc "Tells something of a machine, unless it was told not to."
  @spec tell(about, [atom], map, map) :: :ok
  def tell(%{level: :none}, _event, _measurements, _metadata), do: :ok

  def tell(about, event, measurements, metadata) do
    :telemetry.execute([:mote | event], measurements, Map.merge(metadata, Map.take(about, [:machine, :name])))
  end
end
