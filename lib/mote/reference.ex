defmodule Mote.Reference do
  @moduledoc """
  A deterministic simulator of a machine: the plain Elixir versions of behaviours, one strictly FIFO queue.

  The machine is checked against it, and tests can watch a whole conversation in it:

      ref = Mote.Reference.new()
      {root, ref} = Mote.Reference.create(ref, ForkBomb.node(self()))
      ref = ref |> Mote.Reference.send(root, 3) |> Mote.Reference.run()
      assert Mote.Reference.outside(ref) == [{self(), :done}]

  Everything is a value: nothing happens outside of the struct, and messages to BEAM processes are only collected
  (`outside/1`). There is one sponsor: `sendx` is recorded (`sendx/1`) and otherwise acts as `send`, and a
  pinned actor is like any other. Timers wait for `advance/2`. Actors are never collected.
  """

  alias Mote.Reference.{Address, On}
  alias Mote.{Behaviour, Inspection, Turn}

  @counters [:turns, :sends, :creates, :becomes, :ignored, :dropped, :timers]

  defstruct actors: %{},
            next: 1,
            queue: :queue.new(),
            outside: [],
            sendx: [],
            timers: [],
            now: 0,
            turn: &Behaviour.turn/3,
            counters: Map.new(@counters, &{&1, 0}),
            aborts: %{}

  @type t :: %__MODULE__{}
  @type address :: Address.t()

  @doc """
  A simulator without actors.

  Option: `turn`, a function to use instead of `Mote.Behaviour.turn/3`, which it must resemble. Raises `ArgumentError` for
  anything else.
  """
  @spec new(keyword) :: t
  def new(opts \\ []) do
    for {key, value} <- Inspection.keyword!(opts, "the options of Mote.Reference.new/1", [:turn]),
        do: option!(key, value)

    struct!(__MODULE__, opts)
  end

  defp option!(:turn, turn) when is_function(turn, 3), do: :ok
  defp option!(:turn, other), do: bad(":turn to be a function of three arguments", other)

  @doc "Creates an actor."
  @spec create(t, Behaviour.t()) :: {address, t}
  def create(%__MODULE__{} = ref, %Behaviour{} = behaviour) do
    address = %Address{id: ref.next}
    {address, %{ref | actors: Map.put(ref.actors, ref.next, behaviour), next: ref.next + 1}}
  end

  def create(%__MODULE__{}, other), do: bad("a behaviour, such as Counter.counter(0)", other)

  @doc "A customer outside of the simulation, to be found in `outside/1` under its name."
  @spec customer(term) :: address
  def customer(name), do: %Address{id: {:customer, name}}

  @doc """
  Queues a message, after all others. A target that is not an address is counted as dropped.

  Raises `ArgumentError` for an actor that this simulator does not have: it belongs to another simulator, or
  to a result of `create/2` that was not kept.
  """
  @spec send(t, term, term) :: t
  def send(%__MODULE__{} = ref, target, message), do: deliver(ref, target, message)

  @doc "Runs turns in order until the queue is empty or `max_turns` have run."
  @spec run(t, non_neg_integer | :infinity) :: t
  def run(ref, max_turns \\ :infinity)

  def run(%__MODULE__{} = ref, max_turns)
      when max_turns == :infinity or (is_integer(max_turns) and max_turns >= 0),
      do: loop(ref, max_turns)

  def run(%__MODULE__{}, other), do: bad("a number of turns or :infinity", other)

  @doc """
  Lets `milliseconds` pass, moment by moment: timers that are due are queued, in the order in which they were
  armed, and turns run until the queue is empty, before time goes on. Queued turns run first.
  """
  @spec advance(t, non_neg_integer) :: t
  def advance(%__MODULE__{} = ref, milliseconds) when is_integer(milliseconds) and milliseconds >= 0,
    do: pass(run(ref), ref.now + milliseconds)

  def advance(%__MODULE__{}, other), do: bad("milliseconds, an integer from 0", other)

  defp pass(ref, limit) do
    case Enum.min(Enum.map(ref.timers, &elem(&1, 0)), fn -> nil end) do
      at when at != nil and at <= limit -> %{ref | now: at} |> fire(at) |> run() |> pass(limit)
      _ -> %{ref | now: limit}
    end
  end

  defp fire(ref, at) do
    {due, waiting} = Enum.split_with(ref.timers, &(elem(&1, 0) == at))

    Enum.reduce(due, %{ref | timers: waiting}, fn {_, _, target, message}, ref ->
      deliver(ref, target, message)
    end)
  end

  @doc """
  Lets a process end: the messages of the monitors that wait for that are queued, in the order in which they were made.

  The process itself is left alone, and a monitor that is made later waits for the next call.
  """
  @spec down(t, pid) :: t
  def down(%__MODULE__{} = ref, process) when is_pid(process), do: fire(ref, {:end, process})
  def down(%__MODULE__{}, other), do: bad("a pid", other)

  @doc "The messages that left the simulation, as `{target, message}`, oldest first."
  @spec outside(t) :: [{term, term}]
  def outside(%__MODULE__{outside: outside}), do: Enum.reverse(outside)

  @doc "The `sendx` of committed turns, as `{sponsor, target, message}`, oldest first."
  @spec sendx(t) :: [{term, term, term}]
  def sendx(%__MODULE__{sendx: sendx}), do: Enum.reverse(sendx)

  @doc """
  The behaviour of an actor, or `:sink` if it ignores everything.

  Raises `ArgumentError` for anything that is not an actor of this simulator: a customer, for instance.
  """
  @spec state(t, address) :: Behaviour.t() | :sink
  def state(%__MODULE__{actors: actors}, %Address{id: id}) when is_map_key(actors, id), do: actors[id]
  def state(%__MODULE__{}, other), do: stranger(other)

  @doc """
  The counters: `turns`, `sends` (with `sendx`), `creates`, `becomes`, `ignored`, `dropped`, `timers`, and
  `aborts`, a map from the reason's name (`:abort`, `:raised`) to a count. Only committed effects count.
  """
  @spec counters(t) :: %{atom => non_neg_integer | map}
  def counters(%__MODULE__{counters: counters, aborts: aborts}),
    do: Map.put(counters, :aborts, aborts)

  @doc "Returns how many events wait in the queue."
  @spec pending(t) :: non_neg_integer
  def pending(%__MODULE__{queue: queue}), do: :queue.len(queue)

  defp loop(ref, 0), do: ref

  defp loop(ref, left) do
    case :queue.out(ref.queue) do
      {:empty, _} -> ref
      {{:value, {id, message}}, queue} -> loop(turn(%{ref | queue: queue}, id, message), less(left))
    end
  end

  defp less(:infinity), do: :infinity
  defp less(n), do: n - 1

  defp turn(ref, id, message) do
    ref = count(ref, :turns)

    case Map.fetch!(ref.actors, id) do
      :sink ->
        count(ref, :ignored)

      behaviour ->
        opts = [self: %Address{id: id}, first: ref.next, now: ref.now * 1_000_000]
        apply_turn(ref, id, ref.turn.(behaviour, message, opts))
    end
  end

  defp apply_turn(ref, _, %Turn{outcome: :ignored}), do: count(ref, :ignored)

  defp apply_turn(ref, _, %Turn{outcome: {:abort, reason}}),
    do: %{ref | aborts: Map.update(ref.aborts, reason_name(reason), 1, &(&1 + 1))}

  defp apply_turn(ref, id, %Turn{} = turn) do
    ref = turn.effects |> Enum.reduce(ref, &effect/2) |> become(id, turn.become)
    # Before all that waits.
    back = turn.unstashed |> Enum.reverse() |> Enum.reduce(ref.queue, &:queue.in_r({id, &1}, &2))
    %{ref | queue: back}
  end

  defp effect({:create, %Address{id: id}, behaviour, _}, ref) do
    count(%{ref | actors: Map.put(ref.actors, id, behaviour), next: max(ref.next, id + 1)}, :creates)
  end

  defp effect({:send, target, message}, ref), do: ref |> sent(target) |> deliver(target, message)

  defp effect({:sendx, sponsor, target, message}, ref) do
    %{ref | sendx: [{sponsor, target, message} | ref.sendx]}
    |> sent(target)
    |> deliver(target, message)
  end

  defp effect({:send_after, :undefined, _, _, _}, ref), do: count(ref, :dropped)

  defp effect({:send_after, timer, milliseconds, target, message}, ref) do
    due = if is_integer(milliseconds), do: ref.now + milliseconds, else: milliseconds
    count(%{ref | timers: ref.timers ++ [{due, timer, target, message}]}, :timers)
  end

  # A tuple is greater than any time.
  defp effect({:monitor, monitor, process, target, message}, ref),
    do: effect({:send_after, monitor, {:end, process}, target, message}, ref)

  defp effect({:cancel_timer, timer}, ref),
    do: %{ref | timers: Enum.reject(ref.timers, &(elem(&1, 1) == timer))}

  # What is dropped was not sent.
  defp sent(ref, target), do: if(Mote.Total.is_address(target), do: count(ref, :sends), else: ref)

  defp become(ref, _, nil), do: ref

  defp become(ref, id, behaviour),
    do: count(%{ref | actors: Map.put(ref.actors, id, behaviour)}, :becomes)

  defp deliver(ref, %On{address: address}, message), do: deliver(ref, address, message)

  defp deliver(%{actors: actors} = ref, %Address{id: id}, message) when is_map_key(actors, id),
    do: %{ref | queue: :queue.in({id, message}, ref.queue)}

  defp deliver(_ref, %Address{id: id} = address, _message) when is_integer(id), do: stranger(address)

  defp deliver(ref, %Address{id: {:customer, name}}, message),
    do: %{ref | outside: [{name, message} | ref.outside]}

  defp deliver(ref, target, message) do
    if Mote.Total.is_address(target),
      do: %{ref | outside: [{target, message} | ref.outside]},
      else: count(ref, :dropped)
  end

  defp count(ref, counter), do: %{ref | counters: Map.update!(ref.counters, counter, &(&1 + 1))}

  @spec stranger(term) :: no_return
  defp stranger(other),
    do: bad("the address of an actor of this simulator (create/2 gives one that has the new actor)", other)

  @spec bad(String.t(), term) :: no_return
  defp bad(what, other), do: raise(ArgumentError, "expected #{what}, got: #{inspect(other)}")

  defp reason_name(reason) when is_tuple(reason), do: elem(reason, 0)
  defp reason_name(reason), do: reason
end
