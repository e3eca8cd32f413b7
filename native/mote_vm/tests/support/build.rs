//! A small assembler: units from names, so that a test shows only what it is about.
#![allow(dead_code)] // Every test binary takes what it needs.

use mote_vm::code::ir::{
    Behaviour, CallSite, Constant, Function, Import, Instr, Label, Operand, Register, Unit,
};
use mote_vm::terms::prim::primitive::Primitive;
use mote_vm::values::foreign::Class;

/// The module of every built unit.
pub const MODULE: &str = "Elixir.T";

/// A register as an operand.
pub const fn r(register: Register) -> Operand {
    Operand::Register(register)
}

/// A constant as an operand.
pub const fn k(constant: u32) -> Operand {
    Operand::Constant(constant)
}

/// `dst := src`.
pub fn mov(dst: Register, src: Operand) -> Instr {
    Instr::Move { dst, src }
}

/// `dst := primitive(args)`.
pub fn op(dst: Register, primitive: Primitive, args: impl Into<Vec<Operand>>) -> Instr {
    let args = args.into();
    Instr::Op {
        dst,
        primitive,
        args,
    }
}

/// `dst := function(args)`.
pub fn call(dst: Register, function: u32, args: impl Into<Vec<Operand>>) -> Instr {
    let args = args.into();
    Instr::Call {
        dst,
        function,
        args,
    }
}

/// A call of `function(args)` in the place of this frame.
pub fn tail(function: u32, args: impl Into<Vec<Operand>>) -> Instr {
    let args = args.into();
    Instr::TailCall { function, args }
}

/// The code of a behaviour without captures that sends whom its message names what a call leaves in register 1.
pub fn says(call: Instr) -> Vec<Instr> {
    says_each([call])
}

/// Returns such code for several calls, one after the other.
pub fn says_each(calls: impl IntoIterator<Item = Instr>) -> Vec<Instr> {
    let send = send(r(0), r(1));
    let said = calls.into_iter().flat_map(|call| [call, send.clone()]);
    said.chain([Instr::Done]).collect()
}

/// Returns the label that an instruction may lead to.
pub fn label(instr: &mut Instr) -> Option<&mut Label> {
    match instr {
        Instr::GuardOp { label, .. }
        | Instr::Jump { label }
        | Instr::Branch { label, .. }
        | Instr::Falsy { label, .. }
        | Instr::Match { label, .. }
        | Instr::MatchTuple { label, .. }
        | Instr::MatchCons { label, .. } => Some(label),
        _ => None,
    }
}

/// The end of a function.
pub fn ret(value: Operand) -> Instr {
    Instr::Return { value }
}

/// A jump.
pub fn jump(label: Label) -> Instr {
    Instr::Jump { label }
}

/// A jump unless the operand is `true`.
pub fn branch(condition: Operand, label: Label) -> Instr {
    Instr::Branch { condition, label }
}

/// `dst := primitive(args)`, or a jump where there is no answer.
pub fn guard(
    dst: Register,
    primitive: Primitive,
    args: impl Into<Vec<Operand>>,
    label: Label,
) -> Instr {
    let args = args.into();
    Instr::GuardOp {
        dst,
        primitive,
        args,
        label,
    }
}

/// `dst := {elements…}`.
pub fn tuple(dst: Register, elements: impl Into<Vec<Operand>>) -> Instr {
    let elements = elements.into();
    Instr::Tuple { dst, elements }
}

/// `dst := [head | tail]`.
pub fn cons(dst: Register, head: Operand, tail: Operand) -> Instr {
    Instr::Cons { dst, head, tail }
}

/// A jump where `value` is `nil` or `false`.
pub fn falsy(value: Operand, label: Label) -> Instr {
    Instr::Falsy { value, label }
}

/// A jump unless both are exactly equal.
pub fn is(left: Operand, right: Operand, label: Label) -> Instr {
    Instr::Match { left, right, label }
}

/// Takes a tuple of `count` apart, or jumps.
pub fn match_tuple(value: Operand, count: u32, first: Register, label: Label) -> Instr {
    Instr::MatchTuple {
        value,
        count,
        first,
        label,
    }
}

/// Takes a list apart, or jumps.
pub fn match_cons(value: Operand, head: Register, tail: Register, label: Label) -> Instr {
    Instr::MatchCons {
        value,
        head,
        tail,
        label,
    }
}

