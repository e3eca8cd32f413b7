defmodule Mote.Behaviour.Beam do
  @moduledoc """
  The words of a behaviour that may call any Elixir: `defactor name(captures), beam: true do … end`.

  Its clauses are plain Elixir, and these words are imported into them in place of what `Kernel` has under the same name. They
  mean what they mean in any behaviour: effects are staged, and become visible together when the turn ends.

      defactor reader(path), beam: true do
        {customer, :read} -> send customer, File.read(path)
        {:open, path} -> become reader(path)
      end

  Everything else that such a turn does, to files, sockets, tables and other processes, happens at once, and
  is never taken back. `become capture: value` keeps the other captures as they were at the start of the turn,
  as elsewhere. The words act for the turn in its own process only: a task that it starts has no turn.

  Functions that the module makes with `defpure`, `defpurep` and `defeffect` can be called as in any behaviour.
  """

  # Clauses of the language are compiled to plain Elixir with the same words (source.ex). There are a few more that nobody
  # writes: see `Mote.Behaviour.Source.Rules`.

  import Kernel, except: [self: 0, send: 2, is_map: 1, is_reference: 1]
  import Mote.Total.Term, only: [is_address_struct: 1, is_timer_struct: 1, is_value_map: 1]

  alias Mote.{Behaviour, Timer, Total}
  alias Mote.Turn.Stage

  # What has another meaning than in Kernel.
  @instead [self: 0, send: 2, is_map: 1, is_reference: 1]
  @words @instead ++
           [
             sendx: 3,
             send_after: 3,
             cancel_timer: 1,
             monitor: 2,
             monitor: 3,
             demonitor: 1,
             create: 1,
             create: 2
           ] ++
           [abort: 1, sink: 0, gather: 4, is_address: 1, on: 2, become: 1, stash: 0, stash: 1, again: 0]

  @doc false
  def words, do: @words

  @doc false
  def instead, do: @instead

  @doc "Returns whether a term is an address: of an actor, a customer or a process."
  defguard is_address(term) when is_pid(term) or is_address_struct(term)

  @doc "Returns whether a term is a map for behaviours: an address is none, and neither is a timer."
  defguard is_map(term) when is_value_map(term)

  @doc "Returns whether a term is a reference for behaviours: a timer is one."
  defguard is_reference(term) when :erlang.is_reference(term) or is_timer_struct(term)

  @doc "The actor whose turn it is."
  @spec self() :: Mote.Address.t()
  def self, do: Stage.me()

  @doc """
  Sends a message when the turn ends.

  By the sponsor of the turn: an actor that is not pinned comes along, and its turns are beam turns from then on. Pin one that
  gets many messages of beam turns, or send to it by `sendx/3`.
  """
  @spec send(term, message) :: message when message: term
  def send(target, message), do: Stage.send(target, message)

  @doc "Sends a message by a sponsor."
  @spec sendx(atom, term, message) :: message when message: term
  def sendx(sponsor, target, message), do: Stage.sendx(sponsor, target, message)

  @doc "Sends a message some milliseconds after the turn has ended; returns a timer."
  @spec send_after(non_neg_integer, term, term) :: reference
  def send_after(milliseconds, target, message) do
    Timer.milliseconds!(milliseconds)
    Stage.send_after(milliseconds, target, message)
  end

  @doc "Cancels a timer."
  @spec cancel_timer(term) :: :ok | :undefined
  def cancel_timer(timer), do: Stage.cancel_timer(timer)

  @doc "Sends a message to the actor of the turn when the process has ended; returns what `demonitor/1` takes."
  @spec monitor(pid, term) :: reference
  def monitor(process, message), do: monitor(process, self(), message)

  @doc "Sends a message to a target when the process has ended; returns what `demonitor/1` takes."
  @spec monitor(pid, term, term) :: reference
  def monitor(process, target, message) when is_pid(process), do: Stage.monitor(process, target, message)

  def monitor(other, _target, _message),
    do: raise(ArgumentError, "expected a pid to monitor, got: #{inspect(other)}")

  @doc "Ends a monitor."
  @spec demonitor(term) :: :ok | :undefined
  def demonitor(monitor), do: Stage.cancel_timer(monitor)

  @doc "Creates an actor; one of a behaviour marked `beam: true` is pinned to the sponsor of the turn, unless another is named."
  @spec create(Behaviour.t() | :sink, sponsor: atom) :: term
  def create(behaviour, opts \\ [])
  def create(behaviour, []), do: behaviour |> behaviour!() |> Stage.create()
  def create(behaviour, sponsor: sponsor), do: behaviour |> behaviour!() |> Stage.create(sponsor)

  @doc "Ends the turn without footprints in the machine. Raises `Mote.Abort` where no turn runs."
  @spec abort(term) :: no_return
  def abort(reason) do
    if Stage.turn?(),
      do: Stage.abort({:abort, reason}),
      else: raise(Mote.Abort, reason: {:abort, reason})
  end

  @doc "The behaviour that ignores every message."
  def sink, do: :sink

  @doc """
  A behaviour that waits for `count` messages, puts them together with `fun`, as `Enum.reduce/3` does, and sends the result to the
  customer. If `count` is 0, the turn itself sends it `initial`.
  """
  @spec gather(term, non_neg_integer, acc, (term, acc -> acc)) :: Behaviour.t() | :sink when acc: term
  def gather(customer, count, initial, fun) when is_integer(count) and count > 0 do
    # What the source of a behaviour has in place of its function makes the behaviour.
    if is_function(fun, 3),
      do: fun.(customer, count, initial),
      else: __MODULE__.Gathering.gathering(customer, count, initial, fun)
  end

  def gather(customer, 0, initial, _fun) do
    Stage.send(customer, initial)
    :sink
  end

  def gather(_customer, count, _initial, _fun) do
    raise ArgumentError,
          "gather waits for a number of messages, which is an integer from 0, got: #{inspect(count)}"
  end

  @doc "An address that is reached by a sponsor."
  @spec on(atom, term) :: term
  def on(sponsor, address) do
    with :undefined <- Total.on(sponsor, address),
         do: raise(ArgumentError, "expected an address, got: #{inspect(address)}")
  end

  @doc "Sets what the actor is from the next turn on: a behaviour, or captures of this one that change."
  defmacro become(next) do
    own = own(__CALLER__)

    cond do
      Keyword.keyword?(next) and next != [] -> changed(own!(own, __CALLER__), next, __CALLER__)
      match?({_, _, _, :stash}, own) -> quote do: unquote(__MODULE__).become_keeping(unquote(next))
      true -> quote do: unquote(__MODULE__).become_next(unquote(next))
    end
  end

  @doc false
  defmacro stash(changes \\ []) do
    case own(__CALLER__) do
      {_, _, captures, :stash} = own ->
        {kept, _, _} = List.last(captures)
        changed(own, changes ++ [{kept, quote(do: unquote(__MODULE__).kept())}], __CALLER__)

      # There is none, which is better said than "undefined function".
      _ ->
        mistake!(
          __CALLER__,
          "a behaviour marked beam: true has no stash: keep the message in a capture, or let an actor of the language stash it and send it on"
        )
    end
  end

  @doc "Gives the message of the turn to what the actor becomes, before everything else that waits for it."
  @spec again() :: :ok
  def again, do: Stage.again()

  @doc false
  # What an actor keeps is given back when it becomes another one.
  def become_next(behaviour) do
    if Stage.stashes?(), do: Stage.unstash(true)
    behaviour |> behaviour!() |> Stage.become()
  end

  @doc false
  # What a behaviour that stashes becomes: the same one goes on keeping.
  def become_keeping(%Behaviour{module: module, name: name, captures: captures} = next) do
    {own, _message, same} = Stage.entered()
    last = tuple_size(own) - 1

    if {module, name} == same and tuple_size(captures) == last + 1,
      do: become_same(%{next | captures: put_elem(captures, last, elem(own, last))}),
      else: become_next(next)
  end

  def become_keeping(next), do: become_next(next)

  @doc false
  def become_same(behaviour) do
    if Stage.stashes?(), do: Stage.unstash(false)
    Stage.become(behaviour)
  end

  @doc false
  # The message of the turn is the newest.
  def kept do
    {own, message, _name} = Stage.entered()
    [message | elem(own, tuple_size(own) - 1)]
  end

  @doc false
  # What has matched patterns of maps: an address, or a timer, fits none. Returns the whole value.
  def no_addresses(maps, value) do
    if Enum.all?(maps, &is_map/1), do: value, else: raise(MatchError, term: value)
  end

  @doc false
  # `System.monotonic_time/1` in a turn.
  def monotonic_time(unit), do: System.convert_time_unit(Total.now(), :nanosecond, unit)

  @doc false
  # `Mote.Directory.send/3` in a turn.
  def send_to_key(directory, key, message),
    do: Stage.send(shard(directory, key), [key | message])

  @doc false
  # `Mote.Directory.shard/2` in a turn, which knows no names of directories.
  def shard(directory, key), do: Mote.Directory.Place.shard(directory, key)

  defp behaviour!(%Behaviour{} = behaviour), do: behaviour
  defp behaviour!(:sink), do: :sink

  defp behaviour!(other) do
    raise ArgumentError,
          "expected a behaviour, the value of a function that defactor defines, or sink(); got: #{inspect(other)}"
  end

  # The behaviour that the words stand in, and of what kind it is; nil in a function.
  defp own(%{module: module, function: function}) do
    module |> Module.get_attribute(:mote_words, []) |> List.wrap() |> List.keyfind(function, 0)
  end

  defp own!(nil, env), do: mistake!(env, "become capture: value belongs into a clause of a behaviour")
  defp own!(own, _env), do: own

  defp changed({_, name, captures, _}, next, env) do
    names = for {capture, _, _} <- captures, do: capture

    for {capture, _} <- next, capture not in names do
      mistake!(env, "#{name} has no capture #{capture}, only #{Enum.map_join(names, ", ", &inspect/1)}")
    end

    # As they are written.
    changes = for {capture, value} <- next, do: {capture, {Macro.unique_var(capture, __MODULE__), value}}
    matches = for {_, {variable, value}} <- changes, do: quote(do: unquote(variable) = unquote(value))

    values =
      for {capture, n} <- Enum.with_index(names) do
        case changes[capture] do
          nil -> quote(do: unquote(__MODULE__).captured(unquote(n)))
          {variable, _} -> variable
        end
      end

    # What is kept is used. Not as a remote call: of these the compiler tells where the behaviour is deprecated.
    quote do
      _ = {unquote_splicing(captures)}
      unquote_splicing(matches)
      unquote(__MODULE__).become_same(:erlang.apply(__MODULE__, unquote(name), [unquote_splicing(values)]))
    end
  end

  defp mistake!(env, text), do: Mote.Behaviour.Error.raise_at(env, env.line, text)

  @doc false
  def captured(n), do: Stage.entered() |> elem(0) |> elem(n)

  @doc false
  # What all behaviours of a module call by its name alone that call any Elixir.
  def named(%{module: module}), do: module |> Module.get_attribute(:mote_beam) |> Enum.concat() |> Enum.uniq()

  @doc false
  # The function that has the clauses of a behaviour, by the name that warnings and stacktraces show.
  def function(name), do: :"turn of #{name}"
end
