//! Interval analysis: which loops over floats compute only finite ones. This is decided before the loop, so that its
//! rounds need not test it.
//!
//! The floats that a loop begins with are assumed to be of moderate size, which is tested once. The intervals of the
//! inputs of a round determine those of its results, operation by operation. Rounding is monotonic, so the ends of an
//! interval, computed as the loop does, hold for all values between them. If the results lie in the intervals of the
//! inputs after one round, they do so after every round.
use super::counted_loops::Counted;
use super::dataflow::Dataflow;
use super::facts::Knowledge;
use super::kinds::Kinds;
use super::linear::Linear;
use super::plan::Plan;
use super::subject::Subject;
use mote_vm::code::ir::{Instr, Operand};
use mote_vm::native::as_f64;
use mote_vm::terms::prim::primitive::Primitive;
use mote_vm::values::value::{FIXNUM_MAX, FIXNUM_MIN};

/// An interval from the first number to the second, which are finite, both included.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Interval(pub(super) f64, pub(super) f64);

/// Numbers of moderate size: 2 to the power of ±100.
const SMALL: f64 = 1.0 / LARGE;
const LARGE: f64 = (1u128 << 100) as f64;

/// Intervals that a loop may be taken to begin with. A divisor must not be zero, and a summand may be anything.
const BEGINNINGS: [Interval; 2] = [Interval(SMALL, LARGE), Interval(-LARGE, LARGE)];

/// Number of times that intervals are widened.
const WIDENINGS: usize = 4;

impl Interval {
    const INTEGERS: Interval = Interval(FIXNUM_MIN as f64, FIXNUM_MAX as f64);
    const FLOATS: Interval = Interval(-f64::MAX, f64::MAX);

    fn is_in(self, other: Interval) -> bool {
        other.0 <= self.0 && self.1 <= other.1
    }

    fn or(self, other: Interval) -> Interval {
        Interval(self.0.min(other.0), self.1.max(other.1))
    }

    /// Returns the interval of a primitive's result; `None` if the result may not be finite, or is not known.
    fn operation(p: Primitive, args: &[Interval]) -> Option<Interval> {
        use Primitive as P;
        let a = args[0];
        let b = args.get(1).copied().unwrap_or(a);
        let corners = |of: fn(f64, f64) -> f64| {
            let corners = [of(a.0, b.0), of(a.0, b.1), of(a.1, b.0), of(a.1, b.1)];
            let least = corners.into_iter().fold(f64::INFINITY, f64::min);
            let most = corners.into_iter().fold(f64::NEG_INFINITY, f64::max);
            Interval(least, most)
        };
        let found = match p {
            P::Neg => Interval(-a.1, -a.0),
            P::Abs => Interval(0.0, a.0.abs().max(a.1.abs())),
            P::Add => Interval(a.0 + b.0, a.1 + b.1),
            P::Sub => Interval(a.0 - b.1, a.1 - b.0),
            P::Mul => corners(|x, y| x * y),
            P::Fdiv if b.0 > 0.0 || b.1 < 0.0 => corners(|x, y| x / y),
            P::Sqrt if a.0 >= 0.0 => Interval(a.0.sqrt(), a.1.sqrt()),
            _ => return None,
        };
        (found.0.is_finite() && found.1.is_finite()).then_some(found)
    }
}

/// Returns an interval for the floats that a loop begins with, if all floats of the loop then stay finite.
pub(super) fn beginning(
    counted: &Counted,
    subject: &Subject<'_>,
    flow: &Dataflow,
) -> Option<Interval> {
    let mut beginnings = BEGINNINGS.into_iter();
    beginnings.find(|begun| {
        let floats = flow.inputs.iter().map(|kinds| *kinds == Kinds::FLOAT);
        let mut before: Vec<_> = floats.map(|is| is.then_some(*begun)).collect();
        for _ in 0..WIDENINGS {
            let Some(after) = round(counted, subject, flow, &before) else {
                return false;
            };
            let stays = |(before, after): (&Option<Interval>, &Option<Interval>)| match before {
                Some(before) => after.is_some_and(|after| after.is_in(*before)),
                None => true,
            };
            if before.iter().zip(&after).all(stays) {
                return true;
            }
            for (before, after) in before.iter_mut().zip(after) {
                *before = before.zip(after).map(|(before, after)| before.or(after));
            }
        }
        false
    })
}

