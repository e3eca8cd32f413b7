defmodule Mote do
  @moduledoc """
  Millions of 16-byte micro-actors inside a BEAM node.

  A machine hosts actors on its own threads, beside the schedulers of the BEAM. Their code is written in Elixir
  syntax (see `Mote.Behaviour`); an actor is created with a behaviour and lives as long as something can send
  to it.

      defmodule Counter do
        use Mote.Behaviour

        defactor counter(count) do
          {customer, :read} -> send customer, count
          {:add, n} -> become counter(count + n)
        end
      end

      {:ok, machine} = Mote.start_link()
      counter = Mote.create(machine, Counter.counter(0))
      Mote.send(counter, {:add, 2})
      {:ok, 2} = Mote.ask(counter, :read)

  ## Messages

  Any term can be sent. The machine works on integers, floats, atoms, tuples, lists, maps, binaries, vectors
  (`Mote.Vector`) and addresses. It carries every other term as it is, and returns an equal term. A send to an actor
  waits only on request: see `:on_full` in `send/3` and `add_sponsor/3`.

  Messages from one process or actor to one actor arrive in the order in which they were sent, on any number of
  threads. There are two exceptions. Turns of a safe behaviour, which never becomes, may run in parallel. And if
  actors of several sponsors send to an unpinned actor, it moves between these sponsors. Messages from different
  senders may come in any order, except that a sponsor with one thread, which is the default, runs turns strictly in
  the order of sending. To pin an actor to a sponsor, use `:sponsor` in `create/3`. The guide *The design* has the
  details.

  Addresses, pids and customers go both ways inside messages. An actor that sends to a pid sends a plain message. If
  the process is gone, the message is lost and counted as `undelivered` (see `Mote.Counters`). Pids of other nodes
  work too: a local process relays the message, in order, but cannot tell whether it arrived. Addresses and customers
  of other nodes work like those of this node: see the guide *Nodes*. A part that occurs in several places of a
  message is written out several times on its way to a process. If the message would then be larger than everything
  that the machine holds, it is lost and counted as `overflowed`.

  ## Errors

  A mistake in the calling program raises `ArgumentError`. A failure that can happen in a correct program is a
  `Mote.Error`. Functions that can return `{:error, error}` return it. The others raise it.
  """

  import Mote.Internal.Expected, only: [expected!: 2]
  import Kernel, except: [send: 2]

  alias Mote.{
    Address,
    Ask,
    Behaviour,
    Customer,
    Error,
    Far,
    Inspection,
    Machine,
    Native,
    Outbox,
    Shared,
    Timer
  }

  alias Mote.Machine.{
    Batch,
    Creator,
    Ending,
    Loader,
    Options,
    Question,
    Reporter,
    Sending,
    SponsorOptions,
    States,
    Table
  }

  require Mote.Machine.Long, as: Long

  @timeout 5_000

  # `{name, node}` or the pid of a machine of another node.
  defguardp is_far(machine)
            when (is_pid(machine) and node(machine) != node()) or
                   (is_tuple(machine) and tuple_size(machine) == 2 and is_atom(elem(machine, 0)) and
                      elem(machine, 0) != :global and is_atom(elem(machine, 1)) and
                      elem(machine, 1) not in [nil, node()])

  @typedoc "Options of `send/3`, `send_many/3` and `cast_stream/3`: see there which of them each takes."
  @type send_options :: [sponsor: atom, on_full: :error | :wait, on_down: :error | :wait, timeout: timeout]

  @doc """
  Starts a machine, linked to the calling process.

  Like any `GenServer` that traps exits, it ends when the process that started it ends, even if that ends normally. A machine
  that should outlive the process that started it belongs under a supervisor: see `child_spec/1`.

  Options:

    * `:name` - a name for it: an atom, `{:global, term}` or `{:via, module, term}`;
    * `:sponsors` - its sponsors by name, each with the options of `add_sponsor/3`; the first one takes messages that
      name no sponsor, and stays to the end (default `[main: [threads: 1]]`);
    * `:fuel` - calls, tail calls and loop steps that one turn may spend before it is aborted (default 10,000,000). The guide
      *Running machines* says what else counts as a step;
    * `:memory` - bytes that the machine may hold, or `:infinity` (the default). A turn that needs more is aborted with
      `:no_memory`, and messages from outside are refused; see the guide *Memory*;
    * `:gc` - how often it collects: `:min`, the least number of bytes that are allocated between two collections
      (default 32 MiB), and `:factor`, bytes that are allocated for each byte that was live after the last one
      (default 2.0). The greater of the two counts. With a factor below 1 the machine also marks faster beside long
      turns, so that little is allocated meanwhile. It then takes less memory and more time;
    * `:schedule` - `{:seeded, seed}` for turns in a reproducible order that the seed decides, or `{:order, steps}` for an
      order that `Mote.Test.prove/3` has found, for tests: see `Mote.Test` (default `:threads`);
    * `:clock` - `:manual` for time that passes only by `advance/3`, for tests (default `:system`);
    * `:tier` - `:native`, the default, compiles behaviours to machine code, in the background: a new one is interpreted
      until its code is ready. `:interp` interprets everything, as does every machine on a platform without
      native code: see `native` in `info/1`, and the guide *Native code*;
    * `:telemetry` - what it reports, and how often: see `Mote.Telemetry`;
    * `:image` - a file that `save/3` has written, from which the machine goes on;
    * `:identity` - a text that identifies the machine beyond this life: if it goes on from an image of an earlier
      life (`:image`), addresses of that life lead to the same actors again. Only one machine of an identity runs on a
      node: the error `:identity_taken` names it. See the guide [Images in
      detail](image-details.md#addresses-that-outlive-a-machine);
    * `:resolve` - a function of one argument that replaces values that are not in the image. It is called with each
      of them (`t:Mote.Image.lost_value/0`) before the machine goes on, in the process of the machine, and returns
      `{:ok, value}`, or `:lost`;
    * `:migrate` - a function of one argument by which actors take up code that has changed since the image was saved.
      It is called with each actor whose module has changed or is gone, as `{module, name, captures}`, before the
      machine goes on, in the process of the machine. It returns the behaviour that the actor becomes, such as
      `MyApp.Market.cart(items, 0)`, or `:keep`. See the guide [State that
      lasts](images.md#a-deploy-with-a-changed-behaviour);
    * `:durable` - `[dir: folder]` for a machine that survives the end of its node: everything that comes in is
      written down before it runs. See `Mote.Durable` for its options, and for the limits of such a machine;
    * `:record` - a folder, for a machine whose inputs are recorded. `Mote.Replay` runs the recording again, and lists
      the limits of such a machine;
    * `:shutdown` - `[drain: milliseconds]`, the time in which it finishes its work in an orderly stop, see `stop/3`
      (default `[]`, none; under a supervisor it is five seconds, see `child_spec/1`).

  Raises `ArgumentError` for anything else.

      iex> {:ok, machine} = Mote.start_link(sponsors: [single: [threads: 1], multi: [threads: :cores]])
      iex> Mote.sponsors(machine)
      [:single, :multi]
  """
  @spec start_link(keyword) :: GenServer.on_start()
  def start_link(opts \\ []), do: Machine.start_link(opts)

  @doc """
  Returns a child specification, for `{Mote, name: MyApp.Mote}` in a list of children.

  Takes the options of `start_link/1`, and `:id` and `:restart` as in `Supervisor`. `:shutdown` is either of both:

    * `[drain: milliseconds]`, as in `start_link/1` (default `[drain: 5_000]`). The supervisor waits five seconds longer than that
      before it kills the machine;
    * a value that `Supervisor` takes. The last five seconds of that time, or half of it, are not for finishing. With
      `:infinity` the machine still finishes in its five seconds, and with `:brutal_kill` nothing is finished.

  Raises `ArgumentError` for any other option.

      iex> Mote.child_spec(name: MyApp.Mote, shutdown: [drain: 20_000]).shutdown
      25000
  """
  @spec child_spec(keyword) :: Supervisor.child_spec()
  def child_spec(opts) do
    unless Keyword.keyword?(opts),
      do: expected!("a keyword list of options, as in {Mote, name: MyApp.Mote}", opts)

    {child, opts} = Keyword.split(opts, [:id, :restart])
    Options.known!(opts)
    {shutdown, drain} = Ending.child(opts[:shutdown])
    opts = Keyword.put(opts, :shutdown, drain)

    Map.merge(
      %{
        id: Keyword.get(opts, :name) || Mote,
        start: {Mote, :start_link, [opts]},
        type: :worker,
        shutdown: shutdown
      },
      Map.new(child)
    )
  end

  @doc """
  Creates an actor with a behaviour and returns its address.

  The code of the behaviour's module, and of the modules that it refers to, is loaded into the machine if it is
  not there yet. Options:

    * `:sponsor` - pins the actor to a sponsor: its events always run there.

  A machine of another node is given as `{name, node}` or its pid; both nodes need the same code of the behaviour's module.

  Raises `Mote.Error` when the machine is not running or has no memory left, and when the code of the behaviour is gone
  or of another version. Raises `ArgumentError` if the behaviour or the machine is something else.
  """
  @spec create(Machine.t(), Behaviour.t(), keyword) :: Address.t()
  def create(machine, behaviour, opts \\ [])

  def create(machine, %Behaviour{} = behaviour, opts) when is_far(machine),
    do: there!(machine, :create, [behaviour, opts])

  def create(machine, %Behaviour{captures: captures} = behaviour, opts) when is_tuple(captures) do
    sponsor = sponsor!(opts, "create/3")

    machine |> Machine.fetch!() |> Creator.create(behaviour, sponsor) |> Error.ok!()
  end

  def create(_machine, other, _opts) do
    raise ArgumentError,
          "expected a behaviour, the value of a function that defactor defines, such as Counter.counter(0); " <>
            "got: #{inspect(other)}"
  end

  @doc """
  Creates many actors in one call and returns their addresses: either all of them or none.

  The second argument is a list of behaviours, one for each actor; the addresses are in their order.
  Consecutive behaviours that differ only in their captures are the cheapest. `create_many(machine, behaviour,
  n)` creates `n` actors of one behaviour. Options are those of `create/3`, in `create_many(machine,
  behaviours, opts)` and `create_many(machine, behaviour, n, opts)`.

  Raises as `create/3` does if one of the actors cannot be created; the others are unreachable then, and are
  collected.

  From 20,000 actors on, another process creates them. Its heap has room for all of their addresses, so the caller
  does not collect a growing list again and again. The captures are copied to that process.

      iex> defmodule Doc.Cell do
      ...>   use Mote.Behaviour
      ...>   defactor cell(value) do
      ...>     {customer, :read} -> send customer, value
      ...>   end
      ...> end
      iex> {:ok, machine} = Mote.start_link()
      iex> cells = Mote.create_many(machine, for(n <- 1..3, do: Doc.Cell.cell(n)))
      iex> Mote.ask_all(cells, :read)
      [ok: 1, ok: 2, ok: 3]
      iex> machine |> Mote.create_many(Doc.Cell.cell(0), 1_000) |> length()
      1000
  """
  @spec create_many(Machine.t(), [Behaviour.t()], keyword) :: [Address.t()]
  @spec create_many(Machine.t(), Behaviour.t(), non_neg_integer) :: [Address.t()]
  def create_many(machine, behaviours, opts_or_count \\ [])

  def create_many(machine, behaviours, opts_or_count) when is_far(machine),
    do: there!(machine, :create_many, [behaviours, opts_or_count])

  def create_many(machine, behaviours, opts) when is_list(behaviours) do
    sponsor = sponsor!(opts, "create_many/3")
    created!(machine, &Creator.create_many(&1, behaviours, sponsor))
  end

  def create_many(_machine, %Behaviour{} = behaviour, opts) when is_list(opts) do
    raise ArgumentError,
          "how many actors of #{inspect(behaviour)}? Write create_many(machine, behaviour, n) or give a list of behaviours; " <>
            "create/3 creates one"
  end

  def create_many(machine, %Behaviour{} = behaviour, count), do: create_many(machine, behaviour, count, [])

  def create_many(_machine, other, _opts),
    do: expected!("a list of behaviours, or one and how many actors", other)

  @doc """
  Creates `count` actors of one behaviour: see `create_many/3`.
  """
  @spec create_many(Machine.t(), Behaviour.t(), non_neg_integer, keyword) :: [Address.t()]
  def create_many(machine, behaviour, count, opts)

  def create_many(machine, behaviour, count, opts) when is_far(machine),
    do: there!(machine, :create_many, [behaviour, count, opts])

  def create_many(machine, %Behaviour{captures: captures} = behaviour, count, opts)
      when is_tuple(captures) and is_integer(count) and count >= 0 do
    sponsor = sponsor!(opts, "create_many/4")
    created!(machine, &Creator.create_copies(&1, behaviour, count, sponsor))
  end

  def create_many(_machine, behaviour, count, _opts) do
    raise ArgumentError,
          "expected a behaviour and how many actors of it, got: #{inspect(behaviour)} and #{inspect(count)}"
  end

  defp created!(machine, create), do: machine |> Machine.fetch!() |> create.() |> Error.ok!()

  @doc """
  Keeps a value in a machine once, for actors and messages that enter one by one. Returns a term that stands for the
  value in captures and in messages, at any depth. The actors see the value.

  Without it, each `create/3` and each `send/3` copies its terms into the machine: a table of 8,000 keys takes milliseconds and a
  hundred kilobytes each time. Within one call of `create_many/3` or `send_many/2`, and within one message, terms that are the
  same are copied once anyway.

      table = Mote.share(machine, Map.new(prices))
      actors = for item <- items, do: Mote.create(machine, Shop.basket(item, table))

  The machine keeps the value while the returned term or an actor refers to it, and charges it once. `table.value` is the value.

  Raises `Mote.Error` when the machine is not running or has no memory left, and `ArgumentError` for a machine of another node.

      iex> defmodule Doc.Prices do
      ...>   use Mote.Behaviour
      ...>   defactor price(of, table) do
      ...>     {customer, :read} -> send customer, table[of]
      ...>   end
      ...> end
      iex> {:ok, machine} = Mote.start_link()
      iex> table = Mote.share(machine, %{apple: 3, pear: 5})
      iex> for of <- [:apple, :pear], do: machine |> Mote.create(Doc.Prices.price(of, table)) |> Mote.ask!(:read)
      [3, 5]
  """
  @spec share(Machine.t(), term) :: Shared.t()
  def share(machine, value)

  def share(machine, _value) when is_far(machine),
    do:
      raise(
        ArgumentError,
        "a value is shared on its own node: call Mote.share/2 there, not for #{inspect(machine)}"
      )

  def share(machine, value), do: created!(machine, &Creator.share(&1, value))

  @doc """
  Moves an actor to another machine, also of another node, and returns its new address.

  The actor is stopped between two turns. Its behaviour and its captures go to the other machine, where it goes on. If
  the other node has another version of the module, the actor takes that up by the rule of `load/2`, or stays with
  `:stale_behaviour` or `:undefined_behaviour`. The old address stays valid: from then on it forwards every message,
  in order. Messages that had waited for the actor go the same way, and have arrived when the function returns. So
  messages that the caller then sends to the new address come after those that it had sent to the old one. Messages
  that the actor has sent to processes of its old node come before those that it sends to them from the new one. For
  processes of other nodes nothing is promised.

      counter = Mote.create(MyApp.Mote, Counter.counter(0))
      {:ok, moved} = Mote.move(counter, {MyApp.Mote, :"two@127.0.0.1"})

  The new address differs from the old one. Each message to the old address goes by way of its machine, and the old
  actor exists as long as somebody has that address. If the other machine ends, the actor is gone with it. Then
  messages to the old address are lost, and questions to it are `:broken_promise`. If a node takes too little,
  forwarded messages are lost beyond a bound, like all messages of actors: see the guide *Nodes*. The captures of the
  actor are carried over like a message, so timers, outboxes and futures stay where they are. Stashed messages go
  along.

  Options:

    * `:sponsor` - pins it to that sponsor of the other machine, as in `create/3`;
    * `:timeout` - milliseconds to wait for the whole move (default 5000). An actor that has not stopped by then
      stays. If it has stopped, the move goes on without the caller, as soon as both machines run.

  After an error the actor is what it was, and nothing is lost. There are two exceptions. An error with
  `context.moved` says that the actor has moved to that address, now or by an earlier move, and is gone there
  (`:machine_down`, `:unknown_address`) or out of reach (`:noconnection`, `:overloaded`). After `:timeout`, or
  `:noconnection` to the node of `address`, it may have moved or may move yet: `address` reaches it. The reasons are
  those of `create/3` with the other machine, among them `:machine_down`, `:noconnection`, `:undefined_behaviour`,
  `:stale_behaviour` and `:no_memory`, those of `ask/3`, and `:not_movable`. With `:not_movable`, `context.why` is

    * `:safe` - its behaviour never becomes another one, so that its turns may run in parallel: create another such actor there;
    * `:sink` - it ignores everything;
    * `:busy` - a turn of it runs in a beam sponsor at this moment;
    * `:held` - another caller moves it at this moment, or an earlier call that has timed out;
    * `:too_large` - its captures, written out, are larger than the memory of its machine.

  Raises `ArgumentError` for anything else.

      iex> {:ok, one} = Mote.start_link()
      iex> {:ok, two} = Mote.start_link()
      iex> counter = Mote.create(one, Mote.Library.counter(40))
      iex> {:ok, moved} = Mote.move(counter, two)
      iex> Mote.ask(counter, {:add, 2})
      {:ok, 42}
      iex> {Mote.ask(moved, :read), Mote.info(moved).machine == two}
      {{:ok, 42}, true}
  """
  @spec move(Address.t(), Machine.t(), sponsor: atom, timeout: timeout) ::
          {:ok, Address.t()} | {:error, Error.t()}
  def move(address, machine, opts \\ []), do: Mote.Move.move(address, machine, opts)

  @doc """
  Keeps an actor alive for a number of milliseconds (default 60,000), even if nothing refers to it, and returns its
  address.

  Use it for an address that goes to another node in a message from process to process: such messages are not counted, so the
  address holds nothing on its way.

      Kernel.send({:listener, :"two@127.0.0.1"}, {:counter, Mote.lend(counter)})

  Whenever a process or an actor of another node uses the address, by a message or a question, that time begins again.
  On the other node, `keep/1` turns the address into one that holds the actor, like an address that came by way of
  Mote. Lending twice does not make the time shorter.

  A lease costs a row in a table. An address of another node is lent on that node. The function does not wait for
  that, and nothing is lent if there is no connection.

  Raises `Mote.Error` with the reason `:unknown_address` if the actor is gone.

      iex> {:ok, machine} = Mote.start_link()
      iex> counter = Mote.create(machine, Mote.Library.counter(0))
      iex> Mote.lend(counter, 1_000) == counter
      true
  """
  @spec lend(Address.t(), pos_integer) :: Address.t()
  def lend(address, milliseconds \\ 60_000)

  def lend(%Address{} = address, milliseconds)
      when is_integer(milliseconds) and milliseconds in 1..0xFFFFFFFF do
    Far.Lease.lend(address, milliseconds)
    address
  end

  def lend(address, milliseconds) do
    raise ArgumentError,
          "expected an address to lend and a number of milliseconds, got: #{inspect(address)} and #{inspect(milliseconds)}"
  end

  @doc """
  Turns an address that came by a message between processes into one that holds its actor.

  Returns `{:ok, address}`, with an equal address (`==`). The actor lives as long as that term, or a copy of it that
  went on by way of Mote. An address that came by way of Mote need not be kept, but may be.

  Errors are those of `ask/3`, among them `:unknown_address`, if the actor is gone, and `:noconnection`. The function
  waits for the node of the actor.

      iex> {:ok, machine} = Mote.start_link()
      iex> counter = Mote.create(machine, Mote.Library.counter(0))
      iex> {:ok, kept} = Mote.keep(counter)
      iex> kept == counter
      true
  """
  @spec keep(Address.t()) :: {:ok, Address.t()} | {:error, Error.t()}
  def keep(%Address{} = address) do
    if Far.far?(address),
      do: Far.create!(node(address.machine), :keep, [address]),
      else: Far.Lease.own(address)
  rescue
    error in Error -> {:error, error}
  end

  def keep(other), do: expected!("an address to keep", other)

  @doc """
  Sends a message and returns at once, with `:ok` if the machine has accepted it.

  The target is an address, a customer or a pid. Options:

    * `:sponsor` - the sponsor in which the cascade of this message runs. A reference made with `on/2` has its own,
      and a pinned actor stays where it is. The default is the machine's first sponsor;
    * `:on_full` - what to do when the sponsor is full (see `add_sponsor/3`): return an error (`:error`), or let the calling
      process wait until there is room (`:wait`). The default is the sponsor's own `:on_full`;
    * `:on_down` - what to do when the machine is down, and may go on with its actors (see [Durable machines in
      detail](durable.md#callers-meanwhile)): raise (`:error`, the default), or let the calling process wait until it does (`:wait`). Then
      the error `:machine_down` is returned, and `error.context.accepted` says whether the machine had accepted the message, 1 or 0;
    * `:timeout` - how long to wait in these cases, in milliseconds, or `:infinity` (default 5000).

  If the message is not accepted, returns `{:error, error}` with the reason `:overloaded`, or `:no_memory` if the machine's
  `:memory` is used up.

  **`:ok` means that the actor gets the message in one turn, unless the machine ends before. The turn may still be
  aborted, and that uses the message up.** `Mote.Telemetry` reports both: `[:mote, :machine, :unfinished]` and
  `[:mote, :turn, :abort]`, and for lack of memory `[:mote, :turn, :no_memory]` with the behaviour and the number of
  messages. To know that a message has been handled, ask (`ask/3`).

  Raises `Mote.Error` if the address's machine is not running or has no sponsor of that name, and `ArgumentError` if the
  target is something else.

  Sending to an actor of another node works in the same way. Then `:ok` means that the message is on its way,
  and `:overloaded` that too much waits for that node: see the guide *Nodes*.
  """
  @spec send(Address.t() | Customer.t() | pid, term, send_options()) :: :ok | {:error, Error.t()}
  def send(target, message, opts \\ [])

  def send(%Address{} = address, message, opts), do: Sending.send(address, message, opts)

  def send(%Customer{ref: ref} = customer, message, opts) do
    Sending.options!(opts)

    # A customer that has an answer, or has given up, takes no other: the sender cannot do anything about it.
    answered = Long.dirty(Native.answer(ref, message))

    if answered == :unknown and Far.answer(customer, message) == :unknown do
      raise ArgumentError,
            "#{inspect(customer)} is not a customer: one is made by Mote.ask/3 or a future, and is of use as long as its term " <>
              "is kept whole (not copied through term_to_binary)"
    end

    :ok
  end

  def send(pid, message, opts) when is_pid(pid) do
    Sending.options!(opts)
    Kernel.send(pid, message)
    :ok
  end

  def send(other, _message, _opts), do: expected!("an address, a customer or a pid to send to", other)

  @doc """
  Sends many messages to one actor, which is much cheaper than sending them one by one.

  They are accepted in their order. Options, except for `:on_down`, and errors are those of `send/3`. If the sponsor
  is full, returns `{:error, error}`. Then `error.context.accepted` says how many messages were accepted; these are
  always the first ones. A `Mote.Error` that is raised has the same figure.
  """
  @spec send_many(Address.t(), [term], send_options()) :: :ok | {:error, Error.t()}
  def send_many(address, messages, opts), do: Batch.send_many(address, messages, opts)

  @doc """
  Sends many messages: `send_many(address, messages)` to one actor, `send_many([{address, message}, …], opts)` to many.

  Like `send_many/3`. Consecutive messages to one sponsor of one machine are the cheapest.

      :ok = Mote.send_many(counter, for(n <- 1..1_000, do: {:add, n}))
      :ok = Mote.send_many(for counter <- counters, do: {counter, {:add, 1}})
  """
  @spec send_many(Address.t() | [{Address.t() | Customer.t() | pid, term}], [term] | send_options()) ::
          :ok | {:error, Error.t()}
  def send_many(address_or_pairs, messages_or_opts \\ [])
  def send_many(pairs, opts) when is_list(pairs), do: Batch.send_pairs(pairs, opts, &send/3)
  def send_many(address, messages), do: Batch.send_many(address, messages, [])

  @doc """
  Sends all elements of an enumerable to one actor, and returns how many there were.

  Messages are taken and sent some hundreds at a time. When the sponsor is full, the caller waits for room and takes no more
  elements meanwhile. So a stream is no faster than the actor, apart from the messages that may wait. With `on_full: :error`,
  or after waiting `:timeout` milliseconds for one message, returns `{:error, error}` as `send_many/3` does.

  Options are those of `send_many/3`, with `on_full: :wait` as default.
  """
  @spec cast_stream(Address.t(), Enumerable.t(), send_options()) ::
          {:ok, non_neg_integer} | {:error, Error.t()}
  defdelegate cast_stream(address, messages, opts \\ []), to: Batch

  @doc """
  Sends a message after the given number of milliseconds. Returns the timer.

  The option `:sponsor` is as in `send/3`. Raises `Mote.Error` and `ArgumentError` as `send/3` does. If the machine's `:memory`
  is used up, no timer is armed, and a `Mote.Error` with the reason `:no_memory` is raised. `:inbox` does not refuse timers. When
  a timer is due, its message counts towards `:inbox`, but is not refused either. See `Mote.Timer` for what timers promise.
  """
  @spec send_after(Address.t(), term, non_neg_integer, sponsor: atom) :: Timer.t()
  def send_after(address, message, milliseconds, opts \\ []),
    do: Timer.send_after(address, message, milliseconds, sponsor!(opts, "send_after/4"))

  @doc """
  Cancels a timer. Returns the whole milliseconds that were left, never more than it was armed with, or `false` if it has
  fired or was cancelled before.

  Raises `ArgumentError` if the argument is not a timer.
  """
  @spec cancel_timer(Timer.t()) :: non_neg_integer | false
  defdelegate cancel_timer(timer), to: Timer, as: :cancel

  @doc """
  Returns a machine's time in milliseconds since its start. Raises `Mote.Error` when the machine is not running.
  """
  @spec now(Machine.t()) :: non_neg_integer
  defdelegate now(machine), to: Timer

  @doc """
  Lets time pass in a machine that was started with `clock: :manual`.

  The machine first finishes what it was doing. Then each timer that comes due is sent at its moment, in order, and everything
  that follows from it is finished before the next moment. After `:ok` the machine is quiet, as after `drain/2`. The errors
  are those of `drain/2`, and the timeout covers all of it. Raises `ArgumentError` for a machine with another clock.

  The last argument is a timeout in milliseconds (default #{@timeout}), or options:

    * `:timeout` - the timeout;
    * `:beam` - `:wait` (the default), or `:ignore`: turns of beam sponsors may go on, and messages that wait for
      their end may wait. So time passes although a service blocks. How far its turns get meanwhile is not determined.
  """
  @spec advance(Machine.t(), non_neg_integer, timeout | [timeout: timeout, beam: :wait | :ignore]) ::
          :ok | {:error, Error.t()}
  def advance(machine, milliseconds, timeout_or_opts \\ @timeout),
    do: Timer.advance(machine, milliseconds, timeout_or_opts)

  @doc """
  Sends `{customer, request}` and waits for the answer, at most `timeout` milliseconds (or `:infinity`).

  Instead of the timeout there can be options:

    * `:timeout` - the same (default 5000);
    * `:sponsor` - as in `send/3`;
    * `:on_down` - as in `send/3`: with `:wait`, the caller waits for a machine that is down. An accepted question is
      not asked again: `error.context.accepted` of `:machine_down` is 1 then, and its turn may have run.

  Errors are `:timeout`, `:machine_down`, `:aborted` (the turn that took the question was aborted; the message says why),
  `:broken_promise` (nothing refers to the customer any more; the message says which behaviour aborted last, or had no clause),
  `:answer_too_large`, `:unknown_sponsor`, `:unknown_address`, `:overloaded` (the
  sponsor is full), `:no_memory`, and of an actor of another node `:noconnection`. A late answer is discarded and never reaches the mailbox.

      iex> defmodule Doc.Adder do
      ...>   use Mote.Behaviour
      ...>   defactor adder(sum) do
      ...>     {customer, :read} -> send customer, sum
      ...>     {:add, n} -> become adder(sum + n)
      ...>   end
      ...> end
      iex> {:ok, machine} = Mote.start_link()
      iex> adder = Mote.create(machine, Doc.Adder.adder(40))
      iex> Mote.send(adder, {:add, 2})
      iex> Mote.ask(adder, :read)
      {:ok, 42}
      iex> Mote.ask!(adder, :read, timeout: 1_000)
      42
  """
  @spec ask(Address.t(), term, Ask.options()) :: Ask.result()
  defdelegate ask(address, request, timeout_or_opts \\ @timeout), to: Ask

  @doc """
  Like `ask/3`, but returns the answer itself, and raises `Mote.Error`.
  """
  @spec ask!(Address.t(), term, Ask.options()) :: term
  defdelegate ask!(address, request, timeout_or_opts \\ @timeout), to: Ask

  @doc """
  Asks several actors the same question at once, with one deadline for all. Options are those of `ask/3` except for
  `:on_down`.

  Returns what `ask/3` would return for each, in the order of the addresses. Questions that are still open at the deadline are
  cancelled.
  """
  @spec ask_all([Address.t()], term, Ask.options()) :: [Ask.result()]
  defdelegate ask_all(addresses, request, timeout_or_opts \\ @timeout), to: Ask

  @doc """
  Asks a question as `ask/3` does, but does not wait. Wait with `await/2` or one of its relatives, in the same process. See
  `Mote.Ask`.

  The only option is `:sponsor`. Raises `Mote.Error` if the question cannot be asked.

      iex> defmodule Doc.Doubling do
      ...>   use Mote.Behaviour
      ...>   defactor doubling() do
      ...>     {customer, n} -> send customer, 2 * n
      ...>   end
      ...> end
      iex> {:ok, machine} = Mote.start_link()
      iex> doubling = Mote.create(machine, Doc.Doubling.doubling())
      iex> asks = for n <- 1..3, do: Mote.async(doubling, n)
      iex> Mote.await_many(asks)
      [2, 4, 6]
      iex> Mote.yield(Mote.async(doubling, 4))
      {:ok, 8}
      iex> Mote.ask_all([doubling, doubling], 5)
      [ok: 10, ok: 10]
  """
  @spec async(Address.t(), term, sponsor: atom) :: Ask.t()
  defdelegate async(address, request, opts \\ []), to: Ask

  @doc """
  Waits for the answer to a question of `async/3`, and returns it.

  If there is no answer, cancels the question and exits as `Task.await/2` does, with `{reason, {Mote, :await, [ask, timeout]}}`.
  The reason is `:timeout`, `{:aborted, {module, behaviour}, reason}`, or another one of `Mote.Error`. Raises `ArgumentError` in
  a process other than the one that asked, and if the answer was returned before or taken by a `receive`.
  """
  @spec await(Ask.t(), timeout) :: term
  defdelegate await(ask, timeout \\ @timeout), to: Ask

  @doc """
  Like `await/2` for several questions, with one deadline for all. Returns the answers in the order of the questions.

  As soon as one fails, all of them are cancelled.
  """
  @spec await_many([Ask.t()], timeout) :: [term]
  defdelegate await_many(asks, timeout \\ @timeout), to: Ask

  @doc """
  Waits for the answer to a question of `async/3`. Returns `nil` if there is none in time; it can still come later.

  Returns `{:error, error}` where `Task.yield/2` returns `{:exit, reason}`. Raises `ArgumentError` as `await/2` does. To wait and
  then give up:

      Mote.yield(ask, 1_000) || Mote.ignore(ask)
  """
  @spec yield(Ask.t(), timeout) :: Ask.result() | nil
  defdelegate yield(ask, timeout \\ @timeout), to: Ask

  @doc """
  Like `yield/2` for several questions, with one deadline for all. Returns each question with its result.

  A question that was answered or cancelled before has the result `nil`, and is not waited for. `Mote.Ask` shows how to poll.
  """
  @spec yield_many([Ask.t()], timeout) :: [{Ask.t(), Ask.result() | nil}]
  defdelegate yield_many(asks, timeout \\ @timeout), to: Ask

  @doc """
  Cancels a question of `async/3`, so that nothing of it reaches the mailbox any more.

  Returns the answer if it has come already, and `nil` otherwise. A turn that is working on the answer is not interrupted. Its
  answer is discarded.
  """
  @spec ignore(Ask.t()) :: Ask.result() | nil
  defdelegate ignore(ask), to: Ask

  @doc """
  Returns a reference that carries its sponsor. Messages to it run in that sponsor, whichever actor or process
  sends them.

  So a reply comes home from any sponsor. The name is looked up when a message is sent. Customers, pids and
  outboxes have no sponsor to go to, and are returned as they are. Within a behaviour, write `on(sponsor,
  address)`.
  """
  @spec on(atom, target) :: target when target: Address.t() | Customer.t() | Outbox.t() | pid
  def on(sponsor, %Address{} = address), do: %{address | sponsor: SponsorOptions.name!(sponsor)}

  def on(sponsor, target) when is_struct(target, Customer) or is_struct(target, Outbox) or is_pid(target) do
    SponsorOptions.name!(sponsor)
    target
  end

  def on(_sponsor, other), do: expected!("an address, a customer, an outbox or a pid to refer to", other)

  @doc """
  Adds a sponsor to a running machine and starts its threads.

  Options:

    * `:threads` - how many dispatch threads, 1 to 1024, or `:cores`, as many as the BEAM has schedulers online
      (default 1). A single-threaded sponsor is strictly first in, first out;
    * `:partition` - `true` for a **partitioned** sponsor, whose threads share no work: each keeps the actors that it is given. The
      threads take turns in being given those that are created from outside, and what an actor creates stays on its thread (default
      `false`). Processes that ask actors of different threads do not wait for each other: see the guide *Running machines*;
    * `:pin` - `true` to bind its threads to the cores that the system gives this node, one core each, or a
      list of core numbers to choose from (default `false`: they run where the system puts them);
    * `:inbox` - how many events may wait in its inboxes and queues together. Beyond that, messages from outside are not
      accepted (default `:infinity`, since only the program knows how many wait in normal operation, and the
      machine's `:memory` is a bound as well). Messages that turns send are never refused; see the guide
      *Memory*;
    * `:on_full` - the default of the option of `send/3` with that name: `:error` (the default) or `:wait`;
    * `:io` - `true` for an **I/O sponsor**, whose threads have sockets: see `Mote.Net` and the guide *Sockets*. They share no work with each
      other, and a seeded machine has none;
    * `:beam` - `true` for a **beam sponsor**, whose turns run in processes of the BEAM and may block and call any Elixir: see the
      guide *Beam sponsors*. It has no `:threads` and no `:pin`, but two more options:
    * `:max_concurrency` - how many of its turns may run at once (default 100), each of an actor of its own;
    * `:timeout` - milliseconds that a turn may take, or `:infinity` (default 5000). A turn that takes longer is aborted with the
      reason `:timeout`, and its process is killed.

  Errors are `:sponsor_exists`, `:machine_down` and `:start`. The last one says that the system did not provide what the
  threads need. The machine goes on without the sponsor. (Each thread has some 800 MB of address space for its stacks,
  of which little is ever used.) A machine has at most 4,095 sponsors. The number of a removed sponsor is reused only if
  no actor was ever pinned to it. Raises `ArgumentError` for bad options, and if the machine's `:memory` is less than 4
  MiB for each of its threads and 4 MiB more.

      iex> {:ok, machine} = Mote.start_link()
      iex> Mote.add_sponsor(machine, :multi, threads: 2)
      :ok
      iex> Mote.sponsors(machine)
      [:main, :multi]
      iex> Mote.remove_sponsor(machine, :multi)
      :ok
  """
  @spec add_sponsor(Machine.t(), atom, Mote.Sponsor.options()) :: :ok | {:error, Error.t()}
  def add_sponsor(machine, name, opts \\ []) do
    sponsor = SponsorOptions.validate!(name, opts)
    timeout = SponsorOptions.timeout!(name, opts)

    with {:ok, native} <- Machine.fetch(machine) do
      Machine.room_for!(native, elem(sponsor, 1))

      case Machine.add_sponsor(native, sponsor, timeout) do
        :ok ->
          tell(native, :added, %{sponsor: name, threads: elem(sponsor, 1)})

        {:error, text} ->
          {:error, Error.new(:start, "sponsor #{inspect(name)}: #{text}", sponsor: name)}

        word ->
          {:error, Error.from(word, machine: machine, sponsor: name)}
      end
    end
  end

  @doc """
  Removes a sponsor from a running machine, and waits for its threads to end, which takes some milliseconds at most.

  Nothing is lost. The events and timers that wait there move to the machine's first sponsor. From then on, so do messages to
  actors that are pinned to the removed one. A long turn is given up and runs once more in the first sponsor, from its beginning.
  For a `sendx` or `on` that names the removed sponsor, the sponsor is unknown from then on.

  Errors are `:unknown_sponsor`, `:first_sponsor` (the first one stays) and `:machine_down`.
  """
  @spec remove_sponsor(Machine.t(), atom) :: :ok | {:error, Error.t()}
  def remove_sponsor(machine, name) do
    SponsorOptions.name!(name)

    with {:ok, native} <- Machine.fetch(machine) do
      case Native.machine_remove_sponsor(native, name) do
        %{} = done ->
          Machine.removed(native, name, done)
          tell(native, :removed, %{sponsor: name})

        word ->
          {:error, Error.from(word, machine: machine, sponsor: name)}
      end
    end
  end

  defp tell(native, event, metadata) do
    with {:ok, about} <- Table.about(Native.machine_owner(native)) do
      Reporter.tell(about, [:sponsor, event], %{system_time: System.system_time()}, metadata)
    end

    :ok
  end

  @doc """
  Returns the names of a machine's sponsors, the first one first. Raises `Mote.Error` when the machine is not running,
  or when its node does not answer within five seconds.
  """
  @spec sponsors(Machine.t()) :: [atom]
  def sponsors(machine) when is_far(machine), do: there!(machine, :sponsors, [], @timeout)
  def sponsors(machine), do: Machine.sponsors(machine)

  @doc """
  Waits until the machine is quiet, at most `timeout` milliseconds (or `:infinity`).

  Quiet means that no message waits to enter a machine, no event is queued in any sponsor, no turn runs, and
  everything that turns sent to processes of this node is in their mailboxes. Timers that are not yet due do not
  count, and neither do processes that have yet to send. This is exact: when the function returns `:ok`, everything
  that the caller sent before, and everything that followed from it, is done. The machine was quiet at some moment,
  but another process may have sent something since.

  Errors are `:timeout` and `:machine_down`; for a machine of another node also `:noconnection`, and `:overloaded` if
  too much waits for that node.

      iex> {:ok, machine} = Mote.start_link()
      iex> Mote.drain(machine)
      :ok
  """
  @spec drain(Machine.t(), timeout) :: :ok | {:error, Error.t()}
  def drain(machine, timeout \\ @timeout)

  def drain(machine, timeout) when is_far(machine) do
    Question.timeout!(timeout)
    there!(machine, :drain, [timeout], timeout)
  rescue
    error in Error -> {:error, error}
  end

  def drain(machine, timeout) do
    Question.timeout!(timeout)
    with {:ok, native} <- Machine.fetch(machine), do: Question.drain(native, timeout, machine: machine)
  end

  @doc """
  Collects now, and waits until it is done, at most `timeout` milliseconds (or `:infinity`, the default).

  Machines collect by themselves; this is for tests and measurements. Everything unreachable at the time of
  the call is gone when it returns `:ok`, and `Mote.info/1` has the figures. Terms that the BEAM has not
  collected yet still keep their actors alive. An address that no variable holds any more counts until the
  process that held it has collected, by `:erlang.garbage_collect/0` for instance, and a moment longer.

  Raises `Mote.Error` when the machine is not running or does not collect in time, since it cannot during a
  turn.

      iex> {:ok, machine} = Mote.start_link()
      iex> Mote.gc(machine)
      :ok
      iex> Mote.info(machine).gc.collections > 0
      true
  """
  @spec gc(Machine.t(), timeout) :: :ok
  def gc(machine, timeout \\ :infinity)
  def gc(machine, timeout) when is_far(machine), do: there!(machine, :gc, [timeout], timeout)

  def gc(machine, timeout) do
    native = Machine.fetch!(machine)
    ask = &Native.machine_collect(native, &1)
    native |> Question.put(timeout, [machine: machine, survey: true], ask) |> Error.ok!()
  end

  @doc """
  Returns information about a machine or an actor.

  Of a machine:

    * `counters` - what all of its threads have done since its start: see `Mote.Counters`;
    * `sponsors` - for each name a map of `started` (nanoseconds after the machine), `threads` (the counters of each),
      `asleep` (how many threads are), `inbox` (messages and events that wait to enter), `queued` (events in its
      threads' queues), `queue_bytes`, `waiting` (both together and what outboxes hold, as its `:inbox` counts them),
      `held` (messages that outboxes with `on_full: :hold` hold), `high_water` (the largest `waiting` that was
      counted, as something entered, and at the end of a batch of turns) and `overloaded` (how many messages found it
      full); and `beam`, whether it is a beam sponsor. Of a beam sponsor, `timeout` says how long a turn may take
      (milliseconds, or `:infinity`), `running` how many turns run, and `longest` which of them has run longest:
      `nil`, or `behaviour` (`{module, name}`) and `age` (milliseconds);
    * `memory` - bytes: `heap`, the sum of `live` (found alive by the last collection), `new` (given to threads to
      fill since then, whether it lives or not) and `holes` (room between live data); `queues`; `spare`, which is
      empty and waits to be used or given back; `charged`, all that counts against `:memory`; and `mapped`, the
      addresses that the system has given for heaps and queues;
    * `gc` - `collections` so far, `last_pause` and `longest_pause` (nanoseconds in which all threads stood still),
      `longest_wait` (for which turns were held for a collection since memory was short), `paused` (of all pauses together),
      `pauses` (how many there were, by the power of two that bounds them),
      `live_actors` and `live_bytes` as the last one found them, `reclaimed` (bytes of blocks that all of them
      together found empty);
    * `native` - `tier`, which of `:native` and `:interp` runs behaviours; `compiled`, how many behaviours and functions
      have machine code, `refused`, how many are left to the interpreter, `pending`, how many modules wait for the
      compiler; `bytes` of machine code; `compile` and `longest_compile`, nanoseconds from the arrival of a module to
      its machine code, of all together and the longest;
    * `inbox` - messages that wait to enter any sponsor; `mail` - messages to processes, and to other nodes, that wait
      for the postman; `references` - actors that Elixir terms refer to;
    * `questions` - `open`, how many wait for an answer, and `broken`, how many were left without one;
    * `paused` - whether `pause/1` holds it still; `uptime` - milliseconds; `name`.

  Nothing is stopped for it: numbers may be a fraction of a millisecond old, and need not all be from the same
  moment.

  Of an address:

    * `behaviour` - with its captures (see `complete`), as they are between two turns, or `:sink`;
    * `queued` - how many events wait for the actor with the thread that owns it (others may be on their way); `busy`,
      whether any does;
    * `sponsor` - the sponsor whose thread owns it; `thread`, the number of that thread in it, from 1 on; `pinned` - the sponsor where
      all of its events run, or `nil`;
    * `bytes` - the memory that it holds (see `Mote.Inspection`);
    * `complete` - whether `queued` and `bytes` are exact. The actor's thread looks for a millisecond at most. For an
      actor that holds more than ten thousand values, or where more than 65,536 events wait, the figures are lower
      bounds. About the first two thousand values of the captures are shown, and `:...` in place of the others;
    * `machine`, the process, and `address`.

  The function waits for the machine, up to five seconds. Messages that the calling process sent before are handled by
  then, or queued.

  Raises `Mote.Error` when the machine is not running; of another node also with the reason `:timeout` if there is no answer within five
  seconds, and with `:noconnection`.
  """
  @spec info(Machine.t() | Address.t()) :: map
  def info(machine_or_address)

  def info(%Address{} = address), do: Inspection.info(address)
  def info(machine) when is_far(machine), do: there!(machine, :info, [], @timeout)

  def info(machine) do
    native = Machine.fetch!(machine)

    case Native.machine_info(native) do
      :stopped -> raise Error.from(:stopped, machine: machine)
      info -> Map.put(info, :name, Table.name(Native.machine_owner(native)))
    end
  end

  @doc """
  Returns an actor's state as of its last turn: the name of its behaviour and its captures, in one tuple, such as
  `{:counter, 42}`. It runs no turn: the calling process reads the state itself.

  So a peek has no order: waiting messages, even those of the calling process, may not have been handled yet. Ask the
  actor (`ask/3`) if that matters. But a peek always sees one whole state, never parts of an old and of a new one, and
  never the state of an aborted turn.

  While the thread that owns the actor sleeps, a peek takes less time than a question. Otherwise, while the machine
  collects, and for an actor that holds some hundred values and more, that thread is asked as by `info/1`. The errors
  of `info/1` are returned then, and its limits hold: of more than two thousand values, `:...` stands for the rest.
  Processes that peek at actors of one thread do so one by one. At an actor of another node, a process there peeks.

      iex> defmodule Doc.Peeked do
      ...>   use Mote.Behaviour
      ...>   defactor peeked(n) do
      ...>     {customer, :next} ->
      ...>       send customer, n
      ...>       become n: n + 1
      ...>   end
      ...> end
      iex> {:ok, machine} = Mote.start_link()
      iex> actor = Mote.create(machine, Doc.Peeked.peeked(1))
      iex> Mote.ask!(actor, :next)
      iex> Mote.peek(actor)
      {:ok, {:peeked, 2}}
  """
  @spec peek(Address.t()) :: {:ok, tuple} | {:error, Error.t()}
  defdelegate peek(address), to: Inspection

  @doc """
  Folds over the states of all actors of a machine, or of those of a behaviour: `fun` gets a state as `peek/1` shows it, and what it
  returned the time before.

  The behaviour is `{module, name}`, a module for all of its behaviours, or `nil` for all actors. These include actors
  that Mote makes itself, such as the shards of directories, but no sockets. To get keys as well, see
  `Mote.Directory.fold/4`.

      iex> defmodule Doc.Cart do
      ...>   use Mote.Behaviour
      ...>   defactor cart(items) do
      ...>     {:put, item} -> become items: [item | items]
      ...>   end
      ...> end
      iex> {:ok, machine} = Mote.start_link()
      iex> carts = Mote.create_many(machine, for(_ <- 1..1_000, do: Doc.Cart.cart([])))
      iex> Mote.send(hd(carts), {:put, :tea})
      iex> Mote.drain(machine)
      iex> Mote.fold(machine, {Doc.Cart, :cart}, 0, fn {:cart, items}, n -> n + length(items) end)
      1

  Use it for admin pages and for metrics: the machine goes on meanwhile, and nothing is sent to the actors. A fold
  begins with a collection, as `gc/2` does, and goes through the actors that the collection has found alive. **An
  actor that is alive all the time is seen once**, whatever it does, whichever thread it goes to, and however many
  collections come meanwhile. An actor that is created or dropped meanwhile may be seen or not, but never twice. An
  actor that is unreachable when the fold begins is not seen. Each state is whole, as of its actor's last turn, but
  they are not of one moment. They come in no particular order, and `fun` may do anything.

  A million small actors take some 0.3 s, the collection included. The fold reads up to a thousand actors at a time,
  and keeps a sleeping thread asleep for some 100 µs meanwhile. An awake thread shows its actors itself between two
  turns. Large actors are read one by one, as by `peek/1` and within its limits, which takes a few microseconds each.
  Neither the machine nor the fold keeps a list of the actors.

  `:timeout` is how long the collection, and then a thread for each part, may take, in milliseconds (5000). Raises `Mote.Error` if it takes
  longer, or if the machine is down.
  """
  @spec fold(Machine.t(), {module, atom} | module | nil, acc, (state :: tuple, acc -> acc), timeout: timeout) ::
          acc
        when acc: term
  def fold(machine, behaviour, acc, fun, opts \\ []) when is_function(fun, 2) do
    Inspection.keyword!(opts, "the options of fold/5", [:timeout])
    filter = behaviours!(behaviour)
    timeout = Keyword.get(opts, :timeout, 5_000)

    case Machine.fetch(machine) do
      {:ok, native} ->
        gc(machine, timeout)
        States.fold(native, machine, filter, acc, fun, timeout)

      {:error, error} ->
        raise error
    end
  end

  defp behaviours!({module, name}) when is_atom(module) and is_atom(name), do: {module, name}
  defp behaviours!(module) when is_atom(module), do: {module, nil}

  defp behaviours!(other),
    do: expected!("the behaviour of actors to be {module, name}, a module, or nil for all of them", other)

  @doc """
  Returns figures for each node that this one has exchanged messages with: see the guide *Nodes*.

  For each node:

    * `waiting` - about how many bytes the messages take that wait to be sent there;
    * `sent` - messages, questions and answers that were sent there;
    * `unsure` - those that were on their way when the last connection ended, and may have arrived or not: when the nodes meet again,
      they are counted as sent, or as lost;
    * `refused` - messages of processes that were not accepted, because the limit was reached;
    * `lost` - messages of actors that were lost for that reason, and all messages that waited or were on their way
      when a connection ended, that found no connection, or that found a node whose Mote speaks another protocol;
    * `undelivered` - messages that came from there and found no actor, or no memory;
    * `listed` - addresses and customers of this node that are held for that node.

  `waiting`, `unsure` and `listed` are current figures; the others count from the start of this node. While nothing is
  being sent, they are exact: each message that was accepted for that node is counted in `sent`, `unsure` or `lost`,
  or waits.

      iex> Mote.nodes()
      %{}
  """
  @spec nodes() :: %{node => %{atom => non_neg_integer}}
  def nodes, do: Far.Table.all()

  @doc """
  Lists the actors with the most turns, waiting events, or bytes: see `Mote.Inspection.top/2`.
  """
  @spec top(Machine.t(), keyword) :: [map]
  def top(machine, opts \\ [])
  def top(machine, opts) when is_far(machine), do: there!(machine, :top, [opts], Inspection.patience(opts))
  def top(machine, opts), do: Inspection.top(machine, opts)

  @doc """
  Lists the behaviours in a machine, how many actors have them, and how often they run: see
  `Mote.Inspection.behaviours/2`.
  """
  @spec behaviours(Machine.t(), keyword) :: [map]
  def behaviours(machine, opts \\ [])

  def behaviours(machine, opts) when is_far(machine),
    do: there!(machine, :behaviours, [opts], Inspection.patience(opts))

  def behaviours(machine, opts), do: Inspection.behaviours(machine, opts)

  @doc """
  Lists the actors that keep callers waiting: they hold customers of open questions, of a machine, of one question, or
  of one that has timed out. See `Mote.Inspection.waiting/2`.
  """
  @spec waiting(Machine.t() | Mote.Ask.t() | Error.t(), keyword) :: [map]
  def waiting(what, opts \\ [])

  def waiting(machine, opts) when is_far(machine),
    do: there!(machine, :waiting, [opts], Inspection.patience(opts))

  def waiting(what, opts), do: Inspection.waiting(what, opts)

  @doc """
  Lists the actors that can be reached from one: see `Mote.Inspection.graph/2`.
  """
  @spec graph(Address.t(), keyword) :: Mote.Graph.t()
  defdelegate graph(address, opts \\ []), to: Mote.Inspection

  @doc """
  Shows the turns of a machine from now on, one by one.

  The filter says which; keys that are left out match everything:

    * `:behaviour` - a module, or `{module, name}`, that the actor has when the turn begins;
    * `:actor` - one address;
    * `:sponsor` - the sponsor whose thread runs the turn;
    * `:message` - a pattern of atoms, numbers, binaries, tuples and lists, where `:_` stands for anything.

  Options:

    * `:to` - the process that gets `{:mote_trace, ref, turn}` for each, a `Mote.Trace.Turn` (default: the calling process),
      or `:iex`, which writes them as text to where the calling process writes;
    * `:limit` - how many turns are shown (default 100). The one after the last is `{:mote_trace, ref, :limit}`.

  Returns a `Mote.Trace`, with its `ref`, for `Mote.Trace.stop/1`. A trace also ends when the process is gone.
  Messages sent to the machine after this are traced; turns that are already running may not be, and turns
  that `step/2` runs are shown to its caller, not to traces.

  Raises `Mote.Error` when the machine is not running or has no sponsor of that name, or the address does not
  belong to it, and `ArgumentError` for anything else.
  """
  @spec trace(Machine.t(), Mote.Trace.filter(), keyword) :: Mote.Trace.t()
  defdelegate trace(machine, filter \\ [], opts \\ []), to: Mote.Trace, as: :start

  @doc """
  Holds a machine still: it runs no turns until `resume/1`. Waits for the turns that run to end.

  See `Mote.Trace` for what a paused machine does. Raises `Mote.Error` when the machine is not running, or does not stop
  within five seconds; in that case it is paused as soon as it can.
  """
  @spec pause(Machine.t()) :: :ok
  defdelegate pause(machine), to: Mote.Trace

  @doc """
  Lets a paused machine go on. Does nothing to one that is not paused. Raises `Mote.Error` when it is not running.
  """
  @spec resume(Machine.t()) :: :ok
  defdelegate resume(machine), to: Mote.Trace

  @doc """
  Runs one turn of a paused machine. Returns `{:ok, turn}`, a `Mote.Trace.Turn`, or `:idle` if nothing is queued.

  The turn is the next one of the machine's first sponsor, or of that given as `:sponsor`. Errors are `:not_paused`,
  `:multi_threaded` (the sponsor has several threads, so there is no next one), `:unknown_sponsor` and `:machine_down`.
  """
  @spec step(Machine.t(), keyword) :: {:ok, Mote.Trace.Turn.t()} | :idle | {:error, Error.t()}
  defdelegate step(machine, opts \\ []), to: Mote.Trace

  @doc """
  Saves an image of a machine in a file: the machine as of one moment, with everything that it has yet to do.

  `Mote.start_link(image: path)` starts a machine that goes on from there, on any node: with all actors that something leads to,
  the messages that wait for them, and the timers. Options:

    * `:names` - a map of the values that the other machine has to find: `%{counter: address, rooms: directory}`.
      There `names/1` returns it with the new addresses. An actor that no name, message or timer leads to is not
      saved. The default is the result of `names/1` here;
    * `:timeout` - in milliseconds (default `:infinity`). The image is saved all the same when it is over.

  Turns go on while it is saved. The machine only stands still for a moment, to note what waits. Nothing is freed
  before the image is written, so a machine whose memory runs short runs no turns until then. A seeded machine
  stands still for all of the saving except for writing the file. If the disk takes nothing for a minute, the error is
  `:image`. A file of that name is replaced when the new
  one is complete and on the disk. Until then, and if anything fails, it is as it was. Values that only the BEAM has,
  such as processes, are not saved, and the returned `Mote.Image` lists them: see the guide [Images in
  detail](image-details.md#what-only-the-beam-has).

      iex> {:ok, machine} = Mote.start_link()
      iex> counter = Mote.create(machine, Mote.Library.counter(7))
      iex> path = Path.join(System.tmp_dir!(), "mote_save_doc.image")
      iex> {:ok, image} = Mote.save(machine, path, names: %{counter: counter})
      iex> {image.actors, image.lost}
      {1, []}
      iex> Mote.stop(machine)
      iex> {:ok, machine} = Mote.start_link(image: path)
      iex> %{counter: counter} = Mote.names(machine)
      iex> Mote.ask(counter, {:add, 1})
      {:ok, 8}
      iex> File.rm!(path)
      :ok
  """
  @spec save(Machine.t(), String.t(), names: map, timeout: timeout) ::
          {:ok, Mote.Image.t()} | {:error, Error.t()}
  def save(machine, path, opts \\ []) do
    Inspection.keyword!(opts, "the options of save/3", [:names, :timeout])
    path = Options.path!(path, "the second argument of save/3")

    with {:ok, names} <- Keyword.fetch(opts, :names),
         true <- not is_map(names) or is_struct(names),
         do: expected!(":names of save/3 to be a map", names)

    with {:ok, native} <- Machine.fetch(machine) do
      names = Keyword.get_lazy(opts, :names, fn -> names(machine) end)
      Mote.Image.save(native, path, names, opts[:timeout] || :infinity)
    end
  end

  @doc """
  Returns the named values of the image that a machine has gone on from: see `save/3`. A machine that was started
  without an image has none.

  The machine keeps the named actors as long as it runs.

      iex> {:ok, machine} = Mote.start_link()
      iex> Mote.names(machine)
      %{}
  """
  @spec names(Machine.t()) :: map
  defdelegate names(machine), to: Machine

  @doc """
  Keeps an actor for as long as its machine runs, or until `release/1`, even if nothing refers to it. Returns its
  address.

  Use it for an address that is written down outside of the node, such as in a row of a database: `:erlang.term_to_binary/1` of an address
  holds nothing. In a machine with an `:identity` the actor is kept from life to life.

  Raises `Mote.Error` with the reason `:unknown_address` if the actor is gone or belongs to another node, and with
  `:machine_down`.

      iex> {:ok, machine} = Mote.start_link()
      iex> row = machine |> Mote.create(Mote.Library.counter(7)) |> Mote.retain() |> :erlang.term_to_binary()
      iex> Mote.ask(:erlang.binary_to_term(row), :read)
      {:ok, 7}
      iex> Mote.release(:erlang.binary_to_term(row))
      :ok
  """
  @spec retain(Address.t()) :: Address.t()
  def retain(address) do
    retain!(address, true)
    address
  end

  @doc """
  Releases an actor that is kept by `retain/1`, or because of an earlier life of its machine, which keeps all actors
  that processes held then. From then on it lives as long as any other actor. Returns `:ok` also if it was not kept,
  and raises as `retain/1` does.

  In a durable machine (`Mote.Durable`), the address leads nowhere from then on, whoever still has it.
  """
  @spec release(Address.t()) :: :ok
  def release(address), do: retain!(address, false)

  defp retain!(%Address{machine: machine, key: key} = address, kept?) do
    case Native.machine_retain(machine, key, kept?) do
      :ok -> :ok
      durable when is_reference(durable) -> synced!(durable, address)
      word -> raise Error.from(word, address: address)
    end
  end

  defp retain!(other, _kept?), do: expected!("an address", other)

  defp synced!(durable, address) do
    with {:error, error} <- Mote.Durable.synced(durable, address: address), do: raise(error)
  end

  @doc """
  Returns a machine as a value to look at, by its process, its name or the address of one of its actors.

  The value stands for the machine wherever one is expected. Raises `Mote.Error` when it is not running.

      iex> {:ok, pid} = Mote.start_link(name: Doc.Machine)
      iex> machine = Mote.machine(Doc.Machine)
      iex> inspect(machine) == "#Mote.Machine<Doc.Machine, " <> inspect(pid) <> ", sponsor :main>"
      true
      iex> Mote.stop(machine)
      iex> inspect(machine) == "#Mote.Machine<Doc.Machine, " <> inspect(pid) <> ", down>"
      true
  """
  @spec machine(Machine.t() | Address.t()) :: Machine.t()
  defdelegate machine(machine), to: Machine, as: :handle

  @doc """
  Returns a sponsor of a machine as a value to look at: see `Mote.Sponsor`.

  Raises `Mote.Error` if there is no sponsor of that name.

      iex> {:ok, _} = Mote.start_link(name: Doc.Sponsored)
      iex> inspect(Mote.sponsor(Doc.Sponsored, :main)) =~ "#Mote.Sponsor<:main of Doc.Sponsored, 1 thread, "
      true
  """
  @spec sponsor(Machine.t(), atom) :: Mote.Sponsor.t()
  defdelegate sponsor(machine, name), to: Mote.Sponsor, as: :get

  @doc """
  Notifies the calling process when a machine goes down.

  The machine is given by its process, its name or the address of one of its actors. The message is that of
  `Process.monitor/1`, `{:DOWN, reference, :process, machine, reason}`, with its pid, or with the name if there is no
  process of that name; the reason is `{:fault, fault}` after a fault. It comes at once, with `:noproc`, if the
  machine is down already, and with `:noconnection` if the node of the given address cannot be reached, or does not
  answer within five seconds. `Process.demonitor/2` cancels the monitor. Unless the process was killed, the machine's
  threads have ended before, so no message of its actors comes after it. If a node takes in nothing for a second,
  messages may come after it.

      iex> {:ok, machine} = Mote.start_link()
      iex> ref = Mote.monitor(machine)
      iex> Mote.stop(machine)
      iex> receive do {:DOWN, ^ref, :process, ^machine, reason} -> reason end
      :normal
  """
  @spec monitor(Machine.t() | Address.t()) :: reference
  defdelegate monitor(machine), to: Machine

  @doc """
  Loads the code of a module, and of those that it refers to, ahead of the first `create/3`.

  Three things tell a machine of a new version, such as one that was typed into IEx: this function, the creation of
  one of its behaviours, and `Mote.Reload`. From then on

    * actors run the new version from their next turn on, whether they become or not, with the captures that they
      have. Code of old versions, too, creates actors of the new version;
    * actors whose behaviour had fewer captures get the defaults of the new captures, if these come last: `defactor
      cart(items, coupon \\\\ nil)` takes over actors of `cart/1`;
    * `Mote.Behaviour.defchange/2` converts other captures: `defchange cart(pair), do: cart(elem(pair, 0), elem(pair,
      1))`.

  A behaviour is identified by its name and the number of its captures. Returns `:ok`, or `{:ok, stay}` if live actors
  go on with an older version, until they become another one. `stay` is a list of `{{module, name, captures}, why}`,
  whatever was reported before. A warning in the log says so as well. `why` is

    * `:absent` - the new version has no such behaviour, and no change from it;
    * `:other_kind` - it has one, but the older version stashes and the new one does not, or one of the two is marked `beam: true`;
    * `:durable` - the machine is durable, and its actors take new code when it starts (`Mote.start_link/1`, `:migrate`).

  If one version of a behaviour becomes and the other never does, or if actors stay, the whole machine stands still
  for a moment. If actors stay, that is as long as it takes to count them.
  """
  @spec load(Machine.t(), module) :: :ok | {:ok, [Loader.stays()]} | {:error, Error.t()}
  def load(machine, module) when is_atom(module) do
    with {:ok, native} <- Machine.fetch(machine),
         {:ok, []} <- Loader.succeed(native, module),
         do: :ok
  end

  def load(_machine, other), do: expected!("a module", other)

  @doc """
  Stops a machine: its actors are gone. Works like `GenServer.stop/3`. For a process that is not a machine it exits
  with `:noproc`, and leaves the process alone.

  A machine that was started with `shutdown: [drain: milliseconds]`, as under a supervisor, finishes its work first,
  for that long at most. This holds for every orderly stop, with the reason `:normal`, `:shutdown` or `{:shutdown,
  term}`: by this function, by its supervisor, also when an application or the system stops, or because the process
  that started it ends with such a reason. Meanwhile

    * it takes nothing new: a caller that sends to its actors, asks them, or creates any, gets a `Mote.Error` with the
      reason `:machine_down` and a message that says that the machine is stopping. Turns of its beam sponsors go on as
      usual, in their own process;
    * it runs everything that was accepted, and what follows from it, turns of beam sponsors included. Timers that
      come due still fire, but the stop does not wait for others, nor for a paused machine;
    * then it waits until its outboxes have been read, and until messages of its actors to other nodes are on their
      way.

  In a telemetry handler, which runs in the machine's own process, the function returns at once, and the machine ends
  after the handler.

  When the time is over, threads end at their next turn, and turns of beam sponsors are killed. A warning and the
  event `[:mote, :machine, :unfinished]` say how much of each kind was left. Without a time to drain, or for any other
  reason, all of this happens at once, with the event only. A machine that is killed (`:brutal_kill`) does not finish
  anything.
  """
  @spec stop(Machine.t(), term, timeout) :: :ok
  def stop(machine, reason \\ :normal, timeout \\ :infinity), do: Machine.stop(machine, reason, timeout)

  # After everything that was sent there before, and no longer than that.
  defp there!(machine, function, args, timeout \\ :infinity)

  defp there!({name, node}, function, args, timeout),
    do: Far.create!(node, function, [name | args], timeout)

  defp there!(pid, function, args, timeout),
    do: Far.create!(node(pid), function, [pid | args], timeout)

  defp sponsor!(opts, function), do: SponsorOptions.option!(opts, function)
end
