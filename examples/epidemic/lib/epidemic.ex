defmodule Epidemic do
  @moduledoc """
  An epidemic on a contact network: every person is an actor, incubation and recovery are timers, and a tracing app warns the
  contacts of those who fall ill.

      iex> run = Epidemic.run(people: 2_000, days: 100, seed: 7)
      iex> run == Epidemic.run(people: 2_000, days: 100, seed: 7, threads: 2)
      true
      iex> List.last(run.days).recovered > 1_000
      true
  """
  alias Epidemic.{Dice, Town}

  @defaults [
    people: 10_000,
    days: 100,
    seed: 1,
    threads: 1,
    near: 6,
    far: 4,
    cases: 20,
    odds: 0.05,
    incubation: 8,
    infectious: 7,
    app: 0.0
  ]

  @type day :: %{
          day: non_neg_integer,
          healthy: non_neg_integer,
          incubating: non_neg_integer,
          infectious: non_neg_integer,
          recovered: non_neg_integer,
          warned: non_neg_integer
        }
  @type t :: %{days: [day]}

  @doc """
  Runs an epidemic.

  Options: `:people`, `:days`, `:seed`, `:threads`; `:near` and `:far`, how many contacts live around and anywhere; `:cases`, how
  many are infected at first; `:odds`, the probability that a meeting infects; `:incubation`, the longest one, in days;
  `:infectious`, for how many days; `:app`, which part of the people has it. `:report` is a function that is called with the
  machine after the town is made (0) and after each day, for measurements.
  """
  @spec run(keyword) :: t
  def run(opts \\ []) do
    {report, opts} = Keyword.pop(opts, :report, fn _machine, _day -> :ok end)
    opts = @defaults |> Keyword.merge(opts) |> Map.new()
    sponsors = Enum.map(1..opts.threads, &{:"district_#{&1}", threads: 1})
    # Most of what is made lives on: a fifth of it in garbage is enough to collect it.
    {:ok, machine} = Mote.start_link(clock: :manual, sponsors: sponsors, gc: [factor: 0.2])
    office = Mote.create(machine, Town.office())
    town = town(machine, office, opts)
    # What was needed to make the people, and is not any more.
    Mote.gc(machine)
    report.(machine, 0)
    step = max(div(opts.people, opts.cases), 1)
    :infected = Mote.ask!(town, {:infect, opts.people, step}, :infinity)
    :ok = Mote.drain(machine, :infinity)

    days =
      for day <- 1..opts.days do
        :ok = Mote.advance(machine, 1, :infinity)
        report.(machine, day)
        read(office, day, opts.people)
      end

    Mote.stop(machine)
    %{days: days}
  end

  defp town(machine, office, opts) do
    rules = {office, Dice.odds(opts.odds), opts.incubation, opts.infectious, Dice.odds(opts.app)}
    town = Mote.create(machine, Town.builder(rules))
    sponsors = List.to_tuple(Mote.sponsors(machine))
    :ready = Mote.ask!(town, {opts.people, opts.near, opts.far, opts.seed, sponsors}, :infinity)
    town
  end

  defp read(office, day, people) do
    {infected, infectious, recovered, warned} = Mote.ask!(office, :read, :infinity)

    %{
      day: day,
      healthy: people - infected,
      incubating: infected - infectious,
      infectious: infectious - recovered,
      recovered: recovered,
      warned: warned
    }
  end

  @doc """
  The part of all people who are infected in the end, as theory has it: for people who all have `contacts` contacts anywhere, and
  meetings that infect with the probability `odds` on each of `days` days.

  Whoever is infected infects a contact with the probability `t`. So the epidemic reaches the people that are connected with the
  first cases if each contact is kept with that probability; `u` is the probability that a contact was not infected by
  anybody else (Newman, "Spread of epidemic disease on networks", 2002).

      iex> Float.round(Epidemic.final_size(10, 0.05, 7), 3)
      0.966
  """
  @spec final_size(pos_integer, float, pos_integer) :: float
  def final_size(contacts, odds, days) do
    t = 1 - :math.pow(1 - odds, days)
    u = Enum.reduce(1..1_000, 0.5, fn _, u -> :math.pow(1 - t + t * u, contacts - 1) end)
    1 - :math.pow(1 - t + t * u, contacts)
  end
end
