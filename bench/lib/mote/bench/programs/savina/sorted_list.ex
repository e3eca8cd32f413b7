defmodule Mote.Bench.Programs.Savina.SortedList do
  # The concurrent sorted linked list of the Savina suite (`concsll`: 20 workers, 8,000 requests each; a tenth adds a number, a
  # hundredth asks for the length, the others ask whether a number is there): one actor owns the list, and each worker sends
  # its next request when the one before is answered. Numbers are below 10,000.
  @moduledoc false

  @workers 20

  use Mote.Bench.Program,
    title: "20 workers make n requests each to one sorted list, a tenth of them additions",
    param: :n,
    defaults: [8_000],
    small: 30,
    metric: :ns_per_request,
    count: &(&1 * @workers),
    processes: @workers + 1,
    rust: [rust: "sorted_list"]

  alias Mote.Bench.Dice

  defmodule Actors do
    use Mote.Behaviour

    @limit 10_000

    defactor list(numbers, working, customer) do
      {worker, {:contains, number}} ->
        send worker, contains?(numbers, number)

      {worker, {:add, number}} ->
        send worker, number
        become numbers: add(numbers, number)

      {worker, :length} ->
        send worker, length(numbers)

      :done when working > 1 ->
        become working: working - 1

      :done ->
        send customer, numbers
    end

    defpure contains?([first | rest], number) when first < number, do: contains?(rest, number)
    defpure contains?([first | _], number), do: first == number
    defpure contains?([], _number), do: false

    defpure add([first | rest], number) when first < number, do: [first | add(rest, number)]
    defpure add(numbers, number), do: [number | numbers]

    # `dice`: the generator of Park and Miller, each for itself.
    defactor worker(left, dice, list) do
      _answer when left == 0 ->
        send list, :done

      _answer ->
        dice = rem(dice * 48_271, 2_147_483_647)
        send list, {self(), request(rem(dice, 100), rem(div(dice, 100), @limit))}
        become left: left - 1, dice: dice
    end

    defpure request(0, _number), do: :length
    defpure request(percent, number) when percent <= 10, do: {:add, number}
    defpure request(_percent, number), do: {:contains, number}
  end

  defmodule Processes do
    @limit 10_000

    @spec list([integer], non_neg_integer, pid) :: term
    def list(numbers, 0, customer), do: send(customer, numbers)

    def list(numbers, working, customer) do
      receive do
        {worker, {:contains, number}} ->
          send(worker, contains?(numbers, number))
          list(numbers, working, customer)

        {worker, {:add, number}} ->
          send(worker, number)
          list(add(numbers, number), working, customer)

        {worker, :length} ->
          send(worker, length(numbers))
          list(numbers, working, customer)

        :done ->
          list(numbers, working - 1, customer)
      end
    end

    defp contains?([first | rest], number) when first < number, do: contains?(rest, number)
    defp contains?([first | _], number), do: first == number
    defp contains?([], _number), do: false

    defp add([first | rest], number) when first < number, do: [first | add(rest, number)]
    defp add(numbers, number), do: [number | numbers]

    @spec worker(non_neg_integer, pos_integer, pid) :: term
    def worker(left, dice, list) do
      receive do
        _answer when left == 0 ->
          send(list, :done)

        _answer ->
          dice = rem(dice * 48_271, 2_147_483_647)
          send(list, {self(), request(rem(dice, 100), rem(div(dice, 100), @limit))})
          worker(left - 1, dice, list)
      end
    end

    defp request(0, _number), do: :length
    defp request(percent, number) when percent <= 10, do: {:add, number}
    defp request(_percent, number), do: {:contains, number}
  end

  @impl true
  def expected(n) do
    Enum.sort(
      for seed <- 1..@workers,
          dice <- Dice.rolls(seed, n),
          rem(dice, 100) in 1..10,
          do: rem(div(dice, 100), 10_000)
    )
  end

  @impl true
  def mote(machine, n) do
    list = Mote.create(machine, Actors.list([], @workers, self()))
    workers = for seed <- 1..@workers, do: Mote.create(machine, Actors.worker(n, seed, list))
    all = Mote.create(machine, Mote.Library.broadcast(workers))
    [run: asking(all, :start)]
  end

  @impl true
  def beam(n) do
    list = spawn(Processes, :list, [[], @workers, self()])
    workers = for seed <- 1..@workers, do: spawn(Processes, :worker, [n, seed, list])
    [run: fn _ -> answer(fn -> for(worker <- workers, do: send(worker, :start)) end) end]
  end

  # The sum of the numbers, each times its place.
  @impl true
  def rust(sum, n) do
    numbers = expected(n)
    right = for {number, place} <- Enum.with_index(numbers, 1), reduce: 0, do: (sum -> sum + number * place)
    if sum == right, do: numbers, else: {:sum, sum}
  end
end
