//! Loop-carried values: what a loop passes to its next round, and what it uses that as.
use super::facts::{Knowledge, Known};
use super::kinds::Kinds;
use super::plan::Plan;
use mote_vm::code::ir::{Instr, Operand};
use mote_vm::terms::prim::primitive::Primitive;
use mote_vm::values::value::Value;

/// Values that a loop passes to itself, by parameter; nothing where it passes the parameter on. Also the kinds of number that it uses
/// parameters as.
pub(super) struct LoopCarried {
    pub(super) passed: Vec<Option<Known>>,
    /// True if that is always the parameter itself, a small step further.
    pub(super) steps: Vec<Option<bool>>,
    pub(super) used_as: Vec<Kinds>,
    /// True for each integer among them that it uses as such, whatever operands are beside it.
    pub(super) integers: Vec<bool>,
    /// True for those that it uses as numbers of either kind.
    pub(super) either: Vec<bool>,
    /// True for those that it computes with where no float is beside them.
    pub(super) alone: Vec<bool>,
}

impl LoopCarried {
    pub(super) fn transfer(&mut self, state: &Knowledge, args: &[Operand], constants: &[Value]) {
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
    pub(super) fn uses(
        &mut self,
        before: &Knowledge,
        after: &Knowledge,
        instruction: &Instr,
        constants: &[Value],
    ) {
        let Some((_, p, args)) = instruction.operation() else {
            return;
        };
        let compared = (Primitive::Lt..=Primitive::Ge).contains(&p);
        let arithmetic = matches!(p, Primitive::Add | Primitive::Sub | Primitive::Mul);
        let floats = arithmetic && before.plan(p, args, constants) == Plan::Floats;
        for arg in args {
            let Operand::Register(r) = *arg else { continue };
            let (was, is) = (before.known(r), after.known(r));
            if let Some(param) = was.param.filter(|_| is.param == was.param) {
                if is.kinds == Kinds::FIXNUM || is.kinds == Kinds::FLOAT {
                    let used_as = &mut self.used_as[param as usize];
                    *used_as = used_as.or(is.kinds);
                }
                self.integers[param as usize] |= is.kinds == Kinds::FIXNUM && !is.guessed;
                let is_float = |other: &&Operand| before.kinds(**other, constants) == Kinds::FLOAT;
                let company = args.iter().filter(|other| *other != arg).find(is_float);
                let indifferent = floats && company.is_some()
                    || matches!(before.plan(p, args, constants), Plan::Test)
                    || before.takes_integers(p, *arg);
                self.alone[param as usize] |= !indifferent;
                self.either[param as usize] |=
                    is.kinds == Kinds::NUMBER || before.repeats && compared;
                // As long as it is not handed on otherwise, the company tells.
                if floats && is.kinds == Kinds::NUMBER {
                    let used_as = &mut self.used_as[param as usize];
                    *used_as = used_as.or(Kinds::FLOAT);
                }
            }
        }
    }

    /// Notes parameters that an instruction asks for their type: what they are used as on one path says little then.
    pub(super) fn doubt(&mut self, before: &Knowledge, instruction: &Instr, constants: &[Value]) {
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

    /// Returns the kinds that the parameters are supposed to be, given those `found` by use alone and those that callers pass.
    pub(super) fn supposed(&self, found: &[Kinds], callers: &[Kinds]) -> Vec<Kinds> {
        let supposed = |i: usize| {
            let computed = self.passed[i].is_some_and(|known| known.kinds == Kinds::FLOAT);
            match callers[i] {
                _ if computed || !self.is_number(i) => found[i],
                Kinds::FIXNUM | Kinds::FLOAT | Kinds::NUMBER => callers[i],
                _ if found[i] != Kinds::ANY || self.passed[i].is_none() => found[i],
                // What counts is seldom a float, and what is used as an integer never.
                _ if self.steps[i] == Some(true) => Kinds::FIXNUM,
                _ if self.used_as[i] == Kinds::FIXNUM => Kinds::FIXNUM,
                _ => Kinds::NUMBER,
            }
        };
        (0..found.len()).map(supposed).collect()
    }

    /// Returns whether a parameter is used as a number, and handed on as one.
    fn is_number(&self, i: usize) -> bool {
        match self.passed[i] {
            Some(known) => known.kinds.is(Kinds::NUMBER),
            None => self.either[i] || self.used_as[i].can_be(Kinds::NUMBER),
        }
    }

    /// Returns the kinds that a parameter is supposed to be after a round in which it was `supposed` to be something. They are the same
    /// if it is handed on as such, and not by a guess. Otherwise they are the kinds handed on. Where that was tried in vain (`no_kind`),
    /// it is a number of either kind.
    pub(super) fn settled(&self, i: usize, supposed: Kinds, no_kind: bool) -> Kinds {
        let Some(known) = self.passed[i] else {
            return supposed;
        };
        let handed = match known.kinds {
            Kinds::FIXNUM if !known.guessed => Kinds::FIXNUM,
            Kinds::FLOAT if known.unboxed => Kinds::FLOAT,
            kinds if kinds.is(Kinds::NUMBER) => Kinds::NUMBER,
            _ => Kinds::ANY,
        };
        match supposed {
            _ if handed == supposed => supposed,
            Kinds::NUMBER if handed != Kinds::ANY => Kinds::NUMBER,
            Kinds::NUMBER | Kinds::ANY => Kinds::ANY,
            _ if no_kind && handed != Kinds::ANY => Kinds::NUMBER,
            _ => handed,
        }
    }

    /// Returns whether only floats beside a parameter say that it is one, and it is a number nowhere else.
    pub(super) fn is_beside_floats(&self, i: usize) -> bool {
        self.used_as[i] == Kinds::FLOAT && !self.alone[i]
    }

    /// Returns the inputs with what callers pass for parameters that are used as numbers of either kind. The same goes for a parameter
    /// where only an integer beside it, as in `x + 1`, says that it is one. A parameter that is only ever beside floats is taken for one
    /// if callers pass floats, or nobody knows. It is taken for an integer if they pass integers. If they pass both, or there are none, it
    /// may be either.
    pub(super) fn inputs_as_passed(&self, passed: &[Kinds]) -> Vec<Kinds> {
        let mut inputs = self.inputs();
        for (i, kinds) in passed.iter().enumerate() {
            let open = self.either[i] && self.used_as[i] == Kinds::NONE;
            let guessed = self.used_as[i] == Kinds::FIXNUM && !self.integers[i];
            match *kinds {
                Kinds::FIXNUM if self.is_beside_floats(i) => inputs[i] = *kinds,
                Kinds::NONE | Kinds::NUMBER if self.is_beside_floats(i) => inputs[i] = Kinds::ANY,
                Kinds::FIXNUM | Kinds::FLOAT if open || guessed => inputs[i] = *kinds,
                Kinds::NUMBER if guessed => inputs[i] = *kinds,
                _ => {}
            }
        }
        inputs
    }

    pub(super) fn inputs(&self) -> Vec<Kinds> {
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
