defmodule Mote.FarRig do
  @moduledoc """
  What tests of actors of other nodes do on each node (`Mote.TwoNodes`).
  """

  import Mote.Eventually

  alias Mote.{Actors, Address, Processes, TwoNodes}
  alias Mote.Far.{Gate, Table}

  defmodule Behaviours do
    @moduledoc false
    use Mote.Behaviour, errors: :undefined

    # Sends so many numbers in one turn, and then one in each.
    defactor counting(to) do
      {from, upto, last} ->
        for n <- from..upto, do: send(to, n)
        if upto < last, do: send(self(), {upto + 1, upto + 1, last})
    end

    # In every turn some that are plain, some that are not, and one that is large.
    defactor mixed(to, large) do
      {n, last} ->
        for i <- 1..100, do: send(to, {n, i})
        send to, {n, %{map: to}}
        send to, {n, [self(), to]}
        send to, {n, large}
        for i <- 101..120, do: send(to, {n, i})
        if n < last, do: send(self(), {n + 1, last})
    end

    defactor lists(to, list) do
      {customer, upto} ->
        for n <- 1..upto, do: send(to, [n | list])
        send customer, :sent
    end

    defactor watching() do
      {:watch, process, target, message} -> monitor(process, target, message)
    end

    # By all ways.
    defactor ways(to) do
      {customer, :look} ->
        send customer, {is_address(to), is_pid(to), is_map(to), %{to => :found}[to]}

      :go ->
        send to, :sent
        sendx :main, to, :sendx
        send on(:other, to), :on
        send_after(1, to, :later)
    end

    # Answers with new actors, which it forgets.
    defactor making() do
      {customer, n} -> send customer, for(_ <- 1..n, do: create(idle()))
    end

    defactor idle() do
      {customer, :ping} -> send customer, :pong
    end

    # Keeps what it gets; adds it up.
    defactor keeping(kept) do
      {customer, :count} ->
        send customer, length(kept)

      {customer, :forget} ->
        send customer, :ok
        become keeping([])

      {customer, {:keep, what}} ->
        send customer, :ok
        become keeping([what | kept])
    end

    # Passes on what comes, with its number.
    defactor passing(to, n) do
      message ->
        send to, {n, message}
        become n: n + 1
    end

    defactor adding(sum) do
      {customer, :sum} -> send customer, sum
      n -> become adding(sum + n)
    end
  end

  @doc "Runs a function of this module on a node."
  def at(peer, function, args \\ []), do: :peer.call(peer, __MODULE__, function, args, 120_000)

  @doc "The nodes of `Mote.TwoNodes`, each with a machine: `Home`, and `Away` with these options."
  def machines(away \\ []) do
    {:ok, nodes} = TwoNodes.start()
    {:ok, _} = :peer.call(nodes.away, Application, :ensure_all_started, [:mote], 60_000)
    :ok = at(nodes.home, :machine, [Home])
    :ok = at(nodes.away, :machine, [Away | away])
    nodes
  end

  @doc "What a listener of a node has got, once that is so many."
  def heard(peer, listener, count), do: :peer.call(peer, TwoNodes, :heard, [listener, count], 90_000)

  @doc "The address of an actor of a node that need not exist."
  def address_of(node, number \\ 7) do
    node = to_string(node)
    machine = <<131, 90, 1::16, 119, byte_size(node), node::binary, 1::32, number::32>>
    %Address{machine: :erlang.binary_to_term(machine), key: <<number::576>>}
  end

  @doc "A machine of that name, which stays."
  def machine(name, opts \\ [sponsors: [main: [threads: 1], other: [threads: 1]]]) do
    caller = self()

    spawn(fn ->
      {:ok, _} = Mote.start_link([name: name] ++ opts)
      send(caller, {name, :started})
      Process.sleep(:infinity)
    end)

    receive do
      {^name, :started} -> :ok
    end
  end

  @doc "An actor that is kept by a process of this node."
  def create(machine, behaviour) do
    address = Mote.create(machine, behaviour)
    spawn(fn -> hold(address) end)
    address
  end

  defp hold(address) do
    receive do
      {:held, from} -> send(from, address)
    end
  end

  @doc "A process that is no machine."
  def agent do
    {:ok, agent} = Agent.start(fn -> :ok end)
    agent
  end

  def create_many(machine, behaviour, count), do: Mote.create_many(machine, behaviour, count)

  @doc "A listener of this node, and an actor that passes everything on to it."
  def listening(machine) do
    listener = TwoNodes.listener()
    {listener, create(machine, Actors.forward(listener))}
  end

  @doc "Sends numbers to an actor by all ways that a process has, in order."
  def numbers(address, count) do
    for n <- 1..count do
      case rem(n, 3) do
        0 -> :ok = Mote.send(address, n)
        1 -> :ok = Mote.send_many(address, [n])
        2 -> :ok = Mote.send_many([{address, n}])
      end
    end

    :ok
  end

  @doc """
  Sends numbers to each from an actor of a machine that is then stopped in good order. What waits for their node after that, in bytes;
  all of them are of one.
  """
  def send_and_stop([first | _] = targets, last) do
    Process.flag(:trap_exit, true)
    {:ok, machine} = Mote.start_link(shutdown: [drain: 60_000])
    for to <- targets, do: numbers_of_actor(machine, to, 100, last)
    :ok = Mote.stop(machine)
    Mote.nodes()[node(first.machine)].waiting
  end

  @doc "Lets an actor of this node send a message to an address when a process has ended."
  def watch(machine, process, address, message),
    do: Mote.send(Mote.create(machine, Behaviours.watching()), {:watch, process, address, message})

  @doc "Sends numbers to an actor from an actor of this node."
  def numbers_of_actor(machine, address, in_one, last) do
    Mote.send(Mote.create(machine, Behaviours.counting(address)), {1, in_one, last})
    Mote.drain(machine, 60_000)
  end

  @doc "Sends what `Behaviours.mixed/2` sends, to each in that many turns; returns the senders."
  def mixed(machine, targets, large, turns) do
    for target <- targets do
      sender = create(machine, Behaviours.mixed(target, large))
      :ok = Mote.send(sender, {1, turns})
      sender
    end
  end

  @doc "A machine that ends while its postman still has to send numbers; which begins only afterwards, or goes on at the same time."
  def numbers_at_the_end(address, count, at_once?) do
    :ok = machine(:ending)
    postman = Processes.postman(Process.whereis(:ending))
    :ok = :sys.suspend(postman)
    Mote.send(Mote.create(:ending, Behaviours.counting(address)), {1, count, count})
    eventually(fn -> Mote.info(:ending).mail == count end)
    {:error, %{reason: :timeout}} = Mote.drain(:ending, 10)
    if at_once?, do: :sys.resume(postman)
    :ok = Mote.stop(:ending)
    unless at_once?, do: :sys.resume(postman)
    :ok
  end

  @doc "Sends lists while the postman of a small machine does nothing: what the machine was charged, and how many it has refused."
  def flood_postman(address, count) do
    :ok = machine(:flooding, memory: 12 * 1024 * 1024)
    postman = Processes.postman(Process.whereis(:flooding))
    :ok = :sys.suspend(postman)
    lists = Mote.create(:flooding, Behaviours.lists(address, Enum.to_list(1..200)))
    Mote.ask!(lists, count, 60_000)
    # A thread counts together what a batch of turns has done, which may be after the answer.
    overflowed = eventually(fn -> with 0 <- Mote.info(:flooding).counters.overflowed, do: nil end)
    memory = Mote.info(:flooding).memory
    :ok = :sys.resume(postman)
    {memory.charged - memory.heap, overflowed}
  end

  def send_many(address, messages), do: Mote.send_many(address, messages)

  @doc "What an actor here sees of an address of another node, and what it sends there."
  def ways(machine, address) do
    ways = Mote.create(machine, Behaviours.ways(address))
    Mote.send(ways, :go)
    Mote.ask!(ways, :look, 60_000)
  end

  def cast(address, messages), do: Mote.cast_stream(address, Stream.map(messages, & &1))

  def ask(address, request, timeout \\ 60_000), do: Mote.ask(address, request, timeout)

  @doc "The same, by an actor of this node, whose customer is answered by that of the other one."
  def ask_through(machine, address, request),
    do: Mote.ask(Mote.create(machine, Actors.forward(address)), request, 60_000)

  def ask_all(addresses, request), do: Mote.ask_all(addresses, request, 60_000)

  # A machine of another node.
  def create_there(machine, behaviour), do: Mote.send(Mote.create(machine, behaviour), :forwarded)

  def create_many_there(machine) do
    some = Mote.create_many(machine, [Behaviours.idle(), Behaviours.idle()], sponsor: :other)
    [one] = Mote.create_many(machine, Behaviours.idle(), 1)
    Mote.ask_all([one | some], :ping, 60_000)
  end

  def look_there(machine) do
    {
      Mote.sponsors(machine),
      Mote.info(machine).name,
      Mote.drain(machine, 60_000),
      Mote.gc(machine),
      is_list(Mote.top(machine, for: 1)),
      is_list(Mote.behaviours(machine, for: 1))
    }
  end

  def try_create(machine, behaviour) do
    {:ok, Mote.create(machine, behaviour)}
  rescue
    error -> {:error, error}
  catch
    :exit, reason -> {:exit, reason}
  end

  defmodule Ending do
    @moduledoc "A module whose code cannot be loaded into a machine: whoever asks for it ends."

    def __mote__(_), do: exit(:ended)
  end

  def drain(machine), do: Mote.drain(machine, 60_000)

  @doc "Sends texts of 64 KB until they are refused: how many were accepted, and the error."
  def flood(address, most, accepted \\ 0)
  def flood(_address, most, most), do: {most, nil}

  def flood(address, most, accepted) do
    case Mote.send(address, String.duplicate("x", 65_536)) do
      :ok -> flood(address, most, accepted + 1)
      {:error, error} -> {accepted, error}
    end
  end

  def nodes, do: Mote.nodes()

  @doc "The address of an actor that only a lease holds."
  def lend_new(machine, behaviour, milliseconds), do: Mote.lend(Mote.create(machine, behaviour), milliseconds)

  def lend(address, milliseconds) do
    Mote.lend(address, milliseconds)
    :ok
  end

  @doc "When the lease of an actor of this node ends; `nil` if there is none."
  def due(%{machine: machine, key: key}) do
    match = {{{machine, key}, :_, :"$1"}, [], [:"$1"]}
    List.first(:ets.select(Mote.Far.Lease, [match]))
  end

  def end_lease(%{machine: machine, key: key}) do
    :ets.delete(Mote.Far.Lease, {machine, key})
    send(Mote.Far.Lease, {:mote_due, machine, key})
    :ok
  end

  @doc "Keeps an address until `let_go/0`."
  def keep(address) do
    caller = self()

    spawn(fn ->
      case Mote.keep(address) do
        {:ok, kept} ->
          Process.register(self(), :keeping_it)
          send(caller, {:kept, :ok})
          hold(kept)

        error ->
          send(caller, {:kept, error})
      end
    end)

    receive do
      {:kept, answer} -> answer
    end
  end

  def let_go do
    Process.exit(Process.whereis(:keeping_it), :kill)
    :ok
  end

  @doc "From now on, what this node's courier is to send to another node waits in its mailbox."
  def hold_courier(node), do: :sys.suspend(Gate.courier(node))

  @doc "Ends that courier as soon as it has to send an entry of that kind: the `:reply` to a process, unless another is given."
  def end_courier(node, kind \\ :reply) do
    courier = Gate.courier(node)

    eventually(fn ->
      {:messages, messages} = Process.info(courier, :messages)

      for({:mote_put, entries} <- messages, {entry, _bytes} <- entries, elem(entry, 0) == kind, do: entry) !=
        []
    end)

    Process.exit(courier, :kill)
    :ok
  end

  def move(address, machine), do: Mote.move(address, machine, timeout: 60_000)

  @doc """
  Has an actor send that many numbers to another node while the courier that this node looks for has just ended; returns how
  many messages are lost by that.
  """
  def lost_with_courier(machine, address, count) do
    node = node(address.machine)
    gate = Process.whereis(Gate)
    courier = Gate.courier(node)
    # Before it ends: what asks for one now would start another.
    Process.unregister(Gate)
    Process.register(spawn(&no_courier/0), Gate)
    :ok = GenServer.stop(courier)
    eventually(fn -> match?({nil, _, _}, Table.fetch(node)) end)
    before = Mote.nodes()[node].lost
    numbers_of_actor(machine, address, count, count)
    eventually(fn -> Mote.nodes()[node].lost >= before + count end)
    Process.exit(Process.whereis(Gate), :kill)
    eventually(fn -> Process.whereis(Gate) == nil end)
    Process.register(gate, Gate)
    Mote.nodes()[node].lost - before
  end

  # In the place of the gate: it names a courier that has ended.
  defp no_courier do
    receive do
      {:"$gen_call", from, {:courier, _node}} -> GenServer.reply(from, spawn(fn -> :ok end))
    end

    no_courier()
  end

  @doc "Has what actors of a machine send to other nodes wait, or go on (`:suspend`, `:resume`)."
  def postman(machine, what), do: apply(:sys, what, [Processes.postman(Process.whereis(machine))])

  @doc "The same; a process of this node keeps the new address."
  def move_and_hold(address, machine) do
    moved = move(address, machine)
    spawn(fn -> hold(moved) end)
    moved
  end

  def give(address, what) do
    Mote.ask!(address, {:keep, what}, 60_000)
    :ok
  end

  @doc "Sends numbers, moves the actor meanwhile, and sends some more to its new address."
  def numbers_while_moving(address, machine, count) do
    for n <- 1..count, do: Mote.send(address, n)
    {:ok, moved} = Mote.move(address, machine, timeout: 60_000)
    spawn(fn -> hold(moved) end)
    for n <- (count + 1)..(count + 100), do: Mote.send(moved, n)
    :ok
  end

  @doc "Sends numbers to an actor while it moves from machine to machine; returns how many."
  def numbers_and_moves(address, machines) do
    sender = Task.async(fn -> numbers_on(address, 1) end)
    for machine <- machines, do: {:ok, _} = Mote.move(address, machine, timeout: 60_000)
    send(sender.pid, :enough)
    Task.await(sender, 60_000)
  end

  defp numbers_on(address, from) do
    for n <- from..(from + 99), do: :ok = Mote.send(address, n)

    receive do
      :enough -> from + 99
    after
      1 -> numbers_on(address, from + 100)
    end
  end

  @doc "An actor of a module that only this node has."
  def create_of_new_module(machine) do
    [{module, _} | _] =
      Code.compile_string("""
      defmodule Mote.FarRig.OnlyHere do
        use Mote.Behaviour

        defactor only(n) do
          {customer, :read} -> send customer, n
          :add -> become only(n + 1)
        end
      end
      """)

    create(machine, apply(module, :only, [1]))
  end

  @doc "Questions that do not wait: awaited, yielded, given up."
  def asyncs(echo, late) do
    awaited = for n <- 1..5, do: Mote.async(echo, n)
    [one, two, given_up] = [Mote.async(echo, :one), Mote.async(late, 100_000), Mote.async(late, 100_000)]

    {
      Mote.await_many(awaited, 60_000),
      Mote.yield(one, 60_000),
      Mote.yield(two, 1),
      Mote.ignore(two),
      Mote.ignore(given_up),
      Mote.yield_many([one, two], 0) |> Enum.map(&elem(&1, 1)),
      Process.info(self(), :messages)
    }
  end

  @doc "A question that is given up, and whether something comes late."
  def late(late, echo) do
    given_up = Mote.ask(late, 50, 1)
    Process.sleep(200)
    {:ok, :after} = Mote.ask(echo, :after, 60_000)
    {given_up, Process.info(self(), :messages)}
  end

  @doc "Asks, and says so to a process that may then do something to the connection."
  def ask_open(address, request, name) do
    caller = self()

    spawn(fn ->
      ask = Mote.async(address, request)
      Process.register(self(), name)
      send(caller, :open)
      result = Mote.yield(ask, 60_000)

      receive do
        {:result, from} -> send(from, {name, result})
      end
    end)

    receive do
      :open -> :ok
    end
  end

  def result_of(name) do
    send(name, {:result, self()})

    receive do
      {^name, result} -> result
    end
  end

  def timers(address) do
    _ = Mote.send_after(address, :later, 1)
    timer = Mote.send_after(address, :never, 100_000)
    {is_binary(inspect(timer)), Mote.cancel_timer(timer) in 1..100_000, Mote.cancel_timer(timer)}
  end

  def info(address), do: Mote.info(address)

  def try_info(address) do
    {:ok, Mote.info(address)}
  rescue
    error in Mote.Error -> {:error, error}
  end

  @doc "What is said of the machine of an address within some milliseconds, if it is monitored."
  def monitor(address) do
    ref = Mote.monitor(address)

    receive do
      {:DOWN, ^ref, :process, _, reason} -> {:down, reason}
    after
      100 -> :up
    end
  end

  @doc "Many actors of the other node: asked for, kept here by an actor, forgotten, in steps; what the function says after each."
  def forget(machine, making, count) do
    keeping = Mote.create(machine, Behaviours.keeping([]))
    made = Mote.ask!(making, count, 60_000)
    for address <- made, do: :ok = Mote.ask!(keeping, {:keep, address}, 60_000)
    Process.put(:keeping, keeping)
    [{:ok, :pong}] = made |> Enum.take(1) |> Mote.ask_all(:ping, 60_000)
    spawn(fn -> hold(keeping) end)
    keeping
  end

  @doc "Waits until so many actors of the machine are referred to, while all processes of this node collect."
  def references(machine, count) do
    eventually(fn ->
      Enum.each(Process.list(), &:erlang.garbage_collect/1)
      Mote.gc(machine)
      Mote.info(machine).references == count or nil
    end)
  end

  @doc "How many actors of the machine are referred to once nothing changes any more: what earlier tests had is dropped."
  def settled_references(machine) do
    Mote.Eventually.eventually(fn ->
      counts = for _ <- 1..6, do: counted_later(machine)
      if Enum.uniq(counts) == [hd(counts)], do: hd(counts)
    end)
  end

  defp counted_later(machine) do
    Process.sleep(50)
    count_references(machine)
  end

  def count_references(machine) do
    Enum.each(Process.list(), &:erlang.garbage_collect/1)
    Mote.info(machine).references
  end

  def collect(machine) do
    Enum.each(Process.list(), &:erlang.garbage_collect/1)
    Mote.gc(machine)
  end

  def live(machine) do
    Mote.gc(machine)
    Mote.info(machine).gc.live_actors
  end

  def disconnected?(node), do: eventually(fn -> node not in Node.list(:connected) end)
end
