defmodule Mote.Bench.Programs.Savina.BoundedBuffer do
  # Producers and consumers of the Savina suite (`bndbuffer`: a buffer of 50, 40 producers of 1,000 items each, 40 consumers,
  # 25 × 100 logarithms to make an item and as many to use it). A producer makes the next item when the buffer has room.
  # The default is 100 items of each, since 1,000 take processes seven seconds.
  @moduledoc false

  @consumers 40
  @producers 40

  use Mote.Bench.Program,
    title: "40 producers make n items each for 40 consumers, through a buffer of 50",
    param: :n,
    defaults: [100],
    small: 1,
    metric: :us_per_item,
    count: &(&1 * @producers),
    expected: &Enum.sum(1..(&1 * @producers)),
    processes: @producers + @consumers + 1

  defmodule Actors do
    use Mote.Behaviour

    # As many items may come unasked as there are producers, when the buffer is called full.
    @room 50 - 40
    @cost 2_500

    # `producers` wait for room, `consumers` for an item. `left`: the items that are not consumed.
    defactor buffer(items, producers, consumers, left, sum, customer) do
      {:item, producer, item} ->
        items = :queue.in(item, items)
        {items, consumers} = hand_over(items, consumers)

        if :queue.len(items) < @room do
          send producer, :produce
          become items: items, consumers: consumers
        else
          become items: items, consumers: consumers, producers: :queue.in(producer, producers)
        end

      {:consumed, consumer, number} when left > 1 ->
        {items, consumers} = hand_over(items, [consumer | consumers])
        producers = call(producers)
        become items: items, consumers: consumers, producers: producers, left: left - 1, sum: sum + number

      {:consumed, _consumer, number} ->
        send customer, sum + number
    end

    defeffect hand_over(items, consumers) do
      case {:queue.out(items), consumers} do
        {{{:value, item}, items}, [consumer | consumers]} ->
          send consumer, {item, self()}
          {items, consumers}

        _nothing_or_nobody ->
          {items, consumers}
      end
    end

    defeffect call(producers) do
      case :queue.out(producers) do
        {{:value, producer}, producers} ->
          send producer, :produce
          producers

        {:empty, producers} ->
          producers
      end
    end

    defactor producer(buffer, number, last) do
      :produce when number <= last ->
        send buffer, {:item, self(), {number, work(number * 1.0, number, @cost)}}
        become number: number + 1

      :produce ->
        become sink()
    end

    # The smallest result that it has seen, so that none is computed in vain.
    defactor consumer(least) do
      {{number, value}, buffer} ->
        least = min(least, work(value, number, @cost))
        send buffer, {:consumed, self(), number}
        become least: least
    end

    defpure work(value, _dice, 0), do: value

    defpure work(value, dice, left) do
      dice = rem(dice * 48_271, 2_147_483_647)
      work(value + :math.log(dice / 2_147_483_647 + 0.01), dice, left - 1)
    end
  end

  defmodule Processes do
    @room 50 - 40
    @cost 2_500

    defstruct [:left, :customer, items: :queue.new(), producers: :queue.new(), consumers: [], sum: 0]

    @spec buffer([pid], [pid], pos_integer, pid) :: term
    def buffer(producers, consumers, left, customer) do
      for producer <- producers, do: send(producer, {:produce, self()})
      sum = serve(%__MODULE__{consumers: consumers, left: left})
      for process <- producers ++ consumers, do: send(process, :stop)
      send(customer, sum)
    end

    defp serve(%{left: 0, sum: sum}), do: sum

    defp serve(buffer) do
      receive do
        {:item, producer, item} ->
          buffer = hand_over(%{buffer | items: :queue.in(item, buffer.items)})

          if :queue.len(buffer.items) < @room do
            send(producer, {:produce, self()})
            serve(buffer)
          else
            serve(%{buffer | producers: :queue.in(producer, buffer.producers)})
          end

        {:consumed, consumer, number} ->
          buffer = hand_over(%{buffer | consumers: [consumer | buffer.consumers]})
          producers = call(buffer.producers)
          serve(%{buffer | producers: producers, left: buffer.left - 1, sum: buffer.sum + number})
      end
    end

    defp hand_over(%{consumers: [consumer | consumers]} = buffer) do
      case :queue.out(buffer.items) do
        {{:value, item}, items} ->
          send(consumer, {item, self()})
          %{buffer | items: items, consumers: consumers}

        {:empty, _} ->
          buffer
      end
    end

    defp hand_over(buffer), do: buffer

    defp call(producers) do
      case :queue.out(producers) do
        {{:value, producer}, producers} ->
          send(producer, {:produce, self()})
          producers

        {:empty, producers} ->
          producers
      end
    end

    @spec producer(pos_integer, pos_integer) :: :ok
    def producer(number, last) do
      receive do
        {:produce, buffer} when number <= last ->
          send(buffer, {:item, self(), {number, work(number * 1.0, number, @cost)}})
          producer(number + 1, last)

        {:produce, _buffer} ->
          producer(number, last)

        :stop ->
          :ok
      end
    end

    @spec consumer(float) :: :ok
    def consumer(least) do
      receive do
        {{number, value}, buffer} ->
          least = min(least, work(value, number, @cost))
          send(buffer, {:consumed, self(), number})
          consumer(least)

        :stop ->
          :ok
      end
    end

    defp work(value, _dice, 0), do: value

    defp work(value, dice, left) do
      dice = rem(dice * 48_271, 2_147_483_647)
      work(value + :math.log(dice / 2_147_483_647 + 0.01), dice, left - 1)
    end
  end

  @impl true
  def mote(machine, n) do
    consumers = for _ <- 1..@consumers, do: Mote.create(machine, Actors.consumer(0.0))
    none = :queue.new()
    buffer = Mote.create(machine, Actors.buffer(none, none, consumers, n * @producers, 0, self()))
    producers = for {first, last} <- shares(n), do: Mote.create(machine, Actors.producer(buffer, first, last))
    all = Mote.create(machine, Mote.Library.broadcast(producers))
    [run: asking(all, :produce)]
  end

  @impl true
  def beam(n) do
    consumers = for _ <- 1..@consumers, do: spawn(Processes, :consumer, [0.0])
    producers = for {first, last} <- shares(n), do: spawn(Processes, :producer, [first, last])
    me = self()
    [run: fn _ -> answer(fn -> spawn(Processes, :buffer, [producers, consumers, n * @producers, me]) end) end]
  end

  # Items are numbers, the first and the last of each producer.
  defp shares(n), do: for(producer <- 0..(@producers - 1), do: {producer * n + 1, producer * n + n})
end
