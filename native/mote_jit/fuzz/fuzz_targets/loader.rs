//! Any bytes as a unit of code: `cargo +nightly fuzz run loader` (in `native/mote_jit`, with cargo-fuzz installed).
//!
//! Decoding and verifying never fail but by an error; what was decoded is what its encoding says; and whatever the
//! verifier lets pass is loaded and run on a few messages, where the address sanitizer watches that it touches nothing
//! that is not its own.
#![no_main]

#[path = "../../../mote_vm/tests/support/build.rs"]
mod build;
#[path = "../../tests/support/compiler.rs"]
mod compiler;
#[path = "../../../mote_vm/tests/support/encode.rs"]
mod encode;
#[path = "../../../mote_vm/tests/support/programs.rs"]
mod programs;
#[path = "../../tests/support/trial.rs"]
mod trial;

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use mote_vm::code::decode::decode;
use mote_vm::code::verify::verify;
use mote_vm::machine::Tier;
use std::cell::RefCell;
use trial::Court;

/// Units that one machine takes: what was loaded stays as long as somebody may run it.
const UNITS: u32 = 200;

thread_local! {
    static COURT: RefCell<Option<(Court, u32)>> = const { RefCell::new(None) };
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(unit) = decode(bytes) else { return };
    let again = decode(&encode::encode(&unit)).expect("what was decoded can be encoded");
    assert_eq!(unit, again);
    if verify(&unit).is_err() {
        return;
    }
    COURT.with_borrow_mut(|place| {
        let (court, units) = place
            .take()
            .unwrap_or_else(|| (Court::new(Tier::Native), 0));
        let ended = match court.load(bytes) {
            Ok(()) => court.hear(&unit).ended,
            Err(_) => true,
        };
        if ended && units < UNITS {
            *place = Some((court, units + 1));
        }
    });
});

// From nothing: a unit to change, since random bytes are hardly ever one.
fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let size = if size < 8 {
        let unit = if seed.is_multiple_of(2) {
            build::everything()
        } else {
            programs::fork_bomb()
        };
        let bytes = encode::encode(&unit);
        let size = bytes.len().min(max_size);
        data[..size].copy_from_slice(&bytes[..size]);
        size
    } else {
        size
    };
    fuzzer_mutate(data, size, max_size)
});
