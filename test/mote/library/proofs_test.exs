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
end
