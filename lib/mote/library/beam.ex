defmodule Mote.Library.Beam.Door do
  # The actor in front of the process: only requests pass, so that the process gets nothing else from it.
  @moduledoc false

  use Mote.Behaviour

  defactor door(server) do
    {customer, request} -> send server, {:mote_request, customer, request}
  end
end

defmodule Mote.Library.Beam do
  # A function of Elixir as a service of a machine. The process starts a task for each request and answers for it; it runs
  # nothing of the user's itself.
  #
  # 1. Every request that reached the process is in `waiting` or `running`, until it was answered; so each gets one answer,
  #    whatever becomes of its task, also when the process is told to stop.
  # 2. At most `max_concurrency` tasks run, and none longer than `timeout`.
  # 3. It never waits for a task: the end of a task that was told to end is noticed like that of any other.
  @moduledoc """
  A function, run in processes of the BEAM, that answers as an actor: for what actors cannot do, such as files, sockets
  and databases.

      iex> {:ok, machine} = Mote.start_link()
      iex> {:ok, server} = Mote.Library.Beam.start_link(machine: machine, run: &String.upcase/1)
      iex> service = Mote.Library.Beam.address(server)
      iex> Mote.ask(service, "loud")
      {:ok, "LOUD"}

  Each request is run in a process of its own. The answer is what the function returns. Otherwise the customer gets

    * `{:error, {:crashed, reason}}` - it raised (`reason` is the exception), threw or exited;
    * `{:error, :timeout}` - it took too long, and was killed;
    * `{:error, :stopped}` - the service was stopped before it was done.

  So an answer can be missing only if the service itself was killed: where that matters, give requests a
  deadline inside the machine, with `Mote.Library.timed/2`.

  ## In a supervision tree

      children = [
        {Mote, name: MyApp.Mote},
        {Mote.Library.Beam, name: MyApp.Fetch, machine: MyApp.Mote, run: &MyApp.fetch/1, timeout: 30_000}
      ]

  Below the machine, with the strategy `:rest_for_one`: it ends when the machine ends, and its address is that of an
  actor of this machine. `address/1` returns it, to be handed to the actors that will ask. Its `:name` is its
  id for the supervisor as well, so there can be several.
  """

  use GenServer

  alias Mote.Inspection
  alias Mote.Library.Beam.Door

  @type option ::
          {:machine, Mote.Machine.t()}
          | {:run, (term -> term)}
          | {:max_concurrency, pos_integer}
          | {:timeout, timeout}
          | {:name, GenServer.name()}

  @options [:machine, :run, :name, :max_concurrency, :timeout]
  @timeout 5_000

  @doc """
  A child specification: `{Mote.Library.Beam, name: MyApp.Fetch, …}` in a list of children.

  Takes the options of `start_link/1`, and `:id`, `:restart` and `:shutdown` as in `Supervisor`. Raises `ArgumentError`
  for any other.
  """
  @spec child_spec(keyword) :: Supervisor.child_spec()
  def child_spec(opts) do
    child = [:id, :restart, :shutdown]
    Inspection.keyword!(opts, "the options of a service", @options ++ child)
    {child, opts} = Keyword.split(opts, child)

    Map.merge(
      %{id: Keyword.get(opts, :name) || __MODULE__, start: {__MODULE__, :start_link, [opts]}},
      Map.new(child)
    )
  end

  @doc """
  Starts a service, linked to the calling process. Options:

    * `:machine` - where its actor lives (required);
    * `:run` - a function of one argument, the request (required);
    * `:max_concurrency` - how many run at once; others wait in their order (default: 16 for each scheduler);
    * `:timeout` - milliseconds for each, or `:infinity` (default #{@timeout}). Waiting does not count;
    * `:name` - a name for the process.

  Raises `ArgumentError` for anything else.
  """
  @spec start_link([option]) :: GenServer.on_start()
  def start_link(opts) do
    Inspection.keyword!(opts, "the options of a service", @options)
    opts = Keyword.merge([max_concurrency: 16 * System.schedulers_online(), timeout: @timeout], opts)

    for {key, test, expected} <- [
          {:machine, &(&1 != nil), "a machine"},
          {:run, &is_function(&1, 1), "a function of one argument"},
          {:max_concurrency, &(is_integer(&1) and &1 > 0), "a positive integer"},
          {:timeout, &(&1 == :infinity or (is_integer(&1) and &1 >= 0)), "milliseconds or :infinity"},
          # What OTP says when there is no process of a name.
          {:name, &(&1 != :undefined), "a name, as in GenServer"}
        ],
        not test.(opts[key]) do
      raise ArgumentError, "expected #{inspect(key)} to be #{expected}, got: #{inspect(opts[key])}"
    end

    {name, opts} = Keyword.split(opts, [:name])
    GenServer.start_link(__MODULE__, Map.new(opts), Enum.reject(name, &match?({_, nil}, &1)))
  end

  @doc "The address of the actor to ask."
  @spec address(GenServer.server()) :: Mote.Address.t()
  def address(server), do: GenServer.call(server, :address)

  # -- the process ---------------------------------------------------------------------------------------------

  @impl true
  def init(opts) do
    # To answer what is open when it is stopped.
    Process.flag(:trap_exit, true)
    {:ok, tasks} = Task.Supervisor.start_link()
    machine_down = Mote.monitor(opts.machine)
    address = Mote.create(opts.machine, Door.door(self()))
    state = %{address: address, machine_down: machine_down, tasks: tasks, running: %{}, waiting: :queue.new()}
    {:ok, Map.merge(opts, state)}
  end

  @impl true
  def handle_call(:address, _from, state), do: {:reply, state.address, state}

  @impl true
  def handle_info({:mote_request, customer, request}, state) do
    {:noreply, start(%{state | waiting: :queue.in({customer, request}, state.waiting)})}
  end

  # A task's result; it may have been told to end in the very moment in which it was done.
  def handle_info({ref, answer}, %{running: running} = state) when is_map_key(running, ref) do
    Process.demonitor(ref, [:flush])
    {:noreply, done(state, ref, answer)}
  end

  def handle_info({:DOWN, ref, :process, _, reason}, %{running: running} = state)
      when is_map_key(running, ref) do
    answer = if running[ref].late, do: :timeout, else: {:crashed, crash(reason)}
    {:noreply, done(state, ref, {:error, answer})}
  end

  # Killed, for one that traps exits need not heed anything else. Its place is free when it is gone.
  def handle_info({:timeout, ref}, %{running: running} = state) when is_map_key(running, ref) do
    Process.exit(running[ref].pid, :kill)
    {:noreply, put_in(state.running[ref].late, true)}
  end

  # Tasks that are done are in `running` no more.
  def handle_info({:timeout, _ref}, state), do: {:noreply, state}
  def handle_info({:EXIT, _pid, reason}, state), do: {:stop, reason, state}

  def handle_info({:DOWN, ref, :process, _, _}, %{machine_down: ref} = state),
    do: {:stop, {:shutdown, :machine_down}, state}

  use Mote.Internal.Stray

  defp who(_state), do: "service #{inspect(self())}"

  @impl true
  def terminate(_reason, state) do
    for {_, %{customer: customer}} <- state.running, do: answer(state, customer, {:error, :stopped})
    for {customer, _} <- :queue.to_list(state.waiting), do: answer(state, customer, {:error, :stopped})
  end

  defp start(%{running: running, max_concurrency: most} = state) when map_size(running) >= most, do: state

  defp start(%{run: run} = state) do
    case :queue.out(state.waiting) do
      {:empty, _} ->
        state

      {{:value, {customer, request}}, waiting} ->
        task = Task.Supervisor.async_nolink(state.tasks, fn -> run.(request) end)

        timer =
          if state.timeout != :infinity, do: Process.send_after(self(), {:timeout, task.ref}, state.timeout)

        running =
          Map.put(state.running, task.ref, %{customer: customer, pid: task.pid, timer: timer, late: false})

        start(%{state | running: running, waiting: waiting})
    end
  end

  defp done(state, ref, answer) do
    {%{customer: customer, timer: timer}, running} = Map.pop!(state.running, ref)
    if timer, do: Process.cancel_timer(timer)
    answer(state, customer, answer)
    start(%{state | running: running})
  end

  # A full sponsor is waited for by somebody else.
  defp answer(state, customer, answer) do
    with {:error, %Mote.Error{reason: :overloaded}} <- tell(customer, answer, on_full: :error) do
      Task.Supervisor.start_child(state.tasks, fn ->
        tell(customer, answer, on_full: :wait, timeout: :infinity)
      end)
    end
  end

  # Something that is not a customer, or whose machine is down, gets no answer.
  defp tell(customer, answer, opts) do
    Mote.send(customer, answer, opts)
  rescue
    error in [Mote.Error, ArgumentError] -> {:error, error}
  end

  defp crash({error, stack}) when is_list(stack), do: Exception.normalize(:error, error, stack)
  defp crash(reason), do: reason
end
