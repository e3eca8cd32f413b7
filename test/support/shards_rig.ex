defmodule Mote.ShardsRig do
  @moduledoc """
  What tests of `Mote.Shards` do on each node.
  """

  import Mote.Eventually

  alias Mote.Directory.Place
  alias Mote.Far.Gate
  alias Mote.Shards
  alias Mote.Shards.Rule.Plain

  defmodule Users do
    @moduledoc "A user for each key, who keeps what comes."
    use Mote.Behaviour

    defactor user(key, seen) do
      {customer, :seen} -> send customer, Enum.reverse(seen)
      n -> become seen: [n | seen]
    end

    # Never becomes another one, so it cannot move.
    defactor fixed() do
      {customer, :seen} -> send customer, :fixed
    end

    # Cannot be made again where there is little memory.
    defactor large(text) do
      {customer, :seen} -> send customer, byte_size(text)
      n -> become text: String.duplicate("large", n)
    end

    defdirectory users() do
      {:fixed, _} -> fixed()
      {:large, _} -> large("")
      key -> user(key, [])
    end

    @doc "One state of two."
    def merge(:raises, _, _), do: raise("on purpose")
    def merge(:nothing, _, _), do: :nothing
    def merge(key, %{captures: {key, here}}, %{captures: {key, there}}), do: user(key, there ++ here)
  end

  @doc """
  A module of entities in an older version, and in a newer one: with one more capture that has a default, with a written change, with the
  same captures, and without its stash.
  """
  def versions do
    {"""
     defmodule Mote.ShardsRig.Upgraded do
       use Mote.Behaviour
       defactor filled(seen), do: ({c, :seen} -> send(c, seen); n -> become filled([n | seen]))
       defactor changed(seen), do: ({c, :seen} -> send(c, seen); n -> become changed([n | seen]))
       defactor same(seen), do: ({c, :seen} -> send(c, seen); n -> become same([n | seen]))
       defactor waits(seen), do: ({c, :seen} -> send(c, seen); 1 -> become waits([1 | seen]); :go -> become same(seen); _ -> stash())
       defdirectory users() do
         {:filled, _} -> filled([])
         {:changed, _} -> changed([])
         {:same, _} -> same([])
         {:waits, _} -> waits([])
       end
     end
     """,
     """
     defmodule Mote.ShardsRig.Upgraded do
       use Mote.Behaviour

       defactor filled(seen, more \\\\ :default), do: ({c, :seen} -> send(c, {seen, more}); n -> become filled([n | seen], more))
       defactor changed(pair, more), do: ({c, :seen} -> send(c, {pair, more}); _ -> become changed(pair, more + 1))
       defchange changed(seen), do: changed({:was, seen}, 0)
       defactor same(seen), do: ({c, :seen} -> send(c, {:same, seen}); n -> become same([n | seen]))
       defactor waits(seen, more \\\\ :default), do: ({c, :seen} -> send(c, {seen, more}); n -> become waits([n | seen], more))
       defdirectory users(limit \\\\ 5) do
         {:filled, _} -> filled([], limit)
         {:changed, _} -> changed([], limit)
         {:same, _} -> same([])
         {:waits, _} -> waits([])
       end
     end
     """}
  end

  @doc "Has this node know the module in one of its versions."
  def compile(code) do
    Code.put_compiler_option(:ignore_module_conflict, true)
    [{module, _}] = Code.compile_string(code)
    module.__mote__(:hash)
  end

  @doc "Runs a function of this module on a node."
  def at({peer, _node}, function, args \\ []), do: :peer.call(peer, __MODULE__, function, args, 120_000)

  @doc "Waits until all of these nodes know each other in the shards of that name, and nothing moves."
  def settled(nodes, name) do
    count = length(nodes)
    for node <- nodes, do: eventually(fn -> at(node, :settled?, [name, count]) end)
  end

  @doc "A machine, and a supervisor for shards, which stay."
  def supervise(opts \\ []) do
    caller = self()

    spawn(fn ->
      {:ok, _} =
        Supervisor.start_link([{Mote, [name: ShardsRig.Machine] ++ opts}],
          strategy: :one_for_one,
          name: ShardsRig.Supervisor
        )

      send(caller, :started)
      Process.sleep(:infinity)
    end)

    receive do
      :started -> :ok
    end
  end

  @doc "Whether a node is no member for this one, as it has another number of shards."
  def refuses?(name, node) do
    Enum.any?(:sys.get_state(name).others, &match?({pid, %{about: :refused}} when node(pid) == node, &1))
  end

  @doc "Makes the node a member."
  def start(name, opts \\ []) do
    opts = Keyword.merge([name: name, machine: ShardsRig.Machine, start: Users.users(), shards: 8], opts)
    # Of a module that only this node knows in its version.
    opts = Keyword.update!(opts, :start, &if(is_atom(&1), do: &1.users(), else: &1))

    shards = {Shards, opts}

    {:ok, _} = Supervisor.start_child(ShardsRig.Supervisor, shards)
    :ok
  end

  @doc "Takes the node out of the shards, while its machine runs on; if it is a member."
  def leave(name) do
    with :ok <- Supervisor.terminate_child(ShardsRig.Supervisor, name),
         do: Supervisor.delete_child(ShardsRig.Supervisor, name)
  end

  @doc "Whether another member has told the one of this node that it leaves."
  def hears_of_leaving?(name) do
    {:messages, messages} = Process.info(Process.whereis(name), :messages)
    Enum.any?(messages, &match?({:mote_shards_leaving, _}, &1))
  end

  def settled?(name, count), do: length(Shards.nodes(name)) == count and Shards.settled?(name)

  def send_all(name, keys, numbers) do
    for n <- numbers, key <- keys, do: :ok = Shards.send(name, key, n)
    :ok
  end

  @doc "Sends without an end, until `sent/1`, which says how many to each key."
  def send_on(name, keys, as) do
    pid = spawn(fn -> send_on(name, keys, as, 1) end)
    Process.register(pid, as)
    :ok
  end

  defp send_on(name, keys, as, n) do
    for key <- keys, do: :ok = Shards.send(name, key, {as, n})

    receive do
      {:enough, from} -> send(from, {:sent, n})
    after
      1 -> send_on(name, keys, as, n + 1)
    end
  end

  def sent(as) do
    send(as, {:enough, self()})

    receive do
      {:sent, n} -> n
    end
  end

  @doc "Has the machine wait, with as much in front of it as its sponsor takes."
  def fill do
    :ok = Mote.pause(ShardsRig.Machine)
    actor = Mote.create(ShardsRig.Machine, Users.fixed())
    fill(actor)
  end

  defp fill(actor) do
    with :ok <- Mote.send(actor, :more, on_full: :error), do: fill(actor)
  end

  def go_on, do: Mote.resume(ShardsRig.Machine)

  def seen(name, key), do: Shards.ask(name, key, :seen, 60_000)
  def all_seen(name, keys), do: Map.new(keys, &{&1, Shards.ask!(name, &1, :seen, 60_000)})
  def owners(name, keys), do: Map.new(keys, &{&1, Shards.node(name, &1)})
  def count(name), do: Shards.count(name)
  def nodes(name), do: Shards.nodes(name)
  def delete(name, key), do: Shards.delete(name, key)

  @doc "Moves the actor of a key to other nodes, whoever has the key: each time by its newest address."
  def move(name, key, nodes) do
    moved =
      Enum.reduce(nodes, Shards.whereis(name, key), fn node, address ->
        {:ok, moved} = Mote.move(address, {ShardsRig.Machine, node}, timeout: 60_000)
        moved
      end)

    node(moved.machine)
  end

  @doc "Where the actor of a key has been moved to, of a key that this node has."
  def moved(name, key), do: onward(Shards.whereis(name, key))

  @doc "Where an actor of this node has been moved to."
  def onward(address) do
    %{behaviour: %{name: :onward, captures: {to}}} = Mote.info(address)
    to
  end

  @doc "Holds an actor of this node until `let_go/0`."
  def hold(address) do
    hold(ShardsRig.Held, fn -> {:ok, _} = Mote.keep(address) end)
  end

  # What `take` returns is held by a process of that name until it is told to let go.
  defp hold(name, take) do
    caller = self()

    spawn(fn ->
      Process.register(self(), name)
      held = take.()
      send(caller, :held)

      receive do
        :let_go -> held
      end
    end)

    receive do
      :held -> :ok
    end
  end

  @doc "The actor is not held any more; what nobody holds is collected."
  def let_go do
    holder = Process.whereis(ShardsRig.Held)
    ref = Process.monitor(holder)
    send(holder, :let_go)

    receive do
      {:DOWN, ^ref, :process, _, _} -> :ok
    end

    collect()
  end

  @doc "What nobody holds is collected."
  def collect do
    Enum.each(Process.list(), &:erlang.garbage_collect/1)
    for _ <- 1..3, do: Mote.gc(ShardsRig.Machine)
    :ok
  end

  @doc "Whether this node has no connection to another one any more, and nothing listed for it."
  def forgotten?(node), do: node not in Node.list() and match?(%{^node => %{listed: 0}}, Mote.nodes())

  @doc "Ends the connection to a node, and makes another one."
  def connect_again(node) do
    true = Node.disconnect(node)
    eventually(fn -> node not in Node.list() end)
    eventually(fn -> Node.connect(node) end)
  end

  @doc "Whether the member has seen that another node sends here."
  def knows_connection?(name, node), do: is_map_key(:sys.get_state(name).porters, node)

  @doc "Whether the member looks for keys that lead nowhere."
  def searches?(name), do: :sys.get_state(name).search != nil

  @doc "Whether the member waits for the answers of others."
  def asks_again?(name), do: :sys.get_state(name).view.waits != %{}

  @doc "Whether the member gives away, of members of which that node leaves."
  def told_to_give?(name, leaving) do
    state = :sys.get_state(name)
    state.worker != nil and List.keymember?(state.view.leaving, leaving, 0)
  end

  @doc "Whether the member has come to all that it was told, and searches no more."
  def searched?(name), do: :sys.get_state(name).search == nil

  @doc "Has what this node is to send to another one wait, or go on (`:suspend`, `:resume`)."
  def courier(node, what), do: apply(:sys, what, [Gate.courier(node)])

  @doc "Kills the courier of this node to another one."
  def kill_courier(node), do: Process.exit(Gate.courier(node), :kill)

  @doc "Whether the question that follows everything else waits there: whether all that was sent to a front of that node has arrived."
  def sees_off?(node) do
    Enum.any?(waiting(node), &match?({_customer, {:same?, _view}}, &1))
  end

  # Messages to actors.
  defp waiting(node) do
    {:messages, messages} = Process.info(Gate.courier(node), :messages)

    for {:mote_put, entries} <- messages, {entry, _bytes} <- entries, message <- of(entry), do: message
  end

  defp of({:send, _machine, _key, _sponsor, message}), do: [message]
  defp of({:many, _machine, _key, _sponsor, messages}), do: messages
  defp of(_entry), do: []

  @doc "Has what others say to the member of this node wait, or go on."
  def member(name, what), do: apply(:sys, what, [name])

  @doc "Whether the member, which is held, has been told of one that leaves."
  def told_of_leaving?(name), do: Enum.any?(told(name), &match?({:mote_shards_leaving, _}, &1))

  @doc "Whether the member, which is held, has been told by its worker that everything is given away."
  def told_of_worker?(name), do: Enum.any?(told(name), &match?({:DOWN, _, _, _, {:handed, _, _}}, &1))

  @doc "Whether the member, which is held, has been told that the connection to a node has ended."
  def told_of_end?(name, node), do: Enum.any?(told(name), &match?({:nodedown, ^node, _}, &1))

  defp told(name) do
    {:messages, messages} = Process.info(Process.whereis(name), :messages)
    messages
  end

  @doc "Whether the member has given away what is not its own, of members of which that node leaves."
  def handed?(name, leaving) do
    view = :sys.get_state(name).view
    view.handed? and List.keymember?(view.leaving, leaving, 0)
  end

  @doc "Holds the member, though it leaves, until `let_leave/0`."
  def hold_leaving(name) do
    hold(ShardsRig.Holder, fn -> true = :erlang.suspend_process(Process.whereis(name)) end)
  end

  def let_leave do
    send(ShardsRig.Holder, :let_go)
    :ok
  end

  @doc "The front that has a key now."
  def front(name, key) do
    {_, members, _} = Shards.Member.routes(name)
    {_, fronts} = Plain.owner(Plain.hash(key), members)
    Place.Plain.shard(fronts, key)
  end

  @doc "Sends to a front of this node as one does who knows earlier members, until all of it waits for the node that it is passed on to."
  def send_late(front, key, numbers, node) do
    for n <- numbers, do: :ok = Mote.send(front, {-1, Plain.hash(key), [key | n]})
    passed_on? = &match?({_, _, [^key | _]}, &1)
    eventually(fn -> Enum.count(waiting(node), passed_on?) == Enum.count(numbers) end)
  end

  @doc "Keeps the events of shards until they are asked for."
  def listen do
    caller = self()

    spawn(fn ->
      Process.register(self(), ShardsRig.Listener)

      for event <- [:settled, :handed, :down, :lost, :dropped] do
        :telemetry.attach({__MODULE__, event}, [:mote, :shards, event], &__MODULE__.heard/4, self())
      end

      send(caller, :listening)
      listen([])
    end)

    receive do
      :listening -> :ok
    end
  end

  def heard(event, measurements, metadata, listener), do: send(listener, {event, measurements, metadata})

  defp listen(heard) do
    receive do
      {:heard, from} ->
        send(from, {:heard, Enum.reverse(heard)})
        listen(heard)

      event ->
        listen([event | heard])
    end
  end

  def events do
    send(ShardsRig.Listener, {:heard, self()})

    receive do
      {:heard, heard} -> heard
    end
  end
end
