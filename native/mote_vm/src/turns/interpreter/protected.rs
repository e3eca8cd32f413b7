//! Protected calls: what fails within one is undone, and the code around it goes on.
//!
//! Invariants:
//! 1. `try` and `tried` stand around one call, and there is no other way in or out (code/verify.rs, 11). So those that are protected
//!    are nested as their calls are: each has a call of its own among the callers, and there are no more of them than
//!    `MAX_DEPTH`.
//! 2. Where Elixir would raise, throw or exit, the reason is a tuple `{:raised, …}`. Nothing else is caught: not the end of fuel, stack or
//!    memory, no `abort(reason)`, and nothing that the machine decides.
use super::call_site::is_raised;
use super::frame::Frame;
use super::{Aborted, Interpreter};
use crate::base::atom::Atom;
use crate::code::op::{Op, Reg};
use crate::turns::turn::protected::StagedPart;
use crate::turns::turn::Turn;
use crate::values::value::Value;

/// A call that is protected.
pub(super) struct Protected {
    /// The frame that calls; its next operation is the call.
    frame: Frame,
    /// The number of calls that had been made when it began.
    pub(super) depth: usize,
    /// The register for the reason.
    failed: Reg,
    staging: StagedPart,
}

impl Interpreter {
    /// Protects the call that follows in a frame.
    pub(super) fn protect(&mut self, turn: &Turn, frame: &Frame, failed: Reg) {
        frame.set(failed, Value::FALSE);
        self.protected.push(Protected {
            frame: *frame,
            depth: self.callers.len(),
            failed,
            staging: turn.staging(),
        });
    }

    /// Returns the frame that goes on where a protected call has failed, once what it had staged is undone.
    #[cold]
    pub(super) fn caught(&mut self, turn: &mut Turn, aborted: Aborted) -> Result<Frame, Aborted> {
        if !is_raised(aborted.0) || self.protected.is_empty() {
            return Err(aborted);
        }
        // Who has no memory for what it sends does not get it by failing.
        if turn.heap.exhausted() || turn.queue.is_starved() {
            return Err(Aborted::by(Atom::NO_MEMORY));
        }
        let Some(protected) = self.protected.pop() else {
            return Err(aborted);
        };
        turn.unstage(protected.staging);
        self.callers.truncate(protected.depth);
        let mut frame = protected.frame;
        if let Op::Call { d, .. } | Op::CallFun { d, .. } = frame.fetch() {
            frame.set(d, Value::UNDEFINED);
        }
        // Behind `tried`.
        frame.fetch();
        frame.set(protected.failed, aborted.0);
        Ok(frame)
    }
}
