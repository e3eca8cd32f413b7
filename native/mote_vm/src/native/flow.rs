//! What is known of the registers at each point of a code, before any of it is compiled.
//!
//! Jumps go forward only, so one pass in the order of the instructions meets every path; only the parameters of a
//! function that calls itself last (a loop) need repetition. The compiler (body.rs) walks the same states again with
//! the same functions, so what is known here is what holds there.
//!
//! The knowledge is of the fast body: it includes what the fast body itself has tested, leaving for the slow one when
//! a test fails. About the slow body nothing is assumed.
use super::kinds::Kinds;
use super::learned::Subject;
use super::range::{opposite, turned, Range};
use crate::code::ir::{Instr, Operand, Register, MAX_REGISTERS};
use crate::code::primitive::Primitive;
use crate::value::Value;

/// What is known of one register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Known {
    pub(super) kinds: Kinds,
    /// It is a float, held as a machine float.
    pub(super) unboxed: bool,
    /// It still holds the parameter of that number.
    param: Option<u16>,
    /// It is the parameter of that number and a small constant, added up.
    stepped: Option<u16>,
    /// If it is an integer that fits, it is in this range.
    range: Range,
}

/// The largest constant that is small: a slice of rounds with such steps stays far below the room that is tested
/// ([`Flow::counters`]).
pub(super) const SMALL: i64 = 1 << 20;

impl Known {
    const NOTHING: Known = Known {
        kinds: Kinds::NONE,
        unboxed: false,
        param: None,
        stepped: None,
        range: Range::ALL,
    };

    fn word(kinds: Kinds) -> Known {
        Known {
            kinds,
            unboxed: false,
            param: None,
            stepped: None,
            range: Range::ALL,
        }
    }

    fn float() -> Known {
        Known {
            kinds: Kinds::FLOAT,
            unboxed: true,
            param: None,
            stepped: None,
            range: Range::ALL,
        }
    }

    fn join(self, other: Known) -> Known {
        Known {
            kinds: self.kinds.or(other.kinds),
            unboxed: self.unboxed && other.unboxed,
            param: self.param.filter(|_| self.param == other.param),
            stepped: self.stepped.filter(|_| self.stepped == other.stepped),
            range: self.range.or(other.range),
        }
    }
}

/// If register `test` is true, `subject` is of the kinds `possible`; if it is false, of none of `sure`.
#[derive(Clone, Copy)]
struct Fact {
    test: Register,
    subject: Register,
    sure: Kinds,
    possible: Kinds,
}

/// If register `test` is true, `subject`, an integer that fits, compares with the bound like this.
#[derive(Clone, Copy)]
struct Order {
    test: Register,
    subject: Register,
    p: Primitive,
    bound: i64,
}

/// What is known at one point.
#[derive(Clone)]
pub(super) struct State {
    registers: Vec<Known>,
    facts: Vec<Fact>,
    orders: Vec<Order>,
}

/// How a primitive is computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Plan {
    /// On fixnums; what is none leaves the fast body.
    Fixnums,
    /// On floats; what is no number leaves the fast body.
    Floats,
    /// On whatever numbers come; what is none leaves the fast body.
    Numbers,
    /// In line for the usual types, by a helper for the others.
    Test,
    /// In line; what has no answer leaves the fast body.
    Take,
    /// By a helper.
    Helper,
}

impl State {
    pub(super) fn known(&self, r: Register) -> Known {
        self.registers[r as usize]
    }

    fn set(&mut self, r: Register, known: Known) {
        self.facts.retain(|f| f.test != r && f.subject != r);
        self.orders.retain(|o| o.test != r && o.subject != r);
        self.registers[r as usize] = known;
    }

    /// Something more is known of what the register holds.
    fn learn(&mut self, r: Register, kinds: Kinds) {
        let known = &mut self.registers[r as usize];
        known.kinds = known.kinds.and(kinds);
    }

