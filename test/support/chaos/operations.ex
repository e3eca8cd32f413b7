defmodule Mote.Chaos.Operations do
  @moduledoc """
  What the operations of a scenario do: messages and questions here, the others in modules of their own.

  What can happen in a correct program (`Mote.Error`, a machine that is down) is no finding, any other exception is. Each
  operation has a deadline.
  """

  alias Mote.Chaos.{Checks, Findings, Machines, Pool, Terms, Watchdog}
  alias Mote.Chaos.Operations.{Futures, Lifecycle, Looks, Processes}

  @futures ~w(future touch wait kill_future toucher environment)a
  @looks ~w(info info_actor info_kept top behaviours fold graph trace end_trace pause show)a
  @processes ~w(receiver end_receiver spam askers outbox take outbox_info close outbox_owner spawned stray)a
  @lifecycle ~w(add_sponsor remove_sponsor stop crash gc drain compile load purge agree advance)a

  # Milliseconds.
  @ask 1_000

  @doc "Does an operation in a lane."
  def run({:repeat, times, ops}, lane) do
    for _ <- 1..times, op <- ops, Checks.time_left?(), do: run(op, lane)
    :ok
  end

  def run(op, lane) do
    Watchdog.within(limit(op), op, fn -> attempt(op, lane) end)
  end

  defp attempt(op, lane) do
    dispatch(op, lane)
  rescue
    Mote.Error -> :error
    error -> unexpected(op, error, __STACKTRACE__)
  catch
    :exit, {reason, {module, _, _}} when module in [Mote, GenServer, Mote.Ask] -> reason
    :exit, reason when reason in [:noproc, :normal] -> reason
    kind, reason -> unexpected(op, {kind, reason}, __STACKTRACE__)
  end

  defp unexpected(op, error, stacktrace) do
    Findings.found(:unexpected_exception, %{
      operation: op,
      error: error,
      stacktrace: Enum.map(stacktrace, &Exception.format_stacktrace_entry/1)
    })
  end

  # Milliseconds: what an operation may wait for by its own timeout; all have the watchdog's grace.
  defp limit({:askers, _, _, processes, n}), do: 5_000 + processes * n * 10
  defp limit({name, _, _, _, _, _, _}) when name == :environment, do: 30_000
  defp limit({:agree, _, _, _}), do: 60_000
  defp limit({:top, _, _, ms}), do: 10_000 + ms
  defp limit({name, _, _}) when name in [:behaviours], do: 15_000
  defp limit({:fold, _}), do: 15_000
  defp limit({:pause, _, n, _}), do: 5_000 + n * 500
  defp limit({:ask_labour, _, _, _, _, timeout}), do: timeout
  defp limit({:ask_path, _, _, _, timeout}), do: timeout
  defp limit({:ask_kept, _, timeout}), do: timeout
  defp limit({:touch, _, timeout}), do: timeout
  defp limit(_), do: 6_000

  defp dispatch(op, lane) do
    case elem(op, 0) do
      name when name in @futures -> Futures.run(op, lane)
      name when name in @looks -> Looks.run(op, lane)
      name when name in @processes -> Processes.run(op, lane)
      name when name in @lifecycle -> Lifecycle.run(op, lane)
      _ -> message(op, lane)
    end
  end

  # -- actors --------------------------------------------------------------------------------------------------

  defp message({:create, m, what, sponsor}, _lane) do
    with behaviour when behaviour != nil <- behaviour(what) do
      machine = Machines.at(m)
      # A sponsor that there is not is the program's business.
      address = Mote.create(machine, behaviour, if(sponsor, do: [sponsor: sponsor], else: []))
      sort = if is_tuple(what), do: elem(what, 0), else: what
      Pool.put(Machines.sort(sort, machine), address)
      Pool.put(:any, address)
    end
  end

  # -- tokens --------------------------------------------------------------------------------------------------

  defp message({:token, m, i, path, sponsor}, lane), do: token(m, i, path, sponsor, :now, lane)

  defp message({:late_token, m, i, path, ms}, lane),
    do: token(m, i, [{:after, ms, i} | path], nil, :late, lane)

  defp message({:settle, m}, lane), do: Checks.settle(m, lane)

  defp message({:ask_path, m, i, path, timeout}, _lane) do
    with relay when relay != nil <- actor(:relay, m, i) do
      token = make_ref()

      case Mote.ask(relay, {steps(path, m), token}, timeout) do
        {:ok, answer} when answer != token ->
          Findings.found(:wrong_answer, %{asked: token, answered: answer, path: path})

        other ->
          other
      end
    end
  end

  # Both at once, and then nothing that was sent may be missing.
  defp message({:race, m, us, there, here}, lane) do
    helper = Process.get(:helper) || tap(helper(lane), &Process.put(:helper, &1))
    Kernel.send(helper, {self(), there})
    spin(System.monotonic_time(:microsecond) + us)
    attempt(here, lane)

    receive do
      {^helper, :done} -> Checks.settle(m, lane)
    end
  end

  # -- messages ------------------------------------------------------------------------------------------------

  defp message({:send, m, sort, i, what, term}, _lane) do
    term = Terms.make(term)
    message = if sort == :keeper, do: term, else: {what, term}
    with actor when actor != nil <- actor(sort, m, i), do: Mote.send(actor, message)
  end

  defp message({:forget, m, sort, i}, _lane), do: tell(actor(sort, m, i), :forget)
  defp message({:tick, m, i, times}, _lane), do: tell(actor(:log, m, i), {:tick, times})
  defp message({:swap, m, i}, _lane), do: tell(actor(:worker, m, i), :swap)

  # Two messages: what it is to work on, and what it is to do.
  defp message({:labour, m, i, how, what, n, one, other}, _lane) do
    worker = actor(:worker, m, i)
    tell(worker, {:hold, one, other})
    if how == :ask, do: ask(worker, {:do, what, n}, @ask), else: tell(worker, {how, what, n})
  end

  defp message({:wild, m, i, steps, term}, _lane),
    do: tell(actor(:wild, m, i), {steps, Terms.make(term), Pool.pick(:any, i)})

  defp message({:tree, m, i, n}, lane), do: tell(actor(:tree, m, i), {n, {:leaf, lane.id}})

  defp message({:arm, m, i, times, ms, target}, _lane),
    do: tell(actor(:clock, m, i), {:arm, times, ms, Pool.pick(:any, target), {:armed, ms}})

  defp message({:cancel_all, m, i}, _lane), do: tell(actor(:clock, m, i), :cancel)

  defp message({:to_outbox, m, i, outbox, term}, lane) do
    with relay when relay != nil <- actor(:relay, m, i),
         outbox when outbox != nil <- Pool.pick(:outbox, outbox) do
      Mote.send(relay, {:go, [], outbox, {lane.id, Terms.make(term)}})
    end
  end

  defp message({:tick_outbox, m, i, times}, _lane) do
    with outbox when outbox != nil <- Pool.pick(:outbox, i) do
      log = Mote.create(Machines.at(m), Mote.Chaos.Actors.log(outbox, :outbox, 0))
      Mote.send(log, {:tick, times})
    end
  end

  defp message({:send_many, m, i, n}, lane) do
    with relay when relay != nil <- actor(:relay, m, i) do
      Mote.send_many(relay, for(k <- 1..n, do: {:go, [], lane.ear, {:many, k}}))
    end
  end

  defp message({:send_kept, i, target}, _lane) do
    with kept when kept != nil <- Pool.pick(:kept, i) do
      Mote.send(kept, {Pool.pick(:any, target), kept})
      tell(Pool.pick(:any, target), kept)
    end
  end

  defp message({:send_after, m, i, ms, term}, _lane) do
    with actor when actor != nil <- actor(:keeper, m, i),
         do: Pool.put(:timer, Mote.send_after(actor, Terms.make(term), ms))
  end

  defp message({:cancel, i}, _lane),
    do: with(timer when timer != nil <- Pool.pick(:timer, i), do: Mote.cancel_timer(timer))

  # -- questions -----------------------------------------------------------------------------------------------

  defp message({:ask_labour, m, i, what, n, timeout}, _lane),
    do: ask(actor(:worker, m, i), {:do, what, n}, timeout)

  defp message({:ask_tick, m, i, times, timeout}, _lane), do: ask(actor(:log, m, i), {:tick, times}, timeout)
  defp message({:ask_late, m, i, ms, timeout}, _lane), do: ask(actor(:clock, m, i), ms, timeout)

  defp message({:ask_wild, m, i, term, timeout}, _lane),
    do: ask(actor(:wild, m, i), Terms.make(term), timeout)

  defp message({:ask_kept, i, timeout}, _lane), do: ask(Pool.pick(:kept, i), :get, timeout)

  defp message({:silent, m, i, how, timeout}, _lane) do
    request =
      case how do
        :pass -> {:pass, actor(:keeper, m, i)}
        :twice -> {:twice, i}
        word -> word
      end

    ask(actor(:silent, m, i), request, timeout)
  end

  defp message({:ask_all, m, sort, request, timeout}, _lane),
    do: Mote.ask_all(Pool.all(Machines.sort(sort, Machines.at(m))), request, timeout)

  defp message({:async, m, i, n, timeout}, _lane) do
    with keeper when keeper != nil <- actor(:keeper, m, i) do
      asks = for _ <- 1..n, do: Mote.async(keeper, :self)
      {given_up, awaited} = Enum.split(asks, div(n, 3))
      for ask <- given_up, do: Mote.ignore(ask)
      Mote.await_many(awaited, timeout)
    end
  end

  # -- parts ---------------------------------------------------------------------------------------------------

  defp token(m, i, path, sponsor, how, lane) do
    with relay when relay != nil <- actor(:relay, m, i) do
      n = System.unique_integer([:positive])
      message = {:go, steps(path, m), lane.ear, {:token, lane.id, n}}
      Pool.sent(lane.id, n, Machines.at(m), how)

      try do
        Mote.send(relay, message, if(sponsor, do: [sponsor: sponsor, timeout: 2_000], else: [timeout: 2_000]))
      else
        :ok -> :ok
        {:error, _} -> Pool.gone(lane.id, n)
      rescue
        error in Mote.Error ->
          Pool.gone(lane.id, n)
          reraise error, __STACKTRACE__
      end
    end
  end

  defp steps(path, m) do
    Enum.map(path, fn
      {:send, i} -> {:send, actor(:relay, m, i)}
      {how, sponsor, i} when how in [:sendx, :on] -> {how, sponsor, actor(:relay, m, i)}
      {:after, ms, i} -> {:after, ms, actor(:relay, m, i)}
      {:pin, sponsor} -> {:pin, sponsor}
      :make -> :make
    end)
  end

  # A process of the lane's that does what it is told at once; it ends with the lane.
  defp helper(lane), do: spawn_link(fn -> help(lane) end)

  defp help(lane) do
    receive do
      {from, op} ->
        attempt(op, lane)
        Kernel.send(from, {self(), :done})
        help(lane)
    end
  end

  defp spin(until), do: if(System.monotonic_time(:microsecond) < until, do: spin(until))

  defp actor(sort, m, i), do: Pool.pick(Machines.sort(sort, Machines.at(m)), i)

  defp tell(nil, _message), do: :nobody
  defp tell(actor, message), do: Mote.send(actor, message, timeout: 2_000)

  defp ask(nil, _request, _timeout), do: :nobody
  defp ask(actor, request, timeout), do: Mote.ask(actor, request, timeout)

  defp behaviour({:worker, x, y}), do: Mote.Chaos.Labour.worker(Terms.make(x), Terms.make(y))

  defp behaviour({:log, i}) do
    with receiver when receiver != nil <- Pool.pick(:receiver, i),
         do: Mote.Chaos.Actors.log(receiver, System.unique_integer([:positive]), 0)
  end

  defp behaviour({:wild, i, k}) do
    with module when module != nil <- Pool.pick(:module, i),
         true <- function_exported?(module, :"a#{k}", 3),
         do: apply(module, :"a#{k}", [Pool.pick(:any, i), i, Pool.pick(:any, k)]),
         else: (_ -> nil)
  end

  defp behaviour(:relay), do: Mote.Chaos.Actors.relay(0)
  defp behaviour(:keeper), do: Mote.Chaos.Actors.keeper([], 0)
  defp behaviour(:breaker), do: Mote.Chaos.Actors.breaker(0)
  defp behaviour(:clock), do: Mote.Chaos.Actors.clock([])
  defp behaviour(:tree), do: Mote.Chaos.Actors.tree(0)
  defp behaviour(:silent), do: Mote.Chaos.Actors.silent(0)
end
