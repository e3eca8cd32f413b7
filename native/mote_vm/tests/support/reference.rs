//! The verifier once more, as slow and as literal as possible: it walks every path of every function and behaviour
//! one by one, with the set of registers that this very path has written. It takes nothing from the
//! verifier, nor from the helpers on instructions that the verifier uses. For small code only: the number of paths
//! is exponential.

use mote_vm::code::ir::{CallSite, Constant, Import, Instr, Operand, Unit};
use std::collections::HashSet;

/// The effect of an instruction, for the walk.
struct Act {
    reads: Vec<Operand>,
    writes: Vec<u32>,
    label: Option<u32>,
    next: bool,
}

/// The kind of code that a path is in.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Pure,
    Effects,
    Behaviour,
}

/// Says what is wrong with the unit, if anything is.
pub fn check(unit: &Unit) -> Result<(), String> {
    tables(unit)?;
    for f in &unit.functions {
        let place = if f.effects {
            Place::Effects
        } else {
            Place::Pure
        };
        code(unit, place, f.arity, f.arity, f.registers, &f.code)?;
        sites(unit, &f.code, &f.sites)?;
    }
    for b in &unit.behaviours {
        code(
            unit,
            Place::Behaviour,
            b.captures,
            b.captures + 1,
            b.registers,
            &b.code,
        )?;
        sites(unit, &b.code, &b.sites)?;
        if b.safe {
            never_becomes(unit, &b.code, &mut HashSet::new())?;
        }
    }
    Ok(())
}

fn sites(unit: &Unit, code: &[Instr], sites: &[CallSite]) -> Result<(), String> {
    ensure(
        sites.windows(2).all(|w| w[0].at < w[1].at),
        "sites in order",
    )?;
    sites.iter().try_for_each(|site| {
        let call = code.get(site.at as usize);
        ensure(matches!(call, Some(Instr::Call { .. })), "a site is a call")?;
        ensure(
            (site.place as usize) < unit.constants.len(),
            "no such constant",
        )
    })
}

fn ensure(holds: bool, what: impl Into<String>) -> Result<(), String> {
    holds.then_some(()).ok_or_else(|| what.into())
}

fn tables(unit: &Unit) -> Result<(), String> {
    let atom = |index: u32| {
        unit.atoms
            .get(index as usize)
            .ok_or("no such atom".to_owned())
    };
    for name in unit.atoms.iter().chain([&unit.module]) {
        ensure(name.chars().count() <= 255, "long atom")?;
    }
    for (index, constant) in unit.constants.iter().enumerate() {
        let earlier = |part: u32| ensure((part as usize) < index, "constant is not earlier");
        match constant {
            Constant::Integer(n) => ensure(n.unsigned_abs() <= 1 << 62 && *n != 1 << 62, "big")?,
            Constant::Float(f) => ensure(f.is_finite(), "no finite float")?,
            Constant::Atom(index) => drop(atom(*index)?),
            Constant::Tuple(parts) => parts.iter().try_for_each(|part| earlier(*part))?,
            Constant::Cons { head, tail } => [*head, *tail].into_iter().try_for_each(earlier)?,
            Constant::Map(entries) => {
                for (key, value) in entries {
                    earlier(*key)?;
                    earlier(*value)?;
                }
            }
            Constant::Nil
            | Constant::Binary(_)
            | Constant::Bits { .. }
            | Constant::Big { .. }
            | Constant::Opaque { .. } => {}
        }
        ensure(depth(unit, constant) <= 1000, "deep constant")?;
    }
    let mut seen = HashSet::new();
    for f in &unit.functions {
        ensure(
            seen.insert((false, atom(f.name)?, f.arity)),
            "function twice",
        )?;
    }
    for b in &unit.behaviours {
        ensure(
            seen.insert((true, atom(b.name)?, b.captures)),
            "behaviour twice",
        )?;
    }
    for (behaviours, imports) in [(false, &unit.functions_used), (true, &unit.behaviours_used)] {
        for import in imports {
            let (module, name) = (atom(import.module)?, atom(import.name)?);
            ensure(import.arity <= 255, "arity of an import")?;
            let own = *module == unit.module;
            ensure(
                !own || seen.contains(&(behaviours, name, import.arity)),
                "own and missing",
            )?;
        }
    }
    Ok(())
}

fn depth(unit: &Unit, constant: &Constant) -> usize {
    let of = |part: &u32| depth(unit, &unit.constants[*part as usize]);
    match constant {
        Constant::Tuple(parts) => 1 + parts.iter().map(of).max().unwrap_or(0),
        Constant::Cons { head, tail } => of(tail).max(1 + of(head)),
        Constant::Map(entries) => {
            let parts = entries.iter().map(|(key, value)| of(key).max(of(value)));
            1 + parts.max().unwrap_or(0)
        }
        _ => 0,
    }
}

