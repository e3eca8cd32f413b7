//! The proof that a unit is fit to run. Nothing runs a unit that did not pass here.
//!
//! Interpreter and native compiler may rely on the following for every [`Verified`] unit, however its bytes came to
//! be. `R`, `A` and `C` are the registers, arity or captures, and length of the code at hand.
//!
//! 1.  Every index is in range: atoms, constants, imports. No atom, nor the module's name, has more than 255
//!     characters.
//! 2.  A constant refers to earlier ones only, so building them in order always finds its parts. Integers are within
//!     the fixnum range, floats finite. Nesting is at most [`MAX_CONSTANT_DEPTH`] deep, where the tail of a list does
//!     not count: a recursion over elements that loops over tails stays within that depth. Constants are meant to be
//!     built once and shared, which takes memory linear in the unit; code that does write one out as a tree (to the
//!     BEAM, say) meets at most [`MAX_CONSTANT_NODES`] nodes.
//! 3.  `R <= 512` and `A <= 255`. A function starts with `0..A` written and `A <= R`; a behaviour with `0..=A`
//!     written, the message in `A`, and `A < R`.
//! 4.  Every register that is named is below `R`; for `match_tuple`, `d + n <= R`, also when `n` is 0.
//! 5.  A register is read only where every path from the start has written it. What an instruction writes it writes
//!     when control goes on to the next instruction only, never on the way to its label.
//! 6.  `0 < C <= 1_000_000`. A label lies after its instruction and below `C`; so no path visits an instruction twice.
//! 7.  Every instruction is reachable (taking every branch as possible both ways), and no path runs past the end.
//! 8.  Behaviours end in `done`, `ignore` or `abort`; functions in `return`, `tail_call`, `tail_call_fun` or
//!     `abort`.
//! 9. A primitive, call, create or become has as many operands as its arity or the import's, and never more than 255.
//! 10. An import whose module is the unit's own exists in it, as [`Verified::own_function`] and
//!     [`Verified::own_behaviour`] say. No two functions, and no two behaviours, have the same name and arity.
//!     A function that is made a value is one of the unit, takes at least one argument, which is that value, and has no effects.
//! 11. `try` stands before a `call` or `call_fun`, and `tried` behind that; no label leads to either of these two, and `tried` stands
//!     nowhere else. So what is protected is entered and left in one way.
//! 12. A function without effects reaches, within the unit, neither an effect instruction nor `self`.
//! 13. A behaviour flagged safe reaches, within the unit, neither `become` nor `become_sink`.
//!
//! The caller that links units has to check what a unit cannot show: 12 and 13 hold beyond the unit only if a function import of
//! another module is bound to nothing but a function without effects and of the import's arity, a behaviour import to nothing but
//! a behaviour with the import's number of captures.

use std::collections::HashMap;
use std::ops::Deref;

use super::error::{CodeName, CodeProblem, HeadProblem, LoadError, TableProblem, UnitTable};
use super::ir::{
    Constant, Import, Instr, Unit, MAX_ARITY, MAX_ATOM_CHARACTERS, MAX_CONSTANT_DEPTH,
    MAX_CONSTANT_NODES, MAX_CONSTANT_TUPLE, MAX_INTEGER, MIN_INTEGER,
};

mod flow;

/// A unit for which the invariants of this module hold. Only [`verify`] makes one, and nothing but temporaries.rs
/// changes it.
#[derive(Debug, Clone, PartialEq)]
pub struct Verified {
    unit: Unit,
    own_functions: Vec<Option<usize>>,
    own_behaviours: Vec<Option<usize>>,
}

impl Verified {
    /// Returns the function of the unit that a function import means; `None` when it is of another unit, or there is no such
    /// import.
    pub fn own_function(&self, import: u32) -> Option<usize> {
        self.own_functions.get(import as usize).copied().flatten()
    }

    /// Returns the behaviour of the unit that a behaviour import means; `None` when it is of another unit, or there is no such
    /// import.
    pub fn own_behaviour(&self, import: u32) -> Option<usize> {
        self.own_behaviours.get(import as usize).copied().flatten()
    }

    /// Changes the unit to one for which the same holds.
    pub(super) fn changed(mut self, change: impl FnOnce(&mut Unit)) -> Verified {
        change(&mut self.unit);
        self
    }

    /// The unit. It no longer carries the proof.
    pub fn into_unit(self) -> Unit {
        self.unit
    }
}

impl Deref for Verified {
    type Target = Unit;

    fn deref(&self) -> &Unit {
        &self.unit
    }
}

