//! Native code against the interpreter: `cargo +nightly fuzz run tiers` (in `native/mote_vm`, with cargo-fuzz installed).
//!
//! The bytes are a tape of which a unit is made that is fit to run (`tests/support/generate.rs`); what can be seen of it
//! must be the same on both tiers.
#![no_main]

#[path = "../../tests/support/build.rs"]
mod build;
#[path = "../../tests/support/encode.rs"]
mod encode;
#[path = "../../tests/support/generate.rs"]
mod generate;
#[path = "../../tests/support/trial.rs"]
mod trial;

use libfuzzer_sys::fuzz_target;
use mote_vm::machine::Tier;
use trial::Court;

fuzz_target!(|tape: &[u8]| {
    let unit = generate::unit(tape);
    let bytes = encode::encode(&unit);
    let [interpreted, native] = [Tier::Interpreter, Tier::Native].map(|tier| {
        let court = Court::new(tier);
        court.load(&bytes).expect("fit to run");
        court.hear(&unit)
    });
    assert!(
        interpreted.agrees(&native),
        "{unit:#?}\ninterpreted\n{interpreted:#?}\nand native\n{native:#?}"
    );
});
