defmodule Mote.Proven.Agreement do
  # What is one value for all. `wrong: true` plants a mistake.
  @moduledoc false

  defmodule Copies do
    # A register with copies, as in Stateright's example "single-copy register": a client writes its value, and then reads. It keeps to what
    # a register is with one copy only. With two, it writes the one and reads the other.
    use Mote.Behaviour

    defactor copy(value) do
      {customer, {:put, value}} ->
        send customer, :ok
        become copy(value)

      {customer, :get} ->
        send customer, {:got, value}
    end

    defactor client(value, to, from) do
      :go ->
        send to, {self(), {:put, value}}

      :ok ->
        send from, {self(), :get}

      {:got, seen} ->
        become saw(seen)
    end

    defactor saw(value) do
      {customer, :seen} -> send customer, value
    end
  end

  @doc "So many clients, and so many copies."
  def register(machine, clients, copies) do
    copies = for _ <- 1..copies, do: Mote.create(machine, Copies.copy(nil))

    for value <- 1..clients do
      at = &Enum.at(copies, rem(&1, length(copies)))
      client = Mote.create(machine, Copies.client(value, at.(value), at.(value + 1)))
      :ok = Mote.send(client, :go)
      client
    end
  end

  defmodule Paxos do
    # Lamport's Paxos for one decision ("Paxos made simple", 2001). A proposer has one ballot, takes the value of the highest one that a
    # majority has accepted before, and the learner hears what is accepted. Wrong: an acceptor forgets what it has promised.
    use Mote.Behaviour

    # `promised`: the highest ballot; `accepted`: a ballot and its value.
    defactor acceptor(promised, accepted, learner, wrong) do
      {proposer, {:prepare, ballot}} ->
        if ballot > promised do
          send proposer, {:promise, accepted}
          become acceptor(if(wrong, do: promised, else: ballot), accepted, learner, wrong)
        end

      {:accept, {ballot, value}} ->
        if ballot >= promised do
          send learner, {:accepted, {ballot, value}}
          become acceptor(ballot, {ballot, value}, learner, wrong)
        end
    end

    defactor proposer(acceptors, ballot, value) do
      :go ->
        for acceptor <- acceptors, do: send(acceptor, {self(), {:prepare, ballot}})
        become prepares(acceptors, ballot, {0, value}, div(length(acceptors), 2) + 1)
    end

    # `best`: the value of the highest ballot; `missing`: promises up to a majority.
    defactor prepares(acceptors, ballot, best, missing) do
      {:promise, accepted} ->
        {highest, _} = best
        {other, _} = accepted
        best = if other > highest, do: accepted, else: best

        if missing > 1 do
          become prepares(acceptors, ballot, best, missing - 1)
        else
          {_, value} = best
          for acceptor <- acceptors, do: send(acceptor, {:accept, {ballot, value}})
          become proposed()
        end
    end

    defactor proposed() do
      {:promise, _} -> :ok
    end

    # `heard`: how many have accepted each ballot; `chosen`: values that a majority has.
    defactor learner(majority, heard, chosen) do
      {:accepted, {ballot, value}} ->
        count = Map.get(heard, ballot, 0) + 1
        chosen = if count == majority and value not in chosen, do: [value | chosen], else: chosen
        become learner(majority, Map.put(heard, ballot, count), chosen)
    end
  end

  @doc "So many acceptors, and so many proposers with values of their own. Returns the learner."
  def paxos(machine, acceptors, proposers, opts \\ []) do
    learner = Mote.create(machine, Paxos.learner(div(acceptors, 2) + 1, %{}, []))

    acceptors =
      for _ <- 1..acceptors,
          do: Mote.create(machine, Paxos.acceptor(0, {0, nil}, learner, opts[:wrong] || false))

    for n <- 1..proposers, do: Mote.send(Mote.create(machine, Paxos.proposer(acceptors, n, {:value, n})), :go)
    learner
  end

  @doc "What is to be true always: at most one value is chosen."
  def agreed?([{:learner, _majority, _heard, chosen}]), do: length(chosen) <= 1

  defmodule Courier do
    # Brings a letter over a line that loses messages, and does so again until it hears that the letter has come. Wrong: once.
    use Mote.Behaviour

    defactor courier(line, wrong) do
      :go ->
        send line, {self(), :letter}
        unless wrong, do: send(self(), :go)

      :received ->
        become rests()
    end

    defactor rests() do
      :go -> :ok
      :received -> :ok
    end

    defactor box(letters) do
      {courier, :letter} ->
        send courier, :received
        become box(if(letters == 0, do: 1, else: letters))
    end
  end

  @doc "A courier, a line, and a box: returns the line and the box."
  def letter(machine, opts \\ []) do
    box = Mote.create(machine, Courier.box(0))
    line = Mote.create(machine, Mote.Library.fwd(box))
    Mote.send(Mote.create(machine, Courier.courier(line, opts[:wrong] || false)), :go)
    {line, box}
  end
end
