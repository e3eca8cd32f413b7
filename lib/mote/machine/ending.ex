defmodule Mote.Machine.Ending do
  # The orderly end of a machine: it takes nothing new, and finishes its work.
  #
  # 1. It takes no longer than its time, whatever it waits for: a turn, a reader of an outbox, or a node.
  # 2. The waits are ordered so that earlier ones can add to later ones, and not the other way round: turns fill outboxes
  #    and send to other nodes, while the readers of both enter nothing any more.
  # 3. What was accepted is done or counted. So the figures of a machine that has ended come from `Native.machine_join/1`, which
  #    looks when the threads have ended: what entered in the last moment is among them.
  @moduledoc false

  alias Mote.Far.Table
  alias Mote.Machine.{Postman, Question}
  alias Mote.Native

  # Milliseconds that a supervisor is to wait longer than the machine takes for what it has: for threads to end, and memory to be freed.
  @margin 5_000
  @drain 5_000
  # Milliseconds between two looks at what no message tells about.
  @look 5

  # Timers that are not due, and callers that are told so anyway, are the usual case at an end.
  @lost [
    events: "messages to actors",
    turns: "turns of beam sponsors",
    letters: "messages in outboxes",
    far_bytes: "bytes of messages for other nodes"
  ]

  @type figures :: %{(:events | :turns | :letters | :far_bytes | :timers | :questions) => non_neg_integer}

  @doc "Parses `:shutdown` of a machine: the milliseconds that it takes to finish its work; raises `ArgumentError`."
  @spec drain!(term) :: non_neg_integer
  def drain!([]), do: 0
  def drain!(drain: ms) when is_integer(ms) and ms in 0..0xFFFFFFFF, do: ms

  def drain!(other) do
    raise ArgumentError,
          "expected :shutdown of a machine to be [drain: milliseconds], the time in which it finishes what it has, " <>
            "got: #{inspect(other)}"
  end

  @doc """
  The `:shutdown` of a child's specification, and that of its machine, from what the user has said: `[drain: ms]`, or what
  supervisors take, or nothing.
  """
  @spec child(term) :: {timeout | :brutal_kill, [drain: non_neg_integer]}
  def child(nil), do: child(drain: @drain)
  def child(:infinity), do: {:infinity, [drain: @drain]}
  def child(:brutal_kill), do: {:brutal_kill, [drain: 0]}

  # Of little, half is left.
  def child(ms) when is_integer(ms) and ms >= 0, do: {ms, [drain: max(ms - @margin, div(ms, 2))]}

  def child(shutdown) do
    ms = drain!(shutdown)
    {ms + @margin, [drain: ms]}
  end

  @doc "The milliseconds that the last image of a durable machine may take that has so many for what it has."
  @spec time_for_image(non_neg_integer) :: pos_integer
  def time_for_image(drain), do: drain |> max(1_000) |> min(@margin - 1_000)

  @doc "Returns whether a machine that ends for that reason has been stopped in good order."
  @spec orderly?(term) :: boolean
  def orderly?(reason), do: reason in [:normal, :shutdown] or match?({:shutdown, _}, reason)

  @doc """
  Takes nothing new, and finishes what there is in `ms` milliseconds, in a process that the caller monitors. That exits with
  `{:finished, far_bytes}`.
  """
  @spec start(reference, pid, pos_integer) :: {pid, reference}
  def start(native, postman, ms) do
    Native.machine_close(native)
    deadline = Question.deadline(ms)
    spawn_monitor(fn -> exit({:finished, finish(native, postman, deadline)}) end)
  end

  defp finish(native, postman, deadline) do
    # A machine that stands still finishes nothing.
    with %{paused: false} <- Native.machine_info(native),
         :ok <- Question.drain(native, Question.left(deadline), machine: Native.machine_owner(native)),
         do: taken(native, deadline)

    far(postman, deadline)
  end

  defp taken(native, deadline) do
    with {_, _, letters, _, _} when letters > 0 <- Native.machine_unfinished(native),
         true <- look_again?(deadline),
         do: taken(native, deadline)
  end

  # What the postman has is passed on when it answers, by its relays when they do, and by couriers when nothing waits.
  defp far(postman, deadline) do
    # It is asked in any case: what is left there is told.
    {relays, nodes} = Postman.receivers(postman, max(Question.left(deadline), 100))

    for {pid, monitor} <- Enum.map(relays, &{&1, Process.monitor(&1)}) do
      send(pid, {:mote_passed_on, self(), monitor})

      receive do
        {:mote_passed_on, ^monitor} -> :ok
        {:DOWN, ^monitor, _, _, _} -> :ok
      after
        Question.left(deadline) -> :ok
      end
    end

    sent(nodes, deadline)
  end

  defp sent(nodes, deadline) do
    waiting =
      for {node, %{waiting: waiting}} <- Table.all(), node in nodes, reduce: 0, do: (sum -> sum + waiting)

    if waiting > 0 and look_again?(deadline), do: sent(nodes, deadline), else: waiting
  end

  defp look_again?(deadline) do
    left = Question.left(deadline)
    if left > 0, do: Process.sleep(min(@look, left))
    left > 0
  end

  @doc "Names the figures of `Native.machine_join/1`. The next life of a durable machine does what waits in this one."
  @spec figures(tuple, non_neg_integer, boolean) :: figures
  def figures({events, turns, letters, timers, questions}, far_bytes, durable?) do
    %{
      events: if(durable?, do: 0, else: events),
      turns: turns,
      letters: letters,
      timers: if(durable?, do: 0, else: timers),
      questions: questions,
      far_bytes: far_bytes
    }
  end

  @doc "Describes, for people, the accepted work that is lost; nothing if none is."
  @spec lost(figures) :: String.t() | nil
  def lost(figures) do
    lost = for {kind, name} <- @lost, figures[kind] > 0, do: "#{name} (#{figures[kind]})"
    if lost != [], do: Enum.join(lost, ", ")
  end
end
