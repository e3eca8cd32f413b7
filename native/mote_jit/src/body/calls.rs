//! Calls of functions: direct ones within the unit, others through their slot, loops.
//!
//! What a function of the unit usually answers is known (compile.rs); a call tests that it has, and goes on in the slow
//! body otherwise.
use super::truth::order;
use super::{trusted, Body, Destination, Mode, Role};
use crate::early_answer::{Called, EarlyAnswer, Source};
use crate::kinds::Kinds;
use crate::link::Reference;
use crate::unit::Callee;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{
    Block, ExtFuncData, ExternalName, FuncRef, InstBuilder, SigRef, Value,
};
use mote_vm::code::ir::{Operand, Register};
use mote_vm::native::{layout, Stop};

impl Body<'_, '_> {
    pub(super) fn call(&mut self, d: Register, function: u32, args: &[Operand]) {
        let callee = self.unit.callee(function);
        // Without it the turn is the interpreter's, whatever else would end it.
        let target = self.slot_code(callee);
        let expected = match self.mode {
            Mode::Fast => self.active.subject.returns(function),
            Mode::Slow => Kinds::ANY,
        };
        let boxing = callee.own().and_then(|own| self.active.subject.boxing(own));
        let unboxed = boxing.is_some() && expected == Kinds::FLOAT;
        let pends = self.pends();
        if let Some(looked) = self.inlined(callee, expected, args).filter(|_| !pends) {
            self.spend_for_call();
            return self.inline(d, args, looked, expected);
        }
        let early = self.early_answer(callee, expected, args).filter(|_| !pends);
        self.spend_for_call();
        if pends {
            self.begin_pending(args);
        }
        let words = self.arguments(args);
        self.let_go_of_positions();
        let answered = early.map(|early| {
            let answered = self.next_block();
            self.b.append_block_param(answered, I64);
            self.b.append_block_param(answered, I64);
            self.answer_early(&early, &words, answered);
            answered
        });
        let call = match (callee, target) {
            (Callee::Own(index), _) => {
                let piece = boxing.filter(|_| !unboxed).unwrap_or(index);
                let function = self.own(piece, args.len(), unboxed);
                self.b.ins().call(function, &words)
            }
            (_, Some(code)) => {
                let signature = self.function_signature(args.len(), false);
                self.b.ins().call_indirect(signature, code, &words)
            }
            (Callee::Slot(_), None) => unreachable!("a slot has a target"),
        };
        let results = self.b.inst_results(call);
        let (value, budget, float) = (results[0], results[1], results.get(2).copied());
        // Where ways meet, it is the caller's again behind them: what it spends next makes one sum with that.
        let deeper = answered.is_some();
        match deeper {
            true => self.b.def_var(self.budget, budget),
            false => self.returned(budget),
        }
        self.set_word(d, value);
        if let Some(float) = float {
            let is = self.is_unboxed(value);
            self.expect(is, value, false);
            return self.set_float(d, float);
        }
        match expected {
            Kinds::FIXNUM => {
                let is = self.is_fixnum(value);
                self.expect(is, value, deeper);
            }
            Kinds::FLOAT => {
                let is = self.is_flonum(value);
                self.expect(is, value, deeper);
                let float = self.decode(value);
                self.b.def_var(self.active.floats[d as usize], float);
                self.active.here[d as usize].float = true;
            }
            Kinds::BOOLEAN => {
                let is = self.is_boolean(value);
                self.expect(is, value, deeper);
            }
            _ => self.leave_unless(value, Destination::Stopped),
        }
        if let Some(answered) = answered {
            let budget = self.b.use_var(self.budget);
            self.b.ins().jump(answered, &[value.into(), budget.into()]);
            self.begin_block(answered);
            let answer = self.b.block_params(answered)[0];
            let budget = self.b.block_params(answered)[1];
            self.returned(budget);
            self.set_word(d, answer);
        }
        if pends {
            self.resume();
        }
    }

    /// Returns the early answer of a call, computed before the call is made.
    fn early_answer(
        &self,
        callee: Callee,
        expected: Kinds,
        args: &[Operand],
    ) -> Option<EarlyAnswer> {
        // A float would have to be taken out of its word on both ways.
        if self.mode == Mode::Slow || expected == Kinds::FLOAT {
            return None;
        }
        let arguments: Vec<Kinds> = args.iter().map(|arg| self.kinds(*arg)).collect();
        EarlyAnswer::at(&Called {
            code: &self.unit.verified.functions[callee.own()?].code,
            constants: self.active.subject.constants,
            arguments: &arguments,
            expected,
        })
    }

    /// Goes to `answered` with the answer and the budget where the call need not be made, and on otherwise.
    fn answer_early(&mut self, early: &EarlyAnswer, words: &[Value], answered: Block) {
        let called = self.next_block();
        self.branch_early(early, words, called, answered);
        self.begin_block(called);
    }

