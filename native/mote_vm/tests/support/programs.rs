//! Small units of code written by hand, for tests and benches that have no compiler at hand.
#![allow(dead_code)] // Each user takes what it needs.
use mote_vm::code::ir::*;
use mote_vm::terms::prim::primitive::Primitive;

/// Collects atoms, constants and imports while code is written.
#[derive(Default)]
pub struct Assembler {
    atoms: Vec<String>,
    constants: Vec<Constant>,
    functions_used: Vec<Import>,
    behaviours_used: Vec<Import>,
    functions: Vec<Function>,
    behaviours: Vec<Behaviour>,
}

/// A register.
pub fn r(n: u16) -> Operand {
    Operand::Register(n)
}

impl Assembler {
    /// The index of an atom.
    pub fn atom_index(&mut self, name: &str) -> u32 {
        index(&mut self.atoms, name.to_string())
    }

    /// An atom as an operand.
    pub fn atom(&mut self, name: &str) -> Operand {
        let atom = self.atom_index(name);
        Operand::Constant(index(&mut self.constants, Constant::Atom(atom)))
    }

    /// An integer as an operand.
    pub fn int(&mut self, n: i64) -> Operand {
        Operand::Constant(index(&mut self.constants, Constant::Integer(n)))
    }

    /// A tuple of integers as an operand.
    pub fn integers(&mut self, numbers: &[i64]) -> Operand {
        let elements = numbers
            .iter()
            .map(|n| index(&mut self.constants, Constant::Integer(*n)))
            .collect();
        Operand::Constant(index(&mut self.constants, Constant::Tuple(elements)))
    }

    /// The number of a behaviour of this unit among those used.
    pub fn behaviour_used(&mut self, name: &str, arity: u32) -> u32 {
        let import = self.import(name, arity);
        index(&mut self.behaviours_used, import)
    }

    /// The number of a function of this unit among those used.
    pub fn function_used(&mut self, name: &str, arity: u32) -> u32 {
        let import = self.import(name, arity);
        index(&mut self.functions_used, import)
    }

    fn import(&mut self, name: &str, arity: u32) -> Import {
        Import {
            module: self.atom_index("Test"),
            name: self.atom_index(name),
            arity,
        }
    }

    /// Adds a behaviour.
    pub fn behaviour(&mut self, name: &str, captures: u32, registers: u16, code: Vec<Instr>) {
        let name = self.atom_index(name);
        self.behaviours.push(Behaviour {
            name,
            captures,
            registers,
            safe: false,
            away_only: false,
            code,
            sites: Vec::new(),
        });
    }

    /// Adds a behaviour that never becomes.
    pub fn safe(&mut self, name: &str, captures: u32, registers: u16, code: Vec<Instr>) {
        self.behaviour(name, captures, registers, code);
        self.behaviours.last_mut().expect("just added").safe = true;
    }

    /// Adds a function.
    pub fn function(&mut self, name: &str, arity: u32, registers: u16, code: Vec<Instr>) {
        let name = self.atom_index(name);
        self.functions.push(Function {
            name,
            arity,
            registers,
            effects: false,
            code,
            sites: Vec::new(),
        });
    }

    /// The unit, of the module `Test`.
    pub fn unit(self) -> Unit {
        Unit {
            module: "Test".to_string(),
            hash: 1,
            atoms: self.atoms,
            constants: self.constants,
            functions_used: self.functions_used,
            behaviours_used: self.behaviours_used,
            functions: self.functions,
            behaviours: self.behaviours,
        }
    }
}

fn index<T: PartialEq>(table: &mut Vec<T>, item: T) -> u32 {
    let at = table.iter().position(|known| *known == item);
    at.unwrap_or_else(|| {
        table.push(item);
        table.len() - 1
    }) as u32
}

/// The fork bomb: `node(parent)` and `collect(parent, n)`, as the compiler writes them.
pub fn fork_bomb() -> Unit {
    let mut a = Assembler::default();
    let (node, collect) = (a.behaviour_used("node", 1), a.behaviour_used("collect", 2));
    let (zero, one, two) = (a.int(0), a.int(1), a.int(2));
    let done = a.atom("done");
    let sub = |dst, left, right| Instr::Op {
        dst,
        primitive: Primitive::Sub,
        args: vec![left, right],
    };
    let greater = |dst, left, right, label| Instr::GuardOp {
        dst,
        primitive: Primitive::Gt,
        args: vec![left, right],
        label,
    };
    let send = |target, message| Instr::Send { target, message };
    let create = |dst, captures| Instr::Create {
        dst,
        behaviour: node,
        captures,
    };
    let code = vec![
        /* 0 */
        Instr::Match {
            left: r(1),
            right: zero,
            label: 3,
        },
        /* 1 */ send(r(0), done),
        /* 2 */ Instr::Done,
        /* 3 */ greater(2, r(1), zero, 13),
        /* 4 */ Instr::Branch {
            condition: r(2),
            label: 13,
        },
        /* 5 */ Instr::SelfAddress { dst: 2 },
        /* 6 */ create(3, vec![r(2)]),
        /* 7 */ create(4, vec![r(2)]),
        /* 8 */ sub(5, r(1), one),
        /* 9 */ send(r(3), r(5)),
        /* 10 */ send(r(4), r(5)),
        /* 11 */
        Instr::Become {
            behaviour: collect,
            captures: vec![r(0), two],
        },
        /* 12 */ Instr::Done,
        /* 13 */ Instr::Ignore,
    ];
    a.behaviour("node", 1, 6, code);
    let code = vec![
        /* 0 */
        Instr::Match {
            left: r(2),
            right: done,
            label: 8,
        },
        /* 1 */ greater(3, r(1), one, 6),
        /* 2 */ Instr::Branch {
            condition: r(3),
            label: 6,
        },
        /* 3 */ sub(3, r(1), one),
        /* 4 */
        Instr::Become {
            behaviour: collect,
            captures: vec![r(0), r(3)],
        },
        /* 5 */ Instr::Done,
        /* 6 */ send(r(0), done),
        /* 7 */ Instr::Done,
        /* 8 */ Instr::Ignore,
    ];
    a.behaviour("collect", 2, 4, code);
    a.unit()
}
