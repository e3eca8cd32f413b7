//! Integers outside of the fixnum range, as they lie in a heap: a sign, and limbs of 64 bits.
//!
//! Invariants:
//! 1. An integer of the fixnum range is a fixnum, never a [`Big`]; the highest limb is not 0. So two integers are the
//!    same exactly when their signs and limbs are.
//! 2. No integer has more than [`MOST_LIMBS`]. The embedder carries a larger one as a foreign value, which takes no part in
//!    arithmetic.
//!
//! The arithmetic is in terms/prim/integers.rs.
use super::value::Value;
use std::cmp::Ordering;

/// The most limbs of an integer. It bounds what one operation can take that nobody interrupts: some ten milliseconds
/// for a product of the largest, and some tens for its digits, which a turn has paid for before.
pub const MOST_LIMBS: usize = 1 << 14;

/// Bits of a limb.
const LIMB: u64 = u64::BITS as u64;
/// Bits of a float's mantissa, with the one that is not written.
const MANTISSA: u64 = 53;
/// Bias of the exponent that a float is written with.
const BIAS: u64 = 1023;

/// An integer of more than a word: its sign and its limbs. The limbs are in little endian order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Big<'h> {
    negative: bool,
    limbs: &'h [u64],
}

impl<'h> Big<'h> {
    /// The caller vouches for invariant 1.
    pub(crate) fn new(negative: bool, limbs: &'h [u64]) -> Big<'h> {
        Big { negative, limbs }
    }

    /// Returns whether it is less than 0.
    pub fn is_negative(self) -> bool {
        self.negative
    }

    /// Its absolute value, the lowest limb first.
    pub fn limbs(self) -> &'h [u64] {
        self.limbs
    }

    /// The integer, if it fits.
    pub fn as_i64(self) -> Option<i64> {
        i64::try_from(self.as_i128()?).ok()
    }

    /// The integer, if it fits.
    pub(crate) fn as_i128(self) -> Option<i128> {
        let size = match *self.limbs {
            [low] => u128::from(low),
            [low, high] => u128::from(high) << 64 | u128::from(low),
            _ => return None,
        };
        match self.negative {
            true => 0i128.checked_sub_unsigned(size),
            false => i128::try_from(size).ok(),
        }
    }

    /// The nearest float; of two that are equally near, the even one. `None` if it is beyond all floats.
    pub(crate) fn to_f64(self) -> Option<f64> {
        // Not one of all its limbs is looked at then: nobody pays for that.
        let exponent = self.bits() - 1 + BIAS;
        if exponent > 2 * BIAS {
            return None;
        }
        let (last, lower) = self.limbs.split_last()?;
        let (second, rest) = match lower.split_last() {
            Some((second, rest)) => (*second, rest),
            None => (0, lower),
        };
        // The 64 highest bits, and whether anything is below them.
        let zeros = last.leading_zeros();
        let both = (u128::from(*last) << 64 | u128::from(second)) << zeros;
        let (high, below) = ((both >> 64) as u64, both as u64);
        let sticky = below != 0 || rest.iter().any(|limb| *limb != 0);
        let cut = LIMB - MANTISSA;
        let (kept, rest) = (high >> cut, high & ((1 << cut) - 1));
        let half = 1 << (cut - 1);
        let up = rest > half || rest == half && (sticky || kept & 1 == 1);
        // A carry out of the mantissa goes into the exponent, as it should.
        let mantissa = kept - (1 << (MANTISSA - 1)) + u64::from(up);
        let float = f64::from_bits((exponent << (MANTISSA - 1)) + mantissa);
        let float = if self.negative { -float } else { float };
        float.is_finite().then_some(float)
    }

    /// Its order against a finite float, exactly.
    pub(crate) fn compare_float(self, f: f64) -> Ordering {
        let order = match f.is_sign_negative() || f == 0.0 {
            true if !self.negative => return Ordering::Greater,
            false if self.negative => return Ordering::Less,
            _ => self.compare_size(f.abs()),
        };
        if self.negative {
            order.reverse()
        } else {
            order
        }
    }

    /// The order of the absolute values. One that is outside of the fixnum range is larger than any fraction, and a float
    /// as large as that has none.
    fn compare_size(self, f: f64) -> Ordering {
        let (mantissa, shift) = parts(f);
        if mantissa == 0 || shift < 0 {
            return Ordering::Greater;
        }
        let limbs = shifted(mantissa, shift as u32);
        compare_limbs(self.limbs, trimmed(&limbs))
    }

    /// Returns the number of bits of its absolute value.
    fn bits(self) -> u64 {
        let zeros = self.limbs.last().map_or(0, |last| last.leading_zeros());
        self.limbs.len() as u64 * LIMB - u64::from(zeros)
    }
}

impl Ord for Big<'_> {
    fn cmp(&self, other: &Big<'_>) -> Ordering {
        match (self.negative, other.negative) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (false, false) => compare_limbs(self.limbs, other.limbs),
            (true, true) => compare_limbs(other.limbs, self.limbs),
        }
    }
}

