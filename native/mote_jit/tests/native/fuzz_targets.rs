//! The targets of fuzzing without libFuzzer, which needs a nightly compiler: they still fit, and take their first inputs.

// Elsewhere each is a program of its own: hence `no_main`, and modules that this program has as well.
#[path = "../../fuzz/fuzz_targets/loader.rs"]
#[allow(unused_attributes, clippy::duplicate_mod)]
mod loader;
#[path = "../../fuzz/fuzz_targets/tiers.rs"]
#[allow(unused_attributes, clippy::duplicate_mod)]
mod tiers;

/// The target as a function.
#[macro_export]
macro_rules! fuzz_target {
    (|$bytes:ident: &[u8]| $body:block) => {
        pub fn target($bytes: &[u8]) $body
    };
}

/// The mutator as a function.
#[macro_export]
macro_rules! fuzz_mutator {
    (|$data:ident: &mut [u8], $size:ident: usize, $max:ident: usize, $seed:ident: u32| $body:block) => {
        pub fn mutate($data: &mut [u8], $size: usize, $max: usize, $seed: u32) -> usize $body
    };
}

/// Changes one byte, where libFuzzer would change what it thinks best.
pub fn fuzzer_mutate(data: &mut [u8], size: usize, _max_size: usize) -> usize {
    data[size / 2] ^= 1;
    size
}

#[test]
fn the_loader_takes_units_and_what_becomes_of_them() {
    for seed in 0..2 {
        let mut input = vec![0; 1 << 16];
        let size = loader::mutate(&mut input, 0, 1 << 16, seed);
        assert!(size >= 8, "a unit to begin with");
        loader::target(&input[..size]);
        for cut in 1..40 {
            loader::target(&input[..size - size * cut / 40]);
            let flipped = &mut input[size * cut / 40];
            *flipped ^= 1 << (cut % 8);
            loader::target(&input[..size]);
        }
    }
}

#[test]
fn the_tiers_agree_about_what_tapes_say() {
    for length in 0..20 {
        let tape: Vec<u8> = (0..length * 16)
            .map(|at| (at * 37 + length) as u8)
            .collect();
        tiers::target(&tape);
    }
}
