//! The report of an abort within a function of the standard library: the call, as the user wrote it.
//!
//! Nothing is kept for that while a turn runs. A frame that waits for a call still has the registers of its
//! arguments, so they can be found when they are needed.
use super::frame::Frame;
use super::Interpreter;
use crate::base::atom::Atom;
use crate::code::op::Op;
use crate::turns::turn::Turn;
use crate::values::value::Value;

/// Returns the `where` of a reason of the kind `{:raised, where, arguments}`: a tuple that starts with the module.
fn place_of(reason: Value) -> Option<&'static [Value]> {
    let [kind, place, _] = reason.as_tuple()? else {
        return None;
    };
    match *kind == Value::atom(Atom::RAISED) {
        true => place.as_tuple(),
        false => None,
    }
}

/// Returns whether a turn was aborted where Elixir would have raised.
pub(crate) fn is_raised(reason: Value) -> bool {
    place_of(reason).is_some()
}

/// Returns whether a turn was aborted by code of another module than the behaviour's.
pub(crate) fn is_raised_elsewhere(reason: Value, module: Atom) -> bool {
    place_of(reason).is_some_and(|place| place.first() != Some(&Value::atom(module)))
}

impl Interpreter {
    /// The reason, of an abort here: the innermost call that has a site tells it, if there is one. Where something is protected, that
    /// is a call within: what catches the reason knows no others.
    #[cold]
    pub(super) fn told(&self, turn: &mut Turn, reason: Value) -> Value {
        if place_of(reason).is_none() {
            return reason;
        }
        let outer = self.protected.last().map_or(0, |p| p.depth);
        let sites = self.callers[outer..]
            .iter()
            .rev()
            .filter_map(|(frame, _)| frame.site());
        let Some((frame, place, from, arity)) = sites.into_iter().next() else {
            return reason;
        };
        let arguments = turn.heap.tuple(arity, |i| frame.argument(from, i));
        let parts = [Value::atom(Atom::RAISED), place, arguments];
        let told = turn.heap.tuple(parts.len(), |i| parts[i]);
        // Without memory for the call, its parts are reported.
        match arguments.is_none() || told.is_none() {
            true => reason,
            false => told,
        }
    }
}

impl Frame {
    /// Returns, for a frame that waits for a call, the site of that call and the place of its arguments.
    fn site(&self) -> Option<(&Frame, Value, u32, usize)> {
        // SAFETY: code lives as long as the program (program.rs, invariant 1).
        let code = unsafe { &*self.code };
        // SAFETY: both point into the operations of this code, `at` behind the call.
        let call = unsafe { self.at.offset_from(code.ops.as_ptr()) } as u32 - 1;
        let found = code.sites.binary_search_by_key(&call, |(at, _)| *at).ok()?;
        let Op::Call {
            arguments,
            function,
            ..
        } = code.ops[call as usize]
        else {
            return None;
        };
        // SAFETY: slots live as long as the program.
        let arity = unsafe { (*function).arity } as usize;
        Some((self, code.sites[found].1, arguments, arity))
    }
}
