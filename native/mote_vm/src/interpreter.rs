//! Runs one turn's operations over a register stack.
//!
//! Everything unchecked here rests on code/verify.rs and code/lower.rs: register numbers are below the frame's
//! size, targets and argument ranges within the code, every path ends in a terminator, every register is written
//! before it is read. Depth is bounded by [`MAX_DEPTH`], so frames stay on the reserved register stack.
//!
//! Not here: what primitives compute (prim/), what commits mean (turn.rs).
use crate::actor::BehaviourId;
use crate::atom::Atom;
use crate::code::op::{Argument, Arguments, Code, Op, Reg};
use crate::code::primitive::Primitive;
use crate::code::program::{BehaviourSlot, FunctionSlot};
use crate::heap::pages;
use crate::prim::{self, compare};
use crate::turn::Turn;
use crate::value::Value;
use std::ptr::NonNull;

/// How deep calls may nest; tail calls do not.
pub(crate) const MAX_DEPTH: usize = 100_000;
/// Registers of the largest frame: those of the IR and lowering's scratch ones.
const LARGEST_FRAME: usize = 512 + 8;
/// One frame more than the depth for the behaviour's own, and one for arguments in flight.
const STACK_BYTES: usize =
    (if cfg!(miri) { 64 } else { MAX_DEPTH } + 2) * LARGEST_FRAME * size_of::<Value>();
const STACK_ALIGN: usize = 4096;

/// How a turn ended.
pub(crate) enum End {
    /// It commits.
    Done,
    /// The message matched no clause.
    Ignored,
    /// It leaves no footprints, for this reason.
    Aborted(Value),
}

struct Frame {
    code: *const Code,
    at: *const Op,
    registers: *mut Value,
    d: Reg,
}

/// A thread's register stack and call frames.
pub(crate) struct Interpreter {
    stack: NonNull<Value>,
    frames: Vec<Frame>,
}

// SAFETY: used by one thread at a time; between turns `frames` is empty.
unsafe impl Send for Interpreter {}

impl Interpreter {
    /// `None` when the system has no address space for the register stack; its pages are taken when touched.
    pub(crate) fn new() -> Option<Interpreter> {
        let stack = NonNull::new(pages::map(STACK_BYTES, STACK_ALIGN)?)?.cast();
        Some(Interpreter {
            stack,
            frames: Vec::new(),
        })
    }

    /// The registers of a behaviour's frame: captures and message go there before [`Interpreter::run`].
    #[inline(always)]
    pub(crate) fn registers(&self) -> *mut Value {
        self.stack.as_ptr()
    }

