//! Parts of binaries, made in line: slices, and copies of a few bytes.
//!
//! The inlined code does what the heap's `slice` does for the same arguments.
use super::binaries::{at_any_address, FoundBinary, Unusual};
use super::{trusted, Body};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{Block, InstBuilder, Value};
use mote_vm::native::layout::{self, header, Kind, COPIED_BYTES, COUNT_SHIFT, GRANULE};

/// Bytes of a word. A cell of one granule has room for one behind its header.
const WORD: i64 = 8;

// A copy takes one granule, with one word, or two with up to three; a slice takes two.
const _: () = assert!(GRANULE == 16 && COPIED_BYTES == 24);

impl Body<'_, '_> {
    /// Makes the part of a binary from there on: `count` bytes, or all that are left.
    pub(super) fn part_from(
        &mut self,
        found: FoundBinary,
        from: Value,
        count: Option<Value>,
        unusual: Unusual,
    ) -> Value {
        let within = IntCC::UnsignedLessThanOrEqual;
        let begins = self.b.ins().icmp(within, from, found.count);
        self.within(begins, unusual);
        let left = self.b.ins().isub(found.count, from);
        let count = match count {
            None => left,
            Some(word) => {
                let count = self.natural(word, unusual.ask);
                let ends = self.b.ins().icmp(within, count, left);
                // A negative number of bytes has its meaning, too.
                self.otherwise(ends, unusual.ask);
                count
            }
        };
        let at = self.b.ins().iadd(found.bytes, from);
        self.part(found, at, count, unusual.ask)
    }

    /// Makes a part of a binary: `count` bytes from an address on.
    fn part(&mut self, found: FoundBinary, at: Value, count: Value, ask: Block) -> Value {
        let part = self.b.ins().icmp(IntCC::NotEqual, count, found.count);
        self.otherwise(part, ask);
        // A copy is made of the word that ends where the part does. In a short binary, the header is before its bytes. Before those
        // of others there may be no memory.
        let is_short = self.is_short(found.header);
        let end = self.b.ins().iadd(at, count);
        let before = self.b.ins().isub(end, found.bytes);
        let enough = IntCC::UnsignedGreaterThanOrEqual;
        let has_word = self.b.ins().icmp_imm_u(enough, before, WORD);
        let has_word = self.b.ins().bor(is_short, has_word);
        self.otherwise(has_word, ask);

        let most = IntCC::UnsignedLessThanOrEqual;
        let small = self.b.ins().icmp_imm_u(most, count, WORD);
        let one = self.b.ins().iconst(I64, GRANULE as i64);
        let two = self.b.ins().iconst(I64, 2 * GRANULE as i64);
        let bytes = self.b.ins().select(small, one, two);
        let cell = self.allocate_bytes(bytes);
        let (slice, copy, merged) = (self.next_block(), self.next_block(), self.next_block());
        let copied = self.b.ins().icmp_imm_u(most, count, COPIED_BYTES as i64);
        self.b.ins().brif(copied, copy, &[], slice, &[]);

        self.begin_block(slice);
        self.fill_slice(cell, found, at, count);
        self.b.ins().jump(merged, &[]);

        self.begin_block(copy);
        self.fill_copy(cell, at, count, small);
        self.b.ins().jump(merged, &[]);

        self.begin_block(merged);
        cell
    }

    fn fill_slice(&mut self, cell: Value, found: FoundBinary, at: Value, count: Value) {
        // A slice of a slice is one of the same binary.
        let slice = header(Kind::Slice, 0, 0) as i64;
        let is_slice = self.b.ins().icmp_imm_s(IntCC::Equal, found.header, slice);
        let whole = self.at(found.word, layout::SLICE_WHOLE);
        let whole = self.b.ins().select(is_slice, whole, found.word);
        let header = self.b.ins().iconst(I64, slice);
        for (word, offset) in [
            (header, 0),
            (whole, layout::SLICE_WHOLE),
            (at, layout::SLICE_BYTES),
            (count, layout::SLICE_COUNT),
        ] {
            self.b.ins().store(trusted(), word, cell, offset);
        }
    }

    /// The bytes of a copy are one word, or three, which may overlap.
    fn fill_copy(&mut self, cell: Value, at: Value, count: Value, small: Value) {
        let bytes = layout::SHORT_BYTES;
        let counted = self.b.ins().ishl_imm_s(count, i64::from(COUNT_SHIFT));
        let header = self.b.ins().bor_imm_s(counted, Kind::Bytes as i64);
        self.b.ins().store(trusted(), header, cell, 0);
        let end = self.b.ins().iadd(at, count);
        let last = self
            .b
            .ins()
            .load(I64, at_any_address(), end, -(WORD as i32));
        let (one, three, merged) = (self.next_block(), self.next_block(), self.next_block());
        self.b.ins().brif(small, one, &[], three, &[]);

        self.begin_block(one);
        // What is before the part goes. Of no bytes at all it does not matter what is there.
        let all = self.b.ins().iconst(I64, WORD);
        let missing = self.b.ins().isub(all, count);
        let bits = self.b.ins().ishl_imm_s(missing, 3);
        let word = match cfg!(target_endian = "little") {
            true => self.b.ins().ushr(last, bits),
            false => self.b.ins().ishl(last, bits),
        };
        self.b.ins().store(trusted(), word, cell, bytes);
        self.b.ins().jump(merged, &[]);

        self.begin_block(three);
        let before = self.b.ins().iadd_imm_s(end, -2 * WORD);
        let begins = IntCC::UnsignedLessThan;
        let begins = self.b.ins().icmp(begins, at, before);
        let middle = self.b.ins().select(begins, before, at);
        for from in [at, middle] {
            let word = self.b.ins().load(I64, at_any_address(), from, 0);
            let distance = self.b.ins().isub(from, at);
            let to = self.b.ins().iadd(cell, distance);
            self.b.ins().store(at_any_address(), word, to, bytes);
        }
        let to = self.b.ins().iadd(cell, count);
        let to_last = bytes - WORD as i32;
        self.b.ins().store(at_any_address(), last, to, to_last);
        self.b.ins().jump(merged, &[]);

        self.begin_block(merged);
    }
}
