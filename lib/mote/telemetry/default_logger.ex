defmodule Mote.Telemetry.DefaultLogger do
  # The handler that writes events into the log, one line each.
  @moduledoc false

  require Logger

  @id "mote-default-logger"

  @doc "Attaches it to the events that have a line; raises `ArgumentError` for bad options."
  @spec attach([[atom]], keyword) :: :ok | {:error, :already_exists}
  def attach(events, opts) do
    unless Keyword.keyword?(opts) and Keyword.keys(opts) -- [:level] == [] do
      raise ArgumentError,
            "expected the options of the default logger to be [level: level] or [], got: #{inspect(opts)}"
    end

    level = level!(Keyword.get(opts, :level, :info))
    # A machine logs these itself.
    events = events -- [[:mote, :turn, :abort], [:mote, :turn, :unreported], [:mote, :durable, :image_failed]]
    :telemetry.attach_many(@id, events, &__MODULE__.handle/4, level)
  end

  # Of all levels that the running Logger knows.
  defp level!(level) do
    Logger.compare_levels(level, :info)
    level
  rescue
    _ -> raise ArgumentError, "expected :level to be one of Logger's levels, got: #{inspect(level)}"
  end

  @spec detach() :: :ok | {:error, :not_found}
  def detach, do: :telemetry.detach(@id)

  @doc false
  @spec handle([atom], map, map, Logger.level()) :: :ok
  def handle([:mote | event], measurements, metadata, least) do
    {level, text} = line(event, measurements, metadata)

    if Logger.compare_levels(level, least) != :lt do
      Logger.log(level, fn -> "#{machine(metadata)} #{text.()}" end, mote_event: event)
    end

    :ok
  end

  defp line([:machine, :start], _, meta),
    do: {:info, fn -> "started with the sponsors #{inspect(meta.sponsors)}" end}

  defp line([:machine, :stop], m, meta),
    do: {:info, fn -> "ended after #{ms(m.duration)}: #{inspect(meta.reason)}" end}

  defp line([:machine, :exception], m, meta),
    do: {:error, fn -> "ended after #{ms(m.duration)}: #{Exception.format_exit(meta.reason)}" end}

  defp line([:machine, :fault], _, meta),
    do: {:error, fn -> "met a fault in sponsor #{inspect(meta.sponsor)}: #{meta.text}" end}

  defp line([:machine, :unfinished], m, _),
    do:
      {if(m.events + m.turns + m.letters + m.far_bytes > 0, do: :warning, else: :info),
       fn ->
         "left unfinished: #{m |> Enum.filter(&(elem(&1, 1) > 0)) |> Enum.map_join(", ", fn {kind, n} -> "#{kind} #{n}" end)}"
       end}

  defp line([:durable, :start], _, %{image: nil} = meta),
    do: {:info, fn -> "begins in the folder #{meta.dir}" end}

  defp line([:durable, :start], m, meta),
    do:
      {:info,
       fn ->
         "goes on from image #{meta.image} in #{meta.dir} and #{m.entries} entries after it, within #{ms(m.duration)}"
       end}

  defp line([:durable, :image], m, meta),
    do:
      {:debug,
       fn ->
         "has image #{meta.number} in #{meta.dir}: #{mb(m.bytes)} in #{ms(m.duration)}, stood still for #{ms(m.stood_still)}"
       end}

  defp line([:machine, :quota], m, _),
    do:
      {:warning,
       fn ->
         "has used up its memory: #{m.count - m.refused} aborted turns, #{m.refused} refusals, #{mb(m.heap)} of heap"
       end}

  defp line([:turn, :no_memory], m, meta),
    do:
      {:warning,
       fn ->
         "has lost #{m.count} messages of #{inspect(meta.module)}.#{meta.behaviour} for want of memory"
       end}

  defp line([:net, :accept_paused], m, meta),
    do:
      {:warning,
       fn ->
         "has paused #{m.count} times in accepting connections in sponsor #{inspect(meta.sponsor)}: no files or no memory"
       end}

  defp line([:net, :stats], m, meta),
    do:
      {:debug,
       fn ->
         "has #{m.open} open sockets in sponsor #{inspect(meta.sponsor)}, #{m.accepted} accepted, #{m.closed} closed, " <>
           "#{m.bytes_in} bytes in, #{m.bytes_out} out, #{m.errors} errors"
       end}

  defp line([:machine, :broken_promises], m, _),
    do: {:warning, fn -> "has broken #{m.count} promises: nobody could answer any more" end}

  defp line([:machine, :undelivered], m, _),
    do: {:debug, fn -> "had nobody to take #{m.count} messages" end}

  defp line([:machine, :memory], m, _),
    do: {:debug, fn -> "has #{mb(m.heap)} of heap, #{mb(m.mapped)} mapped, #{mb(m.queues)} of queues" end}

  defp line([:machine, :gc], m, _),
    do:
      {:debug,
       fn -> "has collected (#{m.count}): #{m.live_actors} actors live, last pause #{ms(m.last_pause)}" end}

  defp line([:sponsor, :added], _, meta),
    do: {:info, fn -> "has a new sponsor #{inspect(meta.sponsor)} of #{meta.threads} threads" end}

  defp line([:sponsor, :removed], _, meta),
    do: {:info, fn -> "has no sponsor #{inspect(meta.sponsor)} any more" end}

  defp line([:sponsor, :stats], m, meta) do
    {:debug,
     fn -> "sponsor #{inspect(meta.sponsor)}: #{m.turns} turns in #{ms(m.duration)}, #{m.queued} queued" end}
  end

  defp line([:sponsor, :turns], m, meta) do
    {:debug,
     fn ->
       "sponsor #{inspect(meta.sponsor)}: #{m.turns} turns of #{inspect(meta.module)}.#{meta.behaviour} in " <>
         "#{ms(m.run_time)}, the longest in #{ms(m.longest)}"
     end}
  end

  defp line([:sponsor, :overload], m, meta),
    do: {:warning, fn -> "sponsor #{inspect(meta.sponsor)} was full for #{m.count} messages" end}

  defp line([:thread, :stats], m, meta) do
    {:debug,
     fn -> "thread #{meta.thread} of #{inspect(meta.sponsor)}: #{m.turns} turns, busy #{ms(m.busy)}" end}
  end

  defp machine(%{name: nil, machine: pid}), do: "machine #{inspect(pid)}"
  defp machine(%{name: name}), do: "machine #{inspect(name)}"

  defp ms(native), do: "#{Float.round(System.convert_time_unit(native, :native, :microsecond) / 1_000, 1)} ms"
  defp mb(bytes), do: "#{Float.round(bytes / 1.0e6, 1)} MB"
end
