defmodule Mote.Machine.Question do
  # Waiting for the one message that a customer of this process gets. No other one ever comes: the sender of an answer claims
  # the customer first, and a process that gives up cancels it first.
  #
  # 1. A failing sender never makes a wait endless: each wait monitors the process of the machine, and ends
  #    some time after its deadline even if the claimed message never comes.
  @moduledoc false

  import Mote.Internal.Expected, only: [expected!: 2]

  alias Mote.{Error, Far, Native}

  @typedoc "The first element of the message."
  @type tag :: reference | nonempty_improper_list(reference, non_neg_integer)

  @typedoc "The tag of the message and the asker's side."
  @type open :: {reference, asker}

  @typedoc "A value that can cancel a question: of the machine, or of another node."
  @type asker :: reference | Far.asker()

  @typedoc "The end of a question that nobody had waited for yet."
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
        left -> give_up(tag, asker, [timeout: timeout] ++ asked(context, asker) ++ context, :timeout)
      end

    Process.demonitor(monitor, [:flush])
    result
  end

  @doc "Returns the part of a question's error that `Mote.waiting/2` reads, if an actor was asked."
  @spec asked(keyword, asker) :: keyword
  def asked(context, asker),
    do: if(Keyword.has_key?(context, :request), do: [question: asker], else: [])

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

  @doc "When a timeout ends, in milliseconds of the system's own clock."
  @spec deadline(timeout) :: integer | :infinity
  def deadline(:infinity), do: :infinity
  def deadline(timeout), do: System.monotonic_time(:millisecond) + timeout

  @doc "Returns the time that is left until a deadline."
  @spec left(integer | :infinity) :: timeout
  def left(:infinity), do: :infinity
  def left(deadline), do: max(deadline - System.monotonic_time(:millisecond), 0)

  @doc "Gives up at once; returns an answer that has come nevertheless."
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

  @doc "Returns whether the question has ended."
  @spec ended?(open) :: boolean
  def ended?({_tag, asker}) when is_reference(asker), do: Native.cancelled(asker)
  def ended?({_tag, asker}), do: Far.ended?(asker)

  defp cancel(_tag, asker) when is_reference(asker), do: Native.cancel(asker)
  defp cancel(tag, asker), do: Far.cancel(tag, asker)

  @doc "Returns the error of a question to something that is down."
  @spec gone(asker) :: atom
  def gone(asker), do: if(is_reference(asker), do: :machine_down, else: :noconnection)

  @doc "Ends a question, so that nobody waits for it again; returns its result."
  @spec done(reference, asker, result) :: result when result: term
  def done(tag, asker, result) when is_tuple(asker) do
    Far.ended(tag, asker)
    result
  end

  def done(tag, asker, result) do
    Process.demonitor(tag, [:flush])
    Native.cancel(asker)
    result
  end

  @doc "Waits until a native machine is quiet, or, if that is said, until nothing but turns of beam sponsors is left to do."
  @spec drain(reference, timeout, keyword, boolean) :: :ok | {:error, Error.t()}
  def drain(native, timeout, context, ignores_beam? \\ false) do
    tag = Process.monitor(Native.machine_owner(native))

    result =
      case Native.drain(native, ignores_beam?, tag) do
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

  @doc "Cancels a question that is waited for, and returns how it has ended: that reason is why, if there is no answer."
  @spec give_up(tag, asker, keyword, atom) :: {:ok, term} | {:error, Error.t()}
  # From another node nothing comes after this.
  def give_up(tag, asker, context, reason) when is_tuple(asker) do
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
  def give_up(tag, asker, context, reason) do
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
      do: expected!("a proper list of #{what}", list),
      else: :ok
  end

  @doc "Returns whether a term is a timeout, as `receive` takes it."
  defguard is_timeout(term) when term == :infinity or (is_integer(term) and term in 0..0xFFFFFFFF)

  @doc "Checks a timeout; raises `ArgumentError`."
  @spec timeout!(term) :: :ok
  def timeout!(timeout) when is_timeout(timeout), do: :ok

  def timeout!(other), do: expected!("a timeout in milliseconds or :infinity", other)
end
