defmodule Mote.Measure.Timer do
  @moduledoc """
  Measures how long a device takes.

  A device is any actor that answers `{customer, request}` when it is done. `timer(device, home, sponsor)` is a service in
  front of it: it passes requests on, and answers with the nanoseconds that went by between request and answer.

      iex> {:ok, machine} = Mote.start_link(sponsors: [single: [threads: 1], multi: [threads: :cores]], clock: :manual)
      iex> defmodule Doc.Nap do
      ...>   use Mote.Behaviour, errors: :undefined
      ...>   defactor nap do
      ...>     {customer, milliseconds} -> send_after(milliseconds, customer, :awake)
      ...>   end
      ...> end
      iex> nap = Mote.create(machine, Doc.Nap.nap())
      iex> timer = Mote.create(machine, Mote.Measure.Timer.timer(nap, :single, :multi))
      iex> answer = Task.async(fn -> Mote.ask!(timer, 250, :infinity) end)
      iex> nil = Task.yield(answer, 50)
      iex> Mote.advance(machine, 1_000)
      iex> Task.await(answer)
      250_000_000

  Each request gets a stopwatch, which is pinned to the sponsor `home`. There it reads the clock in the turn that sends
  the request; effects become visible when a turn has ended, so the start lies strictly before anything that the device
  does. It reads the clock again in the turn that gets the answer. With a home of one thread both stamps are of one
  thread, wherever the device runs: its cascade runs in `sponsor`. Where these two are different, the ways there and back
  from thread to thread are part of the time.

  An answer is whatever comes first; what it says is dropped. A device that never answers leaves its customer without
  one, and `Mote.ask/3` tells that as `:broken_promise`.

  The idea is that of the timing actor of David McClain's Lisp Actors.
  """
  use Mote.Behaviour, errors: :undefined

  @doc "Answers `{customer, request}` with the nanoseconds that the device takes for the request."
  defactor timer(device, home, sponsor) do
    {customer, request} ->
      stopwatch = create stopwatch(customer, device, sponsor), sponsor: home
      send stopwatch, request
  end

  @doc false
  defactor stopwatch(customer, device, sponsor) do
    request ->
      become running(customer, System.monotonic_time(:nanosecond))
      sendx sponsor, device, {self(), request}
  end

  @doc false
  defactor running(customer, start) do
    _answer ->
      send customer, System.monotonic_time(:nanosecond) - start
      become sink()
  end
end
