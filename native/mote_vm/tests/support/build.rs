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
    let send = Instr::Send {
        target: r(0),
        message: r(1),
    };
    let said = calls.into_iter().flat_map(|call| [call, send.clone()]);
    said.chain([Instr::Done]).collect()
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

    fn import(&mut self, module: &str, name: &str, arity: u32) -> Import {
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
        let name = self.atom(name);
        self.0.functions.push(Function {
            name,
            arity,
            registers: 8,
            effects: false,
            code,
            sites: Vec::new(),
        });
        self
    }

    /// Adds a function with effects, with eight registers.
    pub fn effects(self, name: &str, arity: u32, code: Vec<Instr>) -> Build {
        let mut build = self.function(name, arity, code);
        build.0.functions.last_mut().unwrap().effects = true;
        build
    }

    /// Adds a behaviour that does not claim to be safe, with eight registers.
    pub fn behaviour(mut self, name: &str, captures: u32, code: Vec<Instr>) -> Build {
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
        self
    }

    /// Adds a behaviour that claims to be safe, with eight registers.
    pub fn safe(self, name: &str, captures: u32, code: Vec<Instr>) -> Build {
        let mut build = self.behaviour(name, captures, code);
        build.0.behaviours.last_mut().unwrap().safe = true;
        build
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
                Instr::MatchCons {
                    value: r(0),
                    head: 2,
                    tail: 3,
                    label: 4,
                },
                Instr::GuardOp {
                    dst: 4,
                    primitive: add,
                    args: vec![r(1), r(2)],
                    label: 3,
                },
                Instr::TailCall {
                    function: sum,
                    args: vec![r(3), r(4)],
                },
                Instr::Abort { reason: k(opaque) },
                Instr::Match {
                    left: r(0),
                    right: k(1),
                    label: 6,
                },
                ret(r(1)),
                Instr::Call {
                    dst: 7,
                    function: far,
                    args: vec![],
                },
                ret(r(7)),
            ],
        )
        .effects(
            "note",
            1,
            vec![
                Instr::SelfAddress { dst: 1 },
                Instr::Send {
                    target: r(0),
                    message: r(1),
                },
                Instr::Become {
                    behaviour: other,
                    captures: vec![],
                },
                ret(k(atom)),
            ],
        )
        .behaviour(
            "cell",
            1,
            vec![
                Instr::MatchTuple {
                    value: r(1),
                    count: 2,
                    first: 2,
                    label: 8,
                },
                Instr::Op {
                    dst: 4,
                    primitive: Primitive::IsAddress,
                    args: vec![r(2)],
                },
                branch(r(4), 7),
                Instr::Send {
                    target: r(2),
                    message: r(0),
                },
                Instr::Call {
                    dst: 4,
                    function: note,
                    args: vec![r(3)],
                },
                Instr::Become {
                    behaviour: cell,
                    captures: vec![r(3)],
                },
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
                Instr::Tuple {
                    dst: 2,
                    elements: vec![r(0), r(1), k(binary)],
                },
                Instr::Cons {
                    dst: 2,
                    head: r(2),
                    tail: k(list),
                },
                Instr::Create {
                    dst: 3,
                    behaviour: cell,
                    captures: vec![r(2)],
                },
                Instr::CreateOn {
                    dst: 4,
                    behaviour: other,
                    captures: vec![],
                    sponsor: r(0),
                },
                Instr::SendX {
                    sponsor: r(0),
                    target: r(3),
                    message: r(4),
                },
                Instr::SendAfter {
                    dst: 5,
                    delay: k(0),
                    target: r(3),
                    message: r(2),
                },
                Instr::Call {
                    dst: 6,
                    function: sum,
                    args: vec![r(2), k(0)],
                },
                Instr::Falsy {
                    value: r(6),
                    label: 10,
                },
                jump(10),
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
