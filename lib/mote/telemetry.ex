defmodule Mote.Telemetry do
  # One list of all events: the documentation, `events/0` and the tests are made from it. The events of
  # machines are made in `Mote.Machine.Reporter`.

  @machine [machine: "the process that answers for it", name: "what it was started as, or `nil`"]
  @sponsor [sponsor: "its name"] ++ @machine
  @memory [
    charged: "bytes that count against `:memory`",
    heap: "bytes of heap in use, which are the next three together",
    live: "what the last collection found alive",
    new: "what threads were given to fill since then, whether it lives or not",
    holes: "room between what lives",
    spare: "what is empty, and waits to be used or given back",
    mapped: "bytes of addresses that the system has given for heaps and queues",
    queues: "bytes of event queues"
  ]

  @counters "every counter of `Mote.Counters` by its name: how much it has grown since the last time, except for " <>
              "`timers` and `queue_high_water`, which are current values, and `busy_ns`, which is called `busy` " <>
              "and is in native units as all durations are"

  @events [
    {[:mote, :machine, :start], "a machine has started", [system_time: "now", monotonic_time: "now"],
     [sponsors: "the names of its sponsors"] ++ @machine},
    {[:mote, :machine, :stop], "a machine has ended normally: `:normal`, `:shutdown` or `{:shutdown, _}`",
     [duration: "how long it ran", monotonic_time: "now"], [reason: "the exit reason"] ++ @machine},
    {[:mote, :machine, :exception],
     "a machine has ended for any other reason, also when its process was killed",
     [duration: "how long it ran", monotonic_time: "now"],
     [kind: "`:exit`", reason: "the exit reason", stacktrace: "`[]`"] ++ @machine},
    {[:mote, :machine, :fault],
     "a thread has met a broken invariant: the machine ends, so an exception follows (see `Mote.Machine`)",
     [system_time: "now"],
     [
       sponsor: "the sponsor whose thread it was",
       behaviour: "`{module, name}`, or `nil` between turns",
       message_kind: "what kind of value the message was, or `nil`",
       text: "what was wrong"
     ] ++ @machine},
    {[:mote, :machine, :unfinished],
     "a machine has ended, in whatever way, with something that it had accepted and not done; comes before the stop or the exception",
     [
       events: "messages and events that waited for a turn",
       turns: "turns of beam sponsors that waited for a worker, or were cut off",
       letters:
         "messages in outboxes, which can still be taken while the process that opened the outbox lives",
       far_bytes: "about how many bytes of messages for other nodes waited to be sent",
       timers: "timers that were not due",
       questions: "questions without an answer, whose askers are told"
     ], [reason: "the exit reason"] ++ @machine},
    {[:mote, :machine, :memory], "each interval",
     [mail: "messages to processes that wait to be sent"] ++ @memory, @machine},
    {[:mote, :machine, :gc], "each interval in which the machine has collected",
     [
       count: "collections since the last time",
       last_pause: "for how long all threads stood still at the last one",
       longest_pause: "the longest of these since the start",
       reclaimed: "bytes of blocks found empty since the last time",
       live_actors: "as the last one found them",
       live_bytes: "as the last one found them"
     ], @machine},
    {[:mote, :machine, :quota],
     "each interval in which turns were aborted, or something from outside or for an outbox was refused, because the " <>
       "memory was used up",
     [
       count: "both together since the last time",
       refused: "of these, the refusals"
     ] ++ @memory, @machine},
    {[:mote, :machine, :broken_promises],
     "each interval in which a caller waited for an answer that could no longer come",
     [count: "such questions since the last time"], @machine},
    {[:mote, :machine, :undelivered],
     "each interval in which messages of actors to the outside found nobody, of all sponsors together: what is noticed only " <>
       "when it is handed over is in no sponsor's counters", [count: "such messages since the last time"],
     @machine},
    {[:mote, :sponsor, :added], "a sponsor was added to a running machine", [system_time: "now"],
     [threads: "how many it has"] ++ @sponsor},
    {[:mote, :sponsor, :removed], "a sponsor was removed from a running machine", [system_time: "now"],
     @sponsor},
    {[:mote, :sponsor, :stats],
     "each interval, for each sponsor; and the rest of what it has done when it is removed",
     [
       counters: @counters,
       duration: "the time that this is about",
       threads: "how many it has",
       asleep: "how many of them are asleep",
       inbox: "messages and events that wait to enter",
       queued: "events in its threads' queues",
       queue_bytes: "bytes of these queues",
       waiting: "both together, as the sponsor's `:inbox` counts them"
     ], @sponsor},
    {[:mote, :sponsor, :overload], "each interval in which the sponsor was full when a message came",
     [
       count: "messages that found it full since the last time, those that could wait for room included",
       waiting: "messages and events that wait",
       high_water: "the most that ever waited"
     ], @sponsor},
    {[:mote, :sponsor, :turns], "each interval, for each behaviour that a beam sponsor has run",
     [
       turns: "turns of it that have ended in any way",
       queue_time: "the time that its turns have waited for a worker, of all that were begun together",
       run_time: "the time that they have run, of all together",
       longest: "the longest of them"
     ], [module: "the module of the behaviour", behaviour: "its name"] ++ @sponsor},
    {[:mote, :net, :stats], "each interval, for each I/O sponsor",
     [
       open: "sockets that are open, listeners included",
       accepted: "connections that were accepted since the last time",
       connected: "connections that were made",
       closed: "sockets that were closed",
       collected: "of these, those that nobody held any more",
       errors: "failures of reads, writes and connections",
       bytes_in: "bytes that were read",
       bytes_out: "bytes that were written"
     ], @sponsor},
    {[:mote, :net, :accept_paused],
     "each interval in which a listener has paused, since the system had no files or no memory left for connections",
     [count: "how often"], @sponsor},
    {[:mote, :thread, :stats], "each interval, for each dispatch thread; only at level `:threads`",
     [counters: @counters, duration: "the time that this is about"],
     [thread: "its number within the sponsor, from 1"] ++ @sponsor},
    {[:mote, :durable, :start],
     "a durable machine has started: it goes on from what is in its folder, or begins there",
     [
       duration: "how long it took to come to the last entry in the folder",
       entries: "of journals, that were run again"
     ],
     [dir: "its folder", image: "the number of the image that it goes on from, or `nil` where there was none"] ++
       @machine},
    {[:mote, :durable, :image], "a durable machine has a new image and a new journal",
     [
       bytes: "of the image",
       duration: "how long it took, the disk included",
       stood_still: "for how long no turn has run"
     ], [dir: "its folder", number: "of the image"] ++ @machine},
    {[:mote, :durable, :image_failed],
     "a durable machine could not make an image: it goes on with the one before, and tries again after half a minute",
     [duration: "how long it took"],
     [dir: "its folder", number: "of the image", error: "a `Mote.Error`"] ++ @machine},
    {[:mote, :turn, :abort], "a turn was aborted; about ten a second of them are reported one by one",
     [system_time: "now"],
     [
       sponsor: "the sponsor whose thread it was",
       module: "the module of the behaviour",
       behaviour: "its name",
       reason: "see the guide *The IR*; what the turn had created is `Mote.Uncommitted` in it",
       message: "the message of the turn, as text; only its beginning if it is large"
     ] ++ @machine},
    {[:mote, :turn, :no_memory],
     "each interval, for each behaviour of which turns were aborted because the memory was used up: the messages that were accepted and lost by " <>
       "that", [count: "such messages since the last time"],
     [module: "the module of the behaviour", behaviour: "its name"] ++ @machine},
    {[:mote, :turn, :unreported], "more turns were aborted than are reported one by one",
     [count: "how many more, since the last time"], @sponsor}
  ]

  list = fn
    [] -> "none"
    pairs -> Enum.map_join(pairs, "\n", fn {key, text} -> "      * `#{key}` - #{text}" end)
  end

  docs =
    for {event, meaning, measurements, metadata} <- @events do
      """
        * `#{inspect(event)}` - #{meaning}

          Measurements:

      #{list.(measurements)}

          Metadata:

      #{list.(metadata)}
      """
    end

  @moduledoc """
  Events that machines report through `:telemetry`.

  Events come from BEAM processes, mostly from the one that answers for the machine, and never from a dispatch thread.
  An event for each message or turn would cost many times what the turn does. So frequent things are reported
  as sums, once per interval. `:telemetry` in `Mote.start_link/1` says how much is reported:

    * `:level` - `:none`; `:events`, occasional events; `:stats` (the default), the periodic events too;
      `:threads`, those for each thread as well;
    * `:interval` - milliseconds between two periodic events (default 1000). When the machine ends, the last
      ones come early.

  Events about keys that move between nodes are listed in `Mote.Shards`.

  A handler runs in the reporting process. A slow one delays the reports of that machine, and its end, but no
  turn.

      Mote.start_link(name: MyApp.Mote, telemetry: [interval: 5_000])
      Mote.Telemetry.attach_default_logger(level: :debug)

  ## Events

  Durations and points in time are in native units: see `System.convert_time_unit/3`.

  #{Enum.join(docs, "\n")}
  ## Metrics

  Definitions for [`telemetry_metrics`](https://hexdocs.pm/telemetry_metrics):

      import Telemetry.Metrics

      [
        sum("mote.sponsor.stats.turns", tags: [:name, :sponsor]),
        sum("mote.sponsor.stats.creates", tags: [:name, :sponsor]),
        sum("mote.machine.undelivered.count", tags: [:name]),
        sum("mote.sponsor.stats.overflowed", tags: [:name, :sponsor]),
        sum("mote.sponsor.stats.busy", tags: [:name, :sponsor], unit: {:native, :millisecond}),
        last_value("mote.sponsor.stats.queued", tags: [:name, :sponsor]),
        last_value("mote.sponsor.stats.inbox", tags: [:name, :sponsor]),
        last_value("mote.machine.memory.heap", tags: [:name], unit: {:byte, :megabyte}),
        last_value("mote.machine.gc.live_actors", tags: [:name]),
        summary("mote.machine.gc.last_pause", tags: [:name], unit: {:native, :microsecond}),
        sum("mote.sponsor.overload.count", tags: [:name, :sponsor]),
        sum("mote.machine.quota.count", tags: [:name]),
        sum("mote.machine.broken_promises.count", tags: [:name]),
        counter("mote.turn.abort.system_time", tags: [:name, :module, :behaviour]),
        sum("mote.turn.unreported.count", tags: [:name, :sponsor]),
        counter("mote.machine.exception.duration", tags: [:name])
      ]

  `busy` divided by `duration` and `threads` is the part of its time that a sponsor works, on average: the
  time of a turn is counted when its batch is over. So while one long turn runs `busy` is 0, and then more
  than `duration`.
  """

  alias Mote.Telemetry.DefaultLogger

  @doc """
  The names of all events, to attach a handler to each.

      iex> [:mote, :machine, :start] in Mote.Telemetry.events()
      true
  """
  @spec events() :: [[atom]]
  def events, do: for({event, _, _, _} <- @events, do: event)

  @doc """
  The names of the measurements and of the metadata of an event. `:counters` stands for all counters.

      iex> Mote.Telemetry.keys([:mote, :machine, :stop])
      {[:duration, :monotonic_time], [:reason, :machine, :name]}
  """
  @spec keys([atom, ...]) :: {[atom], [atom]}
  def keys(event) do
    case List.keyfind(@events, event, 0) do
      {_, _, measurements, metadata} -> {Keyword.keys(measurements), Keyword.keys(metadata)}
      nil -> raise ArgumentError, "expected an event of Mote.Telemetry.events/0, got: #{inspect(event)}"
    end
  end

  @doc """
  Logs the events of machines.

  Starts and ends of machines and sponsors are logged at level `:info`, problems at `:warning` or `:error`,
  and the events of each interval at `:debug`. Aborted turns are left out: machines log them anyway. Options:

    * `:level` - nothing below it is logged (default `:info`); Logger's own level takes precedence.

  Returns `{:error, :already_exists}` when it is attached already.

      iex> Mote.Telemetry.attach_default_logger(level: :warning)
      :ok
      iex> Mote.Telemetry.detach_default_logger()
      :ok
  """
  @spec attach_default_logger(level: Logger.level()) :: :ok | {:error, :already_exists}
  def attach_default_logger(opts \\ []), do: DefaultLogger.attach(events(), opts)

  @doc """
  Ends what `attach_default_logger/1` began.
  """
  @spec detach_default_logger() :: :ok | {:error, :not_found}
  def detach_default_logger, do: DefaultLogger.detach()
end