/// Returns the intervals that a round hands on, given those handed to it; `None` if a float may not be finite.
fn round(
    counted: &Counted,
    subject: &Subject<'_>,
    flow: &Dataflow,
    before: &[Option<Interval>],
) -> Option<Vec<Option<Interval>>> {
    let mut floats = vec![None; subject.registers as usize];
    floats[..before.len()].copy_from_slice(before);
    let mut round = Round {
        counted,
        subject,
        linear: Linear::start(flow, subject.registers),
        state: flow.start(),
        floats,
    };
    for at in &counted.round {
        round.state.arrive(*at, flow);
        round.transfer(&subject.code[*at as usize])?;
    }
    let handed = counted.handed.iter().zip(before);
    Some(
        handed
            .map(|(arg, before)| before.map(|_| round.float(*arg)))
            .collect(),
    )
}

struct Round<'a> {
    counted: &'a Counted,
    subject: &'a Subject<'a>,
    linear: Linear,
    state: Knowledge,
    /// Intervals of the registers that hold floats.
    floats: Vec<Option<Interval>>,
}

impl Round<'_> {
    fn transfer(&mut self, instruction: &Instr) -> Option<()> {
        let constants = self.subject.constants;
        match instruction {
            Instr::Move { dst, src } => {
                let held = match src {
                    Operand::Register(r) => self.floats[*r as usize],
                    Operand::Constant(_) => None,
                };
                let float = self.state.kinds(*src, constants) == Kinds::FLOAT;
                self.floats[*dst as usize] = held.or_else(|| float.then(|| self.float(*src)));
            }
            other => {
                if let Some((dst, p, args)) = other.operation() {
                    let floats = self.state.plan(p, args, constants) == Plan::Floats;
                    self.floats[dst as usize] = match floats {
                        true => {
                            let args: Vec<Interval> =
                                args.iter().map(|arg| self.float(*arg)).collect();
                            Some(Interval::operation(p, &args)?)
                        }
                        false => None,
                    };
                }
            }
        }
        self.state.transfer(instruction, self.subject);
        self.linear.transfer(instruction, constants);
        Some(())
    }

    /// Returns the interval of an operand as a float.
    fn float(&self, operand: Operand) -> Interval {
        let r = match operand {
            Operand::Register(r) => r,
            Operand::Constant(k) => {
                let float = as_f64(self.subject.constants[k as usize]);
                return float.map_or(Interval::FLOATS, |float| Interval(float, float));
            }
        };
        if let Some(float) = self.floats[r as usize] {
            return float;
        }
        let counter = self.linear.of(operand);
        let range = counter.and_then(|(param, ahead)| {
            let (least, most) = self.counted.range(param)?;
            Some(Interval((least + ahead) as f64, (most + ahead) as f64))
        });
        let integer = self.state.known(r).kinds == Kinds::FIXNUM;
        range.unwrap_or(match integer {
            true => Interval::INTEGERS,
            false => Interval::FLOATS,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Primitive as P;

    fn of(p: P, args: &[(f64, f64)]) -> Option<(f64, f64)> {
        let args: Vec<Interval> = args.iter().map(|a| Interval(a.0, a.1)).collect();
        Interval::operation(p, &args).map(|found| (found.0, found.1))
    }

    #[test]
    fn operations_cover_what_comes_of_all_between_the_ends() {
        let (a, b) = ((-2.0, 3.0), (0.5, 4.0));
        assert_eq!(of(P::Add, &[a, b]), Some((-1.5, 7.0)));
        assert_eq!(of(P::Sub, &[a, b]), Some((-6.0, 2.5)));
        assert_eq!(of(P::Mul, &[a, a]), Some((-6.0, 9.0)));
        assert_eq!(of(P::Fdiv, &[a, b]), Some((-4.0, 6.0)));
        assert_eq!(of(P::Neg, &[a]), Some((-3.0, 2.0)));
        assert_eq!(of(P::Abs, &[a]), Some((0.0, 3.0)));
        assert_eq!(of(P::Sqrt, &[(0.25, 4.0)]), Some((0.5, 2.0)));
    }

    #[test]
    fn what_may_not_be_finite_is_not_known() {
        let large = (1.0, f64::MAX);
        assert_eq!(of(P::Add, &[large, large]), None);
        assert_eq!(of(P::Mul, &[large, large]), None);
        assert_eq!(of(P::Fdiv, &[large, (0.0, 1.0)]), None);
        assert_eq!(of(P::Fdiv, &[large, (-1.0, 1.0)]), None);
        assert_eq!(of(P::Fdiv, &[large, (1e-300, 1.0)]), None);
        assert_eq!(of(P::Sqrt, &[(-1.0, 1.0)]), None);
        assert_eq!(of(P::Exp, &[(0.0, 1.0)]), None);
    }
}
