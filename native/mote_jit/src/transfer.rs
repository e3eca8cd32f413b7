//! What holds after an instruction, given what held before it.
use super::facts::{Fact, Knowledge, Known, Order};
use super::kinds::Kinds;
use super::plan::{plain, takes_floats, Plan};
use super::range::{opposite, turned, Range};
use super::subject::Subject;
use mote_vm::code::ir::{Instr, Operand, Register};
use mote_vm::terms::prim::primitive::Primitive;
use mote_vm::values::value::Value;

/// More bits than a binary can have.
const MOST_BITS: i64 = 1 << 56;

impl Knowledge {
    /// Learns what holds after a primitive has given an answer, or `:undefined` if `total`.
    pub(super) fn answered(
        &mut self,
        (d, p, args): (Register, Primitive, &[Operand]),
        plan: Plan,
        total: bool,
        constants: &[Value],
    ) {
        let guessed = plan == Plan::Fixnums && self.is_guessed(p, args, constants);
        self.learn_arguments(p, args, plan);
        let mut answer = match plan {
            Plan::Fixnums | Plan::Whole => Known::word(Kinds::FIXNUM),
            Plan::Floats | Plan::Draw => Known::float(),
            Plan::Numbers => Known::word(Kinds::NUMBER),
            Plan::Test => Known::word(Kinds::BOOLEAN),
            Plan::Read => read(p, args, constants),
            Plan::Take | Plan::AtomKey | Plan::Helper => Known::word(Kinds::answers(p)),
        };
        if total && matches!(plan, Plan::Read | Plan::AtomKey | Plan::Helper) {
            answer.kinds = answer.kinds.or(Kinds::OTHER_ATOM);
        }
        if matches!(plan, Plan::Fixnums | Plan::Numbers) {
            answer.stepped = self.step(p, args, constants);
        }
        if plan == Plan::Fixnums {
            answer.guessed = guessed;
            if let Some(sum) = self.sum(p, args, constants) {
                answer.range = sum.and(Range::ALL);
            }
        }
        let compared = self.compared(p, args, constants);
        self.set(d, answer);
        self.learn_test(d, p, args, constants, compared);
    }

    /// Returns whether integers are planned for where there may as well be floats.
    fn is_guessed(&self, p: Primitive, args: &[Operand], constants: &[Value]) -> bool {
        takes_floats(p)
            && args.iter().any(|arg| {
                let known = self.operand(*arg, constants);
                known.guessed || known.kinds.can_be(Kinds::FLOAT)
            })
    }

    /// A primitive has given an answer as planned: so its arguments were what that takes.
    fn learn_arguments(&mut self, p: Primitive, args: &[Operand], plan: Plan) {
        for arg in args {
            let Operand::Register(r) = *arg else { continue };
            let kinds = self.known(r).kinds;
            match plan {
                Plan::Fixnums => {
                    self.learn(r, Kinds::FIXNUM);
                    let guessed = &mut self.registers[r as usize].guessed;
                    *guessed = takes_floats(p) && (*guessed || kinds.can_be(Kinds::FLOAT));
                }
                Plan::Numbers => self.learn(r, Kinds::NUMBER),
                Plan::Floats if !kinds.can_be(Kinds::FLOAT) => self.learn(r, Kinds::FIXNUM),
                // An integer would do as well, and which of the two it is is not remembered.
                Plan::Floats if kinds.can_be(Kinds::FIXNUM) && self.takes_integers(p, *arg) => {
                    self.learn(r, Kinds::NUMBER);
                }
                Plan::Floats | Plan::Whole => {
                    self.learn(r, Kinds::FLOAT);
                    self.registers[r as usize].unboxed = true;
                }
                Plan::Test | Plan::Take | Plan::Read | Plan::Draw => {}
                Plan::AtomKey | Plan::Helper => {}
            }
        }
        if plan == Plan::Take {
            let Operand::Register(r) = args[0] else {
                return;
            };
            let taken = match p {
                Primitive::Hd | Primitive::Tl => Kinds::CONS,
                Primitive::Not => Kinds::BOOLEAN,
                _ => Kinds::TUPLE,
            };
            self.learn(r, taken);
        }
    }

    /// Notes what the answer of a test, once known, will say of the tested register. Notes nothing if the answer stands in its place.
    fn learn_test(
        &mut self,
        test: Register,
        p: Primitive,
        args: &[Operand],
        constants: &[Value],
        compared: Option<(Register, Primitive, i64)>,
    ) {
        if let Some((subject, p, bound)) = compared.filter(|(subject, ..)| *subject != test) {
            self.orders.push(Order {
                test,
                subject,
                p,
                bound,
            });
        }
        let (subject, sure, possible) = match (Kinds::tested(p), args) {
            (Some((sure, possible)), [Operand::Register(r)]) => (*r, sure, possible),
            (None, [Operand::Register(r), Operand::Constant(k)]) if p == Primitive::Same => {
                (*r, Kinds::NONE, Kinds::of(constants[*k as usize]))
            }
            _ => return,
        };
        if subject != test {
            self.facts.push(Fact {
                test,
                subject,
                sure,
                possible,
            });
        }
    }

    /// The register with an integer that is compared with a constant: how, and with which.
    pub(super) fn compared(
        &self,
        p: Primitive,
        args: &[Operand],
        constants: &[Value],
    ) -> Option<(Register, Primitive, i64)> {
        if !(Primitive::Eq..=Primitive::Ge).contains(&p) {
            return None;
        }
        let (r, p, k) = match *args {
            [Operand::Register(r), Operand::Constant(k)] => (r, p, k),
            [Operand::Constant(k), Operand::Register(r)] => (r, turned(p), k),
            _ => return None,
        };
        let bound = constants[k as usize].as_fixnum()?;
        (self.known(r).kinds == Kinds::FIXNUM).then_some((r, p, bound))
    }

