defmodule Mote.QuotaRig do
  @moduledoc "Machines with a quota, and actors that fill them."

  import Mote.Eventually

  defmodule Actors do
    use Mote.Behaviour, errors: :undefined

    defactor page(visits) do
      {customer, :visits} -> send customer, visits
      :visit -> become visits: visits + 1
    end

    defdirectory pages() do
      path when is_binary(path) -> page(0)
    end

    @doc "Keeps what it was told last."
    defactor keepsake(kept) do
      {customer, {:keep, new}} ->
        send customer, :kept
        become keepsake(new)

      {:keep, new} ->
        become keepsake(new)

      {customer, :kept} ->
        send customer, kept
    end

    defdirectory keepsakes() do
      _key -> keepsake(nil)
    end

    @doc "Counts lists; is busy for as many steps as it is told."
    defactor counter(count) do
      {customer, :read} ->
        send customer, count

      {customer, {:count, [_ | _]}} ->
        send customer, :counted
        become counter(count + 1)

      steps when is_integer(steps) ->
        spin(steps)

      [_ | _] ->
        become counter(count + 1)
    end

    @doc "Tells an actor as often as it is told, and passes questions on to it."
    defactor teller(to) do
      {customer, {:pass, message}} -> send to, {customer, {:count, message}}
      {message, times} -> for _ <- 1..times, do: send(to, message)
    end

    @doc "Sends the beginning of binaries."
    defactor cutter(to) do
      {binary, size} -> send to, binary_part(binary, 0, size)
    end

    @doc "Does as many things in one turn as it is told, and says when it has."
    defactor many(times) do
      {customer, {:send, n}} ->
        for _ <- 1..n, do: send(self(), :nothing)
        send customer, :done
        become many(times + 1)

      {customer, {:sendx, n}} ->
        for _ <- 1..n, do: sendx(:other, self(), :nothing)
        send customer, :done
        become many(times + 1)

      {customer, {:arm, n}} ->
        for _ <- 1..n, do: send_after(3_600_000, self(), :nothing)
        send customer, :done
        become many(times + 1)

      {customer, {:create, n}} ->
        for _ <- 1..n, do: send(create(counter(0)), 0)
        send customer, :done
        become many(times + 1)

      {customer, {:spin, n}} ->
        send self(), :nothing
        create(counter(0))
        send customer, spin(n)
        become many(times + 1)

      {customer, {:deep, n}} ->
        send self(), :nothing
        create(counter(0))
        send customer, deep(n)
        become many(times + 1)

      {customer, {:lists, list, times_over}} ->
        send self(), :nothing
        create(counter(0))
        send customer, over(list, times_over)

      {customer, :times} ->
        send customer, times
    end

    defpure spin(n) do
      if n == 0, do: :ok, else: spin(n - 1)
    end

    # Few calls, and each of them walks over the list.
    defpure over(list, n) do
      if n == 0, do: :ok, else: over((list ++ [n]) -- [n], n - 1)
    end

    defpure deep(n) do
      if n == 0, do: 0, else: 1 + deep(n - 1)
    end
  end

  @most_steps 1_000_000_000_000

  @doc "Fuel of a turn that is to last while others send: a machine may take a nanosecond for ten steps."
  def most_steps, do: @most_steps

  @doc "A machine whose turns have much fuel."
  def start(opts),
    do: ExUnit.Callbacks.start_supervised!({Mote, Keyword.merge([id: make_ref(), fuel: 1_000_000_000], opts)})

  @doc "Bytes that count against its `:memory`."
  def charged(machine), do: Mote.info(machine).memory.charged

  @doc "What it holds when nothing is queued and nothing is garbage."
  def at_rest(machine) do
    :erlang.garbage_collect()
    :ok = Mote.drain(machine, 60_000)
    Mote.gc(machine)

    eventually(fn ->
      Enum.all?(Mote.info(machine).sponsors, fn {_, s} -> s.asleep == length(s.threads) end)
    end)

    charged(machine)
  end

  @doc """
  What `fun` gives during a turn. A message enters when a turn is over, and then takes its room in the heap whatever the
  quota says: if the turn was over too early, again with a longer one. What it gave last counts.
  """
  def while_busy(machine, counter, fun, steps \\ 100_000_000) when steps < @most_steps do
    turns = Mote.info(machine).counters.turns
    :ok = Mote.send(counter, steps)
    eventually(fn -> Mote.info(machine).inbox == 0 end)
    seen = fun.()

    if Mote.info(machine).counters.turns == turns do
      [seen]
    else
      :ok = Mote.drain(machine, 60_000)
      :ok = Mote.gc(machine)
      [seen | while_busy(machine, counter, fun, 2 * steps)]
    end
  end

  @doc "The timer of a message that is sent later, or why there is none."
  def refused(counter, list, milliseconds) do
    Mote.send_after(counter, list, milliseconds)
  rescue
    error in Mote.Error -> error
  end
end
