//! Runs one turn's operations over a register stack.
//!
//! Everything unchecked here rests on code/verify.rs and code/lower.rs: register numbers are below the frame's
//! size, targets and argument ranges within the code, every path ends in a terminator, every register is written
//! before it is read. Depth is bounded by [`MAX_DEPTH`], so frames stay on the reserved register stack.
//!
//! Not here: what primitives compute (prim/), what commits mean (turn.rs).
use crate::base::atom::Atom;
use crate::base::work::Work;
use crate::code::op::{Code, Op, Reg};
use crate::code::slots::{BehaviourSlot, FunctionSlot};
use crate::heap::Heap;
use crate::platform::pages;
use crate::terms::prim::primitive::Primitive;
use crate::terms::prim::random::Draws;
use crate::terms::prim::{self, arith, compare};
use crate::turns::turn::fuel::MAX_DEPTH;
use crate::turns::turn::Turn;
use crate::values::actor::BehaviourId;
use crate::values::value::Value;
use frame::Frame;
use protected::Protected;
use std::ptr::NonNull;

pub(crate) mod call_site;
mod frame;
mod protected;
mod values;

/// Registers of the largest frame: those of the IR and lowering's scratch ones.
const LARGEST_FRAME: usize = 512 + 8;
/// Bytes for the frames of that depth, one for the behaviour's own, and one for arguments in flight.
const STACK_BYTES: usize =
    (if cfg!(miri) { 64 } else { MAX_DEPTH } + 2) * LARGEST_FRAME * size_of::<Value>();
const STACK_ALIGN: usize = align_of::<Value>();

/// The end of a turn that was not aborted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The turn commits.
    Done,
    /// The message matched no clause.
    Ignored,
}

/// The reason why a turn is aborted.
pub(crate) struct Aborted(pub(crate) Value);

impl Aborted {
    const fn by(reason: Atom) -> Aborted {
        Aborted(Value::atom(reason))
    }
}

/// A thread's register stack and call frames.
pub(crate) struct Interpreter {
    stack: NonNull<Value>,
    callers: Vec<(Frame, Reg)>,
    /// The calls that are protected, the innermost last.
    protected: Vec<Protected>,
}

// SAFETY: used by one thread at a time; between turns nothing looks at what `callers` and `protected` hold.
unsafe impl Send for Interpreter {}

impl Interpreter {
    /// `None` when the system has no address space for the register stack; its pages are taken when touched.
    pub(crate) fn new() -> Option<Interpreter> {
        let stack = NonNull::new(pages::map(STACK_BYTES, STACK_ALIGN)?)?.cast();
        Some(Interpreter {
            stack,
            callers: Vec::new(),
            protected: Vec::new(),
        })
    }

    /// The registers of a behaviour's frame: captures and message go there before [`Interpreter::run`].
    #[inline(always)]
    pub(crate) fn registers(&self) -> *mut Value {
        self.stack.as_ptr()
    }

    /// Runs `code`, whose inputs are in [`Interpreter::registers`].
    pub(crate) fn run(&mut self, turn: &mut Turn, code: &Code) -> Result<End, Aborted> {
        self.callers.clear();
        self.protected.clear();
        let mut frame = Frame::new(code, self.stack.as_ptr());
        loop {
            match self.run_on(turn, frame) {
                Err(aborted) => frame = self.caught(turn, aborted)?,
                end => return end,
            }
        }
    }

