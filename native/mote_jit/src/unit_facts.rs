//! What the functions of a unit are to each other: what they usually answer and are passed, and which of them answer floats
//! as they are. Found by trying, before any of them is compiled. Nothing rests on it but speed: it is tested.
//!
//! Invariants:
//! 1. A code is looked at, and compiled, only if that takes little: what the compiler does grows with the registers that
//!    each instruction has to keep ([`LARGEST_SPREAD`]). What is larger is refused before any of it is done.
use super::dataflow::Dataflow;
use super::kinds::Kinds;
use super::live::{live, Registers};
use crate::code::ir::{Instr, Label};
use crate::code::verify::Verified;
use crate::values::value::Value;

/// Instructions times registers of the largest code that is compiled: what is known is kept for each register at each
/// label.
const LARGEST_CODE: usize = 1 << 22;
/// Registers that are still read, summed up over the instructions, of the largest code that is compiled: on each way out of
/// the fast body, of which most instructions have one, all of them are kept somewhere. A thousand instructions may keep 32 each.
const LARGEST_SPREAD: usize = 1 << 15;
/// Parameters of the largest function that has a form that answers words: with as many its frame has room.
const BOXING_ARITY: u32 = 16;
/// How often it is looked again what functions answer and are passed, given what was found out of the others.
const ROUNDS: usize = 3;

/// What was found out of the functions of a unit, by index.
pub(super) struct UnitFacts<'a> {
    verified: &'a Verified,
    constants: &'a [Value],
    /// What they usually answer: integers, until it is found out.
    returns: Vec<Kinds>,
    /// What they usually pass to each other, by parameter. Behaviours are left out: those that call a function for the
    /// outside pass whatever comes.
    passed: Vec<Vec<Kinds>>,
    /// Which are small enough.
    fits: Vec<bool>,
    /// For each one that answers floats as they are: the piece that answers words, for whoever does not know that.
    pub(super) boxing: Vec<Option<usize>>,
}

/// A code to be looked at.
pub(super) struct Subject<'a> {
    pub(super) code: &'a [Instr],
    pub(super) constants: &'a [Value],
    pub(super) registers: u16,
    /// The registers that are written when it starts.
    pub(super) inputs: u16,
    /// Which function it is; behaviours are none. Only of functions may parameters be taken for granted.
    pub(super) index: Option<usize>,
    learned: &'a UnitFacts<'a>,
}

impl Subject<'_> {
    /// Which function of the unit an import is.
    pub(super) fn own(&self, import: u32) -> Option<usize> {
        self.learned.verified.own_function(import)
    }

    /// Whether a tail call of this import is a loop.
    pub(super) fn is_self(&self, import: u32) -> bool {
        self.index.is_some() && self.own(import) == self.index
    }

    /// What a call of this import usually answers: integers, floats, or anything.
    pub(super) fn returns(&self, import: u32) -> Kinds {
        let own = self.own(import);
        own.map_or(Kinds::ANY, |index| self.learned.returns[index])
    }

    /// What the functions of the unit usually pass to it, by parameter.
    pub(super) fn passed(&self) -> &[Kinds] {
        self.index.map_or(&[], |index| &self.learned.passed[index])
    }

    /// Of a function that answers floats as they are: the piece that answers words.
    pub(super) fn boxing(&self, function: usize) -> Option<usize> {
        self.learned.boxing[function]
    }
}

