defmodule Mote.Bench.Programs.BeamTurns do
  # What a turn costs that runs in a process of the BEAM: n empty turns of a hundred actors in a beam sponsor, from event to
  # commit. `language` are those of a behaviour of the language, which workers run themselves; `free` those of a behaviour that may
  # call any Elixir, each of which has a process of its own. Beside it: a task for each.
  @moduledoc false

  use Mote.Bench.Program,
    title: "n empty turns in a beam sponsor, of 100 actors",
    param: :n,
    defaults: [100_000],
    small: 200,
    metric: :ns_per_turn,
    count: &(2 * &1),
    expected: &{&1, &1},
    processes: &(2 * &1),
    machines: [io: [main: [threads: 1], io: [beam: true, max_concurrency: 100]]]

  alias Mote.Bench.Sample

  defmodule Actors do
    use Mote.Behaviour

    defactor language do
      :turn -> :ok
    end

    defactor free(), beam: true do
      :turn -> :ok
    end
  end

  @actors 100

  @impl true
  def measures(%Sample{fresh: true} = sample), do: [peak_rss_bytes: sample.peak]

  def measures(%Sample{param: n} = sample) do
    [
      ns_per_turn: Sample.stage(sample, :run).ns / n,
      ns_per_language_turn: Sample.stage(sample, :language).ns / n
    ]
  end

  @impl true
  def mote(machine, n) do
    actors = &for(_ <- 1..@actors, do: Mote.create(machine, &1, sponsor: :io))
    {language, free} = {actors.(Actors.language()), actors.(Actors.free())}
    [language: fn _ -> turns(machine, language, n) end, run: fn first -> {first, turns(machine, free, n)} end]
  end

  @impl true
  def beam(n) do
    tasks = fn -> for _ <- 1..n, do: Task.await(Task.async(fn -> :ok end)) end
    [language: fn _ -> length(tasks.()) end, run: fn first -> {first, length(tasks.())} end]
  end

  defp turns(machine, actors, n) do
    before = Mote.info(machine).counters.turns
    for actor <- actors, do: :ok = Mote.send_many(actor, List.duplicate(:turn, div(n, @actors)))
    :ok = Mote.drain(machine, :infinity)
    Mote.info(machine).counters.turns - before
  end
end
