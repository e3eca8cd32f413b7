//! Functions that answer truth values, inlined where their caller asks for the answer at once (src/body/inline.rs), and lists that
//! they take apart: what they answer, what they answer that is no truth value, where fuel ends.

use crate::build::{
    branch, call, is, k, match_cons, mov, op, r, ret, says_each, tail, Build, MODULE,
};
use crate::encode::encode;
use crate::hearing::heard_alike;
use mote_vm::code::ir::{Constant, Instr, Operand};
use mote_vm::terms::prim::primitive::Primitive as P;

const PLENTY: u64 = 1 << 40;

/// The way in which the caller asks for the answer.
#[derive(Clone, Copy, Debug)]
enum Asking {
    Branch,
    Falsy,
    /// A `Falsy` whose call is made, since it is not known what is passed.
    FalsyMade,
    /// Nothing branches at once.
    Value,
}

const ASKING: [Asking; 4] = [
    Asking::Branch,
    Asking::Falsy,
    Asking::FalsyMade,
    Asking::Value,
];

/// A constant list that ends with that.
fn list(b: &mut Build, elements: &[Constant], end: Constant) -> u32 {
    let mut tail = b.constant(end);
    for element in elements.iter().rev() {
        let head = b.constant(element.clone());
        tail = b.constant(Constant::Cons { head, tail });
    }
    tail
}

/// A unit whose turn says of each list, by two functions, whether none of its elements is what `from` has grown to, by one with each; the
/// second says where the answer led, too. At what is no list, the answer is whether that is not true. A third takes the list apart.
fn unit(asking: Asking, lists: impl Fn(&mut Build) -> Vec<Operand>, from: Constant) -> Vec<u8> {
    let mut b = Build::new();
    let [zero, one] = [0, 1].map(|n| k(b.constant(Constant::Integer(n))));
    let [yes, no] = ["true", "false"].map(|text| {
        let atom = b.atom(text);
        k(b.constant(Constant::Atom(atom)))
    });
    let from = k(b.constant(from));
    let (safe, asks) = (b.uses(MODULE, "safe", 2), b.uses(MODULE, "asks", 2));
    let goes = vec![
        is(r(0), k(1), 2),
        ret(yes),
        match_cons(r(0), 2, 3, 8),
        op(4, P::Ne, [r(2), r(1)]),
        branch(r(4), 7),
        op(1, P::Add, [r(1), one]),
        tail(safe, [r(3), r(1)]),
        ret(no),
        op(4, P::Not, [r(0)]),
        ret(r(4)),
    ];
    let pair = |first: Operand| Instr::Tuple {
        dst: 3,
        elements: vec![first, r(2), r(1)],
    };
    let branches = match asking {
        Asking::Branch => Some(branch(r(2), 5)),
        Asking::Falsy | Asking::FalsyMade => Some(Instr::Falsy {
            value: r(2),
            label: 5,
        }),
        Asking::Value => None,
    };
    // From there on it is known to be an integer, unless it is none.
    let known = match asking {
        Asking::FalsyMade => mov(1, r(1)),
        _ => op(1, P::Add, [r(1), zero]),
    };
    let mut code = vec![known, call(2, safe, [r(0), r(1)])];
    if let Some(branches) = branches {
        code.extend([branches, pair(one), ret(r(3))]);
    }
    code.extend([pair(zero), ret(r(3))]);
    let cell = |value, label| match_cons(value, 2, 3, label);
    // Of an empty list the other argument is taken apart.
    let parts = vec![
        is(r(0), k(1), 4),
        cell(r(1), 3),
        ret(r(2)),
        ret(no),
        cell(r(0), 6),
        ret(r(2)),
        ret(one),
    ];
    let part = b.uses(MODULE, "part", 2);
    let lists = lists(&mut b);
    let b = b.function("safe", 2, goes).function("asks", 2, code);
    let b = b.function("part", 2, parts);
    let calls = lists.into_iter().flat_map(|list| {
        let args = [list, from];
        [safe, asks, part].map(|function| call(1, function, args))
    });
    let calls: Vec<Instr> = calls.collect();
    encode(&b.behaviour("all", 0, says_each(calls)).0)
}

/// Lists, and a value that is not a list.
fn several(b: &mut Build) -> Vec<Operand> {
    let integers = |from: i64, count: i64| (from..from + count).map(Constant::Integer);
    let atom = Constant::Atom(b.atom("atom"));
    let [truth, lie] = ["true", "false"].map(|text| Constant::Atom(b.atom(text)));
    let mixed = [
        atom.clone(),
        Constant::Float(4.0),
        Constant::Integer(9),
        Constant::Nil,
    ];
    let mut all = vec![];
    for (elements, end) in [
        (vec![], Constant::Nil),
        (integers(10, 5).collect(), Constant::Nil),
        (integers(3, 5).collect(), Constant::Nil),
        (
            vec![Constant::Integer(1), Constant::Integer(4)],
            Constant::Nil,
        ),
        (
            vec![Constant::Integer(1), Constant::Float(4.0)],
            Constant::Nil,
        ),
        (
            vec![Constant::Integer(1), Constant::Integer(1)],
            atom.clone(),
        ),
        (integers(10, 3).collect(), truth.clone()),
        (integers(10, 3).collect(), lie.clone()),
        (mixed.to_vec(), Constant::Nil),
        (vec![], atom),
        (vec![], truth),
        (vec![], lie),
        (vec![], Constant::Integer(28)),
    ] {
        all.push(k(list(b, &elements, end)));
    }
    all
}

#[test]
fn answers_lead_where_they_are_asked_for() {
    let froms = [
        Constant::Integer(3),
        Constant::Integer((1 << 62) - 2),
        Constant::Float(3.0),
        Constant::Nil,
    ];
    let mut heard = std::collections::BTreeSet::new();
    for asking in ASKING {
        for from in &froms {
            let what = format!("{asking:?} from {from:?}");
            let said = heard_alike(&unit(asking, several, from.clone()), PLENTY, &what);
            assert_eq!((said.messages.len(), said.aborts.len()), (39, 0), "{what}");
            heard.extend(said.messages);
        }
    }
    assert!(heard.len() > 15, "{heard:?}");
}

#[test]
fn fuel_ends_in_each_round() {
    for count in [1, 4, 5_000] {
        let numbers = |b: &mut Build| {
            let elements: Vec<Constant> = (0..count).map(|_| Constant::Integer(0)).collect();
            vec![k(list(b, &elements, Constant::Nil))]
        };
        // Twice, the call around it, and the last one.
        let needed = 2 * (count as u64 + 1) + 2;
        for asking in ASKING {
            let unit = unit(asking, numbers, Constant::Integer(1));
            for fuel in [1..9, 4_094..4_099, 8_190..8_196, needed - 2..needed + 2] {
                for fuel in fuel {
                    let what = format!("{asking:?}, {count} elements with fuel {fuel}");
                    let heard = heard_alike(&unit, fuel, &what);
                    assert_eq!(heard.aborts.is_empty(), fuel >= needed, "{what}");
                }
            }
        }
    }
}
