//! A single path through a piece of code: nothing on it has effects, and only comparisons of counters decide whether it is taken.
use super::dataflow::Dataflow;
use super::facts::Knowledge;
use super::kinds::Kinds;
use super::linear::{integer, Linear};
use super::plan::Plan;
use super::range::{opposite, turned};
use super::subject::Subject;
use mote_vm::code::ir::{Instr, Label, Operand};
use mote_vm::terms::prim::primitive::Primitive;

/// The path to one instruction of a piece of code.
pub(super) struct Path<'a> {
    subject: &'a Subject<'a>,
    flow: &'a Dataflow,
    /// True if there may be calls on it, and functions of the platform.
    calls: bool,
    /// Knowledge at its end.
    pub(super) state: Knowledge,
    pub(super) linear: Linear,
    established: Vec<Option<Established>>,
    /// The instructions on it that compute something, in order; calls, too.
    pub(super) computes: Vec<Label>,
    /// The conditions under which it is taken.
    pub(super) taken_if: Vec<Condition>,
}

/// A condition under which a path is taken.
pub(super) struct Condition {
    pub(super) at: Label,
    pub(super) p: Primitive,
    pub(super) counter: (u16, i64),
    pub(super) bound: Limit,
}

/// A limit that a counter is compared with.
#[derive(Clone, Copy)]
pub(super) enum Limit {
    Constant(i64),
    /// A parameter that is handed on as it is.
    Parameter(u16),
}

/// The meaning of a register that was written by a test.
#[derive(Clone, Copy)]
enum Established {
    True,
    Compared(Primitive, Operand, Operand),
}

impl<'a> Path<'a> {
    /// The path to an instruction; `None` if there are several, or if it does more than it may.
    pub(super) fn to(
        end: usize,
        subject: &'a Subject<'a>,
        flow: &'a Dataflow,
        calls: bool,
    ) -> Option<Path<'a>> {
        let mut path = Path {
            subject,
            flow,
            calls,
            state: flow.start(),
            linear: Linear::start(flow, subject.registers),
            established: vec![None; subject.registers as usize],
            computes: Vec::new(),
            taken_if: Vec::new(),
        };
        path.follow(end)?;
        Some(path)
    }

    fn follow(&mut self, end: usize) -> Option<()> {
        let code = self.subject.code;
        let constants = self.subject.constants;
        let reaches = reaching(code, end);
        let mut at = 0;
        while at != end {
            self.state.arrive(at as Label, self.flow);
            let instruction = &code[at];
            let on = instruction.falls_through() && reaches[at + 1];
            let away = instruction.label().filter(|label| reaches[*label as usize]);
            match instruction {
                Instr::Jump { label } => {
                    at = *label as usize;
                    continue;
                }
                Instr::Move { dst, .. } => {
                    self.established[*dst as usize] = None;
                    self.computes.push(at as Label);
                }
                Instr::Call { dst, .. } if self.calls => {
                    self.established[*dst as usize] = None;
                    self.computes.push(at as Label);
                }
                Instr::Match { left, right, .. } => {
                    let sides = (on, away.is_some());
                    self.decided(at, Primitive::Same, *left, *right, sides)?;
                }
                Instr::Branch {
                    condition: Operand::Register(r),
                    ..
                } => match self.established[*r as usize]? {
                    Established::True if on => {}
                    Established::True => return None,
                    Established::Compared(p, left, right) => {
                        self.decided(at, p, left, right, (on, away.is_some()))?;
                    }
                },
                other => {
                    let (dst, p, args) = other.operation()?;
                    self.established[dst as usize] = self.computed(p, args)?;
                    self.computes.push(at as Label);
                }
            }
            let decides = matches!(instruction, Instr::Match { .. } | Instr::Branch { .. });
            match away.filter(|_| decides && !on) {
                Some(label) => at = label as usize,
                None => {
                    self.state.transfer(instruction, self.subject);
                    self.linear.transfer(instruction, constants);
                    at += 1;
                }
            }
        }
        Some(())
    }

    /// Checks that this may be on a path: it is computed in line, has no effects, and leads to nothing but a result or a departure from
    /// the fast body. Returns its meaning, if it is a test.
    fn computed(&self, p: Primitive, args: &[Operand]) -> Option<Option<Established>> {
        use Primitive as P;
        let kinds = |i: usize| self.state.kinds(args[i], self.subject.constants);
        match self.state.plan(p, args, self.subject.constants) {
            Plan::Fixnums => Some(None),
            Plan::Floats => {
                let in_line = matches!(
                    p,
                    P::Add
                        | P::Sub
                        | P::Mul
                        | P::Fdiv
                        | P::Neg
                        | P::Abs
                        | P::Sqrt
                        | P::Max
                        | P::Min
                );
                (in_line || self.calls).then_some(None)
            }
            Plan::Test => match Kinds::tested(p) {
                Some((sure, _)) => kinds(0).is(sure).then_some(Some(Established::True)),
                None => {
                    let integers = kinds(0) == Kinds::FIXNUM && kinds(1) == Kinds::FIXNUM;
                    integers.then_some(Some(Established::Compared(p, args[0], args[1])))
                }
            },
            _ => None,
        }
    }

    /// A comparison decides whether the path is taken; `on` and `away` say from where its end can be reached.
    fn decided(
        &mut self,
        at: usize,
        p: Primitive,
        left: Operand,
        right: Operand,
        (on, away): (bool, bool),
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
        let at = at as Label;
        self.taken_if.push(Condition {
            at,
            p,
            counter,
            bound,
        });
        Some(())
    }

    fn counter(&self, operand: Operand) -> Option<(u16, i64)> {
        let found = self.linear.of(operand);
        found.filter(|(param, _)| self.flow.steps[*param as usize])
    }
}

/// Marks the instructions from which instruction `end` can be reached.
fn reaching(code: &[Instr], end: usize) -> Vec<bool> {
    let mut reaches = vec![false; code.len() + 1];
    for (i, instruction) in code.iter().enumerate().rev() {
        let on = instruction.falls_through() && reaches[i + 1];
        let away = instruction.label().is_some_and(|l| reaches[l as usize]);
        reaches[i] = i == end || on || away;
    }
    reaches
}
