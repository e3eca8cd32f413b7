//! Equality and the order of all terms: `==`, `===`, `<`, `max` and so on.
//!
//! This is the walk through tuples, lists and maps; their leaves are compared in order.rs, which also says what the order is.
//!
//! Terms may be a million levels deep or long, so nothing here recurses; and they may share parts so that they would
//! be exponentially large written out, so long comparisons remember what they have compared.
//!
//! A turn pays for the elements that are compared: `work` grows by one for each element of tuples, lists (head and tail of each
//! cell) and maps that is compared with another one, up to the first difference, and by one for 32 bytes of two binaries, or of
//! two integers that are not fixnums. Two references to the same cell are not looked into. Once the work is used up (work.rs,
//! invariant 2) the answer means nothing. A caller that compares in order to find a place among others has paid before
//! (weight.rs).
mod few;
mod pairs;
mod steps;

use super::order::{is_alone, key_leaves, leaves_equal, leaves_same, order};
use crate::base::lent::{Lender, LentStack, Loan};
use crate::base::work::COPIED;
use crate::base::work::{Over, Work};
use crate::values::bits::Bits;
use crate::values::value::Value;
use few::{decided_by_fixnums, few};
use pairs::{Pairs, Parts};
use rustc_hash::FxHashMap;
use std::cmp::Ordering;
use std::sync::Arc;
use steps::Steps;

/// The question about two terms.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Comparison {
    /// Their order; `1 == 1.0`.
    Order,
    /// Their order as keys of maps: equal is the same, and integers come before floats.
    Key,
    /// Their equality, `==`.
    Equal,
    /// Their identity, `===`.
    Same,
}

impl Comparison {
    /// The answer for two leaves whose words differ.
    #[inline(always)]
    fn leaves(self, a: Value, b: Value) -> Ordering {
        match self {
            Comparison::Order => order(a, b),
            Comparison::Key => key_leaves(a, b),
            Comparison::Equal => differing(!leaves_equal(a, b)),
            Comparison::Same => differing(!leaves_same(a, b)),
        }
    }

    /// Counts elements that were looked at. Also where that is too much: it is over then.
    #[inline(always)]
    fn pay(self, looked_at: usize, work: &mut Work) {
        let _ = match self.is_paid() {
            true => work.pass(looked_at),
            false => work.count(looked_at),
        };
    }

    /// Returns whether its steps were paid for before.
    fn is_paid(self) -> bool {
        self == Comparison::Key
    }
}

/// The order of all terms. `Equal` is Elixir's `==`.
#[inline(always)]
pub(crate) fn compare(a: Value, b: Value, work: &mut Work) -> Ordering {
    if Value::both_fixnum(a, b) {
        // Tagging keeps the order.
        return (a.word() as i64).cmp(&(b.word() as i64));
    }
    compare_slowly(a, b, work)
}

/// `a < b`
#[inline(always)]
pub(crate) fn less(a: Value, b: Value, work: &mut Work) -> bool {
    compare(a, b, work).is_lt()
}

/// `a == b`: `1 == 1.0`, also inside of tuples and lists.
#[inline(always)]
pub(crate) fn equal(a: Value, b: Value, work: &mut Work) -> bool {
    if a == b {
        return true;
    }
    if Value::both_fixnum(a, b) {
        return false;
    }
    equal_slowly(a, b, work)
}

/// `a === b`: the same type and value; floats by their bits, but for the zeros of some embedders.
#[inline(always)]
pub(crate) fn same(a: Value, b: Value, work: &mut Work) -> bool {
    if a == b {
        return true;
    }
    // What has no cell mostly has one word only: other word, other value.
    if is_alone(a) || is_alone(b) {
        return false;
    }
    same_slowly(a, b, work)
}

/// The order of keys in a map. Equal keys are the same key. The caller has paid for it.
#[inline(always)]
pub(crate) fn key_order(a: Value, b: Value, work: &mut Work) -> Ordering {
    if Value::both_fixnum(a, b) {
        return (a.word() as i64).cmp(&(b.word() as i64));
    }
    key_order_slowly(a, b, work)
}

/// The larger; the first if they are equal.
#[inline(always)]
pub(crate) fn max(a: Value, b: Value, work: &mut Work) -> Value {
    if less(a, b, work) {
        b
    } else {
        a
    }
}

