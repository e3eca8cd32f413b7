defmodule Mote.Bench.Programs.Cons do
  # A list whose every cell is an actor, with n of them; another one is appended to it. The request goes down the list, an
  # actor waits at each cell for what comes back, and puts a new cell before it. Beside it the same with a list.
  @moduledoc false

  use Mote.Bench.Program,
    title: "a list of n actors, to which another one is appended",
    param: :n,
    defaults: [1_000],
    small: 10,
    metric: :ns_per_cell,
    expected: &(&1 * (&1 + 1)),
    processes: &(4 * &1 + 2),
    plot: [sizes: [1_000], full: [10, 100, 1_000, 10_000, 100_000]]

  alias Mote.Bench.Sample

  defmodule Actors do
    use Mote.Behaviour

    defactor cons(head, tail) do
      {customer, {:append, other}} ->
        waiting = create joint(customer, head)
        send tail, {waiting, {:append, other}}

      {customer, {:sum, sum}} ->
        send tail, {customer, {:sum, sum + head}}
    end

    defactor empty do
      {customer, {:append, other}} -> send customer, other
      {customer, {:sum, sum}} -> send customer, sum
    end

    # Puts a cell before the list that it gets, and hands it on.
    defactor joint(customer, head) do
      tail ->
        list = create cons(head, tail)
        send customer, list
    end

    # `{customer, {n, list}}`: the numbers up to n before the list.
    defactor builder do
      {customer, {0, list}} ->
        send customer, list

      {customer, {n, list}} ->
        list = create cons(n, list)
        send self(), {customer, {n - 1, list}}
    end

    # The same with a list, in one turn.
    defactor native(list) do
      {customer, other} -> send customer, length(onto(Enum.reverse(list), other))
    end

    defpure onto([], other), do: other
    defpure onto([last | reversed], other), do: onto(reversed, [last | other])
  end

  defmodule Processes do
    # Nobody collects processes, so a cell ends with the request that it is for.

    @spec cons(integer, pid) :: term
    def cons(head, tail) do
      receive do
        {customer, {:append, other}} ->
          waiting = spawn(__MODULE__, :joint, [customer, head])
          send(tail, {waiting, {:append, other}})

        {customer, {:sum, sum}} ->
          send(tail, {customer, {:sum, sum + head}})
      end
    end

    @spec empty() :: term
    def empty do
      receive do
        {customer, {:append, other}} -> send(customer, other)
        {customer, {:sum, sum}} -> send(customer, sum)
      end
    end

    @spec joint(pid, integer) :: term
    def joint(customer, head) do
      receive do
        tail -> send(customer, spawn(__MODULE__, :cons, [head, tail]))
      end
    end

    @spec build(pos_integer) :: pid
    def build(n),
      do: Enum.reduce(n..1//-1, spawn(__MODULE__, :empty, []), &spawn(__MODULE__, :cons, [&1, &2]))
  end

  @impl true
  def measures(%Sample{param: n} = sample) do
    native = Sample.stage(sample, :native)

    [ns_per_cell: Sample.stage(sample, :append).ns / n] ++
      if(native, do: [ns_per_cell_native: native.ns / n], else: [])
  end

  @impl true
  def mote(machine, n) do
    builder = Mote.create(machine, Actors.builder())
    empty = Mote.create(machine, Actors.empty())
    native = Mote.create(machine, Actors.native(Enum.to_list(1..n)))
    me = self()
    ask = fn actor, request -> answer(fn -> Mote.send(actor, {me, request}) end) end

    [
      native: fn _ -> ask.(native, []) end,
      build: fn ^n -> {ask.(builder, {n, empty}), ask.(builder, {n, empty})} end,
      append: fn {list, other} -> ask.(list, {:append, other}) end,
      sum: fn list -> ask.(list, {:sum, 0}) end
    ]
  end

  @impl true
  def beam(n) do
    me = self()

    [
      build: fn _ -> {Processes.build(n), Processes.build(n)} end,
      append: fn {list, other} -> answer(fn -> send(list, {me, {:append, other}}) end) end,
      sum: fn list -> answer(fn -> send(list, {me, {:sum, 0}}) end) end
    ]
  end
end
