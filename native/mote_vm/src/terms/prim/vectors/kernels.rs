//! Loops over elements that the optimiser makes vector instructions of, compiled twice: for any processor, and for x86-64
//! with AVX2, which is looked for when the machine runs.
//!
//! Invariants:
//! 1. The only branches are between blocks of elements. What is not good is noted in a mask.
//! 2. What floats add up to does not depend on the processor: the order is fixed, and nothing is fused.
use super::ELEMENT;
use std::mem::MaybeUninit;
use std::ops::Range;

/// Number of sums of floats that are made beside each other.
pub(super) const LANES: usize = 8;
/// Elements of a block: as many as a few registers hold.
const BLOCK: usize = 32;
/// The same where there are fewer: as many as one register holds.
const FEW: usize = 4;
/// Elements of a block of products that are added up.
const ADDED: usize = 16;

/// An element as it is stored.
pub(super) type Stored = [u8; ELEMENT];
/// The place of an element that is still to be computed.
pub(super) type Unstored = [MaybeUninit<u8>; ELEMENT];

/// The type of an element.
pub(super) trait Packed: Copy {
    fn load(stored: Stored) -> Self;
    fn store(self) -> Stored;
}

impl Packed for f64 {
    #[inline(always)]
    fn load(stored: Stored) -> f64 {
        f64::from_le_bytes(stored)
    }
    #[inline(always)]
    fn store(self) -> Stored {
        self.to_le_bytes()
    }
}

impl Packed for i64 {
    #[inline(always)]
    fn load(stored: Stored) -> i64 {
        i64::from_le_bytes(stored)
    }
    #[inline(always)]
    fn store(self) -> Stored {
        self.to_le_bytes()
    }
}

/// Defines a function whose body is compiled for AVX2 as well, and run so where the processor has it.
macro_rules! widened {
    (
        $(#[$about:meta])*
        fn $name:ident $([$($of:ident: $bound:path),*])? ($($argument:ident: $type:ty),* $(,)?) -> $answer:ty $body:block
    ) => {
        $(#[$about])*
        #[inline]
        pub(super) fn $name $(<$($of: $bound),*>)? ($($argument: $type),*) -> $answer {
            #[inline(always)]
            fn anywhere $(<$($of: $bound),*>)? ($($argument: $type),*) -> $answer $body

            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2")]
                fn wide $(<$($of: $bound),*>)? ($($argument: $type),*) -> $answer {
                    anywhere($($argument),*)
                }
                if is_x86_feature_detected!("avx2") {
                    // SAFETY: the processor has what it is compiled for.
                    return unsafe { wide($($argument),*) };
                }
            }
            anywhere($($argument),*)
        }
    };
}

/// An operation on pairs of elements.
pub(super) trait Pairwise<T> {
    /// Computes some elements, which fit a block. Returns a mask, which is 0 if all answers are good.
    fn some(&self, x: &[Stored], y: &[Stored], to: &mut [Unstored]) -> u64;
}

/// An operation on one pair. Its answer comes with a mask, which is 0 if the answer is good.
impl<T: Packed, F: Fn(T, T) -> (T, u64)> Pairwise<T> for F {
    #[inline(always)]
    fn some(&self, x: &[Stored], y: &[Stored], to: &mut [Unstored]) -> u64 {
        let mut bad = 0;
        for ((x, y), to) in x.iter().zip(y).zip(to) {
            let (answer, mask) = self(T::load(*x), T::load(*y));
            *to = answer.store().map(MaybeUninit::new);
            bad |= mask;
        }
        bad
    }
}

/// The products of integers. No processor before AVX-512 multiplies 64 bits by 64; where all of a block have 32, none overflows.
pub(super) struct Products;

impl Pairwise<i64> for Products {
    #[inline(always)]
    fn some(&self, x: &[Stored], y: &[Stored], to: &mut [Unstored]) -> u64 {
        if are_narrow(x, y) {
            return (|x, y| (narrow_product(x, y), 0)).some(x, y, to);
        }
        let exact = |x: i64, y| {
            let (product, overflows) = x.overflowing_mul(y);
            (product, u64::from(overflows))
        };
        exact.some(x, y, to)
    }
}

/// Returns whether all integers of both have 32 bits.
#[inline(always)]
fn are_narrow(x: &[Stored], y: &[Stored]) -> bool {
    const HALF: i64 = 1 << 31;
    let mut upper = 0;
    for (x, y) in x.iter().zip(y) {
        upper |= i64::load(*x).wrapping_add(HALF) | i64::load(*y).wrapping_add(HALF);
    }
    upper as u64 >> 32 == 0
}

/// The product of integers of 32 bits, which has 64. Shifts say so to the optimiser, which needs none of them then.
#[inline(always)]
fn narrow_product(x: i64, y: i64) -> i64 {
    ((x << 32) >> 32).wrapping_mul((y << 32) >> 32)
}

/// The second operand of an operation: as many elements, or one for all.
#[derive(Clone, Copy)]
pub(super) enum Other<'v, T> {
    Many(&'v [Stored]),
    One(T),
}

impl<'v, T: Copy> Other<'v, T> {
    /// Returns the part of it that belongs to `range` of the first operand.
    pub(super) fn part(self, range: Range<usize>) -> Other<'v, T> {
        match self {
            Other::Many(all) => Other::Many(&all[range]),
            one => one,
        }
    }
}

