//! How far apart two integers are: `abs(a - b)`, in one.
use super::{Body, Mode};
use crate::plan::Plan;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::InstBuilder;
use mote_vm::code::ir::{Instr, Operand};
use mote_vm::terms::prim::primitive::Primitive;

impl Body<'_, '_> {
    /// Compiles a difference together with its absolute value, if that is what follows and all that the difference is for.
    pub(super) fn absolute_difference(&mut self, i: usize) -> bool {
        let code = self.active.subject.code;
        let difference = code[i].operation();
        let absolute = code.get(i + 1).and_then(Instr::operation);
        let (Some((difference, Primitive::Sub, args)), Some((dst, Primitive::Abs, of))) =
            (difference, absolute)
        else {
            return false;
        };
        let flow = self.active.flow;
        let read_again = || flow.live[i + 2].iter().any(|read| read == difference);
        let constants = self.active.subject.constants;
        let alone = self.mode == Mode::Fast
            && of[..] == [Operand::Register(difference)]
            && flow.labels[i + 1].is_none()
            && self.active.resume as usize == i
            && (dst == difference || !read_again());
        if !alone || self.active.state.plan(Primitive::Sub, args, constants) != Plan::Fixnums {
            return false;
        }
        // The greater word less the smaller one is twice the distance, as an unsigned number always. Of a fixnum it is positive.
        let words = self.all_fixnums(args);
        let (a, b) = (words[0], words[1]);
        let (above, below) = (self.b.ins().isub(a, b), self.b.ins().isub(b, a));
        let less = self.b.ins().icmp(IntCC::SignedLessThan, a, b);
        let twice = self.b.ins().select(less, below, above);
        let large = self.b.ins().icmp_imm_s(IntCC::SignedLessThan, twice, 0);
        self.leave_if(large, self.out());
        let word = self.tagged_even(twice);
        self.set_word(dst, word);
        true
    }
}