/// Checks a unit completely. The witness holds a copy of it, so that what was checked is what runs.
pub fn verify(unit: &Unit) -> Result<Verified, LoadError> {
    atoms(unit)?;
    constants(unit)?;
    let functions = names(unit, UnitTable::Functions)?;
    let behaviours = names(unit, UnitTable::Behaviours)?;
    let own_functions = imports(
        unit,
        &unit.functions_used,
        UnitTable::FunctionsUsed,
        &functions,
    )?;
    let own_behaviours = imports(
        unit,
        &unit.behaviours_used,
        UnitTable::BehavioursUsed,
        &behaviours,
    )?;
    let own_effects: Vec<bool> = own_functions
        .iter()
        .map(|own| own.is_some_and(|own| unit.functions[own].effects))
        .collect();

    let scope = flow::Scope {
        constants: unit.constants.len(),
        functions: &unit.functions_used,
        behaviours: &unit.behaviours_used,
        own: &own_functions,
        has_effects: &own_effects,
    };
    for function in &unit.functions {
        let subject = flow::CheckedCode {
            kind: flow::CodeKind::Function {
                effects: function.effects,
            },
            arity: function.arity,
            registers: function.registers,
            code: &function.code,
            sites: &function.sites,
        };
        let name = || name(unit, false, function.name, function.arity);
        flow::check(&scope, &subject, &name)?;
    }
    for behaviour in &unit.behaviours {
        let subject = flow::CheckedCode {
            kind: flow::CodeKind::Behaviour,
            arity: behaviour.captures,
            registers: behaviour.registers,
            code: &behaviour.code,
            sites: &behaviour.sites,
        };
        let name = || name(unit, true, behaviour.name, behaviour.captures);
        flow::check(&scope, &subject, &name)?;
    }
    safety(unit, &own_functions)?;
    Ok(Verified {
        unit: unit.clone(),
        own_functions,
        own_behaviours,
    })
}

fn atoms(unit: &Unit) -> Result<(), LoadError> {
    let module = std::iter::once((UnitTable::Module, 0, &unit.module));
    let atoms =
        (unit.atoms.iter().enumerate()).map(|(index, atom)| (UnitTable::Atoms, index, atom));
    for (table, index, atom) in module.chain(atoms) {
        // Characters are at most as many as bytes, so most atoms need no count.
        if atom.len() > MAX_ATOM_CHARACTERS {
            let length = atom.chars().count();
            if length > MAX_ATOM_CHARACTERS {
                return Err(wrong(table, index, TableProblem::LongAtom(length)));
            }
        }
    }
    Ok(())
}

fn wrong(table: UnitTable, index: usize, problem: TableProblem) -> LoadError {
    LoadError::UnitTable {
        table,
        index,
        problem,
    }
}

/// The size of a constant: levels of nesting, and nodes when written out.
#[derive(Clone, Copy)]
struct Size {
    depth: u32,
    nodes: u64,
}

fn constants(unit: &Unit) -> Result<(), LoadError> {
    let mut sizes: Vec<Size> = Vec::with_capacity(unit.constants.len());
    for (index, constant) in unit.constants.iter().enumerate() {
        let size = constant_size(unit, constant, &sizes)
            .map_err(|problem| wrong(UnitTable::Constants, index, problem))?;
        sizes.push(size);
    }
    Ok(())
}

/// `earlier` are the sizes of the constants before this one, each within the limits.
fn constant_size(unit: &Unit, constant: &Constant, earlier: &[Size]) -> Result<Size, TableProblem> {
    let part = |index: u32| {
        earlier
            .get(index as usize)
            .copied()
            .ok_or(TableProblem::Constant(index))
    };
    let mut size = Size { depth: 0, nodes: 1 };
    match constant {
        Constant::Integer(value) if !(MIN_INTEGER..=MAX_INTEGER).contains(value) => {
            return Err(TableProblem::Integer(*value));
        }
        Constant::Float(value) if !value.is_finite() => return Err(TableProblem::Float),
        Constant::Atom(atom) if *atom as usize >= unit.atoms.len() => {
            return Err(TableProblem::Atom(*atom));
        }
        Constant::Tuple(elements) if elements.len() > MAX_CONSTANT_TUPLE => {
            return Err(TableProblem::LongTuple(elements.len()));
        }
        Constant::Tuple(elements) => {
            size.depth = 1;
            for element in elements {
                let element = part(*element)?;
                size.depth = size.depth.max(element.depth + 1);
                size.nodes = size.nodes.saturating_add(element.nodes);
            }
        }
        Constant::Map(entries) => {
            size.depth = 1;
            for (key, value) in entries {
                let (key, value) = (part(*key)?, part(*value)?);
                size.depth = size.depth.max(key.depth + 1).max(value.depth + 1);
                size.nodes = size.nodes.saturating_add(key.nodes + value.nodes);
            }
        }
        Constant::Cons { head, tail } => {
            let (head, tail) = (part(*head)?, part(*tail)?);
            size.depth = tail.depth.max(head.depth + 1);
            size.nodes += head.nodes + tail.nodes;
        }
        Constant::Integer(_)
        | Constant::Float(_)
        | Constant::Atom(_)
        | Constant::Nil
        | Constant::Binary(_)
        | Constant::Bits { .. }
        | Constant::Big { .. }
        | Constant::Opaque { .. } => {}
    }
    if size.depth > MAX_CONSTANT_DEPTH {
        return Err(TableProblem::Depth(size.depth));
    }
    if size.nodes > MAX_CONSTANT_NODES {
        return Err(TableProblem::Nodes(size.nodes));
    }
    Ok(size)
}

