defmodule Mote.Telemetry.DefaultLogger do
  # The handler that writes events into the log, one line each.
  @moduledoc false

  require Logger

  @id "mote-default-logger"

  # What is in none of these is there for whoever debugs.
  @errors [[:machine, :exception], [:machine, :fault]]
  @warnings [
    [:machine, :quota],
    [:turn, :no_memory],
    [:net, :accept_paused],
    [:machine, :broken_promises],
    [:sponsor, :overload]
  ]
  @infos [[:machine, :start], [:machine, :stop], [:durable, :start], [:sponsor, :added], [:sponsor, :removed]]

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
    level = level(event, measurements)

    if Logger.compare_levels(level, least) != :lt do
      Logger.log(level, fn -> "#{machine(metadata)} #{text(event, measurements, metadata)}" end,
        mote_event: event
      )
    end

    :ok
  end

  defp level([:machine, :unfinished], m),
    do: if(m.events + m.turns + m.letters + m.far_bytes > 0, do: :warning, else: :info)

  defp level(event, _) when event in @errors, do: :error
  defp level(event, _) when event in @warnings, do: :warning
  defp level(event, _) when event in @infos, do: :info
  defp level(_event, _), do: :debug

  defp text([:machine, :start], _, meta), do: "started with the sponsors #{inspect(meta.sponsors)}"

  defp text([:machine, :stop], m, meta), do: "ended after #{ms(m.duration)}: #{inspect(meta.reason)}"

  defp text([:machine, :exception], m, meta),
    do: "ended after #{ms(m.duration)}: #{Exception.format_exit(meta.reason)}"

  defp text([:machine, :fault], _, meta), do: "met a fault in sponsor #{inspect(meta.sponsor)}: #{meta.text}"

  defp text([:machine, :unfinished], m, _),
    do:
      "left unfinished: #{m |> Enum.filter(&(elem(&1, 1) > 0)) |> Enum.map_join(", ", fn {kind, n} -> "#{kind} #{n}" end)}"

  defp text([:durable, :start], _, %{image: nil} = meta), do: "begins in the folder #{meta.dir}"

  defp text([:durable, :start], m, meta),
    do:
      "goes on from image #{meta.image} in #{meta.dir} and #{m.entries} entries after it, within #{ms(m.duration)}"

  defp text([:durable, :image], m, meta),
    do:
      "has image #{meta.number} in #{meta.dir}: #{mb(m.bytes)} in #{ms(m.duration)}, stood still for #{ms(m.stood_still)}"

  defp text([:machine, :quota], m, _),
    do:
      "has used up its memory: #{m.count - m.refused} aborted turns, #{m.refused} refusals, #{mb(m.heap)} of heap"

  defp text([:turn, :no_memory], m, meta),
    do: "has lost #{m.count} messages of #{inspect(meta.module)}.#{meta.behaviour} for want of memory"

  defp text([:net, :accept_paused], m, meta),
    do:
      "has paused #{m.count} times in accepting connections in sponsor #{inspect(meta.sponsor)}: no files or no memory"

  defp text([:net, :stats], m, meta),
    do:
      "has #{m.open} open sockets in sponsor #{inspect(meta.sponsor)}, #{m.accepted} accepted, #{m.closed} closed, " <>
        "#{m.bytes_in} bytes in, #{m.bytes_out} out, #{m.errors} errors"

  defp text([:machine, :broken_promises], m, _),
    do: "has broken #{m.count} promises: nobody could answer any more"

  defp text([:machine, :undelivered], m, _), do: "had nobody to take #{m.count} messages"

  defp text([:machine, :memory], m, _),
    do: "has #{mb(m.heap)} of heap, #{mb(m.mapped)} mapped, #{mb(m.queues)} of queues"

  defp text([:machine, :gc], m, _),
    do: "has collected (#{m.count}): #{m.live_actors} actors live, last pause #{ms(m.last_pause)}"

  defp text([:sponsor, :added], _, meta),
    do: "has a new sponsor #{inspect(meta.sponsor)} of #{meta.threads} threads"

  defp text([:sponsor, :removed], _, meta), do: "has no sponsor #{inspect(meta.sponsor)} any more"

  defp text([:sponsor, :stats], m, meta),
    do: "sponsor #{inspect(meta.sponsor)}: #{m.turns} turns in #{ms(m.duration)}, #{m.queued} queued"

  defp text([:sponsor, :turns], m, meta),
    do:
      "sponsor #{inspect(meta.sponsor)}: #{m.turns} turns of #{inspect(meta.module)}.#{meta.behaviour} in " <>
        "#{ms(m.run_time)}, the longest in #{ms(m.longest)}"

  defp text([:sponsor, :overload], m, meta),
    do: "sponsor #{inspect(meta.sponsor)} was full for #{m.count} messages"

  defp text([:thread, :stats], m, meta),
    do: "thread #{meta.thread} of #{inspect(meta.sponsor)}: #{m.turns} turns, busy #{ms(m.busy)}"

  defp machine(%{name: nil, machine: pid}), do: "machine #{inspect(pid)}"
  defp machine(%{name: name}), do: "machine #{inspect(name)}"

  defp ms(native), do: "#{Float.round(System.convert_time_unit(native, :native, :microsecond) / 1_000, 1)} ms"
  defp mb(bytes), do: "#{Float.round(bytes / 1.0e6, 1)} MB"
end
