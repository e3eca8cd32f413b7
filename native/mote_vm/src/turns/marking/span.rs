//! Consecutive things to scan, taken piece by piece, so that neither a wide array nor a long queue is a long step.
use crate::turns::queue::Event;
use crate::values::handles::Handles;
use crate::values::value::Value;
use std::sync::Arc;

/// How many are taken at a time.
const PIECE: usize = 256;

/// Values, or events, that lie together and are still to be scanned.
pub(crate) enum Span {
    /// Values in a cell that is marked.
    Parts(*const Value, usize),
    /// Events in a chunk that its queue keeps (queue.rs, invariant 4).
    Events(*const Event, usize),
    /// Addresses in the hands of the outside when marking began.
    Handles(Arc<Handles>),
}

// SAFETY: what the pointers lead to is not written to while there is a span of it.
unsafe impl Send for Span {}

impl Span {
    pub(crate) fn parts(parts: &[Value]) -> Span {
        Span::Parts(parts.as_ptr(), parts.len())
    }

    /// Moves a piece to `to`; whether there is more.
    pub(crate) fn take(&mut self, to: &mut Vec<Value>) -> bool {
        match self {
            Span::Parts(at, len) => {
                let n = PIECE.min(*len);
                // SAFETY: `len` values are there.
                let piece = unsafe { std::slice::from_raw_parts(*at, n) };
                let pointers = piece.iter().filter(|v| !v.is_immediate() && !v.is_none());
                to.extend(pointers);
                // SAFETY: as above.
                *at = unsafe { at.add(n) };
                *len -= n;
                *len > 0
            }
            Span::Events(at, len) => {
                let n = PIECE.min(*len);
                // SAFETY: `len` events are there.
                for event in unsafe { std::slice::from_raw_parts(*at, n) } {
                    to.push(Value::address(event.target));
                    if !event.message.is_immediate() && !event.message.is_none() {
                        to.push(event.message);
                    }
                }
                // SAFETY: as above.
                *at = unsafe { at.add(n) };
                *len -= n;
                *len > 0
            }
            Span::Handles(handles) => handles.walk(PIECE, |actor| to.push(Value::address(actor))),
        }
    }
}
