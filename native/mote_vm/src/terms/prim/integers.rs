//! Arithmetic of integers of any size: of operands that are not both fixnums, or whose result is not one.
//!
//! Invariants:
//! 1. The cost of an operation is counted before it is done: [`BEGUN`], then by the limbs of its operands: [`VISITED`] of them
//!    for an element, and the products besides ([`product`]). An element is about what it is elsewhere, some nanoseconds. The
//!    plain Elixir form counts the same (lib/mote/total/integers.ex).
//! 2. A result of more than [`MOST_LIMBS`] has no answer. Where that can be told from the operands, nothing is counted.
//! 3. Results that fit into two words are calculated in 128 bits, and cost nothing.
use super::limbs;
use crate::base::work::Over;
use crate::heap::Heap;
use crate::values::big::{limbs_of_float, trimmed, Big, MOST_LIMBS};
use crate::values::value::Value;
use num_bigint::{BigInt, BigUint, Sign};

/// Limbs for one element that are copied or compared.
pub(crate) const LINEAR: usize = 4;
/// Price of any operation, in elements: a few more than a primitive has for nothing.
const BEGUN: usize = 80;
/// Limbs for one element of what is calculated with.
const VISITED: usize = 2;
/// Products of limbs for one element.
const SQUARE: usize = 4;
/// The greatest cost of a product for each limb of the longer factor, as a multiple of the square root of the limbs of the
/// shorter one: long factors are multiplied in parts.
const ROOT: usize = 8;
/// A quotient, or the digits of an integer, take as long as this many products.
const QUOTIENT: usize = 3;
/// Bits of a limb.
const LIMB: usize = 64;

/// An operation on two integers.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Operation {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    And,
    Or,
    Xor,
}

/// The sign and the limbs of an integer.
struct Signed<'h> {
    negative: bool,
    limbs: &'h [u64],
}

