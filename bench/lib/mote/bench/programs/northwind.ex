defmodule Mote.Bench.Programs.Northwind do
  # A store of customers that is read by key, as the benchmark of Torq's NorthwindDb: a dispatcher hands requests to
  # readers in turns; a reader has a cache, and asks the writer, which has the data, for a collection that is not in it.
  # A client asks for 31 customers at once, and again when it has all of them: n times.
  #
  # The floor is the straight line: the same reads as a loop, without a message.
  @moduledoc false

  alias Mote.Bench.{Northwind.Data, Sample}

  @at_once 31
  @readers 2

  use Mote.Bench.Program,
    title: "n times 31 concurrent reads of 29 customers through a dispatcher and two readers with caches",
    param: :n,
    defaults: [100_000],
    small: 20,
    metric: :ns_per_read,
    count: &(&1 * @at_once),
    expected: &(&1 * Enum.sum(keys(Data.load()))),
    processes: @readers + 3,
    data: true,
    plot: [sizes: [1_000, 10_000], full: [1_000, 10_000, 100_000], kind: :bars]

  defmodule Actors do
    use Mote.Behaviour, errors: :undefined

    # Turns of the straight line end after this many rounds.
    @rounds 1_000

    # The only one that has the data from the start.
    defactor writer(data) do
      {customer, {:load, collection, request}} ->
        send customer, {:loaded, collection, Map.get(data, collection), request}
    end

    # A request for what is not in the cache goes to the writer, and comes back with the collection.
    defactor reader(cache, writer) do
      {:loaded, collection, records, request} ->
        become reader(Map.put(cache, collection, records), writer)
        send self(), request

      {customer, {:find, collection, key}} when is_map_key(cache, collection) ->
        send customer, cache |> Map.fetch!(collection) |> Map.fetch!(key)

      {customer, {:order, key}} = request ->
        case missing(cache, [:orders, :customers, :lines, :products]) do
          nil -> send customer, order(cache, key)
          collection -> send writer, {self(), {:load, collection, request}}
        end

      {_customer, {:find, collection, _key}} = request ->
        send writer, {self(), {:load, collection, request}}
    end

    defpure missing(_cache, []), do: nil
    defpure missing(cache, [name | names]) when is_map_key(cache, name), do: missing(cache, names)
    defpure missing(_cache, [name | _names]), do: name

    # An order, its customer, and its lines with their products.
    defpure order(%{orders: orders, customers: customers, lines: lines, products: products}, key) do
      order = Map.fetch!(orders, key)
      lines = for line <- Map.get(lines, key, []), do: {line, Map.fetch!(products, line.product_id)}
      {order, Map.fetch!(customers, order.customer_id), lines}
    end

    # Round robin: the readers that have their turns before it begins again.
    defactor dispatcher(turns, readers) do
      request ->
        [reader | turns] = if turns == [], do: readers, else: turns
        send reader, request
        become dispatcher(turns, readers)
    end

    defactor client(db, requests, customer) do
      rounds ->
        for request <- requests, do: send(db, {self(), request})
        become asking({db, requests, customer}, rounds, length(requests), 0)
    end

    defactor asking(setup, rounds, open, sum) do
      answer when open > 1 ->
        become asking(setup, rounds, open - 1, sum + weight(answer))

      answer when rounds > 1 ->
        {db, requests, _customer} = setup
        for request <- requests, do: send(db, {self(), request})
        become asking(setup, rounds - 1, length(requests), sum + weight(answer))

      answer ->
        {db, requests, customer} = setup
        send customer, sum + weight(answer)
        become client(db, requests, customer)
    end

    # By what a sum of answers tells whether all are right.
    defpure weight({order, customer, lines}) do
      for {_line, product} <- lines, reduce: order.id + customer.id do
        sum -> sum + product.id
      end
    end

    defpure weight(record), do: record.id

    # The floor: reads without a message.
    defactor straight(customers, keys, customer) do
      {0, sum} ->
        send customer, sum

      {left, sum} ->
        rounds = min(left, @rounds)
        send self(), {left - rounds, read(customers, keys, rounds, sum)}
    end

    defpure read(_customers, _keys, 0, sum), do: sum

    defpure read(customers, keys, rounds, sum) do
      sum =
        for key <- keys, reduce: sum do
          sum -> sum + weight(Map.fetch!(customers, key))
        end

      read(customers, keys, rounds - 1, sum)
    end
  end

  defmodule Processes do
    # What is sent is copied, so a process that reads has its own copy of the record that it found.

    @spec start(map, pos_integer) :: pid
    def start(data, readers) do
      writer = spawn(__MODULE__, :writer, [data])
      readers = for _ <- 1..readers, do: spawn(__MODULE__, :reader, [%{}, writer])
      spawn(__MODULE__, :dispatcher, [[], readers, writer])
    end

    @spec writer(map) :: term
    def writer(data) do
      receive do
        {customer, {:load, collection, request}} ->
          send(customer, {:loaded, collection, Map.fetch!(data, collection), request})
          writer(data)

        :stop ->
          :ok
      end
    end

    @spec reader(map, pid) :: term
    def reader(cache, writer) do
      receive do
        {:loaded, collection, records, request} ->
          send(self(), request)
          reader(Map.put(cache, collection, records), writer)

        {customer, {:find, collection, key}} when is_map_key(cache, collection) ->
          send(customer, cache |> Map.fetch!(collection) |> Map.fetch!(key))
          reader(cache, writer)

        {customer, {:order, key}} = request ->
          case Enum.find([:orders, :customers, :lines, :products], &(not is_map_key(cache, &1))) do
            nil -> send(customer, order(cache, key))
            collection -> send(writer, {self(), {:load, collection, request}})
          end

          reader(cache, writer)

        {_customer, {:find, collection, _key}} = request ->
          send(writer, {self(), {:load, collection, request}})
          reader(cache, writer)

        :stop ->
          :ok
      end
    end

    defp order(%{orders: orders, customers: customers, lines: lines, products: products}, key) do
      order = Map.fetch!(orders, key)
      lines = for line <- Map.get(lines, key, []), do: {line, Map.fetch!(products, line.product_id)}
      {order, Map.fetch!(customers, order.customer_id), lines}
    end

    @spec dispatcher([pid], [pid], pid) :: term
    def dispatcher(turns, readers, writer) do
      receive do
        :stop ->
          for process <- [writer | readers], do: send(process, :stop)

        request ->
          [reader | turns] = if turns == [], do: readers, else: turns
          send(reader, request)
          dispatcher(turns, readers, writer)
      end
    end

    @spec client(pid, [tuple], pos_integer, pid) :: term
    def client(db, requests, rounds, customer), do: rounds(db, requests, rounds, customer, 0)

    defp rounds(_db, _requests, 0, customer, sum), do: send(customer, sum)

    defp rounds(db, requests, left, customer, sum) do
      for request <- requests, do: send(db, {self(), request})

      sum =
        for _ <- requests, reduce: sum do
          sum ->
            receive do
              answer -> sum + weight(answer)
            end
        end

      rounds(db, requests, left - 1, customer, sum)
    end

    @spec weight(tuple | map) :: integer
    def weight({order, customer, lines}) do
      Enum.reduce(lines, order.id + customer.id, fn {_line, product}, sum -> sum + product.id end)
    end

    def weight(%{id: id}), do: id

    @spec straight(map, [integer], pos_integer) :: integer
    def straight(customers, keys, rounds) do
      for _ <- 1..rounds, key <- keys, reduce: 0 do
        sum -> sum + weight(Map.fetch!(customers, key))
      end
    end
  end

  @impl true
  def measures(%Sample{param: n} = sample) do
    for {metric, stage} <- [ns_per_read: :reads, ns_per_straight_read: :straight] do
      {metric, Sample.stage(sample, stage).ns / count(n)}
    end
  end

  @impl true
  def mote(machine, n) do
    data = Data.load()
    keys = keys(data)
    straight = Mote.create(machine, Actors.straight(data.customers, keys, self()))
    client = Mote.create(machine, Actors.client(db(machine, data, @readers), finds(keys), self()))

    [
      straight: asking(straight, {n, 0}),
      reads: fn sum -> fn -> Mote.send(client, n) end |> answer() |> same(sum) end
    ]
  end

  @impl true
  def beam(n) do
    data = Data.load()
    keys = keys(data)
    me = self()
    [reads: reads] = beam_reads(data, finds(keys), n)

    [
      straight: fn _ ->
        answer(fn -> spawn(fn -> send(me, Processes.straight(data.customers, keys, n)) end) end)
      end,
      reads: fn sum -> reads.(nil) |> same(sum) end
    ]
  end

  @doc "The stage that asks BEAM processes n times for all requests."
  @spec beam_reads(Data.t(), [tuple], pos_integer) :: Mote.Bench.Program.stages()
  def beam_reads(data, requests, n) do
    me = self()
    db = Processes.start(data, @readers)

    [
      reads: fn _ ->
        sum = answer(fn -> spawn(Processes, :client, [db, requests, n, me]) end)
        send(db, :stop)
        sum
      end
    ]
  end

  @doc "A store: the address that takes `{customer, {:find, collection, key}}` and `{customer, {:order, key}}`."
  @spec db(term, Data.t(), pos_integer) :: Mote.Address.t()
  def db(machine, data, readers) do
    writer = Mote.create(machine, Actors.writer(data))
    readers = for _ <- 1..readers, do: Mote.create(machine, Actors.reader(%{}, writer))
    Mote.create(machine, Actors.dispatcher([], readers))
  end

  @doc "The keys of one round: all customers, and again, until they are 31; in no order."
  @spec keys(Data.t()) :: [integer]
  def keys(data) do
    :rand.seed(:exsss, {@at_once, @readers, 1})
    data.customers |> Map.keys() |> Enum.sort() |> Stream.cycle() |> Enum.take(@at_once) |> Enum.shuffle()
  end

  @doc "The requests for them."
  @spec finds([integer]) :: [tuple]
  def finds(keys), do: for(key <- keys, do: {:find, :customers, key})

  defp same(sum, sum), do: sum
  defp same(sum, straight), do: {:reads, sum, :straight, straight}
end
