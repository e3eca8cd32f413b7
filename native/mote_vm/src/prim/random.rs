//! Random numbers: xoshiro256++ 1.0 of David Blackman and Sebastiano Vigna (2019, <https://prng.di.unimi.it/>), seeded
//! by splitmix64 as its authors advise. Fast and equidistributed; not for secrets.
use crate::heap::Heap;
use crate::value::Value;

/// One thread's generator.
pub(crate) struct Random {
    state: [u64; 4],
}

impl Random {
    /// The generator of that seed; the same seed gives the same numbers on every platform.
    pub(crate) fn from_seed(seed: u64) -> Random {
        let mut seed = seed;
        Random {
            state: std::array::from_fn(|_| splitmix64(&mut seed)),
        }
    }

    /// 64 random bits.
    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// A float in 0.0 ..< 1.0: a multiple of 2^-53, all equally likely.
    #[inline]
    pub(crate) fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// An integer in 0 ..< n, all equally likely; 0 if n is 0.
    ///
    /// Daniel Lemire, Fast Random Integer Generation in an Interval (2019): the upper half of a product with n, with
    /// the few lower halves refused that would favour some results.
    #[inline]
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        let mut product = self.next() as u128 * n as u128;
        if (product as u64) < n {
            let refused = n.wrapping_neg() % n;
            while (product as u64) < refused {
                product = self.next() as u128 * n as u128;
            }
        }
        (product >> 64) as u64
    }
}

fn splitmix64(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *seed;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// `:rand.uniform()`
#[inline]
pub(crate) fn uniform(heap: &mut Heap, random: &mut Random) -> Value {
    heap.float(random.uniform())
}

/// `:rand.uniform(n)`: 1..n
#[inline]
pub(crate) fn random_int(random: &mut Random, n: Value) -> Value {
    match n.as_fixnum() {
        Some(n) if n > 0 => Value::fixnum(1 + random.below(n as u64) as i64),
        _ => Value::NONE,
    }
}
