//! Remarks on a unit: where its native code asks helpers, and where it guesses what kind of number something is. They are for
//! people who wonder why their code is not faster. Nothing is compiled to make them.
use super::dataflow::Dataflow;
use super::facts::Knowledge;
use super::kinds::Kinds;
use super::plan::{takes_floats, Plan};
use super::subject::{Subject, UnitFacts};
use mote_vm::code::ir::{Constant, Instr, Label, Operand, Register, Unit};
use mote_vm::code::verify::Verified;
use mote_vm::terms::prim::primitive::Primitive;
use mote_vm::values::value::Value;

/// The message of a remark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    /// The primitive is asked of a helper.
    Asks,
    /// An operand of unknown kind is taken for an integer, as others are. If it is a float, the slow body goes on.
    TakesForInteger,
    /// An operand of unknown kind is taken for a float, as others are. If it is an integer, the slow body goes on.
    TakesForFloat,
    /// It is found out each time whether the operands are integers or floats.
    FindsOut,
}

/// The topic of a remark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Topic {
    /// An operation, and which instruction it is.
    Operation(Primitive, Label),
    /// A parameter of a loop, by its number.
    Parameter(usize),
}

/// One remark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Remark {
    /// The code: first the functions of the unit are counted, then its behaviours.
    pub code: usize,
    /// The operation or parameter that it is about.
    pub about: Topic,
    /// The message.
    pub what: What,
}

/// Makes all remarks on a unit, in the order of its codes and instructions.
pub fn remarks(verified: &Verified, unit: &Unit) -> Vec<Remark> {
    let constants: Vec<Value> = unit.constants.iter().map(stand_in).collect();
    let facts = UnitFacts::of(verified, &constants);
    let functions = (0..verified.functions.len()).map(|index| facts.function(index));
    let behaviours = (0..verified.behaviours.len()).map(|index| facts.behaviour(index));
    let mut found = Vec::new();
    for (code, subject) in functions.chain(behaviours).enumerate() {
        if let Some(subject) = subject {
            of_code(code, &subject, &mut found);
        }
    }
    found
}

/// A value of the same kind, without a heap. Those that need one are no numbers; which of them it is hardly matters.
fn stand_in(constant: &Constant) -> Value {
    match constant {
        Constant::Integer(n) => Value::fixnum(*n),
        // Of a rare exponent it would need one; the kind is the same.
        Constant::Float(f) => Value::flonum(*f)
            .or(Value::flonum(1.0))
            .unwrap_or(Value::NIL),
        Constant::Atom(_) => Value::UNDEFINED,
        _ => Value::EMPTY_LIST,
    }
}

/// Walks the code as body/mod.rs does in the fast body.
fn of_code(code: usize, subject: &Subject<'_>, found: &mut Vec<Remark>) {
    let flow = Dataflow::of(subject);
    for (i, passed) in subject.passed().iter().enumerate() {
        let float = flow.inputs[i] == Kinds::FLOAT && *passed != Kinds::FLOAT;
        if float && flow.loops && stays(subject, i) {
            found.push(Remark {
                code,
                about: Topic::Parameter(i),
                what: What::TakesForFloat,
            });
        }
    }
    let mut state = Some(flow.start());
    for (at, instruction) in subject.code.iter().enumerate() {
        if let Some(known) = &flow.labels[at] {
            state = Some(known.clone());
        }
        let Some(now) = &mut state else { continue };
        if let Some((_, primitive, args)) = instruction.operation() {
            if let Some(what) = of_operation(now, primitive, args, subject.constants) {
                found.push(Remark {
                    code,
                    about: Topic::Operation(primitive, at as Label),
                    what,
                });
            }
        }
        if instruction.falls_through() {
            now.transfer(instruction, subject);
        } else {
            state = None;
        }
    }
}

/// Returns whether a loop hands a parameter on as it is. Then its kind of number rests on its use alone.
fn stays(subject: &Subject<'_>, parameter: usize) -> bool {
    let as_it_is = Operand::Register(parameter as Register);
    subject.code.iter().all(|instruction| match instruction {
        Instr::TailCall { function, args } if subject.is_self(*function) => {
            args[parameter] == as_it_is
        }
        _ => true,
    })
}

fn of_operation(
    state: &Knowledge,
    p: Primitive,
    args: &[Operand],
    constants: &[Value],
) -> Option<What> {
    let any = |kinds: Kinds| {
        args.iter()
            .any(|arg| state.kinds(*arg, constants).can_be(kinds))
    };
    match state.plan(p, args, constants) {
        Plan::Helper => Some(What::Asks),
        Plan::Numbers => Some(What::FindsOut),
        Plan::Fixnums if takes_floats(p) && any(Kinds::FLOAT) => Some(What::TakesForInteger),
        Plan::Floats => {
            let unsure = |arg: &Operand| {
                let kinds = state.kinds(*arg, constants);
                let either = kinds.can_be(Kinds::FIXNUM) && kinds.can_be(Kinds::FLOAT);
                either && !state.takes_integers(p, *arg)
            };
            args.iter().any(unsure).then_some(What::TakesForFloat)
        }
        _ => None,
    }
}