/// The positions of a unit's functions or behaviours. They are found by text, because the same atom may stand in the table
/// twice.
type NameIndex<'a> = HashMap<(&'a str, u32), usize>;

fn names(unit: &Unit, table: UnitTable) -> Result<NameIndex<'_>, LoadError> {
    let behaviour = table == UnitTable::Behaviours;
    let heads: Vec<(u32, u32)> = if behaviour {
        unit.behaviours
            .iter()
            .map(|b| (b.name, b.captures))
            .collect()
    } else {
        unit.functions.iter().map(|f| (f.name, f.arity)).collect()
    };
    let mut names = HashMap::with_capacity(heads.len());
    for (index, (atom, arity)) in heads.into_iter().enumerate() {
        let text = text(unit, atom).map_err(|problem| wrong(table, index, problem))?;
        if names.insert((text, arity), index).is_some() {
            return Err(LoadError::Head {
                code: name(unit, behaviour, atom, arity),
                problem: HeadProblem::Duplicate,
            });
        }
    }
    Ok(names)
}

fn text(unit: &Unit, atom: u32) -> Result<&str, TableProblem> {
    unit.atoms
        .get(atom as usize)
        .map(String::as_str)
        .ok_or(TableProblem::Atom(atom))
}

fn name(unit: &Unit, behaviour: bool, atom: u32, arity: u32) -> CodeName {
    let name = text(unit, atom).unwrap_or_default().to_owned();
    CodeName {
        behaviour,
        name,
        arity,
    }
}

/// Finds those of the imports that are of the unit itself.
fn imports(
    unit: &Unit,
    imports: &[Import],
    table: UnitTable,
    own: &NameIndex<'_>,
) -> Result<Vec<Option<usize>>, LoadError> {
    let resolve = |import: &Import| {
        let (module, name) = (text(unit, import.module)?, text(unit, import.name)?);
        if import.arity > MAX_ARITY {
            return Err(TableProblem::Arity(import.arity));
        }
        if module != unit.module {
            return Ok(None);
        }
        match own.get(&(name, import.arity)) {
            Some(index) => Ok(Some(*index)),
            None => Err(TableProblem::Missing {
                name: name.to_owned(),
                arity: import.arity,
            }),
        }
    };
    imports
        .iter()
        .enumerate()
        .map(|(index, import)| resolve(import).map_err(|problem| wrong(table, index, problem)))
        .collect()
}

/// Refuses behaviours that claim to be safe and are not. Runs after every code was checked by itself.
fn safety(unit: &Unit, own_functions: &[Option<usize>]) -> Result<(), LoadError> {
    let callee = |instr: &Instr| match instr {
        Instr::Call { function, .. } | Instr::TailCall { function, .. } => {
            own_functions.get(*function as usize).copied().flatten()
        }
        _ => None,
    };
    let becomes_itself = |instr: &Instr| matches!(instr, Instr::Become { .. } | Instr::BecomeSink);

    // From the functions that become themselves the mark spreads to their callers, each function once.
    let mut callers: Vec<Vec<usize>> = vec![Vec::new(); unit.functions.len()];
    let mut marked: Vec<bool> = vec![false; unit.functions.len()];
    let mut spreading: Vec<usize> = Vec::new();
    for (caller, function) in unit.functions.iter().enumerate() {
        for called in function.code.iter().filter_map(callee) {
            callers[called].push(caller);
        }
        if function.code.iter().any(becomes_itself) {
            marked[caller] = true;
            spreading.push(caller);
        }
    }
    while let Some(function) = spreading.pop() {
        for &caller in &callers[function] {
            if !marked[caller] {
                marked[caller] = true;
                spreading.push(caller);
            }
        }
    }

    let may_become =
        |instr: &Instr| becomes_itself(instr) || callee(instr).is_some_and(|called| marked[called]);
    for behaviour in unit.behaviours.iter().filter(|behaviour| behaviour.safe) {
        if let Some(instruction) = behaviour.code.iter().position(may_become) {
            return Err(LoadError::Code {
                code: name(unit, true, behaviour.name, behaviour.captures),
                instruction,
                problem: CodeProblem::Unsafe,
            });
        }
    }
    Ok(())
}
