defmodule Mote.Bench.Cells do
  # Cells that talk to their neighbours and compute next to nothing, as `neighbours` and `sor` have them. In each phase a cell
  # sends its number to every neighbour, and the sum of its own and theirs is its next number. Several threads have the same to
  # do as one, and all that they pass on to each other besides.
  #
  # A phase is linear. So the sum over all cells tells whether each number was used once, and in its own phase.
  @moduledoc false

  @modulus 1_000_003

  defmodule Actors do
    use Mote.Behaviour

    @modulus 1_000_003

    defactor starter(cells) do
      :start -> for {cell, number} <- cells, do: send(cell, {:start, number})
    end

    # Neighbours can only be named when there are all of them.
    defactor lone(phases, adder) do
      {:neighbours, neighbours} -> become cell(phases, 0, length(neighbours) + 1, 0, 0, neighbours, adder)
    end

    # `left` numbers of this phase are still to come. A neighbour may be one phase ahead, but not two, for then it needs
    # what this cell has not sent. And whose number comes last is not ahead: what one cell sends to another keeps its order.
    defactor cell(phase, sum, left, early, early_sum, neighbours, adder) do
      {:start, number} ->
        for cell <- [self() | neighbours], do: send(cell, {phase, number})

      {of, number} when of == phase and left > 1 ->
        become sum: sum + number, left: left - 1

      {of, number} when of == phase and phase == 1 ->
        send adder, rem(sum + number, @modulus)

      {of, number} when of == phase ->
        sum = rem(sum + number, @modulus)
        for neighbour <- neighbours, do: send(neighbour, {phase - 1, sum})
        become cell(phase - 1, sum + early_sum, length(neighbours) - early, 0, 0, neighbours, adder)

      {_next, number} ->
        become early: early + 1, early_sum: early_sum + number
    end

    defactor adder(left, sum, customer) do
      number when left > 1 -> become left: left - 1, sum: sum + number
      number -> send customer, rem(sum + number, @modulus)
    end
  end

  defmodule Processes do
    @modulus 1_000_003

    @spec cell(pos_integer, pid) :: term
    def cell(phases, adder) do
      receive do
        {:neighbours, neighbours} ->
          receive do
            {:start, number} ->
              for neighbour <- neighbours, do: send(neighbour, {phases, number})
              phase(phases, number, length(neighbours), neighbours, adder)
          end
      end
    end

    # A number of the next phase waits in the queue.
    defp phase(phase, sum, left, neighbours, adder) do
      receive do
        {^phase, number} when left > 1 ->
          phase(phase, sum + number, left - 1, neighbours, adder)

        {^phase, number} when phase == 1 ->
          send(adder, rem(sum + number, @modulus))

        {^phase, number} ->
          sum = rem(sum + number, @modulus)
          for neighbour <- neighbours, do: send(neighbour, {phase - 1, sum})
          phase(phase - 1, sum, length(neighbours), neighbours, adder)
      end
    end

    @spec adder(non_neg_integer, integer, pid) :: term
    def adder(0, sum, customer), do: send(customer, rem(sum, @modulus))

    def adder(left, sum, customer) do
      receive do
        number -> adder(left - 1, sum + number, customer)
      end
    end
  end

  @doc "How many numbers are sent in so many phases by `size` cells with `degree` neighbours each."
  @spec messages(pos_integer, pos_integer, pos_integer) :: pos_integer
  def messages(size, degree, phases), do: size * degree * phases

  @doc "The sum over all cells after so many phases."
  @spec sum(pos_integer, pos_integer, pos_integer) :: non_neg_integer
  def sum(size, degree, phases) do
    start = div(size * (size + 1), 2)
    rem(start * Integer.pow(degree + 1, phases), @modulus)
  end

  @doc "The stages of a run on cells whose neighbours, by number from 0 on, `neighbours` names."
  @spec stages(term, pos_integer, pos_integer, (non_neg_integer -> [non_neg_integer])) ::
          Mote.Bench.Program.stages()
  def stages(machine, size, phases, neighbours) do
    adder = Mote.create(machine, Actors.adder(size, 0, self()))
    cells = List.to_tuple(for _ <- 1..size, do: Mote.create(machine, Actors.lone(phases, adder)))

    for number <- 0..(size - 1) do
      Mote.send(elem(cells, number), {:neighbours, for(other <- neighbours.(number), do: elem(cells, other))})
    end

    starter = Mote.create(machine, Actors.starter(Enum.with_index(Tuple.to_list(cells), 1)))
    :ok = Mote.drain(machine, 60_000)
    [run: fn _ -> Mote.Bench.Program.answer(fn -> Mote.send(starter, :start) end) end]
  end

  @doc "The same on BEAM processes."
  @spec stages(pos_integer, pos_integer, (non_neg_integer -> [non_neg_integer])) ::
          Mote.Bench.Program.stages()
  def stages(size, phases, neighbours) do
    adder = spawn(Processes, :adder, [size, 0, self()])
    cells = List.to_tuple(for _ <- 1..size, do: spawn(Processes, :cell, [phases, adder]))

    for number <- 0..(size - 1) do
      send(elem(cells, number), {:neighbours, for(other <- neighbours.(number), do: elem(cells, other))})
    end

    numbered = Enum.with_index(Tuple.to_list(cells), 1)
    start = fn -> for {cell, number} <- numbered, do: send(cell, {:start, number}) end
    [run: fn _ -> Mote.Bench.Program.answer(start) end]
  end
end
