//! Creates, sends and becomes: staged in the turn, inline in the usual cases.
use super::positions::PositionIn;
use super::{constant, trusted, Body};
use crate::kinds::Kinds;
use crate::link::Reference;
use crate::stubs::Seldom;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{InstBuilder, Value};
use mote_vm::base::atom::Atom;
use mote_vm::code::ir::{Instr, Operand, Register};
use mote_vm::native::{helpers, layout, BehaviourSlot};
use mote_vm::values::value::{self, Value as Word};

impl Body<'_, '_> {
    /// Protects the call that follows. Where that fails, the interpreter runs the turn again (turns/interpreter/protected.rs), so here
    /// none does.
    pub(super) fn protect(&mut self, failed: Register) {
        self.count_protected(1);
        let none = self.always(false);
        self.set_test(failed, none);
    }

    /// Counts the protected calls that code is in.
    pub(super) fn count_protected(&mut self, more: i64) {
        let (turn, at) = (self.turn, layout::PROTECTED);
        let count = self.b.ins().load(I64, trusted(), turn, at);
        let count = self.b.ins().iadd_imm_s(count, more);
        self.b.ins().store(trusted(), count, turn, at);
    }

    pub(super) fn effect(&mut self, instruction: &Instr) {
        match instruction {
            Instr::SelfAddress { dst } => {
                // The same during the whole turn.
                let turn = self.turn;
                let actor = self.b.ins().load(I64, constant(), turn, layout::ACTOR);
                let address = self.b.ins().iadd_imm_s(actor, value::TAG_ADDRESS as i64);
                self.set_word(*dst, address);
            }
            Instr::Create {
                dst,
                behaviour,
                captures,
            } => {
                let id = self.current(*behaviour);
                let actor = self.create(id, captures);
                self.set_word(*dst, actor);
            }
            Instr::CreateOn {
                dst,
                behaviour,
                captures,
                sponsor,
            } => {
                let id = self.current(*behaviour);
                let state = self.state_of(captures);
                let sponsor = self.word(*sponsor);
                let id = self.b.ins().uextend(I64, id);
                let args = [self.turn, id, sponsor, state];
                let actor = self.helper(helpers::CREATE_ON, &args);
                self.set_word(*dst, actor);
            }
            Instr::Send { target, message } => self.send(*target, *message),
            Instr::SendX {
                sponsor,
                target,
                message,
            } => {
                let words = [*sponsor, *target, *message].map(|o| self.word(o));
                let args = [self.turn, words[0], words[1], words[2]];
                self.helper(helpers::SENDX, &args);
            }
            Instr::SendAfter {
                dst,
                delay,
                target,
                message,
            } => {
                let words = [*delay, *target, *message].map(|o| self.word(o));
                let args = [self.turn, words[0], words[1], words[2]];
                let timer = self.helper(helpers::SEND_AFTER, &args);
                self.set_word(*dst, timer);
            }
            Instr::CancelTimer { dst, timer } => {
                let args = [self.turn, self.word(*timer)];
                let done = self.helper(helpers::CANCEL_TIMER, &args);
                self.set_word(*dst, done);
            }
            Instr::Unstash { kept } => {
                let args = [self.turn, self.word(*kept)];
                self.helper(helpers::UNSTASH, &args);
            }
            Instr::Become {
                behaviour,
                captures,
            } => {
                let id = self.current(*behaviour);
                let state = self.state_of(captures);
                self.become_next(id, state);
            }
            Instr::BecomeSink => {
                let sink = layout::SINK;
                let id = self.b.ins().iconst(I32, i64::from(sink));
                let state = self.literal(Word::NONE);
                self.become_next(id, state);
            }
            _ => unreachable!("every other instruction is compiled elsewhere"),
        }
    }

    fn become_next(&mut self, id: Value, state: Value) {
        let turn = self.turn;
        let flags = trusted();
        self.b.ins().store(flags, id, turn, layout::NEXT_BEHAVIOUR);
        self.b.ins().store(flags, state, turn, layout::NEXT_STATE);
    }

    /// The number of a behaviour's current version: the same as at the last look since the last label.
    fn current(&mut self, behaviour: u32) -> Value {
        if let Some((_, id)) = self.current.iter().find(|(of, _)| *of == behaviour) {
            return *id;
        }
        let slot = self.reference(Reference::Behaviour(behaviour as usize));
        let at = self.b.ins().iadd_imm_s(slot, i64::from(layout::SLOT_ID));
        // Pairs with the release that publishes it.
        let id = self.b.ins().atomic_load(I32, trusted(), at);
        if !self.unit.loaded[behaviour as usize] {
            let unknown = i64::from(BehaviourSlot::NOT_LOADED as i32);
            let unknown = self.b.ins().icmp_imm_s(IntCC::Equal, id, unknown);
            self.abort_if(unknown, Word::atom(Atom::UNDEFINED_FUNCTION));
        }
        self.current.push((behaviour, id));
        id
    }

    /// The state word of a behaviour with these captures: the heap's `captures`.
    fn state_of(&mut self, captures: &[Operand]) -> Value {
        let words: Vec<Value> = captures.iter().map(|c| self.word(*c)).collect();
        match words[..] {
            [] => self.literal(Word::NONE),
            [one] => one,
            _ => {
                let cell = self.allocate(words.len().div_ceil(2));
                self.fill(cell, 0, &words);
                cell
            }
        }
    }

    fn create(&mut self, id: Value, captures: &[Operand]) -> Value {
        let state = self.state_of(captures);
        let actor = self.allocate_actor();
        let turn = self.turn;
        self.positions.count_create();
        let birth = self.b.ins().load(I64, constant(), turn, layout::BIRTH);
        let id = self.b.ins().uextend(I64, id);
        let header = self.b.ins().bor(birth, id);
        self.b.ins().store(trusted(), header, actor, 0);
        self.b.ins().store(trusted(), state, actor, layout::STATE);
        self.b.ins().iadd_imm_s(actor, value::TAG_ADDRESS as i64)
    }

    fn send(&mut self, target: Operand, message: Operand) {
        let kinds = self.kinds(target);
        let (target, message) = (self.word(target), self.word(message));
        let turn = self.turn;
        let slow = self.cold_block();
        let done = self.next_block();
        // Before the ways part: it is held on both of them afterwards.
        let (tail, end) = self.position(PositionIn::Queue);
        if kinds != Kinds::ACTOR {
            let actor = self.has_tag(target, value::TAG_ADDRESS);
            let next = self.next_block();
            self.b.ins().brif(actor, next, &[], slow, &[]);
            self.begin_block(next);
        }
        let quick = self.next_block();
        let full = self.b.ins().icmp(IntCC::Equal, tail, end);
        self.b.ins().brif(full, slow, &[], quick, &[]);

        self.begin_block(slow);
        self.seldom(Seldom::Send, &[turn, target, message]);
        self.b.ins().jump(done, &[]);

        self.begin_block(quick);
        let actor = self
            .b
            .ins()
            .iadd_imm_s(target, -(value::TAG_ADDRESS as i64));
        let (to, what) = (layout::EVENT_TARGET, layout::EVENT_MESSAGE);
        self.b.ins().store(trusted(), actor, tail, to);
        self.b.ins().store(trusted(), message, tail, what);
        let tail = self.b.ins().iadd_imm_s(tail, layout::EVENT_BYTES);
        self.move_position(PositionIn::Queue, tail);
        self.b.ins().jump(done, &[]);

        self.begin_block(done);
    }
}
