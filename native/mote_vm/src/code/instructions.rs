//! The instructions, each with its number, its name, its fields and its operation, once: for the decoder, for what looks at
//! operands, registers and labels, for lowering, and for the table of guides/ir.md, which a test compares. All operands are
//! read before any register is written.
use super::ir::{Label, Operand, Register};
use crate::terms::prim::primitive::Primitive;
use std::ops::Range;

/// The table, for the macro that is named. A field is of one of these kinds, as in the guide:
///
/// | kind | in the guide | |
/// |---|---|---|
/// | `Register` | `d` | is written |
/// | `Registers(count)` | `d` | the first of as many that are written |
/// | `Operand`, `Operands` | `o`, `vec(o)` | are read |
/// | `Behind` | `o` | is read; in the operation, an argument behind the operands |
/// | `Primitive`, `Applied(primitive)` | `p`, `o×arity` | a primitive, and its operands |
/// | `Function`, `Behaviour` | `f`, `b` | an index into `Unit::functions_used` or `Unit::behaviours_used` |
/// | `Own` | `f` | the same of a function that becomes a value; in the operation, an argument in front of the operands |
/// | `Count` | `n` | a number of elements |
/// | `Label` | `L` | where control may go besides the next instruction; then no register is written |
macro_rules! instructions {
    ($then:ident) => {
        $then! {
            /// `dst := src`.
            0 "move" Move { dst: Register, src: Operand }
                => Op::Move { d: dst, a: src };
            /// `dst := primitive(args)`; `:undefined` when there is no answer.
            1 "op" Op { dst: Register, primitive: Primitive, args: Applied(primitive) }
                => Op::Primitive { p: primitive, d: dst, a: args[0], b: args[1], c: args[2] };
            /// Does the same as `Op`, but goes to `label`, writing nothing, when there is no answer.
            2 "guard_op" GuardOp { dst: Register, primitive: Primitive, args: Applied(primitive), label: Label }
                => Op::Guard { p: primitive, d: dst, a: args[0], b: args[1], c: args[2], to: label };
            /// `dst := {elements…}`.
            3 "tuple" Tuple { dst: Register, elements: Operands }
                => Op::Tuple { d: dst, elements };
            /// `dst := [head | tail]`.
            4 "cons" Cons { dst: Register, head: Operand, tail: Operand }
                => Op::Cons { d: dst, a: head, b: tail };
            /// `dst :=` the actor's own address.
            5 "self" SelfAddress { dst: Register }
                => Op::SelfAddress { d: dst };
            /// `dst :=` the result of a function.
            6 "call" Call { dst: Register, function: Function, args: Operands }
                => Op::Call { d: dst, arguments: args.from, function };
            /// A call as the last act of a function.
            7 "tail_call" TailCall { function: Function, args: Operands }
                => Op::TailCall { arguments: args.from, function };
            /// The function ends with this value.
            8 "return" Return { value: Operand }
                => Op::Return { a: value };
            /// Goes to `label`.
            9 "jump" Jump { label: Label }
                => Op::Jump { to: label };
            /// Goes to `label` unless `condition` is `true`.
            10 "branch" Branch { condition: Operand, label: Label }
                => Op::Branch { a: condition, to: label };
            /// Goes to `label` when `value` is `nil` or `false`.
            11 "falsy" Falsy { value: Operand, label: Label }
                => Op::Falsy { a: value, to: label };
            /// Goes to `label` unless both are exactly equal.
            12 "match" Match { left: Operand, right: Operand, label: Label }
                => Op::Match { a: left, b: right, to: label };
            /// Goes to `label`, writing nothing, unless `value` is a tuple of `count` elements; they land in
            /// `first..first + count`.
            13 "match_tuple" MatchTuple { value: Operand, count: Count, first: Registers(count), label: Label }
                => Op::MatchTuple { a: value, d: first, count, to: label };
            /// Goes to `label`, writing nothing, unless `value` is a non-empty list. When both registers are the same
            /// one, it holds the tail afterwards.
            14 "match_cons" MatchCons { value: Operand, head: Register, tail: Register, label: Label }
                => Op::MatchCons { a: value, head, tail, to: label };
            /// `dst :=` the address of a new actor.
            15 "create" Create { dst: Register, behaviour: Behaviour, captures: Operands }
                => Op::Create { d: dst, captures: captures.from, behaviour };
            /// `dst :=` the address of a new actor, pinned to `sponsor`.
            16 "create_on" CreateOn { dst: Register, behaviour: Behaviour, captures: Operands, sponsor: Behind }
                => Op::CreateOn { d: dst, captures: captures.from, behaviour };
            /// Sends `message` to `target`.
            17 "send" Send { target: Operand, message: Operand }
                => Op::Send { target, message };
            /// Sends `message` to `target` by `sponsor`.
            18 "sendx" SendX { sponsor: Operand, target: Operand, message: Operand }
                => Op::SendX { sponsor, target, message };
            /// Sends after `delay` milliseconds; `dst :=` the timer's reference.
            19 "send_after" SendAfter { dst: Register, delay: Operand, target: Operand, message: Operand }
                => Op::SendAfter { d: dst, delay, target, message };
            /// The actor's next behaviour.
            20 "become" Become { behaviour: Behaviour, captures: Operands }
                => Op::Become { captures: captures.from, behaviour };
            /// The actor ignores whatever comes from now on.
            21 "become_sink" BecomeSink
                => Op::BecomeSink;
            /// The turn ends without footprints.
            22 "abort" Abort { reason: Operand }
                => Op::Abort { a: reason };
            /// The turn ends and commits.
            23 "done" Done
                => Op::Done;
            /// The message matched no clause.
            24 "ignore" Ignore
                => Op::Ignore;
            /// Cancels a timer; `dst := :ok`, or `:undefined` if the value is not a reference.
            25 "cancel_timer" CancelTimer { dst: Register, timer: Operand }
                => Op::CancelTimer { d: dst, timer };
            /// A list of messages, the newest first: they come before all others for the actor if it becomes. `false`: they do
            /// not; `true`: they do.
            26 "unstash" Unstash { kept: Operand }
                => Op::Unstash { kept };
            /// `dst :=` a function of the unit as a value, with what it captures. The function takes that value first.
            27 "fun" Fun { dst: Register, function: Own, captures: Operands }
                => Op::Fun { d: dst, parts: function.and(captures) };
            /// `dst :=` the result of a function that is a value. Aborts if it is none that takes as many arguments, as `place` says.
            28 "call_fun" CallFun { dst: Register, function: Operand, args: Operands, place: Behind }
                => Op::CallFun { d: dst, function, arguments: args };
            /// The same as the last act of a function.
            29 "tail_call_fun" TailCallFun { function: Operand, args: Operands, place: Behind }
                => Op::TailCallFun { function, arguments: args };
            /// The call that follows is protected: `failed := false`, and where it fails, `failed :=` the reason, its result is
            /// `:undefined`, and what it has staged is undone.
            30 "try" Try { failed: Register }
                => Op::Try { d: failed };
            /// The end of what is protected: behind that call.
            31 "tried" Tried
                => Op::Tried;
        }
    };
}
pub(super) use instructions;

