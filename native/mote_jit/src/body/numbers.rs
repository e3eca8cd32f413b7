//! Inline arithmetic.
use super::{Body, Destination, Tagged};
use crate::kinds::Kinds;
use crate::plan::shift;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{InstBuilder, Value};
use mote_vm::code::ir::Operand;
use mote_vm::terms::prim::primitive::Primitive;

impl Body<'_, '_> {
    /// A primitive on fixnums; leaves the fast body when there is no answer, or an operand is not a fixnum.
    pub(super) fn fixnums(&mut self, p: Primitive, args: &[Operand]) -> Value {
        use Primitive as P;
        if p == P::Bsr {
            let a = self.fixnum(args[0]);
            let by = shift(args[1], self.active.subject.constants).unwrap_or(0);
            let shifted = self.b.ins().sshr_imm_s(a, by);
            return self.b.ins().bor_imm_s(shifted, 1);
        }
        let words: Vec<Value> = self.all_fixnums(args);
        self.fixnum_operation(p, &words, args)
    }

    /// The operands' words, once all are known to be fixnums.
    fn all_fixnums(&mut self, args: &[Operand]) -> Vec<Value> {
        let words: Vec<Value> = args.iter().map(|arg| self.word(*arg)).collect();
        let unsure = args.iter().zip(&words);
        let unsure = unsure.filter(|(arg, _)| self.kinds(**arg) != Kinds::FIXNUM);
        let unsure: Vec<Value> = unsure.map(|(_, word)| *word).collect();
        if let Some(all) = unsure.into_iter().reduce(|a, b| self.b.ins().band(a, b)) {
            let are = self.is_fixnum(all);
            let out = self.out();
            self.leave_unless(are, out);
        }
        words
    }

    /// The word of an operand, once it is known to be a fixnum.
    pub(super) fn fixnum(&mut self, arg: Operand) -> Value {
        self.all_fixnums(&[arg])[0]
    }

    /// Computes on the words of fixnums. The `args` are looked at only for constants.
    fn fixnum_operation(&mut self, p: Primitive, words: &[Value], args: &[Operand]) -> Value {
        use Primitive as P;
        let a = words[0];
        let b = words.get(1).copied().unwrap_or(a);
        let constant = args.get(1).and_then(|arg| self.fixnum_constant(*arg));
        match p {
            P::Add | P::Sub => self.sum(p, (a, b), args, constant),
            P::Mul => {
                // 2n * m is even, so the tag can be put back without a carry.
                let even = self.even(a);
                let m = self.untagged(b);
                let (even, overflow) = self.b.ins().smul_overflow(even, m);
                self.leave_if(overflow, self.out());
                self.tagged_even(even)
            }
            P::Idiv | P::Irem => self.quotient(p, (a, b), constant),
            P::Neg => {
                let two = self.b.ins().iconst(I64, 2);
                let (word, overflow) = self.b.ins().ssub_overflow(two, a);
                self.leave_if(overflow, self.out());
                word
            }
            P::Abs => {
                // The negative of the smallest is too large: it wraps to the smallest.
                let two = self.b.ins().iconst(I64, 2);
                let negated = self.b.ins().isub(two, a);
                let word = self.b.ins().smax(a, negated);
                let wrapped = self.b.ins().icmp_imm_s(IntCC::SignedLessThan, word, 0);
                self.leave_if(wrapped, self.out());
                word
            }
            P::Band => self.b.ins().band(a, b),
            P::Bor => self.b.ins().bor(a, b),
            P::Bxor => {
                let differing = self.b.ins().bxor(a, b);
                self.b.ins().bor_imm_s(differing, 1)
            }
            // All bits but the tag.
            P::Bnot => self.b.ins().bxor_imm_s(a, -2),
            P::Max => self.b.ins().smax(a, b),
            P::Min => self.b.ins().smin(a, b),
            _ => unreachable!("dataflow.rs plans nothing else for fixnums"),
        }
    }

    /// A sum or a difference; `constant` is the second argument, if it is one.
    fn sum(
        &mut self,
        p: Primitive,
        (a, b): (Value, Value),
        args: &[Operand],
        constant: Option<i64>,
    ) -> Value {
        let adds = p == Primitive::Add;
        let constants = self.active.subject.constants;
        let step = self.active.state.step(p, args, constants);
        let counts = step.is_some_and(|param| self.has_room_for_steps(param));
        let fits = counts || self.active.state.fits(p, args, constants);
        if let Some(k) = constant {
            return self.add_constant(a, if adds { k } else { -k }, fits);
        }
        if let (true, Some(k)) = (adds, self.fixnum_constant(args[0])) {
            return self.add_constant(b, k, fits);
        }
        // The tag of one of them goes: 2n + (2m + 1), and (2n + 1) - 2m.
        let b = self.b.ins().iadd_imm_s(b, -1);
        if fits {
            return match adds {
                true => self.b.ins().iadd(a, b),
                false => self.b.ins().isub(a, b),
            };
        }
        let (word, overflow) = match adds {
            true => self.b.ins().sadd_overflow(a, b),
            false => self.b.ins().ssub_overflow(a, b),
        };
        self.leave_if(overflow, self.out());
        word
    }