/// Computes `f` of pairs of elements in blocks, of which the last may begin before the end of the one before it: so few elements
/// are computed one by one. Returns whether all answers are good.
#[inline(always)]
fn in_blocks<const N: usize, T: Packed>(
    x: &[Stored],
    y: Other<'_, T>,
    to: &mut [Unstored],
    f: &impl Pairwise<T>,
) -> bool {
    let one = match y {
        Other::Many(_) => None,
        Other::One(y) => Some([y.store(); N]),
    };
    let of = |i: usize, n: usize| match (y, &one) {
        (Other::Many(y), _) => &y[i..i + n],
        (_, Some(one)) => &one[..n],
        _ => &[],
    };
    let blocks = x.as_chunks::<N>().0.iter().zip(to.as_chunks_mut::<N>().0);
    for (i, (x, to)) in blocks.enumerate() {
        if f.some(x, of(i * N, N), to) != 0 {
            return false;
        }
    }
    let (n, rest) = (x.len(), x.len() % N);
    match (rest, x.last_chunk::<N>(), to.last_chunk_mut::<N>()) {
        (0, ..) => true,
        (_, Some(x), Some(to)) => f.some(x, of(n - N, N), to) == 0,
        _ => f.some(x, of(0, n), to) == 0,
    }
}

widened! {
    /// Computes `f` of pairs of elements into `to`, all of one length. Returns whether all answers are good; only then all of
    /// them are written.
    fn each[T: Packed, F: Pairwise<T>](x: &[Stored], y: Other<'_, T>, to: &mut [Unstored], f: &F) -> bool {
        match x.len() < BLOCK {
            true => in_blocks::<FEW, T>(x, y, to, f),
            false => in_blocks::<BLOCK, T>(x, y, to, f),
        }
    }
}

/// A sum of integers of 64 bits: of their lower halves, and of their upper ones. Of fewer than 2^31 it is exact.
#[derive(Default)]
struct Halves {
    low: u64,
    high: i64,
}

impl Halves {
    #[inline(always)]
    fn add(&mut self, n: i64) {
        self.low = self.low.wrapping_add(u64::from(n as u32));
        self.high = self.high.wrapping_add(n >> 32);
    }

    fn whole(&self) -> i128 {
        (i128::from(self.high) << 32) + i128::from(self.low)
    }
}

widened! {
    /// Returns the sum of fewer than 2^31 integers.
    fn sum(x: &[Stored]) -> i128 {
        let mut sum = Halves::default();
        for x in x {
            sum.add(i64::load(*x));
        }
        sum.whole()
    }
}

/// A sum of products of integers of 32 bits: of their lower halves, and of their upper ones. Each is made positive before, as
/// only such numbers are shifted by vector instructions of any kind. Of fewer than 2^31 it is exact.
#[derive(Default)]
struct NarrowProducts {
    low: u64,
    high: u64,
    pairs: u64,
}

impl NarrowProducts {
    /// More than the absolute value of any of them.
    const OFFSET: u32 = 62;

