//! Units made of a tape of bytes: whatever the bytes are, the unit is fit to run, and nearly all of it is seen from
//! outside, for every path ends by sending away all that it has written.
//!
//! Shorter tapes make shorter units, so a failure shrinks well; and a fuzzer can be asked for the bytes.
#![allow(dead_code)] // Each user takes what it needs.
use crate::build::{
    abort, becomes, branch, call, call_fun, cons, create, create_on, falsy, fun, guard, is, jump,
    k, label, match_cons, match_tuple, mov, op, r, ret, send, send_after, sendx, tail, tuple,
    Build, MODULE,
};
use mote_vm::code::ir::{Constant, Instr, Operand, Register, Unit};
use mote_vm::terms::prim::primitive::Primitive;
use mote_vm::values::foreign::Class;

const REGISTERS: Register = 14;
/// Instructions of one code, about.
const LENGTH: usize = 24;
/// Arities of the functions: those without effects call only what comes before them or themselves, so that many calls
/// return; the last one has effects.
const FUNCTIONS: [u32; 4] = [1, 2, 3, 2];
/// Captures of the behaviours; the last one is safe.
const BEHAVIOURS: [u32; 3] = [2, 1, 3];

/// Decisions, one byte each; zeroes when it is at its end.
pub struct Tape<'a>(&'a [u8]);

impl Tape<'_> {
    fn below(&mut self, n: usize) -> usize {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        usize::from(*first) % n
    }

    fn is_at_end(&self) -> bool {
        self.0.is_empty()
    }
}

/// The unit of these bytes.
pub fn unit(tape: &[u8]) -> Unit {
    let mut tape = Tape(tape);
    let mut b = Build::new();
    constants(&mut b);
    for (n, arity) in FUNCTIONS.into_iter().enumerate() {
        b.uses(MODULE, &format!("f{n}"), arity);
    }
    for (n, captures) in BEHAVIOURS.into_iter().enumerate() {
        b.creates(MODULE, &format!("b{n}"), captures);
    }
    b.uses("Elixir.Nowhere", "f", 1);
    b.creates("Elixir.Nowhere", "b", 0);
    let constants = b.0.constants.len();
    // The behaviours first: they are what is run, and a short tape should be for them.
    let behaviours: Vec<Vec<Instr>> = (0..BEHAVIOURS.len())
        .map(|n| Code::new(constants, Kind::Behaviour(n)).write(&mut tape))
        .collect();
    let functions: Vec<Vec<Instr>> = (0..FUNCTIONS.len())
        .map(|n| Code::new(constants, Kind::Function(n)).write(&mut tape))
        .collect();
    for (n, code) in functions.into_iter().enumerate() {
        let name = format!("f{n}");
        b = match n == EFFECTS {
            true => b.effects(&name, FUNCTIONS[n], code),
            false => b.function(&name, FUNCTIONS[n], code),
        };
    }
    for (n, code) in behaviours.into_iter().enumerate() {
        let name = format!("b{n}");
        b = match n == SAFE {
            true => b.safe(&name, BEHAVIOURS[n], code),
            false => b.behaviour(&name, BEHAVIOURS[n], code),
        };
    }
    let mut unit = b.0;
    unit.functions
        .iter_mut()
        .for_each(|f| f.registers = REGISTERS);
    unit.behaviours
        .iter_mut()
        .for_each(|b| b.registers = REGISTERS);
    unit
}

const EFFECTS: usize = FUNCTIONS.len() - 1;
const SAFE: usize = BEHAVIOURS.len() - 1;

/// The constant that is more milliseconds than any test waits for.
const FAR: u32 = 10;

