defmodule Mote.LoadedTwice do
  @moduledoc """
  Loading all modules of Mote twice, on a node of its own, with all of its long-lived processes there.
  """

  import Mote.Eventually

  alias Mote.{Actors, Processes}

  defmodule Directories do
    @moduledoc false
    use Mote.Behaviour

    defactor page(count) do
      {customer, :count} -> send customer, count
    end

    defdirectory pages() do
      _path -> page(0)
    end
  end

  @doc "The modules that processes were started by before, and those processes that ended when everything was loaded twice."
  def run(node) do
    caller = self()
    before = Process.list()

    spawn(fn ->
      {:ok, machine} = Mote.start_link(name: Reloaded, sponsors: [main: [threads: 1], io: [beam: true]])
      {:ok, _} = Mote.Shards.start_link(name: Pages, machine: Reloaded, start: Directories.pages())
      _trace = Mote.trace(machine)
      send(caller, {:up, machine})
      Process.sleep(:infinity)
    end)

    machine = receive(do: ({:up, machine} -> machine))

    # A courier, and the porter of the one over there; and a relay, which does not end while its postman does nothing.
    address = :erpc.call(node, __MODULE__, :create, [])
    {:ok, ^machine} = Mote.ask(address, machine)

    eventually(fn ->
      match?({:ok, _}, :erpc.call(node, Mote, :ask, [Mote.create(machine, Actors.echo()), 1]))
    end)

    postman = Processes.postman(machine)
    send(postman, {:mote_abroad, [{self(), [:relayed]}]})
    receive(do: (:relayed -> :ok))
    :ok = :sys.suspend(postman)

    eventually(fn -> Mote.Shards.settled?(Pages) end)
    # Those that have something to do and end then, as the shards have them when a node joins, are gone.
    quiet = eventually(fn -> stays(Process.list()) end)

    watched =
      for pid <- [Process.whereis(Mote.Far.Gate) | all()] ++ (quiet -- [self() | before]),
          uniq: true,
          do: {Process.monitor(pid), started_by(pid)}

    for module <- modules(), _ <- 1..2, do: load(module)
    {for({_, module} <- watched, uniq: true, do: module), killed(watched)}
  end

  defp stays(list) do
    Process.sleep(100)
    if Process.list() == list, do: list
  end

  # As a process is that was in a function of the code that goes.
  defp killed(watched) do
    for {monitor, module} <- watched, killed?(monitor), do: module
  end

  defp killed?(monitor) do
    receive do
      {:DOWN, ^monitor, :process, _, reason} -> reason == :killed
    after
      0 -> false
    end
  end

  @doc "An actor that a process of this node keeps."
  def create do
    :ok = Mote.FarRig.machine(Other)
    Mote.FarRig.create(Other, Actors.echo())
  end

  # Those that the application has started.
  defp all do
    supervised = fn supervisor ->
      for {_, pid, _, _} <- Supervisor.which_children(supervisor), is_pid(pid), do: pid
    end

    supervised.(Mote.Supervisor) ++ supervised.(Mote.Far.Supervisor)
  end

  defp started_by(pid) do
    case Process.info(pid, :dictionary) do
      {:dictionary, dictionary} -> elem(dictionary[:"$initial_call"] || {current(pid), nil, nil}, 0)
      nil -> nil
    end
  end

  defp current(pid) do
    with {:current_function, {module, _, _}} <- Process.info(pid, :current_function), do: module
  end

  # Not that of the native functions, which the docs of `Mote.Machine` except, and not those of tests.
  defp modules do
    {:ok, modules} = :application.get_key(:mote, :modules)

    for module <- modules,
        not Regex.match?(~r"/test/", to_string(source(module))),
        not function_exported?(module, :rustler_init, 0),
        do: module
  end

  defp source(module), do: module.module_info(:compile)[:source] || ""

  defp load(module) do
    {^module, binary, file} = :code.get_object_code(module)
    :code.purge(module)
    {:module, ^module} = :code.load_binary(module, file, binary)
    :code.purge(module)
  end
end
