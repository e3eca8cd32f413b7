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

  import Kernel, except: [self: 0, send: 2]

  alias Mote.{Behaviour, Timer, Total}
  alias Mote.Turn.Stage

  @words [
           self: 0,
           send: 2,
           sendx: 3,
           send_after: 3,
           cancel_timer: 1,
           monitor: 2,
           monitor: 3,
           demonitor: 1,
           create: 1,
           create: 2,
           abort: 1
         ] ++
           [sink: 0, gather: 4, is_address: 1, on: 2, become: 1, stash: 0, stash: 1]

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

  @doc "Ends the turn without footprints in the machine."
  @spec abort(term) :: no_return
  def abort(reason), do: Stage.abort({:abort, reason})

  @doc "The behaviour that ignores every message."
  def sink, do: :sink

  @doc """
  A behaviour that waits for `count` messages, puts them together with `fun`, as `Enum.reduce/3` does, and sends the result to the
  customer. If `count` is 0, the turn itself sends it `initial`.
  """
  @spec gather(term, integer, acc, (term, acc -> acc)) :: Behaviour.t() | :sink when acc: term
  def gather(customer, count, initial, fun) when is_integer(count) and is_function(fun, 2) do
    if count > 0 do
      __MODULE__.Gathering.gathering(customer, count, initial, fun)
    else
      Stage.send(customer, initial)
      :sink
    end
  end

  defdelegate is_address(term), to: Total
  defdelegate on(sponsor, address), to: Total

  @doc "Sets what the actor is from the next turn on: a behaviour, or captures of this one that change."
  defmacro become(next) do
    if Keyword.keyword?(next) and next != [] do
      {name, captures} = own!(__CALLER__)
      changed(name, captures, next, __CALLER__)
    else
      quote do: unquote(__MODULE__).become_next(unquote(next))
    end
  end

  @doc false
  # There is none here, which is better said than "undefined function".
  defmacro stash(_changes \\ []) do
    mistake!(
      __CALLER__,
      "a behaviour marked beam: true has no stash: keep the message in a capture, or let an actor of the language stash it and send it on"
    )
  end

  @doc false
  def become_next(behaviour), do: behaviour |> behaviour!() |> Stage.become()

  defp behaviour!(%Behaviour{} = behaviour), do: behaviour
  defp behaviour!(:sink), do: :sink

  defp behaviour!(other) do
    raise ArgumentError,
          "expected a behaviour, the value of a function that defactor defines, or sink(); got: #{inspect(other)}"
  end

  # The behaviour that the words stand in.
  defp own!(%{module: module, function: {function, arity}} = env) do
    found =
      for {^function, ^arity, name, captures, _called} <- Module.get_attribute(module, :mote_beam) || [],
          do: {name, captures}

    with [] <- found, do: mistake!(env, "become capture: value belongs into a clause of a behaviour")
    hd(found)
  end

  defp changed(name, captures, next, env) do
    for {capture, _} <- next, capture not in captures do
      mistake!(env, "#{name} has no capture #{capture}, only #{Enum.map_join(captures, ", ", &inspect/1)}")
    end

    values =
      for {capture, n} <- Enum.with_index(captures) do
        Keyword.get(next, capture, quote(do: unquote(__MODULE__).captured(unquote(n))))
      end

    # Not as a remote call: of these the compiler tells where the behaviour is deprecated.
    quote do
      unquote(__MODULE__).become_next(:erlang.apply(__MODULE__, unquote(name), [unquote_splicing(values)]))
    end
  end

  defp mistake!(env, text), do: Mote.Behaviour.Error.raise_at(env, env.line, text)

  @doc false
  def captured(n), do: elem(Stage.captured(), n)

  @doc false
  # What the clauses of a behaviour become: a function of the captures and the message.
  def definition(head, clauses) do
    {name, _, args} = head
    captures = for arg <- args || [], do: capture(arg)
    function = function(name)
    names = for {capture, _, _} <- captures, do: capture
    message = Macro.var(:message, __MODULE__)

    clauses =
      for {:->, meta, [left, body]} <- clauses, do: {:->, meta, [left, {:__block__, [], [body, :commit]}]}

    ignored = quote generated: true, do: (_ -> :ignored)
    choice = {:case, [generated: true], [message, [do: clauses ++ ignored]]}

    quote do
      # When it is evaluated: before Elixir expands what is in the function, and after the attribute is there.
      Module.put_attribute(
        __MODULE__,
        :mote_beam,
        unquote(Macro.escape({function, length(captures) + 1, name, names, called(clauses)}))
      )

      @doc false
      def unquote(function)(unquote_splicing(captures), unquote(message)) do
        import Kernel, except: [send: 2, self: 0]
        import unquote(__MODULE__), only: unquote(@words), warn: false
        unquote(choice)
      end
    end
  end

  # What the clauses call by its name alone, as written.
  defp called(clauses) do
    {_, called} =
      Macro.prewalk(clauses, [], fn
        {:|>, _, [_, {name, _, args}]} = node, found when is_atom(name) and is_list(args) ->
          {node, [{name, length(args) + 1} | found]}

        {:&, _, [{:/, _, [{name, _, _}, arity]}]} = node, found when is_atom(name) and is_integer(arity) ->
          {node, [{name, arity} | found]}

        {name, _, args} = node, found when is_atom(name) and is_list(args) ->
          {node, [{name, length(args)} | found]}

        node, found ->
          {node, found}
      end)

    Enum.uniq(called)
  end

  @doc false
  # What all behaviours of a module call so that call any Elixir.
  def named(%{module: module}) do
    for {_, _, _, _, called} <- Module.get_attribute(module, :mote_beam) || [],
        name <- called,
        uniq: true,
        do: name
  end

  @doc false
  # The function that has the clauses of a behaviour, by the name that warnings and stacktraces show.
  def function(name), do: :"turn of #{name}"

  defp capture({:\\, _, [capture, _default]}), do: capture
  defp capture(capture), do: capture
end