fn code(
    unit: &Unit,
    place: Place,
    arity: u32,
    given: u32,
    registers: u16,
    code: &[Instr],
) -> Result<(), String> {
    ensure(
        arity <= 255 && registers <= 512 && given <= registers.into(),
        "head",
    )?;
    protected(code)?;
    let mut visited = HashSet::new();
    walk(
        unit,
        place,
        registers,
        code,
        0,
        (0..given).collect(),
        &mut visited,
    )?;
    ensure(visited.len() == code.len(), "unreachable")
}

/// Where a `try` or a `tried` stands, all three instructions do, and no other way leads to the last two.
fn protected(code: &[Instr]) -> Result<(), String> {
    let begins = |at: usize| matches!(code.get(at), Some(Instr::Try { .. }));
    for (at, instr) in code.iter().enumerate() {
        let calls = matches!(
            code.get(at + 1),
            Some(Instr::Call { .. } | Instr::CallFun { .. })
        );
        match instr {
            Instr::Try { .. } => ensure(
                calls && matches!(code.get(at + 2), Some(Instr::Tried)),
                "try of a call",
            )?,
            Instr::Tried => ensure(at >= 2 && begins(at - 2), "tried without try")?,
            _ => {}
        }
        if let Some(label) = instr.label() {
            let to = label as usize;
            let inside = to > 0 && begins(to - 1) || to > 1 && begins(to - 2);
            ensure(!inside, "a way into a protected call")?;
        }
    }
    Ok(())
}

fn walk(
    unit: &Unit,
    place: Place,
    registers: u16,
    code: &[Instr],
    at: usize,
    mut written: HashSet<u32>,
    visited: &mut HashSet<usize>,
) -> Result<(), String> {
    let instr = code.get(at).ok_or("past the end")?;
    visited.insert(at);
    let act = act(unit, place, registers, instr)?;
    for operand in act.reads {
        match operand {
            Operand::Register(n) => ensure(written.contains(&n.into()), format!("{at}: r{n}"))?,
            Operand::Constant(n) => ensure((n as usize) < unit.constants.len(), "constant")?,
        }
    }
    if let Some(label) = act.label {
        ensure(label as usize > at, "backward")?;
        let written = written.clone();
        walk(
            unit,
            place,
            registers,
            code,
            label as usize,
            written,
            visited,
        )?;
    }
    ensure(act.writes.iter().all(|n| *n < registers.into()), "register")?;
    written.extend(act.writes);
    match act.next {
        true => walk(unit, place, registers, code, at + 1, written, visited),
        false => Ok(()),
    }
}

/// The import with this index, if the number of operands is its arity.
fn import(imports: &[Import], index: u32, operands: &[Operand]) -> Result<(), String> {
    let import = imports.get(index as usize).ok_or("no such import")?;
    ensure(import.arity as usize == operands.len(), "arity of a call")
}

