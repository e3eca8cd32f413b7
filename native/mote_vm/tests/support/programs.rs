//! Small units of code written by hand, for tests and benches that have no compiler at hand.
#![allow(dead_code)] // Each user takes what it needs.
use crate::build::{becomes, branch, create, guard, is, k, op, send, Build};
use mote_vm::code::ir::*;
use mote_vm::terms::prim::primitive::Primitive;

pub use crate::build::r;

/// The module of these units.
const TEST: &str = "Test";

/// Collects atoms, constants and imports while code is written, each of them once.
pub struct Assembler(Build);

impl Default for Assembler {
    fn default() -> Assembler {
        let mut build = Build::new();
        build.0.module = TEST.to_owned();
        build.0.hash = 1;
        build.0.constants.clear();
        Assembler(build)
    }
}

impl Assembler {
    /// An atom as an operand.
    pub fn atom(&mut self, name: &str) -> Operand {
        let atom = self.0.atom(name);
        k(self.constant(Constant::Atom(atom)))
    }

    /// An integer as an operand.
    pub fn int(&mut self, n: i64) -> Operand {
        k(self.constant(Constant::Integer(n)))
    }

    /// A tuple of integers as an operand.
    pub fn integers(&mut self, numbers: &[i64]) -> Operand {
        let elements = numbers.iter().map(|n| self.constant(Constant::Integer(*n)));
        let tuple = Constant::Tuple(elements.collect());
        k(self.constant(tuple))
    }

    fn constant(&mut self, constant: Constant) -> u32 {
        index(&mut self.0 .0.constants, constant)
    }

    /// The number of a behaviour of this unit among those used.
    pub fn behaviour_used(&mut self, name: &str, arity: u32) -> u32 {
        let import = self.0.import(TEST, name, arity);
        index(&mut self.0 .0.behaviours_used, import)
    }

    /// The number of a function of this unit among those used.
    pub fn function_used(&mut self, name: &str, arity: u32) -> u32 {
        let import = self.0.import(TEST, name, arity);
        index(&mut self.0 .0.functions_used, import)
    }

    /// Adds a behaviour.
    pub fn behaviour(&mut self, name: &str, captures: u32, registers: u16, code: Vec<Instr>) {
        self.0.add_behaviour(name, captures, code).registers = registers;
    }

    /// Adds a behaviour that never becomes.
    pub fn safe(&mut self, name: &str, captures: u32, registers: u16, code: Vec<Instr>) {
        let behaviour = self.0.add_behaviour(name, captures, code);
        (behaviour.safe, behaviour.registers) = (true, registers);
    }

    /// Adds a function.
    pub fn function(&mut self, name: &str, arity: u32, registers: u16, code: Vec<Instr>) {
        self.0.add_function(name, arity, code).registers = registers;
    }

    /// The unit, of the module `Test`.
    pub fn unit(self) -> Unit {
        self.0 .0
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
    let sub = |dst, left, right| op(dst, Primitive::Sub, [left, right]);
    let greater = |dst, left, right, label| guard(dst, Primitive::Gt, [left, right], label);
    let create = |dst, captures: Operand| create(dst, node, [captures]);
    let code = vec![
        /* 0 */
        is(r(1), zero, 3),
        /* 1 */ send(r(0), done),
        /* 2 */ Instr::Done,
        /* 3 */ greater(2, r(1), zero, 13),
        /* 4 */ branch(r(2), 13),
        /* 5 */ Instr::SelfAddress { dst: 2 },
        /* 6 */ create(3, r(2)),
        /* 7 */ create(4, r(2)),
        /* 8 */ sub(5, r(1), one),
        /* 9 */ send(r(3), r(5)),
        /* 10 */ send(r(4), r(5)),
        /* 11 */
        becomes(collect, [r(0), two]),
        /* 12 */ Instr::Done,
        /* 13 */ Instr::Ignore,
    ];
    a.behaviour("node", 1, 6, code);
    let code = vec![
        /* 0 */
        is(r(2), done, 8),
        /* 1 */ greater(3, r(1), one, 6),
        /* 2 */ branch(r(3), 6),
        /* 3 */ sub(3, r(1), one),
        /* 4 */
        becomes(collect, [r(0), r(3)]),
        /* 5 */ Instr::Done,
        /* 6 */ send(r(0), done),
        /* 7 */ Instr::Done,
        /* 8 */ Instr::Ignore,
    ];
    a.behaviour("collect", 2, 4, code);
    a.unit()
}
