defmodule Mote.Bench.Programs.Savina.LogisticMap do
  # The logistic map of the Savina suite (`logmap`: 10 series of 25,000 terms, the rates from 3.46 on, 0.0025 apart): a master
  # tells every series to go on, term by term. A series asks a computer of its own for each term, and waits for it before the
  # next one. At the end the master asks for the last terms.
  #
  # A series of actors counts what it is told meanwhile. To `stash()` it would take up thousands of messages again for every
  # term.
  @moduledoc false

  @series 10

  use Mote.Bench.Program,
    title: "10 series of n terms, each of which is computed by another actor",
    param: :n,
    defaults: [25_000],
    small: 20,
    metric: :ns_per_term,
    count: &(&1 * @series),
    processes: 2 * @series + 1

  defmodule Actors do
    use Mote.Behaviour

    defactor master(series, customer) do
      0 ->
        terms = create gather(customer, length(series), [], fn term, terms -> [term | terms] end)
        for one <- series, do: send(one, {terms, :last})

      left ->
        for one <- series, do: send(one, :next)
        send self(), left - 1
    end

    # `due`: how many terms it was told to compute, one of which the computer is at. `asker`: who waits for the last one.
    defactor series(term, due, asker, computer) do
      :next when due == 0 ->
        send computer, {self(), term}
        become due: 1

      :next ->
        become due: due + 1

      {:term, term} when due > 1 ->
        send computer, {self(), term}
        become term: term, due: due - 1

      {:term, term} ->
        if asker != nil, do: send(asker, term)
        become term: term, due: 0

      {asker, :last} ->
        if due == 0, do: send(asker, term), else: become(asker: asker)
    end

    defactor computer(rate) do
      {customer, term} -> send customer, {:term, rate * term * (1 - term)}
    end
  end

  defmodule Processes do
    @spec start(pos_integer, [{float, float}], pid) :: pid
    def start(terms, setup, customer) do
      spawn(fn ->
        receive do
          :start ->
            series = for {term, rate} <- setup, do: spawn(__MODULE__, :begin, [term, rate])
            rounds(terms, series)
            for one <- series, do: send(one, {self(), :last})
            send(customer, for(_ <- series, do: receive(do: ({:last, term} -> term))))
        end
      end)
    end

    defp rounds(0, _series), do: :ok

    defp rounds(left, series) do
      for one <- series, do: send(one, :next)
      rounds(left - 1, series)
    end

    @spec begin(float, float) :: term
    def begin(term, rate), do: series(term, spawn(__MODULE__, :computer, [rate]))

    # The reference lets the virtual machine skip all messages that came before it was made.
    defp series(term, computer) do
      receive do
        :next ->
          reference = make_ref()
          send(computer, {self(), reference, term})
          receive do: ({^reference, term} -> series(term, computer))

        {master, :last} ->
          send(computer, :stop)
          send(master, {:last, term})
      end
    end

    @spec computer(float) :: :ok
    def computer(rate) do
      receive do
        {customer, reference, term} ->
          send(customer, {reference, rate * term * (1 - term)})
          computer(rate)

        :stop ->
          :ok
      end
    end
  end

  @impl true
  def expected(n) do
    Enum.sort(
      for {term, rate} <- setup(), do: Enum.reduce(1..n, term, fn _, term -> rate * term * (1 - term) end)
    )
  end

  @impl true
  def mote(machine, n) do
    series =
      for {term, rate} <- setup() do
        computer = Mote.create(machine, Actors.computer(rate))
        Mote.create(machine, Actors.series(term, 0, nil, computer))
      end

    master = Mote.create(machine, Actors.master(series, self()))
    [run: asking(master, n, &Enum.sort/1)]
  end

  @impl true
  def beam(n), do: [run: asking(Processes.start(n, setup(), self()), :start, &Enum.sort/1)]

  # The first term and the rate of each.
  defp setup, do: for(number <- 1..@series, do: {number * 0.0025, 3.46 + number * 0.0025})
end
