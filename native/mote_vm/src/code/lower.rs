//! From verified instructions to operations: constants placed, common pairs fused.
//!
//! Fusing never changes what is observable: a fused comparison still writes its register.
use super::instructions::instructions;
use super::ir::{CallSite, Instr, Operand};
use super::op::{Argument, Arguments, Code, Op, Reg};
use super::slots::{BehaviourSlot, FunctionSlot};
use crate::terms::prim::order::is_alone;
use crate::terms::prim::primitive::Primitive;
use crate::values::value::Value;

/// The things that the instructions' indices refer to.
pub(crate) struct Context<'a> {
    pub(crate) constants: &'a [Value],
    pub(crate) functions: &'a [*const FunctionSlot],
    /// Place among the constants of what the first of the functions is as a value.
    pub(crate) values: usize,
    pub(crate) behaviours: &'a [*const BehaviourSlot],
}

/// Registers added to a frame for constants that an operation takes from registers.
const SCRATCH: u16 = 3;
/// The most operations that one instruction becomes: three constants and itself.
const LONGEST: usize = 4;

/// Lowers the code of one function or behaviour.
pub(crate) fn lower(code: &[Instr], sites: &[CallSite], registers: u16, context: &Context) -> Code {
    let mut lowering = Lowering {
        context,
        scratch: registers,
        short_targets: code.len() <= u16::MAX as usize / LONGEST,
        ops: Vec::with_capacity(code.len() + 8),
        arguments: Vec::new(),
    };
    let targets = targets(code);
    let mut at = vec![0u32; code.len()];
    let mut i = 0;
    while i < code.len() {
        at[i] = lowering.ops.len() as u32;
        lowering.scratch = registers;
        let next = code.get(i + 1).filter(|_| !targets[i + 1]);
        if next.is_some_and(|next| lowering.fused(&code[i], next)) {
            i += 2;
        } else {
            let special = lowering.special(&code[i]);
            let op = special.unwrap_or_else(|| lowering.general(&code[i]));
            lowering.ops.push(op);
            i += 1;
        }
    }
    let mut ops = lowering.ops;
    for op in &mut ops {
        retarget(op, &at);
    }
    Code {
        ops: ops.into(),
        arguments: lowering.arguments.into(),
        constants: context.constants.as_ptr(),
        registers: registers + SCRATCH,
        sites: sites
            .iter()
            .map(|site| placed(site, &at, context))
            .collect(),
    }
}

/// A call takes no constants from scratch registers, so it is the first operation of its instruction.
fn placed(site: &CallSite, at: &[u32], context: &Context) -> (u32, Value) {
    (at[site.at as usize], context.constants[site.place as usize])
}

struct Lowering<'a> {
    context: &'a Context<'a>,
    /// The next register for a constant.
    scratch: Reg,
    /// True if every target fits 16 bits.
    short_targets: bool,
    ops: Vec<Op>,
    arguments: Vec<Argument>,
}

