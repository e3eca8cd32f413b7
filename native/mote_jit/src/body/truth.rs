//! Comparisons and type tests: truth values, which become words only where a word is needed.
use super::{Body, Mode};
use crate::kinds::Kinds;
use crate::stubs::Seldom;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::types::{F64, I64, I8};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value};
use mote_vm::code::ir::{Instr, Label, Operand, Register};
use mote_vm::native::{helpers, is_alone, layout::Kind, two_zeros};
use mote_vm::terms::prim::primitive::Primitive;
use mote_vm::values::value::{self, Value as Word};

/// Integers up to this size are floats without loss.
const EXACT: i64 = 1 << 53;

/// Words of which not all are compared in line: those of fixnums are, or where `zero` says so, those that are no cells.
struct Parted {
    a: Value,
    b: Value,
    /// The combined tags: those of a fixnum if both are fixnums.
    tags: Value,
    zero: bool,
}

impl Body<'_, '_> {
    pub(super) fn test(&mut self, p: Primitive, args: &[Operand]) -> Value {
        match Kinds::tested(p) {
            Some((sure, possible)) => self.type_test(p, args[0], sure, possible),
            None => self.compared(p, args[0], args[1]),
        }
    }

    /// Compiles a comparison together with the branch that follows it, if that is what is there.
    pub(super) fn compare_and_branch(&mut self, i: usize) -> bool {
        let code = self.active.subject.code;
        let (
            Instr::Op {
                dst,
                primitive,
                args,
            },
            Some(Instr::Branch { condition, label }),
        ) = (&code[i], code.get(i + 1))
        else {
            return false;
        };
        let follows = self.mode == Mode::Fast
            && *condition == Operand::Register(*dst)
            && self.active.flow.labels[i + 1].is_none()
            && self.active.resume as usize == i;
        let compares = (Primitive::Eq..=Primitive::Ge).contains(primitive);
        if follows && compares {
            let comparison = (*primitive, args[0], args[1]);
            self.go_unless_compared(Some(*dst), comparison, *label);
        }
        follows && compares
    }

    pub(super) fn always(&mut self, truth: bool) -> Value {
        self.b.ins().iconst(I8, i64::from(truth))
    }

    fn compared(&mut self, p: Primitive, a: Operand, b: Operand) -> Value {
        let parted = match self.compared_at_once(p, a, b) {
            Ok(holds) => return holds,
            Err(parted) => parted,
        };
        let merged = self.next_block();
        let result = self.b.append_block_param(merged, I8);
        self.on_both_ways(p, &parted, |body, holds| {
            body.b.ins().jump(merged, &[holds.into()]);
        });
        self.begin_block(merged);
        result
    }

    /// Goes to the label unless the comparison holds. Where words and a helper are asked, each of them goes there by itself: so what
    /// the processor compares it also jumps by.
    pub(super) fn go_unless_compared(
        &mut self,
        d: Option<Register>,
        (p, a, b): (Primitive, Operand, Operand),
        label: Label,
    ) {
        let parted = match self.compared_at_once(p, a, b) {
            Ok(holds) => {
                if let Some(d) = d {
                    self.set_test(d, holds);
                }
                return self.leave_unless(holds, self.to(label));
            }
            Err(parted) => parted,
        };
        let (no, yes) = (self.always(false), self.always(true));
        if let Some(d) = d {
            self.set_test(d, no);
        }
        let (target, next) = (self.to(label), self.next_block());
        self.on_both_ways(p, &parted, |body, holds| {
            let away = body.departure(target);
            body.go_on_if(holds, next, away);
            body.depart(away, target);
        });
        self.begin_block(next);
        if let Some(d) = d {
            self.set_test(d, yes);
        }
    }

