//! Which floats need not be tested, as a later one is: what is not finite stays so in sums, products and many functions. So
//! the test of one result can prove all finite that went into it.
//!
//! Invariants:
//! 1. Between a float that is not tested and its proof there are only operations on floats, and no label. They have no
//!    effects, so the slow body can do them once more: it takes over at the first float that is not proven, with the registers
//!    as they were there, and stops where the machine's own operation has no answer.
//! 2. The proof is tested itself, or has a proof of its own.
use super::Body;
use crate::facts::Knowledge;
use crate::plan::Plan;
use mote_vm::code::ir::{Label, Operand, Register};
use mote_vm::terms::prim::primitive::Primitive;

/// Instructions ahead up to which a proof is looked for.
const FURTHEST: usize = 24;

/// The effect of a number that is not finite.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    /// The result is not finite either, and is tested.
    Proves,
    /// The result is not finite either, and is not tested.
    Carries,
    /// The result may be finite.
    Hides,
}

impl Body<'_, '_> {
    /// The instruction that proves finite what the current one, which is this primitive, leaves in `d`; `None` if there is none,
    /// or the primitive needs no proof.
    pub(super) fn proof_of(&self, p: Primitive, d: Register) -> Option<Label> {
        if keeps_finite(p) {
            return None;
        }
        let (subject, at) = (self.active.subject, self.active.at as usize);
        let mut state: Knowledge = self.active.state.clone();
        state.transfer(&subject.code[at], subject);
        let mut carriers = vec![d];
        for next in at + 1..subject.code.len().min(at + FURTHEST) {
            let (to, p, args) = subject.code[next].operation()?;
            let is_labelled = self.active.flow.labels[next].is_some();
            if is_labelled || state.plan(p, args, subject.constants) != Plan::Floats {
                return None;
            }
            let fate = self.fate(p, args, &carriers);
            if fate == Fate::Proves {
                return Some(next as Label);
            }
            carriers.retain(|carrier| *carrier != to);
            if fate == Fate::Carries {
                carriers.push(to);
            }
            if carriers.is_empty() {
                return None;
            }
            state.transfer(&subject.code[next], subject);
        }
        None
    }

    fn fate(&self, p: Primitive, args: &[Operand], carriers: &[Register]) -> Fate {
        use Primitive as P;
        let holds = |arg: &Operand| matches!(arg, Operand::Register(r) if carriers.contains(r));
        match p {
            P::Add | P::Sub | P::Mul if args.iter().any(holds) => Fate::Proves,
            // By whatever it is divided; by infinity it is not a number.
            P::Fdiv if holds(&args[0]) && self.exact_inverse(args).is_none() => Fate::Proves,
            P::Fdiv if holds(&args[0]) => Fate::Carries,
            P::Sqrt | P::Sin | P::Cos | P::Tan | P::Log if holds(&args[0]) => Fate::Proves,
            P::Neg | P::Abs if holds(&args[0]) => Fate::Carries,
            _ => Fate::Hides,
        }
    }
}

/// Returns whether the result is finite if the arguments are.
pub(super) fn keeps_finite(p: Primitive) -> bool {
    use Primitive as P;
    matches!(p, P::Neg | P::Abs | P::Max | P::Min)
}
