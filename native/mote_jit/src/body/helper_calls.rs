//! Calls of helpers, for what is not inlined, and what they return.
use super::{trusted, Body, Destination, Mode};
use crate::stubs::{operand, Seldom};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{AbiParam, InstBuilder, Signature, Type, Value};
use mote_vm::code::ir::{Instr, Label, Operand};
use mote_vm::native::{helpers, layout};
use mote_vm::terms::prim::primitive::Primitive;

/// Frequency with which control reaches a call of a helper. In the fast body it is often, unless something is unusual.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Frequency {
    Often,
    Seldom,
}

impl Body<'_, '_> {
    /// The answer of a primitive by its helper; goes to the label without one.
    pub(super) fn helper_call(
        &mut self,
        p: Primitive,
        args: &[Operand],
        label: Option<Label>,
        frequency: Frequency,
    ) -> Value {
        let number = self.b.ins().iconst(I64, i64::from(p.number()));
        let words = self.asked(number, args);
        let answer = match (frequency, label) {
            (Frequency::Often, _) => self.paid_helper(helpers::of(p, label.is_some()), &words),
            (Frequency::Seldom, Some(_)) => self.paid_seldom(Seldom::Guard, &words),
            (Frequency::Seldom, None) => self.paid_seldom(Seldom::Op, &words),
        };
        self.answer_or(label, answer)
    }

    /// Builds the arguments of a helper: the turn, the number of a primitive, and three arguments.
    fn asked(&mut self, number: Value, args: &[Operand]) -> Vec<Value> {
        let mut words = vec![self.turn, number];
        for i in 0..3 {
            let word = match args.get(i) {
                Some(arg) => self.word(*arg),
                None => self.b.ins().iconst(I64, 0),
            };
            words.push(word);
        }
        words
    }

    /// Goes to the label unless there is an answer.
    fn answer_or(&mut self, label: Option<Label>, answer: Value) -> Value {
        if let Some(label) = label {
            let none = self
                .b
                .ins()
                .icmp_imm_s(IntCC::Equal, answer, layout::NO_ANSWER as i64);
            self.leave_if(none, self.to(label));
        }
        answer
    }

    /// Compiles a primitive on a vector and the instruction behind it, which drops the vector, to one call. Returns whether they
    /// are that.
    pub(super) fn answer_and_drop(&mut self, i: usize) -> bool {
        let subject = self.active.subject;
        let [Instr::GuardOp {
            dst,
            primitive,
            args,
            label,
        }, Instr::Op {
            primitive: Primitive::VecDrop,
            args: dropped,
            ..
        }, ..] = &subject.code[i..]
        else {
            return false;
        };
        let Some(helper) = helpers::dropping(*primitive).filter(|_| self.mode == Mode::Fast) else {
            return false;
        };
        let dropped = self.word(dropped[0]);
        let words = self.asked(dropped, args);
        let answer = self.paid_helper(helper, &words);
        let answer = self.answer_or(Some(*label), answer);
        self.set_word(*dst, answer);
        true
    }

    /// Calls a helper that answers a word, and stops if it says so.
    pub(super) fn helper(&mut self, helper: *const (), args: &[Value]) -> Value {
        self.answered(false, |body| body.call_foreign(helper, args, I64))
    }

    /// Calls a helper that may spend fuel for what it walks over, out of the turn's remaining fuel.
    pub(super) fn paid_helper(&mut self, helper: *const (), args: &[Value]) -> Value {
        self.answered(true, |body| body.call_foreign(helper, args, I64))
    }

    /// Calls a helper that is seldom needed, by a stub. Otherwise like `helper`.
    pub(super) fn seldom(&mut self, helper: Seldom, args: &[Value]) -> Value {
        self.answered(false, |body| body.by_stub(helper, args))
    }

    /// Calls a helper that is seldom needed, by a stub. Otherwise like `paid_helper`.
    pub(super) fn paid_seldom(&mut self, helper: Seldom, args: &[Value]) -> Value {
        self.answered(true, |body| body.by_stub(helper, args))
    }

    pub(super) fn answered(&mut self, paid: bool, call: impl FnOnce(&mut Self) -> Value) -> Value {
        let spends = paid && self.has_budget();
        if spends {
            self.write_fuel();
        }
        self.write_positions();
        let answer = call(self);
        if spends {
            self.read_fuel();
        }
        self.leave_unless(answer, Destination::Stopped);
        self.read_positions();
        answer
    }

    pub(super) fn by_stub(&mut self, helper: Seldom, args: &[Value]) -> Value {
        let (stub, signature) = self.unit.stubs.of(helper);
        let signature = self.b.import_signature(signature);
        let stub = self.b.ins().iconst(I64, stub as i64);
        let turn = self.turn;
        for (i, arg) in args[1..].iter().enumerate() {
            let at = operand(i as i32);
            self.b.ins().store(trusted(), *arg, turn, at);
        }
        self.b.ins().call_indirect(signature, stub, &[turn]);
        self.b.ins().load(I64, trusted(), turn, layout::ANSWER)
    }

    /// Calls a function of Rust or C.
    pub(super) fn call_foreign(
        &mut self,
        function: *const (),
        args: &[Value],
        answer: Type,
    ) -> Value {
        let types: Vec<Type> = args
            .iter()
            .map(|a| self.b.func.dfg.value_type(*a))
            .collect();
        let known = self
            .signatures
            .iter()
            .find(|s| s.0 == types && s.1 == answer);
        let signature = match known {
            Some((_, _, signature)) => *signature,
            None => {
                let signature = self.b.import_signature(Signature {
                    params: types.iter().map(|t| AbiParam::new(*t)).collect(),
                    returns: vec![AbiParam::new(answer)],
                    call_conv: self.unit.host,
                });
                self.signatures.push((types, answer, signature));
                signature
            }
        };
        let address = self.b.ins().iconst(I64, function as i64);
        let call = self.b.ins().call_indirect(signature, address, args);
        self.b.inst_results(call)[0]
    }
}
