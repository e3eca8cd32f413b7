defmodule Mote.Machine.Question do
  # Waiting for the one message that a customer of this process gets. No other one ever comes: the sender of an answer claims
  # the customer first, and a process that gives up cancels it first.
  #
  # 1. No wait is without bound because a sender fails: each wait watches the process of the machine, and ends some time after
  #    its deadline even if the claimed message never comes.
  @moduledoc false

  alias Mote.{Address, Error, Far, Native}

  @typedoc "What the message begins with."
  @type tag :: reference | nonempty_improper_list(reference, non_neg_integer)

  @typedoc "The tag of the message and the asker's side."
  @type open :: {reference, asker}

  @typedoc "What can cancel a question: of the machine, or of another node."
  @type asker :: reference | Far.asker()

  @typedoc "How a question has ended before it was waited for."
  @type ended :: {:ok, term} | {:mote_failed, term}

  # Most answers come sooner than that, in milliseconds.
  @soon 10

  # A claimed message comes at once, or after the mail that the postman has before it. A wait for it lasts `@patience`
  # milliseconds, up to `@patient` times while there is mail; and `@last` milliseconds once the machine is down.
  @patience 5_000
  @patient 12
  @last 1_000

  @doc """
  Puts a question to a native machine and waits for the answer.

  `ask` gets a tag and returns the asker's side, or how the question has ended already, or a word that says why it was not
  put. `context` goes into errors.
  """
  @spec put(term, timeout, keyword, (reference -> reference | ended | atom)) ::
          {:ok, term} | {:error, Error.t()}
  def put(native, timeout, context, ask) do
    timeout!(timeout)

    # A new reference: so the wait looks only at messages that arrive after it, however long the mailbox is. For that
    # the compiler must see where the tag comes from.
    tag = make_ref()

    case ask.(tag) do
      asker when is_reference(asker) ->
        receive do
          {^tag, answer} -> {:ok, answer}
          {^tag, :mote_failed, reason} -> {:error, Error.from(reason, context)}
        after
          min(timeout, @soon) -> watch(native, tag, asker, context, timeout)
        end

      {:ok, _answer} = answered ->
        answered

      {:mote_failed, reason} ->
        {:error, Error.from(reason, context)}

      word ->
        {:error, Error.from(word, context)}
    end
  end

  # Nothing has come soon. A machine that ends says so to all that wait. If it cannot even do that, the end of its process
  # shows it, and only processes that wait for long pay for watching that. The message of the monitor bears the tag, too.
  defp watch(native, tag, asker, context, timeout) do
    monitor = :erlang.monitor(:process, Native.machine_owner(native), tag: tag)
    left = if timeout == :infinity, do: :infinity, else: max(timeout - @soon, 0)

    result =
      receive do
        {^tag, answer} -> {:ok, answer}
        {^tag, :mote_failed, reason} -> {:error, Error.from(reason, context)}
        {^tag, _monitor, :process, _, _} -> give_up(tag, asker, context, :machine_down)
      after
        left -> give_up(tag, asker, [timeout: timeout] ++ context, :timeout)
      end

    Process.demonitor(monitor, [:flush])
    result
  end

  @doc "Puts a question and does not wait."
  @spec open(term, keyword, (reference -> reference | atom)) :: {:ok, open} | {:error, Error.t()}
  def open(native, context, ask) do
    case Native.machine_owner(native) do
      pid when is_pid(pid) -> open_to(pid, context, ask)
      :unknown -> {:error, Error.from(:unknown, context)}
    end
  end

  defp open_to(pid, context, ask) do
    tag = Process.monitor(pid)

    case ask.(tag) do
      asker when is_reference(asker) ->
        {:ok, {tag, asker}}

      word ->
        Process.demonitor(tag, [:flush])
        {:error, Error.from(word, context)}
    end
  end

  @doc """
  Puts a question to each of several actors and waits for all the answers, in the order of the addresses; gives up on
  what is open after the timeout. `ask` gets the address as well, and `context` returns what goes into its errors.

  Each machine is watched once: to watch it for every question takes longer than to ask.
  """
  @spec put_all(
          [Address.t()],
          timeout,
          (Address.t() -> keyword),
          (Address.t(), tag -> reference | atom)
        ) ::
          [{:ok, term} | {:error, Error.t()}]
  def put_all(addresses, timeout, context, ask) do
    # One reference for all and a number for each: so an answer that comes before its turn is known to be one of them.
    all = make_ref()
    asked = ask_each(addresses, all, 0, context, ask)
    machines = for({_, _, %{machine: native}} <- asked, do: native) |> Enum.uniq()
    watched = Map.new(machines, &{Process.monitor(Native.machine_owner(&1)), &1})
    results = await_all(asked, %{}, {all, watched, deadline(timeout), timeout, context})
    for {monitor, _} <- watched, do: Process.demonitor(monitor, [:flush])
    results
  end

  defp ask_each([], _all, _n, _context, _ask), do: []

  defp ask_each([address | rest], all, n, context, ask) do
    tag = [all | n]

    opened =
      case ask.(address, tag) do
        asker when is_reference(asker) -> {tag, asker, address}
        word -> {:error, Error.from(word, context.(address))}
      end

    [opened | ask_each(rest, all, n + 1, context, ask)]
  end

  # What is open has three elements, a result has two. `early` has what came before its turn, and failures, by number: so a mailbox
  # in which many answers wait is gone through once, in whatever order they have come.
  defp await_all([], _early, _until), do: []
  defp await_all([{_, _} = result | rest], early, until), do: [result | await_all(rest, early, until)]

  defp await_all([{[_ | n], _asker, address} | rest], early, until) when is_map_key(early, n),
    do: [answered(early[n], address, until) | await_all(rest, early, until)]

  defp await_all([{[_ | n], _asker, _address} = open | rest] = opens, early, until) do
    {all, watched, deadline, _timeout, _context} = until

    receive do
      {[^all | ^n], answer} ->
        [{:ok, answer} | await_all(rest, early, until)]

      {[^all | other], answer} ->
        await_all(opens, Map.put(early, other, {:ok, answer}), until)

      {[^all | other], :mote_failed, reason} ->
        await_all(opens, Map.put(early, other, {:mote_failed, reason}), until)

      {:DOWN, monitor, _, _, _} when is_map_key(watched, monitor) ->
        opens |> Enum.map(&lost(&1, watched[monitor], early, until)) |> await_all(early, until)
    after
      left(deadline) -> [late(open, until) | await_all(rest, early, until)]
    end
  end

  defp answered({:ok, _answer} = answered, _address, _until), do: answered

  defp answered({:mote_failed, reason}, address, {_, _, _, _, context}),
    do: {:error, Error.from(reason, context.(address))}

  defp lost({[_ | n] = tag, asker, %{machine: native} = address}, native, early, {_, _, _, _, context})
       when not is_map_key(early, n),
       do: give_up(tag, asker, context.(address), :machine_down)

  defp lost(other, _native, _early, _until), do: other

  defp late({tag, asker, %{machine: native} = address}, {_, _, _, timeout, context}) do
    # What is on its way now never comes if the machine breaks down.
    monitor = :erlang.monitor(:process, Native.machine_owner(native), tag: tag)
    result = give_up(tag, asker, [timeout: timeout] ++ context.(address), :timeout)
    Process.demonitor(monitor, [:flush])
    result
  end

  @doc "Waits without giving up: `nil` after the timeout."
  @spec look(open, keyword, timeout) :: {:ok, term} | {:error, Error.t()} | nil
  def look({tag, asker}, context, timeout) do
    receive do
      {^tag, answer} -> done(tag, asker, {:ok, answer})
      {^tag, :mote_failed, reason} -> done(tag, asker, {:error, Error.from(reason, context)})
      {:DOWN, ^tag, _, _, _} -> done(tag, asker, give_up(tag, asker, context, gone(asker)))
    after
      timeout -> nil
    end
  end

  @doc """
  Waits for several, given with a value each: until all have ended, the deadline is over, or, if `until` says so, one has failed. What
  was ended before is not waited for. `context` returns what goes into a value's errors.

  Returns the results in the order of the list, with `nil` for what is open or was ended before. Until the first failure: the
  one that has failed, or the value of one that was ended before and whose answer is not there.
  """
  @spec collect([{open, value}], integer | :infinity, :all | :first_failure, (value -> keyword)) ::
          {:ok, [{:ok, term} | {:error, Error.t()} | nil]} | {:failed, {:error, Error.t()}} | {:ended, value}
        when value: term
  def collect(opens, deadline, until, context) do
    {ended, open} = Enum.split_with(opens, fn {open, _value} -> ended?(open) end)

    with {:ok, early} <- settle(by_tag(ended), %{}, until, context) do
      missing = Enum.find(ended, fn {{tag, _asker}, _value} -> not is_map_key(early, tag) end)
      by_tag = by_tag(open)

      if missing && until == :first_failure,
        do: {:ended, elem(missing, 1)},
        else: in_order(opens, early, [], {by_tag, map_size(by_tag) < length(open), deadline, until, context})
    end
  end

  defp by_tag(opens), do: Map.new(opens, fn {{tag, _asker}, _value} = open -> {tag, open} end)

  # What was ended before may have its message all the same. All are looked for at once: a mailbox may be long.
  defp settle(by_tag, early, _until, _context) when by_tag == %{}, do: {:ok, early}

  defp settle(by_tag, early, until, context) do
    with {tag, what} <- arrival(by_tag, 0),
         {:ok, early} <- came(tag, what, by_tag, early, until, context) do
      settle(by_tag, early, until, context)
    else
      nil -> {:ok, early}
      failed -> failed
    end
  end

  # `early` has the results of what came before its turn: so a mailbox in which many answers wait is gone through once, in whatever
  # order they have come, and those that come in the order of the list need not be put away.
  defp in_order([], _early, results, _all), do: {:ok, Enum.reverse(results)}

  defp in_order([{{tag, _asker}, _value} | rest], early, results, all) when is_map_key(early, tag) do
    {result, early} = Map.pop!(early, tag)
    in_order(rest, early, [result | results], taken(tag, all))
  end

  defp in_order([{{tag, asker}, _} | rest] = opens, early, results, {by_tag, _, _, _, _} = all)
       when is_map_key(by_tag, tag) do
    {_, _, deadline, until, context} = all

    case arrival(by_tag, left(deadline)) do
      {^tag, {:ok, answer}} ->
        in_order(rest, early, [done(tag, asker, {:ok, answer}) | results], taken(tag, all))

      {other, what} ->
        with {:ok, early} <- came(other, what, by_tag, early, until, context),
             do: in_order(opens, early, results, all)

      nil ->
        {left, _early} = Enum.map_reduce(opens, early, fn {{tag, _}, _}, early -> Map.pop(early, tag) end)
        {:ok, Enum.reverse(results, left)}
    end
  end

  # Ended before, or stands in the list twice.
  defp in_order([_ | rest], early, results, all), do: in_order(rest, early, [nil | results], all)

  # For what stands in the list twice there is one answer.
  defp taken(_tag, {_by_tag, false, _, _, _} = all), do: all

  defp taken(tag, {by_tag, true, deadline, until, context}),
    do: {Map.delete(by_tag, tag), true, deadline, until, context}

  defp came(tag, what, by_tag, early, until, context) do
    {{^tag, asker}, value} = Map.fetch!(by_tag, tag)
    result = done(tag, asker, result(what, tag, asker, context.(value)))

    if until == :first_failure and elem(result, 0) == :error,
      do: {:failed, result},
      else: {:ok, Map.put(early, tag, result)}
  end

  defp arrival(by_tag, timeout) do
    receive do
      {tag, answer} when is_map_key(by_tag, tag) -> {tag, {:ok, answer}}
      {tag, :mote_failed, reason} when is_map_key(by_tag, tag) -> {tag, {:mote_failed, reason}}
      {:DOWN, tag, _, _, _} when is_map_key(by_tag, tag) -> {tag, :down}
    after
      timeout -> nil
    end
  end

  defp result({:ok, answer}, _tag, _asker, _context), do: {:ok, answer}
  defp result({:mote_failed, reason}, _tag, _asker, context), do: {:error, Error.from(reason, context)}
  defp result(:down, tag, asker, context), do: give_up(tag, asker, context, gone(asker))

  @doc """
  Waits for any of several, given with a value each; gives up on all, and returns that one's value. `context` returns
  what goes into a value's errors.
  """
  @spec any([{open, value}], timeout, (value -> keyword)) :: {:ok, value} | nil when value: term
  def any(opens, timeout, context) do
    tags = Map.new(opens, fn {{tag, _asker}, value} -> {tag, value} end)

    came =
      receive do
        {tag, _answer} when is_map_key(tags, tag) -> tag
        {tag, :mote_failed, _reason} when is_map_key(tags, tag) -> tag
        {:DOWN, tag, _, _, _} when is_map_key(tags, tag) -> tag
      after
        timeout -> nil
      end

    {heard, others} = Enum.split_with(opens, fn {{tag, _asker}, _value} -> tag == came end)
    for {{tag, asker}, _value} <- heard, do: done(tag, asker, :ok)
    ignore_all(others, context)
    if came, do: {:ok, Map.fetch!(tags, came)}
  end

  @doc "When a timeout ends, in milliseconds of the system's own clock."
  @spec deadline(timeout) :: integer | :infinity
  def deadline(:infinity), do: :infinity
  def deadline(timeout), do: System.monotonic_time(:millisecond) + timeout

  @doc "What is left until then."
  @spec left(integer | :infinity) :: timeout
  def left(:infinity), do: :infinity
  def left(deadline), do: max(deadline - System.monotonic_time(:millisecond), 0)

  @doc "Gives up at once; returns what has come all the same."
  @spec ignore(open, keyword) :: {:ok, term} | {:error, Error.t()} | nil
  def ignore({tag, asker} = open, context), do: cancelled(open, context, cancel(tag, asker))

  @doc "Gives up on several, given with a value each; `context` returns what goes into a value's errors."
  @spec ignore_all([{open, value}], (value -> keyword)) :: :ok when value: term
  def ignore_all(opens, context) do
    # All of them before anything is waited for: then no more messages come than are on their way.
    cancelled = for {{tag, asker} = open, value} <- opens, do: {open, value, cancel(tag, asker)}
    Enum.each(cancelled, fn {open, value, answer} -> cancelled(open, context.(value), answer) end)
  end

  # Claimed before: its message is on its way.
  defp cancelled({tag, asker}, context, false),
    do: done(tag, asker, last(tag, context, @patience, @patient))

  defp cancelled({tag, asker} = open, context, _open_or_closed),
    do: done(tag, asker, look(open, context, 0))

  @doc "Waits for the answer to a question that was put to another node, and gives up after the timeout."
  @spec finish(open, keyword, timeout) :: {:ok, term} | {:error, Error.t()}
  def finish({tag, asker}, context, timeout), do: done(tag, asker, await(tag, asker, context, timeout))

  @doc "Whether the question has ended."
  @spec ended?(open) :: boolean
  def ended?({_tag, asker}) when is_reference(asker), do: Native.cancelled(asker)
  def ended?({_tag, asker}), do: Far.ended?(asker)

  defp cancel(_tag, asker) when is_reference(asker), do: Native.cancel(asker)
  defp cancel(tag, asker), do: Far.cancel(tag, asker)

  # What it means that whom it was put to is down.
  defp gone(asker), do: if(is_reference(asker), do: :machine_down, else: :noconnection)

  # So that nobody waits for it again.
  defp done(tag, asker, result) when is_tuple(asker) do
    Far.ended(tag, asker)
    result
  end

  defp done(tag, asker, result) do
    Process.demonitor(tag, [:flush])
    Native.cancel(asker)
    result
  end

  @doc "Waits until a native machine is quiet."
  @spec drain(reference, timeout, keyword) :: :ok | {:error, Error.t()}
  def drain(native, timeout, context) do
    tag = Process.monitor(Native.machine_owner(native))

    result =
      case Native.drain(native, tag) do
        {asker, ticket} ->
          result = await(tag, asker, context, timeout)
          if result != {:ok, :ok}, do: Native.drain_forget(native, ticket)
          result

        :ok ->
          {:ok, :ok}

        word ->
          {:error, Error.from(word, context)}
      end

    Process.demonitor(tag, [:flush])
    with {:ok, :ok} <- result, do: :ok
  end

  @doc "Waits in line for room in a sponsor; returns what admits one message."
  @spec line(term, timeout, keyword, (reference -> {reference, reference} | atom)) ::
          {:ok, reference} | {:error, Error.t()}
  def line(native, timeout, context, join) do
    tag = Process.monitor(Native.machine_owner(native))

    result =
      case join.(tag) do
        {asker, place} ->
          result = await(tag, asker, context, timeout)
          Native.leave_line(place)
          result

        word ->
          {:error, Error.from(word, context)}
      end

    Process.demonitor(tag, [:flush])
    result
  end

  defp await(tag, asker, context, timeout) do
    receive do
      {^tag, answer} -> {:ok, answer}
      {^tag, :mote_failed, reason} -> {:error, Error.from(reason, context)}
      {:DOWN, ^tag, _, _, _} -> give_up(tag, asker, context, gone(asker))
    after
      timeout -> give_up(tag, asker, [timeout: timeout] ++ context, :timeout)
    end
  end

  # From another node nothing comes after this.
  defp give_up(tag, asker, context, reason) when is_tuple(asker) do
    Far.cancel(tag, asker)

    receive do
      {^tag, answer} -> {:ok, answer}
      {^tag, :mote_failed, reason} -> {:error, Error.from(reason, context)}
    after
      0 -> {:error, Error.from(reason, context)}
    end
  end

  # The side that answers says so before it sends. So when giving up fails, the message is certain to come, unless the
  # machine breaks down in that very moment (invariant 1).
  defp give_up(tag, asker, context, reason) do
    cond do
      Native.cancel(asker) -> {:error, Error.from(reason, context)}
      reason == :machine_down -> last(tag, context, @last)
      true -> last(tag, context, @patience, @patient)
    end
  end

  defp last(tag, context, timeout, times \\ 1) do
    receive do
      {^tag, answer} -> {:ok, answer}
      {^tag, :mote_failed, reason} -> {:error, Error.from(reason, context)}
      {:DOWN, ^tag, _, _, _} -> last(tag, context, @last)
      {^tag, _monitor, :process, _, _} -> last(tag, context, @last)
    after
      timeout ->
        cond do
          not mail?(asked(context)) -> missing(tag, context)
          times > 1 -> last(tag, context, timeout, times - 1)
          true -> {:error, Error.from(:timeout, [timeout: @patience * @patient] ++ context)}
        end
    end
  end

  # Whom or what the question is about: something of a machine.
  defp asked(context), do: context[:address] || context[:future]

  defp mail?(%{machine: native}), do: match?(%{mail: n} when n > 0, Native.machine_info(native))
  defp mail?(nil), do: false

  # An answer that was sent is not there. If the machine runs, this process itself has taken it.
  defp missing(tag, context) do
    with %{machine: native} = asked <- asked(context),
         names when is_list(names) <- Native.machine_sponsors(native) do
      Process.demonitor(tag, [:flush])

      raise ArgumentError,
            "the answer of #{inspect(asked)} to the question #{inspect(tag)} was sent, and is not in the " <>
              "mailbox: it was taken by a receive of this process, which must not wait for it as well"
    else
      _ -> {:error, Error.from(:machine_down, context)}
    end
  end

  @doc "Checks that something is a list, and says of what it was to be one; raises `ArgumentError`."
  @spec list!(term, String.t()) :: :ok
  def list!(list, what) do
    if not is_list(list) or List.improper?(list),
      do: raise(ArgumentError, "expected a proper list of #{what}, got: #{inspect(list)}"),
      else: :ok
  end

  @doc "Checks a timeout; raises `ArgumentError`."
  @spec timeout!(term) :: :ok
  def timeout!(:infinity), do: :ok
  def timeout!(timeout) when is_integer(timeout) and timeout in 0..0xFFFFFFFF, do: :ok

  def timeout!(other) do
    raise ArgumentError, "expected a timeout in milliseconds or :infinity, got: #{inspect(other)}"
  end
end
