defmodule Mote.Chaos.Operations.Futures do
  @moduledoc """
  Futures, and environments that end in all ways: whatever happens to who has started them, whoever touches them is told,
  and their sponsor goes.
  """

  alias Mote.Chaos.{Actors, Findings, Machines, Pool, Watchdog}
  alias Mote.Future

  @touch 2_000

  def run({:future, m, work, sponsor}, _lane) do
    options = [machine: Machines.at(m)] ++ if(sponsor, do: [sponsor: sponsor], else: [])
    Pool.put(:future, start(work, options))
  end

  def run({:touch, i, timeout}, _lane),
    do: with(future when future != nil <- Pool.pick(:future, i), do: Future.touch(future, timeout))

  def run({:kill_future, i}, _lane),
    do: with(future when future != nil <- Pool.pick(:future, i), do: Future.kill(future))

  def run({:wait, which, i, n, timeout}, _lane) do
    futures = for k <- 1..n, future = Pool.pick(:future, i + k), do: future

    if futures != [],
      do:
        if(which == :any,
          do: Future.wait_for_any(futures, timeout),
          else: Future.wait_for_all(futures, timeout)
        )
  end

  def run({:toucher, i, timeout, ends_after}, _lane) do
    with future when future != nil <- Pool.pick(:future, i) do
      {pid, ref} = toucher(future, timeout)

      if ends_after do
        Process.sleep(ends_after)
        Process.exit(pid, :kill)
      end

      ended(ref)
    end
  end

  def run({:environment, m, work, n, threads, how, ending}, _lane) do
    machine = Machines.at(m)
    before = sponsors(machine)
    if how == :paused, do: Mote.pause(machine)
    {pid, ref} = owner(machine, work, n, threads, how, ending)

    receive do
      {^pid, :futures, futures} ->
        touchers = for future <- Enum.take_every(futures, div(n, 40) + 1), do: toucher(future, @touch)
        send(pid, :go)
        kill(pid, ref, ending)
        ended(ref)
        if how == :paused, do: resume_soon(machine)
        for {_, ref} <- touchers, do: ended(ref)
        left(machine, before, futures, how, ending)

      {:DOWN, ^ref, _, _, _} ->
        :not_started
    end

    Mote.resume(machine)
  end

  # Others have environments of their own, whose sponsors may have the same names: they are known by their start.
  defp sponsors(machine), do: for({name, %{started: at}} <- Mote.info(machine).sponsors, do: {name, at})

  defp owner(machine, work, n, threads, how, ending) do
    lane = self()
    hooks = if how == :hooks, do: [after_finish: [&Future.poll/1]], else: []

    spawn_monitor(fn ->
      try do
        Future.with_environment(machine, [max_threads: threads] ++ hooks, fn ->
          futures = for _ <- 1..n, do: start(work, environment: Future.environment())
          send(lane, {self(), :futures, futures})
          Pool.set({:environment, lane}, Future.environment().sponsor)

          receive do
            :go -> :ok
          end

          if ending == :raises, do: raise(Mote.Error.new(:timeout, "an end"))
          if ending == :kills_all, do: Future.kill_all()
          send(lane, {self(), :ends})
        end)
      rescue
        Mote.Error -> :ok
      end
    end)
  end

  # Some time after its block has ended, when what that leads to is going on or done.
  defp kill(pid, ref, {:killed, after_us}) do
    receive do
      {^pid, :ends} ->
        spin(System.monotonic_time(:microsecond) + after_us)
        Process.exit(pid, :kill)

      {:DOWN, ^ref, _, _, reason} ->
        send(self(), {:DOWN, ref, :process, pid, reason})
    end
  end

  defp kill(_pid, _ref, _ending), do: :ok

  defp spin(until), do: if(System.monotonic_time(:microsecond) < until, do: spin(until))

  # What is paused answers nobody, but it ends what is to end.
  defp resume_soon(machine) do
    Process.sleep(50)
    Mote.resume(machine)
  end

  # All that the block's end promises.
  defp left(machine, before, futures, how, ending) do
    soon(
      fn -> Enum.all?(futures, &Future.finished?/1) end,
      fn -> %{seen: "futures of an environment that has ended are not finished", how: how, ending: ending} end
    )

    if ending != :returns or how == :hooks do
      soon(
        fn -> Enum.filter(sponsors(machine), &new_environment?(&1, before)) |> Enum.all?(&others?/1) end,
        fn ->
          %{seen: "the sponsor of an environment is still there", sponsors: sponsors(machine), ending: ending}
        end
      )
    end
  end

  defp new_environment?({name, _} = sponsor, before),
    do: sponsor not in before and name == Pool.get({:environment, self()})

  # Another lane's environment may have taken the name.
  defp others?({name, _}),
    do: Enum.any?(Pool.get(:lanes), &(&1 != self() and Pool.get({:environment, &1}) == name))

  defp soon(true?, otherwise, until \\ System.monotonic_time(:millisecond) + 10_000) do
    cond do
      true?.() ->
        :ok

      System.monotonic_time(:millisecond) > until ->
        Findings.found(:environment_left, otherwise.())

      true ->
        Process.sleep(20)
        soon(true?, otherwise, until)
    end
  end

  defp toucher(future, timeout) do
    spawn_monitor(fn ->
      Watchdog.within(timeout, {:toucher, timeout}, fn ->
        try do
          Future.touch(future, timeout)
        rescue
          Mote.Error -> :told
        end
      end)
    end)
  end

  defp ended(ref) do
    receive do
      {:DOWN, ^ref, _, _, _} -> :ok
    end
  end

  defp start({:count, n}, options), do: Future.future(&Actors.count/1, [n], options)
  defp start({:one, n}, options), do: Future.future(&Actors.one/1, [n], options)
  defp start({:broken, n}, options), do: Future.future(&Actors.broken/1, [n], options)
  defp start({:slow, n}, options), do: Future.future(Actors.slow(n), :request, options)
end