/// `dst :=` a new actor.
pub fn create(dst: Register, behaviour: u32, captures: impl Into<Vec<Operand>>) -> Instr {
    let captures = captures.into();
    Instr::Create {
        dst,
        behaviour,
        captures,
    }
}

/// `dst :=` a new actor of another sponsor.
pub fn create_on(
    dst: Register,
    behaviour: u32,
    captures: impl Into<Vec<Operand>>,
    sponsor: Operand,
) -> Instr {
    let captures = captures.into();
    Instr::CreateOn {
        dst,
        behaviour,
        captures,
        sponsor,
    }
}

/// Sends a message.
pub fn send(target: Operand, message: Operand) -> Instr {
    Instr::Send { target, message }
}

/// Sends a message by another sponsor.
pub fn sendx(sponsor: Operand, target: Operand, message: Operand) -> Instr {
    Instr::SendX {
        sponsor,
        target,
        message,
    }
}

/// `dst :=` a timer that sends a message.
pub fn send_after(dst: Register, delay: Operand, target: Operand, message: Operand) -> Instr {
    Instr::SendAfter {
        dst,
        delay,
        target,
        message,
    }
}

/// The actor becomes another one.
pub fn becomes(behaviour: u32, captures: impl Into<Vec<Operand>>) -> Instr {
    let captures = captures.into();
    Instr::Become {
        behaviour,
        captures,
    }
}

/// Aborts the turn.
pub fn abort(reason: Operand) -> Instr {
    Instr::Abort { reason }
}

/// `dst :=` a function that is a value.
pub fn fun(dst: Register, function: u32, captures: impl Into<Vec<Operand>>) -> Instr {
    let captures = captures.into();
    Instr::Fun {
        dst,
        function,
        captures,
    }
}

/// `dst :=` the result of a function that is a value.
pub fn call_fun(
    dst: Register,
    function: Operand,
    args: impl Into<Vec<Operand>>,
    place: Operand,
) -> Instr {
    let args = args.into();
    Instr::CallFun {
        dst,
        function,
        args,
        place,
    }
}

/// A call of such a function in the place of this frame.
pub fn tail_fun(function: Operand, args: impl Into<Vec<Operand>>, place: Operand) -> Instr {
    let args = args.into();
    Instr::TailCallFun {
        function,
        args,
        place,
    }
}

/// A unit under construction.
pub struct Build(pub Unit);

impl Build {
    /// A unit with two constants: the integer 7 (0) and the empty list (1).
    pub fn new() -> Build {
        Build(Unit {
            module: MODULE.to_owned(),
            hash: 0x0123_4567_89ab_cdef,
            atoms: vec![],
            constants: vec![Constant::Integer(7), Constant::Nil],
            functions_used: vec![],
            behaviours_used: vec![],
            functions: vec![],
            behaviours: vec![],
        })
    }

    /// The index of an atom.
    pub fn atom(&mut self, text: &str) -> u32 {
        let atoms = &mut self.0.atoms;
        let index = atoms.iter().position(|atom| atom == text);
        index.unwrap_or_else(|| {
            atoms.push(text.to_owned());
            atoms.len() - 1
        }) as u32
    }

    /// The index of a new constant.
    pub fn constant(&mut self, constant: Constant) -> u32 {
        self.0.constants.push(constant);
        self.0.constants.len() as u32 - 1
    }

    pub fn import(&mut self, module: &str, name: &str, arity: u32) -> Import {
        Import {
            module: self.atom(module),
            name: self.atom(name),
            arity,
        }
    }

    /// The index of a new function import.
    pub fn uses(&mut self, module: &str, name: &str, arity: u32) -> u32 {
        let import = self.import(module, name, arity);
        self.0.functions_used.push(import);
        self.0.functions_used.len() as u32 - 1
    }

    /// The index of a new behaviour import.
    pub fn creates(&mut self, module: &str, name: &str, captures: u32) -> u32 {
        let import = self.import(module, name, captures);
        self.0.behaviours_used.push(import);
        self.0.behaviours_used.len() as u32 - 1
    }

    /// Adds a function without effects, with eight registers.
    pub fn function(mut self, name: &str, arity: u32, code: Vec<Instr>) -> Build {
        self.add_function(name, arity, code);
        self
    }

    /// Adds a function with effects, with eight registers.
    pub fn effects(mut self, name: &str, arity: u32, code: Vec<Instr>) -> Build {
        self.add_function(name, arity, code).effects = true;
        self
    }