    /// Runs `code`, whose inputs are in [`Interpreter::registers`].
    pub(crate) fn run(&mut self, turn: &mut Turn, code: &Code) -> End {
        self.frames.clear();
        let mut code: *const Code = code;
        let mut registers = self.stack.as_ptr();
        // SAFETY: `code` is live for the whole turn (program.rs, invariant 1).
        let mut at: *const Op = unsafe { (*code).ops.as_ptr() };

        // SAFETY (all four macros): see the head of this file.
        macro_rules! get {
            ($r:expr) => {
                unsafe { *registers.add($r as usize) }
            };
        }
        macro_rules! set {
            ($r:expr, $value:expr) => {{
                let value: Value = $value;
                unsafe { *registers.add($r as usize) = value }
            }};
        }
        macro_rules! go {
            ($to:expr) => {
                at = unsafe { (*code).ops.as_ptr().add($to as usize) }
            };
        }
        macro_rules! argument {
            ($from:expr, $i:expr) => {
                unsafe { argument(code, registers, $from as usize + $i) }
            };
        }
        // An allocation failed: the only abort that an operation itself can meet besides fuel and depth.
        macro_rules! made {
            ($value:expr) => {{
                let value: Value = $value;
                if value.is_none() {
                    return End::Aborted(Value::atom(Atom::NO_MEMORY));
                }
                value
            }};
        }
        macro_rules! answer {
            ($value:expr) => {{
                let value: Value = $value;
                if value.is_none() {
                    match no_answer(turn) {
                        Some(end) => return end,
                        None => Value::UNDEFINED,
                    }
                } else {
                    value
                }
            }};
        }
        macro_rules! unless {
            ($d:expr, $to:expr, $holds:expr) => {{
                let holds = $holds;
                set!($d, Value::boolean(holds));
                if !holds {
                    go!($to);
                }
            }};
        }
        macro_rules! spend {
            () => {
                if turn.fuel == 0 {
                    return End::Aborted(Value::atom(Atom::FUEL));
                }
                turn.fuel -= 1;
            };
        }

        loop {
            // SAFETY: `at` is within the code: paths end in a terminator, targets are in range.
            let op = unsafe { *at };
            // SAFETY: at most one past the last operation.
            at = unsafe { at.add(1) };
            match op {
                Op::Move { d, a } => set!(d, get!(a)),
                Op::Constant { d, k } => set!(d, k),
                Op::Add { d, a, b } => {
                    set!(d, answer!(prim::arith::add(&mut turn.heap, get!(a), get!(b))))
                }
                Op::AddConstant { d, a, k } => {
                    set!(d, answer!(prim::arith::add(&mut turn.heap, get!(a), k)))
                }
                Op::Sub { d, a, b } => {
                    set!(d, answer!(prim::arith::sub(&mut turn.heap, get!(a), get!(b))))
                }
                Op::SubConstant { d, a, k } => {
                    set!(d, answer!(prim::arith::sub(&mut turn.heap, get!(a), k)))
                }
                Op::Mul { d, a, b } => {
                    set!(d, answer!(prim::arith::mul(&mut turn.heap, get!(a), get!(b))))
                }
                Op::Primitive { p, d, a, b, c } => {
                    let arguments = unsafe { gather(registers, p, a, b, c) };
                    set!(d, answer!(primitive(turn, p, &arguments)))
                }
                Op::Guard { p, d, a, b, c, to } => {
                    let arguments = unsafe { gather(registers, p, a, b, c) };
                    let value = primitive(turn, p, &arguments);
                    if value.is_none() {
                        if let Some(end) = no_answer(turn) {
                            return end;
                        }
                        go!(to)
                    } else {
                        set!(d, value)
                    }
                }
                Op::Compare { p, d, a, b, to } => {
                    unless!(d, to, comparison(p, get!(a), get!(b)))
                }
                Op::LtConstant { d, a, to, k } => unless!(d, to, compare::less(get!(a), k)),
                Op::LeConstant { d, a, to, k } => unless!(d, to, !compare::less(k, get!(a))),
                Op::GtConstant { d, a, to, k } => unless!(d, to, compare::less(k, get!(a))),
                Op::GeConstant { d, a, to, k } => unless!(d, to, !compare::less(get!(a), k)),
                Op::Tuple { d, elements } => {
                    let Arguments { from, count } = elements;
                    let tuple = turn.heap.tuple(count as usize, |i| argument!(from, i));
                    set!(d, made!(tuple))
                }
                Op::Cons { d, a, b } => set!(d, made!(turn.heap.cons(get!(a), get!(b)))),
                Op::SelfAddress { d } => set!(d, Value::address(turn.actor)),
                Op::Call {
                    d,
                    arguments,
                    function,
                } => {
                    spend!();
                    let (callee, arity) = match unsafe { callee(function) } {
                        Some(found) => found,
                        None => return End::Aborted(Value::atom(Atom::UNDEFINED_FUNCTION)),
                    };
                    if self.frames.len() >= MAX_DEPTH {
                        return End::Aborted(Value::atom(Atom::STACK));
                    }
                    let next = unsafe { registers.add((*code).registers as usize) };
                    for i in 0..arity {
                        let value = argument!(arguments, i);
                        unsafe { *next.add(i) = value };
                    }
                    self.frames.push(Frame {
                        code,
                        at,
                        registers,
                        d,
                    });
                    registers = next;
                    code = callee;
                    at = unsafe { (*code).ops.as_ptr() };
                }
                Op::TailCall {
                    arguments,
                    function,
                } => {
                    spend!();
                    let (callee, arity) = match unsafe { callee(function) } {
                        Some(found) => found,
                        None => return End::Aborted(Value::atom(Atom::UNDEFINED_FUNCTION)),
                    };
                    // Arguments may read registers that others overwrite: gather them beyond the frame first.
                    let beyond = unsafe { registers.add((*code).registers as usize) };
                    for i in 0..arity {
                        let value = argument!(arguments, i);
                        unsafe { *beyond.add(i) = value };
                    }
                    unsafe { std::ptr::copy(beyond, registers, arity) };
                    code = callee;
                    at = unsafe { (*code).ops.as_ptr() };
                }
                Op::Return { a } => {
                    let value = get!(a);
                    // Only functions return, and every function was called.
                    let Some(frame) = self.frames.pop() else {
                        return End::Done;
                    };
                    code = frame.code;
                    at = frame.at;
                    registers = frame.registers;
                    set!(frame.d, value);
                }
                Op::Jump { to } => go!(to),
                Op::Branch { a, to } => {
                    if get!(a) != Value::TRUE {
                        go!(to)
                    }
                }
                Op::Falsy { a, to } => {
                    let value = get!(a);
                    if value == Value::FALSE || value == Value::NIL {
                        go!(to)
                    }
                }
                Op::Match { a, b, to } => {
                    if !compare::same(get!(a), get!(b)) {
                        go!(to)
                    }
                }
                Op::MatchImmediate { a, to, k } => {
                    if get!(a) != k {
                        go!(to)
                    }
                }
                Op::MatchTuple { a, d, count, to } => match get!(a).as_tuple() {
                    Some(elements) if elements.len() == count as usize => {
                        for (i, element) in elements.iter().enumerate() {
                            set!(d as usize + i, *element);
                        }
                    }
                    _ => go!(to),
                },
                Op::MatchCons { a, head, tail, to } => match get!(a).as_cons() {
                    Some((first, rest)) => {
                        set!(head, first);
                        set!(tail, rest);
                    }
                    None => go!(to),
                },
                Op::Create {
                    d,
                    captures,
                    behaviour,
                } => match unsafe { current(behaviour) } {
                    None => return End::Aborted(Value::atom(Atom::UNDEFINED_FUNCTION)),
                    Some((id, n)) => {
                        let Some(state) = turn.heap.captures(n, |i| argument!(captures, i)) else {
                            return End::Aborted(Value::atom(Atom::NO_MEMORY));
                        };
                        set!(d, made!(turn.heap.actor(id, None, state)));
                        turn.tally.creates += 1;
                    }
                },
                Op::CreateOne { d, a, behaviour } => match unsafe { current(behaviour) } {
                    None => return End::Aborted(Value::atom(Atom::UNDEFINED_FUNCTION)),
                    Some((id, _)) => {
                        set!(d, made!(turn.heap.actor(id, None, get!(a))));
                        turn.tally.creates += 1;
                    }
                },
                Op::CreateOn {
                    d,
                    captures,
                    behaviour,
                } => match unsafe { current(behaviour) } {
                    None => return End::Aborted(Value::atom(Atom::UNDEFINED_FUNCTION)),
                    Some((id, n)) => {
                        let pinned = turn.sponsor_number(argument!(captures, n));
                        let Some(state) = turn.heap.captures(n, |i| argument!(captures, i)) else {
                            return End::Aborted(Value::atom(Atom::NO_MEMORY));
                        };
                        set!(d, made!(turn.heap.actor(id, pinned, state)));
                        turn.tally.creates += 1;
                    }
                },
                Op::Send { target, message } => turn.send(get!(target), get!(message)),
                Op::SendConstant { target, message } => turn.send(get!(target), message),
                Op::SendX {
                    sponsor,
                    target,
                    message,
                } => turn.sendx(get!(sponsor), get!(target), get!(message)),
                Op::SendAfter {
                    d,
                    delay,
                    target,
                    message,
                } => set!(
                    d,
                    turn.send_after(get!(delay), get!(target), get!(message))
                ),
                Op::Become {
                    captures,
                    behaviour,
                } => match unsafe { current(behaviour) } {
                    None => return End::Aborted(Value::atom(Atom::UNDEFINED_FUNCTION)),
                    Some((id, n)) => {
                        let Some(state) = turn.heap.captures(n, |i| argument!(captures, i)) else {
                            return End::Aborted(Value::atom(Atom::NO_MEMORY));
                        };
                        turn.next = Some((id, state));
                    }
                },
                Op::BecomeOne { a, behaviour } => match unsafe { current(behaviour) } {
                    None => return End::Aborted(Value::atom(Atom::UNDEFINED_FUNCTION)),
                    Some((id, _)) => turn.next = Some((id, get!(a))),
                },
                Op::BecomeSink => turn.next = Some((BehaviourId::SINK, Value::NONE)),
                Op::Abort { a } => return End::Aborted(get!(a)),
                Op::Done => return End::Done,
                Op::Ignore => return End::Ignored,
            }
        }
    }
}

