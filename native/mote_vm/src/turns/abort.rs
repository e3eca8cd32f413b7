//! The report of an aborted turn.
use super::turn::staged::Staged;
use crate::base::atom::Atom;
use crate::values::term::{ActorRef, Term};

/// An aborted turn.
pub struct Abort<'m> {
    /// The sponsor whose thread it was.
    pub sponsor: Atom,
    /// The module of the behaviour.
    pub module: Atom,
    /// The behaviour.
    pub behaviour: Atom,
    /// The actor.
    pub actor: ActorRef<'m>,
    /// The message, which is consumed.
    pub message: Term<'m>,
    /// The reason. It may have been made by the turn, of which nothing is left after the report.
    pub reason: Term<'m, Staged<'m>>,
}
