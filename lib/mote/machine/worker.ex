defmodule Mote.Machine.Worker do
  # A process that runs turns of a beam sponsor, one at a time, and waits in between.
  #
  # 1. The effects of a turn reach the machine in one call, or not at all.
  # 2. Turns of the language leave nothing behind except what `Mote.Turn.Stage` clears. A turn that may call
  #    any Elixir is the last of its worker, which ends with it, and with it everything that belongs to a
  #    process: mailbox, dictionary, timers, links, ports, tables. So every turn finds a clean process.
  # 3. Workers are linked to nothing, and trap no exits: a turn may do either.
  @moduledoc false

  alias Mote.{Error, Native, Turn}
  alias Mote.Machine.{Caller, Loader, Long}
  require Long

  # How long a worker waits for a turn before it lets go of what the last one was given, and then before it ends, both in
  # milliseconds. A question whose customer it still has would never be found to be broken.
  @rest 50
  @idle 10_000
  # Where a process finds the turn that it runs: see `own?/1`.
  @self :"$mote_self"

  @doc "Returns whether the calling process runs a turn. A macro, since every question asks this, and calls are counted (`Mote.Ask`)."
  defmacro turn?, do: quote(do: :erlang.get(unquote(@self)) != :undefined)

  @typedoc "The data that all workers of a sponsor share. Each of them has a copy."
  @type about :: %{desk: reference}

  @typedoc "The end of a turn: it has ended now, it had ended before, or its machine has ended."
  @type ended :: :ok | :unknown | :stopped

  @doc "Starts one, which the calling process monitors."
  @spec start(about) :: {pid, reference}
  def start(about), do: :erlang.spawn_opt(fn -> work(about, true) end, [:monitor])

  @doc "Returns whether the calling process runs a turn of that actor, which could not answer it."
  @spec own?(Mote.Address.t()) :: boolean
  def own?(address), do: turn?() and own_turn?(address, :erlang.get(@self))

  defp own_turn?(%{machine: machine, key: key}, {desk, number}),
    do: match?(%{machine: ^machine, key: ^key}, Native.turn_self(desk, number))

  @doc "Aborts a turn: `:ok`, or `:unknown` if it has ended already."
  @spec abort(reference, pos_integer, term) :: ended
  def abort(desk, number, reason) do
    Long.call(reason, Native.turn_aborted(desk, number, reason))
  end

  @doc "Why a turn is aborted whose process has ended like that."
  @spec exited(term) :: term
  def exited({exception, [_ | _] = stack} = reason) when is_exception(exception) do
    {:crashed, :error, exception, Turn.told(stack)}
  catch
    # An exit may have any reason, also one that only begins as that of a crash does; and `Inspect` may be anybody's.
    _, _ -> {:crashed, :exit, reason, []}
  end

  def exited(reason), do: {:crashed, :exit, reason, []}

  defp work(about, comes?) do
    case Native.desk_next(about.desk, comes?) do
      turn when is_tuple(turn) ->
        if elem(turn, 4), do: free(about, turn), else: bound(about, turn)

      :wait ->
        wait(about)

      :closed ->
        :ok
    end
  end

  defp wait(about, time \\ @rest) do
    receive do
      :mote_turn -> work(about, true)
      # The desk is closed; or it is nobody's.
      :closed -> :ok
      _stray -> wait(about, time)
    after
      time -> idle(about, time)
    end
  end

  defp idle(about, @rest) do
    :erlang.garbage_collect()
    wait(about, @idle)
  end

  # If it may not, it was woken.
  defp idle(about, @idle), do: if(Native.desk_leave(about.desk), do: :ok, else: wait(about, @idle))

  # -- turns ---------------------------------------------------------------------------------------------------

  # Of a behaviour of the language.
  defp bound(about, {number, module, name, version, _, {captures, message}}) do
    ended =
      if version(module) == version do
        run(about, number, false, fn -> module.__mote_turn__(name, captures, message) end)
      else
        # The machine has this version, the node has another one.
        Native.turn_over(about.desk, number, :here)
      end

    # One that somebody else has ended takes its worker with it, which is to be killed and takes no other.
    if ended != :unknown, do: work(about, false)
  end

  defp version(module) do
    module.__mote__(:hash)
  rescue
    UndefinedFunctionError -> nil
  end

  # Of a behaviour that may call any Elixir: it is that of the module as it is now.
  defp free(about, {number, module, name, _version, asker, {captures, message}}) do
    Process.put(@self, {about.desk, number})
    if is_pid(asker), do: Caller.follow(asker)
    run(about, number, true, fn -> module.__mote_turn__(name, captures, message) end)
    # Not as usual: what is linked to it ends as well.
    exit(:shutdown)
  end

  defp run(%{desk: desk} = about, number, beam?, fun) do
    me = fn -> Native.turn_self(desk, number) end
    now = fn -> desk |> Native.desk_machine() |> Native.machine_now() end

    try do
      Turn.staged(fun, %{self: me, now: now, first: first(number)})
    catch
      kind, reason -> abort(about.desk, number, Turn.failed(beam?, kind, reason, __STACKTRACE__))
    else
      {:commit, effects, become, kept} -> commit(about, number, given_back(effects, kept), become, true)
      {:ignored, _, _, _} -> Native.turn_over(about.desk, number, :ignored)
      {{:abort, reason}, _, _, _} -> abort(about.desk, number, reason)
    end
  end

  # What stands for actors that the turn creates is told from what another turn has made
  # (native/mote_nif/src/codec/made.rs).
  defp first(number), do: number |> Bitwise.bsr(16) |> Bitwise.band(0xFFFFFFF) |> Bitwise.bsl(32)

  # What the actor takes up again is an effect of the machine's, which has the newest first, and the message of the turn itself.
  defp given_back(effects, {[], _again?}), do: effects

  defp given_back(effects, {kept, again?}),
    do: effects ++ [{:unstash, kept |> Enum.reverse() |> Enum.drop(if(again?, do: 1, else: 0)), again?}]

  defp commit(%{desk: desk} = about, number, effects, become, may_load?) do
    case Long.call([effects | become], Native.turn_done(desk, number, effects, become)) do
      {:load, behaviour} ->
        case may_load? && Loader.load(Native.desk_machine(desk), behaviour.module) do
          :ok -> commit(about, number, effects, become, false)
          {:error, error} -> abort(desk, number, Turn.crashed(:error, error, []))
          false -> abort(desk, number, Turn.crashed(:error, stale(behaviour), []))
        end

      :malformed ->
        text = "no effects of a turn: #{inspect(effects, limit: 10)}, and to become #{inspect(become)}"
        abort(desk, number, Turn.crashed(:error, %ArgumentError{message: text}, []))

      ended when ended in [:ok, :stopped, :unknown] ->
        ended
    end
  end

  defp stale(behaviour) do
    Error.new(
      :stale_behaviour,
      "#{inspect(behaviour)} is no behaviour of the version of its module that is loaded",
      behaviour: behaviour
    )
  end
end
