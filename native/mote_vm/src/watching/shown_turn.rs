//! One turn, seen when its outcome is known and none of its effects is visible yet: its input, its end, and what it
//! staged. threads/thread/seen.rs finds that out.
use crate::base::atom::Atom;
use crate::base::ids::BehaviourName;
use crate::turns::turn::staged::Staged;
use crate::values::term::{ActorRef, Term};

/// A term that a turn has made.
pub type Seen<'m> = Term<'m, Staged<'m>>;

/// A turn, as a trace shows it.
pub struct TurnSeen<'m> {
    /// The sponsor whose thread ran it.
    pub sponsor: Atom,
    /// The actor whose turn it was.
    pub actor: ActorRef<'m>,
    /// The behaviour that it had.
    pub behaviour: BehaviourName,
    /// The captures that it had.
    pub captures: Vec<Term<'m>>,
    /// The message.
    pub message: Term<'m>,
    /// Its outcome.
    pub outcome: SeenOutcome<'m>,
    /// The effects that it has staged.
    pub effects: SeenEffects<'m>,
    /// Calls, tail calls and loop steps.
    pub fuel: u64,
}

/// The outcome of a turn.
pub enum SeenOutcome<'m> {
    /// The turn commits.
    Committed,
    /// The message matched no clause.
    Ignored,
    /// The turn is aborted, for this reason.
    Aborted(Seen<'m>),
}

/// The moment when a timer is due.
pub enum SeenDue<'m> {
    /// A delay in milliseconds.
    After(u64),
    /// The end of that process.
    End(Seen<'m>),
}

/// The effects that a turn commits, the first hundred of each kind. Of one that is aborted, only the actors that there would
/// have been.
#[derive(Default)]
pub struct SeenEffects<'m> {
    /// New actors, in the order in which the others mention them.
    pub creates: Vec<Created<'m>>,
    /// Targets and messages: those to actors first, then those to the outside.
    pub sends: Vec<(Seen<'m>, Seen<'m>)>,
    /// Sponsors, targets and messages.
    pub sendx: Vec<(Seen<'m>, Seen<'m>, Seen<'m>)>,
    /// Due times of timers that are armed, their targets and their messages. Their references mean nothing before the commit.
    pub timers: Vec<(SeenDue<'m>, Seen<'m>, Seen<'m>)>,
    /// Timers that are cancelled.
    pub cancels: Vec<Seen<'m>>,
    /// The new behaviour.
    pub become_: Option<(BehaviourName, Vec<Seen<'m>>)>,
    /// Effects that are not shown: beyond the first hundred, and actors that nobody can ever send to.
    pub omitted: u64,
}

/// A new actor.
pub struct Created<'m> {
    /// Its address, if it is to have one.
    pub actor: Seen<'m>,
    /// Its behaviour.
    pub behaviour: BehaviourName,
    /// Its captures.
    pub captures: Vec<Seen<'m>>,
    /// The sponsor that it is pinned to.
    pub pinned: Option<Atom>,
}
