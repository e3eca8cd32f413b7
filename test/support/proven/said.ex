defmodule Mote.Proven.Said do
  # What proofs are asked of: what a log has been told in each order, by whom, and what else a proof may see.
  @moduledoc false

  defmodule Actors do
    use Mote.Behaviour

    defactor log(said) do
      {customer, :said} -> send customer, {:said, said}
      {:say, what} -> become log([what | said])
    end

    defactor says(log, what) do
      :go ->
        send log, {:say, what}

      {:go, then} ->
        send log, {:say, what}
        send log, {:say, then}
    end

    defactor echo() do
      {customer, what} -> send customer, what
    end

    defactor twice() do
      {customer, what} ->
        send customer, what
        send customer, what
    end

    defactor keeps() do
      {customer, :keep} -> become kept(customer)
    end

    defactor kept(customer) do
      :give -> send customer, :given
    end

    defactor strict() do
      :fail -> abort :no
      {:lose, to} -> send to, :lost
    end

    # Closed, until something opens it.
    defactor door() do
      :knock -> stash()
      :open -> become open_door()
    end

    defactor open_door() do
      :knock -> :ok
    end

    defactor ping(n) do
      {:ping, other} ->
        send other, {:ping, self()}
        become ping(n)
    end

    defactor counts(n) do
      :once ->
        become counts(n + 1)

      :count ->
        send self(), :count
        become counts(n + 1)
    end

    defactor later() do
      :later -> send_after 10, self(), :now
      {:later, other} -> send_after 10, other, :now
      :now -> :ok
    end

    # Sets a timer again and again, and counts if `step` is not 0.
    defactor ticks(n, step) do
      :tick ->
        send_after 5, self(), :tick
        become ticks(n + step, step)
    end

    # Tells the log that somebody has gone.
    defactor watches(log) do
      {:end_of, process} -> monitor(process, :gone)
      :gone -> send log, {:say, :gone}
    end

    # Has the customer wait.
    defactor serves(log, customer) do
      {from, :request} when customer == nil -> become serves(log, from)
    end

    # Says what it is told to, later.
    defactor sets(log) do
      {:set, timers} -> for {delay, what} <- timers, do: send_after(delay, log, {:say, what})
    end

    # Locks up when its time is over. `sure: true` looks whether the time is still the one that counts.
    defactor lock(number, timer, sure, log) do
      :open ->
        if timer, do: cancel_timer(timer)
        become lock(number + 1, send_after(10, self(), {:close, number + 1}), sure, log)

      {:close, n} ->
        if not sure or n == number do
          send log, {:say, {:closed, number}}
          become lock(number, nil, sure, log)
        end
    end

    # Tells the log what its function makes of what comes, and takes another function.
    defactor applies(log, f) do
      {:apply, x} -> send log, {:say, if(f == nil, do: x, else: f.(x))}
      {:add, n} when f == nil -> become applies(log, fn x -> x + n end)
      {:add, n} -> become applies(log, fn x -> f.(x) + n end)
    end

    defactor forwards(to) do
      message -> send to, message
    end

    defactor dice(log) do
      :throw -> send log, {:say, :rand.uniform(6)}
    end

    defactor clock(log) do
      :look -> send log, {:say, System.monotonic_time(:nanosecond)}
    end
  end

  def yes(_), do: true

  def said(log) do
    {:said, said} = Mote.ask!(log, :said)
    Enum.reverse(said)
  end

  # What a log may have been told when nothing waits any more.
  def all_said(graph, opts \\ []) do
    test = self()
    ref = make_ref()
    result = Mote.Test.prove(graph, &send(test, {ref, said(&1)}), opts)
    {result, ref |> received() |> Enum.sort()}
  end

  def received(ref) do
    receive do
      {^ref, seen} -> [seen | received(ref)]
    after
      0 -> []
    end
  end
end
