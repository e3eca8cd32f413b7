//! How a unit's functions call each other: what they are usually passed and usually return, and which of them return floats
//! unboxed. Found by trying, before any of them is compiled. Only speed depends on it, because the code tests it.
use super::dataflow::Dataflow;
use super::kinds::Kinds;
use super::subject::{fits, UnitFacts};
use mote_vm::code::ir::Instr;
use mote_vm::code::verify::Verified;
use mote_vm::values::value::Value;

/// The most parameters that a function with a form that returns words may have: the frame of that form has room for them.
const BOXING_ARITY: u32 = 16;
/// Rounds of finding out again what functions answer and are passed, given what was found out about the others.
const ROUNDS: usize = 3;

impl<'a> UnitFacts<'a> {
    pub(super) fn of(verified: &'a Verified, constants: &'a [Value]) -> UnitFacts<'a> {
        let functions = verified.functions.len();
        let mut facts = UnitFacts {
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
        facts.propagate();
        facts.find_unboxed();
        facts
    }

    /// Finds out what functions usually answer, and are passed.
    fn propagate(&mut self) {
        let verified = self.verified;
        let call = |i: &Instr| matches!(i, Instr::Call { .. } | Instr::TailCall { .. });
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
                self.note(flow, &mut passed, |_| true);
            }
            for index in 0..verified.behaviours.len() {
                let flow = self.behaviour(index).map(|subject| Dataflow::of(&subject));
                // What comes from a message may be anything, and says nothing of what it usually is.
                self.note(flow, &mut passed, |kinds| kinds != Kinds::ANY);
            }
            self.passed = passed;
        }
    }

    /// Adds what is passed by calls of one code.
    fn note(&self, flow: Option<Dataflow>, passed: &mut [Vec<Kinds>], says: fn(Kinds) -> bool) {
        for (import, kinds) in flow.map_or(Vec::new(), |flow| flow.calls) {
            let Some(own) = self.verified.own_function(import) else {
                continue;
            };
            for (known, kinds) in passed[own].iter_mut().zip(kinds) {
                if says(kinds) {
                    *known = known.or(kinds);
                }
            }
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
        // A function whose last call is of one that does not, does not either, and so on: each is looked at once.
        let mut callers: Vec<Vec<usize>> = vec![Vec::new(); count];
        let mut boxed: Vec<usize> = Vec::new();
        for (index, function) in verified.functions.iter().enumerate() {
            let mut answers = unboxed[index];
            for instr in &function.code {
                match instr {
                    Instr::TailCall { function, .. } => match verified.own_function(*function) {
                        Some(own) => callers[own].push(index),
                        None => answers = false,
                    },
                    Instr::TailCallFun { .. } => answers = false,
                    _ => {}
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
