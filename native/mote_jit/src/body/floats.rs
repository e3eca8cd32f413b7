//! Floats: unboxed arithmetic, and the encoding of floats as words.
use super::proofs::keeps_finite;
use super::Body;
use crate::kinds::Kinds;
use crate::stubs::Seldom;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::types::{F64, I64};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value};
use mote_vm::code::ir::{Operand, Register};
use mote_vm::native::{as_f64, math_function};
use mote_vm::terms::prim::primitive::Primitive;
use mote_vm::values::value::{FLONUM_TAG, FLONUM_ZERO};

/// The one common exponent that is not immediate: its word would be that of 0.0.
const COLLISION: i64 = 0x3000_0000_0000_0000;
/// Number of floats of common exponents, with their lowest bit doubled as the sign is gone.
const COMMON: i64 = 0x4000_0000_0000_0000;
/// The bits of an infinity without the sign; those of a NaN are greater.
const INFINITE: i64 = (f64::INFINITY.to_bits() << 1) as i64;

/// The bits of the first float that is greater than all fixnums, like these.
const BEYOND_FIXNUMS: i64 = ((1u64 << 62) as f64).to_bits().wrapping_shl(1) as i64;

impl Body<'_, '_> {
    /// A primitive on floats; leaves the fast body when there is no answer, or an operand is not a number.
    pub(super) fn floats(&mut self, d: Register, p: Primitive, args: &[Operand]) -> Value {
        if let (Primitive::Fdiv, Some(inverse)) = (p, self.exact_inverse(args)) {
            if let Some(float) = self.counter_as_float(args[0], inverse) {
                return float;
            }
            let dividend = self.float(args[0], true);
            let inverse = self.b.ins().f64const(inverse);
            // Towards zero: what is finite stays so.
            return self.b.ins().fmul(dividend, inverse);
        }
        let mut floats: Vec<Value> = Vec::with_capacity(args.len());
        for arg in args {
            let either = self.active.state.takes_integers(p, *arg);
            floats.push(self.float(*arg, either));
        }
        if let (Primitive::Add | Primitive::Mul, Operand::Constant(_)) = (p, args[0]) {
            // As the second operand it can stay in memory.
            floats.swap(0, 1);
        }
        let result = self.float_result(p, &floats);
        match self.proof_of(p, d) {
            Some(proof) => self.proof = self.proof.max(Some(proof)),
            None => self.assume_finite(p, result),
        }
        result
    }

    /// Returns one divided by a divisor, if multiplying by that is exactly the same and does not make numbers larger: the divisor is a
    /// power of two of 1 or more.
    pub(super) fn exact_inverse(&self, args: &[Operand]) -> Option<f64> {
        let [_, divisor @ Operand::Constant(_)] = args else {
            return None;
        };
        let divisor = as_f64(self.constant_of(*divisor))?;
        let power = divisor.to_bits() << 12 == 0;
        (power && (1.0..=1e300).contains(&divisor)).then_some(1.0 / divisor)
    }

    /// The operand as a float.
    fn float(&mut self, arg: Operand, either: bool) -> Value {
        let r = match arg {
            Operand::Register(r) => r,
            Operand::Constant(_) => {
                let value = self.constant_of(arg);
                // Anything else is not a number, and dataflow.rs never plans that.
                let f = as_f64(value).unwrap_or(f64::NAN);
                return self.b.ins().f64const(f);
            }
        };
        if self.active.here[r as usize].float {
            return self.b.use_var(self.active.floats[r as usize]);
        }
        let kinds = self.kinds(arg);
        if !kinds.can_be(Kinds::FLOAT) {
            if let Some(float) = self.counter_as_float(arg, 1.0) {
                return float;
            }
            let word = self.fixnum(arg);
            return self.fixnum_as_float(word);
        }
        let word = self.word_of(r);
        if kinds.can_be(Kinds::FIXNUM) && either {
            return self.number_as_float(word);
        }
        self.unbox(r, word)
    }

    /// The register's float, which must be an immediate one, kept beside its word.
    fn unbox(&mut self, r: Register, word: Value) -> Value {
        let is = self.is_flonum(word);
        self.assume(is);
        let float = self.decode(word);
        self.b.def_var(self.active.floats[r as usize], float);
        self.active.here[r as usize].float = true;
        float
    }

    pub(super) fn fixnum_as_float(&mut self, word: Value) -> Value {
        let n = self.untagged(word);
        self.b.ins().fcvt_from_sint(F64, n)
    }

    /// The number of a word as a float.
    pub(super) fn number_as_float(&mut self, word: Value) -> Value {
        let (fixnum, other) = (self.next_block(), self.next_block());
        let merged = self.next_block();
        let result = self.b.append_block_param(merged, F64);
        let is = self.is_fixnum(word);
        self.b.ins().brif(is, fixnum, &[], other, &[]);

        self.begin_block(fixnum);
        let float = self.fixnum_as_float(word);
        self.b.ins().jump(merged, &[float.into()]);

        self.begin_block(other);
        let is = self.is_flonum(word);
        self.assume(is);
        let float = self.decode(word);
        self.b.ins().jump(merged, &[float.into()]);

        self.begin_block(merged);
        result
    }

    /// Leaves the fast body when the result is not finite.
    pub(super) fn float_operation(&mut self, p: Primitive, args: &[Value]) -> Value {
        let result = self.float_result(p, args);
        self.assume_finite(p, result);
        result
    }

