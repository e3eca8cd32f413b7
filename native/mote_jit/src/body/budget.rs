//! Fuel and depth: what a turn may still spend, and how deep its calls may still nest, in one word.
//!
//! ```text
//! bits  0..13  fuel left of the slice
//! bit      13  borrowed from when there was none
//! bits 14..31  calls that may still nest
//! bit      31  borrowed from when there were none
//! ```
//!
//! So a call takes one subtraction and one test, and a return one addition. Both are spent at the call, and which of them ran out
//! is tested in the order in which the interpreter tests it: fuel first.
use super::{trusted, Body, Role};
use crate::stubs::{operand, Seldom};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{InstBuilder, Value};
use mote_vm::base::atom::Atom;
use mote_vm::native::{layout, DEPTH_SHIFT, MAX_DEPTH, SLICE};
use mote_vm::values::value::Value as Word;

const FUEL: i64 = (1 << 13) - 1;
const ONE_DEEPER: i64 = 1 << DEPTH_SHIFT;
const NO_FUEL: u32 = 1 << 13;
const NO_DEPTH: u32 = 1 << 31;

const _: () = assert!(SLICE as i64 <= FUEL && (MAX_DEPTH as i64) << DEPTH_SHIFT < NO_DEPTH as i64);

impl Body<'_, '_> {
    /// The budget of a behaviour that has just begun.
    pub(super) fn whole_budget(&mut self) {
        let fuel = self.b.ins().load(I64, trusted(), self.turn, layout::FUEL);
        let depth = self.b.ins().load(I64, trusted(), self.turn, layout::DEPTH);
        let budget = self.b.ins().bor(fuel, depth);
        self.b.def_var(self.budget, budget);
    }

    /// Returns whether the code has a budget. A behaviour that calls nothing has none.
    pub(super) fn has_budget(&self) -> bool {
        self.spends || matches!(self.role, Role::Function { .. })
    }

    /// Writes down what is left of the budget, on the way to where the code stops. All such ways meet there, and if each handed it
    /// over in a register, it would have to be the same one in all of the code.
    pub(super) fn hand_over_budget(&mut self) {
        if self.has_budget() {
            let budget = self.b.use_var(self.budget);
            self.b.ins().store(trusted(), budget, self.turn, operand(0));
        }
    }

    /// Takes over the budget that was handed over where the code stops.
    pub(super) fn take_over_budget(&mut self) {
        if self.has_budget() {
            let budget = self.b.ins().load(I64, trusted(), self.turn, operand(0));
            self.b.def_var(self.budget, budget);
        }
    }

    /// Writes the fuel that is left into the turn.
    pub(super) fn write_fuel(&mut self) {
        let budget = self.b.use_var(self.budget);
        let fuel = self.b.ins().band_imm_s(budget, FUEL);
        self.b.ins().store(trusted(), fuel, self.turn, layout::FUEL);
    }

    /// Takes over the fuel that the turn has left.
    pub(super) fn read_fuel(&mut self) {
        let fuel = self.b.ins().load(I64, trusted(), self.turn, layout::FUEL);
        let budget = self.b.use_var(self.budget);
        let depth = self.b.ins().band_imm_s(budget, !FUEL);
        let budget = self.b.ins().bor(depth, fuel);
        self.b.def_var(self.budget, budget);
    }

    /// Spends what a call costs; the budget is the callee's then.
    pub(super) fn spend_for_call(&mut self) {
        self.spend(1 + ONE_DEEPER, NO_FUEL | NO_DEPTH);
    }

    /// Spends what a tail call costs.
    pub(super) fn spend_for_tail_call(&mut self) {
        self.spend(1, NO_FUEL);
    }

    /// The callee has returned what it has left.
    pub(super) fn returned(&mut self, budget: Value) {
        let budget = self.b.ins().iadd_imm_s(budget, ONE_DEEPER);
        self.b.def_var(self.budget, budget);
    }

    /// Tests whether the slice has fuel left for a group of that price.
    pub(super) fn has_fuel_for(&mut self, budget: Value, price: i64) -> Value {
        if price.count_ones() == 1 {
            return self.b.ins().band_imm_s(budget, FUEL & !(price - 1));
        }
        let fuel = self.b.ins().band_imm_s(budget, FUEL);
        let enough = IntCC::UnsignedGreaterThanOrEqual;
        self.b.ins().icmp_imm_u(enough, fuel, price)
    }