/// Adds numbers just around which values are of a different kind, and some plain constants. The first two are those of [`Build::new`].
fn constants(b: &mut Build) {
    let top = mote_vm::values::value::FIXNUM_MAX;
    let integers = [0, 1, 2, 3, -1, 60, 255, 1 << 31, 1 << 53, 3_037_000_500];
    for n in integers.into_iter().chain([top, -top - 1, top - 1]) {
        b.constant(Constant::Integer(n));
    }
    assert_eq!(b.0.constants[FAR as usize], Constant::Integer(1 << 53));
    let floats = [
        0.0,
        -0.0,
        1.0,
        2.5,
        -1.5,
        0.1,
        f64::MAX,
        5e-324,
        f64::MIN_POSITIVE,
    ];
    // The ends of what is immediate, and of the integers that a float can be rounded to.
    let edges = [-256.0, -255.0, -254.0, 255.0, 256.0, 257.0, 62.0, 61.0f64].map(f64::exp2);
    for f in floats.into_iter().chain(edges) {
        b.constant(Constant::Float(f));
    }
    for name in ["true", "false", "nil", "undefined", "ok", "main"] {
        let atom = b.atom(name);
        b.constant(Constant::Atom(atom));
    }
    let last = b.0.constants.len() as u32 - 1;
    let pair = b.constant(Constant::Tuple(vec![2, last]));
    b.constant(Constant::Tuple(vec![]));
    let list = b.constant(Constant::Cons { head: 3, tail: 1 });
    b.constant(Constant::Cons {
        head: pair,
        tail: list,
    });
    b.constant(Constant::Cons { head: 2, tail: 3 });
    b.constant(Constant::Binary(b"text".to_vec()));
    // Just beyond the fixnum range, of two limbs, and of many.
    let sizes: [&[u8]; 4] = [&[0, 0, 0, 0, 0, 0, 0, 64], &[255; 8], &[7; 16], &[1; 600]];
    for (i, size) in sizes.into_iter().enumerate() {
        b.constant(Constant::Big {
            negative: i % 2 == 1,
            bytes: size.to_vec(),
        });
    }
    b.constant(Constant::Opaque {
        class: Class::BigInteger,
        bytes: vec![131],
    });
    // The last one: a reason as where Elixir would raise.
    let raised = b.atom("raised");
    let raised = b.constant(Constant::Atom(raised));
    b.constant(Constant::Tuple(vec![raised, pair, 0]));
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Function(usize),
    Behaviour(usize),
}

/// Code under construction: `written` holds here, whichever way it was reached; branches that lead forward still wait
/// for a place, each with what was written where it left.
struct Code {
    kind: Kind,
    constants: usize,
    code: Vec<Instr>,
    written: [bool; REGISTERS as usize],
    open: Vec<(usize, [bool; REGISTERS as usize])>,
}

impl Code {
    fn new(constants: usize, kind: Kind) -> Code {
        let given = match kind {
            Kind::Function(n) => FUNCTIONS[n],
            Kind::Behaviour(n) => BEHAVIOURS[n] + 1,
        };
        Code {
            kind,
            constants,
            code: Vec::new(),
            written: std::array::from_fn(|r| (r as u32) < given),
            open: Vec::new(),
        }
    }

    fn write(mut self, tape: &mut Tape) -> Vec<Instr> {
        while self.code.len() < LENGTH && !tape.is_at_end() {
            match tape.below(16) {
                0 if !self.open.is_empty() => {
                    self.end(tape);
                    self.land(tape, false);
                }
                1 if !self.open.is_empty() => {
                    let at = self.code.len();
                    self.code.push(jump(0));
                    let written = self.written;
                    self.land(tape, false);
                    self.open.push((at, written));
                }
                2 | 3 => self.land(tape, true),
                _ => self.instruction(tape),
            }
        }
        while !self.open.is_empty() {
            self.land(tape, true);
        }
        self.end(tape);
        self.code
    }

