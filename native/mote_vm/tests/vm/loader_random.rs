//! Random input: nothing panics, and the verifier agrees with a slow one that walks every path.

use crate::build::everything;
use crate::encode::encode;
use crate::random::{change, changed, unit};
use crate::reference;
use mote_vm::code::decode::decode;
use mote_vm::code::verify::verify;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

/// Checks everything that can be said of any bytes at all. Returns whether they are a unit fit to run.
fn judged(bytes: &[u8]) -> Result<bool, TestCaseError> {
    let unit = match decode(bytes) {
        Ok(unit) => unit,
        Err(error) => {
            prop_assert!(!error.to_string().is_empty());
            return Ok(false);
        }
    };
    prop_assert_eq!(decode(&encode(&unit)), Ok(unit.clone()));
    let slow = reference::check(&unit);
    match verify(&unit) {
        Ok(verified) => {
            prop_assert_eq!(slow, Ok(()));
            prop_assert_eq!(verified.into_unit(), unit);
            Ok(true)
        }
        Err(error) => {
            prop_assert!(slow.is_err(), "refused for no reason: {}", error);
            Ok(false)
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn random_bytes(bytes in vec(any::<u8>(), 0..200)) {
        judged(&bytes)?;
        judged(&[b"MOTE\x02", &bytes[..]].concat())?;
        // Small numbers get further, and a head that is in order even more so.
        let small: Vec<u8> = bytes.iter().map(|byte| byte & 7).collect();
        judged(&[b"MOTE\x02\x01T\0\0\0\0\0\0\0\0\x01\x01a", &small[..]].concat())?;
    }

    #[test]
    fn changed_units(changes in vec(change(), 1..4)) {
        let mut bytes = encode(&everything());
        changes.iter().for_each(|change| changed(&mut bytes, change));
        judged(&bytes)?;
    }

    #[test]
    fn changed_random_units(unit in unit(), changes in vec(change(), 0..3)) {
        let mut bytes = encode(&unit);
        changes.iter().for_each(|change| changed(&mut bytes, change));
        judged(&bytes)?;
    }

    #[test]
    fn the_verifier_agrees_with_a_walk_of_every_path(unit in unit()) {
        let fast = verify(&unit).map(|_| ()).map_err(|error| error.to_string());
        let slow = reference::check(&unit);
        prop_assert_eq!(fast.is_ok(), slow.is_ok(), "{:?} but {:?}", fast, slow);
    }
}

/// The agreement above says something only if random units are of both kinds.
#[test]
fn random_units_are_often_accepted_and_often_refused() {
    let mut runner = TestRunner::deterministic();
    let strategy = unit();
    let accepted = (0..1000)
        .filter(|_| verify(&strategy.new_tree(&mut runner).unwrap().current()).is_ok())
        .count();
    assert!((50..950).contains(&accepted), "{accepted} of 1000");
}
