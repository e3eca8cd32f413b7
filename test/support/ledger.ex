defmodule Mote.Ledger do
  @moduledoc """
  A durable machine for tests: clients that count, an actor that sees whether any number is missing, and what only a journal could tell
  again: random numbers, times, timers, and actors that are created meanwhile.
  """

  use Mote.Behaviour

  # `seen`: by client, the last number; `draws`: by client, what it was told with it; `gaps`: what came out of order.
  defactor ledger(seen, draws, accounts, ticks) do
    {customer, {:add, client, n}} ->
      last = Map.get(seen, client, 0)

      if n == last + 1 do
        draw = {n, :rand.uniform(), System.monotonic_time(:millisecond), ticks}
        send customer, draw
        become ledger(Map.put(seen, client, n), Map.put(draws, client, draw), accounts, ticks)
      else
        send customer, {:gap, last}
      end

    {:add, client, n} ->
      last = Map.get(seen, client, 0)

      if n == last + 1 do
        become ledger(Map.put(seen, client, n), draws, accounts, ticks)
      else
        become ledger(Map.put(seen, {:gap, client}, {last, n}), draws, accounts, ticks)
      end

    {customer, {:open, name}} ->
      case Map.get(accounts, name) do
        nil ->
          account = create account(0)
          send customer, account
          become ledger(seen, draws, Map.put(accounts, name, account), ticks)

        account ->
          send customer, account
      end

    # Answered by another actor, so in a later turn.
    {customer, {:pay, name, amount}} ->
      case Map.get(accounts, name) do
        nil -> send customer, :unknown
        account -> send account, {customer, {:pay, amount}}
      end

    # Much for an image to write, a thousand at a time.
    {customer, {:fill, 0}} ->
      send customer, :ok

    {customer, {:fill, n}} ->
      send self(), {customer, {:fill, n - 1}}
      accounts = Map.put(accounts, {:ballast, n}, create(ballast(for(_ <- 1..1000, do: create(account(n))))))
      become ledger(seen, draws, accounts, ticks)

    :tick ->
      send_after 1, self(), :tick
      become ledger(seen, draws, accounts, ticks + 1)

    {:tell, process, what} ->
      send process, what

    {customer, :all} ->
      send customer, {seen, draws, accounts, ticks}
  end

  defactor ballast(accounts) do
    {customer, :balance} -> send customer, length(accounts)
  end

  defactor account(balance) do
    {customer, {:pay, amount}} ->
      send customer, {balance + amount, :rand.uniform()}
      become account(balance + amount)

    {customer, :balance} ->
      send customer, balance

    {:monitor, process} ->
      monitor(process, :gone)
  end

  @doc "Starts the machine of a folder, or starts it again, and returns it with its ledger."
  def start(dir, opts \\ []) do
    with {:ok, machine} <- Mote.start_link(durable: [dir: dir] ++ opts) do
      case Mote.names(machine) do
        %{ledger: ledger} ->
          {:ok, machine, ledger}

        %{} ->
          ledger = Mote.create(machine, ledger(%{}, %{}, %{}, 0))
          :ok = Mote.send(ledger, :tick)
          {:ok, _image} = Mote.Durable.checkpoint(machine, %{ledger: ledger})
          {:ok, machine, ledger}
      end
    end
  end

  @doc "Kills a linked machine whose files are to be changed: before its thread has ended, that may have an entry to write."
  def kill_and_join(machine) do
    native = :sys.get_state(machine).native
    kill(machine)
    Mote.Native.machine_join(native)
  end

  @doc "Kills a machine that is linked to the calling process, which traps exits, and waits until its process has ended."
  def kill(machine) do
    Process.exit(machine, :kill)
    receive do: ({:EXIT, ^machine, :killed} -> :ok)
  end

  @doc "Counts on with so many clients, which say on the standard output what they have been told, until the node is killed."
  def serve(dir, clients, opts) do
    Process.flag(:trap_exit, true)
    {fill, opts} = Keyword.pop(opts, :fill, 0)
    {:ok, machine, ledger} = start(dir, opts)
    :ok = Mote.ask!(ledger, {:fill, fill})
    {seen, _draws, _accounts, _ticks} = Mote.ask!(ledger, :all)
    for client <- 1..clients, do: spawn_link(fn -> count(ledger, client, Map.get(seen, client, 0) + 1) end)

    receive do
      {:EXIT, from, reason} -> IO.puts("ended #{inspect({from == machine, reason})}")
    end
  end

  defp count(ledger, client, n) do
    case rem(client, 3) do
      0 ->
        :ok = Mote.send(ledger, {:add, client, n})
        say({:sent, client, n})

      1 ->
        draw = Mote.ask!(ledger, {:add, client, n})
        say({:told, client, draw})

      2 ->
        name = {client, div(n, 20)}
        if rem(n, 20) == 0 or n == 1, do: say({:opened, name, Mote.ask!(ledger, {:open, name})})
        say({:paid, name, n, Mote.ask!(ledger, {:pay, name, n})})
        draw = Mote.ask!(ledger, {:add, client, n})
        say({:told, client, draw})
    end

    count(ledger, client, n + 1)
  end

  # As one write, so that a line is whole or not there.
  defp say(what), do: IO.binwrite([what |> :erlang.term_to_binary() |> Base.encode64(), "\n"])
end
