defmodule Mote.Shards.Member do
  # The process of one node that makes it a member: finds the others, tells the fronts who they are, and has given away what is
  # not this node's any more. What it is told by whom, and when, is decided in view.ex.
  #
  # Messages do not go through it: whoever sends by key looks in a table, and sends to a front.
  #
  # 1. It waits for no actor, and does not end because one has not answered: what asks actors is a worker, which is followed by another
  #    one until the work is done.
  # 2. One that leaves has the time that its supervisor gives, without some at its end: for what is to be said, and seen off.
  # 3. The keys whose state is lost here are told.
  # 4. What another node holds for this one is held by a connection, which may end although the nodes still see each other: when a
  #    courier or a porter was killed. So keys that lead there are looked at again, as when the node has gone.
  @moduledoc false

  use GenServer

  require Logger

  alias Mote.{Directory, Move}
  alias Mote.Far.Berth
  alias Mote.Machine.Question
  alias Mote.Shards.{Front, Handover, Lost, View}
  alias Mote.Shards.Rule.Plain

  # Milliseconds until it looks again who is there, and asks again who has not answered.
  @look 500

  # Of the time that its supervisor gives, a member that leaves needs at most so many milliseconds to tell what it could not give away,
  # and so many to see off what is still here: or a part of it, where it is short.
  @last_words 500

  # And to hear from the shards what ends with nodes that leave together.
  @patience 60_000

  @last_way 3_000

  # How many keys a line in the log names.
  @named 10

  # What it still hears of others then.
  @heard_last [:mote_shards_hello, :mote_shards_leaving, :mote_shards_ask, :mote_shards_ack, :DOWN]

  @scope Mote.Shards

  @spec start_link(keyword) :: GenServer.on_start()
  def start_link(opts), do: GenServer.start_link(__MODULE__, opts, name: opts[:name])

  @doc "Returns the data that senders need: `{view, [{seed, fronts}]}`, and this node's directory; `nil` if there is none of that name."
  @spec routes(atom) :: {integer, [{non_neg_integer, Directory.t()}], Directory.t()} | nil
  def routes(name), do: :persistent_term.get({Mote.Shards, name}, nil)

  @doc "Returns the function that merges two states of a key, if there is one (`Mote.Shards.Merge`)."
  @spec merge(atom) :: Mote.Shards.merge() | nil
  def merge(name), do: :persistent_term.get({Mote.Shards.Merge, name}, nil)

  @impl GenServer
  def init(opts) do
    Process.flag(:trap_exit, true)
    name = opts[:name]
    machine = Mote.machine(opts[:machine])
    down = Mote.monitor(machine)
    :ok = :net_kernel.monitor_nodes(true, node_type: :all)
    at = opts |> Keyword.take([:shards, :sponsor]) |> Keyword.put_new(:shards, 64)
    directory = Directory.start(machine, opts[:start], at)
    me = {node(), self()}

    state = %{
      name: name,
      sponsor: opts[:sponsor],
      machine: machine,
      down: down,
      directory: directory,
      fronts: fronts(machine, directory, me, opts[:sponsor]),
      # What the others have said of themselves, and their monitors; which of them leave.
      others: %{},
      leaving: [],
      view: View.new(me),
      worker: nil,
      # The porters that take in what other nodes send, as it was seen last.
      porters: Berth.porters(),
      # What looks for keys that lead nowhere, for which nodes, and which have gone since.
      search: nil,
      # How long its supervisor waits for it; and until when it gives away, if it leaves.
      shutdown: opts[:shutdown],
      until: nil
    }

    # Until it knows who is there, its own fronts keep what comes.
    routes = [{Plain.seed(node()), %Directory{shards: state.fronts}}]
    :persistent_term.put({Mote.Shards, name}, {-1, routes, directory})
    if merge = opts[:merge], do: :persistent_term.put({Mote.Shards.Merge, name}, merge)
    {:ok, state, {:continue, :join}}
  rescue
    error in Mote.Error -> {:stop, error}
  end

  # One for each shard. Nobody is a member yet: so they keep what comes.
  defp fronts(machine, %{shards: shards}, {node, _}, sponsor) do
    seed = Plain.seed(node)

    behaviours = for shard <- Tuple.to_list(shards), do: Front.front(shard, -1, seed, [{seed, nil}], :never)

    opts = if sponsor, do: [sponsor: sponsor], else: []
    machine |> Mote.create_many(behaviours, opts) |> List.to_tuple()
  end

  # The group of this node may not have heard of the others' yet: so they are asked themselves.
  @impl GenServer
  def handle_continue(:join, state) do
    scope()
    :ok = :pg.join(@scope, state.name, self())

    there =
      Node.list()
      |> :erpc.multicall(:pg, :get_local_members, [@scope, state.name], 5_000)
      |> Enum.flat_map(fn
        {:ok, pids} -> pids
        _ -> []
      end)

    Process.send_after(self(), :look, @look)
    state = hello(state, there)
    # The first one has nobody to wait for; others change with the first hello.
    {:noreply, if(there == [], do: changed(state), else: state)}
  end

  defp scope do
    child = %{id: @scope, start: {:pg, :start_link, [@scope]}}

    case DynamicSupervisor.start_child(Mote.Far.Supervisor, child) do
      {:ok, _} -> :ok
      {:error, {:already_started, _}} -> :ok
    end
  end

  # Whoever is greeted may send here from then on, so it is one of the others before it has answered.
  defp hello(state, pids) do
    for pid <- pids, do: send(pid, {:mote_shards_hello, self(), about(state), true})
    Enum.reduce(pids, state, &watch(&2, &1))
  end

  defp about(%{machine: machine, fronts: fronts}), do: %{machine: machine.pid, fronts: fronts}

  # -- who is there --------------------------------------------------------------------------------------------

  @impl GenServer
  def handle_info({:mote_shards_hello, pid, about, answer?}, state) when is_pid(pid) do
    state = watch(state, pid)
    if answer?, do: send(pid, {:mote_shards_hello, self(), about(state), false})
    if self() in state.leaving, do: send(pid, {:mote_shards_leaving, self()})

    if tuple_size(about.fronts) == tuple_size(state.fronts) do
      {:noreply, state |> put_in([:others, pid, :about], about) |> changed()}
    else
      Logger.error(
        "#{inspect(state.name)} on #{node(pid)} has #{tuple_size(about.fronts)} shards, and #{tuple_size(state.fronts)} " <>
          "on #{node()}: it is no member here"
      )

      {:noreply, changed(put_in(state.others[pid].about, :refused))}
    end
  end

  def handle_info({:mote_shards_leaving, pid}, state) when is_map_key(state.others, pid),
    do: {:noreply, changed(%{state | leaving: Enum.uniq([pid | state.leaving])})}

  def handle_info({:mote_shards_ask, member, id, round}, state),
    do: {:noreply, step(state, View.asked(state.view, member, id, round))}

  def handle_info({:mote_shards_ack, member, id, round}, state),
    do: {:noreply, step(state, View.acked(state.view, member, id, round))}

  def handle_info(:look, state) do
    Process.send_after(self(), :look, @look)

    there =
      for pid <- :pg.get_members(@scope, state.name),
          pid != self(),
          not is_map_key(state.others, pid),
          do: pid

    state = state |> hello(there) |> connections()
    {:noreply, effects(state, View.missing(state.view))}
  end

  def handle_info({:DOWN, down, :process, _, _}, %{down: down} = state),
    do: {:stop, {:shutdown, :machine_down}, state}

  def handle_info({:DOWN, ref, :process, _, {:handed, id, figures}}, %{worker: {_, ref, id}} = state),
    do: {:noreply, handed(state, id, figures)}

  def handle_info({:DOWN, ref, :process, _, {:told, id}}, %{worker: {_, ref, id}} = state),
    do: {:noreply, told(state, id)}

  # There are other members by now, or one has not answered, or it has failed: from the beginning.
  def handle_info({:DOWN, ref, :process, _, _}, %{worker: {_, ref, _}} = state),
    do: {:noreply, hand_over(%{state | worker: nil})}

  def handle_info({:DOWN, _, :process, pid, reason}, %{search: {pid, nodes, later}} = state) do
    state = %{state | search: nil}

    case reason do
      {:lost, lost} ->
        for {node, keys} <- lost, do: tell(state, :lost, %{keys: length(keys)}, %{node: node, keys: keys})
        {:noreply, if(later == [], do: state, else: search(state, Enum.uniq(later ++ nodes)))}

      # It has not come to its end: from the beginning, a moment later.
      _ ->
        Process.send_after(self(), {:search, Enum.uniq(later ++ nodes)}, @look)
        {:noreply, state}
    end
  end

  def handle_info({:search, nodes}, state), do: {:noreply, search(state, nodes)}

  # It need not be one of the members.
  def handle_info({:nodedown, node, _info}, state), do: {:noreply, search(state, [node])}
  def handle_info({:nodeup, _node, _info}, state), do: {:noreply, state}

  def handle_info({:DOWN, _, :process, pid, _}, state) when is_map_key(state.others, pid) do
    {%{about: about}, others} = Map.pop!(state.others, pid)
    left? = pid in state.leaving

    if is_map(about) and not left?,
      do: tell(state, :down, %{system_time: System.system_time()}, %{node: node(pid)})

    {:noreply, changed(%{state | others: others, leaving: List.delete(state.leaving, pid)})}
  end

  def handle_info({:EXIT, _pid, reason}, state) when reason != :normal, do: {:stop, reason, state}
  def handle_info({:EXIT, _pid, :normal}, state), do: {:noreply, state}

  @impl GenServer
  def handle_call(:settled?, _from, state), do: {:reply, state.view.settled? and state.worker == nil, state}

  use Mote.Internal.Stray

  defp who(%{name: name}), do: "shards #{inspect(name)}"

  defp watch(state, pid) do
    case state.others do
      %{^pid => _} -> state
      _ -> put_in(state.others[pid], %{about: nil, monitor: Process.monitor(pid)})
    end
  end

  # -- what follows --------------------------------------------------------------------------------------------

  # Those that have not said hello yet are no members: but nobody is settled who has heard of them only, or who is refused by all of
  # them. One that others refuse keeps nobody waiting.
  defp changed(state) do
    known = for {pid, %{about: about}} when is_map(about) <- state.others, do: {node(pid), pid}
    refused = for {_, %{about: :refused}} <- state.others, do: :refused
    unknown? = map_size(state.others) > length(known) + length(refused) or (known == [] and refused != [])
    leaving = for pid <- state.leaving, do: {node(pid), pid}

    if state.view.members == [] and unknown?,
      do: state,
      else: step(state, View.change(state.view, [state.view.me | known], leaving))
  end

  defp step(state, {view, effects}), do: effects(%{state | view: view}, effects)

  defp effects(state, effects), do: Enum.reduce(effects, state, &effect/2)

  defp effect(:view, state) do
    :persistent_term.put({Mote.Shards, state.name}, routes_of(state))
    hand_over(state)
  end

  defp effect({:ask, {_, pid}, id, round}, state),
    do: say(state, pid, {:mote_shards_ask, state.view.me, id, round})

  defp effect({:ack, {_, pid}, id, round}, state),
    do: say(state, pid, {:mote_shards_ack, state.view.me, id, round})

  defp effect(:settled, state) do
    # A worker that gives away is followed by one that tells them.
    state = if state.worker == nil, do: tell_fronts(state), else: state
    nodes = for {_, {node, _}} <- View.owners(state.view), do: node
    tell(state, :settled, %{system_time: System.system_time(), members: length(nodes)}, %{nodes: nodes})
    state
  end

  defp say(state, pid, message) do
    send(pid, message)
    state
  end

  defp tell(state, event, measurements, metadata),
    do: :telemetry.execute([:mote, :shards, event], measurements, Map.put(metadata, :name, state.name))

  defp routes_of(state) do
    routes =
      for {seed, {_, pid}} <- View.owners(state.view),
          do: {seed, %Directory{shards: fronts_of(state, pid)}}

    {state.view.id, routes, state.directory}
  end

  defp fronts_of(state, pid) when pid == self(), do: state.fronts
  defp fronts_of(state, pid), do: state.others[pid].about.fronts

  defp machine_of(state, pid) when pid == self(), do: state.machine.pid
  defp machine_of(state, pid), do: state.others[pid].about.machine

  # The worker of earlier members goes on to the end of its actor; then another one begins.
  defp hand_over(%{worker: {enough, _, _}} = state) do
    :atomics.put(enough, 1, 1)
    state
  end

  defp hand_over(state), do: work(state, &{:handed, &1.view, Handover.run(&1)})

  # So the member waits for no actor, and a question that fails ends its worker only, which is followed by another one.
  defp work(state, work) do
    plan = plan(state)
    {_pid, ref} = spawn_monitor(fn -> exit(work.(plan)) end)
    %{state | worker: {plan.enough, ref, plan.view}}
  end

  defp plan(state) do
    %{
      name: state.name,
      view: state.view.id,
      enough: :atomics.new(1, []),
      me: elem(state.view.me, 0),
      since: since(state.view),
      fronts: state.fronts,
      sponsor: state.sponsor,
      machine: state.machine,
      until: state.until,
      members:
        for {seed, {node, pid}} <- View.owners(state.view) do
          {seed, %{node: node, fronts: fronts_of(state, pid), machine: machine_of(state, pid)}}
        end,
      leaving:
        for({node, pid} <- View.others_leaving(state.view), do: %{node: node, fronts: fronts_of(state, pid)})
    }
  end

  defp since(%{since: since}) when is_atom(since), do: since
  defp since(%{since: views}), do: for(view <- views, do: for({seed, _} <- view, do: {seed, nil}))

  defp handed(state, id, figures) do
    tell(state, :handed, Map.take(figures, [:moved, :stayed, :merged, :lost]), %{node: node()})

    for {why, keys} <- [taken: figures.dropped, left: figures.left, gone: figures.gone],
        do: dropped(state, why, keys)

    handed(state, id)
  end

  defp handed(%{view: %{id: id}} = state, id) do
    state = %{state | worker: nil}
    # Everybody may have answered meanwhile.
    state = if state.view.settled?, do: tell_fronts(state), else: state
    step(state, View.handed(state.view, id))
  end

  defp handed(state, _earlier), do: hand_over(%{state | worker: nil})

  @why %{
    taken:
      "had another actor on the node that has them, when nodes saw each other again, and were not merged",
    left: "could not be moved to other nodes before this one has left",
    gone: "had actors that had stayed on another node, which is gone"
  }

  defp dropped(_state, _why, []), do: :ok

  defp dropped(state, why, keys) do
    count = length(keys)
    tell(state, :dropped, %{count: count}, %{node: node(), why: why, keys: keys})
    named = keys |> Enum.take(@named) |> Enum.map_join(", ", &inspect/1)
    more = if count > @named, do: ", …", else: ""

    Logger.error(
      "the shards #{inspect(state.name)} have lost the state of #{count} key(s), which #{@why[why]}: #{named}#{more}"
    )
  end

  # The fronts hear that all have given away what is not theirs.
  defp tell_fronts(state) do
    work(state, fn plan ->
      :ok = Handover.tell(plan)
      {:told, plan.view}
    end)
  end

  defp told(%{view: %{id: id}} = state, id), do: %{state | worker: nil}
  defp told(state, _earlier), do: hand_over(%{state | worker: nil})

  defp connections(state) do
    porters = Berth.porters()
    ended = for {node, porter} <- state.porters, porters[node] != porter, do: node
    state = %{state | porters: porters}
    if ended == [], do: state, else: search(state, ended)
  end

  # One at a time, however many nodes go. What one still waits for, the next one looks at, too.
  defp search(%{search: {pid, nodes, later}} = state, gone) do
    send(pid, :enough)
    %{state | search: {pid, nodes, Enum.uniq(gone ++ later)}}
  end

  defp search(%{fronts: fronts} = state, nodes) do
    if Move.abroad?() do
      {pid, _ref} = spawn_monitor(fn -> exit({:lost, Lost.let_go(fronts, nodes)}) end)
      %{state | search: {pid, nodes, []}}
    else
      state
    end
  end

  # -- leaving -------------------------------------------------------------------------------------------------

  # All others know that it leaves, and then that it has given everything away; and it knows the same of them. Then nobody sends
  # anything here any more, and all that was sent has come: what is left is to see off what was passed on.
  @impl GenServer
  def terminate(_reason, %{name: name} = state) do
    if state.others != %{} and Process.alive?(state.machine.pid) do
      for {pid, _} <- state.others, do: send(pid, {:mote_shards_leaving, self()})
      until = Question.deadline(part(state.shutdown, @last_words))
      giving = Question.deadline(part(Question.left(until), @last_way))
      state = %{state | leaving: [self() | state.leaving], until: giving}
      state |> changed() |> farewell(until)
    end

    :persistent_term.erase({Mote.Shards, name})
    :persistent_term.erase({Mote.Shards.Merge, name})
  end

  # Without its end.
  defp part(:brutal_kill, _less), do: 0
  defp part(:infinity, _less), do: :infinity
  defp part(time, less), do: time - share(time, less)

  # So many milliseconds of a time, or a fifth of it.
  defp share(time, most) when is_integer(time), do: min(most, div(time, 5))
  defp share(_none, most), do: most

  # If all leave together, nobody is left to give anything to.
  defp farewell(%{view: view} = state, until) do
    cond do
      Question.left(until) == 0 ->
        late(state)

      Enum.any?(state.others, fn {_, %{about: about}} -> about == nil end) ->
        listen(state, until)

      View.owners(view) == [] and state.worker == nil ->
        left_behind(state, min(Question.left(until), @patience))

      View.owners(view) == [] ->
        listen(state, until)

      View.agreed?(view) ->
        leave(state, until)

      true ->
        listen(state, until)
    end
  end

  # With what was given away the keys are told (`handed/3`).
  defp late(%{view: %{handed?: true}}), do: :ok

  defp late(state) do
    Logger.error(
      "the shards #{inspect(state.name)} have left before the others had heard of it, or #{node()} knew what it could not give away: " <>
        "the state of the keys that are still here is lost. Their supervisor gives them #{state.shutdown} ms (:shutdown)"
    )

    left_behind(state, state.shutdown |> share(@last_words) |> div(2))
  end

  defp left_behind(state, patience),
    do: dropped(state, :left, state |> plan() |> Handover.left(patience))

  # What the work has exited with, if it has by then.
  defp within(milliseconds, work) do
    {pid, ref} = spawn_monitor(work)

    receive do
      {:DOWN, ^ref, :process, _, reason} -> reason
    after
      milliseconds -> Process.exit(pid, :kill)
    end
  end

  defp listen(state, until) do
    receive do
      message when elem(message, 0) in @heard_last ->
        with {:noreply, state} <- handle_info(message, state), do: farewell(state, until)
    after
      min(@look, Question.left(until)) ->
        state |> effects(View.missing(state.view)) |> farewell(until)
    end
  end

  defp leave(state, until) do
    plan = %{plan(state) | until: until}
    within(Question.left(until), fn -> Handover.leave(plan) end)
  end
end
