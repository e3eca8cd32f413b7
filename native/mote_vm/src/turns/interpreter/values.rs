//! Calls of functions that are values: the code, or what is told where there is none.
use super::frame::Frame;
use super::{callee, Aborted, Interpreter};
use crate::base::atom::Atom;
use crate::code::functions;
use crate::code::op::{Arguments, Code};
use crate::terms::prim::types;
use crate::turns::turn::Turn;
use crate::values::value::Value;

impl Interpreter {
    /// The code of a function that is a value, for which this call spends fuel. Where it is none that takes as many arguments, the
    /// argument behind them says what is told.
    #[inline(always)]
    pub(super) fn callee_of(
        &self,
        turn: &mut Turn,
        frame: &Frame,
        function: Value,
        arguments: Arguments,
    ) -> Result<*const Code, Aborted> {
        match functions::slot_of(function, arguments.count as usize) {
            Some(slot) => Ok(callee(turn, slot.as_ptr())?.0),
            None => Err(self.no_function(turn, frame, function, arguments)),
        }
    }

    #[cold]
    fn no_function(
        &self,
        turn: &mut Turn,
        frame: &Frame,
        function: Value,
        arguments: Arguments,
    ) -> Aborted {
        let count = arguments.count as usize;
        let place = frame.argument(arguments.from, count);
        let mut given = Value::EMPTY_LIST;
        for i in (0..count).rev() {
            given = turn.heap.cons(frame.argument(arguments.from, i), given);
        }
        // As Elixir tells of them: of what is no function without the arguments.
        let parts = match types::is_function(function) {
            true => &[function, given][..],
            false => &[function],
        };
        let told = match (place.as_tuple(), parts) {
            (None, [alone]) => *alone,
            _ => turn.heap.tuple(parts.len(), |i| parts[i]),
        };
        let raised = [Value::atom(Atom::RAISED), place, told];
        let reason = match place.as_tuple() {
            Some(_) => &raised[..],
            None => &raised[1..],
        };
        let reason = turn.heap.tuple(reason.len(), |i| reason[i]);
        match turn.heap.exhausted() {
            true => Aborted::by(Atom::NO_MEMORY),
            false => Aborted(self.told(turn, reason)),
        }
    }
}
