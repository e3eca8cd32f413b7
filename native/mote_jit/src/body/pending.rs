//! Pending calls: a function calls itself, and has little to do once it has the answer, as in `first + sum(rest)` or
//! `[double(first) | doubled(rest)]`. Such a call is not made. What is still read behind it is **kept** in the frame, and the
//! function begins again. Where it would return, the last call that is pending goes on instead.
//!
//! Invariants:
//! 1. A pending call spends fuel and depth as a call does, and gives the depth back where it is answered.
//! 2. At most [`MOST`] calls are pending in a frame. In a full frame, the next call is made.
//! 3. A function returns to its caller only when no call is pending in its frame. Where it stops, they are forgotten.
use super::inline;
use super::{trusted, Body, Destination, Mode, Role};
use crate::dataflow::Dataflow;
use crate::kinds::Kinds;
use crate::subject::Subject;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{Block, InstBuilder, StackSlot, StackSlotData, StackSlotKind, Value};
use cranelift_frontend::{FunctionBuilder, Variable};
use mote_vm::code::ir::{Instr, Label, Operand, Register};

/// Calls that are pending in one frame.
const MOST: i64 = 16;
/// Registers that are kept of a call.
const LARGEST: usize = 3;

/// The call of a function that may be pending.
pub(super) struct Pending {
    call: Label,
    answer: Register,
    /// The usual kinds of the answer.
    expected: Kinds,
    /// The registers that are read behind the call, but for the answer.
    kept: Vec<Register>,
    slot: StackSlot,
    /// Offset at which the next call is kept, in bytes from the start of the slot.
    top: Variable,
    /// The block where the fast body goes on behind the call.
    resumed: Block,
    /// True if it goes on there. It may not get there, or may hold there what is not kept.
    resumes: bool,
}

impl Pending {
    /// The call that may be pending, if there is one.
    pub(super) fn of(
        b: &mut FunctionBuilder<'_>,
        subject: &Subject<'_>,
        flow: &Dataflow,
        role: Role,
    ) -> Option<Pending> {
        let Role::Function { unboxed: false, .. } = role else {
            return None;
        };
        if subject.code.iter().any(Instr::is_tail_call) {
            return None;
        }
        let (call, answer, import) = last_call(subject)?;
        let calls =
            |i: &&Instr| matches!(i, Instr::Call { function, .. } if subject.is_self(*function));
        // Where both of two calls can be inlined, as those of `fib`, that saves more.
        if subject.code.iter().filter(calls).count() > 1 && inline::is_small(subject, flow) {
            return None;
        }
        // Where the call is made, its answer would be a machine float, and where it was pending, a word. Functions that return
        // machine floats make their calls anyway.
        let expected = subject.returns(import);
        if expected == Kinds::FLOAT {
            return None;
        }
        let kept = flow.live[call + 1].iter().filter(|r| *r != answer);
        let kept: Vec<Register> = kept.collect();
        if kept.len() > LARGEST {
            return None;
        }
        let top = b.declare_var(I64);
        let none = b.ins().iconst(I64, 0);
        b.def_var(top, none);
        let bytes = (MOST * bytes(&kept)) as u32;
        let data = StackSlotData::new(StackSlotKind::ExplicitSlot, bytes, 3);
        Some(Pending {
            call: call as Label,
            answer,
            expected,
            kept,
            slot: b.create_sized_stack_slot(data),
            top,
            resumed: b.create_block(),
            resumes: false,
        })
    }
}

/// Returns the bytes that it takes to keep these registers.
fn bytes(kept: &[Register]) -> i64 {
    8 * kept.len().max(1) as i64
}

/// The last call of itself, if there is nothing behind it but a little computation; the register of its answer, and the import.
fn last_call(subject: &Subject<'_>) -> Option<(usize, Register, u32)> {
    let itself = |(at, i): (usize, &Instr)| match i {
        Instr::Call { dst, function, .. } if subject.is_self(*function) => {
            Some((at, *dst, *function))
        }
        _ => None,
    };
    let mut backwards = subject.code.iter().enumerate().rev();
    let (call, answer, import) = backwards.find_map(itself)?;
    let mut behind = subject.code[call + 1..].iter();
    let end = behind.find(|i| {
        let makes = matches!(
            i,
            Instr::Move { .. } | Instr::Cons { .. } | Instr::Tuple { .. }
        );
        !makes && i.operation().is_none()
    });
    matches!(end, Some(Instr::Return { .. })).then_some((call, answer, import))
}

impl Body<'_, '_> {
    /// Returns whether code goes on behind that call from other places than the call itself.
    pub(super) fn resumes_at(&self, label: Label) -> bool {
        let call = self.pending.as_ref().map(|pending| pending.call);
        self.active.inlined.is_none() && call.is_some_and(|call| call + 1 == label)
    }

