//! Functions that are values: made, and called by the slot that they lead to.
use super::{Body, Destination};
use crate::link::Reference;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{InstBuilder, Value};
use mote_vm::code::ir::{Operand, Register};
use mote_vm::native::{helpers, layout};

impl Body<'_, '_> {
    /// Makes a function of the unit a value.
    pub(super) fn fun(&mut self, d: Register, function: u32, captures: &[Operand]) {
        // Behind the unit's own constants: what each function that it uses is.
        let what = self.unit.verified.constants.len() + function as usize;
        let mut words = vec![self.reference(Reference::Constant(what))];
        words.extend(captures.iter().map(|c| self.word(*c)).collect::<Vec<_>>());
        let cell = self.boxed(layout::function_header(words.len()), &words);
        self.set_word(d, cell);
    }

    pub(super) fn call_fun(&mut self, d: Register, function: Operand, args: &[Operand]) {
        let code = self.code_of(function, args.len());
        self.spend_for_call();
        let words = self.with_itself(function, args);
        self.let_go_of_positions();
        let signature = self.function_signature(1 + args.len(), false);
        let call = self.b.ins().call_indirect(signature, code, &words);
        let (value, budget) = match self.b.inst_results(call) {
            [value, budget, ..] => (*value, *budget),
            _ => unreachable!("functions answer a word and the budget"),
        };
        self.returned(budget);
        self.set_word(d, value);
        self.leave_unless(value, Destination::Stopped);
    }

    pub(super) fn tail_call_fun(&mut self, function: Operand, args: &[Operand]) {
        let code = self.code_of(function, args.len());
        self.spend_for_tail_call();
        let words = self.with_itself(function, args);
        self.write_down();
        let signature = self.function_signature(1 + args.len(), false);
        self.b.ins().return_call_indirect(signature, code, &words);
    }

    /// The native code of a value that is to be called with that many arguments. The turn is the interpreter's if it is none, or no
    /// such function.
    fn code_of(&mut self, function: Operand, arguments: usize) -> Value {
        let arguments = self.b.ins().iconst(I64, arguments as i64);
        let args = [self.turn, self.word(function), arguments];
        let slot = self.helper(helpers::FUNCTION, &args);
        self.code_in(slot)
    }

    /// Returns the arguments for the code of a function value: the value itself, and then the arguments.
    fn with_itself(&mut self, function: Operand, args: &[Operand]) -> Vec<Value> {
        let mut all = vec![function];
        all.extend(args);
        self.arguments(&all)
    }
}
