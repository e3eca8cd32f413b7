//! A turn that is away, running outside of the machine, as both sides see it: its input and its effects
//! (threads/away.rs).
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
    /// True if the turn can run nowhere else.
    pub away_only: bool,
    /// The actor.
    pub actor: ActorRef<'m>,
    /// Values that the actor has captured.
    pub captures: Vec<Term<'m>>,
    /// Its message.
    pub message: Term<'m>,
}

/// The end of a turn that was away.
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

/// The end of a turn that was away, on its way to the thread of its actor.
pub(crate) struct TurnEnd {
    pub(crate) number: u64,
    pub(crate) outcome: Outcome,
}

impl TurnEnd {
    /// Returns whether its turn does not run once more.
    pub(crate) fn is_committed_as_is(&self) -> bool {
        !matches!(self.outcome, Outcome::Here)
    }

    fn parcel(&self) -> Option<&Parcel> {
        match &self.outcome {
            Outcome::Done(effects) => effects.values.as_ref(),
            Outcome::Aborted(reason) => Some(reason),
            Outcome::Ignored | Outcome::Here => None,
        }
    }

    /// Returns the bytes that it takes while it waits.
    pub(crate) fn bytes(&self) -> usize {
        let steps = match &self.outcome {
            Outcome::Done(effects) => size_of_val(effects.steps.as_slice()),
            Outcome::Ignored | Outcome::Aborted(_) | Outcome::Here => 0,
        };
        size_of::<TurnEnd>() + steps + self.parcel().map_or(0, Parcel::bytes)
    }

    /// Returns the part of these bytes that foreign values keep: it is not copied.
    pub(crate) fn external_bytes(&self) -> usize {
        self.parcel().map_or(0, Parcel::external_bytes)
    }
}

/// One thing that a turn has done.
pub enum Effect {
    /// An actor, with this many captures; without a behaviour it is a `sink`.
    Create(Option<BehaviourVersion>, Option<Atom>, usize),
    /// A target, a message.
    Send,
    /// A sponsor, a target, a message.
    Sendx,
    /// A delay in milliseconds if it is one; a target, a message.
    SendAfter(Option<u64>),
    /// A process outside, a target, a message.
    Monitor,
    /// A timer.
    CancelTimer,
    /// Messages that the actor had kept, a list with the newest first, come before all others for it; and behind them, if so, that of
    /// the turn.
    Unstash(bool),
    /// A behaviour and captures, as in `Create`. The last one counts.
    Become(Option<BehaviourVersion>, usize),
}

/// All that a turn has done.
#[derive(Default)]
pub struct Effects {
    /// Steps in the order of the program.
    pub steps: Vec<Effect>,
    /// A tuple of what they have to do with, one after the other. What they have made, actors and timers, stands there by its
    /// place among all that was made.
    pub values: Option<Parcel>,
}
