//! Reading binaries in line, at whole bytes: integers, characters of ASCII, sizes. Parts of binaries are in parts.rs. Whatever is
//! unusual (a position within a byte, a number of odd size, a value that is not a binary) goes to a helper, in the same code, so nothing
//! leaves the fast body here.
//!
//! The inlined code does what terms/prim/binaries.rs does for the same arguments.
use super::helper_calls::Frequency;
use super::positions::PositionIn;
use super::Body;
use crate::plan::{plain, WholeBytes};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I16, I32, I64, I8};
use cranelift_codegen::ir::{Block, InstBuilder, MemFlagsData, Type, Value};
use mote_vm::code::ir::{Label, Operand, Register};
use mote_vm::native::layout::{self, header, Kind, COUNT_SHIFT, LONG_BINARY};
use mote_vm::terms::prim::primitive::Primitive;
use mote_vm::values::value;

/// Code points from here on take more than one byte, and more than two.
const BEYOND_ASCII: i64 = 0x80;
const BEYOND_TWO_BYTES: i64 = 0x800;

/// The targets for code that finds its arguments unusual, or beyond the end.
#[derive(Clone, Copy)]
pub(super) struct Unusual {
    /// The block that asks the helper.
    pub(super) ask: Block,
    /// The target of a guard without an answer.
    label: Option<Label>,
}

/// A binary that was looked into.
#[derive(Clone, Copy)]
pub(super) struct FoundBinary {
    pub(super) word: Value,
    pub(super) header: Value,
    /// Address of its bytes, and their number.
    pub(super) bytes: Value,
    pub(super) count: Value,
}

impl Body<'_, '_> {
    /// A primitive that reads a binary: in line, and by its helper where it cannot be.
    pub(super) fn read(
        &mut self,
        d: Register,
        p: Primitive,
        args: &[Operand],
        label: Option<Label>,
    ) {
        use Primitive as P;
        // Before the ways part: what is converted to a word is one on both.
        let words: Vec<Value> = args.iter().map(|arg| self.word(*arg)).collect();
        if matches!(p, P::BinSlice | P::BinRest | P::BinTail | P::BinaryPart) {
            // As is where a part would be made: it is held on both afterwards.
            self.position(PositionIn::Cells);
        }
        let (ask, merged) = (self.cold_block(), self.next_block());
        let answer = self.b.append_block_param(merged, I64);
        let unusual = Unusual { ask, label };
        let quick = match p {
            P::Utf8Bits => self.bits_of_character(words[0], unusual),
            _ => {
                let found = self.binary(words[0], ask);
                self.read_found(p, args, &words, found, unusual)
            }
        };
        self.b.ins().jump(merged, &[quick.into()]);

        self.begin_block(ask);
        let asked = self.helper_call(p, args, label, Frequency::Seldom);
        self.b.ins().jump(merged, &[asked.into()]);

        self.begin_block(merged);
        self.set_word(d, answer);
    }

    fn read_found(
        &mut self,
        p: Primitive,
        args: &[Operand],
        words: &[Value],
        found: FoundBinary,
        unusual: Unusual,
    ) -> Value {
        use Primitive as P;
        match p {
            P::ByteSize => self.tagged(found.count),
            P::BitSize => {
                let bits = self.b.ins().ishl_imm_s(found.count, 3);
                self.tagged(bits)
            }
            P::BinaryAt => {
                let at = self.natural(words[1], unusual.ask);
                let within = IntCC::UnsignedLessThan;
                let within = self.b.ins().icmp(within, at, found.count);
                self.within(within, unusual);
                let at = self.b.ins().iadd(found.bytes, at);
                self.number_at(at, WholeBytes::ONE)
            }
            P::BinaryPart => {
                let from = self.natural(words[1], unusual.ask);
                self.part_from(found, from, Some(words[2]), unusual)
            }
            P::BinSlice => {
                let from = self.position_of(args[1], words[1], unusual.ask);
                self.part_from(found, from, Some(words[2]), unusual)
            }
            P::BinRest | P::BinTail => {
                let from = self.position_of(args[1], words[1], unusual.ask);
                self.part_from(found, from, None, unusual)
            }
            P::BinUtf8 => {
                let byte = self.bytes_at(args[1], words[1], found, WholeBytes::ONE, unusual);
                let ascii =
                    self.b
                        .ins()
                        .icmp_imm_u(IntCC::UnsignedLessThan, byte, value_of(BEYOND_ASCII));
                self.otherwise(ascii, unusual.ask);
                byte
            }
            _ => {
                let whole = plain(args[2], self.active.subject.constants);
                let whole = whole.expect("what is planned to be read in line");
                self.bytes_at(args[1], words[1], found, whole, unusual)
            }
        }
    }

