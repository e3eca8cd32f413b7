//! Terms that a turn has made, as they are shown to the outside.
//!
//! Invariants:
//! 1. No address of an actor or timer that a turn itself has made gets out if the turn is to be undone.
use super::Turn;
use crate::values::term::{made, Origin, Uncommitted};
use crate::values::value::Value;

/// The term was made by a turn that has run, and is not committed yet or never will be.
#[derive(Clone, Copy)]
pub struct Staged<'m> {
    turn: &'m Turn,
    undone: bool,
}

impl<'m> Staged<'m> {
    /// Creates the origin for a turn that is to be undone when it has been looked at.
    pub(crate) fn undone(turn: &'m Turn) -> Staged<'m> {
        Staged { turn, undone: true }
    }

    /// Creates the origin for a turn that is certain to be committed when it has been looked at.
    pub(crate) fn certain(turn: &'m Turn) -> Staged<'m> {
        Staged {
            turn,
            undone: false,
        }
    }
}

impl<'m> Origin<'m> for Staged<'m> {}

impl<'m> made::By<'m> for Staged<'m> {
    type Uncommitted = Uncommitted<'m>;

    fn uncommitted(self, value: Value) -> Option<Uncommitted<'m>> {
        if !self.undone {
            return None;
        }
        let (turn, is_actor) = (self.turn, value.is_address());
        let cell = match is_actor {
            true => value.address_pointer().cast(),
            false => value.boxed_pointer().cast(),
        };
        if !turn.heap.is_since(&turn.savepoint.heap, cell) {
            return None;
        }
        // SAFETY: it was made by the turn, which is not undone yet.
        let id = || unsafe { (*value.address_pointer()).header() }.behaviour();
        let behaviour = is_actor.then(|| turn.around.program.name(id()));
        Some(Uncommitted::new(cell, behaviour))
    }
}
