defmodule Mote.Far do
  # Actors and customers of other nodes: the operations of this node's processes on them, and of its actors by way of the
  # postman. All operations go by the courier of that node, in the order in which they came: see
  # guides/internals/nodes.md.
  @moduledoc false

  import Mote.Far.Home, only: [is_function_name: 1]

  alias Mote.{Address, Customer, Error, Native}
  alias Mote.Far.{Entry, Gate, Home, Luggage, Table}
  alias Mote.Machine.Question

  @typedoc "The value by which a question to another node is ended: the courier, and whether it has ended."
  @type asker :: {pid, :atomics.atomics_ref()}

  @doc "Returns whether an address is one of another node. A machine with an identity may have come here from there."
  @spec far?(Address.t()) :: boolean
  def far?(%Address{machine: machine}) do
    is_reference(machine) and node(machine) != node() and Native.machine_owner(machine) == :unknown
  end

  @doc "Returns whether the machine of an address is one of before this node was restarted: with its name, and another creation."
  @spec earlier?(reference) :: boolean
  def earlier?(machine), do: node(machine) == node() and creation(machine) != creation(make_ref())

  # It stands before the words of the reference.
  defp creation(reference) do
    <<_version, _tag, words::16, rest::binary>> = :erlang.term_to_binary(reference)
    binary_part(rest, byte_size(rest), -4 * (words + 1)) |> binary_part(0, 4)
  end

  # -- sending -------------------------------------------------------------------------------------------------

  @doc "Sends a message; `on_full` and `timeout` as in `Mote.send/3`."
  @spec send(Address.t(), atom, term, :error | :wait | nil, timeout) :: :ok | {:error, Error.t()}
  def send(%Address{machine: machine, key: key} = address, sponsor, message, on_full, timeout) do
    entry = {:send, machine, key, sponsor, message}
    go(address, entry, Entry.bytes(message), on_full, timeout)
  end

  @doc "Sends a part of many (`Mote.Far.Entry.parts/1`), whose messages are accepted together."
  @spec send_many(Address.t(), atom, {[term], pos_integer}, :error | :wait | nil, timeout) ::
          :ok | {:error, Error.t()}
  def send_many(%Address{machine: machine, key: key} = address, sponsor, {messages, bytes}, on_full, timeout),
    do: go(address, {:many, machine, key, sponsor, messages}, bytes, on_full, timeout)

  defp go(address, entry, bytes, on_full, timeout) do
    node = node(address.machine)

    case {put(node, [{entry, bytes}], :refuse), on_full} do
      {:full, :wait} -> wait(address, entry, bytes, timeout)
      {:full, _} -> {:error, overloaded(node, [address: address], nil)}
      _ -> :ok
    end
  end

  defp wait(address, entry, bytes, timeout) do
    started = System.monotonic_time(:millisecond)
    node = node(address.machine)

    case room(node, timeout) do
      :room ->
        left = if timeout == :infinity, do: timeout, else: started + timeout - now()
        if left > 0, do: go(address, entry, bytes, :wait, left), else: go(address, entry, bytes, :error, 0)

      :timeout ->
        {:error, overloaded(node, [address: address], timeout)}
    end
  end

  defp now, do: System.monotonic_time(:millisecond)

  # One that has ended has room, too.
  defp room(node, timeout) do
    with {courier, _, _} <- courier(node), do: room_at(courier, timeout), else: (nil -> :room)
  end

  defp room_at(courier, timeout) do
    tag = :erlang.monitor(:process, courier, alias: :explicit_unalias)
    Kernel.send(courier, {:mote_room, tag})

    result =
      receive do
        {^tag, :room} -> :room
        {:DOWN, ^tag, :process, _, _} -> :room
      after
        timeout -> :timeout
      end

    close(tag)

    receive do
      {^tag, :room} -> :room
    after
      0 -> result
    end
  end

  defp overloaded(node, context, timeout) do
    waited = if timeout, do: "; there was no room within #{timeout} ms", else: ""

    Error.new(
      :overloaded,
      "as much waits to be sent to #{node} as may (:waiting_for_node of the application :mote): the message was not accepted" <>
        waited,
      Keyword.put(context, :node, node)
    )
  end

  @doc """
  Sends what actors have sent to actors and customers of a node: to each target its messages, in that order. Messages to actors are lost
  and counted if too much waits.
  """
  @spec from_actors(node | nil, [{Address.t() | Customer.t(), [term]}]) :: :ok
  def from_actors(home, _rows) when home in [nil, node()], do: :ok

  def from_actors(home, rows) do
    put(home, Enum.flat_map(rows, &entries/1), :lose)
    :ok
  end

  @doc "Counts messages to processes of a node that were lost on their way to it."
  @spec lost(node, non_neg_integer) :: :ok
  def lost(node, count) do
    with {_, counts, _} <- Table.fetch(node), do: Table.add(counts, :lost, count)
    :ok
  end

  defp entries({%Customer{} = customer, answers}),
    do: for(answer <- answers, do: {{:answer, customer, answer}, Entry.bytes(answer)})

  defp entries({%Address{machine: machine, key: key, sponsor: sponsor}, messages}) do
    for {some, bytes} <- Entry.parts(messages) do
      case some do
        [message] -> {{:send, machine, key, sponsor, message}, bytes}
        _ -> {{:many, machine, key, sponsor, some}, bytes}
      end
    end
  end

  @doc "Answers a customer of another node; `:unknown` if it is none."
  @spec answer(Customer.t(), term) :: :ok | :unknown
  def answer(%Customer{} = customer, answer) do
    home = Luggage.home(customer)

    if home == nil or home == node() do
      :unknown
    else
      put(home, [{{:answer, customer, answer}, Entry.bytes(answer)}], :any)
      :ok
    end
  end

  # -- asking --------------------------------------------------------------------------------------------------

  @doc "Puts a question; what comes is as `Mote.Machine.Question` takes it."
  @spec open(Address.t(), atom, term, keyword) :: {:ok, {reference, asker}} | {:error, Error.t()}
  def open(%Address{machine: machine, key: key}, sponsor, request, context) do
    bytes = Entry.bytes(request)
    question(node(machine), &{:ask, machine, key, sponsor, request, &1}, bytes, context)
  end

  @doc "Puts a request of Mote's own, however much waits (`Mote.Machine.Request`)."
  @spec request(Address.t(), term, keyword) :: {:ok, {reference, asker}} | {:error, Error.t()}
  def request(%Address{machine: machine, key: key}, request, context) do
    bytes = Entry.bytes(request)
    question(node(machine), &{:request, machine, key, request, &1}, bytes, context, :any)
  end

  defp question(node, entry, bytes, context, when_full \\ :refuse) do
    with {courier, counts, bound} <- courier(node),
         true <- when_full == :any or Table.get(counts, :waiting) <= bound do
      tag = :erlang.monitor(:process, courier, alias: :explicit_unalias)
      give(courier, counts, [{entry.(tag), bytes}])
      {:ok, {tag, {courier, :atomics.new(1, [])}}}
    else
      nil -> {:error, Error.from(:noconnection, context)}
      false -> {:error, overloaded(node, context, nil)}
    end
  end

  # -- calling -------------------------------------------------------------------------------------------------

  @doc """
  Runs a function of Mote (`Mote.Far.Home`) on another node, after everything that was sent there before; raises what it raises there.
  If it has not ended within the timeout, raises `Mote.Error`, and the function goes on.
  """
  @spec create!(node, Home.function_name(), [term], timeout) :: term
  def create!(node, function, args, timeout \\ :infinity), do: run!(node, function, args, timeout, :refuse)

  @doc "Does the same for Mote itself, however much waits."
  @spec create_own!(node, Home.function_name(), [term], timeout) :: term
  def create_own!(node, function, args, timeout \\ :infinity), do: run!(node, function, args, timeout, :any)

  # Another name would end the connection: over there it is no parcel of this version.
  defp run!(node, function, args, timeout, when_full) when is_function_name(function) do
    context = [node: node]
    entry = &{:create, function, args, &1}

    with {:ok, open} <- question(node, entry, Entry.bytes(args), context, when_full),
         {:ok, {:ok, created}} <- Question.finish(open, context, timeout) do
      created
    else
      {:ok, {:error, exception}} -> raise exception
      {:ok, {:exit, reason}} -> exit(reason)
      {:error, error} -> raise error
    end
  end

  @doc "Gives up a question: `true` if no message comes any more, `:closed` if it had ended before."
  @spec cancel(reference, asker) :: true | :closed
  def cancel(tag, {courier, ended}) do
    case :atomics.exchange(ended, 1, 1) do
      0 ->
        :erlang.unalias(tag)
        # The courier may have ended, so it counts this itself.
        Kernel.send(courier, {:mote_cancel, tag})
        true

      1 ->
        :closed
    end
  end

  @doc "It has its answer, or none."
  @spec ended(reference, asker) :: true
  def ended(tag, {_courier, ended}) do
    :atomics.put(ended, 1, 1)
    close(tag)
  end

  @doc "Returns whether a question has ended."
  @spec ended?(asker) :: boolean
  def ended?({_courier, ended}), do: :atomics.get(ended, 1) == 1

  defp close(tag) do
    :erlang.unalias(tag)
    Process.demonitor(tag, [:flush])
  end

  # -- timers --------------------------------------------------------------------------------------------------

  @doc "Sends a message later, by the time of this node."
  @spec send_after(Address.t(), term, non_neg_integer, atom) :: reference
  def send_after(%Address{machine: machine, key: key}, message, milliseconds, sponsor) do
    entry = {:send, machine, key, sponsor, message}
    due = {:mote_due, node(machine), entry, Entry.bytes(message)}
    Process.send_after(Gate, due, milliseconds)
  end

  # -- by the courier ------------------------------------------------------------------------------------------

  @doc """
  Gives entries with their bytes to the courier of a node. If too much waits already, `:refuse` returns `:full`, `:lose` loses all but
  answers, and `:any` puts them in nonetheless. Where there is no courier, everything is lost and counted.
  """
  @spec put(node, [{Entry.t(), non_neg_integer}], :refuse | :lose | :any) :: :ok | :full
  def put(node, entries, when_full) do
    case courier(node) do
      nil ->
        # Unless there never was a connection.
        lost(node, messages(entries, 0))

      {courier, counts, bound} ->
        put(courier, counts, bound - Table.get(counts, :waiting), entries, when_full)
    end
  end

  defp put(courier, counts, _room, entries, :any), do: give(courier, counts, entries)

  defp put(_courier, counts, room, _entries, :refuse) when room < 0 do
    Table.add(counts, :refused, 1)
    :full
  end

  defp put(courier, counts, _room, entries, :refuse), do: give(courier, counts, entries)

  defp put(courier, counts, room, entries, :lose) do
    {entries, lost, _room} = Enum.reduce(entries, {[], 0, room}, &fit/2)
    Table.add(counts, :lost, lost)
    give(courier, counts, Enum.reverse(entries))
  end

  # One more than there is room for, as of those that come one by one.
  defp fit({entry, bytes} = weighed, {entries, lost, room}) do
    if room >= 0 or match?({:answer, _, _}, entry),
      do: {[weighed | entries], lost, room - Table.taken(1, bytes)},
      else: {entries, lost + Entry.count(entry), room}
  end

  @doc "Gives the answer to a question of a process of another node to the courier of that node; returns the courier, if there is one."
  @spec reply(node, reference, tuple) :: pid | nil
  def reply(node, tag, message) do
    with {courier, counts, _} <- courier(node) do
      give(courier, counts, [{{:reply, tag, message}, Entry.bytes(message)}])
      courier
    end
  end

  defp give(_courier, _counts, []), do: :ok

  defp give(courier, counts, entries) do
    Table.give(counts, length(entries), bytes(entries, 0), messages(entries, 0))
    Kernel.send(courier, {:mote_put, entries})
    :ok
  end

  defp bytes([], sum), do: sum
  defp bytes([{_entry, bytes} | entries], sum), do: bytes(entries, sum + bytes)

  defp messages([], sum), do: sum
  defp messages([{entry, _bytes} | entries], sum), do: messages(entries, sum + Entry.count(entry))

  defp courier(node) do
    case Table.fetch(node) do
      {courier, _, _} = entry when courier != nil -> entry
      _ -> start(node)
    end
  end

  # A node that has no name reaches no other.
  defp start(node) do
    with true <- Node.alive?(),
         pid when pid != nil <- Gate.courier(node),
         # It may have ended: then the counts are those of the next one.
         {courier, _, _} = entry when courier != nil <- Table.fetch(node) do
      entry
    else
      _ -> nil
    end
  end
end
