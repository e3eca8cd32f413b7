//! Whether a map has an atom as a key, by native code in line where the map's header tells (src/body/atom_keys.rs): of maps of
//! all sizes with and without atoms, of maps that had one, and of values that are not maps.

use crate::build::{branch, call, guard, k, mov, op, r, ret, says_each, tuple, Build, MODULE};
use crate::encode::encode;
use crate::hearing::{cases, heard_alike};
use mote_vm::code::ir::{Constant, Instr, Label, Operand, Register};
use mote_vm::terms::prim::primitive::Primitive as P;
use mote_vm::values::value::{FIXNUM_MAX, FIXNUM_MIN};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

const PLENTY: u64 = 1 << 40;

/// The answer in a pair with a float that is there on all ways; on the way of `true` in a triple. `:undefined` for what is no
/// map.
fn asks(key: Operand, half: Operand) -> Vec<Instr> {
    let pair = |elements: Vec<Operand>| [tuple(4, elements), ret(r(4))];
    let mut code = vec![
        op(2, P::Mul, [r(1), half]),
        guard(3, P::MapHasKey, [r(0), key], 7),
        branch(r(3), 5),
    ];
    code.extend(pair(vec![r(3), r(2), r(2)]));
    code.extend(pair(vec![r(3), r(2)]));
    code.push(op(3, P::MapHasKey, [r(0), key]));
    code.extend(pair(vec![r(3), r(2)]));
    code
}

/// A map of integers from 0 on, with these atoms.
fn map(b: &mut Build, integers: i64, atoms: &[&str]) -> u32 {
    let integers = (0..integers).map(Constant::Integer);
    let atoms = atoms.iter().map(|text| b.atom(text)).map(Constant::Atom);
    let keys: Vec<Constant> = integers.chain(atoms.collect::<Vec<_>>()).collect();
    let entries = keys.into_iter().map(|key| b.constant(key));
    let entries = entries.map(|key| (key, key)).collect();
    b.constant(Constant::Map(entries))
}

#[test]
fn whether_there_is_an_atom() {
    let mut b = Build::new();
    let key = b.atom("key");
    let [key, half, three] = [
        Constant::Atom(key),
        Constant::Float(0.5),
        Constant::Float(3.0),
    ]
    .map(|constant| k(b.constant(constant)));
    let has = b.uses(MODULE, "has", 2);
    let changed = b.uses(MODULE, "changed", 2);
    let (mut calls, mut expected) = (vec![], vec![]);
    for size in [0, 1, 2, 31, 32, 33, 100, 1_100] {
        for atoms in [&[][..], &["key"], &["a"], &["a", "key", "z"]] {
            let map = k(map(&mut b, size, atoms));
            calls.extend([has, changed].map(|asked| call(1, asked, [map, three])));
            let said = |has| match has {
                true => "{:true,1.5,1.5,}",
                false => "{:false,1.5,}",
            };
            let before = said(atoms.contains(&"key"));
            expected.push(before.to_string());
            expected.push(format!("{{{},{},{before},}}", said(true), said(false)));
        }
    }
    for no_map in [k(0), k(1), key, half] {
        calls.push(call(1, has, [no_map, three]));
        expected.push("{:undefined,1.5,}".to_string());
    }
    let changes = vec![
        op(2, P::MapPut, [r(0), key, key]),
        call(3, has, [r(2), r(1)]),
        op(2, P::MapDelete, [r(2), key]),
        call(4, has, [r(2), r(1)]),
        op(2, P::MapPut, [r(0), half, key]),
        call(5, has, [r(2), r(1)]),
        tuple(2, [r(3), r(4), r(5)]),
        ret(r(2)),
    ];
    let b = b
        .function("has", 2, asks(key, half))
        .function("changed", 2, changes)
        .behaviour("all", 0, says_each(calls));
    let heard = heard_alike(&encode(&b.0), PLENTY, "atoms");
    assert_eq!(heard.messages, expected);
}

/// Registers: two parameters, a map and a key; maps that are made of it; the last answer; and what is made at the end.
const KEY: Register = 1;
const MAPS: [Register; 2] = [2, 3];
const ANSWER: Register = 4;
const LAST: Register = 5;

/// An operation on maps. Each names the maps that it reads and writes, and a key, where 0 is the parameter.
#[derive(Clone, Copy, Debug)]
enum Step {
    Put(Register, Register, usize),
    Delete(Register, Register, usize),
    Merge(Register, Register, Register),
    /// These skip the next step where there is no answer.
    Update(Register, Register, usize),
    Fetch(Register, usize),
    Has(Register, usize),
    /// Skips the next step unless the last answer is `true`.
    Branch,
    Get(Register, usize),
}