    /// Returns whether the call at hand may be pending: it is that one, and only words are kept.
    pub(super) fn pends(&self) -> bool {
        let mut kept = self.pending.iter().flat_map(|pending| &pending.kept);
        self.mode == Mode::Fast
            && self.resumes_at(self.active.at + 1)
            && kept.all(|r| !self.active.state.known(*r).unboxed)
    }

    /// Begins the function again for a call that has been paid for, and goes on where the call has to be made.
    pub(super) fn begin_pending(&mut self, args: &[Operand]) {
        let fits = (self.active.flow.inputs.iter().zip(args))
            .all(|(input, arg)| *input != Kinds::FLOAT && self.kinds(*arg).is(*input));
        let pending = self.pending.as_ref().expect("the call is pending");
        let (top, slot, kept) = (pending.top, pending.slot, pending.kept.clone());
        let size = bytes(&kept);
        let words: Vec<Value> = args.iter().map(|arg| self.word(*arg)).collect();
        let kept: Vec<Value> = kept.iter().map(|r| self.word_of(*r)).collect();
        self.let_go_of_positions();
        let (keeps, calls) = (self.next_block(), self.cold_block());
        let before = self.b.use_var(top);
        let less = IntCC::SignedLessThan;
        let room = self.b.ins().icmp_imm_s(less, before, MOST * size);
        self.b.ins().brif(room, keeps, &[], calls, &[]);

        self.begin_block(keeps);
        let at = self.kept_at(slot, before);
        self.fill(at, 0, &kept);
        let after = self.b.ins().iadd_imm_s(before, size);
        self.b.def_var(top, after);
        for (i, word) in words.into_iter().enumerate() {
            self.b.def_var(self.active.words[i], word);
        }
        let header = match fits {
            true => self.active.fast_header,
            false => self.tested_header,
        };
        let header = header.expect("a function with a pending call begins with tests");
        self.b.ins().jump(header, &[]);

        self.begin_block(calls);
    }

    /// Goes on behind the call, which was made and has answered what it usually does.
    pub(super) fn resume(&mut self) {
        let pending = self.pending.as_mut().expect("the call is pending");
        pending.resumes = true;
        let (resumed, kept) = (pending.resumed, pending.kept.clone());
        for r in kept {
            let word = self.word_of(r);
            self.set_word(r, word);
        }
        self.b.ins().jump(resumed, &[]);
        self.positions.forget();
        self.current.clear();
        self.b.switch_to_block(resumed);
    }

    /// Lets the slow body go on behind the call, too, with answers that are not the usual ones.
    pub(super) fn begin_resumed(&mut self) {
        let Some(pending) = &self.pending else { return };
        let (resumed, resumes) = (pending.resumed, pending.resumes);
        let slow = self.block_of(Destination::Slow(pending.call + 1));
        if !resumes {
            self.b.switch_to_block(resumed);
            self.b.ins().jump(slow, &[]);
        }
    }

    /// Goes on behind the last pending call, where the function returns. If no call is pending, goes on here.
    pub(super) fn return_pending(&mut self, operand: Operand) {
        if self.active.inlined.is_some() {
            return;
        }
        let Some(pending) = &self.pending else { return };
        let (top, slot, kept) = (pending.top, pending.slot, pending.kept.clone());
        let (answer, resumed, behind) = (pending.answer, pending.resumed, pending.call + 1);
        let expected = pending.expected;
        let value = self.word(operand);
        self.write_down();
        let here = self.active.here.clone();
        let before = self.b.use_var(top);
        let (returns, done) = (self.next_block(), self.next_block());
        self.b.ins().brif(before, returns, &[], done, &[]);

        self.begin_block(returns);
        let left = self.b.ins().iadd_imm_s(before, -bytes(&kept));
        self.b.def_var(top, left);
        let budget = self.b.use_var(self.budget);
        self.returned(budget);
        let at = self.kept_at(slot, left);
        for (i, r) in kept.into_iter().enumerate() {
            let word = self.b.ins().load(I64, trusted(), at, 8 * i as i32);
            self.set_word(r, word);
        }
        let usual = match expected {
            Kinds::FIXNUM | Kinds::BOOLEAN if self.kinds(operand).is(expected) => None,
            Kinds::FIXNUM => Some(self.is_fixnum(value)),
            Kinds::BOOLEAN => Some(self.is_boolean(value)),
            _ => None,
        };
        self.set_word(answer, value);
        if let Some(usual) = usual {
            let slow = self.cold_block();
            self.b.ins().brif(usual, resumed, &[], slow, &[]);
            self.begin_block(slow);
            let slow = self.block_of(Destination::Slow(behind));
            self.b.ins().jump(slow, &[]);
        } else {
            self.b.ins().jump(resumed, &[]);
        }
        self.active.here = here;
        self.begin_block(done);
    }

    /// Returns the address in the frame at which a call's registers are kept.
    fn kept_at(&mut self, slot: StackSlot, offset: Value) -> Value {
        let start = self.b.ins().stack_addr(I64, slot, 0);
        self.b.ins().iadd(start, offset)
    }
}
