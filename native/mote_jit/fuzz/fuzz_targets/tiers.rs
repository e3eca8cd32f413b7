//! Native code against the interpreter: `cargo +nightly fuzz run tiers` (in `native/mote_jit`, with cargo-fuzz installed).
//!
//! The bytes are a tape of which a unit is made that is fit to run (`tests/support/generate.rs`); what can be seen of it
//! must be the same on both tiers.
#![no_main]

#[path = "../../../mote_vm/tests/support/build.rs"]
mod build;
#[path = "../../tests/support/compiler.rs"]
mod compiler;
#[path = "../../../mote_vm/tests/support/encode.rs"]
mod encode;
#[path = "../../tests/support/generate.rs"]
mod generate;
#[path = "../../tests/support/trial.rs"]
mod trial;

use libfuzzer_sys::fuzz_target;
use mote_vm::machine::Tier;
use std::cell::RefCell;
use trial::Court;

/// Units that two machines take: what was loaded stays as long as somebody may run it.
const UNITS: u32 = 200;

thread_local! {
    static COURTS: RefCell<Option<([Court; 2], u32)>> = const { RefCell::new(None) };
}

fuzz_target!(|tape: &[u8]| {
    let unit = generate::unit(tape);
    let bytes = encode::encode(&unit);
    COURTS.with_borrow_mut(|place| {
        let start = || [Tier::Interpreter, Tier::Native].map(Court::new);
        let (courts, units) = place.take().unwrap_or_else(|| (start(), 0));
        let [interpreted, native] = courts.each_ref().map(|court| {
            court.load(&bytes).expect("fit to run");
            court.hear(&unit)
        });
        assert!(
            interpreted.agrees(&native),
            "{unit:#?}\ninterpreted\n{interpreted:#?}\nand native\n{native:#?}"
        );
        if interpreted.ended && native.ended && units < UNITS {
            *place = Some((courts, units + 1));
        }
    });
});
