defmodule Mote.Bench.Programs.Timers do
  # What a timer costs while n of them are armed: arming, firing and cancelling by an actor, a thousand a turn; arming and
  # cancelling from outside, one by one; and the memory of one that is armed. The machine's clock is moved by hand, over a
  # thousand moments, so firing is all that is done meanwhile; its figure includes the turn that each message takes.
  #
  # On the BEAM the process is the one that arms, and what fires is left out: its clock cannot be moved.
  @moduledoc false

  use Mote.Bench.Program,
    title: "n timers armed, fired and cancelled by an actor, then n from outside",
    param: :n,
    defaults: [1_000_000],
    small: 1_500,
    metric: :ns_per_armed,
    # Those that fired, and that were cancelled: by the actor and from outside.
    expected: &{&1, &1, &1},
    processes: 1,
    fresh: true,
    settle: 200,
    machines: [mote: [main: [threads: 1]]],
    options: [mote: [clock: :manual]]

  alias Mote.Bench.Sample

  # All are due within this many milliseconds.
  @moments 1_000
  # On the BEAM none is due before it is cancelled.
  @beyond 3_600_000

  defmodule Actors do
    use Mote.Behaviour

    @batch 1_000
    @moments 1_000

    # `{customer, target, n}`: n more, which nobody can cancel.
    defactor armer do
      {customer, _target, 0} ->
        send customer, :armed

      {customer, target, n} ->
        batch = min(n, @batch)
        for n <- 1..batch, do: send_after(1 + rem(n, @moments), target, :due)
        send self(), {customer, target, n - batch}
    end

    # `{customer, n}`: n more, which are kept to be cancelled; then their number.
    defactor keeper(target, kept) do
      {customer, :cancel} ->
        send self(), {customer, :cancel, kept, 0}
        become keeper(target, [])

      {customer, :cancel, [], cancelled} ->
        send customer, {:cancelled, cancelled}

      {customer, :cancel, [batch | rest], cancelled} ->
        for timer <- batch, do: cancel_timer(timer)
        send self(), {customer, :cancel, rest, cancelled + length(batch)}

      {customer, 0} ->
        send customer, :armed

      {customer, n} ->
        batch = min(n, @batch)
        timers = for n <- 1..batch, do: send_after(1 + rem(n, @moments), target, :due)
        send self(), {customer, n - batch}
        become keeper(target, [timers | kept])
    end

    defactor counter(count) do
      :due -> become counter(count + 1)
      {customer, :read} -> send customer, count
    end
  end

  @impl true
  def measures_fresh(%Sample{param: n} = sample) do
    armed = Sample.stage(sample, :armed)

    [bytes_per_timer: Sample.per(armed.rss, sample.before, n), peak_rss_bytes: sample.peak] ++
      for %{name: name, ns: ns} <- sample.stages, name not in [:kept, :check], do: {:"ns_per_#{name}", ns / n}
  end

  @impl true
  def mote(machine, n) do
    armer = Mote.create(machine, Actors.armer())
    counter = Mote.create(machine, Actors.counter(0))
    keeper = Mote.create(machine, Actors.keeper(counter, []))
    me = self()

    [
      armed: asking(armer, {me, counter, n}),
      fired: fn :armed -> :ok = Mote.advance(machine, @moments, :infinity) end,
      kept: fn :ok -> answer(fn -> Mote.send(keeper, {me, n}) end) end,
      cancelled: fn :armed -> answer(fn -> Mote.send(keeper, {me, :cancel}) end) end,
      armed_outside: fn {:cancelled, n} ->
        {n, for(n <- 1..n, do: Mote.send_after(counter, :due, 1 + rem(n, @moments)))}
      end,
      cancelled_outside: fn {n, timers} -> {n, Enum.count(timers, &Mote.cancel_timer/1)} end,
      check: fn {by_actor, outside} ->
        # Whatever was not cancelled fires now, and is one too many.
        :ok = Mote.advance(machine, @moments, :infinity)
        {Mote.ask!(counter, :read, :infinity), by_actor, outside}
      end
    ]
  end

  @impl true
  def beam(n) do
    [
      armed: fn _ -> for n <- 1..n, do: Process.send_after(self(), :due, @beyond + rem(n, @moments)) end,
      cancelled: fn timers -> Enum.count(timers, &Process.cancel_timer/1) end,
      check: fn cancelled -> {n, cancelled, n} end
    ]
  end
end
