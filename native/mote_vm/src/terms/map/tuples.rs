//! Finding a tuple of few elements among the keys of a node that are such tuples, too, where integers tell them
//! apart: most keys that are tuples.
//!
//! The order is that of [`key_order`](crate::terms::prim::compare::key_order). What makes this quicker is that the
//! elements of the key are looked up once. Comparisons are branches, though half of them are guessed wrong: the guess
//! has what is compared next on its way from memory, which without branches took longer.
use super::{in_order, Node, WIDTH};
use crate::base::work::Work;
use crate::terms::prim::compare::key_order;
use crate::values::value::Value;
use std::cmp::Ordering;

impl Node<'_> {
    /// Finds what `last_in_order` finds. Returns `None` for a key that is not such a tuple.
    #[inline(always)]
    pub(super) fn last_tuple_up_to(
        self,
        key: Value,
        work: &mut Work,
    ) -> Option<(usize, Option<Ordering>)> {
        match *key.as_tuple()? {
            [a, b] => Some(self.last_of_size(key, [a, b], work)),
            [a, b, c] => Some(self.last_of_size(key, [a, b, c], work)),
            [a, b, c, d] => Some(self.last_of_size(key, [a, b, c, d], work)),
            _ => None,
        }
    }

    #[inline(always)]
    fn last_of_size<const N: usize>(
        self,
        key: Value,
        elements: [Value; N],
        work: &mut Work,
    ) -> (usize, Option<Ordering>) {
        // As many as integers may tell apart, which the caller has paid for.
        let _ = work.pass(N * WIDTH.ilog2() as usize);
        self.last_by(work, |other, work| match by_integers(other, &elements) {
            Some(order) => order,
            None => key_order(other, key, work),
        })
    }
}

/// The order of two tuples of one size, where the first difference is that of two fixnums.
#[inline(always)]
fn by_integers<const N: usize>(one: Value, other: &[Value; N]) -> Option<Ordering> {
    let one: &[Value; N] = one.as_tuple()?.try_into().ok()?;
    for (x, y) in one.iter().zip(other) {
        if x != y {
            return Value::both_fixnum(*x, *y).then(|| in_order(*x).cmp(&in_order(*y)));
        }
    }
    Some(Ordering::Equal)
}
