defmodule Mote.Bench.Programs.Savina.Philosophers do
  # The dining philosophers of the Savina suite (`philosopher`: 20, 10,000 meals each): an arbiter has the forks. A
  # philosopher who gets only one of the two gets none, and asks again at once.
  @moduledoc false

  @philosophers 20

  use Mote.Bench.Program,
    title: "20 philosophers at a table with an arbiter, until each has eaten n times",
    param: :n,
    defaults: [10_000],
    small: 10,
    metric: :ns_per_meal,
    count: &(&1 * @philosophers),
    # All meals, and all forks on the table.
    expected: &{&1 * @philosophers, @philosophers},
    processes: @philosophers + 1,
    rust: [rust: "philosophers"]

  defmodule Actors do
    use Mote.Behaviour

    # `free`: for each fork, whether it lies on the table; a philosopher's are those of its own number and the next one.
    defactor arbiter(free, dining, meals, customer) do
      {:hungry, philosopher, left} ->
        right = rem(left + 1, tuple_size(free))

        if elem(free, left) and elem(free, right) do
          send philosopher, :eat
          become free: free |> put_elem(left, false) |> put_elem(right, false)
        else
          send philosopher, :wait
        end

      {:eaten, left} ->
        right = rem(left + 1, tuple_size(free))
        # A meal with a fork that lay on the table does not count, and is missed in the end.
        meals = if elem(free, left) or elem(free, right), do: meals, else: meals + 1
        become free: free |> put_elem(left, true) |> put_elem(right, true), meals: meals

      :full when dining > 1 ->
        become dining: dining - 1

      :full ->
        send customer, {meals, Enum.count(Tuple.to_list(free), & &1)}
    end

    defactor philosopher(number, left, arbiter) do
      :eat when left > 1 ->
        send arbiter, {:eaten, number}
        send arbiter, {:hungry, self(), number}
        become left: left - 1

      :eat ->
        send arbiter, {:eaten, number}
        send arbiter, :full

      _start_or_wait ->
        send arbiter, {:hungry, self(), number}
    end
  end

  defmodule Processes do
    @spec arbiter(tuple, non_neg_integer, non_neg_integer, pid) :: term
    def arbiter(free, 0, meals, customer), do: send(customer, {meals, Enum.count(Tuple.to_list(free), & &1)})

    def arbiter(free, dining, meals, customer) do
      receive do
        {:hungry, philosopher, left} ->
          right = rem(left + 1, tuple_size(free))

          if elem(free, left) and elem(free, right) do
            send(philosopher, :eat)
            free |> put_elem(left, false) |> put_elem(right, false) |> arbiter(dining, meals, customer)
          else
            send(philosopher, :wait)
            arbiter(free, dining, meals, customer)
          end

        {:eaten, left} ->
          right = rem(left + 1, tuple_size(free))
          meals = if elem(free, left) or elem(free, right), do: meals, else: meals + 1
          free |> put_elem(left, true) |> put_elem(right, true) |> arbiter(dining, meals, customer)

        :full ->
          arbiter(free, dining - 1, meals, customer)
      end
    end

    @spec philosopher(non_neg_integer, pos_integer, pid) :: term
    def philosopher(number, left, arbiter) do
      receive do
        :eat when left > 1 ->
          send(arbiter, {:eaten, number})
          send(arbiter, {:hungry, self(), number})
          philosopher(number, left - 1, arbiter)

        :eat ->
          send(arbiter, {:eaten, number})
          send(arbiter, :full)

        _start_or_wait ->
          send(arbiter, {:hungry, self(), number})
          philosopher(number, left, arbiter)
      end
    end
  end

  @impl true
  def mote(machine, n) do
    arbiter = Mote.create(machine, Actors.arbiter(forks(), @philosophers, 0, self()))
    numbers = 0..(@philosophers - 1)
    philosophers = for number <- numbers, do: Mote.create(machine, Actors.philosopher(number, n, arbiter))
    all = Mote.create(machine, Mote.Library.broadcast(philosophers))
    [run: asking(all, :start)]
  end

  @impl true
  def beam(n) do
    arbiter = spawn(Processes, :arbiter, [forks(), @philosophers, 0, self()])
    numbers = 0..(@philosophers - 1)
    philosophers = for number <- numbers, do: spawn(Processes, :philosopher, [number, n, arbiter])
    [run: fn _ -> answer(fn -> for(philosopher <- philosophers, do: send(philosopher, :start)) end) end]
  end

  # All meals, if all forks lie on the table.
  @impl true
  def rust(meals, _n), do: {trunc(meals), @philosophers}

  defp forks, do: Tuple.duplicate(true, @philosophers)
end
