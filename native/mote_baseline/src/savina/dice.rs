//! The generator of Park and Miller, and the loop with which some programs pass the time.
use crate::cells::Int;

/// The next number.
#[inline(always)]
pub(crate) fn roll(dice: Int) -> Int {
    dice * 48_271 % 2_147_483_647
}

/// Rolls the dice `left` times.
pub(crate) fn idle(mut dice: Int, mut left: Int) -> Int {
    while left != Int::ZERO {
        dice = roll(dice);
        left = left - Int::ONE;
    }
    dice
}