fn step() -> impl Strategy<Value = Step> {
    let map = || select(&MAPS[..]);
    let key = || 0..=KEYS;
    prop_oneof![
        4 => (map(), map(), key()).prop_map(|(a, b, n)| Step::Put(a, b, n)),
        4 => (map(), map(), key()).prop_map(|(a, b, n)| Step::Delete(a, b, n)),
        1 => (map(), map(), map()).prop_map(|(a, b, c)| Step::Merge(a, b, c)),
        2 => (map(), map(), key()).prop_map(|(a, b, n)| Step::Update(a, b, n)),
        2 => (map(), key()).prop_map(|(a, n)| Step::Fetch(a, n)),
        4 => (map(), key()).prop_map(|(a, n)| Step::Has(a, n)),
        2 => Just(Step::Branch),
        2 => (map(), key()).prop_map(|(a, n)| Step::Get(a, n)),
    ]
}

/// Number of keys besides integers from 0 on.
const KEYS: usize = 18;

/// Atoms, integers at the ends of what is one word and beyond, zeros of both signs, and what has parts.
fn keys(b: &mut Build) -> Vec<u32> {
    let atoms = ["a", "key", "true", "nil", "z"].map(|text| b.atom(text));
    let numbers = [-1, 0, 7, 31, 32, FIXNUM_MAX, FIXNUM_MIN].map(Constant::Integer);
    let floats = [0.0, -0.0, 7.0].map(Constant::Float);
    let big = Constant::Big {
        negative: false,
        bytes: vec![1; 9],
    };
    let text = Constant::Binary(b"key".to_vec());
    let keys = atoms.map(Constant::Atom).into_iter().chain(numbers);
    let keys = keys.chain(floats).chain([big, text]).collect::<Vec<_>>();
    let mut keys: Vec<u32> = keys.into_iter().map(|key| b.constant(key)).collect();
    keys.push(b.constant(Constant::Tuple(vec![keys[0], keys[5]])));
    assert_eq!(keys.len(), KEYS);
    keys
}

fn instruction(step: Step, after_next: Label, keys: &[u32]) -> Instr {
    let key = |n: usize| n.checked_sub(1).map_or(r(KEY), |n| k(keys[n]));
    let guard = |dst, primitive, args: Vec<Operand>| Instr::GuardOp {
        dst,
        primitive,
        args,
        label: after_next,
    };
    match step {
        Step::Put(to, map, n) => op(to, P::MapPut, [r(map), key(n), r(KEY)]),
        Step::Delete(to, map, n) => op(to, P::MapDelete, [r(map), key(n)]),
        Step::Merge(to, a, b) => op(to, P::MapMerge, [r(a), r(b)]),
        Step::Update(to, map, n) => guard(to, P::MapUpdate, vec![r(map), key(n), r(ANSWER)]),
        Step::Fetch(map, n) => guard(ANSWER, P::MapFetch, vec![r(map), key(n)]),
        Step::Has(map, n) => guard(ANSWER, P::MapHasKey, vec![r(map), key(n)]),
        Step::Branch => branch(r(ANSWER), after_next),
        Step::Get(map, n) => op(ANSWER, P::MapGet, [r(map), key(n), r(KEY)]),
    }
}

/// A unit whose turn says all that is in the maps after the steps: of maps of each size, without some of the keys, for each key.
fn changing(steps: &[Step], sizes: &[i64], first: usize) -> Vec<u8> {
    let mut b = Build::new();
    let keys = keys(&mut b);
    let mut code = vec![mov(MAPS[0], r(0)), mov(MAPS[1], r(0)), mov(ANSWER, r(KEY))];
    for step in steps {
        let after_next = code.len() as Label + 2;
        code.push(instruction(*step, after_next, &keys));
    }
    // Where the last step skips one.
    code.push(mov(LAST, r(KEY)));
    code.extend(MAPS.map(|map| op(map, P::ToList, [r(map)])));
    code.push(tuple(LAST, [ANSWER, MAPS[0], MAPS[1]].map(r)));
    code.push(ret(r(LAST)));
    let f = b.uses(MODULE, "f", 2);
    let mut calls = vec![];
    for size in sizes {
        let integers = (100..100 + *size).map(|n| b.constant(Constant::Integer(n)));
        let mut entries: Vec<u32> = integers.collect();
        entries.extend(&keys[first.min(keys.len())..]);
        let map = Constant::Map(entries.into_iter().map(|key| (key, key)).collect());
        let map = b.constant(map);
        calls.extend(keys.iter().map(|key| call(1, f, [k(map), k(*key)])));
    }
    let b = b.function("f", 2, code);
    encode(&b.behaviour("all", 0, says_each(calls)).0)
}

proptest! {
    #![proptest_config(cases(40, 10_000))]

    #[test]
    fn maps_with_keys_of_all_kinds(steps in vec(step(), 1..16), first in 0..=KEYS) {
        let unit = changing(&steps, &[0, 13, 14, 31, 60], first);
        let heard = heard_alike(&unit, PLENTY, &format!("{steps:?} from {first}"));
        prop_assert_eq!(heard.messages.len(), 5 * KEYS);
    }
}
