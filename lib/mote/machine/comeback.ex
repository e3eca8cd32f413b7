defmodule Mote.Machine.Comeback do
  # Waiting until a machine that is down goes on: `on_down: :wait` of `Mote.send/3` and `Mote.ask/3`.
  #
  # 1. A message that a machine has accepted does not go to the next one: the caller cannot know whether that has it from
  #    the journal.
  # 2. A waiting caller is in the table before it tries once more, and a machine accepts messages before it looks into the
  #    table. So nobody waits for a machine that is there.
  # 3. Nothing of this comes later into the mailbox: messages go to an alias.
  @moduledoc false

  alias Mote.{Address, Error, Far, Native}
  alias Mote.Machine.Question

  @spec new() :: :ok
  def new do
    :ets.new(__MODULE__, [:named_table, :public])
    :ok
  end

  @doc "To be called when a machine takes what is new: whoever waits for one tries again."
  @spec tell() :: :ok
  def tell do
    for {waiting} <- :ets.tab2list(__MODULE__), :ets.take(__MODULE__, waiting) != [] do
      send(waiting, {waiting, :mote_back})
    end

    :ok
  end

  @doc "Checks the option `:on_down`; raises `ArgumentError`."
  @spec option!(term, String.t()) :: :error | :wait
  def option!(on_down, _function) when on_down in [:error, :wait], do: on_down

  def option!(other, function) do
    raise ArgumentError, "expected :on_down of #{function} to be :error or :wait, got: #{inspect(other)}"
  end

  @doc """
  Does something with an address, and where its machine is down and accepts nothing, does it again when a machine goes on, for at most that
  time. `act` is given the milliseconds that are left. An error `:machine_down` says how many messages were `accepted`, none or one.
  """
  @spec act(Address.t(), timeout, (timeout -> result)) :: result
        when result: :ok | {:ok, term} | {:error, Error.t()}
  def act(address, timeout, act) do
    result = act.(timeout)

    if down?(result, address),
      do: wait(address, {timeout, Question.deadline(timeout)}, act),
      else: result
  end

  # What has got an answer from a machine of this node has got it from one that runs.
  defp down?({:error, %Error{reason: :machine_down, context: context}}, address),
    do: not is_map_key(context, :accepted) and not Far.far?(address)

  # One of a life of which this node has not heard yet.
  defp down?({:error, %Error{reason: :unknown_address}}, %{machine: machine}),
    do: is_reference(machine) and node(machine) == node() and Native.machine_owner(machine) == :unknown

  defp down?(_result, _address), do: false

  defp wait(address, times, act) do
    waiting = :erlang.alias()

    try do
      again(address, times, act, waiting)
    after
      :erlang.unalias(waiting)
      :ets.delete(__MODULE__, waiting)

      receive do
        {^waiting, :mote_back} -> :ok
      after
        0 -> :ok
      end
    end
  end

  defp again(address, {timeout, deadline} = times, act, waiting) do
    :ets.insert(__MODULE__, {waiting})
    result = act.(Question.left(deadline))

    if down?(result, address) do
      receive do
        {^waiting, :mote_back} -> again(address, times, act, waiting)
      after
        Question.left(deadline) -> {:error, not_back(result, timeout)}
      end
    else
      result
    end
  end

  defp not_back({:error, error}, timeout) do
    %{
      error
      | message: error.message <> "; none that goes on with its actors has come within #{timeout} ms",
        context: Map.merge(error.context, %{timeout: timeout, accepted: 0})
    }
  end
end
