//! Loops that count towards a bound: several of their rounds are certain before the first of them is begun.
//!
//! Such a loop has one way round, which calls nothing, and it ends only where a comparison of a counter
//! ([`Flow::counters`]) says so. As a counter goes one way in equal steps, the comparison for the last of some rounds
//! answers for all of them. What the native code makes of that is in body/strides.rs; here it is found out, without
//! compiling anything.
use super::flow::Flow;
use super::kinds::Kinds;
use super::known::{State, SMALL};
use super::learned::Subject;
use super::plan::Plan;
use super::range::{opposite, turned};
use crate::code::ir::{Instr, Label, Operand};
use crate::code::primitive::Primitive;
use crate::value::Value;

/// Rounds of a stride; a power of two, as the fuel is asked for by its bits.
pub(super) const ROUNDS: i64 = 4;
/// Instructions of the longest loop that is compiled as strides, too.
const LONGEST: usize = 32;

/// A stride is made only if its last round is less than that away from a bound.
pub(super) const DISTANCE: i64 = 1 << 50;
/// A bound up to this size is near.
const NEAR: i64 = 1 << 40;

/// A loop that counts.
pub(super) struct Counted {
    /// The instructions of a round that compute something, in order.
    pub(super) round: Vec<Label>,
    /// What the round hands on.
    pub(super) handed: Vec<Operand>,
    /// By how much each parameter grows in a round, for those that are handed on as they are or are counters.
    pub(super) steps: Vec<Option<i64>>,
    /// What must hold before a stride for all of its rounds to go on.
    pub(super) bounds: Vec<Bound>,
}

/// In the last round of a stride, parameter `counter` and `ahead` are above the bound, or below it.
pub(super) struct Bound {
    pub(super) counter: u16,
    pub(super) ahead: i64,
    /// How far a round goes towards it.
    pub(super) step: i64,
    pub(super) bound: Limit,
    pub(super) above: bool,
    /// Whether it may be met.
    pub(super) met: bool,
    /// Where the counter lies in all rounds, if that is certain and near.
    range: Option<(i64, i64)>,
}

/// What a counter is compared with.
#[derive(Clone, Copy)]
pub(super) enum Limit {
    Constant(i64),
    /// A parameter that is handed on as it is.
    Parameter(u16),
}

/// Which registers hold an integer parameter and a small constant, added up.
#[derive(Clone)]
pub(super) struct Linear(Vec<Option<(u16, i64)>>);

impl Linear {
    /// At the start of a round.
    pub(super) fn start(flow: &Flow, registers: u16) -> Linear {
        let mut held = vec![None; registers as usize];
        for (i, kinds) in flow.inputs.iter().enumerate() {
            held[i] = (*kinds == Kinds::FIXNUM).then_some((i as u16, 0));
        }
        Linear(held)
    }

    pub(super) fn of(&self, operand: Operand) -> Option<(u16, i64)> {
        match operand {
            Operand::Register(r) => self.0[r as usize],
            Operand::Constant(_) => None,
        }
    }

    /// After an instruction of a round.
    pub(super) fn pass(&mut self, instruction: &Instr, constants: &[Value]) {
        if let Instr::Move { dst, src } = instruction {
            self.0[*dst as usize] = self.of(*src);
        } else if let Some((dst, p, args)) = instruction.operation() {
            self.0[dst as usize] = self.sum(p, args, constants);
        }
    }

    fn sum(&self, p: Primitive, args: &[Operand], constants: &[Value]) -> Option<(u16, i64)> {
        let (of, by) = match (p, args) {
            (Primitive::Add, [by @ Operand::Constant(_), of]) => (of, by),
            (Primitive::Add | Primitive::Sub, [of, by]) => (of, by),
            _ => return None,
        };
        let by = integer(*by, constants).filter(|by| (-SMALL..=SMALL).contains(by))?;
        let by = if p == Primitive::Add { by } else { -by };
        let (param, ahead) = self.of(*of)?;
        Some((param, ahead + by))
    }

    /// At the start of the next round. What no counter and not the same is is not followed.
    pub(super) fn hand_on(&mut self, handed: &[Operand], flow: &Flow) {
        let steps = self.steps(handed, flow);
        self.0.fill(None);
        for (i, step) in steps.into_iter().enumerate() {
            self.0[i] = step.map(|step| (i as u16, step));
        }
    }

