//! The reports that a machine makes to its embedder without being asked.
use crate::base::atom::Atom;
use crate::boundary::turn_away::TurnAway;
use crate::threads::fault::Fault;
use crate::threads::shared::Machine;
use crate::turns::abort::Abort;
use crate::values::term::Term;
use std::any::Any;

/// The calls that a machine makes to its embedder, on dispatch threads and on stand-ins. They must not block.
pub trait Embedder: Any + Send + Sync {
    /// A turn was aborted. Returns whether it is reported: the machine counts those that are not.
    fn aborted(&self, machine: &Machine, abort: Abort<'_>) -> bool;
    /// A message was given to a behaviour that has no clause for it: the module and the name of the behaviour.
    fn ignored(&self, message: Term<'_>, behaviour: (Atom, Atom)) {
        let _ = (message, behaviour);
    }
    /// A dispatch thread met a panic and has ended; the machine runs no further.
    fn fault(&self, machine: &Machine, fault: Fault);
    /// The number of the newest question of the outside, greater than 0, if any that was asked is still open. A caller
    /// whose answer nobody can give any more learns it when the foreign value is dropped; so the machine collects now and
    /// then while somebody waits.
    fn newest_question(&self) -> Option<u64> {
        None
    }
    /// Returns whether the caller that asked for a turn with that message has killed it. Called now and then during long turns.
    fn is_killed(&self, _message: Term<'_>) -> bool {
        false
    }
    /// Begins a turn outside, of a sponsor whose turns run there. Whoever has run it says so by `Machine::end_turn`.
    fn begin_turn(&self, machine: &Machine, turn: TurnAway<'_>) {
        let _ = (machine, turn);
    }
    /// A sponsor is removed whose turns run outside: those that have not ended will not be heard any more.
    fn call_off(&self, sponsor: Atom) {
        let _ = sponsor;
    }
}

impl dyn Embedder {
    /// Lets the embedder get at its own type.
    pub fn as_any(&self) -> &dyn Any {
        self
    }
}