/// The type of a field.
macro_rules! type_of {
    (Register) => { Register };
    (Registers($count:ident)) => { Register };
    (Operand) => { Operand };
    (Behind) => { Operand };
    (Operands) => { Vec<Operand> };
    (Primitive) => { Primitive };
    (Applied($primitive:ident)) => { Vec<Operand> };
    (Label) => { Label };
    ($index_or_count:ident) => { u32 };
}

/// Visits the operands in a field.
macro_rules! operands_in {
    ($visit:ident, $field:ident, Operand) => {
        $visit(*$field)
    };
    ($visit:ident, $field:ident, Behind) => {
        $visit(*$field)
    };
    ($visit:ident, $field:ident, Operands) => {
        $field.iter().copied().for_each(&mut $visit)
    };
    ($visit:ident, $field:ident, Applied($primitive:ident)) => {
        $field.iter().copied().for_each(&mut $visit)
    };
    ($visit:ident, $field:ident, $($other:tt)*) => {
        let _ = $field;
    };
}

/// Visits the registers that a field says are written.
macro_rules! registers_in {
    ($visit:ident, $field:ident, Register) => {
        $visit(u32::from(*$field), 1)
    };
    ($visit:ident, $field:ident, Registers($count:ident)) => {
        $visit(u32::from(*$field), *$count)
    };
    ($visit:ident, $field:ident, $($other:tt)*) => {
        let _ = $field;
    };
}

/// The label in a field, as it is or to be changed.
macro_rules! label_in {
    ($label:ident, $field:ident, Label) => {
        $label = Some($field)
    };
    ($label:ident, $field:ident, $($other:tt)*) => {
        let _ = $field;
    };
}

