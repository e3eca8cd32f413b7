//! Ranges of integers: what comparisons have shown about a value, and what follows for sums.
//!
//! Ends may be beyond the integers that fit: then a sum may be, too.
use mote_vm::terms::prim::primitive::Primitive;
use mote_vm::values::value::{FIXNUM_MAX, FIXNUM_MIN};

/// A range from the first integer to the second, both included; empty where nothing can be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Range(i64, i64);

impl Range {
    /// All integers that fit.
    pub(super) const ALL: Range = Range(FIXNUM_MIN, FIXNUM_MAX);

    pub(super) fn only(n: i64) -> Range {
        Range(n, n)
    }

    pub(super) fn between(least: i64, most: i64) -> Range {
        Range(least, most)
    }

    /// Returns the range where a comparison with the bound is true.
    pub(super) fn where_true(p: Primitive, bound: i64) -> Range {
        use Primitive as P;
        // Bounds are integers that fit, so these are far from the ends of 64 bits.
        let Range(least, most) = Range::ALL;
        match p {
            P::Eq | P::Same => Range::only(bound),
            P::Lt => Range(least, bound - 1),
            P::Le => Range(least, bound),
            P::Gt => Range(bound + 1, most),
            P::Ge => Range(bound, most),
            _ => Range::ALL,
        }
    }

    pub(super) fn or(self, other: Range) -> Range {
        Range(self.0.min(other.0), self.1.max(other.1))
    }

    pub(super) fn and(self, other: Range) -> Range {
        Range(self.0.max(other.0), self.1.min(other.1))
    }

    pub(super) fn plus(self, other: Range) -> Range {
        Range(
            self.0.saturating_add(other.0),
            self.1.saturating_add(other.1),
        )
    }

    pub(super) fn minus(self, other: Range) -> Range {
        Range(
            self.0.saturating_sub(other.1),
            self.1.saturating_sub(other.0),
        )
    }
}

/// The comparison that holds where this one does not.
pub(super) fn opposite(p: Primitive) -> Primitive {
    use Primitive as P;
    match p {
        P::Eq | P::Same => P::Ne,
        P::Ne | P::Differ => P::Eq,
        P::Lt => P::Ge,
        P::Le => P::Gt,
        P::Gt => P::Le,
        _ => P::Lt,
    }
}

/// The comparison with its operands in the other order.
pub(super) fn turned(p: Primitive) -> Primitive {
    use Primitive as P;
    match p {
        P::Lt => P::Gt,
        P::Le => P::Ge,
        P::Gt => P::Lt,
        P::Ge => P::Le,
        same => same,
    }
}