    /// Goes on in a new block if the condition holds, and to `other` otherwise.
    pub(super) fn otherwise(&mut self, condition: Value, other: Block) {
        let next = self.next_block();
        self.b.ins().brif(condition, next, &[], other, &[]);
        self.begin_block(next);
    }

    /// Goes on if what is read lies within the binary.
    pub(super) fn within(&mut self, condition: Value, unusual: Unusual) {
        match unusual.label {
            Some(label) => self.leave_unless(condition, self.to(label)),
            None => self.otherwise(condition, unusual.ask),
        }
    }

    /// Looks into a word that is a binary; goes to `other` if it is none.
    pub(super) fn binary(&mut self, word: Value, other: Block) -> FoundBinary {
        let boxed = self.has_tag(word, value::TAG_BOXED);
        self.otherwise(boxed, other);
        let header_word = self.at(word, 0);
        let (elsewhere, not_slice) = (self.next_block(), self.next_block());
        let (short, not_short, merged) = (self.next_block(), self.next_block(), self.next_block());
        let (bytes, count) = (
            self.b.append_block_param(merged, I64),
            self.b.append_block_param(merged, I64),
        );
        let slice = header(Kind::Slice, 0, 0) as i64;
        let slice = self.b.ins().icmp_imm_s(IntCC::Equal, header_word, slice);
        self.b.ins().brif(slice, elsewhere, &[], not_slice, &[]);

        self.begin_block(not_slice);
        let is_short = self.is_short(header_word);
        self.b.ins().brif(is_short, short, &[], not_short, &[]);

        self.begin_block(not_short);
        let long = self
            .b
            .ins()
            .icmp_imm_s(IntCC::Equal, header_word, LONG_BINARY as i64);
        self.b.ins().brif(long, elsewhere, &[], other, &[]);

        self.begin_block(elsewhere);
        let there = self.at(word, layout::SLICE_BYTES);
        let many = self.at(word, layout::SLICE_COUNT);
        self.b.ins().jump(merged, &[there.into(), many.into()]);

        self.begin_block(short);
        let here = self
            .b
            .ins()
            .iadd_imm_s(word, i64::from(layout::SHORT_BYTES));
        let few = self.b.ins().ushr_imm_s(header_word, i64::from(COUNT_SHIFT));
        self.b.ins().jump(merged, &[here.into(), few.into()]);

        self.begin_block(merged);
        FoundBinary {
            word,
            header: header_word,
            bytes,
            count,
        }
    }

    /// Tests whether a header is that of a binary whose bytes follow it.
    pub(super) fn is_short(&mut self, header: Value) -> Value {
        let kind = self.b.ins().band_imm_s(header, 0xFF);
        let short = Kind::Bytes as i64;
        self.b.ins().icmp_imm_s(IntCC::Equal, kind, short)
    }

    /// Goes to the label unless a word is the empty binary.
    pub(super) fn match_empty_binary(&mut self, word: Value, label: Label) {
        let target = self.to(label);
        let away = self.departure(target);
        let found = self.binary(word, away);
        let empty = self.b.ins().icmp_imm_s(IntCC::Equal, found.count, 0);
        let next = self.next_block();
        self.go_on_if(empty, next, away);
        self.depart(away, target);
        self.begin_block(next);
    }

