//! Where fuel and depth end a turn: at the same call on both tiers, for the same reason, and nothing of it is heard.

use crate::build::{branch, call, is, k, op, r, ret, send, tail, Build, MODULE};
use crate::encode::encode;
use crate::hearing::heard_alike;
use mote_vm::code::ir::{Constant, Instr};
use mote_vm::terms::prim::primitive::Primitive as P;

/// Depth to which calls nest.
const DEPTH: i64 = 100_000;
const PLENTY: u64 = 1 << 40;

/// Functions that go around `n` times, in several ways.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// Each call nests in the one before, and adds to what comes back.
    Nested,
    /// Nested calls, where every second one answers something that is not an integer.
    Unusual,
    /// Nested calls, where the caller sees the answer of the innermost call.
    Seen,
    /// Nested calls over floats.
    Halves,
    /// A loop over integers.
    Loop,
    /// A loop over floats.
    Floats,
    /// A loop that calls a function whose answer it sees.
    Asking,
    /// Two functions that call each other last.
    InTurns,
    /// A tree: two calls in each.
    Tree,
}

const WAYS: [Way; 9] = [
    Way::Nested,
    Way::Unusual,
    Way::Seen,
    Way::Halves,
    Way::Loop,
    Way::Floats,
    Way::Asking,
    Way::InTurns,
    Way::Tree,
];

/// A unit whose turn calls that with `n`, and says what came of it.
fn unit(way: Way, n: i64) -> Vec<u8> {
    let mut b = Build::new();
    let zero = k(b.constant(Constant::Integer(0)));
    let one = k(b.constant(Constant::Integer(1)));
    let half = k(b.constant(Constant::Float(0.5)));
    let start = k(b.constant(Constant::Integer(n)));
    let me = b.uses(MODULE, "f", 2);
    let other = b.uses(MODULE, "g", 2);
    let asked = b.uses(MODULE, "h", 2);
    let end = |label| is(r(0), zero, label);
    let less = op(2, P::Sub, vec![r(0), one]);
    let to = |function, step: Vec<Instr>, args| {
        let code = [vec![end(2), ret(r(1)), less.clone()], step];
        [code.concat(), vec![tail(function, args)]].concat()
    };
    let nested = |step: Instr| {
        vec![
            end(2),
            ret(r(1)),
            less.clone(),
            call(3, me, vec![r(2), r(1)]),
            step,
            ret(r(4)),
        ]
    };
    let code = match way {
        Way::Nested => nested(op(4, P::Add, vec![r(3), one])),
        Way::Unusual => nested(op(4, P::Fdiv, vec![r(3), half])),
        Way::Seen => vec![
            end(2),
            ret(one),
            less.clone(),
            call(3, me, vec![r(2), zero]),
            op(4, P::Add, vec![r(3), one]),
            ret(r(4)),
        ],
        Way::Halves => vec![
            end(2),
            ret(half),
            less.clone(),
            call(3, me, vec![r(2), half]),
            op(4, P::Add, vec![r(3), half]),
            ret(r(4)),
        ],
        Way::Loop => to(me, vec![op(3, P::Add, vec![r(1), r(0)])], vec![r(2), r(3)]),
        Way::Floats => to(me, vec![op(3, P::Add, vec![r(1), half])], vec![r(2), r(3)]),
        Way::Asking => to(me, vec![call(3, asked, vec![r(2), r(1)])], vec![r(2), r(3)]),
        Way::InTurns => to(other, vec![], vec![r(2), r(1)]),
        Way::Tree => vec![
            end(2),
            ret(one),
            less.clone(),
            call(3, me, vec![r(2), zero]),
            call(4, me, vec![r(2), zero]),
            op(5, P::Add, vec![r(3), r(4)]),
            ret(r(5)),
        ],
    };
    let back = to(me, vec![], vec![r(2), r(1)]);
    let answer = vec![
        op(2, P::Ge, vec![r(0), zero]),
        branch(r(2), 3),
        ret(one),
        op(3, P::Add, vec![r(0), one]),
        ret(r(3)),
    ];
    let b = b.function("f", 2, code).function("g", 2, back);
    let b = b.function("h", 2, answer);
    let first = match way {
        Way::Floats | Way::Halves => half,
        _ => zero,
    };
    let code = vec![
        send(r(0), zero),
        call(1, me, vec![start, first]),
        send(r(0), r(1)),
        Instr::Done,
    ];
    encode(&b.behaviour("all", 0, code).0)
}

#[test]
fn fuel_ends_at_the_same_call() {
    for way in WAYS {
        for n in 0..5 {
            let unit = unit(way, n);
            let calls = match way {
                Way::Tree => (2 << n) - 1,
                Way::Asking => 2 * n as u64 + 1,
                _ => n as u64 + 1,
            };
            for fuel in [1, calls - 1, calls, calls + 1] {
                let heard = heard_alike(&unit, fuel, &format!("{way:?} of {n} with fuel {fuel}"));
                let expected = if fuel < calls { vec![":fuel"] } else { vec![] };
                assert_eq!(heard.aborts, expected, "{way:?} of {n} with fuel {fuel}");
                let messages = if fuel < calls { 0 } else { 2 };
                assert_eq!(heard.messages.len(), messages);
            }
        }
    }
}

#[test]
fn fuel_ends_at_the_same_call_of_many() {
    for way in [
        Way::Nested,
        Way::Seen,
        Way::Halves,
        Way::Loop,
        Way::Floats,
        Way::InTurns,
    ] {
        let unit = unit(way, 9_000);
        // Around the ends of slices.
        for fuel in [4095, 4096, 4097, 8192, 9_000, 9_001] {
            let heard = heard_alike(&unit, fuel, &format!("{way:?} with fuel {fuel}"));
            assert_eq!(heard.aborts.is_empty(), fuel > 9_000, "{way:?}, {fuel}");
        }
    }
}

#[test]
fn depth_ends_at_the_same_call() {
    for way in [Way::Nested, Way::Unusual, Way::Seen, Way::Halves] {
        for n in [DEPTH - 2, DEPTH - 1, DEPTH] {
            let heard = heard_alike(&unit(way, n), PLENTY, &format!("{way:?} of {n}"));
            let expected = if n < DEPTH { vec![] } else { vec![":stack"] };
            assert_eq!(heard.aborts, expected, "{way:?} of {n}");
        }
    }
    // What ends for want of both ends for want of fuel.
    for way in [Way::Nested, Way::Seen] {
        let heard = heard_alike(&unit(way, DEPTH), DEPTH as u64, "both");
        assert_eq!(heard.aborts, [":fuel"]);
    }
    for way in [Way::Loop, Way::Asking, Way::InTurns] {
        assert!(heard_alike(&unit(way, 2 * DEPTH), PLENTY, "tail calls")
            .aborts
            .is_empty());
    }
}