    /// Compares at once, if the comparison takes no more than one instruction or looks at floats. Otherwise returns what is to be
    /// compared.
    fn compared_at_once(&mut self, p: Primitive, a: Operand, b: Operand) -> Result<Value, Parted> {
        let (of_a, of_b) = (self.kinds(a), self.kinds(b));
        if of_a == Kinds::FIXNUM && of_b == Kinds::FIXNUM {
            let (a, b) = (self.word(a), self.word(b));
            return Ok(self.b.ins().icmp(order(p), a, b));
        }
        // An integer is equal to a float, but never the same.
        let identical = matches!(p, Primitive::Same | Primitive::Differ);
        if !identical || (of_a == Kinds::FLOAT && of_b == Kinds::FLOAT) {
            let numbers = of_a.can_be(Kinds::NUMBER) && of_b.can_be(Kinds::NUMBER);
            match (self.as_float(a), self.as_float(b)) {
                (Some(x), Some(y)) => return Ok(self.floats_compared(p, x, y)),
                (Some(x), None) if numbers && self.is_float(a) => {
                    let compared = |body: &mut Self, y| body.floats_compared(p, x, y);
                    return Ok(self.compared_with_float(p, (a, b), b, compared));
                }
                (None, Some(y)) if numbers && self.is_float(b) => {
                    let compared = |body: &mut Self, x| body.floats_compared(p, x, y);
                    return Ok(self.compared_with_float(p, (a, b), a, compared));
                }
                _ => {}
            }
        }
        // Nothing but the same word equals what has only one.
        let alone = |kinds: Kinds| !kinds.can_be(Kinds::NUMBER);
        let identity = match p {
            Primitive::Same | Primitive::Differ => self.is_alone(a) || self.is_alone(b),
            Primitive::Eq | Primitive::Ne => {
                (self.is_immediate(a) && alone(of_a)) || (self.is_immediate(b) && alone(of_b))
            }
            _ => false,
        };
        let zero = identical && (self.is_immediate(a) || self.is_immediate(b));
        let (a, b) = (self.word(a), self.word(b));
        if identity {
            return Ok(self.b.ins().icmp(order(p), a, b));
        }
        let tags = match (of_a, of_b) {
            (Kinds::FIXNUM, _) => b,
            (_, Kinds::FIXNUM) => a,
            _ => self.b.ins().band(a, b),
        };
        Err(Parted { a, b, tags, zero })
    }

    /// Compares words where these tell, and asks a helper otherwise; `ends` ends the blocks in which either is known.
    fn on_both_ways(
        &mut self,
        p: Primitive,
        &Parted { a, b, tags, zero }: &Parted,
        ends: impl Fn(&mut Self, Value),
    ) {
        let (quick, slow) = (self.next_block(), self.cold_block());
        if zero {
            // The word of 0.0 is the same as no other word but, perhaps, that of a cell.
            let (a, b) = (
                self.has_tag(a, value::TAG_BOXED),
                self.has_tag(b, value::TAG_BOXED),
            );
            let cell = self.b.ins().bor(a, b);
            self.b.ins().brif(cell, slow, &[], quick, &[]);
        } else {
            let both = self.is_fixnum(tags);
            self.b.ins().brif(both, quick, &[], slow, &[]);
        }

        self.begin_block(quick);
        let holds = self.b.ins().icmp(order(p), a, b);
        ends(self, holds);

        self.begin_block(slow);
        let holds = self.helper_compared(p, a, b);
        ends(self, holds);
    }

