//! What runs an operation on every pair of values, in every shape, on both tiers, and compares what they say.
//!
//! An operation is compiled differently by what is known of its operands, so each runs in several **shapes**: on
//! registers of which nothing is known, on ones known to be integers or floats, with a constant on either side, in a
//! guard, with its result in the place of an operand.

use crate::build::{call, guard, k, label, match_cons, mov, op, r, ret, send, tail, Build, MODULE};
use crate::encode::encode;
use crate::hearing::{heard, Heard};
use mote_vm::code::ir::{Constant, Instr, Label, Operand};
use mote_vm::machine::Tier;
use mote_vm::terms::prim::primitive::Primitive as P;
use mote_vm::values::foreign::Class;
use mote_vm::values::value::{FIXNUM_MAX, FIXNUM_MIN};

/// The integer just beyond which floats leave some out.
const EXACT: i64 = 1 << 53;

const INTEGERS: [i64; 21] = [
    FIXNUM_MIN,
    FIXNUM_MIN + 1,
    FIXNUM_MIN / 2 - 1,
    FIXNUM_MIN / 2,
    -EXACT - 1,
    -(1 << 31),
    -3,
    -2,
    -1,
    0,
    1,
    2,
    3,
    62,
    63,
    1 << 31,
    EXACT,
    EXACT + 1,
    FIXNUM_MAX / 2 + 1,
    FIXNUM_MAX - 1,
    FIXNUM_MAX,
];

/// Immediate ones and boxed ones, and among the latter the one whose word would be that of 0.0. Some lie between integers, at
/// and beside a half.
fn floats() -> Vec<f64> {
    vec![
        0.0,
        -0.0,
        1.0,
        -1.5,
        2.5,
        0.1,
        0.5 - f64::EPSILON / 4.0,
        (EXACT / 2) as f64 - 0.5,
        -(EXACT as f64) / 4.0 - 0.75,
        EXACT as f64,
        FIXNUM_MAX as f64,
        f64::from_bits(0x3000_0000_0000_0000),
        5e-324,
        -1e300,
        f64::MAX,
    ]
}

/// A unit in the making, and what its messages will be about.
pub struct Table {
    pub build: Build,
    pub values: Vec<u32>,
    /// The list of all values.
    list: u32,
    calls: Vec<Instr>,
    labels: Vec<String>,
    loops: u32,
}

/// Registers of a loop: where messages go, the left operand, the list of right operands and its parts, operands of
/// which more is known, the result.
pub const LEFT: u16 = 1;
pub const RIGHT: u16 = 3;
pub const KNOWN: [u16; 2] = [5, 6];
pub const RESULT: u16 = 7;

impl Table {
    pub fn new() -> Table {
        let mut build = Build::new();
        let mut values: Vec<u32> = INTEGERS
            .iter()
            .map(|n| build.constant(Constant::Integer(*n)))
            .collect();
        values.extend(
            floats()
                .iter()
                .map(|f| build.constant(Constant::Float(*f)))
                .collect::<Vec<_>>(),
        );
        for atom in ["true", "false", "nil", "undefined", "other"] {
            let atom = build.atom(atom);
            values.push(build.constant(Constant::Atom(atom)));
        }
        let (one, nil) = (values[10], 1);
        let parts = [
            Constant::Nil,
            Constant::Tuple(vec![]),
            Constant::Tuple(vec![one]),
            Constant::Tuple(vec![one, nil, one]),
            Constant::Cons {
                head: one,
                tail: nil,
            },
            Constant::Cons {
                head: one,
                tail: one,
            },
            Constant::Binary(b"bytes".to_vec()),
            Constant::Map(vec![(one, one)]),
            Constant::Opaque {
                class: Class::BigInteger,
                bytes: vec![131, 110, 8, 0, 0, 0, 0, 0, 0, 0, 0, 64],
            },
        ];
        for part in parts {
            values.push(build.constant(part));
        }
        let list = values.iter().rev().fold(nil, |tail, head| {
            build.constant(Constant::Cons { head: *head, tail })
        });
        Table {
            build,
            values,
            list,
            calls: Vec::new(),
            labels: Vec::new(),
            loops: 0,
        }
    }