impl PartialOrd for Big<'_> {
    fn partial_cmp(&self, other: &Big<'_>) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

fn compare_limbs(a: &[u64], b: &[u64]) -> Ordering {
    (a.len().cmp(&b.len())).then_with(|| a.iter().rev().cmp(b.iter().rev()))
}

/// The limbs without zeros at the upper end.
pub(crate) fn trimmed(limbs: &[u64]) -> &[u64] {
    let used = limbs.iter().rposition(|limb| *limb != 0);
    &limbs[..used.map_or(0, |last| last + 1)]
}

/// The fixnum of a sign and an absolute value without zeros at the upper end, if it is one.
pub(crate) fn fixnum(negative: bool, limbs: &[u64]) -> Option<Value> {
    let size = match *limbs {
        [] => 0,
        [low] => i64::try_from(low).ok()?,
        _ => return None,
    };
    Value::integer(if negative { -size } else { size })
}

/// Limbs of an integer that came from a float, which has at most 1024 bits.
pub(crate) const FLOAT_LIMBS: usize = 1024 / LIMB as usize + 1;

/// The absolute value of a float that has no fraction, below its sign.
pub(crate) fn limbs_of_float(f: f64) -> [u64; FLOAT_LIMBS] {
    let (mantissa, shift) = parts(f.abs());
    match u32::try_from(shift) {
        Ok(shift) => shifted(mantissa, shift),
        // No bits are lost: it has no fraction.
        Err(_) => shifted(mantissa.checked_shr(shift.unsigned_abs()).unwrap_or(0), 0),
    }
}

/// A positive float is the first times 2 to the power of the second.
fn parts(f: f64) -> (u64, i32) {
    let bits = f.to_bits();
    let exponent = (bits >> (MANTISSA - 1)) as i32;
    let fraction = bits & ((1 << (MANTISSA - 1)) - 1);
    match exponent {
        0 => (fraction, -1074),
        _ => (fraction | 1 << (MANTISSA - 1), exponent - 1075),
    }
}

fn shifted(n: u64, by: u32) -> [u64; FLOAT_LIMBS] {
    let mut limbs = [0; FLOAT_LIMBS];
    let (at, wide) = ((by / 64) as usize, u128::from(n) << (by % 64));
    limbs[at] = wide as u64;
    if at + 1 < FLOAT_LIMBS {
        limbs[at + 1] = (wide >> 64) as u64;
    }
    limbs
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn limbs(n: i128) -> [u64; 2] {
        let n = n.unsigned_abs();
        [n as u64, (n >> 64) as u64]
    }

    fn big(n: i128, limbs: &[u64; 2]) -> Big<'_> {
        Big::new(n < 0, trimmed(limbs))
    }

    fn wide() -> impl Strategy<Value = i128> {
        (any::<i128>(), 0u32..64).prop_map(|(n, by)| n >> by)
    }

    #[test]
    fn the_largest_float_and_what_is_beyond() {
        let mut limbs = [0; 16];
        limbs[15] = !0 << 11;
        assert_eq!(Big::new(false, &limbs).to_f64(), Some(f64::MAX));
        limbs[0] = 1;
        assert_eq!(Big::new(true, &limbs).to_f64(), Some(f64::MIN));
        assert_eq!(
            Big::new(false, &limbs).compare_float(f64::MAX),
            Ordering::Greater
        );
        limbs[15] = !0 << 10;
        assert_eq!(Big::new(false, &limbs).to_f64(), None);
        let mut limbs = [0; 17];
        limbs[16] = 1;
        assert_eq!(Big::new(false, &limbs).to_f64(), None);
        assert_eq!(limbs_of_float(f64::MAX)[15], !0 << 11);
    }

    #[test]
    fn a_fixnum_is_one() {
        use super::super::value::{FIXNUM_MAX, FIXNUM_MIN};
        let low = 1u64 << 62;
        assert_eq!(fixnum(true, &[low]), Value::integer(FIXNUM_MIN));
        assert_eq!(fixnum(false, &[low - 1]), Value::integer(FIXNUM_MAX));
        assert_eq!(fixnum(false, &[]), Value::integer(0));
        for (negative, limbs) in [(false, &[low][..]), (true, &[low + 1]), (true, &[0, 1])] {
            assert_eq!(fixnum(negative, limbs), None);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 8 } else { 2000 }))]

        #[test]
        fn floats_and_order_as_of_wide_integers(a in wide(), b in wide(), scale in -3.0f64..3.0) {
            let (x, y) = (limbs(a), limbs(b));
            let (x, y) = (big(a, &x), big(b, &y));
            prop_assume!(a != 0 && b != 0);
            prop_assert_eq!(x.to_f64(), Some(a as f64));
            prop_assert_eq!(x.as_i128(), Some(a));
            prop_assert_eq!(x.cmp(&y), a.cmp(&b));
            // Those of the fixnum range are none of these.
            prop_assume!(a.unsigned_abs() > 1 << 62);
            for f in [a as f64, b as f64, a as f64 * scale, scale] {
                let floor = f.floor() as i128;
                let expected = a.cmp(&floor).then(0.0f64.partial_cmp(&(f - f.floor())).unwrap());
                prop_assert_eq!(x.compare_float(f), expected, "{} {}", a, f);
            }
        }

        #[test]
        fn a_float_without_a_fraction_has_limbs(n in wide()) {
            let f = n as f64;
            let expected = f as i128;
            prop_assume!(expected as f64 == f && expected != i128::MAX);
            let (found, expected) = (limbs_of_float(f), limbs(expected));
            prop_assert_eq!(trimmed(&found), trimmed(&expected));
        }
    }
}
