//! Loops that count towards a bound: several of their rounds are certain before the first of them is begun.
//!
//! Such a loop has one path per round (path.rs), and it ends only where a comparison of a counter ([`Dataflow::steps`])
//! says so. A counter moves in one direction in equal steps, so the comparison for the last of several rounds answers for
//! all of them. Here such loops are found, without compiling anything; body/unroll.rs makes native code of them. A loop
//! that calls functions is followed into them by loop_nest.rs.
use super::dataflow::Dataflow;
use super::kinds::Kinds;
use super::path::{Condition, Limit, Path};
use super::subject::Subject;
use mote_vm::code::ir::{Instr, Label, Operand};
use mote_vm::terms::prim::primitive::Primitive;

/// Rounds of a group; a power of two, as the fuel is asked for by its bits.
pub(super) const ROUNDS: i64 = 4;
/// Instructions of the longest loop that is compiled as groups, too.
const LONGEST: usize = 32;

/// A group is made only if its last round is less than that away from a bound.
pub(super) const DISTANCE: i64 = 1 << 50;
/// A bound up to this size is near.
const NEAR: i64 = 1 << 40;

/// A loop that counts.
pub(super) struct Counted {
    /// The instructions of a round that compute something, in order.
    pub(super) round: Vec<Label>,
    /// Operands that the round hands on.
    pub(super) handed: Vec<Operand>,
    /// Growth of each parameter in a round, for parameters that are handed on as they are and for counters.
    pub(super) steps: Vec<Option<i64>>,
    /// True for each parameter that is handed on as it is.
    pub(super) fixed: Vec<bool>,
    /// Bounds that must hold before a group for all of its rounds to go on.
    pub(super) bounds: Vec<Bound>,
    /// The instruction at which the first of the bounds is checked.
    pub(super) exit: Option<Label>,
}

/// A bound on the last round of a group: parameter `counter` and `ahead` are above the bound, or below it.
pub(super) struct Bound {
    pub(super) counter: u16,
    pub(super) ahead: i64,
    /// Distance by which a round approaches the bound.
    pub(super) step: i64,
    pub(super) bound: Limit,
    pub(super) above: bool,
    /// True if the bound may be met.
    pub(super) met: bool,
    /// Range of the counter in all rounds, if it is certain and near.
    range: Option<(i64, i64)>,
}

impl Counted {
    /// Finds a counted loop in the code, if there is one. Its round may have `calls` or not.
    pub(super) fn of(subject: &Subject<'_>, flow: &Dataflow, calls: bool) -> Option<Counted> {
        let code = subject.code;
        if !flow.loops || flow.size() > LONGEST || !flow.steps.contains(&true) {
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
        let round = Path::to(end, subject, flow, calls)?;
        let handed = (args.iter()).map(|arg| round.state.operand(*arg, subject.constants));
        let handed: Vec<_> = handed.collect();
        let as_expected = args.iter().enumerate().all(|(i, arg)| match arg {
            Operand::Register(_) => handed[i].unboxed == (flow.inputs[i] == Kinds::FLOAT),
            Operand::Constant(_) => true,
        });
        if !as_expected {
            return None;
        }
        let bounds: Option<Vec<Bound>> = (round.taken_if.iter())
            .map(|goes| Bound::of(goes, &round, args))
            .collect();
        let fixed = handed.iter().enumerate();
        Some(Counted {
            steps: round.linear.steps(args, flow),
            fixed: fixed
                .map(|(i, known)| known.param == Some(i as u16))
                .collect(),
            exit: round.taken_if.first().map(|goes| goes.at),
            round: round.computes,
            handed: args.clone(),
            bounds: bounds?,
        })
    }

    /// Returns the range of a counter in the rounds of a group, if it is on its way to a bound that is near. It is a float without loss
    /// there.
    pub(super) fn range(&self, counter: u16) -> Option<(i64, i64)> {
        let mut bounds = self.bounds.iter().filter(|b| b.counter == counter);
        bounds.find_map(|bound| bound.range)
    }
}

impl Bound {
    /// Returns the bound that a condition of a round sets for the last round of a group, if that answers for all.
    fn of(goes: &Condition, round: &Path<'_>, args: &[Operand]) -> Option<Bound> {
        use Primitive as P;
        let (counter, ahead) = goes.counter;
        let (param, step) = round.linear.of(args[counter as usize])?;
        if param != counter {
            return None;
        }
        if let Limit::Parameter(bound) = goes.bound {
            if round.linear.of(args[bound as usize]) != Some((bound, 0)) {
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

    /// Returns the number of rounds after which the bound no longer holds, if the counter begins with that; `None` if that is not
    /// certain.
    pub(super) fn rounds(&self, begun: i64, bound: i64) -> Option<i64> {
        let (step, towards) = match self.above {
            true => (-self.step, 1),
            false => (self.step, -1),
        };
        let first = begun + self.ahead - (ROUNDS - 1) * step;
        let distance = towards * (first - bound);
        let ends = distance >= 0 && distance % self.step == 0;
        ends.then_some(distance / self.step + i64::from(self.met))
    }
}
