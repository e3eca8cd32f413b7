defmodule Mote.Machine do
  @moduledoc """
  The process that answers for one machine.

  It starts the machine's threads, stops them when it ends, logs their reports, and ends itself, with a
  reason, when the machine meets a fault; its supervisor then starts a fresh one. Work does not go through it:
  creating, sending and asking happen in the calling process.

  It is started with `Mote.start_link/1`, where the options are described, and mostly as a child:

      children = [
        {Mote, name: MyApp.Mote, sponsors: [main: [threads: 1]]}
      ]

  When a turn is aborted, a warning is logged with the metadata `mote_sponsor`, `mote_module`, `mote_behaviour`,
  `mote_reason` and `mote_message`, which is a text. An actor that the turn had created is `Mote.Uncommitted` there. About ten
  a second are logged, then how many more there were; `Mote.info/1` counts them all. `Mote.Telemetry` lists everything else that is
  reported. Handlers of those events run in this process, so a slow one delays reports, and its end, but no turn.

  `Mote.machine/1` returns a `%Mote.Machine{}`, which can be used wherever a machine is expected. Its inspected form shows the
  machine as it is at that moment, also when it is down: `#Mote.Machine<MyApp.Mote, #PID<0.180.0>, sponsors :main and :multi>`.

  The module of the native functions, Mote.Native, must not be reloaded while machines run: machines that were started before
  cannot be reached any more. Restart the machines after an upgrade that changes it.

  ## Faults

  A broken invariant, met by any dispatch thread, ends the machine. Its other threads stop at their next turn, or where
  a long turn looks at its fuel. This process ends with `{:fault, fault}`, everything that the machine held is freed,
  and the supervisor starts a fresh one. `fault` is a map of

    * `:sponsor` - the sponsor whose thread it was;
    * `:behaviour` - `{module, name}` of the behaviour that was running, `nil` between turns;
    * `:message_kind` - the kind of value that its message was, such as `"tuple of 2"`, `nil` between turns;
    * `:text` - what was wrong.

  ## After a restart

  The machine that a supervisor starts in the place of one that has ended is another one, with actors of its
  own. Everything that came from the old one is dead: addresses (unless it goes on from an image and has an `:identity`), customers,
  timers, outboxes, unfinished futures, and the values of `Mote.machine/1`. Sending to a dead address raises `Mote.Error` with the reason
  `:machine_down`. A name leads to the new machine. The actors needed there have to be created again, by a
  process that `Mote.monitor/1` notifies of the end, or that the supervisor restarts after the machine
  (`strategy: :rest_for_one`).

  ## Threads

  The threads of a machine are named `mote-<machine>-<sponsor>-<number>`, which `top -H`, debuggers and profilers show.
  Linux keeps 15 bytes of a thread's name: so the name of the machine is shortened first, then that of the sponsor, and the
  number stays whole. The last part of a name such as `MyApp.Jobs` is kept, and if that is still too long,
  both of its ends, as in `mote-M-work_a-1` for a sponsor `:worker_a` of `MyApp.Mote`; what differs only in
  between looks the same. A machine without a name has a number, the last three digits of that in its pid:
  `mote-180-main-1` belongs to `#PID<0.180.0>`.
  """

  use GenServer

  require Logger

  alias Mote.{Address, Durable, Error, Far, Image, Native}

  alias Mote.Machine.{
    Comeback,
    Ending,
    Janitor,
    MemoryOptions,
    Options,
    Postman,
    Reporter,
    Table,
    Watcher,
    Workers
  }

  alias Mote.Replay.Recording

  # Milliseconds to wait for another node that is to say which process a machine is.
  @patience 5_000

  @enforce_keys [:pid, :name]
  defstruct [:pid, :name]

  @typedoc "A machine: its process, the name that it was given, or a value of `Mote.machine/1`."
  @type t ::
          pid
          | atom
          | {atom, node}
          | {:global, term}
          | {:via, module, term}
          | %__MODULE__{pid: pid, name: term}

  @doc false
  @spec start_link(keyword) :: GenServer.on_start()
  def start_link(opts) do
    config = Options.validate!(opts)
    start = if config.name == nil, do: [], else: [name: config.name]

    if Process.whereis(Mote.Supervisor),
      do: GenServer.start_link(__MODULE__, config, start),
      else:
        {:error,
         Error.new(:start, "the application :mote is not running: Application.ensure_all_started(:mote)")}
  end

  @doc false
  # The native machine of a process or name.
  @spec fetch(t) :: {:ok, reference} | {:error, Error.t()}
  def fetch(%__MODULE__{pid: pid}), do: fetch(pid)
  # The machine of an address, as `address.machine` is for `node/1`.
  def fetch(native) when is_reference(native) and node(native) == node(), do: native |> owner!() |> fetch()

  def fetch(machine) do
    with pid when is_pid(pid) <- whereis(machine),
         :error <- Table.fetch(pid),
         :error <- starting(pid) do
      {:error, down(machine)}
    else
      {:ok, native} -> {:ok, native}
      _nobody -> {:error, down(machine)}
    end
  end

  @doc false
  # The same, or raises why there is none.
  @spec fetch!(t) :: reference
  def fetch!(machine), do: machine |> fetch() |> Error.ok!()

  defp owner!(native) do
    with :unknown <- Native.machine_owner(native), do: whereis(native)
  end

  @doc false
  # See `Mote.machine/1`.
  @spec handle(t | Address.t()) :: %__MODULE__{}
  def handle(%__MODULE__{} = machine), do: machine

  def handle(%Address{machine: native} = address) do
    case Native.machine_owner(native) do
      pid when is_pid(pid) -> %__MODULE__{pid: pid, name: Table.name(pid)}
      :unknown -> raise Error.from(:unknown, address: address)
    end
  end

  def handle(machine), do: handle(%Address{machine: fetch!(machine), key: ""})

  @doc false
  # See `Mote.sponsors/1`.
  @spec sponsors(t) :: [atom]
  def sponsors(machine) do
    with :stopped <- machine |> fetch!() |> Native.machine_sponsors(),
         do: raise(Error.from(:stopped, machine: machine))
  end

  @doc false
  # See `Mote.names/1`.
  @spec names(t) :: map
  def names(machine) do
    case machine |> fetch!() |> Native.machine_owner() |> Table.names() do
      {:ok, names} -> names
      :error -> raise Error.from(:stopped, machine: machine)
    end
  end

  @doc false
  # What a machine is called.
  @spec label(t) :: String.t()
  def label(%__MODULE__{name: nil, pid: pid}), do: inspect(pid)
  def label(%__MODULE__{name: name}), do: inspect(name)
  def label(machine), do: inspect(machine)

  @doc false
  @spec stop(t, term, timeout) :: :ok
  def stop(machine, reason, timeout) do
    case whereis(machine) do
      {_name, node} = there -> stop_there(node, there, reason, timeout)
      pid when is_pid(pid) and node(pid) != node() -> stop_there(node(pid), pid, reason, timeout)
      pid -> stop_here(pid, [machine, reason, timeout])
    end
  end

  defp stop_here(pid, [_machine, reason, timeout] = args) do
    cond do
      # A handler of telemetry runs in that process, and the machine ends when it has returned.
      pid == self() and match?({:ok, _}, Table.fetch(pid)) ->
        send(pid, {__MODULE__, :stop, reason})
        :ok

      machine?(pid) ->
        GenServer.stop(pid, reason, timeout)

      # Any other process is nobody's to stop by this, whatever its name.
      true ->
        exit({:noproc, {Mote, :stop, args}})
    end
  end

  defp machine?(pid), do: is_pid(pid) and (match?({:ok, _}, Table.fetch(pid)) or starting?(pid))

  # Only that node knows whether it is a machine.
  defp stop_there(node, machine, reason, timeout) do
    args = [machine, reason, timeout]
    Far.create!(node, :stop, args, timeout)
  rescue
    error in Error -> exit({down_reason(error, machine), {Mote, :stop, [machine, reason, timeout]}})
  end

  # As `GenServer.stop/3` exits.
  defp down_reason(%{reason: :timeout}, _machine), do: :timeout
  defp down_reason(%{reason: :noconnection}, {_name, node}), do: {:nodedown, node}
  defp down_reason(%{reason: :noconnection}, pid), do: {:nodedown, node(pid)}
  defp down_reason(error, _machine), do: error

  @doc false
  # Tells the calling process when the machine goes down: see `Mote.monitor/1`.
  @spec monitor(t | Address.t()) :: reference
  def monitor(%Address{} = address) do
    case owner(address) do
      {:ok, pid} -> Process.monitor(pid)
      {:error, reason} -> down_already(:unknown, reason)
    end
  end

  def monitor(machine) do
    case whereis(machine) do
      nil -> down_already(machine, :noproc)
      pid_or_remote -> Process.monitor(pid_or_remote)
    end
  end

  # Of an address of another node that one knows it.
  defp owner(%Address{machine: native} = address) do
    machine =
      if Far.far?(address),
        do: Far.create!(node(native), :machine, [address], @patience),
        else: handle(address)

    {:ok, machine.pid}
  rescue
    error in Error ->
      {:error, if(error.reason in [:noconnection, :timeout], do: :noconnection, else: :noproc)}
  end

  # As if there had been somebody to monitor.
  defp down_already(object, reason) do
    ref = make_ref()
    send(self(), {:DOWN, ref, :process, object, reason})
    ref
  end

  @doc false
  # Checks that the machine's `:memory` is enough for that many more threads; raises `ArgumentError`.
  @spec room_for!(reference, pos_integer) :: :ok
  def room_for!(native, threads) do
    with {:ok, memory} <- Table.memory(Native.machine_owner(native)),
         %{sponsors: sponsors} <- Native.machine_info(native) do
      there = for {_, sponsor} <- sponsors, reduce: 0, do: (sum -> sum + length(sponsor.threads))
      MemoryOptions.enough!(memory, there + threads)
    end

    :ok
  end

  @doc false
  # Adds a sponsor as `Mote.Sponsor.validate!/2` returns it; `timeout` is that of a beam sponsor's turns.
  @spec add_sponsor(reference, tuple, timeout | nil) :: :ok | atom | {:error, String.t()}
  def add_sponsor(native, sponsor, nil), do: Native.machine_add_sponsor(native, sponsor)

  # By the machine's process: so there are workers though the caller is killed, and those of a sponsor that is soon removed
  # come before those of the next one of its name.
  def add_sponsor(native, sponsor, timeout) do
    owner = Native.machine_owner(native)

    # A handler of telemetry runs in that process.
    if owner == self(),
      do: add_beam_sponsor(native, sponsor, timeout),
      else: GenServer.call(owner, {:add_sponsor, sponsor, timeout}, :infinity)
  catch
    :exit, _ -> :stopped
  end

  defp add_beam_sponsor(native, sponsor, timeout) do
    added = Native.machine_add_sponsor(native, sponsor)
    if added == :ok, do: Workers.start_link(native, elem(sponsor, 0), timeout)
    added
  end

  @doc false
  # What a sponsor has done that is removed: the machine's process tells what it has not told of it yet.
  @spec removed(reference, atom, map) :: :ok
  def removed(native, sponsor, done) do
    send(Native.machine_owner(native), {__MODULE__, :removed, sponsor, done})
    :ok
  end

  # A process has its name before it is done with starting: then it is waited for.
  defp starting(pid) do
    if node(pid) == node() and starting?(pid), do: {:ok, GenServer.call(pid, :native)}, else: :error
  catch
    :exit, _ -> :error
  end

  defp starting?(pid) do
    with {:dictionary, dictionary} <- Process.info(pid, :dictionary),
         do: dictionary[:"$initial_call"] == {__MODULE__, :init, 1},
         else: (nil -> false)
  end

  defp whereis(%__MODULE__{pid: pid}) when is_pid(pid), do: pid
  defp whereis(pid) when is_pid(pid), do: pid

  defp whereis(name) when is_atom(name) and name != nil, do: GenServer.whereis(name)
  defp whereis({:global, _} = name), do: GenServer.whereis(name)
  defp whereis({name, node}) when is_atom(name) and node == node(), do: whereis(name)
  defp whereis({name, node} = machine) when is_atom(name) and is_atom(node) and node != nil, do: machine
  defp whereis({:via, module, _} = name) when is_atom(module), do: GenServer.whereis(name)

  defp whereis(other) do
    raise ArgumentError,
          "expected a machine: its pid or its name (an atom, {name, node}, {:global, term} or {:via, module, term}), or what " <>
            "Mote.machine/1 gives, also for an address; got: #{inspect(other)}"
  end

  # What takes a machine of another node has asked that one.
  defp down(pid) when is_pid(pid) and node(pid) != node(), do: only_there(node(pid), pid)

  defp down(pid) when is_pid(pid) do
    Error.new(:machine_down, "#{inspect(pid)} is not a running machine of #{here()}", machine: pid)
  end

  defp down({name, node}) when is_atom(name) and name != :global and node != node(),
    do: only_there(node, {name, node})

  defp down(name) do
    Error.new(:machine_down, "no machine of the name #{inspect(name)} is running on #{here()}", machine: name)
  end

  defp only_there(node, machine),
    do: Error.new(:machine_down, "this is done on the node of the machine only, #{node}", machine: machine)

  # The error may be shown on another node.
  defp here, do: if(Node.alive?(), do: node(), else: "this node")

  @impl GenServer
  def init(config) do
    Process.flag(:trap_exit, true)
    :ok = Janitor.watch(self())

    open = if match?(%{durable: %{sync: :none}}, config), do: &Recording.open/1, else: &Durable.Folder.open/1

    case open.(config) do
      {:ok, durable, config} -> begin(config, durable)
      {:error, error} -> {:stop, error}
    end
  end

  defp begin(config, durable) do
    %{sponsors: sponsors, fuel: fuel, memory: memory, gc: gc, clock: clock, schedule: schedule, tier: tier} =
      config

    case Native.machine_start(threads(config), sponsors, fuel, memory, gc, {clock, schedule, tier}) do
      {:ok, native} ->
        # From the entry in the table on it is sent to.
        {:ok, postman} = Postman.start_link(native)
        {:ok, _pid} = Watcher.start_link(native)

        # No turn runs, and tells something, before there is a journal that it follows from. Nor does anything enter by addresses of
        # earlier lives that would not be in that.
        if durable, do: hold(native)

        with :ok <- claim(native, config),
             {:ok, names} <- go_on(native, config),
             {:ok, _image} <- begin_journal(native, durable, names) do
          if durable, do: go(native)
          about = Reporter.about(config.name, config.telemetry)
          Table.put(self(), native, config.name, about, memory, clock, fuel, names)
          Comeback.tell()
          state = started(native, postman, about, config)
          {:ok, Map.put(state, :keeper, keeper(native, durable, names, {about, state.title}))}
        else
          {:error, error} ->
            Native.machine_stop(native)
            Native.machine_join(native)
            Postman.finish(postman)
            {:stop, error}
        end

      {:error, text} ->
        {:stop, Error.new(:start, "the machine could not start: #{text}", config: config)}
    end
  end

  defp hold(native) do
    Native.machine_close(native)
    Native.machine_pause(native, true)
  end

  defp go(native) do
    Native.machine_pause(native, false)
    Native.machine_open(native)
  end

  defp begin_journal(_native, nil, _names), do: {:ok, nil}

  defp begin_journal(native, %{options: %{sync: :none}} = recording, names),
    do: Recording.begin(native, recording, names)

  defp begin_journal(native, durable, names), do: Durable.Folder.begin(native, durable, names)

  defp keeper(_native, nil, _names, _about), do: nil
  defp keeper(_native, %{options: %{sync: :none}}, _names, _about), do: nil

  defp keeper(native, %{from: from, options: %{dir: dir}} = durable, names, {machine, _title} = about) do
    {:ok, keeper} = Durable.Keeper.start_link(native, durable, names, about)
    {measurements, metadata} = Map.split(from, [:duration, :entries])
    Reporter.tell(machine, [:durable, :start], measurements, Map.put(metadata, :dir, dir))
    keeper
  end

  @doc false
  # Gives a native machine the identity of its options.
  @spec claim(reference, map) :: :ok | {:error, Error.t()}
  def claim(_native, %{identity: nil}), do: :ok

  def claim(native, %{identity: identity}) do
    with pid when is_pid(pid) <- Native.machine_claim(native, identity) do
      who = if name = Table.name(pid), do: "#{inspect(name)}, #{inspect(pid)}", else: inspect(pid)

      message = "a machine with the identity #{inspect(identity)} is running on this node already: #{who}"

      {:error, Error.new(:identity_taken, message, identity: identity, machine: pid)}
    end
  end

  defp go_on(_native, %{image: nil}), do: {:ok, %{}}

  defp go_on(native, %{image: path, title: title, resolve: resolve, migrate: migrate}) do
    with {:ok, names, older} <- Image.restore(native, path, resolve, migrate) do
      if older != [] do
        # Several older versions may have one.
        named =
          for %{behaviour: {module, name, n}} <- older, uniq: true, do: "#{inspect(module)}.#{name}/#{n}"

        list = Enum.join(named, ", ")

        Logger.notice("machine #{title} goes on from #{path} with older versions of #{list}")
      end

      # The file was read as a whole, and nobody needs it any more.
      :erlang.garbage_collect()

      {:ok, names}
    end
  end

  defp started(native, postman, about, config) do
    for {sponsor, timeout} <- config.workers, do: Workers.start_link(native, sponsor, timeout)
    reporter = Reporter.start(about, native, config.title)
    wake(:report, Reporter.interval(reporter))

    %{
      native: native,
      postman: postman,
      title: config.title,
      reporter: reporter,
      drain: config.drain
    }
  end

  # What its threads are named after.
  defp threads(%{name: nil}) do
    [_, number, _] = self() |> :erlang.pid_to_list() |> to_string() |> String.split(".")
    String.slice(number, -3..-1)
  end

  # A colon would take the place of a letter.
  defp threads(%{title: title}), do: String.trim_leading(title, ":")

  @impl GenServer
  def handle_call(:native, _from, state), do: {:reply, state.native, state}
  def handle_call(:keeper, _from, state), do: {:reply, state.keeper, state}

  def handle_call({:add_sponsor, sponsor, timeout}, _from, state),
    do: {:reply, add_beam_sponsor(state.native, sponsor, timeout), state}

  @impl GenServer
  def handle_info({:mote_aborted, report}, state) do
    {reporter, again} = Reporter.aborted(state.reporter, report)
    wake(:renew, again)
    # What it holds of the report goes: addresses in it keep actors alive that others may wait for.
    {:noreply, %{state | reporter: reporter}, :hibernate}
  end

  def handle_info({__MODULE__, :renew}, state) do
    {reporter, again} = Reporter.renew(state.reporter)
    wake(:renew, again)
    {:noreply, %{state | reporter: reporter}}
  end

  def handle_info({__MODULE__, :report}, state) do
    reporter = Reporter.tick(state.reporter)
    wake(:report, Reporter.interval(reporter))
    {:noreply, %{state | reporter: reporter}}
  end

  def handle_info({__MODULE__, :removed, sponsor, done}, state) do
    {:noreply, %{state | reporter: Reporter.removed(state.reporter, sponsor, done)}}
  end

  def handle_info({__MODULE__, :stop, reason}, state), do: {:stop, reason, state}

  def handle_info({:mote_fault, sponsor, behaviour, kind, text}, state) do
    fault = %{sponsor: sponsor, behaviour: behaviour, message_kind: kind, text: text}
    Reporter.fault(state.reporter, fault)
    {:stop, {:fault, fault}, state}
  end

  # It traps exits to be able to stop its threads, and is otherwise linked as any process is.
  def handle_info({:EXIT, _pid, reason}, state) when reason != :normal, do: {:stop, reason, state}
  def handle_info({:EXIT, _pid, :normal}, state), do: {:noreply, state}

  use Mote.Internal.Stray, hint: "actors are sent to by their address"

  defp who(state), do: "machine #{state.title} (#{inspect(self())})"

  defp wake(_what, nil), do: :ok
  defp wake(what, ms), do: Process.send_after(self(), {__MODULE__, what}, ms)

  @impl GenServer
  def terminate(reason, state) do
    {reporter, far_bytes} = if Ending.orderly?(reason), do: finish(state), else: {state.reporter, 0}
    Reporter.tick(reporter)

    if state.keeper && Ending.orderly?(reason),
      do: Durable.Keeper.close(state.keeper, Ending.time_for_image(state.drain))

    Native.machine_stop(state.native)
    figures = state.native |> Native.machine_join() |> Ending.figures(far_bytes, state.keeper != nil)
    Postman.finish(state.postman)
    lost = if state.drain > 0, do: Ending.lost(figures)

    if lost,
      do:
        Logger.warning("machine #{state.title} has ended after #{state.drain} ms without finishing: #{lost}")

    # The process that takes the entry reports the end. There is no entry if the application has stopped before.
    Table.take(self())
    Reporter.stop(reporter.about, reason, figures)
  rescue
    # The module of the native code was exchanged, and the new one does not know the machine. The native monitor of
    # this process still stops its threads.
    ArgumentError -> Logger.warning("machine #{state.title} was started by native code that is gone since")
  end

  # What is left for other nodes then; reports of turns come as they do while it runs.
  defp finish(%{drain: 0} = state), do: {state.reporter, 0}

  defp finish(state) do
    {_pid, monitor} = Ending.start(state.native, state.postman, state.drain)
    finish(state, monitor)
  end

  defp finish(state, monitor) do
    receive do
      {:DOWN, ^monitor, _, _, {:finished, far_bytes}} -> {state.reporter, far_bytes}
      {:DOWN, ^monitor, _, _, _} -> {state.reporter, 0}
      {:mote_aborted, _} = report -> report |> handle_info(state) |> elem(1) |> finish(monitor)
      {__MODULE__, _} = wake -> wake |> handle_info(state) |> elem(1) |> finish(monitor)
      {__MODULE__, :removed, _, _} = removed -> removed |> handle_info(state) |> elem(1) |> finish(monitor)
      {:mote_fault, _, _, _, _} = fault -> fault |> handle_info(state) |> elem(2) |> finish(monitor)
      {:"$gen_call", from, :native} -> GenServer.reply(from, state.native) && finish(state, monitor)
      {:"$gen_call", from, {:add_sponsor, _, _}} -> GenServer.reply(from, :stopping) && finish(state, monitor)
    end
  end

  defimpl Inspect do
    def inspect(%{pid: pid, name: name}, _opts) do
      label = if name == nil, do: Kernel.inspect(pid), else: "#{Kernel.inspect(name)}, #{Kernel.inspect(pid)}"
      "#Mote.Machine<#{label}, #{state(pid)}>"
    end

    defp state(pid) do
      with {:ok, native} <- Mote.Machine.fetch(pid),
           [first | others] <- Mote.Native.machine_sponsors(native),
           %{paused: paused} <- Mote.Native.machine_info(native) do
        sponsors(first, others) <> if(paused, do: ", paused", else: "")
      else
        _ -> "down"
      end
    rescue
      # No machine that there can be.
      ArgumentError -> "unknown"
    end

    defp sponsors(one, []), do: "sponsor #{Kernel.inspect(one)}"

    defp sponsors(first, others) do
      {init, [last]} = Enum.split([first | others], -1)
      "sponsors #{Enum.map_join(init, ", ", &Kernel.inspect/1)} and #{Kernel.inspect(last)}"
    end
  end
end