    #[inline(always)]
    fn add(&mut self, x: &[Stored], y: &[Stored]) {
        for (x, y) in x.iter().zip(y) {
            let product = narrow_product(i64::load(*x), i64::load(*y));
            let product = product.wrapping_add(1 << Self::OFFSET) as u64;
            self.low += product & u64::from(u32::MAX);
            self.high += product >> 32;
        }
        self.pairs += x.len() as u64;
    }

    fn whole(&self) -> i128 {
        let sum = (i128::from(self.high) << 32) + i128::from(self.low);
        sum - (i128::from(self.pairs) << Self::OFFSET)
    }
}

widened! {
    /// Returns the sum of the products of pairs of integers, fewer than 2^31. Returns `None` if it may exceed 127 bits on the way.
    fn dot(x: &[Stored], y: &[Stored]) -> Option<i128> {
        let (mut narrow, mut exact) = (NarrowProducts::default(), 0i128);
        let mut add = |x: &[Stored], y: &[Stored]| {
            if are_narrow(x, y) {
                narrow.add(x, y);
                return Some(());
            }
            for (x, y) in x.iter().zip(y) {
                let product = i128::from(i64::load(*x)) * i128::from(i64::load(*y));
                exact = exact.checked_add(product)?;
            }
            Some(())
        };
        let ((x, x_rest), (y, y_rest)) = (x.as_chunks::<ADDED>(), y.as_chunks::<ADDED>());
        for (x, y) in x.iter().zip(y) {
            add(x, y)?;
        }
        add(x_rest, y_rest)?;
        exact.checked_add(narrow.whole())
    }
}

widened! {
    /// Returns the least integer, or the greatest. There is one at least.
    fn extreme_integer(x: &[Stored], greatest: bool) -> i64 {
        let all = x.iter().map(|x| i64::load(*x));
        match greatest {
            true => all.fold(i64::MIN, i64::max),
            false => all.fold(i64::MAX, i64::min),
        }
    }
}

/// The best of floats, in lanes, if all are finite.
#[inline(always)]
fn best_float(x: &[Stored], worst: f64, better: impl Fn(f64, f64) -> bool) -> Option<f64> {
    let (mut best, mut bad) = ([worst; LANES], 0);
    let (lanes, rest) = x.as_chunks::<LANES>();
    let mut meet = |i: usize, x: Stored| {
        let x = f64::load(x);
        bad |= odd(x);
        best[i] = if better(x, best[i]) { x } else { best[i] };
    };
    for some in lanes {
        for (i, x) in some.iter().enumerate() {
            meet(i, *x);
        }
    }
    for (i, x) in rest.iter().enumerate() {
        meet(i, *x);
    }
    let found = best
        .into_iter()
        .reduce(|best, x| if better(x, best) { x } else { best });
    found.filter(|_| bad == 0)
}

widened! {
    /// Returns the least float, or the greatest, if all are finite. There is one at least. Of the two zeros it is either.
    fn extreme_float(x: &[Stored], greatest: bool) -> Option<f64> {
        match greatest {
            true => best_float(x, f64::NEG_INFINITY, |x, best| best < x),
            false => best_float(x, f64::INFINITY, |x, best| x < best),
        }
    }
}

widened! {
    /// Adds up `term` of pairs of floats in lanes, the i-th of which has every element whose index is i modulo their number.
    fn add_lanes[F: Fn(f64, f64) -> f64](x: &[Stored], y: &[Stored], sums: &mut [f64; LANES], term: &F) -> () {
        let ((x, x_rest), (y, y_rest)) = (x.as_chunks::<LANES>(), y.as_chunks::<LANES>());
        for (x, y) in x.iter().zip(y) {
            for i in 0..LANES {
                sums[i] += term(f64::load(x[i]), f64::load(y[i]));
            }
        }
        for (i, (x, y)) in x_rest.iter().zip(y_rest).enumerate() {
            sums[i] += term(f64::load(*x), f64::load(*y));
        }
    }
}

/// A mask that is not 0 if a float is not finite.
#[inline(always)]
pub(super) fn odd(f: f64) -> u64 {
    u64::from(!f.is_finite())
}
