defmodule Mote.Directory do
  # `directory/place.ex` says which shard has a key, `behaviour/directory.ex` what a shard does; this file is
  # the Elixir side.
  @moduledoc """
  Actors by key: an actor for each user, room, device or order, started by the first message for its key.

      defmodule Chat do
        use Mote.Behaviour

        defactor room(name, members \\\\ []) do
          {:join, member} -> become members: [member | members]
          {:say, text} -> Enum.each(members, &send(&1, {name, text}))
          {customer, :members} -> send customer, length(members)
        end

        defdirectory rooms() do
          name when is_binary(name) -> room(name)
        end
      end

      rooms = Mote.Directory.start(machine, Chat.rooms())
      Mote.Directory.send(rooms, "lobby", {:join, self()})
      Mote.Directory.ask(rooms, "lobby", :members)
      #=> {:ok, 1}

  Keys are any terms, compared as in a map. `defdirectory` says which behaviour belongs to which key (see
  `Mote.Behaviour.defdirectory/2`); without one, a directory has only what `put/3` puts into it. A key has at
  most one actor, even if several senders use it at the same time.

      iex> defmodule Doc.Stock do
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
      iex> {:ok, machine} = Mote.start_link()
      iex> stocks = Mote.Directory.start(machine, Doc.Stock.stocks(1))
      iex> for name <- [:tea, :milk, :tea], do: Mote.Directory.ask!(stocks, name, :take)
      [:taken, :taken, :none_left]
      iex> {:error, error} = Mote.Directory.ask(stocks, "jam", :take)
      iex> {error.reason, Mote.Directory.count(stocks), Mote.Directory.whereis(stocks, :jam)}
      {:unknown_key, 2, nil}

  ## In behaviours

  A directory is a value: a behaviour has it as a capture, or gets it in a message. There

      Mote.Directory.send(rooms, "lobby", message)

  is an effect like `send`. A request is a message with a customer, `{self(), :members}`, as everywhere. The
  other operations are requests to the shard that has the key, `Mote.Directory.shard(rooms, key)`:

  | request | answer |
  |---|---|
  | `{customer, {:to, key, request}}` | the actor's answer, or `{Mote.Directory, :unknown_key}` |
  | `{customer, {:start, key}}` | its address, after starting it if need be, or `nil` |
  | `{customer, {:whereis, key}}` | its address or `nil` |
  | `{customer, {:put, key, address}}` | `:ok` or `{:taken, address}` |
  | `{customer, {:replace, key, old, new}}` | whether the entry was the address `old`, which `new` has replaced |
  | `{customer, {:delete, key}}` | whether the key had an entry |
  | `{customer, {:delete, key, address}}` | whether the entry was that actor; another actor stays |

  ## What is promised

    * **Order.** Messages from one actor or process to one key arrive in the order in which they were sent, on
      any number of threads. Messages to the actor's address take another way, and may come earlier or later.
    * **Failure.** An actor is started in the turn that takes its first message. If that turn is aborted, there is no actor,
      and the next message for the key tries again. `ask/4` returns the error `:aborted` in that case, and if the actor aborts the
      turn that takes the request.
    * **Parallel work.** The entries are spread over shards, which are actors. The threads of a sponsor share them as
      they share all actors, and each starts actors of its own. In a partitioned sponsor (`partition: true`, see
      `Mote.add_sponsor/3`) the hash of a key decides its shard, and the key stays on the thread of that shard. So
      processes that ask for keys of different threads do not wait for each other. With several times as many threads as
      processes that ask at once, two of these seldom want the same thread.
    * **Memory.** A key holds its actor until it is removed. The actors of a directory, and the directory
      itself, are collected when nothing refers to them.

  A message for a key that starts nothing is dropped and counted (`dropped` in `Mote.Counters`).

  ## An actor that ends

  An actor that becomes `sink` stays in the directory, and messages for its key are ignored. So remove it first. An
  actor that removes itself asks its shard, and waits for the answer, since messages that have passed the shard arrive
  before the answer. In the clauses of a `defdirectory`, `self()` is the shard that has the key:

      defactor session(user, shard) do
        :logout -> send shard, {self(), {:delete, user, self()}}
        removed when is_boolean(removed) -> become sink()
        …
      end

      defdirectory sessions() do
        user -> session(user, self())
      end

  After that answer the directory sends it no more messages, and the next one for the key starts another
  actor. So nothing is lost.

  ## In a supervision tree

  A directory belongs to its machine and ends with it. Functions then raise `Mote.Error` with the reason
  `:machine_down`, or return it where they return errors. Under a supervisor with the strategy `:rest_for_one`, a
  child process starts the directory again after a restart of the machine, and gives it a name:

      children = [
        {Mote, name: MyApp.Mote},
        {Mote.Directory, name: MyApp.Rooms, machine: MyApp.Mote, start: Chat.rooms()}
      ]

      Mote.Directory.send(MyApp.Rooms, "lobby", {:say, "hello"})

  If the machine is durable (`{Mote, name: MyApp.Mote, durable: [dir: dir]}`), the same children find the directory with all of its actors
  after each restart.

  Behaviours cannot use names of processes: give them the directory that `fetch!/1` returns.
  """

  import Mote.Internal.Expected, only: [expected!: 2]

  alias Mote.{Address, Ask, Behaviour, Error, Inspection, Machine, Native}
  alias Mote.Behaviour.Directory, as: Definition
  alias Mote.Directory.{Entries, Keeper, States}
  alias Mote.Directory.Place.Plain
  alias Mote.Machine.{Creator, Sending, SponsorOptions, Worker}
  require Worker

  @enforce_keys [:shards]
  defstruct [:shards]

  @shards 64
  @most_shards 65_536

  @typedoc "A directory. Its field is private."
  @type t :: %__MODULE__{shards: tuple}

  @typedoc "A directory, or the name of one that was started by `start_link/1`."
  @type directory :: t | atom

  @doc """
  Starts a directory in a machine and returns it.

  `behaviour` is one that a `defdirectory` defines. Without it, nothing is started on first use. Options:

    * `:shards` - how many actors the entries are spread over (default #{@shards}, at most #{@most_shards}). Sending
      by key is fastest with one shard for about every twenty-four keys: for a million keys it takes a third of the
      time of #{@shards} shards. Processes ask fastest with at most a few hundred shards: a question by one of 300,000 keys
      takes 1.3 µs with #{@shards} and with 512 shards, and 1.9 µs with 12,500. And the value that `start/3` returns contains the address of each shard, some 200
      bytes in a process. So give a directory with many shards a name, which is looked up without copying it;
    * `:sponsor` - pins the shards to a sponsor, so that the actors are started there.

  Raises `Mote.Error` as `Mote.create/3` does, and `ArgumentError` if the behaviour is not that of a directory.
  """
  @spec start(Machine.t(), Behaviour.t(), shards: pos_integer, sponsor: atom) :: t
  def start(machine, behaviour \\ Entries.entries(), opts \\ [])

  def start(machine, %Behaviour{} = behaviour, opts) do
    if not Definition.shard?(behaviour), do: no_definition!(behaviour)

    Inspection.keyword!(opts, "the options of start/3", [:shards, :sponsor])
    {shards, opts} = Keyword.pop(opts, :shards, @shards)

    shards!(shards)
    sponsor = SponsorOptions.option!(opts, "start/3")

    row = machine |> Machine.fetch!() |> Creator.create_row(behaviour, shards, sponsor) |> Error.ok!()
    %__MODULE__{shards: List.to_tuple(row)}
  end

  def start(_machine, other, _opts), do: no_definition!(other)

  @doc false
  @spec shards!(term) :: pos_integer
  def shards!(shards) when is_integer(shards) and shards in 1..@most_shards, do: shards

  def shards!(other), do: expected!(":shards to be an integer from 1 to #{@most_shards}", other)

  @spec no_definition!(term) :: no_return
  defp no_definition!(other), do: expected!("what a defdirectory defines, such as Chat.rooms()", other)

  @doc """
  Returns a child specification, for `{Mote.Directory, name: MyApp.Rooms, …}` in a list of children. The name is its
  id, too.
  """
  @spec child_spec(keyword) :: Supervisor.child_spec()
  def child_spec(opts), do: Keeper.child_spec(opts)

  @doc """
  Starts a process, linked to the calling one, that starts a directory and gives it a name for the functions of this
  module. The name is gone when the process ends, and the process ends when the machine does. The machine may have
  gone on from an image, or from an earlier life, with a directory under that name (see `Mote.names/1`). Then the name
  stands for that directory, whatever `:start` and `:shards` say now. A durable machine stores the name in an image at
  once.

  Options:

    * `:name` - an atom (required);
    * `:machine` - the machine of the directory (required);
    * `:start` - a behaviour that a `defdirectory` defines (default: nothing is started on first use);
    * `:shards`, `:sponsor` - as in `start/3`.

  Raises `ArgumentError` for anything else.
  """
  @spec start_link(keyword) :: GenServer.on_start()
  def start_link(opts), do: Keeper.start_link(opts)

  @doc """
  Returns the directory of that name. Raises `Mote.Error` with the reason `:unknown_directory` if there is none.
  """
  @spec fetch!(directory) :: t
  def fetch!(directory), do: directory |> find() |> Error.ok!()

  defp find(%__MODULE__{} = directory), do: {:ok, directory}

  defp find(name) when is_atom(name) and name not in [nil, true, false] do
    with nil <- Keeper.directory(name),
         do: {:error, Error.from(:unknown_directory, directory: name)},
         else: (directory -> {:ok, directory})
  end

  defp find(other), do: expected!("a directory or the name of one", other)

  @doc """
  Returns the address of the actor to which the requests of a key are sent: see above. In behaviours, too.
  """
  @spec shard(directory, term) :: Address.t()
  def shard(directory, key), do: Plain.shard(fetch!(directory), key)

  @doc """
  Sends a message to the actor of a key, which is started if there is none yet.

  Options, errors and exceptions are those of `Mote.send/3`. With a name, `:unknown_directory` and `:machine_down` are
  returned as errors instead of raised, because both occur while a supervisor restarts a machine and its directory.
  """
  @spec send(directory, term, term, Mote.send_options()) :: :ok | {:error, Error.t()}
  def send(directory, key, message, opts \\ [])

  def send(%__MODULE__{} = directory, key, message, opts),
    do: Sending.send(Plain.shard(directory, key), [key | message], opts)

  def send(name, key, message, opts) do
    with {:ok, directory} <- find(name),
         do: Sending.send_named(Plain.shard(directory, key), [key | message], opts)
  end

  @doc """
  Sends `{customer, request}` to the actor of a key, which is started if there is none yet, and waits for the answer.

  Timeout, options and errors are those of `Mote.ask/3`. There are two more errors: `:unknown_key`, if the key has no
  actor and starts none, and `:unknown_directory`.
  """
  @spec ask(directory, term, term, Ask.options()) :: Ask.result()
  def ask(directory, key, request, timeout_or_opts \\ 5_000) do
    with {:ok, found} <- find(directory),
         :ok <- not_own(found, key, timeout_or_opts),
         {:ok, {__MODULE__, :unknown_key}} <-
           Ask.ask(Plain.shard(found, key), {:ask, key, request}, request, timeout_or_opts),
         do: unknown_key(directory, key)
  end

  defp unknown_key(directory, key), do: {:error, Error.from(:unknown_key, directory: directory, key: key)}

  # A turn of a beam sponsor that asked its own actor would wait for itself.
  defp not_own(directory, key, opts) do
    if Worker.turn?() do
      with {:ok, address} <- Ask.ask(Plain.shard(directory, key), {:whereis, key}, opts) do
        if address, do: Ask.not_own!(address)
        :ok
      end
    else
      :ok
    end
  end

  @doc "Like `ask/4`, but returns the answer itself, and raises `Mote.Error`."
  @spec ask!(directory, term, term, Ask.options()) :: term
  def ask!(directory, key, request, timeout_or_opts \\ 5_000),
    do: Error.ok!(ask(directory, key, request, timeout_or_opts))

  @doc """
  Returns the address of the actor of a key, or `nil` if it has none. Starts nothing.

  Options are those of `Mote.ask/3`, here and in the functions below, which raise `Mote.Error` if the directory does not
  answer.
  """
  @spec whereis(directory, term, Ask.options()) :: Address.t() | nil
  def whereis(directory, key, opts \\ 5_000), do: request(directory, key, {:whereis, key}, opts)

  @doc """
  Returns the state of the actor of a key as of its last turn, like `Mote.peek/1`. Starts nothing: for a key without
  an actor the error is `:unknown_key`.

      iex> defmodule Doc.Peeks do
      ...>   use Mote.Behaviour
      ...>   defactor page(n) do
      ...>     :hit -> become n: n + 1
      ...>   end
      ...>   defdirectory pages() do
      ...>     key when is_binary(key) -> page(0)
      ...>   end
      ...> end
      iex> {:ok, machine} = Mote.start_link()
      iex> pages = Mote.Directory.start(machine, Doc.Peeks.pages())
      iex> Mote.Directory.send(pages, "/", :hit)
      iex> Mote.drain(machine)
      iex> Mote.Directory.peek(pages, "/")
      {:ok, {:page, 1}}
  """
  @spec peek(directory, term) :: {:ok, tuple} | {:error, Error.t()}
  def peek(directory, key) do
    with {:ok, found} <- find(directory) do
      shard = Plain.shard(found, key)

      case Native.peek(shard.machine, shard.key, key) do
        seen when is_tuple(seen) -> {:ok, seen}
        nil -> unknown_key(directory, key)
        _busy -> look(directory, shard, key)
      end
    end
  end

  # The thread of the shard is awake, or that of the actor is another one.
  defp look(directory, shard, key) do
    with {:ok, address} <- Ask.ask(shard, {:whereis, key}),
         do: if(address, do: Inspection.peek(address), else: unknown_key(directory, key))
  end

  @doc "Returns the address of the actor of a key, which is started if there is none yet; `nil` if the key starts none."
  @spec start_actor(directory, term, Ask.options()) :: Address.t() | nil
  def start_actor(directory, key, opts \\ 5_000), do: request(directory, key, {:start, key}, opts)

  @doc """
  Puts an actor into the directory. If the key has an actor already, returns `{:error, error}` with the reason
  `:key_taken`, and `error.context.address` is that actor.
  """
  @spec put(directory, term, Address.t(), Ask.options()) :: :ok | {:error, Error.t()}
  def put(directory, key, address, opts \\ 5_000)

  def put(directory, key, %Address{} = address, opts) do
    with {:taken, address} <- request(directory, key, {:put, key, address}, opts),
         do: {:error, Error.from(:key_taken, directory: directory, key: key, address: address)}
  end

  def put(_directory, _key, other, _opts),
    do: expected!("the address of an actor to put into a directory", other)

  @doc """
  Removes a key. Returns whether it had an actor.

  The actor itself lives on as long as something refers to it, and gets the messages that were sent to it
  before. With an address, only an entry for that actor is removed.
  """
  @spec delete(directory, term, Address.t() | nil, Ask.options()) :: boolean
  def delete(directory, key, address \\ nil, opts \\ 5_000)
  def delete(directory, key, nil, opts), do: request(directory, key, {:delete, key}, opts)
  def delete(directory, key, address, opts), do: request(directory, key, {:delete, key, address}, opts)

  @doc "Returns the number of entries. It asks the shards one by one."
  @spec count(directory, Ask.options()) :: non_neg_integer
  def count(directory, opts \\ 5_000), do: directory |> shards(:count, opts) |> Enum.sum()

  @doc """
  Returns a stream of all `{key, address}`, in no particular order.

  The shards are asked one by one, as the stream comes to them. Each returns its entries of that moment.

  The address of each actor leaves the machine. With 100,000 keys that takes some 2,000 ns a key, and 3,500 and more
  if you keep all of them in a list. So ask each actor as the stream comes to it, and keep the answer. `fold/4` shows
  the states in a tenth of the time:

      for {key, actor} <- Mote.Directory.stream(rooms), {:ok, n} <- [Mote.ask(actor, :members)], do: {key, n}
  """
  @spec stream(directory, Ask.options()) :: Enumerable.t()
  def stream(directory, opts \\ 5_000), do: directory |> shards(:all, opts) |> Stream.flat_map(& &1)

  @doc """
  Folds over all keys and the states of their actors: `fun` gets a key, a state as `peek/2` shows it, and the
  accumulator.

      iex> defmodule Doc.Votes do
      ...>   use Mote.Behaviour
      ...>   defactor tally(n) do
      ...>     :vote -> become n: n + 1
      ...>   end
      ...>   defdirectory tallies() do
      ...>     name when is_atom(name) -> tally(0)
      ...>   end
      ...> end
      iex> {:ok, machine} = Mote.start_link()
      iex> votes = Mote.Directory.start(machine, Doc.Votes.tallies())
      iex> for name <- [:ann, :bob, :ann], do: Mote.Directory.send(votes, name, :vote)
      iex> Mote.drain(machine)
      iex> Mote.Directory.fold(votes, 0, fn _name, {:tally, n}, sum -> sum + n end)
      3

  Use it for admin pages and for metrics: the machine goes on meanwhile, and nothing is sent to the actors. Each state
  is whole, as of its actor's last turn, but they are not of one moment. A key that is present all the time comes
  once, in no particular order. A key that is added or removed meanwhile may come or not.

  A million small actors take some 0.2 s. The fold reads up to 256 actors at a time, and keeps a sleeping thread
  asleep for some 50 µs meanwhile. An awake thread shows its actors itself between two turns. Large actors, and actors
  on another thread than their shard, are read one by one, as by `peek/2` and within its limits, which takes a few
  microseconds each.

  `:timeout` is how long an awake thread may take for each part, in milliseconds (5000). Raises `Mote.Error` if it
  takes longer, or if the machine is down.
  """
  @spec fold(directory, acc, (key :: term, state :: tuple, acc -> acc), timeout: timeout) :: acc
        when acc: term
  def fold(directory, acc, fun, opts \\ []) when is_function(fun, 3) do
    Inspection.keyword!(opts, "the options of fold/4", [:timeout])
    found = fetch!(directory)
    States.fold(Tuple.to_list(found.shards), found, acc, fun, Keyword.get(opts, :timeout, 5_000))
  end

  @doc """
  Returns `{key, state}` of the actors for which `fun`, given both, returns a truthy value. Otherwise as `fold/4`.

      Mote.Directory.select(carts, fn _user, {:cart, items} -> length(items) > 100 end)
  """
  @spec select(directory, (key :: term, state :: tuple -> as_boolean(term)), timeout: timeout) :: [
          {term, tuple}
        ]
  def select(directory, fun, opts \\ []) when is_function(fun, 2) do
    fold(directory, [], &if(fun.(&1, &2), do: [{&1, &2} | &3], else: &3), opts)
  end

  defp shards(directory, request, opts) do
    directory = fetch!(directory)
    directory.shards |> Tuple.to_list() |> Stream.map(&Ask.ask!(&1, request, opts))
  end

  defp request(directory, key, request, opts), do: Ask.ask!(shard(directory, key), request, opts)

  defimpl Inspect do
    def inspect(%{shards: shards}, _opts) when tuple_size(shards) > 0 do
      "#Mote.Directory<#{tuple_size(shards)} shards, the first is #{Kernel.inspect(elem(shards, 0))}>"
    end

    def inspect(_other, _opts), do: "#Mote.Directory<?>"
  end
end
