//! Early answers: what a function returns after a comparison or two. Its caller computes that inline and need not call.
//!
//! Many functions begin by comparing integers, and one of the paths that follow only returns a parameter or a constant: `fib(n)
//! when n < 2` is n. Where the arguments are known to be integers, nothing on such a path can fail, has effects, or spends fuel.
//! The caller pays what the call itself costs, whether the call is made or not.
use super::kinds::Kinds;
use mote_vm::code::ir::{Instr, Label, Operand, Register};
use mote_vm::terms::prim::primitive::Primitive;
use mote_vm::values::value::Value;

/// The tests that are made before a call is.
const TESTS: usize = 3;

/// The outcome of a function's first instructions.
pub(super) enum EarlyAnswer {
    /// More than that: the call is made.
    Call,
    Answer(Source),
    /// A comparison of two integers decides.
    If {
        primitive: Primitive,
        left: Source,
        right: Source,
        yes: Box<EarlyAnswer>,
        no: Box<EarlyAnswer>,
    },
}

/// The source of a value.
#[derive(Clone, Copy)]
pub(super) enum Source {
    Argument(usize),
    Constant(u32),
}

/// The content of a register of the function.
#[derive(Clone, Copy)]
enum Reached {
    Value(Source),
    Test(Primitive, Source, Source),
    Truth,
}

/// A function that is called with arguments of these kinds, and is expected to answer the kinds `expected`.
pub(super) struct Called<'a> {
    pub(super) code: &'a [Instr],
    pub(super) constants: &'a [Value],
    pub(super) arguments: &'a [Kinds],
    pub(super) expected: Kinds,
}

impl EarlyAnswer {
    /// `None` if the call is made in any case.
    pub(super) fn at(called: &Called<'_>) -> Option<EarlyAnswer> {
        let arguments = (0..called.arguments.len()).map(|i| Reached::Value(Source::Argument(i)));
        let held = arguments.map(Some).collect();
        let early = called.from(0, held, TESTS);
        early.answers().then_some(early)
    }

    fn answers(&self) -> bool {
        match self {
            EarlyAnswer::Call => false,
            EarlyAnswer::Answer(_) => true,
            EarlyAnswer::If { yes, no, .. } => yes.answers() || no.answers(),
        }
    }
}

impl Called<'_> {
    fn from(&self, start: Label, mut held: Vec<Option<Reached>>, tests: usize) -> EarlyAnswer {
        let mut at = start as usize;
        loop {
            let decided = match &self.code[at] {
                Instr::Move { dst, src } => {
                    let value = self.held(*src, &held);
                    set(&mut held, *dst, value);
                    None
                }
                Instr::Jump { label } => {
                    at = *label as usize;
                    continue;
                }
                Instr::Branch { condition, label } => match self.held(*condition, &held) {
                    Some(Reached::Truth) => None,
                    Some(Reached::Test(primitive, left, right)) => {
                        Some((primitive, left, right, *label))
                    }
                    _ => return EarlyAnswer::Call,
                },
                Instr::Match { left, right, label } => {
                    match (self.integer(*left, &held), self.integer(*right, &held)) {
                        (Some(left), Some(right)) => Some((Primitive::Same, left, right, *label)),
                        _ => return EarlyAnswer::Call,
                    }
                }
                Instr::Return { value } => {
                    return match self.held(*value, &held) {
                        Some(Reached::Value(source)) if self.kinds(source).is(self.expected) => {
                            EarlyAnswer::Answer(source)
                        }
                        _ => EarlyAnswer::Call,
                    };
                }
                other => {
                    let operation = other.operation();
                    let test = operation
                        .and_then(|(dst, p, args)| Some((dst, self.tested(p, args, &held)?)));
                    let Some((dst, test)) = test else {
                        return EarlyAnswer::Call;
                    };
                    set(&mut held, dst, Some(test));
                    None
                }
            };
            at += 1;
            if let Some((primitive, left, right, label)) = decided {
                if tests == 0 {
                    return EarlyAnswer::Call;
                }
                return EarlyAnswer::If {
                    primitive,
                    left,
                    right,
                    no: Box::new(self.from(label, held.clone(), tests - 1)),
                    yes: Box::new(self.from(at as Label, held, tests - 1)),
                };
            }
        }
    }

    fn held(&self, operand: Operand, held: &[Option<Reached>]) -> Option<Reached> {
        match operand {
            Operand::Register(r) => held.get(r as usize).copied().flatten(),
            Operand::Constant(k) => Some(Reached::Value(Source::Constant(k))),
        }
    }

    fn kinds(&self, source: Source) -> Kinds {
        match source {
            Source::Argument(i) => self.arguments[i],
            Source::Constant(k) => Kinds::of(self.constants[k as usize]),
        }
    }

    /// The operand, if it is certainly an integer.
    fn integer(&self, operand: Operand, held: &[Option<Reached>]) -> Option<Source> {
        match self.held(operand, held) {
            Some(Reached::Value(source)) if self.kinds(source) == Kinds::FIXNUM => Some(source),
            _ => None,
        }
    }

    /// The result of a test; `None` if it is not certain, or if this is not a test.
    fn tested(&self, p: Primitive, args: &[Operand], held: &[Option<Reached>]) -> Option<Reached> {
        // Some primitives take nothing.
        let first = *args.first()?;
        if let (Some((sure, _)), Some(_)) = (Kinds::tested(p), self.integer(first, held)) {
            return Kinds::FIXNUM.is(sure).then_some(Reached::Truth);
        }
        if !(Primitive::Eq..=Primitive::Ge).contains(&p) {
            return None;
        }
        let (left, right) = (self.integer(first, held)?, self.integer(args[1], held)?);
        Some(Reached::Test(p, left, right))
    }
}

fn set(held: &mut Vec<Option<Reached>>, r: Register, value: Option<Reached>) {
    let r = r as usize;
    if r >= held.len() {
        held.resize(r + 1, None);
    }
    held[r] = value;
}