    fn branch_early(
        &mut self,
        early: &EarlyAnswer,
        words: &[Value],
        called: Block,
        answered: Block,
    ) {
        match early {
            EarlyAnswer::Call => {
                self.b.ins().jump(called, &[]);
            }
            EarlyAnswer::Answer(source) => {
                let answer = self.word_from(*source, words);
                let budget = self.b.use_var(self.budget);
                self.b.ins().jump(answered, &[answer.into(), budget.into()]);
            }
            EarlyAnswer::If {
                primitive,
                left,
                right,
                yes,
                no,
            } => {
                let left = self.word_from(*left, words);
                let right = self.word_from(*right, words);
                let holds = self.b.ins().icmp(order(*primitive), left, right);
                let (then, otherwise) = (self.next_block(), self.next_block());
                self.b.ins().brif(holds, then, &[], otherwise, &[]);
                for (block, early) in [(then, yes), (otherwise, no)] {
                    self.begin_block(block);
                    self.branch_early(early, words, called, answered);
                }
            }
        }
    }

    /// The word of a source; `words` are what the call takes, its arguments last.
    fn word_from(&mut self, source: Source, words: &[Value]) -> Value {
        match source {
            Source::Argument(i) => words[2 + i],
            Source::Constant(k) => self.literal(self.active.subject.constants[k as usize]),
        }
    }

    /// Goes on if a call has answered what it usually does. One test also finds out that it has stopped. If `deeper`, the
    /// budget is still the callee's.
    fn expect(&mut self, usual: Value, value: Value, deeper: bool) {
        let (next, other) = (self.next_block(), self.cold_block());
        self.b.ins().brif(usual, next, &[], other, &[]);
        self.begin_block(other);
        self.leave_unless(value, Destination::Stopped);
        if deeper {
            let budget = self.b.use_var(self.budget);
            self.returned(budget);
        }
        let here = self.active.here.clone();
        self.go(Destination::Slow(self.active.at + 1));
        self.active.here = here;
        self.begin_block(next);
    }

    pub(super) fn tail_call(&mut self, function: u32, args: &[Operand]) {
        let callee = self.unit.callee(function);
        let target = self.slot_code(callee);
        if self.active.subject.is_self(function) {
            return self.loop_back(args);
        }
        self.spend_for_tail_call();
        let words = self.arguments(args);
        self.write_down();
        match (callee, target) {
            (Callee::Own(index), _) => {
                // A function that answers machine floats never ends in a call of one that does not (unit_facts.rs).
                let unboxed = self.is_unboxed_role();
                let boxing = self.active.subject.boxing(index).filter(|_| !unboxed);
                let function = self.own(boxing.unwrap_or(index), args.len(), unboxed);
                self.b.ins().return_call(function, &words);
            }
            (_, Some(code)) => {
                let signature = self.function_signature(args.len(), false);
                self.b.ins().return_call_indirect(signature, code, &words);
            }
            (Callee::Slot(_), None) => unreachable!("a slot has a target"),
        }
    }

    /// Returns whether this code answers floats as they are.
    pub(super) fn is_unboxed_role(&self) -> bool {
        matches!(self.role, Role::Function { unboxed: true, .. })
    }

    fn is_unboxed(&mut self, value: Value) -> Value {
        let equal = IntCC::Equal;
        self.b.ins().icmp_imm_s(equal, value, layout::UNBOXED)
    }

    /// Compiles the return of an operand.
    pub(super) fn give_back(&mut self, operand: Operand) {
        if let Some(inlined) = self.active.inlined {
            return self.come_back(inlined, operand);
        }
        self.return_pending(operand);
        let float = match operand {
            Operand::Register(r) if self.active.here[r as usize].float => {
                Some(self.b.use_var(self.active.floats[r as usize]))
            }
            _ => None,
        };
        if let Some(float) = float.filter(|_| self.is_unboxed_role()) {
            let unboxed = self.b.ins().iconst(I64, layout::UNBOXED);
            self.write_down();
            return self.answer(unboxed, Some(float));
        }
        let value = self.word(operand);
        self.write_down();
        self.answer(value, None);
    }

    /// Returns a value and the budget.
    pub(super) fn answer(&mut self, value: Value, float: Option<Value>) {
        let mut answer = vec![value, self.b.use_var(self.budget)];
        if self.is_unboxed_role() {
            answer.push(match float {
                Some(float) => float,
                None => self.b.ins().f64const(0.0),
            });
        }
        self.b.ins().return_(&answer);
    }

