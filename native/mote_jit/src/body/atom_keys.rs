//! `is_map_key` of an atom. The header of a map's node says whether there may be atoms among its keys: where there are none, that
//! answers. So `map[key]` need not search most maps to know that they are not structs.
use super::helper_calls::Frequency;
use super::{trusted, Body};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I16, I8};
use cranelift_codegen::ir::InstBuilder;
use mote_vm::code::ir::{Label, Operand, Register};
use mote_vm::native::layout;
use mote_vm::terms::prim::primitive::Primitive;
use mote_vm::values::value::{self, Value as Word};

impl Body<'_, '_> {
    /// Computes whether a map has an atom among its keys. Goes to the label if the operand is not a map.
    pub(super) fn has_atom_key(&mut self, d: Register, args: &[Operand], label: Option<Label>) {
        let often = Frequency::Often;
        if label.is_none() {
            let answer = self.helper_call(Primitive::MapHasKey, args, label, often);
            return self.set_word(d, answer);
        }
        // Here, so that both ways know its word.
        let map = self.word(args[0]);
        let (cell, none) = (self.next_block(), self.next_block());
        let (ask, merged) = (self.next_block(), self.next_block());
        let result = self.b.append_block_param(merged, I8);
        let boxed = self.has_tag(map, value::TAG_BOXED);
        self.b.ins().brif(boxed, cell, &[], ask, &[]);

        self.begin_block(cell);
        let header = self.b.ins().load(I16, trusted(), map, 0);
        let known = self.b.ins().band_imm_u(header, layout::MAP_WITHOUT_ATOMS.0);
        let without = layout::MAP_WITHOUT_ATOMS.1;
        let without = self.b.ins().icmp_imm_s(IntCC::Equal, known, without);
        self.b.ins().brif(without, none, &[], ask, &[]);

        self.begin_block(none);
        let no = self.always(false);
        self.b.ins().jump(merged, &[no.into()]);

        self.begin_block(ask);
        let answer = self.helper_call(Primitive::MapHasKey, args, label, often);
        let holds = self.is_word(answer, Word::TRUE);
        self.b.ins().jump(merged, &[holds.into()]);

        self.begin_block(merged);
        self.set_test(d, result);
    }
}
