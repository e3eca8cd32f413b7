//! Consecutive things to scan, taken piece by piece, so that neither a wide array nor a long queue is a long step.
use crate::heap::evacuation::trail::Trail;
use crate::heap::young::Changed;
use crate::turns::marking::visitor::Visitor;
use crate::turns::queue::KeptEvents;
use crate::values::value::Value;
use crate::values::walk::Walkable;
use std::sync::Arc;

/// Number of things that are taken at a time.
const PIECE: usize = 256;

/// Values, or events, that lie together and are still to be scanned.
pub(crate) enum Span {
    /// Values in a cell that is marked: the first, how many, and the cell.
    Parts(*const Value, usize, *const u8),
    /// Events that their queue keeps.
    Events(KeptEvents),
    /// Contents of a table when marking began.
    Table(Arc<dyn Walkable>),
    /// Old actors that have become others.
    Changed(Changed),
}

// SAFETY: what the pointers lead to is not written to while there is a span of it.
unsafe impl Send for Span {}

impl Span {
    pub(crate) fn parts(cell: *const u8, parts: &[Value]) -> Span {
        Span::Parts(parts.as_ptr(), parts.len(), cell)
    }

    /// Returns whether these are roots.
    pub(crate) fn is_roots(&self) -> bool {
        !matches!(self, Span::Parts(..))
    }

    /// Shows the next piece, if it is of a cell.
    pub(crate) fn show_parts(&self, trail: &mut Trail) {
        if let Span::Parts(at, len, cell) = *self {
            // SAFETY: `len` values are there.
            trail.parts(
                cell,
                unsafe { std::slice::from_raw_parts(at, PIECE.min(len)) },
                false,
            );
        }
    }

    /// Moves a piece to `to`. Returns whether there is more.
    pub(crate) fn take(&mut self, to: &mut Vec<Value>) -> bool {
        match self {
            Span::Parts(at, len, _) => {
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
            Span::Events(kept) => kept.take(PIECE, |event| to.event(event)),
            Span::Changed(changed) => {
                changed.take(PIECE, |actor| to.push(Value::address(actor.cast())))
            }
            Span::Table(table) => table.walk(PIECE, &mut |value| to.value(value)),
        }
    }
}
