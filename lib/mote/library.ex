defmodule Mote.Library do
  # The front door: names, and where each is found. No behaviour is written here.
  @moduledoc """
  The standard behaviours: names to create actors with, in Elixir and inside of behaviours alike.

      gate = Mote.create(machine, Mote.Library.serializer(service))

      defactor keeper(service) do
        {customer, :open} -> send customer, create(Mote.Library.serializer(service))
      end

  Each function here stands for the function of the same name in the module of its theme, which has the details. The
  guide *Gatekeepers* says which to use when.

  ## Common rules

    * A **service** is an actor that answers `{customer, request}` by sending to the customer, as for `Mote.ask/3`; a
      **target** takes any message. The actor or the actors that a behaviour is about come first, then the rest, and
      milliseconds last.
    * Errors are answers `{:error, reason}`. A message of a shape that an actor does not take is ignored, and counted.
      A caller that asks this way gets `:broken_promise`.
    * A customer gets one answer, even if a service answers more than once, unless stated otherwise.
    * Answers go to a tag that was made for the request, an address that cannot be forged. So late answers, and
      answers to other requests, do not count.
    * Statements about the order of different senders hold in a sponsor with one thread. With several threads
      there is only the order of one sender's messages to one receiver (the guide *The design*).

  ## Where messages go: `Mote.Library.Plumbing`

    * `sink/0` - ignores everything
    * `const/1` - answers every request with the same value
    * `fwd/1`, `label/2`, `tag/1` - send every message on: as it is, behind a label, behind its own address
    * `once/1` - sends on the first message only
    * `tee/2`, `broadcast/1` - send every message to two, to all of a list
    * `pipe/1` - each service's answer is the request to the next

  ## Several at once: `Mote.Library.Parallel`

    * `race/1` - asks all, the first answer counts
    * `fork/1` - asks all the same, answers with all their answers
    * `gather/2` - waits for a number of messages, which come unasked
    * `par_map/1`, `map_reduce/2` - asks for each element of a list; and another service that combines the
      results

  ## In order: `Mote.Library.Gates`

    * `serializer/1`, `safe_serializer/2` - one request at a time; with a deadline for each
    * `rw_gate/1` - many readers or one writer
    * `sequencer/2` - messages in the order of their numbers
    * `suspendable/1` - holds messages while suspended

  ## State: `Mote.Library.Cells`

    * `cell/1` - a value, with compare and set
    * `counter/1` - a number
    * `future/0`, `lazy/2` - a value that is written once; one that is fetched when it is first read
    * `memo/1` - the answers of a service
    * `bounded_buffer/1` - a queue whose puts wait for room

  ## Time: `Mote.Library.Time`

    * `timed/2`, `select/2` - an answer or `{:error, :timeout}`: of a service, of the first of several
    * `guard/3` - asks an actor to clean up, whatever the outcome
    * `rate_limiter/3` - no more than a given number in any period
    * `batcher/3` - messages in lists

  ## Names and subscriptions: `Mote.Library.Hubs`

    * `registry/0` - addresses by name; `Mote.Directory` starts actors by their keys, and has as many as fit
      into memory
    * `pubsub/0` - published messages go to all subscribers

  ## From the BEAM: `Mote.Library.Beam`

  This is a function of Elixir that runs in processes and answers like an actor. It is a process that belongs under a
  supervisor, so it is started, not created.

      iex> {:ok, machine} = Mote.start_link()
      iex> counter = Mote.create(machine, Mote.Library.counter(0))
      iex> gate = Mote.create(machine, Mote.Library.serializer(counter))
      iex> sums = Mote.create(machine, Mote.Library.par_map(gate))
      iex> Mote.ask(sums, for(n <- 1..4, do: {:add, n}))
      {:ok, [1, 3, 6, 10]}
  """

  use Mote.Behaviour

  alias Mote.Library.{Cells, Gates, Hubs, Parallel, Plumbing, Time}

  # -- plumbing ------------------------------------------------------------------------------------------------

  defactor sink(), to: Plumbing.ignoring()
  defactor const(value), to: Plumbing.const(value)
  defactor fwd(target), to: Plumbing.fwd(target)
  defactor label(target, label), to: Plumbing.label(target, label)
  defactor tag(target), to: Plumbing.tag(target)
  defactor once(target), to: Plumbing.once(target)
  defactor tee(target, tap), to: Plumbing.tee(target, tap)
  defactor broadcast(targets), to: Plumbing.broadcast(targets)
  defactor pipe(services), to: Plumbing.pipe(services)

  # -- parallel ------------------------------------------------------------------------------------------------

  defactor race(services), to: Parallel.race(services)
  defactor fork(services), to: Parallel.fork(services)
  defactor gather(customer, count), to: Parallel.gather(customer, count)
  defactor par_map(service), to: Parallel.par_map(service)
  defactor map_reduce(mapper, reducer), to: Parallel.map_reduce(mapper, reducer)

  # -- gates ---------------------------------------------------------------------------------------------------

  defactor serializer(service), to: Gates.serializer(service)
  defactor safe_serializer(service, milliseconds), to: Gates.safe_serializer(service, milliseconds)
  defactor rw_gate(service), to: Gates.rw_gate(service)
  defactor sequencer(target, first), to: Gates.sequencer(target, first)
  defactor suspendable(target), to: Gates.suspendable(target)

  # -- cells ---------------------------------------------------------------------------------------------------

  defactor cell(value), to: Cells.cell(value)
  defactor counter(count), to: Cells.counter(count)
  defactor future(), to: Cells.future()
  defactor lazy(service, request), to: Cells.lazy(service, request)
  defactor memo(service), to: Cells.memo(service)
  defactor bounded_buffer(capacity), to: Cells.bounded_buffer(capacity)

  # -- time ----------------------------------------------------------------------------------------------------

  defactor timed(service, milliseconds), to: Time.timed(service, milliseconds)
  defactor select(services, milliseconds), to: Time.select(services, milliseconds)
  defactor guard(service, cleanup, milliseconds), to: Time.guard(service, cleanup, milliseconds)
  defactor rate_limiter(target, count, milliseconds), to: Time.rate_limiter(target, count, milliseconds)
  defactor batcher(target, size, milliseconds), to: Time.batcher(target, size, milliseconds)

  # -- hubs ----------------------------------------------------------------------------------------------------

  defactor registry(), to: Hubs.registry()
  defactor pubsub(), to: Hubs.pubsub()
end
