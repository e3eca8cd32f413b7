defmodule Mote.Shards do
  # Which node has a key is in shards/rule.ex; who is there, and when a key may start, in shards/view.ex, without processes;
  # shards/member.ex is the process of each node, shards/front.ex the actors that messages go through, shards/handover.ex and giving.ex
  # what moves actors, shards/merge.ex what makes one of two, shards/lost.ex what lets go of keys that lead nowhere.
  # guides/internals/nodes.md has all of it together.
  @moduledoc """
  Actors by key, spread over nodes. `Mote.Directory` does the same on one node.

  Each node that takes part starts its shards under one name, with a machine and the same `defdirectory`:

      children = [
        {Mote, name: MyApp.Mote},
        {Mote.Shards, name: MyApp.Rooms, machine: MyApp.Mote, start: Chat.rooms()}
      ]

  From then on you can send to a key, and ask it, on any of these nodes. The first message starts its actor, on the
  one node that has the key:

      Mote.Shards.send(MyApp.Rooms, "lobby", {:join, self()})
      Mote.Shards.ask(MyApp.Rooms, "lobby", :members)
      #=> {:ok, 1}

  Nodes of one name find each other by `:pg`, as soon as they are connected. With one node only, it is a directory:

      iex> defmodule Doc.Shards do
      ...>   use Mote.Behaviour
      ...>   defactor stock(n) do
      ...>     {customer, :take} when n > 0 ->
      ...>       send customer, :taken
      ...>       become n: n - 1
      ...>     {customer, :take} -> send customer, :none_left
      ...>   end
      ...>   defdirectory stocks(each) do
      ...>     name when is_atom(name) -> stock(each)
      ...>   end
      ...> end
      iex> {:ok, _} = Mote.start_link(name: Doc.ShardsMachine)
      iex> {:ok, _} = Mote.Shards.start_link(name: Doc.Stocks, machine: Doc.ShardsMachine, start: Doc.Shards.stocks(1))
      iex> for name <- [:tea, :milk, :tea], do: Mote.Shards.ask!(Doc.Stocks, name, :take)
      [:taken, :taken, :none_left]
      iex> {Mote.Shards.delete(Doc.Stocks, :tea), Mote.Shards.ask!(Doc.Stocks, :tea, :take)}
      {true, :taken}
      iex> {:error, error} = Mote.Shards.ask(Doc.Stocks, "jam", :take)
      iex> {error.reason, Mote.Shards.nodes(Doc.Stocks) == [node()], Mote.Shards.node(Doc.Stocks, :tea) == node()}
      {:unknown_key, true, true}

  ## Where a key is

  Each node has a score for each key, and the node with the highest score has the key (rendezvous hashing). So keys
  are spread evenly. A new node takes a share of all keys from the others, and no other key moves. When a node goes,
  its keys are spread over the others. Keys are any terms that are equal on all nodes.

  ## When nodes come and go

    * **A node comes.** The actors whose keys it takes over move there, many at a time, with their state and their
      waiting messages. Messages for such a key wait on the new node until the old nodes have given away the keys that
      are not theirs any more. All other keys go on as before.
    * **A node goes**, because its shards are stopped by their supervisor: its actors move to the others first. Then
      it waits for messages that the others have sent to it before they knew, and passes them on. It has the time of
      `:shutdown` for all of this (`start_link/1`): 100,000 small actors take some seconds. Actors that cannot move
      yet, because memory is short or their turn is long, are tried again until then. The rest is lost with the node,
      which `[:mote, :shards, :dropped]` and a line in the log report, key by key. A question that the node has passed
      on may end with `:machine_down`, although its message arrives.
    * **A node dies.** Its actors are gone with it, and so are messages on their way to them. The next message for
      such a key starts it afresh on another node. `[:mote, :shards, :down]` reports that. The same happens if only
      its machine ends, or the process of its shards is killed.
    * **Nodes that do not see each other** for a while go on, each side with all keys. So a key may have two actors
      then. When they see each other again, the actor on the node that has the key stays. `:merge` decides what
      becomes of the state of the other one.

  ## Two states of a key

      def merge(_key, %{captures: {name, here}}, %{captures: {name, there}}), do: room(name, Enum.uniq(here ++ there))

      {Mote.Shards, name: MyApp.Rooms, machine: MyApp.Mote, start: Chat.rooms(), merge: {Chat, :merge}}

  The function is called on the node that has the key, with the key, the state of the actor that stays and that of the
  one that goes. A state is a `t:Mote.Behaviour.t/0`, as `Mote.info/1` shows it: its `name`, and its `captures` in a
  tuple. It returns the behaviour that the staying actor becomes. Both actors stand still meanwhile, so no message
  that either has handled is missing, and each state is merged once. The address of the other actor then leads to the
  staying one, and its waiting messages go there.

  Without `:merge` the other actor is dropped, with its state. The same happens if the function raises or returns
  anything else, which is logged, or if a program has moved one of the two elsewhere. `[:mote, :shards, :dropped]`
  reports the keys.

  ## Actors that stay, and actors that are moved

  An actor that cannot move stays where it is, and the new node forwards to it. This concerns above all actors whose
  behaviour never becomes another one (`Mote.move/3` lists the other reasons). The move is tried again when nodes come
  and go.

  An actor that the program itself moves elsewhere (`Mote.move/3` with the address of `whereis/3`) is still reached by
  its key. If its node goes or dies, whether or not that node is a member, its key is released: the next message
  starts it afresh, and `[:mote, :shards, :lost]` reports that. Until that is detected, a moment later, messages are
  lost and questions get `:broken_promise`. The same happens if only the connection ends, unless there is another one
  by then. To detect this, a member checks all of its keys whenever a node goes, if a program has ever moved an actor
  away from its node. That takes some microseconds for each key, in a separate process.

  Three losses are not detected this way, and the key leads nowhere until some node goes, or the key moves: only the
  machine of the actor ends; only a connection between two other nodes ends, by which the actor was moved on; the
  actor had stayed on another node before the program moved it from there.

  Actors move to the machine's first sponsor, or to the one that `:sponsor` names. So actors of a beam sponsor need
  that option: without it they stay, and a warning in the log says how many. A pinned actor is not pinned any more
  after its move.

  An actor may have captured the address of its shard. That address is useful as long as the actor stays. After a move
  its key belongs to another shard, and `{:delete, key, address}` to the old shard finds nothing.

  Nodes with different versions of the module work together, each with its own for the keys that it has. An actor that
  moves takes up the version of its new node, by the rule of `Mote.load/2`: with the same captures it goes on as it
  is, new last captures get their defaults, and a `Mote.Behaviour.defchange/2` converts others. So an upgrade that
  replaces one node after another keeps all states. If no rule applies, as on the way back to a version with fewer
  captures, actors stay where they are, and a warning in the log says how many. `:merge` may get a state of the other
  version.

  After the start, and whenever nodes come or go, messages to a key wait until the nodes agree which of them has it.
  `Mote.drain/2` does not wait for that, but a question to the key does (`ask/4`), and `settled?/1` tells.

  ## What is promised

    * **One actor for each key**, while all nodes see each other, whoever sends at the same time.
    * **Order.** Messages from one process to one key arrive in the order in which they were sent, while the key stays
      on its node. When the key moves, the sender's node learns of that at one moment. Messages before that moment
      arrive in order, and so do messages after it. But the last messages before it pass through the old node, and may
      arrive after the first ones that follow. If nodes come and go so fast that some have not heard of the last
      change yet, a key moves twice at once, and messages meanwhile have no order. If a process needs an order then,
      let it wait for an answer (`ask/4`) before it sends on.
    * **Nothing is lost** by moves, whichever nodes come and go in order meanwhile. But actors that cannot move are
      lost when their node goes, which is reported. Messages on their way to a node that dies, or waiting for a
      connection that ends, are lost.
    * **No bound on messages** affects the work of shards themselves: even if a sponsor is full (`:inbox`), nodes come
      and go.

  Telemetry events, each with the `name` of the shards in the metadata:

    * `[:mote, :shards, :settled]` - all members know each other: `members`, and their `nodes`;
    * `[:mote, :shards, :handed]` - this node has given away the keys that are not its own: how many have `moved`,
      `stayed`, have met another actor of their key (`merged`), or were gone (`lost`);
    * `[:mote, :shards, :dropped]` - the state of `count` keys is lost. In the metadata, `why` is `:left` if this node
      has left and could not give them away, `:taken` if another actor has their key and they were not merged into it,
      and `:gone` if their actors had stayed on another node, which has left or died; `keys` is a list of them;
    * `[:mote, :shards, :down]` - a node has died: `node`;
    * `[:mote, :shards, :lost]` - this node has released keys whose actors a program had moved to `node`: `keys`, how
      many, and in the metadata a list of them.
  """

  import Mote.Internal.Expected, only: [expected!: 2]

  alias Mote.{Address, Ask, Behaviour, Directory, Error, Inspection, Machine}
  alias Mote.Directory.Place
  alias Mote.Machine.{Sending, SponsorOptions}
  alias Mote.Shards.Member
  alias Mote.Shards.Rule.Plain

  @options [:name, :machine, :start, :shards, :sponsor, :merge, :shutdown]

  # Milliseconds that a member has for leaving.
  @shutdown 15_000

  @typedoc "The name of shards that were started on this node."
  @type shards :: atom

  @typedoc """
  Merges two states of a key: a function, or its module and name, of the key, the state of the actor that stays, and
  the state of the other one.
  """
  @type merge :: (term, Behaviour.t(), Behaviour.t() -> Behaviour.t()) | {module, atom}

  @doc """
  Returns a child specification, for `{Mote.Shards, name: MyApp.Rooms, …}` in a list of children, after the machine.
  The name is its id, too.
  """
  @spec child_spec(keyword) :: Supervisor.child_spec()
  def child_spec(opts) do
    child = [:id, :restart]
    Inspection.keyword!(opts, "the options of shards", @options ++ child)
    {child, opts} = Keyword.split(opts, child)
    opts = Keyword.put_new(opts, :shutdown, @shutdown)

    Map.merge(
      %{id: opts[:name], start: {__MODULE__, :start_link, [opts]}, shutdown: opts[:shutdown]},
      Map.new(child)
    )
  end

  @doc """
  Makes this node a member: starts a process, linked to the calling one, which ends when the machine does. Options:

    * `:name` - an atom, the same on all nodes (required);
    * `:machine` - a machine of this node (required);
    * `:start` - a behaviour that a `defdirectory` defines, the same on all nodes, or another version of it
      (required);
    * `:shards` - how many actors the entries of each node are spread over, as in `Mote.Directory.start/3`; the same
      on all nodes (default 64). A node that joins others with a different number does not become a member: an error
      is logged on both sides, and messages that are sent on that node wait;
    * `:sponsor` - pins them to a sponsor, so that actors are started there; actors that move are pinned to it;
    * `:merge` - merges the two states of a key that has had an actor on each side of nodes that did not see each
      other (see above): a function of three arguments, or `{module, function}`;
    * `:shutdown` - how long the supervisor waits for the end of this process, in milliseconds, or `:infinity`
      (default #{@shutdown}). A node that leaves has that time to give its actors away. `child_spec/1` passes it to
      the supervisor. Give it here, not by `Supervisor.child_spec/2`, of which this process does not know.

  Raises `ArgumentError` for anything else.
  """
  @spec start_link(keyword) :: GenServer.on_start()
  def start_link(opts) do
    Inspection.keyword!(opts, "the options of shards", @options)
    name = opts[:name]

    if not is_atom(name) or name in [nil, true, false], do: expected!(":name of shards to be an atom", name)

    if opts[:machine] == nil, do: raise(ArgumentError, "expected :machine among the options of shards")

    if not (is_struct(opts[:start], Behaviour) and Mote.Behaviour.Directory.shard?(opts[:start])),
      do:
        raise(
          ArgumentError,
          "expected :start of shards to be what a defdirectory defines, such as Chat.rooms()"
        )

    merge!(opts[:merge])
    opts = Keyword.put_new(opts, :shutdown, @shutdown)
    shutdown!(opts[:shutdown])

    # Here, and not in the new process: so the caller is told by an exception.
    Machine.fetch(opts[:machine])
    opts |> Keyword.get(:shards, 1) |> Directory.shards!()
    opts |> Keyword.take([:sponsor]) |> SponsorOptions.option!("start_link/1")
    Member.start_link(opts)
  end

  defp merge!(nil), do: :ok
  defp merge!(merge) when is_function(merge, 3), do: :ok
  defp merge!({module, function}) when is_atom(module) and is_atom(function), do: :ok

  defp merge!(other) do
    expected!(":merge of shards to be a function of a key and two states, or {module, function}", other)
  end

  defp shutdown!(time) when time in [:infinity, :brutal_kill] or (is_integer(time) and time > 0), do: :ok

  defp shutdown!(other) do
    expected!(":shutdown of shards to be a time in milliseconds, :infinity or :brutal_kill", other)
  end

  @doc """
  Sends a message to the actor of a key, which is started if there is none yet. Returns `:ok` at once.

  Options and errors are those of `Mote.send/3`. `:unknown_shards` is one more error. A message for a key that starts
  nothing is dropped.
  """
  @spec send(shards, term, term, Mote.send_options()) :: :ok | {:error, Error.t()}
  def send(shards, key, message, opts \\ []) do
    with {:ok, {view, hash, front}} <- place(shards, key),
         do: Sending.send_named(front, {view, hash, [key | message]}, opts)
  end

  @doc """
  Sends `{customer, request}` to the actor of a key, which is started if there is none yet, and waits for the answer.

  Timeout, options and errors are those of `Mote.ask/3`. There are two more errors: `:unknown_shards`, and
  `:unknown_key`, if the key starts nothing.
  """
  @spec ask(shards, term, term, Ask.options()) :: Ask.result()
  def ask(shards, key, request, timeout_or_opts \\ 5_000) do
    with {:ok, {view, hash, front}} <- place(shards, key) do
      case Ask.ask(front, {view, hash, {:ask, key, request}}, request, timeout_or_opts) do
        {:ok, {Directory, :unknown_key}} -> {:error, Error.from(:unknown_key, directory: shards, key: key)}
        result -> result
      end
    end
  end

  @doc "Like `ask/4`, but returns the answer itself, and raises `Mote.Error`."
  @spec ask!(shards, term, term, Ask.options()) :: term
  def ask!(shards, key, request, timeout_or_opts \\ 5_000),
    do: Error.ok!(ask(shards, key, request, timeout_or_opts))

  @doc """
  Returns the address of the actor of a key, or `nil` if it has none. Starts nothing.

  If the actor moves later, the address stays valid as long as the actor's old node stays: messages to it go by way of
  that node. Options are those of `Mote.ask/3`. Raises `Mote.Error` if the node that has the key does not answer.
  """
  @spec whereis(shards, term, Ask.options()) :: Address.t() | nil
  def whereis(shards, key, opts \\ 5_000), do: request(shards, key, {:whereis, key}, opts)

  @doc """
  Removes a key, so that the next message for it starts its actor afresh. Returns whether it had an actor.

  The actor itself lives on as long as something refers to it, and gets the messages that were sent to it before. With an
  address, as `whereis/3` returns it, only an entry for that actor is removed. Options and exceptions are those of
  `whereis/3`.
  """
  @spec delete(shards, term, Address.t() | nil, Ask.options()) :: boolean
  def delete(shards, key, address \\ nil, opts \\ 5_000)
  def delete(shards, key, nil, opts), do: request(shards, key, {:delete, key}, opts)
  def delete(shards, key, address, opts), do: request(shards, key, {:delete, key, address}, opts)

  defp request(shards, key, request, opts) do
    {view, hash, front} = place!(shards, key)
    Ask.ask!(front, {view, hash, request}, opts)
  end

  @doc "Returns the node that has a key, as far as this node knows. Raises `Mote.Error` with the reason `:unknown_shards`."
  @spec node(shards, term) :: node
  def node(shards, key) do
    {_view, _hash, front} = place!(shards, key)
    Kernel.node(front.machine)
  end

  @doc "Returns the nodes that have keys, as far as this node knows, in order. Raises as `node/2` does."
  @spec nodes(shards) :: [node]
  def nodes(shards) do
    {_, members, _} = routes!(shards)
    Enum.sort(for {_, %{shards: fronts}} <- members, do: Kernel.node(elem(fronts, 0).machine))
  end

  @doc """
  Returns whether all members know each other, and have given away the keys that are not theirs, so that no key waits.
  Raises as `node/2` does.
  """
  @spec settled?(shards) :: boolean
  def settled?(shards) do
    routes!(shards)
    GenServer.call(shards, :settled?, :infinity)
  end

  @doc """
  Returns how many keys this node has. Raises as `node/2` does.

  Messages that this process has sent before may still be on their way, or wait until nodes agree. An answer (`ask/4`)
  tells that they have arrived.
  """
  @spec count(shards) :: non_neg_integer
  def count(shards) do
    {_, _, directory} = routes!(shards)
    Directory.count(directory)
  end

  defp place(shards, key) do
    case Member.routes(shards) do
      {view, [_ | _] = members, _directory} ->
        hash = Plain.hash(key)
        {_, fronts} = Plain.owner(hash, members)
        {:ok, {view, hash, Place.Plain.shard(fronts, key)}}

      _ ->
        {:error, Error.from(:unknown_shards, shards: shards)}
    end
  end

  defp place!(shards, key), do: Error.ok!(place(shards, key))

  defp routes!(shards), do: Member.routes(shards) || raise(Error.from(:unknown_shards, shards: shards))
end