impl<'h> Signed<'h> {
    /// A fixnum has one limb, even 0, which is put into `room`. `None` unless the value is an integer that can be calculated
    /// with.
    fn of(a: Value, room: &'h mut [u64; 1]) -> Option<Signed<'h>> {
        if let Some(n) = a.as_fixnum() {
            *room = [n.unsigned_abs()];
            return Some(Signed {
                negative: n < 0,
                limbs: room,
            });
        }
        let big = as_big(a)?;
        Some(Signed {
            negative: big.is_negative(),
            limbs: big.limbs(),
        })
    }

    fn to_integer(&self) -> BigInt {
        let halves = self.limbs.iter();
        let halves = halves.flat_map(|limb| [*limb as u32, (*limb >> 32) as u32]);
        let sign = if self.negative {
            Sign::Minus
        } else {
            Sign::Plus
        };
        BigInt::from_biguint(sign, BigUint::new(halves.collect()))
    }

    fn len(&self) -> usize {
        self.limbs.len()
    }
}

/// Returns whether it is an integer that can be calculated with.
#[inline]
pub(crate) fn is_number(a: Value) -> bool {
    a.is_fixnum() || as_big(a).is_some()
}

/// The integer, if 128 bits hold it.
#[inline]
pub(crate) fn as_i128(a: Value) -> Option<i128> {
    match a.as_fixnum() {
        Some(n) => Some(n.into()),
        None => as_big(a)?.as_i128(),
    }
}

/// The lowest 64 bits of an integer, in two's complement.
pub(crate) fn lowest_bits(a: Value) -> Option<u64> {
    match a.as_fixnum() {
        Some(n) => Some(n as u64),
        None => {
            let big = as_big(a)?;
            let low = big.limbs().first().copied().unwrap_or(0);
            Some(if big.is_negative() {
                low.wrapping_neg()
            } else {
                low
            })
        }
    }
}

/// Does an operation on the lowest 64 bits of two integers. Returns an integer of 0 to 2^64 - 1.
pub(crate) fn wrapped(heap: &mut Heap, a: Value, b: Value, of: fn(u64, u64) -> u64) -> Value {
    match (lowest_bits(a), lowest_bits(b)) {
        (Some(n), Some(m)) => heap.wide_integer(of(n, m).into()),
        _ => Value::NONE,
    }
}

/// The result of an operation on two integers; no answer if one of the values is not an integer.
#[cold]
#[inline(never)]
pub(crate) fn operate(heap: &mut Heap, operation: Operation, a: Value, b: Value) -> Value {
    if let (Some(n), Some(m)) = (as_i128(a), as_i128(b)) {
        if let Some(small) = in_128_bits(operation, n, m) {
            return heap.wide_integer(small);
        }
    }
    let mut rooms = [[0], [0]];
    let [room_a, room_b] = &mut rooms;
    let (Some(x), Some(y)) = (Signed::of(a, room_a), Signed::of(b, room_b)) else {
        return Value::NONE;
    };
    let Some(elements) = price(operation, &x, &y) else {
        return Value::NONE;
    };
    if heap.work.count(elements).is_err() {
        return Value::NONE;
    }
    if let Some((negative, limbs)) = by_limbs(operation, &x, &y) {
        return made(heap, negative, &limbs);
    }
    let (x, y) = (x.to_integer(), y.to_integer());
    let result = match operation {
        Operation::Add => x + y,
        Operation::Sub => x - y,
        Operation::Mul => x * y,
        Operation::Div => x / y,
        Operation::Rem => x % y,
        Operation::And => x & y,
        Operation::Or => x | y,
        Operation::Xor => x ^ y,
    };
    value(heap, &result)
}

/// The sign and the absolute value of the result, where that is best calculated limb by limb.
fn by_limbs(operation: Operation, x: &Signed<'_>, y: &Signed<'_>) -> Option<(bool, limbs::Limbs)> {
    let other = match operation {
        Operation::Add => y.negative,
        Operation::Sub => !y.negative,
        Operation::Mul if x.len().min(y.len()) <= limbs::SHORT => {
            return Some((x.negative != y.negative, limbs::product(x.limbs, y.limbs)));
        }
        _ => return None,
    };
    if x.negative == other {
        return Some((other, limbs::sum(x.limbs, y.limbs)));
    }
    let (order, difference) = limbs::difference(x.limbs, y.limbs);
    // Of 0 the sign does not matter.
    Some((if order.is_lt() { other } else { x.negative }, difference))
}

/// The integer of a sign and an absolute value, of which the upper limbs may be 0; no answer if it is too large.
fn made(heap: &mut Heap, negative: bool, limbs: &[u64]) -> Value {
    match trimmed(limbs).len() <= MOST_LIMBS {
        true => heap.integer(negative, limbs),
        false => Value::NONE,
    }
}

/// The elements that an operation costs; `None` if it certainly has no answer.
fn price(operation: Operation, x: &Signed<'_>, y: &Signed<'_>) -> Option<usize> {
    match operation {
        Operation::Mul if x.len() + y.len() - 1 > MOST_LIMBS => None,
        Operation::Div | Operation::Rem if y.limbs == [0] => None,
        _ => Some(linear(x.len() + y.len()) + multiplied(operation, x.len(), y.len())),
    }
}

/// Returns the elements of an operation that visits `limbs` limbs.
fn linear(limbs: usize) -> usize {
    BEGUN + limbs / VISITED
}

/// Returns the price, in elements, of what is multiplied for an operation on integers of `x` and `y` limbs.
fn multiplied(operation: Operation, x: usize, y: usize) -> usize {
    match operation {
        Operation::Mul => product(x, y),
        Operation::Div | Operation::Rem => QUOTIENT * product(x.saturating_sub(y) + 1, y),
        _ => 0,
    }
}

/// The elements of a product of `x` limbs by `y`.
fn product(x: usize, y: usize) -> usize {
    let (shorter, longer) = (x.min(y), x.max(y));
    longer * shorter.min(ROOT * shorter.isqrt()) / SQUARE
}

/// `None` if 128 bits do not hold the result, and for a division by 0.
fn in_128_bits(operation: Operation, n: i128, m: i128) -> Option<i128> {
    match operation {
        Operation::Add => n.checked_add(m),
        Operation::Sub => n.checked_sub(m),
        Operation::Mul => n.checked_mul(m),
        Operation::Div => n.checked_div(m),
        // There is a remainder even where the quotient is too large.
        Operation::Rem => (m != 0).then(|| n.wrapping_rem(m)),
        Operation::And => Some(n & m),
        Operation::Or => Some(n | m),
        Operation::Xor => Some(n ^ m),
    }
}

/// `a <<< count`, or to the right if that is negative; no answer if `a` is not an integer.
#[cold]
#[inline(never)]
pub(crate) fn shift(heap: &mut Heap, a: Value, count: i64) -> Value {
    if let Some(small) = as_i128(a).and_then(|n| shifted_in_128_bits(n, count)) {
        return heap.wide_integer(small);
    }
    let mut room = [0];
    let Some(x) = Signed::of(a, &mut room) else {
        return Value::NONE;
    };
    let by = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
    let limbs = match count < 0 {
        true => x.len(),
        false => x.len() + by / LIMB,
    };
    if count > 0 && limbs > MOST_LIMBS {
        return Value::NONE;
    }
    if heap.work.count(linear(limbs)).is_err() {
        return Value::NONE;
    }
    match count < 0 {
        true => value(heap, &(x.to_integer() >> by)),
        false => made(heap, x.negative, &limbs::shifted(x.limbs, by)),
    }
}

/// `None` if 128 bits do not hold it.
fn shifted_in_128_bits(n: i128, count: i64) -> Option<i128> {
    let by = u32::try_from(count.unsigned_abs()).unwrap_or(u32::MAX);
    match count {
        // Beyond 127 bits only the sign is left.
        ..=0 => Some(n >> by.min(127)),
        _ if n == 0 => Some(0),
        _ => n.checked_shl(by).filter(|shifted| shifted >> by == n),
    }
}

/// `-a`, or `abs(a)` if only negative ones change.
pub(crate) fn negated(heap: &mut Heap, a: Value, only_negative: bool) -> Value {
    let Some(big) = as_big(a) else {
        return Value::NONE;
    };
    if only_negative && !big.is_negative() {
        return a;
    }
    match heap.work.count(big.limbs().len() / LINEAR) {
        Ok(()) => heap.integer(!big.is_negative(), big.limbs()),
        Err(Over) => Value::NONE,
    }
}

/// The integer that a float without a fraction is.
pub(crate) fn of_float(heap: &mut Heap, f: f64) -> Value {
    heap.integer(f.is_sign_negative(), &limbs_of_float(f))
}

/// The decimal digits of an integer, with its sign. They must be paid for.
pub(crate) fn text(heap: &mut Heap, a: Value) -> Option<String> {
    if let Some(n) = as_i128(a) {
        return Some(n.to_string());
    }
    let mut room = [0];
    let x = Signed::of(a, &mut room)?;
    let price = linear(x.len()) + QUOTIENT * product(x.len(), x.len());
    heap.work.count(price).ok()?;
    Some(x.to_integer().to_string())
}

/// An integer taken out of its value, for what calculates with it several times. Its caller pays.
#[derive(Clone)]
pub(crate) struct Exact(BigInt);

impl Exact {
    /// `None` unless the value is an integer that can be calculated with.
    pub(crate) fn of(a: Value) -> Option<Exact> {
        let mut room = [0];
        Some(Exact(Signed::of(a, &mut room)?.to_integer()))
    }

