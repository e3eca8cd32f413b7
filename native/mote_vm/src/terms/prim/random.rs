//! Random numbers: xoshiro256++ 1.0 of David Blackman and Sebastiano Vigna (2019, <https://prng.di.unimi.it/>), seeded
//! by splitmix64 as its authors advise. Fast and equidistributed; not for secrets.
//!
//! Invariants:
//! 1. A turn's first draw keeps the state from before it, so that what the turn has drawn can be taken back if it is to run
//!    once more (turns/turn.rs, invariant 2). Turns are distinguished by how many there were before.
use crate::heap::Heap;
use crate::values::value::Value;

/// One thread's generator.
pub(crate) struct Random {
    state: [u64; 4],
    /// The last turn that has drawn, and the state before it.
    before: (u64, [u64; 4]),
}

/// The generator as a turn uses it: with the number of turns before.
pub(crate) struct Draws<'t>(pub(crate) &'t mut Random, pub(crate) &'t u64);

impl Draws<'_> {
    #[inline]
    fn begin(&mut self) -> &mut Random {
        let Draws(random, turn) = self;
        if random.before.0 != **turn {
            random.before = (**turn, random.state);
        }
        random
    }

    /// [`Random::uniform`] for this turn.
    #[inline]
    pub(crate) fn uniform(&mut self) -> f64 {
        self.begin().uniform()
    }
}

impl Random {
    /// Creates the generator of that seed. The same seed gives the same numbers on every platform.
    pub(crate) fn from_seed(seed: u64) -> Random {
        let mut seed = seed;
        Random::of(std::array::from_fn(|_| splitmix64(&mut seed)))
    }

    /// Creates a generator that goes on from a state.
    pub(crate) fn of(state: [u64; 4]) -> Random {
        Random {
            state,
            before: (u64::MAX, state),
        }
    }

    /// Returns the state of the generator.
    pub(crate) fn state(&self) -> [u64; 4] {
        self.state
    }

    /// Takes back what that turn has drawn. Returns whether it has drawn anything.
    pub(crate) fn take_back(&mut self, turn: u64) -> bool {
        let drew = self.before.0 == turn;
        if drew {
            *self = Random::of(self.before.1);
        }
        drew
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
pub(crate) fn uniform(heap: &mut Heap, mut draws: Draws<'_>) -> Value {
    heap.float(draws.uniform())
}

/// `:rand.uniform(n)`: 1..n
#[inline]
pub(crate) fn random_int(mut draws: Draws<'_>, n: Value) -> Value {
    match n.as_fixnum() {
        Some(n) if n > 0 => Value::fixnum(1 + draws.begin().below(n as u64) as i64),
        _ => Value::NONE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::terms::heap;
    use crate::values::value::FIXNUM_MAX;

    #[test]
    fn the_published_generators() {
        // Reference outputs of the authors' C code.
        let mut seed = 1234567;
        let expected = [
            6457827717110365317,
            3203168211198807973,
            9817491932198370423,
        ];
        assert_eq!([0; 3].map(|_| splitmix64(&mut seed)), expected);
        let mut random = Random::of([1, 2, 3, 4]);
        let expected = [41943041, 58720359, 3588806011781223, 3591011842654386];
        assert_eq!([0; 4].map(|_| random.next()), expected);
    }

    #[test]
    fn seeds_make_streams() {
        let take = |seed| {
            let mut random = Random::from_seed(seed);
            [0; 8].map(|_| random.next())
        };
        assert_eq!(take(1), take(1));
        assert_ne!(take(1), take(2));
        assert_ne!(take(0), [0; 8]);
    }

    #[test]
    fn uniform_is_below_one_and_even() {
        let n = if cfg!(miri) { 500 } else { 100_000 };
        let mut random = Random::from_seed(7);
        let mut sum = 0.0;
        for _ in 0..n {
            let f = random.uniform();
            assert!((0.0..1.0).contains(&f));
            sum += f;
        }
        let mean = sum / f64::from(n);
        // Six standard deviations of the mean of n.
        assert!(
            (mean - 0.5).abs() < 6.0 * (1.0 / 12.0 / f64::from(n)).sqrt(),
            "{mean}"
        );
    }

    #[test]
    fn below_gives_every_number_equally_often() {
        let n = if cfg!(miri) { 60 } else { 60_000 };
        let mut random = Random::from_seed(8);
        let mut counts = [0; 6];
        for _ in 0..n {
            counts[random.below(6) as usize] += 1;
        }
        let fair = f64::from(n) / 6.0;
        assert!(
            counts
                .iter()
                .all(|c| (f64::from(*c) - fair).abs() < 6.0 * fair.sqrt()),
            "{counts:?}"
        );
        assert_eq!(random.below(1), 0);
        assert_eq!(random.below(0), 0);
        for n in [u64::MAX, (1 << 63) + 1] {
            assert!((0..100).all(|_| random.below(n) < n));
        }
    }

    #[test]
    fn random_int_is_from_one_to_n() {
        let mut random = Random::from_seed(9);
        let mut draw = |n| random_int(Draws(&mut random, &0), n);
        assert!((0..20).all(|_| draw(Value::fixnum(1)) == Value::fixnum(1)));
        let three = Value::fixnum(3);
        assert!((0..200).all(|_| (1..=3).contains(&draw(three).as_fixnum().unwrap())));
        assert!(draw(Value::fixnum(FIXNUM_MAX)).as_fixnum().unwrap() > 0);
        for odd in [
            Value::fixnum(0),
            Value::fixnum(-1),
            Value::flonum(3.0).unwrap(),
            Value::NIL,
        ] {
            assert!(draw(odd).is_none());
        }
        let draws = Draws(&mut random, &0);
        assert!(uniform(&mut heap(), draws).as_float().is_some());
    }

    #[test]
    fn what_a_turn_has_drawn_can_be_taken_back() {
        let mut random = Random::from_seed(3);
        let million = Value::fixnum(1_000_000);
        let draw = |random: &mut Random, turn: u64| {
            [0; 3].map(|_| random_int(Draws(random, &turn), million).as_fixnum())
        };
        let first = draw(&mut random, 0);
        let second = draw(&mut random, 1);
        assert_ne!(first, second);
        assert!(random.take_back(1));
        assert_eq!(draw(&mut random, 1), second);
        // A turn that has drawn nothing has nothing to take back.
        assert!(!random.take_back(2));
        assert_ne!(draw(&mut random, 2), second);
    }
}
