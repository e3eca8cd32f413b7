//! What holds after an instruction, by what held before it.
use super::facts::{Fact, Known, Order, State};
use super::kinds::Kinds;
use super::plan::Plan;
use super::range::{opposite, turned, Range};
use super::subject::Subject;
use mote_vm::code::ir::{Instr, Operand, Register};
use mote_vm::terms::prim::primitive::Primitive;
use mote_vm::values::value::Value;

impl State {
    /// What holds after a primitive has given an answer, or `:undefined` if `total`.
    pub(super) fn answered(
        &mut self,
        (d, p, args): (Register, Primitive, &[Operand]),
        plan: Plan,
        total: bool,
        constants: &[Value],
    ) {
        let both_ways = p == Primitive::Fdiv || (Primitive::Sqrt..=Primitive::Atan2).contains(&p);
        for arg in args {
            let Operand::Register(r) = *arg else { continue };
            let kinds = self.known(r).kinds;
            match plan {
                Plan::Fixnums => self.learn(r, Kinds::FIXNUM),
                Plan::Numbers => self.learn(r, Kinds::NUMBER),
                Plan::Floats if !kinds.can_be(Kinds::FLOAT) => self.learn(r, Kinds::FIXNUM),
                // An integer would do as well, and which of the two it is is not remembered.
                Plan::Floats if kinds.can_be(Kinds::FIXNUM) && both_ways => {
                    self.learn(r, Kinds::NUMBER);
                }
                Plan::Floats => {
                    self.learn(r, Kinds::FLOAT);
                    self.registers[r as usize].unboxed = true;
                }
                _ => {}
            }
        }
        let answer = match plan {
            Plan::Fixnums => Known::word(Kinds::FIXNUM),
            Plan::Floats => Known::float(),
            Plan::Numbers => Known::word(Kinds::NUMBER),
            Plan::Test => Known::word(Kinds::BOOLEAN),
            Plan::Take => Known::word(Kinds::answers(p)),
            Plan::Helper if total => Known::word(Kinds::answers(p).or(Kinds::OTHER_ATOM)),
            Plan::Helper => Known::word(Kinds::answers(p)),
        };
        if plan == Plan::Take {
            let taken = match p {
                Primitive::Hd | Primitive::Tl => Kinds::CONS,
                Primitive::Not => Kinds::BOOLEAN,
                _ => Kinds::TUPLE,
            };
            if let Operand::Register(r) = args[0] {
                self.learn(r, taken);
            }
        }
        let stepped = match plan {
            Plan::Fixnums => self.step(p, args, constants),
            _ => None,
        };
        let range = match plan {
            Plan::Fixnums => self.sum(p, args, constants),
            _ => None,
        };
        let range = range.map_or(Range::ALL, |sum| sum.and(Range::ALL));
        let compared = self.compared(p, args, constants);
        self.set(
            d,
            Known {
                stepped,
                range,
                ..answer
            },
        );
        if let Some((subject, p, bound)) = compared.filter(|(subject, ..)| *subject != d) {
            self.orders.push(Order {
                test: d,
                subject,
                p,
                bound,
            });
        }
        if let (Some((sure, possible)), [Operand::Register(subject)]) = (Kinds::tested(p), args) {
            if *subject != d {
                self.facts.push(Fact {
                    test: d,
                    subject: *subject,
                    sure,
                    possible,
                });
            }
        }
        if let (Primitive::Same, [Operand::Register(subject), Operand::Constant(k)]) = (p, args) {
            if *subject != d {
                self.facts.push(Fact {
                    test: d,
                    subject: *subject,
                    sure: Kinds::NONE,
                    possible: Kinds::of(constants[*k as usize]),
                });
            }
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

    /// What holds where the jump of an instruction leads.
    pub(super) fn after_jump(&self, instruction: &Instr) -> State {
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

    /// What holds before the next instruction.
    pub(super) fn pass(&mut self, instruction: &Instr, subject: &Subject<'_>) {
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
            } => {
                let facts: Vec<Fact> = self
                    .facts
                    .iter()
                    .filter(|f| f.test == *r)
                    .copied()
                    .collect();
                for fact in facts {
                    self.learn(fact.subject, fact.possible);
                }
                let orders: Vec<Order> = self
                    .orders
                    .iter()
                    .filter(|o| o.test == *r)
                    .copied()
                    .collect();
                for order in orders {
                    self.narrow(order.subject, order.p, order.bound);
                }
            }
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
                let known = match subject.returns(*function) {
                    Kinds::FIXNUM => Known::word(Kinds::FIXNUM),
                    Kinds::FLOAT => Known::float(),
                    _ => Known::word(Kinds::ANY),
                };
                self.set(*dst, known);
            }
            Instr::SendAfter { dst, .. } | Instr::CancelTimer { dst, .. } => {
                self.set(*dst, Known::word(Kinds::ANY));
            }
            _ => {}
        }
    }
}