    /// A float that is at hand and a word that may be any number: `compared` takes that as a float.
    fn compared_with_float(
        &mut self,
        p: Primitive,
        (a, b): (Operand, Operand),
        other: Operand,
        compared: impl Fn(&mut Self, Value) -> Value,
    ) -> Value {
        let word = self.word(other);
        let (float, no_float) = (self.next_block(), self.b.create_block());
        let (integer, slow) = (self.next_block(), self.cold_block());
        let merged = self.next_block();
        let result = self.b.append_block_param(merged, I8);
        let is = self.is_flonum(word);
        self.b.ins().brif(is, float, &[], no_float, &[]);

        self.begin_block(float);
        let decoded = self.decode(word);
        let holds = compared(self, decoded);
        self.b.ins().jump(merged, &[holds.into()]);

        self.begin_block(no_float);
        let is = self.is_fixnum(word);
        let n = self.untagged(word);
        let above = self.b.ins().iadd_imm_s(n, EXACT);
        let within = IntCC::UnsignedLessThanOrEqual;
        let exact = self.b.ins().icmp_imm_s(within, above, 2 * EXACT);
        let exact = self.b.ins().uextend(I64, exact);
        let exact = self.b.ins().band(is, exact);
        self.b.ins().brif(exact, integer, &[], slow, &[]);

        self.begin_block(integer);
        let converted = self.b.ins().fcvt_from_sint(F64, n);
        let holds = compared(self, converted);
        self.b.ins().jump(merged, &[holds.into()]);

        self.begin_block(slow);
        // The word of the float is written only here.
        let here = self.active.here.clone();
        let (a, b) = (self.word(a), self.word(b));
        let holds = self.helper_compared(p, a, b);
        self.active.here = here;
        self.b.ins().jump(merged, &[holds.into()]);

        self.begin_block(merged);
        result
    }

    fn helper_compared(&mut self, p: Primitive, a: Value, b: Value) -> Value {
        let number = self.b.ins().iconst(I64, i64::from(p.number()));
        let turn = self.turn;
        let word = self.paid_seldom(Seldom::Compared, &[turn, number, a, b]);
        self.is_word(word, Word::TRUE)
    }

    fn floats_compared(&mut self, p: Primitive, x: Value, y: Value) -> Value {
        use Primitive as P;
        let condition = match p {
            P::Same if !two_zeros() => FloatCC::Equal,
            P::Differ if !two_zeros() => FloatCC::NotEqual,
            P::Same | P::Differ => {
                let x = self.b.ins().bitcast(I64, MemFlagsData::new(), x);
                let y = self.b.ins().bitcast(I64, MemFlagsData::new(), y);
                return self.b.ins().icmp(order(p), x, y);
            }
            P::Eq => FloatCC::Equal,
            P::Ne => FloatCC::NotEqual,
            P::Lt => FloatCC::LessThan,
            P::Le => FloatCC::LessThanOrEqual,
            P::Gt => FloatCC::GreaterThan,
            _ => FloatCC::GreaterThanOrEqual,
        };
        self.b.ins().fcmp(condition, x, y)
    }

    /// The operand as a float, if it is at hand as one.
    fn as_float(&mut self, a: Operand) -> Option<Value> {
        match a {
            Operand::Register(r) => {
                let here = self.active.here[r as usize];
                here.float
                    .then(|| self.b.use_var(self.active.floats[r as usize]))
            }
            Operand::Constant(_) => {
                let value = self.constant_of(a);
                let exact = value.as_fixnum().filter(|n| (-EXACT..=EXACT).contains(n));
                let float = value.as_float().or(exact.map(|n| n as f64))?;
                Some(self.b.ins().f64const(float))
            }
        }
    }

    /// Returns whether the operand, which is at hand as a float, is a float and not an integer.
    fn is_float(&self, a: Operand) -> bool {
        match a {
            Operand::Register(_) => true,
            Operand::Constant(_) => self.constant_of(a).as_float().is_some(),
        }
    }

    /// Returns whether the operand is a constant that is the same as no other word.
    fn is_alone(&self, a: Operand) -> bool {
        matches!(a, Operand::Constant(_)) && is_alone(self.constant_of(a))
    }

    fn is_immediate(&self, a: Operand) -> bool {
        matches!(a, Operand::Constant(_)) && self.constant_of(a).is_immediate()
    }

