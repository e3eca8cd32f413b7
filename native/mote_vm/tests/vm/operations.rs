//! Every operation that native code does in line, with operands at the edges, against the interpreter.
//!
//! An operation is compiled differently by what is known of its operands, so each runs in several **shapes**: on
//! registers of which nothing is known, on ones known to be integers or floats, with a constant on either side, in a
//! guard, with its result in the place of an operand. Not here: where fuel and depth end (operations_limits.rs).

use crate::build::{k, mov, r, ret, Build, MODULE};
use crate::encode::encode;
use crate::hearing::{heard, Heard};
use mote_vm::code::ir::{Constant, Instr, Label, OpaqueClass, Operand};
use mote_vm::machine::Tier;
use mote_vm::terms::prim::primitive::Primitive;
use mote_vm::values::value::{FIXNUM_MAX, FIXNUM_MIN};
use Primitive as P;

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

/// Immediate ones and boxed ones, and among the latter the one whose word would be that of 0.0.
fn floats() -> Vec<f64> {
    vec![
        0.0,
        -0.0,
        1.0,
        -1.5,
        0.1,
        EXACT as f64,
        FIXNUM_MAX as f64,
        f64::from_bits(0x3000_0000_0000_0000),
        5e-324,
        -1e300,
        f64::MAX,
    ]
}

/// A unit in the making, and what its messages will be about.
struct Table {
    build: Build,
    values: Vec<u32>,
    /// The list of all values.
    list: u32,
    calls: Vec<Instr>,
    labels: Vec<String>,
    loops: u32,
}

/// Registers of a loop: where messages go, the left operand, the list of right operands and its parts, operands of
/// which more is known, the result.
const LEFT: u16 = 1;
const RIGHT: u16 = 3;
const KNOWN: [u16; 2] = [5, 6];
const RESULT: u16 = 7;

