defmodule Mote.Chaos.Nodes.Site do
  @moduledoc """
  What chaos does on each node: a machine, a member of the shards, processes and actors that send numbers, and tallies that
  count them. A node that was killed comes back as another *life*, so that nothing of the one before is expected of it.
  """

  alias Mote.Chaos.Nodes.Actors
  alias Mote.Shards

  @machine Mote.Chaos.Nodes.Machine
  @shards Mote.Chaos.Nodes.Shards

  # Milliseconds in which a node that leaves has given all away, however busy the computer is.
  @shutdown 120_000
  @supervisor Mote.Chaos.Nodes.Supervisor
  @pumps 2

  # How much work a full sponsor has, some milliseconds each: messages from other nodes are to wait.
  @slow 100

  # Keys whose actors go elsewhere at once.
  @strays 20

  @doc "Runs a function of this module on a node."
  def at(%{peer: peer}, function, args \\ []), do: :peer.call(peer, __MODULE__, function, args, 120_000)

  @doc "Starts the machine of this node, whose life has a number, and its tallies."
  def start(life, machine) do
    Logger.configure(level: :error)
    :ok = :logger.add_handler(__MODULE__, __MODULE__, %{})

    hold(fn ->
      children = [{Mote, [name: @machine] ++ machine}]
      {:ok, _} = Supervisor.start_link(children, strategy: :one_for_one, name: @supervisor)

      :ets.new(__MODULE__, [:named_table, :public])
      :ets.insert(__MODULE__, [{:life, life}, {:tally, Mote.create(@machine, Actors.tally(%{}))}])
      :ets.insert(__MODULE__, [{:listener, spawn_link(fn -> listen(%{}) end)}, {:errors, []}])
    end)
  end

  @doc "Keeps what processes of this node have crashed of, other than chaos itself: a handler of `:logger`."
  def log(%{level: :error, msg: {:report, report}}, _config) do
    text = inspect(report, limit: 30)

    unless text =~ "reason: :killed" or :ets.whereis(__MODULE__) == :undefined,
      do: :ets.insert(__MODULE__, {{:error, System.unique_integer()}, text})
  end

  def log(_event, _config), do: :ok

  @doc "Which processes of this node have crashed, as the log has it."
  def crashes, do: List.flatten(:ets.match(__MODULE__, {{:error, :_}, :"$1"}))

  @doc "Where others send to: the tally and the listener of this node."
  def targets, do: %{life: get(:life), tally: get(:tally), listener: get(:listener)}

  @doc "Makes this node a member of the shards, unless it is about to be one (`rejoin/0`)."
  def join, do: if(rejoining?(), do: :ok, else: do_join())

  defp do_join do
    child =
      {Shards, name: @shards, machine: @machine, start: Actors.tallies(), shards: 8, shutdown: @shutdown}

    case Supervisor.start_child(@supervisor, child) do
      {:ok, _} -> :ok
      {:error, {:already_started, _}} -> :ok
    end
  end

  @doc "Takes this node out of the shards in good order; returns `:ok`, or `:none` if it is no member, or about to be one."
  def leave, do: if(rejoining?(), do: :none, else: do_leave())

  @doc "Has this node come, leave while the others still give to it, and come again, while the caller goes on; `stop/0` waits for that."
  def rejoin do
    unless rejoining?() do
      :ets.insert(__MODULE__, {:rejoining, spawn(fn -> for _ <- 1..3, do: do_rejoin() end)})
    end

    :ok
  end

  defp do_rejoin do
    do_join()
    Process.sleep(:rand.uniform(150))
    do_leave()
    do_join()
  end

  defp rejoining?, do: is_pid(get(:rejoining)) and Process.alive?(get(:rejoining))

  defp rejoined do
    if pid = get(:rejoining) do
      ref = Process.monitor(pid)

      receive do
        {:DOWN, ^ref, :process, _, reason} when reason in [:normal, :noproc] -> :ok
        {:DOWN, ^ref, :process, _, reason} -> exit({:not_rejoined, reason})
      end
    end
  end

  defp do_leave do
    with :ok <- Supervisor.terminate_child(@supervisor, @shards),
         :ok <- Supervisor.delete_child(@supervisor, @shards),
         do: :ok,
         else: ({:error, :not_found} -> :none)
  end

  @doc "Whether this node is a member."
  def member?, do: Process.whereis(@shards) != nil

  @doc "Keeps the machine's only sponsor full of work for some milliseconds."
  def fill(ms) do
    until = System.monotonic_time(:millisecond) + ms
    spawn(fn -> fill(Mote.create(@machine, Actors.slow(0)), until) end)
    :ok
  end

  defp fill(slow, until) do
    for _ <- 1..@slow, do: Mote.send(slow, :work, on_full: :wait)
    ask(slow, :done)
    if System.monotonic_time(:millisecond) < until, do: fill(slow, until)
  end

  @doc "Kills a process of this node that sends to other nodes or takes in what they send; returns the module it ran."
  def kill_one do
    carriers = for pid <- Process.list(), module = carrier(pid), do: {pid, module}

    with [_ | _] <- carriers do
      {pid, module} = Enum.random(carriers)
      Process.exit(pid, :kill)
      module
    end
  end

  @doc "Returns what processes of this node are at that move actors or give keys away: for a finding."
  def busy do
    for pid <- Process.list(),
        {:current_stacktrace, stack} <- [Process.info(pid, :current_stacktrace)],
        at =
          for(
            {module, function, arity, _} <- stack,
            moves?(Atom.to_string(module)),
            do: {module, function, arity}
          ),
        at != [],
        do: {pid, at, Process.info(pid, :message_queue_len)}
  end

  @moving for part <- ~w(Shards Move Far Machine), do: "Elixir.Mote.#{part}."
  defp moves?(module), do: String.starts_with?(module, @moving)

  # Couriers, porters and relays; not the processes that there is one of.
  defp carrier(pid) do
    with {:current_stacktrace, stack} <- Process.info(pid, :current_stacktrace),
         initial = :proc_lib.initial_call(pid),
         false <- match?({Mote.Machine.Postman, _, _}, initial) do
      modules = for {module, _, _, _} <- stack, do: module

      Enum.find(
        [Mote.Far.Courier, Mote.Far.Porter, Mote.Machine.Postman],
        &(&1 in modules or match?({^&1, _, _}, initial))
      )
    else
      _ -> nil
    end
  end

  @doc """
  Moves the tally of this node to another one's machine, beside the traffic for it, and sends to it before and after; at the
  end of a phase it comes home (`come_home/0`).
  """
  def travel(node) do
    first = get(:tally)
    name = {node(), get(:life), :traveller, make_number()}
    sent = Enum.count(1..50, &(Mote.send(first, {name, &1}, on_full: :wait) == :ok))

    with {:ok, moved} <- Mote.move(first, {@machine, node}, timeout: 60_000) do
      sent = sent + Enum.count(1..50, &(Mote.send(moved, {name, sent + &1}, on_full: :wait) == :ok))
      :ets.insert(__MODULE__, {:moved, moved})
      {name, {:tally, node(), get(:life)}, sent}
    else
      {:error, _} -> {name, {:tally, node(), get(:life)}, sent}
    end
  end

  @doc "Moves the tally of this node back to its machine."
  def come_home do
    if get(:moved), do: {:ok, _} = Mote.move(get(:tally), @machine, timeout: 60_000)
    :ets.delete(__MODULE__, :moved)
    :ok
  end

  @doc "Moves the actors of some keys to another node's machine, beside the traffic for them: the keys lead to them there."
  def stray(node, keys) do
    if member?() do
      for key <- Enum.take_random(1..keys, @strays),
          address = whereis(key),
          do: Mote.move(address, {@machine, node}, timeout: 60_000)
    end

    :ok
  end

  # Whoever asks where a sponsor is full may be refused.
  defp whereis(key) do
    Shards.whereis(@shards, key, 60_000)
  rescue
    error in Mote.Error -> if error.reason == :overloaded, do: nil, else: reraise(error, __STACKTRACE__)
  end

  @doc "Whether this member agrees with that many others, and no key waits."
  def settled?(count), do: length(Shards.nodes(@shards)) == count and Shards.settled?(@shards)

  # -- sending -------------------------------------------------------------------------------------------------

  @doc "Sends from now on, until `stop/0`: to the tallies and listeners of nodes, and to keys."
  def send_to(targets, keys) do
    senders =
      for {node, %{life: life, tally: tally, listener: listener}} <- targets,
          node != node(),
          to <- [tally, listener] do
        kind = if is_pid(to), do: :listener, else: :tally
        name = {node(), get(:life), :actor, make_number()}
        {name, {kind, node, life}, Mote.create(@machine, Actors.sender(name, to, 0))}
      end

    tallies =
      for {node, %{life: life, tally: tally}} <- targets, node != node(), do: {{:tally, node, life}, tally}

    keys = if member?(), do: for(key <- 1..keys, do: {{:key, key}, key}), else: []

    pumps =
      for _ <- 1..@pumps do
        name = {node(), get(:life), :process, make_number()}
        spawn(fn -> pump(name, List.to_tuple(tallies ++ keys), %{}) end)
      end

    hold(fn ->
      :ets.insert(__MODULE__, [{:senders, senders}, {:pumps, pumps}])
      :ets.insert(__MODULE__, {:driver, spawn_link(fn -> drive(senders) end)})
    end)
  end

  # Accepted are those that were answered by `:ok`: another one has the same number again.
  defp pump(name, targets, sent) do
    {target, to} = elem(targets, :rand.uniform(tuple_size(targets)) - 1)
    n = Map.get(sent, target, 0) + 1
    sent = if put(to, {name, n}) == :ok, do: Map.put(sent, target, n), else: sent

    receive do
      {:sent, from} -> send(from, {:sent, name, sent})
    after
      :rand.uniform(3) - 1 -> pump(name, targets, sent)
    end
  end

  defp put(key, message) when is_integer(key), do: accepted(Shards.send(@shards, key, message))
  defp put(address, message), do: accepted(Mote.send(address, message))
  defp accepted(:ok), do: :ok
  defp accepted({:error, %{reason: reason}}), do: reason

  defp drive(senders) do
    for {_, _, sender} <- senders, do: Mote.send(sender, :send)
    Process.sleep(1)
    drive(senders)
  end

  @doc "Stops sending, and returns how much was accepted: `{sender, target, count}` of all that sent."
  def stop do
    if driver = get(:driver) do
      Process.unlink(driver)
      ref = Process.monitor(driver)
      Process.exit(driver, :kill)
      # It may be sending at this moment.
      receive do: ({:DOWN, ^ref, _, _, _} -> :ok)
    end

    rejoined()
    of_processes = Enum.map(get(:pumps, []), &stop_pump/1)
    :ets.delete(__MODULE__, :pumps)

    of_actors = for {name, target, sender} <- get(:senders, []), do: {name, target, ask(sender, :sent)}

    List.flatten(of_processes) ++ of_actors
  end

  defp stop_pump(pump) do
    ref = Process.monitor(pump)
    send(pump, {:sent, self()})

    receive do
      {:sent, name, sent} -> for {target, n} <- sent, do: {name, target, n}
      {:DOWN, ^ref, _, _, reason} -> exit({:pump_ended, reason})
    end
  end

  # -- counting ------------------------------------------------------------------------------------------------

  defp listen(seen) do
    receive do
      {:seen, from} ->
        send(from, {:seen, seen})
        listen(seen)

      {sender, n} ->
        {count, last, back} = Map.get(seen, sender, {0, 0, 0})
        back = if n > last, do: back, else: back + 1
        listen(Map.put(seen, sender, {count + 1, max(n, last), back}))
    end
  end

  @doc "What the tally and the listener of this node have counted: `{target, %{sender => {count, last, back}}}` of each."
  def seen do
    send(get(:listener), {:seen, self()})

    listened =
      receive do
        {:seen, seen} -> seen
      end

    life = get(:life)
    [{{:tally, node(), life}, ask(get(:tally), :seen)}, {{:listener, node(), life}, listened}]
  end

  @doc "What the tallies of keys have counted, asked from here."
  def seen_by_key(keys),
    do:
      for(
        key <- 1..keys,
        do: {{:key, key}, until_room(fn -> Shards.ask(@shards, key, :seen, 60_000) end)}
      )

  @doc """
  What this node says that it has lost or does not know of, for each other node: of messages sent there, and of those that came from
  there.
  """
  def told_lost,
    do: Map.new(Mote.nodes(), fn {node, told} -> {node, told.lost + told.unsure + told.undelivered} end)

  @doc "Whether nothing waits to be sent to any node."
  def quiet?,
    do: Mote.drain(@machine, 60_000) == :ok and Enum.all?(Mote.nodes(), fn {_, told} -> told.waiting == 0 end)

  # -- what stays ----------------------------------------------------------------------------------------------

  # Calls from outside run in processes that end: what they start is to stay.
  defp hold(fun) do
    caller = self()

    spawn(fn ->
      Process.flag(:trap_exit, true)
      fun.()
      send(caller, :held)
      Process.sleep(:infinity)
    end)

    receive do
      :held -> :ok
    end
  end

  defp ask(address, request), do: until_room(fn -> Mote.ask(address, request, 60_000) end)

  # A question to a full sponsor is refused: again, until it is taken.
  defp until_room(ask) do
    case ask.() do
      {:ok, answer} ->
        answer

      {:error, %{reason: :overloaded}} ->
        Process.sleep(1)
        until_room(ask)

      {:error, error} ->
        raise error
    end
  end

  defp get(name, default \\ nil) do
    case :ets.lookup(__MODULE__, name) do
      [{_, value}] -> value
      [] -> default
    end
  end

  defp make_number, do: System.unique_integer([:positive])
end
