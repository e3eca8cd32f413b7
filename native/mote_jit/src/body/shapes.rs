//! Tuples and lists: taken apart and made.
use super::positions::PositionIn;
use super::{trusted, Body, Mode};
use crate::stubs::Seldom;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I64, I8};
use cranelift_codegen::ir::{InstBuilder, Value};
use mote_vm::code::ir::{Instr, Label, Operand, Register};
use mote_vm::native::layout::{self, Kind, CLASS_SHIFT, CONSECUTIVE, COUNT_SHIFT, GRANULE};
use mote_vm::terms::prim::primitive::Primitive;
use mote_vm::values::value::{self, Value as Word};

/// Offset from the word of a list to its cell, and that of the tail in the cell.
const HEAD: i32 = -(value::TAG_CONS as i32);
const TAIL: i32 = HEAD + 8;

impl Body<'_, '_> {
    pub(super) fn match_tuple(
        &mut self,
        value: Operand,
        count: usize,
        first: Register,
        label: Label,
    ) {
        let word = self.word(value);
        let boxed = self.has_tag(word, value::TAG_BOXED);
        self.leave_unless(boxed, self.to(label));
        let header = self.b.ins().load(I64, trusted(), word, 0);
        let tuple = layout::tuple_header(count);
        let is = self.b.ins().icmp_imm_s(IntCC::Equal, header, tuple);
        self.leave_unless(is, self.to(label));
        for i in 0..count {
            let element = self.b.ins().load(I64, trusted(), word, 8 + 8 * i as i32);
            self.set_word(first + i as Register, element);
        }
    }

    pub(super) fn match_cons(
        &mut self,
        value: Operand,
        head: Register,
        tail: Register,
        label: Label,
    ) {
        let word = self.word(value);
        let tested = self.mode == Mode::Fast && self.active.cons_at == Some(self.active.at);
        if !tested {
            let cons = self.has_tag(word, value::TAG_CONS);
            self.leave_unless(cons, self.to(label));
        }
        let (first, rest) = (self.load(word, HEAD), self.load(word, TAIL));
        self.set_word(head, first);
        self.set_word(tail, rest);
    }

    /// Compiles a match with `[]` together with the match with a cell that its jump leads to, if there is one. The more frequent form of
    /// a list, the cell, is tested first, and `[]` only if the value is not a cell.
    pub(super) fn match_list(&mut self, list: Operand, other: Operand, label: Label) -> bool {
        let code = self.active.subject.code;
        let Instr::MatchCons {
            value: matched,
            label: no_list,
            ..
        } = &code[label as usize]
        else {
            return false;
        };
        let between = &code[self.active.at as usize + 1..label as usize];
        let alone = self.active.fast[label as usize].is_none()
            && between.iter().all(|i| i.label() != Some(label))
            && between.last().is_some_and(|last| !last.falls_through());
        let ends = *matched == list && self.constant_of(other) == Word::EMPTY_LIST;
        if self.mode == Mode::Slow || !alone || !ends {
            return false;
        }
        let word = self.word(list);
        let cons = self.has_tag(word, value::TAG_CONS);
        let (cell, end) = (self.to(label), self.next_block());
        let departure = self.departure(cell);
        self.go_on_if(cons, departure, end);
        self.depart(departure, cell);
        self.active.cons_at = Some(label);
        self.begin_block(end);
        let empty = self.is_word(word, Word::EMPTY_LIST);
        self.leave_unless(empty, self.to(*no_list));
        true
    }

    fn load(&mut self, word: Value, offset: i32) -> Value {
        self.b.ins().load(I64, trusted(), word, offset)
    }

    /// Leaves unless the condition holds: the primitive has no answer.
    fn answer_if(&mut self, condition: Value, label: Option<Label>) {
        match label {
            Some(label) => self.leave_unless(condition, self.to(label)),
            None => self.assume(condition),
        }
    }

    /// A primitive that looks into a value.
    pub(super) fn take(
        &mut self,
        d: Register,
        p: Primitive,
        args: &[Operand],
        label: Option<Label>,
    ) {
        debug_assert!(self.mode == Mode::Fast);
        match p {
            Primitive::Not => {
                if let Operand::Register(r) = args[0] {
                    if let Some(test) = self.active.here[r as usize].test {
                        let opposite = self.b.ins().bxor_imm_s(test, 1);
                        return self.set_test(d, opposite);
                    }
                }
                let word = self.word(args[0]);
                let (yes, no) = (
                    self.is_word(word, Word::TRUE),
                    self.is_word(word, Word::FALSE),
                );
                let boolean = self.b.ins().bor(yes, no);
                self.answer_if(boolean, label);
                self.set_test(d, no);
            }
            Primitive::Hd | Primitive::Tl => {
                let word = self.word(args[0]);
                let cons = self.has_tag(word, value::TAG_CONS);
                self.answer_if(cons, label);
                let offset = if p == Primitive::Hd { HEAD } else { TAIL };
                let part = self.load(word, offset);
                self.set_word(d, part);
            }
            Primitive::TupleSize => {
                let header = self.tuple_header(args[0], label);
                let count = self.count(header);
                let size = self.tagged(count);
                self.set_word(d, size);
            }
            Primitive::PutElem => self.put_elem(d, args, label),
            _ => {
                let (tuple, header, index) = self.tuple_and_index(args, label);
                let element = self.element(tuple, header, index);
                self.set_word(d, element);
            }
        }
    }

