defmodule Mote.Inspection do
  @moduledoc """
  Inspection of a running machine. `Mote.info/1`, `Mote.top/2`, `Mote.behaviours/2`, `Mote.waiting/2` and
  `Mote.graph/2` lead here.

  An actor has 16 bytes, and no counters among them. So nothing is recorded while a machine works; answers are
  computed on demand:

  | question | how it is answered | what it costs |
  |---|---|---|
  | `peek(address)` | by the caller, while that thread sleeps; otherwise as `info(address)` | nothing is stopped |
  | `fold(machine, behaviour, acc, fun)` | in the same way, by the threads that own the actors | nothing is stopped but for a collection before; threads are held up some 100 µs at a time |
  | `info(address)` | by the thread that owns the actor, between two turns | nothing is stopped; a look at that thread's queue, and a walk over what the actor holds |
  | `top(machine, by: :queued)` | by a look at all queues | the machine stands still meanwhile: a millisecond for a million events, or so |
  | `top(machine, by: :bytes)`, `behaviours(machine)` | by a walk over everything that can be reached | the machine stands still meanwhile: as long as a collection takes, or several times as long |
  | `top(machine, by: :turns)`, `behaviours(machine)` | turns are counted for a while | turns take longer meanwhile; two short stops |
  | `waiting(machine)` | by a walk over everything that can be reached, for customers | as for `:bytes` |
  | `graph(address)` | by a walk from that actor | the machine stands still meanwhile: microseconds for small graphs |

  A machine stands still between two turns, so the answer is complete and describes one moment. A long turn
  delays it; the caller waits up to `:timeout` milliseconds (5000). Until something is asked, all of this
  costs nothing.

  ## Words

    * **queued**: events that wait for an actor, busy or not. Nothing is parked on actors themselves: events are in the
      queues and inboxes of threads.
    * **bytes**: what an actor holds: its record of 16 bytes, its captures, and everything that these reach without
      passing another actor; binaries of more than 256 bytes, which are elsewhere, included. Where several
      actors hold the same value, `info/1` counts it for each that is asked. A walk over the whole machine
      counts it for one of them, so the sum is the total.
  """

  import Mote.Internal.Expected, only: [expected!: 2]

  alias Mote.{Address, Error, Far, Graph, Machine, Native}
  alias Mote.Machine.Question

  @timeout 5_000
  @top 10
  @waiting 100
  @while 200
  # How long a watch goes on when nobody ends it.
  @forgotten 10_000

  @typedoc "Module, name and number of captures; `:sink` for the behaviour that ignores everything, `:socket` and `:listener` for sockets."
  @type behaviour :: {module, atom, non_neg_integer} | :sink | :socket | :listener

  @doc """
  Returns information about one actor: see `Mote.info/1`.
  """
  @spec info(Address.t()) :: map
  def info(%Address{} = address) do
    if Far.far?(address) do
      Far.create!(node(address.machine), :info, [address], @timeout)
    else
      {info, _written} = near(address)
      info
    end
  end

  # And how many of its captures are written: what it has stashed is behind them.
  defp near(%{machine: machine, key: key} = address) do
    case Question.put(machine, @timeout, [address: address], &Native.actor_info(machine, key, &1)) do
      {:ok, {{behaviour, written}, {sponsor, thread}, pinned, {queued, bytes, complete}}} ->
        info = %{
          address: address,
          machine: Native.machine_owner(machine),
          behaviour: behaviour,
          busy: queued > 0,
          queued: queued,
          sponsor: sponsor,
          thread: thread,
          pinned: pinned,
          bytes: bytes,
          complete: complete
        }

        {info, written}

      {:error, error} ->
        raise error
    end
  end

  @doc """
  Returns an actor's state as of its last turn: see `Mote.peek/1`.
  """
  @spec peek(Address.t()) :: {:ok, tuple} | {:error, Error.t()}
  def peek(%Address{machine: machine, key: key} = address) do
    case Native.peek(machine, key) do
      seen when is_tuple(seen) -> {:ok, seen}
      _busy -> look(address)
    end
  end

  def peek(other), do: expected!("the address of an actor to peek at", other)

  # The thread is awake, the actor holds much, or lives elsewhere.
  defp look(address) do
    if Far.far?(address) do
      Far.create!(node(address.machine), :peek, [address], @timeout)
    else
      case near(address) do
        {%{behaviour: %{name: name, captures: captures}}, written} ->
          {:ok, List.to_tuple([name | captures |> Tuple.to_list() |> Enum.take(written)])}

        {%{behaviour: :sink}, _} ->
          {:ok, {:sink}}
      end
    end
  rescue
    error in Error -> {:error, error}
  end

  @doc """
  Lists the actors with the greatest figures of some kind, the greatest first.

  Options:

    * `:by` - `:turns` (the default), `:queued`, `:bytes`, `:running`, `:bytes_in` or `:bytes_out`;
    * `:n` - how many (default #{@top});
    * `:for` - for `:turns`, how many milliseconds they are counted (default #{@while});
    * `:timeout` - milliseconds to wait for the machine, each time (default #{@timeout}).

  Returns a list of maps of `address`, `behaviour` (module, name, number of captures) and the figure, under
  the name given as `:by`. While it counts turns it keeps a table of 4,096 actors for each thread. If more
  actors run, figures can be too low, by one for each 4,096 turns of that thread at most. An actor with more
  turns than that is never missed. Turns of sponsors that are removed meanwhile are not counted. An actor that
  is in the result lives as long as the result does.

  `:running` shows which actors block: the turns that run in beam sponsors, with the milliseconds that they
  have been running, and their `sponsor`. It asks no thread of the machine. `:queued` says how many events
  wait for them. `:bytes_in` and `:bytes_out` show the sockets by which most bytes have come and gone since they were opened.

  Raises `Mote.Error` when the machine is not running or does not come to it in time.

      iex> {:ok, machine} = Mote.start_link()
      iex> Mote.top(machine, by: :bytes)
      []
  """
  @spec top(Machine.t(), keyword) :: [map]
  def top(machine, opts \\ []) do
    opts = options!(opts, "top/2", by: :turns, n: @top, for: @while, timeout: @timeout)
    n = count!(opts, :n, "top/2")

    case opts[:by] do
      :queued ->
        figures(:queued, ask!(machine, opts, &Native.machine_awaited(&1, n, &2)))

      :bytes ->
        {_populations, greatest} = ask!(machine, opts, &Native.machine_census(&1, n, &2))
        figures(:bytes, greatest)

      by when by in [:bytes_in, :bytes_out] ->
        figures(by, ask!(machine, opts, &Native.machine_sockets(&1, n, by == :bytes_out, &2)))

      :turns ->
        {_turns, _lost, _behaviours, actors} = watch(machine, n, opts, "top/2")
        figures(:turns, actors)

      :running ->
        running(machine, n)

      other ->
        expected!(":by of top/2 to be :turns, :queued, :bytes, :running, :bytes_in or :bytes_out", other)
    end
  end

  @doc """
  Lists the behaviours that are alive in a machine, the most frequent first.

  Returns a list of maps: `behaviour` (module, name, number of captures; versions of one module together),
  `actors`, how many have it now, `older`, how many of these have another version than the machine would create today, `bytes`, what
  they hold, and `turns`, how many they ran in the last `:for` milliseconds.

  Options: `:for` (default #{@while}; 0 counts no turns and does not wait) and `:timeout`, as for `top/2`. A behaviour
  that ran turns but has no actors any more is listed as well.

      iex> {:ok, machine} = Mote.start_link()
      iex> Mote.behaviours(machine, for: 0)
      []
  """
  @spec behaviours(Machine.t(), keyword) :: [map]
  def behaviours(machine, opts \\ []) do
    opts = options!(opts, "behaviours/2", for: @while, timeout: @timeout)

    turns =
      case count!(opts, :for, "behaviours/2") do
        0 -> []
        _ -> machine |> watch(0, opts, "behaviours/2") |> elem(2)
      end

    {populations, _} = ask!(machine, opts, &Native.machine_census(&1, 0, &2))
    alive = for {name, actors, bytes, older} <- populations, do: {name, actors, older, bytes, 0}
    ran = for {name, turns} <- turns, do: {name, 0, 0, 0, turns}

    (alive ++ ran)
    |> Enum.group_by(&elem(&1, 0))
    |> Enum.map(fn {name, parts} ->
      [actors, older, bytes, turns] = for at <- 1..4, do: parts |> Enum.map(&elem(&1, at)) |> Enum.sum()
      %{behaviour: behaviour(name), actors: actors, older: older, bytes: bytes, turns: turns}
    end)
    |> Enum.sort_by(&{-&1.actors, -&1.turns, &1.behaviour})
  end

  @doc """
  Returns the actors that can be reached from one, and the captures by which they can, as a `Mote.Graph`.

  Options:

    * `:depth` - how many steps away (default 3);
    * `:limit` - how many actors at most (default 100);
    * `:timeout` - as for `top/2`.

  Raises `Mote.Error` as `Mote.info/1` does.
  """
  @spec graph(Address.t(), keyword) :: Graph.t()
  def graph(address, opts \\ [])

  def graph(%Address{machine: machine, key: key} = address, opts) do
    opts = options!(opts, "graph/2", depth: 3, limit: 100, timeout: @timeout)
    depth = count!(opts, :depth, "graph/2")
    limit = max(count!(opts, :limit, "graph/2"), 1)

    case Question.put(
           machine,
           opts[:timeout],
           [address: address],
           &Native.actor_graph(machine, key, depth, limit, &1)
         ) do
      {:ok, {nodes, edges, truncated}} ->
        %Graph{
          nodes:
            for {{address, name}, id} <- Enum.with_index(nodes) do
              %{id: id, address: address, behaviour: behaviour(name)}
            end,
          edges: for({from, capture, to} <- edges, do: %{from: from, capture: capture, to: to}),
          truncated: truncated
        }

      {:ok, :unknown} ->
        raise Error.from(:unknown, address: address)

      {:error, error} ->
        raise error
    end
  end

  def graph(other, _opts), do: expected!("the address of an actor to begin with", other)

  @doc false
  # The milliseconds that `top/2` and `behaviours/2` may take with these options, which the node of the machine checks.
  @spec patience(term) :: timeout
  def patience(opts) do
    opts = if Keyword.keyword?(opts), do: opts, else: []

    case {Keyword.get(opts, :for, @while), Keyword.get(opts, :timeout, @timeout)} do
      {_while, :infinity} -> :infinity
      {while, timeout} when is_integer(while) and is_integer(timeout) -> min(while + 3 * timeout, 0xFFFFFFFF)
      _ -> @timeout
    end
  end

  @doc """
  Lists the actors that keep callers waiting: they have customers of questions. The oldest question comes first.

  Takes a machine, for all open questions; the result of `Mote.async/3`, for that question; or the `Mote.Error` with
  the reason `:timeout` of a question that was given up. Returns a list of maps:

    * `address` and `behaviour` of an actor that has a customer;
    * `held` - where: `:state`, in the actor's captures; `:message`, in a message that waits for it; `:timer`, in a
      message that a timer will send to it; `:running`, in the message of its turn that runs in a beam sponsor;
    * `asker` - the process that waits, and `age`, for how many milliseconds; of a question that was given up, since it was asked.

  An actor appears once for each customer that it has. If a question has no actor at all, nobody is left who could answer, or an
  answer is on its way.

  Options: `:n` - how many entries at most (default 100); `:timeout`, as for `top/2`. The machine stands still meanwhile, as for
  `top(machine, by: :bytes)`. Raises `Mote.Error` as `top/2` does, and `ArgumentError` for a question to another node: call it
  there, with the machine.

      iex> defmodule Doc.Keeper do
      ...>   use Mote.Behaviour
      ...>   defactor keeper(kept) do
      ...>     {customer, :never} -> become keeper([customer | kept])
      ...>   end
      ...> end
      iex> {:ok, machine} = Mote.start_link()
      iex> keeper = Mote.create(machine, Doc.Keeper.keeper([]))
      iex> {:error, error} = Mote.ask(keeper, :never, timeout: 20)
      iex> for kept <- Mote.waiting(error), do: {kept.address == keeper, kept.behaviour, kept.held}
      [{true, {Doc.Keeper, :keeper, 1}, :state}]
      iex> Mote.waiting(machine)
      []
  """
  @spec waiting(Machine.t() | Mote.Ask.t() | Error.t(), keyword) :: [map]
  def waiting(what, opts \\ []) do
    opts = options!(opts, "waiting/2", n: @waiting, timeout: @timeout)
    n = count!(opts, :n, "waiting/2")

    for {address, name, held, asker, age} <- customers(what, n, opts) do
      %{address: address, behaviour: behaviour(name), held: held, asker: asker, age: age}
    end
  end

  defp customers(%Mote.Ask{address: address, asker: asker}, n, opts) when is_reference(asker),
    do: customers(address, asker, n, opts)

  defp customers(%Error{reason: :timeout, context: %{address: address, question: asker}}, n, opts),
    do: customers(address, asker, n, opts)

  defp customers(other, _n, _opts) when is_struct(other),
    do: expected!("a machine, a question to an actor of this node, or the error of one that timed out", other)

  defp customers(machine, n, opts), do: ask!(machine, opts, &Native.machine_waiting(&1, nil, n, &2))

  defp customers(%Address{machine: native}, asker, n, opts) do
    context = [machine: Native.machine_owner(native), survey: true]

    ask = &Native.machine_waiting(native, asker, n, &1)
    native |> Question.put(opts[:timeout], context, ask) |> Error.ok!()
  end

  defp watch(machine, n, opts, function) do
    while = count!(opts, :for, function)
    id = :erlang.unique_integer([:positive])
    :ok = ask!(machine, opts, &Native.machine_watch(&1, id, while + @forgotten, &2))
    Process.sleep(while)
    ask!(machine, opts, &Native.machine_watched(&1, id, n, &2))
  end

  defp ask!(machine, opts, ask) do
    with {:ok, native} <- Machine.fetch(machine),
         {:ok, answer} <-
           Question.put(native, opts[:timeout], [machine: machine, survey: true], &ask.(native, &1)) do
      answer
    else
      {:error, %Error{} = error} -> raise error
    end
  end

  defp running(machine, n) do
    with {:ok, native} <- Machine.fetch(machine),
         turns when is_list(turns) <- Native.machine_blocking(native, n) do
      for {address, name, sponsor, age} <- turns do
        %{running: age, address: address, behaviour: behaviour(name), sponsor: sponsor}
      end
    else
      {:error, %Error{} = error} -> raise error
      :stopped -> raise Error.from(:stopped, machine: machine)
    end
  end

  defp figures(by, found) do
    for {address, name, figure} <- found do
      %{by => figure, address: address, behaviour: behaviour(name)}
    end
  end

  # Without a module are those that the machine has itself: the sink, and sockets.
  defp behaviour({nil, name, _}), do: name
  defp behaviour(name), do: name

  defp options!(opts, function, known) do
    Keyword.merge(known, keyword!(opts, "the options of #{function}", Keyword.keys(known)))
  end

  @doc false
  # A keyword list of known keys, each of them once; raises `ArgumentError`.
  @spec keyword!(term, String.t(), [atom]) :: keyword
  def keyword!(opts, what, known) do
    unless Keyword.keyword?(opts), do: expected!("#{what} to be a keyword list", opts)

    with [key | _] <- Keyword.keys(opts) -- known do
      if key in known,
        do: raise(ArgumentError, "expected each key once in #{what}, got #{inspect(key)} twice"),
        else:
          raise(
            ArgumentError,
            "unknown key #{inspect(key)} in #{what}; there are #{Enum.map_join(known, ", ", &inspect/1)}"
          )
    end

    opts
  end

  defp count!(opts, key, function) do
    case opts[key] do
      n when is_integer(n) and n in 0..0xFFFFFFFF ->
        n

      other ->
        expected!("#{inspect(key)} of #{function} to be an integer from 0", other)
    end
  end
end