impl<'a> UnitFacts<'a> {
    pub(super) fn of(verified: &'a Verified, constants: &'a [Value]) -> UnitFacts<'a> {
        let functions = verified.functions.len();
        let mut learned = UnitFacts {
            verified,
            constants,
            returns: vec![Kinds::FIXNUM; functions],
            passed: (verified.functions.iter())
                .map(|f| vec![Kinds::NONE; f.arity as usize])
                .collect(),
            fits: (verified.functions.iter())
                .map(|f| fits(&f.code, f.registers))
                .collect(),
            boxing: vec![None; functions],
        };
        learned.learn();
        learned.find_unboxed();
        learned
    }

    /// A function; `None` if it is too large.
    pub(super) fn function(&'a self, index: usize) -> Option<Subject<'a>> {
        let function = &self.verified.functions[index];
        let inputs = function.arity as u16;
        self.fits[index]
            .then(|| self.subject(&function.code, function.registers, inputs, Some(index)))
    }

    /// A behaviour, as above.
    pub(super) fn behaviour(&'a self, index: usize) -> Option<Subject<'a>> {
        let behaviour = &self.verified.behaviours[index];
        let inputs = behaviour.captures as u16 + 1;
        fits(&behaviour.code, behaviour.registers)
            .then(|| self.subject(&behaviour.code, behaviour.registers, inputs, None))
    }

    /// What a function is to its form that answers words.
    pub(super) fn interface(&'a self, index: usize) -> Subject<'a> {
        let inputs = self.verified.functions[index].arity as u16;
        self.subject(&[], inputs, inputs, Some(index))
    }

    fn subject(
        &'a self,
        code: &'a [Instr],
        registers: u16,
        inputs: u16,
        index: Option<usize>,
    ) -> Subject<'a> {
        Subject {
            code,
            constants: self.constants,
            registers,
            inputs,
            index,
            learned: self,
        }
    }

    /// Finds out what functions usually answer, and are passed.
    fn learn(&mut self) {
        let verified = self.verified;
        let call = |i: &Instr| matches!(i, Instr::Call { .. });
        let functions = verified.functions.iter().map(|f| &f.code);
        let mut codes = functions.chain(verified.behaviours.iter().map(|b| &b.code));
        if !codes.any(|code| code.iter().any(call)) {
            return;
        }
        for _ in 0..ROUNDS {
            let mut passed: Vec<Vec<Kinds>> = (self.passed.iter())
                .map(|kinds| vec![Kinds::NONE; kinds.len()])
                .collect();
            for index in 0..verified.functions.len() {
                let flow = self.function(index).map(|subject| Dataflow::of(&subject));
                let answers = flow.as_ref().map(|flow| flow.answers);
                self.returns[index] = answers.unwrap_or(Kinds::ANY);
                for (import, kinds) in flow.map_or(Vec::new(), |flow| flow.calls) {
                    let Some(own) = verified.own_function(import) else {
                        continue;
                    };
                    for (known, kinds) in passed[own].iter_mut().zip(kinds) {
                        *known = known.or(kinds);
                    }
                }
            }
            self.passed = passed;
        }
    }

    /// Finds the functions that answer floats as they are: they usually answer floats, and what they call last does so,
    /// too.
    fn find_unboxed(&mut self) {
        let verified = self.verified;
        let count = verified.functions.len();
        let mut unboxed: Vec<bool> = (verified.functions.iter().zip(&self.returns))
            .map(|(f, returns)| *returns == Kinds::FLOAT && f.arity <= BOXING_ARITY)
            .collect();
        // Who calls one last that does not, does not either, nor who calls that one last: each is looked at once.
        let mut callers: Vec<Vec<usize>> = vec![Vec::new(); count];
        let mut boxed: Vec<usize> = Vec::new();
        for (index, function) in verified.functions.iter().enumerate() {
            let mut answers = unboxed[index];
            for instr in &function.code {
                if let Instr::TailCall { function, .. } = instr {
                    match verified.own_function(*function) {
                        Some(own) => callers[own].push(index),
                        None => answers = false,
                    }
                }
            }
            unboxed[index] = answers;
            boxed.extend((!answers).then_some(index));
        }
        while let Some(index) = boxed.pop() {
            for caller in std::mem::take(&mut callers[index]) {
                if std::mem::take(&mut unboxed[caller]) {
                    boxed.push(caller);
                }
            }
        }
        let found = (0..count).filter(|index| unboxed[*index]);
        for (i, index) in found.enumerate() {
            self.boxing[index] = Some(count + i);
        }
    }
}

/// Whether a code is small enough: invariant 1.
fn fits(code: &[Instr], registers: u16) -> bool {
    let most = code.len() * registers as usize;
    most <= LARGEST_SPREAD
        || most <= LARGEST_CODE
            && code.len() <= Label::MAX as usize
            && live(code).iter().map(Registers::count).sum::<usize>() <= LARGEST_SPREAD
}
