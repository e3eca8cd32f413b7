//! Functions that call themselves: native code makes the first level of such calls in line (src/body/inline.rs). Here they
//! end in a frame of their own and in line: by fuel, by depth, by what they answer, on both tiers.

use crate::build::{branch, call, k, mov, op, r, ret, send, Build, MODULE};
use crate::encode::encode;
use crate::hearing::heard_alike;
use mote_vm::code::ir::{Constant, Instr};
use mote_vm::terms::prim::primitive::Primitive as P;
use mote_vm::values::value::FIXNUM_MAX;

/// Depth to which calls nest.
const DEPTH: i64 = 100_000;
const PLENTY: u64 = 1 << 40;

/// The terms that a function of n adds up.
#[derive(Clone, Copy, Debug)]
enum Shape {
    /// Itself of n - 1, and one.
    Once,
    /// Itself of n - 1, and of n - 2.
    Tree,
    /// Itself of n - 1, and of 0.
    First,
    /// Itself of 0, and of n - 1.
    Second,
}

const SHAPES: [Shape; 4] = [Shape::Once, Shape::Tree, Shape::First, Shape::Second];

/// A unit whose turn calls that with `n`, `below` frames down, and says what came of it; the innermost call answers `base`.
fn unit(shape: Shape, base: Constant, n: i64, below: usize) -> Vec<u8> {
    let mut b = Build::new();
    let base = k(b.constant(base));
    let [zero, one, two, n] = [0, 1, 2, n].map(|integer| k(b.constant(Constant::Integer(integer))));
    let me = b.uses(MODULE, "f", 1);
    let caller = b.uses(MODULE, "g", 1);
    let (least, first, second) = match shape {
        Shape::Once => (one, call(3, me, [r(2)]), mov(5, one)),
        Shape::Tree => (two, call(3, me, [r(2)]), call(5, me, [r(4)])),
        Shape::First => (one, call(3, me, [r(2)]), call(5, me, [zero])),
        Shape::Second => (one, call(3, me, [zero]), call(5, me, [r(2)])),
    };
    let code = vec![
        op(1, P::Lt, [r(0), least]),
        branch(r(1), 3),
        ret(base),
        op(2, P::Sub, [r(0), one]),
        first,
        op(4, P::Sub, [r(0), two]),
        second,
        op(6, P::Add, [r(3), r(5)]),
        ret(r(6)),
    ];
    let between = vec![call(1, me, [r(0)]), op(1, P::Add, [r(1), one]), ret(r(1))];
    let b = b.function("f", 1, code).function("g", 1, between);
    let function = if below == 0 { me } else { caller };
    let code = vec![call(1, function, [n]), send(r(0), r(1)), Instr::Done];
    encode(&b.behaviour("all", 0, code).0)
}

/// Returns the number of calls of the function.
fn calls(shape: Shape, n: i64) -> u64 {
    match shape {
        _ if n < 1 => 1,
        Shape::Once => 1 + n as u64,
        Shape::Tree if n < 2 => 1,
        Shape::Tree => 1 + calls(shape, n - 1) + calls(shape, n - 2),
        Shape::First | Shape::Second => 2 + calls(shape, n - 1),
    }
}

#[test]
fn answers_of_all_kinds_come_back() {
    let mut undefined = 0;
    for shape in SHAPES {
        for base in [
            Constant::Integer(1),
            Constant::Integer(FIXNUM_MAX - 2),
            Constant::Integer(FIXNUM_MAX / 3),
            Constant::Float(0.5),
            Constant::Nil,
        ] {
            for n in 0..8 {
                for below in 0..2 {
                    let what = format!("{shape:?} of {n} from {base:?}, {below}");
                    let unit = unit(shape, base.clone(), n, below);
                    let heard = heard_alike(&unit, PLENTY, &what);
                    assert_eq!(heard.messages.len(), 1, "{what}");
                    undefined += usize::from(heard.messages[0] == ":undefined");
                }
            }
        }
    }
    assert!(undefined > 50 && undefined < 250, "{undefined}");
}

#[test]
fn fuel_ends_at_each_call() {
    for shape in SHAPES {
        for n in 0..6 {
            let unit = unit(shape, Constant::Integer(1), n, 0);
            let calls = calls(shape, n);
            for fuel in 1..=calls + 1 {
                let what = format!("{shape:?} of {n} with fuel {fuel}");
                let heard = heard_alike(&unit, fuel, &what);
                assert_eq!(heard.aborts.is_empty(), fuel >= calls, "{what}");
            }
        }
    }
    // Over the ends of slices.
    let unit = unit(Shape::Tree, Constant::Integer(1), 16, 0);
    let calls = calls(Shape::Tree, 16);
    for fuel in [250..260, 508..516, calls - 4..calls + 2]
        .into_iter()
        .flatten()
    {
        let heard = heard_alike(&unit, fuel, &format!("a large tree with fuel {fuel}"));
        assert_eq!(heard.aborts.is_empty(), fuel >= calls, "{fuel}");
    }
}

#[test]
fn depth_ends_at_each_call() {
    for shape in [Shape::Once, Shape::First, Shape::Second] {
        for below in 0..2 {
            for n in DEPTH - 3..=DEPTH + 1 {
                let what = format!("{shape:?} of {n}, {below}");
                let unit = unit(shape, Constant::Integer(1), n, below);
                let heard = heard_alike(&unit, PLENTY, &what);
                let fits = n + 1 + below as i64 <= DEPTH;
                let expected = if fits { vec![] } else { vec![":stack"] };
                assert_eq!(heard.aborts, expected, "{what}");
            }
        }
    }
}
