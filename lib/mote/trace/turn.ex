defmodule Mote.Trace.Turn do
  @moduledoc """
  One turn of an actor, as a trace shows it.

    * `number` - its number in the trace, from 1; 0 in the answer of `Mote.step/2`;
    * `sponsor` - the sponsor whose thread ran it;
    * `actor`, its address; `behaviour`, with the captures, as it was before;
    * `message`;
    * `outcome` - `:commit`, `:ignored` (no clause matched) or `{:abort, reason}`. Only a committed turn has effects; one that
      is aborted shows which actors it had created, as `Mote.Uncommitted`:
    * `sends` - `{target, message}`: first those to actors, in the order of the program, then those to processes and
      customers;
    * `sendx` - `{sponsor, target, message}`, including messages to a reference made with `on`;
    * `creates` - `{address, behaviour}`, or `{address, behaviour, sponsor}` when pinned;
    * `timers` - `{milliseconds, target, message}` of timers that are armed, and `{pid, target, message}` of monitors; `cancels` - those
      that are cancelled;
    * `become` - the new behaviour, `:sink`, or `nil`;
    * `omitted` - how many effects are not shown: those beyond the first hundred of a kind, and new actors that nothing
      refers to, or that lie behind too many other things;
    * `fuel` - calls, tail calls and loop steps.

  The addresses in it keep their actors alive as long as the turn is kept. A customer in it cannot be answered.
  """

  defstruct [
    :number,
    :sponsor,
    :actor,
    :behaviour,
    :message,
    :outcome,
    :become,
    sends: [],
    sendx: [],
    creates: [],
    timers: [],
    cancels: [],
    omitted: 0,
    fuel: 0
  ]

  @type t :: %__MODULE__{
          number: non_neg_integer,
          sponsor: atom,
          actor: Mote.Address.t(),
          behaviour: Mote.Behaviour.t() | :sink,
          message: term,
          outcome: :commit | :ignored | {:abort, term},
          become: Mote.Behaviour.t() | :sink | nil,
          sends: [{term, term}],
          sendx: [{atom, term, term}],
          creates: [tuple],
          timers: [{non_neg_integer | pid, term, term}],
          cancels: [Mote.Timer.t()],
          omitted: non_neg_integer,
          fuel: non_neg_integer
        }
end