    fn operand(&self, o: Operand, constants: &[Value]) -> Known {
        match o {
            Operand::Register(r) => self.known(r),
            Operand::Constant(k) => {
                let value = constants[k as usize];
                let range = value.as_fixnum().map_or(Range::ALL, Range::only);
                Known {
                    range,
                    ..Known::word(Kinds::of(value))
                }
            }
        }
    }

    /// Where a sum or a difference of integers lies; `None` for what is neither.
    fn sum(&self, p: Primitive, args: &[Operand], constants: &[Value]) -> Option<Range> {
        let range = |i: usize| self.operand(args[i], constants).range;
        match p {
            Primitive::Add => Some(range(0).plus(range(1))),
            Primitive::Sub => Some(range(0).minus(range(1))),
            _ => None,
        }
    }

    /// Whether a sum or a difference of integers that fit fits for sure.
    pub(super) fn fits(&self, p: Primitive, args: &[Operand], constants: &[Value]) -> bool {
        let sum = self.sum(p, args, constants);
        sum.is_some_and(|range| range.and(Range::ALL) == range)
    }

    pub(super) fn kinds(&self, o: Operand, constants: &[Value]) -> Kinds {
        self.operand(o, constants).kinds
    }

    fn join(&mut self, other: &State) {
        for (mine, theirs) in self.registers.iter_mut().zip(&other.registers) {
            *mine = mine.join(*theirs);
        }
        self.forget_tests();
    }

    /// Where ways meet.
    fn forget_tests(&mut self) {
        self.facts.clear();
        self.orders.clear();
    }

    /// A comparison is true of an integer.
    fn narrow(&mut self, r: Register, p: Primitive, bound: i64) {
        let range = &mut self.registers[r as usize].range;
        *range = range.and(Range::where_true(p, bound));
    }

    /// How the fast body computes a primitive here.
    pub(super) fn plan(&self, p: Primitive, args: &[Operand], constants: &[Value]) -> Plan {
        use Primitive as P;
        let kinds = |i: usize| self.kinds(args[i], constants);
        let fixnum = |i: usize| kinds(i).can_be(Kinds::FIXNUM);
        let float = |i: usize| kinds(i).can_be(Kinds::FLOAT);
        let number = |i: usize| kinds(i).can_be(Kinds::NUMBER);
        match p {
            P::Add | P::Sub | P::Mul => {
                let float_only = |i| float(i) && !fixnum(i);
                let fixnum_only = |i| fixnum(i) && !float(i);
                // Seen to be a number, but not which.
                let either =
                    |i| kinds(i).is(Kinds::NUMBER.or(Kinds::OTHER)) && float(i) && fixnum(i);
                if !number(0) || !number(1) {
                    Plan::Helper
                } else if float_only(0) || float_only(1) {
                    Plan::Floats
                } else if (fixnum_only(0) && !either(1)) || (fixnum_only(1) && !either(0)) {
                    Plan::Fixnums
                } else {
                    Plan::Numbers
                }
            }
            P::Neg | P::Abs => match (fixnum(0), float(0)) {
                (true, false) => Plan::Fixnums,
                (false, true) => Plan::Floats,
                _ => Plan::Helper,
            },
            P::Fdiv if number(0) && number(1) => Plan::Floats,
            P::Idiv | P::Irem | P::Band | P::Bor | P::Bxor if fixnum(0) && fixnum(1) => {
                Plan::Fixnums
            }
            P::Bnot if fixnum(0) => Plan::Fixnums,
            P::Bsr if fixnum(0) && shift(args[1], constants).is_some() => Plan::Fixnums,
            P::Max | P::Min if kinds(0) == Kinds::FIXNUM && kinds(1) == Kinds::FIXNUM => {
                Plan::Fixnums
            }
            _ if (P::Sqrt..=P::Atan2).contains(&p) && (0..p.arity()).all(number) => Plan::Floats,
            P::Eq | P::Ne | P::Same | P::Differ | P::Lt | P::Le | P::Gt | P::Ge => Plan::Test,
            _ if Kinds::tested(p).is_some() => Plan::Test,
            P::Not | P::Hd | P::Tl | P::TupleSize => Plan::Take,
            P::Elem if fixnum(1) => Plan::Take,
            _ => Plan::Helper,
        }
    }

