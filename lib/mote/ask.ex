defmodule Mote.Ask do
  @moduledoc """
  Asking actors: questions that are on their way, and waiting for their answers.

  `Mote.ask/3` asks a question and waits. `Mote.async/3` only asks it, and returns a `Mote.Ask` for
  `Mote.await/2`, `Mote.await_many/2`, `Mote.yield/2` or `Mote.ignore/1`, which relate to each other as their
  namesakes in `Task` do:

      asks = for counter <- counters, do: Mote.async(counter, :read)
      Enum.sum(Mote.await_many(asks))

  They are stricter in one respect: awaiting a question that was already answered or given up raises at once,
  where awaiting a task again would wait in vain.

  The actor gets `{customer, request}` and answers by sending to the customer, at any time, from any actor that was
  handed the customer. Only the process that asked can wait, and for each question there is one answer at most.

  ## Polling

  `Mote.yield_many/2` returns `nil` for questions that are open, and also for those that were answered or
  given up before, for which it does not wait. So answers are taken as they come, and the rest is polled
  again:

      defp poll([]), do: :ok

      defp poll(asks) do
        results = Mote.yield_many(asks, 50)
        for {ask, result} when result != nil <- results, do: show(ask, result)
        poll(for {ask, nil} <- results, do: ask)
      end

  ## Nothing comes late

  A caller that gives up, by a deadline, by `Mote.ignore/1`, by dropping the `Mote.Ask` or by dying, has cancelled the
  question. The machine discards an answer that comes after that. It never reaches the mailbox.

  ## While the machine's thread sleeps

  `Mote.ask/3` then runs the turns that lead to the answer in the process that asks, for some tens of microseconds
  at most, so no thread has to be woken. If the answer is there when they end, the call returns it, without a
  message and without waiting. If the turn was aborted, the call returns the reason in the same way. This
  applies while the thread that receives the question is asleep, and the machine is neither paused, seeded,
  watched nor collecting. The request and the answer must be small: some hundred values. The turns must be short: some
  thousand calls and loop steps, some tens of microseconds, and calls that nest no deeper than about two hundred.

  `Mote.ask_all/3` does so for each of its questions. The thread does everything that takes longer, and questions of
  `Mote.async/3`. For `receive` only the timing differs. But a call that is answered at once receives nothing. So
  `Process.info(self(), :messages)` after it may not yet show messages that actors have sent to the process before. A
  `receive` finds them, in their order.

  ## In a process that does not wait

  Until it is waited for, an answer is a message, so a `GenServer` can take it in `handle_info/2`. These are the
  messages of a question, where `ref` is the field of that name; there is one of the first two, or else the third:

    * `{ref, answer}`;
    * `{ref, :mote_failed, reason}` - there will be no answer: `{:aborted, module, behaviour, reason}`, `:broken_promise`,
      `{:broken_promise, module, behaviour, reason}` (the last turn that was given the customer and was aborted),
      `{:broken_promise, module, behaviour}` (the behaviour that was given it last and had no clause for the message),
      `:answer_too_large` or `:machine_down`;
    * `{:DOWN, ref, :process, machine, reason}`.

  Call `Process.demonitor(ref, [:flush])` after one of the first two.

  ## Fields

    * `ref` - the reference in its messages;
    * `address` - the address that was asked;
    * `owner` - the process that asked.
  """

  import Mote.Internal.Expected, only: [expected!: 2]

  alias Mote.{Address, Error, Far, Native}
  alias Mote.Machine.{Comeback, Long, Question, Questions, SponsorOptions, Worker}
  require Long
  require Worker
  import Question, only: [is_timeout: 1]

  # A process may make 4,000 calls until others have their turn, and then a question takes as long as they do. So what
  # every question does is written out in `ask/3`.
  @compile {:inline, options!: 2, not_own!: 1, once: 5}

  @timeout 5_000

  @enforce_keys [:ref, :address, :owner, :asker]
  defstruct [:ref, :address, :owner, :asker]

  @type t :: %__MODULE__{ref: reference, address: Address.t(), owner: pid, asker: Question.asker()}

  @type result :: {:ok, term} | {:error, Error.t()}

  @type options :: timeout | [timeout: timeout, sponsor: atom, on_down: :error | :wait]

  # -- one question, now ---------------------------------------------------------------------------------------

  @doc "See `Mote.ask/3`."
  @spec ask(Address.t(), term, options) :: result
  def ask(address, request, timeout_or_opts \\ @timeout), do: ask(address, request, request, timeout_or_opts)

  @doc false
  # The same for those who ask by way of another request: errors show what is meant.
  @spec ask(Address.t(), term, term, options) :: result
  def ask(%Address{} = address, request, meant, timeout_or_opts) do
    {timeout, named} = options!(timeout_or_opts, "ask/3")
    sponsor = address.sponsor || named
    not_own!(address)

    if is_list(timeout_or_opts) and timeout_or_opts[:on_down] == :wait,
      do: Comeback.act(address, timeout, &once(address, sponsor, request, meant, &1)),
      else: once(address, sponsor, request, meant, timeout)
  end

  def ask(other, _request, _meant, _timeout_or_opts), do: not_an_address!(other)

  defp once(%{machine: machine, key: key} = address, sponsor, request, meant, timeout) do
    case Native.ask(machine, key, sponsor, request) do
      {:ok, _answer} = answered -> answered
      :unknown -> far(about(address, sponsor, meant), request, timeout)
      open -> wait(open, request, about(address, sponsor, meant), timeout)
    end
  end

  defp far([address: address, sponsor: sponsor, request: _] = context, request, timeout) do
    with true <- Far.far?(address),
         {:ok, open} <- Far.open(address, sponsor, request, context) do
      Question.finish(open, context, timeout)
    else
      false -> {:error, Error.from(:unknown, context)}
      error -> error
    end
  end

  # The call has not answered itself: it has left the question open, or has not put it.
  defp wait(open, request, [address: address, sponsor: sponsor, request: _] = context, timeout) do
    %{machine: machine, key: key} = address

    Question.put(machine, timeout, context, fn tag ->
      case open do
        word when word in [:big, :long] ->
          again = &begin(Native.ask(machine, key, sponsor, request, &1), machine, tag)
          Long.again(word, request, again, &Native.ask_async_big(machine, key, sponsor, request, tag, &1))

        open ->
          begin(open, machine, tag)
      end
    end)
  end

  defp begin(asker, machine, tag) when is_reference(asker), do: Native.ask_wait(machine, asker, tag)
  defp begin(ended, _machine, _tag), do: ended

  @doc "See `Mote.ask!/3`."
  @spec ask!(Address.t(), term, options) :: term
  def ask!(address, request, timeout_or_opts \\ @timeout),
    do: Error.ok!(ask(address, request, timeout_or_opts))

  @doc "See `Mote.ask_all/3`."
  @spec ask_all([Address.t()], term, options) :: [result]
  def ask_all(addresses, request, timeout_or_opts \\ @timeout) do
    {timeout, sponsor} = options!(timeout_or_opts, "ask_all/3")
    Question.list!(addresses, "addresses")
    Enum.each(addresses, &(is_struct(&1, Address) || not_an_address!(&1)))

    if Enum.any?(addresses, &Far.far?/1),
      do: ask_each(addresses, request, timeout, sponsor),
      else: ask_near(addresses, request, timeout, sponsor)
  end

  # Each watches for itself whom it was put to, a machine or a node.
  defp ask_each(addresses, request, timeout, sponsor) do
    deadline = Question.deadline(timeout)
    opened = for address <- addresses, do: {address, open(address, request, sponsor)}

    for {address, opened} <- opened do
      with {:ok, ask} <- opened do
        context = about(address, address.sponsor || sponsor, request)

        Question.look(open_of(ask), context, Question.left(deadline)) ||
          Question.ignore(open_of(ask), context) ||
          {:error, Error.from(:timeout, [timeout: timeout] ++ kept(ask) ++ context)}
      end
    end
  end

  # What `Mote.waiting/2` needs, of a question to this node.
  defp kept(%{asker: asker}) when is_reference(asker), do: [question: asker]
  defp kept(_far), do: []

  defp ask_near(addresses, request, timeout, sponsor) do
    context = &about(&1, &1.sponsor || sponsor, request)
    ask = &put(&1, &1.sponsor || sponsor, request, &2)
    Questions.put_all(addresses, timeout, context, ask)
  end

  # As `ask/3` does. What that leaves open is waited for when all have been put.
  defp put(%Address{machine: machine, key: key} = address, sponsor, request, tag) do
    not_own!(address)

    case Native.ask(machine, key, sponsor, request) do
      word when word in [:big, :long] -> send(address, sponsor, request, tag)
      open -> begin(open, machine, tag)
    end
  end

  # -- questions on their way ----------------------------------------------------------------------------------

  @doc "See `Mote.async/3`."
  @spec async(Address.t(), term, sponsor: atom) :: t
  def async(address, request, opts \\ [])

  def async(%Address{} = address, request, opts) do
    Error.ok!(open(address, request, SponsorOptions.option!(opts, "async/3")))
  end

  def async(other, _request, _opts), do: not_an_address!(other)

  @doc "See `Mote.await/2`."
  @spec await(t, timeout) :: term
  def await(ask, timeout \\ @timeout) do
    owned!(ask)
    Question.timeout!(timeout)

    case look(ask, timeout) || Question.ignore(open_of(ask), context(ask)) do
      {:ok, answer} -> answer
      failed -> exit({why(failed), {Mote, :await, [ask, timeout]}})
    end
  end

  @doc "See `Mote.await_many/2`."
  @spec await_many([t], timeout) :: [term]
  def await_many(asks, timeout \\ @timeout) do
    owned_all!(asks)
    Question.timeout!(timeout)

    case collect(asks, Question.deadline(timeout), :first_failure) do
      {:ok, results} ->
        for {ask, result} <- Enum.zip(asks, results), do: answer(result || given_up(ask), asks, timeout)

      {:failed, failed} ->
        fail(failed, asks, timeout)

      {:ended, ask} ->
        ended!(ask)
    end
  end

  defp answer({:ok, answer}, _asks, _timeout), do: answer
  defp answer(failed, asks, timeout), do: fail(failed, asks, timeout)

  defp given_up(ask) do
    open = open_of(ask)
    if Question.ended?(open), do: ended!(ask), else: Question.ignore(open, context(ask))
  end

  # A caller that catches the exit has no use for the others' answers.
  defp fail(failed, asks, timeout) do
    open = for ask <- asks, open = open_of(ask), not Question.ended?(open), do: {open, ask}
    Question.ignore_all(open, &context/1)
    exit({why(failed), {Mote, :await_many, [asks, timeout]}})
  end

  # The reason of an exit.
  defp why(nil), do: :timeout

  defp why({:error, %Error{reason: :aborted, context: context}}),
    do: {:aborted, context.behaviour, context.reason}

  defp why({:error, %Error{reason: reason}}), do: reason

  @doc "See `Mote.yield/2`."
  @spec yield(t, timeout) :: result | nil
  def yield(ask, timeout \\ @timeout) do
    owned!(ask)
    Question.timeout!(timeout)
    look(ask, timeout)
  end

  @doc "See `Mote.yield_many/2`."
  @spec yield_many([t], timeout) :: [{t, result | nil}]
  def yield_many(asks, timeout \\ @timeout) do
    owned_all!(asks)
    Question.timeout!(timeout)
    {:ok, results} = collect(asks, Question.deadline(timeout), :all)
    Enum.zip(asks, results)
  end

  @doc "See `Mote.ignore/1`."
  @spec ignore(t) :: result | nil
  def ignore(ask) do
    owned!(ask)
    Question.ignore(open_of(ask), context(ask))
  end

  # -- parts ---------------------------------------------------------------------------------------------------

  defp open(address, request, named) do
    sponsor = address.sponsor || named
    context = [address: address, sponsor: sponsor]

    opened =
      if Far.far?(address),
        do: Far.open(address, sponsor, request, context),
        else: Question.open(address.machine, context, &send(address, sponsor, request, &1))

    with {:ok, {ref, asker}} <- opened do
      {:ok, %__MODULE__{ref: ref, address: address, owner: self(), asker: asker}}
    end
  end

  # For a process that does something else before it waits.
  defp send(%Address{machine: machine, key: key} = address, sponsor, request, tag) do
    not_own!(address)

    Long.call(request, Native.ask_async(machine, key, sponsor, request, tag))
  end

  @doc false
  # A turn of a beam sponsor that asks its own actor would wait for itself.
  def not_own!(address) do
    if Worker.turn?() and Worker.own?(address), do: raise(Error.from(:own_turn, address: address))
  end

  defp collect(asks, deadline, until),
    do: asks |> Enum.map(&{open_of(&1), &1}) |> Questions.collect(deadline, until, &context/1)

  # The answer, if it comes in time.
  defp look(ask, timeout) do
    with :ended <- poll(ask, timeout), do: ended!(ask)
  end

  # The message may be there although the question was ended: not another time.
  defp poll(ask, timeout) do
    cond do
      result = Question.look(open_of(ask), context(ask), 0) -> result
      Question.ended?(open_of(ask)) -> :ended
      true -> Question.look(open_of(ask), context(ask), timeout)
    end
  end

  defp open_of(%{ref: ref, asker: asker}), do: {ref, asker}

  defp context(ask), do: [address: ask.address]

  # Not before there is an error to tell, or to wait for: most questions have their answer at once.
  defp about(address, sponsor, request), do: [address: address, sponsor: sponsor, request: request]

  defp options!(timeout, _function) when is_timeout(timeout), do: {timeout, nil}
  defp options!(opts, function), do: named!(opts, function)

  defp named!(opts, function) when is_list(opts) do
    known = [:timeout, :sponsor] ++ if(function == "ask/3", do: [:on_down], else: [])

    unless Keyword.keyword?(opts) and Keyword.keys(opts) -- known == [] do
      expected!("a timeout or the options of #{function}, #{Enum.map_join(known, ", ", &inspect/1)}", opts)
    end

    {timeout, rest} = Keyword.pop(opts, :timeout, @timeout)
    {on_down, rest} = Keyword.pop(rest, :on_down, :error)
    Comeback.option!(on_down, function)
    Question.timeout!(timeout)
    {timeout, SponsorOptions.option!(rest, function)}
  end

  defp named!(other, _function), do: Question.timeout!(other)

  defp owned_all!(asks) do
    Question.list!(asks, "questions as Mote.async/3 returns them")
    Enum.each(asks, &owned!/1)
  end

  defp owned!(%__MODULE__{owner: owner}) when owner == self(), do: :ok

  defp owned!(%__MODULE__{} = ask) do
    raise ArgumentError,
          "#{inspect(ask)} belongs to #{inspect(ask.owner)}, the process that asked: " <>
            "#{inspect(self())} cannot wait for its answer"
  end

  defp owned!(other), do: expected!("what Mote.async/3 returns", other)

  @spec ended!(t) :: no_return
  defp ended!(ask) do
    raise ArgumentError,
          "#{inspect(ask)} was answered or given up before, and there is one answer: keep what Mote.await/2 returns"
  end

  @spec not_an_address!(term) :: no_return
  defp not_an_address!(%Mote.Reference.Address{}) do
    raise ArgumentError,
          "an actor that a turn creates exists when the turn has ended, and cannot be asked before: send to it"
  end

  defp not_an_address!(%Mote.Directory{} = directory) do
    raise ArgumentError,
          "expected the address of an actor to ask, got: #{inspect(directory)}: ask by key with Mote.Directory.ask/4"
  end

  defp not_an_address!(other), do: expected!("the address of an actor to ask", other)

  defimpl Inspect do
    def inspect(%{ref: ref, address: address}, _opts),
      do: "#Mote.Ask<#{Kernel.inspect(ref)} to #{Kernel.inspect(address)}>"
  end
end
