defmodule Mote.Chaos.Pool do
  @moduledoc """
  What there is in a run, by sorts: addresses, futures, outboxes, timers, traces, receivers, and tokens on their way.

  An operation asks for the i-th of a sort, counted round.
  """

  @pool :chaos_pool
  @tokens :chaos_tokens

  def new do
    :ets.new(@pool, [:ordered_set, :public, :named_table])
    :ets.new(@tokens, [:set, :public, :named_table])
    :ok
  end

  @doc "Adds something of a sort."
  def put(sort, value) do
    n = :ets.update_counter(@pool, {sort, :count}, 1, {{sort, :count}, 0})
    :ets.insert(@pool, {{sort, n - 1}, value})
    value
  end

  @doc "The i-th of a sort, or nil if there is none."
  def pick(sort, i) do
    case count(sort) do
      0 -> nil
      n -> :ets.lookup_element(@pool, {sort, rem(i, n)}, 2)
    end
  end

  def count(sort) do
    case :ets.lookup(@pool, {sort, :count}) do
      [{_, n}] -> n
      [] -> 0
    end
  end

  @doc "All of a sort."
  def all(sort), do: for(i <- 0..(count(sort) - 1)//1, do: pick(sort, i))

  @doc "Forgets a sort."
  def clear(sort) do
    n = count(sort)
    :ets.delete(@pool, {sort, :count})
    for i <- 0..(n - 1)//1, do: :ets.delete(@pool, {sort, i})
    :ok
  end

  # -- single values -------------------------------------------------------------------------------------------

  def set(key, value), do: :ets.insert(@pool, {{:value, key}, value})

  def get(key) do
    case :ets.lookup(@pool, {:value, key}) do
      [{_, value}] -> value
      [] -> nil
    end
  end

  # -- tokens --------------------------------------------------------------------------------------------------

  @doc "A token of a lane is on its way in a machine: `:now`, or `:late` if a timer has it."
  def sent(lane, n, machine, how), do: :ets.insert(@tokens, {{lane, n}, machine, how})

  @doc "It was not accepted, or it has arrived; whether it was on its way."
  def gone(lane, n), do: :ets.take(@tokens, {lane, n}) != []

  @doc "The numbers of a lane's tokens that are on their way in a machine."
  def open(lane, machine, how), do: :lists.append(:ets.match(@tokens, {{lane, :"$1"}, machine, how}))

  @doc "All tokens that are on their way in a machine, as `{lane, n}`."
  def open(machine), do: for([lane, n] <- :ets.match(@tokens, {{:"$1", :"$2"}, machine, :_}), do: {lane, n})

  @doc "Nobody asks for those of a machine any more."
  def excuse(machine), do: :ets.match_delete(@tokens, {:_, machine, :_})
end
