defmodule Mote.Proven do
  # Programs that others have proved, or found mistakes in, as behaviours. Where a choice is free, it is a race of two messages.
  @moduledoc false

  defmodule Philosophers do
    # Dijkstra's: each takes one fork, then the other, eats, and puts both back.
    use Mote.Behaviour

    defactor fork() do
      {philosopher, :take} ->
        send philosopher, {:fork, self()}
        become taken()
    end

    defactor taken() do
      :put -> become fork()
      {_philosopher, :take} -> stash()
    end

    defactor philosopher(first, second, waiter) do
      :sit ->
        send first, {self(), :take}

      {:fork, fork} when fork == first ->
        send second, {self(), :take}

      {:fork, _} ->
        send first, :put
        send second, :put
        send waiter, :leave
        become sink()
    end

    # Lets so many sit down at a time.
    defactor waiter(seats) do
      {philosopher, :come} ->
        send philosopher, :sit
        if seats > 1, do: become(waiter(seats - 1)), else: become(full())

      :leave ->
        become waiter(seats + 1)
    end

    defactor full() do
      {_philosopher, :come} -> stash()
      :leave -> become waiter(1)
    end

    @doc "So many around a table, who come when they like; with a waiter who lets `seats` of them sit down, if there is one."
    def table(machine, n, seats) do
      forks = List.to_tuple(for _ <- 1..n, do: Mote.create(machine, fork()))
      waiter = Mote.create(machine, if(seats, do: waiter(seats), else: Mote.Library.sink()))

      for i <- 0..(n - 1) do
        one = Mote.create(machine, philosopher(elem(forks, i), elem(forks, rem(i + 1, n)), waiter))
        if seats, do: Mote.send(waiter, {one, :come}), else: Mote.send(one, :sit)
      end
    end
  end

  defmodule Commit do
    # Two-phase commit as Gray and Lamport have it ("Consensus on Transaction Commit", 2006): each resource manager may prepare or
    # abort by itself, and the transaction manager may give up as long as it has not decided. Each of these is a message from outside.
    use Mote.Behaviour

    defactor working() do
      {:prepare, manager} ->
        send manager, :prepared
        become prepared()

      :abort ->
        become aborted()

      :commit ->
        become committed()

      :rollback ->
        become aborted()
    end

    # It cannot abort by itself any more.
    defactor prepared() do
      :abort -> :ok
      :commit -> become committed()
      :rollback -> become aborted()
    end

    defactor committed() do
      {:prepare, _manager} -> :ok
      :abort -> :ok
      :rollback -> abort :inconsistent
    end

    defactor aborted() do
      {:prepare, _manager} -> :ok
      :abort -> :ok
      :rollback -> :ok
      :commit -> abort :inconsistent
    end

    # `missing`: of how many it has not heard that they are prepared.
    defactor manager(resources, missing) do
      :prepared when missing > 1 ->
        become manager(resources, missing - 1)

      :prepared ->
        for resource <- resources, do: send(resource, :commit)
        become decided()

      :give_up ->
        for resource <- resources, do: send(resource, :rollback)
        become decided()
    end

    defactor decided() do
      :prepared -> :ok
      :give_up -> :ok
    end

    @doc "So many resource managers, of which the transaction manager waits for `awaited`: for all of them, if it is right."
    def transaction(machine, n, awaited) do
      resources = for _ <- 1..n, do: Mote.create(machine, working())
      manager = Mote.create(machine, manager(resources, awaited))
      Mote.send(manager, :give_up)
      # From two: what one sends keeps its order.
      for resource <- resources do
        Mote.send(resource, {:prepare, manager})
        Mote.send(Mote.create(machine, Mote.Library.fwd(resource)), :abort)
      end
    end
  end

  defmodule Bank do
    # The guide's: a withdrawal takes two turns of the account (guides/gatekeepers.md). A transfer takes from one and gives to another.
    use Mote.Behaviour

    defactor account(balance) do
      {customer, :balance} ->
        send customer, balance

      {customer, {:take, amount}} ->
        send customer, :taken
        become account(balance - amount)

      {:give, amount} ->
        become account(balance + amount)
    end

    defactor cashier() do
      {customer, {amount, from, to}} -> send from, {create(looking(customer, amount, from, to)), :balance}
    end

    defactor looking(customer, amount, from, to) do
      balance when is_integer(balance) and balance >= amount ->
        send from, {self(), {:take, amount}}

      :taken ->
        send to, {:give, amount}
        send customer, :done

      _ ->
        send customer, :poor
    end
  end
end
