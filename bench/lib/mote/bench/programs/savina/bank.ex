defmodule Mote.Bench.Programs.Savina.Bank do
  # The bank transactions of the Savina suite (`banking`: 1,000 accounts, 50,000 transfers): a teller orders all transfers at
  # once. An account that is told to pay tells the other account, and does nothing else until that one has confirmed.
  # Accounts pay only to those of higher numbers, so no two wait for each other.
  @moduledoc false

  @accounts 1_000

  use Mote.Bench.Program,
    title: "n transfers between 1,000 accounts, each of which does one at a time",
    param: :n,
    defaults: [50_000],
    small: 50,
    metric: :ns_per_transfer,
    processes: @accounts + 1

  alias Mote.Bench.Dice

  @balance 1_000_000

  defmodule Actors do
    use Mote.Behaviour

    @batch 1_000

    # `ordered`: the transfers that are not confirmed.
    defactor teller(accounts, ordered, customer) do
      {:order, left, dice} ->
        batch = min(left, @batch)
        dice = orders(accounts, batch, dice)
        if left > batch, do: send(self(), {:order, left - batch, dice})

      :done when ordered > 1 ->
        become ordered: ordered - 1

      :done ->
        audit =
          create gather(customer, tuple_size(accounts), 0, fn {number, balance}, sum ->
                   number * balance + sum
                 end)

        for account <- Tuple.to_list(accounts), do: send(account, {:balance, audit})
    end

    defeffect orders(accounts, left, dice) do
      for _ <- 1..left, reduce: dice do
        dice ->
          from = rem(dice, 800)
          to = from + 1 + rem(div(dice, 800), tuple_size(accounts) - from - 1)
          dice = rem(dice * 48_271, 2_147_483_647)
          send elem(accounts, from), {:pay, self(), elem(accounts, to), rem(dice, 100)}
          dice
      end
    end

    defactor account(number, balance) do
      {:pay, teller, to, amount} ->
        send to, {:deposit, self(), amount}
        become paying(number, balance - amount, teller)

      {:deposit, from, amount} ->
        send from, :deposited
        become balance: balance + amount

      {:balance, audit} ->
        send audit, {number, balance}
    end

    defactor paying(number, balance, teller) do
      :deposited ->
        send teller, :done
        become account(number, balance)

      _ ->
        stash()
    end
  end

  defmodule Processes do
    @spec teller(tuple, pid) :: term
    def teller(accounts, customer) do
      receive do
        {:order, left} ->
          order(accounts, left, 1)
          for _ <- 1..left, do: receive(do: (:done -> :ok))
          for account <- Tuple.to_list(accounts), do: send(account, {:balance, self()})

          balances =
            for _ <- 1..tuple_size(accounts), do: receive(do: ({number, balance} -> number * balance))

          send(customer, Enum.sum(balances))
      end
    end

    defp order(_accounts, 0, _dice), do: :ok

    defp order(accounts, left, dice) do
      from = rem(dice, 800)
      to = from + 1 + rem(div(dice, 800), tuple_size(accounts) - from - 1)
      dice = rem(dice * 48_271, 2_147_483_647)
      send(elem(accounts, from), {:pay, self(), elem(accounts, to), rem(dice, 100)})
      order(accounts, left - 1, dice)
    end

    @spec account(pos_integer, integer) :: term
    def account(number, balance) do
      receive do
        {:pay, teller, to, amount} ->
          reference = make_ref()
          send(to, {:deposit, self(), reference, amount})
          receive do: (^reference -> send(teller, :done))
          account(number, balance - amount)

        {:deposit, from, reference, amount} ->
          send(from, reference)
          account(number, balance + amount)

        {:balance, teller} ->
          send(teller, {number, balance})
      end
    end
  end

  # Each account's number times its balance, which tells where the money is.
  @impl true
  def expected(n) do
    moved =
      for {dice, amount} <- Enum.zip([1 | Dice.rolls(1, n)], Dice.rolls(1, n)) do
        rem(amount, 100) * (1 + rem(div(dice, 800), @accounts - rem(dice, 800) - 1))
      end

    Enum.sum(1..@accounts) * @balance + Enum.sum(moved)
  end

  @impl true
  def mote(machine, n) do
    accounts = for number <- 1..@accounts, do: Mote.create(machine, Actors.account(number, @balance))
    teller = Mote.create(machine, Actors.teller(List.to_tuple(accounts), n, self()))
    [run: asking(teller, {:order, n, 1})]
  end

  @impl true
  def beam(n) do
    accounts = for number <- 1..@accounts, do: spawn(Processes, :account, [number, @balance])
    teller = spawn(Processes, :teller, [List.to_tuple(accounts), self()])
    [run: asking(teller, {:order, n})]
  end
end