macro_rules! define {
    ($(
        $(#[$about:meta])*
        $code:literal $wire:literal $name:ident $({ $($field:ident: $kind:ident $(($of:ident))?),* })?
            => $op:expr;
    )*) => {
        /// An instruction.
        #[derive(Debug, Clone, PartialEq, Eq)]
        #[allow(missing_docs)] // The fields are the columns of the guide's table; each variant says what they do.
        pub enum Instr {
            $(
                $(#[$about])*
                $name $({ $($field: type_of!($kind $(($of))?)),* })?,
            )*
        }

        impl Instr {
            /// Visits every operand, in the order of the wire format.
            pub fn for_each_operand(&self, mut visit: impl FnMut(Operand)) {
                match self {
                    $(Instr::$name $({ $($field),* })? => {
                        $($(operands_in!(visit, $field, $kind $(($of))?);)*)?
                    })*
                }
            }

            /// The registers that hold something new when control goes on to the next instruction; none is written when
            /// it goes to the label. Ranges that are not needed are empty.
            pub fn written(&self) -> [Range<u32>; 2] {
                let mut ranges = [0..0, 0..0];
                let mut free = ranges.iter_mut();
                let mut write = |first: u32, count: u32| {
                    *free.next().expect("two at most") = first..first.saturating_add(count);
                };
                match self {
                    $(Instr::$name $({ $($field),* })? => {
                        $($(registers_in!(write, $field, $kind $(($of))?);)*)?
                    })*
                }
                ranges
            }

            /// Returns where control may go besides the next instruction.
            pub fn label(&self) -> Option<Label> {
                let mut label = None;
                match self {
                    $(Instr::$name $({ $($field),* })? => {
                        $($(label_in!(label, $field, $kind $(($of))?);)*)?
                    })*
                }
                label.copied()
            }

            /// The same, to be changed.
            pub(super) fn label_mut(&mut self) -> Option<&mut Label> {
                let mut label = None;
                match self {
                    $(Instr::$name $({ $($field),* })? => {
                        $($(label_in!(label, $field, $kind $(($of))?);)*)?
                    })*
                }
                label
            }
        }

        /// The rows of the guide's table, up to the meaning.
        #[cfg(test)]
        const ROWS: &[(u8, &str, &[&str])] = &[
            $(($code, $wire, &[$($(stringify!($kind)),*)?])),*
        ];
    };
}

instructions!(define);

impl Instr {
    /// Returns what a primitive computes, in a guard or not: the answer's register, the primitive, and its operands.
    pub fn operation(&self) -> Option<(Register, Primitive, &[Operand])> {
        match self {
            Instr::Op {
                dst,
                primitive,
                args,
            }
            | Instr::GuardOp {
                dst,
                primitive,
                args,
                ..
            } => Some((*dst, *primitive, args)),
            _ => None,
        }
    }

    /// Returns whether control may go on to the next instruction.
    pub fn falls_through(&self) -> bool {
        !matches!(
            self,
            Instr::TailCall { .. }
                | Instr::TailCallFun { .. }
                | Instr::Return { .. }
                | Instr::Jump { .. }
                | Instr::Abort { .. }
                | Instr::Done
                | Instr::Ignore
        )
    }

    /// Returns whether it calls something and goes on with what that returns.
    pub fn is_call(&self) -> bool {
        matches!(self, Instr::Call { .. } | Instr::CallFun { .. })
    }

    /// Returns whether it ends in a call.
    pub fn is_tail_call(&self) -> bool {
        matches!(self, Instr::TailCall { .. } | Instr::TailCallFun { .. })
    }

    /// Returns whether it belongs to a turn: only behaviours and functions with effects may contain it.
    pub fn is_effect(&self) -> bool {
        matches!(
            self,
            Instr::SelfAddress { .. }
                | Instr::Create { .. }
                | Instr::CreateOn { .. }
                | Instr::Send { .. }
                | Instr::SendX { .. }
                | Instr::SendAfter { .. }
                | Instr::CancelTimer { .. }
                | Instr::Unstash { .. }
                | Instr::Become { .. }
                | Instr::BecomeSink
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guide_has_the_same_table() {
        let letter = |kind: &&str| match *kind {
            "Register" | "Registers" => "d",
            "Operand" | "Behind" => "o",
            "Operands" => "vec(o)",
            "Primitive" => "p",
            "Applied" => "o×arity",
            "Label" => "L",
            "Function" | "Own" => "f",
            "Behaviour" => "b",
            "Count" => "n",
            other => panic!("{other} has no letter in the guide"),
        };
        let guide = include_str!("../../../../guides/ir.md");
        let (_, section) = guide.split_once("### Instructions").expect("a section");
        let (section, _) = section.split_once("###").expect("a section behind it");
        let listed: Vec<String> = section
            .lines()
            .filter(|line| line.starts_with("| ") && !line.starts_with("| code"))
            .map(|line| {
                let cells: Vec<_> = line.split('|').map(str::trim).collect();
                format!("{} {} {}", cells[1], cells[2], cells[3])
            })
            .collect();
        let ours: Vec<String> = ROWS
            .iter()
            .map(|(code, name, kinds)| {
                let letters: Vec<_> = kinds.iter().map(letter).collect();
                format!("{code} {name} {}", letters.join(" "))
            })
            .collect();
        assert_eq!(listed, ours);
    }
}
