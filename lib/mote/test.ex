defmodule Mote.Test do
  @moduledoc """
  Tests of actors: reproducible orders of turns, many orders of the same turns, and all of them.

  The guides *Testing* and *Proving* give the overview; this module is the tool for whatever depends on the order of turns.

      test "no order loses money" do
        Mote.Test.explore(
          fn machine ->
            account = Mote.create(machine, Bank.account(100))
            for _ <- 1..3, do: Mote.send(Mote.create(machine, Bank.customer(account)), {:take, 50})
            account
          end,
          fn account -> Mote.ask!(account, :balance) >= 0 end,
          seeds: 200
        )
      end

  ## Seeded machines

  `Mote.start_link(schedule: {:seeded, seed})` starts a machine that runs all of its sponsors on one thread. A sponsor
  of one thread is first in, first out as always. In a sponsor of several threads any waiting event can be the next
  (of the thousand that have waited longest), unless it would overtake a message of the same sender to the same actor.
  A message from outside or from another sponsor might be from any sender, so it overtakes no message to the same
  actor, and none overtakes it. Any sponsor that has something to do can go on. The seed decides everything that this
  leaves open: **with the same seed, the same program and the same input, the same turns run in the same order.**

  Input comes from outside: messages from processes, created actors, time.

    * Messages enter one by one, in the order in which they were sent, each when everything before it is done. So
      nothing depends on when they come. Messages that several processes send at once come in the order in which they
      were sent, which the processes determine. Messages that come together enter **at any time**: those that were
      sent while the machine was paused (`Mote.pause/1`), and those of one call (`Mote.send_many/2`). They keep their
      order, and the seed decides what happens before the next one enters. So they race with their own consequences.
    * Time is the system's, unless the machine has `clock: :manual`; timers fire when nothing else is left to do.
    * Random numbers of behaviours come from the seed. The order of addresses among each other (`<`) does not: do not
      let anything depend on it.
    * Turns that abort for lack of memory depend on the memory.

  `{:seeded, seed, choices}` makes only that number of choices; from then on messages that may enter do so at once, and the order is
  first in, first out.
  With 0 it is the order of a single-threaded machine. `explore/3` uses this to search for the smallest
  failure.

  `{:order, steps}` is an order that `prove/3` has found. A step is the place of an event among those that wait, or
  `{:lost, place}`, `{:twice, place}` or `{:aborted, place}` for an event with that fate, or `{:fires, place}` if the
  armed timer at that place fires, whatever the time. After these steps the order is first in, first out.

  Such a machine is several times slower than others, and has the same features: turns, sponsors, pins,
  `sendx`, timers, collections. Everything of `Mote` works with it, `Mote.step/2` also on sponsors of several
  threads.
  """

  import Mote.Internal.Expected, only: [expected!: 2]

  alias Mote.{Error, Machine, Native}
  alias Mote.Test.{Failure, Proof, Recorder, Run}

  @seeds 100
  @timeout 5_000
  # Turns of a failing run that are shown at most.
  @shown 1_000
  # Sponsors that leave the order open.
  @sponsors [main: [threads: 4]]

  # The bounds of a proof: a minute, and what a search of a million states takes.
  @states 1_000_000
  @depth 10_000
  @bytes 1_073_741_824
  @patience 60_000

  @doc """
  Makes `mix test --cover` count the lines that run on machines, too. Call it once, in `test/test_helper.exs`:

      ExUnit.start()
      Mote.Test.cover()

  Returns `true`. Without `--cover` it does nothing, and returns `false`. With it, the first 100,000 turns of each
  machine are run once more in plain Elixir, where `:cover` counts. So tests take longer, and machines are traced,
  which `Mote.ask/3` notices as described in `Mote.Ask`. Lines that only a large value leads to (two hundred parts,
  see `Mote.Trace`) may be missing.
  """
  @spec cover() :: boolean
  defdelegate cover, to: Mote.Test.Cover, as: :start

  @doc """
  Runs actors under many orders of turns and checks that something is true after each.

  For each seed a machine is started and paused; `graph` gets it, creates actors, sends to them, and returns whatever
  `property` needs. Then the machine runs until it is quiet, and `property` is called with what `graph`
  returned. It may ask actors; it fails when it returns `false` or `nil`, raises (as `assert` does), exits (as
  `Mote.await/2` does) or throws. `graph` must not ask or wait, since nothing runs yet.

  Messages of `graph` enter in the order in which they were sent, each at a time that the seed decides. So a
  consequence of the first message may reach an actor before the second message does. The guide *Testing* shows this
  under *Messages from outside*.

  When it fails for a seed, that seed is run again with fewer and fewer choices. Among all that fail, the run with the fewest
  turns is taken. (A run that did not end in time is not repeated, since each repetition would take as long.)
  `Mote.Test.Failure` is raised, which says what failed, how to reproduce it, and which turns led to it.

  All runs are in the calling process. Messages that actors send to it stay in its mailbox from run to run, where the
  `property` of a later run would find them. So if a property looks at messages, let actors send them to a
  `Mote.Outbox` that `graph` opens, which ends with the machine: see the guide *Testing*.

  Options:

    * `:seeds` - how many seeds, `0..n-1`, or an enumerable of them (default #{@seeds});
    * `:timeout` - milliseconds that a run may take until it is quiet (default #{@timeout}); one that takes longer fails;
    * everything else goes to `Mote.start_link/1`; the default of `:sponsors` is `#{inspect(@sponsors)}`.

  Returns `:ok`.

      iex> defmodule Doc.Last do
      ...>   use Mote.Behaviour
      ...>   defactor last(value) do
      ...>     {customer, :get} -> send customer, value
      ...>     {:put, new} -> become last(new)
      ...>   end
      ...>   defactor writer(last) do
      ...>     n -> send last, {:put, n}
      ...>   end
      ...> end
      iex> graph = fn machine ->
      ...>   last = Mote.create(machine, Doc.Last.last(0))
      ...>   for n <- 1..3, do: Mote.send(Mote.create(machine, Doc.Last.writer(last)), n)
      ...>   last
      ...> end
      iex> Mote.Test.explore(graph, &(Mote.ask!(&1, :get) in 1..3), seeds: 10)
      :ok
      iex> error = catch_error(Mote.Test.explore(graph, &(Mote.ask!(&1, :get) == 3), seeds: 10))
      iex> {error.__struct__, length(error.turns)}
      {Mote.Test.Failure, 6}
  """
  @spec explore((pid -> context), (context -> as_boolean(term)), keyword) :: :ok when context: term
  def explore(graph, property, opts \\ [])

  def explore(graph, property, opts) when is_function(graph, 1) and is_function(property, 1) do
    {mine, machine_opts} = options!(opts)
    run = &run(graph, property, &1, mine[:timeout], machine_opts, &2)

    case Enum.find_value(mine[:seeds], &failure(run.({:seeded, seed!(&1)}, false))) do
      nil -> :ok
      # The same again, to be looked at.
      failure -> raise shrink(run, failure(run.(failure.schedule, true)) || failure)
    end
  end

  def explore(graph, property, _opts), do: no_functions!(graph, property)

  @spec no_functions!(term, term) :: no_return
  defp no_functions!(graph, property) do
    raise ArgumentError,
          "expected two functions of one argument, one that gets the machine and one that gets what the first gave, " <>
            "got: #{inspect(graph)} and #{inspect(property)}"
  end

  @typedoc """
  A step of an order: the place of an event among those that wait, with its fate unless it is an ordinary turn; or the
  place of a timer that fires, among the armed timers in the order in which they were armed.
  """
  @type step :: non_neg_integer | {:lost | :twice | :aborted | :fires, non_neg_integer}

  @typedoc "A flaw that `prove/3` finds without being asked."
  @type flaw :: :aborted | :ignored | :dropped | :answered_again | :unanswered | :stashed

  @typedoc "A part that a proof has left out."
  @type left_out :: :states | :depth | :memory | :size | :timeout | :timers | :random | :clock | :ends

  @type proof ::
          {:proved,
           %{
             orders: pos_integer | :infinite,
             states: pos_integer,
             turns: non_neg_integer,
             ends: non_neg_integer,
             bytes: pos_integer
           }}
          | {:failed, Failure.t()}
          | {:bounded, [left_out, ...],
             %{states: pos_integer, turns: non_neg_integer, ends: non_neg_integer, bytes: pos_integer}}

  @doc """
  Runs actors in every order of turns that a machine allows, and checks that something is true after each.

  `graph` and `property` are those of `explore/3`. The guide *Proving* shows how to use a proof, and what it can tell.
  Returns

    * `{:proved, counts}` - the property holds in all orders, and nothing else is wrong. `orders`: how many orders
      make a difference (`:infinite` if some never end: those have no rest at which the property could be checked);
      `states`: situations, between two turns, that differ; `turns`: how many were run; `ends`: situations at rest;
      `bytes`: what the search took.
    * `{:failed, failure}` - an order in which something is wrong, one of the shortest: a `Mote.Test.Failure`, to be read,
      raised or repeated.
    * `{:bounded, left_out, counts}` - nothing is wrong in the orders that were run. `left_out` says what is missing:
      more states, longer orders, memory, time (the options below); `:size`, situations with more than a thousand
      waiting messages or half a megabyte; `:timers` that send to the outside, which never fire here, or that are set
      again and again when one of the other limits was reached; `:random` numbers and times (`:clock`) other than
      those that turns have seen; `:ends`, if no run ends, so that the property was never checked, and there is
      neither `:always` nor `:eventually`.

  **Every order** means every order that a sponsor with several threads allows. Messages of one actor or process to
  one actor come in the order in which they were sent, unless one of the two has a safe behaviour, which never
  becomes. Nothing else has an order. A property that holds in all of these orders also holds in sponsors with fewer
  threads.

  **Timers** fire in every order that one clock allows, however long turns take and whatever the machine waits for. If
  two timers are armed one after the other, the second fires first only if it has less time. Time that has passed for
  one timer has passed for all. When a timer has fired, its message waits like any other, also if the timer is
  cancelled then. Messages of timers for one actor come in the order in which they fired. A machine is at rest when no
  timer is armed any more.

  **Processes** that an actor monitors end at any time, or never. All their monitors fire, and monitors that are set
  later fire at once. An ended process receives nothing more, although the process that stands for it here is alive,
  and is owed no answer.

  Without being asked, a proof fails when

    * a turn aborts (`:aborted`), a message matches no clause of an actor that is not a sink (`:ignored`), or is sent
      to something that is not an address (`:dropped`);
    * a customer outside, the process, outbox or address of another machine that is the first element of a request of `graph`, gets
      more answers than it has requests (`:answered_again`), or fewer until nothing waits any more (`:unanswered`);
    * an actor has stashed messages when nothing waits any more (`:stashed`).

  Each process and each outbox gets its messages in every order that makes a difference to it.

  The property is called once for each different end, in a machine that has reached it. So `graph` must create the
  same actors and send the same messages each time it is called.

  Options:

    * `:allow` - a list of flaws that are allowed, out of `#{inspect(Proof.flaws())}` (default `[]`);
    * `:always` - `{actors, property}`, a property that must hold after each turn: `actors` gets the result of
      `graph`, and returns a list of addresses; `property` gets the states of these actors, each as `Mote.peek/1`
      shows it. It is called once for each combination of their states;
    * `:eventually` - `{actors, property}`: the same, but the property must hold once in every run. It fails if a run
      reaches, without it, a situation from which nothing leads to it, neither at a rest nor round in circles. A
      choice that is open again and again is assumed to be made at some time, so a run that only bad luck keeps from
      it is not a failure. All orders are run then, also those that make no difference;
    * `:loses`, `:doubles`, `:aborts` - failures: functions of the result of `graph` to a list of addresses. A message
      to one of these actors may get lost; may come twice, the second time after anything else; or its turn may be
      aborted, whatever it does. To limit that to two actors, put a `Mote.Library.fwd/1` between them. Allow the
      consequences: a lost request has no answer;
    * `:order` - `:pairs`, or `:none` if messages shall have no order at all (default `:pairs`);
    * `:states` - how many different situations the search may keep (default #{@states});
    * `:depth` - how many turns an order may have (default #{@depth});
    * `:bytes` - the memory that the search may take (default #{div(@bytes, 1024 * 1024)} MiB);
    * `:threads` - how many threads search (default: as many as the BEAM has schedulers online). The result does not
      depend on it: the same states, the same number of orders, the same failure;
    * `:timeout` - milliseconds that it may take (default #{@patience});
    * `:fuel`, `:memory`, `:gc`, `:tier`, `:telemetry` - as for `Mote.start_link/1`.

      iex> defmodule Doc.Till do
      ...>   use Mote.Behaviour
      ...>   defactor till(coins) do
      ...>     {customer, :count} -> send customer, {:counted, coins}
      ...>     {:set, coins} -> become till(coins)
      ...>   end
      ...>   defactor payer(till) do
      ...>     :pay -> send till, {self(), :count}
      ...>     {:counted, coins} -> send till, {:set, coins + 1}
      ...>   end
      ...> end
      iex> graph = fn payers ->
      ...>   fn machine ->
      ...>     till = Mote.create(machine, Doc.Till.till(0))
      ...>     for _ <- 1..payers, do: Mote.send(Mote.create(machine, Doc.Till.payer(till)), :pay)
      ...>     till
      ...>   end
      ...> end
      iex> {:proved, counts} = Mote.Test.prove(graph.(1), &(Mote.ask!(&1, :count) == {:counted, 1}))
      iex> counts.orders
      1
      iex> {:failed, failure} = Mote.Test.prove(graph.(2), &(Mote.ask!(&1, :count) == {:counted, 2}))
      iex> {failure.kind, length(failure.turns)}
      {:property, 8}
  """
  @spec prove((pid -> context), (context -> as_boolean(term)), keyword) :: proof when context: term
  def prove(graph, property, opts \\ [])

  def prove(graph, property, opts) when is_function(graph, 1) and is_function(property, 1) do
    {mine, machine_opts} = proof_options!(opts)
    Proof.run(graph, property, mine, machine_opts)
  end

  def prove(graph, property, _opts), do: no_functions!(graph, property)

  @doc """
  Returns how many choices a seeded machine has made so far: the third element of a schedule that repeats all of them.

      iex> {:ok, machine} = Mote.start_link(schedule: {:seeded, 1})
      iex> Mote.Test.choices(machine)
      0
  """
  @spec choices(Machine.t()) :: non_neg_integer
  def choices(machine) do
    case machine |> Machine.fetch!() |> Native.machine_choices() do
      made when is_integer(made) -> made
      :stopped -> raise Error.from(:stopped, machine: machine)
      nil -> raise ArgumentError, "#{inspect(machine)} was not started with schedule: {:seeded, seed}"
    end
  end

  # -- one run -------------------------------------------------------------------------------------------------

  defp failure(:ok), do: nil
  defp failure(%Failure{} = failure), do: failure

  defp run(graph, property, schedule, timeout, opts, traced) do
    Run.paused(graph, [schedule: schedule] ++ opts, fn machine, context ->
      recorder = if traced, do: Recorder.start(machine, @shown)
      :ok = Mote.resume(machine)
      quiet = Mote.drain(machine, timeout)
      schedule = {:seeded, elem(schedule, 1), choices(machine)}
      {turns, more} = if traced, do: Recorder.stop(recorder), else: {[], 0}

      case with(:ok <- quiet, do: Run.check(property, context)) do
        :ok ->
          :ok

        wrong ->
          %Failure{kind: kind(wrong), why: Run.why(wrong), schedule: schedule, turns: turns, more: more}
      end
    end)
  end

  defp kind({:error, _}), do: :timeout
  defp kind(_), do: :property

  # -- the least that goes wrong -------------------------------------------------------------------------------

  # Fewer choices, by halves: no choice at all, half of what failed, and so on towards what failed. What is not chosen
  # goes in turn, so the last choice that is made is one that matters.
  #
  # Not for what does not come to rest: each attempt would take the whole timeout.
  defp shrink(_run, %Failure{kind: :timeout} = failure), do: failure
  defp shrink(run, failure), do: shrink(run, failure, 0, choices_of(failure))

  defp shrink(_run, best, low, high) when low >= high, do: best

  defp shrink(run, best, low, high) do
    middle = div(low + high, 2)

    case run.(put_elem(best.schedule, 2, middle), true) do
      :ok -> shrink(run, best, middle + 1, high)
      failure -> shrink(run, better(best, failure), low, min(middle, choices_of(failure)))
    end
  end

  defp better(best, other) do
    if {length(other.turns) + other.more, choices_of(other)} <=
         {length(best.turns) + best.more, choices_of(best)},
       do: other,
       else: best
  end

  defp choices_of(%Failure{schedule: {:seeded, _seed, choices}}), do: choices

  # -- options -------------------------------------------------------------------------------------------------

  defp options!(opts) do
    unless Keyword.keyword?(opts), do: expected!("the options of explore/3 to be a keyword list", opts)

    {mine, opts} = Keyword.split(opts, [:seeds, :timeout])

    if Keyword.has_key?(opts, :schedule) do
      raise ArgumentError, "explore/3 chooses the schedule itself: give it :seeds"
    end

    Machine.Options.known!(opts, [:seeds, :timeout], "explore/3")
    seeds = seeds!(Keyword.get(mine, :seeds, @seeds))

    {[seeds: seeds, timeout: Keyword.get(mine, :timeout, @timeout)],
     Keyword.put_new(opts, :sponsors, @sponsors)}
  end

  defp proof_options!(opts) do
    unless Keyword.keyword?(opts), do: expected!("the options of prove/3 to be a keyword list", opts)

    defaults = [
      allow: [],
      always: nil,
      eventually: nil,
      loses: nil,
      doubles: nil,
      aborts: nil,
      order: :pairs,
      states: @states,
      depth: @depth,
      bytes: @bytes,
      threads: System.schedulers_online(),
      timeout: @patience
    ]

    {mine, opts} = Keyword.split(opts, Keyword.keys(defaults))

    for {key, why} <- [
          schedule: "tries all orders",
          sponsors: "has one sponsor of several threads, which allows every order",
          clock: "lets no time pass"
        ],
        Keyword.has_key?(opts, key) do
      raise ArgumentError, "prove/3 takes no #{inspect(key)}: it #{why}"
    end

    Machine.Options.known!(opts, Keyword.keys(defaults), "prove/3")
    mine = Keyword.merge(defaults, mine)
    Enum.each(mine, &proof_option!/1)
    {mine, [sponsors: @sponsors, clock: :manual] ++ opts}
  end

  defp proof_option!({key, nil}) when key in [:always, :eventually, :loses, :doubles, :aborts], do: :ok

  defp proof_option!({key, {actors, property}})
       when key in [:always, :eventually] and is_function(actors, 1) and is_function(property, 1),
       do: :ok

  defp proof_option!({key, other}) when key in [:always, :eventually],
    do: expected!("#{inspect(key)} to be {actors, property}, two functions of one argument", other)

  defp proof_option!({key, actors}) when key in [:loses, :doubles, :aborts] and is_function(actors, 1),
    do: :ok

  defp proof_option!({key, other}) when key in [:loses, :doubles, :aborts],
    do: expected!("#{inspect(key)} to be a function of what the graph returned, to addresses", other)

  defp proof_option!({:order, order}) when order in [:pairs, :none], do: :ok
  defp proof_option!({key, n}) when key in [:states, :depth] and n in 1..0xFFFFFFF, do: :ok
  defp proof_option!({:threads, n}) when n in 1..1_024, do: :ok
  defp proof_option!({key, n}) when key in [:bytes, :timeout] and n in 1..0xFFFFFFFFFFFF, do: :ok

  defp proof_option!({:allow, names}) do
    unless is_list(names) and not List.improper?(names) and names -- Proof.flaws() == [],
      do: expected!(":allow to be a list of some of #{inspect(Proof.flaws())}", names)
  end

  defp proof_option!({:order, other}),
    do: expected!(":order to be :pairs or :none", other)

  defp proof_option!({:threads, other}),
    do: expected!(":threads to be an integer from 1 to 1024", other)

  defp proof_option!({key, other}),
    do: expected!("#{inspect(key)} to be a positive integer", other)

  defp seeds!(n) when is_integer(n) and n > 0, do: 0..(n - 1)

  defp seeds!(other) do
    if Enumerable.impl_for(other) == nil,
      do: expected!(":seeds to be a positive integer or an enumerable of seeds", other)

    if Enum.empty?(other), do: expected!("at least one seed", other)
    other
  end

  defp seed!(seed) when is_integer(seed) and seed in 0..0xFFFFFFFFFFFFFFFF, do: seed

  defp seed!(other), do: expected!("each of :seeds to be an integer from 0 to 2^64 - 1", other)
end
