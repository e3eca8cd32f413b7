defmodule Mote.TwoNodes do
  @moduledoc """
  Two nodes that are connected: `home`, where machines run, and `away`, for processes of another node.

  Neither needs epmd: `away` listens where it is told, and only `home` connects. Both are talked to over their standard
  input and output, so the node of the tests itself has no part in it.
  """

  import Mote.Eventually, only: [eventually: 1]

  alias Mote.{Actors, Library}
  alias Mote.TwoNodes.Actors, as: Ours

  defmodule Actors do
    @moduledoc false
    use Mote.Behaviour, errors: :undefined

    # So many in one turn, and then one in each.
    defactor counting(to) do
      {from, upto, last} ->
        for n <- from..upto, do: send(to, n)
        if upto < last, do: send(self(), {upto + 1, upto + 1, last})
    end

    # The same to both, without end.
    defactor both(near, far) do
      n ->
        send near, n
        send far, n
        send self(), n + 1
    end

    # Later, and in another sponsor.
    defactor ways(to) do
      :go ->
        sendx :other, to, {:sendx, is_pid(to), is_address(to)}
        send_after(1, to, :later)
    end
  end

  @doc "Why there can be no two nodes here; `nil` if there can. Tried once, whoever asks."
  @spec missing() :: String.t() | nil
  def missing, do: once(__MODULE__, &try_start/0)

  @doc "What a function has returned when it was called first under this name."
  def once(name, fun) do
    :global.trans({name, self()}, fn ->
      with :untried <- :persistent_term.get(name, :untried) do
        result = fun.()
        :persistent_term.put(name, result)
        result
      end
    end)
  end

  defp try_start do
    case start() do
      {:ok, nodes} ->
        stop(nodes)
        nil

      {:error, reason} ->
        "no two nodes can be connected here: #{inspect(reason)}"
    end
  end

  # A node that has just started shares its cores with all other tests.
  @patience 60_000

  @doc "Starts them, linked to the calling process."
  @spec start() :: {:ok, %{home: pid, away: pid, node: node, port: pos_integer}} | {:error, term}
  def start do
    port = free_port()

    with {:ok, away, node} <- start_away(port),
         do: start_home(%{away: away, node: node, port: port})
  catch
    :exit, reason -> {:error, reason}
  end

  @doc "Starts `away` (again)."
  def start_away(port), do: peer(port, ["-name", "away@127.0.0.1"])

  @doc "Starts `home` (again) and connects it."
  def start_home(%{port: port} = nodes) do
    with {:ok, home, _} <- peer(port, ["-name", "home@127.0.0.1", "-dist_listen", "false"]) do
      {:ok, _} = :peer.call(home, Application, :ensure_all_started, [:mote], @patience)

      case connect(Map.put(nodes, :home, home)) do
        true -> {:ok, Map.put(nodes, :home, home)}
        answer -> {:error, {:connect, answer}}
      end
    end
  end

  @doc "Connects `home` to `away` (again)."
  def connect(%{home: home, node: node}), do: :peer.call(home, Node, :connect, [node], @patience)

  @doc "Ends a node as a power failure does."
  def kill(peer) do
    ref = Process.monitor(peer)
    pid = :peer.call(peer, System, :pid, [], @patience)
    {_, 0} = System.cmd("kill", ["-9", pid])

    receive do
      {:DOWN, ^ref, _, _, _} -> :ok
    end
  end

  @doc "Stops a node as a debugger does, until `thaw/1` of what this returns. From then on none of its threads runs."
  @spec freeze(pid) :: String.t()
  def freeze(peer) do
    os = :peer.call(peer, System, :pid, [], @patience)
    {_, 0} = System.cmd("kill", ["-STOP", os])

    # The signal reaches each thread when that would run next: until then it may still answer. Where there is no `/proc`, nothing tells.
    eventually(fn -> Enum.all?(Path.wildcard("/proc/#{os}/task/*/stat"), &(File.read!(&1) =~ ") T ")) end)
    os
  end

  @doc "Lets a node go on that was stopped."
  @spec thaw(String.t()) :: {String.t(), non_neg_integer}
  def thaw(os), do: System.cmd("kill", ["-CONT", os], stderr_to_stdout: true)

  @doc "Ends both."
  def stop(%{home: home, away: away}), do: Enum.each([home, away], &:peer.stop/1)

  @doc "A port that nothing listens on at this moment."
  def free_port do
    {:ok, socket} = :gen_tcp.listen(0, ip: {127, 0, 0, 1})
    {:ok, port} = :inet.port(socket)
    :ok = :gen_tcp.close(socket)
    port
  end

  defp peer(port, name), do: start_peer(["-erl_epmd_port", "#{port}" | name])

  @doc "Starts a node of its own with these arguments, linked to the calling process, with the code of this one."
  def start_peer(args) do
    args = ["-setcookie", "mote", "-start_epmd", "false" | args]

    # Without those of Erlang itself, which it has, and would look through for each module before it comes to ours.
    own = :code.lib_dir()
    paths = Enum.flat_map(:code.get_path(), &if(:lists.prefix(own, &1), do: [], else: [~c"-pa", &1]))
    # As in Mote.Bench.Worker: the node's output goes where that of all goes.
    leader = Process.group_leader()
    Process.group_leader(self(), Process.whereis(:user))

    answer =
      :peer.start_link(%{
        connection: :standard_io,
        args: Enum.map(args, &to_charlist/1) ++ paths,
        wait_boot: @patience
      })

    Process.group_leader(self(), leader)
    answer
  end

  @doc "A process that keeps what it gets."
  @spec listener() :: pid
  def listener, do: spawn(fn -> listen([]) end)

  defp listen(heard) do
    receive do
      {__MODULE__, from} ->
        send(from, {self(), Enum.reverse(heard)})
        listen(heard)

      message ->
        listen([message | heard])
    end
  end

  @doc "What a listener of this node has got, once that is so many, or after a minute."
  @spec heard(pid, non_neg_integer) :: [term]
  def heard(listener, count, tries \\ 1_200) do
    send(listener, {__MODULE__, self()})

    receive do
      {^listener, heard} when length(heard) >= count or tries == 0 ->
        heard

      {^listener, _heard} ->
        Process.sleep(50)
        heard(listener, count, tries - 1)
    end
  end

  # What follows runs at home.

  @doc "So many in one turn, the others one by one; the machine's counters afterwards."
  def count(to, in_one, last) do
    machine = machine()
    Mote.send(Mote.create(machine, Ours.counting(to)), {1, in_one, last})
    :ok = Mote.drain(machine, 60_000)
    counters = Mote.info(machine).counters
    Mote.stop(machine)
    counters
  end

  @doc "A request of a process of the other node, and messages to it by all ways."
  def ways(to) do
    machine = machine()
    Mote.send(Mote.create(machine, Mote.Actors.echo()), {to, :asked})
    Mote.send(Mote.create(machine, Ours.ways(to)), :go)
    topic = Mote.create(machine, Library.pubsub())
    Mote.ask!(topic, {:subscribe, to})
    1 = Mote.ask!(topic, {:publish, :published})
    # From another machine, and back.
    other = machine()
    far = Mote.create(other, Mote.Actors.echo())
    Mote.send(Mote.create(machine, Mote.Actors.forward(far)), {to, {:between, to}})
    for machine <- [machine, other, machine], do: :ok = Mote.drain(machine, 60_000)
    Enum.each([machine, other], &Mote.stop/1)
  end

  @doc "Sends to a process that is gone, on a node that may be; then whether the machine still answers."
  def gone(to) do
    counters = count(to, 100, 200)
    machine = machine()
    echo = Mote.create(machine, Mote.Actors.echo())
    Mote.send(Mote.create(machine, Ours.counting(to)), {1, 100, 200})
    {counters, Mote.ask!(echo, :still_there)}
  end

  @doc "Messages to both, until the machine's process is killed in the middle of it: what the one of this node has got."
  def killed(far) do
    machine = machine()
    # It ends when the machine's threads have, and has sent everything by then.
    ended = Process.monitor(Mote.Processes.postman(machine))
    Process.unlink(machine)
    # By the one who hears it: what is sent until then is not for the tests to wait for.
    near = spawn(fn -> hear_and_kill(machine, 1_000, []) end)
    Mote.send(Mote.create(machine, Ours.both(near, far)), 1)

    receive do
      {:DOWN, ^ended, :process, _, _} -> heard(near, 0)
    end
  end

  defp hear_and_kill(machine, 0, heard) do
    Process.exit(machine, :kill)
    listen(heard)
  end

  defp hear_and_kill(machine, left, heard) do
    receive do
      n when is_integer(n) -> hear_and_kill(machine, left - 1, [n | heard])
    end
  end

  @doc "Some of what processes of this node can have of a machine."
  def belongings do
    machine = machine()
    listener = listener()
    ask = Mote.async(Mote.create(machine, Mote.Actors.forward(listener)), :what)
    [{customer, :what}] = heard(listener, 1)

    Mote.Future.with_environment(machine, [max_threads: 1], fn ->
      %{
        ask: ask,
        customer: customer,
        environment: Mote.Future.environment(),
        future: Mote.Future.future(&Mote.Sums.answer/0, []),
        outbox: Mote.Outbox.open(machine),
        timer: Mote.send_after(ask.address, :late, 60_000),
        trace: Mote.trace(machine)
      }
    end)
  end

  defp machine do
    {:ok, machine} = Mote.start_link(sponsors: [main: [threads: 1], other: [threads: 1]])
    machine
  end
end