    /// Makes some of the open branches lead here, at least one if there are any; `live` says whether the code before leads here, too.
    fn land(&mut self, tape: &mut Tape, live: bool) {
        let mut written = live.then_some(self.written);
        let here = self.code.len() as u32;
        let all = tape.below(3) == 0;
        while let Some(n) = self.open.len().checked_sub(1) {
            let (at, before) = self.open.remove(tape.below(n + 1));
            *label(&mut self.code[at]).expect("only those with labels are open") = here;
            let known = written.unwrap_or(before);
            written = Some(std::array::from_fn(|r| known[r] && before[r]));
            if !all {
                break;
            }
        }
        self.written = written.unwrap_or(self.written);
    }

    /// Ends this path; what it has written is sent or returned.
    fn end(&mut self, tape: &mut Tape) {
        let how = tape.below(8);
        let all: Vec<Operand> = (0..REGISTERS)
            .filter(|r| self.written[*r as usize])
            .map(r)
            .collect();
        let dst = self.register(tape);
        let tuple = tuple(dst, all);
        match self.kind {
            Kind::Function(_) => match how {
                1 => {
                    // Half of what fails may be caught.
                    let reason = match tape.below(2) {
                        0 => k(self.constants as u32 - 1),
                        _ => self.operand(tape),
                    };
                    self.code.push(abort(reason));
                }
                2..=4 => {
                    let (function, args) = self.called(tape);
                    self.code.push(tail(function, args));
                }
                5 => {
                    let value = self.operand(tape);
                    self.code.push(ret(value));
                }
                _ => self.code.extend([tuple, ret(r(dst))]),
            },
            Kind::Behaviour(_) => match how {
                1 => self.code.push(Instr::Ignore),
                2 => {
                    let reason = self.operand(tape);
                    self.code.push(abort(reason));
                }
                // Capture 0 is somebody outside, unless a become has changed that; a register is no longer.
                _ => {
                    let (target, message) = (r(0), r(dst));
                    if dst == 0 || !self.written[0] {
                        self.code.push(Instr::Done);
                    } else {
                        self.code
                            .extend([tuple, send(target, message), Instr::Done]);
                    }
                }
            },
        }
    }

    fn register(&self, tape: &mut Tape) -> Register {
        // Register 0, which has the customer, is seldom written to.
        match tape.below(60) {
            59 => 0,
            n => 1 + (n as u16) % (REGISTERS - 1),
        }
    }

    /// Picks an operand that can be read here.
    fn operand(&self, tape: &mut Tape) -> Operand {
        let written: Vec<Register> = (0..REGISTERS)
            .filter(|r| self.written[*r as usize])
            .collect();
        let constant = tape.below(3) == 0;
        if constant || written.is_empty() {
            k(tape.below(self.constants) as u32)
        } else {
            r(written[tape.below(written.len())])
        }
    }

    fn operands(&self, tape: &mut Tape, n: usize) -> Vec<Operand> {
        (0..n).map(|_| self.operand(tape)).collect()
    }

    fn called(&self, tape: &mut Tape) -> (u32, Vec<Operand>) {
        let callable = match self.kind {
            Kind::Function(n) => n + 1,
            Kind::Behaviour(SAFE) => EFFECTS,
            Kind::Behaviour(_) => FUNCTIONS.len(),
        };
        if tape.below(64) == 63 {
            return (FUNCTIONS.len() as u32, self.operands(tape, 1));
        }
        let n = tape.below(callable);
        (n as u32, self.operands(tape, FUNCTIONS[n] as usize))
    }

    fn captured(&self, tape: &mut Tape) -> (u32, Vec<Operand>) {
        if tape.below(64) == 63 {
            return (BEHAVIOURS.len() as u32, Vec::new());
        }
        let n = tape.below(BEHAVIOURS.len());
        let mut captures = self.operands(tape, BEHAVIOURS[n] as usize);
        if self.written[0] && tape.below(8) != 7 {
            captures[0] = r(0);
        }
        (n as u32, captures)
    }

