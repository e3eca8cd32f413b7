defmodule Mote.Turn.Stage do
  # What the words of plain Elixir call: staging of effects, and aborts. All of it lives in the process dictionary for the time
  # of one turn, so that functions have the arguments the user wrote. It decides nothing about what happens to the effects
  # afterwards.
  @moduledoc false

  alias Mote.Reference.Address

  @effects :"$mote_effects"
  @become :"$mote_become"
  @context :"$mote_context"
  @stash :"$mote_stash"
  @captured :"$mote_captured"
  @keys [@effects, @become, @context, @stash, @captured]

  @most_milliseconds 0x3FFFFFFFFFFFFFFF

  @doc "Starts a turn, with the options of it; returns what `close/1` needs to restore the turn around it, if there is one."
  @spec open(map) :: term
  def open(opts) do
    outer = outer()
    me = Map.get(opts, :self, %Address{id: 0})
    Process.put(@effects, [])
    Process.put(@context, {me, Map.get(opts, :addresses), Map.get(opts, :first, 1), Map.get(opts, :now)})

    outer
  end

  # As a rule there is none, and nothing of it to be put away.
  defp outer do
    if Process.get(@context) do
      outer = for key <- @keys, do: {key, Process.get(key)}
      clear()
      outer
    end
  end

  @doc """
  Says which behaviour the turn is of, what that has captured, and the message. Of one that stashes the last capture is what
  it keeps.
  """
  def entered(_name, captures, message, false), do: Process.put(@captured, {captures, message})

  def entered(name, captures, message, true) do
    kept = elem(captures, tuple_size(captures) - 1)
    Process.put(@stash, {kept, true})
    Process.put(@captured, {captures, message, name})
  end

  @doc "Returns what the behaviour of the turn has captured, the message, and of one that stashes the module and the name."
  def entered, do: Process.get(@captured)

  @doc "Returns whether a turn runs in this process."
  def turn?, do: Process.get(@context) != nil

  @doc "Returns whether the behaviour of the turn stashes."
  def stashes?, do: Process.get(@stash) != nil

  @doc "Ends a turn."
  def close(outer) do
    clear()
    if outer, do: for({key, value} <- outer, value != nil, do: Process.put(key, value))
    :ok
  end

  # Written out: a worker of a beam sponsor does it for each turn.
  defp clear do
    unquote({:__block__, [], for(key <- @keys, do: quote(do: Process.delete(unquote(key))))})
  end

  @doc "The effects so far in program order, and the become."
  def contents, do: {Enum.reverse(Process.get(@effects)), Process.get(@become)}

  @doc "Returns the messages that the become takes up again, the oldest first, and whether the last one is that of the turn."
  def unstashed do
    case {Process.get(@become), Process.get(@stash)} do
      {become, {kept, leaves}} when become != nil and leaves != false ->
        {Enum.reverse(kept), leaves == :again}

      _ ->
        {[], false}
    end
  end

  @doc "Returns the effects that are staged now, for `undo/1`."
  def mark, do: {Process.get(@effects), Process.get(@become), Process.get(@stash)}

  @doc "Takes back what was staged since `mark/0`. Actors that were created stay: nothing but a thrown term can know them."
  def undo({nil, _, _}), do: :ok

  def undo({effects, become, stash}) do
    Process.put(@effects, created(Process.get(@effects), effects))
    for {key, value} <- [{@become, become}, {@stash, stash}], do: Process.put(key, value)
    :ok
  end

  # Walks over what was staged since then, and not over all that the turn has staged.
  defp created([effect | before] = staged, effects) do
    cond do
      :erts_debug.same(staged, effects) -> effects
      elem(effect, 0) == :create -> [effect | created(before, effects)]
      true -> created(before, effects)
    end
  end

  defp created([], []), do: []

  @spec abort(term) :: no_return
  def abort(reason), do: throw({__MODULE__, reason})

  @doc "The time that the turn is to read, in nanoseconds; `nil` when it is the system's, or there is no turn."
  def now do
    case Process.get(@context) do
      {_, _, _, read} when is_function(read) -> read.()
      {_, _, _, now} -> now
      nil -> nil
    end
  end

  # Where it takes something to find out, that is done for the first look.
  def me do
    case context() do
      {find, addresses, next, now} when is_function(find) ->
        me = find.()
        Process.put(@context, {me, addresses, next, now})
        me

      context ->
        elem(context, 0)
    end
  end

  def create(behaviour, sponsor \\ nil) do
    {me, addresses, next, now} = context()
    address = if addresses, do: addresses.(), else: %Address{id: next}
    Process.put(@context, {me, addresses, next + 1, now})
    stage({:create, address, behaviour, sponsor})
    address
  end

  def send(target, message) do
    stage({:send, target, message})
    message
  end

  def sendx(sponsor, target, message) do
    stage({:sendx, sponsor, target, message})
    message
  end

  def send_after(milliseconds, target, message) do
    delay? = is_integer(milliseconds) and milliseconds in 0..@most_milliseconds
    reference = if delay?, do: make_ref(), else: :undefined
    stage({:send_after, reference, milliseconds, target, message})
    reference
  end

  def monitor(process, target, message) when is_pid(process) do
    reference = make_ref()
    stage({:monitor, reference, process, target, message})
    reference
  end

  def cancel_timer(timer) when is_reference(timer) or is_struct(timer, Mote.Timer) do
    stage({:cancel_timer, timer})
    :ok
  end

  def cancel_timer(_), do: :undefined

  def become(behaviour) do
    context()
    Process.put(@become, behaviour)
    :ok
  end

  def unstash(leaves?) when is_boolean(leaves?) do
    {kept, _} = Process.get(@stash, {[], false})
    Process.put(@stash, {kept, leaves?})
    :ok
  end

  @doc "Has the become give back the message of the turn, behind what it gives back otherwise."
  def again do
    {kept, message} =
      case {entered(), Process.get(@stash)} do
        {{_, message, _name}, {kept, leaves}} when leaves != false -> {kept, message}
        {entered, _} -> {[], elem(entered, 1)}
      end

    Process.put(@stash, {[message | kept], :again})
    :ok
  end

  defp stage(effect) do
    context()
    Process.put(@effects, [effect | Process.get(@effects)])
  end

  # Clauses that are plain Elixir may start processes, in which there is none.
  defp context do
    Process.get(@context) ||
      raise "no turn runs in this process: words such as send/2, self/0, create/1 and become/1 work in the process of the turn, " <>
              "not in a task or another process that it starts. Return the value to the turn, and send it from there"
  end
end
