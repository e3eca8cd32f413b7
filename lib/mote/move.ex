defmodule Mote.Move do
  # Moves actors to other machines. `Mote.Move.Ways` is what they are meanwhile, native/mote_vm/src/machine/moving.rs what the
  # machine does for it.
  #
  # 1. Whoever moves an actor is a process of its own: the caller may be killed at any moment, and the actor is not left behind
  #    half way.
  # 2. An actor is held, made again over there, and sends on from then: or it is again what it was, and takes up what had come
  #    meanwhile. At no moment two actors run.
  # 3. The move is over when all that had waited for the old address has arrived. So what is sent to the new one comes later. Whether it
  #    has is asked by a request that no bound refuses, however full the old sponsor is.
  # 4. An actor that is held knows by which move, and only that one lets it go on. One that has given up waiting for the actor
  #    lets go of it in case it was held nevertheless.
  # 5. An old address that is moved sends straight to the new place afterwards: so moves by one address make no chain. The order
  #    stays, since it is held meanwhile: see `shorten/5`.
  # 6. It is made again only after the machine's mail that it had before is sent (`tell_last` in native/mote_nif/src/deliver/mail.rs).
  #    So what it has sent to processes of this node comes first.
  # 7. A caller waits no longer than its timeout. An actor that is not held by then stays. A move that holds it goes on to its end
  #    without the caller: only that move can let go of it.
  @moduledoc false

  alias Mote.{Address, Behaviour, Error, Far, Inspection, Library, Machine, Native}
  alias Mote.Machine.{Creator, Loader, Long, Question, Request, SponsorOptions}
  alias Mote.Move.{Landing, Ways}

  @timeout 5_000

  # Milliseconds until the next try where there was no memory, and how often an actor tries to go on.
  @again 100
  @times 10

  @type options :: [sponsor: atom, timeout: timeout]

  @typedoc "The outcome for an actor that was to go on: a word says why it has not."
  @type went :: :ok | atom | {:error, Error.t()}

  @doc "See `Mote.move/3`."
  @spec move(Address.t(), Machine.t(), options) :: {:ok, Address.t()} | {:error, Error.t()}
  def move(%Address{} = address, machine, opts) do
    # Before the other node takes anything in: if that node goes, the keys of this one are searched.
    if not Far.far?(address) and node_of(machine) != node() and not abroad?(),
      do: :persistent_term.put({__MODULE__, :abroad}, true)

    hand_over(address, machine, opts)
  end

  def move(other, _machine, _opts) do
    raise ArgumentError, "expected the address of an actor to move, got: #{inspect(other)}"
  end

  @doc "Returns whether a program has ever moved an actor of this node to another node: so a key of shards may lead to there."
  @spec abroad?() :: boolean
  def abroad?, do: :persistent_term.get({__MODULE__, :abroad}, false)

  @doc "Does the same for shards, whose keys do not lead to the old address afterwards."
  @spec hand_over(Address.t(), Machine.t(), options) :: {:ok, Address.t()} | {:error, Error.t()}
  def hand_over(address, machine, opts) do
    Inspection.keyword!(opts, "the options of move/3", [:sponsor, :timeout])
    opts = Keyword.put_new(opts, :timeout, @timeout)
    Question.timeout!(opts[:timeout])
    SponsorOptions.option!(Keyword.delete(opts, :timeout), "move/3")

    moved = if Far.far?(address), do: elsewhere(address, machine, opts), else: apart(address, machine, opts)
    with {:error, error} <- moved, do: {:error, named(error, machine)}
  end

  defp node_of({_name, node}), do: node
  defp node_of(%Machine{pid: pid}), do: node(pid)
  defp node_of(pid) when is_pid(pid), do: node(pid)
  defp node_of(_name), do: node()

  # With the machine that the actor was to move to.
  defp named(
         %{reason: :unknown_sponsor, context: %{sponsor: sponsor, known: [first | _] = known}} = error,
         to
       ) do
    %{
      error
      | message:
          "#{label(to)} has no sponsor #{inspect(sponsor)}, only #{Enum.map_join(known, ", ", &inspect/1)}: move the actor to one of " <>
            "them, as with sponsor: #{inspect(first)}, or add #{inspect(sponsor)} on that node with Mote.add_sponsor/3"
    }
  end

  defp named(%{reason: :machine_down, context: %{machine: _}} = error, name) when is_atom(name) do
    %{
      error
      | message:
          "no machine of the name #{inspect(name)} is running on #{node()}: start it, or write {#{inspect(name)}, node} for that of " <>
            "another node"
    }
  end

  defp named(error, _machine), do: error

  defp label({name, node}) when is_atom(name) and is_atom(node), do: "#{inspect(name)} on #{node}"
  defp label(%Machine{pid: pid} = machine), do: "#{Machine.label(machine)} on #{node(pid)}"
  defp label(pid) when is_pid(pid), do: "#{inspect(pid)} on #{node(pid)}"
  defp label(machine), do: "#{inspect(machine)} on #{node()}"

  # Machines that are given by a name alone are those of this node.
  defp elsewhere(address, machine, opts) do
    machine =
      if is_atom(machine) and machine != nil,
        do: {machine, node()},
        else: machine

    deadline = Question.deadline(opts[:timeout])
    between = node(address.machine)

    with {:ok, new} <- Far.create_own!(between, :move, [address, machine, opts], opts[:timeout]),
         do: {:ok, held(new, between, Question.left(deadline))}
  rescue
    error in Error ->
      where = " on #{node(address.machine)}, if that node can be reached"
      {:error, if(error.reason == :timeout, do: late(address, opts, where), else: error)}
  end

  # An address that has come by way of a third node holds nothing any more once that node is gone.
  defp held(new, between, _left) when node(new.machine) in [node(), between], do: new

  defp held(new, _between, left) do
    {:ok, kept} = Far.create_own!(node(new.machine), :keep, [new], left)
    kept
  rescue
    Error -> new
  end

  defp apart(address, machine, opts) do
    deadline = Question.deadline(opts[:timeout])
    tag = :erlang.alias([:reply])
    held = fn -> send(tag, {tag, :held}) end

    {_pid, ref} = spawn_monitor(fn -> exit({:shutdown, {:moved, try_move(address, machine, opts, held)}}) end)

    receive do
      {^tag, :held} ->
        moved(ref, address, opts, Question.left(deadline))

      # It has given up waiting itself.
      {:DOWN, ^ref, :process, _, reason} ->
        :erlang.unalias(tag)
        ended(reason)
    end
  end

  defp moved(ref, address, opts, left) do
    receive do
      {:DOWN, ^ref, :process, _, reason} -> ended(reason)
    after
      left ->
        Process.demonitor(ref, [:flush])
        {:error, late(address, opts, "")}
    end
  end

  defp ended({:shutdown, {:moved, {:raise, error}}}), do: raise(error)
  defp ended({:shutdown, {:moved, moved}}), do: moved
  defp ended(reason), do: exit(reason)

  defp late(address, opts, where) do
    message =
      "the move was not over within #{opts[:timeout]} ms, and goes on#{where}: the actor moves, or stays where it is if it " <>
        "cannot move. Its address reaches it in either case"

    Error.new(:timeout, message, address: address, timeout: opts[:timeout])
  end

  defp try_move(address, machine, opts, held) do
    run(%{address | sponsor: nil}, machine, opts, held)
  rescue
    error in Error -> {:error, error}
    # A mistake of the caller.
    error -> {:raise, error}
  end

  defp run(address, machine, opts, held) do
    deadline = Question.deadline(opts[:timeout])
    hold = new_hold()

    with {:ok, was} <- hold(address, hold, opts[:timeout]) do
      held.()
      go_from(address, hold, was, machine, Keyword.put(opts, :timeout, Question.left(deadline)))
    end
  end

  # It has moved before: whoever is there now goes on.
  defp go_from(address, hold, %Behaviour{module: Ways, name: :onward, captures: {to}}, machine, opts) do
    go_back([address], hold)

    with {:ok, there} <- there(address, to),
         {:ok, new} <- hand_over(there, machine, opts) do
      shorten(address, there, new, machine, opts)
      {:ok, new}
    end
  end

  defp go_from(address, hold, was, machine, opts),
    do: carry(address, hold, was, machine, Keyword.take(opts, [:sponsor]))

  # What an old address sends on goes straight to the new place from now on. All that it has sent to the place between comes first: that
  # place sends to the new one itself, and the old address is held until the last of it has arrived. Whether it has is asked by an actor of
  # the same machine, so behind all that waits for another node (invariant 6). Where anything is in the way, the long way stays.
  defp shorten(address, between, new, machine, opts) do
    hold = new_hold()

    # The new address has come by way of the place between, and holds nothing any more once that node is gone.
    with {:ok, kept} <- Mote.keep(new),
         [witness] = create!(machine, [Ways.witness()], []),
         {:ok, was} <- hold(address, hold, opts[:timeout]) do
      # Other moves of either may have come in between.
      arrived =
        with %Behaviour{module: Ways, name: :onward, captures: {^between}} <- was,
             {:ok, [behind]} <- Creator.create_many(address.machine, [Library.fwd(between)], nil),
             do: Request.put(behind, {__MODULE__, :passed, witness}, :infinity)

      if arrived != {:ok, new} or go_on(address, hold, kept) != :ok, do: go_back([address], hold)
    end
  rescue
    Error -> :ok
  end

  @doc """
  Has an old address hold the place again that it sends on to: another node lets go of whatever was held by a connection that
  has ended. Returns `:there`, or `:held` if it is to be tried again.
  """
  @spec renew(Address.t(), Address.t()) :: :there | :held
  def renew(address, to) do
    hold = new_hold()

    with {:ok, was} <- hold(address, hold, @timeout) do
      with %Behaviour{module: Ways, name: :onward, captures: {^to}} <- was,
           {:ok, kept} <- Mote.keep(to),
           :ok <- go_on(address, hold, kept) do
        :there
      else
        _ ->
          go_back([address], hold)
          :held
      end
    else
      {:error, %Error{reason: reason}} when reason in [:timeout, :not_movable] -> :held
      {:error, _error} -> :there
    end
  end

  @doc "Makes the mark by which one move holds its actors."
  @spec new_hold() :: {tuple, non_neg_integer}
  def new_hold, do: {ways(:held), rem(System.unique_integer([:positive]), 0x1_0000_0000)}

  defp carry(address, hold, was, machine, opts) do
    [new, witness] = create!(machine, [was, Ways.witness()], opts)

    case go_on(address, hold, new) do
      :ok -> passed(address, new, witness)
      {:error, error} -> raise error
      word -> raise Error.from(word, address: address)
    end
  rescue
    error ->
      go_back([address], hold)
      reraise error, __STACKTRACE__
  end

  @doc "Creates actors where they move to; raises `Mote.Error`."
  @spec create!(Machine.t(), [Behaviour.t()], sponsor: atom) :: [Address.t()]
  # The process of a machine of another node stands for it.
  def create!(%Machine{pid: pid}, behaviours, opts), do: create!(pid, behaviours, opts)

  def create!(pid, behaviours, opts) when is_pid(pid) and node(pid) != node(),
    do: land!(node(pid), pid, behaviours, opts)

  def create!({_name, node} = machine, behaviours, opts) when is_atom(node) and node not in [nil, node()],
    do: land!(node, machine, behaviours, opts)

  def create!(machine, behaviours, opts), do: Mote.create_many(machine, behaviours, opts)

  defp land!(node, machine, behaviours, opts),
    do: Far.create_own!(node, :land, [machine, behaviours, Landing.stashing(behaviours), opts])

  # What the old address had still to send on has arrived. If that way has ended, the new node is asked itself.
  defp passed(address, new, witness) do
    case Request.put(address, {__MODULE__, :passed, witness}, :infinity) do
      {:ok, ^new} -> {:ok, new}
      _ -> there(address, new)
    end
  end

  @doc "The place that an actor has moved to, if it is there."
  @spec there(Address.t(), Address.t()) :: {:ok, Address.t()} | {:error, Error.t()}
  def there(address, to) do
    with {:error, error} <- Mote.keep(to) do
      message = "the actor has moved to #{node(to.machine)}, where it cannot be reached: #{error.message}"
      {:error, Error.new(error.reason, message, address: address, moved: to)}
    end
  end

  # -- the machine's part --------------------------------------------------------------------------------------

  @doc "Holds an actor of this node between two turns; returns what it was."
  @spec hold(Address.t(), tuple, timeout) :: {:ok, Behaviour.t()} | {:error, Error.t()}
  # Where the answer may have come too late, of an actor that is held, nobody waits until it has time to say so.
  def hold(address, hold, timeout) do
    with {:error, %Error{reason: :timeout}} = error <- try_hold(address, hold, timeout) do
      let_go([address], hold)
      error
    end
  end

  defp try_hold(%{machine: native, key: key} = address, hold, timeout) do
    with :ok <- loaded(native, address),
         {:ok, answer} <-
           Question.put(native, timeout, [address: address], &Native.actor_hold(native, key, hold, &1)) do
      case answer do
        %Behaviour{} = was -> {:ok, was}
        word -> {:error, stays(word, address)}
      end
    end
  end

  @doc "Has a machine know what actors are while they move."
  @spec loaded(reference, Address.t()) :: :ok | {:error, Error.t()}
  def loaded(native, address) do
    with {:error, %Error{reason: :machine_down}} <- Loader.load(native, Ways),
         do: {:error, Error.from(:stopped, address: address)}
  rescue
    ArgumentError -> {:error, Error.from(:unknown, address: address)}
  end

  @doc "An actor that is held so sends on from now on. Returns `:ok`, a word that says why not, or an error."
  @spec go_on(Address.t(), tuple, Address.t()) :: went
  def go_on(address, hold, to), do: hd(go_on_all([{address, to}], hold))

  @doc "Does the same for several actors of one machine, each with its new place."
  @spec go_on_all([{Address.t(), Address.t()}], tuple) :: [went]
  def go_on_all(pairs, hold),
    do: become_all(for({address, to} <- pairs, do: {address, {to}}), hold, ways(:onward), @times)

  @doc "Does the same for another behaviour, as the machine takes it, with those captures."
  @spec become(Address.t(), tuple, tuple, tuple) :: went
  def become(address, hold, behaviour, captures),
    do: hd(become_all([{address, captures}], hold, behaviour, @times))

  @doc "Actors of one machine that are held so are again what they were."
  @spec go_back([Address.t()], tuple) :: [went]
  def go_back(addresses, hold),
    do: become_all(for(address <- addresses, do: {address, {}}), hold, nil, :infinity)

  @doc """
  The same for those that may be held so by now or a little later. They are told before this returns, so before another move of theirs
  holds them; and nobody waits until they have time.
  """
  @spec let_go([Address.t()], tuple) :: :ok
  def let_go([], _hold), do: :ok

  def let_go(addresses, hold) do
    next(for(address <- addresses, do: {address, {}}), hold, nil, 0)
    spawn(fn -> go_back(addresses, hold) end)
    :ok
  end

  # Memory comes back. A machine that is down has no actors.
  defp become_all([], _hold, _behaviour, _times), do: []

  defp become_all(actors, hold, behaviour, times) do
    went = next(actors, hold, behaviour, :infinity)
    again = for {actor, :no_memory} <- Enum.zip(actors, went), do: actor

    if again == [] or times == 0 do
      went
    else
      Process.sleep(@again)
      later = become_all(again, hold, behaviour, if(times == :infinity, do: times, else: times - 1))
      went |> Enum.map_reduce(later, &later/2) |> elem(0)
    end
  end

  defp later(:no_memory, [went | later]), do: {went, later}
  defp later(went, later), do: {went, later}

  defp next([{%{machine: native} = first, captures} | _] = actors, hold, behaviour, timeout) do
    given = for {%{key: key}, captures} <- actors, do: {key, captures}
    put = &Question.put(native, timeout, [address: first], &1)

    went =
      with {:ok, [word]} when word in [:big, :long] <-
             put.(&Native.actors_go_on(native, given, hold, behaviour, &1)),
           do: put.(&Native.actor_goes_on_big(native, hd(given), hold, behaviour, &1, Long.kept(captures)))

    case went do
      {:ok, words} ->
        words

      {:error, %{reason: reason}} ->
        for {address, _} <- actors, do: {:error, Error.from(reason, address: address)}
    end
  end

  @doc "A behaviour of `Mote.Move.Ways`, as the machine takes it."
  @spec ways(atom) :: {module, atom, non_neg_integer}
  def ways(name), do: {Ways, name, Ways.__mote__(:hash)}

  @doc "Why an actor stays where it is."
  @spec stays(atom, Address.t()) :: Error.t()
  def stays(:stale, address) do
    Error.new(
      :stale_behaviour,
      "the actor has a behaviour of an older version of its module than the one that is loaded: it can move once it has become " <>
        "one of the new version",
      address: address
    )
  end

  def stays(word, address) when word in [:sink, :socket, :safe, :busy, :held, :too_large] do
    Error.new(:not_movable, "the actor stays where it is: " <> why(word), address: address, why: word)
  end

  def stays(word, address), do: Error.from(word, address: address)

  defp why(:sink), do: "it ignores everything (sink), so there is nothing to carry"

  defp why(:socket), do: "it is a socket, and those are this node's: connect over there"

  defp why(:safe) do
    "its behaviour never becomes another one, so its turns may run on several threads at once and have no moment in between: " <>
      "create another actor of that behaviour over there"
  end

  defp why(:busy), do: "a turn of a beam sponsor is in the middle of its work: try again when it is over"
  defp why(:held), do: "it is moved by somebody else at this moment"

  defp why(:too_large),
    do:
      "what it has captured is larger, written out, than the memory of its machine (:memory in Mote.start_link/1)"
end
