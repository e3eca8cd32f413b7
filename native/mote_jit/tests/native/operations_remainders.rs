//! Remainders by 2^k - 1, which native code folds instead of dividing (src/body/quotients.rs): at the edges of what is folded,
//! around multiples of the divisor, on both tiers.

use crate::build::{call, k, op, r, ret, send, tuple, Build, MODULE};
use crate::encode::encode;
use crate::hearing::heard_alike;
use mote_vm::code::ir::{Constant, Instr};
use mote_vm::terms::prim::primitive::Primitive as P;
use mote_vm::values::value::{FIXNUM_MAX, FIXNUM_MIN};

/// Exponents around the least and the greatest divisor that is folded by, and the usual ones.
const BITS: [u32; 9] = [2, 30, 31, 32, 33, 59, 60, 61, 62];

/// Returns dividends for `divisor`, on both sides of zero.
fn dividends(divisor: i64) -> Vec<i64> {
    let multiples = [0, 1, 2, 3, (1 << 61) / divisor, FIXNUM_MAX / divisor];
    let near = multiples
        .into_iter()
        .flat_map(|n| [-1, 0, 1].map(|i| i128::from(n) * i128::from(divisor) + i));
    let ends = [
        1 << 61,
        1 << 31,
        (1 << 61) - (1 << 31),
        i128::from(FIXNUM_MAX),
    ];
    let ends = ends.into_iter().flat_map(|end| [-1, 0, 1].map(|i| end + i));
    let fits = |n: i128| {
        i64::try_from(n)
            .ok()
            .filter(|n| (FIXNUM_MIN..=FIXNUM_MAX).contains(n))
    };
    near.chain(ends)
        .flat_map(|n| [n, -n])
        .filter_map(fits)
        .collect()
}

#[test]
fn by_one_less_than_a_power_of_two() {
    let mut b = Build::new();
    let mut code = Vec::new();
    let mut expected = Vec::new();
    for bits in BITS {
        let divisor = (1_i64 << bits) - 1;
        let by = k(b.constant(Constant::Integer(divisor)));
        let three = k(b.constant(Constant::Integer(3)));
        let name = format!("rem {bits}");
        let me = b.uses(MODULE, &name, 1);
        // What comes next goes on with the remainder before it has a tag.
        let step = vec![
            op(1, P::Irem, [r(0), by]),
            op(2, P::Mul, [r(1), three]),
            op(2, P::Irem, [r(2), by]),
            tuple(1, [r(1), r(2)]),
            ret(r(1)),
        ];
        b = b.function(&name, 1, step);
        for n in dividends(divisor) {
            let args = vec![k(b.constant(Constant::Integer(n)))];
            code.push(call(1, me, args));
            code.push(send(r(0), r(1)));
            let next = i128::from(n % divisor) * 3 % i128::from(divisor);
            expected.push(format!("{{{},{next},}}", n % divisor));
        }
    }
    code.push(Instr::Done);
    let unit = encode(&b.behaviour("all", 0, code).0);
    let heard = heard_alike(&unit, 1 << 40, "remainders");
    for (heard, expected) in heard.messages.iter().zip(&expected) {
        assert_eq!(heard, expected);
    }
    assert_eq!(heard.messages.len(), expected.len());
}