    /// Computes the number of groups of that price for which the slice has fuel left.
    pub(super) fn fuel_for(&mut self, budget: Value, price: i64) -> Value {
        let fuel = self.b.ins().band_imm_s(budget, FUEL);
        if price.count_ones() == 1 {
            let shift = i64::from(price.trailing_zeros());
            return self.b.ins().ushr_imm_s(fuel, shift);
        }
        let price = self.b.ins().iconst(I64, price);
        self.b.ins().udiv(fuel, price)
    }

    /// Tests whether that many calls may still nest.
    pub(super) fn has_depth_for(&mut self, budget: Value, calls: i64) -> Value {
        let depth = self.depth_of(budget);
        let enough = IntCC::UnsignedGreaterThanOrEqual;
        self.b.ins().icmp_imm_u(enough, depth, calls)
    }

    fn depth_of(&mut self, budget: Value) -> Value {
        self.b.ins().ushr_imm_s(budget, i64::from(DEPTH_SHIFT))
    }

    /// Spends what a round of a loop costs. Where it takes the next slice of fuel, it goes on as `sliced` has it, which
    /// does not come back: then the usual way has the budget in one register, and knows that a slice has no more rounds.
    pub(super) fn spend_for_round(&mut self, sliced: impl FnOnce(&mut Self)) {
        let (left, missing) = self.left(1, NO_FUEL);
        let (short, go) = (self.cold_block(), self.next_block());
        self.b.ins().brif(missing, short, &[], go, &[]);

        self.begin_block(short);
        let paid = self.paid(left, 1, NO_FUEL);
        self.b.def_var(self.budget, paid);
        sliced(self);

        self.begin_block(go);
        self.b.def_var(self.budget, left);
    }

    fn spend(&mut self, price: i64, borrowed: u32) {
        let (left, missing) = self.left(price, borrowed);
        let (short, go) = (self.cold_block(), self.next_block());
        let paid = self.b.append_block_param(go, I64);
        self.b.ins().brif(missing, short, &[], go, &[left.into()]);

        self.begin_block(short);
        let late = self.paid(left, price, borrowed);
        self.b.ins().jump(go, &[late.into()]);

        self.begin_block(go);
        self.b.def_var(self.budget, paid);
    }

    /// Computes the budget left after a price, and whether the price was too much.
    fn left(&mut self, price: i64, borrowed: u32) -> (Value, Value) {
        let budget = self.b.use_var(self.budget);
        let left = self.b.ins().iadd_imm_s(budget, -price);
        // The upper half is 0 or, when depth was borrowed, all ones; so the mask may have it, and fits in 32 bits.
        let missing = self.b.ins().band_imm_s(left, i64::from(borrowed as i32));
        (left, missing)
    }

    /// Pays, after all, a price that was too much. Returns the budget left.
    fn paid(&mut self, left: Value, price: i64, borrowed: u32) -> Value {
        // The budget as it was, calculated back: if that were seen to be the same, both would stay in registers on the
        // usual way, too.
        let left = self.by_memory(left);
        let budget = self.b.ins().iadd_imm_s(left, price);
        self.b.def_var(self.budget, budget);
        let budget = self.filled_up(budget);
        if borrowed & NO_DEPTH != 0 {
            let depth = self.depth_of(budget);
            let at_end = self.b.ins().icmp_imm_s(IntCC::Equal, depth, 0);
            self.abort_if(at_end, Word::atom(Atom::STACK));
        }
        self.b.ins().iadd_imm_s(budget, -price)
    }

    /// A value, by way of memory: the register allocator takes it for another one. So what it has to be kept in on a way that
    /// is seldom taken does not decide where it is on the usual one.
    pub(super) fn by_memory(&mut self, value: Value) -> Value {
        let (turn, at) = (self.turn, operand(0));
        self.b.ins().store(trusted(), value, turn, at);
        let at = self.b.ins().iadd_imm_s(turn, i64::from(at));
        self.b.ins().atomic_load(I64, trusted(), at)
    }

    /// The budget with more fuel if there was none left.
    fn filled_up(&mut self, budget: Value) -> Value {
        let (empty, on) = (self.next_block(), self.next_block());
        let filled = self.b.append_block_param(on, I64);
        let fuel = self.b.ins().band_imm_s(budget, FUEL);
        self.b.ins().brif(fuel, on, &[budget.into()], empty, &[]);

        self.begin_block(empty);
        let turn = self.turn;
        let more = self.seldom(Seldom::Refuel, &[turn]);
        let more = self.b.ins().bor(budget, more);
        self.b.ins().jump(on, &[more.into()]);

        self.begin_block(on);
        filled
    }
}