    /// A tuple, its header, and an index within it.
    pub(super) fn tuple_and_index(
        &mut self,
        args: &[Operand],
        label: Option<Label>,
    ) -> (Value, Value, Value) {
        let header = self.tuple_header(args[0], label);
        let count = self.count(header);
        let tuple = self.word(args[0]);
        let index = self.fixnum(args[1]);
        let index = self.untagged(index);
        // Unsigned: a negative one is too large.
        let within = self.b.ins().icmp(IntCC::UnsignedLessThan, index, count);
        self.answer_if(within, label);
        (tuple, header, index)
    }

    /// An element that is there. Of consecutive actors it is computed: see heap/cell.rs.
    fn element(&mut self, tuple: Value, header: Value, index: Value) -> Value {
        let class = i64::from(CONSECUTIVE) << CLASS_SHIFT;
        let consecutive = self.b.ins().band_imm_s(header, class);
        let (read, computed, merged) = (self.next_block(), self.next_block(), self.next_block());
        let element = self.b.append_block_param(merged, I64);
        self.b.ins().brif(consecutive, computed, &[], read, &[]);

        self.begin_block(read);
        let offset = self.b.ins().ishl_imm_s(index, 3);
        let at = self.b.ins().iadd(tuple, offset);
        let found = self.load(at, 8);
        self.b.ins().jump(merged, &[found.into()]);

        self.begin_block(computed);
        let first = self.load(tuple, 8);
        let granules = i64::from(GRANULE.trailing_zeros());
        let distance = self.b.ins().ishl_imm_s(index, granules);
        let address = self.b.ins().iadd(first, distance);
        self.b.ins().jump(merged, &[address.into()]);

        self.begin_block(merged);
        element
    }

    /// The header of a tuple.
    fn tuple_header(&mut self, arg: Operand, label: Option<Label>) -> Value {
        let word = self.word(arg);
        let boxed = self.has_tag(word, value::TAG_BOXED);
        self.answer_if(boxed, label);
        let kind = self.b.ins().load(I8, trusted(), word, 0);
        let tuple = self
            .b
            .ins()
            .icmp_imm_s(IntCC::Equal, kind, Kind::Tuple as i64);
        self.answer_if(tuple, label);
        self.load(word, 0)
    }

    pub(super) fn count(&mut self, header: Value) -> Value {
        self.b.ins().ushr_imm_s(header, i64::from(COUNT_SHIFT))
    }

    pub(super) fn tuple(&mut self, d: Register, elements: &[Operand]) {
        let words: Vec<Value> = elements.iter().map(|e| self.word(*e)).collect();
        let cell = self.boxed(layout::tuple_header(words.len()), &words);
        self.set_word(d, cell);
    }

    /// A cell of these words behind a header.
    pub(super) fn boxed(&mut self, header: i64, words: &[Value]) -> Value {
        let cell = self.allocate((words.len() + 2) / 2);
        let header = self.b.ins().iconst(I64, header);
        self.b.ins().store(trusted(), header, cell, 0);
        self.fill(cell, 8, words);
        cell
    }

    pub(super) fn cons(&mut self, d: Register, head: Operand, tail: Operand) {
        let words = [self.word(head), self.word(tail)];
        let cell = self.allocate(1);
        self.fill(cell, 0, &words);
        let list = self.b.ins().iadd_imm_s(cell, value::TAG_CONS as i64);
        self.set_word(d, list);
    }

    pub(super) fn fill(&mut self, cell: Value, offset: i32, words: &[Value]) {
        for (i, word) in words.iter().enumerate() {
            let offset = offset + 8 * i as i32;
            self.b.ins().store(trusted(), *word, cell, offset);
        }
    }

    /// Allocates that many granules. The turn stops when memory is exhausted.
    pub(super) fn allocate(&mut self, granules: usize) -> Value {
        let bytes = self.b.ins().iconst(I64, (granules * GRANULE) as i64);
        self.allocate_bytes(bytes)
    }

    /// Allocates that many bytes, which are whole granules, as the heap's `allocate` does.
    pub(super) fn allocate_bytes(&mut self, bytes: Value) -> Value {
        self.take_room(PositionIn::Cells, bytes, |body| {
            let granules = i64::from(GRANULE.trailing_zeros());
            let granules = body.b.ins().ushr_imm_s(bytes, granules);
            body.seldom(Seldom::Allocate, &[body.turn, granules])
        })
    }

    /// Allocates an actor, as the heap's `allocate_actors` does. The turn stops when memory is exhausted.
    pub(super) fn allocate_actor(&mut self) -> Value {
        let bytes = self.b.ins().iconst(I64, GRANULE as i64);
        self.take_room(PositionIn::Actors, bytes, |body| {
            body.seldom(Seldom::AllocateActor, &[body.turn])
        })
    }

    /// Takes that many bytes of the room in `place`. Where there are fewer, `otherwise` asks for them.
    fn take_room(
        &mut self,
        place: PositionIn,
        bytes: Value,
        otherwise: impl FnOnce(&mut Self) -> Value,
    ) -> Value {
        let (next, end) = self.position(place);
        let after = self.b.ins().iadd(next, bytes);
        let (quick, slow) = (self.next_block(), self.cold_block());
        let merged = self.next_block();
        let cell = self.b.append_block_param(merged, I64);
        // Before the first block both are 0.
        let fits = IntCC::UnsignedLessThanOrEqual;
        let fits = self.b.ins().icmp(fits, after, end);
        self.b.ins().brif(fits, quick, &[], slow, &[]);

        self.begin_block(quick);
        self.move_position(place, after);
        self.b.ins().jump(merged, &[next.into()]);

        self.begin_block(slow);
        let found = otherwise(self);
        self.b.ins().jump(merged, &[found.into()]);

        self.begin_block(merged);
        cell
    }
}
