//! The leaves of the erfc bomb: each adds up erfc, the C library's, of 1,000 random numbers by xoshiro256++, as the machine has them.
//!
//! Left out: the tree, which takes a thousandth of the time.

const RANDOMS: u32 = 1_000;

extern "C" {
    fn erfc(x: f64) -> f64;
}

/// The sum of all leaves of a tree of that depth.
pub fn sum(depth: u32) -> f64 {
    let mut random = Random([1, 2, 3, 4]);
    let mut sum = 0.0;
    for _ in 0..RANDOMS << depth {
        // SAFETY: the function of the C library, which takes any number.
        sum += unsafe { erfc(random.uniform()) };
    }
    sum
}

/// xoshiro256++ 1.0 of David Blackman and Sebastiano Vigna.
struct Random([u64; 4]);

impl Random {
    fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn next(&mut self) -> u64 {
        let s = &mut self.0;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let shifted = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= shifted;
        s[3] = s[3].rotate_left(45);
        result
    }
}