    /// Calls the form of a function that answers floats as they are, and answers words.
    pub(super) fn boxing(&mut self, index: usize, params: &[Value]) {
        let function = self.own(index, params.len() - 2, true);
        let call = self.b.ins().call(function, params);
        let results = self.b.inst_results(call);
        let (value, budget, float) = (results[0], results[1], results[2]);
        self.b.def_var(self.budget, budget);
        let (boxed, other) = (self.b.create_block(), self.b.create_block());
        let unboxed = self.is_unboxed(value);
        self.b.ins().brif(unboxed, boxed, &[], other, &[]);

        self.b.switch_to_block(boxed);
        let word = self.encode(float);
        self.answer(word, None);

        self.b.switch_to_block(other);
        self.answer(value, None);
    }

    /// The function calls itself last: a loop.
    fn loop_back(&mut self, args: &[Operand]) {
        if self.mode == Mode::Slow {
            self.spend_for_tail_call();
            return self.tested_round(args);
        }
        self.spend_for_round(|body| {
            // What is written on this way is written only there.
            let here = body.active.here.clone();
            body.tested_round(args);
            body.active.here = here;
        });
        self.hand_on(args);
        self.write_down();
        let block = self
            .active
            .fast_header
            .expect("code that calls itself is a loop");
        self.next_round(block);
    }

    /// Hands the arguments to the next round of the fast body.
    pub(super) fn hand_on(&mut self, args: &[Operand]) {
        // All arguments are read before any parameter is written.
        let floats = self.active.flow.inputs.iter().map(|i| *i == Kinds::FLOAT);
        let floats: Vec<bool> = floats.collect();
        let values: Vec<Value> = (args.iter().zip(&floats))
            .map(|(arg, float)| match (float, arg) {
                (false, _) => self.word(*arg),
                // dataflow.rs has confirmed that it is unboxed, or a constant.
                (true, Operand::Register(r)) => self.b.use_var(self.active.floats[*r as usize]),
                (true, Operand::Constant(_)) => {
                    let f = self.constant_of(*arg).as_float().unwrap_or(f64::NAN);
                    self.b.ins().f64const(f)
                }
            })
            .collect();
        for (i, (value, float)) in values.into_iter().zip(floats).enumerate() {
            if !float {
                self.b.def_var(self.active.words[i], value);
                continue;
            }
            // A float that stays the same would be calculated from its word again in each round: Cranelift moves what is
            // the same on all ways to where it is used. It finds out that this choice is none after that.
            let budget = self.b.use_var(self.budget);
            let value = self.b.ins().select(budget, value, value);
            self.b.def_var(self.active.floats[i], value);
        }
    }

    /// Enters the loop again, with words, at the tests of what the fast body takes for granted.
    fn tested_round(&mut self, args: &[Operand]) {
        if let Some(inlined) = self.active.inlined {
            return self.call_for_the_rest(inlined, args);
        }
        let words: Vec<Value> = args.iter().map(|arg| self.word(*arg)).collect();
        for (i, word) in words.into_iter().enumerate() {
            self.b.def_var(self.active.words[i], word);
        }
        self.write_down();
        let block = self
            .tested_header
            .expect("code that calls itself is a loop");
        self.b.ins().jump(block, &[]);
    }

    /// The native code of another unit's function as it is now.
    fn slot_code(&mut self, callee: Callee) -> Option<Value> {
        let Callee::Slot(slot) = callee else {
            return None;
        };
        let slot = self.reference(Reference::Function(slot));
        Some(self.code_in(slot))
    }

    /// The native code in a slot as it is now. Without any the turn is the interpreter's.
    pub(super) fn code_in(&mut self, slot: Value) -> Value {
        let at = self
            .b
            .ins()
            .iadd_imm_s(slot, i64::from(layout::SLOT_NATIVE));
        // Pairs with the release that publishes it, as the code it leads to must be seen.
        let code = self.b.ins().atomic_load(I64, trusted(), at);
        let (none, some) = (self.cold_block(), self.next_block());
        self.b.ins().brif(code, some, &[], none, &[]);
        self.begin_block(none);
        self.halt(Stop::NotReady, None);
        self.go(Destination::Stopped);
        self.begin_block(some);
        code
    }

    pub(super) fn arguments(&mut self, args: &[Operand]) -> Vec<Value> {
        let budget = self.b.use_var(self.budget);
        let mut words = vec![self.turn, budget];
        words.extend(args.iter().map(|arg| self.word(*arg)).collect::<Vec<_>>());
        words
    }

    pub(super) fn function_signature(&mut self, arity: usize, unboxed: bool) -> SigRef {
        let role = Role::Function { index: 0, unboxed };
        let signature = role.signature(arity as u16, self.unit.host);
        self.b.import_signature(signature)
    }

    /// A function of the same unit, called directly: that piece.
    pub(super) fn own(&mut self, piece: usize, arity: usize, unboxed: bool) -> FuncRef {
        let signature = self.function_signature(arity, unboxed);
        let name = Reference::Piece(piece).name();
        let name = self.b.func.declare_imported_user_function(name);
        self.b.import_function(ExtFuncData {
            name: ExternalName::user(name),
            signature,
            colocated: true,
            patchable: false,
        })
    }
}