    pub fn integer(&mut self, n: i64) -> Operand {
        k(self.build.constant(Constant::Integer(n)))
    }

    pub fn float(&mut self, f: f64) -> Operand {
        k(self.build.constant(Constant::Float(f)))
    }

    /// The text of a value.
    pub fn text(&self, value: u32) -> String {
        format!("{:?}", self.build.0.constants[value as usize])
    }

    fn add(&mut self, name: &str, arity: u32, code: Vec<Instr>) {
        let build = std::mem::replace(&mut self.build, Build::new());
        self.build = build.effects(name, arity, code);
    }

    /// A loop that runs `body` for every value in [`RIGHT`], with [`LEFT`] as it was passed, and sends what is in
    /// [`RESULT`] then. Its jumps lead to the end of the body.
    fn looped(&mut self, body: Vec<Instr>) -> u32 {
        let name = format!("loop {}", self.loops);
        self.loops += 1;
        let me = self.build.uses(MODULE, &name, 3);
        let end = body.len() as u32 + 1;
        let mut code = vec![match_cons(r(2), RIGHT, 4, end + 2)];
        code.extend(body.into_iter().map(|mut instr| {
            aim(&mut instr, end);
            instr
        }));
        code.push(send(r(0), r(RESULT)));
        code.push(tail(me, [r(0), r(LEFT), r(4)]));
        code.push(ret(k(1)));
        self.add(&name, 3, code);
        me
    }

    /// Runs a body for every value as the only operand.
    pub fn each(&mut self, label: &str, body: Vec<Instr>) {
        let me = self.looped(body);
        self.calls.push(call(1, me, [r(0), k(1), k(self.list)]));
        for value in &self.values {
            self.labels
                .push(format!("{label} of {}", self.text(*value)));
        }
    }

    /// Runs a body for every pair of values.
    pub fn pairs(&mut self, label: &str, body: Vec<Instr>) {
        let me = self.looped(body);
        for left in &self.values {
            self.calls.push(call(1, me, [r(0), k(*left), k(self.list)]));
            for right in &self.values {
                let (left, right) = (self.text(*left), self.text(*right));
                self.labels.push(format!("{label} of {left} and {right}"));
            }
        }
    }

    /// Returns code that makes an operand an integer or a float, for sure; anything else becomes something else.
    pub fn known(&mut self, shape: Shape, to: u16, from: Operand) -> Vec<Instr> {
        let (primitive, other) = match shape {
            Shape::Loose => return vec![],
            Shape::Integers => (P::Band, self.integer(-1)),
            Shape::Floats => (P::Fdiv, self.float(1.0)),
        };
        vec![op(to, primitive, [from, other])]
    }

    pub fn unary(&mut self, p: P) {
        for shape in Shape::ALL {
            let mut body = self.known(shape, KNOWN[0], r(RIGHT));
            let arg = shape.register(KNOWN[0], RIGHT);
            body.push(op(RESULT, p, vec![r(arg)]));
            self.each(&format!("{shape:?} {}", p.name()), body);
        }
        let body = guarded(p, vec![r(RIGHT)]);
        self.each(&format!("guard {}", p.name()), body);
        let body = vec![
            mov(RESULT, r(RIGHT)),
            op(RESULT, p, vec![r(RESULT)]),
            op(RESULT, p, vec![r(RESULT)]),
        ];
        self.each(&format!("twice {}", p.name()), body);
        for constant in self.values.clone() {
            let body = vec![op(RESULT, p, vec![k(constant)])];
            let me = self.looped(body);
            self.once(
                me,
                format!("{} of constant {}", p.name(), self.text(constant)),
            );
        }
    }