    pub(crate) fn to_value(&self, heap: &mut Heap) -> Value {
        value(heap, &self.0)
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.0.sign() == Sign::NoSign
    }

    /// Returns the number of its limbs: even 0 has one.
    pub(crate) fn limbs(&self) -> usize {
        self.0.bits().div_ceil(LIMB as u64).max(1) as usize
    }

    pub(crate) fn add(&mut self, other: &Exact) {
        self.0 += &other.0;
    }

    /// Returns how many integers the range from this to `last` has. It does not divide those that nobody can pay for: a
    /// quotient of two limbs takes little.
    pub(crate) fn steps_to(&self, last: &Exact, step: &Exact) -> usize {
        let way = &last.0 - &self.0;
        if way.sign() != Sign::NoSign && way.sign() != step.0.sign() {
            return 0;
        }
        if way.bits() > step.0.bits() + u64::from(usize::BITS) {
            return usize::MAX;
        }
        usize::try_from(way / &step.0).map_or(usize::MAX, |steps| steps.saturating_add(1))
    }

    /// Returns whether it is one of the integers of a range.
    pub(crate) fn is_between(&self, first: &Exact, last: &Exact, step: &Exact) -> bool {
        let between = match step.0.sign() {
            Sign::Minus => last.0 <= self.0 && self.0 <= first.0,
            _ => first.0 <= self.0 && self.0 <= last.0,
        };
        between && ((&self.0 - &first.0) % &step.0).sign() == Sign::NoSign
    }
}

/// Returns the price of the remainder of an integer of `limbs` limbs by one of `divisor` limbs.
pub(crate) fn remainder_price(limbs: usize, divisor: usize) -> usize {
    linear(limbs + divisor) + multiplied(Operation::Rem, limbs, divisor)
}

/// The integer as a value; no answer if it is too large.
fn value(heap: &mut Heap, n: &BigInt) -> Value {
    made(
        heap,
        n.sign() == Sign::Minus,
        &n.magnitude().to_u64_digits(),
    )
}

#[inline]
fn as_big<'h>(a: Value) -> Option<Big<'h>> {
    match a.is_boxed() && !a.is_none() {
        true => a.as_big(),
        false => None,
    }
}

#[cfg(test)]
mod tests;
