//! `put_elem`: a tuple of few elements is copied in line, and one that nothing else refers to is changed where it is.
//!
//! Invariants:
//! 1. A tuple is changed in place only if an earlier `put_elem` has made it in the same run of instructions, none of them in between or
//!    later reads it, it is not put into itself, and control comes by that run alone. So nobody else ever sees it: neither another actor
//!    nor a collector, which does not look at what a turn has made before the turn ends.
//! 2. The slow body, which may take over at any instruction, copies the tuple whether it has been changed or not. The same element is
//!    put in the same place then.
//! 3. What is copied in line costs no fuel (base/work.rs), as if the helper had done it. A tuple with more elements is never changed
//!    in place, so that it costs the same on both tiers.
use super::helper_calls::Frequency;
use super::positions::PositionIn;
use super::{trusted, Body};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I64, I8X16};
use cranelift_codegen::ir::{InstBuilder, Value};
use mote_vm::code::ir::{Label, Operand, Register};
use mote_vm::native::layout::{FREE_ELEMENTS, GRANULE};
use mote_vm::terms::prim::primitive::Primitive;

impl Body<'_, '_> {
    pub(super) fn put_elem(&mut self, d: Register, args: &[Operand], label: Option<Label>) {
        let (tuple, header, index) = self.tuple_and_index(args, label);
        let value = self.word(args[2]);
        let into_itself = args[2] == args[0];
        let its_own = !into_itself && self.is_its_own(args[0]);
        let changed = self.copied_unless((tuple, header), args, its_own);
        let at = self.b.ins().ishl_imm_s(index, 3);
        let at = self.b.ins().iadd(changed, at);
        self.b.ins().store(trusted(), value, at, 8);
        self.set_word(d, changed);
    }

    /// Returns whether the tuple is a copy that nothing else refers to: invariant 1.
    fn is_its_own(&self, tuple: Operand) -> bool {
        let Operand::Register(r) = tuple else {
            return false;
        };
        let (code, flow, at) = (
            self.active.subject.code,
            self.active.flow,
            self.active.at as usize,
        );
        let is_read_later = flow.live.get(at + 1).is_none_or(|live| live.has(r));
        let overwritten = matches!(code[at].operation(), Some((d, ..)) if d == r);
        if is_read_later && !overwritten {
            return false;
        }
        for before in (0..at).rev() {
            if flow.labels[before + 1].is_some() {
                return false;
            }
            let Some((d, p, args)) = code[before].operation() else {
                return false;
            };
            if d == r {
                return p == Primitive::PutElem;
            }
            if args.contains(&tuple) {
                return false;
            }
        }
        false
    }

    /// A copy of a tuple, or the tuple if it is its own. One with many elements is copied by the helper.
    fn copied_unless(
        &mut self,
        (tuple, header): (Value, Value),
        args: &[Operand],
        its_own: bool,
    ) -> Value {
        let count = self.count(header);
        // Before the ways part: both know where the next cell goes.
        self.position(PositionIn::Cells);
        let (few, many, merged) = (self.next_block(), self.cold_block(), self.next_block());
        let copy = self.b.append_block_param(merged, I64);
        let is_small = IntCC::UnsignedLessThanOrEqual;
        let is_small = self
            .b
            .ins()
            .icmp_imm_u(is_small, count, FREE_ELEMENTS as i64);
        self.b.ins().brif(is_small, few, &[], many, &[]);

        self.begin_block(many);
        let found = self.helper_call(Primitive::PutElem, args, None, Frequency::Seldom);
        self.b.ins().jump(merged, &[found.into()]);

        self.begin_block(few);
        let changed = match its_own {
            true => tuple,
            false => self.copied(tuple, count),
        };
        self.b.ins().jump(merged, &[changed.into()]);

        self.begin_block(merged);
        copy
    }

    fn copied(&mut self, tuple: Value, count: Value) -> Value {
        let granules = self.b.ins().iadd_imm_s(count, 2);
        let granules = self.b.ins().ushr_imm_s(granules, 1);
        let shift = i64::from(GRANULE.trailing_zeros());
        let bytes = self.b.ins().ishl_imm_s(granules, shift);
        let cell = self.allocate_bytes(bytes);
        self.copy_granules(tuple, cell, bytes);
        cell
    }

    /// Copies at least one granule, the last one first.
    fn copy_granules(&mut self, from: Value, to: Value, bytes: Value) {
        let (next, done) = (self.b.create_block(), self.next_block());
        let left = self.b.append_block_param(next, I64);
        self.b.ins().jump(next, &[bytes.into()]);

        self.b.switch_to_block(next);
        let left = self.b.ins().iadd_imm_s(left, -(GRANULE as i64));
        let source = self.b.ins().iadd(from, left);
        let target = self.b.ins().iadd(to, left);
        let granule = self.b.ins().load(I8X16, trusted(), source, 0);
        self.b.ins().store(trusted(), granule, target, 0);
        self.b.ins().brif(left, next, &[left.into()], done, &[]);
        self.b.seal_block(next);

        self.begin_block(done);
    }
}
