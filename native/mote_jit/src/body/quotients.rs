//! Quotients and remainders of fixnums.
//!
//! A remainder by 2^k - 1 needs no division: 2^k leaves 1, so a number leaves what its lowest k bits and the others leave
//! together. Generators of random numbers divide by such numbers in every round, and each round waits for the one before.
use super::Body;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{InstBuilder, Value};
use mote_vm::terms::prim::primitive::Primitive;
use mote_vm::values::value::FIXNUM_MAX;

/// Numbers are folded if they have at most this many bits.
const FOLDED: i64 = 61;

/// The k of a divisor 2^k - 1 that is so large that one subtraction is left to do once a number has been folded: its upper
/// bits are fewer than k, so that the sum is less than twice the divisor.
fn folded_bits(divisor: i64) -> Option<i64> {
    let bits = i64::from(divisor.trailing_ones());
    let fits = (FOLDED / 2 + 1..FOLDED).contains(&bits);
    (fits && divisor == (1 << bits) - 1).then_some(bits)
}

impl Body<'_, '_> {
    /// A quotient or a remainder; `constant` is the divisor, if it is one.
    pub(super) fn quotient(
        &mut self,
        p: Primitive,
        (a, b): (Value, Value),
        constant: Option<i64>,
    ) -> Value {
        if let (Primitive::Irem, Some(bits)) = (p, constant.and_then(folded_bits)) {
            return self.folded(a, b, bits);
        }
        let (n, m) = (self.untagged(a), self.untagged(b));
        if constant.is_none_or(|k| k == 0) {
            self.leave_unless(m, self.out());
        }
        let result = match p {
            Primitive::Idiv => self.b.ins().sdiv(n, m),
            _ => self.b.ins().srem(n, m),
        };
        if p == Primitive::Idiv && constant.is_none_or(|k| k == -1) {
            // Only the smallest by -1 is too large.
            let large = IntCC::SignedGreaterThan;
            let large = self.b.ins().icmp_imm_s(large, result, FIXNUM_MAX);
            self.leave_if(large, self.out());
        }
        self.tagged(result)
    }

    /// The remainder of a number's word by that of a constant, 2^bits - 1. What is negative or too large is divided.
    fn folded(&mut self, word: Value, divisor: Value, bits: i64) -> Value {
        let (fold, divide, merged) = (self.next_block(), self.cold_block(), self.next_block());
        let even = self.b.append_block_param(merged, I64);
        let n = self.untagged(word);
        let beyond = self.b.ins().ushr_imm_u(word, FOLDED + 1);
        self.b.ins().brif(beyond, divide, &[], fold, &[]);

        self.begin_block(fold);
        // From here on twice the numbers, as in a word.
        let twice = (1_i64 << (bits + 1)) - 2;
        let doubled = self.b.ins().ishl_imm_u(n, 1);
        let lower = self.b.ins().band_imm_s(doubled, twice);
        let upper = self.b.ins().sshr_imm_u(n, bits);
        let upper = self.b.ins().ishl_imm_u(upper, 1);
        let sum = self.b.ins().iadd(lower, upper);
        let less = self.b.ins().iadd_imm_s(sum, -twice);
        let is_less = self.b.ins().icmp_imm_s(IntCC::SignedLessThan, sum, twice);
        let folded = self.b.ins().select(is_less, sum, less);
        self.b.ins().jump(merged, &[folded.into()]);

        self.begin_block(divide);
        let m = self.untagged(divisor);
        let divided = self.b.ins().srem(n, m);
        let divided = self.b.ins().ishl_imm_u(divided, 1);
        self.b.ins().jump(merged, &[divided.into()]);

        self.begin_block(merged);
        self.tagged_even(even)
    }
}
