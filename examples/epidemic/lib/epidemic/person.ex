defmodule Epidemic.Person do
  @moduledoc """
  A person is an actor, and what happens to it are messages. One millisecond of the machine's clock is a day.

      stranger ──► healthy ──:met──► incubating ──(timer)──► infectious ──(timer, each day)──► sink()

  `:met` is a meeting that infects, and `:warned` is what the app says. What a person does on a day shows on the next day at
  the earliest, except that those who are infected begin to incubate. So it does not matter in which order the messages of one
  day come, and a run is the same on any number of threads.

  `rules` is `{office, odds, incubation, days, app}`: who counts, the odds that a meeting infects, the longest incubation, for
  how many days people infect others, and the odds that somebody has the app.
  """
  use Mote.Behaviour
  alias Epidemic.Dice

  # Symptoms come on the second infectious day, to seven people in ten.
  @symptoms_on 2
  @with_symptoms 7
  # How many days somebody stays at home who was warned.
  @quarantine 14

  @doc "Somebody who does not know anybody yet."
  defactor stranger(rules, dice) do
    contacts ->
      {_office, _odds, _incubation, _days, app} = rules
      become healthy(rules, contacts, Dice.next(dice), Dice.hits?(dice, app), 0, -1)
  end

  @doc "Somebody who can be infected. At home from one day until another: both count."
  defactor healthy(rules, contacts, dice, app, from, until) do
    :met ->
      day = System.monotonic_time(:millisecond)
      unless from <= day and day <= until, do: infect(rules, contacts, dice, app, from, until)

    :warned when app ->
      {from, until} = stay(rules, from, until, @quarantine)
      become from: from, until: until

    :infect ->
      infect(rules, contacts, dice, app, from, until)
  end

  defeffect infect(rules, contacts, dice, app, from, until) do
    {office, _odds, incubation, _days, _app} = rules
    send office, :infected
    send_after(2 + Dice.below(dice, incubation - 1), self(), :infectious)
    become incubating(rules, contacts, Dice.next(dice), app, from, until)
  end

  @doc "Somebody who is infected, and infects nobody yet."
  defactor incubating(rules, contacts, dice, app, from, until) do
    :infectious ->
      {office, _odds, _incubation, days, _app} = rules
      send office, :infectious
      send_after(0, self(), :day)
      last = System.monotonic_time(:millisecond) + days - 1
      become infectious(rules, contacts, dice, app, from, until, last)

    :warned when app ->
      {from, until} = stay(rules, from, until, @quarantine)
      become from: from, until: until
  end

  @doc "Somebody who infects others until the day `last`."
  defactor infectious(rules, contacts, dice, app, from, until, last) do
    :day ->
      {office, odds, _incubation, days, _app} = rules
      day = System.monotonic_time(:millisecond)
      dice = if from <= day and day <= until, do: dice, else: meet(contacts, tuple_size(contacts), dice, odds)

      if day < last do
        send_after(1, self(), :day)
        falls_ill = app and day == last - days + @symptoms_on and Dice.below(dice, 10) < @with_symptoms
        if falls_ill, do: warn(contacts, tuple_size(contacts))
        {from, until} = if falls_ill, do: stay(rules, from, until, days), else: {from, until}
        become dice: Dice.next(dice), from: from, until: until
      else
        send office, :recovered
        become sink()
      end

    # Not on the last day: whether somebody has recovered by then depends on which message comes first.
    :warned when app ->
      if System.monotonic_time(:millisecond) < last do
        {from, until} = stay(rules, from, until, @quarantine)
        become from: from, until: until
      end
  end

  # Sees everybody for a day.
  defeffect meet(_contacts, 0, dice, _odds), do: dice

  defeffect meet(contacts, n, dice, odds) do
    if Dice.hits?(dice, odds), do: send(elem(contacts, n - 1), :met)
    meet(contacts, n - 1, Dice.next(dice), odds)
  end

  defeffect warn(_contacts, 0), do: :ok

  defeffect warn(contacts, n) do
    send elem(contacts, n - 1), :warned
    warn(contacts, n - 1)
  end

  # Stays at home for so many days, and not shorter than said before. Whoever is not at home begins tomorrow, so that today is the
  # same in whichever order the day's messages come.
  defeffect stay(rules, from, until, days) do
    day = System.monotonic_time(:millisecond)

    if day <= until do
      {from, max(until, day + days)}
    else
      send elem(rules, 0), :stays_home
      {day + 1, day + days}
    end
  end
end