    fn instruction(&mut self, tape: &mut Tape) {
        let effects =
            self.kind == Kind::Function(EFFECTS) || matches!(self.kind, Kind::Behaviour(_));
        let changes = effects && self.kind != Kind::Behaviour(SAFE);
        let dst = self.register(tape);
        let instr = match tape.below(26) {
            24 => {
                let function = tape.below(EFFECTS) as u32;
                let n = tape.below(3);
                let captures = self.operands(tape, n);
                fun(dst, function, captures)
            }
            25 => {
                let function = self.operand(tape);
                let n = tape.below(3);
                let args = self.operands(tape, n);
                call_fun(dst, function, args, self.operand(tape))
            }
            0 => mov(dst, self.operand(tape)),
            1..=6 => {
                let (primitive, args) = self.computed(tape);
                op(dst, primitive, args)
            }
            7 | 8 => {
                let (primitive, args) = self.computed(tape);
                let label = 0;
                guard(dst, primitive, args, label)
            }
            9 => {
                let n = tape.below(4);
                let elements = self.operands(tape, n);
                tuple(dst, elements)
            }
            10 => cons(dst, self.operand(tape), self.operand(tape)),
            11 | 12 => {
                let (function, args) = self.called(tape);
                let call = call(dst, function, args);
                if tape.below(2) == 0 {
                    return self.protected(tape, call);
                }
                call
            }
            13 => branch(self.operand(tape), 0),
            14 => falsy(self.operand(tape), 0),
            15 => is(self.operand(tape), self.operand(tape), 0),
            16 => {
                let count = tape.below(4) as u32;
                match_tuple(
                    self.operand(tape),
                    count,
                    dst.min(REGISTERS - count as Register),
                    0,
                )
            }
            17 => match_cons(self.operand(tape), dst, self.register(tape), 0),
            18 if effects => Instr::SelfAddress { dst },
            19 if effects => {
                let (behaviour, captures) = self.captured(tape);
                match tape.below(4) {
                    0 => create_on(dst, behaviour, captures, self.operand(tape)),
                    _ => create(dst, behaviour, captures),
                }
            }
            20 | 21 if effects => {
                let (target, message) = (self.operand(tape), self.operand(tape));
                match tape.below(4) {
                    0 => sendx(self.operand(tape), target, message),
                    _ => send(target, message),
                }
            }
            23 if effects && tape.below(4) == 0 => {
                send_after(dst, k(FAR), self.operand(tape), self.operand(tape))
            }
            22 if changes => {
                let (behaviour, captures) = self.captured(tape);
                match tape.below(8) {
                    7 => Instr::BecomeSink,
                    _ => becomes(behaviour, captures),
                }
            }
            _ => {
                let (primitive, args) = self.computed(tape);
                op(dst, primitive, args)
            }
        };
        if instr.label().is_some() {
            self.open.push((self.code.len(), self.written));
        }
        for register in instr.written().into_iter().flatten() {
            self.written[register as usize] = true;
        }
        self.code.push(instr);
    }

    /// Adds a call that is protected.
    fn protected(&mut self, tape: &mut Tape, call: Instr) {
        let failed = self.register(tape);
        let protected = [Instr::Try { failed }, call, Instr::Tried];
        for register in protected.iter().flat_map(Instr::written).flatten() {
            self.written[register as usize] = true;
        }
        self.code.extend(protected);
    }

    /// A primitive; half of them are those that are worth compiling inline.
    fn computed(&self, tape: &mut Tape) -> (Primitive, Vec<Operand>) {
        use Primitive::*;
        let common = [
            Add, Sub, Mul, Fdiv, Idiv, Irem, Neg, Eq, Ne, Same, Differ, Lt, Le, Gt, Ge, Not,
            IsInteger, IsFloat, IsTuple, Hd, Tl, Elem, Band, Bsl,
        ];
        let every = Primitive::ALL;
        let primitive = match tape.below(2) {
            0 => common[tape.below(common.len())],
            _ => every[tape.below(every.len())],
        };
        // What is random, or the time, is no ground for comparisons.
        let primitive = match primitive {
            Random | RandomInt | Now => Add,
            other => other,
        };
        (primitive, self.operands(tape, primitive.arity()))
    }
}
