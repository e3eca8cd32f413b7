defmodule Mote.Library do
  # The front door: names, and where each is found. No behaviour is written here.
  @moduledoc """
  The standard behaviours.

  Every one of them is for Elixir and for behaviours alike:

      gate = Mote.create(machine, Mote.Library.serializer(account))

      defactor bank(account) do
        {customer, :open} -> send customer, create(Mote.Library.serializer(account))
      end

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
