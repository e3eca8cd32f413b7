//! Arithmetic of absolute values, limb by limb, lowest first: what integers of some thousand digits are mostly calculated with.
//! Quotients, and products of two long factors, are left to num-bigint, which is faster there than this would be; it has limbs
//! of its own, and to copy them there and back takes longer than to add them.
use smallvec::SmallVec;
use std::cmp::Ordering;

/// The limbs of a result; zeros at the upper end are possible.
pub(super) type Limbs = SmallVec<[u64; 64]>;

/// Limbs of the longest shorter factor of a product that is made here.
pub(super) const SHORT: usize = 24;

/// `a + b`
pub(super) fn sum(a: &[u64], b: &[u64]) -> Limbs {
    let (longer, shorter) = if a.len() < b.len() { (b, a) } else { (a, b) };
    let mut sum = Limbs::from_slice(longer);
    let mut carry = false;
    for (at, limb) in sum.iter_mut().enumerate() {
        let other = shorter.get(at).copied().unwrap_or(0);
        if at >= shorter.len() && !carry {
            break;
        }
        let (low, first) = limb.overflowing_add(other);
        let (low, second) = low.overflowing_add(carry.into());
        (*limb, carry) = (low, first | second);
    }
    if carry {
        sum.push(1);
    }
    sum
}

/// Compares `a` and `b`. Also returns the difference of the larger one and the other.
pub(super) fn difference(a: &[u64], b: &[u64]) -> (Ordering, Limbs) {
    let order = (a.len().cmp(&b.len())).then_with(|| a.iter().rev().cmp(b.iter().rev()));
    let (larger, smaller) = if order.is_lt() { (b, a) } else { (a, b) };
    let mut difference = Limbs::from_slice(larger);
    let mut borrow = false;
    for (at, limb) in difference.iter_mut().enumerate() {
        let other = smaller.get(at).copied().unwrap_or(0);
        if at >= smaller.len() && !borrow {
            break;
        }
        let (low, first) = limb.overflowing_sub(other);
        let (low, second) = low.overflowing_sub(borrow.into());
        (*limb, borrow) = (low, first | second);
    }
    (order, difference)
}

/// `a * b`
pub(super) fn product(a: &[u64], b: &[u64]) -> Limbs {
    let (longer, shorter) = if a.len() < b.len() { (b, a) } else { (a, b) };
    let mut product = Limbs::from_elem(0, longer.len() + shorter.len());
    for (at, factor) in shorter.iter().enumerate() {
        if *factor == 0 {
            continue;
        }
        let mut carry = 0;
        let (below, above) = product[at..].split_at_mut(longer.len());
        for (limb, of) in below.iter_mut().zip(longer) {
            // At most (2^64 - 1)^2 + 2 (2^64 - 1), which is 2^128 - 1.
            let wide = u128::from(*of) * u128::from(*factor) + u128::from(*limb) + carry;
            (*limb, carry) = (wide as u64, wide >> u64::BITS);
        }
        // Nothing was added here yet.
        above[0] = carry as u64;
    }
    product
}

/// `a <<< by`
pub(super) fn shifted(a: &[u64], by: usize) -> Limbs {
    let (whole, bits) = (by / u64::BITS as usize, by as u32 % u64::BITS);
    let mut shifted = Limbs::from_elem(0, whole);
    let mut carry = 0;
    for limb in a {
        let wide = u128::from(*limb) << bits;
        shifted.push(wide as u64 | carry);
        carry = (wide >> u64::BITS) as u64;
    }
    shifted.push(carry);
    shifted
}
