defmodule Mote.Bench.Programs.Chain do
  # Each actor creates the next one; when the last exists, the answer travels back through all of them. In contrast
  # to the tree there is never more than one message on the way.
  @moduledoc false

  use Mote.Bench.Program,
    title: "each actor creates the next one, and the answer travels back through all",
    param: :n,
    defaults: [1_000_000],
    small: 100,
    metric: :ns_per_actor,
    expected: :done,
    processes: & &1,
    plot: [sizes: [1_000, 10_000, 100_000], full: [1_000, 10_000, 100_000, 1_000_000]]

  defmodule Actors do
    use Mote.Behaviour

    defactor link(back) do
      :done ->
        send back, :done

      1 ->
        send back, :done

      n when n > 1 ->
        next = create link(self())
        send next, n - 1
    end
  end

  defmodule Processes do
    @spec link(pid) :: term
    def link(back) do
      receive do
        1 ->
          send(back, :done)

        n ->
          next = spawn(__MODULE__, :link, [self()])
          send(next, n - 1)

          receive do
            :done -> send(back, :done)
          end
      end
    end
  end

  @impl true
  def mote(machine, n), do: [run: asking(Mote.create(machine, Actors.link(self())), n)]

  @impl true
  def beam(n), do: [run: asking(spawn(Processes, :link, [self()]), n)]
end
