defmodule Mote.Bench.Programs.Savina.FilterBank do
  # The filter bank of the Savina suite (`filterbank`: 34,816 samples, 8 channels, filters of 16,384 columns): every sample goes
  # through a delay, a filter, a sampler, another delay and another filter of each channel, an actor for each. An
  # integrator waits for the value of all channels and adds them up.
  #
  # Filters have 64 columns here, and numbers are integers, so that sums do not depend on an order. There are 2,000 samples by
  # default: processes, whose source waits for nobody, take twenty times as long for each of 34,816.
  @moduledoc false

  @channels 8

  use Mote.Bench.Program,
    title: "n samples through eight channels of five filters each",
    param: :n,
    defaults: [2_000],
    small: 150,
    metric: :us_per_sample,
    processes: 6 * @channels + 2

  @columns 64

  defmodule Actors do
    use Mote.Behaviour

    # Samples repeat after 1,000 of them. A batch in a turn.
    defactor source(channels, count, at_once) do
      from ->
        till = min(from + at_once, count)
        for number <- from..(till - 1), channel <- channels, do: send(channel, rem(number, 1_000))
        if till < count, do: send(self(), till)
    end

    defactor delay(waiting, next) do
      value ->
        {{:value, first}, waiting} = :queue.out(waiting)
        send next, first
        become waiting: :queue.in(value, waiting)
    end

    # `window`: the last values, the newest one first.
    defactor filter(window, coefficients, next) do
      value ->
        send next, product(coefficients, [value | window], 0)
        become window: Enum.take([value | window], length(coefficients) - 1)
    end

    # All values but one of so many become zero.
    defactor sampler(at, rate, next) do
      value ->
        send next, if(at == 0, do: value, else: 0)
        become at: rem(at + 1, rate)
    end

    defactor tagger(channel, step, integrator) do
      value ->
        send integrator, {channel, step, value}
        become step: step + 1
    end

    # `steps`: the values of steps that not all channels have sent, and their sums.
    defactor integrator(steps, channels, left, total, customer) do
      {_channel, step, value} ->
        {heard, sum} = Map.get(steps, step, {0, 0})
        sum = sum + value

        cond do
          heard + 1 < channels -> become steps: Map.put(steps, step, {heard + 1, sum})
          left > 1 -> become steps: Map.delete(steps, step), left: left - 1, total: digest(total, sum)
          true -> send customer, digest(total, sum)
        end
    end

    defpure digest(total, sum), do: rem(total * 31 + sum, 1_000_003)

    defpure product([coefficient | coefficients], [value | values], sum) do
      product(coefficients, values, sum + coefficient * value)
    end

    defpure product(_coefficients, _values, sum), do: sum
  end

  defmodule Processes do
    @spec source([pid], pos_integer) :: term
    def source(channels, count) do
      receive do
        :start ->
          for number <- 0..(count - 1), channel <- channels, do: send(channel, rem(number, 1_000))
          for channel <- channels, do: send(channel, :stop)
      end
    end

    # A stage that ends lets the next one end, too.
    @spec delay(:queue.queue(integer), pid) :: term
    def delay(waiting, next) do
      receive do
        :stop ->
          send(next, :stop)

        value ->
          {{:value, first}, waiting} = :queue.out(waiting)
          send(next, first)
          delay(:queue.in(value, waiting), next)
      end
    end

    @spec filter([integer], [integer], pid) :: term
    def filter(window, coefficients, next) do
      receive do
        :stop ->
          send(next, :stop)

        value ->
          send(next, product(coefficients, [value | window], 0))
          filter(Enum.take([value | window], length(coefficients) - 1), coefficients, next)
      end
    end

    @spec sampler(non_neg_integer, pos_integer, pid) :: term
    def sampler(at, rate, next) do
      receive do
        :stop ->
          send(next, :stop)

        value ->
          send(next, if(at == 0, do: value, else: 0))
          sampler(rem(at + 1, rate), rate, next)
      end
    end

    @spec tagger(pos_integer, pid) :: term
    def tagger(channel, integrator) do
      receive do
        :stop ->
          :ok

        value ->
          send(integrator, {channel, value})
          tagger(channel, integrator)
      end
    end

    # One value of each channel, in turn: what is early waits in the queue.
    @spec integrator(pos_integer, non_neg_integer, non_neg_integer, pid) :: term
    def integrator(_channels, 0, total, customer), do: send(customer, total)

    def integrator(channels, left, total, customer) do
      values = for channel <- 1..channels, do: receive(do: ({^channel, value} -> value))
      integrator(channels, left - 1, rem(total * 31 + Enum.sum(values), 1_000_003), customer)
    end

    defp product([coefficient | coefficients], [value | values], sum) do
      product(coefficients, values, sum + coefficient * value)
    end

    defp product(_coefficients, _values, sum), do: sum
  end

  # Each channel as a function of the whole list.
  @impl true
  def expected(n) do
    samples = for number <- 0..(n - 1), do: rem(number, 1_000)

    outputs =
      for {first, second} <- coefficients() do
        sampled =
          samples
          |> delayed()
          |> filtered(first)
          |> Enum.with_index(fn value, at -> if rem(at, @columns) == 0, do: value, else: 0 end)

        sampled |> delayed() |> filtered(second)
      end

    outputs |> Enum.zip_with(&Enum.sum/1) |> Enum.reduce(0, &Actors.digest(&2, &1))
  end

  defp delayed(values), do: Enum.take(List.duplicate(0, @columns - 1) ++ values, length(values))

  defp filtered(values, coefficients) do
    padded = List.duplicate(0, @columns - 1) ++ values
    backwards = Enum.reverse(coefficients)

    for window <- Enum.chunk_every(padded, @columns, 1, :discard),
        do: Enum.sum(Enum.zip_with(backwards, window, &*/2))
  end

  @impl true
  def mote(machine, n) do
    integrator = Mote.create(machine, Actors.integrator(%{}, @channels, n, 0, self()))

    channels =
      for {{first, second}, channel} <- Enum.with_index(coefficients(), 1) do
        Actors.tagger(channel, 0, integrator)
        |> then(&Actors.filter([], second, Mote.create(machine, &1)))
        |> then(&Actors.delay(zeros(), Mote.create(machine, &1)))
        |> then(&Actors.sampler(0, @columns, Mote.create(machine, &1)))
        |> then(&Actors.filter([], first, Mote.create(machine, &1)))
        |> then(&Actors.delay(zeros(), Mote.create(machine, &1)))
        |> then(&Mote.create(machine, &1))
      end

    source = Mote.create(machine, Actors.source(channels, n, 100))
    [run: asking(source, 0)]
  end

  @impl true
  def beam(n) do
    integrator = spawn(Processes, :integrator, [@channels, n, 0, self()])

    channels =
      for {{first, second}, channel} <- Enum.with_index(coefficients(), 1) do
        spawn(Processes, :tagger, [channel, integrator])
        |> then(&spawn(Processes, :filter, [[], second, &1]))
        |> then(&spawn(Processes, :delay, [zeros(), &1]))
        |> then(&spawn(Processes, :sampler, [0, @columns, &1]))
        |> then(&spawn(Processes, :filter, [[], first, &1]))
        |> then(&spawn(Processes, :delay, [zeros(), &1]))
      end

    source = spawn(Processes, :source, [channels, n])
    [run: asking(source, :start)]
  end

  defp zeros, do: :queue.from_list(List.duplicate(0, @columns - 1))

  # Those of the two filters of each channel.
  defp coefficients do
    for channel <- 0..(@channels - 1) do
      first =
        for column <- 0..(@columns - 1), do: column * @columns + channel * @channels + channel + column + 1

      second = for column <- 0..(@columns - 1), do: column * channel + channel * channel + column + channel
      {first, second}
    end
  end
end
