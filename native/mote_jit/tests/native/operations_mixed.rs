//! Loops over numbers of both kinds: what a loop takes its parameters for is found over the whole loop and from what its
//! callers pass (src/dataflow.rs), and where that is wrong the slow body goes on. Here loops of random operations begin
//! with integers and floats, some of them where callers cannot be seen to pass them, on both tiers. So do functions that make
//! only one round, whose parameters are taken for what callers pass as well.

use crate::build::{call, guard, is, k, op, r, ret, send, tail, tuple, Build, MODULE};
use crate::encode::encode;
use crate::hearing::{cases, heard, heard_alike};
use mote_vm::code::ir::{Constant, Instr, Operand};
use mote_vm::machine::Tier;
use mote_vm::terms::prim::primitive::Primitive as P;
use mote_vm::values::value::{FIXNUM_MAX, FIXNUM_MIN};
use proptest::collection::vec;
use proptest::prelude::*;

const PLENTY: u64 = 1 << 40;
/// Rounds: few, and more than there are in a slice of fuel.
const ROUNDS: [i64; 4] = [1, 3, 40, 4_200];
/// Values that a loop hands on, in the registers after the one with the rounds that are left.
const VALUES: u16 = 3;
/// The first register that a round computes.
const COMPUTED: u16 = 1 + VALUES;
const COMPUTED_MOST: u16 = 6;
/// The register in which a round counts down.
const NEXT: u16 = COMPUTED + COMPUTED_MOST;

const INTEGERS: [i64; 8] = [
    0,
    1,
    -7,
    1 << 20,
    1 << 53,
    FIXNUM_MAX / 2,
    FIXNUM_MAX,
    FIXNUM_MIN,
];
/// Floats of common exponents, floats of rare ones, and zeros.
const FLOATS: [f64; 7] = [0.0, -0.0, 0.5, -3.0, 1e300, 1e-300, 9007199254740993.0];

/// An operation of a round: each operand is a register that is written before, or a constant.
#[derive(Clone, Debug)]
struct Step {
    p: P,
    args: [u8; 2],
}

/// A loop, where it begins, and what it hands on.
#[derive(Clone, Debug)]
struct Looped {
    steps: Vec<Step>,
    handed: [u8; VALUES as usize],
    rounds: usize,
    starts: Vec<[u8; VALUES as usize]>,
    /// True if it is not a loop: it ends after a round.
    once: bool,
    /// True if an operation without an answer ends the loop.
    guarded: bool,
}

fn looped() -> impl Strategy<Value = Looped> {
    let p = prop_oneof![
        6 => Just(P::Add),
        3 => Just(P::Sub),
        5 => Just(P::Mul),
        1 => Just(P::Fdiv),
        1 => Just(P::Max),
        1 => Just(P::Min),
        1 => Just(P::Irem),
        1 => Just(P::Idiv),
        1 => Just(P::Neg),
        1 => Just(P::Abs),
        1 => Just(P::Lt),
        1 => Just(P::Ge),
        1 => Just(P::Same),
        1 => Just(P::Eq),
        1 => Just(P::Band),
        1 => Just(P::Trunc),
        1 => Just(P::Sqrt),
        1 => Just(P::Sin),
    ];
    let step = (p, any::<[u8; 2]>()).prop_map(|(p, args)| Step { p, args });
    let starts = vec(any::<[u8; VALUES as usize]>(), 1..5);
    let handed = any::<[u8; VALUES as usize]>();
    (
        vec(step, 1..=COMPUTED_MOST as usize),
        handed,
        0..ROUNDS.len(),
        starts,
        prop::bool::weighted(0.3),
        any::<bool>(),
    )
        .prop_map(|(steps, handed, rounds, starts, once, guarded)| Looped {
            steps,
            handed,
            rounds,
            starts,
            once,
            guarded,
        })
}

/// The unit under construction, its constants that are numbers, and them in a tuple, out of which nobody knows what comes.
struct Table {
    build: Build,
    numbers: Vec<Operand>,
    tuple: Operand,
}

impl Table {
    fn new() -> Table {
        let mut build = Build::new();
        let integers = INTEGERS.into_iter().map(Constant::Integer);
        let numbers = integers.chain(FLOATS.into_iter().map(Constant::Float));
        let numbers: Vec<u32> = numbers.map(|number| build.constant(number)).collect();
        let tuple = k(build.constant(Constant::Tuple(numbers.clone())));
        let numbers = numbers.into_iter().map(k).collect();
        Table {
            build,
            numbers,
            tuple,
        }
    }

    fn number(&self, n: u8) -> Operand {
        self.numbers[n as usize % self.numbers.len()]
    }

    fn integer(&mut self, n: i64) -> Operand {
        k(self.build.constant(Constant::Integer(n)))
    }