    /// Goes on with that frame. One match over all operations, which the optimiser sees as a whole.
    fn run_on(&mut self, turn: &mut Turn, mut frame: Frame) -> Result<End, Aborted> {
        loop {
            match frame.fetch() {
                Op::Move { d, a } => frame.set(d, frame.get(a)),
                Op::Constant { d, k } => frame.set(d, k),
                Op::Add { d, a, b } => frame.set(d, sum(turn, frame.get(a), frame.get(b))?),
                Op::AddConstant { d, a, k } => frame.set(d, sum(turn, frame.get(a), k)?),
                Op::Sub { d, a, b } => {
                    frame.set(d, difference(turn, frame.get(a), frame.get(b))?);
                }
                Op::SubConstant { d, a, k } => frame.set(d, difference(turn, frame.get(a), k)?),
                Op::Mul { d, a, b } => frame.set(d, product(turn, frame.get(a), frame.get(b))?),
                Op::Primitive { p, d, a, b, c } => {
                    let value = primitive(turn, p, frame.gather(p, [a, b, c]))?;
                    frame.set(d, answered(turn, value)?);
                }
                Op::Guard { p, d, a, b, c, to } => {
                    let value = primitive(turn, p, frame.gather(p, [a, b, c]))?;
                    if value.is_none() {
                        no_answer(turn)?;
                        frame.go(to);
                    } else {
                        frame.set(d, value);
                    }
                }
                Op::Compare { p, d, a, b, to } => {
                    let holds = comparison(p, frame.get(a), frame.get(b), &mut turn.heap.work);
                    turn.pay_for_work().map_err(Aborted::by)?;
                    frame.set_or_go(d, holds, to);
                }
                Op::LtConstant { d, a, to, k } => {
                    let holds = compare::less(frame.get(a), k, &mut turn.heap.work);
                    frame.set_or_go(d, holds, to.into());
                }
                Op::LeConstant { d, a, to, k } => {
                    let holds = !compare::less(k, frame.get(a), &mut turn.heap.work);
                    frame.set_or_go(d, holds, to.into());
                }
                Op::GtConstant { d, a, to, k } => {
                    let holds = compare::less(k, frame.get(a), &mut turn.heap.work);
                    frame.set_or_go(d, holds, to.into());
                }
                Op::GeConstant { d, a, to, k } => {
                    let holds = !compare::less(frame.get(a), k, &mut turn.heap.work);
                    frame.set_or_go(d, holds, to.into());
                }
                Op::Tuple { d, elements } => {
                    let count = elements.count as usize;
                    let tuple = turn.heap.tuple(count, |i| frame.argument(elements.from, i));
                    frame.set(d, made(tuple)?);
                }
                Op::Cons { d, a, b } => {
                    let cons = turn.heap.cons(frame.get(a), frame.get(b));
                    frame.set(d, made(cons)?);
                }
                Op::SelfAddress { d } => frame.set(d, Value::address(turn.actor)),
                Op::Call {
                    d,
                    arguments,
                    function,
                } => {
                    let (callee, arity) = callee(turn, function)?;
                    if self.callers.len() >= MAX_DEPTH {
                        return Err(Aborted::by(Atom::STACK));
                    }
                    self.callers.push((frame, d));
                    frame.pass(arguments, arity);
                    frame = Frame::new(callee, frame.beyond());
                }
                Op::TailCall {
                    arguments,
                    function,
                } => {
                    let (callee, arity) = callee(turn, function)?;
                    // Arguments may read registers that others overwrite: they take the way beyond the frame.
                    frame.pass(arguments, arity);
                    frame.take_back(arity);
                    frame = Frame::new(callee, frame.registers);
                }
                Op::Fun { d, parts } => {
                    let count = parts.count as usize;
                    let function = turn.heap.function(count, |i| frame.argument(parts.from, i));
                    frame.set(d, made(function)?);
                }
                Op::CallFun {
                    d,
                    function,
                    arguments,
                } => {
                    let code = self.callee_of(turn, &frame, frame.get(function), arguments)?;
                    if self.callers.len() >= MAX_DEPTH {
                        return Err(Aborted::by(Atom::STACK));
                    }
                    self.callers.push((frame, d));
                    frame.pass_to(frame.get(function), arguments);
                    frame = Frame::new(code, frame.beyond());
                }
                Op::TailCallFun {
                    function,
                    arguments,
                } => {
                    let code = self.callee_of(turn, &frame, frame.get(function), arguments)?;
                    frame.pass_to(frame.get(function), arguments);
                    frame.take_back(1 + arguments.count as usize);
                    frame = Frame::new(code, frame.registers);
                }
                Op::Try { d } => self.protect(turn, &frame, d),
                Op::Tried => drop(self.protected.pop()),
                Op::Return { a } => {
                    let value = frame.get(a);
                    // Only functions return, and every function was called.
                    let Some((caller, d)) = self.callers.pop() else {
                        return Ok(End::Done);
                    };
                    frame = caller;
                    frame.set(d, value);
                }
                Op::Jump { to } => frame.go(to),
                Op::Branch { a, to } => {
                    if frame.get(a) != Value::TRUE {
                        frame.go(to);
                    }
                }
                Op::Falsy { a, to } => {
                    let value = frame.get(a);
                    if value == Value::FALSE || value == Value::NIL {
                        frame.go(to);
                    }
                }
                Op::Match { a, b, to } => {
                    let same = compare::same(frame.get(a), frame.get(b), &mut turn.heap.work);
                    turn.pay_for_work().map_err(Aborted::by)?;
                    if !same {
                        frame.go(to);
                    }
                }
                Op::MatchImmediate { a, to, k } => {
                    if frame.get(a) != k {
                        frame.go(to);
                    }
                }
                Op::MatchTuple { a, d, count, to } => match frame.get(a).as_tuple() {
                    Some(elements) if elements.len() == count as usize => {
                        for (d, element) in (d..).zip(elements) {
                            frame.set(d, *element);
                        }
                    }
                    _ => frame.go(to),
                },
                Op::MatchCons { a, head, tail, to } => match frame.get(a).as_cons() {
                    Some((first, rest)) => {
                        frame.set(head, first);
                        frame.set(tail, rest);
                    }
                    None => frame.go(to),
                },
                Op::Create {
                    d,
                    captures,
                    behaviour,
                } => {
                    let (id, n) = current(behaviour)?;
                    let state = frame.captured(turn, captures, n)?;
                    frame.set(d, made(turn.create(id, state))?);
                }
                Op::CreateOne { d, a, behaviour } => {
                    let (id, _) = current(behaviour)?;
                    frame.set(d, made(turn.create(id, frame.get(a)))?);
                }
                Op::CreateOn {
                    d,
                    captures,
                    behaviour,
                } => {
                    let (id, n) = current(behaviour)?;
                    let state = frame.captured(turn, captures, n)?;
                    let sponsor = frame.argument(captures, n);
                    frame.set(d, made(turn.create_on(id, sponsor, state))?);
                }
                Op::Send { target, message } => turn.send(frame.get(target), frame.get(message)),
                Op::SendConstant { target, message } => turn.send(frame.get(target), message),
                Op::SendX {
                    sponsor,
                    target,
                    message,
                } => turn.sendx(frame.get(sponsor), frame.get(target), frame.get(message)),
                Op::SendAfter {
                    d,
                    delay,
                    target,
                    message,
                } => {
                    let (target, message) = (frame.get(target), frame.get(message));
                    let timer = turn.send_after(frame.get(delay), target, message);
                    frame.set(d, made(timer)?);
                }
                Op::CancelTimer { d, timer } => {
                    frame.set(d, turn.cancel_timer(frame.get(timer)));
                }
                Op::Unstash { kept } => {
                    turn.at_commit.stash.put(frame.get(kept), &mut turn.unusual)
                }
                Op::Become {
                    captures,
                    behaviour,
                } => {
                    let (id, n) = current(behaviour)?;
                    let state = frame.captured(turn, captures, n)?;
                    turn.become_next(id, state);
                }
                Op::BecomeOne { a, behaviour } => {
                    let (id, _) = current(behaviour)?;
                    turn.become_next(id, frame.get(a));
                }
                Op::BecomeSink => turn.become_next(BehaviourId::SINK, Value::NONE),
                Op::Abort { a } => return Err(Aborted(self.told(turn, frame.get(a)))),
                Op::Done => return Ok(End::Done),
                Op::Ignore => return Ok(End::Ignored),
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

/// An allocation that may have failed.
#[inline(always)]
fn made(value: Value) -> Result<Value, Aborted> {
    if value.is_none() {
        return Err(Aborted::by(Atom::NO_MEMORY));
    }
    Ok(value)
}

#[inline(always)]
fn sum(turn: &mut Turn, a: Value, b: Value) -> Result<Value, Aborted> {
    calculated(turn, arith::fixnum_sum, arith::add_slowly, a, b)
}

#[inline(always)]
fn difference(turn: &mut Turn, a: Value, b: Value) -> Result<Value, Aborted> {
    calculated(turn, arith::fixnum_difference, arith::sub_slowly, a, b)
}

#[inline(always)]
fn product(turn: &mut Turn, a: Value, b: Value) -> Result<Value, Aborted> {
    calculated(turn, arith::fixnum_product, arith::mul_slowly, a, b)
}

/// Returns the result of an arithmetic primitive. A fixnum of fixnums is calculated in line and costs nothing; anything else may.
#[inline(always)]
fn calculated(
    turn: &mut Turn,
    of_fixnums: impl FnOnce(Value, Value) -> Option<Value>,
    slowly: fn(&mut Heap, Value, Value) -> Value,
    a: Value,
    b: Value,
) -> Result<Value, Aborted> {
    match of_fixnums(a, b) {
        Some(value) => Ok(value),
        None => calculated_slowly(turn, slowly, a, b),
    }
}

#[inline(never)]
fn calculated_slowly(
    turn: &mut Turn,
    slowly: fn(&mut Heap, Value, Value) -> Value,
    a: Value,
    b: Value,
) -> Result<Value, Aborted> {
    let value = slowly(&mut turn.heap, a, b);
    turn.pay_for_work().map_err(Aborted::by)?;
    answered(turn, value)
}

/// Returns the answer of a primitive; `:undefined` if it has none.
#[inline(always)]
fn answered(turn: &Turn, value: Value) -> Result<Value, Aborted> {
    if value.is_none() {
        no_answer(turn)?;
        return Ok(Value::UNDEFINED);
    }
    Ok(value)
}

/// A primitive gave none: because memory ended, which ends the turn, or because there is no answer.
#[cold]
pub(crate) fn no_answer(turn: &Turn) -> Result<(), Aborted> {
    if turn.heap.exhausted() {
        return Err(Aborted::by(Atom::NO_MEMORY));
    }
    Ok(())
}

/// The code and arity of a function, for which this call spends fuel.
#[inline(always)]
fn callee(turn: &mut Turn, slot: *const FunctionSlot) -> Result<(*const Code, usize), Aborted> {
    if turn.fuel.slice == 0 {
        turn.refuel().map_err(Aborted::by)?;
    }
    turn.fuel.slice -= 1;
    // SAFETY: operations refer to slots of the program (program.rs, invariant 1).
    let slot = unsafe { &*slot };
    match slot.code() {
        Some(code) => Ok((code, slot.arity as usize)),
        None => Err(Aborted::by(Atom::UNDEFINED_FUNCTION)),
    }
}

/// The current version of a behaviour, and how many captures it has.
#[inline(always)]
fn current(slot: *const BehaviourSlot) -> Result<(BehaviourId, usize), Aborted> {
    // SAFETY: operations refer to slots of the program (program.rs, invariant 1).
    let slot = unsafe { &*slot };
    match slot.id() {
        Some(id) => Ok((id, slot.captures as usize)),
        None => Err(Aborted::by(Atom::UNDEFINED_FUNCTION)),
    }
}

#[inline(never)]
pub(crate) fn primitive(
    turn: &mut Turn,
    p: Primitive,
    arguments: [Value; 3],
) -> Result<Value, Aborted> {
    let clock = &turn.around.clock;
    let draws = Draws(&mut turn.random, &turn.counts.turns);
    let value = prim::apply(p, &mut turn.heap, draws, clock, &arguments);
    turn.pay_for_work().map_err(Aborted::by)?;
    Ok(value)
}

#[inline(always)]
pub(crate) fn comparison(p: Primitive, a: Value, b: Value, work: &mut Work) -> bool {
    match p {
        Primitive::Eq => compare::equal(a, b, work),
        Primitive::Ne => !compare::equal(a, b, work),
        Primitive::Same => compare::same(a, b, work),
        Primitive::Differ => !compare::same(a, b, work),
        Primitive::Lt => compare::less(a, b, work),
        Primitive::Le => !compare::less(b, a, work),
        Primitive::Gt => compare::less(b, a, work),
        _ => !compare::less(a, b, work),
    }
}
