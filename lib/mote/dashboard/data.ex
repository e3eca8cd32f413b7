defmodule Mote.Dashboard.Data do
  # The data that a dashboard shows, as plain maps of numbers and texts, which go to a page as they are.
  #
  # 1. `snapshot/1`, which is called once a second, reads counters only: it stops nothing and looks at no
  #    actor.
  # 2. Everything else is requested by a user, and costs what `Mote.Inspection` says.
  # 3. Actors and behaviours go out as ids, which `keep` hands out for terms.
  #
  # Counters count from the start of the machine: the figures of a second are the difference of two snapshots.
  @moduledoc false

  alias Mote.{Address, Behaviour, Error, Graph, Machine}
  alias Mote.Machine.Table

  @typedoc "Returns an id for each of a list of terms."
  @type keep :: ([term] -> [String.t()])

  # Behaviours and actors that are shown at most.
  @behaviours 200
  @actors 25
  # Among so many actors those of one behaviour are looked for.
  @among 4_096
  @nodes 60
  @rates [:turns, :sends, :creates, :aborts]
  # Enough to recognise a state by.
  @inspect [limit: 50, printable_limit: 500, pretty: true, width: 60]
  @unbounded 0xFFFFFFFFFFFFFFFF

  # -- once a second -------------------------------------------------------------------------------------------

  @doc "The machine as it is now; of one that is not running only that."
  @spec snapshot(Machine.t()) :: map
  def snapshot(machine) do
    info = Mote.info(machine)
    %{pid: pid} = Mote.machine(machine)

    %{
      at: System.monotonic_time(:millisecond),
      state: if(info.paused, do: :paused, else: :running),
      name: Machine.label(%Machine{pid: pid, name: info.name}),
      pid: inspect(pid),
      node: node(),
      clock: clock(pid),
      uptime: info.uptime,
      sponsors:
        for(name <- Mote.sponsors(machine), sponsor = info.sponsors[name], do: sponsor(name, sponsor)),
      counters: counters(info.counters),
      memory: Map.put(info.memory, :limit, limit(pid)),
      gc: info.gc,
      native: Map.take(info.native, [:tier, :compiled, :refused, :pending]),
      questions: info.questions,
      references: info.references,
      inbox: info.inbox,
      mail: info.mail
    }
  rescue
    error in Error -> stopped(error, __STACKTRACE__)
  end

  defp stopped(%Error{reason: :machine_down} = error, _stack),
    do: %{at: System.monotonic_time(:millisecond), state: :stopped, why: Exception.message(error)}

  defp stopped(error, stack), do: reraise(error, stack)

  defp sponsor(name, sponsor) do
    sponsor
    |> Map.take(
      ~w(started asleep inbox queued queue_bytes waiting high_water overloaded beam timeout running)a
    )
    |> Map.merge(%{
      name: name,
      label: inspect(name),
      # Turns of others have no order: see `Mote.step/2`.
      steps: not sponsor.beam and length(sponsor.threads) == 1,
      longest: longest(sponsor.longest),
      # Those that are open, of an I/O sponsor.
      sockets: sponsor[:net] && sponsor.net.open,
      threads: for(thread <- sponsor.threads, do: counters(thread))
    })
  end

  @doc """
  What each sponsor of a snapshot has done a second since an earlier one: its `:turns`, `:sends`, `:creates` and `:aborts`, and
  which part of its threads' time was `:busy`. They are `nil` if there is no earlier snapshot of the same sponsor.
  """
  @spec rates(map, map | nil) :: [map]
  def rates(%{sponsors: sponsors, at: at}, before) do
    for sponsor <- sponsors do
      old = before && Enum.find(before[:sponsors] || [], &same?(&1, sponsor))

      done =
        for key <- [:busy_ns | @rates], into: %{}, do: {key, old && done(key, sponsor, old, at - before.at)}

      {busy_ns, done} = Map.pop!(done, :busy_ns)
      threads = length(sponsor.threads)
      busy = busy_ns && min(busy_ns / max(threads, 1) / 1.0e9, 1.0)
      Map.merge(done, %{label: sponsor.label, threads: threads, waiting: sponsor.waiting, busy: busy})
    end
  end

  def rates(%{state: :stopped}, _before), do: []

  defp same?(a, b), do: a.name == b.name and a.started == b.started

  defp done(key, new, old, ms), do: max(sum(new, key) - sum(old, key), 0) * 1_000 / max(ms, 1)

  defp sum(sponsor, key), do: Enum.sum(for thread <- sponsor.threads, do: Map.get(thread, key, 0))

  defp longest(nil), do: nil

  defp longest(%{behaviour: {module, name}, age: age}),
    do: %{behaviour: "#{inspect(module)}.#{name}", age: age}

  defp counters(all) do
    aborts =
      for {counter, n} <- all, "aborts_" <> _ <- [Atom.to_string(counter)], reduce: 0, do: (sum -> sum + n)

    all
    |> Map.take(~w(turns sends creates becomes ignored timers foreign_in foreign_out undelivered)a)
    |> Map.merge(Map.take(all, ~w(parks stand_ins busy_ns queue_high_water)a))
    |> Map.put(:aborts, aborts)
  end

  defp clock(pid) do
    case Table.clock(pid) do
      {:ok, clock} -> clock
      :error -> :system
    end
  end

  defp limit(pid) do
    case Table.memory(pid) do
      {:ok, bytes} when bytes < @unbounded -> bytes
      _ -> nil
    end
  end

  # -- when somebody asks --------------------------------------------------------------------------------------

  @doc "The behaviours that are alive, and what they ran in `ms` milliseconds: a walk over the heap."
  @spec behaviours(Machine.t(), non_neg_integer, keep) :: map
  def behaviours(machine, ms, keep) do
    all = Mote.behaviours(machine, for: ms)
    shown = Enum.take(all, @behaviours)

    %{
      for: ms,
      omitted: length(all) - length(shown),
      behaviours:
        for {row, id} <- Enum.zip(shown, keep.(Enum.map(shown, & &1.behaviour))) do
          %{id: id, name: label(row.behaviour), actors: row.actors, bytes: row.bytes, turns: row.turns}
        end
    }
  end

  @doc """
  The first actors by `:turns` of `ms` milliseconds, `:queued`, `:bytes`, `:running`, `:bytes_in` or `:bytes_out`; of one behaviour, or
  `nil` for all. Of one behaviour others follow for which the figure is 0.
  """
  @spec top(Machine.t(), atom, non_neg_integer, Mote.Inspection.behaviour() | nil, keep) :: map
  def top(machine, by, ms, behaviour, keep) do
    n = if behaviour, do: @among, else: @actors
    all = Mote.top(machine, by: by, n: n, for: ms)
    found = if behaviour, do: of(all, behaviour), else: all
    idle? = behaviour != nil and by != :bytes and length(found) < @actors
    others = if idle?, do: Mote.top(machine, by: :bytes, n: @among), else: []
    shown = Enum.take(found ++ idle(others, by, behaviour, found), @actors)

    %{
      by: by,
      for: ms,
      behaviour: behaviour && label(behaviour),
      # Whether there may be others that this did not look at.
      partial: behaviour != nil and length(shown) < @actors and @among in [length(all), length(others)],
      actors:
        for {row, id} <- Enum.zip(shown, keep.(Enum.map(shown, & &1.address))) do
          %{id: id, address: inspect(row.address), behaviour: label(row.behaviour), figure: row[by]}
        end
    }
  end

  defp of(rows, behaviour), do: Enum.filter(rows, &(&1.behaviour == behaviour))

  # Those of the behaviour that do nothing at present.
  defp idle(others, by, behaviour, busy) do
    busy = MapSet.new(busy, & &1.address)
    for row <- of(others, behaviour), row.address not in busy, do: Map.put(row, by, 0)
  end

  @doc "One actor, with its state."
  @spec actor(Address.t(), keep) :: map
  def actor(%Address{} = address, keep) do
    info = Mote.info(address)
    [id] = keep.([address])

    info
    |> Map.take([:busy, :queued, :bytes, :complete])
    |> Map.merge(%{
      id: id,
      sponsor: inspect(info.sponsor),
      pinned: info.pinned && inspect(info.pinned),
      address: inspect(address),
      behaviour: label(info.behaviour),
      captures: captures(info.behaviour)
    })
  end

  defp captures(:sink), do: []

  defp captures(%Behaviour{captures: captures}),
    do: for(one <- Tuple.to_list(captures), do: inspect(one, @inspect))

  @doc "Returns the actors that can be reached from one in a number of steps."
  @spec graph(Address.t(), non_neg_integer, keep) :: map
  def graph(%Address{} = address, depth, keep) do
    %Graph{} = graph = Mote.graph(address, depth: depth, limit: @nodes)

    %{
      truncated: graph.truncated,
      edges: graph.edges,
      nodes:
        for {node, id} <- Enum.zip(graph.nodes, keep.(Enum.map(graph.nodes, & &1.address))) do
          %{number: node.id, id: id, address: inspect(node.address), behaviour: label(node.behaviour)}
        end
    }
  end

  @doc "A behaviour as it is called."
  @spec label(Mote.Inspection.behaviour() | Behaviour.t()) :: String.t()
  def label(:sink), do: "sink"
  def label({module, name, captures}), do: "#{inspect(module)}.#{name}/#{captures}"

  def label(%Behaviour{module: module, name: name, captures: captures}),
    do: label({module, name, tuple_size(captures)})
end
