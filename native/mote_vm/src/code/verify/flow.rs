//! Checks one function or behaviour: its instructions one by one, and what every path has written.
//!
//! Labels lead forward only, so one pass in order meets every instruction after all the ways into it.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::code::error::{CodeName, CodeProblem, HeadProblem, LoadError};
use crate::code::ir::{
    CallSite, Import, Instr, Operand, MAX_ARITY, MAX_INSTRUCTIONS, MAX_OPERANDS, MAX_REGISTERS,
};

/// The things that the code of a unit may refer to.
pub(super) struct Scope<'a> {
    /// The number of constants.
    pub constants: usize,
    pub functions: &'a [Import],
    pub behaviours: &'a [Import],
    /// For each function import, the function of the unit that it means.
    pub own: &'a [Option<usize>],
    /// True for each function import that is known to have effects.
    pub has_effects: &'a [bool],
}

/// The code to check.
pub(super) struct CheckedCode<'a> {
    pub kind: CodeKind,
    /// Arguments or captures.
    pub arity: u32,
    pub registers: u16,
    pub code: &'a [Instr],
    pub sites: &'a [CallSite],
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CodeKind {
    Function { effects: bool },
    Behaviour,
}

const WORDS: usize = MAX_REGISTERS as usize / 64;

/// A set of registers.
#[derive(Clone, Copy)]
struct RegisterSet([u64; WORDS]);

impl RegisterSet {
    fn none() -> Self {
        RegisterSet([0; WORDS])
    }

    fn insert(&mut self, range: Range<u32>) {
        for register in range {
            if let Some(word) = self.0.get_mut(register as usize / 64) {
                *word |= 1 << (register % 64);
            }
        }
    }

    fn contains(&self, register: u16) -> bool {
        self.0
            .get(usize::from(register) / 64)
            .is_some_and(|word| word >> (register % 64) & 1 == 1)
    }

    fn intersect(&mut self, other: &RegisterSet) {
        for (word, other) in self.0.iter_mut().zip(other.0) {
            *word &= other;
        }
    }
}

/// Checks everything that concerns this code alone.
pub(super) fn check(
    scope: &Scope,
    subject: &CheckedCode,
    name: &dyn Fn() -> CodeName,
) -> Result<(), LoadError> {
    let given = head(subject).map_err(|problem| LoadError::Head {
        code: name(),
        problem,
    })?;
    let at = |instruction: usize| {
        move |problem| LoadError::Code {
            code: name(),
            instruction,
            problem,
        }
    };

    let mut start = RegisterSet::none();
    start.insert(0..given);
    // What is written here, as far as the instruction before goes on; and at later instructions, as far as jumps to
    // them have been met.
    let mut here = Some(start);
    let mut later: BTreeMap<usize, RegisterSet> = BTreeMap::new();
    for (index, instr) in subject.code.iter().enumerate() {
        let arrived = later.remove(&index);
        let jumped = arrived.is_some();
        if let Some(arrived) = arrived {
            match &mut here {
                Some(written) => written.intersect(&arrived),
                None => here = Some(arrived),
            }
        }
        let Some(written) = &mut here else {
            return Err(at(index)(CodeProblem::Unreachable));
        };
        placed(scope, subject.kind, instr).map_err(at(index))?;
        counts(scope, instr).map_err(at(index))?;
        protected(subject.code, index, jumped).map_err(at(index))?;
        reads(scope, subject, instr, written).map_err(at(index))?;
        if let Some(label) = instr.label() {
            let target = label as usize;
            if target <= index || target >= subject.code.len() {
                return Err(at(index)(CodeProblem::Label(label)));
            }
            later
                .entry(target)
                .and_modify(|all| all.intersect(written))
                .or_insert(*written);
        }
        for range in instr.written() {
            // An empty range must lie within as well, so that a pointer may be made of its start.
            if range.end > u32::from(subject.registers) {
                return Err(at(index)(CodeProblem::Register(
                    range.end.saturating_sub(1),
                )));
            }
            written.insert(range);
        }
        if !instr.falls_through() {
            here = None;
        }
    }
    if here.is_some() {
        return Err(at(subject.code.len())(CodeProblem::NoEnd));
    }
    sites(scope, subject).map_err(|(instruction, problem)| at(instruction)(problem))
}

/// Checks that call sites are calls, each once and in order, and that what they are called is there.
fn sites(scope: &Scope, subject: &CheckedCode) -> Result<(), (usize, CodeProblem)> {
    let mut least = 0;
    for site in subject.sites {
        let at = site.at as usize;
        if at < least || !matches!(subject.code.get(at), Some(Instr::Call { .. })) {
            return Err((at, CodeProblem::Site));
        }
        if site.place as usize >= scope.constants {
            return Err((at, CodeProblem::Constant(site.place)));
        }
        least = at + 1;
    }
    Ok(())
}