    /// What holds after a primitive has given an answer, or `:undefined` if `total`.
    fn answered(
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
    fn compared(
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

    /// The parameter that a primitive adds a small constant to.
    pub(super) fn step(&self, p: Primitive, args: &[Operand], constants: &[Value]) -> Option<u16> {
        let (of, by) = match (p, args) {
            (Primitive::Add, [by @ Operand::Constant(_), of]) => (of, by),
            (Primitive::Add | Primitive::Sub, [of, by]) => (of, by),
            _ => return None,
        };
        let (Operand::Register(r), Operand::Constant(k)) = (*of, *by) else {
            return None;
        };
        let by = constants[k as usize].as_fixnum()?;
        self.known(r)
            .param
            .filter(|_| (-SMALL..=SMALL).contains(&by))
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

/// The constant count of a shift, if it is one that the machine's shift can do.
pub(super) fn shift(count: Operand, constants: &[Value]) -> Option<i64> {
    let Operand::Constant(k) = count else {
        return None;
    };
    constants[k as usize]
        .as_fixnum()
        .filter(|n| (0..=62).contains(n))
}

/// A set of registers.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Registers([u64; MAX_REGISTERS as usize / 64]);

impl Registers {
    fn insert(&mut self, r: u32) {
        self.0[r as usize / 64] |= 1 << (r % 64);
    }

    fn remove(&mut self, r: u32) {
        self.0[r as usize / 64] &= !(1 << (r % 64));
    }

    fn extend(&mut self, other: &Registers) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine |= theirs;
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Register> + '_ {
        self.0.iter().enumerate().flat_map(|(i, &word)| {
            let bits = std::iter::successors(Some(word), |w| Some(w & w.wrapping_sub(1)));
            bits.take_while(|w| *w != 0)
                .map(move |w| (i as u32 * 64 + w.trailing_zeros()) as Register)
        })
    }
}

/// What is known of a code.
pub(super) struct Flow {
    /// What the fast body takes for granted of the parameters; tested before it is entered.
    pub(super) inputs: Vec<Kinds>,
    /// What holds where jumps lead, for those that anything jumps to.
    pub(super) labels: Vec<Option<State>>,
    /// The registers that are still read, before each instruction.
    pub(super) live: Vec<Registers>,
    pub(super) loops: bool,
    /// The parameters that a loop only ever passes on as they are, or a small step further. The fast body is entered with
    /// half of the integers around them free, so steps need no test: that many rounds have more than a slice of fuel, and
    /// the next slice is taken before it is entered again. Where the loop calls others, which take slices, there are none.
    pub(super) counters: Vec<bool>,
    /// What it answers in the fast body, as [`Subject::returns`] has it: nothing if it never does.
    pub(super) answers: Kinds,
    /// What it calls, and what kinds it passes.
    pub(super) calls: Vec<(u32, Vec<Kinds>)>,
    registers: u16,
}

impl Flow {
    pub(super) fn of(subject: &Subject<'_>) -> Flow {
        let mut flow = Flow {
            inputs: vec![Kinds::ANY; subject.inputs as usize],
            labels: Vec::new(),
            live: live(subject.code),
            loops: subject.code.iter().any(
                |i| matches!(i, Instr::TailCall { function, .. } if subject.is_self(*function)),
            ),
            counters: vec![false; subject.inputs as usize],
            answers: Kinds::NONE,
            calls: Vec::new(),
            registers: subject.registers,
        };
        let mut again = flow.run(subject);
        if subject.index.is_none() {
            return flow;
        }
        if !flow.loops {
            flow.inputs = again.inputs_as_passed(subject.passed());
            flow.run(subject);
            return flow;
        }
        // Hopes first: each round may give the next one reason for more.
        for _ in 0..4 {
            let hoped = again.inputs();
            if hoped == flow.inputs {
                break;
            }
            flow.inputs = hoped;
            again = flow.run(subject);
        }
        // Then only what comes round as it went in.
        while !flow.confirm(&again) {
            again = flow.run(subject);
        }
        let called = |i: &Instr| matches!(i, Instr::Call { .. });
        if !subject.code.iter().any(called) {
            let counts = |i: usize| flow.inputs[i] == Kinds::FIXNUM && again.steps[i] == Some(true);
            flow.counters = (0..flow.inputs.len()).map(counts).collect();
        }
        flow
    }

    /// What holds at the start of the fast body.
    pub(super) fn start(&self) -> State {
        let mut registers = vec![Known::NOTHING; self.registers as usize];
        for (i, (register, kinds)) in registers.iter_mut().zip(&self.inputs).enumerate() {
            *register = Known {
                kinds: *kinds,
                unboxed: *kinds == Kinds::FLOAT,
                param: Some(i as u16),
                stepped: None,
                range: Range::ALL,
            };
        }
        State {
            registers,
            facts: Vec::new(),
            orders: Vec::new(),
        }
    }

    fn run(&mut self, subject: &Subject<'_>) -> Again {
        let mut again = Again {
            passed: vec![None; self.inputs.len()],
            steps: vec![None; self.inputs.len()],
            used_as: vec![Kinds::NONE; self.inputs.len()],
            either: vec![false; self.inputs.len()],
        };
        self.answers = Kinds::NONE;
        self.calls.clear();
        self.labels = vec![None; subject.code.len()];
        let mut state = Some(self.start());
        for (i, instruction) in subject.code.iter().enumerate() {
            if let Some(jumped) = &mut self.labels[i] {
                if let Some(state) = &state {
                    jumped.join(state);
                }
                jumped.forget_tests();
                state = Some(jumped.clone());
            }
            let Some(now) = &mut state else { continue };
            if let Some(label) = instruction.label() {
                let there = now.after_jump(instruction);
                match &mut self.labels[label as usize] {
                    Some(known) => known.join(&there),
                    none => *none = Some(there),
                }
            }
            if let Instr::Call { function, args, .. } | Instr::TailCall { function, args } =
                instruction
            {
                let kinds = args.iter().map(|arg| now.kinds(*arg, subject.constants));
                self.calls.push((*function, kinds.collect()));
            }
            match instruction {
                Instr::TailCall { function, args } if subject.is_self(*function) => {
                    again.pass(now, args, subject.constants);
                }
                Instr::TailCall { function, .. } => {
                    self.answers = self.answers.or(subject.returns(*function));
                }
                Instr::Return { value } => {
                    self.answers = self.answers.or(now.kinds(*value, subject.constants));
                }
                _ => {}
            }
            if instruction.falls_through() {
                let before = now.clone();
                now.pass(instruction, subject);
                again.uses(&before, now, instruction);
                if !self.loops {
                    again.doubt(&before, instruction, subject.constants);
                }
            } else {
                state = None;
            }
        }
        again
    }

    /// Takes back what does not come round; whether all did.
    fn confirm(&mut self, again: &Again) -> bool {
        let mut all = true;
        for (input, passed) in self.inputs.iter_mut().zip(&again.passed) {
            let holds = passed.is_none_or(|known| match *input {
                Kinds::FLOAT => known.unboxed,
                kinds => known.kinds.is(kinds),
            });
            if !holds {
                *input = Kinds::ANY;
                all = false;
            }
        }
        all
    }
}

/// What a loop passes to itself, by parameter; nothing where it passes the parameter on. And as what kinds of number
/// it uses them.
struct Again {
    passed: Vec<Option<Known>>,
    /// Whether that is always the parameter itself, a small step further.
    steps: Vec<Option<bool>>,
    used_as: Vec<Kinds>,
    /// Which ones it uses as numbers of either kind.
    either: Vec<bool>,
}

impl Again {
    fn pass(&mut self, state: &State, args: &[Operand], constants: &[Value]) {
        for (i, arg) in args.iter().enumerate() {
            let mut known = state.operand(*arg, constants);
            if known.param == Some(i as u16) {
                continue;
            }
            if let Operand::Constant(_) = arg {
                known.unboxed = known.kinds == Kinds::FLOAT;
            }
            let steps = known.stepped == Some(i as u16);
            self.steps[i] = Some(steps && self.steps[i].unwrap_or(true));
            self.passed[i] = Some(self.passed[i].map_or(known, |other| other.join(known)));
        }
    }

    /// Notes which parameters an instruction has found to be numbers of one kind.
    fn uses(&mut self, before: &State, after: &State, instruction: &Instr) {
        let Some((_, _, args)) = instruction.operation() else {
            return;
        };
        for arg in args {
            let Operand::Register(r) = *arg else { continue };
            let (was, is) = (before.known(r), after.known(r));
            if let Some(param) = was.param.filter(|_| is.param == was.param) {
                if is.kinds == Kinds::FIXNUM || is.kinds == Kinds::FLOAT {
                    let used_as = &mut self.used_as[param as usize];
                    *used_as = used_as.or(is.kinds);
                }
                self.either[param as usize] |= is.kinds == Kinds::NUMBER;
            }
        }
    }

    /// Notes parameters that an instruction asks for their type: what they are used as on one path says little then.
    fn doubt(&mut self, before: &State, instruction: &Instr, constants: &[Value]) {
        let (asked, kinds) = match instruction {
            Instr::MatchTuple { value, .. } => (*value, Kinds::TUPLE),
            Instr::MatchCons { value, .. } => (*value, Kinds::LIST),
            Instr::Match { left, right, .. } => match (left, right) {
                (subject, Operand::Constant(k)) | (Operand::Constant(k), subject) => {
                    (*subject, Kinds::of(constants[*k as usize]))
                }
                _ => return,
            },
            other => match other.operation() {
                Some((_, p, args)) if Kinds::tested(p).is_some() => (args[0], Kinds::ANY),
                _ => return,
            },
        };
        let Operand::Register(r) = asked else { return };
        if let Some(param) = before.known(r).param {
            let used_as = &mut self.used_as[param as usize];
            *used_as = used_as.or(kinds);
        }
    }

    /// The same, where what is used as a number of either kind is what callers pass.
    fn inputs_as_passed(&self, passed: &[Kinds]) -> Vec<Kinds> {
        let mut inputs = self.inputs();
        for (i, kinds) in passed.iter().enumerate() {
            let open = self.either[i] && self.used_as[i] == Kinds::NONE;
            if open && (*kinds == Kinds::FIXNUM || *kinds == Kinds::FLOAT) {
                inputs[i] = *kinds;
            }
        }
        inputs
    }

    fn inputs(&self) -> Vec<Kinds> {
        let of = |(passed, used_as): (&Option<Known>, &Kinds)| {
            let kinds = passed.map_or(*used_as, |known| known.kinds);
            match kinds {
                Kinds::FIXNUM | Kinds::FLOAT => kinds,
                _ => Kinds::ANY,
            }
        };
        self.passed.iter().zip(&self.used_as).map(of).collect()
    }
}

fn live(code: &[Instr]) -> Vec<Registers> {
    let mut live = vec![Registers::default(); code.len()];
    for (i, instruction) in code.iter().enumerate().rev() {
        let mut here = Registers::default();
        if instruction.falls_through() {
            if let Some(next) = live.get(i + 1) {
                here = *next;
            }
            for range in instruction.written() {
                range.for_each(|r| here.remove(r));
            }
        }
        if let Some(label) = instruction.label() {
            here.extend(&live[label as usize]);
        }
        instruction.for_each_operand(|operand| {
            if let Operand::Register(r) = operand {
                here.insert(r.into());
            }
        });
        live[i] = here;
    }
    live
}
