defmodule Mote.Proven.Classics do
  # Programs of the Savina suite (Imam and Sarkar, 2014) in their smallest sizes, and locking in two phases. Where Savina draws a random number,
  # the choice is a race. Each has a mistake on demand.
  @moduledoc false

  defmodule Barber do
    # Who comes and finds no chair comes again. Wrong: the barber falls asleep without a look at those who wait.
    use Mote.Behaviour

    defactor room(chairs, barber, waiting, asleep, wrong) do
      {customer, :enter} when asleep and waiting == [] ->
        send barber, {:cut, customer}
        become room(chairs, barber, [], false, wrong)

      {customer, :enter} when length(waiting) < chairs ->
        become room(chairs, barber, waiting ++ [customer], asleep, wrong)

      {customer, :enter} ->
        send customer, :full

      :next when waiting == [] or wrong ->
        become room(chairs, barber, waiting, true, wrong)

      :next ->
        [customer | others] = waiting
        send barber, {:cut, customer}
        become room(chairs, barber, others, false, wrong)
    end

    defactor barber() do
      {:room, room} -> become works(room)
      {:cut, _customer} -> stash()
    end

    defactor works(room) do
      {:cut, customer} ->
        send customer, :done
        send room, :next
    end

    defactor customer(room, out) do
      :come -> send room, {self(), :enter}
      :full -> send room, {self(), :enter}
      :done -> send out, :done
    end
  end

  @doc "So many customers and chairs."
  def barber(machine, customers, chairs, opts \\ []) do
    out = Mote.Outbox.open(machine)
    barber = Mote.create(machine, Barber.barber())
    room = Mote.create(machine, Barber.room(chairs, barber, [], true, opts[:wrong] || false))
    Mote.send(barber, {:room, room})
    for _ <- 1..customers, do: Mote.send(Mote.create(machine, Barber.customer(room, out)), :come)
    out
  end

  defmodule Smokers do
    # The arbiter lets one smoke at a time, whoever asks first. Wrong: it does not wait until that one has smoked.
    use Mote.Behaviour

    defactor arbiter(log, wrong) do
      {smoker, :ready} ->
        send smoker, :smoke
        unless wrong, do: become(waits(log))

      :smoked ->
        :ok
    end

    defactor waits(log) do
      {_smoker, :ready} -> stash()
      :smoked -> become arbiter(log, false)
    end

    defactor smoker(me, arbiter, log) do
      :go ->
        send arbiter, {self(), :ready}

      :smoke ->
        send log, {:begin, me}
        send self(), :out

      :out ->
        send log, {:end, me}
        send arbiter, :smoked
    end
  end

  @doc "So many smokers. Returns the outbox that hears of them."
  def smokers(machine, n, opts \\ []) do
    log = Mote.Outbox.open(machine)
    arbiter = Mote.create(machine, Smokers.arbiter(log, opts[:wrong] || false))
    for me <- 1..n, do: Mote.send(Mote.create(machine, Smokers.smoker(me, arbiter, log)), :go)
    log
  end

  @doc "What is to be true: one at a time."
  def one_by_one?(log), do: log |> Enum.chunk_every(2) |> Enum.all?(&match?([{:begin, n}, {:end, n}], &1))

  defmodule Transfers do
    # An account that has taken money off waits until the other has put it on. Wrong: it takes none meanwhile, so two that give to each other
    # wait for each other.
    use Mote.Behaviour

    defactor account(balance, wrong) do
      {teller, {:transfer, amount, to}} ->
        send to, {self(), {:put, amount}}
        become transfers(balance - amount, teller, wrong)

      {from, {:put, amount}} ->
        send from, :put
        become account(balance + amount, wrong)

      {customer, :balance} ->
        send customer, balance
    end

    defactor transfers(balance, teller, wrong) do
      {_teller, {:transfer, _amount, _to}} ->
        stash()

      {from, {:put, amount}} ->
        if wrong do
          stash()
        else
          send from, :put
          become transfers(balance + amount, teller, wrong)
        end

      :put ->
        send teller, :done
        become account(balance, wrong)

      {_customer, :balance} ->
        stash()
    end
  end

  @doc "Two accounts, and so many transfers from each to the other."
  def transfers(machine, n, opts \\ []) do
    [a, b] = accounts = for _ <- 1..2, do: Mote.create(machine, Transfers.account(100, opts[:wrong] || false))

    for {from, to} <- [{a, b}, {b, a}], amount <- 1..n do
      teller = Mote.create(machine, Mote.Library.fwd(from))
      Mote.send(teller, {Mote.Outbox.open(machine), {:transfer, amount, to}})
    end

    accounts
  end

  defmodule Locking do
    # A value behind a lock.
    use Mote.Behaviour

    defactor free(value) do
      {owner, :lock} ->
        send owner, {:has, self(), value}
        become held(value)

      {customer, :value} ->
        send customer, value
    end

    defactor held(value) do
      {_owner, :lock} -> stash()
      {_customer, :value} -> stash()
      {:unlock, new} -> become free(new || value)
    end
  end

  defmodule Transactions do
    # Two-phase locking: a transaction takes all of its locks before it gives one back (Eswaran and others, 1976).
    use Mote.Behaviour

    # Doubles a value and writes it: what two of them make of 1 is 4, if one comes after the other.
    defactor doubles(lock, early) do
      :go ->
        send lock, {self(), :lock}

      {:has, lock, value} when early ->
        send lock, {:unlock, nil}
        send lock, {self(), :lock}
        become writes(lock, value)

      {:has, lock, value} ->
        send lock, {:unlock, 2 * value}
    end

    defactor writes(lock, value) do
      {:has, _lock, _newer} ->
        send lock, {:unlock, 2 * value}
        become sink()
    end

    # Adds the first value to the second one.
    defactor adds(first, second) do
      :go ->
        send first, {self(), :lock}

      {:has, _lock, value} ->
        send second, {self(), :lock}
        become has_first(first, second, value)
    end

    defactor has_first(first, second, mine) do
      {:has, _lock, value} ->
        send second, {:unlock, value + mine}
        send first, {:unlock, nil}
        become sink()
    end
  end

  @doc "Two transactions that double one value; wrong: they let go of it in between."
  def doubling(machine, opts \\ []) do
    lock = Mote.create(machine, Locking.free(1))
    for _ <- 1..2, do: Mote.send(Mote.create(machine, Transactions.doubles(lock, opts[:wrong] || false)), :go)
    lock
  end

  @doc "Two transactions that take two locks, in one order; wrong: in two."
  def adding(machine, opts \\ []) do
    [a, b] = locks = for value <- [1, 10], do: Mote.create(machine, Locking.free(value))

    for {first, second} <- [{a, b}, if(opts[:wrong], do: {b, a}, else: {a, b})],
        do: Mote.send(Mote.create(machine, Transactions.adds(first, second)), :go)

    locks
  end
end
