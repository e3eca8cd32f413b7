//! Calls of functions: fuel, depth, direct calls within the unit, loops.
//!
//! Fuel and depth travel in machine registers. Both are spent where the call is, in the order in which the
//! interpreter does it, so that both tiers stop at the same call for the same reason.
use super::{trusted, Body, Mode, Role};
use crate::atom::Atom;
use crate::code::ir::{Operand, Register};
use crate::native::compile::Callee;
use crate::native::{helpers, layout};
use crate::turn::Stop;
use crate::value::Value as Word;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{
    ExtFuncData, ExternalName, InstBuilder, SigRef, UserExternalName, Value,
};

impl Body<'_, '_> {
    pub(super) fn call(&mut self, d: Register, function: u32, args: &[Operand]) {
        self.spend();
        let callee = self.unit.callee(function);
        let target = self.slot_code(callee);
        let at_end = self.b.ins().icmp_imm_s(IntCC::Equal, self.depth, 0);
        self.abort_if(at_end, Word::atom(Atom::STACK));
        let left = self.b.ins().iadd_imm_s(self.depth, -1);
        let words = self.arguments(left, args);
        let call = match (callee, target) {
            (Callee::Own(index), _) => {
                let function = self.own(index, args.len());
                self.b.ins().call(function, &words)
            }
            (_, Some(code)) => {
                let signature = self.function_signature(args.len());
                self.b.ins().call_indirect(signature, code, &words)
            }
            (Callee::Slot(_), None) => unreachable!("a slot has a target"),
        };
        let results = self.b.inst_results(call);
        let (value, fuel) = (results[0], results[1]);
        self.b.def_var(self.fuel, fuel);
        self.leave_unless(value, super::Target::Stopped);
        self.set_word(d, value);
    }

    pub(super) fn tail_call(&mut self, function: u32, args: &[Operand]) {
        self.spend();
        let callee = self.unit.callee(function);
        if self.role_index() == callee.own() {
            return self.again(args);
        }
        let target = self.slot_code(callee);
        let words = self.arguments(self.depth, args);
        match (callee, target) {
            (Callee::Own(index), _) => {
                let function = self.own(index, args.len());
                self.b.ins().return_call(function, &words);
            }
            (_, Some(code)) => {
                let signature = self.function_signature(args.len());
                self.b.ins().return_call_indirect(signature, code, &words);
            }
            (Callee::Slot(_), None) => unreachable!("a slot has a target"),
        }
    }

    fn role_index(&self) -> Option<usize> {
        match self.role {
            Role::Function { index } => Some(index),
            Role::Behaviour { .. } => None,
        }
    }

    /// The function calls itself last: a loop.
    fn again(&mut self, args: &[Operand]) {
        // All arguments are read before any parameter is written.
        let floats: Vec<bool> = match self.mode {
            Mode::Fast => (self.flow.inputs.iter())
                .map(|kinds| *kinds == crate::native::kinds::Kinds::FLOAT)
                .collect(),
            Mode::Slow => vec![false; args.len()],
        };
        let values: Vec<Value> = (args.iter().zip(&floats))
            .map(|(arg, float)| match (float, arg) {
                (false, _) => self.word(*arg),
                // flow.rs has confirmed that it is unboxed, or a constant.
                (true, Operand::Register(r)) => self.b.use_var(self.floats[*r as usize]),
                (true, Operand::Constant(_)) => {
                    let f = self.constant_of(*arg).as_float().unwrap_or(f64::NAN);
                    self.b.ins().f64const(f)
                }
            })
            .collect();
        for (i, (value, float)) in values.into_iter().zip(floats).enumerate() {
            let variable = if float { self.floats[i] } else { self.words[i] };
            self.b.def_var(variable, value);
        }
        let block = match self.mode {
            Mode::Fast => self.fast_again,
            Mode::Slow => self.again,
        };
        let block = block.expect("a code that calls itself is a loop");
        self.b.ins().jump(block, &[]);
    }

    /// One unit of fuel: `callee` of the interpreter.
    fn spend(&mut self) {
        let fuel = self.b.use_var(self.fuel);
        let (empty, go) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(empty);
        let left = self.b.append_block_param(go, I64);
        self.b.ins().brif(fuel, go, &[fuel.into()], empty, &[]);

        self.b.switch_to_block(empty);
        self.b.seal_block(empty);
        let turn = self.turn;
        let more = self.helper(helpers::refuel as *const (), &[turn]);
        self.b.ins().jump(go, &[more.into()]);

        self.b.switch_to_block(go);
        self.b.seal_block(go);
        let left = self.b.ins().iadd_imm_s(left, -1);
        self.b.def_var(self.fuel, left);
    }

    /// The native code of another unit's function as it is now. Without any the turn is the interpreter's.
    fn slot_code(&mut self, callee: Callee) -> Option<Value> {
        let Callee::Slot(slot) = callee else {
            return None;
        };
        let slot = self.b.ins().iconst(I64, slot as i64);
        let at = self
            .b
            .ins()
            .iadd_imm_s(slot, i64::from(layout::SLOT_NATIVE));
        // Pairs with the release that publishes it, as the code it leads to must be seen.
        let code = self.b.ins().atomic_load(I64, trusted(), at);
        let (none, some) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(none);
        self.b.ins().brif(code, some, &[], none, &[]);
        self.b.switch_to_block(none);
        self.b.seal_block(none);
        self.halt(Stop::NotReady, None);
        self.go(super::Target::Stopped);
        self.b.switch_to_block(some);
        self.b.seal_block(some);
        Some(code)
    }

    fn arguments(&mut self, depth: Value, args: &[Operand]) -> Vec<Value> {
        let fuel = self.b.use_var(self.fuel);
        let mut words = vec![self.turn, fuel, depth];
        words.extend(args.iter().map(|arg| self.word(*arg)).collect::<Vec<_>>());
        words
    }

    fn function_signature(&mut self, arity: usize) -> SigRef {
        let signature = Role::Function { index: 0 }.signature(arity as u16, self.unit.host);
        self.b.import_signature(signature)
    }

    /// A function of the same unit, called directly.
    fn own(&mut self, index: usize, arity: usize) -> cranelift_codegen::ir::FuncRef {
        let signature = self.function_signature(arity);
        let name = UserExternalName::new(0, index as u32);
        let name = self.b.func.declare_imported_user_function(name);
        self.b.import_function(ExtFuncData {
            name: ExternalName::user(name),
            signature,
            colocated: true,
            patchable: false,
        })
    }
}