    fn float_result(&mut self, p: Primitive, args: &[Value]) -> Value {
        use Primitive as P;
        let a = args[0];
        let b = args.get(1).copied().unwrap_or(a);
        match p {
            P::Neg => self.b.ins().fneg(a),
            P::Abs => self.b.ins().fabs(a),
            P::Add => self.b.ins().fadd(a, b),
            P::Sub => self.b.ins().fsub(a, b),
            P::Mul => self.b.ins().fmul(a, b),
            P::Fdiv => self.b.ins().fdiv(a, b),
            P::Sqrt => self.b.ins().sqrt(a),
            // The first of two that are equal, which may be zeros of either sign.
            P::Max | P::Min => {
                let second = match p {
                    P::Max => FloatCC::LessThan,
                    _ => FloatCC::GreaterThan,
                };
                let second = self.b.ins().fcmp(second, a, b);
                self.b.ins().select(second, b, a)
            }
            _ => {
                let function = math_function(p).expect("dataflow.rs plans nothing else for floats");
                self.call_foreign(function, args, F64)
            }
        }
    }

    fn assume_finite(&mut self, p: Primitive, result: Value) {
        if keeps_finite(p) {
            return;
        }
        if self.unrolling.group.is_some() {
            return self.sum_up(result);
        }
        let finite = self.is_finite(result);
        self.assume(finite);
    }

    pub(super) fn is_finite(&mut self, result: Value) -> Value {
        // By its bits, the sign last. Two more operations on floats would wait for the result as long as it takes, and
        // processors have less room for those that wait than for others: in a chain of divisions that room is what ends
        // how far they run ahead.
        let bits = self.b.ins().bitcast(I64, MemFlagsData::new(), result);
        let size = self.b.ins().rotl_imm_s(bits, 1);
        let infinite = self.b.ins().iconst(I64, INFINITE);
        self.b.ins().icmp(IntCC::UnsignedLessThan, size, infinite)
    }

    /// Rounds a float to an integer; leaves the fast body when that is not a fixnum.
    pub(super) fn whole(&mut self, p: Primitive, arg: Operand) -> Value {
        let float = self.float(arg, false);
        let bits = self.b.ins().bitcast(I64, MemFlagsData::new(), float);
        let size = self.b.ins().rotl_imm_s(bits, 1);
        let most = self.b.ins().iconst(I64, BEYOND_FIXNUMS);
        let small = self.b.ins().icmp(IntCC::UnsignedLessThan, size, most);
        self.assume(small);
        let towards_zero = match p {
            // What is less than a half away from zero must not get there by a sum that is rounded itself.
            Primitive::Round => {
                let half = self.b.ins().f64const(0.5 - f64::EPSILON / 4.0);
                let half = self.b.ins().fcopysign(half, float);
                self.b.ins().fadd(float, half)
            }
            _ => float,
        };
        let n = self.b.ins().fcvt_to_sint_sat(I64, towards_zero);
        let back = self.b.ins().fcvt_from_sint(F64, n);
        let n = match p {
            Primitive::Floor => {
                let above = self.b.ins().fcmp(FloatCC::GreaterThan, back, float);
                let above = self.b.ins().uextend(I64, above);
                self.b.ins().isub(n, above)
            }
            Primitive::Ceil => {
                let below = self.b.ins().fcmp(FloatCC::LessThan, back, float);
                let below = self.b.ins().uextend(I64, below);
                self.b.ins().iadd(n, below)
            }
            _ => n,
        };
        self.tagged(n)
    }

    /// The float of an immediate float's word: [`mote_vm::values::value::Value::flonum_value`].
    pub(super) fn decode(&mut self, word: Value) -> Value {
        let upper = self.b.ins().ushr_imm_s(word, 63);
        // The tag is 2, and what stands for it is 2 minus the upper bit.
        let bits = self.b.ins().isub(word, upper);
        let bits = self.b.ins().rotr_imm_s(bits, 3);
        let is_zero = self
            .b
            .ins()
            .icmp_imm_s(IntCC::Equal, word, FLONUM_ZERO as i64);
        let zero = self.b.ins().iconst(I64, 0);
        let bits = self.b.ins().select(is_zero, zero, bits);
        self.b.ins().bitcast(F64, MemFlagsData::new(), bits)
    }

    /// The word of a finite float: immediate ([`mote_vm::values::value::Value::flonum`]) or, by the helper, boxed.
    pub(super) fn encode(&mut self, float: Value) -> Value {
        let bits = self.b.ins().bitcast(I64, MemFlagsData::new(), float);
        // Without the sign, the words of common exponents are a range. What is left out at its lower end is the
        // collision, and its negative, which the helper makes immediate.
        let size = self.b.ins().ishl_imm_s(bits, 1);
        let lowest = self.b.ins().iconst(I64, (COLLISION << 1) + 1);
        let above = self.b.ins().isub(size, lowest);
        let most = self.b.ins().iconst(I64, COMMON - 2);
        let within = IntCC::UnsignedLessThanOrEqual;
        let immediate = self.b.ins().icmp(within, above, most);
        let (easy, hard) = (self.next_block(), self.cold_block());
        let merged = self.next_block();
        let result = self.b.append_block_param(merged, I64);
        self.b.ins().brif(immediate, easy, &[], hard, &[]);

        self.begin_block(easy);
        let word = self.b.ins().rotl_imm_s(bits, 3);
        let word = self.b.ins().band_imm_s(word, !3);
        let word = self.b.ins().bor_imm_s(word, FLONUM_TAG as i64);
        self.b.ins().jump(merged, &[word.into()]);

        self.begin_block(hard);
        let turn = self.turn;
        let word = self.seldom(Seldom::Float, &[turn, bits]);
        self.b.ins().jump(merged, &[word.into()]);

        self.begin_block(merged);
        result
    }
}