/// Checks the limits and says how many registers hold something at the start.
fn head(subject: &CheckedCode) -> Result<u32, HeadProblem> {
    if subject.arity > MAX_ARITY {
        return Err(HeadProblem::Arity);
    }
    let registers = subject.registers;
    if registers > MAX_REGISTERS {
        return Err(HeadProblem::Registers(registers));
    }
    let given = match subject.kind {
        CodeKind::Function { .. } => subject.arity,
        CodeKind::Behaviour => subject.arity + 1,
    };
    if given > u32::from(registers) {
        return Err(HeadProblem::TooFewRegisters { registers, given });
    }
    if subject.code.len() > MAX_INSTRUCTIONS {
        return Err(HeadProblem::Length(subject.code.len()));
    }
    Ok(given)
}

/// Checks that the instruction may stand in this kind of code.
fn placed(scope: &Scope, kind: CodeKind, instr: &Instr) -> Result<(), CodeProblem> {
    match (kind, instr) {
        (CodeKind::Behaviour, Instr::Return { .. }) => Err(CodeProblem::FunctionOnly("return")),
        (CodeKind::Behaviour, instr) if instr.is_tail_call() => {
            Err(CodeProblem::FunctionOnly("tail_call"))
        }
        (CodeKind::Function { .. }, Instr::Done) => Err(CodeProblem::BehaviourOnly("done")),
        (CodeKind::Function { .. }, Instr::Ignore) => Err(CodeProblem::BehaviourOnly("ignore")),
        (CodeKind::Function { effects: false }, instr) if instr.is_effect() => {
            Err(CodeProblem::Effect)
        }
        (
            CodeKind::Function { effects: false },
            Instr::Call { function, .. } | Instr::TailCall { function, .. },
        ) if scope.has_effects.get(*function as usize) == Some(&true) => {
            Err(CodeProblem::EffectCall(*function))
        }
        _ => Ok(()),
    }
}

/// Checks that what is protected is one call, which nothing jumps into.
fn protected(code: &[Instr], index: usize, jumped: bool) -> Result<(), CodeProblem> {
    let is_try = |at: usize| matches!(code.get(at), Some(Instr::Try { .. }));
    let holds = match &code[index] {
        Instr::Try { .. } => {
            code.get(index + 1).is_some_and(Instr::is_call)
                && matches!(code.get(index + 2), Some(Instr::Tried))
        }
        Instr::Tried => !jumped && index > 1 && is_try(index - 2),
        _ => !jumped || index == 0 || !is_try(index - 1),
    };
    holds.then_some(()).ok_or(CodeProblem::Protected)
}

/// Checks imports and numbers of operands.
fn counts(scope: &Scope, instr: &Instr) -> Result<(), CodeProblem> {
    let (expected, found) = match instr {
        Instr::Op {
            primitive, args, ..
        }
        | Instr::GuardOp {
            primitive, args, ..
        } => (primitive.arity(), args.len()),
        Instr::Call { function, args, .. } | Instr::TailCall { function, args } => {
            let import = scope.functions.get(*function as usize);
            let import = import.ok_or(CodeProblem::Function(*function))?;
            (import.arity as usize, args.len())
        }
        Instr::Create {
            behaviour,
            captures,
            ..
        }
        | Instr::CreateOn {
            behaviour,
            captures,
            ..
        }
        | Instr::Become {
            behaviour,
            captures,
        } => {
            let import = scope.behaviours.get(*behaviour as usize);
            let import = import.ok_or(CodeProblem::Behaviour(*behaviour))?;
            (import.arity as usize, captures.len())
        }
        Instr::Fun {
            function, captures, ..
        } => {
            let import = scope.functions.get(*function as usize);
            let import = import.ok_or(CodeProblem::Function(*function))?;
            let own = scope.own.get(*function as usize).copied().flatten();
            if own.is_none() || scope.has_effects[*function as usize] || import.arity == 0 {
                return Err(CodeProblem::Value(*function));
            }
            (captures.len(), captures.len())
        }
        Instr::CallFun { args, .. } | Instr::TailCallFun { args, .. } => {
            // The function itself is one more.
            if args.len() >= MAX_ARITY as usize {
                return Err(CodeProblem::Operands(args.len()));
            }
            (args.len(), args.len())
        }
        Instr::Tuple { elements, .. } => (elements.len(), elements.len()),
        Instr::MatchTuple { count, .. } => (*count as usize, *count as usize),
        _ => (0, 0),
    };
    if found != expected {
        return Err(CodeProblem::Arity { expected, found });
    }
    if found > MAX_OPERANDS as usize {
        return Err(CodeProblem::Operands(found));
    }
    Ok(())
}

/// Checks that every operand exists and is written.
fn reads(
    scope: &Scope,
    subject: &CheckedCode,
    instr: &Instr,
    written: &RegisterSet,
) -> Result<(), CodeProblem> {
    let mut result = Ok(());
    instr.for_each_operand(|operand| {
        let checked = match operand {
            Operand::Register(register) if register >= subject.registers => {
                Err(CodeProblem::Register(register.into()))
            }
            Operand::Register(register) if !written.contains(register) => {
                Err(CodeProblem::Unwritten(register))
            }
            Operand::Constant(constant) if constant as usize >= scope.constants => {
                Err(CodeProblem::Constant(constant))
            }
            Operand::Register(_) | Operand::Constant(_) => Ok(()),
        };
        if result.is_ok() {
            result = checked;
        }
    });
    result
}