    fn step(&self, at: u16, step: &Step) -> (P, Vec<Operand>) {
        let written = COMPUTED + at - 1;
        let register = |n: u8| r(1 + u16::from(n) % written);
        let [a, b] = step.args;
        let args = match step.p {
            P::Neg | P::Abs | P::Trunc | P::Sqrt | P::Sin => vec![register(a)],
            // Of two numbers that grow with each round it would be far too large.
            P::Mul if a % 2 == 0 => vec![self.number(a / 2), register(b)],
            P::Mul => vec![register(b), self.number(a / 2)],
            _ if b % 3 == 0 => vec![register(a), self.number(b / 3)],
            _ => vec![register(a), register(b)],
        };
        (step.p, args)
    }

    /// Adds the loop; answers the instructions that begin it and send what it came to.
    fn add(&mut self, name: &str, looped: &Looped) -> Vec<Instr> {
        let me = self.build.uses(MODULE, name, u32::from(COMPUTED));
        let (zero, one) = (self.integer(0), self.integer(1));
        let state = |d| tuple(d, (1..COMPUTED).map(r).collect::<Vec<_>>());
        let computed = looped.steps.len() as u16;
        let away = 5 + u32::from(computed);
        let mut code = vec![is(r(0), zero, 3), state(NEXT), ret(r(NEXT))];
        for (at, step) in looped.steps.iter().enumerate() {
            let (primitive, args) = self.step(at as u16, step);
            let dst = COMPUTED + at as u16;
            code.push(match looped.guarded {
                false => op(dst, primitive, args),
                true => guard(dst, primitive, args, away),
            });
        }
        let handed = looped.handed.map(|n| {
            let all = COMPUTED + computed - 1;
            r(1 + u16::from(n) % all)
        });
        let again: Vec<Operand> = std::iter::once(r(NEXT)).chain(handed).collect();
        code.extend(match looped.once {
            false => [op(NEXT, P::Sub, [r(0), one]), tail(me, again)],
            true => [state(NEXT), ret(r(NEXT))],
        });
        if looped.guarded {
            code.extend([state(NEXT), ret(r(NEXT))]);
        }
        let build = std::mem::replace(&mut self.build, Build::new());
        self.build = build.function(name, u32::from(COMPUTED), code);
        let function = self.build.0.functions.last_mut().expect("it was added");
        function.registers = NEXT + 1;
        self.begin(me, looped)
    }

    fn begin(&mut self, function: u32, looped: &Looped) -> Vec<Instr> {
        let rounds = self.integer(ROUNDS[looped.rounds]);
        let mut code = Vec::new();
        for start in &looped.starts {
            let mut args = vec![rounds];
            for (i, n) in start.iter().enumerate() {
                let register = 2 + i as u16;
                let hidden = n % 3 == 0;
                if hidden {
                    let at = usize::from(*n) % self.numbers.len();
                    let at = self.integer(at as i64);
                    code.push(op(register, P::Elem, [self.tuple, at]));
                }
                args.push(if hidden { r(register) } else { self.number(*n) });
            }
            code.push(call(1, function, args));
            code.push(send(r(0), r(1)));
        }
        code
    }
}

fn unit(loops: &[Looped]) -> Vec<u8> {
    let mut table = Table::new();
    let mut code = Vec::new();
    for (i, looped) in loops.iter().enumerate() {
        code.extend(table.add(&format!("loop {i}"), looped));
    }
    code.push(Instr::Done);
    encode(&table.build.behaviour("all", 0, code).0)
}

/// The least fuel with which the turn says anything.
fn least_fuel(unit: &[u8]) -> u64 {
    let said = |fuel| !heard(unit, Tier::Interpreter, fuel).messages.is_empty();
    let (mut little, mut enough) = (0, 1 << 17);
    while enough - little > 1 {
        let middle = (little + enough) / 2;
        match said(middle) {
            true => enough = middle,
            false => little = middle,
        }
    }
    enough
}

proptest! {
    #![proptest_config(cases(60, 6_000))]

    #[test]
    fn loops_say_the_same(loops in vec(looped(), 1..9)) {
        let heard = heard_alike(&unit(&loops), PLENTY, &format!("{loops:#?}"));
        prop_assert_eq!(heard.messages.len(), loops.iter().map(|l| l.starts.len()).sum::<usize>());
    }
}

proptest! {
    #![proptest_config(cases(12, 1_200))]

    #[test]
    fn loops_spend_the_same(looped in looped()) {
        let looped = Looped { once: false, ..looped };
        let unit = unit(std::slice::from_ref(&looped));
        let least = least_fuel(&unit);
        for fuel in [least - 1, least] {
            heard_alike(&unit, fuel, &format!("{fuel} of fuel for {looped:#?}"));
        }
    }
}
