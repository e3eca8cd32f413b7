defmodule Mote.Bench.Programs.Savina.Barber do
  # The sleeping barber of the Savina suite (`barber`: 5,000 cuts, a waiting room for 1,000, 10 to 1,009 rounds of an idle loop
  # before each customer and for each cut). A customer who finds the room full comes again.
  @moduledoc false

  use Mote.Bench.Program,
    title: "a barber cuts the hair of n customers, who wait in a room for 1,000",
    param: :n,
    defaults: [5_000],
    small: 20,
    metric: :us_per_cut,
    expected: :closed,
    processes: &(&1 + 3),
    rust: [rust: "barber"]

  @seats 1_000

  defmodule Actors do
    use Mote.Behaviour

    # Sends one customer after the other, and again those who were turned away. `uncut`: those who were not served.
    defactor street(left, dice, room, uncut, customer) do
      :next ->
        dice = idle(dice, 10 + rem(dice, 1_000))
        send room, {:enter, create(guest(self()))}
        if left > 1, do: send(self(), :next)
        become left: left - 1, dice: dice

      {:full, guest} ->
        send room, {:enter, guest}

      :cut when uncut > 1 ->
        become uncut: uncut - 1

      :cut ->
        send customer, :closed
    end

    defactor guest(street) do
      :full -> send street, {:full, self()}
      :cut -> send street, :cut
    end

    # `free`: the seats that nobody waits on, as `:queue.len/1` would count all who wait.
    defactor room(guests, free, asleep, barber) do
      {:enter, guest} when asleep ->
        send barber, {:cut, guest, self()}
        become asleep: false

      {:enter, guest} when free > 0 ->
        become guests: :queue.in(guest, guests), free: free - 1

      {:enter, guest} ->
        send guest, :full

      :free ->
        case :queue.out(guests) do
          {{:value, guest}, guests} ->
            send barber, {:cut, guest, self()}
            become guests: guests, free: free + 1

          {:empty, _} ->
            become asleep: true
        end
    end

    defactor barber(dice) do
      {:cut, guest, room} ->
        dice = idle(dice, 10 + rem(dice, 1_000))
        send guest, :cut
        send room, :free
        become dice: dice
    end

    defpure idle(dice, 0), do: dice
    defpure idle(dice, left), do: idle(rem(dice * 48_271, 2_147_483_647), left - 1)
  end

  defmodule Processes do
    @spec street(pos_integer, pid, pid) :: term
    def street(left, room, barber) do
      receive do
        {:start, customer} ->
          send_guests(left, 1, room)
          wait(left, room)
          for process <- [room, barber], do: send(process, :stop)
          send(customer, :closed)
      end
    end

    defp send_guests(0, _dice, _room), do: :ok

    defp send_guests(left, dice, room) do
      dice = idle(dice, 10 + rem(dice, 1_000))
      send(room, {:enter, spawn(__MODULE__, :guest, [self()])})
      send_guests(left - 1, dice, room)
    end

    defp wait(0, _room), do: :ok

    defp wait(left, room) do
      receive do
        {:full, guest} ->
          send(room, {:enter, guest})
          wait(left, room)

        :cut ->
          wait(left - 1, room)
      end
    end

    @spec guest(pid) :: term
    def guest(street) do
      receive do
        :full ->
          send(street, {:full, self()})
          guest(street)

        :cut ->
          send(street, :cut)
      end
    end

    @spec room(:queue.queue(pid), non_neg_integer, boolean, pid) :: :ok
    def room(guests, free, asleep, barber) do
      receive do
        {:enter, guest} when asleep ->
          send(barber, {:cut, guest, self()})
          room(guests, free, false, barber)

        {:enter, guest} when free > 0 ->
          room(:queue.in(guest, guests), free - 1, false, barber)

        {:enter, guest} ->
          send(guest, :full)
          room(guests, free, false, barber)

        :free ->
          case :queue.out(guests) do
            {{:value, guest}, guests} ->
              send(barber, {:cut, guest, self()})
              room(guests, free + 1, false, barber)

            {:empty, guests} ->
              room(guests, free, true, barber)
          end

        :stop ->
          :ok
      end
    end

    @spec barber(pos_integer) :: :ok
    def barber(dice) do
      receive do
        {:cut, guest, room} ->
          dice = idle(dice, 10 + rem(dice, 1_000))
          send(guest, :cut)
          send(room, :free)
          barber(dice)

        :stop ->
          :ok
      end
    end

    defp idle(dice, 0), do: dice
    defp idle(dice, left), do: idle(rem(dice * 48_271, 2_147_483_647), left - 1)
  end

  @impl true
  def mote(machine, n) do
    barber = Mote.create(machine, Actors.barber(2))
    room = Mote.create(machine, Actors.room(:queue.new(), @seats, true, barber))
    street = Mote.create(machine, Actors.street(n, 1, room, n, self()))
    [run: asking(street, :next)]
  end

  @impl true
  def beam(n) do
    barber = spawn(Processes, :barber, [2])
    room = spawn(Processes, :room, [:queue.new(), @seats, true, barber])
    street = spawn(Processes, :street, [n, room, barber])
    [run: asking(street, {:start, self()})]
  end

  @impl true
  def rust(cuts, n), do: if(cuts == n, do: :closed, else: {:cuts, cuts})
end