/// The smaller; the first if they are equal.
#[inline(always)]
pub(crate) fn min(a: Value, b: Value, work: &mut Work) -> Value {
    if less(b, a, work) {
        b
    } else {
        a
    }
}

// Not cold, as other slow ways are: then the compiler would make it small instead of fast, and sorting takes it.
#[inline(never)]
fn compare_slowly(a: Value, b: Value, work: &mut Work) -> Ordering {
    quickly(a, b, Comparison::Order, work)
}

#[inline(never)]
fn key_order_slowly(a: Value, b: Value, work: &mut Work) -> Ordering {
    quickly(a, b, Comparison::Key, work)
}

#[cold]
#[inline(never)]
fn equal_slowly(a: Value, b: Value, work: &mut Work) -> bool {
    walk(a, b, Comparison::Equal, work).is_eq()
}

#[cold]
#[inline(never)]
fn same_slowly(a: Value, b: Value, work: &mut Work) -> bool {
    walk(a, b, Comparison::Same, work).is_eq()
}

/// Answers questions that only tell equal from different, and not which is less.
fn differing(different: bool) -> Ordering {
    if different {
        Ordering::Less
    } else {
        Ordering::Equal
    }
}

/// Number of elements that a comparison looks at before it begins to remember what it has found equal.
const BEFORE_REMEMBERING: usize = if cfg!(test) { 1 << 10 } else { 1 << 20 };
/// One pair in this many of a list's spine, or of a tower of last elements, is remembered.
const SPARSE: usize = 64;

/// Bytes of binaries that are compared in one go.
const MANY: usize = 1 << 20;

/// [`walk`], which mostly need not be called for what is sorted and for keys.
#[inline(always)]
fn quickly(a: Value, b: Value, question: Comparison, work: &mut Work) -> Ordering {
    match decided_by_fixnums(a, b) {
        Some((order, looked_at)) if a != b => {
            question.pay(looked_at, work);
            order
        }
        _ => walk(a, b, question, work),
    }
}

/// Compares two terms depth first, from the left. The first difference is the answer.
#[inline(never)]
fn walk(a: Value, b: Value, question: Comparison, work: &mut Work) -> Ordering {
    if a == b {
        Ordering::Equal
    } else if Parts::of(a, b).is_none() && bytes_in_both(a, b) < COPIED {
        // The usual case needs none of what follows.
        question.leaves(a, b)
    } else {
        walk_compound(a, b, question, work)
    }
}

/// Returns the size in bytes of the shorter one of two bitstrings, or of two integers that are not fixnums; 0 for anything else.
#[inline(always)]
fn bytes_in_both(a: Value, b: Value) -> usize {
    if !a.is_boxed() || !b.is_boxed() {
        return 0;
    }
    match (a.as_bits(), b.as_bits()) {
        (Some(a), Some(b)) => a.len().min(b.len()) / 8,
        (None, None) => limbs_in_both(a, b) * size_of::<u64>(),
        _ => 0,
    }
}

fn limbs_in_both(a: Value, b: Value) -> usize {
    match (a.as_big(), b.as_big()) {
        (Some(a), Some(b)) => a.limbs().len().min(b.limbs().len()),
        _ => 0,
    }
}

/// [`walk`] for terms of any depth.
///
/// The stack is explicit, and grows only where something is left to compare behind a pair: a list's spine or a tower
/// of last elements costs none.
///
/// A pair that is remembered and met again was found equal before (it cannot be still open, for that would be a
/// cycle). So were two cells that were both found equal to a third: as many pairs are entered as there are cells, not
/// as there are pairs of them, even where sharing makes the written-out terms exponentially large.
///
/// Of two maps of the same size all keys come before all values, as in Elixir.
fn walk_compound(a: Value, b: Value, question: Comparison, work: &mut Work) -> Ordering {
    if let Some((order, looked_at)) = few(a, b, question) {
        question.pay(looked_at, work);
        return order;
    }
    let mut steps = Steps::new(work, question.is_paid());
    let order = walk_counting(a, b, question, &mut steps).unwrap_or(Ordering::Equal);
    // Also where that is too much: it is over then.
    let _ = steps.report_steps();
    order
}