    /// Runs a loop once.
    fn once(&mut self, me: u32, label: String) {
        let one = Constant::Cons { head: 1, tail: 1 };
        let one = self.build.constant(one);
        self.calls.push(call(1, me, [r(0), k(1), k(one)]));
        self.labels.push(label);
    }

    pub fn binary(&mut self, p: P) {
        let name = p.name();
        for shape in Shape::ALL {
            let mut body = self.known(shape, KNOWN[0], r(LEFT));
            body.extend(self.known(shape, KNOWN[1], r(RIGHT)));
            let args = [
                shape.register(KNOWN[0], LEFT),
                shape.register(KNOWN[1], RIGHT),
            ];
            body.push(op(RESULT, p, args.map(r).to_vec()));
            self.pairs(&format!("{shape:?} {name}"), body);
        }
        // One of each: integers from the left, floats from the right.
        let mut body = self.known(Shape::Integers, KNOWN[0], r(LEFT));
        body.extend(self.known(Shape::Floats, KNOWN[1], r(RIGHT)));
        body.push(op(RESULT, p, KNOWN.map(r).to_vec()));
        self.pairs(&format!("mixed {name}"), body);
        let body = guarded(p, vec![r(LEFT), r(RIGHT)]);
        self.pairs(&format!("guard {name}"), body);
        let body = vec![
            mov(RESULT, r(LEFT)),
            op(RESULT, p, vec![r(RESULT), r(RIGHT)]),
        ];
        self.pairs(&format!("in place {name}"), body);
        self.each(
            &format!("itself {name}"),
            vec![op(RESULT, p, vec![r(RIGHT), r(RIGHT)])],
        );
        for constant in self.values.clone() {
            let text = self.text(constant);
            for shape in [Shape::Loose, Shape::Integers] {
                for left in [false, true] {
                    let mut body = self.known(shape, KNOWN[0], r(RIGHT));
                    let mut args = vec![r(shape.register(KNOWN[0], RIGHT)), k(constant)];
                    if left {
                        args.reverse();
                    }
                    body.push(op(RESULT, p, args));
                    let side = if left { "left" } else { "right" };
                    self.each(&format!("{shape:?} {name}, {side} {text},"), body);
                }
            }
        }
    }

    /// Runs everything on both tiers; what they say must be the same.
    pub fn judge(mut self) {
        let mut code = std::mem::take(&mut self.calls);
        code.push(Instr::Done);
        let unit = self.build.behaviour("all", 0, code).0;
        let bytes = encode(&unit);
        let [interpreted, native] =
            [Tier::Interpreter, Tier::Native].map(|tier| heard(&bytes, tier, 1 << 40));
        let Heard { messages, .. } = &interpreted;
        assert_eq!(messages.len(), self.labels.len(), "{interpreted:?}");
        for (i, label) in self.labels.iter().enumerate() {
            assert_eq!(
                Some(&messages[i]),
                native.messages.get(i),
                "interpreted and native: {label}"
            );
        }
        assert_eq!(interpreted, native);
    }
}

/// The knowledge about the operands.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Shape {
    Loose,
    Integers,
    Floats,
}

impl Shape {
    pub const ALL: [Shape; 3] = [Shape::Loose, Shape::Integers, Shape::Floats];

    pub fn register(self, known: u16, loose: u16) -> u16 {
        match self {
            Shape::Loose => loose,
            _ => known,
        }
    }
}

/// Returns the operation in a guard. Without an answer, the result is `[]`.
fn guarded(primitive: P, args: Vec<Operand>) -> Vec<Instr> {
    vec![mov(RESULT, k(1)), guard(RESULT, primitive, args, 0)]
}

/// Makes a jump lead there.
fn aim(instr: &mut Instr, to: Label) {
    if let Some(label) = label(instr) {
        *label = to;
    }
}