    /// Adds a behaviour that does not claim to be safe, with eight registers.
    pub fn behaviour(mut self, name: &str, captures: u32, code: Vec<Instr>) -> Build {
        self.add_behaviour(name, captures, code);
        self
    }

    /// Adds a behaviour that claims to be safe, with eight registers.
    pub fn safe(mut self, name: &str, captures: u32, code: Vec<Instr>) -> Build {
        self.add_behaviour(name, captures, code).safe = true;
        self
    }

    /// Adds a function without effects, with eight registers, which may be changed.
    pub fn add_function(&mut self, name: &str, arity: u32, code: Vec<Instr>) -> &mut Function {
        let name = self.atom(name);
        self.0.functions.push(Function {
            name,
            arity,
            registers: 8,
            effects: false,
            code,
            sites: Vec::new(),
        });
        self.0.functions.last_mut().expect("just added")
    }

    /// Adds a behaviour that does not claim to be safe, with eight registers, which may be changed.
    pub fn add_behaviour(&mut self, name: &str, captures: u32, code: Vec<Instr>) -> &mut Behaviour {
        let name = self.atom(name);
        self.0.behaviours.push(Behaviour {
            name,
            captures,
            registers: 8,
            safe: false,
            away_only: false,
            code,
            sites: Vec::new(),
        });
        self.0.behaviours.last_mut().expect("just added")
    }
}

/// A valid unit in which every kind of constant and every instruction occurs.
pub fn everything() -> Unit {
    let mut b = Build::new();
    let ok = b.atom("ok");
    let atom = b.constant(Constant::Atom(ok));
    let float = b.constant(Constant::Float(-2.5));
    let pair = b.constant(Constant::Tuple(vec![0, atom]));
    let list = b.constant(Constant::Cons {
        head: pair,
        tail: 1,
    });
    let binary = b.constant(Constant::Binary(b"bytes".to_vec()));
    let opaque = b.constant(Constant::Opaque {
        class: Class::Map,
        bytes: vec![131, 116, 0, 0, 0, 0],
    });
    b.constant(Constant::Big {
        negative: true,
        bytes: vec![7; 9],
    });
    let sum = b.uses(MODULE, "sum", 2);
    let note = b.uses(MODULE, "note", 1);
    let far = b.uses("Elixir.Other", "far", 0);
    let cell = b.creates(MODULE, "cell", 1);
    let other = b.creates("Elixir.Other", "actor", 0);
    let add = Primitive::Add;
    let mut unit = b
        .function(
            "sum",
            2,
            vec![
                match_cons(r(0), 2, 3, 4),
                guard(4, add, [r(1), r(2)], 3),
                tail(sum, [r(3), r(4)]),
                abort(k(opaque)),
                is(r(0), k(1), 6),
                ret(r(1)),
                call(7, far, []),
                ret(r(7)),
            ],
        )
        .effects(
            "note",
            1,
            vec![
                Instr::SelfAddress { dst: 1 },
                send(r(0), r(1)),
                becomes(other, []),
                ret(k(atom)),
            ],
        )
        .behaviour(
            "cell",
            1,
            vec![
                match_tuple(r(1), 2, 2, 8),
                op(4, Primitive::IsAddress, [r(2)]),
                branch(r(4), 7),
                send(r(2), r(0)),
                call(4, note, [r(3)]),
                becomes(cell, [r(3)]),
                Instr::Done,
                Instr::Ignore,
                Instr::BecomeSink,
                Instr::Done,
            ],
        )
        .safe(
            "fan",
            0,
            vec![
                mov(1, k(float)),
                tuple(2, [r(0), r(1), k(binary)]),
                cons(2, r(2), k(list)),
                create(3, cell, [r(2)]),
                create_on(4, other, [], r(0)),
                sendx(r(0), r(3), r(4)),
                send_after(5, k(0), r(3), r(2)),
                Instr::Try { failed: 7 },
                call(6, sum, [r(2), k(0)]),
                Instr::Tried,
                falsy(r(6), 12),
                jump(12),
                Instr::Done,
            ],
        )
        .0;
    for behaviour in &mut unit.behaviours {
        let calls = |instr: &Instr| matches!(instr, Instr::Call { .. });
        if let Some(at) = behaviour.code.iter().position(calls) {
            behaviour.sites.push(CallSite {
                at: at as u32,
                place: pair,
            });
        }
    }
    unit
}