    /// By how much each parameter has grown when it is handed on, if it is followed.
    fn steps(&self, handed: &[Operand], flow: &Flow) -> Vec<Option<i64>> {
        let step = |(i, arg): (usize, &Operand)| {
            let (param, ahead) = self.of(*arg)?;
            (param == i as u16 && (ahead == 0 || flow.counters[i])).then_some(ahead)
        };
        handed.iter().enumerate().map(step).collect()
    }
}

/// A condition under which a round goes on.
struct Goes {
    p: Primitive,
    counter: (u16, i64),
    bound: Limit,
}

/// What a register that was written by a test says.
#[derive(Clone, Copy)]
enum Said {
    True,
    Compared(Primitive, Operand, Operand),
}

impl Counted {
    pub(super) fn of(subject: &Subject<'_>, flow: &Flow) -> Option<Counted> {
        let code = subject.code;
        if !flow.loops || code.len() > LONGEST || !flow.counters.contains(&true) {
            return None;
        }
        let is_round =
            |i: &Instr| matches!(i, Instr::TailCall { function, .. } if subject.is_self(*function));
        let end = code.iter().position(is_round)?;
        if code[end + 1..].iter().any(is_round) {
            return None;
        }
        let Instr::TailCall { args, .. } = &code[end] else {
            return None;
        };
        let mut round = Round {
            subject,
            flow,
            state: flow.start(),
            linear: Linear::start(flow, subject.registers),
            said: vec![None; subject.registers as usize],
            computes: Vec::new(),
            goes: Vec::new(),
        };
        round.follow(end)?;
        let as_expected = args.iter().enumerate().all(|(i, arg)| match arg {
            Operand::Register(r) => {
                round.state.known(*r).unboxed == (flow.inputs[i] == Kinds::FLOAT)
            }
            Operand::Constant(_) => true,
        });
        if !as_expected {
            return None;
        }
        let bounds: Option<Vec<Bound>> = (round.goes.iter())
            .map(|goes| round.bound(goes, args))
            .collect();
        Some(Counted {
            steps: round.linear.steps(args, flow),
            round: round.computes,
            handed: args.clone(),
            bounds: bounds?,
        })
    }

    /// Where a counter lies in the rounds of a stride, if it is on its way to a bound that is near. It is a float without
    /// loss there.
    pub(super) fn range(&self, counter: u16) -> Option<(i64, i64)> {
        let mut bounds = self.bounds.iter().filter(|b| b.counter == counter);
        bounds.find_map(|bound| bound.range)
    }
}

/// The one way round.
struct Round<'a> {
    subject: &'a Subject<'a>,
    flow: &'a Flow,
    state: State,
    linear: Linear,
    said: Vec<Option<Said>>,
    computes: Vec<Label>,
    goes: Vec<Goes>,
}

