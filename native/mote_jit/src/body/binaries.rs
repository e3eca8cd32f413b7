//! Inline operations on binaries: integers and parts of slices, at whole bytes. A loop over a binary works on a slice of it from
//! the second step on; anything else goes to a helper, in the same code, so nothing leaves the fast body here.
//!
//! The inlined code does what terms/prim/binaries.rs and the heap's `slice` do for the same arguments.
use super::positions::PositionIn;
use super::Body;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I16, I32, I64, I8};
use cranelift_codegen::ir::{Block, InstBuilder, MemFlagsData, Type, Value};
use mote_vm::code::ir::{Label, Operand, Register};
use mote_vm::native::layout::{self, header, Kind, COPIED_BYTES};
use mote_vm::terms::prim::primitive::Primitive;
use mote_vm::values::value;

/// Granules of a slice.
const GRANULES: usize = 2;

/// An integer that is in line: its bits, and whether the lowest byte is the first.
#[derive(Clone, Copy)]
struct WholeBytes {
    bits: Type,
    little: bool,
}

impl Body<'_, '_> {
    /// A primitive that reads a binary. Returns `false`, and does nothing, when it cannot be inlined.
    pub(super) fn read(
        &mut self,
        d: Register,
        p: Primitive,
        args: &[Operand],
        label: Option<Label>,
    ) -> bool {
        let plain = match p {
            Primitive::BinInt => match self.plain(args[2]) {
                None => return false,
                plain => plain,
            },
            Primitive::BinSlice | Primitive::BinRest => None,
            _ => return false,
        };
        // Before the ways part: what is converted to a word is one on both.
        let words: Vec<Value> = args.iter().map(|arg| self.word(*arg)).collect();
        if plain.is_none() {
            // As is where a part would be made: it is held on both afterwards.
            self.position(PositionIn::Heap);
        }
        let (ask, merged) = (self.b.create_block(), self.b.create_block());
        let answer = self.b.append_block_param(merged, I64);
        self.b.set_cold_block(ask);

        let found = self.slice(&words, ask);
        let quick = match (p, plain) {
            (Primitive::BinInt, Some(plain)) => self.integer_at(found, plain, ask),
            (Primitive::BinSlice, _) => {
                let count = words[2];
                let is = self.is_fixnum(count);
                self.otherwise(is, ask);
                let count = self.untagged(count);
                // Unsigned: a negative one is too large.
                let within = self
                    .b
                    .ins()
                    .icmp(IntCC::UnsignedLessThanOrEqual, count, found.left);
                self.otherwise(within, ask);
                self.part(words[0], found, count, ask)
            }
            _ => self.part(words[0], found, found.left, ask),
        };
        self.b.ins().jump(merged, &[quick.into()]);

        self.b.switch_to_block(ask);
        self.b.seal_block(ask);
        let asked = self.helper_call(p, args, label);
        self.b.ins().jump(merged, &[asked.into()]);

        self.b.switch_to_block(merged);
        self.b.seal_block(merged);
        self.set_word(d, answer);
        true
    }

    fn plain(&self, spec: Operand) -> Option<WholeBytes> {
        let spec = self.fixnum_constant(spec)?;
        let bits = match spec >> 2 {
            8 => I8,
            16 => I16,
            32 => I32,
            _ => return None,
        };
        let little = spec & 1 != 0;
        (spec & 2 == 0).then_some(WholeBytes { bits, little })
    }

    fn otherwise(&mut self, condition: Value, ask: Block) {
        let next = self.b.create_block();
        self.b.ins().brif(condition, next, &[], ask, &[]);
        self.b.switch_to_block(next);
        self.b.seal_block(next);
    }

    /// Where a position is in a slice, whose word and position come first.
    fn slice(&mut self, words: &[Value], ask: Block) -> FoundBytes {
        let boxed = self.has_tag(words[0], value::TAG_BOXED);
        self.otherwise(boxed, ask);
        let kind = self.at(words[0], 0);
        let slice = header(Kind::Slice, 0, 0) as i64;
        let is = self.b.ins().icmp_imm_s(IntCC::Equal, kind, slice);
        self.otherwise(is, ask);
        let bytes = self.at(words[0], layout::SLICE_BYTES);
        let count = self.at(words[0], layout::SLICE_COUNT);
        // A fixnum 8n is 16n + 1. A negative one is too large, unsigned.
        let low = self.b.ins().band_imm_s(words[1], 0xF);
        let whole = self.b.ins().icmp_imm_s(IntCC::Equal, low, 1);
        self.otherwise(whole, ask);
        let from = self.b.ins().ushr_imm_s(words[1], 4);
        let within = self
            .b
            .ins()
            .icmp(IntCC::UnsignedLessThanOrEqual, from, count);
        self.otherwise(within, ask);
        FoundBytes {
            at: self.b.ins().iadd(bytes, from),
            left: self.b.ins().isub(count, from),
            count,
        }
    }

    fn at(&mut self, word: Value, offset: i32) -> Value {
        self.b.ins().load(I64, super::trusted(), word, offset)
    }

    fn integer_at(&mut self, found: FoundBytes, plain: WholeBytes, ask: Block) -> Value {
        let enough = IntCC::UnsignedGreaterThanOrEqual;
        let bytes = i64::from(plain.bits.bytes());
        let enough = self.b.ins().icmp_imm_u(enough, found.left, bytes);
        self.otherwise(enough, ask);
        // At any address.
        let flags = MemFlagsData::new().with_notrap();
        let n = self.b.ins().load(plain.bits, flags, found.at, 0);
        let native = cfg!(target_endian = "little") == plain.little || plain.bits == I8;
        let n = if native { n } else { self.b.ins().bswap(n) };
        let n = self.b.ins().uextend(I64, n);
        self.tagged(n)
    }

    /// That many bytes from there on: a new slice of the same binary.
    fn part(&mut self, binary: Value, found: FoundBytes, count: Value, ask: Block) -> Value {
        let many = IntCC::UnsignedGreaterThan;
        let many = self.b.ins().icmp_imm_u(many, count, COPIED_BYTES as i64);
        self.otherwise(many, ask);
        let part = self.b.ins().icmp(IntCC::NotEqual, count, found.count);
        self.otherwise(part, ask);
        let whole = self.at(binary, layout::SLICE_WHOLE);
        let cell = self.allocate(GRANULES);
        let header = self.b.ins().iconst(I64, header(Kind::Slice, 0, 0) as i64);
        for (word, offset) in [
            (header, 0),
            (whole, layout::SLICE_WHOLE),
            (found.at, layout::SLICE_BYTES),
            (count, layout::SLICE_COUNT),
        ] {
            self.b.ins().store(super::trusted(), word, cell, offset);
        }
        cell
    }
}

/// A position in a slice: where its byte is, how many bytes there are from there on, and how many in all.
#[derive(Clone, Copy)]
struct FoundBytes {
    at: Value,
    left: Value,
    count: Value,
}
