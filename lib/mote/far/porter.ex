defmodule Mote.Far.Porter do
  # Takes in the parcels of one courier of another node, and does here what the sender would have done, in the order of
  # sending. It ends with the courier, when it has taken in everything that the courier has sent.
  #
  # A full sponsor makes it wait: then messages from that node wait on the other side, and are refused there
  # when they are too many. Meanwhile it does not see its courier end, nor need it: see `Mote.Far.Berth`.
  #
  # 1. It takes in nothing before the porter that was there for that node has ended.
  # 2. Answers with references in them go by the courier of the other direction. When that one ends, they may be lost: so the porter
  #    ends, too, and whoever waits on the other node learns that there is no connection.
  @moduledoc false

  use GenServer, restart: :temporary

  require Logger

  alias Mote.{Address, Customer, Error, Far, Native}
  alias Mote.Far.{Berth, Home, Intake, Lease, Luggage, Packing, Table}
  alias Mote.Machine.{Batch, Long, Request, Sending}
  require Long
  import Home, only: [is_function_name: 1]

  # Milliseconds without work after which it lets go of what it has taken in.
  @rest 100

  # Numbers in one report.
  @many 1_000

  @patient [on_full: :wait, timeout: :infinity]

  @spec start_link(pid) :: GenServer.on_start()
  def start_link(courier), do: GenServer.start_link(__MODULE__, courier)

  # `asks` has by the tag of each open question its asker and the tag on the other node; `tags` these the other way round; `calls` by its
  # monitor each process that runs a function, for the tag of whoever waits for it.
  #
  # A monitor may have to wait for a connection, and the supervisor does not.
  @impl GenServer
  def init(courier), do: {:ok, courier, {:continue, :begin}}

  @impl GenServer
  def handle_continue(:begin, courier) do
    Process.monitor(courier)
    {_, counts, _} = Table.meet(node(courier))

    state = %{
      courier: courier,
      counts: counts,
      intake: %Intake{},
      # The numbers of announcements of which nothing is left here.
      dropped: Native.dropped_new(),
      # The monitor of the porter before it, while that is there.
      before: nil,
      asks: %{},
      tags: %{},
      calls: %{},
      # The couriers that answers have gone by, and their monitors.
      returning: %{},
      reporting: false,
      resting: false
    }

    {:noreply, welcome(Berth.take(node(courier)), state)}
  end

  defp welcome(:ok, state) do
    send(state.courier, {:mote_welcome, self(), Berth.last(node(state.courier))})
    %{state | before: nil}
  end

  defp welcome({:taken, porter}, state), do: %{state | before: Process.monitor(porter)}

  @impl GenServer
  def handle_info({:mote_parcel, number, ask?, announced, packed}, state) when is_integer(number) do
    case Intake.take(state.intake, number) do
      {:ok, intake} ->
        taken_in(number, ask?, announced, packed, %{state | intake: intake})

      :repeated ->
        settle(state)

      # Something is lost: both begin anew.
      :gap ->
        {:stop, :normal, state}
    end
  end

  def handle_info(:mote_dropped, state), do: settle(report_soon(state))

  def handle_info(:mote_report, state), do: settle(report(%{state | reporting: false}))

  def handle_info(:mote_rest, state), do: {:noreply, %{state | resting: false}, :hibernate}

  def handle_info({:DOWN, _, :process, courier, _}, %{courier: courier} = state), do: {:stop, :normal, state}

  def handle_info({:DOWN, monitor, :process, porter, _}, %{before: monitor} = state),
    do: {:noreply, welcome(Berth.take_over(node(state.courier), porter), state)}

  def handle_info({:DOWN, _, :process, courier, _}, %{returning: returning} = state)
      when is_map_key(returning, courier),
      do: {:stop, :normal, state}

  def handle_info({:DOWN, monitor, :process, _, reason}, %{calls: calls} = state)
      when is_map_key(calls, monitor) do
    {there, calls} = Map.pop!(calls, monitor)
    settle(reply(%{state | calls: calls}, there, {there, Home.created(reason)}))
  end

  # The one message of a question.
  def handle_info({tag, answer}, %{asks: asks} = state) when is_map_key(asks, tag),
    do: settle(answered(state, tag, &{&1, answer}))

  def handle_info({tag, :mote_failed, reason}, %{asks: asks} = state) when is_map_key(asks, tag),
    do: settle(answered(state, tag, &{&1, :mote_failed, reason}))

  def handle_info({:DOWN, tag, :process, _, _}, %{asks: asks} = state) when is_map_key(asks, tag) do
    {asker, _} = asks[tag]
    Native.cancel(asker)
    settle(answered(state, tag, &{&1, :mote_failed, :machine_down}))
  end

  use Mote.Internal.Stray

  defp who(state), do: "porter #{inspect(self())} for #{node(state.courier)}"

  # Nobody waits there any more.
  @impl GenServer
  def terminate(_reason, state) do
    for {_, {asker, _}} <- state.asks, do: Native.cancel(asker)
    Berth.leave(node(state.courier))
  end

  # -- entries -------------------------------------------------------------------------------------------------

  # What no courier of this version sends ends the connection, and no more.
  defp taken_in(number, ask?, announced, packed, state) do
    entries = Packing.unpack(packed)
    taken = Luggage.take_in(announced, state.dropped)
    if Lease.any?(), do: Enum.each(entries, &renew/1)
    state = Enum.reduce(entries, state, &entry(Luggage.replace(&1, taken), &2))
    Berth.taken(state.courier, number)
    if ask?, do: send(state.courier, {:mote_taken, number})
    settle(state)
  rescue
    error in [ArgumentError, FunctionClauseError, Protocol.UndefinedError] ->
      Logger.warning(
        "Mote on #{node(state.courier)} has sent something else than a parcel of this version, and the connection ends: #{inspect(error.__struct__)}"
      )

      {:stop, :normal, state}
  end

  # What an address that is lent is used for renews the lease.
  defp renew({:send, machine, key, _sponsor, _message}), do: Lease.used(machine, key)
  defp renew({:many, machine, key, _sponsor, _messages}), do: Lease.used(machine, key)
  defp renew({:ask, machine, key, _sponsor, _request, _there}), do: Lease.used(machine, key)
  defp renew({:request, machine, key, _request, _there}), do: Lease.used(machine, key)
  defp renew(_entry), do: :ok

  defp entry({:send, machine, key, sponsor, message}, state) do
    with word when is_atom(word) and word != :ok <- Native.send(machine, key, sponsor, message),
         {:error, _} <- patiently(machine, key, sponsor, &Sending.send(&1, message, @patient)),
         do: undelivered(state, 1)

    state
  end

  defp entry({:many, machine, key, sponsor, messages}, state) do
    case patiently(machine, key, sponsor, &Batch.send_many(&1, messages, @patient)) do
      :ok ->
        state

      # One that is too large, or comes at a bad time, does not take the others with it.
      {:error, %{reason: :no_memory, context: %{accepted: accepted}}} ->
        undelivered(state, 1)
        entry({:many, machine, key, sponsor, Enum.drop(messages, accepted + 1)}, state)

      {:error, %{context: context}} ->
        undelivered(state, length(messages) - Map.get(context, :accepted, 0))
        state
    end
  end

  defp entry({:answer, %Customer{ref: ref}, answer}, state) do
    answered = Long.dirty(Native.answer(ref, answer))
    if answered == :unknown, do: Table.add(state.counts, :undelivered, 1)
    state
  end

  defp entry({:reply, tag, message}, state) when is_reference(tag) do
    send(tag, message)
    state
  end

  defp entry({:ask, machine, key, sponsor, request, there}, state) when is_reference(there),
    do: asked(ask(machine, key, sponsor, request), there, state)

  defp entry({:request, machine, key, request, there}, state) when is_reference(there),
    do: asked(open(machine, &Request.near(machine, key, request, &1)), there, state)

  defp entry({:cancel, there}, state) do
    with {tag, tags} when tag != nil <- Map.pop(state.tags, there) do
      {{asker, _}, asks} = Map.pop!(state.asks, tag)
      Native.cancel(asker)
      Process.demonitor(tag, [:flush])
      %{state | asks: asks, tags: tags}
    else
      _ -> state
    end
  end

  # Loading code may take a while, and nobody else is to wait for that.
  defp entry({:create, function, args, there}, state)
       when is_function_name(function) and is_list(args) and is_reference(there) do
    put_in(state.calls[Home.create(function, args, node(state.courier))], there)
  end

  defp entry({:let_go, courier, numbers}, state) when is_pid(courier) and node(courier) == node() do
    send(courier, {:mote_let_go, numbers})
    state
  end

  defp entry({:lend, machine, key, milliseconds}, state)
       when is_integer(milliseconds) and milliseconds in 1..0xFFFFFFFF do
    Lease.lent(machine, key, milliseconds)
    state
  end

  # With all that a process does that sends: it waits for room, and shares long binaries.
  defp patiently(machine, key, sponsor, send) do
    sponsor = if sponsor in sponsors(machine), do: sponsor
    send.(%Address{machine: machine, key: key, sponsor: sponsor})
  rescue
    error in Error -> {:error, error}
  end

  defp undelivered(state, count), do: Table.add(state.counts, :undelivered, count)

  # A sponsor that the machine does not have (any more): its first one stands in.
  defp sponsors(machine) do
    with :stopped <- Native.machine_sponsors(machine), do: []
  rescue
    ArgumentError -> []
  end

  # -- questions -----------------------------------------------------------------------------------------------

  defp asked({:ok, answer}, there, state), do: reply(state, there, {there, answer})
  defp asked({:mote_failed, reason}, there, state), do: reply(state, there, {there, :mote_failed, reason})

  defp asked({:open, tag, asker}, there, state),
    do: %{state | asks: Map.put(state.asks, tag, {asker, there}), tags: Map.put(state.tags, there, tag)}

  defp ask(machine, key, sponsor, request) do
    case Native.ask(machine, key, sponsor, request) do
      {_, _} = ended -> ended
      asker when is_reference(asker) -> wait(machine, asker)
      :no_sponsor when sponsor != nil -> ask(machine, key, nil, request)
      word when word in [:big, :long] -> ask_long(machine, key, sponsor, request)
      # An address of this node before it was restarted.
      :unknown -> {:mote_failed, :stopped}
      word -> {:mote_failed, word}
    end
  end

  defp wait(machine, asker) do
    tag = Process.monitor(Native.machine_owner(machine))

    case Native.ask_wait(machine, asker, tag) do
      asker when is_reference(asker) ->
        {:open, tag, asker}

      ended ->
        Process.demonitor(tag, [:flush])
        ended
    end
  end

  defp ask_long(machine, key, sponsor, request),
    do: open(machine, &Long.call(request, Native.ask_async(machine, key, sponsor, request, &1)))

  # Of an address of this node before it was restarted there is no machine.
  defp open(machine, ask) do
    case Native.machine_owner(machine) do
      pid when is_pid(pid) -> open_to(pid, ask)
      :unknown -> {:mote_failed, :stopped}
    end
  end

  defp open_to(pid, ask) do
    tag = Process.monitor(pid)

    case ask.(tag) do
      asker when is_reference(asker) ->
        {:open, tag, asker}

      word ->
        Process.demonitor(tag, [:flush])
        {:mote_failed, if(word == :unknown, do: :stopped, else: word)}
    end
  end

  defp answered(state, tag, message) do
    {{_asker, there}, asks} = Map.pop!(state.asks, tag)
    Process.demonitor(tag, [:flush])
    reply(%{state | asks: asks, tags: Map.delete(state.tags, there)}, there, message.(there))
  end

  # What holds nothing needs no courier: whoever does not wait any more does not get it.
  defp reply(state, there, message) do
    if Luggage.references(message) == [] do
      send(there, message)
      state
    else
      returns_by(state, Far.reply(node(state.courier), there, message))
    end
  end

  # Without a courier this porter's connection has ended, too.
  defp returns_by(state, nil), do: state
  defp returns_by(%{returning: known} = state, courier) when is_map_key(known, courier), do: state

  defp returns_by(state, courier),
    do: put_in(state.returning[courier], Process.monitor(courier))

  # -- what is not held any more -------------------------------------------------------------------------------

  defp settle(state), do: {:noreply, rest(state)}

  # Behind what has come by then, as a courier leaves (lib/mote/far/courier.ex, invariant 2).
  defp report_soon(%{reporting: true} = state), do: state

  defp report_soon(state) do
    send(self(), :mote_report)
    %{state | reporting: true}
  end

  # By this node's courier: so it comes behind everything that was sent to what is dropped.
  defp report(state) do
    numbers = Native.dropped_take(state.dropped, @many)
    if numbers != [], do: Far.put(node(state.courier), [{{:let_go, state.courier, numbers}, 0}], :any)
    if length(numbers) == @many, do: report_soon(state), else: state
  end

  defp rest(%{resting: true} = state), do: state

  defp rest(state) do
    Process.send_after(self(), :mote_rest, @rest)
    %{state | resting: true}
  end
end
