//! Effects on several ways: what one way has looked up is not there on another one that leads to the same place.

use crate::build::{branch, create, op, r, send, Build, MODULE};
use crate::encode::encode;
use crate::hearing::heard;
use mote_vm::code::ir::Instr;
use mote_vm::machine::Tier;
use mote_vm::terms::prim::primitive::Primitive as P;

fn test(dst: u16, primitive: P, of: u16) -> Instr {
    op(dst, primitive, [r(of)])
}

/// Creates on one way, and where the ways meet.
#[test]
fn creates_where_ways_meet() {
    for primitive in [P::IsPid, P::IsInteger] {
        let mut b = Build::new();
        let child = b.creates(MODULE, "child", 0);
        let create = |dst| create(dst, child, []);
        let code = vec![
            test(1, primitive, 0),
            branch(r(1), 3),
            create(2),
            create(3),
            create(4),
            test(3, P::IsAddress, 3),
            send(r(0), r(3)),
            test(5, P::IsAddress, 4),
            send(r(0), r(5)),
            Instr::Done,
        ];
        let b = b
            .behaviour("child", 0, vec![Instr::Done])
            .behaviour("all", 0, code);
        let unit = encode(&b.0);
        let [interpreted, native] =
            [Tier::Interpreter, Tier::Native].map(|tier| heard(&unit, tier, 100));
        assert_eq!(interpreted.messages.len(), 2, "{interpreted:?}");
        assert_eq!(interpreted, native);
    }
}
