//! Sums of integers that were compared before: native code does not test those for overflow that a comparison has shown to
//! fit (src/range.rs). Here they are compared with what is at the edges, and added to from there, on both tiers.

use crate::build::{branch, call, k, op, r, ret, send, Build, MODULE};
use crate::encode::encode;
use crate::hearing::heard_each;
use mote_vm::code::ir::{Constant, Instr};
use mote_vm::terms::prim::primitive::Primitive as P;
use mote_vm::values::value::{FIXNUM_MAX, FIXNUM_MIN};

const COMPARISONS: [P; 8] = [P::Eq, P::Ne, P::Same, P::Differ, P::Lt, P::Le, P::Gt, P::Ge];

const BOUNDS: [i64; 5] = [FIXNUM_MIN, FIXNUM_MIN + 1, 2, FIXNUM_MAX - 1, FIXNUM_MAX];

const STEPS: [i64; 4] = [1, -2, FIXNUM_MAX, FIXNUM_MIN];

const STARTS: [i64; 10] = [
    FIXNUM_MIN,
    FIXNUM_MIN + 1,
    FIXNUM_MIN + 2,
    1,
    2,
    3,
    FIXNUM_MAX - 3,
    FIXNUM_MAX - 2,
    FIXNUM_MAX - 1,
    FIXNUM_MAX,
];

#[test]
fn sums_after_comparisons() {
    let mut b = Build::new();
    let mut functions = Vec::new();
    let integer = |b: &mut Build, n| k(b.constant(Constant::Integer(n)));
    for p in COMPARISONS {
        for bound in BOUNDS {
            for step in STEPS {
                for turned in [false, true]
                    .into_iter()
                    .filter(|turned| !turned || step == 1)
                {
                    let (end, by) = (integer(&mut b, bound), integer(&mut b, step));
                    let name = format!("f {}", functions.len());
                    let me = b.uses(MODULE, &name, 1);
                    // On one way added to twice, on the other one taken from; and compared after a sum.
                    let compared = if turned { [end, r(0)] } else { [r(0), end] };
                    let code = vec![
                        op(1, p, compared),
                        branch(r(1), 5),
                        op(2, P::Add, [r(0), by]),
                        op(2, P::Add, [r(2), by]),
                        ret(r(2)),
                        op(2, P::Sub, [r(0), by]),
                        op(3, P::Lt, [r(2), end]),
                        branch(r(3), 9),
                        op(2, P::Add, [r(2), r(0)]),
                        ret(r(2)),
                    ];
                    b = b.function(&name, 1, code);
                    functions.push((me, format!("{p:?} {bound}, then {step}, {turned}")));
                }
            }
        }
    }
    let mut code = Vec::new();
    let mut labels = Vec::new();
    for (function, what) in functions {
        for start in STARTS {
            let args = vec![integer(&mut b, start)];
            code.push(call(1, function, args));
            code.push(send(r(0), r(1)));
            labels.push(format!("{what}, from {start}"));
        }
    }
    code.push(Instr::Done);
    let unit = encode(&b.behaviour("all", 0, code).0);
    let messages = heard_each(&unit, &labels);
    let beyond = |text: &&String| text.starts_with("Big {");
    let ended = messages.iter().filter(beyond).count();
    assert!(
        ended > 200 && ended < labels.len() - 500,
        "{ended} of {}",
        labels.len()
    );
}
