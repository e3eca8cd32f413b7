//! Code that nobody wrote, run: random units and changed ones, whatever the verifier lets pass.
//!
//! Nothing crashes, and a unit does the same as native code as on the interpreter.

use crate::build;
use crate::encode::encode;
use crate::generate;
use crate::hearing::cases;
use crate::programs;
use crate::random;
use crate::trial::{self, Court, Seen};
use mote_vm::code::decode::decode;
use mote_vm::code::ir::Instr;
use mote_vm::code::verify::verify;
use mote_vm::machine::Tier;
use mote_vm::terms::prim::primitive::Primitive;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::collections::BTreeSet;

/// Returns everything that can be seen of a unit on a machine of its own, if the verifier lets it pass.
fn tried(bytes: &[u8], tier: Tier) -> Option<Seen> {
    let unit = decode(bytes).ok()?;
    verify(&unit).ok()?;
    let court = Court::new(tier);
    court.load(bytes).ok()?;
    assert_eq!(court.refused(), 0);
    Some(court.hear(&unit))
}

/// Times that both tiers are tried with a unit that may order addresses, until they agree. A unit that is compiled wrongly in the same
/// way each time never does. Every other unit is tried once.
const TRIES: usize = 8;

fn judged(bytes: &[u8]) -> Result<(), TestCaseError> {
    let Some(mut seen) = tried(bytes, Tier::Interpreter) else {
        return Ok(());
    };
    let unit = decode(bytes).unwrap();
    if !trial::is_deterministic(&unit) {
        return Ok(());
    }
    let mut native = tried(bytes, Tier::Native).unwrap();
    let tries = if trial::may_order_addresses(&unit) {
        TRIES
    } else {
        1
    };
    for _ in 1..tries {
        if seen.agrees(&native) {
            break;
        }
        seen = tried(bytes, Tier::Interpreter).unwrap();
        native = tried(bytes, Tier::Native).unwrap();
    }
    prop_assert!(
        seen.agrees(&native),
        "interpreted\n{seen:#?}\nand native\n{native:#?}"
    );
    // Another machine has the same image, with words of its own.
    let again = tried(bytes, Tier::Native).unwrap();
    prop_assert!(
        tries > 1 || seen.agrees(&again),
        "interpreted\n{seen:#?}\nand native, placed again\n{again:#?}"
    );
    Ok(())
}

proptest! {
    #![proptest_config(cases(150, 20_000))]

    #[test]
    fn generated_units(tape in vec(any::<u8>(), 0..700)) {
        let unit = generate::unit(&tape);
        prop_assert_eq!(verify(&unit).map(|_| ()), Ok(()));
        judged(&encode(&unit))?;
    }

    #[test]
    fn generated_units_with_changes(
        tape in vec(any::<u8>(), 0..700),
        changes in vec(random::change(), 1..3),
    ) {
        let mut bytes = encode(&generate::unit(&tape));
        changes.iter().for_each(|change| random::changed(&mut bytes, change));
        judged(&bytes)?;
    }

    #[test]
    fn written_units_with_changes(which in 0..2usize, changes in vec(random::change(), 0..4)) {
        let unit = [build::everything(), programs::fork_bomb()][which].clone();
        let mut bytes = encode(&unit);
        changes.iter().for_each(|change| random::changed(&mut bytes, change));
        judged(&bytes)?;
    }
}

/// Checks the worth of the tests above: every instruction and every primitive is generated, and what runs is mostly seen.
#[test]
fn generated_units_have_everything_and_show_it() {
    let mut runner = TestRunner::deterministic();
    let tapes = vec(any::<u8>(), 0..700);
    let mut codes = BTreeSet::new();
    let mut primitives = BTreeSet::new();
    let (mut ended, mut sent) = (0, 0);
    for n in 0..400 {
        let unit = generate::unit(&tapes.new_tree(&mut runner).unwrap().current());
        let functions = unit.functions.iter().flat_map(|f| &f.code);
        for instr in functions.chain(unit.behaviours.iter().flat_map(|b| &b.code)) {
            let text = format!("{instr:?}");
            codes.insert(text.split(' ').next().unwrap().to_owned());
            if let Instr::Op { primitive, .. } | Instr::GuardOp { primitive, .. } = instr {
                primitives.insert(*primitive);
            }
        }
        if n < 100 {
            let seen = tried(&encode(&unit), Tier::Native).expect("fit to run");
            ended += u32::from(seen.ended);
            sent += seen.lines.iter().filter(|l| l.starts_with("sent")).count();
        }
    }
    // All but those that depend on chance or time.
    assert_eq!(codes.len(), 29, "{codes:?}");
    assert_eq!(primitives.len(), Primitive::ALL.len() - 3, "{primitives:?}");
    assert!(
        ended > 80 && sent > 1_500,
        "{ended} of 100 ended, {sent} messages"
    );
}