    /// Returns the knowledge where the jump of an instruction leads.
    pub(super) fn after_jump(&self, instruction: &Instr) -> Knowledge {
        let mut state = self.clone();
        match instruction {
            Instr::Branch {
                condition: Operand::Register(r),
                ..
            } => {
                for fact in self.facts.iter().filter(|f| f.test == *r) {
                    let kinds = state.known(fact.subject).kinds.without(fact.sure);
                    state.learn(fact.subject, kinds);
                }
                for order in self.orders.iter().filter(|o| o.test == *r) {
                    state.narrow(order.subject, opposite(order.p), order.bound);
                }
            }
            Instr::Falsy {
                value: Operand::Register(r),
                ..
            } => state.learn(*r, Kinds::ATOM),
            _ => {}
        }
        state
    }

    /// Updates the knowledge to what holds before the next instruction.
    pub(super) fn transfer(&mut self, instruction: &Instr, subject: &Subject<'_>) {
        let constants = subject.constants;
        match instruction {
            Instr::Move { dst, src } => {
                let mut known = self.operand(*src, constants);
                if let Operand::Constant(_) = src {
                    known.unboxed = known.kinds == Kinds::FLOAT;
                }
                self.set(*dst, known);
            }
            Instr::Op {
                dst,
                primitive,
                args,
            } => {
                let plan = self.plan(*primitive, args, constants);
                self.answered((*dst, *primitive, args), plan, true, constants);
            }
            Instr::GuardOp {
                dst,
                primitive,
                args,
                ..
            } => {
                let plan = self.plan(*primitive, args, constants);
                self.answered((*dst, *primitive, args), plan, false, constants);
            }
            Instr::Branch {
                condition: Operand::Register(r),
                ..
            } => self.branched(*r),
            Instr::Match { left, right, .. } => {
                for (subject, other) in [(left, right), (right, left)] {
                    if let (Operand::Register(r), Operand::Constant(k)) = (subject, other) {
                        self.learn(*r, Kinds::of(constants[*k as usize]));
                    }
                }
            }
            Instr::MatchTuple {
                value,
                count,
                first,
                ..
            } => {
                if let Operand::Register(r) = value {
                    self.learn(*r, Kinds::TUPLE);
                }
                for d in *first..*first + *count as u16 {
                    self.set(d, Known::word(Kinds::ANY));
                }
            }
            Instr::MatchCons {
                value, head, tail, ..
            } => {
                if let Operand::Register(r) = value {
                    self.learn(*r, Kinds::CONS);
                }
                self.set(*head, Known::word(Kinds::ANY));
                self.set(*tail, Known::word(Kinds::ANY));
            }
            Instr::Tuple { dst, .. } => self.set(*dst, Known::word(Kinds::TUPLE)),
            Instr::Cons { dst, .. } => self.set(*dst, Known::word(Kinds::CONS)),
            Instr::SelfAddress { dst }
            | Instr::Create { dst, .. }
            | Instr::CreateOn { dst, .. } => {
                self.set(*dst, Known::word(Kinds::ACTOR));
            }
            Instr::Call { dst, function, .. } => {
                self.set(*dst, returned(subject.returns(*function)));
            }
            Instr::Try { failed: dst }
            | Instr::Fun { dst, .. }
            | Instr::CallFun { dst, .. }
            | Instr::SendAfter { dst, .. }
            | Instr::CancelTimer { dst, .. } => {
                self.set(*dst, Known::word(Kinds::ANY));
            }
            _ => {}
        }
    }

    /// Learns what holds where a test has not jumped: the test itself.
    fn branched(&mut self, test: Register) {
        let facts = self.facts.iter().filter(|fact| fact.test == test);
        let facts: Vec<Fact> = facts.copied().collect();
        for fact in facts {
            self.learn(fact.subject, fact.possible);
        }
        let orders = self.orders.iter().filter(|order| order.test == test);
        let orders: Vec<Order> = orders.copied().collect();
        for order in orders {
            self.narrow(order.subject, order.p, order.bound);
        }
    }
}

/// Returns the knowledge about a value that is read in a binary.
fn read(p: Primitive, args: &[Operand], constants: &[Value]) -> Known {
    use Primitive as P;
    let up_to = |most| (Kinds::FIXNUM, Range::between(0, most));
    let (kinds, range) = match p {
        P::BinInt => match plain(args[2], constants) {
            Some(whole) => up_to((1 << (8 * whole.bytes)) - 1),
            None => (Kinds::INTEGER, Range::ALL),
        },
        P::BinaryAt => up_to(u8::MAX.into()),
        P::BinUtf8 => up_to(u32::from(char::MAX).into()),
        P::ByteSize | P::BitSize | P::Utf8Bits => up_to(MOST_BITS),
        _ => (Kinds::answers(p), Range::ALL),
    };
    Known {
        range,
        ..Known::word(kinds)
    }
}

/// Returns the knowledge about the answer of a call that usually answers with these kinds.
fn returned(kinds: Kinds) -> Known {
    match kinds {
        Kinds::FIXNUM | Kinds::BOOLEAN => Known::word(kinds),
        Kinds::FLOAT => Known::float(),
        _ => Known::word(Kinds::ANY),
    }
}
