//! One turn, seen when its outcome is known and none of its effects is visible yet: what it was given, how it ends, what it
//! staged. threads/thread/seen.rs finds that out.
use crate::base::atom::Atom;
use crate::base::ids::BehaviourName;
use crate::turns::turn::staged::Staged;
use crate::values::term::{ActorRef, Term};

/// What a turn has made.
pub type Seen<'m> = Term<'m, Staged<'m>>;

/// One turn, as a trace shows it.
pub struct TurnSeen<'m> {
    /// The sponsor whose thread ran it.
    pub sponsor: Atom,
    /// Whose turn it was.
    pub actor: ActorRef<'m>,
    /// The behaviour that it had.
    pub behaviour: BehaviourName,
    /// With these captures.
    pub captures: Vec<Term<'m>>,
    /// The message.
    pub message: Term<'m>,
    /// How it ends.
    pub outcome: SeenOutcome<'m>,
    /// What it has staged.
    pub effects: SeenEffects<'m>,
    /// Calls, tail calls and loop steps.
    pub fuel: u64,
}

/// How a turn ends.
pub enum SeenOutcome<'m> {
    /// It commits.
    Committed,
    /// The message matched no clause.
    Ignored,
    /// It is aborted, for this reason.
    Aborted(Seen<'m>),
}

/// When a timer is due.
pub enum SeenDue<'m> {
    /// After that many milliseconds.
    After(u64),
    /// When that process has ended.
    End(Seen<'m>),
}

/// What a turn commits, the first hundred of each kind; of one that is aborted only the actors that there would have
/// been.
#[derive(Default)]
pub struct SeenEffects<'m> {
    /// New actors, in the order in which the others mention them.
    pub creates: Vec<Created<'m>>,
    /// Targets and messages: those to actors first, then those to the outside.
    pub sends: Vec<(Seen<'m>, Seen<'m>)>,
    /// Sponsors, targets and messages.
    pub sendx: Vec<(Seen<'m>, Seen<'m>, Seen<'m>)>,
    /// When timers that are armed are due, their targets and their messages. Their references mean nothing before the commit.
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
    /// What it has captured.
    pub captures: Vec<Seen<'m>>,
    /// The sponsor that it is pinned to.
    pub pinned: Option<Atom>,
}