impl Table {
    fn new() -> Table {
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
                class: OpaqueClass::BigInteger,
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

    fn integer(&mut self, n: i64) -> Operand {
        k(self.build.constant(Constant::Integer(n)))
    }

    fn float(&mut self, f: f64) -> Operand {
        k(self.build.constant(Constant::Float(f)))
    }

    /// The text of a value.
    fn text(&self, value: u32) -> String {
        format!("{:?}", self.build.0.constants[value as usize])
    }

    fn add(&mut self, name: &str, arity: u32, code: Vec<Instr>) {
        let build = std::mem::replace(&mut self.build, Build::new());
        self.build = build.effects(name, arity, code);
    }

    /// A loop that runs `body` for every value in [`RIGHT`], with [`LEFT`] as it was passed, and sends what is in
    /// [`RESULT`] then. Its jumps lead to the end of
    /// the body.
    fn looped(&mut self, body: Vec<Instr>) -> u32 {
        let name = format!("loop {}", self.loops);
        self.loops += 1;
        let me = self.build.uses(MODULE, &name, 3);
        let end = body.len() as u32 + 1;
        let mut code = vec![Instr::MatchCons {
            value: r(2),
            head: RIGHT,
            tail: 4,
            label: end + 2,
        }];
        code.extend(body.into_iter().map(|mut instr| {
            aim(&mut instr, end);
            instr
        }));
        code.push(Instr::Send {
            target: r(0),
            message: r(RESULT),
        });
        code.push(Instr::TailCall {
            function: me,
            args: vec![r(0), r(LEFT), r(4)],
        });
        code.push(ret(k(1)));
        self.add(&name, 3, code);
        me
    }

    /// Runs a body for every value as the only operand.
    fn each(&mut self, label: &str, body: Vec<Instr>) {
        let me = self.looped(body);
        self.calls.push(Instr::Call {
            dst: 1,
            function: me,
            args: vec![r(0), k(1), k(self.list)],
        });
        for value in &self.values {
            self.labels
                .push(format!("{label} of {}", self.text(*value)));
        }
    }

    /// Runs a body for every pair of values.
    fn pairs(&mut self, label: &str, body: Vec<Instr>) {
        let me = self.looped(body);
        for left in &self.values {
            self.calls.push(Instr::Call {
                dst: 1,
                function: me,
                args: vec![r(0), k(*left), k(self.list)],
            });
            for right in &self.values {
                let (left, right) = (self.text(*left), self.text(*right));
                self.labels.push(format!("{label} of {left} and {right}"));
            }
        }
    }

    /// What makes an operand an integer or a float, for sure; anything else becomes something else.
    fn known(&mut self, shape: Shape, to: u16, from: Operand) -> Vec<Instr> {
        let (primitive, other) = match shape {
            Shape::Loose => return vec![],
            Shape::Integers => (P::Band, self.integer(-1)),
            Shape::Floats => (P::Fdiv, self.float(1.0)),
        };
        vec![Instr::Op {
            dst: to,
            primitive,
            args: vec![from, other],
        }]
    }

    fn unary(&mut self, p: P) {
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
        self.calls.push(Instr::Call {
            dst: 1,
            function: me,
            args: vec![r(0), k(1), k(one)],
        });
        self.labels.push(label);
    }

    fn binary(&mut self, p: P) {
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
    fn judge(mut self) {
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

/// What is known of the operands.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Shape {
    Loose,
    Integers,
    Floats,
}

impl Shape {
    const ALL: [Shape; 3] = [Shape::Loose, Shape::Integers, Shape::Floats];

    fn register(self, known: u16, loose: u16) -> u16 {
        match self {
            Shape::Loose => loose,
            _ => known,
        }
    }
}

fn op(dst: u16, primitive: P, args: Vec<Operand>) -> Instr {
    Instr::Op {
        dst,
        primitive,
        args,
    }
}

/// In a guard; where there is no answer, that is `[]`.
fn guarded(primitive: P, args: Vec<Operand>) -> Vec<Instr> {
    vec![
        mov(RESULT, k(1)),
        Instr::GuardOp {
            dst: RESULT,
            primitive,
            args,
            label: 0,
        },
    ]
}

/// Makes a jump lead there.
fn aim(instr: &mut Instr, to: Label) {
    match instr {
        Instr::GuardOp { label, .. }
        | Instr::Jump { label }
        | Instr::Branch { label, .. }
        | Instr::Falsy { label, .. }
        | Instr::Match { label, .. }
        | Instr::MatchTuple { label, .. }
        | Instr::MatchCons { label, .. } => *label = to,
        _ => {}
    }
}

fn judge_binary(primitives: &[P]) {
    for p in primitives {
        let mut table = Table::new();
        table.binary(*p);
        table.judge();
    }
}

fn judge_unary(primitives: &[P]) {
    let mut table = Table::new();
    for p in primitives {
        table.unary(*p);
    }
    table.judge();
}

#[test]
fn sums_and_products() {
    judge_binary(&[P::Add, P::Sub, P::Mul, P::Fdiv]);
}

#[test]
fn quotients_and_bits() {
    judge_binary(&[P::Idiv, P::Irem, P::Band, P::Bor, P::Bxor, P::Bsl, P::Bsr]);
}

#[test]
fn comparisons() {
    judge_binary(&[P::Eq, P::Ne, P::Same, P::Differ, P::Lt, P::Le, P::Gt, P::Ge]);
}

#[test]
fn larger_and_smaller_powers_angles_elements() {
    judge_binary(&[P::Max, P::Min, P::Pow, P::Atan2, P::Elem]);
}

#[test]
fn of_one_operand() {
    judge_unary(&[P::Neg, P::Abs, P::Bnot, P::Not, P::Hd, P::Tl, P::TupleSize]);
    let tests: Vec<P> = (P::ALL.iter().copied())
        .filter(|p| (P::IsInteger..=P::IsAddress).contains(p))
        .collect();
    judge_unary(&tests);
    let functions: Vec<P> = (P::ALL.iter().copied())
        .filter(|p| (P::Sqrt..=P::Erfc).contains(p))
        .collect();
    judge_unary(&functions);
}

/// What a comparison or a test says is not written as a value until something wants it so.
#[test]
fn truth_that_is_used() {
    let mut table = Table::new();
    for p in [P::Lt, P::Same, P::Eq] {
        let test = op(5, p, vec![r(LEFT), r(RIGHT)]);
        let yes = mov(RESULT, k(0));
        let branch = |condition| Instr::Branch {
            condition,
            label: 0,
        };
        let no = mov(RESULT, k(1));
        let name = p.name();
        let tested = vec![no.clone(), test.clone(), branch(r(5)), yes.clone()];
        table.pairs(&format!("branch on {name}"), tested);
        let not = op(6, P::Not, vec![r(5)]);
        let negated = vec![no.clone(), test.clone(), not, branch(r(6)), yes.clone()];
        table.pairs(&format!("branch on not {name}"), negated);
        let falsy = Instr::Falsy {
            value: r(5),
            label: 0,
        };
        let kept = vec![mov(RESULT, r(5))];
        let falsy = [vec![test.clone(), mov(RESULT, r(5)), falsy], kept].concat();
        table.pairs(&format!("truth of {name}"), falsy);
        let pair = Instr::Tuple {
            dst: RESULT,
            elements: vec![r(5), r(5)],
        };
        table.pairs(&format!("pair of {name}"), vec![test.clone(), pair]);
        let less = op(RESULT, P::Lt, vec![r(5), k(0)]);
        table.pairs(&format!("comparison of {name}"), vec![test, less]);
    }
    for shape in Shape::ALL {
        let mut body = vec![mov(RESULT, k(1))];
        body.extend(table.known(shape, KNOWN[0], r(RIGHT)));
        let value = r(shape.register(KNOWN[0], RIGHT));
        body.push(Instr::Falsy { value, label: 0 });
        body.push(mov(RESULT, k(0)));
        table.each(&format!("{shape:?} falsy"), body);
    }
    table.judge();
}

#[test]
fn matches() {
    let mut table = Table::new();
    for shape in Shape::ALL {
        let mut body = vec![mov(RESULT, k(1))];
        body.extend(table.known(shape, KNOWN[0], r(RIGHT)));
        body.extend([
            Instr::Match {
                left: r(LEFT),
                right: r(shape.register(KNOWN[0], RIGHT)),
                label: 0,
            },
            mov(RESULT, r(RIGHT)),
        ]);
        table.pairs(&format!("{shape:?} match"), body);
    }
    for constant in table.values.clone() {
        for reversed in [false, true] {
            let (mut left, mut right) = (r(RIGHT), k(constant));
            if reversed {
                std::mem::swap(&mut left, &mut right);
            }
            let found = Instr::Match {
                left,
                right,
                label: 0,
            };
            let body = vec![mov(RESULT, k(1)), found, mov(RESULT, r(RIGHT))];
            let text = table.text(constant);
            table.each(&format!("match with {text}"), body);
        }
    }
    for count in 0..4u8 {
        let body = vec![
            mov(RESULT, k(1)),
            Instr::MatchTuple {
                value: r(RIGHT),
                count: count.into(),
                first: 5,
                label: 0,
            },
            Instr::Tuple {
                dst: RESULT,
                elements: (5..5 + u16::from(count)).map(r).collect(),
            },
        ];
        table.each(&format!("tuple of {count}"), body);
    }
    for (head, tail) in [(5, 6), (RIGHT, 6), (5, RIGHT)] {
        let body = vec![
            mov(RESULT, k(1)),
            Instr::MatchCons {
                value: r(RIGHT),
                head,
                tail,
                label: 0,
            },
            Instr::Cons {
                dst: RESULT,
                head: r(tail),
                tail: r(head),
            },
        ];
        table.each("list", body);
    }
    table.judge();
}

/// Whether a float is finite is asked only of the last one of a chain; what goes wrong before is found all the same.
#[test]
fn chains_of_floats() {
    let mut table = Table::new();
    for first in [P::Add, P::Mul, P::Fdiv] {
        for second in [P::Add, P::Sub, P::Mul] {
            // The first one's result in the place of its operand, of the other one, and beside them.
            for to in [KNOWN[0], KNOWN[1], RESULT] {
                let mut body = table.known(Shape::Floats, KNOWN[0], r(LEFT));
                body.extend(table.known(Shape::Floats, KNOWN[1], r(RIGHT)));
                body.push(op(to, first, KNOWN.map(r).to_vec()));
                body.push(op(RESULT, second, vec![r(KNOWN[1]), r(to)]));
                let (first, second) = (first.name(), second.name());
                table.pairs(&format!("{second} after {first} in {to}"), body.clone());
                body.push(op(RESULT, P::Mul, vec![r(RESULT), r(KNOWN[0])]));
                table.pairs(&format!("mul after {second} after {first} in {to}"), body);
            }
        }
        // And where the next one does not look at it.
        let mut body = table.known(Shape::Floats, KNOWN[0], r(LEFT));
        body.extend(table.known(Shape::Floats, KNOWN[1], r(RIGHT)));
        body.push(op(RESULT, first, KNOWN.map(r).to_vec()));
        body.push(op(KNOWN[0], P::Add, vec![r(KNOWN[0]), r(KNOWN[0])]));
        let first = first.name();
        table.pairs(&format!("add beside {first}"), body);
    }
    table.judge();
}

/// Calls that need not be made, since the caller sees what is answered.
#[test]
fn answers_at_once() {
    let mut table = Table::new();
    let (seven, one) = (table.integer(7), table.integer(1));
    let half = table.float(0.5);
    for p in [P::Eq, P::Ne, P::Same, P::Differ, P::Lt, P::Le, P::Gt, P::Ge] {
        let name = p.name();
        let branch = |condition, label| Instr::Branch { condition, label };
        let codes = [
            vec![
                op(2, p, vec![r(0), r(1)]),
                branch(r(2), 3),
                ret(r(0)),
                ret(r(1)),
            ],
            vec![
                op(2, p, vec![one, r(0)]),
                branch(r(2), 3),
                ret(seven),
                ret(one),
            ],
            vec![
                op(2, p, vec![r(0), r(1)]),
                branch(r(2), 3),
                ret(half),
                op(3, P::Sub, vec![r(0), one]),
                ret(r(3)),
            ],
            vec![
                op(2, P::IsInteger, vec![r(1)]),
                branch(r(2), 6),
                op(3, p, vec![r(1), r(0)]),
                branch(r(3), 6),
                mov(4, r(1)),
                ret(r(4)),
                Instr::Match {
                    left: r(0),
                    right: seven,
                    label: 8,
                },
                ret(one),
                op(3, P::Add, vec![r(0), one]),
                ret(r(3)),
            ],
            vec![
                op(2, P::IsFloat, vec![r(0)]),
                branch(r(2), 3),
                ret(seven),
                op(2, p, vec![r(1), r(0)]),
                branch(r(2), 6),
                ret(r(1)),
                ret(r(0)),
            ],
        ];
        for (i, code) in codes.into_iter().enumerate() {
            let function = format!("{name} {i}");
            let build = std::mem::replace(&mut table.build, Build::new());
            table.build = build.function(&function, 2, code);
            let function = table.build.uses(MODULE, &function, 2);
            for shape in Shape::ALL {
                let mut body = table.known(shape, KNOWN[0], r(LEFT));
                body.extend(table.known(shape, KNOWN[1], r(RIGHT)));
                let args = [
                    shape.register(KNOWN[0], LEFT),
                    shape.register(KNOWN[1], RIGHT),
                ];
                body.push(Instr::Call {
                    dst: RESULT,
                    function,
                    args: args.map(r).to_vec(),
                });
                table.pairs(&format!("{shape:?} call of {name} {i}"), body);
            }
        }
    }
    table.judge();
}

/// A value keeps what it is on the way through what is made of it.
#[test]
fn constructions() {
    let mut table = Table::new();
    for shape in Shape::ALL {
        let known = table.known(shape, KNOWN[0], r(RIGHT));
        let value = r(shape.register(KNOWN[0], RIGHT));
        for count in 1..6 {
            let mut body = known.clone();
            body.push(Instr::Tuple {
                dst: RESULT,
                elements: vec![value; count],
            });
            table.each(&format!("{shape:?} tuple of {count}"), body);
        }
        let mut body = known.clone();
        body.push(Instr::Cons {
            dst: RESULT,
            head: value,
            tail: value,
        });
        table.each(&format!("{shape:?} list"), body);
        let mut body = known;
        body.push(mov(RESULT, value));
        table.each(&format!("{shape:?} move"), body);
    }
    table.judge();
}
