defmodule Mote.Bench.Programs.Savina.Chameneos do
  # Chameneos of the Savina suite (`chameneos`: 100 creatures, 200,000 meetings): all go to a mall that brings together two
  # at a time. They take each other's complementary colour and go there again, until the mall has had n meetings and
  # sends everybody home. Each tells then how often it has met.
  @moduledoc false

  @creatures 100

  use Mote.Bench.Program,
    title: "100 creatures meet n times, two at a time, through one mall",
    param: :n,
    defaults: [200_000],
    small: 60,
    metric: :ns_per_meeting,
    expected: &(2 * &1),
    processes: @creatures + 1

  defmodule Actors do
    use Mote.Behaviour

    # `waiting`: who is there alone, or nil. There is nobody when the last two have met.
    defactor mall(left, waiting, living, met, customer) do
      {:meet, creature, _colour} when left == 0 ->
        send creature, :home

      {:meet, creature, _colour} when waiting == nil ->
        become waiting: creature

      {:meet, _creature, _colour} = meeting ->
        send waiting, meeting
        become left: left - 1, waiting: nil

      {:met, times} when living > 1 ->
        become living: living - 1, met: met + times

      {:met, times} ->
        send customer, met + times
    end

    # Colours are 0, 1 and 2.
    defactor creature(mall, colour, met) do
      :start ->
        send mall, {:meet, self(), colour}

      {:meet, other, its} ->
        colour = complement(colour, its)
        send other, {:change, colour}
        send mall, {:meet, self(), colour}
        become colour: colour, met: met + 1

      {:change, colour} ->
        send mall, {:meet, self(), colour}
        become colour: colour, met: met + 1

      :home ->
        send mall, {:met, met}
    end

    defpure complement(same, same), do: same
    defpure complement(one, other), do: 3 - one - other
  end

  defmodule Processes do
    @spec mall(non_neg_integer, pos_integer, pid) :: term
    def mall(left, creatures, customer) do
      meetings(left)
      send(customer, goodbye(creatures, 0))
    end

    defp meetings(0), do: :ok

    defp meetings(left) do
      receive do
        {:meet, waiting, _colour} ->
          receive do
            {:meet, _creature, _its} = meeting -> send(waiting, meeting)
          end
      end

      meetings(left - 1)
    end

    defp goodbye(0, met), do: met

    defp goodbye(living, met) do
      receive do
        {:meet, creature, _colour} ->
          send(creature, :home)
          goodbye(living, met)

        {:met, times} ->
          goodbye(living - 1, met + times)
      end
    end

    @spec creature(pid, 0..2) :: term
    def creature(mall, colour) do
      receive do
        :start -> live(mall, colour, 0)
      end
    end

    defp live(mall, colour, met) do
      send(mall, {:meet, self(), colour})

      receive do
        {:meet, other, its} ->
          colour = complement(colour, its)
          send(other, {:change, colour})
          live(mall, colour, met + 1)

        {:change, colour} ->
          live(mall, colour, met + 1)

        :home ->
          send(mall, {:met, met})
      end
    end

    defp complement(same, same), do: same
    defp complement(one, other), do: 3 - one - other
  end

  @impl true
  def mote(machine, n) do
    mall = Mote.create(machine, Actors.mall(n, nil, @creatures, 0, self()))

    creatures =
      for number <- 1..@creatures, do: Mote.create(machine, Actors.creature(mall, rem(number, 3), 0))

    all = Mote.create(machine, Mote.Library.broadcast(creatures))
    [run: asking(all, :start)]
  end

  @impl true
  def beam(n) do
    mall = spawn(Processes, :mall, [n, @creatures, self()])
    creatures = for number <- 1..@creatures, do: spawn(Processes, :creature, [mall, rem(number, 3)])
    [run: fn _ -> answer(fn -> for(creature <- creatures, do: send(creature, :start)) end) end]
  end
end