    /// A fixnum's word and a constant; `fits` if that is known.
    fn add_constant(&mut self, a: Value, k: i64, fits: bool) -> Value {
        // Twice the constant, as the tag is already there. Only fixnums' doubles come here, and their negatives:
        // that of the smallest is 2^63, which wraps to the same word and the same test.
        let sum = self.b.ins().iadd_imm_s(a, k.wrapping_mul(2));
        if k != 0 && !fits {
            let wrapped = match k > 0 {
                true => IntCC::SignedLessThan,
                false => IntCC::SignedGreaterThan,
            };
            let wrapped = self.b.ins().icmp(wrapped, sum, a);
            let out = self.out();
            self.leave_if(wrapped, out);
        }
        sum
    }

    /// Returns whether a parameter of the loop may go a small step further without a test.
    fn has_room_for_steps(&self, param: u16) -> bool {
        let has_room = match self.unrolling.group {
            // Tested before it, also where the loop calls others.
            Some(_) => &self.active.flow.steps,
            None => &self.active.flow.counters,
        };
        has_room[param as usize]
    }

    /// Leaves for the slow body unless a counter has room.
    pub(super) fn has_room(&mut self, word: Value) {
        let narrow = self.is_narrow(word);
        self.leave_if(narrow, Destination::Slow(0));
    }

    /// Tests whether an integer is in the outer half of the range: its two highest bits differ.
    pub(super) fn is_narrow(&mut self, word: Value) -> Value {
        let twice = self.b.ins().ishl_imm_s(word, 1);
        let differing = self.b.ins().bxor(word, twice);
        self.b.ins().icmp_imm_s(IntCC::SignedLessThan, differing, 0)
    }

    /// A primitive on numbers of whatever type.
    pub(super) fn numbers(&mut self, p: Primitive, args: &[Operand]) -> Value {
        let words: Vec<Value> = args.iter().map(|arg| self.word(*arg)).collect();
        let both = self.b.ins().band(words[0], words[1]);
        let both = self.is_fixnum(both);
        let (fixnums, floats) = (self.next_block(), self.next_block());
        let merged = self.next_block();
        let result = self.b.append_block_param(merged, I64);
        self.b.ins().brif(both, fixnums, &[], floats, &[]);

        self.begin_block(fixnums);
        let word = self.fixnum_operation(p, &words, args);
        self.b.ins().jump(merged, &[word.into()]);

        self.begin_block(floats);
        let (x, y) = (
            self.number_as_float(words[0]),
            self.number_as_float(words[1]),
        );
        let float = self.float_operation(p, &[x, y]);
        let word = self.encode(float);
        self.b.ins().jump(merged, &[word.into()]);

        self.begin_block(merged);
        result
    }

    pub(super) fn is_fixnum(&mut self, word: Value) -> Value {
        self.b.ins().band_imm_s(word, 1)
    }

    /// The integer of a word.
    pub(super) fn untagged(&mut self, word: Value) -> Value {
        match self.last_tagged {
            Some(last) if last.word == word => last.n,
            _ => self.b.ins().sshr_imm_s(word, 1),
        }
    }

    /// Returns twice the integer of a word.
    fn even(&mut self, word: Value) -> Value {
        match self.last_tagged {
            Some(last) if last.word == word => last.even,
            _ => self.b.ins().iadd_imm_s(word, -1),
        }
    }

    pub(super) fn tagged(&mut self, n: Value) -> Value {
        let even = self.b.ins().ishl_imm_s(n, 1);
        let word = self.b.ins().bor_imm_s(even, 1);
        self.last_tagged = Some(Tagged { word, even, n });
        word
    }

    /// The word of an integer of which this is twice.
    pub(super) fn tagged_even(&mut self, even: Value) -> Value {
        let word = self.b.ins().bor_imm_s(even, 1);
        let n = self.b.ins().sshr_imm_s(even, 1);
        self.last_tagged = Some(Tagged { word, even, n });
        word
    }

    pub(super) fn fixnum_constant(&self, arg: Operand) -> Option<i64> {
        match arg {
            Operand::Constant(_) => self.constant_of(arg).as_fixnum(),
            Operand::Register(_) => None,
        }
    }

    /// Leaves the fast body unless the condition holds.
    pub(super) fn assume(&mut self, condition: Value) {
        let out: Destination = self.out();
        self.leave_unless(condition, out);
    }

    /// Tests whether a word is an immediate float.
    pub(super) fn is_flonum(&mut self, word: Value) -> Value {
        let tag = self.b.ins().band_imm_s(word, 3);
        let flonum = mote_vm::values::value::FLONUM_TAG as i64;
        self.b.ins().icmp_imm_s(IntCC::Equal, tag, flonum)
    }
}