fn walk_counting(
    a: Value,
    b: Value,
    question: Comparison,
    steps: &mut Steps<'_>,
) -> Result<Ordering, Over> {
    let (a, b) = ([a], [b]);
    let mut pairs = Pairs::of_cells(&a, &b, question);
    let mut pending: LentStack<Pairs> = LentStack::new();
    let mut alike = Alike::new(&steps.work.lender);
    loop {
        while let Some((x, y)) = pairs.next() {
            steps.take(1)?;
            if x == y {
                continue;
            }
            let question = pairs.question;
            let Some(parts) = Parts::of(x, y) else {
                match leaves(x, y, question, steps)? {
                    Ordering::Equal => continue,
                    different => return Ok(different),
                }
            };
            let (n, m) = parts.sizes();
            if n != m {
                return Ok(n.cmp(&m));
            }
            let more = pairs.has_more();
            if steps.looked_at() > BEFORE_REMEMBERING {
                let branches = more || matches!(parts, Parts::Maps(..));
                if (branches || steps.looked_at().is_multiple_of(SPARSE))
                    && !alike.join(x, y, question)
                {
                    continue;
                }
            }
            let (first, then) = parts.pairs(question);
            let rest = std::mem::replace(&mut pairs, first);
            for later in more.then_some(rest).into_iter().chain(then) {
                if !pending.push(later, &steps.work.lender) {
                    return Err(steps.work.lacks_memory());
                }
            }
        }
        match pending.pop() {
            Some(next) => pairs = next,
            None => return Ok(Ordering::Equal),
        }
    }
}

/// The answer for two leaves whose words differ.
#[inline(always)]
fn leaves(
    a: Value,
    b: Value,
    question: Comparison,
    steps: &mut Steps<'_>,
) -> Result<Ordering, Over> {
    let both = bytes_in_both(a, b);
    steps.take(both / COPIED)?;
    if both > MANY {
        if let (Some(x), Some(y)) = (a.as_bits(), b.as_bits()) {
            return long_bits(x, y, steps);
        }
    }
    Ok(question.leaves(a, b))
}

/// The order of two bitstrings, whatever was asked.
fn long_bits(x: Bits<'_>, y: Bits<'_>, steps: &mut Steps<'_>) -> Result<Ordering, Over> {
    let both = x.len().min(y.len());
    for from in (0..both).step_by(8 * MANY) {
        let range = from..both.min(from + 8 * MANY);
        let order = x.part(range.clone()).cmp(&y.part(range));
        if order.is_ne() {
            return Ok(order);
        }
        steps.work.pass(MANY / COPIED)?;
    }
    Ok(x.len().cmp(&y.len()))
}

/// Cells that were found equal, in classes (union and find). What is equal for one question need not be for another.
///
/// It is a help, and takes only memory that nobody else needs. Where there is none, nothing more is remembered, and the turn pays
/// for what it then compares again.
struct Alike {
    known: FxHashMap<(Value, Comparison), Value>,
    loan: Loan,
}

impl Alike {
    /// Bytes of an entry in the table, of which up to a half is empty, and that grows into another one.
    const BYTES: usize = 2 * size_of::<((Value, Comparison), Value)>();

    fn new(lender: &Option<Arc<dyn Lender>>) -> Alike {
        Alike {
            known: FxHashMap::default(),
            loan: Loan::new(lender.clone()),
        }
    }

    /// Makes one class of two; `false` if they are one already.
    fn join(&mut self, a: Value, b: Value, question: Comparison) -> bool {
        let (a, b) = (self.head(a, question), self.head(b, question));
        if a != b && self.has_room() {
            self.known.insert((a, question), b);
        }
        a != b
    }

    fn has_room(&mut self) -> bool {
        let full = self.known.len() == self.known.capacity();
        !full
            || self
                .loan
                .extend_to((2 * self.known.len()).max(8) * Alike::BYTES, true)
    }

    /// The head of a value's class. Makes the way there shorter for those who come later.
    fn head(&mut self, value: Value, question: Comparison) -> Value {
        let mut at = value;
        while let Some(next) = self.known.get(&(at, question)).copied() {
            if let Some(beyond) = self.known.get(&(next, question)).copied() {
                self.known.insert((at, question), beyond);
            }
            at = next;
        }
        at
    }
}

#[cfg(test)]
mod tests;
