defmodule Mote.Library.ProofsTest do
  # Laws of behaviours of the library, for small sizes, in every order that a machine allows. That every customer is answered once, and
  # that nobody waits for ever, is part of each.
  use ExUnit.Case, async: true

  alias Mote.{Library, Outbox, Services}

  # Every request by a sender of its own: so they come in any order.
  defp each_by_another(machine, target, messages) do
    for message <- messages, do: Mote.send(Mote.create(machine, Library.fwd(target)), message)
  end

  defp requests(machine, requests), do: for(request <- requests, do: {Outbox.open(machine), request})

  # What customers were answered, in the order of their requests.
  defp answers(requests), do: for({outbox, _} <- requests, answer <- Outbox.take(outbox), do: answer)

  defp proved(graph, property, opts \\ []) do
    assert {:proved, counts} = Mote.Test.prove(graph, property, opts)
    counts
  end

  test "a cell lets one of those win who compare and set" do
    graph = fn machine ->
      cell = Mote.create(machine, Library.cell(0))
      requests = requests(machine, for(n <- 1..3, do: {:cas, 0, n}))
      each_by_another(machine, cell, requests)
      requests
    end

    proved(graph, fn requests ->
      {[:ok], others} = Enum.split_with(answers(requests), &(&1 == :ok))
      match?([{:error, {:changed, n}}, {:error, {:changed, n}}], others)
    end)
  end

  test "a counter counts everything once" do
    graph = fn machine ->
      counter = Mote.create(machine, Library.counter(0))
      requests = requests(machine, for(_ <- 1..4, do: {:add, 1}))
      each_by_another(machine, counter, requests)
      requests
    end

    proved(graph, &(Enum.sort(answers(&1)) == [1, 2, 3, 4]))
  end

  test "a sequencer brings everything in order, whatever comes first, and nothing twice" do
    graph = fn machine ->
      out = Outbox.open(machine)

      each_by_another(
        machine,
        Mote.create(machine, Library.sequencer(out, 1)),
        for(n <- [1, 2, 3, 4], do: {n, n})
      )

      out
    end

    counts = proved(graph, &(Outbox.take(&1) == [1, 2, 3, 4]))
    assert counts.orders == 24
  end

  test "a serializer lets one in at a time" do
    graph = fn machine ->
      log = Outbox.open(machine)
      gate = Mote.create(machine, Library.serializer(Mote.create(machine, Services.busy(log))))
      each_by_another(machine, gate, requests(machine, for(n <- 1..3, do: {1, 2, n})))
      log
    end

    one_at_a_time? = fn log ->
      log |> Outbox.take() |> Enum.chunk_every(2) |> Enum.all?(&match?([{:begin, n}, {:end, n}], &1))
    end

    # The second answer of the service is none.
    proved(graph, one_at_a_time?, allow: [:ignored])
    # And without it, they do come together.
    open = fn machine ->
      log = Outbox.open(machine)

      each_by_another(
        machine,
        Mote.create(machine, Services.busy(log)),
        requests(machine, [{1, 1, 1}, {1, 1, 2}])
      )

      log
    end

    assert {:failed, _} = Mote.Test.prove(open, one_at_a_time?)
  end

  test "a gate for readers and writers lets each writer in alone" do
    graph = fn machine ->
      log = Outbox.open(machine)
      gate = Mote.create(machine, Library.rw_gate(Mote.create(machine, Services.busy(log))))
      requests = for {kind, n} <- [read: 1, read: 2, write: 3], do: {kind, {1, 1, {kind, n}}}
      each_by_another(machine, gate, requests(machine, requests))
      log
    end

    proved(graph, fn log ->
      log = Outbox.take(log)
      at = Enum.find_index(log, &(&1 == {:begin, {:write, 3}}))
      # Its end comes next, and whatever began before has ended.
      Enum.at(log, at + 1) == {:end, {:write, 3}} and rem(at, 2) == 0
    end)
  end

  test "a buffer takes in and gives out everything once, and answers all who wait" do
    graph = fn machine ->
      buffer = Mote.create(machine, Library.bounded_buffer(1))
      puts = requests(machine, for(n <- 1..2, do: {:put, n}))
      takes = requests(machine, [:take, :take])
      each_by_another(machine, buffer, puts ++ takes)
      {puts, takes}
    end

    proved(graph, fn {puts, takes} -> answers(puts) == [:ok, :ok] and Enum.sort(answers(takes)) == [1, 2] end)
  end

  test "a buffer with more takes than puts leaves somebody waiting, which a proof finds" do
    graph = fn machine ->
      buffer = Mote.create(machine, Library.bounded_buffer(1))
      each_by_another(machine, buffer, requests(machine, [{:put, 1}, :take, :take]))
    end

    assert {:failed, %{kind: :unanswered}} = Mote.Test.prove(graph, fn _ -> true end)
  end

  test "those that ask several answer once, with all of them, or with the first" do
    for {behaviour, expected} <- [
          {&Library.race/1, &match?([n] when n in 1..3, &1)},
          {&Library.fork/1, &(&1 == [[1, 2, 3]])}
        ] do
      graph = fn machine ->
        services = for n <- 1..3, do: Mote.create(machine, Services.saying(n, 2))
        requests = requests(machine, [:all])
        each_by_another(machine, Mote.create(machine, behaviour.(services)), requests)
        requests
      end

      # Of each service one answer counts.
      proved(graph, &expected.(answers(&1)), allow: [:ignored])
    end
  end

  test "plumbing brings everything where it belongs, and once only what is to come once" do
    for {behaviour, expected} <- [
          {&Library.fwd/1, [1, 2]},
          {&Library.label(&1, :a), [{:a, 1}, {:a, 2}]},
          {&Library.broadcast([&1, &1]), [1, 1, 2, 2]},
          {&Library.tee(&1, &1), [1, 1, 2, 2]}
        ] do
      graph = fn machine ->
        out = Outbox.open(machine)
        each_by_another(machine, Mote.create(machine, behaviour.(out)), [1, 2])
        out
      end

      counts = proved(graph, &(&1 |> Outbox.take() |> Enum.sort() == expected))
      assert counts.ends > 1
    end

    once = fn machine ->
      out = Outbox.open(machine)
      each_by_another(machine, Mote.create(machine, Library.once(out)), [1, 2, 3])
      out
    end

    proved(once, &match?([n] when n in 1..3, Outbox.take(&1)))

    tags = fn machine ->
      out = Outbox.open(machine)
      tags = for _ <- 1..2, do: Mote.create(machine, Library.tag(out))
      for tag <- tags, do: each_by_another(machine, tag, [:any])
      {tags, out}
    end

    # Each by the tag that it came through.
    proved(tags, fn {tags, out} ->
      Enum.sort(Outbox.take(out)) == Enum.sort(for tag <- tags, do: {tag, :any})
    end)
  end

  test "a service made of services answers each customer once, with what they make of it one after the other" do
    for {service, request, expected} <- [
          {fn [doubles, tens, _] -> Library.pipe([doubles, tens]) end, 1, 31},
          {fn [doubles, _, _] -> Library.par_map(doubles) end, [1, 2], [3, 5]},
          {fn [doubles, _, sum] -> Library.map_reduce(doubles, sum) end, [1, 2], 8}
        ] do
      graph = fn machine ->
        behaviours = [Services.roundabout(2, 1, 1), Services.linear(10, 1), Services.sum()]
        services = for behaviour <- behaviours, do: Mote.create(machine, behaviour)
        requests = requests(machine, [request, request])
        each_by_another(machine, Mote.create(machine, service.(services)), requests)
        requests
      end

      proved(graph, &(answers(&1) == [expected, expected]))
    end
  end

  test "reports are gathered as they come, each once" do
    graph = fn machine ->
      out = Outbox.open(machine)
      each_by_another(machine, Mote.create(machine, Library.gather(out, 3)), [1, 2, 3, 4])
      out
    end

    counts = proved(graph, &match?([[a, b, c]] when a != b and b != c and a != c, Outbox.take(&1)))
    assert counts.ends == 24
  end

  test "what is suspended lets everything through that it has held, and nothing while it is" do
    graph = fn machine ->
      out = Outbox.open(machine)
      gate = Mote.create(machine, Library.suspendable(out))
      user = Mote.create(machine, Services.user())
      each_by_another(machine, gate, [1, 2, {user, :suspend}])
      out
    end

    proved(graph, &(Enum.sort(Outbox.take(&1)) == [1, 2]))
  end

  test "a value that is written once is the same for all who read it, and one of those who write it wins" do
    graph = fn machine ->
      future = Mote.create(machine, Library.future())
      {reads, writes} = {requests(machine, [:read, :read]), requests(machine, [{:write, 1}, {:write, 2}])}
      each_by_another(machine, future, reads ++ writes)
      {reads, writes}
    end

    proved(graph, fn {reads, writes} ->
      [n, n] = answers(reads)
      n in [1, 2] and Enum.sort(answers(writes)) == [:ok, {:error, :written}]
    end)
  end

  test "a service is asked once for what is known since, whoever asks first" do
    for {behaviour, request} <- [{&Library.lazy(&1, {1, 1, 7}), :read}, {&Library.memo/1, {1, 1, 7}}] do
      graph = fn machine ->
        log = Outbox.open(machine)
        requests = requests(machine, [request, request, request])
        service = Mote.create(machine, Services.busy(log))
        each_by_another(machine, Mote.create(machine, behaviour.(service)), requests)
        {log, requests}
      end

      proved(graph, fn {log, requests} ->
        Enum.uniq(answers(requests)) == [{:done, 7}] and Outbox.take(log) == [begin: 7, end: 7]
      end)
    end
  end

  test "a name belongs to one of those who register it" do
    graph = fn machine ->
      registry = Mote.create(machine, Library.registry())
      [a, b] = for _ <- 1..2, do: Mote.create(machine, Library.sink())
      requests = requests(machine, [{:register, :name, a}, {:register, :name, b}, {:lookup, :name}])
      each_by_another(machine, registry, requests)
      {a, b, requests}
    end

    proved(graph, fn {a, b, requests} ->
      case answers(requests) do
        [:ok, {:error, {:taken, ^a}}, found] -> found in [{:ok, a}, {:error, :unknown}]
        [{:error, {:taken, ^b}}, :ok, found] -> found in [{:ok, b}, {:error, :unknown}]
      end
    end)
  end

  test "who subscribes hears what is published since, once" do
    graph = fn machine ->
      hub = Mote.create(machine, Library.pubsub())
      out = Outbox.open(machine)
      published = requests(machine, [{:publish, :a}, {:publish, :b}])
      each_by_another(machine, hub, requests(machine, [{:subscribe, out}]) ++ published)
      {out, published}
    end

    proved(graph, fn {out, published} ->
      heard = for {request, 1} <- Enum.zip([:a, :b], answers(published)), do: request
      Enum.sort(Outbox.take(out)) == heard
    end)
  end
end
