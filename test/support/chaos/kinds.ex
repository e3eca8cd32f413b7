defmodule Mote.Chaos.Kinds do
  @moduledoc """
  The operations that scenarios are made of, by kinds: a kind is what can be switched on by itself.

  Each kind makes operations as data. What they do is in `Mote.Chaos.Operations`.
  """

  import Mote.Chaos.Random

  alias Mote.Chaos.{Labour, Programs}

  @all ~w(traffic aborts memory work futures receivers outboxes timers sponsors looks code programs strays ends agree)a

  @doc "All kinds."
  def all, do: @all

  @doc "What there is before the first phase: some of everything on each machine."
  def setting(%{machines: machines}) do
    for {_, m} <- Enum.with_index(machines), what <- setting_of(m), do: what
  end

  defp setting_of(m) do
    relays = for sponsor <- [nil, nil, nil, :main, :side], do: {:create, m, :relay, sponsor}
    workers = for sponsor <- [nil, :main, :side], do: {:create, m, {:worker, term(), term()}, sponsor}
    others = for what <- [:keeper, :breaker, :clock, :tree, :silent], do: {:create, m, what, nil}

    [{:receiver, :off_heap}, {:receiver, :on_heap}, {:create, m, {:log, any()}, nil}] ++
      relays ++ workers ++ others
  end

  # What a term is made of; `Mote.Chaos.Terms` makes it.
  defp term do
    weighted([
      {3, {:int, any()}},
      {2, {:list, magnitude(3_000)}},
      {1, {:improper, magnitude(3_000)}},
      {2, {:map, magnitude(600)}},
      {1, {:binary, magnitude(100_000)}},
      {1, {:part, magnitude(100_000)}},
      {1, {:vector, magnitude(100_000)}},
      {1, {:nested, magnitude(60)}},
      {1, {:addresses, any(), magnitude(20)}},
      {1, {:opaque, any()}}
    ])
  end

  defp m(context), do: between(0, length(context.machines) - 1)
  defp sponsor, do: weighted([{4, nil}, {1, :main}, {2, :side}, {1, one([:extra_1, :extra_2, :none])}])
  defp timeout, do: one([0, 1, 20, 500, 2_000])
  defp milliseconds, do: magnitude(60)

  @doc "An operation of a kind."
  def operation(kind, context) do
    op = op(kind, context)
    # Many times in a row, so that the rare moment comes.
    if repeats?(op) and once_in?(3), do: {:repeat, times(context), [op | company(kind, context)]}, else: op
  end

  defp times(%{stress: nil}), do: magnitude(400)
  defp times(_), do: magnitude(20)

  defp company(kind, context), do: several(0, 2, fn -> op(kind, context) end) |> Enum.filter(&repeats?/1)

  @once ~w(environment labour ask_labour askers spam crash stop add_sponsor remove_sponsor agree compile tree spawned)a ++
          ~w(top behaviours fold graph gc pause outbox_owner)a
  defp repeats?(op), do: elem(op, 0) not in @once

  # -- traffic -------------------------------------------------------------------------------------------------

  # Messages that are accounted for, by ways that lead through all sponsors, and questions beside them.
  defp op(:traffic, c) do
    m = m(c)

    weighted([
      {6, {:token, m, any(), path(), sponsor()}},
      {4, {:settle, m}},
      {6, race(m)},
      {3, {:ask_path, m, any(), path(), timeout()}},
      {3, {:ask_labour, m, any(), :length, between(1, 3), timeout()}},
      {1, {:ask_all, m, :keeper, :get, timeout()}},
      {1, {:async, m, any(), between(1, 20), timeout()}},
      {1, {:send_many, m, any(), between(1, 300)}},
      {1, {:tree, m, any(), between(1, 9)}}
    ])
  end

  defp op(:aborts, c) do
    m = m(c)

    weighted([
      {8, {:send, m, :breaker, any(), one([:abort, :case, :match, :map, :late, :timer]), term()}},
      {1, {:send, m, :breaker, any(), one([:fuel, :deep]), {:int, between(1, 3)}}},
      {2, {:send, m, :breaker, any(), :keep, term()}},
      {1, {:forget, m, :breaker, any()}},
      {3, {:ask_kept, any(), timeout()}},
      {2, {:send_kept, any(), any()}},
      {1, {:info_kept, any()}},
      {1, {:gc, m}},
      {1, {:create, m, :breaker, sponsor()}}
    ])
  end

  # Memory that ends, at every place where some is taken.
  defp op(:memory, c) do
    m = m(c)

    weighted([
      {6, labour(m, :grow, magnitude(3_000), Labour.allocating())},
      {8, labour(m, one([:do, :ask]), between(100, 30_000), Labour.allocating())},
      {2, {:swap, m, any()}},
      {2, {:forget, m, :worker, any()}},
      {3, {:send, m, :keeper, any(), :put, term()}},
      {2, {:forget, m, :keeper, any()}},
      {2, {:create, m, {:worker, term(), term()}, sponsor()}},
      {1, {:tree, m, any(), between(8, 17)}},
      {1, {:arm, m, any(), between(1, 3_000), milliseconds(), any()}}
    ])
  end

  # Whatever takes long, and those who wait for something else meanwhile.
  defp op(:work, c) do
    m = m(c)

    weighted([
      {10, labour(m, one([:do, :ask]), magnitude(100_000))},
      {4, labour(m, :ask, 1)},
      {2, {:swap, m, any()}},
      {2, {:ask_path, m, any(), path(), 2_000}},
      {1, {:gc, m}},
      {1, {:stop, m}},
      {1, {:add_sponsor, m, one([:extra_1, :extra_2]), 1}},
      {1, {:remove_sponsor, m, one([:extra_1, :extra_2])}},
      {1, {:forget, m, :worker, any()}}
    ])
  end

  defp op(:futures, c) do
    m = m(c)
    work = one([{:count, magnitude(100_000)}, {:one, any()}, {:broken, any()}, {:slow, magnitude(50)}])

    weighted([
      {4, {:future, m, work, sponsor()}},
      {3, {:touch, any(), timeout()}},
      {2, {:wait, one([:any, :all]), any(), between(1, 5), timeout()}},
      {2, {:kill_future, any()}},
      {2, {:toucher, any(), timeout(), one([nil, between(0, 20)])}},
      {2, {:environment, m, work, magnitude(3_000), between(1, 2), one([:none, :hooks, :paused]), ending()}},
      # So many that their end takes a while, and somebody is killed meanwhile.
      {2,
       {:environment, m, work, between(5_000, 40_000), between(1, 2), one([:none, :paused, :paused]),
        killed()}}
    ])
  end

  # One actor's messages to one process: in order, whoever sends them and whatever else comes there.
  defp op(:receivers, c) do
    m = m(c)

    weighted([
      {4, {:askers, m, any(), between(2, 12), magnitude(300)}},
      {3, {:ask_tick, m, any(), between(1, 3), timeout()}},
      {3, {:tick, m, any(), one([1, 2, 15, 16, 17, 300])}},
      {4, {:spam, any(), magnitude(300_000)}},
      {1, {:create, m, {:log, any()}, sponsor()}},
      {1, {:receiver, one([:off_heap, :on_heap])}},
      {1, {:end_receiver, any()}},
      {1, {:settle, m}}
    ])
  end

  defp op(:outboxes, c) do
    m = m(c)

    weighted([
      {2, {:outbox, m, magnitude(5_000)}},
      {4, {:to_outbox, m, any(), any(), term()}},
      {3, {:tick_outbox, m, any(), magnitude(2_000)}},
      {4, {:take, any(), magnitude(3_000)}},
      {1, {:outbox_info, any()}},
      {1, {:close, any()}},
      {2, {:outbox_owner, m, magnitude(3_000), milliseconds()}}
    ])
  end

  defp op(:timers, c) do
    m = m(c)

    weighted([
      {3, {:late_token, m, any(), path(), milliseconds()}},
      {3, {:arm, m, any(), magnitude(300), milliseconds(), any()}},
      {2, {:cancel_all, m, any()}},
      {3, {:send_after, m, any(), milliseconds(), term()}},
      {3, {:cancel, any()}},
      {2, {:ask_late, m, any(), milliseconds(), timeout()}},
      {2, {:advance, m, milliseconds()}}
    ])
  end

  defp op(:sponsors, c) do
    m = m(c)
    name = one([:extra_1, :extra_2, :extra_3])

    weighted([
      {3, {:add_sponsor, m, name, between(1, 2)}},
      {3, {:remove_sponsor, m, name}},
      {3, {:create, m, one([:relay, :relay, :keeper, {:log, any()}]), name}},
      {4, {:token, m, any(), path(), name}},
      {2, {:ask_path, m, any(), path(), timeout()}},
      {1, {:late_token, m, any(), path(), milliseconds()}},
      {2, labour(m, :do, magnitude(100))}
    ])
  end

  defp op(:looks, c) do
    m = m(c)

    weighted([
      {3, {:info, m}},
      {3, {:info_actor, m, one([:relay, :worker, :keeper, :breaker]), any()}},
      {2, {:top, m, one([:turns, :queued, :bytes]), milliseconds()}},
      {2, {:behaviours, m, milliseconds()}},
      {2, {:fold, m}},
      {2, {:graph, m, one([:relay, :keeper, :worker]), any()}},
      {3, {:trace, m, one([[], [sponsor: :main], [message: {:_, :get}]]), magnitude(200)}},
      {2, {:end_trace, any()}},
      {2, {:pause, m, between(0, 30), one([:main, :side])}},
      {1, {:show, any()}},
      {2, {:token, m, any(), path(), nil}}
    ])
  end

  # Modules of behaviours that come in other versions, and go.
  defp op(:code, c) do
    m = m(c)

    weighted([
      {2, {:compile, any(), any()}},
      {2, {:load, m, any()}},
      {3, {:create, m, {:wild, any(), actor()}, sponsor()}},
      {1, {:purge, any()}},
      {3, {:wild, m, any(), between(1, 3), term()}}
    ])
  end

  defp op(:programs, c) do
    m = m(c)

    weighted([
      {3, {:create, m, {:wild, any(), actor()}, sponsor()}},
      {6, {:wild, m, any(), between(1, 3), term()}},
      {1, {:ask_wild, m, any(), term(), timeout()}},
      {1, {:gc, m}}
    ])
  end

  defp op(:strays, c),
    do: {:stray, m(c), one([:machine, :linked, :supervised]), one([:call, :cast, :info, :down])}

  # Processes that end at any moment.
  defp op(:ends, c) do
    m = m(c)

    weighted([
      {4,
       {:spawned, {:ask_labour, m, any(), one([:reverse, :length]), magnitude(300), 2_000}, milliseconds()}},
      {4, {:spawned, {:ask_path, m, any(), path(), 2_000}, milliseconds()}},
      {2, {:spawned, {:silent, m, any(), one([:drop, :keep, :pass, :twice]), 2_000}, milliseconds()}},
      {2, {:silent, m, any(), one([:drop, :keep, :pass, :twice]), timeout()}},
      {2, {:spawned, {:drain, m}, milliseconds()}},
      {1, {:spawned, {:gc, m}, milliseconds()}},
      {1, {:stop, m}},
      {1, {:crash, m}}
    ])
  end

  defp op(:agree, _c), do: {:agree, any(), one([:native, :interp]), one([10_000_000, 25])}

  # One message while another is answered: then nothing else goes on, and nothing hides what was left behind.
  defp race(m) do
    here =
      weighted([
        {3, {:ask_labour, m, any(), :length, between(1, 3), 500}},
        {1, {:ask_path, m, any(), path(), 500}}
      ])

    {:race, m, magnitude(100), {:token, m, any(), path(), sponsor()}, here}
  end

  defp ending, do: one([:returns, :raises, :kills_all, killed()])
  defp killed, do: {:killed, one([magnitude(5_000), between(0, 8_000)])}

  # -- parts ---------------------------------------------------------------------------------------------------

  defp path do
    several(0, 6, fn ->
      weighted([
        {5, {:send, any()}},
        {2, {:sendx, one([:main, :side]), any()}},
        {2, {:on, one([:main, :side]), any()}},
        {1, :make},
        {1, {:pin, one([:main, :side])}}
      ])
    end)
  end

  defp actor, do: between(0, Programs.actors() - 1)

  # A heavy operation on what it takes, for the most part: terms of one size are compared for longest.
  defp labour(m, how, times, operations \\ Labour.operations()) do
    {names, first, second} = one(operations)
    n = size(shape = one(first))
    other = if once_in?(5), do: one(Keyword.keys(Labour.shapes())), else: one(second)
    k = if once_in?(2) and alike?(shape, other), do: n, else: size(other)
    {:labour, m, any(), how, one(names), times, {shape, n}, {other, k}}
  end

  defp alike?(shape, other), do: shape == other or {shape, other} == {:tree_map, :tree}

  defp size(shape) do
    {least, greatest} = Labour.shapes()[shape]
    # Terms of a size that is seldom met are the ones that something was not made for.
    if once_in?(2), do: greatest, else: between(least, greatest)
  end
end