fn act(unit: &Unit, place: Place, registers: u16, instr: &Instr) -> Result<Act, String> {
    let function = |index: &u32, args: &[Operand]| -> Result<(), String> {
        import(&unit.functions_used, *index, args)?;
        let effects = own_function(unit, *index).is_some_and(|f| unit.functions[f].effects);
        ensure(!effects || place != Place::Pure, "calls effects")
    };
    let behaviour = |index: &u32, args: &[Operand]| -> Result<(), String> {
        import(&unit.behaviours_used, *index, args)
    };
    let effect = || ensure(place != Place::Pure, "effect");
    let in_function = || ensure(place != Place::Behaviour, "only in functions");
    let in_behaviour = || ensure(place == Place::Behaviour, "only in behaviours");
    let goes_on = |reads: &[Operand], writes: &[u16]| Act {
        reads: reads.to_vec(),
        writes: writes.iter().map(|n| (*n).into()).collect(),
        label: None,
        next: true,
    };
    let ends = |reads: &[Operand]| Act {
        next: false,
        ..goes_on(reads, &[])
    };
    let or = |label: &u32, act: Act| Act {
        label: Some(*label),
        ..act
    };
    Ok(match instr {
        Instr::Move { dst, src } => goes_on(&[*src], &[*dst]),
        Instr::Op {
            dst,
            primitive,
            args,
        } => {
            ensure(primitive.arity() == args.len(), "arity of a primitive")?;
            goes_on(args, &[*dst])
        }
        Instr::GuardOp {
            dst,
            primitive,
            args,
            label,
        } => {
            ensure(primitive.arity() == args.len(), "arity of a primitive")?;
            or(label, goes_on(args, &[*dst]))
        }
        Instr::Tuple { dst, elements } => {
            ensure(elements.len() <= 255, "large tuple")?;
            goes_on(elements, &[*dst])
        }
        Instr::Cons { dst, head, tail } => goes_on(&[*head, *tail], &[*dst]),
        Instr::SelfAddress { dst } => {
            effect()?;
            goes_on(&[], &[*dst])
        }
        Instr::Call {
            dst,
            function: index,
            args,
        } => {
            function(index, args)?;
            goes_on(args, &[*dst])
        }
        Instr::TailCall {
            function: index,
            args,
        } => {
            in_function()?;
            function(index, args)?;
            ends(args)
        }
        Instr::Fun {
            dst,
            function: index,
            captures,
        } => {
            let import = unit.functions_used.get(*index as usize);
            let import = import.ok_or("no such import")?;
            let own = own_function(unit, *index).ok_or("a value of another unit")?;
            ensure(!unit.functions[own].effects, "a value with effects")?;
            ensure(import.arity > 0, "a value that does not take itself")?;
            ensure(captures.len() <= 255, "many captures")?;
            goes_on(captures, &[*dst])
        }
        Instr::CallFun {
            dst,
            function,
            args,
            place,
        } => {
            ensure(args.len() < 255, "many arguments")?;
            goes_on(&[&[*function], &args[..], &[*place]].concat(), &[*dst])
        }
        Instr::TailCallFun {
            function,
            args,
            place,
        } => {
            in_function()?;
            ensure(args.len() < 255, "many arguments")?;
            ends(&[&[*function], &args[..], &[*place]].concat())
        }
        Instr::Try { failed } => goes_on(&[], &[*failed]),
        Instr::Tried => goes_on(&[], &[]),
        Instr::Return { value } => {
            in_function()?;
            ends(&[*value])
        }
        Instr::Jump { label } => or(label, ends(&[])),
        Instr::Branch {
            condition: value,
            label,
        }
        | Instr::Falsy { value, label } => or(label, goes_on(&[*value], &[])),
        Instr::Match { left, right, label } => or(label, goes_on(&[*left, *right], &[])),
        Instr::MatchTuple {
            value,
            count,
            first,
            label,
        } => {
            ensure(*count <= 255, "large match")?;
            let end = u32::from(*first) + count;
            ensure(end <= registers.into(), "match beyond the registers")?;
            let mut act = or(label, goes_on(&[*value], &[]));
            act.writes = (0..*count).map(|n| u32::from(*first) + n).collect();
            act
        }
        Instr::MatchCons {
            value,
            head,
            tail,
            label,
        } => or(label, goes_on(&[*value], &[*head, *tail])),
        Instr::Create {
            dst,
            behaviour: index,
            captures,
        } => {
            effect()?;
            behaviour(index, captures)?;
            goes_on(captures, &[*dst])
        }
        Instr::CreateOn {
            dst,
            behaviour: index,
            captures,
            sponsor,
        } => {
            effect()?;
            behaviour(index, captures)?;
            goes_on(&[captures, &[*sponsor][..]].concat(), &[*dst])
        }
        Instr::Send { target, message } => {
            effect()?;
            goes_on(&[*target, *message], &[])
        }
        Instr::SendX {
            sponsor,
            target,
            message,
        } => {
            effect()?;
            goes_on(&[*sponsor, *target, *message], &[])
        }
        Instr::SendAfter {
            dst,
            delay,
            target,
            message,
        } => {
            effect()?;
            goes_on(&[*delay, *target, *message], &[*dst])
        }
        Instr::CancelTimer { dst, timer } => {
            effect()?;
            goes_on(&[*timer], &[*dst])
        }
        Instr::Unstash { kept } => {
            effect()?;
            goes_on(&[*kept], &[])
        }
        Instr::Become {
            behaviour: index,
            captures,
        } => {
            effect()?;
            behaviour(index, captures)?;
            goes_on(captures, &[])
        }
        Instr::BecomeSink => {
            effect()?;
            goes_on(&[], &[])
        }
        Instr::Abort { reason } => ends(&[*reason]),
        Instr::Done | Instr::Ignore => {
            in_behaviour()?;
            ends(&[])
        }
    })
}

fn own_function(unit: &Unit, index: u32) -> Option<usize> {
    let import = unit.functions_used.get(index as usize)?;
    let text = |atom: u32| unit.atoms.get(atom as usize);
    unit.functions.iter().position(|f| {
        text(import.module) == Some(&unit.module)
            && text(import.name) == text(f.name)
            && import.arity == f.arity
    })
}

fn never_becomes(unit: &Unit, code: &[Instr], seen: &mut HashSet<usize>) -> Result<(), String> {
    for instr in code {
        match instr {
            Instr::Become { .. } | Instr::BecomeSink => return Err("unsafe".to_owned()),
            Instr::Call { function, .. } | Instr::TailCall { function, .. } => {
                match own_function(unit, *function) {
                    Some(f) if seen.insert(f) => {
                        never_becomes(unit, &unit.functions[f].code, seen)?;
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }
    Ok(())
}