    fn type_test(&mut self, p: Primitive, a: Operand, sure: Kinds, possible: Kinds) -> Value {
        use Primitive as P;
        let kinds = self.kinds(a);
        if kinds.is(sure) {
            return self.always(true);
        }
        if !kinds.can_be(possible) {
            return self.always(false);
        }
        let word = self.word(a);
        // Anything that is not a cell with a header.
        let plain = match p {
            P::IsInteger => {
                let bit = self.is_fixnum(word);
                self.b.ins().icmp_imm_s(IntCC::NotEqual, bit, 0)
            }
            P::IsFloat => self.is_flonum(word),
            P::IsNumber => self.is_number(word),
            P::IsAtom => {
                let low = self.b.ins().band_imm_u(word, i64::from(u32::MAX));
                let atom = value::TAG_IMMEDIATE as i64;
                return self.b.ins().icmp_imm_s(IntCC::Equal, low, atom);
            }
            P::IsBoolean => return self.is_boolean(word),
            P::IsList => {
                let cons = self.has_tag(word, value::TAG_CONS);
                let empty = self.is_word(word, Word::EMPTY_LIST);
                return self.b.ins().bor(cons, empty);
            }
            P::IsAddress => self.has_tag(word, value::TAG_ADDRESS),
            _ => self.always(false),
        };
        // Cells with a header are the helper's, but for tuples.
        let boxed = self.has_tag(word, value::TAG_BOXED);
        let cell = self.b.create_block();
        let merged = self.next_block();
        let result = self.b.append_block_param(merged, I8);
        self.b.ins().brif(boxed, cell, &[], merged, &[plain.into()]);
        self.begin_block(cell);
        let holds = if p == P::IsTuple {
            let header = self.b.ins().load(I8, super::trusted(), word, 0);
            let tuple = Kind::Tuple as i64;
            self.b.ins().icmp_imm_s(IntCC::Equal, header, tuple)
        } else {
            let number = self.b.ins().iconst(I64, i64::from(p.number()));
            let (turn, none) = (self.turn, self.b.ins().iconst(I64, 0));
            let args = [turn, number, word, none, none];
            let answer = match self.mode {
                Mode::Fast => self.helper(helpers::OP, &args),
                Mode::Slow => self.seldom(Seldom::Op, &args),
            };
            self.is_word(answer, Word::TRUE)
        };
        self.b.ins().jump(merged, &[holds.into()]);
        self.begin_block(merged);
        result
    }

    /// Tests whether a word is an integer or an immediate float.
    pub(super) fn is_number(&mut self, word: Value) -> Value {
        let tag = self.b.ins().band_imm_s(word, 3);
        self.b.ins().icmp_imm_s(IntCC::NotEqual, tag, 0)
    }

    pub(super) fn is_boolean(&mut self, word: Value) -> Value {
        let yes = self.is_word(word, Word::TRUE);
        let no = self.is_word(word, Word::FALSE);
        self.b.ins().bor(yes, no)
    }

    pub(super) fn has_tag(&mut self, word: Value, tag: u64) -> Value {
        // Without the tag, no bit of it is left: the processor tests that without a copy of the word.
        let without = self.b.ins().iadd_imm_s(word, -(tag as i64));
        let left = self.b.ins().band_imm_s(without, value::TAG_MASK as i64);
        self.b.ins().icmp_imm_s(IntCC::Equal, left, 0)
    }

    /// Goes to the label unless both are exactly equal.
    pub(super) fn matching(&mut self, left: Operand, right: Operand, label: Label) {
        self.go_unless_compared(None, (Primitive::Same, left, right), label);
    }
}

/// The condition on words that a comparison of fixnums is: tagging keeps their order.
pub(super) fn order(p: Primitive) -> IntCC {
    use Primitive as P;
    match p {
        P::Eq | P::Same => IntCC::Equal,
        P::Ne | P::Differ => IntCC::NotEqual,
        P::Lt => IntCC::SignedLessThan,
        P::Le => IntCC::SignedLessThanOrEqual,
        P::Gt => IntCC::SignedGreaterThan,
        _ => IntCC::SignedGreaterThanOrEqual,
    }
}
