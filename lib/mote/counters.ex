defmodule Mote.Counters do
  @moduledoc """
  The counters of a machine, and what each of them counts.

  `Mote.info/1` returns them for every dispatch thread (`sponsors.name.threads`) and for the whole machine (`counters`),
  including threads that have ended. A thread keeps its counters to itself and publishes them at the end of a
  batch of turns, and before what a turn sends outside leaves; reading them stops nothing. In the machine's
  `counters` everything is the sum over its threads, with three exceptions, which are correct only there:

    * `undelivered` also counts messages that the postman could not hand over, and those that waited in an
      outbox when its owner ended;
    * `foreign_out` does not count messages that the postman could not hand over, which a thread counts when
      it leaves them to the postman;
    * `refused_no_memory` does not belong to any thread.

  Turns:

    * `turns` - turns that ended in any way;
    * `interpreted` - of these, turns that the interpreter ran: their native code was not ready, or refused,
      or they were run again to find out which call of Elixir's library failed in them;
    * `sends` - messages sent by committed turns;
    * `creates` - actors created by committed turns;
    * `becomes` - becomes of committed turns;
    * `ignored` - messages that matched no clause, including those to sinks;
    * `dropped` - sends to something that is not an address, or to an actor by an unknown sponsor, and `send_after`
      without a delay;
    * `timers` - timers that are armed and not yet due, monitors included.

  Aborted turns, by reason:

    * `aborts_explicit` - `abort(reason)`;
    * `aborts_raised` - where Elixir would raise: an operation that has no answer, a failed match (`Mote.Raised`);
    * `aborts_match` - a failed match in a module with `errors: :undefined`: `=`, `case`, `cond` or the clauses of a function;
    * `aborts_fuel` - the fuel was spent;
    * `aborts_stack` - calls were too deep;
    * `aborts_undefined_function` - a module is not loaded;
    * `aborts_crashed` - in a beam sponsor: the turn raised, threw or exited, or its process was killed; or a behaviour marked
      `beam: true` was to run anywhere else;
    * `aborts_timeout` - in a beam sponsor: the turn took longer than the sponsor's `:timeout`;
    * `aborts_killed` - the future that had asked for the turn was killed (`Mote.Future.kill/1`);
    * `aborts_no_memory` - memory was exhausted; messages from outside that were given up for that reason are
      counted as well;
    * `unreported` - of all of these, turns that were not reported one by one, because there were too many; those killed are
      not reported at all.

  In and out:

    * `foreign_in` - messages that entered from outside;
    * `refused_no_memory` - messages, actors and timers of processes, messages of other machines' actors, and messages for
      outboxes of this machine, that were refused because memory was exhausted;
    * `foreign_out` - messages handed to the outside;
    * `undelivered` - messages to the outside whose receiver was gone, including those that waited in an
      outbox when its owner ended;
    * `overflowed` - messages that found their outbox full, or its machine's memory used up, or another machine's; and messages to other
      nodes that found this machine's used up.

  Between threads:

    * `forwarded` - events passed on to the thread of the same sponsor that owns their actor;
    * `taken_over` - actors taken over from threads that were asleep;
    * `migrations` - events for which a thread of another sponsor was asked to give the actor away;
    * `sendx` - events moved to another sponsor: `sendx`, `on` references and pinned actors;
    * `shares_given` - times that queued events were given to a thread without work;
    * `shares_taken` - times that another thread's queued events were received on request;
    * `sharing_paused` - times that the thread found sharing to be a loss, whereupon its sponsor leaves all
      work to one thread for 4 to 256 milliseconds: events forwarded between its threads, or waits for each
      other, took too much of the time.

  The threads themselves:

    * `parks` - times that a thread went to sleep;
    * `stand_ins` - times that a process in `Mote.ask/3` or `Mote.ask_all/3` ran the turns itself, for some tens of
      microseconds at most, while the thread slept;
    * `busy_ns` - nanoseconds awake; the rest of the uptime it was asleep. The time of a batch of turns is
      counted when the batch is over, however long its turns were; of the processes in `Mote.ask/3` every
      eighth is measured and counts for eight;
    * `queue_high_water` - the most events that were queued at the end of a batch; of the machine, the sum of these.
  """
end