impl Round<'_> {
    /// Follows the way to where the loop begins again; `None` if there is another, or it does what a stride may not.
    fn follow(&mut self, end: usize) -> Option<()> {
        let code = self.subject.code;
        let constants = self.subject.constants;
        let reaches = reaching(code, end);
        let mut at = 0;
        while at != end {
            if let Some(known) = &self.flow.labels[at] {
                self.state = known.clone();
            }
            let instruction = &code[at];
            let on = instruction.falls_through() && reaches[at + 1];
            let away = instruction.label().filter(|label| reaches[*label as usize]);
            match instruction {
                Instr::Jump { label } => {
                    at = *label as usize;
                    continue;
                }
                Instr::Move { dst, .. } => {
                    self.said[*dst as usize] = None;
                    self.computes.push(at as Label);
                }
                Instr::Match { left, right, .. } => {
                    self.decided(Primitive::Same, *left, *right, on, away.is_some())?;
                }
                Instr::Branch {
                    condition: Operand::Register(r),
                    ..
                } => match self.said[*r as usize]? {
                    Said::True if on => {}
                    Said::True => return None,
                    Said::Compared(p, left, right) => {
                        self.decided(p, left, right, on, away.is_some())?;
                    }
                },
                other => {
                    let (dst, p, args) = other.operation()?;
                    self.said[dst as usize] = self.computed(p, args)?;
                    self.computes.push(at as Label);
                }
            }
            let decides = matches!(instruction, Instr::Match { .. } | Instr::Branch { .. });
            match away.filter(|_| decides && !on) {
                Some(label) => at = label as usize,
                None => {
                    self.state.pass(instruction, self.subject);
                    self.linear.pass(instruction, constants);
                    at += 1;
                }
            }
        }
        Some(())
    }

    /// Whether a stride may compute this: in line, without effects, and nothing else comes of it than a result or a
    /// departure from the fast body. What it says, if it is a test.
    fn computed(&self, p: Primitive, args: &[Operand]) -> Option<Option<Said>> {
        use Primitive as P;
        let kinds = |i: usize| self.state.kinds(args[i], self.subject.constants);
        match self.state.plan(p, args, self.subject.constants) {
            Plan::Fixnums => Some(None),
            Plan::Floats => {
                let in_line = matches!(
                    p,
                    P::Add | P::Sub | P::Mul | P::Fdiv | P::Neg | P::Abs | P::Sqrt
                );
                in_line.then_some(None)
            }
            Plan::Test => match Kinds::tested(p) {
                Some((sure, _)) => kinds(0).is(sure).then_some(Some(Said::True)),
                None => {
                    let integers = kinds(0) == Kinds::FIXNUM && kinds(1) == Kinds::FIXNUM;
                    integers.then_some(Some(Said::Compared(p, args[0], args[1])))
                }
            },
            _ => None,
        }
    }

    /// A comparison decides whether the round goes on.
    fn decided(
        &mut self,
        p: Primitive,
        left: Operand,
        right: Operand,
        on: bool,
        away: bool,
    ) -> Option<()> {
        if on == away {
            return None;
        }
        let p = if on { p } else { opposite(p) };
        let (p, counter, bound) = match (self.counter(left), self.counter(right)) {
            (Some(counter), _) => (p, counter, right),
            (_, Some(counter)) => (turned(p), counter, left),
            _ => return None,
        };
        let bound = match integer(bound, self.subject.constants) {
            Some(constant) => Limit::Constant(constant),
            None => match self.linear.of(bound)? {
                (param, 0) => Limit::Parameter(param),
                _ => return None,
            },
        };
        self.goes.push(Goes { p, counter, bound });
        Some(())
    }

    fn counter(&self, operand: Operand) -> Option<(u16, i64)> {
        let found = self.linear.of(operand);
        found.filter(|(param, _)| self.flow.counters[*param as usize])
    }

    /// What a condition asks of the last round of a stride, if that answers for all.
    fn bound(&self, goes: &Goes, args: &[Operand]) -> Option<Bound> {
        use Primitive as P;
        let (counter, ahead) = goes.counter;
        let (param, step) = self.linear.of(args[counter as usize])?;
        if param != counter {
            return None;
        }
        if let Limit::Parameter(bound) = goes.bound {
            if self.linear.of(args[bound as usize]) != Some((bound, 0)) {
                return None;
            }
        }
        let met = match (goes.p, step.signum()) {
            (P::Ne | P::Differ | P::Gt, -1) | (P::Ne | P::Differ | P::Lt, 1) => false,
            (P::Ge, -1) | (P::Le, 1) => true,
            _ => return None,
        };
        let range = match goes.bound {
            Limit::Constant(c) if (-NEAR..=NEAR).contains(&c) => {
                let nearest = c - ahead + if met { 0 } else { -step.signum() };
                // Twice as far, as the distance is that of the last round.
                let farthest = nearest - step.signum() * 2 * DISTANCE;
                Some((nearest.min(farthest), nearest.max(farthest)))
            }
            _ => None,
        };
        Some(Bound {
            range,
            counter,
            ahead: ahead + (ROUNDS - 1) * step,
            step: step.abs(),
            bound: goes.bound,
            above: step < 0,
            met,
        })
    }
}

/// From which instructions that one can be reached.
fn reaching(code: &[Instr], end: usize) -> Vec<bool> {
    let mut reaches = vec![false; code.len() + 1];
    for (i, instruction) in code.iter().enumerate().rev() {
        let on = instruction.falls_through() && reaches[i + 1];
        let away = instruction.label().is_some_and(|l| reaches[l as usize]);
        reaches[i] = i == end || on || away;
    }
    reaches
}

fn integer(operand: Operand, constants: &[Value]) -> Option<i64> {
    match operand {
        Operand::Constant(k) => constants[k as usize].as_fixnum(),
        Operand::Register(_) => None,
    }
}