    /// A position that is a number of bits, in bytes; goes to `ask` if it lies within one, or is none.
    pub(super) fn position_of(&mut self, position: Operand, word: Value, ask: Block) -> Value {
        match self.whole_position(position) {
            Some(bytes) => self.b.ins().iconst(I64, bytes),
            None => {
                // A fixnum 8n is 16n + 1. A negative one is too large, unsigned.
                let low = self.b.ins().band_imm_s(word, 0xF);
                let whole = self.b.ins().icmp_imm_s(IntCC::Equal, low, 1);
                self.otherwise(whole, ask);
                self.b.ins().ushr_imm_s(word, 4)
            }
        }
    }

    fn whole_position(&self, position: Operand) -> Option<i64> {
        let bits = self.fixnum_constant(position)?;
        (bits >= 0 && bits % 8 == 0).then_some(bits / 8)
    }

    /// An integer that is not negative: of a negative one, a number that is too large, unsigned. Goes to `ask` if it is none.
    pub(super) fn natural(&mut self, word: Value, ask: Block) -> Value {
        let is = self.is_fixnum(word);
        self.otherwise(is, ask);
        self.untagged(word)
    }

    /// The integer of whole bytes at a position.
    fn bytes_at(
        &mut self,
        position: Operand,
        word: Value,
        found: FoundBinary,
        whole: WholeBytes,
        unusual: Unusual,
    ) -> Value {
        let size = i64::from(whole.bytes);
        let enough = IntCC::UnsignedGreaterThanOrEqual;
        let at = match self.whole_position(position) {
            Some(from) => {
                let within = self.b.ins().icmp_imm_u(enough, found.count, from + size);
                self.within(within, unusual);
                self.b.ins().iadd_imm_s(found.bytes, from)
            }
            None => {
                let from = self.position_of(position, word, unusual.ask);
                // Positions are so far below the largest words that this fits.
                let end = self.b.ins().iadd_imm_s(from, size);
                let within = self.b.ins().icmp(enough, found.count, end);
                self.within(within, unusual);
                self.b.ins().iadd(found.bytes, from)
            }
        };
        self.number_at(at, whole)
    }

    /// The integer of whole bytes at an address.
    fn number_at(&mut self, at: Value, whole: WholeBytes) -> Value {
        let (bits, load) = (type_of(whole), at_any_address());
        let n = self.b.ins().load(bits, load, at, 0);
        let native = cfg!(target_endian = "little") == whole.little || whole.bytes == 1;
        let n = if native { n } else { self.b.ins().bswap(n) };
        let n = self.b.ins().uextend(I64, n);
        self.tagged(n)
    }

    /// Computes the bits that a character takes, if it takes one byte or two.
    fn bits_of_character(&mut self, word: Value, unusual: Unusual) -> Value {
        let character = self.natural(word, unusual.ask);
        let less = IntCC::UnsignedLessThan;
        let short = self.b.ins().icmp_imm_u(less, character, BEYOND_TWO_BYTES);
        self.otherwise(short, unusual.ask);
        let ascii = self.b.ins().icmp_imm_u(less, character, BEYOND_ASCII);
        let one = self.b.ins().iconst(I64, value_of(8));
        let two = self.b.ins().iconst(I64, value_of(16));
        self.b.ins().select(ascii, one, two)
    }

    pub(super) fn at(&mut self, word: Value, offset: i32) -> Value {
        self.b.ins().load(I64, super::trusted(), word, offset)
    }
}

/// The word of a small integer.
fn value_of(n: i64) -> i64 {
    value::Value::fixnum(n).word() as i64
}

fn type_of(whole: WholeBytes) -> Type {
    match whole.bytes {
        1 => I8,
        2 => I16,
        _ => I32,
    }
}

/// Loads and stores of bytes that are there, at any address.
pub(super) fn at_any_address() -> MemFlagsData {
    MemFlagsData::new().with_notrap()
}
