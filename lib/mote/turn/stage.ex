defmodule Mote.Turn.Stage do
  # What the generated plain Elixir code calls: staging of effects, fuel, depth, aborts. All of it lives in the
  # process dictionary for the time of one turn, so that generated functions have the arguments the user wrote.
  # It decides nothing about what happens to the effects afterwards.
  @moduledoc false

  alias Mote.Reference.Address

  @fuel :"$mote_fuel"
  @depth :"$mote_depth"
  @effects :"$mote_effects"
  @become :"$mote_become"
  @context :"$mote_context"
  @now :"$mote_now"
  @stash :"$mote_stash"
  @captured :"$mote_captured"
  @keys [@fuel, @depth, @effects, @become, @context, @now, @stash, @captured]

  @default_fuel 10_000_000
  @max_depth 100_000
  @most_milliseconds 0x3FFFFFFFFFFFFFFF

  @doc "The fuel of a turn when nothing else is said."
  def default_fuel, do: @default_fuel

  @doc "Starts a turn; gives what `close/1` needs to restore the turn around it, if there was one."
  def open(opts) do
    fuel = opts[:fuel] || @default_fuel
    me = Keyword.get_lazy(opts, :self, fn -> %Address{id: 0} end)
    outer = Enum.map(@keys, &Process.get/1)
    Process.put(@fuel, fuel)
    Process.put(@depth, 0)
    Process.put(@effects, [])
    Process.put(@become, nil)
    Process.put(@stash, {[], false})
    Process.put(@captured, nil)
    Process.put(@now, opts[:now])
    Process.put(@context, {me, fuel, opts[:addresses], opts[:first] || 1})
    outer
  end

  @doc "Says what the behaviour of the turn has captured, if its clauses are plain Elixir."
  def captured(captures), do: Process.put(@captured, captures)

  @doc "What it has captured; nil in any other turn."
  def captured, do: Process.get(@captured)

  @doc "Ends a turn."
  def close(outer) do
    for {key, value} <- Enum.zip(@keys, outer) do
      if value == nil, do: Process.delete(key), else: Process.put(key, value)
    end

    :ok
  end

  @doc "The effects so far in program order, the become, and the fuel spent."
  def contents do
    {_, fuel, _, _} = Process.get(@context)
    {Enum.reverse(Process.get(@effects)), Process.get(@become), fuel - Process.get(@fuel)}
  end

  @doc "The messages that the become gives back, the oldest first."
  def unstashed do
    case {Process.get(@become), Process.get(@stash)} do
      {become, {kept, true}} when become != nil -> Enum.reverse(kept)
      _ -> []
    end
  end

  @doc "Spends fuel for a tail call."
  def tick do
    case Process.get(@fuel) do
      0 -> abort(:fuel)
      fuel -> Process.put(@fuel, fuel - 1)
    end
  end

  @doc "What is left of the fuel; nil outside of a turn."
  def fuel, do: Process.get(@fuel)

  @doc "Spends that much fuel at once, if it is there."
  def spend(price) do
    case Process.get(@fuel) do
      fuel when price > fuel ->
        Process.put(@fuel, 0)
        abort(:fuel)

      fuel ->
        Process.put(@fuel, fuel - price)
    end
  end

  @doc "Spends fuel for a call and goes one deeper."
  def enter do
    tick()

    case Process.get(@depth) do
      @max_depth -> abort(:stack)
      depth -> Process.put(@depth, depth + 1)
    end
  end

  @doc "Comes back from a call with its value."
  def leave(value) do
    Process.put(@depth, Process.get(@depth) - 1)
    value
  end

  @doc "Calls a function of the library: an abort that tells of what failed in it tells of the call instead."
  def told(where, arguments, fun) do
    fun.()
  catch
    :throw, {__MODULE__, {:raised, _, _}} -> abort({:raised, where, arguments})
  end

  @spec abort(term) :: no_return
  def abort(reason), do: throw({__MODULE__, reason})

  @doc "The time that the turn is to read, in nanoseconds; `nil` when it is the system's, or there is no turn."
  def now do
    case Process.get(@now) do
      read when is_function(read) -> read.()
      now -> now
    end
  end

  def me, do: elem(Process.get(@context), 0)

  def create(behaviour, sponsor \\ nil) do
    {me, fuel, addresses, next} = Process.get(@context)
    address = if addresses, do: addresses.(), else: %Address{id: next}
    Process.put(@context, {me, fuel, addresses, next + 1})
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

  def cancel_timer(timer) when is_reference(timer) or is_struct(timer, Mote.Timer) do
    stage({:cancel_timer, timer})
    :ok
  end

  def cancel_timer(_), do: :undefined

  def become(behaviour) do
    Process.put(@become, behaviour)
    :ok
  end

  def unstash(leaves?) when is_boolean(leaves?) do
    {kept, _} = Process.get(@stash)
    Process.put(@stash, {kept, leaves?})
    :ok
  end

  def unstash(kept) do
    Process.put(@stash, {kept, true})
    :ok
  end

  defp stage(effect), do: Process.put(@effects, [effect | Process.get(@effects)])
end
