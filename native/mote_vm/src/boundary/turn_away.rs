//! A turn that is away, running outside of the machine, as both sides see it: what it is begun with, and what it has done (threads/away.rs).
use super::parcel::Parcel;
use crate::base::atom::Atom;
use crate::base::ids::BehaviourName;
use crate::code::program::BehaviourVersion;
use crate::values::term::{ActorRef, Term};

/// A turn that goes away: it is to run outside of the machine.
pub struct TurnAway<'m> {
    /// Identifies the turn until it has ended. No other turn of any machine has this number.
    pub number: u64,
    /// The sponsor whose turn it is.
    pub sponsor: Atom,
    /// The actor's behaviour.
    pub behaviour: BehaviourName,
    /// The hash of the unit that the behaviour is of.
    pub version: u64,
    /// Whether the turn can run nowhere else.
    pub away_only: bool,
    /// The actor.
    pub actor: ActorRef<'m>,
    /// What it has captured.
    pub captures: Vec<Term<'m>>,
    /// Its message.
    pub message: Term<'m>,
}

/// How a turn that was away has ended.
pub enum Outcome {
    /// It is to be committed.
    Done(Effects),
    /// Its message matched no clause.
    Ignored,
    /// It is aborted, and why.
    Aborted(Parcel),
    /// It is to run here: nobody outside has that version of its behaviour.
    Here,
}

/// One thing that a turn has done.
pub enum Effect {
    /// An actor, with that many captures; without a behaviour it is a `sink`.
    Create(Option<BehaviourVersion>, Option<Atom>, usize),
    /// A target, a message.
    Send,
    /// A sponsor, a target, a message.
    Sendx,
    /// A delay in milliseconds if it is one; a target, a message.
    SendAfter(Option<u64>),
    /// A timer.
    CancelTimer,
    /// What the actor had kept, a list with the newest first, comes before all others for it.
    Unstash,
    /// As `Create`. The last one counts.
    Become(Option<BehaviourVersion>, usize),
}

/// All that a turn has done.
#[derive(Default)]
pub struct Effects {
    /// In the order of the program.
    pub steps: Vec<Effect>,
    /// A tuple of what they have to do with, one after the other. What they have made, actors and timers, stands there by its
    /// place among all that was made.
    pub values: Option<Parcel>,
}
