//! Floats that are not tested, since a later one is (src/body/proofs.rs): long chains of operations, some of which have no
//! answer. Where one has none, the chain ends, and says what all its registers hold: in some of them what was there before
//! another operation wrote them. On both tiers.

use crate::build::{call, guard, k, ret, says_each, tuple, Build, MODULE};
use crate::encode::encode;
use crate::hearing::{cases, heard_alike};
use mote_vm::code::ir::{Constant, Instr, Operand};
use mote_vm::terms::prim::primitive::Primitive as P;
use proptest::collection::vec;
use proptest::prelude::*;

const PLENTY: u64 = 1 << 40;
/// The registers that a chain begins with, and ends with.
const FLOATS: u16 = 4;
/// All that it reads and writes.
const REGISTERS: u16 = 6;
const LONGEST: usize = 20;
/// Zeros, small and large ones of common exponents and of rare ones, and what few functions have an answer for.
const STARTS: [f64; 12] = [
    0.0, -0.0, 0.5, -1.0, 3.0, 700.0, 1e70, -1e75, -2e-70, 1e-300, 1e300, -1e300,
];

/// An operation: where its result goes, and the registers or, from [`REGISTERS`] on, the constants that it reads.
#[derive(Clone, Debug)]
struct Step {
    p: P,
    to: u16,
    args: [usize; 2],
}

/// A chain, and what it begins with each time.
#[derive(Clone, Debug)]
struct Chain {
    steps: Vec<Step>,
    starts: Vec<[usize; FLOATS as usize]>,
}

fn chain() -> impl Strategy<Value = Chain> {
    let p = prop_oneof![
        4 => Just(P::Mul),
        3 => Just(P::Add),
        2 => Just(P::Sub),
        3 => Just(P::Fdiv),
        2 => Just(P::Sqrt),
        1 => Just(P::Sin),
        1 => Just(P::Tan),
        1 => Just(P::Log),
        1 => Just(P::Exp),
        1 => Just(P::Atan),
        1 => Just(P::Neg),
        1 => Just(P::Abs),
        1 => Just(P::Max),
    ];
    let operand = 0..REGISTERS as usize + STARTS.len();
    let step = (p, 0..REGISTERS, [operand.clone(), operand]);
    let step = step.prop_map(|(p, to, args)| Step { p, to, args });
    let start = [
        0..STARTS.len(),
        0..STARTS.len(),
        0..STARTS.len(),
        0..STARTS.len(),
    ];
    (vec(step, 1..=LONGEST), vec(start, 1..12)).prop_map(|(steps, starts)| Chain { steps, starts })
}

fn is_unary(p: P) -> bool {
    !matches!(p, P::Mul | P::Add | P::Sub | P::Fdiv | P::Max)
}

/// The instructions of a chain, in which a read of what is not written yet is one of the first register.
fn code(chain: &Chain, constants: &[Operand]) -> Vec<Instr> {
    let away = chain.steps.len() as u32;
    let mut written = FLOATS;
    let mut code = Vec::new();
    for step in &chain.steps {
        let operand = |n: usize| match n.checked_sub(REGISTERS as usize) {
            Some(constant) => constants[constant],
            None if n < written as usize => Operand::Register(n as u16),
            None => Operand::Register(0),
        };
        let args = match is_unary(step.p) {
            true => vec![operand(step.args[0] % REGISTERS as usize)],
            false => step.args.map(operand).to_vec(),
        };
        // In order, so that all before it are written as well.
        let to = step.to.min(written);
        written = written.max(to + 1);
        code.push(guard(to, step.p, args, away));
    }
    let elements = (0..FLOATS).map(Operand::Register).collect::<Vec<_>>();
    let state = tuple(7, elements);
    code.extend([state, ret(Operand::Register(7))]);
    code
}

fn unit(chains: &[Chain]) -> Vec<u8> {
    let mut build = Build::new();
    let constants = STARTS.map(|float| k(build.constant(Constant::Float(float))));
    let mut calls = Vec::new();
    for (i, chain) in chains.iter().enumerate() {
        let name = format!("chain {i}");
        let function = build.uses(MODULE, &name, u32::from(FLOATS));
        build = build.function(&name, u32::from(FLOATS), code(chain, &constants));
        let start = |start: &[usize; 4]| call(1, function, start.map(|n| constants[n]));
        calls.extend(chain.starts.iter().map(start));
    }
    encode(&build.behaviour("all", 0, says_each(calls)).0)
}

proptest! {
    #![proptest_config(cases(100, 20_000))]

    #[test]
    fn chains_end_where_there_is_no_answer(chains in vec(chain(), 1..9)) {
        let heard = heard_alike(&unit(&chains), PLENTY, &format!("{chains:#?}"));
        prop_assert_eq!(heard.messages.len(), chains.iter().map(|c| c.starts.len()).sum::<usize>());
    }
}
