defmodule Mote.BeamSponsorKillTest do
  # Whatever is killed whenever, a turn of a beam sponsor has all of its effects or none: money is neither made nor lost.
  use ExUnit.Case, async: true

  import Mote.Eventually

  defmodule Bank do
    use Mote.Behaviour

    # Tells who may be killed, and takes a moment before and after its effects.
    defactor free(balance, killer), beam: true do
      {:pay, to, sum} ->
        Kernel.send(killer, {:victim, Kernel.self()})
        Bank.moment()
        send to, {:take, sum}
        become balance: balance - sum
        Bank.moment()

      {:take, sum} ->
        become balance: balance + sum

      {customer, :balance} ->
        send customer, balance
    end

    # The same in the language: it runs in the worker itself.
    defactor bound(balance) do
      {:pay, to, sum} ->
        send to, {:take, sum}
        become balance: balance - linger(sum, 300)

      {:linger, n} ->
        become balance: balance + linger(0, n)

      {:take, sum} ->
        become balance: balance + sum

      {customer, :balance} ->
        send customer, balance
    end

    defpure linger(sum, 0), do: sum
    defpure linger(sum, n), do: linger(sum, n - 1)

    def moment, do: for(_ <- 1..:rand.uniform(50)//1, do: :erlang.yield())
  end

  @accounts 20
  @payments 2_000

  setup do
    {:ok, machine} = Mote.start_link(sponsors: [main: [], io: [beam: true, max_concurrency: 8]])
    %{machine: machine}
  end

  @tag capture_log: true
  test "turns that may call any Elixir", %{machine: machine} do
    killer = spawn_link(fn -> kill_victims() end)
    accounts = for _ <- 1..@accounts, do: Mote.create(machine, Bank.free(1_000, killer), sponsor: :io)
    assert_conserved(machine, accounts)
    assert Mote.info(machine).counters.aborts_crashed > 0
  end

  @tag capture_log: true
  test "turns of the language, whose workers are killed", %{machine: machine} do
    accounts = for _ <- 1..@accounts, do: Mote.create(machine, Bank.bound(1_000), sponsor: :io)
    killer = spawn_link(fn -> kill_workers(machine) end)
    assert_conserved(machine, accounts)
    # It finds them: at the latest one whose turn takes milliseconds.
    eventually(fn ->
      Mote.send(hd(accounts), {:linger, 5_000_000})
      Mote.info(machine).counters.aborts_crashed > 0
    end)

    Process.unlink(killer)
    Process.exit(killer, :kill)
  end

  defp assert_conserved(machine, accounts) do
    for _ <- 1..@payments do
      :ok = Mote.send(Enum.random(accounts), {:pay, Enum.random(accounts), 1})
    end

    assert :ok = Mote.drain(machine, 120_000)
    counters = Mote.info(machine).counters
    # Each payment that was not aborted has sent a deposit, each turn has ended once.
    paid = counters.sends
    assert counters.turns == @payments + paid
    assert counters.becomes + counters.aborts_crashed == counters.turns
    arrived = counters.becomes - paid
    assert balances(accounts) == @accounts * 1_000 - paid + arrived
  end

  defp balances(accounts), do: accounts |> Enum.map(&balance/1) |> Enum.sum()

  # Whose turn may be that of a worker which is killed.
  defp balance(account) do
    case Mote.ask(account, :balance, 60_000) do
      {:ok, balance} -> balance
      {:error, %Mote.Error{reason: :aborted}} -> balance(account)
    end
  end

  defp kill_victims do
    receive do
      {:victim, pid} ->
        if :rand.uniform(3) == 1 do
          for _ <- 1..:rand.uniform(60)//1, do: :erlang.yield()
          Process.exit(pid, :kill)
        end

        kill_victims()
    end
  end

  # Those that the process of all workers watches, which is linked to the machine's.
  defp kill_workers(machine) do
    for manager <- pids(machine, :links),
        Process.info(manager, :dictionary) |> manager?(),
        worker <- pids(manager, :monitors) do
      if :rand.uniform(4) == 1, do: Process.exit(worker, :kill)
    end

    :erlang.yield()
    kill_workers(machine)
  end

  defp manager?({:dictionary, dictionary}),
    do: dictionary[:"$initial_call"] == {Mote.Machine.Workers, :init, 1}

  defp manager?(nil), do: false

  defp pids(pid, of) do
    case Process.info(pid, of) do
      {^of, all} -> Enum.flat_map(all, &pid/1)
      nil -> []
    end
  end

  defp pid(pid) when is_pid(pid), do: [pid]
  defp pid({:process, pid}) when is_pid(pid), do: [pid]
  defp pid(_), do: []
end
