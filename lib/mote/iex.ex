defmodule Mote.IEx do
  @moduledoc """
  Short forms for looking into machines from IEx: `import Mote.IEx`.

  | in IEx | is |
  |---|---|
  | `m()` | the machine, if there is only one on this node |
  | `ms()` | all machines, with their names |
  | `look(address)` | `Mote.info/1` of an actor |
  | `look()`, `look(machine)` | the most important figures of a machine, one screen; `Mote.info(m())` is all of them |
  | `top()`, `top(:bytes)`, `top(:queued, 3)` | `Mote.top/2` |
  | `behaviours()` | `Mote.behaviours/2` |
  | `graph(address)`, `graph(address, depth)` | `Mote.graph/2`, written as Mermaid |
  | `trace()`, `trace(behaviour: Counter)`, `trace(filter, limit)` | `Mote.trace/3` to IEx |
  | `untrace(trace)` | `Mote.Trace.stop/1` |
  | `pause()`, `resume()`, `step()`, `step(sponsor)` | `Mote.pause/1`, `Mote.resume/1`, `Mote.step/2`, the turn written as text |

  Those that take no address use `m()`; with several machines, call `use_machine(machine)` first.

      iex> import Mote.IEx
      iex> {:ok, machine} = Mote.start_link()
      iex> use_machine(machine)
      iex> behaviours()
      []
      iex> step()
      ** (Mote.Error) only a paused machine runs turn by turn: see Mote.pause/1
  """

  alias Mote.{Address, Graph, Machine, Trace}
  alias Mote.Machine.Table

  @chosen {__MODULE__, :machine}
  # Counters of interest to somebody who looks for the cause of something.
  @details [:busy_ns, :queue_high_water, :parks, :wakes, :shared, :fuel]

  @doc "All machines of this node: process and name."
  @spec ms() :: [{pid, term}]
  def ms, do: for(pid <- Enum.sort(pids()), do: {pid, Table.name(pid)})

  defp pids do
    if Process.whereis(Mote.Supervisor) == nil do
      raise ArgumentError, "the application :mote is not running: Application.ensure_all_started(:mote)"
    end

    Table.pids()
  end

  @doc "The machine that the short forms use."
  @spec m() :: Machine.t()
  def m do
    case {Process.get(@chosen), ms()} do
      {nil, [{pid, _}]} -> pid
      {nil, []} -> raise ArgumentError, "no machine is running on this node"
      {nil, _} -> raise ArgumentError, "there are several machines, see ms(): say use_machine(machine) first"
      {machine, _} -> machine
    end
  end

  @doc """
  Makes the short forms of this shell use that machine. A name also stands for the machine that is started in
  its place.

  Raises `Mote.Error` when it is not running.
  """
  @spec use_machine(Machine.t()) :: :ok
  def use_machine(machine) do
    Mote.machine(machine)
    Process.put(@chosen, machine)
    :ok
  end

  @doc """
  An actor as `Mote.info/1` shows it; or the most important figures of a machine, in an order to read: what waits, what it
  holds, what was aborted or lost, and the sponsors. `Mote.info/1` has all figures.

  The counters are those that are not 0.
  """
  @spec look(Address.t() | Machine.t()) :: map | keyword
  def look(address_or_machine \\ m())
  def look(%Address{} = address), do: Mote.info(address)

  def look(machine) do
    info = Mote.info(machine)
    done = for {name, n} <- info.counters, is_integer(n) and n > 0, name not in @details, do: {name, n}

    [
      machine: Mote.machine(machine),
      uptime: info.uptime,
      waiting: info.inbox,
      references: info.references,
      questions: info.questions.open,
      memory: info.memory |> Map.take([:charged, :heap, :live, :holes]) |> Enum.sort(),
      live_actors: info.gc.live_actors,
      counters: Enum.sort_by(done, fn {_name, n} -> -n end),
      sponsors: for({name, sponsor} <- Enum.sort(info.sponsors), do: {name, figures(sponsor)})
    ]
  end

  defp figures(sponsor) do
    turns = Enum.sum(for thread <- sponsor.threads, do: thread.turns)
    [threads: length(sponsor.threads), asleep: sponsor.asleep, turns: turns, waiting: sponsor.waiting]
  end

  @doc "The first `n` by turns, waiting events, or bytes: see `Mote.top/2`."
  @spec top(:turns | :queued | :bytes, non_neg_integer) :: [map]
  def top(by \\ :turns, n \\ 10), do: Mote.top(m(), by: by, n: n)

  @doc "The actors that are alive, by behaviour: see `Mote.behaviours/2`."
  @spec behaviours() :: [map]
  def behaviours, do: Mote.behaviours(m())

  @doc "Shows which actors hold which, from one actor on: see `Mote.graph/2`."
  @spec graph(Address.t(), non_neg_integer) :: :ok
  def graph(address, depth \\ 3), do: address |> Mote.graph(depth: depth) |> Graph.to_mermaid() |> IO.puts()

  @doc "Writes turns as they run: see `Mote.trace/3`."
  @spec trace(Trace.filter(), pos_integer) :: Trace.t()
  def trace(filter \\ [], limit \\ 100), do: Mote.trace(m(), filter, to: :iex, limit: limit)

  @doc "Ends a trace: see `Mote.Trace.stop/1`."
  @spec untrace(Trace.t()) :: %{turns: non_neg_integer, dropped: non_neg_integer} | :ended
  def untrace(trace), do: Trace.stop(trace)

  @doc "Holds the machine still: see `Mote.pause/1`."
  @spec pause() :: :ok
  def pause, do: Mote.pause(m())

  @doc "Lets it go on: see `Mote.resume/1`."
  @spec resume() :: :ok
  def resume, do: Mote.resume(m())

  @doc "Runs one turn, and writes it: see `Mote.step/2`."
  @spec step(atom) :: :ok | :idle
  def step(sponsor \\ nil) do
    case Mote.step(m(), if(sponsor, do: [sponsor: sponsor], else: [])) do
      {:ok, turn} -> turn |> Trace.format() |> IO.puts()
      :idle -> :idle
      {:error, error} -> raise error
    end
  end
end
