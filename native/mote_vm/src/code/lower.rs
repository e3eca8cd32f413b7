//! From verified instructions to operations: constants placed, common pairs fused.
//!
//! Fusing never changes what is observable: a fused comparison still writes its register.
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
        let next = code.get(i + 1).filter(|_| !targets[i + 1]);
        if next.is_some_and(|next| lowering.fused(&code[i], next)) {
            i += 2;
        } else {
            lowering.instruction(&code[i]);
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
    scratch: u16,
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

    /// The register that holds the operand; a constant is first put into the n-th scratch register.
    fn register(&mut self, operand: Operand, n: u16) -> Reg {
        match operand {
            Operand::Register(r) => r,
            Operand::Constant(index) => {
                let d = self.scratch + n;
                let k = self.context.constants[index as usize];
                self.ops.push(Op::Constant { d, k });
                d
            }
        }
    }

    fn registers(&mut self, operands: &[Operand]) -> [Reg; 3] {
        let mut registers = [0; 3];
        for (n, operand) in operands.iter().enumerate() {
            registers[n] = self.register(*operand, n as u16);
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

    /// One match over all instructions, so that the compiler says which is missing.
    fn instruction(&mut self, instruction: &Instr) {
        let op = match instruction {
            Instr::Move { dst, src } => match self.constant(*src) {
                Some(k) => Op::Constant { d: *dst, k },
                None => Op::Move {
                    d: *dst,
                    a: self.register(*src, 0),
                },
            },
            Instr::Op {
                dst,
                primitive,
                args,
            } => self.primitive(*dst, *primitive, args),
            Instr::GuardOp {
                dst,
                primitive,
                args,
                label,
            } => {
                let [a, b, c] = self.registers(args);
                Op::Guard {
                    p: *primitive,
                    d: *dst,
                    a,
                    b,
                    c,
                    to: *label,
                }
            }
            Instr::Tuple { dst, elements } => Op::Tuple {
                d: *dst,
                elements: self.arguments(elements),
            },
            Instr::Cons { dst, head, tail } => {
                let [a, b, _] = self.registers(&[*head, *tail]);
                Op::Cons { d: *dst, a, b }
            }
            Instr::SelfAddress { dst } => Op::SelfAddress { d: *dst },
            Instr::Call {
                dst,
                function,
                args,
            } => Op::Call {
                d: *dst,
                arguments: self.arguments(args).from,
                function: self.context.functions[*function as usize],
            },
            Instr::TailCall { function, args } => Op::TailCall {
                arguments: self.arguments(args).from,
                function: self.context.functions[*function as usize],
            },
            Instr::Return { value } => Op::Return {
                a: self.register(*value, 0),
            },
            Instr::Jump { label } => Op::Jump { to: *label },
            Instr::Branch { condition, label } => Op::Branch {
                a: self.register(*condition, 0),
                to: *label,
            },
            Instr::Falsy { value, label } => Op::Falsy {
                a: self.register(*value, 0),
                to: *label,
            },
            Instr::Match { left, right, label } => self.matching(*left, *right, *label),
            Instr::MatchTuple {
                value,
                count,
                first,
                label,
            } => Op::MatchTuple {
                a: self.register(*value, 0),
                d: *first,
                count: *count as u16,
                to: *label,
            },
            Instr::MatchCons {
                value,
                head,
                tail,
                label,
            } => Op::MatchCons {
                a: self.register(*value, 0),
                head: *head,
                tail: *tail,
                to: *label,
            },
            Instr::Create {
                dst,
                behaviour,
                captures,
            } => {
                let behaviour = self.context.behaviours[*behaviour as usize];
                match captures[..] {
                    [one] => Op::CreateOne {
                        d: *dst,
                        a: self.register(one, 0),
                        behaviour,
                    },
                    _ => Op::Create {
                        d: *dst,
                        captures: self.arguments(captures).from,
                        behaviour,
                    },
                }
            }
            Instr::CreateOn {
                dst,
                behaviour,
                captures,
                sponsor,
            } => {
                let captures = self.arguments(captures).from;
                self.arguments(&[*sponsor]);
                Op::CreateOn {
                    d: *dst,
                    captures,
                    behaviour: self.context.behaviours[*behaviour as usize],
                }
            }
            Instr::Send { target, message } => match self.constant(*message) {
                Some(k) => Op::SendConstant {
                    target: self.register(*target, 0),
                    message: k,
                },
                None => {
                    let [target, message, _] = self.registers(&[*target, *message]);
                    Op::Send { target, message }
                }
            },
            Instr::SendX {
                sponsor,
                target,
                message,
            } => {
                let [sponsor, target, message] = self.registers(&[*sponsor, *target, *message]);
                Op::SendX {
                    sponsor,
                    target,
                    message,
                }
            }
            Instr::SendAfter {
                dst,
                delay,
                target,
                message,
            } => {
                let [delay, target, message] = self.registers(&[*delay, *target, *message]);
                Op::SendAfter {
                    d: *dst,
                    delay,
                    target,
                    message,
                }
            }
            Instr::CancelTimer { dst, timer } => Op::CancelTimer {
                d: *dst,
                timer: self.register(*timer, 0),
            },
            Instr::Unstash { kept } => Op::Unstash {
                kept: self.register(*kept, 0),
            },
            Instr::Become {
                behaviour,
                captures,
            } => {
                let behaviour = self.context.behaviours[*behaviour as usize];
                match captures[..] {
                    [one] => Op::BecomeOne {
                        a: self.register(one, 0),
                        behaviour,
                    },
                    _ => Op::Become {
                        captures: self.arguments(captures).from,
                        behaviour,
                    },
                }
            }
            Instr::BecomeSink => Op::BecomeSink,
            Instr::Abort { reason } => Op::Abort {
                a: self.register(*reason, 0),
            },
            Instr::Done => Op::Done,
            Instr::Ignore => Op::Ignore,
        };
        self.ops.push(op);
    }

    fn primitive(&mut self, d: Reg, p: Primitive, args: &[Operand]) -> Op {
        if let (Primitive::Add | Primitive::Sub, [Operand::Register(a), k]) = (p, args) {
            if let Some(k) = self.constant(*k).filter(|k| k.is_fixnum()) {
                return if p == Primitive::Add {
                    Op::AddConstant { d, a: *a, k }
                } else {
                    Op::SubConstant { d, a: *a, k }
                };
            }
        }
        let [a, b, c] = self.registers(args);
        match p {
            Primitive::Add => Op::Add { d, a, b },
            Primitive::Sub => Op::Sub { d, a, b },
            Primitive::Mul => Op::Mul { d, a, b },
            _ => Op::Primitive { p, d, a, b, c },
        }
    }

    /// A constant that is the same as no other word is compared as a word.
    fn matching(&mut self, left: Operand, right: Operand, to: u32) -> Op {
        let immediate = |operand| self.constant(operand).filter(|k| is_alone(*k));
        if let Some(k) = immediate(right) {
            let a = self.register(left, 0);
            return Op::MatchImmediate { a, to, k };
        }
        if let Some(k) = immediate(left) {
            let a = self.register(right, 0);
            return Op::MatchImmediate { a, to, k };
        }
        let [a, b, _] = self.registers(&[left, right]);
        Op::Match { a, b, to }
    }
}

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
