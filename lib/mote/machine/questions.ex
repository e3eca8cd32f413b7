defmodule Mote.Machine.Questions do
  # Several questions at once. Answers are taken in the order in which they come, and put away until their
  # turn: so a mailbox in which many answers wait is scanned only once, whatever their order.
  @moduledoc false

  alias Mote.{Address, Error, Native}
  alias Mote.Machine.Question

  @doc """
  Puts a question to each of several actors and waits for all the answers, in the order of the addresses; gives up on
  what is open after the timeout. `ask` gets the address as well, and `context` returns what goes into its errors.

  Each machine is watched once: to watch it for every question takes longer than to ask.
  """
  @spec put_all(
          [Address.t()],
          timeout,
          (Address.t() -> keyword),
          (Address.t(), Question.tag() -> reference | Question.ended() | atom)
        ) ::
          [{:ok, term} | {:error, Error.t()}]
  def put_all(addresses, timeout, context, ask) do
    # One reference for all and a number for each: so an answer that comes before its turn is known to be one of them.
    all = make_ref()
    asked = ask_each(addresses, all, 0, context, ask)
    machines = for({_, _, %{machine: native}} <- asked, do: native) |> Enum.uniq()
    watched = Map.new(machines, &{Process.monitor(Native.machine_owner(&1)), &1})
    results = await_all(asked, %{}, {all, watched, Question.deadline(timeout), timeout, context})
    for {monitor, _} <- watched, do: Process.demonitor(monitor, [:flush])
    results
  end

  defp ask_each([], _all, _n, _context, _ask), do: []

  defp ask_each([address | rest], all, n, context, ask) do
    tag = [all | n]

    opened =
      case ask.(address, tag) do
        asker when is_reference(asker) -> {tag, asker, address}
        {:ok, _answer} = answered -> answered
        {:mote_failed, reason} -> {:error, Error.from(reason, context.(address))}
        word -> {:error, Error.from(word, context.(address))}
      end

    [opened | ask_each(rest, all, n + 1, context, ask)]
  end

  # What is open has three elements, a result has two. `early` has what came before its turn, and failures, by number.
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
      Question.left(deadline) -> [late(open, until) | await_all(rest, early, until)]
    end
  end

  defp answered({:ok, _answer} = answered, _address, _until), do: answered

  defp answered({:mote_failed, reason}, address, {_, _, _, _, context}),
    do: {:error, Error.from(reason, context.(address))}

  defp lost({[_ | n] = tag, asker, %{machine: native} = address}, native, early, {_, _, _, _, context})
       when not is_map_key(early, n),
       do: Question.give_up(tag, asker, context.(address), :machine_down)

  defp lost(other, _native, _early, _until), do: other

  defp late({tag, asker, %{machine: native} = address}, {_, _, _, timeout, context}) do
    # What is on its way now never comes if the machine breaks down.
    monitor = :erlang.monitor(:process, Native.machine_owner(native), tag: tag)
    about = context.(address)

    result =
      Question.give_up(tag, asker, [timeout: timeout] ++ Question.asked(about, asker) ++ about, :timeout)

    Process.demonitor(monitor, [:flush])
    result
  end

  @doc """
  Waits for several, given with a value each: until all have ended, the deadline is over, or, if `until` says so, one has failed. What
  was ended before is not waited for. `context` returns what goes into a value's errors.

  Returns the results in the order of the list, with `nil` for what is open or was ended before. Until the first failure: the
  one that has failed, or the value of one that was ended before and whose answer is not there.
  """
  @spec collect([{Question.open(), value}], integer | :infinity, :all | :first_failure, (value -> keyword)) ::
          {:ok, [{:ok, term} | {:error, Error.t()} | nil]} | {:failed, {:error, Error.t()}} | {:ended, value}
        when value: term
  def collect(opens, deadline, until, context) do
    {ended, open} = Enum.split_with(opens, fn {open, _value} -> Question.ended?(open) end)

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

  # `early` has the results of what came before its turn. Those that come in the order of the list need not be put away.
  defp in_order([], _early, results, _all), do: {:ok, Enum.reverse(results)}

  defp in_order([{{tag, _asker}, _value} | rest], early, results, all) when is_map_key(early, tag) do
    {result, early} = Map.pop!(early, tag)
    in_order(rest, early, [result | results], taken(tag, all))
  end

  defp in_order([{{tag, asker}, _} | rest] = opens, early, results, {by_tag, _, _, _, _} = all)
       when is_map_key(by_tag, tag) do
    {_, _, deadline, until, context} = all

    case arrival(by_tag, Question.left(deadline)) do
      {^tag, {:ok, answer}} ->
        in_order(rest, early, [Question.done(tag, asker, {:ok, answer}) | results], taken(tag, all))

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
    result = Question.done(tag, asker, result(what, tag, asker, context.(value)))

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
  defp result(:down, tag, asker, context), do: Question.give_up(tag, asker, context, Question.gone(asker))

  @doc """
  Waits for any of several, given with a value each; gives up on all, and returns that one's value. `context` returns
  what goes into a value's errors.
  """
  @spec any([{Question.open(), value}], timeout, (value -> keyword)) :: {:ok, value} | nil when value: term
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
    for {{tag, asker}, _value} <- heard, do: Question.done(tag, asker, :ok)
    Question.ignore_all(others, context)
    if came, do: {:ok, Map.fetch!(tags, came)}
  end
end