impl Lowering<'_> {
    fn constant(&self, operand: Operand) -> Option<Value> {
        match operand {
            Operand::Constant(index) => Some(self.context.constants[index as usize]),
            Operand::Register(_) => None,
        }
    }

    /// The register that holds the operand; a constant is first put into a scratch register.
    fn register(&mut self, operand: Operand) -> Reg {
        match operand {
            Operand::Register(r) => r,
            Operand::Constant(index) => {
                let d = self.scratch;
                let k = self.context.constants[index as usize];
                self.ops.push(Op::Constant { d, k });
                self.scratch += 1;
                d
            }
        }
    }

    fn registers(&mut self, operands: &[Operand]) -> [Reg; 3] {
        let mut registers = [0; 3];
        for (register, operand) in registers.iter_mut().zip(operands) {
            *register = self.register(*operand);
        }
        registers
    }

    fn arguments(&mut self, operands: &[Operand]) -> Arguments {
        let from = self.arguments.len() as u32;
        self.arguments.extend(operands.iter().map(|o| match o {
            Operand::Register(r) => Argument(*r as u32),
            Operand::Constant(index) => Argument(index | Argument::CONSTANT),
        }));
        Arguments {
            from,
            count: operands.len() as u16,
        }
    }

    /// A comparison and the branch on its result, as one operation.
    fn fused(&mut self, first: &Instr, second: &Instr) -> bool {
        let Some((dst, primitive, args)) = first.operation() else {
            return false;
        };
        let Instr::Branch {
            condition: Operand::Register(condition),
            label: to,
        } = second
        else {
            return false;
        };
        if *condition != dst || !is_comparison(primitive) {
            return false;
        }
        let (d, to) = (dst, *to);
        let constant = self
            .constant(args[1])
            .filter(|k| k.is_fixnum() && self.short_targets);
        if let (Operand::Register(a), Some(k)) = (args[0], constant) {
            let to = to as u16;
            let op = match primitive {
                Primitive::Lt => Some(Op::LtConstant { d, a, to, k }),
                Primitive::Le => Some(Op::LeConstant { d, a, to, k }),
                Primitive::Gt => Some(Op::GtConstant { d, a, to, k }),
                Primitive::Ge => Some(Op::GeConstant { d, a, to, k }),
                _ => None,
            };
            if let Some(op) = op {
                self.ops.push(op);
                return true;
            }
        }
        let [a, b, _] = self.registers(args);
        let p = primitive;
        self.ops.push(Op::Compare { p, d, a, b, to });
        true
    }

    /// The operation of an instruction that has one of its own for its operands: for a constant, or for a single capture.
    fn special(&mut self, instruction: &Instr) -> Option<Op> {
        Some(match *instruction {
            Instr::Move { dst: d, src } => Op::Constant {
                d,
                k: self.constant(src)?,
            },
            Instr::Op {
                dst,
                primitive,
                ref args,
            } => self.arithmetic(dst, primitive, args)?,
            Instr::Match { left, right, label } => self.immediate(left, right, label)?,
            Instr::Create {
                dst: d,
                behaviour,
                ref captures,
            } => Op::CreateOne {
                d,
                a: self.only(captures)?,
                behaviour: self.context.behaviours[behaviour as usize],
            },
            Instr::Become {
                behaviour,
                ref captures,
            } => Op::BecomeOne {
                a: self.only(captures)?,
                behaviour: self.context.behaviours[behaviour as usize],
            },
            Instr::Send { target, message } => Op::SendConstant {
                message: self.constant(message)?,
                target: self.register(target),
            },
            _ => return None,
        })
    }

    /// The register of the only operand.
    fn only(&mut self, operands: &[Operand]) -> Option<Reg> {
        match *operands {
            [one] => Some(self.register(one)),
            _ => None,
        }
    }

    fn arithmetic(&mut self, d: Reg, p: Primitive, args: &[Operand]) -> Option<Op> {
        if !matches!(p, Primitive::Add | Primitive::Sub | Primitive::Mul) {
            return None;
        }
        let constant = self.constant(args[1]).filter(|k| k.is_fixnum());
        if let (Operand::Register(a), Some(k)) = (args[0], constant) {
            match p {
                Primitive::Add => return Some(Op::AddConstant { d, a, k }),
                Primitive::Sub => return Some(Op::SubConstant { d, a, k }),
                _ => {}
            }
        }
        let [a, b, _] = self.registers(args);
        Some(match p {
            Primitive::Add => Op::Add { d, a, b },
            Primitive::Sub => Op::Sub { d, a, b },
            _ => Op::Mul { d, a, b },
        })
    }

    /// A constant that is the same as no other word is compared as a word.
    fn immediate(&mut self, left: Operand, right: Operand, to: u32) -> Option<Op> {
        let word = |operand| self.constant(operand).filter(|k| is_alone(*k));
        let (k, other) = match word(right) {
            Some(k) => (k, left),
            None => (word(left)?, right),
        };
        let a = self.register(other);
        Some(Op::MatchImmediate { a, to, k })
    }
}

/// The lowered form of a field of an operation.
macro_rules! lowered {
    ($lowering:ident, $field:ident, Operand) => {
        $lowering.register(*$field)
    };
    ($lowering:ident, $field:ident, Operands) => {
        $lowering.arguments($field)
    };
    ($lowering:ident, $field:ident, Behind) => {
        $lowering.arguments(&[*$field])
    };
    ($lowering:ident, $field:ident, Applied($primitive:ident)) => {
        $lowering.registers($field)
    };
    ($lowering:ident, $field:ident, Function) => {
        $lowering.context.functions[*$field as usize]
    };
    ($lowering:ident, $field:ident, Own) => {
        $lowering.arguments(&[Operand::Constant($lowering.context.values as u32 + *$field)])
    };
    ($lowering:ident, $field:ident, Behaviour) => {
        $lowering.context.behaviours[*$field as usize]
    };
    ($lowering:ident, $field:ident, Count) => {
        *$field as u16
    };
    ($lowering:ident, $field:ident, $($as_it_is:tt)*) => {
        *$field
    };
}

macro_rules! general {
    ($(
        $(#[$about:meta])*
        $code:literal $wire:literal $name:ident $({ $($field:ident: $kind:ident $(($of:ident))?),* })?
            => $op:expr;
    )*) => {
        impl Lowering<'_> {
            /// The operation of an instruction, whatever its operands.
            #[allow(unused_variables)] // An operand behind others is found by them.
            fn general(&mut self, instruction: &Instr) -> Op {
                match instruction {
                    $(Instr::$name $({ $($field),* })? => {
                        $($(let $field = lowered!(self, $field, $kind $(($of))?);)*)?
                        $op
                    })*
                }
            }
        }
    };
}

instructions!(general);

fn is_comparison(p: Primitive) -> bool {
    use Primitive::*;
    matches!(p, Eq | Ne | Same | Differ | Lt | Le | Gt | Ge)
}

/// Returns, for each instruction, whether something jumps to it.
fn targets(code: &[Instr]) -> Vec<bool> {
    let mut targets = vec![false; code.len()];
    for instruction in code {
        if let Some(label) = instruction.label() {
            targets[label as usize] = true;
        }
    }
    targets
}

fn retarget(op: &mut Op, at: &[u32]) {
    match op {
        Op::Guard { to, .. }
        | Op::Compare { to, .. }
        | Op::Jump { to }
        | Op::Branch { to, .. }
        | Op::Falsy { to, .. }
        | Op::Match { to, .. }
        | Op::MatchImmediate { to, .. }
        | Op::MatchTuple { to, .. }
        | Op::MatchCons { to, .. } => *to = at[*to as usize],
        Op::LtConstant { to, .. }
        | Op::LeConstant { to, .. }
        | Op::GtConstant { to, .. }
        | Op::GeConstant { to, .. } => *to = at[*to as usize] as u16,
        _ => {}
    }
}