impl Drop for Interpreter {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`, and nothing else refers to it.
        unsafe { pages::unmap(self.stack.as_ptr().cast(), STACK_BYTES, STACK_ALIGN) };
    }
}

/// The i-th argument: a register or a constant.
///
/// # Safety
/// `code` is live, `i` within its arguments, `registers` its frame.
#[inline(always)]
unsafe fn argument(code: *const Code, registers: *mut Value, i: usize) -> Value {
    // SAFETY: by the caller's promise; lowering made the argument from a verified operand.
    unsafe {
        let code = &*code;
        let Argument(word) = *code.arguments.get_unchecked(i);
        if word & Argument::CONSTANT == 0 {
            *registers.add(word as usize)
        } else {
            *code.constants.add((word & !Argument::CONSTANT) as usize)
        }
    }
}

/// The arguments of a primitive; those beyond its arity are `NONE`, as their registers may not be written.
///
/// # Safety
/// `registers` is the frame of the code that the operation is from.
#[inline(always)]
unsafe fn gather(registers: *mut Value, p: Primitive, a: Reg, b: Reg, c: Reg) -> [Value; 3] {
    let mut arguments = [Value::NONE; 3];
    for (i, r) in [a, b, c].into_iter().take(p.arity()).enumerate() {
        // SAFETY: by the caller's promise.
        arguments[i] = unsafe { *registers.add(r as usize) };
    }
    arguments
}

/// # Safety
/// The slot belongs to the running program.
#[inline(always)]
unsafe fn callee(slot: *const FunctionSlot) -> Option<(*const Code, usize)> {
    // SAFETY: by the caller's promise.
    let slot = unsafe { &*slot };
    Some((slot.code()? as *const Code, slot.arity as usize))
}

/// # Safety
/// The slot belongs to the running program.
#[inline(always)]
unsafe fn current(slot: *const BehaviourSlot) -> Option<(BehaviourId, usize)> {
    // SAFETY: by the caller's promise.
    let slot = unsafe { &*slot };
    Some((slot.id()?, slot.captures as usize))
}

#[inline(never)]
fn primitive(turn: &mut Turn, p: Primitive, arguments: &[Value; 3]) -> Value {
    prim::apply(p, &mut turn.heap, &mut turn.random, arguments)
}

#[inline(always)]
fn comparison(p: Primitive, a: Value, b: Value) -> bool {
    match p {
        Primitive::Eq => compare::equal(a, b),
        Primitive::Ne => !compare::equal(a, b),
        Primitive::Same => compare::same(a, b),
        Primitive::Differ => !compare::same(a, b),
        Primitive::Lt => compare::less(a, b),
        Primitive::Le => !compare::less(b, a),
        Primitive::Gt => compare::less(b, a),
        _ => !compare::less(a, b),
    }
}

/// A primitive gave none: because memory ended, which ends the turn, or because there is no answer.
#[cold]
fn no_answer(turn: &Turn) -> Option<End> {
    turn.heap
        .exhausted()
        .then(|| End::Aborted(Value::atom(Atom::NO_MEMORY)))
}
