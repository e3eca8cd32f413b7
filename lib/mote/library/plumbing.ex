defmodule Mote.Library.Plumbing do
  # Behaviours that forward messages: on, away, to many, under a label. None of them waits for anything or knows of
  # requests, apart from those that answer at once.
  @moduledoc """
  The simplest behaviours of `Mote.Library`, which forward messages.

  A **target** gets any message; a **service** is a target that answers `{customer, request}`.
  """

  use Mote.Behaviour

  @doc """
  Ignores every message; each is counted as ignored.

  Useful as a customer when no answer is wanted. It is `Mote.Library.sink/0`; within a behaviour there is also
  the word `sink()`.
  """
  defactor ignoring() do
    _ when false -> nil
  end

  @doc """
  Answers every request with the same value.

      iex> {:ok, machine} = Mote.start_link()
      iex> Mote.ask(Mote.create(machine, Mote.Library.const(42)), :anything)
      {:ok, 42}
  """
  defactor const(value) do
    {customer, _request} -> send customer, value
  end

  @doc """
  Sends every message on to `target`, as it is.

      iex> {:ok, machine} = Mote.start_link()
      iex> Mote.send(Mote.create(machine, Mote.Library.fwd(self())), {:any, :message})
      iex> receive do message -> message end
      {:any, :message}
  """
  defactor fwd(target) do
    message -> send target, message
  end

  @doc """
  Sends `{label, message}` to `target` for every message: so a target can tell apart the ways by which
  messages reach it.

  An actor that knows `target` can guess a label, but not a `tag/1`.

      iex> {:ok, machine} = Mote.start_link()
      iex> Mote.send(Mote.create(machine, Mote.Library.label(self(), :left)), 1)
      iex> receive do message -> message end
      {:left, 1}
  """
  defactor label(target, label) do
    message -> send target, {label, message}
  end

  @doc """
  Sends `{tag, message}` to `target` for every message, where `tag` is its own address.

  Addresses are handed out and cannot be forged. So the creator of the tag knows that a message with it came
  through the tag, from an actor or a process that was given it.

      iex> {:ok, machine} = Mote.start_link()
      iex> tag = Mote.create(machine, Mote.Library.tag(self()))
      iex> Mote.send(tag, :hello)
      iex> receive do {^tag, message} -> message end
      :hello
  """
  defactor tag(target) do
    message -> send target, {self(), message}
  end

  @doc """
  Sends the first message on to `target` and ignores all others.

      iex> {:ok, machine} = Mote.start_link()
      iex> once = Mote.create(machine, Mote.Library.once(self()))
      iex> for n <- 1..3, do: Mote.send(once, n)
      iex> Mote.drain(machine)
      iex> Process.info(self(), :messages)
      {:messages, [1]}
  """
  defactor once(target) do
    message ->
      send target, message
      become sink()
  end

  @doc """
  Sends every message to `tap`, then to `target`.

      iex> {:ok, machine} = Mote.start_link()
      iex> log = Mote.create(machine, Mote.Library.label(self(), :seen))
      iex> Mote.send(Mote.create(machine, Mote.Library.tee(self(), log)), :hello)
      iex> Mote.drain(machine)
      iex> Process.info(self(), :messages) |> elem(1) |> Enum.sort()
      [:hello, {:seen, :hello}]
  """
  defactor tee(target, tap) do
    message ->
      send tap, message
      send target, message
  end

  @doc """
  Sends every message to each of the list `targets`, in its order.

      iex> {:ok, machine} = Mote.start_link()
      iex> targets = for n <- 1..3, do: Mote.create(machine, Mote.Library.label(self(), n))
      iex> Mote.send(Mote.create(machine, Mote.Library.broadcast(targets)), :hello)
      iex> Mote.drain(machine)
      iex> Process.info(self(), :messages)
      {:messages, [{1, :hello}, {2, :hello}, {3, :hello}]}
  """
  defactor broadcast(targets) do
    message -> Enum.each(targets, fn target -> send target, message end)
  end

  @doc """
  A service made of services: the answer of each is the request to the next, and that of the last one goes to
  the customer.

  Without any services it answers with the request. Of a service that answers more than once the first answer counts. One
  that does not answer leaves the customer without an answer: see `Mote.Library.timed/2`.

      iex> defmodule Doc.Stage do
      ...>   use Mote.Behaviour
      ...>   defactor times(n) do
      ...>     {customer, request} -> send customer, n * request
      ...>   end
      ...> end
      iex> {:ok, machine} = Mote.start_link()
      iex> stages = for n <- [2, 3, 7], do: Mote.create(machine, Doc.Stage.times(n))
      iex> Mote.ask(Mote.create(machine, Mote.Library.pipe(stages)), 1)
      {:ok, 42}
  """
  defactor pipe(services) do
    {customer, request} ->
      case services do
        [] -> send customer, request
        [last] -> send last, {customer, request}
        [first | rest] -> send first, {create(stage(customer, rest)), request}
      end
  end

  # Gets the answer of one stage.
  @doc false
  defactor stage(customer, services) do
    answer ->
      case services do
        [last] -> send last, {customer, answer}
        [next | rest] -> send next, {create(stage(customer, rest)), answer}
      end

      become sink()
  end

  # The customer of a gate: one for each request, so that the gate knows which one an answer belongs to. Three elements,
  # so that no answer looks like a request.
  @doc false
  defactor reply(gate) do
    answer -> send gate, {:reply, self(), answer}
  end
end
